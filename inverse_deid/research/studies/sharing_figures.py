"""Figures 4 and 5 of Friedrich et al. 2019 from the tables of the study."""

from __future__ import annotations

import math
from collections.abc import Sequence

from inverse_deid.research.studies.figures import Band, Panel, panels
from inverse_deid.research.studies.tables import Cell, Table

ACCURACY_AIM = 0.55
"""Of the adversary after continued training, at most."""

_PSEUDONYMISED, _ADVERSARIAL, _ADVERSARY = "#8e5a00", "#1565c0", "#b71c1c"

Points = Sequence[tuple[float, float, float, float]]
"""Number of neighbours; mean, lowest and highest of the seeds."""


def sharing_figures(
    pseudonymised: Table, adversarial: Table, non_private: dict[str, float | None]
) -> dict[str, str]:
    """Draw them, with a row of charts for each corpus.

    Args:
        pseudonymised: Rows of corpus, N, F1, lowest, highest.
        adversarial: The same, then the adversary: before, mean, lowest, highest.
        non_private: F1 of each corpus without protection, None if it is not known.

    Returns:
        The text of SVG files by their names.
    """
    f1_of_words = {corpus: _points(pseudonymised, corpus, 2) for corpus in non_private}
    f1_of_vectors = {corpus: _points(adversarial, corpus, 2) for corpus in non_private}
    accuracies = {corpus: _points(adversarial, corpus, 6) for corpus in non_private}
    simple, private = [], []
    for corpus, plain in non_private.items():
        f1 = [("pseudonymised", _PSEUDONYMISED, f1_of_words[corpus])]
        simple.append(_panel(f"{corpus}: F1", f1, plain, "non-private"))
        f1.append(("adversarial", _ADVERSARIAL, f1_of_vectors[corpus]))
        private.append(_panel(f"{corpus}: F1", f1, plain, "non-private"))
        right = [("adversary", _ADVERSARY, accuracies[corpus])]
        private.append(_panel(f"{corpus}: accuracy", right, ACCURACY_AIM, "aim: at most", lowest=0.5))
    return {
        "figure-4.svg": panels("F1 after pseudonymisation with N neighbours", simple),
        "figure-5.svg": panels("F1 with the representation, and accuracy of the adversary", private),
    }


def _points(table: Table, corpus: str, column: int) -> Points:
    """What is known of a corpus, from three columns of a table."""
    rows = [(row[1], *row[column : column + 3]) for row in table.rows if row[0] == corpus]
    return [known for row in rows if (known := _numbers(row)) is not None]


def _numbers(cells: Sequence[Cell]) -> tuple[float, float, float, float] | None:
    n, middle, low, high = (None if isinstance(cell, str) else cell for cell in cells)
    if n is None or middle is None or low is None or high is None:
        return None
    return n, middle, low, high


def _panel(
    title: str,
    drawn: Sequence[tuple[str, str, Points]],
    guide: float | None,
    label: str,
    lowest: float | None = None,
) -> Panel:
    values = [one[2] for _, _, points in drawn for one in points] + ([] if guide is None else [guide])
    start = math.floor(10 * min(values, default=0.9) - 0.2) / 10 if lowest is None else lowest
    neighbours = sorted({one[0] for _, _, points in drawn for one in points}) or [1.0]
    if len(neighbours) == 1:  # an axis needs two ends
        neighbours.append(10 * neighbours[0])
    return Panel(
        title,
        "neighbours N",
        x_ends=(math.log10(neighbours[0]), math.log10(neighbours[-1])),
        x_ticks=[(math.log10(n), f"{n:g}") for n in neighbours],
        lowest=start,
        curves=[_curve(name, colour, points) for name, colour, points in drawn],
        guide=None if guide is None else (guide, f"{label} {guide:.3f}"),
    )


def _curve(name: str, colour: str, points: Points) -> Band:
    across, middle, low, high = zip(*points, strict=True) if points else ((),) * 4
    return Band(name, colour, [math.log10(n) for n in across], middle, low, high)
