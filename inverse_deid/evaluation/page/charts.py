"""The charts of the page, as SVG: bars with intervals, a histogram, recall and precision, reliability."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from markupsafe import Markup

from inverse_deid.core.wording import _
from inverse_deid.evaluation.measures.curves import ReliabilityBin
from inverse_deid.evaluation.page.measures import DASH, SPACE, Measure, interval_name, percent, percent_range
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

Points = Sequence[tuple[float, float]]
"""The points of a line, sorted by the first axis."""

_QUARTERS = [(tick / 4, f"{25 * tick}") for tick in range(5)]
_ZOOMS = (0.99, 0.95, 0.9, 0.8, 0.5)
_CURVE_TOP, _CURVE_BOTTOM, _CURVE_HEIGHT = 42, 302, 348
_CURVE_LEFT, _CURVE_RIGHT, _PANEL_GAP = 44, 14, 58

_RELIABILITY_TOP, _RELIABILITY_BOTTOM = 14, 300
_COUNTS_TOP, _COUNTS_BOTTOM, _RELIABILITY_HEIGHT = 330, 400, 446
_LEAST_COLUMN = 30


@dataclass(frozen=True, slots=True)
class Bar:
    """One row of a bar chart: a name and a share of counted things."""

    label: str
    share: Measure


def draw_bars(key: str, title: str, bars: Sequence[Bar], *, counted: str, kind: str) -> Markup:
    """Draw horizontal bars from 0, with a whisker for the interval and every number next to them.

    The axis ends a little after the longest bar. A longer interval ends in an arrow. `counted` is the
    head of the column of counts, as "missed of all".
    """
    ticks = nice_ticks(_choose_top(bars))
    wider = 0 if any(bar.share.has_interval for bar in bars) else _INTERVAL_WIDTH - _GAP
    scale = Scale(0, ticks[-1], _LABEL_END + 10, _PLOT_END + wider)
    bottom = _HEAD + _ROW * len(bars)
    labels = [f"{100 * tick:.4g}" for tick in ticks]
    labels[-1] += f"{SPACE}%"
    marks = x_axis(scale, list(zip(ticks, labels, strict=True)), _HEAD, bottom)
    marks += _draw_heads(bars, counted, _SHARE_X + wider)
    for number, bar in enumerate(bars):
        marks += _draw_bar(bar, _HEAD + _ROW * (number + 0.5), scale, kind, _SHARE_X + wider)
    return drawing(key, title, _describe_bars(bars), bottom + _FOOT, marks)


def _choose_top(bars: Sequence[Bar]) -> float:
    # After every bar, and after intervals as far as bars stay visible.
    longest = max(bar.share.value or 0.0 for bar in bars)
    furthest = max(bar.share.high or 0.0 for bar in bars)
    wanted = max(longest * _ROOM, _LEAST_TOP)
    return min(1.0, max(longest, min(wanted, furthest) if furthest else wanted))


def _draw_heads(bars: Sequence[Bar], counted: str, share_x: float) -> list[Markup]:
    found = next((bar.share for bar in bars if bar.share.has_interval), None)
    marks = [text(_("share"), share_x, 14, "m", anchor="end"), text(counted, _COUNT_X, 14, "m", anchor="end")]
    if found is not None:
        name = interval_name(found.confidence)
        marks.append(text(name, share_x + _INTERVAL_WIDTH, 14, "m", anchor="end"))
    return marks


def _draw_bar(bar: Bar, middle: float, scale: Scale, kind: str, share_x: float) -> list[Markup]:
    share, baseline = bar.share, middle + 4.5
    marks = [text(bar.label, _LABEL_END, baseline, anchor="end")]
    if share.value is not None:
        length = scale.at(share.value) - scale.start
        marks.append(rectangle(scale.start, middle - _BAR / 2, length, _BAR, kind))
    marks += _draw_whisker(share, middle, scale)
    marks.append(text(percent(share.value), share_x, baseline, "v", anchor="end"))
    if share.has_interval:
        marks.append(text(percent_range(share), share_x + _INTERVAL_WIDTH, baseline, "m", anchor="end"))
    if share.whole is not None:
        marks.append(
            text(
                _("{part:,} of {whole:,}", part=share.part, whole=share.whole),
                _COUNT_X,
                baseline,
                "m",
                anchor="end",
            )
        )
    return marks


def _draw_whisker(share: Measure, middle: float, scale: Scale) -> list[Markup]:
    if share.low is None or share.high is None:
        return []
    low, high = scale.at(share.low), scale.at(share.high)
    marks = [line(low, middle, high, middle, "whisker"), line(low, middle - 4, low, middle + 4, "whisker")]
    if share.high > scale.high:
        tip = f"M{high - 5:.1f} {middle - 4.5:.1f}l6 4.5l-6 4.5z"
        return [*marks, element("path", d=tip, class_="arrow")]
    return [*marks, line(high, middle - 4, high, middle + 4, "whisker")]


def _describe_bars(bars: Sequence[Bar]) -> str:
    first = bars[0]
    return _(
        "{n_bars} bars, from the largest count to the smallest. First: {label}, {percent}. All numbers "
        "are next to the bars and in the table below.",
        n_bars=len(bars),
        label=first.label,
        percent=percent(first.share.value),
    )


def draw_histogram(
    key: str, title: str, columns: Sequence[tuple[str, int]], *, axis: str, tail: str
) -> Markup:
    """Draw vertical columns with their counts on top. The first has another colour than the tail."""
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
    return drawing(
        key,
        title,
        _("{axis}, and the count of each. {words}.", axis=axis, words=words),
        _HISTOGRAM_HEIGHT,
        marks,
    )


def count_leak_columns(leaks: Sequence[int]) -> list[tuple[str, int]]:
    """Count the documents with 0, 1, ... leaks. Many leaks are counted in ranges.

    Example:
        >>> count_leak_columns([0, 0, 2, 7])
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


@dataclass(frozen=True, slots=True)
class CurvePoint:
    """The shares in [0, 1] if words with a lower probability of being safe are masked, None for all words."""

    threshold: float | None
    recall: float
    precision: float
    safe_kept: float


def draw_curve(
    key: str, title: str, points: Sequence[CurvePoint], recall: float | None, precision: float | None
) -> Markup:
    """Draw precision and safe words kept over recall: in full, and enlarged near high recall.

    A ring marks recall and precision of the measured masking, if they are known.
    """
    starts = [0.0, *choose_zoom(recall)]
    width = (WIDTH - _CURVE_LEFT - _CURVE_RIGHT - _PANEL_GAP * (len(starts) - 1)) / len(starts)
    marks = [_draw_legend(has_ring=recall is not None and precision is not None)]
    for number, start in enumerate(starts):
        left = _CURVE_LEFT + number * (width + _PANEL_GAP)
        marks += _draw_panel(points, Scale(start, 1, left, left + width), recall, precision)
    words = _(
        "Precision and the share of safe words kept over recall, for {n_points:,} thresholds. This "
        "masking: recall {percent}, precision {percent_2}.",
        n_points=len(points),
        percent=percent(recall),
        percent_2=percent(precision),
    )
    return drawing(key, title, words, _CURVE_HEIGHT, marks)


def choose_zoom(recall: float | None) -> list[float]:
    """Return the start of an enlarged part with this recall near its middle, if one is needed.

    Example:
        >>> choose_zoom(0.979), choose_zoom(0.3), choose_zoom(None)
        ([0.95], [], [])
    """
    if recall is None:
        return []
    return [start for start in _ZOOMS if start <= recall - (1 - recall)][:1]


def _draw_legend(*, has_ring: bool) -> Markup:
    marks = [
        line(44, 14, 72, 14, "curve precision"),
        text(_("of what is masked, identifying (precision)"), 79, 18.5),
        line(366, 14, 394, 14, "curve safe-kept"),
        text(_("safe words kept"), 401, 18.5),
    ]
    if has_ring:
        marks += [
            element("circle", cx=536.0, cy=14.0, r="6", class_="ring"),
            text(_("this masking"), 549, 18.5),
        ]
    return element("g", *marks)


def _draw_panel(
    points: Sequence[CurvePoint], x: Scale, recall: float | None, precision: float | None
) -> Iterator[Markup]:
    y = Scale(0, 1, _CURVE_BOTTOM, _CURVE_TOP)
    ticks = [tick / 4 for tick in range(5)]
    if x.low:
        ticks = [round(x.low + tick, 6) for tick in nice_ticks(round(1 - x.low, 6), 5)]
    yield from y_axis(y, _QUARTERS, x.start, x.end)
    yield from x_axis(x, [(tick, f"{100 * tick:.4g}") for tick in ticks], _CURVE_TOP, _CURVE_BOTTOM)
    for name, kind in (("safe_kept", "safe-kept"), ("precision", "precision")):
        line_points = [(p.recall, getattr(p, name)) for p in sorted(points, key=lambda p: p.recall)]
        steps = [f"{coordinate(x.at(a))} {coordinate(y.at(b))}" for a, b in _cut_line(x.low, line_points)]
        yield element("path", d="M" + "L".join(steps) if steps else "", class_=f"curve {kind}")
    if recall is not None and precision is not None:
        across, up = x.at(recall), y.at(precision)
        yield line(across, up, across, _CURVE_BOTTOM, "guide")
        yield line(x.start, up, across, up, "guide")
        yield element("circle", cx=across, cy=up, r="6", class_="ring")
    name = _("% of identifying words masked (recall)") if x.low == 0 else _("recall, enlarged")
    yield text(name, (x.start + x.end) / 2, _CURVE_BOTTOM + 38, "m", anchor="middle")


def _cut_line(low: float, points: Points) -> Points:
    # The part begins on the line.
    inside = [point for point in points if point[0] >= low]
    before = [point for point in points if point[0] < low]
    if not (inside and before):
        return inside
    (x1, y1), (x2, y2) = before[-1], inside[0]
    return [(low, y1 + (low - x1) / (x2 - x1) * (y2 - y1)), *inside]


def draw_reliability(key: str, title: str, bins: Sequence[ReliabilityBin]) -> Markup:
    """Draw measured over predicted shares of safe words with intervals, and below it the bin counts."""
    x = Scale(0, 1, 52, WIDTH - 12)
    y = Scale(0, 1, _RELIABILITY_BOTTOM, _RELIABILITY_TOP)
    marks = [*y_axis(y, _QUARTERS, x.start, x.end)]
    marks += [
        line(x.at(tick), _RELIABILITY_TOP, x.at(tick), _RELIABILITY_BOTTOM, "grid") for tick, _ in _QUARTERS
    ]
    marks.append(line(x.start, y.start, x.end, y.end, "guide"))
    marks.append(text(_("as predicted"), x.at(0.63), y.at(0.56), "m"))
    marks.append(text(_("% of the words that are safe"), x.start + 8, _RELIABILITY_TOP + 14, "m"))
    for found in bins:
        marks += _draw_point(found, x, y)
    marks += _draw_bin_counts(bins, x)
    n_words = sum(found.tokens for found in bins)
    words = _(
        "{n_words:,} words in {n_bins} bins of the predicted probability of being safe. On the diagonal, "
        "prediction and truth agree.",
        n_words=n_words,
        n_bins=len(bins),
    )
    return drawing(key, title, words, _RELIABILITY_HEIGHT, marks)


def _draw_point(found: ReliabilityBin, x: Scale, y: Scale) -> Iterator[Markup]:
    if found.mean_p_safe is None or found.safe.value is None:
        return
    across = x.at(found.mean_p_safe)
    if found.interval is not None:
        low, high = y.at(found.interval.low), y.at(found.interval.high)
        yield line(across, low, across, high, "whisker")
        yield from (line(across - 4, end, across + 4, end, "whisker") for end in (low, high))
    yield element("circle", cx=across, cy=y.at(found.safe.value), r="4.5", class_="dot")


def _draw_bin_counts(bins: Sequence[ReliabilityBin], x: Scale) -> Iterator[Markup]:
    most = max(1, *(found.tokens for found in bins))
    y = Scale(0, most, _COUNTS_BOTTOM, _COUNTS_TOP)
    for found in bins:
        start, end, top = x.at(found.low), x.at(found.high), y.at(found.tokens)
        yield rectangle(start + 1, top, max(end - start - 2, 0.5), _COUNTS_BOTTOM - top, "bar-quiet")
        if end - start >= _LEAST_COLUMN:
            yield text(shorten_count(found.tokens), (start + end) / 2, top - 5, "m", anchor="middle")
    yield line(x.start, _COUNTS_BOTTOM, x.end, _COUNTS_BOTTOM, "axis")
    for tick, label in _QUARTERS:
        yield text(label, x.at(tick), _COUNTS_BOTTOM + 17, "m", anchor="middle")
    axis = _("predicted probability of being safe, %; columns: words in each bin")
    yield text(axis, (x.start + x.end) / 2, _COUNTS_BOTTOM + 38, "m", anchor="middle")


def shorten_count(n: int) -> str:
    """Return a count in at most five characters.

    Example:
        >>> shorten_count(980), shorten_count(12_345), shorten_count(4_000_000)
        ('980', '12.3k', '4M')
    """
    for power, unit in ((1_000_000, "M"), (1_000, "k")):
        if n >= 0.9995 * power:
            return f"{n / power:.3g}{unit}"
    return str(n)
