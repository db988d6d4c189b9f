"""The figure of a study: F1 over the epochs, as figure 6 of the paper shows it.

A panel for each collaborative method, beside the same curves of the others: the mean over
sites and seeds as a line, the range over sites as an area.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from inverse_deid.evaluation.page.svg import nice_ticks
from inverse_deid.research.studies.panels import Band, Panel, panels


def learning_curves(curves_of: Mapping[str, Sequence[Band]], lowest: float) -> str:
    """Draw the panels, two in a row, as an SVG file.

    Args:
        curves_of: The curves of each panel by its title, their x the epochs from 1; all of as many.
        lowest: F1 at which the axis begins; what lies under it is drawn on it.

    Returns:
        The text of the file.
    """
    charts = [_panel(title, curves, lowest) for title, curves in curves_of.items()]
    return panels("F1 on the test documents over the epochs", charts)


def _panel(title: str, curves: Sequence[Band], lowest: float) -> Panel:
    n_epochs = max(len(curve.x) for curve in curves)
    end = max(n_epochs, 2)
    return Panel(
        title,
        "epoch",
        x_ends=(0, end),
        x_ticks=[(tick, f"{tick:g}") for tick in nice_ticks(n_epochs) if tick <= end],
        lowest=lowest,
        curves=curves,
    )
