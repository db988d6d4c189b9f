"""The texts of one case before and after masking."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import date

from inverse_deid.core.values import Document, MaskedDocument, known_problem
from inverse_deid.replacement.ages import AgePolicy, MaskedAges
from inverse_deid.replacement.date_policies import DatePolicy
from inverse_deid.replacement.partial_dates import PartialDate


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseTexts:
    """All texts of one case and what its fields say of its dates.

    Args:
        id: The same for all versions of the case; secret shifts depend on it.
        docs: The texts.
        today: The day of the case's last information; None = not known.
        date_fields: The values of its date fields.
        anchor: Day 0 of relative days, None = the earliest date of the texts.
        anchor_name: What the anchor is.
        other_anchors: Days that can take its place if it is a birth or far from them, with their names.
        births: Dates of birth as precise as they are known; no policy shows them.
        values: The values of its other identifying fields; no surrogate is one of them.
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
        """Why the known values of a text cannot be looked for, "" = they can; such a case must not leave."""
        known = dict.fromkeys(doc.known for doc in self.docs)
        return next(filter(None, map(known_problem, known)), "")


@dataclass(frozen=True, slots=True)
class MaskedCase:
    """All texts of one case, masked.

    Args:
        docs: The masked texts, in the order of the originals.
        dates: What becomes of the dates of the case, for its fields.
        ages: What becomes of its ages, for its fields.
        is_plain: Markers alone were left, since what should have stood there could not be worked out.
    """

    docs: tuple[MaskedDocument, ...]
    dates: DatePolicy = field(repr=False)
    ages: AgePolicy = field(default_factory=MaskedAges)
    is_plain: bool = False
