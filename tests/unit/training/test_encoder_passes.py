"""Passes of an encoder: windows in a few arrays, in files, made by other processes."""

import dataclasses

import numpy as np
import pytest
import tiny_networks as tiny
from tiny_encoders import PIECES

from inverse_deid.core.errors import ConfigurationError
from inverse_deid.core.values import Document
from inverse_deid.network.config import NetworkConfig, TrainingConfig
from inverse_deid.network.pieces import SHAPES, Vocabulary, encode_window
from inverse_deid.training.augmentation import EpochRecipe
from inverse_deid.training.encoders.passes import (
    Hiding,
    Pass,
    PassesAhead,
    PassMaker,
    cut_again,
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


def long_pass():
    examples = [e for seed in range(3) for e in tiny.examples(tiny.network_config(), seed)]
    opinions = np.random.default_rng(1)
    examples = [
        dataclasses.replace(e, opinion=opinions.random((len(e), 2)).astype(np.float16)) for e in examples
    ]
    return training_pass(
        examples, VOCABULARY, TrainingConfig(window=40), Hiding(0.0), np.random.default_rng(0)
    )


@pytest.mark.parametrize(("shortest", "longest"), [(1, 1), (2, 5), (3, 3), (500, 600)])
def test_windows_that_are_cut_again_have_the_same_tokens(shortest, longest):
    one = long_pass()
    cut = cut_again(one, shortest, longest, np.random.default_rng(2))
    for name in ("labels", "weights", "features", "opinion"):
        np.testing.assert_array_equal(getattr(cut, name), getattr(one, name))
    assert set(one.token_bounds) <= set(cut.token_bounds)
    sizes = np.diff(cut.token_bounds)
    assert sizes.min() >= 1
    assert sizes.max() <= longest
    assert cut.n_windows > one.n_windows or shortest == 500
    np.testing.assert_array_equal(cut.pieces[cut.first], one.pieces[one.first])
    for i in range(cut.n_windows):
        begin, end = cut.piece_bounds[i : i + 2]
        assert (cut.pieces[begin], cut.pieces[end - 1]) == (VOCABULARY.begin, VOCABULARY.end)
        tokens = np.arange(*cut.token_bounds[i : i + 2])
        assert set(cut.owners[begin:end]) == {-1, *tokens.tolist()}
        assert (cut.owners[cut.first[tokens]] == tokens).all()
        assert cut.shapes[tokens[0]] >= len(SHAPES)
    inner = np.setdiff1d(np.arange(len(one.first)), cut.token_bounds[:-1])
    np.testing.assert_array_equal(cut.shapes[inner], one.shapes[inner])


def test_windows_are_cut_otherwise_each_time():
    one, rng = long_pass(), np.random.default_rng(3)
    first, second = cut_again(one, 2, 6, rng), cut_again(one, 2, 6, rng)
    assert first.token_bounds.tolist() != second.token_bounds.tolist()


def test_a_cut_window_is_what_a_reader_encodes():
    """Pieces, owners and shapes are those of `encode_window` on the same tokens."""
    examples = tiny.examples(tiny.network_config())
    one = training_pass(
        examples, VOCABULARY, TrainingConfig(window=10_000), Hiding(0.0), np.random.default_rng(0)
    )
    cut = cut_again(one, 3, 7, np.random.default_rng(4))
    for i in range(cut.n_windows):
        start, end = cut.token_bounds[i : i + 2]
        of = int(np.searchsorted(one.token_bounds, end, "left") - 1)
        inside = slice(start - one.token_bounds[of], end - one.token_bounds[of])
        e = examples[of]
        wanted = encode_window(e.words[inside], e.gaps[inside], e.features[inside], VOCABULARY)
        pieces = slice(*cut.piece_bounds[i : i + 2])
        np.testing.assert_array_equal(cut.pieces[pieces], wanted.pieces)
        np.testing.assert_array_equal(cut.shapes[start:end], wanted.shapes)
        owners = np.where(wanted.owners < len(wanted.first), wanted.owners + start, -1)
        np.testing.assert_array_equal(cut.owners[pieces], owners)


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
    "change",
    [
        {"hidden_words": 0.5},
        {"data": {"a": "other"}},
        {"recipe": recipe(window=7)},
        {"teachers": ("another",)},
        {"recipe": recipe(teacher_weight=0.1)},
    ],
)
def test_passes_of_another_configuration_are_refused(tmp_path, change):
    maker = PassMaker(recipe=recipe(), pieces=PIECES, hidden_words=0.0, folder=tmp_path, data={"a": "b"})
    maker.begin()
    dataclasses.replace(maker, recipe=recipe(epochs=99, repeats=3)).begin()
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
