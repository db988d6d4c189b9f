"""The tables of the study of extraction, in the form of tables 2 to 5 of the paper.

Source: Lange, Adel and Strötgen 2020.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from inverse_deid.evaluation.measures.resampling import Difference, bootstrap_difference
from inverse_deid_research.extraction.concepts import CONCEPTS, PHI
from inverse_deid_research.studies.report import read_published
from inverse_deid_research.studies.tables import Cell, Table, by_section, mean, read_forms

Records = Mapping[str, Sequence[Mapping[str, Any]]]
"""The records of each model, one per seed."""

_FORMS = read_forms("inverse_deid_research.extraction")
_INTERVALS = (
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
        # None: not done.
        scores = [float(found["f1"]) for found in self.dev]
        return self.test[scores.index(max(scores))] if scores else None

    @property
    def best_f1(self) -> float | None:
        return None if self.best is None else float(self.best["f1"])

    @property
    def mean_f1(self) -> float | None:
        return mean([float(found["f1"]) for found in self.test])

    @property
    def parts(self) -> npt.NDArray[np.float64]:
        """F1 of each seed as a ratio of sums over case reports: float64 (n_seeds, n_reports, 2)."""
        return np.array([found["parts"] for found in self.test], np.float64)

    def minus(self, other: _Outcome) -> Difference | None:
        # None if one is not done, or for itself.
        if not self.test or not other.test or self.test == other.test:
            return None
        return bootstrap_difference(self.parts, other.parts)


def _bounds(found: Difference | None) -> tuple[Cell, Cell, Cell]:
    return (None, None, None) if found is None else (found.value, found.low, found.high)


def _collect(records: Records, name: str, view: str = "original", task: str = CONCEPTS) -> _Outcome:
    found = records.get(name, ())
    return _Outcome(*([record[part][task][view] for record in found] for part in ("dev", "test")))


def extraction_tables(records: Records) -> dict[str, list[Table]]:
    facts = read_published()["joint"]
    rows = {
        "de-identification": _list_identifiers(records, facts),
        "extraction": _list_concepts(records, facts["extraction"]),
        "extraction-types": _list_types(records),
        "extraction-aims": _list_aims(records),
        "embeddings": _list_embeddings(records, facts["embeddings"]),
        "combinations": _list_combinations(records, facts["combinations"]),
    }
    values = {
        "cited": f"Published: {facts['source']}; other data ({facts['data']}).",
        "intervals": _INTERVALS,
        "models": [title for _, title, _ in _FORMS["extraction-types"].plan],
    }
    return by_section(form.fill(rows[name], **values) for name, form in _FORMS.items())


def _list_identifiers(records: Records, facts: Mapping[str, Any]) -> Iterator[tuple[Cell, ...]]:
    published = facts["de_identification"]
    base = _collect(records, "phi", task=PHI)
    for name, title in _FORMS["de-identification"].plan:
        found = _collect(records, name, task=PHI)
        if name in published:
            yield (title, found.best_f1, found.mean_f1, *_bounds(found.minus(base)), *published[name])
        elif name in records:  # of Spanish documents
            yield (title, found.best_f1, found.mean_f1, *[None] * 4, published["phi"][1])


def _list_concepts(records: Records, published: Mapping[str, Any]) -> Iterator[tuple[Cell, ...]]:
    others = [_collect(records, "concepts-original", view) for view in ("predicted", "original")]
    for name, title, view, hidden, key in _FORMS["extraction"].plan:
        found = _collect(records, name, view)
        differences = (cell for other in others for cell in _bounds(found.minus(other)))
        theirs = published[key] if key else (None, None)
        yield (title, hidden, found.best_f1, found.mean_f1, *differences, *theirs)


def _list_embeddings(records: Records, published: Mapping[str, Any]) -> Iterator[tuple[Cell, ...]]:
    # The three characters after a word are always read.
    today = _collect(records, "concepts-original")
    for name, title, key in _FORMS["embeddings"].plan:
        found = _collect(records, name)
        theirs = published[key] if key else None
        yield (title, found.best_f1, found.mean_f1, *_bounds(found.minus(today)), theirs)


def _list_types(records: Records) -> Iterator[tuple[Cell, ...]]:
    best = [_collect(records, name, view).best for name, _, view in _FORMS["extraction-types"].plan]
    for kind in dict.fromkeys(kind for found in best if found for kind in found["by_type"]):
        yield (kind, *(None if one is None else one["by_type"][kind] for one in best))


def _list_aims(records: Records) -> Iterator[tuple[Cell, ...]]:
    # Met or missed only where the whole interval is.
    original = _collect(records, "concepts-original")
    plan = _FORMS["extraction-aims"].plan
    found = {title: _collect(records, name, view) for name, title, view in plan}
    aims: list[tuple[str, Difference | None, float, str]] = [
        (f"loss on masked text, {title}: at most {_MOST_LOST}", original.minus(one), _MOST_LOST, "lower")
        for title, one in found.items()
    ]
    for name in ("stacked", "multitask"):
        gain = _collect(records, name).minus(found["placeholders"])
        aims.append((f"{name} against pipeline: at least 0", gain, 0.0, "higher"))
    if "spanish-phi" in records:
        spanish = _collect(records, "spanish-phi", task=PHI).parts
        f1 = bootstrap_difference(spanish, _nothing_found(spanish)) if len(spanish) else None
        aims.append((f"Spanish identifiers: at least {_LEAST_SPANISH}", f1, _LEAST_SPANISH, "higher"))
    for aim, value, bound, good in aims:
        side = None if value is None else value.judge(bound)
        verdict = side if side in (None, "undecided") else "met" if side == good else "missed"
        yield (aim, *_bounds(value), verdict)


def _nothing_found(parts: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    # A difference from 0 is the F1 itself.
    return np.stack([np.zeros(parts.shape[1:2]), np.ones(parts.shape[1:2])], axis=1)[None]


def _list_combinations(records: Records, published: Mapping[str, Any]) -> Iterator[tuple[Cell, ...]]:
    for line, trained_on, read in _FORMS["combinations"].plan:
        found = _collect(records, f"concepts-{trained_on}", read)
        dev = mean([float(one["f1"]) for one in found.dev])
        yield (line, trained_on, read, dev, found.mean_f1, *published.get(line, (None, None)))
