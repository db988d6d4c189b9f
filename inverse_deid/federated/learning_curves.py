"""The figure of a study: F1 over the epochs, as figure 6 of the paper shows it.

A panel for each collaborative method, beside the same curves of the others: the mean over
sites and seeds as a line, the range over sites as an area.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from inverse_deid.evaluation.page.svg import (
    Scale,
    coordinate,
    element,
    line,
    nice_ticks,
    text,
    x_axis,
    y_axis,
)

_STYLE = """
svg { background: #fff; font: 13px sans-serif } .t { fill: #222 } .m { fill: #555; font-size: 12px }
.grid { stroke: #ddd } .area { fill-opacity: .18; stroke: none } .curve { fill: none; stroke-width: 1.8 }
"""
_WIDTH, _PANEL, _HEIGHT = 720, 300, 250
_LEFT, _TOP, _BOTTOM, _GAP = 52, 52, 38, 52


@dataclass(frozen=True, slots=True)
class CurveOfMethod:
    """F1 of a method after each epoch, from 1.

    Args:
        name: Of the method.
        colour: As CSS writes it.
        mean: Over sites and seeds.
        low: The lowest site, mean over seeds.
        high: The highest site.
    """

    name: str
    colour: str
    mean: Sequence[float]
    low: Sequence[float]
    high: Sequence[float]


def learning_curves(panels: Mapping[str, Sequence[CurveOfMethod]], lowest: float) -> str:
    """Draw the panels, two in a row, as an SVG file.

    Args:
        panels: The curves of each panel by its title; all of as many epochs.
        lowest: F1 at which the axis begins; what lies under it is drawn on it.

    Returns:
        The text of the file.
    """
    n_rows = (len(panels) + 1) // 2
    height = n_rows * (_HEIGHT + _TOP + _BOTTOM)
    marks = [element("style", _STYLE)]
    for i, (title, curves) in enumerate(panels.items()):
        left = _LEFT + (i % 2) * (_PANEL + _GAP)
        marks += _panel(title, curves, lowest, left, (i // 2) * (_HEIGHT + _TOP + _BOTTOM) + _TOP)
    svg = element(
        "svg",
        element("title", "F1 on the test documents over the epochs"),
        *marks,
        xmlns="http://www.w3.org/2000/svg",
        viewBox=f"0 0 {_WIDTH} {height}",
        width=_WIDTH,
        height=height,
    )
    return f"{svg}\n"


def _panel(
    title: str, curves: Sequence[CurveOfMethod], lowest: float, left: float, top: float
) -> list[Markup]:
    n_epochs = max(len(curve.mean) for curve in curves)
    x = Scale(0, max(n_epochs, 2), left, left + _PANEL)
    y = Scale(lowest, 1.0, top + _HEIGHT, top)
    ticks = [(lowest + (1 - lowest) * i / 5, f"{lowest + (1 - lowest) * i / 5:.2f}") for i in range(6)]
    epochs = [(tick, f"{tick:g}") for tick in nice_ticks(n_epochs) if tick <= max(n_epochs, 2)]
    marks = [
        *y_axis(y, ticks, left, left + _PANEL),
        *x_axis(x, epochs, top, top + _HEIGHT),
        text(title, left, top - 30),
        text("epoch", left + _PANEL, top + _HEIGHT + 32, "m", anchor="end"),
    ]
    for number, curve in enumerate(curves):
        marks += _curve(curve, x, y)
        key = left + number * _PANEL / max(len(curves), 1)
        marks.append(_coloured(line(key, top - 13, key + 14, top - 13, "curve"), curve.colour))
        marks.append(text(curve.name, key + 18, top - 9, "m"))
    return marks


def _curve(curve: CurveOfMethod, x: Scale, y: Scale) -> list[Markup]:
    def points(values: Sequence[float]) -> list[str]:
        return [f"{coordinate(x.at(i))},{coordinate(y.at(v))}" for i, v in enumerate(values, start=1)]

    area = " ".join([*points(curve.low), *reversed(points(curve.high))])
    return [
        element("polygon", points=area, class_="area", fill=curve.colour),
        element("polyline", points=" ".join(points(curve.mean)), class_="curve", stroke=curve.colour),
    ]


def _coloured(mark: Markup, colour: str) -> Markup:
    return element("g", mark, stroke=colour)
