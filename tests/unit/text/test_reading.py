"""The reading of a text: what is joined, what is mended, what stays as it is written."""

import pytest

from inverse_deid.text.reading import read_text
from inverse_deid.text.tokenizer import tokenize

WORDS = {
    "patient", "pa", "headache", "head", "ache", "follow", "up", "the", "was", "doctor", "well", "known", "whitfield",
    "smith", "jones", "rash", "rest", "at", "home",
}  # fmt: skip


def read(text):
    reading = read_text(text, lambda word: word.lower() in WORDS)
    return text if reading is None else reading.text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("the pa-\ntient was well", "the patient was well"),
        ("the pa-\r\n   tient was well", "the patient was well"),
        ("a head-\nache", "a headache"),
        ("a follow-\nup", "a follow-up"),
        ("well-\nknown", "well-known"),
        ("Whit-\nfield", "Whitfield"),
        ("Okon-\nkwo", "Okonkwo"),
        ("WHIT-\nFIELD", "WHITFIELD"),
        ("Smith-\nJones", "Smith-Jones"),
        ("the-\n doctor", "the doctor"),
        ("the pa-\ntient saw-\n Dr. Li", "the patient saw Dr. Li"),
        ("a rash-\n. Rest", "a rash. Rest"),
        ("covid-\n19", "covid-19"),
    ],
)
def test_a_word_broken_at_the_end_of_a_line(text, expected):
    assert read(text) == expected


@pytest.mark.parametrize(
    "text", ["rash-\n\nRest", "rash -\nrest", "1-\n2", "rash-\n- rest", "rash-", "-\n", ""]
)
def test_what_is_no_broken_word_stays(text):
    assert read(text) == text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("MÃ¼ller and JosÃ©", "Müller and José"),
        ("KovaÅ¡eviÄ‡", "Kovašević"),
        ("the patientâ€™s arm", "the patient’s arm"),
        ("â€œwellâ€\ufffd", "“well”"),
        ("38Â°C, 5 Âµg", "38°C, 5 µg"),
        ("the patientâ\x80\x99s arm", "the patient’s arm"),
        ("twice: Ã¢â‚¬â„¢s", "twice: ’s"),
        ("Okâ€\ufffdonkwo", "Ok\ufffdonkwo"),  # a character that may not leave: both halves are masked
        ("Jos\u00c3\u00a9 has a pa-\ntientâ€™s rash", "José has a patient’s rash"),
    ],
)
def test_utf_8_that_was_read_in_another_encoding(text, expected):
    assert read(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "Müller “well” …”",
        "Señor Ñuñez, naïve café",
        "20°–25°",
        "日本語",
        "\x81\x81",
        "\u00c8\x80\x99\x99\x98",
    ],
)
def test_what_is_encoded_well_or_cannot_be_told_stays(text):
    assert read(text) == text


WRAPPED = (
    "The woman came to the ward at night with a rash on both\n"
    "arms that had begun two days after the second dose and\n"
    "went away within a week of rest at home without any drug\n"
    "or cream. She was seen again.\n\n"
    "Drug: aspirin\nDose: 100 mg\n"
)


def test_lines_cut_at_a_width_are_joined_and_others_are_not():
    head, _, tail = read(WRAPPED).partition("again.")
    assert "\n" not in head
    assert tail == "\n\nDrug: aspirin\nDose: 100 mg\n"
    notes = "Rash\non both arms\nsince Monday\nno fever\n"
    assert read(notes) == notes
    table = "\n".join(
        ["- a line of a list that is as long as the others are", "  and another of them there"] * 4
    )
    assert read(table).count("\n-") == 3


def test_offsets_lead_to_all_that_a_token_replaced():
    text = "MÃ¼ller pa-\ntient"
    reading = read_text(text, {"patient"}.__contains__)
    tokens = tokenize(reading.text)
    starts, ends = reading.originals(tokens)
    assert [text[a:b] for a, b in zip(starts, ends, strict=True)] == ["MÃ¼ller", "pa-\ntient"]
