"""The second reader and its folder."""

import hashlib
import json

import numpy as np
import pytest
from tiny_encoders import CLASSES, graph_of_one_feature, tiny_encoder

from inverse_deid.core.errors import ConfigurationError, ModelError, StageError
from inverse_deid.core.seals import seal
from inverse_deid.core.thresholds import Thresholds
from inverse_deid.network.doubt import CONTEXT_TOKENS, EVERYTHING, MOST_TOKENS, Doubt
from inverse_deid.network.scorer import ScorerInput
from inverse_deid.network.second_reader import (
    SecondReader,
    is_encoder,
    read_encoder,
    write_encoder,
)
from inverse_deid.text.tokenizer import tokenize

DOUBT = Doubt(0.3, 0.995, 0.995, 0.995)


def document(text: str) -> ScorerInput:
    tokens = tokenize(text)
    capital = np.array([[word[0].isupper()] for word in tokens.words], np.float32).reshape(-1, 1)
    return ScorerInput(tokens, np.zeros(len(tokens), np.int32), capital)


def first_reading(*p_safe: float) -> np.ndarray:
    scores = np.zeros((len(p_safe), len(CLASSES)), np.float32)
    scores[:, 0] = p_safe
    scores[:, 1] = 1 - scores[:, 0]
    return scores


def read(doc: ScorerInput, first: np.ndarray, **changes: object) -> np.ndarray:
    reader = SecondReader(tiny_encoder(**changes), n_threads=1)
    return reader.begin([doc], [first], doubts([first]))()[0]


def doubts(first: list[np.ndarray]) -> list[np.ndarray]:
    return [DOUBT.among(scores[:, 0], *np.zeros((2, len(scores)), np.bool_)) for scores in first]


def test_only_doubtful_tokens_change():
    found = read(document("Rash rash Rash rash"), first_reading(0.2, 0.9, 0.9, 0.999))
    assert found[[0, 3], 0].tolist() == pytest.approx([0.2, 0.999])
    # the geometric mean of the odds: of 9 and 99, and of 9 and 1 / 99
    assert found[1, 0] == pytest.approx(1 / (1 + (9 * 99) ** -0.5), abs=1e-3)
    assert found[2, 0] == pytest.approx(1 / (1 + (9 / 99) ** -0.5), abs=1e-3)
    assert found.sum(axis=1) == pytest.approx(1)


@pytest.mark.parametrize(("weight", "p_safe"), [(0.0, 0.9), (1.0, 0.99), (0.5, 1 / (1 + (9 * 99) ** -0.5))])
def test_the_weight_of_the_second_reader(weight, p_safe):
    assert read(document("rash"), first_reading(0.9), weight=weight)[0, 0] == pytest.approx(p_safe, abs=1e-4)


def test_a_weight_is_a_share():
    with pytest.raises(ConfigurationError, match="between 0 and 1"):
        tiny_encoder(weight=1.5)


def test_words_are_read_as_the_rules_read_them(monkeypatch):
    seen = []
    reader = SecondReader(tiny_encoder(), n_threads=1)
    monkeypatch.setattr(reader._vocabulary, "pieces", lambda word: seen.append(word) or (5,))
    doc = document("r4sh")
    reader.begin([doc], [first_reading(0.9)], [np.array([True])], ["rash"])()
    reader.begin([doc], [first_reading(0.9)], [np.array([True])])()
    assert seen == ["rash", "r4sh"]


def test_what_the_network_said_is_not_changed_in_place():
    first = first_reading(0.9)
    read(document("rash"), first)
    assert first[0, 0] == pytest.approx(0.9)


def test_unknown_probabilities_stay_unknown():
    assert np.isnan(read(document("rash rash"), first_reading(np.nan, 0.9))[0]).any()
    graph = graph_of_one_feature(0.5, np.nan)
    assert np.isnan(read(document("rash"), first_reading(0.9), graph=graph)[0, 0])


def test_what_is_not_a_probability_is_unknown(monkeypatch):
    reader = SecondReader(tiny_encoder(), n_threads=1)
    logits = np.zeros((3, len(CLASSES)), np.float32)
    logits[:, 0] = 9, 1, np.inf
    logits[1, 1] = -1

    class Session:
        def run(self, names, inputs):
            return [logits]

    monkeypatch.setattr(reader, "_session", Session())
    found = reader.begin(
        [document("rash rash rash")], [first_reading(0.9, 0.9, 0.9)], [np.ones(3, np.bool_)]
    )()[0]
    assert np.isnan(found).all()


def test_a_document_is_read_alike_in_any_company():
    reader = SecondReader(tiny_encoder(), n_threads=2)
    docs = [document("Rash rash " * n) for n in (3, 200, 1)]
    first = [first_reading(*[0.9] * len(doc.tokens)) for doc in docs]
    together = reader.begin(docs, first, doubts(first))()
    for doc, scores, found in zip(docs, first, together, strict=True):
        assert np.array_equal(reader.begin([doc], [scores], doubts([scores]))()[0], found)


@pytest.mark.parametrize("n_tokens", [1, MOST_TOKENS, MOST_TOKENS + 1, 3 * MOST_TOKENS + CONTEXT_TOKENS])
def test_every_doubtful_token_of_a_long_document_is_read(n_tokens):
    found = read(document("rash " * n_tokens), first_reading(*[0.9] * n_tokens))
    assert (found[:, 0] > 0.95).all()


def test_documents_without_words_are_possible():
    assert read(document("..."), first_reading()).shape == (0, len(CLASSES))


def test_a_graph_of_other_classes_fails_closed():
    with pytest.raises(StageError, match="returned shape"):
        read(document("rash"), first_reading(0.9), graph=graph_of_one_feature(0.5, 0.5, n_outputs=3))


def test_a_damaged_graph_is_refused():
    with pytest.raises(ModelError, match="cannot be loaded"):
        SecondReader(tiny_encoder(graph=b"no graph"))


def test_no_graph_runs_without_doubt(monkeypatch):
    reader = SecondReader(tiny_encoder(), n_threads=1)
    monkeypatch.setattr(reader, "_session", None)
    first = first_reading(0.2, 0.999)
    assert np.array_equal(reader.begin([document("rash rash")], [first], doubts([first]))()[0], first)


def test_the_limits_of_an_operating_point_are_its_own_or_the_widest():
    strict, lenient = Doubt(0.1, 0.7, 0.9, 0.99), Doubt(0.05, 0.75, 0.8, 0.999)
    parts = tiny_encoder(doubtful={"strict": strict, "lenient": lenient})
    assert parts.doubt_at("strict") == strict
    assert parts.doubt_at("balanced") == parts.doubt_at(None) == Doubt(0.05, 0.75, 0.9, 0.999)
    assert tiny_encoder(doubtful={}).doubt_at(None) == EVERYTHING


def test_a_folder_is_read_as_it_was_written(tmp_path):
    parts = tiny_encoder(
        first_reader="abc", operating_points={"balanced": Thresholds(0.7, 0.9)}, provenance={"seed": 1}
    )
    write_encoder(parts, tmp_path / "encoder")
    assert vars_of(read_encoder(tmp_path / "encoder")) == vars_of(parts)
    assert is_encoder(tmp_path / "encoder")
    assert not is_encoder(tmp_path)


def vars_of(parts):
    return {name: getattr(parts, name) for name in parts.__slots__}


@pytest.mark.parametrize(
    "doubtful",
    [None, [], {"balanced": [0.1, 0.9]}, {"balanced": {"low": 0.9, "high": 0.1, "high_of_names": 1}}],
)
def test_a_sealed_folder_with_other_limits_is_refused(tmp_path, doubtful):
    write_encoder(tiny_encoder(), tmp_path / "encoder")
    path = tmp_path / "encoder" / "config.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "doubtful": doubtful}))
    manifest = json.loads((tmp_path / "encoder" / "manifest.json").read_text())
    manifest["sha256"]["config.json"] = hashlib.sha256(path.read_bytes()).hexdigest()
    (tmp_path / "encoder" / "manifest.json").write_text(json.dumps(seal(manifest)))
    with pytest.raises(ModelError, match="damaged"):
        read_encoder(tmp_path / "encoder")


@pytest.mark.parametrize("name", ["config.json", "pieces.txt", "encoder.onnx"])
def test_an_altered_file_is_refused(tmp_path, name):
    write_encoder(tiny_encoder(), tmp_path / "encoder")
    path = tmp_path / "encoder" / name
    path.write_bytes(path.read_bytes() + b" ")
    with pytest.raises(ModelError, match="altered or missing"):
        read_encoder(tmp_path / "encoder")


def test_a_sealed_manifest_without_thresholds_is_refused(tmp_path):
    write_encoder(tiny_encoder(), tmp_path / "encoder")
    path = tmp_path / "encoder" / "manifest.json"
    manifest = json.loads(path.read_text())
    del manifest["operating_points"]
    path.write_text(json.dumps(seal(manifest)))
    with pytest.raises(ModelError, match="damaged"):
        read_encoder(tmp_path / "encoder")


def test_another_folder_is_never_replaced(tmp_path):
    (tmp_path / "mine").mkdir()
    with pytest.raises(ModelError, match="not a model folder"):
        write_encoder(tiny_encoder(), tmp_path / "mine")


def test_no_repr_shows_words():
    assert "rash" not in repr(tiny_encoder())
