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
from inverse_deid_research.studies.tables import NO_VERDICT, Cell, Table, by_section, mean, read_forms

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
    def n_seeds(self) -> int:
        return len(self.test)

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


@dataclass(frozen=True, slots=True)
class Verdicts:
    """When a difference may be judged: as planned before the first run, and not sooner."""

    seeds: tuple[int, ...] = ()  # planned; () = no plan is known
    looks: tuple[int, ...] = ()  # numbers of seeds after which the results were looked at and more were run

    def judge(self, found: Difference | None, n_seeds: int, aim: float = 0.0) -> str | None:
        """Return the side of the aim on which the interval is, or why it is not judged; None without one.

        `n_seeds` have run of the model with the fewest.

        Example:
            >>> gain = Difference(0.01, 0.001, 0.02)
            >>> Verdicts(seeds=(1, 2)).judge(gain, 2), Verdicts(seeds=(1, 2)).judge(gain, 1)
            ('higher', 'not all seeds have run: no verdict')
            >>> Verdicts(looks=(3, 6)).judge(gain, 6)
            'undecided: looked at after 3 and 6 seeds'
        """
        if found is None:
            return None
        if n_seeds < len(self.seeds):
            return NO_VERDICT
        side = found.judge(aim)
        if side == "undecided" or not self.looks:
            return side
        *first, last = map(str, self.looks)
        looks = f"{', '.join(first)} and {last}" if first else last
        return f"undecided: looked at after {looks} seeds"


def extraction_tables(records: Records, verdicts: Verdicts | None = None) -> dict[str, list[Table]]:
    """Return the tables of the study by section."""
    facts = read_published()["joint"]
    rows = {
        "de-identification": _list_identifiers(records, facts),
        "extraction": _list_concepts(records, facts["extraction"]),
        "extraction-types": _list_types(records),
        "extraction-aims": _list_aims(records, verdicts or Verdicts()),
        "embeddings": _list_embeddings(records, facts["embeddings"]),
        "combinations": _list_combinations(records, facts["combinations"]),
    }
    values = {
        "cited": f"Published: {facts['source']}; other data ({facts['data']}).",
        "intervals": _INTERVALS,
        "models": [title for _, title, _ in _FORMS["extraction-types"].plan],
    }
    return by_section(_FORMS[name].fill(found, **values) for name, found in rows.items())


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


def _list_aims(records: Records, verdicts: Verdicts) -> Iterator[tuple[Cell, ...]]:
    # Met or missed only where the whole interval is.
    original = _collect(records, "concepts-original")
    plan = _FORMS["extraction-aims"].plan
    found = {title: _collect(records, name, view) for name, title, view in plan}
    aims: list[tuple[str, Difference | None, float, str, int]] = [
        (
            f"loss on masked text, {title}: at most {_MOST_LOST}",
            original.minus(one),
            _MOST_LOST,
            "lower",
            min(original.n_seeds, one.n_seeds),
        )
        for title, one in found.items()
    ]
    pipeline = found["placeholders"]
    for name in ("stacked", "multitask"):
        joint = _collect(records, name)
        n_seeds = min(joint.n_seeds, pipeline.n_seeds)
        aims.append((f"{name} against pipeline: at least 0", joint.minus(pipeline), 0.0, "higher", n_seeds))
    if "spanish-phi" in records:
        spanish = _collect(records, "spanish-phi", task=PHI)
        parts = spanish.parts
        f1 = bootstrap_difference(parts, _nothing_found(parts)) if len(parts) else None
        aim = f"Spanish identifiers: at least {_LEAST_SPANISH}"
        aims.append((aim, f1, _LEAST_SPANISH, "higher", spanish.n_seeds))
    for aim, value, bound, good, n_seeds in aims:
        verdict = verdicts.judge(value, n_seeds, bound)
        if verdict in ("higher", "lower"):
            verdict = "met" if verdict == good else "missed"
        yield (aim, *_bounds(value), verdict)


def _nothing_found(parts: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    # A difference from 0 is the F1 itself.
    return np.stack([np.zeros(parts.shape[1:2]), np.ones(parts.shape[1:2])], axis=1)[None]


def _list_combinations(records: Records, published: Mapping[str, Any]) -> Iterator[tuple[Cell, ...]]:
    for line, trained_on, read in _FORMS["combinations"].plan:
        found = _collect(records, f"concepts-{trained_on}", read)
        dev = mean([float(one["f1"]) for one in found.dev])
        yield (line, trained_on, read, dev, found.mean_f1, *published.get(line, (None, None)))


ALL, IDENTIFIED, ONE_TEXT, APART = "all", "identified", "one text", "apart"
"""The groups of cases of the Spanish study: all, those with identifiers, of these those with both kinds of
gold on one text, and those without identifiers."""


def _collect_group(records: Records, name: str, form: str, group: str) -> _Outcome:
    found = records.get(name, ())
    parts = ([record[part][CONCEPTS][form].get(group) for record in found] for part in ("dev", "test"))
    return _Outcome(*([one for one in some if one is not None] for some in parts))


def spanish_tables(records: Records, verdicts: Verdicts) -> dict[str, list[Table]]:
    """Return the tables of the study of concepts in Spanish by section.

    Records are those of the runs that are done, by model.
    """
    facts = read_published()["joint"]
    rows = {
        "spanish-identifiers": _list_spanish_identifiers(records, facts["de_identification"], verdicts),
        "spanish-concepts": _list_spanish_concepts(records, facts["extraction"]),
        "spanish-differences": _list_spanish_differences(records, verdicts),
        "spanish-types": _list_spanish_types(records),
    }
    values = {
        "cited": f"Published: {facts['source']}, whose embeddings have 5,516 dimensions, as orientation.",
        "best": f"Their best model has {facts['spanish_best']:.3f}. It is a multitask model that was "
        "trained on training and development part.",
        "intervals": _INTERVALS.replace("case reports", "cases"),
        "models": [title for _, _, title in _FORMS["spanish-types"].plan],
    }
    return by_section(_FORMS[name].fill(found, **values) for name, found in rows.items())


def _list_spanish_identifiers(
    records: Records, published: Mapping[str, Any], verdicts: Verdicts
) -> Iterator[tuple[Cell, ...]]:
    def collect(name: str) -> _Outcome:
        found = records.get(name, ())
        return _Outcome(*([record[part][PHI] for record in found] for part in ("dev", "test")))

    base = collect("phi")
    for name, title, key in _FORMS["spanish-identifiers"].plan:
        found = collect(name)
        gap = found.minus(base)
        verdict = verdicts.judge(gap, min(found.n_seeds, base.n_seeds))
        theirs = published[key][1]
        yield (title, found.n_seeds, found.best_f1, found.mean_f1, *_bounds(gap), verdict, theirs)


def _list_spanish_concepts(records: Records, published: Mapping[str, Any]) -> Iterator[tuple[Cell, ...]]:
    for name, form, title, hidden, key in _FORMS["spanish-concepts"].plan:
        found = {group: _collect_group(records, name, form, group) for group in (ALL, IDENTIFIED, APART)}
        means = [one.mean_f1 for one in found.values()]
        theirs = published[key][1] if key else None
        yield (title, hidden, found[ALL].n_seeds, found[ALL].best_f1, *means, theirs)


def _list_spanish_differences(records: Records, verdicts: Verdicts) -> Iterator[tuple[Cell, ...]]:
    for title, name, form, other, other_form in _FORMS["spanish-differences"].plan:
        group = ONE_TEXT if form == "gold" else IDENTIFIED
        cells: list[Cell] = []
        for some in (group, APART):
            one, base = (_collect_group(records, *each, some) for each in ((name, form), (other, other_form)))
            gap = one.minus(base)
            cells += [*_bounds(gap), verdicts.judge(gap, min(one.n_seeds, base.n_seeds))]
        yield (title, {IDENTIFIED: "with identifiers"}.get(group, group), *cells)


def _list_spanish_types(records: Records) -> Iterator[tuple[Cell, ...]]:
    models = [_collect_group(records, name, form, ALL) for name, form, _ in _FORMS["spanish-types"].plan]
    for kind in dict.fromkeys(kind for found in models for one in found.test for kind in one["by_type"]):
        yield (kind, *(mean([one["by_type"][kind] for one in found.test]) for found in models))
