"""The shipped configurations of the studies are valid; the variants of the thesis differ in what they should."""

from pathlib import Path

import pytest

from inverse_deid.training.config import read_run_config
from inverse_deid.training.corpus import read_type_mapping
from inverse_deid_research.extraction.study import read_extraction_study
from inverse_deid_research.representations.config import read_sharing_config, read_study_config

CONFIGS = Path(__file__).parents[2] / "configs"
RUNS = sorted(path for path in CONFIGS.rglob("*.toml") if "\ngold =" in path.read_text(encoding="utf-8"))


@pytest.mark.parametrize("path", RUNS, ids=lambda path: path.stem)
def test_a_shipped_configuration_is_valid(path):
    assert all(one.is_relative_to(CONFIGS.parents[1]) for one in read_run_config(path).gold)


def test_the_shipped_settings_of_sharing_and_of_the_studies_are_valid():
    assert read_sharing_config(CONFIGS / "sharing.toml") == read_sharing_config(None)
    assert read_sharing_config(CONFIGS / "sharing-small.toml").representation.units == 0
    for path in (CONFIGS / "experiments").glob("sharing*.toml"):
        assert read_study_config(path).corpora
    assert read_extraction_study(CONFIGS / "experiments" / "extraction.toml").english


@pytest.mark.parametrize("path", sorted(CONFIGS.glob("*-types.toml")), ids=lambda path: path.stem)
def test_a_shipped_mapping_is_valid(path):
    assert len(read_type_mapping(path)) >= 5


@pytest.mark.parametrize(
    ("variant", "post_space", "feature_set"),
    [("a", False, "none"), ("b", True, "none"), ("c", False, "casing"), ("d", True, "casing")],
)
def test_the_variants_of_the_thesis(variant, post_space, feature_set):
    network = read_run_config(CONFIGS / f"thesis-{variant}.toml").network
    assert (network.post_space, network.feature_set) == (post_space, feature_set)
