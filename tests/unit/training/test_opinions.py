"""Opinions of an encoder that are stored before a network learns from them."""

import dataclasses

import numpy as np
import pytest
import tiny_networks as tiny

from inverse_deid.core.errors import ConfigurationError, ModelError
from inverse_deid.training.augmentation import EpochRecipe
from inverse_deid.training.opinions import StoredOpinions, digest_of


@pytest.fixture
def examples():
    return tiny.examples(tiny.network_config())


def probabilities(examples, seed=0):
    scores = np.random.default_rng(seed).normal(size=(sum(map(len, examples)), 2)) * 4
    exps = np.exp(scores)
    return (exps / exps.sum(axis=1, keepdims=True)).astype(np.float32)


def test_what_is_read_is_what_was_written_up_to_half_a_step(tmp_path, examples):
    stored, given = StoredOpinions(tmp_path), probabilities(examples)
    stored.write(3, given, digest_of(examples))
    found = stored.read(3, examples)
    assert [len(rows) for rows in found] == [len(example) for example in examples]
    assert np.abs(np.concatenate(found) - given).max() < 0.005
    assert [path.name for path in tmp_path.iterdir()] == ["opinions-0003.npz"]


def test_opinions_on_other_documents_are_refused(tmp_path, examples):
    stored = StoredOpinions(tmp_path)
    stored.write(0, probabilities(examples), digest_of(examples))
    others = [*examples[1:], examples[0]]
    with pytest.raises(ModelError, match="made for other documents"):
        stored.read(0, others)


@pytest.mark.parametrize("content", ["missing", b"no zip", b"", "cut off"])
def test_missing_and_damaged_opinions_are_refused(tmp_path, examples, content):
    stored = StoredOpinions(tmp_path)
    stored.write(0, probabilities(examples), digest_of(examples))
    if content == "missing":
        stored.path(0).unlink()
    else:
        whole = stored.path(0).read_bytes()
        stored.path(0).write_bytes(whole[: len(whole) // 2] if content == "cut off" else content)
    with pytest.raises(ModelError, match="no opinions"):
        stored.read(0, examples)


def test_where_the_label_is_in_doubt_the_opinion_stands_alone(tmp_path, examples):
    weights = examples[0].weights.copy()
    weights[0] = 0
    examples = [dataclasses.replace(examples[0], weights=weights), *examples[1:]]
    given = probabilities(examples)
    stored = StoredOpinions(tmp_path)
    stored.write(0, given, digest_of(examples))
    made = stored.added_to(0, examples, share=0.25, weak_weight=0.7)
    assert made[0].weights[0] == pytest.approx(0.7)
    assert made[0].opinion[0] == pytest.approx(given[0], abs=0.01)
    assert made[0].opinion[1] == pytest.approx(given[1] / 4, abs=0.01)
    assert (made[0].weights[1:] == examples[0].weights[1:]).all()


def test_opinions_belong_to_one_teacher_and_its_classes(tmp_path, examples):
    stored = StoredOpinions(tmp_path)
    with pytest.raises(ModelError, match="no opinions"):
        stored.check(("SAFE", "PHI"))
    stored.claim("a" * 64, ("SAFE", "PHI"))
    with pytest.raises(ModelError, match="no opinions"):
        stored.check(("SAFE", "PHI"))
    stored.write(0, probabilities(examples), digest_of(examples))
    first = stored.check(("SAFE", "PHI"))
    with pytest.raises(ModelError, match="other classes"):
        stored.check(("SAFE", "NAME"))
    with pytest.raises(ModelError, match="another teacher"):
        stored.claim("b" * 64, ("SAFE", "PHI"))
    stored.write(0, probabilities(examples, seed=1), digest_of(examples))
    assert stored.check(("SAFE", "PHI")) != first


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"network": tiny.network_config(output="crf")}, "CRF"),
        ({"network": tiny.network_config(targets="hyper")}, "other classes"),
    ],
)
def test_a_network_that_cannot_learn_from_opinions_is_refused(tmp_path, examples, changes, message):
    stored = StoredOpinions(tmp_path)
    stored.claim("a" * 64, ("SAFE", "PHI"))
    stored.write(0, probabilities(examples), digest_of(examples))
    values = {
        "gold": [],
        "carriers": [],
        "network": tiny.network_config(),
        "training": tiny.training_config(),
        "vectors": tiny.vectors(tiny.network_config()),
        "opinions": tmp_path,
    }
    EpochRecipe(**values)
    with pytest.raises((ConfigurationError, ModelError), match=message):
        EpochRecipe(**{**values, **changes})
