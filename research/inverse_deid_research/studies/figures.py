"""The line charts of studies, as SVG: values over epochs or sizes, with an area from lowest to highest."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import pandas as pd
from markupsafe import Markup

from inverse_deid.evaluation.page.svg import (
    Scale,
    coordinate,
    element,
    line,
    nice_ticks,
    svg_file,
    text,
    x_axis,
    y_axis,
)

_STYLE = """
svg { background: #fff; font: 13px sans-serif } .t { fill: #222 } .m { fill: #555; font-size: 12px }
.grid { stroke: #ddd } .area { fill-opacity: .18; stroke: none } .curve { fill: none; stroke-width: 1.8 }
"""
_GUIDE_STYLE = ".guide { stroke: #777; stroke-dasharray: 5 4 }\n"
_PANEL, _HEIGHT = 300, 250
_LEFT, _TOP, _BOTTOM, _GAP = 52, 52, 38, 52


@dataclass(frozen=True, slots=True)
class Band:
    """A line (`middle`) and the area around it, over rising `x`; the colour is as CSS writes it."""

    name: str
    colour: str
    x: Sequence[float]
    middle: Sequence[float]
    low: Sequence[float]
    high: Sequence[float]


@dataclass(frozen=True, slots=True)
class Panel:
    """A chart whose vertical axis goes from `lowest` to 1; what is outside is drawn on its ends."""

    title: str
    x_title: str
    x_ends: tuple[float, float]
    x_ticks: Sequence[tuple[float, str]]  # values and labels
    lowest: float
    curves: Sequence[Band]
    guide: tuple[float, str] | None = None  # a value that a dashed line marks, with its label


def panels(title: str, charts: Sequence[Panel]) -> str:
    """Return the text of an SVG file of charts, two per row; the title is for readers who cannot see it."""
    row = _HEIGHT + _TOP + _BOTTOM
    height = (len(charts) + 1) // 2 * row
    style = _STYLE + (_GUIDE_STYLE if any(chart.guide for chart in charts) else "")
    marks = []
    for i, chart in enumerate(charts):
        marks += _draw_panel(chart, _LEFT + (i % 2) * (_PANEL + _GAP), (i // 2) * row + _TOP)
    return svg_file(title, style, height, marks)


def _draw_panel(chart: Panel, left: float, top: float) -> list[Markup]:
    x = Scale(*chart.x_ends, left, left + _PANEL)
    y = Scale(chart.lowest, 1.0, top + _HEIGHT, top)
    steps = [chart.lowest + (1 - chart.lowest) * i / 5 for i in range(6)]
    marks = [
        *y_axis(y, [(step, f"{step:.2f}") for step in steps], left, left + _PANEL),
        *x_axis(x, chart.x_ticks, top, top + _HEIGHT),
        text(chart.title, left, top - 30),
        text(chart.x_title, left + _PANEL, top + _HEIGHT + 32, "m", anchor="end"),
    ]
    if chart.guide is not None:
        value, label = chart.guide
        marks.append(line(left, y.at(value), left + _PANEL, y.at(value), "guide"))
        marks.append(text(f"- - {label}", left + _PANEL, top - 30, "m", anchor="end"))
    for number, curve in enumerate(chart.curves):
        marks += _draw_curve(curve, x, y)
        key = left + number * _PANEL / len(chart.curves)
        marks.append(element("g", line(key, top - 13, key + 14, top - 13, "curve"), stroke=curve.colour))
        marks.append(text(curve.name, key + 18, top - 9, "m"))
    return marks


def _draw_curve(curve: Band, x: Scale, y: Scale) -> list[Markup]:
    def points(values: Sequence[float]) -> list[str]:
        pairs = zip(curve.x, values, strict=True)
        return [f"{coordinate(x.at(across))},{coordinate(y.at(up))}" for across, up in pairs]

    area = " ".join([*points(curve.low), *reversed(points(curve.high))])
    return [
        element("polygon", points=area, class_="area", fill=curve.colour),
        element("polyline", points=" ".join(points(curve.middle)), class_="curve", stroke=curve.colour),
    ]


def curve_of(name: str, colour: str, frame: pd.DataFrame, columns: tuple[str, str, str, str]) -> Band:
    """Return a curve; rows with an absent cell are left out.

    The columns are those of the horizontal place, the line, and the lower and upper edge of its area.
    """
    points = frame[list(columns)].dropna()
    return Band(name, colour, *(points[column].tolist() for column in columns))


def chart_from_zero(title: str, x_title: str, curves: Sequence[Band], lowest: float) -> Panel:
    """Return a chart whose horizontal axis goes from 0 to the last point of its curves."""
    last = max((x for curve in curves for x in curve.x), default=1)
    end = max(last, 2)
    ticks = [(tick, f"{tick:g}") for tick in nice_ticks(last) if tick <= end]
    return Panel(title, x_title, (0, end), ticks, lowest, curves)


def logarithmic_chart(
    title: str,
    x_title: str,
    curves: Sequence[Band],
    lowest: float,
    guide: tuple[float, str] | None = None,
) -> Panel:
    """Return a chart whose horizontal axis is logarithmic, with a tick for each point of its curves."""
    found = sorted({x for curve in curves for x in curve.x}) or [1.0]
    places = found if len(found) > 1 else [*found, 10 * found[0]]  # an axis has two ends
    ticks = [(math.log10(x), f"{x:g}") for x in places]
    moved = [replace(curve, x=[math.log10(x) for x in curve.x]) for curve in curves]
    return Panel(title, x_title, (ticks[0][0], ticks[-1][0]), ticks, lowest, moved, guide)
