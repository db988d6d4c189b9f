"""What the packaged lexicon promises: safe, unsafe, complete, small, traceable."""

import importlib.resources
from pathlib import Path

import numpy as np
import pytest

from inverse_deid.lexicon import SAFE_FLAGS, UNSAFE_FLAGS, Lexicon, PhraseKind, WordFlag, load_lexicon
from inverse_deid.lexicon.entries import MAX_PHRASE_TOKENS, list_folders, read_list, read_source, word_key

DICTIONARIES = Path(__file__).parents[2] / "dictionaries"
MAX_BYTES = 6_000_000

SAFE_WORDS = """
the and was had patient fever vaccine vaccinated headache amoxicillin prednisone ibuprofen
comirnaty keytruda hospitalised diarrhoea recv rxn mg mcg reported redness male pain
"""
NAMES = """
smith johnson garcía nguyen jennifer mohammed martin paris chicago april tuesday
"""
BOTH = """
march may brown young white rose will long
"""
FUNCTION_WORDS = """
an in of to is he she was it
"""


@pytest.fixture(scope="module")
def lexicon() -> Lexicon:
    return load_lexicon()


def test_flags_are_safe_or_unsafe_but_not_both() -> None:
    assert not SAFE_FLAGS & UNSAFE_FLAGS
    rest = ~(SAFE_FLAGS | UNSAFE_FLAGS) & ~WordFlag(0)
    neither = WordFlag.SALUTATION | WordFlag.PHRASE_START | WordFlag.CLINICAL_NAME | WordFlag.EPONYM_HEAD
    assert rest == neither


@pytest.mark.parametrize(
    "word",
    SAFE_WORDS.split(),
)
def test_plain_words_are_safe_only(lexicon: Lexicon, word: str) -> None:
    assert lexicon.flags(word) & SAFE_FLAGS
    assert not lexicon.flags(word) & UNSAFE_FLAGS


@pytest.mark.parametrize("word", NAMES.split())
def test_names_are_unsafe_only(lexicon: Lexicon, word: str) -> None:
    assert lexicon.flags(word) & UNSAFE_FLAGS
    assert not lexicon.flags(word) & SAFE_FLAGS


@pytest.mark.parametrize("word", BOTH.split())
def test_words_that_are_names_are_both(lexicon: Lexicon, word: str) -> None:
    assert lexicon.flags(word) & SAFE_FLAGS
    assert lexicon.flags(word) & UNSAFE_FLAGS


@pytest.mark.parametrize(
    ("word", "flag"),
    [
        ("the", WordFlag.STOP_WORD), ("march", WordFlag.MONTH), ("sept", WordFlag.MONTH),
        ("amoxicillin", WordFlag.DRUG), ("mmol", WordFlag.UNIT), ("paris", WordFlag.CITY),
        ("zürich", WordFlag.CITY), ("zurich", WordFlag.CITY), ("france", WordFlag.COUNTRY),
        ("texas", WordFlag.STATE), ("tx", WordFlag.STATE), ("smith", WordFlag.SURNAME),
        ("li", WordFlag.SURNAME), ("wu", WordFlag.SURNAME), ("vo", WordFlag.SURNAME),
        ("mary", WordFlag.FIRST_NAME), ("hospital", WordFlag.HOSPITAL), ("thurs", WordFlag.WEEKDAY),
        ("xmas", WordFlag.HOLIDAY), ("diwali", WordFlag.HOLIDAY), ("blvd", WordFlag.STREET),
        ("com", WordFlag.TOP_LEVEL_DOMAIN), ("eleven", WordFlag.NUMBER_WORD),
        ("dr", WordFlag.SALUTATION), ("parkinson", WordFlag.PHRASE_START),
    ],
)  # fmt: skip
def test_words_carry_their_flag(lexicon: Lexicon, word: str, flag: WordFlag) -> None:
    assert flag in lexicon.flags(word)
    assert flag in lexicon.flags(word.upper())


@pytest.mark.parametrize("word", FUNCTION_WORDS.split())
def test_function_words_are_no_names(lexicon: Lexicon, word: str) -> None:
    assert not lexicon.flags(word) & UNSAFE_FLAGS


@pytest.mark.parametrize(
    ("phrase", "kind"),
    [
        ("new york", PhraseKind.CITY), ("st louis", PhraseKind.CITY), ("são paulo", PhraseKind.CITY),
        ("parkinson s disease", PhraseKind.EPONYM), ("parkinson disease", PhraseKind.EPONYM),
        ("crohn s disease", PhraseKind.EPONYM), ("stevens johnson", PhraseKind.EPONYM),
        ("guillain barre", PhraseKind.EPONYM), ("guillain barré", PhraseKind.EPONYM),
        ("bell s palsy", PhraseKind.EPONYM), ("foley catheter", PhraseKind.EPONYM),
        ("mlk day", PhraseKind.HOLIDAY), ("christmas eve", PhraseKind.HOLIDAY),
        ("united kingdom", PhraseKind.COUNTRY), ("north carolina", PhraseKind.STATE),
    ],
)  # fmt: skip
def test_phrases_have_their_kind(lexicon: Lexicon, phrase: str, kind: PhraseKind) -> None:
    tokens = phrase.split()
    assert lexicon.longest_phrase(tokens) == (kind, len(tokens))
    assert WordFlag.PHRASE_START in lexicon.flags(tokens[0])
    assert len(tokens) <= MAX_PHRASE_TOKENS


def test_case_ratios_tell_names_from_words(lexicon: Lexicon) -> None:
    smith, pain = lexicon.lookup(["smith", "pain"]).lower_ratio
    assert smith < 0.2 < 0.9 < pain


def test_counts_rank_names(lexicon: Lexicon) -> None:
    table = lexicon.lookup(["smith", "crohn", "mary", "pain"])
    assert table.surname_log[0] > table.surname_log[1] > table.surname_log[3] == 0
    assert table.first_name_log[2] > 0.8


def test_no_key_is_empty_or_unfolded(lexicon: Lexicon) -> None:
    flags = lexicon.artefact.arrays["flags"] & np.uint32(SAFE_FLAGS | UNSAFE_FLAGS)
    words = [lexicon.artefact.words.restore_key(int(index)) for index in np.flatnonzero(flags)]
    assert words
    assert all(word and word_key(word) == word for word in words)


def test_the_artefact_is_small() -> None:
    packaged = importlib.resources.files("inverse_deid") / "data" / "lexicon.zip"
    assert len(packaged.read_bytes()) <= MAX_BYTES


def test_loading_again_gives_the_same_lexicon(lexicon: Lexicon) -> None:
    again = load_lexicon()
    assert (again.version, again.sha256) == (lexicon.version, lexicon.sha256)


@pytest.mark.parametrize("folder", list_folders(DICTIONARIES), ids=lambda folder: folder.name)
def test_every_list_is_complete(lexicon: Lexicon, folder: Path) -> None:
    info = read_source(folder)
    word_list = read_list(folder)
    assert info["name"] == folder.name
    assert all(str(info[key]).strip() for key in ("title", "origin", "licence"))
    assert ("package" in info) == ("package_version" in info)
    if "CC BY" in info["licence"] or "WordNet" in info["licence"]:
        assert info["notice"].strip()
    assert list(word_list.entries) == sorted(word_list.entries)
    assert word_list.describe() in lexicon.sources


def test_the_artefact_holds_no_other_list(lexicon: Lexicon) -> None:
    names = [folder.name for folder in list_folders(DICTIONARIES)]
    assert [source["name"] for source in lexicon.sources] == names
