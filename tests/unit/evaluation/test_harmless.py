import pytest

from inverse_deid.core.errors import ConfigurationError
from inverse_deid.core.phi import HyperClass, PhiType
from inverse_deid.evaluation.measures.counts import read_harmless


def written(tmp_path, text):
    path = tmp_path / "mine.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_the_packaged_list_holds_the_tokens_of_the_thesis():
    harmless = read_harmless()
    assert all(harmless.holds(PhiType.AGE, word) for word in ("years", "Old", "s"))
    assert harmless.holds(PhiType.ORGANIZATION, "of")
    assert not harmless.holds(PhiType.STREET, "old")


def test_keys_are_types_groups_or_all(tmp_path):
    path = written(tmp_path, '[harmless]\nALL = ["the"]\nNAME = ["van"]\nDOCTOR = ["Dré"]\n')
    harmless = read_harmless(path)
    assert all(harmless.holds(fine, "The") for fine in PhiType)
    assert harmless.holds(PhiType.PATIENT, "van")
    assert not harmless.holds(PhiType.CITY, "van")
    assert harmless.holds(PhiType.DOCTOR, "DRE")
    assert HyperClass.NAME not in harmless.words


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "lacks the setting 'harmless'"),
        ("of\ns\n", "not valid TOML"),
        ('harmless = ["of"]', "harmless: expected `object`"),
        ("[harmless]\n[more]\n", "no setting 'more'"),
        ('[harmless]\nPLANET = ["of"]', "unknown category 'PLANET'"),
        ('[harmless]\nSAFE = ["of"]', "unknown category 'SAFE'"),
        ('[harmless]\nAGE = "of"', "harmless.*: expected `array`"),
        ('[harmless]\nAGE = ["of", "y o"]', "AGE, entry 2"),
        ("[harmless]\nAGE = [3]", "harmless.*: expected `str`"),
    ],
)
def test_a_list_that_cannot_be_used_is_refused(tmp_path, text, message):
    with pytest.raises(ConfigurationError, match=message):
        read_harmless(written(tmp_path, text))


def test_a_missing_list_is_named(tmp_path):
    with pytest.raises(ConfigurationError, match=r"none\.toml"):
        read_harmless(tmp_path / "none.toml")
