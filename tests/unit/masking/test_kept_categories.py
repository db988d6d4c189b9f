"""Of what is kept for its category, high ages, births, old dates and words of other categories stay masked."""

import numpy as np
import pytest

from inverse_deid.core.phi import HyperClass
from inverse_deid.core.values import Decisions, Reason
from inverse_deid.masking.kept_categories import (
    keep_years_alone,
    mask_births_and_high_ages,
    mask_words_of_others,
)
from inverse_deid.text.tokenizer import tokenize

AGE, DATE = 4, 3


def shown(text, *, ages=(), dates=(), masked=()):
    """Return which words are kept, if the network takes these for ages and dates that the user keeps."""
    tokens = tokenize(text)
    kind = [AGE if w in ages else DATE if w in dates else 0 for w in tokens.words]
    reasons = [
        Reason.BELOW_THRESHOLD if w in masked else Reason.KEPT_CATEGORY if one else Reason.KEPT_BY_NETWORK
        for w, one in zip(tokens.words, kind, strict=True)
    ]
    n = len(tokens)
    keep = np.array([reason.keeps for reason in reasons])
    decisions = Decisions(
        keep,
        np.array(reasons, np.uint8),
        np.zeros(n, np.float32),
        np.ones(n, np.float32),
        np.array(kind, np.uint8),
    )
    found = mask_births_and_high_ages(tokens, decisions)
    assert not (found.keep & ~keep).any()
    return [word for word, kept in zip(tokens.words, found.keep.tolist(), strict=True) if kept]


@pytest.mark.parametrize(
    ("text", "ages", "kept"),
    [
        ("aged 89", ["89"], ["aged", "89"]),
        ("aged 90", ["90"], ["aged"]),
        ("94yo man", ["94yo"], ["man"]),
        ("M94 seen", ["M94"], ["seen"]),
        ("102-year-old", ["102"], ["year", "old"]),
        ("aged ninety-four", ["ninety", "four"], ["aged"]),
        ("a hundred and four", ["hundred", "four"], ["a", "and"]),
        ("in her nineties", ["nineties"], ["in", "her"]),
        ("in his mid-90s", ["mid", "90s"], ["in", "his"]),
        ("in her tenth decade", ["tenth", "decade"], ["in", "her"]),
        ("in her ninth decade", ["ninth", "decade"], ["in", "her", "ninth", "decade"]),
        ("aged 85-95", ["85", "95"], ["aged"]),
        ("aged 94 and 43", ["94", "43"], ["aged", "and", "43"]),
        ("XCIV years", ["XCIV"], ["years"]),
        ("fifty-four", ["fifty", "four"], ["fifty", "four"]),
        ("9 5 year old", ["9", "5"], ["year", "old"]),
        ("1 0 2 year old", ["1", "0", "2"], ["year", "old"]),
        ("5 9 year old", ["5", "9"], ["5", "9", "year", "old"]),
        ("aged 9O", ["9O"], ["aged"]),
        ("1O2 year old", ["1O2"], ["year", "old"]),
        ("aged l03", ["l03"], ["aged"]),
        (
            "43yo, 61M, 8wks, in his 60s",
            ["43yo", "61M", "8wks", "60s"],
            ["43yo", "61M", "8wks", "in", "his", "60s"],
        ),
    ],
)
def test_ages_over_89_stay_masked(text, ages, kept):
    assert shown(text, ages=ages) == kept


def test_the_rest_of_a_masked_high_age_is_masked():
    assert shown("aged ninety-four", ages=["ninety", "four"], masked=["ninety"]) == ["aged"]


@pytest.mark.parametrize(
    ("text", "dates", "kept"),
    [
        ("seen 12 March 2019", ["12", "March", "2019"], ["seen", "12", "March", "2019"]),
        ("DOB 12 March 2011", ["12", "March", "2011"], ["DOB"]),
        (
            "born on 3/5/18, seen 4/6/19",
            ["3", "5", "18", "4", "6", "19"],
            ["born", "on", "seen", "4", "6", "19"],
        ),
        ("3/5/61 and seen 4/6/19", ["3", "5", "61", "4", "6", "19"], ["and", "seen", "4", "6", "19"]),
        ("1961 then 2019", ["1961", "2019"], ["then", "2019"]),
        ("2010 then 2019", ["2010", "2019"], ["2010", "then", "2019"]),
        ("1961, 2019", ["1961", "2019"], []),  # read as one date
        ("on Monday in June", ["Monday", "June"], ["on", "Monday", "in", "June"]),
        ("born in June, seen May 2019", ["June", "May", "2019"], ["born", "in", "seen", "May", "2019"]),
    ],
)
def test_births_and_old_dates_stay_masked(text, dates, kept):
    assert shown(text, dates=dates) == kept


def test_a_masked_date_tells_that_a_kept_one_is_old():
    text = "in 1961; since 2019"
    assert shown(text, dates=["1961", "2019"], masked=["2019"]) == ["in", "since"]


def test_words_that_are_kept_for_another_reason_are_left_alone():
    assert shown("94 mg born 1961") == ["94", "mg", "born", "1961"]


CODES = {one.value.lower(): number for number, one in enumerate(HyperClass)}
PLAIN = frozenset(["page", "notes", "patients", "ref", "MRN", "badge", "licence", "car", "site"])


def left_of(text, kept, *, masked=(), suspected=None):
    """Return which words are kept if the network takes all for one category that the user keeps.

    Args:
        text: Its words are kept for the category `kept`.
        kept: The only category that the user keeps.
        masked: Words that are masked, with their category.
        suspected: The most probable category of identifiers of the others, None = `kept`.
    """
    tokens = tokenize(text)
    other = dict(masked)
    kinds = [CODES[other.get(word, suspected or kept)] for word in tokens.words]
    keep = np.array([word not in other for word in tokens.words])
    reasons = np.where(keep, Reason.KEPT_CATEGORY, Reason.BELOW_THRESHOLD).astype(np.uint8)
    n = len(tokens)
    decisions = Decisions(
        keep, reasons, np.zeros(n, np.float32), np.ones(n, np.float32), np.array(kinds, np.uint8)
    )
    plain = np.array([word in PLAIN for word in tokens.words])
    found = mask_words_of_others(tokens, plain, decisions, frozenset({HyperClass[kept.upper()]}))
    assert not (found.keep & ~keep).any()
    return " ".join(word for word, kept in zip(tokens.words, found.keep.tolist(), strict=True) if kept)


@pytest.mark.parametrize(
    ("text", "kept", "left"),
    [
        ("https://clinic.example/patients/amara-okonkwo", "contact", "https example patients"),
        ("www.okonkwofamily.example/page2", "contact", "www example"),
        ("example.org/jo", "contact", "example org"),
        ("01632 960983 ext 4471", "contact", "01632 960983 ext 4471"),
        ("ref OKONKWO-4471", "id", "ref 4471"),
        ("badge ruby4471", "id", "badge"),
        ("ref AB-4471 xk22", "id", "ref AB 4471 xk22"),
    ],
)
def test_names_in_contacts_and_ids_stay_masked(text, kept, left):
    assert left_of(text, kept) == left


@pytest.mark.parametrize(
    ("text", "kept", "masked", "left"),
    [
        ("cabin 9117", "id", (), ""),
        ("flat 31", "age", (), "flat"),
        ("car 9117", "id", (), "car 9117"),
        ("Kingsmead, 9117 22", "id", [("Kingsmead", "place")], ""),
        ("9117 Kingsmead", "age", [("Kingsmead", "place")], ""),
        ("ZA-2031-11", "id", [("ZA", "place")], "2031 11"),
        ("9117; Kingsmead", "id", [("Kingsmead", "name")], "9117"),
    ],
)
def test_numbers_of_places_stay_masked(text, kept, masked, left):
    assert left_of(text, kept, masked=masked) == left


def test_the_year_of_a_birth_is_not_an_age():
    assert left_of("43 born 88", "age") == "43 born"


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("May 3, in June, since August 2019", "May 3 in June since August 2019"),
        ("Day, Weeks; April", ""),
        ("day, week nine", "day week nine"),
        ("Anzac Day", "Anzac Day"),
        ("Summer rang", "rang"),
        ("Monday, told Friday", "Monday told"),
        ("Sunday rang, Monday", "rang Monday"),
    ],
)
def test_times_that_are_names_need_a_word_of_time(text, left):
    assert left_of(text, "date") == left


@pytest.mark.parametrize(
    ("text", "left"), [("may; april told", "told"), ("in may; since april", "in may since april")]
)
def test_times_that_the_network_might_take_for_names_need_a_word_of_time(text, left):
    assert left_of(text, "date", suspected="name") == left


def test_a_word_that_is_surely_of_a_masked_category_elsewhere_stays_masked():
    masked = [("Kingsmead", "place"), ("44719", "id")]
    assert (
        left_of("Kingsmead; 44719: teacher at KINGSMEAD, 44719", "profession", masked=masked) == "teacher at"
    )


def test_what_is_kept_for_another_reason_is_not_touched():
    assert left_of("OKONKWO", "id", masked=[("OKONKWO", "name")]) == ""
    tokens = tokenize("cabin 9117")
    scores = np.zeros(2, np.float32)
    decisions = Decisions(
        np.ones(2, np.bool_),
        np.full(2, Reason.KEPT_BY_NETWORK, np.uint8),
        scores,
        scores,
        np.full(2, CODES["id"], np.uint8),
    )
    kept = frozenset({HyperClass.ID})
    assert mask_words_of_others(tokens, np.zeros(2, np.bool_), decisions, kept).keep.all()


def with_years(text, *, dates):
    """Return which words are kept where the network takes these for masked dates, and years alone may stay."""
    tokens = tokenize(text)
    is_date = np.array([word in dates for word in tokens.words])
    reasons = np.where(is_date, Reason.BELOW_THRESHOLD, Reason.KEPT_BY_NETWORK).astype(np.uint8)
    n = len(tokens)
    decisions = Decisions(
        ~is_date,
        reasons,
        np.zeros(n, np.float32),
        np.ones(n, np.float32),
        np.where(is_date, DATE, 0).astype(np.uint8),
    )
    found = keep_years_alone(tokens, decisions)
    assert found.keep[~is_date].all()
    return [word for word, one, kept in zip(tokens.words, is_date, found.keep, strict=True) if one and kept]


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("asthma in 2019", ["2019"]),
        ("flares 2018-2019", ["2018", "2019"]),
        ("stents in 2003, 2007 and 2011", ["2003", "2007", "2011"]),
        ("surgery (2015). 2018 flare", ["2015", "2018"]),
        ("since 1941", ["1941"]),
        ("since 1940", []),
        ("on 12 March 2019", []),
        ("in March 2019", []),
        ("in March of 2019", []),
        ("on 3/2019", []),
        ("in 2018/19", []),
        ("born in 1961", []),
        ("DOB 1961", []),
        ("woman (F, 1952)", []),
        ("1952, female", []),
        ("b. 1952", []),
        ("MRN 2019", []),
        ("room 2019", []),
        ("ext 2019", []),
        ("code A-2019", []),
    ],
)
def test_a_year_alone_is_kept_and_no_other_date(text, kept):
    dates = {
        "2019",
        "2018",
        "2003",
        "2007",
        "2011",
        "2015",
        "1941",
        "1940",
        "12",
        "3",
        "19",
        "March",
        "1961",
        "1952",
    }
    assert with_years(text, dates=dates) == kept


def test_a_year_that_a_pattern_masks_is_not_kept():
    tokens = tokenize("in 2019")
    one = np.ones(2, np.float32)
    reasons = np.array([Reason.KEPT_BY_NETWORK, Reason.VETO_PATTERN], np.uint8)
    decisions = Decisions(np.array([True, False]), reasons, one, one, np.array([0, DATE], np.uint8))
    assert not keep_years_alone(tokens, decisions).keep[1]
