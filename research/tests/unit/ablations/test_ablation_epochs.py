import random

import numpy as np
import pytest
from refusals import refuses

from inverse_deid.core.errors import ConfigurationError, UnreadableInputError
from inverse_deid.core.values import Document
from inverse_deid.network.config import NetworkConfig, TrainingConfig
from inverse_deid.network.encoding import quantise
from inverse_deid.training.augmentation import EpochMaker, EpochRecipe
from inverse_deid.training.config import RunConfig
from inverse_deid.training.corpora.surrogates import SurrogateMaker
from inverse_deid.training.corpora.synthetic import synthetic_document
from inverse_deid_research.ablations.epochs import epoch_path, read_epoch, write_epoch
from inverse_deid_research.ablations.variants import DocumentKind, Variant, base_variant, read_variants
from inverse_deid_research.studies.training import keep_last

TRAINING = TrainingConfig(synthetic=8, weak=3, seed=5, phi_weight=2.5, class_weights={"NAME": 2.0})
VECTORS = quantise(["the", "patient", "rash"], np.eye(3, 100, dtype=np.float32))


def variant_of(network, leave_out=()):
    return Variant(name="x", title="x", network=network, training=TRAINING, leave_out=leave_out)


@pytest.fixture(scope="module")
def recipe():
    rng = random.Random(2)
    maker = SurrogateMaker(rng)
    gold = [synthetic_document(rng, maker) for _ in range(4)]
    carriers = [Document(f"c{i}", f"The patient had a rash on 12/0{i + 1}/2019 at age 43.") for i in range(4)]
    return EpochRecipe(
        gold=gold, carriers=carriers, network=NetworkConfig(), training=TRAINING, vectors=VECTORS
    )


@pytest.fixture(scope="module")
def store(recipe, tmp_path_factory):
    folder = tmp_path_factory.mktemp("epochs")
    write_epoch(folder, recipe, 1)
    return folder


@pytest.mark.parametrize(
    ("targets", "feature_set"), [("hyper", "all"), ("fine", "casing"), ("binary", "none")]
)
def test_a_view_is_what_training_itself_would_make(recipe, store, targets, feature_set):
    network = NetworkConfig(targets=targets, feature_set=feature_set)
    own = EpochRecipe(
        gold=recipe.gold, carriers=recipe.carriers, network=network, training=TRAINING, vectors=VECTORS
    )
    expected = EpochMaker(own).examples(1)
    found = read_epoch(store, variant_of(network), 1)
    assert len(found) == len(expected)
    for one, other in zip(found, expected, strict=True):
        assert one.words == other.words
        np.testing.assert_array_equal(one.word_rows, other.word_rows)
        np.testing.assert_array_equal(one.gaps, other.gaps)
        np.testing.assert_array_equal(one.labels, other.labels)
        np.testing.assert_array_equal(one.features, other.features)
        np.testing.assert_allclose(one.weights, other.weights, rtol=1e-6)


def test_kinds_can_be_left_out(recipe, store):
    def count(*leave_out):
        return len(read_epoch(store, variant_of(NetworkConfig(), leave_out), 1))

    total = len(recipe.gold) + TRAINING.synthetic + TRAINING.weak
    assert count() == total
    assert count(DocumentKind.WEAK) == total - TRAINING.weak
    assert count(DocumentKind.INVENTED, DocumentKind.INJECTED) == total - TRAINING.synthetic
    assert count(*DocumentKind) == 0


def test_an_epoch_is_read_once(store):
    epochs = keep_last(lambda epoch: read_epoch(store, variant_of(NetworkConfig()), epoch))
    assert epochs(1) is epochs(1)


def test_a_missing_or_damaged_epoch_is_named(store, tmp_path):
    with pytest.raises(UnreadableInputError, match=r"epoch-007\.npz"):
        read_epoch(store, variant_of(NetworkConfig()), 7)
    epoch_path(tmp_path, 0).write_bytes(b"PK\x03\x04 not quite")
    with refuses(UnreadableInputError, match="--force"):
        read_epoch(tmp_path, variant_of(NetworkConfig()), 0)


BASE = base_variant(RunConfig(gold=()), 3)


def variants(tmp_path, text):
    path = tmp_path / "variants.toml"
    path.write_text(text, encoding="utf-8")
    return read_variants(path, BASE)


def test_a_variant_differs_from_the_base_in_what_it_says(tmp_path):
    text = '[[variant]]\nname = "x"\nleave_out = ["weak"]\nnetwork = { token_layers = 1 }\n'
    (found,) = variants(tmp_path, text)
    assert found.network.token_layers == 1
    assert found.network.targets == BASE.network.targets
    assert found.training == BASE.training
    assert found.leave_out == (DocumentKind.WEAK,)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ('[[variant]]\nname = "X y"\n', "small letters"),
        ('[[variant]]\nname = "x"\nlayers = 2\n', "has no setting 'layers'"),
        ('[[variant]]\nname = "x"\nnetwork = { layers = 2 }\n', "no setting .?layers"),
        ('[[variant]]\nname = "x"\ntraining = { synthetic = 2 }\n', "share their epochs"),
        ('[[variant]]\nname = "x"\nleave_out = ["bronze"]\n', "leave_out"),
        ('[[variant]]\nname = "x"\nteachers = "others"\n', "teachers"),
        ('[[variant]]\nname = "x"\n[[variant]]\nname = "x"\n', "two variants are named"),
        ('[[variant]]\nname = "base"\n', "two variants are named"),
        ("x = 1\n", "no setting 'x'. It has: variant"),
    ],
)
def test_unfit_variants_are_refused(tmp_path, text, complaint):
    with pytest.raises(ConfigurationError, match=complaint):
        variants(tmp_path, text)


def test_the_shipped_ablations_fit_the_shipped_base():
    from pathlib import Path

    from inverse_deid.training.config import read_run_config

    root = Path(__file__).parents[4]
    base = base_variant(read_run_config(root / "configs" / "default.toml"), 12)
    variants = root / "research" / "configs" / "experiments" / "ablations.toml"
    assert len(read_variants(variants, base)) == 15
