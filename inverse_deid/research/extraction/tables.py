"""The tables of the study of extraction, in the form of tables 2, 3 and 5 of the paper.

Source: Lange, Adel and Strötgen 2020.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from inverse_deid.research.extraction.concepts import CONCEPTS, PHI
from inverse_deid.research.extraction.scoring import compare_f1
from inverse_deid.research.extraction.views import View
from inverse_deid.research.studies.report import read_published
from inverse_deid.research.studies.tables import Cell, Table, frame_of, mean

Records = Mapping[str, Sequence[Mapping[str, Any]]]
"""The records of each model, one per seed."""

_O, _P, _G, _M, _R = View.ORIGINAL, View.PREDICTED, View.GOLD, View.MARKER, View.RELATIVE_DATES
_COMBINATIONS = ((_O, _O), (_O, _P), (_P, _O), (_P, _P), (_G, _P), (_G, _G))
_OURS = ((_O, _M), (_M, _O), (_M, _M), (_O, _R), (_R, _O), (_R, _R))
_MOST_LOST = 0.005
_LEAST_SPANISH = 0.955


@dataclass(frozen=True, slots=True)
class _Outcome:
    """The results of one model, read on one view.

    Args:
        dev: Of each seed on the development documents: `f1`, `by_type` and `parts`.
        test: The same on the test documents.
    """

    dev: Sequence[Mapping[str, Any]] = field(repr=False)
    test: Sequence[Mapping[str, Any]] = field(repr=False)

    @property
    def best(self) -> Mapping[str, Any] | None:
        """On the test documents, of the seed that is best on the development documents; None: not done."""
        scores = [float(found["f1"]) for found in self.dev]
        return self.test[scores.index(max(scores))] if scores else None

    @property
    def best_f1(self) -> float | None:
        """F1 of `best`."""
        return None if self.best is None else float(self.best["f1"])

    @property
    def mean_f1(self) -> float | None:
        """Mean over the seeds, on the test documents."""
        return mean([float(found["f1"]) for found in self.test])

    def p_value(self, other: _Outcome) -> float | None:
        """Return p of the paired permutation test of the best seeds over documents."""
        first, second = self.best, other.best
        if first is None or second is None or first is second:
            return None
        a, b = (np.array(one["parts"], np.float64) for one in (first, second))
        test = compare_f1(a, b)
        return None if test is None else test.p_value

    def minus(self, other: _Outcome) -> float | None:
        """Return the difference of the means."""
        first, second = self.mean_f1, other.mean_f1
        return None if first is None or second is None else first - second


def _collect(records: Records, name: str, view: View, task: str = CONCEPTS) -> _Outcome:
    found = records.get(name, ())
    return _Outcome(*([record[part][task][view.value] for record in found] for part in ("dev", "test")))


def extraction_tables(records: Records) -> dict[str, list[Table]]:
    """Return all tables by heading; what is not done yet has empty cells."""
    return {
        "De-identification": [_tabulate_identifiers(records)],
        "Concept extraction": [
            _tabulate_concepts(records),
            _tabulate_types(records),
            _tabulate_aims(records),
        ],
        "Train and test on different texts": [_tabulate_combinations(records)],
    }


def _tabulate_identifiers(records: Records) -> Table:
    facts = read_published()["joint"]
    published = facts["de_identification"]
    base = _collect(records, "phi", _O, PHI)
    rows: list[tuple[Cell, ...]] = []
    for name, title in (
        ("phi", "pipeline (tagger alone)"),
        ("stacked", "stacked"),
        ("multitask", "multitask"),
    ):
        found = _collect(records, name, _O, PHI)
        rows.append((title, found.best_f1, found.mean_f1, found.p_value(base), *published[name]))
    if "spanish-phi" in records:
        found = _collect(records, "spanish-phi", _O, PHI)
        rows.append(("tagger alone, Spanish", found.best_f1, found.mean_f1, None, None, published["phi"][1]))
    columns = ("model", "best seed", "mean", "p against pipeline", "published English", "published Spanish")
    return Table(
        "de-identification",
        "F1 of identifiers, exact spans and types (table 2)",
        frame_of(columns, rows),
        notes=(
            f"Published: {facts['source']}; other data ({facts['data']}). The seed is chosen on the "
            "development documents.",
        ),
        digits=4,
    )


def _tabulate_concepts(records: Records) -> Table:
    facts = read_published()["joint"]
    models = (
        ("concepts-original", "original text, no de-identification", "no", _O, None),
        ("concepts-original", "pipeline, trained on original text", "yes", _P, "pipeline"),
        ("concepts-predicted", "pipeline, trained on masked text", "yes", _P, None),
        ("concepts-marker", "pipeline, marker without class", "yes", _M, None),
        ("concepts-relative-dates", "pipeline, marker without class and relative dates", "yes", _R, None),
        ("stacked", "stacked", "yes", _O, "stacked"),
        ("multitask", "multitask", "no", _O, "multitask"),
    )
    pipeline, original = (_collect(records, "concepts-original", view) for view in (_P, _O))
    rows: list[tuple[Cell, ...]] = []
    for name, title, hidden, view, key in models:
        found = _collect(records, name, view)
        p_values = (found.p_value(other) for other in (pipeline, original))
        published = facts["extraction"][key] if key else (None, None)
        rows.append((title, hidden, found.best_f1, found.mean_f1, *p_values, *published))
    columns = (
        "model",
        "identifiers hidden",
        "best seed",
        "mean",
        "p against pipeline",
        "p against original",
        "published English",
        "published Spanish",
    )
    return Table(
        "extraction",
        "F1 of concepts, exact spans and types (table 3)",
        frame_of(columns, rows),
        notes=(
            f"Published: {facts['source']}; other data ({facts['data']}).",
            "p: paired permutation test of the best seeds over documents, not corrected for their number.",
        ),
        digits=4,
    )


def _tabulate_types(records: Records) -> Table:
    models = {
        "original": ("concepts-original", _O),
        "pipeline, trained on original": ("concepts-original", _P),
        "pipeline, trained on masked": ("concepts-predicted", _P),
        "stacked": ("stacked", _O),
    }
    best = [_collect(records, *model).best for model in models.values()]
    kinds = dict.fromkeys(kind for found in best if found for kind in found["by_type"])
    rows = ((kind, *(None if one is None else one["by_type"][kind] for one in best)) for kind in kinds)
    frame = frame_of(("type", *models), rows)
    return Table("extraction-types", "F1 of concepts by type, best seeds", frame, digits=4)


def _tabulate_aims(records: Records) -> Table:
    """Return the project's aims, met or missed, by the means; the test compares the best seeds."""

    def judge(value: float | None, *, is_met: bool) -> str | None:
        return None if value is None else "met" if is_met else "missed"

    original, predicted = (
        _collect(records, "concepts-original", _O),
        _collect(records, "concepts-predicted", _P),
    )
    rows: list[tuple[Cell, ...]] = []
    for title, found in (
        ("placeholders", predicted),
        ("marker", _collect(records, "concepts-marker", _M)),
        ("marker and relative dates", _collect(records, "concepts-relative-dates", _R)),
    ):
        loss = original.minus(found)
        verdict = judge(loss, is_met=(loss or 0) <= _MOST_LOST)
        rows.append(
            (f"loss on masked text, {title}: at most {_MOST_LOST}", loss, found.p_value(original), verdict)
        )
    stacked = _collect(records, "stacked", _O)
    gain = stacked.minus(predicted)
    verdict = judge(gain, is_met=(gain or 0) >= 0)
    rows.append(("stacked against pipeline: at least 0", gain, stacked.p_value(predicted), verdict))
    if "spanish-phi" in records:
        f1 = _collect(records, "spanish-phi", _O, PHI).mean_f1
        verdict = judge(f1, is_met=(f1 or 0) >= _LEAST_SPANISH)
        rows.append((f"Spanish identifiers: at least {_LEAST_SPANISH}", f1, None, verdict))
    return Table("extraction-aims", "Aims", frame_of(("aim", "value", "p", "result"), rows), digits=4)


def _tabulate_combinations(records: Records) -> Table:
    facts = read_published()["joint"]["combinations"]
    numbered = [(str(i), *views, facts[str(i)]) for i, views in enumerate(_COMBINATIONS, start=1)]
    rows: list[tuple[Cell, ...]] = []
    for line, trained_on, read, published in (
        *numbered,
        *(("ours", *views, (None, None)) for views in _OURS),
    ):
        found = _collect(records, f"concepts-{trained_on}", read)
        dev = mean([float(one["f1"]) for one in found.dev])
        rows.append((line, trained_on.value, read.value, dev, found.mean_f1, *published))
    return Table(
        "combinations",
        "F1 of concepts by the text of training and of test, mean over seeds (table 5)",
        frame_of(("line", "train on", "test on", "dev", "test", "published dev", "published test"), rows),
        notes=(
            "original: non-anonymised; predicted, gold: placeholders of the class of each masked or marked "
            "term; marker: masked without classes; relative-dates: the same with day counts for dates. "
            "Published: Spanish concepts, other data.",
        ),
        digits=4,
    )
