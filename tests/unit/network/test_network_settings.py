"""Settings of [network] and [training] that cannot be meant are refused in one line that names them."""

import pytest

from inverse_deid.core.errors import ConfigurationError
from inverse_deid.network.config import network_config, read_config, training_config


@pytest.mark.parametrize(
    ("values", "named"),
    [
        ({"layers": 3}, "no setting layers"),
        ({"output": "viterbi"}, "network.output"),
        ({"targets": "all"}, "network.targets"),
        ({"feature_set": "some"}, "network.feature_set"),
        ({"gap_dim": 0}, "sizes are at least 1"),
        ({"feature_units": 0}, "sizes are at least 1"),
        ({"token_layers": 0}, "sizes are at least 1"),
        ({"token_layers": True}, "network.token_layers is a int, given a bool"),
        ({"post_space": 1}, "network.post_space is a bool, given a int"),
        ({"dropout": 1.0}, "network.dropout"),
        ({"dropout": float("nan")}, "network.dropout"),
    ],
)
def test_a_network(values, named):
    with pytest.raises(ConfigurationError, match=named):
        network_config(values)


@pytest.mark.parametrize(
    ("values", "named"),
    [
        ({"epochs": 0}, "at least 1"),
        ({"epochs": True}, "training.epochs is a int"),
        ({"epochs": 2.5}, "training.epochs is a int"),
        ({"patience": -1}, "patience"),
        ({"synthetic": -1}, "synthetic"),
        ({"weak": -1}, "weak"),
        ({"weak_weight": -0.5}, "weak_weight"),
        ({"learning_rate": 0}, "learning_rate"),
        ({"learning_rate": float("nan")}, "learning_rate"),
        ({"phi_weight": float("inf")}, "phi_weight"),
        ({"word_dropout": 1.5}, "shares"),
        ({"validation_share": 1}, "shares"),
        ({"seed": -1}, "seed"),
        ({"split_seed": 2**32}, "seed"),
        ({"surrogates": "latin"}, "training.surrogates"),
        ({"class_weights": {"SAFE": 2.0}}, "class_weights"),
        ({"class_weights": {"PATIENT": 2.0}}, "class_weights"),
        ({"class_weights": {"NAME": 0}}, "class_weights"),
        ({"class_weights": {"NAME": "much"}}, "class_weights"),
        ({"class_weights": 2}, "training.class_weights is a dict"),
    ],
)
def test_a_training(values, named):
    with pytest.raises(ConfigurationError, match=named):
        training_config(values)


def test_whole_numbers_serve_as_shares():
    config = training_config({"learning_rate": 1, "class_weights": {"NAME": 2, "ID": 0.5}})
    assert config.class_weights["NAME"] == 2


@pytest.mark.parametrize("data", [b"[network", b"\xff\xfe=1"])
def test_what_is_no_toml_is_named(tmp_path, data):
    path = tmp_path / "own.toml"
    path.write_bytes(data)
    with pytest.raises(ConfigurationError, match=r"own\.toml: not valid TOML"):
        read_config(path)
