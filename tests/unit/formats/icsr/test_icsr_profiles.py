from pathlib import Path

import pytest

from inverse_deid.core.errors import ConfigurationError
from inverse_deid.formats.icsr.standard.elements import ElementKind, elements
from inverse_deid.formats.icsr.standard.profiles import (
    FieldAction,
    builtin_names,
    builtin_profile,
    profile_from,
    read_profile,
)

THIRTEEN = {
    *("C.2.r.1.1", "C.2.r.1.2", "C.2.r.1.3", "C.2.r.1.4"),
    *("C.2.r.2.1", "C.2.r.2.2", "C.2.r.2.3", "C.2.r.2.6", "C.2.r.2.7"),
    *("D.1.1.1", "D.1.1.2", "D.1.1.3", "D.10.1"),
}
ELEVEN = {
    *("C.3.3.2", "C.3.3.3", "C.3.3.4", "C.3.3.5"),
    *("C.3.4.1", "C.3.4.2", "C.3.4.3", "C.3.4.4", "C.3.4.5", "C.3.4.6", "C.3.4.7"),
}


def listed(profile, action):
    return {element for element, what in profile.actions.items() if what == action}


def test_eudravigilance_masks_thirteen_and_blanks_eleven_elements_and_keeps_the_rest():
    profile = builtin_profile("eudravigilance")
    assert listed(profile, FieldAction.MASK) == THIRTEEN
    assert listed(profile, FieldAction.BLANK) == ELEVEN
    others = {FieldAction.KEEP, FieldAction.TEXT, FieldAction.DROP}
    assert {profile.actions[e] for e in set(elements()) - THIRTEEN - ELEVEN} == others
    assert listed(profile, FieldAction.DROP) == {"C.1.6.1.r.2", "C.4.r.2"}


@pytest.mark.parametrize("name", builtin_names())
def test_free_text_goes_through_the_masker_in_every_profile(name):
    profile = builtin_profile(name)
    assert listed(profile, FieldAction.TEXT) == {
        e.id for e in elements().values() if e.kind == ElementKind.FREE_TEXT
    }


@pytest.mark.parametrize("name", builtin_names())
def test_a_profile_does_only_what_the_element_allows(name):
    found = builtin_profile(name).actions
    assert found
    for element, action in found.items():
        known = elements()[element]
        assert action != FieldAction.MASK or known.msk
        assert action not in (FieldAction.DROP, FieldAction.BLANK) or not known.required


def test_fda_keeps_the_reporter():
    profile = builtin_profile("fda")
    assert {profile.actions[e] for e in elements() if e.startswith(("C.2", "FDA.C.2"))} == {FieldAction.KEEP}


@pytest.mark.parametrize("name", ["third-party", "public"])
def test_nothing_that_names_a_person_is_kept(name):
    profile = builtin_profile(name)
    persons = {"name", "name or initials", "phone", "email"}
    assert all(profile.removes(e.id) for e in elements().values() if e.known in persons)
    assert profile.actions["D.2.1"] == FieldAction.MASK


def test_public_keeps_products_only():
    kept = listed(builtin_profile("public"), FieldAction.KEEP)
    assert kept - {"G.k.4.r.7"} == {e.id for e in elements().values() if e.kind == ElementKind.PRODUCT}


def test_an_unlisted_element_of_an_own_profile_is_removed():
    profile = profile_from("mine", {"keep": ["D.1"]})
    assert profile.actions["D.1"] == FieldAction.KEEP
    assert profile.actions["D.1.1.1"] == FieldAction.MASK
    assert profile.actions["C.3.3.5"] == FieldAction.DROP
    assert profile.actions["C.1.1"] == FieldAction.PSEUDONYM
    assert profile.actions["C.1.4"] == FieldAction.DATE
    assert profile.actions["G.k.2.3.r.1"] == FieldAction.KEEP
    assert profile.attachments == FieldAction.DROP


def test_an_own_profile_that_keeps_the_rest_keeps_words_beside_codes_and_other_dates():
    profile = profile_from("mine", {"otherwise": "keep", "mask": ["D.1"]})
    assert (profile.display_names, profile.other_dates) == (FieldAction.KEEP, FieldAction.KEEP)
    assert not profile.asks_for(FieldAction.DATE)
    strict = profile_from("mine", {})
    assert (strict.display_names, strict.other_dates) == (FieldAction.DROP, FieldAction.DATE)


def test_the_longer_entry_wins():
    profile = profile_from(
        "mine", {"otherwise": "keep", "mask": ["C.2.r.*"], "keep": ["C.2.r.2.*", "C.2.r.1.1"]}
    )
    assert profile.actions["C.2.r.1.4"] == FieldAction.MASK
    assert profile.actions["C.2.r.2.1"] == FieldAction.KEEP
    assert profile.actions["C.2.r.1.1"] == FieldAction.KEEP


def test_a_profile_can_build_on_another():
    profile = profile_from("mine", {"base": "eudravigilance", "mask": ["D.1"], "attachments": "keep"})
    assert listed(profile, FieldAction.MASK) == THIRTEEN | {"D.1"}
    assert listed(profile, FieldAction.BLANK) == ELEVEN
    assert profile.attachments == FieldAction.KEEP
    assert profile.name == "mine"


def test_with_dates_every_kept_date_is_changed_and_nothing_else():
    before, after = builtin_profile("eudravigilance"), builtin_profile("eudravigilance").with_dates()
    changed = {e for e in elements() if before.actions[e] != after.actions[e]}
    assert changed == {e.id for e in elements().values() if e.kind == ElementKind.DATE}
    assert after.other_dates == FieldAction.DATE


@pytest.mark.parametrize(
    ("table", "said"),
    [
        ({"mask": ["H.1"]}, "free text"),
        ({"drop": ["H.4"]}, "free text"),
        ({"keep": ["C.4.r.2"]}, "key attachments"),
        ({"mask": ["C.3.3.5"]}, "does not allow MSK"),
        ({"drop": ["C.1.1"]}, "not valid"),
        ({"blank": ["D.1"]}, "not valid"),
        ({"pseudonym": ["D.2.1"]}, "not made for"),
        ({"date": ["D.1"]}, "not made for"),
        ({"mask": ["Z.9"]}, "not a known E2B element"),
        ({"mask": ["Z.*"]}, "not a known E2B element"),
        ({"mask": ["D.1"], "keep": ["D.1"]}, "List it once"),
        ({"mask": "D.1"}, "expected `array`"),
        ({"attachments": "burn"}, "drop, keep"),
        ({"colour": "red"}, "no setting 'colour'"),
        ({"base": "nobody"}, "unknown profile"),
        ({"base": "fda", "otherwise": "keep"}, "one of them"),
    ],
)
def test_a_profile_that_cannot_be_is_refused(table, said):
    with pytest.raises(ConfigurationError, match=said):
        profile_from("mine", table)


def test_a_profile_file_is_named_after_itself(tmp_path: Path):
    path = tmp_path / "partner.toml"
    path.write_text('base = "public"\nkeep = ["C.2.r.3"]\n', encoding="utf-8")
    profile = read_profile(path)
    assert (profile.name, profile.actions["C.2.r.3"]) == ("partner", FieldAction.KEEP)


@pytest.mark.parametrize("data", [b"mask = [", b"\xff", None])
def test_a_file_that_is_no_toml_is_refused(tmp_path: Path, data):
    path = tmp_path / "bad.toml"
    if data is not None:
        path.write_bytes(data)
    with pytest.raises(ConfigurationError, match="TOML"):
        read_profile(path)
