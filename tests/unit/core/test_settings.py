"""Settings from TOML: every error names the file, the setting and the remedy."""

from pathlib import Path
from typing import Annotated, Literal

import msgspec
import pytest

from inverse_deid.core.errors import ConfigurationError
from inverse_deid.core.settings import as_plain_values, change_settings, make_settings, read_settings


class Training(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    epochs: Annotated[int, msgspec.Meta(ge=1)] = 24
    rate: Annotated[float, msgspec.Meta(gt=0, le=1)] = 0.5
    output: Literal["softmax", "crf"] = "softmax"

    def __post_init__(self):
        if self.output == "crf" and self.rate == 1:
            raise ConfigurationError("training.rate must be below 1 for a CRF")


class Method(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    way: Literal["average", "central"] = "central"
    shares: dict[str, tuple[float, ...]] = {}


class Run(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    gold: tuple[Path, ...] = ()
    methods: dict[str, Method] = {}
    training: Training = Training()


def write(folder, text):
    path = folder / "run.toml"
    path.write_text(text)
    return path


def test_paths_count_from_the_folder_of_the_file(tmp_path):
    path = write(tmp_path, 'gold = ["a.jsonl", "/b.jsonl"]\n[training]\nepochs = 3\nrate = 1')
    run = read_settings(path, Run)
    assert run.gold == (tmp_path.resolve() / "a.jsonl", Path("/b.jsonl"))
    assert run.training == Training(epochs=3, rate=1.0)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("[training]\nepoch = 1", "training has no setting 'epoch'. It has: epochs, rate, output"),
        ("goldd = 1", "the file has no setting 'goldd'. It has: gold, methods, training"),
        ("[training]\nepochs = 0", "training.epochs: expected `int` >= 1. Correct the setting"),
        ("[training]\nepochs = true", "training.epochs: expected `int`, got `bool`"),
        ('[training]\noutput = "x"', "training.output: invalid enum value 'x'. Choose one of crf, softmax"),
        ("[training]\nrate = nan", "training.rate: "),
        ("gold = [1]", "gold[0]: expected a path in quotation marks, got `int`"),
        ("training = 1", "training: expected `object`, got `int`"),
        ('[training]\noutput = "crf"\nrate = 1', "training.rate must be below 1 for a CRF"),
        ("x", "not valid TOML"),
        ("x = " + "[" * 20_000, "not valid TOML"),
        ("x = " + "9" * 10_000, "not valid TOML"),
        (
            '[methods.A]\n[methods.B]\nway = "x"\n[methods.C]\nway = "y"',
            "methods.B.way: invalid enum value 'x'. Choose one of average, central",
        ),
        ("[methods.A]\n[methods.B]\nrate = 1", "methods.B has no setting 'rate'. It has: way, shares"),
        ("[methods]\nA = 1", "methods.A: expected `object`, got `int`"),
        (
            "[methods.A.shares]\neast = [1]\nwest = [1, 'x']",
            "methods.A.shares.west[1]: expected `float`, got `str`",
        ),
    ],
)
def test_every_error_names_file_and_setting(tmp_path, text, told):
    path = write(tmp_path, text)
    with pytest.raises(ConfigurationError) as error:
        read_settings(path, Run)
    assert str(error.value).startswith(f"{path}: ")
    assert told in str(error.value)


def test_a_missing_file_and_another_encoding_are_refused(tmp_path):
    with pytest.raises(ConfigurationError, match="cannot be read"):
        read_settings(tmp_path / "none.toml", Run)
    (tmp_path / "latin.toml").write_bytes("gold = ['é']".encode("latin-1"))
    with pytest.raises(ConfigurationError, match="not UTF-8"):
        read_settings(tmp_path / "latin.toml", Run)


def test_changed_settings_are_checked_again():
    run = make_settings({"gold": ["a"]}, Run)
    assert change_settings(run.training, epochs=2) == Training(epochs=2)
    assert change_settings(run, training=Training(epochs=5)).gold == (Path("a"),)
    with pytest.raises(ConfigurationError, match="epochs"):
        change_settings(run.training, epochs=0)


def test_plain_values_hold_paths_as_strings():
    assert as_plain_values(Run(gold=(Path("a"),)))["gold"] == ("a",)
