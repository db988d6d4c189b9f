"""One number of a report with its interval, and how numbers are shown."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from numbers import Integral, Real

from inverse_deid.evaluation.uncertainty import Method

DASH = "\N{EN DASH}"
"""Stands for what is undefined."""

SPACE = "\N{NO-BREAK SPACE}"
"""Between a number and its unit."""

_MAX_DIGITS = 2


@dataclass(frozen=True, slots=True)
class Measure:
    """A share, or a number of its own, as a report tells it.

    Args:
        value: The number; a share lies in [0, 1]. None: undefined.
        part: What was counted; None where the number is no share of counted things.
        whole: Of how many.
        low: Lower end of the interval, in the unit of the value.
        high: Its upper end.
        confidence: Of the interval, in (0, 1).
        method: How the interval was found.
    """

    value: float | None = None
    part: int | None = None
    whole: int | None = None
    low: float | None = None
    high: float | None = None
    confidence: float | None = None
    method: str | None = None

    def complement(self) -> Measure:
        """The share of the others, with the interval turned round.

        Example:
            >>> kept = Measure(0.75, 3, 4, low=0.5, high=1.0).complement()
            >>> kept.value, kept.part, kept.low, kept.high
            (0.25, 1, 0.0, 0.5)
        """
        n_others = None if self.part is None or self.whole is None else self.whole - self.part
        value = n_others / self.whole if n_others is not None and self.whole else _rest(self.value)
        return Measure(
            value, n_others, self.whole, _rest(self.high), _rest(self.low), self.confidence, self.method
        )

    @property
    def has_interval(self) -> bool:
        """Whether both ends are known."""
        return self.low is not None and self.high is not None

    @property
    def is_alike(self) -> bool:
        """Whether the interval stands in for one of resamples that were all alike."""
        return self.method == Method.ALIKE.value


def _rest(share: float | None) -> float | None:
    return None if share is None else 1 - share


def finite(value: object) -> float | None:
    """A number as float; None for anything else, also for what is not finite."""
    if isinstance(value, bool) or not isinstance(value, Real):
        return None
    number = float(value)
    return number if math.isfinite(number) else None


def proportion(value: object) -> float | None:
    """A number in [0, 1] as float; None for anything else."""
    number = finite(value)
    return number if number is not None and 0 <= number <= 1 else None


def whole_number(value: object) -> int | None:
    """A whole number as int; None for anything else."""
    if isinstance(value, bool):
        return None
    return int(value) if isinstance(value, Integral) else None


def read_measure(found: object, interval: object = None) -> Measure:
    """Read `{"share" or "value", "part", "whole", "low", "high", ...}`; what is absent is undefined.

    Args:
        found: A share, in [0, 1], or a value that can be any number.
        interval: `{"low", "high", "confidence", "method"}`; None: they stand in the share, or nowhere.

    Example:
        >>> read_measure({"share": 0.5, "part": 1, "whole": 2}, {"low": 0.1, "high": 0.9}).high
        0.9
    """
    share = mapping(found)
    bounds = mapping(interval) or share
    method = bounds.get("method")
    read = finite if "value" in share and "share" not in share else proportion
    return Measure(
        read(share.get("share", share.get("value"))),
        whole_number(share.get("part")),
        whole_number(share.get("whole")),
        read(bounds.get("low")),
        read(bounds.get("high")),
        finite(bounds.get("confidence")),
        method if isinstance(method, str) else None,
    )


def mapping(found: object) -> Mapping[str, object]:
    """What was found if it is a mapping, otherwise an empty one."""
    return found if isinstance(found, Mapping) else {}


def percent_number(share: float | None, digits: int = _MAX_DIGITS) -> str:
    """A share in percent, without the sign; 100 and 0 only if they are exact.

    Args:
        share: In [0, 1]; None: undefined.
        digits: Behind the point. There are two where fewer would show 100 or 0.

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
    """`percent_number` with its sign; a dash if it is undefined."""
    return DASH if share is None else f"{percent_number(share, digits)}{SPACE}%"


def percent_range(measure: Measure, digits: int = _MAX_DIGITS) -> str:
    r"""The interval of a share, rounded outwards; a dash if there is none, an asterisk as in `is_alike`.

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


def number_range(measure: Measure) -> str:
    """The interval of a number that is no share; a dash if there is none."""
    return f"{number(measure.low)} to {number(measure.high)}" if measure.has_interval else DASH


def number(value: object) -> str:
    """A number for a table cell: whole numbers in full, others with four digits.

    Example:
        >>> number(12_345), number(0.123456), number(None), number(True)
        ('12,345', '0.1235', '–', 'yes')
    """
    if isinstance(value, bool):
        return "yes" if value else "no"
    if (exact := whole_number(value)) is not None:
        return _signed(f"{exact:,}")
    if (real := finite(value)) is None:
        return DASH
    return _signed(f"{real:,.0f}" if abs(real) >= 10_000 else f"{real:.4g}")


def _signed(digits: str) -> str:
    return digits.replace("-", "\N{MINUS SIGN}")


def counted(n: int, singular: str) -> str:
    r"""A count and what was counted.

    Example:
        >>> counted(1, "word"), counted(1_200, "word")
        ('1\xa0word', '1,200\xa0words')
    """
    return f"{n:,}{SPACE}{singular}{'' if n == 1 else 's'}"


def interval_name(confidence: float | None) -> str:
    r"""What an interval is called.

    Example:
        >>> interval_name(0.95), interval_name(None)
        ('95\xa0% interval', 'interval')
    """
    return "interval" if confidence is None else f"{100 * confidence:.4g}{SPACE}% interval"
