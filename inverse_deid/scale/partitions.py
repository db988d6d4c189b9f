"""Partitions, the parts of an input that are masked into one file each, and the output folder of a run.

`.inverse-deid/run.json` is written first: into how many partitions each input was cut, with which settings.
`.inverse-deid/done/` contains a receipt for every partition that is done. Receipts name columns and ids, so
they are sealed: with a secret that is made of the input file and of the key of the run. Tags of the same
secret replace names of inputs and fingerprints. `.inverse-deid/manifest.json` sums up in numbers when the run
ends.
"""

from __future__ import annotations

import dataclasses
import hmac
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any

import msgspec

from inverse_deid import __version__
from inverse_deid.core.errors import ConfigurationError, InputError, OutputExistsError, Remedy
from inverse_deid.core.files import WrittenState
from inverse_deid.core.sealed_notes import open_note, seal_note, tag_of
from inverse_deid.core.wording import N_, _
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

_START_AGAIN = Remedy("force", step=N_("add {} to start again"))
_SAME = Remedy(step=N_("give the same ones"))

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
    stamp: str = ""  # the same with what else the storage says of it, for its seal
    index: int = 0  # its place among the partitions of the file, from 0
    n_partitions: int = 1  # how many the file has
    head_bytes: int = 0  # length of what every partition begins with: byte-order mark, header
    start: int = 0  # offset of the part in bytes; for Parquet the first row group
    end: int = 0  # offset after it; for Parquet the row group after the last
    n_before: int = 0  # records of the file before this part

    @property
    def is_whole(self) -> bool:
        return self.n_partitions == 1

    @property
    def is_packed(self) -> bool:
        """Whether its file is gzip, which cannot be read from its middle."""
        return self.address.lower().endswith(".gz")

    @property
    def target(self) -> str:
        """The name of its output in the output folder; see `target_name`."""
        return target_name(self.name, self.index)

    def secret(self, key: bytes) -> bytes:
        """Return the secret of what is noted of its file; `key` is that of the run, b"" = none."""
        return hmac.digest(key, f"inverse-deid notes 1 {self.fingerprint} {self.stamp}".encode(), "sha256")

    def receipt_name(self, key: bytes) -> str:
        """Return the place of its receipt below the output folder."""
        return f"{RUN_FOLDER}/done/{tag_of(self.secret(key), self.target)}.json"

    def as_json(self) -> str:
        return json.dumps({**dataclasses.asdict(self), "format": self.format.name})

    @classmethod
    def from_json(cls, stored: str) -> Partition:
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
        return {**msgspec.to_builtins(self), "tally": self.tally.as_json()}

    def as_output(self) -> dict[str, Any]:
        """Return what the manifest says of the output, in numbers."""
        written = self.written
        state = {} if written is None else {"bytes": written.n_bytes, "sha256": written.sha256}
        return {"name": self.target, **state, **self.tally.as_numbers()}

    def is_of(self, partition: Partition, settings: str) -> bool:
        wanted = (partition.target, partition.fingerprint, settings)
        return wanted == (self.target, self.fingerprint, self.settings)


def write_receipt(out: Place, partition: Partition, receipt: Receipt, key: bytes) -> None:
    """Write the receipt of a partition, sealed.

    Raises:
        OutputError: It cannot be written.
    """
    sealed = {"sealed": seal_note(partition.secret(key), receipt.as_json())}
    write_atomically(out.child(partition.receipt_name(key)), json.dumps(sealed).encode())


FORMAT = "inverse-deid run on Ray"
VERSION = 2
_DAMAGED = (ValueError, KeyError, TypeError, AttributeError, RecursionError)
_PARTIAL = re.compile(r"\..+\.[0-9a-f]{32}\.partial")


@dataclass(frozen=True, slots=True)
class RunPlan:
    out: Place  # the output folder
    settings: str  # fingerprint of all that shapes the output
    partitions: Sequence[Sequence[Partition]]  # of every input file; at least one each
    described: Mapping[str, Any] = field(default_factory=dict)  # for people: no secret, no value
    key: bytes = field(default=b"", repr=False)  # of the run, b"" = none

    @property
    def names(self) -> frozenset[str]:
        return frozenset(parts[0].name for parts in self.partitions)

    def tag(self, part: Partition) -> str:
        """Return what replaces the name of an input."""
        return tag_of(part.secret(self.key), part.name)

    @property
    def inputs(self) -> dict[str, list[Any]]:
        """Tag of the settings and number of partitions of every input, by its own tag."""
        firsts = ((parts[0], len(parts)) for parts in self.partitions)
        return {self.tag(part): [tag_of(part.secret(self.key), self.settings), n] for part, n in firsts}


def begin(plan: RunPlan, *, resume: bool, force: bool) -> dict[str, Receipt]:
    """Prepare the output folder, and return the receipts of what is done there, by target.

    Raises:
        OutputExistsError: Outputs exist.
        ConfigurationError: The run to be resumed had other settings.
        InputError: Its inputs have changed or are gone.
    """
    targets = [part.target for parts in plan.partitions for part in parts]
    receipts = [part.receipt_name(plan.key) for parts in plan.partitions for part in parts]
    own = [f"{RUN_FOLDER}/run.json", *receipts]
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
    content = {**_head(), "inputs": {**known, **plan.inputs}}
    write_atomically(plan.out.child(f"{RUN_FOLDER}/run.json"), _json(content))
    return {} if force else _valid_receipts(plan, sizes)


def _refuse_inputs(plan: RunPlan, targets: Iterable[str]) -> None:
    outputs = {_real(plan.out.child(name)) for name in targets}
    inputs = {_real(place_of(parts[0].address)) for parts in plan.partitions}
    base = _real(plan.out) + "/"
    below = (one.removeprefix(base) for one in inputs if one.startswith(base))
    if outputs & inputs or any(_is_of(name, plan) for name in below):
        raise OutputExistsError(
            _("an INPUT would be overwritten by an output"),
            remedies=[Remedy("out", step=N_("choose another folder with {}"))],
        )


def _real(place: Place) -> str:
    # Without links and without a slash at its end.
    return Path(place.path).resolve().as_posix() if is_local(place) else place.address.rstrip("/")


def end(plan: RunPlan, receipts: Mapping[str, Receipt], tally: Tally) -> None:
    """Write the manifest and remove files that dead workers left half written.

    Raises:
        OutputError: It cannot be written.
    """
    done = [receipts[part.target] for parts in plan.partitions for part in parts if part.target in receipts]
    content = {
        **_head(),
        "told": dict(plan.described),
        "n_inputs": len(plan.partitions),
        "outputs": [receipt.as_output() for receipt in done if receipt.written is not None],
        "total": tally.as_numbers(),
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
    withdrawn = [part for parts in plan.partitions for part in parts if part.target in targets]
    receipts = [part.receipt_name(plan.key) for part in withdrawn]
    _remove(plan.out, [*receipts, *targets])


def _head() -> dict[str, Any]:
    return {
        "format": FORMAT,
        "version": VERSION,
        "tool": f"inverse-deid {__version__}",
    }


def _json(content: Mapping[str, Any]) -> bytes:
    return json.dumps(content, indent=1, ensure_ascii=False).encode("utf-8", "replace") + b"\n"


def _sizes(out: Place) -> dict[str, int]:
    out.fs.invalidate_cache()
    if not out.fs.isdir(out.path):
        return {}
    found = out.fs.find(out.path, detail=True)
    below = len(out.path.rstrip("/")) + 1
    return {path[below:]: int(info["size"] or 0) for path, info in found.items()}


def _read_run(out: Place) -> dict[str, Any] | None:
    # None = missing or unreadable.
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
            _("{printable} contains a run already", printable=plan.out.printable),
            remedies=[Remedy("resume", step=N_("resume it with {}")), _START_AGAIN],
        )
    stored_inputs, inputs = stored["inputs"], plan.inputs
    if any(inputs[tag][0] != known[0] for tag, known in stored_inputs.items() if tag in inputs):
        raise ConfigurationError(
            _("the interrupted run had other settings or another model"),
            remedies=[_SAME, _START_AGAIN],
        )
    changed = [tag for tag, known in stored_inputs.items() if inputs.get(tag) != known]
    if changed:
        raise InputError(
            _(
                "{n_changed} of {n_stored_inputs} input files have changed or are gone since the "
                "interrupted run, or it had another key",
                n_changed=len(changed),
                n_stored_inputs=len(stored_inputs),
            ),
            remedies=[_SAME, _START_AGAIN],
        )


def _check_free(plan: RunPlan, sizes: Mapping[str, int], known: Mapping[str, Any]) -> None:
    begun = {part.target for parts in plan.partitions for part in parts if plan.tag(part) in known}
    taken = [name for name in sizes if name not in begun and _is_of(name, plan)]
    if taken:
        raise OutputExistsError(
            _("{printable} exists already", printable=plan.out.child(taken[0]).printable),
            remedies=[
                Remedy(step=N_("choose another folder")),
                Remedy("force", step=N_("add {} to overwrite")),
            ],
        )


def _is_of(name: str, plan: RunPlan) -> bool:
    # Outputs of any run count.
    base = re.sub(r"\.part-\d{5,}(?=(\.[^./]*)?$)", "", name)
    return base != name and base in plan.names


def _remove(out: Place, names: Iterable[str]) -> None:
    for name in names:
        place = out.child(name)
        with storage_errors(place, writing=True), suppress(FileNotFoundError):
            place.fs.rm_file(place.path)


def _valid_receipts(plan: RunPlan, sizes: Mapping[str, int]) -> dict[str, Receipt]:
    # A receipt that a stopped worker had not yet named does not count: `end` removes it.
    planned = [part for parts in plan.partitions for part in parts]
    places = {part.receipt_name(plan.key): part for part in planned}
    valid: dict[str, Receipt] = {}
    for part, receipt in _read_receipts(plan, {name: part for name, part in places.items() if name in sizes}):
        if not receipt.is_of(part, plan.settings):
            continue
        if receipt.written is None or sizes.get(part.target) == receipt.written.n_bytes:
            valid[part.target] = receipt
    return valid


def _read_receipts(plan: RunPlan, places: Mapping[str, Partition]) -> Iterator[tuple[Partition, Receipt]]:
    out = plan.out
    with storage_errors(out):
        paths = [out.child(name).path for name in places]
        contents = out.fs.cat(paths, on_error="omit") if paths else {}
    by_file = {PurePosixPath(name).name: part for name, part in places.items()}
    for path, content in contents.items():
        with suppress(*_DAMAGED):
            part = by_file[PurePosixPath(path).name]
            note = open_note(part.secret(plan.key), json.loads(content)["sealed"])
            yield part, msgspec.convert(note, Receipt)
