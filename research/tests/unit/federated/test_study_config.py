"""A study's configuration is refused in one line, before anything is trained."""

from pathlib import Path

import pytest

from inverse_deid.core.errors import ConfigurationError
from inverse_deid.core.settings import read_settings
from inverse_deid_research.federated.settings import FederatedStudySettings, restrict_study

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
CONFIGS = Path(__file__).parents[3] / "configs" / "federated"


def read(tmp_path, text):
    path = tmp_path / "study.toml"
    path.write_text(text, encoding="utf-8")
    return read_settings(path, FederatedStudySettings)


def test_a_site_has_its_own_settings(tmp_path):
    config = read(tmp_path, GOOD)
    method = config.methods["C"]
    assert (method.selection("site-1").upload, method.selection("site-2").upload) == (0.5, 0.25)
    assert method.selection("site-2").download == 0.1
    assert config.data.train == ((tmp_path / "train.jsonl").resolve(),)


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("download = 0.1", "download = 1.5", "methods.C.download: expected `float` <= 1.0"),
        ("upload = 0.25", "upload = -0.1", "methods.C.sites.site-2.upload: expected `float` >= 0.0"),
        ("upload = 0.25", "upload = 'x'", "upload: expected `float"),
        ("site-2", "site-3", "no site site-3 in the study. It has: site-1, site-2"),
        ("number = 2", "number = 0", "sites.number: expected `int` >= 1"),
        ("number = 2", "held_out = 1.0", "sites.held_out: expected `float` < 1.0"),
        ("number = 2", "number = 2\nkinds = {a = ['x']}", "exclude each other"),
        ("number = 2", "kinds = {a = ['']}", "prefixes of document ids"),
        ("number = 2", "kinds = {'a/b' = ['x']}", "letters, digits"),
        (
            '"central"',
            '"pooled"',
            "methods.A.way: invalid enum value 'pooled'. Choose one of average, central",
        ),
        ('way = "central"', 'way = "central"\ndownload = 0.1', "no setting download"),
        ('way = "central"', 'way = "central"\nproximal = 0.1', "only the way 'average'"),
        ("proximal = 0.01", "proximal = -1", "methods.FedProx.proximal: expected `float` >= 0.0"),
        ("[sites]", "[training]\nproximal = 0.1\n[sites]", "set it per method"),
        ("[sites]", "[network]\nlearn_words = true\n[sites]", "learn_words"),
        ("[sites]", "[network]\ncharacters = 'one-hot'\n[sites]", "char_dim must be 128"),
        ("[sites]", "[training]\nepochs = 3\n[sites]", "no setting 'epochs'"),
        ("[sites]", "[training]\nlearning_rate = 0.0\n[sites]", "learning_rate: expected `float` > 0.0"),
        ("[sites]", "[study]\nseeds = [1, 1]\n[sites]", "each of them once"),
        ("[sites]", "[study]\nseeds = [1.5]\n[sites]", "study.seeds[0]: expected `int`"),
        ("[sites]", "[study]\nprecision = 1.5\n[sites]", "precision"),
        ("[sites]", "[elsewhere]\n[sites]", "elsewhere"),
        ('test = ["test.jsonl"]', "", "data lacks the setting 'test'"),
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
    assert list(read_settings(path, FederatedStudySettings).methods) == [
        "A",
        "B",
        "C_0.1",
        "C_0.5",
        "D",
        "FedAvg",
        "FedProx",
    ]


def test_a_part_of_a_study(tmp_path):
    config = read(tmp_path, GOOD)
    part = restrict_study(config, ("C",), 3, (9,))
    assert list(part.methods) == ["C"]
    assert (part.study.epochs, part.study.seeds) == (3, (9,))
    with pytest.raises(ConfigurationError, match="no method Z"):
        restrict_study(config, ("Z",), None, ())
