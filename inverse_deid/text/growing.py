"""An array that grows at its end, for values that are kept per distinct word."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from inverse_deid.core.values import IntArray

_LEAST_ROWS = 1024


class GrowingArray:
    """Rows that can be added and forgotten but not changed; adding costs only as much as the new rows.

    Args:
        first: The first rows, (n_rows, ...); may be empty.

    Example:
        >>> array = GrowingArray(np.array([3, 1]))
        >>> array.append(np.array([4]))
        >>> array.rows.tolist()
        [3, 1, 4]
    """

    def __init__(self, first: npt.NDArray[Any]) -> None:
        self._n_rows = 0
        self._room = np.empty((0, *first.shape[1:]), first.dtype)
        self.append(first)

    def __len__(self) -> int:
        return self._n_rows

    @property
    def rows(self) -> npt.NDArray[Any]:
        """All rows; does not change when others are added."""
        return self._room[: self._n_rows]

    def append(self, more: npt.NDArray[Any]) -> None:
        """Add rows after the others."""
        stop = self._n_rows + len(more)
        if stop > len(self._room):
            room = np.empty((max(2 * stop, _LEAST_ROWS), *self._room.shape[1:]), self._room.dtype)
            room[: self._n_rows] = self.rows
            self._room = room
        self._room[self._n_rows : stop] = more
        self._n_rows = stop

    def keep(self, rows: IntArray) -> None:
        """Forget all rows except these, which get new numbers in this order."""
        self._room = self.rows[rows]
        self._n_rows = len(rows)
