"""Words and gaps as an encoder reads them."""

import numpy as np
import pytest
from tiny_encoders import PIECES

from inverse_deid.core.errors import ModelError
from inverse_deid.network.encoding import gap_codes
from inverse_deid.network.pieces import MOST_PIECES, SHAPES, Vocabulary, encode_window, join_windows
from inverse_deid.text.tokenizer import tokenize

VOCABULARY = Vocabulary(PIECES)
BEGIN, END, HIDDEN, UNKNOWN = 2, 3, 4, 1


def window(text: str, **options: object):
    tokens = tokenize(text)
    features = np.zeros((len(tokens), 2), np.float32)
    return encode_window(tokens.words, gap_codes(tokens), features, VOCABULARY, **options)


@pytest.mark.parametrize(
    ("word", "pieces"),
    [("rash", (5,)), ("RASHES", (5, 6)), ("räsh", (5,)), ("Whitfield", (UNKNOWN,)), ("rashx", (UNKNOWN,))],
)
def test_a_word_is_cut_into_the_longest_known_pieces(word, pieces):
    assert VOCABULARY.pieces(word) == pieces


def test_of_a_long_word_the_first_pieces_are_read():
    assert VOCABULARY.pieces("rash" + "es" * 40) == (5, *[6] * (MOST_PIECES - 1))


def test_a_vocabulary_without_special_pieces_is_refused():
    with pytest.raises(ModelError, match=r"lacks \[CLS\], \[SEP\]"):
        Vocabulary(["[PAD]", "[UNK]", "[MASK]", "rash"])


def test_a_window_has_words_signs_and_owners():
    read = window("Mr. rashes - x")
    assert read.pieces.tolist() == [BEGIN, 8, 7, 5, 6, 9, UNKNOWN, END]
    assert read.owners.tolist() == [3, 0, 3, 1, 1, 3, 2, 3]
    assert read.first.tolist() == [1, 3, 6]


def test_shapes_tell_letter_case_and_beginnings_of_lines():
    shapes = window("Rash BP 12 rash\nB12 pH").shapes.tolist()
    on_line = ["capital", "capitals", "number", "lower", "capitals", "mixed"]
    assert [SHAPES[shape % len(SHAPES)] for shape in shapes] == on_line
    assert [shape >= len(SHAPES) for shape in shapes] == [True, False, False, False, True, False]


def test_hidden_words_are_one_mask_piece():
    read = window("rashes rash", hidden=np.array([True, False]))
    assert read.pieces.tolist() == [BEGIN, HIDDEN, 5, END]


def test_joined_windows_number_tokens_and_pad_pieces():
    joined = join_windows([window("rash"), window("Mr. rashes")], VOCABULARY.pad)
    assert joined["pieces"].tolist() == [[BEGIN, 5, END, 0, 0, 0], [BEGIN, 8, 7, 5, 6, END]]
    assert joined["owners"].tolist() == [[3, 0, 3, 3, 3, 3], [3, 1, 3, 2, 2, 3]]
    assert joined["first"].tolist() == [1, 7, 9]
    assert joined["lengths"].tolist() == [3, 6]


def test_trimming_forgets_words_only_above_the_limit():
    vocabulary = Vocabulary(PIECES)
    before = vocabulary.pieces("rashes")
    vocabulary.trim(5)
    assert vocabulary.pieces("rashes") is before
    vocabulary.trim(0)
    assert vocabulary.pieces("rashes") == before
    assert vocabulary.pieces("rashes") is not before
