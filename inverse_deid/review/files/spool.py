"""A file of released text that waits to be sent: beyond some size it is on a disk, encrypted."""

from __future__ import annotations

import io
import os
import tempfile
from typing import BinaryIO, cast

from inverse_deid.review.store.keys import Sealer

_BLOCK_BYTES = 1 << 20
_SEAL_BYTES = 28  # what a sealed block has more


class _SealedBlocks(io.RawIOBase):
    """Blocks of one size that are sealed one by one, with a key that is nowhere but in this object.

    One block is open at a time. Nothing is written beyond the end.
    """

    def __init__(self, in_memory_bytes: int) -> None:
        self._file = tempfile.SpooledTemporaryFile(in_memory_bytes)  # noqa: SIM115 - closed with this
        self._sealer = Sealer(os.urandom(32))
        self._position = self._size = self._number = 0
        self._block = bytearray()
        self._is_changed = False

    def readable(self) -> bool:
        return True

    def writable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._position

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        start = {io.SEEK_SET: 0, io.SEEK_CUR: self._position, io.SEEK_END: self._size}[whence]
        self._position = start + offset
        return self._position

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        """Read up to the end of a block."""
        offset = self._open_block()
        found = self._block[offset : offset + len(buffer)]
        buffer[: len(found)] = found
        self._position += len(found)
        return len(found)

    def write(self, data: memoryview) -> int:  # type: ignore[override]
        """Write up to the end of a block.

        Raises:
            OSError: Beyond the end of the file.
        """
        if self._position > self._size:
            raise io.UnsupportedOperation("a hole in a file")
        offset = self._open_block()
        n = min(len(data), _BLOCK_BYTES - offset)
        self._block[offset : offset + n] = data[:n]
        self._position += n
        self._size = max(self._size, self._position)
        self._is_changed = True
        return n

    def close(self) -> None:
        if not self.closed:
            self._file.close()
            self._block.clear()
        super().close()

    def _open_block(self) -> int:
        """Open the block of the position, and return where in it the position is."""
        number, offset = divmod(self._position, _BLOCK_BYTES)
        if number != self._number:
            if self._is_changed:
                self._file.seek(self._number * (_BLOCK_BYTES + _SEAL_BYTES))
                self._file.write(self._sealer.seal(bytes(self._block), f"block {self._number}"))
            self._file.seek(number * (_BLOCK_BYTES + _SEAL_BYTES))
            sealed = self._file.read(_BLOCK_BYTES + _SEAL_BYTES)
            self._block = bytearray(self._sealer.open(sealed, f"block {number}") if sealed else b"")
            self._number, self._is_changed = number, False
        return offset


def open_spool(in_memory_bytes: int) -> BinaryIO:
    """Return an empty file; what is more than this is on a disk, encrypted, until it is closed.

    Example:
        >>> with open_spool(0) as file:
        ...     _ = file.write(b"well"), file.seek(0)
        ...     file.read()
        b'well'
    """
    return cast(BinaryIO, io.BufferedRandom(_SealedBlocks(in_memory_bytes)))
