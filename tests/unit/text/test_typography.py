"""What typography reads as: spaces, marks that nobody sees, lowered and raised signs."""

import pytest

from inverse_deid.text.reading import read_text
from inverse_deid.text.rendering import INVISIBLE_MARKS, LINE_SEPARATORS, TYPOGRAPHIC_SPACES
from inverse_deid.text.tokenizer import tokenize

SAFE = {"rash", "tablet", "tab", "let", "100mg", "spo2"}


def read(text):
    reading = read_text(text, lambda word: False, lambda word: word.lower() in SAFE)
    return text if reading is None else reading.text


@pytest.mark.parametrize("space", TYPOGRAPHIC_SPACES)
def test_every_space_reads_as_a_space(space):
    assert read(f"rash{space}100{space}{space}mg") == "rash 100  mg"


@pytest.mark.parametrize("separator", LINE_SEPARATORS)
def test_every_separator_of_lines_reads_as_the_end_of_a_line(separator):
    assert read(f"rash{separator}Tablet") == "rash\nTablet"


@pytest.mark.parametrize("mark", sorted(INVISIBLE_MARKS))
def test_marks_in_and_beside_safe_words_are_not_read(mark):
    assert read(f"{mark}rash{mark} ta{mark}b{mark}let, {mark} 5{mark} 100{mark}mg") == "rash tablet,  5 100mg"


@pytest.mark.parametrize(
    "text", ["Ok\u00adonkwo", "\u200eokonkwo", "4\u200b2", "rash\u200btablet", "a\u202eb"]
)
def test_marks_in_other_words_stay(text):
    assert read(text) == text


@pytest.mark.parametrize("end", ["\u00ad\n", "\u00ad\r\n", "\u00ad\n   "])
def test_a_soft_hyphen_at_the_end_of_a_line(end):
    assert read(f"a tab{end}let") == "a tablet"
    assert read(f"a Whit{end}field") == f"a Whit{end}field"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("SpO₂, FEV₁, HCO₃⁻, CD4⁺, Ca²⁺", "SpO2, FEV1, HCO3-, CD4+, Ca2+"),
        ("10⁹/L, 10¹²/L, 2⁸, 10^9/L", "10e9/L, 10e12/L, 2^8, 10e9/L"),
        ("kg/m², 10⁻³", "kg/m2, 10-3"),
        ("110^9 and 10^900", "110^9 and 10^900"),
    ],
)
def test_lowered_and_raised_signs(text, expected):
    assert read(text) == expected


def test_a_later_reading_leaves_an_earlier_one_alone():
    assert read("MÃ¼ller:\u2003ra\u00adsh Â°") == "Müller: rash °"


def test_offsets_lead_to_the_marks_inside_a_word_and_not_to_those_beside_it():
    text = "\u200erash\u200e ta\u00adblet"
    reading = read_text(text, lambda word: False, SAFE.__contains__)
    tokens = tokenize(reading.text)
    assert [array.tolist() for array in reading.originals(tokens)] == [[1, 7], [5, 14]]
    assert reading.unseen() == [0, 5, 9]
