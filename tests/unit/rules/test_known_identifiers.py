"""Known identifiers in other spellings: what is found, and what is spared."""

import pytest
from typo_reference import is_within

from inverse_deid.core.values import KnownIdentifier, KnownSort
from inverse_deid.rules.known_identifiers import KnownIdentifiers
from inverse_deid.text.matching import NearNames, count_allowed_typos
from inverse_deid.text.tokenizer import tokenize

COMMON = frozenset(
    [
        *(
            "rose",
            "rash",
            "fever",
            "lane",
            "street",
            "harrow",
            "brown",
            "iv",
            "the",
            "march",
            "baker",
            "will",
        ),
        *("head", "heads", "may", "bath"),
    ]
)


def found(text: str, *known: tuple[str, str]) -> list[str]:
    """The masked words."""
    values = [KnownIdentifier(value, KnownSort(sort)) for value, sort in known]
    tokens = tokenize(text)
    chosen = KnownIdentifiers(values, lambda word: word.lower() in COMMON).among(tokens)
    return [word for word, is_found in zip(tokens.words, chosen, strict=True) if is_found]


NAME = ("Amara Ngozi Okonkwo", "name")


@pytest.mark.parametrize(
    "text",
    [
        "Okonkwo",
        "OKONKWO",
        "okonkwo",
        "Okonkwos",
        "Ókonkwò",
        "Okonkow",
        "Okonkvo",
        "Okonwo",
        "Oko-nkwo",
        "DrOkonkwo",
        "okonkwo2019",
        "Okonkwo, Amara",
        "okonkwo amara",
        "Amara N. Okonkwo",
        "A. Okonkwo",
        "Okonkwo A.N.",
        "AmaraOkonkwo",
        "aokonkwo",
        "A.N.O.",
        "ANO",
        "AO",
        "Oko\u00adnkwo",
    ],
)
def test_names_are_found_whole(text):
    assert found(f"seen by {text} today", NAME) == tokenize(text).words


def test_of_a_possessive_the_name_is_found():
    assert found("Okonkwo's note", NAME) == ["Okonkwo"]


@pytest.mark.parametrize(
    ("known", "text"),
    [
        (("Oyelaran-Smith", "name"), "oyelaran smith"),
        (("Oyelaran-Smith", "name"), "OyelaranSmith"),
        (("MacDonald", "name"), "Mac Donald"),
        (("O'Brien", "name"), "OBrien"),
        (("Müller", "name"), "Mueller"),
        (("Mueller", "name"), "Müller"),
        (("Søren", "name"), "SOREN"),
        (("Björk", "name"), "Bjo\u0308rk"),
        (("Li", "name"), "Li"),
        (("Rose", "name"), "rose"),
        (("JD", "initials"), "J.D."),
        (("J.D.", "initials"), "JD"),
        (("JD", "initials"), "jd"),
        (("IV", "initials"), "IV"),
        (("RD-123456", "number"), "rd 123 456"),
        (("RD-123456", "number"), "123456"),
        (("RD-123456", "number"), "MRN123456x"),
        (("00123456", "number"), "123456"),
        (("+44 20 7946 0123", "phone"), "020 7946 0123"),
        (("+44 20 7946 0123", "phone"), "7946-0123"),
        (("+44 20 7946 0123", "phone"), "(0044) 20-79460123"),
        (("a.okonkwo@mail.invalid", "email"), "A.Okonkwo@mail.invalid"),
        (("a.okonkwo@mail.invalid", "email"), "aokonkwo"),
        (("12 Harrow Lane", "address"), "12, harrow lane"),
        (("12 Northmoor Lane", "address"), "Northmoor"),
        (("Northmoor Clinic", "organisation"), "northmoor\nclinic"),
        (("20 12 99", "other"), "201299"),
        (("Amara Okonkwo", "other"), "Okonkwo"),
    ],
)
def test_other_spellings_are_found(known, text):
    assert found(f"it was {text} there", known) == tokenize(text).words


@pytest.mark.parametrize(
    "text",
    [
        "12 May 1980",
        "12 MAY 80",
        "May 12, 1980",
        "12th of May 1980",
        "twelfth of May 1980",
        "12/05/1980",
        "5/12/80",
        "1980-05-12",
        "12.05.1980",
        "12MAY1980",
        "19800512",
        "12 de mayo de 1980",
        "12 May",
        "May 12th",
    ],
)
def test_days_are_found_in_other_formats(text):
    assert found(f"born {text} there", ("19800512", "date")) == tokenize(text).words


@pytest.mark.parametrize(
    ("known", "text"),
    [
        (NAME, "an amaranth, a kimono"),
        (("Rose Okonkwo", "name"), "a rose rash"),
        (("Ferer", "name"), "with fever"),
        (("Dahl", "name"), "a dahlia, a Dali"),
        (("JD", "initials"), "a J and a D"),
        (("Ingrid Vantongeren", "name"), "given IV"),
        (("Li", "name"), "li"),
        (("19800512", "date"), "5 mg 12 times, 80 kg, lab values 5, 12, 80"),
        (("19800512", "date"), "12 April 1980"),
        (("+44 20 7946 0123", "phone"), "20 mg"),
        (("12", "number"), "12 mg"),
        (("12 Harrow Lane", "address"), "a lane, a street"),
    ],
)
def test_other_words_are_spared(known, text):
    assert found(text, known) == []


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        ("will head was ill", ["will", "head"]),
        ("the reporter said will had taken it", ["will"]),
        ("told will to stop and head to wait", ["will", "head"]),
        ("head felt ill. will's rash", ["head", "will"]),
        ("d/w will, dr. head agreed", ["will", "head"]),
        ("Heads husband; Will the rash go", ["Heads", "Will"]),
        ("the head was red, it will stop; her head hurts", []),
        ("will stop. Will stop", ["Will"]),
        ("the heads of all", []),
    ],
)
def test_parts_of_a_known_name_that_are_words_are_masked_where_they_may_be_the_person(text, masked):
    assert found(text, ("Will Head", "name")) == masked


def test_a_town_of_four_letters_is_found_with_a_capital():
    assert found("from Bath, had a bath", ("12 Harrow Lane, Bath", "address")) == ["Bath"]


def test_a_common_word_in_capitals_is_masked_for_its_likeness():
    assert found("Mr. Baker came; the baker left", ("Bakar", "name")) == ["Baker"]


def test_derived_initials_that_are_a_word_are_masked_where_they_stand_as_initials():
    assert found("initials IV, given IV", ("Ingrid Vantongeren", "name")) == ["IV"]


def test_nothing_known_finds_nothing():
    assert not KnownIdentifiers([])
    assert found("Okonkwo") == []


def test_repr_shows_no_value():
    assert "Okonkwo" not in repr(KnownIdentifiers(["Okonkwo"]))
    assert "Okonkwo" not in repr(KnownIdentifier("Okonkwo"))


@pytest.mark.parametrize(
    ("first", "second", "n_typos"),
    [
        ("okonkwo", "okonkwo", 0),
        ("okonkwo", "okonkow", 1),
        ("okonkwo", "okonko", 1),
        ("lindqvist", "lidnqvits", 2),
    ],
)
def test_the_reference_counts_typos(first, second, n_typos):
    assert is_within(first, second, n_typos)
    assert n_typos == 0 or not is_within(first, second, n_typos - 1)


def test_near_names_agree_with_holding_each_against_each():
    names = ["okonkwo", "lindqvist", "berger", "featherstone"]
    words = [
        w[:i] + c + w[j:] for w in names for i in range(len(w)) for j in (i, i + 1, i + 2) for c in ("", "q")
    ]
    near = NearNames(names)
    for word in {*words, *(a + b for a in words[:40] for b in ("x", "xy"))}:
        assert near.near(word) == any(is_within(word, name, count_allowed_typos(name)) for name in names), (
            word
        )
