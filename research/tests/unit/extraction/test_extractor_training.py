"""Each kind of extractor is trained, stored and read back."""

import dataclasses
import shutil
from collections import Counter
from itertools import pairwise

import numpy as np
import pytest
from tiny_extractors import BOTH, config, document, documents, training, vectors

from inverse_deid.core.errors import ConfigurationError, ModelError
from inverse_deid.core.settings import make_settings
from inverse_deid.text.tokenizer import tokenize
from inverse_deid_research.extraction import training as extractor_training
from inverse_deid_research.extraction.concepts import CONCEPTS, PHI, refuse_overlap, select_gold
from inverse_deid_research.extraction.config import ExtractorConfig, ExtractorTraining
from inverse_deid_research.extraction.passages import PassageMaker, make_vectors
from inverse_deid_research.extraction.scoring import count_concepts
from inverse_deid_research.extraction.tagger import best_path, new_tagger, read_tagger, write_tagger
from inverse_deid_research.extraction.training import (
    draw_batches,
    fit_tagger,
    train_tagger,
)

pytestmark = pytest.mark.slow

ONE = {CONCEPTS: BOTH[CONCEPTS]}


def trained(kind="tagger", types=None, manner=None, **changed):
    epochs = []
    tagger = train_tagger(
        documents(0, 27),
        documents(27, 36),
        config(kind=kind, **changed),
        manner or training(),
        types=types or (ONE if kind == "tagger" else BOTH),
        vectors=vectors(),
        on_epoch=epochs.append,
    )
    return tagger, epochs


class Lengths:
    """An embedder from outside: the length of a word."""

    name, dim = "lengths", 1

    def vectors(self, words, gaps):
        return np.array([[len(word)] for word in words], np.float32)


def test_a_tagger_learns():
    tagger, epochs = trained(manner=training(epochs=25, patience=25), token_units=16)
    assert epochs[-1].loss < epochs[0].loss / 2
    docs = documents(27, 36)
    found = [spans[CONCEPTS] for spans in tagger.find([doc.doc.text for doc in docs])]
    gold = select_gold(docs, CONCEPTS, ONE[CONCEPTS])
    assert count_concepts(gold, found, ONE[CONCEPTS]).score().f1 > 0.9


@pytest.mark.parametrize("kind", ["multitask", "stacked"])
def test_joint_models_learn_to_de_identify_alone_first(kind):
    tagger, epochs = trained(kind)
    assert [set(epoch.gains) for epoch in epochs] == [set(), {CONCEPTS, PHI}, {CONCEPTS, PHI}]
    assert set(tagger.find(["Mr Okonkwo took Velmo"])[0]) == {CONCEPTS, PHI}


@pytest.mark.parametrize(
    ("kind", "types", "expected"),
    [
        ("tagger", {PHI: BOTH[PHI]}, [0, 0]),
        ("multitask", BOTH, [0, 0]),
        ("stacked", BOTH, [1, 0]),  # what is hidden from the extractor: the most probable class of each token
    ],
)
def test_identifiers_are_the_best_path(kind, types, expected):
    """Of two tokens, 0 0 has probability 0.4, 1 1 and 1 2 have 0.3: label 1 leads at the first token."""
    tagger = new_tagger(config(kind=kind), types, vectors())
    dense = tagger.network.model.get_layer("phi_scores")
    dense.set_weights([np.zeros_like(weight) for weight in dense.get_weights()])
    transitions = np.full((3, 3), -50.0, np.float32)
    transitions[[0, 1, 1], [0, 1, 2]] = np.log([0.4, 0.3, 0.3])
    tagger.network.crf(PHI).transitions.assign(transitions)
    (found,) = tagger.label(tagger.passage_maker().encode_tokens(tokenize("Mr Okonkwo")))
    assert found[PHI].tolist() == expected


def test_the_rate_is_halved_and_training_stops():
    """A rate so small that nothing is gained after the first epoch."""
    _, epochs = trained(manner=training(epochs=9, learning_rate=1e-9, halve_after=2, patience=4))
    assert [round(epoch.rates[CONCEPTS] * 1e9, 6) for epoch in epochs] == [1.0, 1.0, 1.0, 0.5, 0.5]


def test_the_averages_of_the_weights_are_validated_and_kept():
    """Three epochs of one step each; averages over four steps keep three quarters of themselves at each."""
    tagger = new_tagger(config(), ONE, vectors())
    maker = tagger.passage_maker()
    passages = [passage for doc in documents(0, 3) for passage in maker.encode_gold(doc)]
    model, own, averaged = tagger.network.model, [], []

    def validate():
        averaged.append(model.get_weights())
        return {CONCEPTS: float(len(averaged))}

    manner = training(epochs=3, batch=len(passages), pretraining=0, averaging=4.0)
    fit_tagger(
        tagger.network,
        passages,
        manner,
        validate=validate,
        on_epoch=lambda epoch: own.append(model.get_weights()),
    )
    expected = own[0]
    for after, found in zip(own, averaged, strict=True):
        expected = [0.75 * one + 0.25 * other for one, other in zip(expected, after, strict=True)]
        assert all(np.allclose(one, other, atol=1e-6) for one, other in zip(found, expected, strict=True))
    assert not all(np.allclose(one, other) for one, other in zip(own[2], averaged[2], strict=True))
    assert all(
        np.array_equal(one, other) for one, other in zip(model.get_weights(), averaged[2], strict=True)
    )


def fit_joint(kind, gains, **changed):
    """Train on three documents in one batch; `gains` are the F1 of concepts and identifiers by epoch."""
    tagger = new_tagger(config(kind=kind), BOTH, vectors())
    passages = [passage for doc in documents(0, 3) for passage in tagger.passage_maker().encode_gold(doc)]
    model, found, weights, epochs = tagger.network.model, iter(gains), [model_weights(tagger)], []

    def validate():
        weights.append(model.get_weights())
        return dict(zip((CONCEPTS, PHI), next(found), strict=True))

    manner = training(epochs=len(gains), batch=len(passages), pretraining=0, averaging=0.0, **changed)
    fit_tagger(tagger.network, passages, manner, validate=validate, on_epoch=epochs.append)
    return tagger, weights, epochs


def model_weights(tagger):
    return tagger.network.model.get_weights()


def test_joint_models_keep_the_epoch_that_is_best_in_concepts():
    tagger, weights, epochs = fit_joint("multitask", [(0.5, 0.5), (0.6, 0.1), (0.5, 0.9)])
    assert [epoch.best for epoch in epochs] == [True, True, False]
    assert all(map(np.array_equal, model_weights(tagger), weights[2]))


def test_each_task_has_its_own_rate():
    gains = [(0.1, 0.9), (0.2, 0.8), (0.3, 0.7), (0.4, 0.6)]
    _, _, epochs = fit_joint("stacked", gains, learning_rate=0.25, extraction_rate=0.5, halve_after=2)
    assert [epoch.rates[CONCEPTS] for epoch in epochs] == [0.5] * 4
    assert [epoch.rates[PHI] for epoch in epochs] == [0.25, 0.25, 0.25, 0.125]


def test_each_task_is_learned_and_measured_where_it_has_gold(monkeypatch):
    """27 documents have concepts, 9 other ones identifiers, whose concepts are unknown, and 4 have both."""
    learned, measured = [], []

    def learn(fitting, task, group):
        learned.extend((task, frozenset(passage.labels)) for passage in group)
        return 0.5

    def count(gold, found, kinds):
        measured.append((kinds, len(gold), len(found)))
        return count_concepts(gold, found, kinds)

    monkeypatch.setattr(extractor_training._Fitting, "_learn", learn)
    monkeypatch.setattr(extractor_training, "count_concepts", count)
    with_concepts = [dataclasses.replace(doc, gold=(CONCEPTS,)) for doc in documents(0, 27)]
    with_identifiers = [dataclasses.replace(doc, gold=(PHI,)) for doc in documents(27, 36)]
    epochs = []
    train_tagger(
        [*with_concepts, *with_identifiers, *documents(36, 40)],
        [*with_concepts[:5], *with_identifiers[:2]],
        config(kind="multitask"),
        training(epochs=1, pretraining=0),
        types=BOTH,
        vectors=vectors(),
        on_epoch=epochs.append,
    )
    assert Counter(learned) == {
        (CONCEPTS, frozenset({CONCEPTS})): 27,
        (PHI, frozenset({PHI})): 9,
        (CONCEPTS, frozenset({CONCEPTS, PHI})): 4,
        (PHI, frozenset({CONCEPTS, PHI})): 4,
    }
    assert sorted(measured) == [(BOTH[CONCEPTS], 5, 5), (BOTH[PHI], 2, 2)]
    assert epochs[0].loss == pytest.approx(1.0)  # one half of each task


@pytest.mark.parametrize("task", [CONCEPTS, PHI])
def test_a_batch_of_one_task_leaves_the_head_of_the_other_alone(task):
    """With a rate of almost nothing for one task, its own layers stay, and what both share moves."""
    slow = {"learning_rate" if task == PHI else "extraction_rate": 1e-12}
    tagger, (before, after), _ = fit_joint("multitask", [(0.5, 0.5)], **slow)
    moved = {
        variable.path
        for variable, one, other in zip(tagger.network.model.weights, before, after, strict=True)
        if not np.allclose(one, other)
    }
    other = PHI if task == CONCEPTS else CONCEPTS
    assert {path.split("/")[0] for path in moved} >= {"token_lstm", f"{other}_hidden", f"{other}_scores"}
    assert not any(path.startswith(f"{task}_") for path in moved)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    tagger, _ = trained("stacked")
    path = tmp_path_factory.mktemp("models") / "model"
    write_tagger(tagger, path, {"seed": 1})
    return tagger, path


def test_a_model_comes_back_equal(folder):
    tagger, path = folder
    passages = [s for doc in documents(0, 5) for s in tagger.passage_maker().encode_gold(doc)]
    again = read_tagger(path)
    assert passages
    for one, other in zip(tagger.label(passages), again.label(passages), strict=True):
        assert all(np.array_equal(one[task], other[task]) for task in BOTH)
    for one, other in zip(tagger.network.model.weights, again.network.model.weights, strict=True):
        assert np.array_equal(one.numpy(), other.numpy())


@pytest.mark.parametrize("name", ["config.json", "words.txt", "word_vectors.npz", "weights.npz"])
def test_an_altered_model_is_refused(folder, tmp_path, name):
    shutil.copytree(folder[1], tmp_path / "model")
    with (tmp_path / "model" / name).open("ab") as file:
        file.write(b" ")
    with pytest.raises(ModelError, match=f"{name}: altered"):
        read_tagger(tmp_path / "model")


def test_another_kind_of_model_is_refused():
    from inverse_deid.masking.assemble import packaged_model

    with pytest.raises(ModelError, match="not of model format inverse-deid research extraction 3"):
        read_tagger(packaged_model())


def test_embedders_from_outside(tmp_path):
    tagger = train_tagger(
        documents(0, 9), documents(27, 30), config(), training(epochs=1), types=ONE, vectors=vectors(), embedders=[Lengths()]
    )  # fmt: skip
    write_tagger(tagger, tmp_path / "model", {})
    assert read_tagger(tmp_path / "model", [Lengths()]).network.model.get_layer("features") is not None
    with pytest.raises(ModelError, match="lengths"):
        read_tagger(tmp_path / "model")


@pytest.mark.parametrize("reads", [["words"], ["characters"], []])
def test_a_token_has_the_vectors_that_the_settings_name(reads, tmp_path):
    tagger = train_tagger(
        documents(0, 9), documents(27, 30), config(reads=reads), training(epochs=1), types=ONE, vectors=vectors(), embedders=[Lengths()]
    )  # fmt: skip
    names = {tensor.name for tensor in tagger.network.model.inputs}
    assert names & {"words", "characters"} == set(reads)
    write_tagger(tagger, tmp_path / "model", {})
    assert read_tagger(tmp_path / "model", [Lengths()]).config.reads == tuple(reads)


def test_a_document_in_both_parts_is_refused():
    with pytest.raises(ConfigurationError, match="1 texts are in train and in dev"):
        refuse_overlap({"train": documents(0, 3), "dev": documents(2, 5)})


def test_types_that_no_document_holds_are_refused():
    with pytest.raises(ConfigurationError, match="have no concepts of the types Dosage"):
        train_tagger(
            documents(0, 3),
            documents(4, 5),
            config(),
            training(),
            types={CONCEPTS: ("Dosage",)},
            vectors=vectors(),
        )


@pytest.mark.parametrize(
    ("kind", "table", "told"),
    [
        (ExtractorConfig, {"kind": "other"}, "kind: invalid enum value 'other'. Choose one of multitask"),
        (ExtractorConfig, {"units": 3}, "no setting 'units'"),
        (ExtractorConfig, {"temperature": 0.0}, "temperature: expected `float` > 0"),
        (ExtractorConfig, {"temperature": float("inf")}, "temperature: expected `float` <= "),
        (ExtractorConfig, {"dropout": float("nan")}, "dropout: expected `float`"),
        (ExtractorTraining, {"batch": 0}, "batch: expected `int` >= 1"),
        (ExtractorTraining, {"learning_rate": "high"}, "learning_rate: expected `float`"),
    ],
)
def test_settings_out_of_range_are_named(kind, table, told):
    with pytest.raises(ConfigurationError, match=told):
        make_settings(table, kind)


def test_every_passage_comes_once():
    maker = PassageMaker(vectors(), ONE)
    passages = [s for doc in documents(0, 50) for s in maker.encode_gold(doc)]
    batches = list(draw_batches(passages, 8, np.random.default_rng(1)))
    assert sorted(id(s) for batch in batches for s in batch) == sorted(map(id, passages))
    assert {len(batch) for batch in batches} == {8, 2}


def test_a_learned_vocabulary_holds_what_stands_in_two_documents():
    words = make_vectors([document(0), document(1)], 4, 1).words
    assert "took" in words
    assert "okonkwo" not in words


def test_the_best_path_is_the_best_of_all():
    rng = np.random.default_rng(4)
    scores, transitions = (
        rng.normal(size=(4, 3)).astype(np.float32),
        rng.normal(size=(3, 3)).astype(np.float32),
    )
    paths = np.stack(np.meshgrid(*[range(3)] * 4, indexing="ij"), axis=-1).reshape(-1, 4)
    weights = [
        sum(scores[t, c] for t, c in enumerate(p)) + sum(transitions[a, b] for a, b in pairwise(p))
        for p in paths
    ]
    assert best_path(scores, transitions).tolist() == paths[int(np.argmax(weights))].tolist()
    assert best_path(scores[:0], transitions).tolist() == []
