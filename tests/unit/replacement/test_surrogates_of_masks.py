from __future__ import annotations

import re

import pytest

from inverse_deid.core.errors import ConfigurationError
from inverse_deid.core.phi import HyperClass
from inverse_deid.lexicon import WordFlag, load_lexicon
from inverse_deid.replacement.surrogates.faker_names import load_surrogate_names
from inverse_deid.replacement.surrogates.keyed import CaseSurrogates
from inverse_deid.replacement.surrogates.numbers import is_issued_ssn, is_valid_somewhere
from inverse_deid.text.matching import fold

KEY = b"an invented key of 27 bytes"
NAME, PLACE, CONTACT, ID, JOB = (
    HyperClass.NAME,
    HyperClass.PLACE,
    HyperClass.CONTACT,
    HyperClass.ID,
    HyperClass.PROFESSION,
)


def surrogates(*values: str, key: bytes = KEY, case: str = "case-1", kept: str = "") -> CaseSurrogates:
    return CaseSurrogates(key, case, values, kept=[kept])


def test_all_forms_of_a_name_agree():
    case = surrogates("Johanna Fenwick", "Fenwick")
    given, surname = case.replacement("Johanna Fenwick", NAME).split()
    expected = {
        "Fenwick": surname,
        "FENWICK": surname.upper(),
        "Fenwick's": f"{surname}'s",
        "FENWICK, Johanna": f"{surname.upper()}, {given}",
        "J. Fenwick": f"{given[0]}. {surname}",
        "J.F.": f"{given[0]}.{surname[0]}.",
        "JF": given[0] + surname[0],
        "johanna": given.lower(),
        "Mrs Fenwick": f"Mrs {surname}",
    }
    assert {text: case.replacement(text, NAME) for text in expected} == expected


def test_accents_do_not_make_another_person():
    case = surrogates("José", "Jose")
    assert case.replacement("José", NAME) == case.replacement("Jose", NAME)


@pytest.mark.parametrize(("name", "sex"), [("Margaret", "female"), ("Gerald", "male")])
def test_the_sex_of_the_given_name_stays(name, sex):
    given = [
        surrogates(f"{name} Fenwick", case=f"case-{n}").replacement(f"{name} Fenwick", NAME).split()[0]
        for n in range(20)
    ]
    assert {load_surrogate_names().sexes[fold(one)] for one in given} == {sex}


def test_a_place_and_what_is_named_after_it_agree():
    case = surrogates("12 Mill Street", "Mill St")
    number, stem, _ = case.replacement("12 Mill Street", PLACE).split()
    assert number != "12"
    assert case.replacement("Mill St", PLACE).split()[0] == stem
    assert case.replacement("MILL STREET", PLACE).split()[0] == stem.upper()


@pytest.mark.parametrize(
    ("text", "category", "shape"),
    [
        ("617-555-1234", CONTACT, r"[2-9]\d\d-555-01\d\d"),
        ("+44 7911 123456", CONTACT, r"\+44 7700 900\d{3}"),
        ("+1 800 555 1234", CONTACT, r"\+1 [2-9]\d\d 555 01\d\d"),
        ("617-555-1234 x4", CONTACT, r"[2-9]\d\d-555-01\d\d x\d"),
        ("+33 6 12 34 56 78", CONTACT, r"\+33 6 39 98 \d\d \d\d"),
        ("01 44 12 34 56", CONTACT, r"0(1 99 00|2 61 91|3 53 01|4 65 71|5 36 49) \d\d \d\d"),
        ("+61 412 345 678", CONTACT, r"\+61 491 57\d \d{3}"),
        ("(08) 9123 4567", CONTACT, r"\(0[2378]\) (5550|7010) \d{4}"),
        ("ann.fenwick7@clinic.test", CONTACT, r"[a-z]{3}\.[a-z]{7}\d@[a-z]{7}\.example\.org"),
        ("https://clinic.test/p/77", CONTACT, r"https://[a-z]{7}\.example\.org/[a-z]/\d\d"),
        ("10.1.2.3", CONTACT, r"(192\.0\.2|198\.51\.100|203\.0\.113)\.\d+"),
        ("MRN 458213", ID, r"MRN \d{6}"),
        ("AB-12345/7", ID, r"[A-Z]{2}-\d{5}/\d"),
        ("123-45-6789", ID, r"(000|666)-\d\d-\d{4}"),
        ("jfenwick92", NAME, r"[a-z]{8}\d\d"),
        ("Fenwick 617-555-1234", NAME, r"[A-Z][a-z]+ [2-9]\d\d-555-01\d\d"),
        ("02139", PLACE, r"\d{5}"),
        ("Torrhaven", PLACE, r"[A-Z][a-z]+"),
        ("of Torrhaven", PLACE, r"of [A-Z][a-z]+"),
        ("12B Mill Street", PLACE, r"[1-9]{2}[A-Z] [A-Z][a-z]+ [A-Z][a-z]+"),
        ("Ann Fenwick, Ph.D", NAME, r"[A-Z][a-z]+ [A-Z][a-z]+, Ph\.D"),
        ("Torrhaven MA 02139", PLACE, r"[A-Z][a-z]+ [A-Z]{2} \d{5}"),
        ("Northmoor Clinic", PLACE, r"[A-Z][a-z]+ [A-Z][a-z]+"),
        ("Birkenweg 4", PLACE, r"[A-Z][a-z]+weg [1-9]"),
        ("teachers", JOB, r"[a-z ]+s"),
    ],
)
def test_the_shape_stays(text, category, shape):
    found = surrogates(text).replacement(text, category)
    assert found is not None
    assert re.fullmatch(shape, found)
    assert found != text


@pytest.mark.parametrize(
    ("text", "category"),
    [
        ("12 March 2019", HyperClass.DATE),
        ("47", HyperClass.AGE),
        ("Fenwick", HyperClass.SAFE),
        ("400 mg", ID),
        ("2019-03-04", ID),
        ("20190304", ID),
        ("12/03/2019", CONTACT),
        ("Fenwick took 40", NAME),
        ("JohnFenwick", NAME),
        ("zqxv", NAME),
        ("B", NAME),
        ("Dr", NAME),
        ("Фенвик", NAME),
        ("rash", JOB),
        ("the hospital", PLACE),
        ("Irish", PLACE),
        ("Unit", PLACE),
        ("45\u00b28213", ID),
        ("12", ID),
        ("", NAME),
        ("x" * 500, NAME),
    ],
)
def test_what_is_not_understood_keeps_its_marker(text, category):
    assert surrogates(text).replacement(text, category) is None


def test_the_same_key_and_case_give_the_same():
    first, second = surrogates("Ann Fenwick"), surrogates("Ann Fenwick")
    assert first.replacement("Ann Fenwick", NAME) == second.replacement("Ann Fenwick", NAME)


def test_another_key_or_case_gives_others():
    names = {
        surrogates("Ann Fenwick", key=key, case=case).replacement("Ann Fenwick", NAME)
        for key, case in [(KEY, "1"), (KEY, "2"), (KEY + b"x", "1")]
    }
    assert len(names) == 3


@pytest.mark.parametrize(
    "number", ["617-555-1234", "+1 617 555 1234", "1 617 555 1234", "011 44 7911 123456", "6175551234"]
)
def test_no_fictional_number_has_the_area_code_of_a_service(number):
    found = [surrogates(case=f"case-{n}").replacement(number, CONTACT) for n in range(60)]
    for one in found:
        digits = "".join(filter(str.isdecimal, one))
        area = digits[-10:-7]
        assert digits[-10:].startswith("7700900") or (area[0] not in "01" and area[1] != area[2])


def test_no_telephone_number_is_a_real_one_without_the_code_of_its_country():
    real = [f"+44 7700 900{n:03}" for n in range(990)]
    found = [surrogates(*real, case=f"case-{n}").replacement("07911 123456", CONTACT) for n in range(10)]
    assert all(one is None or one >= "07700 900990" for one in found)
    assert any(found)


def test_a_label_that_names_somebody_is_not_kept():
    assert surrogates("Case 458213").replacement("Case 458213", ID).startswith("Case ")
    assert surrogates("Ann Case", "Case 458213").replacement("Case 458213", ID) is None


def test_no_name_is_like_a_real_one():
    first = surrogates("Fenwick").replacement("Fenwick", NAME)
    for like in (first[:-1], f"{first}e", first[0] + first[2] + first[1] + first[3:], f"{first}son"):
        again = surrogates("Fenwick", like).replacement("Fenwick", NAME)
        assert again not in (None, first), "one slip of the pen lies between them"


def test_no_house_number_is_a_real_one_however_many_there_are():
    real = [f"{n} Mill Street" for n in range(1, 10)]
    case = surrogates(*real)
    found = [case.replacement(text, PLACE).split()[0] for text in real]
    assert len(set(found)) == 9
    assert not set(found) & {text.split()[0] for text in real}


def test_no_name_is_a_word_of_the_kept_text():
    first = surrogates("Fenwick").replacement("Fenwick", NAME)
    second = surrogates("Fenwick", kept=f"the sign of {first}").replacement("Fenwick", NAME)
    assert second not in (None, first)
    in_lower_case = surrogates("Fenwick", kept=f"the sign of {first.lower()}").replacement("Fenwick", NAME)
    assert in_lower_case == first, "a name may be an ordinary word of the text, as real names are"


@pytest.mark.parametrize(
    "others", [(), ("Mrs Johanna Fenwick",), ("Dr Fenwick", "O'Dowd"), ("Fenwick, Johanna",)]
)
def test_a_word_has_one_surrogate_whatever_else_its_row_has(others):
    alone = {word: surrogates(word).replacement(word, NAME) for word in ("Johanna", "Fenwick")}
    row = surrogates(*others, "Johanna", "Fenwick")
    assert {word: row.replacement(word, NAME) for word in alone} == alone
    assert surrogates("Fenwick", *others).replacement("Fenwick", PLACE) == alone["Fenwick"], (
        "taken for a town"
    )


def test_rows_of_a_case_rarely_disagree():
    """Where a name resembles another one of its row, the next is taken, which another row need not do."""
    given, family = (
        ("Johanna", "Amara", "Alex", "Rose", "John"),
        ("Okoro", "Garcia", "Brown", "James", "Head"),
    )
    n_words = n_twofold = 0
    for n in range(40):
        found: dict[str, set[str]] = {}
        for i, one in enumerate(given):
            for other in (family[i], family[i - 1]):
                whole = surrogates(f"{one} {other}", other, case=f"case-{n}").replacement(
                    f"{one} {other}", NAME
                )
                for word, made in zip((one, other), whole.split(), strict=True):
                    found.setdefault(word, set()).add(made)
        n_words += len(found)
        n_twofold += sum(len(made) > 1 for made in found.values())
    assert n_twofold <= 0.02 * n_words


def test_made_up_names_are_ordinary_words_as_often_as_names_are():
    """Of the surnames of the United States, weighted by their bearers, 13 % are everyday words."""
    lexicon = load_lexicon()
    found = [surrogates("Ann Okoro", case=f"case-{n}").replacement("Ann Okoro", NAME) for n in range(400)]
    words = [name.split() for name in found]
    common = [
        [bool(lexicon.flags(word.lower()) & WordFlag.COMMON_ENGLISH) for word in pair] for pair in words
    ]
    shares = [sum(column) / len(found) for column in zip(*common, strict=True)]
    assert all(0.04 < share < 0.3 for share in shares), shares


@pytest.mark.parametrize(
    "word", ["Rose", "Hope", "Mark", "Hand", "Will", "Grant", "Page", "Head", "Bath", "Wilson"]
)
def test_names_that_are_words_can_be_drawn(word):
    names = load_surrogate_names()
    pools = [*names.given.values(), names.surnames]
    assert any(word in pool[word[0].lower()] for pool in pools)


def test_no_made_up_name_changes_what_a_text_says_of_a_person():
    names = load_surrogate_names()
    every = {
        name for pool in (*names.given.values(), names.surnames) for some in pool.values() for name in some
    }
    assert not every & {"Male", "Female", "Baby", "Doctor", "Rash", "Pain"}


def test_spaces_and_possessives_stay_around_a_surrogate():
    case = surrogates("Fenwick")
    name = case.replacement("Fenwick", NAME)
    assert case.replacement(" Fenwick's", NAME) == f" {name}'s"


@pytest.mark.parametrize(("key", "case"), [(b"short", "1"), (KEY, "")])
def test_a_short_key_or_no_id_is_refused(key, case):
    with pytest.raises(ConfigurationError):
        CaseSurrogates(key, case, [])


@pytest.mark.parametrize(
    "number",
    ["4111111111111111", "9434765919", "111222333", "529.982.247-25", "44051401359", "12345678Z",
     "GB82 WEST 1234 5698 7654 32", "255081416802538", "1234567893"],
)  # fmt: skip
def test_numbers_with_a_right_check_digit_are_known(number):
    assert is_valid_somewhere(number)


def test_identifiers_never_have_a_right_check_digit():
    case = surrogates()
    for n in range(60):
        found = case.replacement(f"94347659{n:02}", ID)
        assert found is not None
        assert not is_valid_somewhere(found)
        assert not is_issued_ssn(found)
