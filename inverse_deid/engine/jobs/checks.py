"""Checks of a planned run before work starts: no file is two things at once, no id is unknown.

Paths are compared as the file system resolves them, without regard to case, and existing files by device
and inode, so that links and other spellings of a name are found.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Mapping, Sequence, Set
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from inverse_deid.core.errors import ConfigurationError, FormatError, InputError
from inverse_deid.core.files import new_path, partial_path, printable
from inverse_deid.core.wording import _
from inverse_deid.engine.jobs.journal import JOURNAL_NAME, progress_path
from inverse_deid.engine.jobs.planning import Job
from inverse_deid.files.finding import FoundFile
from inverse_deid.formats.beside.known_values import KnownOfDocuments
from inverse_deid.formats.records import ReadOptions
from inverse_deid.formats.registry import input_errors, open_input

_MAX_IDS_SHOWN = 10
_Key = str | tuple[int, int]


@dataclass(frozen=True, slots=True)
class GivenPaths:
    """The other paths of a command, by the options that gave them."""

    out: Path  # folder of the masked files, which contains the journal
    read: Mapping[str, Path] = field(default_factory=dict)  # files that are read (a key, lists of words)
    written: Mapping[str, Path] = field(default_factory=dict)  # files that are written (a run report)
    folders: Mapping[str, Path] = field(default_factory=dict)  # folders that are written into


def check_paths(jobs: Sequence[Job], given: GivenPaths) -> None:
    """Refuse a run in which one file would be two things.

    Raises:
        ConfigurationError: Two of the paths are one file, or a file is given where a folder must be.
    """
    files = _Files()
    for job in jobs:
        files.take(_("an INPUT"), job.input)
    own = list(_list_own_files(jobs, given.out / JOURNAL_NAME))
    for name, path in own:
        files.refuse_taken(name, path)
    for name, path in own:
        files.take(name, path)
    for job in jobs:
        for output in job.outputs:
            # An output with the name of an input is refused when its turn comes, and the others are done.
            files.refuse_taken(
                _("the output of {shown}", shown=job.shown), output.path, but={_("an INPUT"), _("an output")}
            )
            files.take(_("an output"), output.path)
    for option, path in given.read.items():
        files.refuse_taken(option, path)
        files.take(option, path)
    for option, path in given.written.items():
        files.refuse_taken(option, path)
        files.refuse_taken(option, partial_path(path))
        for other, folder in given.folders.items():
            if f"{_normalize_path(folder)}/".startswith(f"{_normalize_path(path)}/"):
                raise ConfigurationError(
                    _(
                        "{path}: {option} needs a file where {other} needs a folder. Use another name",
                        path=printable(path),
                        option=option,
                        other=other,
                    )
                )


def check_ids(
    jobs: Sequence[Job | FoundFile], known: KnownOfDocuments, path: Path, options: ReadOptions
) -> None:
    """Refuse known identifiers for ids that no document has: a misspelt id would leave a name in.

    Files that cannot be read are skipped here. `path` is the file of the identifiers.

    Raises:
        FormatError: Some ids belong to no document.
    """
    missing = set(known)
    for job in jobs:
        missing.difference_update(_read_ids(job, options))
        if not missing:
            return
    listed = ", ".join(printable(Path(doc_id)) for doc_id in sorted(missing)[:_MAX_IDS_SHOWN])
    raise FormatError(
        _(
            "{path}: {n_missing} ids belong to no document ({listed}). The id of a text file is its path "
            "below the folder that was given",
            path=path,
            n_missing=len(missing),
            listed=listed,
        )
    )


def _read_ids(job: Job | FoundFile, options: ReadOptions) -> Iterator[str]:
    if job.format.is_single_document:
        yield job.doc_id
        return
    if job.format.holds_cases:
        return
    try:
        with open_input(job.input) as stream, input_errors():
            source = job.format.open(stream, options, job.doc_id)
            for record in source.records():
                if record.doc is not None:
                    yield record.doc.id
    except InputError:
        return


def _list_own_files(jobs: Sequence[Job], journal: Path) -> Iterator[tuple[str, Path]]:
    """Return the files beside the outputs while they are written."""
    for path in (journal, new_path(journal)):
        yield _("the journal"), path
    for job in jobs:
        for output in job.outputs:
            yield _("the unfinished output of {shown}", shown=job.shown), partial_path(output.path)
        progress = progress_path(job.target)
        for path in (progress, new_path(progress)):
            yield _("the progress of {shown}", shown=job.shown), path


class _Files:
    """The role of each file, by all that tells it from another: its name in its folder, device and inode."""

    def __init__(self) -> None:
        self._roles: dict[_Key, str] = {}
        self._folders: dict[Path, str] = {}

    def take(self, role: str, path: Path) -> None:
        self._roles.update((key, role) for key in self._keys(path))

    def refuse_taken(self, role: str, path: Path, *, but: Set[str] = frozenset()) -> None:
        for key in self._keys(path):
            other = self._roles.get(key)
            if other is not None and other not in but:
                raise ConfigurationError(
                    _(
                        "{path}: {role} and {other} would be the same file. Use another file",
                        path=printable(path),
                        role=role,
                        other=other,
                    )
                )

    def _keys(self, path: Path) -> Iterator[_Key]:
        folder = self._folders.get(path.parent)
        if folder is None:
            folder = self._folders[path.parent] = _normalize_path(path.parent)
        yield f"{folder}/{_normalize_name(path.name)}"
        with suppress(OSError):
            status = path.stat()
            yield status.st_dev, status.st_ino


def _normalize_path(path: Path) -> str:
    return _normalize_name(path.resolve().as_posix()).rstrip("/")


def _normalize_name(name: str) -> str:
    """Return one spelling for all names that a file system may take for the same."""
    return unicodedata.normalize("NFC", name).casefold()
