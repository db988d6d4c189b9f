"""Records of what a run had done, so that a resumed run continues where it was safe.

The journal in the output folder has one line for every complete file, written before the file gets its
name. `.NAME.progress.json` is beside a table or JSON Lines file that is half done. Both name columns, ids and
parts of files, so they are sealed: with a secret that is made of the input file and of the key of the run.
Somebody who has the output folder, but not the input, reads nothing. Without a key they could guess the
beginning of the input together with what the file system says about it: size, two times in nanoseconds and
inode number. Only their owner can read the files (mode 600), and neither is ever read or written through a
link. Once everything is done, one hash is left in the journal: it tells a resumed run that nothing is left to
do, and nothing else.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import msgspec

from inverse_deid.core.errors import ConfigurationError, InputError, Remedy
from inverse_deid.core.files import (
    WrittenState,
    new_path,
    open_own,
    output_errors,
    read_own,
    replace_own,
    sha256_of,
)
from inverse_deid.core.sealed_notes import open_note, seal_note, tag_of
from inverse_deid.core.wording import N_, _
from inverse_deid.engine.jobs.planning import Job
from inverse_deid.engine.tally import Tally
from inverse_deid.formats.registry import input_errors

JOURNAL_NAME = ".inverse-deid.journal"
_HEAD_BYTES = 1 << 16
_DAMAGED = (ValueError, KeyError, TypeError, AttributeError, RecursionError)
"""Errors while a record is read that was cut or changed."""


def other_settings() -> ConfigurationError:
    """Return the error for an interrupted run that was not this one."""
    return ConfigurationError(
        _("the interrupted run had other settings or another model"),
        remedies=[Remedy(step=N_("give the same ones")), Remedy("force", step=N_("add {} to start again"))],
    )


def input_fingerprint(path: Path) -> str:
    """Return a hash that tells an input from a changed one: of size, time of change and beginning."""
    status = path.stat()
    with path.open("rb") as stream:
        head = stream.read(_HEAD_BYTES)
    stamp = f"{status.st_size} {status.st_mtime_ns} ".encode()
    return hashlib.sha256(stamp + head).hexdigest()


@dataclass(frozen=True, slots=True)
class InputSeal:
    """Seals what is noted of one input file; it is never stored itself.

    Args:
        name: Replaces the name of the file.
        settings: Replaces the fingerprint of the settings of the run, which include words of lists.
        secret: Of the notes.
    """

    name: str
    settings: str
    secret: bytes = field(repr=False)

    @classmethod
    def of(cls, job: Job, settings: str, key: bytes) -> InputSeal:
        """Return the seal of a file as it is now.

        Raises:
            OSError: It cannot be read.
        """
        status = job.input.stat()
        times = (status.st_mtime_ns, status.st_ctime_ns)
        stamp = repr(("inverse-deid notes 1", status.st_size, *times, status.st_ino)).encode()
        with job.input.open("rb") as stream:
            whole = stamp + stream.read(_HEAD_BYTES)
        # Tags have no key, so that another key is told from another input. With a key they also leave the
        # content out, of which they could confirm a guess.
        public = stamp if key else whole
        return cls(tag_of(public, job.name), tag_of(public, settings), hmac.digest(key, whole, "sha256"))

    def close(self, note: Mapping[str, Any]) -> dict[str, str]:
        """Return what is written of a note."""
        return {"file": self.name, "settings": self.settings, "sealed": seal_note(self.secret, note)}


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
            _("changed during the run and was not masked"),
            remedies=[Remedy("resume", step=N_("run again with {} once it is complete"))],
        )


@dataclass(frozen=True, slots=True)
class Entry:
    """One file: complete if in the journal, else done up to a record."""

    input: str  # fingerprint of the input
    n_records: int  # records of the input that are done
    files: dict[str, WrittenState]  # by role (masked, explain, annotations, map), what is written
    tally: Tally
    report: dict[str, Any] | None = None  # for case reports: what was done to which element, no values

    def as_json(self, shown: str) -> dict[str, Any]:
        """Return a dictionary that `from_json` reads; `shown`, the name of the input, is left out."""
        tally = self.tally.rename(shown, "")
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


def progress_path(target: Path) -> Path:
    """Return where the progress of a half-done file is kept."""
    return target.with_name(f".{target.name}.progress.json")


def write_progress(job: Job, entry: Entry, seal: InputSeal) -> None:
    """Keep the progress of a half-done file, atomically."""
    with output_errors(job.target):
        replace_own(progress_path(job.target), json.dumps(seal.close(entry.as_json(job.shown))).encode())


def read_progress(job: Job, seal: InputSeal) -> Entry | None:
    """Return the progress of a half-done file, None = missing or unusable.

    Raises:
        InputError: The input is not that of the interrupted run.
        ConfigurationError: The settings are not.
    """
    try:
        stored = json.loads(read_own(progress_path(job.target)))
        file, settings, sealed = stored["file"], stored["settings"], stored["sealed"]
    except (OSError, *_DAMAGED):
        return None
    if file != seal.name:
        raise InputError(
            _("has changed since the interrupted run, or only one of the runs had a key"),
            remedies=[Remedy("force", step=N_("add {} to mask it again"))],
        )
    if settings != seal.settings:
        raise other_settings()
    with suppress(*_DAMAGED):
        return Entry.from_json(open_note(seal.secret, sealed), job.shown)
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
            are not used.
        key: Of the run, b"" = none.
    """

    def __init__(self, folder: Path, settings: str, key: bytes = b"") -> None:
        self._path = folder / JOURNAL_NAME
        self._settings = settings
        self._key = key
        self._lines, self._finished = _read_lines(self._path)
        self._states: dict[Job, dict[str, WrittenState]] = {}
        self._is_begun = False

    def has_other_settings(self, jobs: Iterable[Job]) -> bool:
        """Tell whether one of the files is complete with other settings."""
        for job in jobs if self._lines else ():
            with suppress(OSError):
                seal = self._seal(job)
                if self._lines.get(seal.name, {}).get("settings", seal.settings) != seal.settings:
                    return True
        return False

    def entry(self, job: Job) -> Entry | None:
        """Return the entry of a complete file, None = unknown, or its input has changed."""
        with suppress(OSError, *_DAMAGED):
            seal = self._seal(job) if self._lines else None
            line = {} if seal is None else self._lines.get(seal.name, {})
            if seal is not None and line and line["settings"] == seal.settings:
                entry = Entry.from_json(open_note(seal.secret, line["sealed"]), job.shown)
                self._states[job] = entry.files
                return entry
        return None

    def _seal(self, job: Job) -> InputSeal:
        return InputSeal.of(job, self._settings, self._key)

    def append(self, entries: Mapping[Job, Entry]) -> None:
        """Note files that are complete on the disk but do not have their names yet."""
        with input_errors():
            sealed = [self._seal(job).close(entry.as_json(job.shown)) for job, entry in entries.items()]
        self._states |= {job: entry.files for job, entry in entries.items()}
        lines = {line["file"]: line for line in sealed}
        self._lines |= lines
        with output_errors(self._path):
            if not self._is_begun:
                self._rewrite(self._lines)
                return
            text = "".join(f"\n{json.dumps(line)}\n" for line in lines.values())
            with os.fdopen(open_own(self._path, os.O_WRONLY | os.O_APPEND), "ab") as stream:
                stream.write(text.encode())
                stream.flush()
                os.fsync(stream.fileno())

    def _rewrite(self, lines: Mapping[str, Mapping[str, str]]) -> None:
        """Write a journal of our own, whatever had its name."""
        self._path.parent.mkdir(parents=True, exist_ok=True)
        whole = [{"finished": self._finished}, *lines.values()] if self._finished else lines.values()
        replace_own(self._path, "".join(f"{json.dumps(line)}\n" for line in whole).encode())
        self._is_begun = True

    def finish(self, jobs: Sequence[Job]) -> None:
        """Keep one hash of a run that is complete, and forget everything else.

        A journal that cannot be written stays as it is: it also says that nothing is left to do.
        """
        is_known = all(job in self._states for job in jobs)
        digest = self._digest(jobs, self._states.__getitem__) if is_known else None
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


def _read_lines(path: Path) -> tuple[dict[str, dict[str, str]], list[str]]:
    """Return the sealed lines by file, and the hashes of complete runs; a kill may have cut the last."""
    lines: dict[str, dict[str, str]] = {}
    finished: list[str] = []
    with suppress(OSError):
        for line in read_own(path).decode("utf-8", "replace").splitlines():
            with suppress(*_DAMAGED):
                stored = json.loads(line)
                if "finished" in stored:
                    finished += [str(digest) for digest in stored["finished"]]
                else:
                    one = {name: str(stored[name]) for name in ("file", "settings", "sealed")}
                    lines[one["file"]] = one
    return lines, finished


def is_intact(path: Path, state: WrittenState | None) -> bool:
    """Tell whether a file exists and is still the one that was written."""
    if state is None or path.is_symlink() or not path.is_file() or path.stat().st_size != state.n_bytes:
        return False
    return sha256_of(path) == state.sha256
