"""Passes of an encoder: windows in a few arrays, in files, made by other processes."""

import dataclasses

import numpy as np
import pytest
import tiny_networks as tiny
from tiny_encoders import PIECES

from inverse_deid.core.errors import ConfigurationError
from inverse_deid.core.values import Document
from inverse_deid.network.config import NetworkConfig, TrainingConfig
from inverse_deid.network.pieces import Vocabulary
from inverse_deid.training.augmentation import EpochRecipe
from inverse_deid.training.encoders.passes import (
    Hiding,
    Pass,
    PassesAhead,
    PassMaker,
    gather,
    text_pass,
    training_pass,
)

VOCABULARY = Vocabulary(PIECES)
MPNET_PIECES = ("<s>", "<pad>", "</s>", "<unk>", *PIECES, "<mask>")


def recipe(**training):
    config = tiny.network_config()
    return EpochRecipe(
        gold=[Document(id="a", text="Rash and fever. Rashes went.", spans=())],
        carriers=[],
        network=NetworkConfig(),
        training=TrainingConfig(**{"synthetic": 0, "weak": 0, "surrogates": "none", **training}),
        vectors=tiny.vectors(config),
    )


def same(one, other):
    return all(np.array_equal(getattr(one, f.name), getattr(other, f.name)) for f in dataclasses.fields(Pass))


def test_a_pass_has_all_tokens_of_its_documents_once():
    examples = tiny.examples(tiny.network_config())
    one = training_pass(examples, VOCABULARY, TrainingConfig(window=5), Hiding(0.0), np.random.default_rng(0))
    assert len(one.labels) == sum(map(len, examples))
    assert one.labels.sum() == sum(int((e.labels > 0).sum()) for e in examples)
    assert one.token_bounds[-1] == len(one.labels) == len(one.first)
    assert (np.diff(one.token_bounds) <= 5).all()
    for i in range(one.n_windows):
        begin, end = one.piece_bounds[i : i + 2]
        assert (one.pieces[begin], one.pieces[end - 1]) == (VOCABULARY.begin, VOCABULARY.end)
        tokens = np.arange(*one.token_bounds[i : i + 2])
        assert set(one.owners[begin:end]) == {-1, *tokens.tolist()}
        assert (one.owners[one.first[tokens]] == tokens).all()


def test_hidden_words_are_hidden():
    examples = tiny.examples(tiny.network_config())
    one = training_pass(examples, VOCABULARY, TrainingConfig(), Hiding(1.0), np.random.default_rng(0))
    assert (one.pieces[one.first] == VOCABULARY.hidden).all()


def test_a_pass_comes_back_from_its_file(tmp_path):
    one = training_pass(
        tiny.examples(tiny.network_config()),
        VOCABULARY,
        TrainingConfig(),
        Hiding(0.1, (0,)),
        np.random.default_rng(0),
    )
    one.write(tmp_path / "pass.npz")
    assert same(one, Pass.read(tmp_path / "pass.npz"))
    assert [path.name for path in tmp_path.iterdir()] == ["pass.npz"]


@pytest.mark.slow
def test_a_worker_makes_passes_that_another_encoder_can_read(tmp_path):
    def maker(pieces):
        return PassMaker(recipe=recipe(), pieces=pieces, hidden_words=0.0, folder=tmp_path / "passes")

    with PassesAhead(maker(PIECES), 2) as passes:
        first, second = passes(0), passes(1)
    assert first.n_windows == second.n_windows == 1
    assert {path.name for path in (tmp_path / "passes").iterdir()} == {
        "about.json",
        "pass-0000.npz",
        "pass-0001.npz",
    }
    with PassesAhead(maker(MPNET_PIECES), 2) as passes:
        other = passes(0)
    assert other.pieces.tolist() == VOCABULARY.numbers_in(Vocabulary(MPNET_PIECES))[first.pieces].tolist()
    assert same(dataclasses.replace(other, pieces=first.pieces), first)
    (tmp_path / "passes/pass-0001.npz").write_bytes(b"damaged")
    with PassesAhead(maker(PIECES), 2) as passes:
        assert same(passes(1), second)


@pytest.mark.parametrize(
    "change", [{"hidden_words": 0.5}, {"data": {"a": "other"}}, {"recipe": recipe(window=7)}]
)
def test_passes_of_another_configuration_are_refused(tmp_path, change):
    maker = PassMaker(recipe=recipe(), pieces=PIECES, hidden_words=0.0, folder=tmp_path, data={"a": "b"})
    maker.begin()
    dataclasses.replace(maker, recipe=recipe(epochs=99, teacher_weight=0.1)).begin()
    with pytest.raises(ConfigurationError, match="another configuration"):
        dataclasses.replace(maker, **change).begin()


def test_the_vocabulary_of_a_folder_is_that_of_the_first_training(tmp_path):
    first = PassMaker(recipe=recipe(), pieces=PIECES, hidden_words=0.0, folder=tmp_path)
    assert first.begin().begin == VOCABULARY.begin
    assert dataclasses.replace(first, pieces=MPNET_PIECES).begin().begin == VOCABULARY.begin
    assert [path.name for path in tmp_path.iterdir()] == ["about.json"]


@pytest.mark.slow
def test_texts_are_read_in_windows():
    docs = [Document(id=str(i), text="Rash. " * 7, spans=()) for i in range(3)]
    one = text_pass(docs, PIECES, 4)
    assert np.diff(one.token_bounds).tolist() == [4, 3] * 3
    assert one.features.shape == (21, 0)


def test_nothing_to_gather_is_an_error_and_not_an_empty_pass():
    with pytest.raises(ValueError, match="need at least one array"):
        gather([])
