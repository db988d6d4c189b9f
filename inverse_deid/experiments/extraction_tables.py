"""The tables of the study of extraction, in the form of tables 2, 3 and 5 of the paper.

Source: Lange, Adel and Strötgen 2020.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from inverse_deid.evaluation.concept_utility import N_PERMUTATIONS
from inverse_deid.evaluation.paired_test import paired_ratio_test
from inverse_deid.experiments.measures import mean
from inverse_deid.experiments.published import published
from inverse_deid.experiments.tables import Cell, Table
from inverse_deid.extraction.sentence_inputs import CONCEPTS, PHI
from inverse_deid.extraction.views import View

Records = Mapping[str, Sequence[Mapping[str, Any]]]
"""The records of each run, one a seed."""

_O, _P, _G, _M = View.ORIGINAL, View.PREDICTED, View.GOLD, View.MARKER
_COMBINATIONS = ((1, _O, _O), (2, _O, _P), (3, _P, _O), (4, _P, _P), (5, _G, _P), (6, _G, _G))
_OURS = ((_O, _M), (_M, _O), (_M, _M))


def study_tables(records: Records) -> dict[str, list[Table]]:
    """All tables by heading."""
    return {
        "De-identification": [_identification(records)],
        "Concept extraction": [_extraction(records), _by_type(records)],
        "Train and test on different texts": [_combinations(records)],
    }


def _result(record: Mapping[str, Any], part: str, task: str, view: View) -> Mapping[str, Any]:
    found: Mapping[str, Any] = record[part][task][view.value]
    return found


def _best(records: Sequence[Mapping[str, Any]], task: str, view: View) -> Mapping[str, Any]:
    """The record of the seed that is best on the development documents."""
    return max(records, key=lambda record: float(_result(record, "dev", task, view)["f1"]))


def _mean(records: Sequence[Mapping[str, Any]], part: str, task: str, view: View) -> float | None:
    return mean([float(_result(record, part, task, view)["f1"]) for record in records])


def _p_value(first: Mapping[str, Any], second: Mapping[str, Any]) -> float | None:
    """Of the paired permutation test, documents being the pairs."""
    a, b = (np.array(found["parts"], np.float64) for found in (first, second))
    test = paired_ratio_test(a, b, n_permutations=N_PERMUTATIONS, most_enumerated=20)
    return None if test is None else test.p_value


def _identification(records: Records) -> Table:
    facts = published()["joint"]
    rows: list[tuple[Cell, ...]] = []
    base = _result(_best(records["phi"], PHI, _O), "test", PHI, _O)
    for name, title in (
        ("phi", "pipeline (tagger alone)"),
        ("stacked", "stacked"),
        ("multitask", "multitask"),
    ):
        best = _result(_best(records[name], PHI, _O), "test", PHI, _O)
        p_value = None if name == "phi" else _p_value(best, base)
        told = facts["de_identification"][name]
        rows.append((title, best["f1"], _mean(records[name], "test", PHI, _O), p_value, *told))
    if "spanish-phi" in records:
        best = _best(records["spanish-phi"], PHI, _O)
        average = _mean(records["spanish-phi"], "test", PHI, _O)
        told = (None, facts["de_identification"]["phi"][1])
        rows.append(("tagger alone, Spanish", _result(best, "test", PHI, _O)["f1"], average, None, *told))
    return Table(
        "de-identification",
        "F1 of identifiers, exact spans and types (table 2)",
        ("model", "best seed", "mean", "p against pipeline", "published English", "published Spanish"),
        tuple(rows),
        notes=(
            f"Published: {facts['source']}; other data ({facts['data']}). The seed is chosen on the "
            "development documents.",
        ),
        digits=4,
    )


def _extraction(records: Records) -> Table:
    facts = published()["joint"]
    models = (
        ("concepts-original", "original text, no de-identification", "no", _O, None),
        ("concepts-original", "pipeline, trained on original text", "yes", _P, "pipeline"),
        ("concepts-predicted", "pipeline, trained on masked text", "yes", _P, None),
        ("concepts-marker", "pipeline, marker without class", "yes", _M, None),
        ("stacked", "stacked", "yes", _O, "stacked"),
        ("multitask", "multitask", "no", _O, "multitask"),
    )
    pipeline = _result(_best(records["concepts-original"], CONCEPTS, _P), "test", CONCEPTS, _P)
    original = _result(_best(records["concepts-original"], CONCEPTS, _O), "test", CONCEPTS, _O)
    rows: list[tuple[Cell, ...]] = []
    for name, title, hidden, view, told in models:
        best = _result(_best(records[name], CONCEPTS, view), "test", CONCEPTS, view)
        published_pair = facts["extraction"][told] if told else (None, None)
        rows.append(
            (
                title,
                hidden,
                best["f1"],
                _mean(records[name], "test", CONCEPTS, view),
                None if best is pipeline else _p_value(best, pipeline),
                None if best is original else _p_value(best, original),
                *published_pair,
            )
        )
    return Table(
        "extraction",
        "F1 of concepts, exact spans and types (table 3)",
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
    best = [_result(_best(records[name], CONCEPTS, view), "test", CONCEPTS, view) for name, view in shown]
    rows = tuple((kind, *(found["by_type"][kind] for found in best)) for kind in best[0]["by_type"])
    columns = ("type", "original", "pipeline, trained on original", "pipeline, trained on masked", "stacked")
    return Table("extraction-types", "F1 of concepts by type, best seeds", columns, rows, digits=4)


def _combinations(records: Records) -> Table:
    facts = published()["joint"]["combinations"]
    return Table(
        "combinations",
        "F1 of concepts by what was read in training and test, mean over seeds (table 5)",
        ("line", "train on", "test on", "dev", "test", "published dev", "published test"),
        tuple(_combination_rows(records, facts)),
        notes=(
            "original: non-anonymised; predicted, gold: placeholders of the class of each masked or marked "
            "term; marker: the same masks without a class. Published: Spanish concepts, other data.",
        ),
        digits=4,
    )


def _combination_rows(records: Records, facts: Mapping[str, Sequence[float]]) -> Iterator[tuple[Cell, ...]]:
    numbered = [(str(number), a, b, facts[str(number)]) for number, a, b in _COMBINATIONS]
    ours = [("ours", a, b, (None, None)) for a, b in _OURS]
    for line, trained_on, read, told in (*numbered, *ours):
        found = records[f"concepts-{trained_on}"]
        means = (_mean(found, part, CONCEPTS, read) for part in ("dev", "test"))
        yield (line, trained_on.value, read.value, *means, *told)
