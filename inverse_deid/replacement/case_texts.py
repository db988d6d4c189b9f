"""The texts of one case before masking, and what its fields say about its dates."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import date

from inverse_deid.core.values import Document, KnownIdentifier, find_known_problem
from inverse_deid.replacement.date_parts import PartialDate


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseTexts:
    """All texts of one case and what its fields say about its dates.

    Args:
        id: The same for all versions of the case; secret shifts depend on it.
        docs: The texts.
        today: The day of the case's last information; None = not known.
        date_fields: The values of its date fields.
        anchor: Day 0 of relative days; None = the earliest date of the texts.
        anchor_name: Of the anchor, such as *first dose*.
        other_anchors: Days, with their names, that replace an anchor that is a birth or far from them.
        births: Dates of birth as precise as they are known; no policy shows them.
        values: The values of its other identifying fields; no surrogate equals one of them.
    """

    id: str = field(repr=False)
    docs: tuple[Document, ...]
    today: date | None = field(default=None, repr=False)
    date_fields: tuple[str, ...] = field(default=(), repr=False)
    anchor: date | None = field(default=None, repr=False)
    anchor_name: str = ""
    other_anchors: tuple[tuple[date, str], ...] = field(default=(), repr=False)
    births: tuple[PartialDate, ...] = field(default=(), repr=False)
    values: tuple[str, ...] = field(default=(), repr=False)

    @property
    def problem(self) -> str:
        """Why known values cannot be searched for, "" = they can; such a case must not leave."""
        known = dict.fromkeys(doc.known for doc in self.docs)
        return next(filter(None, map(find_known_problem, known)), "")

    def known_values(self) -> Iterator[str | KnownIdentifier]:
        """Yield the known identifiers of all texts."""
        return (value for known in {doc.known for doc in self.docs} for value in known)
