"""The line charts of studies: a value over epochs or sizes, with an area from lowest to highest."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import pandas as pd

from inverse_deid.evaluation.page.svg import nice_ticks
from inverse_deid.research.studies.panels import Band, Panel, panels


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LineChart:
    """One chart of a figure; its vertical axis ends at 1.

    Args:
        title: Above it.
        x_title: Under the horizontal axis.
        curves: By `curve_of`, in the order of the key.
        lowest: Where the vertical axis begins; lower values are drawn there.
        guide: A value that a dashed line marks, with its label.
        is_logarithmic: The horizontal axis is logarithmic, with a tick for each point.
    """

    title: str
    x_title: str
    curves: Sequence[Band]
    lowest: float
    guide: tuple[float, str] | None = None
    is_logarithmic: bool = False


def curve_of(name: str, colour: str, frame: pd.DataFrame, columns: tuple[str, str, str, str]) -> Band:
    """Return a curve; rows with an absent cell are left out.

    Args:
        name: For the key.
        colour: As CSS writes it.
        frame: A row for each point.
        columns: Those of the horizontal place, of the line, and of the lower and upper edge of its area.
    """
    points = frame[list(columns)].dropna()
    return Band(name, colour, *(points[column].tolist() for column in columns))


def draw_charts(title: str, charts: Sequence[LineChart]) -> str:
    """Draw charts, two per row.

    Args:
        title: Of the whole, for readers who cannot see it.
        charts: From left to right and from top to bottom.

    Returns:
        The text of an SVG file.
    """
    return panels(title, [_panel(chart) for chart in charts])


def _panel(chart: LineChart) -> Panel:
    if chart.is_logarithmic:
        found = sorted({x for curve in chart.curves for x in curve.x}) or [1.0]
        places = found if len(found) > 1 else [*found, 10 * found[0]]  # an axis has two ends
        ends = math.log10(places[0]), math.log10(places[-1])
        ticks = [(math.log10(x), f"{x:g}") for x in places]
        curves = [
            Band(one.name, one.colour, [math.log10(x) for x in one.x], one.middle, one.low, one.high)
            for one in chart.curves
        ]
    else:
        last = max((x for curve in chart.curves for x in curve.x), default=1)
        ends = 0, max(last, 2)
        ticks = [(tick, f"{tick:g}") for tick in nice_ticks(last) if tick <= ends[1]]
        curves = list(chart.curves)
    return Panel(chart.title, chart.x_title, ends, ticks, chart.lowest, curves, chart.guide)
