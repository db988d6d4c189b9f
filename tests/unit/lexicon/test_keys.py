"""Lookup keys: normalisation, accents, tokens of entries."""

import pytest

from inverse_deid.lexicon.entries import entry_tokens, spellings, strip_accents, word_key


@pytest.mark.parametrize(
    ("written", "key"),
    [("PAIN", "pain"), ("Cafe\u0301", "café"), ("CAFÉ", "café"), ("Straße", "strasse")],
)
def test_word_key_folds_case_and_composition(written: str, key: str) -> None:
    assert word_key(written) == key


@pytest.mark.parametrize("word", ["Ångström", "İzmir", "ǅ", "ﬁne", "ΌΣΟΣ"])
def test_word_key_is_stable(word: str) -> None:
    assert word_key(word_key(word)) == word_key(word)


@pytest.mark.parametrize(
    ("written", "plain"), [("Malmö", "Malmo"), ("Łódź", "Lodz"), ("Müller", "Muller"), ("Li", "Li")]
)
def test_strip_accents(written: str, plain: str) -> None:
    assert strip_accents(written) == plain


def test_entries_are_split_like_text() -> None:
    assert entry_tokens("Crohn's disease") == ("crohn", "s", "disease")


def test_spellings_hold_the_unaccented_form_once() -> None:
    assert spellings("Gómez") == (("gómez",), ("gomez",))
    assert spellings("Gomez") == (("gomez",),)
