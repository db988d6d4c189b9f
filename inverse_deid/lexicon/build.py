"""From word lists to the artefact: pure functions, same bytes for same lists."""

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import marisa_trie
import numpy as np

from inverse_deid.lexicon.artefact import ARRAY_DTYPES, Artefact
from inverse_deid.lexicon.flags import PhraseKind, WordFlag
from inverse_deid.lexicon.keys import spellings
from inverse_deid.lexicon.lexicon import MAX_PHRASE_TOKENS
from inverse_deid.lexicon.lists import WordList

MAX_LOG10_COUNT: Final = 7.0
"""Counts are stored as log10(count) / 7, so ten million is 1."""

UNKNOWN_RATIO: Final = 255
_COUNT_ARRAYS: Final = {
    WordFlag.SURNAME: "surname_log",
    WordFlag.FIRST_NAME: "first_name_log",
}
_KIND_ORDER: Final = (
    PhraseKind.EPONYM,
    PhraseKind.HOLIDAY,
    PhraseKind.COUNTRY,
    PhraseKind.STATE,
    PhraseKind.CITY,
)
"""Where a phrase is several things the last one counts: eponyms alone are safe."""


@dataclass(frozen=True, slots=True)
class Frequency:
    """How often, and in which case, a word is written in general English.

    Args:
        lower_ratio: 0..254, 254 * p(lower) / (p(lower) + p(Title)); 255 = unknown.
        logprob: 1..255, bucket of the log probability in any case; 0 = unknown.
    """

    lower_ratio: int
    logprob: int


@dataclass(slots=True)
class _Row:
    flags: int = 0
    lists: int = 0
    surname_log: int = 0
    first_name_log: int = 0


def compile_lexicon(
    lists: Sequence[WordList], frequencies: Mapping[str, Frequency], *, version: str
) -> Artefact:
    """Return the artefact made of `lists`.

    Args:
        lists: At most 64 lists; their order is the order of the manifest.
        frequencies: Word key to frequency. Words that are in no list are stored too.
        version: Version of the content.

    Returns:
        The artefact; `sha256` is empty until the file is written and read.

    Raises:
        ValueError: More than 64 lists.
    """
    if len(lists) > 64:
        raise ValueError(f"at most 64 lists fit the membership bits, {len(lists)} given")
    rows, phrases = _collect(lists)
    for key in frequencies:
        rows[key].flags |= 0
    words = marisa_trie.Trie(sorted(rows))
    sets, memberships = _membership_sets(rows, words)
    arrays = _arrays(rows, frequencies, words) | {"memberships": memberships}
    phrase_trie = marisa_trie.Trie(sorted(phrases))
    kinds = np.zeros(len(phrase_trie), np.uint8)
    for phrase, kind in phrases.items():
        kinds[phrase_trie[phrase]] = kind
    return Artefact(
        words=words,
        arrays=arrays,
        membership_sets=sets,
        phrases=phrase_trie,
        phrase_kinds=kinds,
        sources=tuple(word_list.describe() for word_list in lists),
        version=version,
    )


def count_level(count: int) -> int:
    """Return the stored level 1..255 of a count; 0 for no count.

    >>> count_level(0), count_level(10_000_000)
    (0, 255)
    """
    if count <= 0:
        return 0
    return max(1, min(255, round(255 * math.log10(count) / MAX_LOG10_COUNT)))


def _collect(lists: Iterable[WordList]) -> tuple[dict[str, _Row], dict[str, PhraseKind]]:
    rows: dict[str, _Row] = defaultdict(_Row)
    phrases: dict[str, PhraseKind] = {}
    for index, word_list in enumerate(lists):
        for entry, count in word_list.entries.items():
            for tokens in spellings(entry):
                if len(tokens) == 1 and word_list.flag is not None:
                    _add_word(rows[tokens[0]], word_list.flag, index, count)
                elif 2 <= len(tokens) <= MAX_PHRASE_TOKENS and word_list.phrase_kind:
                    _add_phrase(phrases, tokens, word_list.phrase_kind)
                    rows[tokens[0]].flags |= WordFlag.PHRASE_START
    return rows, phrases


def _add_word(row: _Row, flag: WordFlag, index: int, count: int) -> None:
    row.flags |= flag
    row.lists |= 1 << index
    array = _COUNT_ARRAYS.get(flag)
    if array is not None:
        setattr(row, array, max(getattr(row, array), count_level(count)))


def _add_phrase(
    phrases: dict[str, PhraseKind], tokens: tuple[str, ...], kind: PhraseKind
) -> None:
    phrase = " ".join(tokens)
    known = phrases.get(phrase)
    if known is None or _KIND_ORDER.index(kind) > _KIND_ORDER.index(known):
        phrases[phrase] = kind


def _arrays(
    rows: Mapping[str, _Row], frequencies: Mapping[str, Frequency], words: marisa_trie.Trie
) -> dict[str, np.ndarray]:
    arrays = {name: np.zeros(len(words), dtype) for name, dtype in ARRAY_DTYPES.items()}
    arrays["lower_ratio"][:] = UNKNOWN_RATIO
    for key, row in rows.items():
        index = words[key]
        arrays["flags"][index] = row.flags
        arrays["surname_log"][index] = row.surname_log
        arrays["first_name_log"][index] = row.first_name_log
        frequency = frequencies.get(key)
        if frequency is not None:
            arrays["lower_ratio"][index] = frequency.lower_ratio
            arrays["word_logprob"][index] = frequency.logprob
    return arrays


def _membership_sets(
    rows: Mapping[str, _Row], words: marisa_trie.Trie
) -> tuple[np.ndarray, np.ndarray]:
    distinct = sorted({row.lists for row in rows.values()})
    position = {bits: index for index, bits in enumerate(distinct)}
    memberships = np.zeros(len(words), np.uint16)
    for key, row in rows.items():
        memberships[words[key]] = position[row.lists]
    return np.array(distinct, np.uint64), memberships
