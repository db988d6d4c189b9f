"""The shipped configurations are valid; the variants of the thesis differ in what they should."""

from pathlib import Path

import pytest

from inverse_deid.deep.config import network_config, read_config, training_config

CONFIGS = Path(__file__).parents[3] / "configs"


@pytest.mark.parametrize("path", sorted(CONFIGS.glob("*.toml")), ids=lambda path: path.stem)
def test_a_shipped_configuration_is_valid(path):
    values = read_config(path)
    network_config(values["network"])
    training_config(values["training"])
    assert values["data"]["gold"]


@pytest.mark.parametrize(
    ("variant", "post_space", "feature_set"),
    [("a", False, "none"), ("b", True, "none"), ("c", False, "casing"), ("d", True, "casing")],
)
def test_the_variants_of_the_thesis(variant, post_space, feature_set):
    network = network_config(read_config(CONFIGS / f"thesis-{variant}.toml")["network"])
    assert (network.post_space, network.feature_set) == (post_space, feature_set)
