"""The maskers behind the views of an extractor: the packaged model with what stands for its masks."""

from __future__ import annotations

from collections.abc import Collection
from datetime import date

from inverse_deid.masking.assemble import MaskingSettings, build_deidentifier
from inverse_deid.masking.case_masker import CaseMasker
from inverse_deid.replacement.settings import CaseSettings, DateMode
from inverse_deid.research.extraction.views import BY_MASKER, Masker, View


def view_maskers(views: Collection[View], *, today: date) -> dict[View, Masker]:
    """A masker for each of the views that needs one.

    Args:
        views: Which are wanted.
        today: The day after which no date of a text can lie.

    Raises:
        LexiconError: The packaged lexicon is damaged.
        ModelError: The packaged model is damaged.
    """
    return {view: _masker(view, today) for view in BY_MASKER if view in views}


def _masker(view: View, today: date) -> Masker:
    masker = build_deidentifier(MaskingSettings(replace="category" if view is View.PREDICTED else "marker"))
    if view is not View.RELATIVE_DATES:
        return masker
    return CaseMasker(masker, CaseSettings(today=today, dates=DateMode.RELATIVE_DAY))
