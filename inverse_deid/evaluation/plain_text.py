"""Shares, intervals and tables as plain text."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from inverse_deid.evaluation.figures import Share
from inverse_deid.evaluation.uncertainty import Interval, Method


def percent(share: Share) -> str:
    """A share in percent; 100 and 0 only if they are exact, - if it is undefined.

    Example:
        >>> percent(Share(1, 3)), percent(Share(99_999, 100_000)), percent(Share(0, 0))
        ('33.33 %', '99.99 %', '-')
    """
    if share.value is None:
        return "-"
    shown = round(100 * share.value, 2)
    if 0 < share.part < share.whole:
        shown = min(max(shown, 0.01), 99.99)
    return f"{shown:.2f} %"


def interval_text(interval: Interval | None) -> str:
    """An interval in percent, rounded outwards; * marks `Method.ALIKE`.

    Example:
        >>> interval_text(Interval(0.98777, 1.0, 0.95, Method.ALIKE)), interval_text(None)
        ('* 98.77 to 100.00', '-')
    """
    if interval is None:
        return "-"
    low = math.floor(round(10_000 * interval.low, 6)) / 100
    high = math.ceil(round(10_000 * interval.high, 6)) / 100
    return "* " * (interval.method is Method.ALIKE) + f"{low:.2f} to {high:.2f}"


def aligned(rows: Sequence[tuple[str, ...]]) -> Iterator[str]:
    """Lines of text: the first column to the left, the others to the right.

    Example:
        >>> list(aligned([("type", "leaks"), ("DATE", "7")]))
        ['type  leaks', 'DATE      7']
    """
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = [row[0].ljust(widths[0]), *(c.rjust(w) for c, w in zip(row[1:], widths[1:], strict=True))]
        yield "  ".join(cells).rstrip()
