import gzip
import io
import json

import numpy as np
import pytest
from fake_maskers import CANARY, mask_capitals
from refusals import refuses

from inverse_deid.cli.parts.messages import describe_error
from inverse_deid.core.errors import AnnotationError, InputError
from inverse_deid.core.phi import PhiType
from inverse_deid.core.values import Document, PhiSpan
from inverse_deid.evaluation.masked_files import read_explained, score_tokens
from inverse_deid.formats.beside.explanation import ExplanationSink
from inverse_deid.formats.records import Record

TEXT = f"seen: {CANARY} was well"
DOC = Document("a", TEXT, (PhiSpan(6, 6 + len(CANARY), PhiType.PATIENT),))
TOKEN = {
    "start": 0,
    "end": 4,
    "decision": "keep",
    "reason": "KEPT_SAFE_WORD",
    "p_safe": 0.9,
    "threshold": 0.8,
}


def explanation(doc=DOC, *, with_text=True):
    target = io.BytesIO()
    ExplanationSink(target, with_text).write(Record(1, (doc,)), mask_capitals().mask_many([doc]))
    return target.getvalue()


@pytest.fixture
def path(tmp_path):
    return tmp_path / "cases.jsonl.explain.jsonl"


def test_what_mask_writes_is_read(path):
    path.write_bytes(explanation())
    found = read_explained(path)["a"]
    assert found.starts.tolist() == [0, 6, 17, 21]
    assert found.ends.tolist() == [4, 16, 20, 25]
    np.testing.assert_array_equal(found.p_safe, [0.987654, np.nan, 0.987654, 0.987654])
    assert found.words is not None
    assert CANARY not in repr(found)


def test_what_mask_writes_without_text_has_no_p_safe(path):
    path.write_bytes(explanation(with_text=False))
    assert read_explained(path) is None


def test_a_folder_and_gzipped_files_are_read_and_ids_may_be_numbers(tmp_path, path):
    (tmp_path / "sub").mkdir()
    path.write_bytes(explanation() + b"\n")
    (tmp_path / "sub" / "b.explain.jsonl").write_text(json.dumps({"id": 7, "tokens": []}))
    (tmp_path / "sub" / ".c.explain.jsonl").write_text(CANARY)
    (tmp_path / "cases.jsonl").write_text(CANARY)
    assert list(read_explained(tmp_path)) == ["a", "7"]
    packed = tmp_path / "b.jsonl.gz"
    packed.write_bytes(gzip.compress(explanation()))
    assert list(read_explained(packed)) == ["a"]


def line(**changes):
    return json.dumps({"id": "a", "tokens": [{**TOKEN, **changes}]})


@pytest.mark.parametrize(
    "text",
    [
        CANARY,
        f'"{CANARY}"',
        json.dumps({"id": "a", "text": CANARY, "masks": []}),
        json.dumps({"id": "a", "tokens": [], "more": CANARY}),
        json.dumps({"id": True, "tokens": []}),
        json.dumps({"id": "a", "tokens": CANARY}),
        json.dumps({"id": "a", "tokens": [CANARY]}),
        json.dumps({"id": "a", "tokens": [{"start": 0, "end": 4, "p_safe": 0.5}]}),
        json.dumps({"id": "a", "tokens": [TOKEN, TOKEN]}),
        json.dumps({"id": "a", "tokens": [{**TOKEN, "text": CANARY}, {**TOKEN, "start": 5, "end": 9}]}),
        line(start=-1),
        line(start=4),
        line(end=4.0),
        line(start=True),
        line(p_safe=1.1),
        line(p_safe="0.5"),
        line(p_safe=True),
        line(p_safe=float("nan")),
        line(threshold=CANARY),
        line(decision=CANARY),
        line(decision=[]),
        line(reason=CANARY),
        line(text=3),
        line(note=CANARY),
        "",
    ],
)
def test_what_mask_does_not_write_is_refused_without_its_text(path, text):
    path.write_text(text)
    with pytest.raises(InputError) as caught:
        read_explained(path)
    assert str(caught.value).startswith(f"{path}: ")
    assert "--explain" in describe_error(caught.value)
    assert CANARY not in str(caught.value)


def test_a_missing_file_and_an_id_that_repeats_are_refused(path):
    with pytest.raises(InputError, match="does not exist"):
        read_explained(path)
    path.write_bytes(explanation() * 2)
    with pytest.raises(AnnotationError, match=r"more than once: document a\."):
        read_explained(path)


def test_tokens_are_phi_if_a_gold_span_touches_them(path):
    glued = Document("b", "on 3May2019x", (PhiSpan(3, 11, PhiType.DATE),))
    path.write_bytes(explanation() + explanation(glued))
    is_phi, p_safe = score_tokens([DOC, glued], read_explained(path))
    assert is_phi.tolist() == [False, True, False, False, False, True]
    assert np.isnan(p_safe).tolist() == [False, True, False, False, False, True]


@pytest.mark.parametrize("text", [f"seen: {CANARY} was ill, ", f"seen: {CANARY} was", "seen", ""])
def test_another_text_is_refused_by_name(path, text):
    path.write_bytes(explanation(Document("a", text)))
    with pytest.raises(AnnotationError, match="document a: explains tokens of another text") as caught:
        score_tokens([DOC], read_explained(path))
    assert str(path) in str(caught.value)
    assert CANARY not in str(caught.value)


def test_other_words_at_the_same_places_are_refused_where_the_file_holds_words(path):
    other = Document("a", TEXT.replace("well", "dead"))
    path.write_bytes(explanation(other, with_text=True))
    with pytest.raises(AnnotationError, match="another text"):
        score_tokens([DOC], read_explained(path))


def test_ids_that_do_not_match_are_named(path):
    path.write_bytes(explanation())
    found = read_explained(path)
    with pytest.raises(AnnotationError, match=r"not in the gold: document a\."):
        score_tokens([], found)
    absent = Document("b", "well")
    with refuses(
        AnnotationError, match=r"not explained: document b\. Mask them with --explain and --with-text"
    ):
        score_tokens([DOC, absent], found)
    is_phi, _ = score_tokens([DOC, absent], found, missing=["b"])
    assert len(is_phi) == 4
