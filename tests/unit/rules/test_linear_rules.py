"""No pattern, phrase list or known value costs the square of a text: limits that only a square exceeds."""

from __future__ import annotations

import re
import signal
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import pytest

from inverse_deid.core.values import Decisions, Reason, RuleVerdicts
from inverse_deid.lexicon import load_lexicon
from inverse_deid.masking.combine import decide_without_network
from inverse_deid.masking.document_passes import PhraseList, mask_names_everywhere
from inverse_deid.masking.kept_categories import mask_births_and_high_ages
from inverse_deid.masking.original_tokens import decide_on_original, hide_gaps
from inverse_deid.network.pieces import Vocabulary
from inverse_deid.replacement.dates.replacing import born_on
from inverse_deid.rules.known_identifiers import KnownIdentifiers
from inverse_deid.rules.misread_words import MisreadWords
from inverse_deid.rules.patterns.facts import CERTAIN_PATTERNS, SILENT_FACT_PATTERNS
from inverse_deid.rules.patterns.search import CONTEXT_PATTERNS, FACT_PATTERNS, VETO_PATTERNS
from inverse_deid.text.reading import read_text
from inverse_deid.text.tokenizer import join, tokenize

N_CHARS = 30_000
UNITS = (
    "a",
    "1",
    ".",
    "-",
    "/",
    "1/",
    "a-",
    "a ",
    "1 ",
    "a.",
    "1.",
    "a@",
    "birth",
    "no. ",
    "a1:",
    "_",
    "'",
    "pain ",
    "lot ",
    "PT a ",
    "no ",
    "related ",
    "7/10 ",
    "day ",
    "bp at ",
)
FACT_UNITS = (
    "alt ",
    "alt 1, ",
    "alt was ",
    "1 U/L ",
    "result: ",
    "test\t",
    "normal ",
    "apgar ",
    "apgar 9 and ",
    "32 weeks ",
    "gestation at ",
    "pmids ",
    "one and a half ",
    "half ",
    "sex,",
    "Yasmin ",
)
SECONDS = 4
SEARCHED_CHARS = 20_000
SECONDS_A_SEARCH = 0.5


class _TooSlowError(Exception):
    pass


@contextmanager
def processor_time(seconds: float) -> Iterator[None]:
    """Ends a block that takes far more processor time than a linear search does."""

    def ends(number: int, frame: object) -> None:
        raise _TooSlowError

    before = signal.signal(signal.SIGVTALRM, ends)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


@pytest.fixture(autouse=True)
def limit() -> Iterator[None]:
    with processor_time(SECONDS):
        yield


def search(pattern: re.Pattern[str], text: str) -> list[str]:
    """Return what a pattern finds; a search that costs the square of the text takes more than a second."""
    with processor_time(SECONDS_A_SEARCH):
        return [match[0] for match in pattern.finditer(text)]


def test_a_search_that_costs_the_square_of_its_text_is_ended() -> None:
    with pytest.raises(_TooSlowError):
        search(re.compile(r"\d+x"), "1" * 10 * SEARCHED_CHARS)  # a fast processor may end the tenth in time


CLOSED = CERTAIN_PATTERNS | SILENT_FACT_PATTERNS
PATTERNS = VETO_PATTERNS | CONTEXT_PATTERNS | FACT_PATTERNS | CLOSED


@pytest.mark.parametrize("name", PATTERNS)
def test_patterns(name: str) -> None:
    pattern = PATTERNS[name]
    for unit in UNITS:
        for end in ("x1", "!"):
            assert "" not in search(pattern, unit * (SEARCHED_CHARS // len(unit)) + end)


@pytest.mark.parametrize("name", CLOSED)
def test_patterns_of_closed_expressions(name: str) -> None:
    for unit in FACT_UNITS:
        for end in ("", "x1"):
            assert "" not in search(CLOSED[name], unit * (SEARCHED_CHARS // len(unit)) + end)


@pytest.mark.parametrize("unit", UNITS)
def test_known_values(unit: str) -> None:
    known = ["Amara A. Okonkwo", "+44 20 5550 1234", "a" * 900, "1" * 900, "a " * 99, "1 " * 99, "19620512"]
    tokens = tokenize(unit * (N_CHARS // len(unit)))
    assert len(KnownIdentifiers(known).among(tokens)) == len(tokens)


def test_names_that_are_nearly_the_words() -> None:
    signs = [chr(code) for code in range(0x430, 0x450)]
    names = [a + b + "abcdef" for a in signs for b in signs]
    words = tokenize(" ".join("abcdef" + a + b for a in signs for b in signs))
    assert not KnownIdentifiers(names).among(words).any()


def test_many_values_that_share_their_beginning() -> None:
    known = ["aaa " * 12 + f"a{n}" for n in range(350)]
    tokens = tokenize("aaa " * (N_CHARS // 4))
    assert not KnownIdentifiers(known).among(tokens).any()


def test_many_known_days() -> None:
    known = [
        f"{year}{month:02}{day:02}" for year in range(1990, 1997) for month in range(1, 13) for day in (1, 12)
    ]
    assert KnownIdentifiers(known).among(tokenize("12 May 1999 " * 5000)).any()


def test_phrases_that_share_their_beginning() -> None:
    phrases = ["a " * 20_000 + "b", *(f"a {n}" for n in range(30_000))]
    assert not PhraseList(phrases).among(tokenize("a " * 30_000)).any()


@pytest.mark.parametrize("unit", UNITS)
def test_births(unit: str) -> None:
    text = unit * (N_CHARS // len(unit))
    assert born_on(text, [(len(text) - 1, len(text))]) <= {0}
    spans = [(i, i + 1) for i in range(0, len(text), 7)]
    assert born_on(text, spans) <= set(range(len(spans)))


@pytest.mark.parametrize("word", ["e" * N_CHARS, "0" + "e" * N_CHARS])
def test_words_in_which_every_letter_may_be_misread(word: str) -> None:
    assert MisreadWords(load_lexicon()).meant(word) == ""


def test_a_reading_whose_words_all_belong_to_one_edit() -> None:
    reading = read_text("\u00c3\u00a9\u00c2\u00a0" * (2 * N_CHARS), lambda word: False)
    assert reading is not None
    read, tokens = tokenize(reading.text), tokenize(reading.original)
    decisions = decide_without_network(RuleVerdicts.silent(len(read)))
    assert not decide_on_original(reading, read, decisions, tokens).keep.any()
    assert hide_gaps(reading, read, decisions.keep, tokens)


def test_high_ages_in_a_masked_text() -> None:
    tokens = tokenize("95 " * N_CHARS)
    n, age = len(tokens), 4
    reasons = np.full(n, Reason.BELOW_THRESHOLD, np.uint8)
    reasons[0] = Reason.KEPT_CATEGORY
    scores = np.zeros(n, np.float32)
    decisions = Decisions(np.arange(n) == 0, reasons, scores, scores, np.full(n, age, np.uint8))
    assert not mask_births_and_high_ages(tokens, decisions).keep.any()


def test_pieces_of_a_long_word() -> None:
    assert len(Vocabulary(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]).pieces("a" * (20 * N_CHARS))) == 1


@pytest.mark.parametrize(
    "text",
    [
        "ab: x\ncd: y\n" * (N_CHARS // 12),
        "a" * N_CHARS + ": x\nb: y\n" * 2,
        "[1" + "1" * N_CHARS + "\n",
        " ".join(f"Brown{chr(97 + n % 26) * (n % 9)}" for n in range(N_CHARS // 8)),
    ],
)
def test_names_and_speakers_everywhere(text: str) -> None:
    tokens = join([tokenize(text)])
    n = len(tokens)
    scores = np.zeros(n, np.float32)
    names = np.full(n, 1, np.uint8)
    decisions = Decisions(np.arange(n) % 2 == 0, np.full(n, 2, np.uint8), scores, scores, names)
    found = mask_names_everywhere(tokens, RuleVerdicts.silent(n), decisions)
    assert not (found.keep & ~decisions.keep).any()
