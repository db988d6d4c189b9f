"""The report of an ablation: what helped, what did not, and every run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from inverse_deid.research.studies.measures import mean, spread
from inverse_deid.research.studies.provenance import Provenance
from inverse_deid.research.studies.tables import Cell, Table, write_report
from inverse_deid.research.studies.variants import BASE

MEASURES = (
    "average precision",
    "precision at 0.98",
    "precision at 0.99",
    "precision at 0.995",
    "without a leak",
    "recall",
    "precision",
)
JUDGED = ("average precision", "precision at 0.99")
"""What the verdicts look at."""
_JUDGED_WITHOUT_ORDER = ("without a leak", "precision")
"""What they look at where a variant has decisions only."""


@dataclass(frozen=True, slots=True, eq=False)
class Outcome:
    """What one run did on one corpus.

    Args:
        variant: Its name.
        run: Its seed, or the seeds that were pooled.
        corpus: The corpus.
        is_compared: Whether nobody trained or calibrated on it.
        values: By measure, in [0, 1]; None = undefined.
    """

    variant: str
    run: str
    corpus: str
    is_compared: bool
    values: Mapping[str, float | None]


@dataclass(frozen=True, slots=True)
class Row:
    """A variant in the tables.

    Args:
        name: Of the variant.
        title: What it is.
        is_trained: Whether it has networks of its own.
        seconds: Mean time of a training.
        tokens_per_second: Mean speed of training steps.
    """

    name: str
    title: str
    is_trained: bool
    seconds: float | None = None
    tokens_per_second: float | None = None


def write_ablation_report(
    folder: Path,
    provenance: Provenance,
    rows: Sequence[Row],
    outcomes: Sequence[Outcome],
    notes: Sequence[str],
) -> None:
    """Write `report.md` and the CSV files.

    Raises:
        OutputError: A file cannot be written.
    """
    rows = [row for row in rows if any(outcome.variant == row.name for outcome in outcomes)]
    corpora = list(dict.fromkeys(outcome.corpus for outcome in outcomes))
    head = [
        *provenance.lines(),
        "",
        "One token is one decision, after the rules that always mask. *precision at r*: on the curve of the "
        "very corpus. *recall*, *precision*, *without a leak* (documents): at the calibrated thresholds. "
        "Held-out documents were kept from training and used for calibration; learned combiners judge them "
        "by cross-fitting. Means over seeds.",
        *(["", *notes] if notes else []),
    ]
    sections = {
        "What helped and what did not": [
            _verdicts(rows, outcomes, is_compared=is_compared)
            for is_compared in (True, False)
            if any(outcome.is_compared == is_compared for outcome in outcomes)
        ],
        "By corpus": [_of_corpus(corpus, i, rows, outcomes) for i, corpus in enumerate(corpora, start=1)],
        "Cost": [_cost(rows)],
        "All runs": [_runs(outcomes)],
    }
    write_report(folder, "Ablations", head, sections)


def _of_corpus(corpus: str, number: int, rows: Sequence[Row], outcomes: Sequence[Outcome]) -> Table:
    mine = [outcome for outcome in outcomes if outcome.corpus == corpus]
    lines = []
    for row in rows:
        some = [outcome.values for outcome in mine if outcome.variant == row.name]
        means = [mean([values.get(measure) for values in some]) for measure in MEASURES]
        lines.append((row.title, len(some), *means))
    return Table(f"corpus-{number}", corpus, ("variant", "runs", *MEASURES), tuple(lines), digits=4)


def _by_run(name: str, measure: str, outcomes: Sequence[Outcome]) -> list[float | None]:
    """The mean over the corpora of each run."""
    mine = [outcome for outcome in outcomes if outcome.variant == name]
    runs = dict.fromkeys(outcome.run for outcome in mine)
    return [mean([outcome.values.get(measure) for outcome in mine if outcome.run == run]) for run in runs]


@dataclass(frozen=True, slots=True)
class Difference:
    """How far a variant is from the base.

    Args:
        value: Mean over the variant's runs minus mean over the base's; None = undefined.
        spread: Largest minus smallest over the runs of one of them, the wider one's; None = unknown.
    """

    value: float | None
    spread: float | None

    @property
    def verdict(self) -> str:
        """In words."""
        if self.value is None:
            return "-"
        if self.spread is None:
            return "one run only"
        if abs(self.value) <= self.spread:
            return "within the seeds"
        return "better" if self.value > 0 else "worse"


def difference(name: str, measure: str, outcomes: Sequence[Outcome]) -> Difference:
    """Compare a variant with the base.

    Args:
        name: The variant.
        measure: One of `MEASURES`.
        outcomes: On the corpora that count; each run is the mean over them.
    """
    mine, base = _by_run(name, measure, outcomes), _by_run(BASE, measure, outcomes)
    ours, theirs = mean(mine), mean(base)
    known = [value for value in (spread(mine), spread(base)) if value is not None]
    return Difference(
        None if ours is None or theirs is None else ours - theirs, max(known) if known else None
    )


def _verdicts(rows: Sequence[Row], outcomes: Sequence[Outcome], *, is_compared: bool) -> Table:
    counted = [outcome for outcome in outcomes if outcome.is_compared == is_compared]
    corpora = list(dict.fromkeys(outcome.corpus for outcome in counted))
    lines = [_verdict_line(row, counted) for row in rows if row.name != BASE]
    where = "compared" if is_compared else "held-out"
    return Table(
        f"verdicts-{where}",
        f"Differences to the base, mean over {', '.join(corpora)}",
        (
            "variant",
            "order",
            "at recall 0.99",
            *(f"Δ {measure}" for measure in MEASURES),
            "seed spread of AP",
        ),
        tuple(lines),
        notes=(
            "A difference counts if it is larger than the spread over seeds (largest minus smallest, of the "
            "base or of the variant, whichever is wider). *order* looks at the average precision, *at recall "
            "0.99* at the precision there; for document passes, which give no order, they look at documents "
            "without a leak and at the precision of the masks.",
        ),
        digits=4,
        signed=True,
    )


def _verdict_line(row: Row, outcomes: Sequence[Outcome]) -> tuple[Cell, ...]:
    found = {measure: difference(row.name, measure, outcomes) for measure in MEASURES}
    has_order = found[JUDGED[0]].value is not None
    judged = JUDGED if has_order else _JUDGED_WITHOUT_ORDER
    verdicts = [found[measure].verdict for measure in judged]
    width = found[JUDGED[0]].spread
    shown = None if width is None else f"{width:.4f}"
    return (row.title, *verdicts, *(one.value for one in found.values()), shown)


def _cost(rows: Sequence[Row]) -> Table:
    lines = tuple((row.title, row.seconds, row.tokens_per_second) for row in rows if row.is_trained)
    return Table("cost", "Mean over seeds", ("variant", "seconds a run", "tokens a second"), lines, digits=0)


def _runs(outcomes: Sequence[Outcome]) -> Table:
    lines = [
        (outcome.variant, outcome.run, outcome.corpus, *(outcome.values.get(measure) for measure in MEASURES))
        for outcome in outcomes
    ]
    return Table(
        "runs", "Every run on every corpus", ("variant", "seeds", "corpus", *MEASURES), tuple(lines), digits=4
    )
