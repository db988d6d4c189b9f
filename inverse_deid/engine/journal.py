"""What an interrupted run had done, so that `--resume` goes on where it was safe.

Two records: a journal in the output folder with one line for every complete
file, written before the file gets its name; and `.NAME.progress.json` beside a
table or JSON Lines file that is half done. Both hold hashes, sizes, counts and
file names, no narrative. Both are gone once everything is done.
"""

from __future__ import annotations

import hashlib
import json
import os
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from inverse_deid.core.errors import ConfigurationError, InputError
from inverse_deid.engine.partial_file import WrittenState, output_errors, sha256_of
from inverse_deid.engine.tally import Tally

JOURNAL_NAME = ".inverse-deid.journal"
_HEAD_BYTES = 1 << 16
_DAMAGED = (ValueError, KeyError, TypeError, AttributeError, RecursionError)
"""What a record that was cut or changed raises while it is read."""


def input_fingerprint(path: Path) -> str:
    """Tells an input file from a changed one: size, time of change and beginning, hashed."""
    status = path.stat()
    with path.open("rb") as stream:
        head = stream.read(_HEAD_BYTES)
    stamp = f"{status.st_size} {status.st_mtime_ns} ".encode()
    return hashlib.sha256(stamp + head).hexdigest()


@dataclass(frozen=True, slots=True)
class Entry:
    """One file: complete if in the journal, else done up to a record.

    Args:
        input: Fingerprint of the input.
        settings: Fingerprint of model, lexicon and all options that shape the output.
        n_records: Records of the input that are done.
        files: By role (masked, explain, annotations, map), what is written.
        tally: What was counted.
        report: Of a file of case reports: what was done to which element, without values.
    """

    input: str
    settings: str
    n_records: int
    files: dict[str, WrittenState]
    tally: Tally
    report: dict[str, Any] | None = None

    def as_json(self) -> dict[str, Any]:
        """A dictionary that `from_json` takes back."""
        return {
            "input": self.input,
            "settings": self.settings,
            "n_records": self.n_records,
            "files": {role: [state.n_bytes, state.sha256] for role, state in self.files.items()},
            "tally": self.tally.as_json(),
            "report": self.report,
        }

    @classmethod
    def from_json(cls, stored: dict[str, Any]) -> Entry:
        """The entry that `as_json` described."""
        files = {role: WrittenState(*state) for role, state in stored["files"].items()}
        tally = Tally.from_json(stored["tally"])
        known = (stored["input"], stored["settings"], stored["n_records"], files, tally)
        return cls(*known, stored.get("report"))

    def at(self, n_records: int, files: dict[str, WrittenState]) -> Entry:
        """The same file, further on; the tally is shared."""
        return replace(self, n_records=n_records, files=files)

    def check(self, input_print: str, settings: str) -> None:
        """Refuse to go on with another input or other settings.

        Raises:
            InputError: The input is not the one that was begun.
            ConfigurationError: The settings are not.
        """
        if self.settings != settings:
            raise ConfigurationError(
                "the interrupted run had other settings or another model; "
                "give the same ones, or add --force to start again"
            )
        if self.input != input_print:
            raise InputError("has changed since the interrupted run; add --force to mask it again")


def progress_path(target: Path) -> Path:
    """Where the progress of a half-done file is kept."""
    return target.with_name(f".{target.name}.progress.json")


def write_progress(target: Path, entry: Entry) -> None:
    """Keep the progress of a half-done file, atomically."""
    path = progress_path(target)
    temporary = path.with_name(path.name + ".new")
    with output_errors(target):
        with temporary.open("w", encoding="utf-8") as stream:
            json.dump(entry.as_json(), stream)
            stream.flush()
            os.fsync(stream.fileno())
        temporary.replace(path)


def read_progress(target: Path) -> Entry | None:
    """The progress of a half-done file, None if there is none that can be used."""
    try:
        return Entry.from_json(json.loads(progress_path(target).read_text(encoding="utf-8")))
    except (OSError, *_DAMAGED):
        return None


def remove_progress(target: Path) -> None:
    """Forget the progress of a file."""
    path = progress_path(target)
    for leftover in (path, path.with_name(path.name + ".new")):
        with suppress(OSError):
            leftover.unlink()


class Journal:
    """The complete files of a run into one output folder.

    Args:
        folder: The output folder; it need not exist yet.
        settings: Fingerprint of this run's settings. Entries of other settings
            are dropped.
    """

    def __init__(self, folder: Path, settings: str) -> None:
        self._path = folder / JOURNAL_NAME
        entries = _read_entries(self._path)
        self._entries = {name: entry for name, entry in entries.items() if entry.settings == settings}
        self.had_other_settings = len(self._entries) < len(entries)
        self._must_rewrite = self.had_other_settings

    def entry(self, name: str) -> Entry | None:
        """What is known of a complete file."""
        return self._entries.get(name)

    def append(self, entries: dict[str, Entry]) -> None:
        """Note files that are complete on the disk but do not have their names yet."""
        self._entries |= entries
        mode = "w" if self._must_rewrite else "a"
        listed = self._entries if self._must_rewrite else entries
        lines = (json.dumps({"output": name, **entry.as_json()}) for name, entry in listed.items())
        with output_errors(self._path):
            self._path.parent.mkdir(parents=True, exist_ok=True)
            with self._path.open(mode, encoding="utf-8") as stream:
                stream.write("".join(f"\n{line}\n" for line in lines))
                stream.flush()
                os.fsync(stream.fileno())
        self._must_rewrite = False

    def remove(self) -> None:
        """Forget everything: the run is complete."""
        with suppress(OSError):
            self._path.unlink()


def _read_entries(path: Path) -> dict[str, Entry]:
    """The readable lines; the last one may have been cut by a kill."""
    entries: dict[str, Entry] = {}
    with suppress(OSError):
        for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
            with suppress(*_DAMAGED):
                stored = json.loads(line)
                entries[stored["output"]] = Entry.from_json(stored)
    return entries


def is_intact(path: Path, state: WrittenState | None) -> bool:
    """Whether a file is there and still the one that was written."""
    if state is None or not path.is_file() or path.stat().st_size != state.n_bytes:
        return False
    return sha256_of(path) == state.sha256
