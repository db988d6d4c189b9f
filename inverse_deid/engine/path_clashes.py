"""No file of a run is two things at once: everything that is read and written is compared before work starts.

Paths are compared as the file system resolves them, without regard to case, and existing files by device
and inode, so that links and other spellings of a name are found.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from inverse_deid.core.errors import ConfigurationError
from inverse_deid.engine.jobs import Job, shown
from inverse_deid.engine.journal import JOURNAL_NAME, progress_path
from inverse_deid.engine.partial_file import new_path, partial_path

_Key = str | tuple[int, int]


@dataclass(frozen=True, slots=True)
class GivenPaths:
    """The paths of a command besides its inputs and outputs, by the options that gave them.

    Args:
        out: Folder of the masked files, which holds the journal.
        read: Files that are read (a key, lists of words).
        written: Files that are written (a run report).
        folders: Folders that are written into.
    """

    out: Path
    read: Mapping[str, Path] = field(default_factory=dict)
    written: Mapping[str, Path] = field(default_factory=dict)
    folders: Mapping[str, Path] = field(default_factory=dict)


def check_paths(jobs: Sequence[Job], given: GivenPaths) -> None:
    """Refuse a run in which one file would be two things.

    Raises:
        ConfigurationError: Two of the paths are one file, or a file stands where a folder has to be.
    """
    taken: dict[_Key, str] = {}
    for job in jobs:
        taken.update((key, "an INPUT") for key in _keys(job.input))
    journal = given.out / JOURNAL_NAME
    for name, path in _own_files(jobs, journal):
        _refuse_taken(name, path, taken)
    for name, path in _own_files(jobs, journal):
        taken.update((key, name) for key in _keys(path))
    for job in jobs:
        _refuse_own_twice(job, taken)
        taken.update((key, "an output") for output in job.outputs for key in _keys(output.path))
    for option, path in given.read.items():
        _refuse_taken(option, path, taken)
        taken.update((key, option) for key in _keys(path))
    for option, path in given.written.items():
        for one in (path, partial_path(path)):
            _refuse_taken(option, one, taken)
        _refuse_folder(option, path, given.folders)


def _own_files(jobs: Sequence[Job], journal: Path) -> Iterator[tuple[str, Path]]:
    """What lies beside the outputs while they are written."""
    for path in (journal, new_path(journal)):
        yield "the journal", path
    for job in jobs:
        for output in job.outputs:
            yield f"the unfinished output of {job.shown}", partial_path(output.path)
        progress = progress_path(job.target)
        for path in (progress, new_path(progress)):
            yield f"the progress of {job.shown}", path


def _refuse_own_twice(job: Job, taken: Mapping[_Key, str]) -> None:
    """Outputs may have the name of an input (which is refused file by file), but of nothing of our own."""
    for output in job.outputs:
        owners = {taken[key] for key in _keys(output.path) if key in taken} - {"an INPUT", "an output"}
        if owners:
            raise ConfigurationError(
                f"{shown(output.path)}: the output of {job.shown} and {owners.pop()} would be the same file. "
                "Rename the input"
            )


def _refuse_taken(option: str, path: Path, taken: Mapping[_Key, str]) -> None:
    for key in _keys(path):
        if key in taken:
            raise ConfigurationError(
                f"{shown(path)}: {option} and {taken[key]} would be the same file. Use another file"
            )


def _refuse_folder(option: str, path: Path, folders: Mapping[str, Path]) -> None:
    file = _spelled(path)
    for other, folder in folders.items():
        resolved = _spelled(folder)
        if resolved == file or resolved.startswith(f"{file}/"):
            raise ConfigurationError(
                f"{shown(path)}: {option} needs a file where {other} needs a folder. Use another name"
            )


def _keys(path: Path) -> Iterable[_Key]:
    """All that tells a file from another: its name in its folder, where a link leads, device and inode."""
    keys: list[_Key] = [_spelled(path.parent) + "/" + _folded(path.name), _spelled(path)]
    try:
        status = path.stat()
    except OSError:
        return keys
    return [*keys, (status.st_dev, status.st_ino)]


def _spelled(path: Path) -> str:
    return _folded(path.resolve().as_posix()).rstrip("/")


def _folded(name: str) -> str:
    """One spelling for all that a file system may take for the same name."""
    return unicodedata.normalize("NFC", name).casefold()
