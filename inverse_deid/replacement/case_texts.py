"""The texts of one case before masking, and what its fields say about its dates."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import date

from inverse_deid.core.values import Document, KnownIdentifier, find_known_problem
from inverse_deid.replacement.dates.parts import PartialDate


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseTexts:
    """All texts of one case and what its fields say about its dates.

    No policy shows one of `births`, and no surrogate equals one of `values`.
    """

    id: str = field(repr=False)  # the same for all versions of the case; secret shifts depend on it
    docs: tuple[Document, ...]
    today: date | None = field(default=None, repr=False)  # of its last information; None = not known
    date_fields: tuple[str, ...] = field(default=(), repr=False)  # values of its date fields
    anchor: date | None = field(default=None, repr=False)  # Day 0; None = earliest date of the texts
    anchor_name: str = ""  # such as *first dose*
    other_anchors: tuple[tuple[date, str], ...] = field(default=(), repr=False)  # if that is a birth, or far
    births: tuple[PartialDate, ...] = field(default=(), repr=False)  # as precise as they are known
    values: tuple[str, ...] = field(default=(), repr=False)  # of its other identifying fields

    @property
    def problem(self) -> str:
        """Why known values cannot be searched for, "" = they can; such a case must not leave."""
        known = dict.fromkeys(doc.known for doc in self.docs)
        return next(filter(None, map(find_known_problem, known)), "")

    @property
    def known_values(self) -> list[KnownIdentifier]:
        found = (value for known in {doc.known for doc in self.docs} for value in known)
        return [KnownIdentifier(value) if isinstance(value, str) else value for value in found]
