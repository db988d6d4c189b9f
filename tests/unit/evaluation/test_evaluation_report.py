import json

import pytest
from fake_maskers import CANARY

from inverse_deid.core.phi import PhiType
from inverse_deid.core.values import Document, PhiSpan
from inverse_deid.evaluation.evaluation import evaluate_masks
from inverse_deid.evaluation.figures import FIGURES, Share
from inverse_deid.evaluation.report import json_report, percent, table_lines

TEXT = f"{CANARY} left on 3 May"
DOC = Document(
    "a", TEXT, (PhiSpan(0, len(CANARY), PhiType.PATIENT), PhiSpan(len(TEXT) - 5, len(TEXT), PhiType.DATE))
)
MASKS = [(0, len(CANARY) + 5)]


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
    assert percent(Share(part, whole)) == shown


def test_the_table_is_aligned_and_leaves_out_categories_without_phi():
    lines = list(table_lines(evaluate_masks([DOC], {"a": MASKS})))
    start = lines.index(next(line for line in lines if line.startswith("category")))
    rows = lines[start : lines.index("", start)]
    assert [row.split()[0] for row in rows] == ["category", "NAME", "PATIENT", "DATE"]
    assert len({len(row) for row in rows}) == 1
    assert all(line.isascii() for line in lines)
    assert not any(line.startswith("clinical") for line in lines)
    assert CANARY not in "\n".join(lines)


def test_missing_documents_are_told():
    lines = list(table_lines(evaluate_masks([DOC], {}, allow_missing=True)))
    assert "Missing documents are counted as unmasked." in lines


def test_the_table_of_nothing_shows_nothing_defined():
    assert any("-" in line for line in table_lines(evaluate_masks([], {})))


def test_json_is_exact_and_tells_every_document():
    report = json.loads(json.dumps(json_report(evaluate_masks([DOC], {"a": MASKS}))))
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
