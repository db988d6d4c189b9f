"""Records of what a run had done, so that `--resume` continues where it was safe.

The journal in the output folder has one line for every complete file, written before the file gets its
name. `.NAME.progress.json` is beside a table or JSON Lines file that is half done. Both contain hashes,
sizes and counts, no narrative and no file name, and only their owner can read them (mode 600). Neither is
ever read or written through a link. Once everything is done, one hash is left in the journal: it tells
`--resume` that nothing is left to do, and nothing else.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import msgspec

from inverse_deid.core.errors import ConfigurationError, InputError
from inverse_deid.core.files import (
    WrittenState,
    new_path,
    open_own,
    output_errors,
    read_own,
    replace_own,
    sha256_of,
)
from inverse_deid.engine.jobs import Job
from inverse_deid.engine.tally import Tally
from inverse_deid.formats.registry import input_errors

JOURNAL_NAME = ".inverse-deid.journal"
_HEAD_BYTES = 1 << 16
_DAMAGED = (ValueError, KeyError, TypeError, AttributeError, RecursionError)
"""Errors while a record is read that was cut or changed."""


def input_fingerprint(path: Path) -> str:
    """Return a hash that tells an input from a changed one: of size, time of change and beginning."""
    status = path.stat()
    with path.open("rb") as stream:
        head = stream.read(_HEAD_BYTES)
    stamp = f"{status.st_size} {status.st_mtime_ns} ".encode()
    return hashlib.sha256(stamp + head).hexdigest()


def check_unchanged(job: Job, input_print: str) -> None:
    """Refuse to release the outputs of an input that changed after `input_print` was taken.

    Raises:
        InputError: It is another file than the job planned, or its content changed.
    """
    with input_errors():
        status = job.input.stat()
        is_same = (
            job.identity == (status.st_dev, status.st_ino) and input_fingerprint(job.input) == input_print
        )
    if not is_same:
        raise InputError(
            "changed during the run and was not masked. Run again with --resume once it is complete"
        )


@dataclass(frozen=True, slots=True)
class Entry:
    """One file: complete if in the journal, else done up to a record."""

    input: str  # fingerprint of the input
    settings: str  # fingerprint of model, lexicon and all options that shape the output
    n_records: int  # records of the input that are done
    files: dict[str, WrittenState]  # by role (masked, explain, annotations, map), what is written
    tally: Tally
    report: dict[str, Any] | None = None  # for case reports: what was done to which element, no values

    def as_json(self, shown: str) -> dict[str, Any]:
        """Return a dictionary that `from_json` reads; `shown`, the name of the input, is left out."""
        tally = self.tally.rename(shown, "").hide_parts()
        stored: dict[str, Any] = msgspec.to_builtins(replace(self, tally=tally))
        return stored

    @classmethod
    def from_json(cls, stored: dict[str, Any], shown: str) -> Entry:
        """Read the entry that `as_json` wrote, of an input that is now called `shown`."""
        entry = msgspec.convert(stored, cls)
        return replace(entry, tally=entry.tally.rename("", shown))

    def at(self, n_records: int, files: dict[str, WrittenState]) -> Entry:
        """Return the entry of the same file, further on; the tally is shared."""
        return replace(self, n_records=n_records, files=files)

    def check(self, input_print: str, settings: str) -> None:
        """Refuse to continue with another input or other settings.

        Raises:
            InputError: The input is not that of the interrupted run.
            ConfigurationError: The settings are not.
        """
        if self.settings != settings:
            raise ConfigurationError(
                "the interrupted run had other settings or another model. "
                "Give the same ones, or add --force to start again"
            )
        if self.input != input_print:
            raise InputError("has changed since the interrupted run. Add --force to mask it again")


def progress_path(target: Path) -> Path:
    """Return where the progress of a half-done file is kept."""
    return target.with_name(f".{target.name}.progress.json")


def write_progress(job: Job, entry: Entry) -> None:
    """Keep the progress of a half-done file, atomically."""
    with output_errors(job.target):
        replace_own(progress_path(job.target), json.dumps(entry.as_json(job.shown)).encode())


def read_progress(job: Job) -> Entry | None:
    """Return the progress of a half-done file, None = missing or unusable."""
    try:
        return Entry.from_json(json.loads(read_own(progress_path(job.target))), job.shown)
    except (OSError, *_DAMAGED):
        return None


def remove_progress(target: Path) -> None:
    """Forget the progress of a file."""
    path = progress_path(target)
    for leftover in (path, new_path(path)):
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
        self._settings = settings
        entries, self._finished = _read_lines(self._path)
        self._entries = {key: line for key, line in entries.items() if line.get("settings") == settings}
        self.had_other_settings = len(self._entries) < len(entries)
        self._is_begun = False

    def entry(self, job: Job) -> Entry | None:
        """Return the entry of a complete file, None = unknown."""
        with suppress(*_DAMAGED):
            return Entry.from_json(self._entries[_key(job)], job.shown)
        return None

    def append(self, entries: Mapping[Job, Entry]) -> None:
        """Note files that are complete on the disk but do not have their names yet."""
        lines = {
            _key(job): {"output": _key(job), **entry.as_json(job.shown)} for job, entry in entries.items()
        }
        self._entries |= lines
        with output_errors(self._path):
            if not self._is_begun:
                self._rewrite(self._entries)
                return
            text = "".join(f"\n{json.dumps(line)}\n" for line in lines.values())
            with os.fdopen(open_own(self._path, os.O_WRONLY | os.O_APPEND), "ab") as stream:
                stream.write(text.encode())
                stream.flush()
                os.fsync(stream.fileno())

    def _rewrite(self, entries: Mapping[str, dict[str, Any]]) -> None:
        """Write a journal of our own, whatever had its name."""
        self._path.parent.mkdir(parents=True, exist_ok=True)
        lines = [{"finished": self._finished}, *entries.values()] if self._finished else entries.values()
        replace_own(self._path, "".join(f"{json.dumps(line)}\n" for line in lines).encode())
        self._is_begun = True

    def finish(self, jobs: Sequence[Job]) -> None:
        """Keep one hash of a run that is complete, and forget everything else.

        A journal that cannot be written stays as it is: it also says that nothing is left to do.
        """
        files = {job: entry.files for job in jobs if (entry := self.entry(job)) is not None}
        digest = self._digest(jobs, files.__getitem__) if len(files) == len(set(jobs)) else None
        if digest is not None and digest not in self._finished:
            self._finished.append(digest)
        with suppress(OSError):
            self._rewrite({})

    def is_finished(self, jobs: Sequence[Job]) -> bool:
        """Tell whether a run with exactly these inputs, settings and outputs was complete."""
        return bool(self._finished) and self._digest(jobs, _read_states) in self._finished

    def _digest(self, jobs: Sequence[Job], states: Callable[[Job], Mapping[str, WrittenState]]) -> str | None:
        """Return one hash of a run: settings, outputs, and what the file system says about its inputs."""
        files_of_run = []
        with suppress(OSError):
            for job in sorted(jobs, key=lambda one: one.name):
                status = job.input.stat()
                times = (status.st_mtime_ns, status.st_ctime_ns)
                stamp = (job.name, status.st_dev, status.st_ino, status.st_size, *times)
                files_of_run.append([*stamp, states(job)])
            return hashlib.sha256(
                json.dumps([self._settings, files_of_run], sort_keys=True).encode()
            ).hexdigest()
        return None


def _key(job: Job) -> str:
    """Return what replaces the name of a file, which a journal must not contain."""
    return hashlib.sha256(job.name.encode()).hexdigest()


def _read_states(job: Job) -> dict[str, WrittenState]:
    """Read the outputs as they are on the disk.

    Raises:
        OSError: One is missing, a link, or has a second name.
    """
    found: dict[str, WrittenState] = {}
    for output in job.outputs:
        with os.fdopen(open_own(output.path, os.O_RDONLY), "rb") as stream:
            sha256 = hashlib.file_digest(stream, "sha256").hexdigest()
            found[output.role] = WrittenState(os.fstat(stream.fileno()).st_size, sha256)
    return found


def _read_lines(path: Path) -> tuple[dict[str, dict[str, Any]], list[str]]:
    """Return the readable lines by file, and the hashes of complete runs; a kill may have cut the last."""
    entries: dict[str, dict[str, Any]] = {}
    finished: list[str] = []
    with suppress(OSError):
        for line in read_own(path).decode("utf-8", "replace").splitlines():
            with suppress(*_DAMAGED):
                stored = json.loads(line)
                if "finished" in stored:
                    finished += [str(digest) for digest in stored["finished"]]
                else:
                    Entry.from_json(stored, "")
                    entries[stored["output"]] = stored
    return entries, finished


def is_intact(path: Path, state: WrittenState | None) -> bool:
    """Tell whether a file exists and is still the one that was written."""
    if state is None or path.is_symlink() or not path.is_file() or path.stat().st_size != state.n_bytes:
        return False
    return sha256_of(path) == state.sha256
