"""Bars with intervals, and a histogram."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from markupsafe import Markup

from inverse_deid.evaluation.page.measures import DASH, SPACE, Measure, interval_name, percent, percent_range
from inverse_deid.evaluation.page.svg import (
    WIDTH,
    Scale,
    drawing,
    element,
    line,
    nice_ticks,
    rectangle,
    text,
    x_axis,
    y_axis,
)

_ROW = 26
_HEAD = 26
_FOOT = 28
_BAR = 13
_LABEL_END, _PLOT_END = 170, 458
_SHARE_X, _COUNT_X = 528, WIDTH
_INTERVAL_WIDTH = 104
_GAP = 24
_LEAST_TOP = 0.05
_ROOM = 1.6

_HISTOGRAM_HEIGHT = 250
_COLUMN = 56


@dataclass(frozen=True, slots=True)
class Bar:
    """One row of `interval_bars`: a name and a share of counted things."""

    label: str
    share: Measure


def interval_bars(key: str, title: str, bars: Sequence[Bar], *, counted: str, kind: str) -> Markup:
    """Horizontal bars from 0 with a whisker for the interval, and every number beside them.

    The axis ends a little behind the longest bar; an interval that goes on ends in an arrow.

    Args:
        key: Starts the ids of the drawing.
        title: Of the drawing.
        bars: At least one, in the order of the rows.
        counted: Head of the column of counts, as "missed of all".
        kind: CSS class of the bars.
    """
    ticks = nice_ticks(_top(bars))
    wider = 0 if any(bar.share.has_interval for bar in bars) else _INTERVAL_WIDTH - _GAP
    scale = Scale(0, ticks[-1], _LABEL_END + 10, _PLOT_END + wider)
    bottom = _HEAD + _ROW * len(bars)
    labels = [f"{100 * tick:.4g}" for tick in ticks]
    labels[-1] += f"{SPACE}%"
    marks = x_axis(scale, list(zip(ticks, labels, strict=True)), _HEAD, bottom)
    marks += _heads(bars, counted, _SHARE_X + wider)
    for number, bar in enumerate(bars):
        marks += _bar_row(bar, _HEAD + _ROW * (number + 0.5), scale, kind, _SHARE_X + wider)
    return drawing(key, title, _bars_in_words(bars), bottom + _FOOT, marks)


def _top(bars: Sequence[Bar]) -> float:
    """Where the axis has to reach: all of every bar, and of the intervals what leaves bars to see."""
    longest = max(bar.share.value or 0.0 for bar in bars)
    furthest = max(bar.share.high or 0.0 for bar in bars)
    wanted = max(longest * _ROOM, _LEAST_TOP)
    return min(1.0, max(longest, min(wanted, furthest) if furthest else wanted))


def _heads(bars: Sequence[Bar], counted: str, share_x: float) -> list[Markup]:
    found = next((bar.share for bar in bars if bar.share.has_interval), None)
    marks = [text("share", share_x, 14, "m", anchor="end"), text(counted, _COUNT_X, 14, "m", anchor="end")]
    if found is not None:
        name = interval_name(found.confidence)
        marks.append(text(name, share_x + _INTERVAL_WIDTH, 14, "m", anchor="end"))
    return marks


def _bar_row(bar: Bar, middle: float, scale: Scale, kind: str, share_x: float) -> list[Markup]:
    share, baseline = bar.share, middle + 4.5
    marks = [text(bar.label, _LABEL_END, baseline, anchor="end")]
    if share.value is not None:
        length = scale.at(share.value) - scale.start
        marks.append(rectangle(scale.start, middle - _BAR / 2, length, _BAR, kind))
    marks += _whisker(share, middle, scale)
    marks.append(text(percent(share.value), share_x, baseline, "v", anchor="end"))
    if share.has_interval:
        marks.append(text(percent_range(share), share_x + _INTERVAL_WIDTH, baseline, "m", anchor="end"))
    if share.whole is not None:
        marks.append(text(f"{share.part:,} of {share.whole:,}", _COUNT_X, baseline, "m", anchor="end"))
    return marks


def _whisker(share: Measure, middle: float, scale: Scale) -> list[Markup]:
    if share.low is None or share.high is None:
        return []
    low, high = scale.at(share.low), scale.at(share.high)
    marks = [line(low, middle, high, middle, "whisker"), line(low, middle - 4, low, middle + 4, "whisker")]
    if share.high > scale.high:
        tip = f"M{high - 5:.1f} {middle - 4.5:.1f}l6 4.5l-6 4.5z"
        return [*marks, element("path", d=tip, class_="arrow")]
    return [*marks, line(high, middle - 4, high, middle + 4, "whisker")]


def _bars_in_words(bars: Sequence[Bar]) -> str:
    first = bars[0]
    return (
        f"{len(bars)} bars, from the largest count to the smallest. First: {first.label}, "
        f"{percent(first.share.value)}. All numbers stand beside the bars and in the table below."
    )


def histogram(key: str, title: str, columns: Sequence[tuple[str, int]], *, axis: str, tail: str) -> Markup:
    """Vertical columns with their counts on top.

    Args:
        key: Starts the ids of the drawing.
        title: Of the drawing.
        columns: Name and count of at least one; the first is coloured apart.
        axis: What the names are, in words.
        tail: CSS class of all columns but the first.
    """
    ticks = nice_ticks(max(1, *(n for _, n in columns)), 4)
    left, bottom = 52, _HISTOGRAM_HEIGHT - 46
    scale = Scale(0, ticks[-1], bottom, 24)
    labels = [(tick, f"{tick:,.0f}") for tick in ticks if tick == int(tick)]
    marks = y_axis(scale, labels, left, WIDTH)
    step = (WIDTH - left) / len(columns)
    width = min(_COLUMN, 0.7 * step)
    for number, (name, n) in enumerate(columns):
        x, y = left + step * (number + 0.5), scale.at(n)
        marks.append(rectangle(x - width / 2, y, width, bottom - y, tail if number else "bar-kept"))
        marks.append(text(f"{n:,}", x, y - 6, "v", anchor="middle"))
        marks.append(text(name, x, bottom + 18, anchor="middle"))
    marks.append(line(left, bottom, WIDTH, bottom, "axis"))
    marks.append(text(axis, (left + WIDTH) / 2, bottom + 39, "m", anchor="middle"))
    words = "; ".join(f"{name}: {n:,}" for name, n in columns)
    return drawing(key, title, f"{axis}, and the count of each. {words}.", _HISTOGRAM_HEIGHT, marks)


def leak_columns(leaks: Sequence[int]) -> list[tuple[str, int]]:
    """How many documents have 0, 1, ... leaks; many leaks are counted in ranges.

    Args:
        leaks: Missed words of each document.

    Example:
        >>> leak_columns([0, 0, 2, 7])
        [('0', 2), ('1', 0), ('2', 1), ('3', 0), ('4', 0), ('5', 0), ('6–10', 1)]
    """
    starts = [0, 1, 2, 3, 4, 5, 6, 11, 21, 51, 101]
    most = max(leaks, default=0)
    columns = []
    for start, following in pairwise([*starts, most + 1]):
        if start > max(most, 3):
            break
        last = following - 1 if start != starts[-1] else None
        name = f"{start}" if last == start else f"{start}{DASH}{last}" if last else f"{start}+"
        columns.append((name, sum(start <= n and (last is None or n <= last) for n in leaks)))
    return columns
