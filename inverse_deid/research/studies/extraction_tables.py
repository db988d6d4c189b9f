"""The tables of the study of extraction, in the form of tables 2, 3 and 5 of the paper.

Source: Lange, Adel and Strötgen 2020.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from inverse_deid.evaluation.resampling import paired_ratio_test
from inverse_deid.research.extraction.concept_utility import N_PERMUTATIONS
from inverse_deid.research.extraction.passage_inputs import CONCEPTS, PHI
from inverse_deid.research.extraction.views import View
from inverse_deid.research.studies.report import read_published
from inverse_deid.research.studies.tables import Cell, Table, frame_of, mean

Records = Mapping[str, Sequence[Mapping[str, Any]]]
"""The records of each run, one a seed."""

_O, _P, _G, _M, _R = View.ORIGINAL, View.PREDICTED, View.GOLD, View.MARKER, View.RELATIVE_DATES
_COMBINATIONS = ((1, _O, _O), (2, _O, _P), (3, _P, _O), (4, _P, _P), (5, _G, _P), (6, _G, _G))
_OURS = ((_O, _M), (_M, _O), (_M, _M), (_O, _R), (_R, _O), (_R, _R))
_MOST_LOST = 0.005
_LEAST_SPANISH = 0.955

Result = Mapping[str, Any]
"""What one extractor reached on one text."""


def study_tables(records: Records) -> dict[str, list[Table]]:
    """All tables by heading; what is not done yet has empty cells."""
    return {
        "De-identification": [_identification(records)],
        "Concept extraction": [_extraction(records), _by_type(records), _aims(records)],
        "Train and test on different texts": [_combinations(records)],
    }


def _result(record: Mapping[str, Any], part: str, task: str, view: View) -> Result:
    found: Result = record[part][task][view.value]
    return found


def _best(records: Records, name: str, task: str, view: View) -> Result | None:
    """On the test documents, of the seed that is best on the development documents; None: not done."""
    found = records.get(name, ())
    if not found:
        return None
    best = max(found, key=lambda record: float(_result(record, "dev", task, view)["f1"]))
    return _result(best, "test", task, view)


def _mean(records: Records, name: str, task: str, view: View, part: str = "test") -> float | None:
    return mean([float(_result(record, part, task, view)["f1"]) for record in records.get(name, ())])


def _f1(found: Result | None) -> float | None:
    return None if found is None else float(found["f1"])


def _p_value(first: Result | None, second: Result | None) -> float | None:
    """Of the paired permutation test, documents being the pairs."""
    if first is None or second is None or first is second:
        return None
    a, b = (np.array(found["parts"], np.float64) for found in (first, second))
    test = paired_ratio_test(a, b, n_permutations=N_PERMUTATIONS, most_enumerated=20)
    return None if test is None else test.p_value


def _identification(records: Records) -> Table:
    facts = read_published()["joint"]
    rows: list[tuple[Cell, ...]] = []
    base = _best(records, "phi", PHI, _O)
    for name, title in (
        ("phi", "pipeline (tagger alone)"),
        ("stacked", "stacked"),
        ("multitask", "multitask"),
    ):
        best = base if name == "phi" else _best(records, name, PHI, _O)
        told = facts["de_identification"][name]
        rows.append((title, _f1(best), _mean(records, name, PHI, _O), _p_value(best, base), *told))
    if "spanish-phi" in records:
        best, average = _best(records, "spanish-phi", PHI, _O), _mean(records, "spanish-phi", PHI, _O)
        told = (None, facts["de_identification"]["phi"][1])
        rows.append(("tagger alone, Spanish", _f1(best), average, None, *told))
    return Table(
        "de-identification",
        "F1 of identifiers, exact spans and types (table 2)",
        frame_of(
            ("model", "best seed", "mean", "p against pipeline", "published English", "published Spanish"),
            tuple(rows),
        ),
        notes=(
            f"Published: {facts['source']}; other data ({facts['data']}). The seed is chosen on the "
            "development documents.",
        ),
        digits=4,
    )


def _extraction(records: Records) -> Table:
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
    pipeline, original = (_best(records, "concepts-original", CONCEPTS, view) for view in (_P, _O))
    rows: list[tuple[Cell, ...]] = []
    for name, title, hidden, view, told in models:
        best = _best(records, name, CONCEPTS, view)
        average = _mean(records, name, CONCEPTS, view)
        compared = (_p_value(best, other) for other in (pipeline, original))
        published_pair = facts["extraction"][told] if told else (None, None)
        rows.append((title, hidden, _f1(best), average, *compared, *published_pair))
    return Table(
        "extraction",
        "F1 of concepts, exact spans and types (table 3)",
        frame_of(
            (
                "model",
                "identifiers hidden",
                "best seed",
                "mean",
                "p against pipeline",
                "p against original",
                "published English",
                "published Spanish",
            ),
            tuple(rows),
        ),
        notes=(
            f"Published: {facts['source']}; other data ({facts['data']}).",
            "p: paired permutation test of the best seeds over documents, not corrected for their number.",
        ),
        digits=4,
    )


def _by_type(records: Records) -> Table:
    shown = (
        ("concepts-original", _O),
        ("concepts-original", _P),
        ("concepts-predicted", _P),
        ("stacked", _O),
    )
    best = [_best(records, name, CONCEPTS, view) for name, view in shown]
    kinds = dict.fromkeys(kind for found in best if found for kind in found["by_type"])
    rows = tuple((kind, *(None if one is None else one["by_type"][kind] for one in best)) for kind in kinds)
    columns = ("type", "original", "pipeline, trained on original", "pipeline, trained on masked", "stacked")
    return Table("extraction-types", "F1 of concepts by type, best seeds", frame_of(columns, rows), digits=4)


def _aims(records: Records) -> Table:
    """The project's aims, met or missed, by the means; the test compares the best seeds."""
    rows: list[tuple[Cell, ...]] = []
    compared = (
        ("loss on masked text, placeholders", "concepts-predicted", _P),
        ("loss on masked text, marker", "concepts-marker", _M),
        ("loss on masked text, marker and relative dates", "concepts-relative-dates", _R),
    )
    for title, name, view in compared:
        loss = _difference(records, ("concepts-original", _O), (name, view))
        p_value = _p_value(
            _best(records, name, CONCEPTS, view), _best(records, "concepts-original", CONCEPTS, _O)
        )
        is_met = None if loss is None else loss <= _MOST_LOST
        rows.append((f"{title}: at most {_MOST_LOST}", loss, p_value, _word(is_met)))
    gain = _difference(records, ("stacked", _O), ("concepts-predicted", _P))
    p_value = _p_value(
        _best(records, "stacked", CONCEPTS, _O), _best(records, "concepts-predicted", CONCEPTS, _P)
    )
    rows.append(
        ("stacked against pipeline: at least 0", gain, p_value, _word(None if gain is None else gain >= 0))
    )
    if "spanish-phi" in records:
        spanish = _mean(records, "spanish-phi", PHI, _O)
        is_met = None if spanish is None else spanish >= _LEAST_SPANISH
        rows.append((f"Spanish identifiers: at least {_LEAST_SPANISH}", spanish, None, _word(is_met)))
    return Table("extraction-aims", "Aims", frame_of(("aim", "value", "p", "result"), tuple(rows)), digits=4)


def _difference(records: Records, one: tuple[str, View], other: tuple[str, View]) -> float | None:
    first, second = (_mean(records, name, CONCEPTS, view) for name, view in (one, other))
    return None if first is None or second is None else first - second


def _word(is_met: bool | None) -> str | None:  # noqa: FBT001, RUF100 - a predicate in, a word out
    return None if is_met is None else "met" if is_met else "missed"


def _combinations(records: Records) -> Table:
    facts = read_published()["joint"]["combinations"]
    return Table(
        "combinations",
        "F1 of concepts by what was read in training and test, mean over seeds (table 5)",
        frame_of(
            ("line", "train on", "test on", "dev", "test", "published dev", "published test"),
            tuple(_combination_rows(records, facts)),
        ),
        notes=(
            "original: non-anonymised; predicted, gold: placeholders of the class of each masked or marked "
            "term; marker: masked without classes; relative-dates: the same with day counts for dates. "
            "Published: Spanish concepts, other data.",
        ),
        digits=4,
    )


def _combination_rows(records: Records, facts: Mapping[str, Sequence[float]]) -> Iterator[tuple[Cell, ...]]:
    numbered = [(str(number), a, b, facts[str(number)]) for number, a, b in _COMBINATIONS]
    ours = [("ours", a, b, (None, None)) for a, b in _OURS]
    for line, trained_on, read, told in (*numbered, *ours):
        name = f"concepts-{trained_on}"
        means = (_mean(records, name, CONCEPTS, read, part) for part in ("dev", "test"))
        yield (line, trained_on.value, read.value, *means, *told)
