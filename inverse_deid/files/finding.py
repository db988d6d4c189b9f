"""From what the user named to files: folders are walked, and each file gets its format."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from inverse_deid.core.errors import InputError, UnreadableInputError
from inverse_deid.core.files import printable
from inverse_deid.core.wording import N_, _
from inverse_deid.files.facts import Failure
from inverse_deid.formats.records import Format
from inverse_deid.formats.registry import input_errors, sniff_format, without_gz

HIDDEN = N_("hidden file or folder")
"""As a kind of parts that are left out."""


@dataclass(frozen=True, slots=True)
class FoundFile:
    """A file on a disk."""

    input: Path
    shown: str  # its path as the user knows it, printable
    place: PurePosixPath  # below the folder that was given, without `.gz`; its bytes may not be UTF-8
    format: Format
    n_bytes: int
    identity: tuple[int, int]  # device and inode, to recognise it under another name

    @property
    def name(self) -> str:
        """Its place as text."""
        return str(self.place).encode("utf-8", "backslashreplace").decode()

    @property
    def doc_id(self) -> str:
        """The id of a document that does not have its own."""
        return self.name


@dataclass(slots=True)
class FileFinder:
    """Finds the files of inputs in a fixed order, and notes what is left out.

    Args:
        format: Of all files, None = by suffix and first bytes.
        own: Folders that are written into, and so not read.
    """

    format: Format | None = None
    own: Collection[Path] = ()
    failures: list[Failure] = field(default_factory=list)
    n_hidden: int = 0

    def find(self, inputs: Sequence[Path]) -> Iterator[FoundFile]:
        """Yield the files; what cannot be read is noted."""
        for path in inputs:
            try:
                with input_errors():
                    is_folder = path.is_dir()
                    files = list(self._walk(path)) if is_folder else [path]
            except InputError as error:
                self.fail(path, error)
                continue
            if not files:
                self.fail(path, InputError(_("contains no files. Give a folder with case narratives")))
            for file in files:
                place = PurePosixPath(file.relative_to(path).as_posix() if is_folder else file.name)
                try:
                    with input_errors():
                        found = self._identify(file, place)
                except InputError as error:
                    self.fail(file, error)
                else:
                    yield found

    def fail(self, path: Path, error: InputError) -> None:
        """Note why a file cannot be used."""
        self.failures.append(Failure(printable(path), str(error), error.remedies))

    def _walk(self, folder: Path) -> Iterator[Path]:
        """Find all files below a folder, without hidden ones and our own outputs."""

        def note_unreadable(error: OSError) -> None:
            unreadable = InputError(_("cannot be read (no permission). Ask its owner"))
            self.fail(Path(str(error.filename)), unreadable)

        for root, folders, names in os.walk(folder, onerror=note_unreadable):
            here = Path(root)
            hidden = [name for name in (*folders, *names) if name.startswith(".")]
            self.n_hidden += sum(not name.startswith(".inverse-deid") for name in hidden)
            folders[:] = sorted(name for name in folders if not name.startswith("."))
            for name in folders:
                if (here / name).is_symlink():
                    link = InputError(
                        _("is a link to a folder and was not followed. Give that folder as well")
                    )
                    self.fail(here / name, link)
            folders[:] = [name for name in folders if (here / name).resolve() not in self.own]
            yield from (here / name for name in sorted(names) if not name.startswith("."))

    def _identify(self, file: Path, place: PurePosixPath) -> FoundFile:
        if not file.exists():
            raise UnreadableInputError(_("does not exist. Check the spelling"))
        if not file.is_file():
            raise UnreadableInputError(_("is not a file. Give a file or folder, or - for standard input"))
        kind = self.format or sniff_format(file, place)
        place = PurePosixPath(without_gz(place))
        status = file.stat()
        return FoundFile(file, printable(file), place, kind, status.st_size, (status.st_dev, status.st_ino))
