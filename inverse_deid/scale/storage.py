"""Files on any file system that fsspec knows: local disks, S3, HDFS and others."""

from __future__ import annotations

import hashlib
import io
import os
import uuid
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any, BinaryIO, cast

import fsspec

from inverse_deid.core.errors import (
    ConfigurationError,
    InverseDeidError,
    OutputError,
    OutputExistsError,
    Remedy,
    UnreadableInputError,
)
from inverse_deid.core.files import WrittenState, printable
from inverse_deid.core.wording import N_, _

_HEAD_BYTES = 1 << 16
_STAMPS = ("mtime", "LastModified", "last_modified", "updated", "ETag", "etag")
"""Names that file systems give to the time of the last change, or to something that changes with it."""


@dataclass(frozen=True, slots=True)
class Place:
    """A file or folder on some file system of fsspec; the path has forward slashes."""

    fs: Any = field(repr=False)
    path: str

    def child(self, name: str) -> Place:
        return Place(self.fs, f"{self.path.rstrip('/')}/{name}")

    @property
    def address(self) -> str:
        """The full address, which any other process understands."""
        return str(self.fs.unstrip_protocol(self.path))

    @property
    def printable(self) -> str:
        """The address for a message: one line; local files without a protocol."""
        if is_local(self):
            return printable(Path(self.path))
        return "".join(sign if sign.isprintable() else "?" for sign in self.address)


def place_of(address: str) -> Place:
    """Find the file system of an address.

    Raises:
        ConfigurationError: fsspec does not know it, or its package is missing.
    """
    problem = ""
    if "::" in address:
        raise ConfigurationError(
            _("{scheme}: a chain of file systems (::) cannot be used. Give one", scheme=_scheme(address))
        )
    try:
        fs, path = fsspec.core.url_to_fs(address)
    except ImportError:
        problem = _("the package for this kind of address is not installed (s3fs for s3://, gcsfs for gs://)")
    except Exception as error:  # noqa: BLE001 - every file system raises its own; the text may contain a password
        problem = _("the address cannot be used ({name})", name=type(error).__name__)
    if problem:
        raise ConfigurationError(
            _(
                "{scheme}: {problem}. Give a path, or an address that fsspec knows",
                scheme=_scheme(address),
                problem=problem,
            )
        )
    return Place(fs, path)


def is_in_one_process(place: Place) -> bool:
    """Tell whether no other process can see the files there."""
    return "memory" in _protocols(place)


def is_local(place: Place) -> bool:
    """Tell whether it is on a file system of this machine, with links and inodes."""
    return "file" in _protocols(place)


def refuse_links(folder: Place, names: Iterable[str]) -> None:
    """Refuse to write through a link below a local folder, which may be a link itself.

    Raises:
        OutputExistsError: A folder between is a link.
    """
    if not is_local(folder):
        return
    base = Path(folder.path)
    parents = {base / parent for name in names for parent in PurePosixPath(name).parents}
    for path in sorted(parents - {base}):
        if path.is_symlink():
            raise OutputExistsError(
                _("{path} is a link", path=printable(path)),
                remedies=[
                    Remedy(step=N_("remove it")),
                    Remedy("out", step=N_("choose another folder with {}")),
                ],
            )


def _protocols(place: Place) -> tuple[str, ...]:
    protocol = place.fs.protocol
    return (protocol,) if isinstance(protocol, str) else tuple(protocol)


def _scheme(address: str) -> str:
    return address.partition("://")[0] + "://" if "://" in address else printable(Path(address))


@contextmanager
def storage_errors(place: Place, *, writing: bool = False) -> Iterator[None]:
    """Turn errors of a file system into one line; our own errors pass."""
    problem = ""
    remedies: tuple[Remedy, ...] = ()
    try:
        yield
    except InverseDeidError:
        raise
    except FileNotFoundError:
        problem = _("does not exist; check the spelling")
    except PermissionError:
        problem = _("no permission; ask its owner for the right")
    except Exception as error:  # noqa: BLE001 - every file system raises its own
        what = (isinstance(error, OSError) and error.strerror) or type(error).__name__
        problem = what
        remedies = (Remedy("resume", step=N_("check the storage and run the same command with {}")),)
    if problem and writing:
        raise OutputError(
            _("{printable} cannot be written: {problem}", printable=place.printable, problem=problem),
            remedies=remedies,
        )
    if problem:
        raise UnreadableInputError(problem, remedies=remedies)


def fingerprint_of(place: Place) -> str:
    """Return a hash that tells a file from a changed one: of size, time of change and beginning.

    Raises:
        UnreadableInputError: It cannot be read.
    """
    with storage_errors(place):
        place.fs.invalidate_cache()
        info = place.fs.info(place.path)
        with place.fs.open(place.path, "rb") as stream:
            head = stream.read(_HEAD_BYTES)
    stamp = [str(info[name]) for name in _STAMPS if info.get(name) is not None]
    return hashlib.sha256(repr((info["size"], stamp)).encode() + head).hexdigest()


class ByteRange(io.RawIOBase):
    """The beginning of a file and a later part of it, read as one.

    Args:
        stream: The whole file; it is closed with this one.
        head_bytes: Length of the beginning that comes first.
        start: Offset of the part in bytes.
        end: Offset after it.

    Example:
        >>> ByteRange(io.BytesIO(b"head,row1,row2"), 5, 10, 14).read()
        b'head,row2'
    """

    def __init__(self, stream: BinaryIO, head_bytes: int, start: int, end: int) -> None:
        self._stream = stream
        self._parts = [(0, head_bytes), (start, end)]
        self._position = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any, /) -> int:  # noqa: ANN401 - as io declares it
        """Fill the buffer; 0 at the end."""
        while self._parts:
            begin, end = self._parts[0]
            at = max(begin, self._position)
            wanted = min(len(buffer), end - at)
            if wanted > 0:
                self._stream.seek(at)
                data = self._stream.read(wanted)
                buffer[: len(data)] = data
                self._position = at + len(data)
                if data:
                    return len(data)
            self._parts.pop(0)
            self._position = 0
        return 0

    def close(self) -> None:
        self._stream.close()
        super().close()


class AtomicFile:
    """A file that gets its name only when it is complete (a `Writable`).

    It is written under a unique name: two workers that write the same partition, one of them cut off
    and taken for dead, never write into one file.

    Raises:
        OutputError: It cannot be created or written.
    """

    closed = False

    def __init__(self, place: Place) -> None:
        self._place = place
        folder, _, name = place.path.rpartition("/")
        self._partial = f"{folder}/.{name}.{uuid.uuid4().hex}.partial"
        self._hash = hashlib.sha256()
        self._n_bytes = 0
        self._discarded = False
        with storage_errors(place, writing=True):
            place.fs.makedirs(folder, exist_ok=True)
            self._stream = place.fs.open(self._partial, "wb")

    def write(self, data: bytes, /) -> int:
        """Take all of `data`; a discarded file drops it (writers end their file late)."""
        view = memoryview(data)
        if self._discarded:
            return view.nbytes
        with storage_errors(self._place, writing=True):
            self._stream.write(view)
        self._hash.update(view)
        self._n_bytes += view.nbytes
        return view.nbytes

    def flush(self) -> None:
        """Do nothing: the file cannot be used before `commit` (Parquet's writer calls this)."""

    def tell(self) -> int:
        return self._n_bytes

    def commit(self) -> WrittenState:
        """Give the complete file its name."""
        with storage_errors(self._place, writing=True):
            self._stream.flush()
            with suppress(AttributeError, io.UnsupportedOperation, OSError):
                os.fsync(self._stream.fileno())  # stores without descriptors do it when they are closed
            self._stream.close()
            if is_local(self._place):
                os.replace(self._partial, self._place.path)  # noqa: PTH105 - `mv` would move into a linked folder
            else:
                self._place.fs.mv(self._partial, self._place.path)
        return WrittenState(self._n_bytes, self._hash.hexdigest())

    def discard(self) -> None:
        self._discarded = True
        with suppress(Exception):
            self._stream.close()
        with suppress(Exception):
            self._place.fs.rm_file(self._partial)


def write_atomically(place: Place, data: bytes) -> None:
    file = AtomicFile(place)
    try:
        file.write(data)
        file.commit()
    except BaseException:
        file.discard()
        raise


def open_place(place: Place) -> BinaryIO:
    """Open a file for reading, as it is.

    Raises:
        UnreadableInputError: It cannot be opened.
    """
    with storage_errors(place):
        stream = place.fs.open(place.path, "rb")
    return cast(BinaryIO, stream)


def name_below(place: Place, folder: Place) -> str:
    return PurePosixPath(place.path).relative_to(folder.path).as_posix()
