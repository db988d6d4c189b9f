"""The recall/precision curve and the reliability diagram."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from inverse_deid.evaluation.page.measures import Measure, percent
from inverse_deid.evaluation.page.svg import (
    WIDTH,
    Scale,
    coordinate,
    drawing,
    element,
    line,
    nice_ticks,
    rectangle,
    text,
    x_axis,
    y_axis,
)

Points = Sequence[tuple[float, float]]
"""Of a line, by the first axis."""

_QUARTERS = [(tick / 4, f"{25 * tick}") for tick in range(5)]
_ZOOMS = (0.99, 0.95, 0.9, 0.8, 0.5)
_CURVE_TOP, _CURVE_BOTTOM, _CURVE_HEIGHT = 42, 302, 348
_CURVE_LEFT, _CURVE_RIGHT, _PANEL_GAP = 44, 14, 58

_RELIABILITY_TOP, _RELIABILITY_BOTTOM = 14, 300
_COUNTS_TOP, _COUNTS_BOTTOM, _RELIABILITY_HEIGHT = 330, 400, 446
_LEAST_COLUMN = 30


@dataclass(frozen=True, slots=True)
class CurvePoint:
    """What one threshold gives; shares in [0, 1], None: undefined.

    Args:
        threshold: Words are masked whose probability of being safe lies below it; None: all words.
        recall: Of the identifying words, those masked.
        precision: Of the masked words, the identifying ones.
        safe_kept: Of the safe words, those kept.
    """

    threshold: float | None
    recall: float
    precision: float | None
    safe_kept: float | None


@dataclass(frozen=True, slots=True)
class ReliabilityBin:
    """Words of like probability; shares in [0, 1], None if there are no words.

    Args:
        low: Where the bin begins.
        high: Where it ends.
        n: Words in it.
        mean_p_safe: Their mean probability of being safe.
        safe: The share that is safe.
    """

    low: float
    high: float
    n: int
    mean_p_safe: float | None
    safe: Measure


def recall_curve(
    key: str, title: str, points: Sequence[CurvePoint], recall: float | None, precision: float | None
) -> Markup:
    """Precision and safe words kept over recall: all of it, and enlarged where it matters.

    Args:
        key: Starts the ids of the drawing.
        title: Of the drawing.
        points: One a threshold, at least one.
        recall: Of the masking that was measured, marked by a ring; None: not marked.
        precision: Its precision.
    """
    starts = [0.0, *zoom_start(recall)]
    width = (WIDTH - _CURVE_LEFT - _CURVE_RIGHT - _PANEL_GAP * (len(starts) - 1)) / len(starts)
    marks = [_legend(has_ring=recall is not None and precision is not None)]
    for number, start in enumerate(starts):
        left = _CURVE_LEFT + number * (width + _PANEL_GAP)
        marks += _panel(points, Scale(start, 1, left, left + width), (recall, precision))
    shown = f"This masking: recall {percent(recall)}, precision {percent(precision)}."
    words = f"Precision and the share of safe words kept over recall, for {len(points):,} thresholds. {shown}"
    return drawing(key, title, words, _CURVE_HEIGHT, marks)


def zoom_start(recall: float | None) -> list[float]:
    """Where an enlarged part begins that holds this recall and as much again below it; none if it is all.

    Example:
        >>> zoom_start(0.979), zoom_start(0.3), zoom_start(None)
        ([0.95], [], [])
    """
    if recall is None:
        return []
    return [start for start in _ZOOMS if start <= recall - (1 - recall)][:1]


def _legend(*, has_ring: bool) -> Markup:
    marks = [
        line(44, 14, 72, 14, "curve precision"),
        text("of what is masked, identifying (precision)", 79, 18.5),
        line(366, 14, 394, 14, "curve safe-kept"),
        text("safe words kept", 401, 18.5),
    ]
    if has_ring:
        marks += [element("circle", cx=536.0, cy=14.0, r="6", class_="ring"), text("this masking", 549, 18.5)]
    return element("g", *marks)


def _panel(
    points: Sequence[CurvePoint], x: Scale, measured: tuple[float | None, float | None]
) -> Iterator[Markup]:
    y = Scale(0, 1, _CURVE_BOTTOM, _CURVE_TOP)
    ticks = [x.low + (1 - x.low) * i / 4 for i in range(5)] if x.low == 0 else _zoom_ticks(x.low)
    yield from y_axis(y, _QUARTERS, x.start, x.end)
    yield from x_axis(x, [(tick, f"{100 * tick:.4g}") for tick in ticks], _CURVE_TOP, _CURVE_BOTTOM)
    for name, kind in (("safe_kept", "safe-kept"), ("precision", "precision")):
        shown = [
            (p.recall, value)
            for p in sorted(points, key=lambda p: p.recall)
            if (value := getattr(p, name)) is not None
        ]
        path = _path([(x.at(a), y.at(b)) for a, b in _from(x.low, shown)])
        yield element("path", d=path, class_=f"curve {kind}")
    recall, precision = measured
    if recall is not None and precision is not None:
        yield from _ring(x, y, recall, precision)
    name = "% of identifying words masked (recall)" if x.low == 0 else "recall, enlarged"
    yield text(name, (x.start + x.end) / 2, _CURVE_BOTTOM + 38, "m", anchor="middle")


def _zoom_ticks(start: float) -> list[float]:
    return [round(start + tick, 6) for tick in nice_ticks(round(1 - start, 6), 5)]


def _ring(x: Scale, y: Scale, recall: float, precision: float) -> Iterator[Markup]:
    across, up = x.at(recall), y.at(precision)
    yield line(across, up, across, _CURVE_BOTTOM, "guide")
    yield line(x.start, up, across, up, "guide")
    yield element("circle", cx=across, cy=up, r="6", class_="ring")


def _path(points: Points) -> str:
    """Straight lines from point to point."""
    return "M" + "L".join(f"{coordinate(x)} {coordinate(y)}" for x, y in points) if points else ""


def _from(low: float, points: Points) -> Points:
    """The part of a line from `low` on, along the first axis; it begins on the line."""
    inside = [point for point in points if point[0] >= low]
    before = [point for point in points if point[0] < low]
    if not (inside and before):
        return inside
    (x1, y1), (x2, y2) = before[-1], inside[0]
    return [(low, y1 + (low - x1) / (x2 - x1) * (y2 - y1)), *inside]


def reliability_diagram(key: str, title: str, bins: Sequence[ReliabilityBin]) -> Markup:
    """Predicted against measured shares of safe words with intervals, and the counts of the bins below.

    Args:
        key: Starts the ids of the drawing.
        title: Of the drawing.
        bins: At least one, from low to high.
    """
    x = Scale(0, 1, 52, WIDTH - 12)
    y = Scale(0, 1, _RELIABILITY_BOTTOM, _RELIABILITY_TOP)
    marks = [*y_axis(y, _QUARTERS, x.start, x.end)]
    marks += [
        line(x.at(tick), _RELIABILITY_TOP, x.at(tick), _RELIABILITY_BOTTOM, "grid") for tick, _ in _QUARTERS
    ]
    marks.append(line(x.start, y.start, x.end, y.end, "guide"))
    marks.append(text("as predicted", x.at(0.63), y.at(0.56), "m"))
    marks.append(text("% of the words that are safe", x.start + 8, _RELIABILITY_TOP + 14, "m"))
    for found in bins:
        marks += _reliability_point(found, x, y)
    marks += _bin_counts(bins, x)
    n_words = sum(found.n for found in bins)
    words = (
        f"{n_words:,} words in {len(bins)} bins of the predicted probability of being safe. On the diagonal, "
        "prediction and truth agree."
    )
    return drawing(key, title, words, _RELIABILITY_HEIGHT, marks)


def _reliability_point(found: ReliabilityBin, x: Scale, y: Scale) -> Iterator[Markup]:
    share = found.safe
    if found.mean_p_safe is None or share.value is None:
        return
    across = x.at(found.mean_p_safe)
    if share.low is not None and share.high is not None:
        low, high = y.at(share.low), y.at(share.high)
        yield line(across, low, across, high, "whisker")
        yield from (line(across - 4, end, across + 4, end, "whisker") for end in (low, high))
    yield element("circle", cx=across, cy=y.at(share.value), r="4.5", class_="dot")


def _bin_counts(bins: Sequence[ReliabilityBin], x: Scale) -> Iterable[Markup]:
    most = max(1, *(found.n for found in bins))
    y = Scale(0, most, _COUNTS_BOTTOM, _COUNTS_TOP)
    for found in bins:
        start, end, top = x.at(found.low), x.at(found.high), y.at(found.n)
        yield rectangle(start + 1, top, max(end - start - 2, 0.5), _COUNTS_BOTTOM - top, "bar-quiet")
        if end - start >= _LEAST_COLUMN:
            yield text(short_count(found.n), (start + end) / 2, top - 5, "m", anchor="middle")
    yield line(x.start, _COUNTS_BOTTOM, x.end, _COUNTS_BOTTOM, "axis")
    for tick, label in _QUARTERS:
        yield text(label, x.at(tick), _COUNTS_BOTTOM + 17, "m", anchor="middle")
    axis = "predicted probability of being safe, %; columns: words in each bin"
    yield text(axis, (x.start + x.end) / 2, _COUNTS_BOTTOM + 38, "m", anchor="middle")


def short_count(n: int) -> str:
    """A count in at most five signs.

    Example:
        >>> short_count(980), short_count(12_345), short_count(4_000_000)
        ('980', '12.3k', '4M')
    """
    for power, unit in ((1_000_000, "M"), (1_000, "k")):
        if n >= 0.9995 * power:
            return f"{n / power:.3g}{unit}"
    return str(n)
