"""What counts as a name in disguise, and that the search for them takes linear time."""

import pytest
from test_linear_rules import processor_time

from inverse_deid.core.values import Reason
from inverse_deid.lexicon import load_lexicon
from inverse_deid.masking.combine import decide_without_network
from inverse_deid.masking.document_passes import PhraseList, apply_allow_list, mask_more
from inverse_deid.rules.analysis import FEATURE_NAMES, RuleAnalyser
from inverse_deid.rules.context import find_owners
from inverse_deid.rules.disguised_words import find_disguised_words
from inverse_deid.text.interning import InternedWords
from inverse_deid.text.tokenizer import join, tokenize


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
        "Gr4c3",
        "Sm1th",
        "W4rd",
        "K1ng",
        "H0pe",
        "B4nks",
        "Gr33n",
        "H0p3",
        "C00k",
        "B15h0p",
        "W1ll",
        "Ok0n0kw0",
        "hadPetrovic",
        "thePetrovic",
        "hadMargaret",
        "T2tvbmt3byBKb2hu",
        "4f6b6f6e6b776f",
    ],
)
def test_words_that_hide_a_name(lexicon, word):
    assert find_disguised_words([word], lexicon).all()


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
        "Her4th",
        "The1st",
        "May1st",
        "Day5",
        "Grade3",
        "Visit1",
        "Week12",
        "Dose2",
        "H1n1",
        "G1p0",
        "Covid19",
        "Brca1",
        "Type2a",
        "took50mg",
        "Ibup400mg",
        "X3days",
        "andTylenol",
        "theMMR",
        "andRash",
        "GlaxoSmithKline",
        "Stemetil",
    ],
)
def test_words_that_hide_nothing(lexicon, word):
    assert not find_disguised_words([word], lexicon).any()


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
        ("ibuprofen|400|mg|oral, 500|mg, ibuprofen_400_mg, amox*500*mg, dose~150~mg", []),
        ("dose[400]mg, {100}ml, 400|tabs|qam, 50mg|oral", []),
        ("The options A, B, C, D, E. hepatitis A, B, C, D, E and A, B, E. A.B.C.D.E. assessment", []),
        ("Patient ON oxygen. Pt AM labs pending. Patient IN ICU, Nurse AT bedside. Pt UP to date.", []),
        ("Pt ON warfarin. Dr ON call. Patient OR nurse. Patient TO be seen. Pt IN for labs", []),
        (
            "Patient ON had nausea. Patient (IN), Pt AT, and Nurse AM. Dr O.N. Pt OR",
            ["ON", "IN", "AT", "AM", "O", "N", "OR"],
        ),
    ],
)
def test_what_is_vetoed(analyser, text, found):
    assert vetoed(analyser, text) == found


PARTINGS = ["\u00b0", "\u2014", "=", "&", '"', "'", "?", ";", "\u2026", "**", "  ", "%", "-/-"]


@pytest.mark.parametrize("sign", PARTINGS)
def test_signs_that_part_a_name(analyser, sign):
    assert vetoed(analyser, f"Then Pet{sign}rovic fell and so did Bar{sign}tlett.") == [
        "Pet",
        "rovic",
        "Bar",
        "tlett",
    ]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("After amoxicillin O.k-o n/k.w-o had severe nausea.", list("Okonkwo")),
        ("Then S.m-i t/h fell.", list("Smith")),
        ("Then S.M-I T/H fell.", list("SMITH")),
        ("one p.o. t.i.d. for 10 days. P.o. b.i.d.", []),
        ("N/V, c/o n/v, s/p a C/S p.o. q.d. b.i.d. x 3 d", []),
        ("It's fine; she'll rest. Hodgkin's lymphoma, Parkinson's and; rash: none. C. Marsh   e-copy", []),
    ],
)
def test_letters_parted_by_several_signs(analyser, text, found):
    assert vetoed(analyser, text) == found


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Will's rash, Bell's palsy, Parkinson's and", ["Will"]),
        ("the Marks' arm, Graves' disease, Nurses' station, Parents' house, 'Marks' arm", ["Marks"]),
        ("Merck's product, Janssen's vaccine, Roche's antibody, Lilly's pill, Bayer's label", []),
        ("Dr Merck's product", ["Merck"]),
    ],
)
def test_who_owns(lexicon, text, found):
    tokens = join([tokenize(text)])
    chosen = find_owners(tokens, lexicon.lookup(tokens.words).flags)
    assert [word for word, owns in zip(tokens.words, chosen, strict=True) if owns] == found


@pytest.mark.parametrize(
    ("text", "kept"), [("Then Okonkwo's arm itched.", True), ("Then Dr Okonkwo's arm itched.", False)]
)
def test_the_allow_list_overrides_an_owner(analyser, text, kept):
    tokens = tokenize(text)
    verdicts = analyser.analyse(tokens).verdicts
    where = tokens.words.index("Okonkwo")
    assert verdicts.always_masked[where]
    nothing = mask_more(decide_without_network(verdicts), verdicts.always_masked, Reason.VETO_PATTERN)
    allowed = apply_allow_list(tokens, PhraseList(["Okonkwo"]), verdicts, nothing)
    assert allowed.keep[where] == kept


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
        "Aa;b;",
        "A.b-c/",
        "a.b-",
    ],
)
def test_long_runs_take_linear_time(analyser, unit):
    tokens = tokenize(unit * (30_000 // len(unit)))
    with processor_time(4):
        assert len(analyser.analyse(tokens).verdicts.veto) == len(tokens) > 0


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
        ("a child born at 37 weeks", []),
    ],
)
def test_a_year_of_birth_of_two_digits_is_vetoed(analyser, text, found):
    assert [word for word in vetoed(analyser, text) if any(map(str.isdigit, word))] == found
