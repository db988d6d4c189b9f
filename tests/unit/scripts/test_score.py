"""The independent scorer and the project's own evaluation agree."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from annotated_documents import masked_corpora
from hypothesis import given
from score import score

from inverse_deid.evaluation.evaluation import evaluate_masks

ROOT = Path(__file__).parents[3]
SHARED_FIGURES = (
    "recall_all",
    "recall_hipaa",
    "precision",
    "safe_kept",
    "documents_without_leak",
    "recall_short_names",
)
TEXT = "Mr Li-Wu of Oslo, 41, seen 3 May by Dr Ek"


def lines_of(docs):
    return [
        {
            "id": doc.id,
            "text": doc.text,
            "spans": [{"start": s.start, "end": s.end, "type": s.type.value} for s in doc.spans],
        }
        for doc in docs
    ]


@given(masked_corpora())
def test_its_figures_are_those_of_the_evaluation(corpus):
    docs, masks = corpus
    ours = score(lines_of(docs), masks)
    evaluation = evaluate_masks(docs, masks)
    for name in SHARED_FIGURES:
        exact = evaluation.figure(name)
        assert ours[name] == (round(exact.part / exact.whole, 6) if exact.whole else None), name
    assert ours["phi_tokens"] == evaluation.figure("recall_all").whole
    assert ours["safe_tokens"] == evaluation.figure("safe_kept").whole


def test_a_worked_example():
    spans = [("Li-Wu", "PATIENT"), ("Oslo", "CITY"), ("41", "AGE"), ("3 May", "DATE"), ("Ek", "DOCTOR")]
    doc = {
        "id": "a",
        "text": TEXT,
        "spans": [{"start": TEXT.index(s), "end": TEXT.index(s) + len(s), "type": t} for s, t in spans],
    }
    hidden = ["Li", "Wu", "Osl", "41", "3 May", "seen"]
    figures = score([doc], {"a": [(TEXT.index(word), TEXT.index(word) + len(word)) for word in hidden]})
    assert (figures["phi_tokens"], figures["safe_tokens"]) == (7, 5)
    assert figures["recall_all"] == round(5 / 7, 6)
    assert figures["recall_hipaa"] == round(4 / 5, 6)  # without age and doctor
    assert figures["precision"] == round(6 / 7, 6)  # Oslo is touched, though not recalled
    assert figures["safe_kept"] == round(4 / 5, 6)
    assert figures["recall_short_names"] == round(2 / 3, 6)
    assert figures["documents_without_leak"] == 0
    assert figures["by_type"]["CITY"] == [0.0, 1]


def test_undefined_figures_are_none():
    figures = score([{"id": "a", "text": "no rash", "spans": []}], {"a": []})
    assert figures["safe_kept"] == 1
    assert [figures[name] for name in ("recall_all", "precision", "documents_without_leak")] == [None] * 3


@pytest.mark.parametrize("masks", [[[0, 2]], None])
def test_the_command_prints_json_and_refuses_missing_masks(tmp_path, masks):
    gold, masked = tmp_path / "gold.jsonl", tmp_path / "masked.jsonl"
    gold.write_text(json.dumps({"id": "a", "text": TEXT, "spans": []}))
    masked.write_text("" if masks is None else json.dumps({"id": "a", "masks": masks}))
    ran = subprocess.run(
        [sys.executable, ROOT / "scripts" / "score.py", gold, masked],
        capture_output=True,
        text=True,
        check=False,
    )
    if masks is None:
        assert ran.returncode == 1
        assert "no masks of document 'a'" in ran.stderr
    else:
        assert json.loads(ran.stdout)["precision"] == 0
    assert "Oslo" not in ran.stdout + ran.stderr
