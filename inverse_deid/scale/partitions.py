"""Partitions, the parts of an input that are masked into one file each, and the output folder of a run.

`.inverse-deid/run.json` is written first: which inputs were cut into how many partitions, with which
settings. `.inverse-deid/done/` contains a receipt for every partition that is done.
`.inverse-deid/manifest.json` sums them up when the run ends.
"""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any

import msgspec

from inverse_deid import __version__
from inverse_deid.core.errors import ConfigurationError, InputError, OutputExistsError
from inverse_deid.core.files import WrittenState
from inverse_deid.engine.tally import Tally
from inverse_deid.formats.records import Format
from inverse_deid.formats.registry import FORMATS
from inverse_deid.scale.storage import (
    Place,
    is_local,
    place_of,
    refuse_links,
    storage_errors,
    write_atomically,
)

RUN_FOLDER = ".inverse-deid"
"""Below the output folder; contains notes of the run and receipts, no text of narratives."""


@dataclass(frozen=True, slots=True)
class Partition:
    """A part of one file; it contains offsets and counts, no text."""

    address: str
    shown: str  # how messages name the file
    name: str  # of the file in the output folder
    format: Format
    fingerprint: str  # of the whole file, when the run was planned
    index: int = 0  # its place among the partitions of the file, from 0
    n_partitions: int = 1  # how many the file has
    head_bytes: int = 0  # length of what every partition begins with: byte-order mark, header
    start: int = 0  # offset of the part in bytes; for Parquet the first row group
    end: int = 0  # offset after it; for Parquet the row group after the last
    n_before: int = 0  # records of the file before this part

    @property
    def is_whole(self) -> bool:
        """Whether it is all of its file."""
        return self.n_partitions == 1

    @property
    def is_packed(self) -> bool:
        """Whether its file is gzip, which cannot be read from its middle."""
        return self.address.lower().endswith(".gz")

    @property
    def target(self) -> str:
        """The name of its output in the output folder; see `target_name`."""
        return target_name(self.name, self.index)

    def as_json(self) -> str:
        """Return a text that `from_json` reads."""
        return json.dumps({**dataclasses.asdict(self), "format": self.format.name})

    @classmethod
    def from_json(cls, stored: str) -> Partition:
        """Read the partition that `as_json` wrote."""
        fields = json.loads(stored)
        return cls(**{**fields, "format": FORMATS[fields["format"]]})


def target_name(name: str, index: int) -> str:
    """Return the name of the output of a partition.

    Example:
        >>> target_name("north/cases.jsonl", 3)
        'north/cases.part-00003.jsonl'
    """
    path = PurePosixPath(name)
    return path.with_name(f"{path.stem}.part-{index:05}{path.suffix}").as_posix()


@dataclass(frozen=True, slots=True)
class Receipt:
    """A partition that is done."""

    target: str  # its output, below the output folder
    fingerprint: str  # of its input file
    settings: str  # fingerprint of all that shapes the output
    written: WrittenState | None  # size and SHA-256 of the output; None = no document of it could be written
    tally: Tally

    def as_json(self) -> dict[str, Any]:
        """Return a dictionary that msgspec reads."""
        return {**msgspec.to_builtins(self), "tally": self.tally.as_json()}

    def is_of(self, partition: Partition, settings: str) -> bool:
        """Tell whether it is for this partition, its file as it is now, and these settings."""
        wanted = (partition.target, partition.fingerprint, settings)
        return wanted == (self.target, self.fingerprint, self.settings)


def receipt_name(target: str) -> str:
    """Return the place of the receipt of an output below the output folder.

    Example:
        >>> receipt_name("a/cases.part-00000.csv")
        '.inverse-deid/done/a/cases.part-00000.csv.json'
    """
    return f"{RUN_FOLDER}/done/{target}.json"


FORMAT = "inverse-deid run on Ray"
VERSION = 1
_DAMAGED = (ValueError, KeyError, TypeError, AttributeError, RecursionError)
_PARTIAL = re.compile(r"\..+\.[0-9a-f]{32}\.partial")


@dataclass(frozen=True, slots=True)
class RunPlan:
    """The plan of a run."""

    out: Place  # the output folder
    settings: str  # fingerprint of all that shapes the output
    partitions: Sequence[Sequence[Partition]]  # of every input file; at least one each
    described: Mapping[str, Any] = field(default_factory=dict)  # for people: no secret, no value

    @property
    def inputs(self) -> dict[str, list[Any]]:
        """Fingerprint and number of partitions of every input, by its name in the output folder."""
        return {parts[0].name: [parts[0].fingerprint, len(parts)] for parts in self.partitions}


def begin(plan: RunPlan, *, resume: bool, force: bool) -> dict[str, Receipt]:
    """Prepare the output folder, and return the receipts of what is done there, by target.

    Raises:
        OutputExistsError: Outputs exist.
        ConfigurationError: The run to be resumed had other settings.
        InputError: Its inputs have changed or are gone.
    """
    targets = [part.target for parts in plan.partitions for part in parts]
    own = [f"{RUN_FOLDER}/run.json", *map(receipt_name, targets)]
    refuse_links(plan.out, [*targets, *own])
    _refuse_inputs(plan, targets)
    with storage_errors(plan.out, writing=True):
        sizes = _sizes(plan.out)
    stored = _read_run(plan.out)
    if force:
        _remove(plan.out, [name for name in sizes if _is_of(name, plan) or name.startswith(f"{RUN_FOLDER}/")])
    elif stored is not None:
        _check_resumable(plan, stored, resume=resume)
    if not force:
        _check_free(plan, sizes, known={} if stored is None else stored["inputs"])
    known = {} if stored is None or force else stored["inputs"]
    content = {**_head(plan), "inputs": {**known, **plan.inputs}}
    write_atomically(plan.out.child(f"{RUN_FOLDER}/run.json"), _json(content))
    return {} if force else _valid_receipts(plan, sizes)


def _refuse_inputs(plan: RunPlan, targets: Iterable[str]) -> None:
    """Refuse to overwrite or remove an input as the output of an earlier run.

    Raises:
        OutputExistsError: An input has the place of an output, or of a file that looks like one.
    """
    outputs = {_real(plan.out.child(name)) for name in targets}
    inputs = {_real(place_of(parts[0].address)) for parts in plan.partitions}
    base = _real(plan.out) + "/"
    below = (one.removeprefix(base) for one in inputs if one.startswith(base))
    if outputs & inputs or any(_is_of(name, plan) for name in below):
        raise OutputExistsError(
            "an INPUT would be overwritten by an output. Choose another folder with --out"
        )


def _real(place: Place) -> str:
    """Return the address without links and without a slash at its end."""
    return Path(place.path).resolve().as_posix() if is_local(place) else place.address.rstrip("/")


def end(plan: RunPlan, receipts: Mapping[str, Receipt], tally: Tally) -> None:
    """Write the manifest and remove files that dead workers left half written.

    Raises:
        OutputError: It cannot be written.
    """
    done = [receipts[part.target] for parts in plan.partitions for part in parts if part.target in receipts]
    content = {
        **_head(plan),
        "inputs": plan.inputs,
        "outputs": [receipt.as_json() for receipt in done],
        "total": tally.as_json(),
    }
    write_atomically(plan.out.child(f"{RUN_FOLDER}/manifest.json"), _json(content))
    with storage_errors(plan.out, writing=True):
        left = [name for name in _sizes(plan.out) if _PARTIAL.fullmatch(PurePosixPath(name).name)]
    _remove(plan.out, left)


def withdraw(plan: RunPlan, targets: Sequence[str]) -> None:
    """Remove outputs and their receipts.

    Raises:
        OutputError: One cannot be removed.
    """
    _remove(plan.out, [*map(receipt_name, targets), *targets])


def _head(plan: RunPlan) -> dict[str, Any]:
    return {
        "format": FORMAT,
        "version": VERSION,
        "tool": f"inverse-deid {__version__}",
        "settings": plan.settings,
        "told": dict(plan.described),
    }


def _json(content: Mapping[str, Any]) -> bytes:
    return json.dumps(content, indent=1, ensure_ascii=False).encode("utf-8", "replace") + b"\n"


def _sizes(out: Place) -> dict[str, int]:
    """Return the size of every file in the output folder."""
    out.fs.invalidate_cache()
    if not out.fs.isdir(out.path):
        return {}
    found = out.fs.find(out.path, detail=True)
    below = len(out.path.rstrip("/")) + 1
    return {path[below:]: int(info["size"] or 0) for path, info in found.items()}


def _read_run(out: Place) -> dict[str, Any] | None:
    """Return the notes of an earlier run, None = missing or unreadable."""
    path = out.child(f"{RUN_FOLDER}/run.json").path
    with storage_errors(out):
        content = out.fs.cat_file(path) if out.fs.exists(path) else b""
    with suppress(*_DAMAGED):
        stored = json.loads(content)
        return stored if isinstance(stored["inputs"], dict) and stored["format"] == FORMAT else None
    return None


def _check_resumable(plan: RunPlan, stored: Mapping[str, Any], *, resume: bool) -> None:
    if not resume:
        raise OutputExistsError(
            f"{plan.out.printable} contains a run already. Resume it with --resume, or add --force to "
            "start again"
        )
    if stored["settings"] != plan.settings:
        raise ConfigurationError(
            "the interrupted run had other settings or another model. Give the same ones, or add --force "
            "to start again"
        )
    changed = [name for name, known in stored["inputs"].items() if plan.inputs.get(name) != known]
    if changed:
        raise InputError(
            f"{len(changed)} of {len(stored['inputs'])} input files have changed or are gone since the "
            "interrupted run. Give the same ones, or add --force to start again"
        )


def _check_free(plan: RunPlan, sizes: Mapping[str, int], known: Mapping[str, Any]) -> None:
    """Refuse files in the place of outputs of inputs that no run began."""
    begun = {part.target for parts in plan.partitions for part in parts if part.name in known}
    taken = [name for name in sizes if name not in begun and _is_of(name, plan)]
    if taken:
        raise OutputExistsError(
            f"{plan.out.child(taken[0]).printable} exists already. Choose another folder, or add --force "
            "to overwrite"
        )


def _is_of(name: str, plan: RunPlan) -> bool:
    """Tell whether a file of the output folder is an output of one of the inputs, of any run."""
    base = re.sub(r"\.part-\d{5,}(?=(\.[^./]*)?$)", "", name)
    return base != name and base in plan.inputs


def _remove(out: Place, names: Iterable[str]) -> None:
    for name in names:
        place = out.child(name)
        with storage_errors(place, writing=True), suppress(FileNotFoundError):
            place.fs.rm_file(place.path)


def _valid_receipts(plan: RunPlan, sizes: Mapping[str, int]) -> dict[str, Receipt]:
    """Return the receipts that are valid for this run and whose outputs exist.

    A receipt that a stopped worker had not yet named does not count: `end` removes it.
    """
    planned = [part for parts in plan.partitions for part in parts]
    names = [receipt_name(part.target) for part in planned]
    stored = [plan.out.child(name).path for name in names if name in sizes]
    receipts = {receipt.target: receipt for receipt in _read_receipts(plan.out, stored)}
    valid: dict[str, Receipt] = {}
    for part in planned:
        receipt = receipts.get(part.target)
        if receipt is None or not receipt.is_of(part, plan.settings):
            continue
        if receipt.written is None or sizes.get(part.target) == receipt.written.n_bytes:
            valid[part.target] = receipt
    return valid


def _read_receipts(out: Place, paths: Sequence[str]) -> Iterable[Receipt]:
    """Return the receipts that can be read."""
    with storage_errors(out):
        contents = out.fs.cat(list(paths), on_error="omit") if paths else {}
    for content in contents.values():
        with suppress(*_DAMAGED):
            yield msgspec.json.decode(content, type=Receipt)
