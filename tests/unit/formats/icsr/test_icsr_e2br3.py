"""An independent reader: the PyPI package e2br3 reads a message before and after masking alike.

e2br3 validates against the ICH schema, which it does not bring along and which may not be
copied here: where the environment variable E2BR3_SCHEMA_DIR names the folder of the ICH schema
set 2.5 (the one with `multicacheschemas`), it validates, too.
"""

import os

import pytest
from icsr_messages import invent
from icsr_trees import masked_file

from inverse_deid.formats.icsr.standard.profiles import builtin_names, builtin_profile

e2br3 = pytest.importorskip("e2br3")

DATA = invent("r3", 3).data


def read(data: bytes) -> dict:
    return e2br3.parse(data).model_dump()


def marked(case):
    return ["PHI" for _ in case.free_texts]


def test_it_reads_the_same_after_keeping_everything():
    assert read(masked_file(DATA)[0]) == read(DATA)


@pytest.mark.parametrize("profile", builtin_names())
def test_it_reads_masked_texts_and_the_codes_that_stay(profile):
    before, after = read(DATA), read(masked_file(DATA, builtin_profile(profile), marked)[0])
    assert len(after["messages"]) == 3
    for old, new in zip(before["messages"], after["messages"], strict=True):
        was, now = old["icsr"], new["icsr"]
        assert now["narrative"] == "PHI"
        assert now["regional"] == was["regional"] or profile == "public"
        for old_reaction, new_reaction in zip(was["reactions"], now["reactions"], strict=True):
            assert new_reaction["meddra"]["code"] == old_reaction["meddra"]["code"]
            assert new_reaction["native_term"] == "PHI"
        for old_drug, new_drug in zip(was["drugs"], now["drugs"], strict=True):
            assert new_drug["id"] == old_drug["id"]
            assert new_drug["substances"] == old_drug["substances"]
            assert new_drug["dosages"][0]["text"] == "PHI"


def test_it_reads_a_masked_name_and_country_as_masked():
    (message, *_) = read(masked_file(DATA, builtin_profile("public"), marked)[0])["messages"]
    assert message["icsr"]["patient"]["name"]["null_flavor"] == "MSK"
    assert message["icsr"]["primary_sources"][0]["country"]["null_flavor"] == "MSK"


def test_it_reads_a_shifted_onset():
    data = invent("r3", given={"E.i.4": "20200105"}).data
    after = read(masked_file(data, builtin_profile("public"), marked)[0])
    onset = after["messages"][0]["icsr"]["reactions"][0]["start_date"]
    assert "20210105" in str(onset)


@pytest.mark.skipif("E2BR3_SCHEMA_DIR" not in os.environ, reason="needs the ICH schema set")
@pytest.mark.parametrize("profile", builtin_names())
def test_it_finds_no_more_errors_after_masking(profile):
    before = {error.message for error in e2br3.validate(DATA)}
    after = {
        error.message for error in e2br3.validate(masked_file(DATA, builtin_profile(profile), marked)[0])
    }
    assert after <= before
