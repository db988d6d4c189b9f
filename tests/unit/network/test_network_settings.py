"""Settings of [network] and [training] that cannot be meant are refused in one line that names them."""

import pytest

from inverse_deid.core.errors import ConfigurationError
from inverse_deid.core.settings import make_settings
from inverse_deid.network.config import NetworkConfig, TrainingConfig


@pytest.mark.parametrize(
    ("values", "named"),
    [
        ({"layers": 3}, "no setting 'layers'"),
        ({"output": "viterbi"}, "^output: .* Choose one of crf, softmax"),
        ({"targets": "all"}, "^targets: .* Choose one of binary, fine, hyper"),
        ({"feature_set": "some"}, "^feature_set: .* Choose one of all, casing, none"),
        ({"characters": "drawn"}, "^characters: .* Choose one of learned, one-hot"),
        ({"characters": "one-hot"}, "char_dim must be 128"),
        ({"gap_dim": 0}, "gap_dim: expected `int` >= 1"),
        ({"feature_units": 0}, "feature_units: expected `int` >= 1"),
        ({"token_layers": 0}, "token_layers: expected `int` >= 1"),
        ({"token_layers": True}, "token_layers: expected `int`, got `bool`"),
        ({"hidden_units": -1}, "hidden_units: expected `int` >= 0"),
        ({"max_characters": 3}, "max_characters: expected `int` >= 4"),
        ({"post_space": 1}, "post_space: expected `bool`, got `int`"),
        ({"dropout": 1.0}, "dropout: expected `float` < 1"),
        ({"dropout": float("nan")}, "dropout: expected `float`"),
    ],
)
def test_a_network(values, named):
    with pytest.raises(ConfigurationError, match=named):
        make_settings(values, NetworkConfig)


@pytest.mark.parametrize(
    ("values", "named"),
    [
        ({"epochs": 0}, "epochs: expected `int` >= 1"),
        ({"epochs": True}, "epochs: expected `int`, got `bool`"),
        ({"epochs": 2.5}, "epochs: expected `int`, got `float`"),
        ({"patience": -1}, "patience: expected `int` >= 0"),
        ({"synthetic": -1}, "synthetic: expected `int` >= 0"),
        ({"weak": -1}, "weak: expected `int` >= 0"),
        ({"weak_weight": -0.5}, "weak_weight: expected `float` >= 0"),
        ({"learning_rate": 0}, "learning_rate: expected `float` > 0"),
        ({"learning_rate": float("nan")}, "learning_rate: expected `float`"),
        ({"phi_weight": float("inf")}, "phi_weight: expected `float`"),
        ({"word_dropout": 1.5}, "word_dropout: expected `float` <= 1"),
        ({"validation_share": 1}, "validation_share: expected `float` < 1"),
        ({"seed": -1}, "seed: expected `int` >= 0"),
        ({"split_seed": 2**32}, "split_seed: expected `int` <="),
        ({"surrogates": "latin"}, "^surrogates: .* Choose one of english, exchange, none"),
        ({"class_weights": {"SAFE": 2.0}}, "class_weights: no class named SAFE"),
        ({"class_weights": {"PATIENT": 2.0}}, "class_weights: no class named PATIENT. Choose from NAME"),
        ({"class_weights": {"NAME": 0}}, "class_weights.*: expected `float` > 0"),
        ({"class_weights": {"NAME": "much"}}, "class_weights.*: expected `float`, got `str`"),
        ({"class_weights": 2}, "class_weights: expected `object`, got `int`"),
    ],
)
def test_a_training(values, named):
    with pytest.raises(ConfigurationError, match=named):
        make_settings(values, TrainingConfig)


def test_whole_numbers_serve_as_shares():
    config = make_settings({"learning_rate": 1, "class_weights": {"NAME": 2, "ID": 0.5}}, TrainingConfig)
    assert config.class_weights["NAME"] == 2
