"""From words and gaps to the numbers that the network reads.

Characters outside the table share one code each for *other letter* and *other
sign*, so that no text can fail to encode.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from inverse_deid.core.values import FloatArray, IntArray, Tokens
from inverse_deid.text.interning import read_units
from inverse_deid.text.tokenizer import JoinedTokens, code_points, join

PAD, OTHER_LETTER, OTHER_SIGN = 0, 1, 2
N_GAP_CHARACTERS = 3
"""Most characters to read between a token and the next one."""

_ALIKE = {"\r": "\n", "\u00a0": " ", "’": "'", "‘": "'", "“": '"', "”": '"', "–": "-", "—": "-", "‑": "-"}  # noqa: RUF001
CHARACTERS = "\n\t" + "".join(map(chr, (*range(0x20, 0x7F), *range(0xA1, 0x180))))
"""The characters with a code of their own, from `FIRST_CHARACTER_CODE` on."""
FIRST_CHARACTER_CODE = 3
N_CHARACTER_CODES = FIRST_CHARACTER_CODE + len(CHARACTERS)
"""Codes are 0 (padding) to `N_CHARACTER_CODES - 1`."""

_TABLE_SIZE = 0x3000


def _character_table() -> npt.NDArray[np.int32]:
    """Return int32 (_TABLE_SIZE,): the code of every code point. Higher ones share the last entry."""
    table = np.full(_TABLE_SIZE, OTHER_SIGN, np.int32)
    for code_point in range(0x180, _TABLE_SIZE):
        if chr(code_point).isalnum():
            table[code_point] = OTHER_LETTER
    for code, character in enumerate(CHARACTERS, start=FIRST_CHARACTER_CODE):
        table[ord(character)] = code
    for character, like in _ALIKE.items():
        table[ord(character)] = table[ord(like)]
    return table


_CODE_OF = _character_table()


def character_codes(words: Sequence[str], max_characters: int) -> tuple[IntArray, IntArray]:
    """Encode the characters of words. Of a longer word, encode the beginning and the end.

    Returns:
        codes: int32 (n_words, max_characters), right-padded with 0.
        lengths: int32 (n_words,), at least 1.

    Example:
        >>> codes, lengths = character_codes(["ab", "c"], 4)
        >>> codes.shape, lengths.tolist(), int(codes[1, 1])
        ((2, 4), [2, 1], 0)
    """
    tail = max_characters // 3
    shown = [
        w if len(w) <= max_characters else w[: max_characters - tail] + w[-tail:] for w in read_units(words)
    ]
    lengths = np.fromiter(map(len, shown), np.int32, len(shown))
    codes = np.zeros((len(shown), max_characters), np.int32)
    flat = code_points("".join(shown))
    codes[np.arange(max_characters) < lengths[:, None]] = _CODE_OF[np.minimum(flat, _TABLE_SIZE - 1)]
    return codes, np.maximum(lengths, 1)


def one_hot_characters(n_codes: int) -> FloatArray:
    """Return fixed vectors of the codes: one dimension per ASCII code point, the last for all others.

    They are float32 (N_CHARACTER_CODES, n_codes), with 128 codes in the paper; the row of padding is zero.

    Source: Festag and Spreckelsen 2020, "Preprocessing".

    Example:
        >>> vectors = one_hot_characters(128)
        >>> codes, _ = character_codes(["aé"], 4)
        >>> vectors[codes[0]].argmax(axis=1).tolist(), vectors[PAD].any().item()
        ([97, 127, 0, 0], False)
    """
    vectors = np.zeros((N_CHARACTER_CODES, n_codes), np.float32)
    points = [n_codes - 1] * FIRST_CHARACTER_CODE + [
        min(ord(character), n_codes - 1) for character in CHARACTERS
    ]
    vectors[np.arange(N_CHARACTER_CODES), points] = 1
    vectors[PAD] = 0
    return vectors


def gap_codes(tokens: Tokens) -> IntArray:
    """Encode up to three characters after each token before the next one: int32 (n_tokens, 3), 0 = none.

    Source: The "post space" characters of the thesis, section 4.3.4.
    """
    return join_gap_codes(join([tokens]))


def join_gap_codes(tokens: JoinedTokens) -> IntArray:
    """Return `gap_codes` of several documents: int32 (n_tokens, 3)."""
    codes = _CODE_OF[np.minimum(tokens.codes, _TABLE_SIZE - 1)]
    gap_ends = np.append(tokens.starts[1:], np.int32(0))[: len(tokens)]
    last = tokens.bounds[1:][np.diff(tokens.bounds) > 0] - 1
    gap_ends[last] = tokens.text_ends()[tokens.doc[last]]
    positions = tokens.ends[:, None] + np.arange(N_GAP_CHARACTERS)
    return np.where(positions < gap_ends[:, None], codes[positions], PAD).astype(np.int32)


@dataclass(frozen=True, slots=True, eq=False)
class WordVectors:
    """Fixed, public word vectors of a limited vocabulary of lower-case words.

    Row `i + 1` of the network's matrix is that of `words[i]`: `codes[i] * scale`, with codes int8
    (n_words, word_dim) and scale float32 (word_dim,).
    """

    words: tuple[str, ...] = field(repr=False)
    codes: npt.NDArray[np.int8] = field(repr=False)
    scale: FloatArray = field(repr=False)

    @property
    def dim(self) -> int:
        """Length of a vector."""
        return int(self.scale.shape[0])

    def numbers(self) -> dict[str, int]:
        """Return the row of each word in `matrix`; row 0 is for unknown words."""
        return {word: i for i, word in enumerate(self.words, start=1)}

    def matrix(self) -> FloatArray:
        """float32 (n_words + 1, word_dim); row 0 is zero."""
        top = np.zeros((1, self.dim), np.float32)
        return np.concatenate([top, self.codes.astype(np.float32) * self.scale])

    def rows(self, numbers: IntArray, unknown: FloatArray) -> FloatArray:
        """Return these rows of `matrix` without making it, and another one for unknown words.

        Args:
            numbers: int32 (n,), of `numbers`.
            unknown: float32 (word_dim,).

        Returns:
            float32 (n, word_dim).
        """
        known = numbers > 0
        found = np.tile(unknown, (len(numbers), 1))
        found[known] = self.codes[numbers[known] - 1] * self.scale
        return found


def quantise(words: Sequence[str], vectors: FloatArray) -> WordVectors:
    """Round vectors to eight bits per dimension: the same accuracy at a quarter of the size."""
    scale = (np.abs(vectors).max(axis=0, initial=0) / 127).astype(np.float32)
    scale[scale == 0] = 1
    return WordVectors(tuple(words), np.rint(vectors / scale).astype(np.int8), scale)


def word_numbers(words: Sequence[str], numbers: dict[str, int]) -> IntArray:
    """Return the row of each word's vector: int32 (n_words,), 0 = unknown."""
    return np.fromiter((numbers.get(word.lower(), 0) for word in read_units(words)), np.int32, len(words))
