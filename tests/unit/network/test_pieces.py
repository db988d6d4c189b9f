"""Words and gaps as an encoder reads them."""

import numpy as np
import pytest
from tiny_encoders import PIECES

from inverse_deid.core.errors import ModelError
from inverse_deid.network.encoding import gap_codes
from inverse_deid.network.pieces import (
    MOST_PIECES,
    MOST_PIECES_OF_WINDOW,
    SHAPES,
    Vocabulary,
    encode_window,
    join_windows,
)
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


def test_a_window_of_many_pieces_is_read_by_the_first_piece_of_each_word():
    words = ["rash" + "es" * 9] * 128
    gaps = np.full((128, 3), 17, np.int32)
    read = encode_window(words, gaps, np.zeros((128, 0), np.float32), VOCABULARY)
    assert read.pieces.tolist() == [BEGIN, *[5] * 128, END]
    assert read.first.tolist() == list(range(1, 129))
    assert read.owners.tolist() == [128, *range(128), 128]


def test_a_window_within_the_limit_is_read_whole():
    n_words = (MOST_PIECES_OF_WINDOW - 2) // MOST_PIECES
    words = ["rash" + "es" * (MOST_PIECES - 1)] * n_words
    read = encode_window(
        words, np.zeros((n_words, 3), np.int32), np.zeros((n_words, 0), np.float32), VOCABULARY
    )
    assert len(read.pieces) == n_words * MOST_PIECES + 2


def test_special_pieces_may_have_the_names_of_mpnet():
    vocabulary = Vocabulary(["<s>", "<pad>", "</s>", "<unk>", *PIECES, "<mask>"])
    assert (vocabulary.begin, vocabulary.pad, vocabulary.end, vocabulary.hidden) == (0, 1, 2, 4 + len(PIECES))
    assert vocabulary.unknown == 4 + UNKNOWN


def test_pieces_have_their_numbers_in_another_vocabulary():
    other = Vocabulary(["<s>", "<pad>", "</s>", "<unk>", *PIECES, "<mask>"])
    there = VOCABULARY.numbers_in(other)
    assert there[[BEGIN, END, HIDDEN, UNKNOWN, 5]].tolist() == [0, 2, 4 + len(PIECES), 4 + UNKNOWN, 9]
    assert other.numbers_in(VOCABULARY)[there].tolist() == list(range(len(PIECES)))


def test_a_vocabulary_of_other_pieces_is_refused():
    other = Vocabulary([*PIECES[:5], "fever", "##ish"])
    with pytest.raises(ModelError, match="different word pieces"):
        VOCABULARY.numbers_in(other)
