import dataclasses
import json

import numpy as np
import pytest
from fake_maskers import CANARY

from inverse_deid.core.phi import PhiType
from inverse_deid.core.values import Document, PhiSpan
from inverse_deid.evaluation.evaluation import evaluate_masks, intervals_of
from inverse_deid.evaluation.measures.counts import GroupKind, group_number
from inverse_deid.evaluation.measures.curves import measure_scores
from inverse_deid.evaluation.measures.figures import FIGURES, Share, encode_record
from inverse_deid.evaluation.measures.uncertainty import Interval, Method
from inverse_deid.evaluation.plain_text import format_interval, format_share
from inverse_deid.evaluation.report import build_report, note_lines, table_lines

TEXT = f"{CANARY} left on 3 May"
DOC = Document(
    "a", TEXT, (PhiSpan(0, len(CANARY), PhiType.PATIENT), PhiSpan(len(TEXT) - 5, len(TEXT), PhiType.DATE))
)
MASKS = [(0, len(CANARY) + 5)]


def plain_report(*evaluation, **options):
    return encode_record(build_report(*evaluation, **options))


@pytest.mark.parametrize(
    ("part", "whole", "shown"),
    [
        (0, 0, "-"),
        (0, 9, "0.00 %"),
        (9, 9, "100.00 %"),
        (999_999, 1_000_000, "99.99 %"),
        (1, 1_000_000, "0.01 %"),
        (2, 3, "66.67 %"),
    ],
)
def test_100_and_0_percent_are_exact(part, whole, shown):
    assert format_share(Share(part, whole)) == shown


def test_the_table_is_aligned_and_leaves_out_categories_without_phi():
    lines = list(table_lines(evaluate_masks([DOC], {"a": MASKS})))
    start = lines.index(next(line for line in lines if line.startswith("category")))
    rows = lines[start : lines.index("", start)]
    assert [row.split()[0] for row in rows] == ["category", "NAME", "PATIENT", "DATE"]
    assert len({len(row) for row in rows}) == 1
    assert all(line.isascii() for line in lines)
    assert not any(line.startswith("clinical") for line in lines)
    assert CANARY not in "\n".join(lines)


@pytest.mark.parametrize(
    ("interval", "shown"),
    [
        (None, "-"),
        (Interval(0.0, 1.0, 0.95, Method.BOOTSTRAP), "0.00 to 100.00"),
        (Interval(0.98765, 0.99999, 0.95, Method.CLOPPER_PEARSON), "98.76 to 100.00"),
        (Interval(0.2, 0.57, 0.95, Method.ALIKE), "* 20.00 to 57.00"),
        (Interval(0.00001, 0.12341, 0.95, Method.BOOTSTRAP), "0.00 to 12.35"),
    ],
)
def test_intervals_are_rounded_outwards(interval, shown):
    assert format_interval(interval) == shown


def test_figures_and_groups_have_their_intervals():
    docs = [Document(f"d{i}", DOC.text, DOC.spans) for i in range(30)]
    evaluation = evaluate_masks(docs, {doc.id: MASKS if int(doc.id[1:]) % 3 else [] for doc in docs})
    intervals = intervals_of(evaluation, confidence=0.9)
    lines = list(table_lines(evaluation, intervals))
    assert next(line for line in lines if "share" in line).split("  ")[-3].strip() == "90 % interval"
    row = next(line for line in lines if line.startswith("PHI masked, all"))
    shown = format_interval(intervals.figures["recall_all"])
    assert row.split() == [
        "PHI",
        "masked,",
        "all",
        "categories",
        "(recall)",
        "22.22",
        "%",
        *shown.split(),
        "20",
        "90",
    ]
    name = intervals.groups[group_number(GroupKind.HYPER, "NAME")]
    row = next(line for line in lines if line.startswith("NAME"))
    assert format_interval(name["recall"]) in row
    assert format_interval(name["documents_without_leak"]) in row
    row = next(line for line in lines if line.startswith("DATE"))
    assert "* 0.00 to" in row
    report = plain_report(evaluation, intervals)
    assert report["intervals"]["recall_all"] == {
        "low": intervals.figures["recall_all"].low,
        "high": intervals.figures["recall_all"].high,
        "confidence": 0.9,
        "method": "cluster bootstrap, percentiles",
    }
    assert report["categories"]["hyper"]["NAME"]["intervals"]["recall"]["low"] == name["recall"].low
    assert report["categories"]["fine"]["PHONE"]["intervals"] == dict.fromkeys(
        ["recall", "corrected_recall", "documents_without_leak", "entities_masked"]
    )


def test_notes_say_what_is_independent_and_what_is_not():
    evaluation = evaluate_masks([DOC], {"a": MASKS})
    documents, patients = (list(note_lines(intervals_of(evaluation, p))) for p in (None, ["p"]))
    assert documents[1] == (
        "Tokens of one document are not independent. Intervals are by documents, drawn 2,000 times (seed 1). "
        "For shares of documents they are Clopper-Pearson's."
    )
    assert "documents of one patient, are not independent. Intervals are by patients" in patients[1]
    assert documents[2].startswith("* All draws were equal")
    assert documents[3].startswith("Only 1 document contains PHI.")
    assert len(documents) == 4


def test_categories_that_few_documents_hold_are_named():
    two = Document("", "Li of Velmo", (PhiSpan(0, 2, PhiType.PATIENT), PhiSpan(6, 11, PhiType.CITY)))
    one = Document("", "Li is here", (PhiSpan(0, 2, PhiType.PATIENT),))
    docs = [dataclasses.replace(two if i < 19 else one, id=f"d{i}") for i in range(40)]
    masks = {doc.id: [] if i % 3 else [(0, len(doc.text))] for i, doc in enumerate(docs)}
    few = "Fewer than 20 documents contain PLACE, CITY. Intervals drawn from so few are too narrow."
    assert few in list(note_lines(intervals_of(evaluate_masks(docs, masks))))
    enough = [*docs, dataclasses.replace(two, id="more")]
    notes = list(note_lines(intervals_of(evaluate_masks(enough, {**masks, "more": []}))))
    assert not any("Fewer than" in line for line in notes)


def test_provenance_holds_what_was_given_and_how_intervals_are_made():
    report = plain_report(evaluate_masks([DOC], {"a": MASKS}), provenance={"version": "7"})
    assert report["provenance"] == {
        "version": "7",
        "intervals_by": "document",
        "units": 1,
        "units_with_phi": 1,
        "confidence": 0.95,
        "resamples": 2000,
        "seed": 1,
    }


def test_scores_add_the_whole_curve_and_bins():
    rng = np.random.default_rng(1)
    p_safe = rng.random(3_000)
    scores = measure_scores(rng.random(3_000) > p_safe, p_safe)
    evaluation = evaluate_masks([DOC], {"a": MASKS})
    report = json.loads(json.dumps(plain_report(evaluation, scores=scores), allow_nan=False))
    assert report["curve"]["thresholds"] == 3_000
    assert {len(column) for column in report["curve"]["points"].values()} == {3_000}
    assert report["curve"]["points"]["recall"] == scores.curve.recall.tolist()
    assert report["curve"]["points"]["threshold"][-1] is None
    assert report["curve"]["average_precision"] == scores.curve.average_precision
    assert sum(row["tokens"] for row in report["reliability"]["bins"]) == 3_000
    lines = list(table_lines(evaluation, scores=scores))
    assert f"{scores.curve.average_precision:.4f}" in next(
        line for line in lines if "average precision" in line
    )
    assert sum(line[:8].endswith("to ") for line in lines) == 10
    assert any("treat tokens as independent" in line for line in lines)
    assert "curve" not in plain_report(evaluation)


def test_scores_of_nothing_are_undefined():
    scores = measure_scores(np.zeros(0, np.bool_), np.zeros(0))
    evaluation = evaluate_masks([], {})
    report = plain_report(evaluation, scores=scores)
    assert report["curve"] is None
    assert report["reliability"]["expected_calibration_error"] is None
    assert "p_safe alone: average precision  -" in list(table_lines(evaluation, scores=scores))


def test_missing_documents_are_told():
    lines = list(table_lines(evaluate_masks([DOC], {}, allow_missing=True)))
    assert "Missing documents are counted as unmasked." in lines


def test_the_table_of_nothing_shows_nothing_defined():
    assert any("-" in line for line in table_lines(evaluate_masks([], {})))


def test_json_is_exact_and_tells_every_document():
    report = json.loads(json.dumps(plain_report(evaluate_masks([DOC], {"a": MASKS}))))
    assert list(report["figures"]) == list(FIGURES)
    assert report["figures"]["recall_all"] == {"share": 1 / 3, "part": 1, "whole": 3}
    assert report["categories"]["fine"]["PHONE"]["recall"]["share"] is None
    assert report["harmless"]["AGE"] == ["of", "old", "s", "years"]
    assert report["by_document"] == [
        {
            "id": "a",
            "tokens": 5,
            "masked": 2,
            "inexact_masks": 0,
            "safe": 2,
            "false_masks": 1,
            "phi": 3,
            "recalled": 1,
            "phi_hipaa": 3,
            "recalled_hipaa": 1,
        }
    ]
    assert "clinical" not in report["over_masking"]
    assert CANARY not in json.dumps(report)
