"""The shapes and classes of words are computed once per kind of word, as if each word were tested alone."""

import string

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from inverse_deid.lexicon import load_lexicon
from inverse_deid.rules.shapes import SHAPES, WORD_CLASSES, class_matrix, shape_matrix
from inverse_deid.text.tokenizer import TOKEN_PATTERN

WORDS = st.from_regex(TOKEN_PATTERN, fullmatch=True) | st.text(string.ascii_letters, min_size=1, max_size=12)


def alone(words):
    return [[bool(test(word)) for test in SHAPES.values()] for word in words]


@given(st.lists(WORDS | st.text(string.ascii_letters + string.digits, min_size=1, max_size=12)))
@settings(deadline=None)
def test_each_word_has_its_own_shapes(words):
    assert shape_matrix(words).tolist() == alone(words)


def test_words_of_dictionaries_have_their_own_shapes():
    words = [word for word in list(load_lexicon().artefact.words)[::40] if TOKEN_PATTERN.fullmatch(word)]
    words = [write(word) for word in words for write in (str.lower, str.upper, str.title, str.swapcase)]
    assert len(words) > 1000
    assert np.array_equal(shape_matrix(words), alone(words))


def test_a_word_is_in_each_of_its_classes():
    words = [*{word for members in WORD_CLASSES.values() for word in members}, "Page", "no", "zzz"]
    expected = [[word.casefold() in members for members in WORD_CLASSES.values()] for word in words]
    assert class_matrix(words).tolist() == expected
    assert class_matrix([]).shape == (0, len(WORD_CLASSES))
