"""How deep files are inside files, and how much may be unpacked of one file that somebody gave."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from inverse_deid.core.errors import FormatError
from inverse_deid.core.wording import _

MAX_DEPTH = 4
"""So many containers may be inside each other: an archive in an e-mail in an e-mail ..."""
MAX_PARTS = 10_000
MAX_UNPACKED_BYTES = 2 * 1024 * 1024 * 1024
"""The most that all parts of a file may be together, those of its parts included."""


@dataclass(slots=True)
class Budget:
    """What may still be unpacked of one file; shared by all containers in it."""

    n_parts: int = MAX_PARTS
    n_bytes: int = MAX_UNPACKED_BYTES


@dataclass(frozen=True, slots=True)
class Nesting:
    """The place of a container: how many others it is in, and what they have left to unpack.

    `place` has the number of the part in each of them, such as "3/1".
    """

    depth: int = 0
    budget: Budget = field(default_factory=Budget, repr=False)
    place: str = ""

    def enter(self) -> Nesting:
        """Return the place of what is inside.

        Raises:
            FormatError: It would be too deep.
        """
        if self.depth >= MAX_DEPTH:
            raise FormatError(
                _("is inside more than {max_depth} other files. Unpack it first", max_depth=MAX_DEPTH)
            )
        return replace(self, depth=self.depth + 1)

    def at(self, part: int) -> Nesting:
        """Return the place of a part.

        Example:
            >>> Nesting().at(3).at(1).place
            '3/1'
        """
        return replace(self, place=f"{self.place}/{part}" if self.place else str(part))

    def take(self, n_parts: int, n_bytes: int) -> None:
        """Take parts and bytes from the budget.

        Raises:
            FormatError: Not so much is left.
        """
        self.budget.n_parts -= n_parts
        self.budget.n_bytes -= n_bytes
        if self.budget.n_parts < 0 or self.budget.n_bytes < 0:
            raise FormatError(
                _(
                    "has more than {max_parts:,} parts, or they are larger than {max_unpacked_bytes} GiB "
                    "together. Split it",
                    max_parts=MAX_PARTS,
                    max_unpacked_bytes=MAX_UNPACKED_BYTES >> 30,
                )
            )
