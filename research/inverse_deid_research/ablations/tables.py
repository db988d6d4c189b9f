"""The tables of an ablation: what helped, what did not, and every run."""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd

from inverse_deid_research.ablations.variants import BASE
from inverse_deid_research.studies.tables import Cell, Table, frame_of, mean, spread

MEASURES = (
    "average precision",
    "precision at 0.98",
    "precision at 0.99",
    "precision at 0.995",
    "without a leak",
    "recall",
    "precision",
)
_JUDGED = ("average precision", "precision at 0.99")
"""What the verdicts look at."""
_JUDGED_WITHOUT_ORDER = ("without a leak", "precision")
"""What they look at where a variant has decisions only."""


def ablation_tables(
    titles: dict[str, str], cost: pd.DataFrame, outcomes: pd.DataFrame
) -> dict[str, list[Table]]:
    """Return all tables by heading, of variants with these titles, by name, in order.

    `cost` has the columns `title`, `seconds` and `tokens_per_second` of the trained variants, `outcomes` a
    row for each variant, run and corpus, see `measures.Row`.
    """
    measured = set(outcomes["variant"])
    titles = {name: title for name, title in titles.items() if name in measured}
    corpora = outcomes["corpus"].unique()
    speeds = cost.set_axis(["variant", "seconds a run", "tokens a second"], axis=1)
    runs = outcomes[["variant", "seeds", "corpus", *MEASURES]]
    parts = {"compared": outcomes["is_compared"], "held-out": ~outcomes["is_compared"]}
    return {
        "What helped and what did not": [
            _verdicts_table(titles, outcomes[part], where) for where, part in parts.items() if part.any()
        ],
        "By corpus": [
            _corpus_table(corpus, number, titles, outcomes[outcomes["corpus"] == corpus])
            for number, corpus in enumerate(corpora, start=1)
        ],
        "Cost": [Table("cost", "Mean over seeds", speeds, digits=0)],
        "All runs": [Table("runs", "Every run on every corpus", runs, digits=4)],
    }


def _corpus_table(corpus: str, number: int, titles: dict[str, str], mine: pd.DataFrame) -> Table:
    rows: list[tuple[Cell, ...]] = []
    for name, title in titles.items():
        some = mine[mine["variant"] == name]
        rows.append((title, len(some), *(mean(some[measure]) for measure in MEASURES)))
    return Table(f"corpus-{number}", corpus, frame_of(("variant", "runs", *MEASURES), rows), digits=4)


@dataclass(frozen=True, slots=True)
class Difference:
    """How far a variant is from the base."""

    value: float | None  # mean over the variant's runs minus that over the base's; None = undefined
    # Largest minus smallest over the runs of one of them, the wider one's; None = unknown.
    spread: float | None

    @property
    def verdict(self) -> str:
        if self.value is None:
            return "-"
        if self.spread is None:
            return "one run only"
        if abs(self.value) <= self.spread:
            return "within the seeds"
        return "better" if self.value > 0 else "worse"


def compare_with_base(name: str, measure: str, outcomes: pd.DataFrame) -> Difference:
    """Compare a variant with the base; each run counts with its mean over the corpora of the outcomes."""
    mine, base = (
        [mean(run[measure]) for _, run in outcomes[outcomes["variant"] == one].groupby("seeds", sort=False)]
        for one in (name, BASE)
    )
    ours, theirs = mean(mine), mean(base)
    known = [value for value in (spread(mine), spread(base)) if value is not None]
    return Difference(None if ours is None or theirs is None else ours - theirs, max(known, default=None))


def _verdicts_table(titles: dict[str, str], counted: pd.DataFrame, where: str) -> Table:
    rows: list[tuple[Cell, ...]] = []
    for name, title in titles.items():
        if name == BASE:
            continue
        found = {measure: compare_with_base(name, measure, counted) for measure in MEASURES}
        first = found[_JUDGED[0]]
        judged = _JUDGED_WITHOUT_ORDER if first.value is None else _JUDGED
        width = None if first.spread is None else f"{first.spread:.4f}"
        verdicts = (found[measure].verdict for measure in judged)
        rows.append((title, *verdicts, *(one.value for one in found.values()), width))
    differences = (f"Δ {measure}" for measure in MEASURES)
    columns = ("variant", "order", "at recall 0.99", *differences, "seed spread of AP")
    title = f"Differences to the base, mean over {', '.join(counted['corpus'].unique())}"
    note = (
        "A difference counts if it is larger than the spread over seeds (largest minus smallest, of the "
        "base or of the variant, whichever is wider). *order* looks at the average precision, *at recall "
        "0.99* at the precision there; for document passes, which give no order, they look at documents "
        "without a leak and at the precision of the masks."
    )
    return Table(f"verdicts-{where}", title, frame_of(columns, rows), (note,), digits=4, signed=True)
