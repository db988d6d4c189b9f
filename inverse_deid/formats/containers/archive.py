"""Archives (.zip): each file in them is masked by its format and packed again (docs/office-files.md).

Names, and the folders in them, are copied like those of files, or numbered. Times, comments, extra fields,
rights and owners are not. Nothing is ever unpacked into a folder.
"""

from __future__ import annotations

import io
import shutil
import stat
import unicodedata
import zipfile
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import PurePosixPath
from typing import IO, BinaryIO, cast

from inverse_deid.core.errors import FormatError, InputError
from inverse_deid.core.files import printable
from inverse_deid.core.wording import N_, _
from inverse_deid.formats.containers.office_package import (
    EPOCH,
    UNREADABLE,
    ZIP_COMMENT,
    count_comments,
    is_bomb,
    leaves_folder,
)
from inverse_deid.formats.containers.parts import (
    IF_UNKNOWN,
    MAX_PART_BYTES,
    Container,
    Part,
    PartFile,
    inside,
    open_part,
    refuse,
    refuse_size,
)
from inverse_deid.formats.nesting import Nesting
from inverse_deid.formats.records import Format, ReadOptions, Writable

_DAMAGED = N_("is not a zip file or is damaged. Pack it again")
_SYSTEM_FILES = frozenset({".ds_store", "thumbs.db", "desktop.ini"})
_FOR_ITS_OWNER = 0o600 << 16


class _Names:
    """The new names of the files of an archive; no two are the same on any file system."""

    def __init__(self, options: ReadOptions) -> None:
        self._options = options
        self._taken: set[str] = set()

    def choose(self, kind: Format, name: str) -> str:
        path = PurePosixPath(name)
        if self._options.renames is not None:
            old = f"{self._options.new_name}/{name}"
            path = PurePosixPath(self._options.renames.name("part", old) + kind.suffix_of(path))
        new = str(kind.written_name(path))
        key = unicodedata.normalize("NFC", new).casefold()
        if key in self._taken:
            raise InputError(_("has the name of another file in the archive. Rename one of them"))
        self._taken.add(key)
        return new


@dataclass(frozen=True, slots=True)
class _Archive:
    file: zipfile.ZipFile = field(repr=False)
    options: ReadOptions = field(repr=False)
    name: str = field(repr=False)
    infos: list[zipfile.ZipInfo] = field(repr=False)

    def parts(self) -> Iterator[Part]:
        # One that cannot be masked has an `open` that says why.
        names = _Names(self.options)
        for number, info in enumerate(self.infos, start=1):
            shown = f" ({printable(info.filename)})" if self.options.renames is None else ""
            label = _("file {number}{shown}", number=number, shown=shown)
            try:
                kind = self._choose_format(info)
                new_name = names.choose(kind, info.filename)
            except InputError as error:
                yield Part(number, "", label, partial(refuse, error.add_prefix("")))
                continue
            options = inside(self.options, new_name, number)
            unpack = partial(self._unpack, kind, info)
            file = PartFile(kind, f"{self.name}/{info.filename}", options, unpack)
            yield Part(number, new_name, label, partial(open_part, file), file=file)

    def _choose_format(self, info: zipfile.ZipInfo) -> Format:
        from inverse_deid.formats.registry import MAX_HEAD_BYTES, choose_format

        name = info.filename
        if leaves_folder(name) or not name.isprintable():
            raise InputError(_("has a name that leads out of the archive or is not allowed. Rename it"))
        if info.flag_bits & 1:
            raise InputError(_("is encrypted. Pack it again without a password"))
        kind = stat.S_IFMT(info.external_attr >> 16)
        if kind not in (0, stat.S_IFREG):
            raise InputError(_("is a link or a device. Pack the file itself"))
        if name.lower().endswith(".gz"):
            raise InputError(_("is packed twice. Unpack it first"))
        head = b""
        problem = _DAMAGED
        with suppress(*UNREADABLE), self.file.open(info) as stream:
            head, problem = stream.read(MAX_HEAD_BYTES), ""
        if problem:
            raise FormatError(problem)
        return choose_format(PurePosixPath(name), head, IF_UNKNOWN)

    def _unpack(self, kind: Format, info: zipfile.ZipInfo) -> BinaryIO:
        stream: BinaryIO | None = None
        if info.file_size > MAX_PART_BYTES:
            raise refuse_size()
        with suppress(*UNREADABLE):
            opened = cast(BinaryIO, self.file.open(info))
            stream = opened if kind.can_be_piped else io.BytesIO(opened.read())
        if stream is None:
            raise FormatError(_DAMAGED)
        return stream


def read_zip(stream: BinaryIO, options: ReadOptions, name: str) -> Container:
    """Open an archive.

    Raises:
        FormatError: Damaged, without a file, or made to fill a disk.
    """
    nesting = options.nesting or Nesting()
    options = replace(options, nesting=nesting.enter())
    file = None
    with suppress(*UNREADABLE):
        file = zipfile.ZipFile(stream)
    if file is None:
        raise FormatError(_DAMAGED)
    infos = [info for info in file.infolist() if not info.is_dir()]
    kept = [info for info in infos if not _is_of_system(info.filename)]
    if not kept:
        raise FormatError(_("contains no files. Give an archive with case narratives"))
    nesting.take(len(infos), sum(info.file_size for info in infos))
    if any(map(is_bomb, infos)):
        raise FormatError(_("unpacks to far more than its size, as only harmful files do. Pack it again"))
    n_system = len(infos) - len(kept)
    removed = Counter({"file of the operating system": n_system, ZIP_COMMENT: count_comments(file)})
    archive = _Archive(file, options, name, kept)
    return Container(archive.parts(), ZipWriter, +removed)


def _is_of_system(name: str) -> bool:
    folders, _, last = name.rpartition("/")
    return "__MACOSX" in folders.split("/") or last.lower() in _SYSTEM_FILES or last.startswith("._")


class ZipWriter:
    """Writes a zip that depends on nothing but the masked files (a `PartWriter`)."""

    def __init__(self, target: Writable) -> None:
        self._target = cast(IO[bytes], _Target(target))
        self._file: zipfile.ZipFile | None = None  # until there is something to write

    def add(self, part: Part, data: BinaryIO) -> None:
        info = zipfile.ZipInfo(part.name, EPOCH)
        info.create_system, info.external_attr = 0, _FOR_ITS_OWNER
        info.compress_type = zipfile.ZIP_DEFLATED
        info.file_size = data.seek(0, io.SEEK_END)  # says whether the sizes need more room
        data.seek(0)
        with self._begin().open(info, "w") as packed:
            shutil.copyfileobj(data, packed)

    def finish(self) -> None:
        self._begin().close()

    def _begin(self) -> zipfile.ZipFile:
        if self._file is None:
            self._file = zipfile.ZipFile(self._target, "w", zipfile.ZIP_DEFLATED)
        return self._file


class _Target:
    def __init__(self, target: Writable) -> None:
        self._target = target

    def write(self, data: bytes, /) -> int:
        self._target.write(data)
        return len(data)

    def flush(self) -> None:
        # Whoever opened the target flushes it.
        pass
