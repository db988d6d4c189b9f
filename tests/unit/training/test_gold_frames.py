"""Annotated documents as data frames and back; what does not fit is refused without its text."""

import json

import pandas as pd
import pytest

from inverse_deid.core.errors import AnnotationError, ConfigurationError
from inverse_deid.core.phi import OUR_TYPES, PhiType
from inverse_deid.core.values import Document, PhiSpan
from inverse_deid.evaluation.evaluation import evaluate_masks
from inverse_deid.training.corpus import read_annotated
from inverse_deid.training.frames import (
    GoldFrames,
    documents_from_frames,
    figures_frame,
    frames_from_documents,
    write_gold,
)

DOCS = [
    Document("a", "Mrs Okonkwo of Velmo", (PhiSpan(4, 11, PhiType.PATIENT), PhiSpan(15, 20, PhiType.CITY))),
    Document("b", "no rash"),
]


def frames(spans, texts=(("a", "Mrs Okonkwo of Velmo"),)):
    return GoldFrames(
        pd.DataFrame(texts, columns=["id", "text"]),
        pd.DataFrame(spans, columns=["id", "start", "end", "type"]),
    )


def same(some, others):
    return [(d.id, d.text, d.spans) for d in some] == [(d.id, d.text, d.spans) for d in others]


def test_there_and_back(tmp_path):
    made = frames_from_documents(DOCS)
    shuffled = GoldFrames(made.documents, made.spans.iloc[::-1])
    assert same(documents_from_frames(shuffled), DOCS)
    write_gold(made, tmp_path / "gold.jsonl")
    assert same(read_annotated(tmp_path / "gold.jsonl"), DOCS)
    assert frames_from_documents([]).spans.columns.tolist() == ["id", "start", "end", "type"]


def test_types_of_another_scheme_are_mapped():
    given = frames([("a", 15, 20, "Ort")])
    (doc,) = documents_from_frames(given, {**OUR_TYPES, "Ort": PhiType.CITY})
    assert doc.spans == DOCS[0].spans[1:]


@pytest.mark.parametrize(
    ("spans", "complaint"),
    [
        ([("a", 4, 11, "PLANET")], "document a: span 4-11: unknown type"),
        ([("z", 4, 11, "CITY")], "document z: span 4-11: there is no such document"),
        ([("a", 4, 99, "CITY")], "document a: span 4-99 ends after the text"),
        ([("a", 4, 11, "CITY"), ("a", 5, 9, "CITY")], "document a: span 5-9 overlaps"),
    ],
)
def test_spans_that_do_not_fit_are_refused_without_text(spans, complaint):
    with pytest.raises(AnnotationError, match=complaint) as caught:
        documents_from_frames(frames(spans))
    assert "Okonkwo" not in str(caught.value)


def test_missing_columns_and_repeated_ids_are_refused():
    made = frames_from_documents(DOCS)
    with pytest.raises(ConfigurationError, match="spans: no column named start, type"):
        documents_from_frames(GoldFrames(made.documents, made.spans[["id", "end"]]))
    with pytest.raises(AnnotationError, match="an id occurs more than once"):
        documents_from_frames(frames([], [("a", "x"), ("a", "y")]))
    with pytest.raises(AnnotationError, match="b: the text is missing"):
        documents_from_frames(frames([], [("a", "x"), ("b", None)]))


def test_the_repr_shows_no_text():
    assert repr(frames_from_documents(DOCS)) == "GoldFrames(n_documents=2, n_spans=2)"


def test_figures_before_and_after_are_side_by_side():
    now = {"mine": {"strict": {"recall": 0.99, "precision": 0.5}}}
    before = {"mine": {"strict": {"recall": 0.9, "precision": None}}}
    (row,) = figures_frame({"held_out": now, "held_out_before": before}).to_dict("records")
    assert pd.isna(row.pop("precision_before"))
    assert row == {
        "corpus": "mine",
        "operating_point": "strict",
        "recall": 0.99,
        "precision": 0.5,
        "recall_before": 0.9,
    }
    assert figures_frame(json.loads("{}")).empty


def test_an_evaluation_is_a_frame():
    frame = evaluate_masks(DOCS, {"a": [(4, 11)], "b": [(3, 7)]}).frame().set_index("figure")
    assert frame.loc["recall_all"].tolist() == [1, 2, 0.5]
    assert frame.loc["precision"].tolist() == [1, 2, 0.5]
