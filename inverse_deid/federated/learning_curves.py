"""The figure of a study: F1 over the epochs, as figure 6 of the paper shows it.

A panel for each collaborative method, beside the same curves of the others: the mean over
sites and seeds as a line, the range over sites as an area.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from inverse_deid.evaluation.page.panels import Curve, Panel, panels
from inverse_deid.evaluation.page.svg import nice_ticks


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


def learning_curves(curves_of: Mapping[str, Sequence[CurveOfMethod]], lowest: float) -> str:
    """Draw the panels, two in a row, as an SVG file.

    Args:
        curves_of: The curves of each panel by its title; all of as many epochs.
        lowest: F1 at which the axis begins; what lies under it is drawn on it.

    Returns:
        The text of the file.
    """
    charts = [_panel(title, curves, lowest) for title, curves in curves_of.items()]
    return panels("F1 on the test documents over the epochs", charts)


def _panel(title: str, curves: Sequence[CurveOfMethod], lowest: float) -> Panel:
    n_epochs = max(len(curve.mean) for curve in curves)
    end = max(n_epochs, 2)
    return Panel(
        title,
        "epoch",
        x_ends=(0, end),
        x_ticks=[(tick, f"{tick:g}") for tick in nice_ticks(n_epochs) if tick <= end],
        lowest=lowest,
        curves=[
            Curve(curve.name, curve.colour, range(1, len(curve.mean) + 1), curve.mean, curve.low, curve.high)
            for curve in curves
        ],
    )
