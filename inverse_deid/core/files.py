"""Files and folders that appear under their names only when they are complete.

A file is written as `.NAME.partial` in the same folder, forced to the disk and then renamed, so a
reader never sees half a file, even when the program is killed.
"""

from __future__ import annotations

import errno
import hashlib
import os
import shutil
import stat
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from io import BufferedRandom, BufferedWriter
from pathlib import Path
from typing import NamedTuple

from inverse_deid.core.errors import START_AGAIN, ConfigurationError, InputError, OutputError
from inverse_deid.core.wording import _

_OTHERS = stat.S_IRWXG | stat.S_IRWXO


class WrittenState(NamedTuple):
    """How much of a file is safely on the disk, and its SHA-256."""

    n_bytes: int
    sha256: str


def printable(name: Path | str) -> str:
    r"""Return a path or another name for a message: one line, without control characters.

    Example:
        >>> printable(Path("odd\nname.txt"))
        'odd?name.txt'
    """
    return "".join(sign if sign.isprintable() else "?" for sign in str(name))


def partial_path(target: Path) -> Path:
    """Return the path of a file while it is being written.

    Example:
        >>> partial_path(Path("masked/cases.jsonl")).name
        '.cases.jsonl.partial'
    """
    return target.with_name(f".{target.name}.partial")


def check_private(path: Path) -> None:
    """Refuse a file with a secret that other users of the computer can read.

    Raises:
        ConfigurationError: Its mode gives access to group or others.
    """
    if os.name == "posix" and path.exists() and path.stat().st_mode & _OTHERS:
        raise ConfigurationError(
            _("{path} can be read by other users. Run chmod 600 on it", path=printable(path))
        )


@contextmanager
def output_errors(path: Path) -> Iterator[None]:
    """Turn an error of the operating system while writing into one line with a remedy."""
    problem = ""
    try:
        yield
    except OSError as error:
        problem = _remedy(error)
    if problem:
        raise OutputError(_("{path} cannot be written: {problem}", path=printable(path), problem=problem))


def _remedy(error: OSError) -> str:
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return _("no space left on the disk. Free some space and run again")
    if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
        return _("no permission to write there. Choose another folder")
    if error.errno in (errno.ENAMETOOLONG, errno.EINVAL):
        return _("its name is too long or not allowed there. Rename the input, or choose another name")
    return _(
        "{strerror}. Choose another folder, or free some space",
        strerror=error.strerror or type(error).__name__,
    )


def replace_folder(folder: Path, staging: Path) -> None:
    """Give the complete folder `staging` its name; an older one is removed only after that.

    Raises:
        OSError: It cannot be renamed; the older folder is still in place.
    """
    if not folder.exists():
        staging.rename(folder)
        return
    older = staging.with_name(staging.name + "-older")
    folder.rename(older)
    try:
        staging.rename(folder)
    except OSError:
        older.rename(folder)
        raise
    shutil.rmtree(older, ignore_errors=True)


def write_folder(folder: Path, fill: Callable[[Path], None]) -> None:
    """Write a folder whole or not at all; an older one of that name is replaced.

    Raises:
        OutputError: The folder cannot be written.
    """
    with output_errors(folder):
        folder.parent.mkdir(parents=True, exist_ok=True)
        staging = Path(tempfile.mkdtemp(prefix=f".{folder.name}-", dir=folder.parent))
        try:
            fill(staging)
            staging.chmod(0o755)
            replace_folder(folder, staging)
        finally:
            shutil.rmtree(staging, ignore_errors=True)


_NO_FOLLOW = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)


def open_own(path: Path, flags: int) -> int:
    """Open a file that an earlier run left, never through a link; `flags` are those of `os.open`.

    Raises:
        OSError: It cannot be opened, or it is a link, a pipe or a folder, or has a second name.
    """
    descriptor = os.open(path, flags | _NO_FOLLOW)
    status = os.fstat(descriptor)
    if not stat.S_ISREG(status.st_mode) or status.st_nlink != 1:
        os.close(descriptor)
        raise OSError(errno.ELOOP, "is a link or no file")
    return descriptor


def read_own(path: Path) -> bytes:
    """Read a small file that an earlier run left.

    Raises:
        OSError: As `open_own`.
    """
    with os.fdopen(open_own(path, os.O_RDONLY), "rb") as stream:
        return stream.read()


def replace_own(path: Path, data: bytes) -> None:
    """Write a small file for its owner alone (mode 600) in one step; a link of that name is replaced.

    Raises:
        OSError: It cannot be written.
    """
    temporary = new_path(path)
    temporary.unlink(missing_ok=True)
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "wb") as stream:
        stream.write(data)
        stream.flush()
        os.fsync(stream.fileno())
    temporary.replace(path)


def new_path(path: Path) -> Path:
    """Return the path that `replace_own` writes before it gives the file its name.

    Example:
        >>> new_path(Path("masked/.a.csv.progress.json")).name
        '.a.csv.progress.json.new'
    """
    return path.with_name(path.name + ".new")


def sha256_of(path: Path) -> str:
    """Return the SHA-256 of a file in hexadecimal digits."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def sha256_if_readable(path: Path) -> str:
    """Return the SHA-256 of a file in hexadecimal digits, or "missing" if the file cannot be read."""
    try:
        return sha256_of(path)
    except OSError:
        return "missing"


class PartialFile:
    """An output file that is being written.

    Args:
        target: The final name.
        private: Readable by its owner alone (mode 600).
        resume: Continue a partial file at this state; None = from the beginning.

    Raises:
        OutputError: It cannot be created or written.
        InputError: The partial file is not what the journal says.
    """

    def __init__(self, target: Path, *, private: bool = False, resume: WrittenState | None = None) -> None:
        self.target = target
        self.path = partial_path(target)
        self.closed = False
        self._discarded = False
        with output_errors(target):
            target.parent.mkdir(parents=True, exist_ok=True)
        self._hash = hashlib.sha256()
        self._n_bytes = 0
        self._stream: BufferedWriter | BufferedRandom
        if resume is not None:
            self._continue(resume)
            return
        with output_errors(target):
            self.path.unlink(missing_ok=True)
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL
            self._stream = os.fdopen(os.open(self.path, flags, 0o600 if private else 0o666), "wb")

    def _continue(self, state: WrittenState) -> None:
        stream = self._left(state)
        self._stream = stream
        with output_errors(self.target):
            stream.truncate(state.n_bytes)
            while block := stream.read(1 << 20):
                self._hash.update(block)
        self._n_bytes = state.n_bytes
        if self._hash.hexdigest() != state.sha256:
            self.close()
            name = printable(self.path)
            raise InputError(
                _("{name} of the interrupted run was changed", name=name), remedies=[START_AGAIN]
            )

    def _left(self, state: WrittenState) -> BufferedRandom:
        """Open the file of the interrupted run; nothing is changed before it is known not to be a link."""
        with suppress(OSError):
            stream = os.fdopen(open_own(self.path, os.O_RDWR), "r+b")
            if os.fstat(stream.fileno()).st_size >= state.n_bytes:
                return stream
            stream.close()
        raise InputError(
            _("{path} of the interrupted run is gone", path=printable(self.path)), remedies=[START_AGAIN]
        )

    def write(self, data: bytes, /) -> int:
        """Write all of `data`; a discarded file ignores it (writers may end their file late)."""
        view = memoryview(data)
        if self._discarded:
            return view.nbytes
        with output_errors(self.target):
            self._stream.write(view)
        self._hash.update(view)
        self._n_bytes += view.nbytes
        return view.nbytes

    def flush(self) -> None:
        """Pass the data to the operating system."""
        with output_errors(self.target):
            self._stream.flush()

    def tell(self) -> int:
        """Return the number of bytes written."""
        return self._n_bytes

    def sync(self) -> WrittenState:
        """Force the data to the disk."""
        self.flush()
        with output_errors(self.target):
            os.fsync(self._stream.fileno())
        return WrittenState(self._n_bytes, self._hash.hexdigest())

    def commit(self) -> None:
        """Give the complete, synced file its name."""
        self.close()
        with output_errors(self.target):
            self.path.replace(self.target)

    def close(self) -> None:
        """Close and leave the partial file where it is."""
        self.closed = True
        with suppress(OSError):
            self._stream.close()

    def discard(self) -> None:
        """Close and remove the partial file."""
        self._discarded = True
        self.close()
        with suppress(OSError):
            self.path.unlink()


def write_whole(path: Path, pieces: Iterable[bytes], *, private: bool = False) -> None:
    """Write a file whole or not at all; a private one has mode 600 from its first byte on.

    Raises:
        OutputError: It cannot be written.
    """
    file = PartialFile(path, private=private)
    is_complete = False
    try:
        for piece in pieces:
            file.write(piece)
        file.sync()
        is_complete = True
    finally:
        file.commit() if is_complete else file.discard()
