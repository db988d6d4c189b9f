"""The choice of categories: names, presets, and what is refused."""

import pytest

from inverse_deid.choices.categories import (
    ALL_CATEGORIES,
    Category,
    check_categories,
    kept_classes,
    list_categories,
    parse_categories,
)
from inverse_deid.core.errors import ConfigurationError
from inverse_deid.core.phi import HIPAA_TYPES, HYPER_CLASS_OF, HyperClass


@pytest.mark.parametrize(
    ("text", "kept", "has_origin"),
    [
        ("all", set(), False),
        ("i2b2", set(), False),
        ("hipaa", {HyperClass.AGE, HyperClass.PROFESSION}, False),
        ("everything", set(), True),
        ("all,origin", set(), True),
        ("all,-profession", {HyperClass.PROFESSION}, False),
        (" ALL , -Age,- date", {HyperClass.AGE, HyperClass.DATE}, False),
        ("all,-age,age", set(), False),
        ("hipaa,profession,-contact", {HyperClass.AGE, HyperClass.CONTACT}, False),
        ("everything,-origin", set(), False),
    ],
)
def test_terms_add_and_take_out_from_left_to_right(text, kept, has_origin):
    chosen = parse_categories(text)
    assert (kept_classes(chosen), Category.ORIGIN in chosen) == (kept, has_origin)


@pytest.mark.parametrize("text", ["", "all,", "al", "all,-job", "all;age", "SAFE", "PATIENT"])
def test_an_unknown_name_is_refused_with_the_known_ones(text):
    with pytest.raises(ConfigurationError, match=r"hipaa.*profession, origin"):
        parse_categories(text)


@pytest.mark.parametrize("text", ["-age", "-age,all"])
def test_a_choice_cannot_begin_with_what_is_taken_out(text):
    with pytest.raises(ConfigurationError, match="all,-NAME"):
        parse_categories(text)


@pytest.mark.parametrize("text", ["all,-all", "origin", "age,-age"])
def test_a_choice_that_masks_no_class_is_refused(text):
    with pytest.raises(ConfigurationError, match="at least one"):
        parse_categories(text)
    with pytest.raises(ConfigurationError):
        check_categories(frozenset())


def test_hipaa_masks_the_class_of_every_hipaa_type():
    assert not kept_classes(parse_categories("hipaa")) & {HYPER_CLASS_OF[one] for one in HIPAA_TYPES}


def test_reports_list_the_names_in_one_order():
    assert list_categories(ALL_CATEGORIES) == ["name", "place", "date", "age", "contact", "id", "profession"]
