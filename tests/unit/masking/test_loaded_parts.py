"""Pipelines of other settings over the same lexicon and model decide as if each had loaded its own."""

from dataclasses import replace
from pathlib import Path

import pytest

from inverse_deid.choices.categories import parse_categories
from inverse_deid.core.errors import ConfigurationError
from inverse_deid.core.values import Document
from inverse_deid.masking.assemble import MaskingSettings, build_deidentifier, load_parts

OWN = MaskingSettings(n_threads=1)
TEXTS = [
    "Mr. Okonkwo, a 43-year-old baker from Millbrook, had a rash on 12-OCT-2019.",
    "Call 555-0199. Graves' disease; Dr. Lindqvist, 94 years, gave cetirizine 10 mg.",
]
OTHERS = [
    OWN,
    replace(OWN, categories=parse_categories("name,place")),
    replace(OWN, operating_point="strict", deny=frozenset({"rash"})),
    replace(OWN, categories=parse_categories("everything"), replace="category"),
    replace(OWN, policy="literal", operating_point="lenient", allow=frozenset({"Graves"})),
]


@pytest.fixture(scope="module")
def parts():
    return load_parts(OWN)


def test_each_masks_and_is_named_as_if_it_were_alone(parts):
    docs = [Document(str(number), text) for number, text in enumerate(TEXTS)]
    shared = [build_deidentifier(settings, parts) for settings in OTHERS]
    first = [[doc.text for doc in one.mask_many(docs)] for one in shared]
    again = [[doc.text for doc in one.mask_many(docs)] for one in reversed(shared)][::-1]
    alone = [build_deidentifier(settings) for settings in OTHERS]
    assert first == again == [[doc.text for doc in one.mask_many(docs)] for one in alone]
    assert [one.fingerprint for one in shared] == [one.fingerprint for one in alone]
    assert len({tuple(texts) for texts in first}) > 3


@pytest.mark.parametrize(
    "change", [{"rules_only": True}, {"reading": "careful"}, {"model": Path("x")}, {"lexicon": Path("x")}]
)
def test_other_files_are_not_taken_for_those_that_were_loaded(parts, change):
    with pytest.raises(ConfigurationError, match="another model or lexicon"):
        build_deidentifier(replace(OWN, **change), parts)
