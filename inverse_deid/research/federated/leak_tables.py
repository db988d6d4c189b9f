"""The tables of what a study's networks and changes of weights give away."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from inverse_deid.research.federated.study_figures import StudyFigures
from inverse_deid.research.studies.tables import Cell, Table, frame_of, mean

_TOKENS = ("all tokens", "tokens of PHI")


def membership_table(figures: StudyFigures) -> Table:
    """Was a document trained on? AUC of a threshold on its loss."""
    rows: list[tuple[Cell, ...]] = []
    for method in figures.config.methods:
        for tokens in _TOKENS:
            found = [one for one in figures.membership(method.name, tokens) if one]
            cells = [mean([one[name] for one in found]) for name in ("auc", "low", "high")]
            counts = [found[0][name] for name in ("n_members", "n_others")] if found else [None, None]
            rows.append((method.name, tokens, *cells, *counts))
    return Table(
        "membership",
        "Membership: is the loss of a training document lower than that of another one?",
        frame_of(("method", "loss of", "AUC", "low", "high", "training documents", "others"), tuple(rows)),
        notes=(
            "0.5: nothing is told, 1: everything. The interval of 95 % is over documents; AUC and interval "
            "are means over seeds. Others are the site's held-out documents. The attacker has the network "
            "that a method ends with.",
        ),
        digits=3,
    )


def inversion_table(inversion: Mapping[str, Any]) -> Table:
    """What a change of weights gives away of the documents that it was learned from."""
    rows: list[tuple[Cell, ...]] = []
    for seen, found in inversion.items():
        for what in ("characters", "words"):
            figures = found[what]
            shares = (figures["there"], figures["recall"], figures["precision"])
            rows.append((seen, found["n"], f"which {what} occur", *shares))
    return Table(
        "inversion",
        "Gradient inversion: what a change of weights names",
        frame_of(
            ("the attacker sees", "attempts", "asks", "there, mean", "found", "right of those named"),
            tuple(rows),
        ),
        notes=(
            "Words of the public vocabulary alone: a change cannot name others, but their characters. "
            "No value: nothing was named. A and D send no change.",
        ),
        digits=3,
    )
