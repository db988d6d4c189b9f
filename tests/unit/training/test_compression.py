"""Compressing a network: projection, merged units, and a network that still decides alike."""

import numpy as np
import pytest
from msgspec.structs import replace
from tiny_networks import examples, network_config, new_network

from inverse_deid.core.errors import ConfigurationError
from inverse_deid.network.training import probabilities
from inverse_deid.training.compression import check_sizes, copy_knowledge, merge_units, project


def test_a_projection_of_full_rank_changes_nothing():
    rng = np.random.default_rng(0)
    inputs = (rng.normal(size=(400, 6)) + 3).astype(np.float32)
    kernel = rng.normal(size=(6, 9)).astype(np.float32)
    narrow, offset, wide = project(inputs, kernel, 6)
    np.testing.assert_allclose(
        (inputs @ narrow + offset) @ wide, (inputs - inputs.mean(0)) @ kernel, atol=1e-4
    )


def test_a_projection_keeps_what_varies():
    rng = np.random.default_rng(1)
    hidden = rng.normal(size=(500, 2))
    inputs = (hidden @ rng.normal(size=(2, 8)) + 1e-4 * rng.normal(size=(500, 8))).astype(np.float32)
    kernel = rng.normal(size=(8, 5)).astype(np.float32)
    narrow, offset, wide = project(inputs, kernel, 2)
    numbers = inputs @ narrow + offset
    np.testing.assert_allclose(numbers.mean(0), 0, atol=1e-3)
    np.testing.assert_allclose(numbers.var(0), 1, atol=0.05)
    np.testing.assert_allclose(numbers @ wide, (inputs - inputs.mean(0)) @ kernel, atol=0.02)


def test_a_unit_that_others_predict_is_merged_into_them():
    rng = np.random.default_rng(2)
    free = rng.normal(size=(600, 3))
    states = np.column_stack([free, 2 * free[:, 0] - free[:, 2] + 5]).astype(np.float32)
    use = np.eye(4, dtype=np.float32)
    kept, merge, shift = merge_units(states, use, 3)
    assert len(kept) == 3
    np.testing.assert_allclose(states[:, kept] @ merge + shift, states, atol=0.01)


def test_a_unit_that_nothing_uses_goes_first():
    states = np.random.default_rng(3).normal(size=(600, 3)).astype(np.float32)
    use = np.array([[1.0], [0.0], [1.0]], np.float32)
    kept, _, _ = merge_units(states, use, 2)
    assert kept.tolist() == [0, 2]


@pytest.mark.slow
def test_a_network_of_the_same_capacity_decides_the_same():
    config = network_config(dropout=0.0)
    some = examples(config, n_documents=40)
    source = new_network(config, seed=5)
    target = new_network(replace(config, narrow_units=23), seed=6)
    copy_knowledge(source, target, some)
    for before, after in zip(
        probabilities(source, some, config), probabilities(target, some, config), strict=True
    ):
        np.testing.assert_allclose(before, after, atol=1e-4)


@pytest.mark.slow
def test_a_smaller_network_decides_nearer_to_the_large_one_than_a_fresh_one():
    config = network_config(dropout=0.0)
    some = examples(config, n_documents=40)
    source, target = (
        new_network(config, seed=5),
        new_network(replace(config, narrow_units=8, token_units=5), seed=6),
    )
    wanted = np.concatenate(probabilities(source, some, config))
    fresh = np.concatenate(probabilities(target, some, config))
    copy_knowledge(source, target, some)
    copied = np.concatenate(probabilities(target, some, config))
    assert np.abs(copied - wanted).mean() < np.abs(fresh - wanted).mean() / 2


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"narrow_units": 8, "token_units": 7}, "no more token_units"),
        ({"token_units": 5}, "give narrow_units"),
        ({"narrow_units": 8, "feature_units": 4}, "differ in feature_units"),
    ],
)
def test_settings_that_do_not_fit_are_refused(changed, message):
    config = network_config()
    with pytest.raises(ConfigurationError, match=message):
        check_sizes(config, replace(config, **changed))
