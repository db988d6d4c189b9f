"""From words and gaps to what a pre-trained encoder reads: word pieces, shapes and who owns which piece.

The encoder is uncased: a word is read in lower case without accents. Its letter case is given by a shape.
Signs between words are pieces of their own, at most three per gap.

Source: Devlin et al. 2019 (WordPiece: the longest known piece first).
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from inverse_deid.core.errors import ModelError
from inverse_deid.core.values import FloatArray, IntArray
from inverse_deid.core.wording import _
from inverse_deid.network.encoding import CHARACTERS, FIRST_CHARACTER_CODE, PAD

MOST_PIECES = 8
"""Pieces that are read of one word; of a longer one, the first."""
MOST_PIECES_OF_WINDOW = 500
"""Most pieces of a window (encoders have 512 positions); of a longer one, one piece per word is read."""
SHAPES = ("lower", "capital", "capitals", "number", "mixed", "other")
N_SHAPES = 2 * len(SHAPES)
"""Every shape twice: after a space, and at the beginning of a line."""
_SPECIAL = (("<pad>", "[PAD]"), ("[UNK]",), ("<s>", "[CLS]"), ("</s>", "[SEP]"), ("<mask>", "[MASK]"))
"""Pieces that every encoder needs, by what MPNet and BERT call them."""
_LINE_BREAK = FIRST_CHARACTER_CODE + CHARACTERS.index("\n")


class Vocabulary:
    """The pieces that an encoder knows, one per line of its file; `##` begins one that continues a word.

    Raises:
        ModelError: A piece that every encoder needs is missing.
    """

    def __init__(self, pieces: Sequence[str]) -> None:
        self._numbers = {piece: i for i, piece in enumerate(pieces)}
        known = [[self._numbers[name] for name in names if name in self._numbers] for names in _SPECIAL]
        if missing := [names[-1] for names, numbers in zip(_SPECIAL, known, strict=True) if not numbers]:
            raise ModelError(
                _("the vocabulary lacks {missing}. Train the encoder again", missing=", ".join(missing))
            )
        self.pad, self.unknown, self.begin, self.end, self.hidden = (numbers[0] for numbers in known)
        self._most_characters = max(map(len, pieces), default=0)
        self._of_word: dict[str, tuple[int, ...]] = {}
        of_sign = [self._numbers.get(sign, PAD) for sign in CHARACTERS.lower()]
        self._of_code = np.array([PAD] * FIRST_CHARACTER_CODE + of_sign, np.int32)

    def pieces(self, word: str) -> tuple[int, ...]:
        """Return the numbers of a word's pieces, at least one.

        Example:
            >>> vocabulary = Vocabulary(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "rash", "##es"])
            >>> vocabulary.pieces("Rashes"), vocabulary.pieces("xyz")
            ((5, 6), (1,))
        """
        found = self._of_word.get(word)
        if found is None:
            found = self._of_word[word] = self._split(word)
        return found

    def _split(self, word: str) -> tuple[int, ...]:
        plain = "".join(c for c in unicodedata.normalize("NFD", word.lower()) if not unicodedata.combining(c))
        found: list[int] = []
        start = 0
        while start < len(plain) and len(found) < MOST_PIECES:
            prefix = "##" if start else ""
            ends = range(min(len(plain), start + self._most_characters), start, -1)
            end = next((end for end in ends if prefix + plain[start:end] in self._numbers), None)
            if end is None:
                return (self.unknown,)
            found.append(self._numbers[prefix + plain[start:end]])
            start = end
        return tuple(found) or (self.unknown,)

    def signs(self, gaps: IntArray) -> IntArray:
        """Return the piece of each character of gaps, 0 = none: int32 (n_tokens, 3), as `gap_codes`."""
        return self._of_code[gaps]

    def numbers_in(self, other: Vocabulary) -> IntArray:
        """Return the number of each piece in another vocabulary: int32 (n_pieces,).

        Raises:
            ModelError: The other vocabulary lacks more than one piece in a hundred.
        """
        found = np.full(1 + max(self._numbers.values()), other.unknown, np.int32)
        special = {"<unk>", *(name for names in _SPECIAL for name in names)}
        n_missing = 0
        for piece, number in self._numbers.items():
            found[number] = other._numbers.get(piece, other.unknown)
            n_missing += piece not in other._numbers and piece not in special
        if n_missing > len(self._numbers) / 100:
            raise ModelError(
                _("the encoders have different word pieces. Choose two with the same vocabulary")
            )
        own = (self.pad, self.unknown, self.begin, self.end, self.hidden)
        found[list(own)] = (other.pad, other.unknown, other.begin, other.end, other.hidden)
        return found

    def trim(self, most: int) -> None:
        """Forget all words if more than `most` are remembered."""
        if len(self._of_word) > most:
            self._of_word.clear()


def shape_of(word: str) -> int:
    """Return the index in `SHAPES` of a word.

    Example:
        >>> [SHAPES[shape_of(word)] for word in ("rash", "Anna", "BP", "12", "pH", "B12")]
        ['lower', 'capital', 'capitals', 'number', 'mixed', 'capitals']
    """
    if word.isdecimal():
        return 3
    if word.islower():
        return 0
    if word.isupper():
        return 1 if len(word) == 1 else 2
    if word[:1].isupper() and word[1:].islower():
        return 1
    return 4 if word.isalnum() else 5


@dataclass(frozen=True, slots=True, eq=False)
class Window:
    """Neighbouring tokens as the encoder reads them, without padding.

    Args:
        pieces: int32 (n_pieces,), numbers of the vocabulary, with a beginning and an end.
        owners: int32 (n_pieces,), the token of each piece, `n_tokens` for signs, beginning and end.
        first: int32 (n_tokens,), the first piece of each token.
        shapes: int32 (n_tokens,), below `N_SHAPES`.
        features: float32 (n_tokens, n_features).
    """

    pieces: IntArray = field(repr=False)
    owners: IntArray = field(repr=False)
    first: IntArray = field(repr=False)
    shapes: IntArray = field(repr=False)
    features: FloatArray = field(repr=False)


def encode_window(
    words: Sequence[str],
    gaps: IntArray,
    features: FloatArray,
    vocabulary: Vocabulary,
    hidden: npt.NDArray[np.bool_] | None = None,
) -> Window:
    """Encode neighbouring tokens.

    Args:
        words: The tokens as written.
        gaps: int32 (n_tokens, 3), `gap_codes` of the tokens.
        features: float32 (n_tokens, n_features).
        vocabulary: Of the encoder.
        hidden: bool (n_tokens,), words to hide behind a mask piece (in training); None = none.
    """
    signs = vocabulary.signs(gaps)
    breaks = (gaps == _LINE_BREAK).any(axis=1).tolist()
    shapes = [
        shape_of(word) + (len(SHAPES) if after_break else 0)
        for word, after_break in zip(words, [True, *breaks], strict=False)
    ]
    hide = [False] * len(words) if hidden is None else hidden.tolist()
    found = [
        (vocabulary.hidden,) if is_hidden else vocabulary.pieces(word)
        for word, is_hidden in zip(words, hide, strict=True)
    ]
    if sum(map(len, found)) + np.count_nonzero(signs) + 2 > MOST_PIECES_OF_WINDOW:
        found, signs = [pieces[:1] for pieces in found], np.zeros_like(signs)
    pieces, owners, first = [vocabulary.begin], [len(words)], []
    for i, (of_word, of_gap) in enumerate(zip(found, signs.tolist(), strict=True)):
        first.append(len(pieces))
        after = [sign for sign in of_gap if sign]
        pieces += (*of_word, *after)
        owners += [i] * len(of_word) + [len(words)] * len(after)
    pieces.append(vocabulary.end)
    owners.append(len(words))
    return Window(
        pieces=np.array(pieces, np.int32),
        owners=np.array(owners, np.int32),
        first=np.array(first, np.int32),
        shapes=np.array(shapes, np.int32),
        features=features,
    )


def join_windows(windows: Sequence[Window], pad: int) -> dict[str, np.ndarray]:
    """Pad the pieces of windows and number tokens across them: the inputs of the encoder's graph.

    Returns:
        `pieces` int32 (batch, length), `lengths` int32 (batch,),
        `owners` int32 (batch, length): row of the token, `n_tokens` = none,
        `first` int32 (n_tokens,): position in the flattened pieces,
        `shapes` int32 (n_tokens,), `features` float32 (n_tokens, n_features).
    """
    longest = max(len(window.pieces) for window in windows)
    n_tokens = sum(len(window.first) for window in windows)
    pieces = np.full((len(windows), longest), pad, np.int32)
    owners = np.full((len(windows), longest), n_tokens, np.int32)
    first, before = [], 0
    for row, window in enumerate(windows):
        n_own = len(window.first)
        pieces[row, : len(window.pieces)] = window.pieces
        owners[row, : len(window.owners)] = np.where(window.owners < n_own, window.owners + before, n_tokens)
        first.append(window.first + row * longest)
        before += n_own
    return {
        "pieces": pieces,
        "lengths": np.array([len(window.pieces) for window in windows], np.int32),
        "owners": owners,
        "first": np.concatenate(first).astype(np.int32),
        "shapes": np.concatenate([window.shapes for window in windows]),
        "features": np.concatenate([window.features for window in windows]).astype(np.float32),
    }
