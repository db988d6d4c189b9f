"""A study's configuration is refused in one line, before anything is trained."""

from pathlib import Path

import pytest

from inverse_deid.core.errors import ConfigurationError
from inverse_deid.research.federated.study_config import restricted
from inverse_deid.research.federated.study_file import read_study_config

GOOD = """
[data]
train = ["train.jsonl"]
test = ["test.jsonl"]
[sites]
number = 2
[methods.A]
way = "central"
[methods.C]
way = "selective"
download = 0.1
[methods.C.sites.site-2]
upload = 0.25
[methods.FedProx]
way = "average"
proximal = 0.01
"""
CONFIGS = Path(__file__).parents[4] / "configs" / "federated"


def read(tmp_path, text):
    path = tmp_path / "study.toml"
    path.write_text(text, encoding="utf-8")
    return read_study_config(path)


def test_a_site_has_its_own_settings(tmp_path):
    config = read(tmp_path, GOOD)
    method = config.methods[1]
    assert (method.settings_of("site-1").upload, method.settings_of("site-2").upload) == (0.5, 0.25)
    assert method.settings_of("site-2").download == 0.1
    assert config.train == ((tmp_path / "train.jsonl").resolve(),)


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("download = 0.1", "download = 1.5", "download is a share between 0 and 1, given 1.5"),
        ("upload = 0.25", "upload = -0.1", "upload is a share between 0 and 1"),
        ("upload = 0.25", "upload = 'x'", "upload is a float"),
        ("site-2", "site-3", "names site-3; sites are site-1, site-2"),
        ("number = 2", "number = 0", "sites.number is at least 1"),
        ("number = 2", "held_out = 1.0", "held_out is a share"),
        ("number = 2", "number = 2\nkinds = {a = ['x']}", "exclude each other"),
        ("number = 2", "kinds = {a = ['']}", "beginnings of ids"),
        ("number = 2", "kinds = {'a/b' = ['x']}", "letters, digits"),
        ('"central"', '"pooled"', "way is one of central"),
        ('way = "central"', 'way = "central"\ndownload = 0.1', "no setting download"),
        ('way = "central"', 'way = "central"\nproximal = 0.1', "of the way average alone"),
        ("proximal = 0.01", "proximal = -1", "proximal is at least 0"),
        ("[sites]", "[network]\nlearn_words = true\n[sites]", "learn_words"),
        ("[sites]", "[network]\ncharacters = 'one-hot'\n[sites]", "char_dim must be 128"),
        ("[sites]", "[training]\nepochs = 3\n[sites]", "no setting epochs"),
        ("[sites]", "[training]\nlearning_rate = 0.0\n[sites]", "above 0"),
        ("[sites]", "[study]\nseeds = [1, 1]\n[sites]", "different numbers"),
        ("[sites]", "[study]\nseeds = [1.5]\n[sites]", "whole numbers"),
        ("[sites]", "[study]\nprecision = 1.5\n[sites]", "precision"),
        ("[sites]", "[elsewhere]\n[sites]", "elsewhere"),
        ('test = ["test.jsonl"]', "", "train and test name"),
        ("[methods.A]", "[methods.'A/B']", "letters, digits"),
    ],
)
def test_bad_settings_are_refused_in_one_line(tmp_path, old, new, words):
    assert old in GOOD
    with pytest.raises(ConfigurationError) as caught:
        read(tmp_path, GOOD.replace(old, new, 1))
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)
    assert str(tmp_path / "study.toml") in str(caught.value)


@pytest.mark.parametrize("path", sorted(CONFIGS.glob("*.toml")), ids=lambda path: path.stem)
def test_the_configurations_of_the_project_can_be_read(path):
    names = [method.name for method in read_study_config(path).methods]
    assert names == ["A", "B", "C_0.1", "C_0.5", "D", "FedAvg", "FedProx"]


def test_a_part_of_a_study(tmp_path):
    config = read(tmp_path, GOOD)
    part = restricted(config, ("C",), 3, (9,))
    assert [method.name for method in part.methods] == ["C"]
    assert (part.study.epochs, part.study.seeds) == (3, (9,))
    with pytest.raises(ConfigurationError, match="no method Z"):
        restricted(config, ("Z",), None, ())
