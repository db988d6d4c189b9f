"""What counts as a name in disguise, and that the search for them takes linear time."""

import pytest

from inverse_deid.lexicon import load_lexicon
from inverse_deid.rules.analysis import FEATURE_NAMES, RuleAnalyser
from inverse_deid.rules.disguised_words import disguised_words
from inverse_deid.text.interning import InternedWords
from inverse_deid.text.tokenizer import tokenize


@pytest.fixture(scope="module")
def lexicon():
    return load_lexicon()


@pytest.fixture(scope="module")
def analyser(lexicon):
    return RuleAnalyser(lexicon, InternedWords())


def vetoed(analyser, text):
    tokens = tokenize(text)
    veto = analyser.analyse(tokens).verdicts.veto
    return [word for word, chosen in zip(tokens.words, veto, strict=True) if chosen]


@pytest.mark.parametrize(
    "word",
    [
        "reporterPetrovic",
        "drOkonkwo",
        "drokonkwo",
        "SmithMD",
        "0k0nkw0",
        "5m1th",
        "T2tvbmt3byBKb2hu",
        "4f6b6f6e6b776f",
    ],
)
def test_words_that_hide_a_name(lexicon, word):
    assert disguised_words([word], lexicon).all()


@pytest.mark.parametrize(
    "word",
    [
        "reporter",
        "patientreported",
        "PatientReported",
        "HbA1c",
        "CYP3A4",
        "50mg",
        "q4hours",
        "at7pm",
        "her4th",
        "GlaxoSmithKline",
        "Stemetil",
    ],
)
def test_words_that_hide_nothing(lexicon, word):
    assert not disguised_words([word], lexicon).any()


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("the Smi\u200bth\u00ad rash", ["Smi", "th"]),
        ("O&#39;Brien and patient&#39;s arm", ["O", "39", "Brien"]),
        ("John%20Okonkwo took 10%20 of", ["John", "20Okonkwo"]),
        ("Jos=E9 had HR=80bpm", ["Jos", "E9"]),
        ("rash<br>fever, Ok<br>onkwo", ["Ok", "br", "onkwo"]),
        ("k.i.m and q.i.d. and p.o. b.i.d.", ["k", "i", "m"]),
        ("S/m/i/th S/P N/V/D A/C/Y/W", ["S", "m", "i", "th"]),
        ("Okonk/wo and/or rash/fever", ["Okonk", "wo"]),
        ("Will's rash, Bell's palsy, Parkinson's and", ["Will"]),
    ],
)
def test_what_is_vetoed(analyser, text, found):
    assert vetoed(analyser, text) == found


def test_the_network_is_not_told(analyser):
    tokens = tokenize("Ok&#111;nkwo, gmail: okonkwojohn")
    column = FEATURE_NAMES.index("in-veto-pattern")
    assert not analyser.analyse(tokens).features[:, column].any()


@pytest.mark.parametrize(
    "unit",
    [
        "&#1",
        "&#111;a",
        "&beta;",
        "<a ",
        "<!--a",
        "rash<b>",
        "%4F",
        "=41a",
        "\\u006",
        "a@",
        "a(b)",
        "S/m/i ",
        "a's ",
        "U+",
    ],
)
def test_long_runs_take_linear_time(analyser, unit):
    text = unit * (100_000 // len(unit))
    assert len(analyser.analyse(tokenize(text)).verdicts.veto)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Birth year 54. Dose 3 October 2019.", ["54", "3", "2019"]),
        ("Year of birth 54.", ["54"]),
        ("Patient with year of birth 54 had rash", ["54"]),
        ("Birth yr 62. Rash.", ["62"]),
        ("YOB 54", ["54"]),
        ("Y.O.B.: '54", ["54"]),
        ("YOB54", ["YOB54"]),
        ("birth_year=1954", ["1954"]),
        ("year-of-birth was 54, a man", ["54"]),
        ("She was born in 54 in town", ["54"]),
        ("yr of birth (62)", ["62"]),
        ("a year of birth control 54 mg", []),
        ("a 5 year old born at 37 weeks", []),
    ],
)
def test_a_year_of_birth_of_two_digits_is_vetoed(analyser, text, found):
    assert [word for word in vetoed(analyser, text) if any(map(str.isdigit, word))] == found
