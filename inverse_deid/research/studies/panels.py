"""Small line charts, two in a row, as an SVG file of its own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from inverse_deid.evaluation.page.svg import (
    WIDTH,
    Scale,
    coordinate,
    element,
    line,
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
    """A line and an area around it.

    Args:
        name: For the key.
        colour: As CSS writes it.
        x: Where its values lie, rising.
        middle: The values of the line.
        low: The lower edge of the area.
        high: The upper edge.
    """

    name: str
    colour: str
    x: Sequence[float]
    middle: Sequence[float]
    low: Sequence[float]
    high: Sequence[float]


@dataclass(frozen=True, slots=True)
class Panel:
    """One chart.

    Args:
        title: Above it.
        x_title: Under the horizontal axis.
        x_ends: Where the horizontal axis begins and ends.
        x_ticks: Values and labels on it.
        lowest: Where the vertical axis begins, below 1, its end; what lies outside is drawn on its ends.
        curves: In the order of the key.
        guide: A value that a dashed line marks, with its label.
    """

    title: str
    x_title: str
    x_ends: tuple[float, float]
    x_ticks: Sequence[tuple[float, str]]
    lowest: float
    curves: Sequence[Band]
    guide: tuple[float, str] | None = None


def panels(title: str, charts: Sequence[Panel]) -> str:
    """Draw charts, two in a row.

    Args:
        title: Of the whole, for who does not see it.
        charts: From left to right and from top to bottom.

    Returns:
        The text of an SVG file.
    """
    row = _HEIGHT + _TOP + _BOTTOM
    height = (len(charts) + 1) // 2 * row
    style = _STYLE + (_GUIDE_STYLE if any(chart.guide for chart in charts) else "")
    marks = [element("style", style)]
    for i, chart in enumerate(charts):
        marks += _panel(chart, _LEFT + (i % 2) * (_PANEL + _GAP), (i // 2) * row + _TOP)
    svg = element(
        "svg",
        element("title", title),
        *marks,
        xmlns="http://www.w3.org/2000/svg",
        viewBox=f"0 0 {WIDTH} {height}",
        width=WIDTH,
        height=height,
    )
    return f"{svg}\n"


def _panel(chart: Panel, left: float, top: float) -> list[Markup]:
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
        marks += _curve(curve, x, y)
        key = left + number * _PANEL / len(chart.curves)
        marks.append(element("g", line(key, top - 13, key + 14, top - 13, "curve"), stroke=curve.colour))
        marks.append(text(curve.name, key + 18, top - 9, "m"))
    return marks


def _curve(curve: Band, x: Scale, y: Scale) -> list[Markup]:
    def points(values: Sequence[float]) -> list[str]:
        pairs = zip(curve.x, values, strict=True)
        return [f"{coordinate(x.at(across))},{coordinate(y.at(up))}" for across, up in pairs]

    area = " ".join([*points(curve.low), *reversed(points(curve.high))])
    return [
        element("polygon", points=area, class_="area", fill=curve.colour),
        element("polyline", points=" ".join(points(curve.middle)), class_="curve", stroke=curve.colour),
    ]
