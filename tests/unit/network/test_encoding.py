import numpy as np

from inverse_deid.network.encoding import (
    N_CHARACTER_CODES,
    character_codes,
    gap_codes,
    quantise,
    word_numbers,
)
from inverse_deid.text.tokenizer import tokenize


def test_long_words_show_beginning_and_end():
    codes, lengths = character_codes(["abcdefghijkl"], 6)
    expected, _ = character_codes(["abcdkl"], 6)
    assert lengths.tolist() == [6]
    assert np.array_equal(codes, expected)


def test_any_character_has_a_code():
    codes, _ = character_codes(["Ωж漢𝔸", "é9"], 8)
    assert codes.max() < N_CHARACTER_CODES
    assert (codes[0, :4] > 0).all()


def test_gaps_hold_at_most_three_characters_before_the_next_token():
    codes = gap_codes(tokenize("a, b--- c"))
    assert (codes > 0).tolist() == [[True, True, False], [True, True, True], [False, False, False]]


def test_curly_and_straight_quotes_are_alike():
    curly, straight = gap_codes(tokenize("it’s")), gap_codes(tokenize("it's"))
    assert np.array_equal(curly, straight)


def test_no_token_no_row():
    assert gap_codes(tokenize("...")).shape == (0, 3)
    assert character_codes([], 5)[0].shape == (0, 5)


def test_quantised_vectors_are_close():
    vectors = np.random.default_rng(1).normal(size=(50, 10)).astype(np.float32)
    packed = quantise([f"w{i}" for i in range(50)], vectors)
    assert np.abs(packed.matrix()[1:] - vectors).max() <= packed.scale.max() / 2 + 1e-6
    assert not packed.matrix()[0].any()
    numbers, unknown = np.array([2, 0, 1, 0], np.int32), np.full(packed.dim, 7, np.float32)
    expected = packed.matrix()
    expected[0] = unknown
    assert packed.rows(numbers, unknown).tobytes() == expected[numbers].tobytes()


def test_unknown_words_have_row_zero_and_case_does_not_count():
    packed = quantise(["rash"], np.ones((1, 4), np.float32))
    assert word_numbers(["Rash", "zzz"], packed.numbers()).tolist() == [1, 0]
