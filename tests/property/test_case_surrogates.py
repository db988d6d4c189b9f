from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from inverse_deid.core.phi import HyperClass
from inverse_deid.replacement.surrogates.keyed import CaseSurrogates
from inverse_deid.replacement.surrogates.reserved import GENERIC_WORDS, joined, words_of

KEY = b"an invented key of 27 bytes"
FAMILY = ["Okonkwo", "Lindqvist", "Featherstone", "Marchetti", "Li", "O'Dowd", "van der Meer", "Smith-Jones"]
GIVEN = ["Amara", "Tobias", "Ingrid", "Yusuf", "Renée", "Noor", "Alex"]
NAMES = st.builds(
    lambda form, given, family: form.format(
        given=given, family=family, initial=given[0], upper=family.upper()
    ),
    st.sampled_from(
        [
            "{given} {family}",
            "{family}",
            "{upper}, {given}",
            "{initial}. {family}",
            "{family}'s",
            "Dr {family}",
        ]
    ),
    st.sampled_from(GIVEN),
    st.sampled_from(FAMILY),
)
PLACES = st.sampled_from(
    ["12 Mill Street", "7 Quay Rd", "Torrhaven", "Northmoor Clinic", "Greyfriars Hospital", "Halden Pharma AB",
     "Birkenweg 4", "Norway", "02139", "Velmont, MA 02139"]
)  # fmt: skip
NUMBERS = st.from_regex(r"[A-Z]{0,3}-?[1-9]\d{5,8}", fullmatch=True)
PHONES = st.from_regex(r"\+44 7\d{3} \d{6}|[2-9]\d{2}-\d{3}-\d{4}", fullmatch=True)
MASKS = st.lists(
    st.one_of(
        st.tuples(NAMES, st.just(HyperClass.NAME)),
        st.tuples(PLACES, st.just(HyperClass.PLACE)),
        st.tuples(NUMBERS, st.just(HyperClass.ID)),
        st.tuples(PHONES, st.just(HyperClass.CONTACT)),
        st.tuples(st.sampled_from(["nurse", "engineer", "teacher"]), st.just(HyperClass.PROFESSION)),
    ),
    min_size=1,
    max_size=12,
)


def _replaced(masks, case_id="1"):
    case = CaseSurrogates(KEY, case_id, [text for text, _ in masks])
    return case, [case.replacement(text, category) for text, category in masks]


@given(MASKS)
def test_a_surrogate_is_never_a_real_value_and_shares_no_word_with_one(masks):
    _, found = _replaced(masks)
    real = {word for text, _ in masks for word in words_of(text) if word.isalpha() and len(word) >= 3}
    for surrogate in filter(None, found):
        assert joined(surrogate) not in {joined(text) for text, _ in masks}
        assert not (set(words_of(surrogate)) & real) - GENERIC_WORDS


@given(MASKS)
def test_one_original_has_one_surrogate_and_no_two_share_one(masks):
    _, found = _replaced(masks + masks)
    assert found[: len(masks)] == found[len(masks) :]
    by_surrogate: dict[str, set[str]] = {}
    for (text, _), surrogate in zip(masks, found, strict=False):
        if surrogate is not None:
            by_surrogate.setdefault(joined(surrogate), set()).add(joined(text))
    assert all(len(originals) == 1 for originals in by_surrogate.values())


@given(st.one_of(NUMBERS, PHONES))
def test_digits_stand_for_digits(text):
    category = HyperClass.CONTACT if re.match(r"\+|\d{3}-", text) else HyperClass.ID
    _, (found,) = _replaced([(text, category)])
    kinds = [
        ["d" if c.isdecimal() else "l" if c.isalpha() else c for c in one] for one in (text, found or text)
    ]
    assert kinds[0] == kinds[1]


@given(st.text(max_size=40), st.sampled_from(list(HyperClass)))
def test_any_text_is_replaced_or_left(text, category):
    _, (found,) = _replaced([(text, category)])
    assert found is None or joined(found) != joined(text)
    if category in (HyperClass.DATE, HyperClass.AGE):
        assert found is None
