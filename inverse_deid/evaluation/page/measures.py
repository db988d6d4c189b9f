"""The numbers of the page with their intervals, and how numbers and names are written."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from inverse_deid.choices.names import CLASS_NAMES, name_many
from inverse_deid.core.phi import PhiType
from inverse_deid.core.wording import N_, _, ngettext
from inverse_deid.evaluation.measures.figures import Share
from inverse_deid.evaluation.measures.uncertainty import Interval, Method

DASH = "\N{EN DASH}"
"""Means undefined."""

SPACE = "\N{NO-BREAK SPACE}"
"""Between a number and its unit."""

_MAX_DIGITS = 2
_MAX_CHARS = 80


@dataclass(frozen=True, slots=True)
class Measure:
    """A share in [0, 1], or another number, with its interval in the unit of the value.

    The value is None if it is undefined, part and whole if nothing was counted.
    """

    value: float | None = None
    part: int | None = None
    whole: int | None = None
    low: float | None = None
    high: float | None = None
    confidence: float | None = None
    method: Method | None = None

    @classmethod
    def of(cls, share: Share, interval: Interval | None = None) -> Measure:
        """Return a share with its interval."""
        if interval is None:
            return cls(share.value, share.part, share.whole)
        bounds = (interval.low, interval.high, interval.confidence, interval.method)
        return cls(share.value, share.part, share.whole, *bounds)

    def complement(self) -> Measure:
        """Return the share of the others, with the interval reversed.

        Example:
            >>> kept = Measure(0.75, 3, 4, low=0.5, high=1.0).complement()
            >>> kept.value, kept.part, kept.low, kept.high
            (0.25, 1, 0.0, 0.5)
        """
        n_others = None if self.part is None or self.whole is None else self.whole - self.part
        value = n_others / self.whole if n_others is not None and self.whole else _invert(self.value)
        return Measure(
            value, n_others, self.whole, _invert(self.high), _invert(self.low), self.confidence, self.method
        )

    @property
    def has_interval(self) -> bool:
        """Whether both ends are known."""
        return self.low is not None and self.high is not None

    @property
    def is_alike(self) -> bool:
        """Whether all resamples were equal, so that the interval is another one."""
        return self.method is Method.ALIKE


def _invert(share: float | None) -> float | None:
    return None if share is None else 1 - share


def percent_number(share: float | None, digits: int = _MAX_DIGITS) -> str:
    """Return a share in percent without the sign. Only exact shares become 100 and 0.

    Two digits are used where fewer would show 100 or 0.

    Example:
        >>> percent_number(1 / 3, 1), percent_number(0.9997, 1), percent_number(0.99999), percent_number(1.0)
        ('33.3', '99.97', '99.99', '100.00')
    """
    if share is None:
        return DASH
    if share in (0, 1):
        return f"{100 * share:.{digits}f}"
    if round(100 * share, digits) in (0, 100):
        digits = max(digits, _MAX_DIGITS)
    step = 10**-digits
    return f"{min(max(round(100 * share, digits), step), 100 - step):.{digits}f}"


def percent(share: float | None, digits: int = _MAX_DIGITS) -> str:
    """Return `percent_number` with its sign, or a dash if it is undefined."""
    return DASH if share is None else f"{percent_number(share, digits)}{SPACE}%"


def percent_range(measure: Measure, digits: int = _MAX_DIGITS) -> str:
    r"""Return the interval of a share, rounded outwards, or a dash. An asterisk marks `is_alike`.

    Example:
        >>> percent_range(Measure(0.99, low=0.98109, high=0.99601))
        '98.10–99.61\xa0%'
    """
    if measure.low is None or measure.high is None:
        return DASH
    steps = 10 ** (digits + 2)
    low = math.floor(round(measure.low * steps, 4)) / steps * 100
    high = math.ceil(round(measure.high * steps, 4)) / steps * 100
    return f"{'*' * measure.is_alike}{low:.{digits}f}{DASH}{high:.{digits}f}{SPACE}%"


def number(value: float | bool | None) -> str:
    """Return a number for a cell: whole numbers in full, others with four digits. None is a dash.

    Example:
        >>> number(12_345), number(0.123456), number(None), number(True)
        ('12,345', '0.1235', '–', 'yes')
    """
    if isinstance(value, bool):
        return _("yes") if value else _("no")
    if value is None or not math.isfinite(value):
        return DASH
    if isinstance(value, int):
        digits = f"{value:,}"
    else:
        digits = f"{value:,.0f}" if abs(value) >= 10_000 else f"{value:.4g}"
    return digits.replace("-", "\N{MINUS SIGN}")


def count_nouns(n: int, singular: str) -> str:
    r"""Return a count and its noun.

    Example:
        >>> count_nouns(1, "word"), count_nouns(1_200, "word")
        ('1\xa0word', '1,200\xa0words')
    """
    return _COUNTED[singular](n).replace(" ", SPACE)


_COUNTED: Mapping[str, Callable[[int], str]] = {
    "document": lambda n: ngettext("{n:,} document", "{n:,} documents", n, n=n),
    "file": lambda n: ngettext("{n:,} file", "{n:,} files", n, n=n),
    "identifying word": lambda n: ngettext("{n:,} identifying word", "{n:,} identifying words", n, n=n),
    "kind": lambda n: ngettext("{n:,} kind", "{n:,} kinds", n, n=n),
    "threshold": lambda n: ngettext("{n:,} threshold", "{n:,} thresholds", n, n=n),
    "word": lambda n: ngettext("{n:,} word", "{n:,} words", n, n=n),
}


def interval_name(confidence: float | None) -> str:
    r"""Return the name of an interval.

    Example:
        >>> interval_name(0.95), interval_name(None)
        ('95\xa0% interval', 'interval')
    """
    return (
        _("interval")
        if confidence is None
        else _("{confidence:.4g}{space}% interval", confidence=100 * confidence, space=SPACE)
    )


FIGURE_LABELS: Mapping[str, str] = {
    "recall_all": N_("Identifying words masked (recall)"),
    "recall_all_corrected": N_("harmless words counted as masked"),
    "recall_hipaa": N_("Identifying words masked, HIPAA categories"),
    "recall_hipaa_corrected": N_("harmless words counted as masked"),
    "recall_short_names": N_("Words of names masked, at most 3 characters"),
    "precision": N_("Masked words that identify (precision)"),
    "precision_overlap": N_("longer words right and wrong once each"),
    "safe_kept": N_("Safe words kept"),
    "documents_without_leak": N_("Documents without a leak"),
    "documents_without_hipaa_leak": N_("of the HIPAA categories"),
    "entities_masked": N_("Identifiers with all mentions masked"),
}
"""Labels of the figures in the order of the page. A label in lower case belongs to the one before."""

_CATEGORY_LABELS: Mapping[str, str] = {
    str(one): name
    for one, name in (
        *((one, names.many) for one, names in CLASS_NAMES.items()),
        *((one, name_many(one)) for one in PhiType),
    )
}


def category_label(name: str) -> str:
    """Return the label of a hyper-class or a fine type.

    Example:
        >>> category_label("CITY"), category_label("NEW_ONE")
        ('Cities', 'NEW ONE')
    """
    if name not in _CATEGORY_LABELS:
        return plain_label(name)
    label = _(_CATEGORY_LABELS[name])
    return f"{label[0].upper()}{label[1:]}"


KIND_LABELS: Mapping[str, str] = {
    "word": N_("Other words"),
    "clinical": N_("Clinical words"),
    "number": N_("Numbers"),
    "mixed": N_("Letters and digits"),
}

SETTING_LABELS: Mapping[str, str] = {
    "units": N_("Independent units"),
    "units_with_phi": N_("Independent units with identifiers"),
    "resamples": N_("Resamples for the intervals"),
    "seed": N_("Seed of the resamples"),
}
"""Labels of settings with names that say too little."""


def plain_label(key: str) -> str:
    """Return a key of a report as words.

    Example:
        >>> plain_label("safe_kept"), plain_label("DRUG")
        ('Safe kept', 'DRUG')
    """
    words = " ".join(key.replace("_", " ").split())[:_MAX_CHARS]
    return words[:1].upper() + words[1:]
