"""The shipped configurations are valid."""

from pathlib import Path

import pytest

from inverse_deid.network.config import TrainingConfig
from inverse_deid.training.config import read_run_config
from inverse_deid.training.corpus import read_type_mapping

CONFIGS = Path(__file__).parents[3] / "configs"
RUNS = sorted(path for path in CONFIGS.rglob("*.toml") if "\ngold =" in path.read_text(encoding="utf-8"))


@pytest.mark.parametrize("path", RUNS, ids=lambda path: path.stem)
def test_a_shipped_configuration_is_valid(path):
    assert read_run_config(path).gold


def test_where_a_file_is_silent_the_callers_settings_count(tmp_path):
    path = tmp_path / "own.toml"
    path.write_text('[data]\ngold = ["a.jsonl"]\n[training]\nepochs = 7\n')
    defaults = TrainingConfig(epochs=2, learning_rate=5e-4, synthetic=200)
    training = read_run_config(path, training=defaults).training
    assert (training.epochs, training.learning_rate, training.synthetic) == (7, 5e-4, 200)
    assert read_run_config(path).training == TrainingConfig(epochs=7)


@pytest.mark.parametrize("path", sorted(CONFIGS.glob("*-types.toml")), ids=lambda path: path.stem)
def test_a_shipped_mapping_is_valid(path):
    assert len(read_type_mapping(path)) >= 5
