"""The tables of the study of extraction, in the form of tables 2 to 5 of the paper.

Source: Lange, Adel and Strötgen 2020.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from inverse_deid.evaluation.resampling import Difference, bootstrap_difference
from inverse_deid_research.extraction.concepts import CONCEPTS, PHI
from inverse_deid_research.extraction.views import View
from inverse_deid_research.studies.report import read_published
from inverse_deid_research.studies.tables import Cell, Table, frame_of, mean

Records = Mapping[str, Sequence[Mapping[str, Any]]]
"""The records of each model, one per seed."""

_O, _P, _G, _M, _R = View.ORIGINAL, View.PREDICTED, View.GOLD, View.MARKER, View.RELATIVE_DATES
_COMBINATIONS = ((_O, _O), (_O, _P), (_P, _O), (_P, _P), (_G, _P), (_G, _G))
_OURS = ((_O, _M), (_M, _O), (_M, _M), (_O, _R), (_R, _O), (_R, _R))
_AGAINST_PIPELINE, _AGAINST_ORIGINAL = "against pipeline", "against original"
_PUBLISHED = ("published English", "published Spanish")
_INTERVAL_NOTE = (
    "Differences are those of the means over seeds, with their 95 % interval from 2,000 resamples: of the "
    "case reports, the same for both models and all seeds, and of the seeds."
)
_MOST_LOST = 0.005
_LEAST_SPANISH = 0.955


@dataclass(frozen=True, slots=True)
class _Outcome:
    """The results of one model, read on one view: `f1`, `by_type` and `parts` of each seed."""

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

    @property
    def parts(self) -> npt.NDArray[np.float64]:
        """F1 of each seed as a ratio of sums over case reports: float64 (n_seeds, n_reports, 2)."""
        return np.array([found["parts"] for found in self.test], np.float64)

    def minus(self, other: _Outcome) -> Difference | None:
        """Return the difference of the means over seeds; None if one is not done, or for itself."""
        if not self.test or not other.test or self.test == other.test:
            return None
        return bootstrap_difference(self.parts, other.parts)


def _bounds(found: Difference | None) -> tuple[Cell, Cell, Cell]:
    return (None, None, None) if found is None else (found.value, found.low, found.high)


def _name_bounds(*columns: str) -> tuple[str, ...]:
    return tuple(f"{column}{end}" for column in columns for end in ("", " low", " high"))


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
        "Embeddings": [_tabulate_embeddings(records)],
        "Train and test on different texts": [_tabulate_combinations(records)],
    }


def _tabulate_identifiers(records: Records) -> Table:
    facts = read_published()["joint"]
    published = facts["de_identification"]
    base = _collect(records, "phi", _O, PHI)
    titles = {"phi": "pipeline (tagger alone)", "stacked": "stacked", "multitask": "multitask"}
    rows: list[tuple[Cell, ...]] = []
    for name, title in titles.items():
        found = _collect(records, name, _O, PHI)
        rows.append((title, found.best_f1, found.mean_f1, *_bounds(found.minus(base)), *published[name]))
    spanish = {
        "spanish-phi": "Spanish, apart from the test part",
        "spanish-phi-whole": "Spanish, as published",
    }
    for name, title in spanish.items():
        if name in records:
            found = _collect(records, name, _O, PHI)
            rows.append(
                (f"tagger alone, {title}", found.best_f1, found.mean_f1, *[None] * 4, published["phi"][1])
            )
    columns = ("model", "best seed", "mean", *_name_bounds(_AGAINST_PIPELINE), *_PUBLISHED)
    title = "F1 of identifiers, exact spans and types (table 2)"
    note = f"{_cite(facts)} The seed is chosen on the development documents."
    return _with_intervals("de-identification", title, frame_of(columns, rows), note)


def _with_intervals(name: str, title: str, frame: pd.DataFrame, *notes: str) -> Table:
    """Return a table whose columns `against ...` are differences with their intervals."""
    intervals = frozenset(name for name in frame.columns if f"{name} low" in frame.columns)
    return Table(name, title, frame, (*notes, _INTERVAL_NOTE), digits=4, intervals=intervals)


def _cite(facts: Mapping[str, Any]) -> str:
    return f"Published: {facts['source']}; other data ({facts['data']})."


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
        differences = (cell for other in (pipeline, original) for cell in _bounds(found.minus(other)))
        theirs = facts["extraction"][key] if key else (None, None)
        rows.append((title, hidden, found.best_f1, found.mean_f1, *differences, *theirs))
    differences_of = _name_bounds(_AGAINST_PIPELINE, _AGAINST_ORIGINAL)
    columns = ("model", "identifiers hidden", "best seed", "mean", *differences_of, *_PUBLISHED)
    title = "F1 of concepts, exact spans and types (table 3)"
    return _with_intervals("extraction", title, frame_of(columns, rows), _cite(facts))


def _tabulate_embeddings(records: Records) -> Table:
    """Return what each kind of vector is worth; the three characters after a word are always read."""
    facts = read_published()["joint"]
    models = (
        ("vectors-words", "word vectors", "fastText"),
        ("vectors-characters", "characters of the word", None),
        ("concepts-original", "word vectors and characters (all other tables)", None),
        ("vectors-contextual", "contextual", "clinical BERT"),
        ("vectors-all", "all together", "all"),
    )
    today = _collect(records, "concepts-original", _O)
    rows: list[tuple[Cell, ...]] = []
    for name, title, key in models:
        found = _collect(records, name, _O)
        theirs = facts["embeddings"][key] if key else None
        rows.append((title, found.best_f1, found.mean_f1, *_bounds(found.minus(today)), theirs))
    columns = ("vectors", "best seed", "mean", *_name_bounds("against today"), "published English")
    title = "F1 of concepts in original text by the vectors of a token (table 4)"
    return _with_intervals("embeddings", title, frame_of(columns, rows), _cite(facts))


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
    """Return the project's aims: met or missed only where the whole interval is."""
    original = _collect(records, "concepts-original", _O)
    views = {"placeholders": _P, "marker": _M, "marker and relative dates": _R}
    found = {title: _collect(records, f"concepts-{view}", view) for title, view in views.items()}
    stacked, multitask = (_collect(records, name, _O) for name in ("stacked", "multitask"))
    masked = found["placeholders"]
    aims: list[tuple[str, Difference | None, float, str]] = [
        (f"loss on masked text, {title}: at most {_MOST_LOST}", original.minus(one), _MOST_LOST, "lower")
        for title, one in found.items()
    ]
    aims.append(("stacked against pipeline: at least 0", stacked.minus(masked), 0.0, "higher"))
    aims.append(("multitask against pipeline: at least 0", multitask.minus(masked), 0.0, "higher"))
    if "spanish-phi" in records:
        spanish = _collect(records, "spanish-phi", _O, PHI).parts
        f1 = bootstrap_difference(spanish, _nothing_found(spanish)) if len(spanish) else None
        aims.append((f"Spanish identifiers: at least {_LEAST_SPANISH}", f1, _LEAST_SPANISH, "higher"))
    rows: list[tuple[Cell, ...]] = []
    for aim, value, bound, good in aims:
        side = None if value is None else value.judge(bound)
        verdict = side if side in (None, "undecided") else "met" if side == good else "missed"
        rows.append((aim, *_bounds(value), verdict))
    columns = ("aim", *_name_bounds("value"), "result")
    note = "An aim that is inside of the interval is undecided. Pipeline: trained on masked text."
    return _with_intervals("extraction-aims", "Aims", frame_of(columns, rows), note)


def _nothing_found(parts: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return the parts of an F1 of 0, so that a difference from it is the F1 itself."""
    return np.stack([np.zeros(parts.shape[1:2]), np.ones(parts.shape[1:2])], axis=1)[None]


def _tabulate_combinations(records: Records) -> Table:
    facts = read_published()["joint"]["combinations"]
    numbered = [(str(i), *views, facts[str(i)]) for i, views in enumerate(_COMBINATIONS, start=1)]
    ours = [("ours", *views, (None, None)) for views in _OURS]
    rows: list[tuple[Cell, ...]] = []
    for line, trained_on, read, published in (*numbered, *ours):
        found = _collect(records, f"concepts-{trained_on}", read)
        dev = mean([float(one["f1"]) for one in found.dev])
        rows.append((line, trained_on.value, read.value, dev, found.mean_f1, *published))
    columns = ("line", "train on", "test on", "dev", "test", "published dev", "published test")
    title = "F1 of concepts by the text of training and of test, mean over seeds (table 5)"
    note = (
        "original: non-anonymised; predicted, gold: placeholders of the class of each masked or marked "
        "term; marker: masked without classes; relative-dates: the same with day counts for dates. "
        "Published: Spanish concepts, other data."
    )
    return Table("combinations", title, frame_of(columns, rows), (note,), digits=4)
