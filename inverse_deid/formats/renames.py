"""Numbered names instead of the names of files and the ids of documents, which may hold names of people."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from inverse_deid.core.errors import InputError
from inverse_deid.core.wording import _

Kind = Literal["file", "part", "id"]
"""What is renamed: a file, a file inside an archive, or the id of a document."""

STEMS: dict[Kind, str] = {"file": "document", "part": "part", "id": "case"}
"""How a new name begins."""


@dataclass(slots=True)
class Renames:
    """New names, in the order in which the old ones are first seen.

    An id that is in several files has one new id. Each kind is numbered for itself.

    Example:
        >>> renames = Renames()
        >>> [renames.name("id", old) for old in ("Okonkwo", "7", "Okonkwo")]
        ['case-0001', 'case-0002', 'case-0001']
    """

    # Of each old name, by kind, in ascending order.
    numbers: dict[Kind, dict[str, int]] = field(
        default_factory=lambda: {kind: {} for kind in STEMS}, repr=False
    )
    # The greatest number given, by kind.
    last: dict[Kind, int] = field(default_factory=lambda: dict.fromkeys(STEMS, 0))
    is_complete: bool = False  # no new numbers are given: the list is written, and masking has begun

    def name(self, kind: Kind, old: str) -> str:
        """Return the new name of a file without suffix, or the new id; "" stays "".

        Raises:
            InputError: It is new, although the list is complete.
        """
        if not old:
            return ""
        if not old.isascii():
            old = old.encode("utf-8", "backslashreplace").decode()  # as the list has it
        known = self.numbers[kind]
        if old not in known:
            if self.is_complete:
                raise InputError(_("has changed since its ids were listed. Run again once it is complete"))
            self.last[kind] += 1
            known[old] = self.last[kind]
        return f"{STEMS[kind]}-{known[old]:04d}"
