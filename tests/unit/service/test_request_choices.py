"""What requests may choose: more protection always, less only with a permit of the operator."""

from datetime import date

import pytest
from fake_maskers import CANARY
from refusals import refuses

from inverse_deid.choices.categories import parse_categories
from inverse_deid.choices.table import PERMITS
from inverse_deid.core.errors import ConfigurationError, FormatError
from inverse_deid.masking.assemble import MaskingSettings
from inverse_deid.service.choices import Operator, parse_permits

TODAY = date(2020, 2, 1)
LESS = [
    ("categories", {"categories": "hipaa"}),
    ("categories", {"categories": ["name"]}),
    ("categories", {"categories": "all,-age"}),
    ("strictness", {"operating_point": "lenient"}),
    ("dates", {"dates": "year"}),
    ("dates", {"dates": "relative-day", "date_span_years": 5, "day_first": True, "today": "2019-12-31"}),
    ("ages", {"ages": "band", "age_bands": "5-years"}),
    ("ages", {"ages": "keep-under-90"}),
    ("replacement", {"replace": "category"}),
    ("allow", {"allow": ["Graves"]}),
]
MORE = [
    {},
    {"categories": "everything"},
    {"categories": "all,origin"},
    {"operating_point": "strict"},
    {"operating_point": "balanced"},
    {"dates": "mask"},
    {"ages": "mask"},
    {"replace": "marker", "marker": "XXX"},
    {"deny": ["Mill Lane", "rash"]},
    {"allow": []},
]


@pytest.mark.parametrize(("permit", "given"), LESS)
def test_less_needs_its_permit_and_no_other(permit, given):
    others = frozenset(PERMITS) - {permit}
    with pytest.raises(FormatError, match="The operator does not permit it"):
        Operator(permits=others).choose(given, TODAY)
    chosen = Operator(permits=frozenset({permit})).choose(given, TODAY)
    assert chosen != Operator().choose(None, TODAY)


@pytest.mark.parametrize("given", MORE)
def test_more_needs_no_permit(given):
    assert Operator().choose(given, TODAY) == Operator(permits=frozenset(PERMITS)).choose(given, TODAY)


def test_what_is_less_depends_on_the_operator():
    lax = MaskingSettings(
        operating_point="lenient", categories=parse_categories("name,date"), replace="category"
    )
    operator = Operator(lax)
    for given in ({"operating_point": "balanced"}, {"categories": "name,date,id"}, {"replace": "category"}):
        operator.choose(given, TODAY)
    with pytest.raises(FormatError, match="categories may only be added"):
        operator.choose({"categories": "name,id"}, TODAY)


def test_a_request_cannot_make_years_stay_by_adding_categories():
    operator = Operator(MaskingSettings(categories=parse_categories("name,date")))
    with pytest.raises(FormatError, match="categories may only be added"):
        operator.choose({"categories": "hipaa"}, TODAY)


def test_years_stay_only_where_dates_are_not_replaced():
    operator = Operator(MaskingSettings(categories=parse_categories("hipaa")), frozenset({"dates"}))
    assert operator.choose(None, TODAY).masking.keep_years
    assert operator.choose({"dates": "mask"}, TODAY).masking.keep_years
    assert not operator.choose({"dates": "year"}, TODAY).masking.keep_years
    strict = Operator(MaskingSettings(operating_point="strict"))
    with pytest.raises(FormatError, match="strict or stricter"):
        strict.choose({"operating_point": "balanced"}, TODAY)


def test_words_are_added_to_those_of_the_operator():
    operator = Operator(MaskingSettings(deny=frozenset({"rash"}), allow=frozenset({"Graves"})))
    chosen = operator.choose({"deny": ["fever"], "allow": []}, TODAY)
    assert (chosen.masking.deny, chosen.masking.allow) == ({"rash", "fever"}, {"Graves"})


@pytest.mark.parametrize(
    "given",
    [
        {"dates": "shift"},
        {"replace": "surrogate"},
        {"key": CANARY},
        {"model": CANARY},
        {"lexicon": CANARY},
        {"low": 0.1},
        {"allow_low_thresholds": True},
        {"rules_only": True},
        {"policy": "literal"},
        {"certificate": CANARY},
        {"n_threads": 64},
        {CANARY: 1},
        {"categories": CANARY},
        {"categories": ["name", {CANARY: 1}]},
        {"categories": []},
        {"categories": "origin"},
        {"operating_point": [CANARY]},
        {"operating_point": CANARY},
        {"dates": CANARY},
        {"ages": "band"},
        {"ages": "mask", "age_bands": "e2b"},
        {"age_bands": CANARY},
        {"today": CANARY},
        {"today": "2020-02-30"},
        {"today": "20200230"},
        {"today": 5},
        {"date_span_years": True},
        {"date_span_years": 10**30},
        {"date_span_years": -1},
        {"day_first": CANARY},
        {"marker": "x" * 41},
        {"marker": "a\nb"},
        {"marker": "\ud800"},
        {"marker": [CANARY]},
        {"deny": CANARY},
        {"deny": {CANARY: 1}},
        {"deny": [CANARY, None]},
        {"deny": ["..."]},
        {"deny": ["x" * 201]},
        {"deny": ["word"] * 1001},
        {"deny": ["x" * 199] * 101},
        {"allow": [f"{CANARY} {CANARY}"]},
        {"categories": "all,-date", "dates": "year"},
        {"categories": "all,-age", "ages": "keep-under-90"},
        [],
        CANARY,
        5,
        False,
    ],
    ids=repr,
)
def test_what_cannot_be_chosen_is_refused_without_a_value_whatever_is_permitted(given):
    with pytest.raises(FormatError) as caught:
        Operator(permits=frozenset(PERMITS)).choose(given, TODAY)
    said = str(caught.value)
    assert said.startswith("settings: ")
    assert CANARY not in said
    assert "\n" not in said
    assert CANARY not in repr(caught.value.__context__)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("none", set()),
        ("all", set(PERMITS)),
        ("dates, AGES", {"dates", "ages"}),
        ("columns", {"columns"}),
    ],
)
def test_permits(text, expected):
    assert parse_permits(text) == expected


@pytest.mark.parametrize("text", ["", "all,dates", "nonsense", "dates,,ages"])
def test_unknown_permits(text):
    with refuses(ConfigurationError, match="--permit"):
        parse_permits(text)
