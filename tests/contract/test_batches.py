"""What is found in a batch is what is found in each document alone: masks, scores and reasons to the bit."""

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from identifier_examples import EXAMPLES

from inverse_deid.core.values import Document
from inverse_deid.masking.assemble import MaskingSettings, build_deidentifier
from inverse_deid.rules.patterns.anchors import pattern_hits, select_span
from inverse_deid.rules.patterns.facts import CERTAIN_PATTERNS, FACT_ANCHORS, SILENT_FACT_PATTERNS
from inverse_deid.rules.patterns.search import (
    ANCHORS,
    CONTEXT_PATTERNS,
    FACT_PATTERNS,
    PLAIN_WORDS,
    SIGNS,
    SILENT_VETO_PATTERNS,
    VETO_PATTERNS,
    pattern_search,
)
from inverse_deid.text.interning import InternedWords
from inverse_deid.text.tokenizer import join, tokenize, tokenize_many

PATTERNS = {
    **VETO_PATTERNS,
    **SILENT_VETO_PATTERNS,
    **CONTEXT_PATTERNS,
    **FACT_PATTERNS,
    **CERTAIN_PATTERNS,
    **SILENT_FACT_PATTERNS,
}
PIECES = [
    "ALT 6033 U/L",
    "AST/ALT 812/633",
    "gamma-GT",
    "NT-proBNP",
    "ck",
    "K",
    "Na | 118",
    "CRP rose to 412",
    "LDH 812, AST 633",
    "urea\t9.1\tmmol/L",
    "633 U/L (7-56)",
    "normal range: 7 - 56",
    "(ref 39-308)",
    "Test: ALT. Result: 633. Unit: U/L. Flag: H",
    "\nTest\tResult\tUnit\n",
    "Apgars",
    "9 and 10",
    "at 38+4 weeks",
    "38w3d",
    "gestation",
    "8 o'clock",
    "8oclock",
    "eight o\u2019clock",
    "PMID: 31234567",
    "PMC6543210",
    "two and a half tablets",
    "Sex: F",
    "\nSex\tRace\n",
    "N/A",
    "Yasmin (drospirenone)",
    "Diane-35",
    "Alli 60 mg daily",
    "at 0830, ",
    "12",
    "3",
    "lot no: 4471B, UE441",
    "batch/lot",
    "PT Fever (10016558)",
    "MedDRA LLT code: 10016558",
    "preferred term: ",
    "WHO-UMC",
    "not related",
    "de-challenge was positive",
    "day +7",
    "POD4",
    "D3",
    "2nd dose",
    "x 3 days",
    "x2wks",
    "eleven days after",
    "pain 7/10",
    "27/30",
    "(3.5-5.0)",
    "10-20 mg",
    "for 3/7",
    "in 2/52",
    "bp 90/60",
    "T 38.9",
    "36.8 C",
    "at 10:30",
    "0930 hrs",
    "7 pm",
    "2021",
    "1998",
    "'98",
    "’07",
    "120/80",
    "7/10",
    "12/03/2019",
    "2021-03-14",
    "3.14",
    "14MAR97",
    "14MAR",
    "MAR97",
    "mar",
    "14",
    "March",
    "May",
    "3rd",
    "may5,2020",
    "é12mar2020",
    "_12mar20",
    "1_2/3/2021",
    "555-013-7788",
    "(555)",
    "013-7788",
    "+44",
    "20",
    "7946",
    "0999",
    "123-45-6789",
    "a123-45-6789",
    "10.0.0.1",
    "a1.2.3.4",
    "fe80:0:0:1:2:3",
    "00:1b:44:11:3a:b7",
    "ann@x.example",
    "@ann",
    "ann(at)x.example",
    "ann[AT]x[dot]org",
    "a",
    "@",
    "b.de",
    "www.x.example",
    "http://x",
    "x.co.uk",
    "HTTPS://Y",
    "name=Ann",
    "1name=Li",
    "_email",
    "=",
    "x;",
    "age:",
    "MRN:",
    "12-34",
    "s/n:A1",
    "no.",
    "7",
    "hosp",
    "no:",
    "12",
    "case",
    "id",
    "123",
    "patient:",
    "X1/2",
    "tel",
    "555",
    "0137",
    "fax:(0)123-4567",
    "dob",
    "3/4/61",
    "d.o.b.",
    "May",
    "born",
    "on",
    "Ash",
    "Wednesday",
    "aged45",
    "age",
    "43",
    "43-year-old",
    "43yo",
    "7",
    "m/o",
    "5",
    "mg",
    "5.0-7.5mg/kg",
    "3days",
    "two",
    "weeks",
    "oneday",
    "10:30",
    "10h30",
    "5",
    "pm",
    "SW1A",
    "1AA",
    "TX",
    "75001",
    "K1A",
    "0B1",
    "AB-12/C3",
    "X/9",
    "Mr.",
    "Dr",
    "Okonkwo",
    "New",
    "York",
    "city",
    "Christmas",
    "Day",
    ".",
    "..",
    ",",
    ";",
    "(",
    ")",
    "/",
    "-",
    ":",
    "=",
    "'",
    "’",
    "\u200b",
    "٠١",
    "ſeb",
    "İ",
    "K",
    "Plan:",
    "THE",
    "RASH",
    "WAS",
    "RED",
    "rash",
    "Rash",
    "will",
    "Will",
    "Grace",
    "grace",
    "𝐀𝐁",
    "漢字",
    "h o p e",
    "ß",
    "□",
]
PIECES += [
    "12th day of the 4th month",
    "Julian 22-187",
    "aet. xcii",
    "the big nine-oh",
    "aged one hundred years and four months",
]
PIECES += [
    "dec appetite",
    "Dear Doctor,",
    "called 911",
    "999 was called",
    "Reporter: midwife.",
    "study nurse (Parent)",
    "after 4 days",
    "a few weeks later",
    "on the ninth morning",
    "post-op day 2",
    "pain was rated 3-4/10",
    "3/10 in severity",
    "grip 5/5",
    "the E.R.",
    "A&E",
    "SJS/TEN overlap",
    "PGY-4",
    "EMT-P",
    "\nD.9.1  ",
    "/ G.k.2.r  ",
]
PIECES += ["a 5ish girl", "short of forty", "Excel turned the onset into 44291"]
PIECES += ["3 May 2021", "3rd of March, 1998", "May 3, 2021", "mar/2020", "hosp no: 12", "New York City"]
PIECES += [
    "initials",
    "TO",
    "A.M.",
    "patient",
    "Dr.",
    "ninety",
    "one",
    "hundred",
    "two",
    "years",
    "centenarian",
    "XCII",
]
PIECES += [
    "gmail",
    "is",
    "user",
    "name",
    "insta",
    "j.doe9",
    "whats",
    "app",
    "[dot]",
    "(at)",
    "dot",
    "at",
    "[.]",
    "com",
]
PIECES += [
    "192[.]168[.]1[.]77",
    "patient TO had",
    "U+0041",
    "hxxp",
    "&#111;",
    "<b>",
    "</b>",
    "%4F",
    "=C3=A9",
    "\\u006f",
    "S/m/i/t/h",
    "P@tel",
    "$mith",
]
PIECES += ["birth", "year", "of", "birth year 54", "YOB", "year of birth: 62", "54"]
PIECES += ["Will's", "Oko", "nkwo", "\u00ad", "\u0301", "reporterPetrovic", "0k0nkw0"]
PIECES += ["passed the century", "will be one hundred", "FY22 P7", "W23, Tuesday", "2 0 2 1 - 0 3 - 0 4"]
PIECES += ["N&V", "H&P", *(text for text, _ in EXAMPLES.values())]
PIECES += [
    "iso week 7", "KW 41", "week 23/21", "in week 41", "day 285 of the year", "41st week of 2021", "end of May", "Q3 2021", "2021-W41-3",
    "2021-285", "2020/21", "210412", "excel date 44256", "boxing day", "Lent", "polling day", "half-term", "her", "40th birthday", "last",
    "summer", "the", "14th", "since the 14th.", "on the", "twenty-first", "third of", "May", "april", "in march", "on sat", "03 | 04 | 2021", "03_04_21",
    "O3/04/2021", "2k19", "in '19", "12.IX.2020", "3apr", "febuary 3", "5. mai", "mai 5", "oktober", "den 13", "fredag", "reiwa 3", "08:00 NPT",
    "UTC+05:45", "14:30+05:45", "Asia/Kathmandu", "nonagenarian", "hundredth", "in his 90s", "4,800 weeks", "94 yo", "born", "before the war",
    "age", "nine one", "tenth decade", "in her fifties", "turned 50", "pushing sixty", "she is 45.", "will be 45.", "three", "score and ten",
    "forty-ish", "6 months", "old", "M/45", "septuagenarian", "age: 45,", "aged", "90", "is",
]  # fmt: skip
SEPARATORS = ["", " ", " ", "  ", "\n", "\n\n", "\t", "-", "/", ".", ", ", "_"]
PIECES += [
    "ninety-two",
    "now a hundred",
    "nearly 70, deaf",
    "70+ and frail",
    "M63 with rash",
    "uke 12",
    "P03 FY21",
    "third of the fifth",
]
PIECES += ["0 4 / 0 5 / 2 0 1 9", "(04)(05)(19)", "c2014", "5 травня", "März 7"]
PIECES += [
    "week 12 visit", "cycle 2 day 8", "the 3rd percentile", "the fourth toe", "second, third and fifth toes", "an African American woman", "after 17 to24 hours", "5x10e9", "No. 4711", "№ 4711", "in-2019", "45 x 10^9/l", "5-HT3", "HLA-B27", "anti-Xa", "omega-3",
    "poor metaboliser", "12-lead", "24-hour Holter", "14 Fr urinary catheter", "ECOG performance status was 1", "p was 0.03", "Kaplan-Meier curve",
    "ST elevation", "in V2 to V4", "the LAD", "ANA titre", "R-CHOP cycle", "hazard ratio was 1.8", "95 % CI", "half-life was 9 h", "Cmax", "segment VI", "Group AB negative plasma", "G3P2 at 28 weeks", "hay fever", "worse in spring", "split in half", "burn mark",
]  # fmt: skip

TEXTS = st.lists(st.tuples(st.sampled_from(PIECES), st.sampled_from(SEPARATORS)), max_size=14).map(
    lambda pairs: "".join(map("".join, pairs))
)
DOCUMENTS = st.lists(TEXTS | st.text(max_size=12), max_size=5)


@pytest.fixture(scope="module")
def deidentifier():
    return build_deidentifier(MaskingSettings(n_threads=2))


def same(left, right):
    """Whether two masked documents, of which none failed, agree in everything, NaN included."""
    one, other = left.decisions, right.decisions
    columns = ("keep", "reasons", "p_safe", "thresholds", "categories")
    shown = [(masked.text, masked.masks, masked.replaced) for masked in (left, right)]
    return (
        not (left.failed or right.failed)
        and shown[0] == shown[1]
        and all(getattr(one, name).tobytes() == getattr(other, name).tobytes() for name in columns)
    )


@given(texts=DOCUMENTS)
def test_a_batch_masks_as_each_document_alone(deidentifier, texts):
    docs = [Document(str(i), text) for i, text in enumerate(texts)]
    together = deidentifier.mask_many(docs)
    assert all(same(masked, deidentifier.mask(doc)) for masked, doc in zip(together, docs, strict=True))


def test_long_and_short_documents_in_many_parts(deidentifier):
    text = "Mr. Okonkwo, a 43-year-old baker, took 40 mg on 12/03/2019 in New York and had a rash. "
    docs = [Document(str(n), text * n + " ".join(PIECES[: n % 9])) for n in (1, 90, 0, 3, 400, 1, 2, 41, 7)]
    together = deidentifier.mask_many(docs)
    assert not any(masked.failed for masked in together)
    assert [masked.id for masked in together] == [doc.id for doc in docs]
    assert all(same(masked, deidentifier.mask(doc)) for masked, doc in zip(together, docs, strict=True))


@given(texts=DOCUMENTS)
def test_anchors_miss_no_pattern(texts):
    docs = [tokenize(text) for text in texts]
    joined = join(docs)
    found = pattern_search().find(joined, pattern_search().anchor_bits(joined.words))
    for name, pattern in PATTERNS.items():
        plain = [touched(tokens, pattern, PLAIN_WORDS.get(name, frozenset())) for tokens in docs]
        assert found[name].tolist() == np.concatenate([np.zeros(0, bool), *plain]).tolist(), name


def touched(tokens, pattern, plain):
    """The tokens of the matches of a pattern, but the plain words at the ends of each."""
    if not plain:
        return pattern_hits(tokens, [pattern])[0]
    found = np.zeros(len(tokens), bool)
    for match in pattern.finditer(tokens.text):
        start, end = select_span(match)
        inside = np.flatnonzero((tokens.ends > start) & (tokens.starts < end)).tolist()
        telling = [i for i in inside if tokens.words[i].casefold() not in plain] or inside
        if telling:
            found[telling[0] : telling[-1] + 1] = True
    return found


@pytest.mark.parametrize("name", PATTERNS)
def test_every_pattern_stands_among_the_pieces(name):
    text = "\n".join([*PIECES, " ".join(PIECES)])
    assert PATTERNS[name].search(text), "give the test a piece that holds this pattern"


def test_every_pattern_has_an_anchor_or_a_sign():
    anchors = {**ANCHORS, **FACT_ANCHORS}
    assert set(anchors) == set(PATTERNS)
    assert all(anchors[name] or name in SIGNS for name in PATTERNS)


@given(texts=DOCUMENTS | st.lists(st.text()))
def test_texts_are_split_together_as_alone(texts):
    for one, other in zip(tokenize_many(texts), map(tokenize, texts), strict=True):
        assert (one.text, one.words) == (other.text, other.words)
        assert (one.starts.tolist(), one.ends.tolist()) == (other.starts.tolist(), other.ends.tolist())


def test_a_token_is_made_of_the_characters_that_python_calls_letters_and_digits():
    pattern = re.compile(r"[^\W_]")
    assert all((pattern.match(chr(c)) is not None) == chr(c).isalnum() for c in range(0x110000))


@pytest.mark.parametrize("capacity", [0, 4, 9])
def test_words_numbered_anew_change_nothing(deidentifier, capacity):
    docs = [
        Document("1", "Mrs. Lindqvist had a rash, a RASH and a fever"),
        Document("2", "fever on 3/4/2021, Fever and a rash in Paris"),
        Document("3", "Mr Okonkwo of Paris, 12 mg, had a rash"),
    ]
    before = [deidentifier.mask(doc) for doc in docs]
    interned = deidentifier._stages.between_batches.__self__
    assert isinstance(interned, InternedWords)
    usual, generation = interned._capacity, interned.generation
    interned._capacity = capacity
    try:
        for _ in range(3):
            assert all(map(same, before, [deidentifier.mask(doc) for doc in docs]))
        assert interned.generation > generation + 3
        assert all(map(same, before, deidentifier.mask_many(docs)))
    finally:
        interned._capacity = usual
