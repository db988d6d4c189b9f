"""Corrections made in a review are used in training without changes."""

import gold_files
import numpy as np
import pytest
from click.testing import CliRunner
from review_stores import change, place, store_of, user

pytest.importorskip("tensorflow")

from inverse_deid.cli.main import main
from inverse_deid.core.phi import PhiType
from inverse_deid.network.folder import read_model
from inverse_deid.review.files.exporting import AnnotationFormat, adopt_annotations, export_annotated
from inverse_deid.review.flow.approval import approve
from inverse_deid.review.store.values import ActionKind, LayerRevision
from inverse_deid.training.corpus import read_annotated

N_CASES = 30


def run(*arguments):
    result = CliRunner().invoke(main, list(map(str, arguments)))
    assert result.exit_code == 0, result.output
    return result.output


@pytest.mark.slow
def test_fine_tune_on_reviewed_cases(tmp_path):
    docs = gold_files.invented_documents(N_CASES, seed=5)
    export = tmp_path / "reviewed.jsonl"
    with store_of(tmp_path, [doc.text for doc in docs], approvals=1) as store:
        ann = user(store, "ann")
        for case_id, doc in enumerate(docs, start=1):
            at = place(store, ann, case_id)
            at = LayerRevision(ann.id, case_id, adopt_annotations(store, at, doc).revision)
            if case_id == 1:
                at, _ = change(store, at, ActionKind.MASK, 0, category=PhiType.PROFESSION)
            approve(store, at)
        export_annotated(store, export, AnnotationFormat.JSON_LINES)
    corrected = read_annotated(export)[0].spans
    assert any(span.start == 0 or docs[0].text[: span.start].isspace() for span in corrected)

    config, first, tuned = tmp_path / "tiny.toml", tmp_path / "model", tmp_path / "tuned"
    config.write_text(gold_files.TINY_CONFIG)
    gold = gold_files.write_json_lines(tmp_path / "gold.jsonl", gold_files.invented_documents(40, seed=1))
    run("train", "--config", config, "--gold", gold, "--out", first)
    said = run("fine-tune", "--config", config, "--model", first, "--gold", export, "--out", tuned)
    assert "precision at recall" in said
    before, after = read_model(first), read_model(tuned)
    assert after.provenance["started_from"]
    assert any(not np.array_equal(after.weights[path], weight) for path, weight in before.weights.items())
    run("mask", tmp_path / "cases.jsonl", "--model", tuned, "--out", tmp_path / "masked")
