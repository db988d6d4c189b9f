"""From word lists to the artefact: pure functions, same bytes for same lists."""

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import marisa_trie
import numpy as np

from inverse_deid.lexicon.artefact import ARRAY_DTYPES, Artefact, UIntArray
from inverse_deid.lexicon.flags import PhraseKind, WordFlag
from inverse_deid.lexicon.keys import spellings
from inverse_deid.lexicon.lexicon import MAX_PHRASE_TOKENS
from inverse_deid.lexicon.lists import WordList

MAX_LOG10_COUNT: Final = 7.0
"""Counts are stored as log10(count) / 7, so ten million is 1."""

MAX_LISTS: Final = 64
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
"""If a phrase has several kinds, the last one counts: only eponyms are safe."""


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
    rows: defaultdict[str, _Row] = defaultdict(_Row)
    phrases: dict[str, PhraseKind] = {}
    for index, word_list in enumerate(lists):
        _add_list(rows, phrases, word_list, index)
    for key in frequencies:
        rows[key]  # A word of no list gets a row as well.
    sources = tuple(word_list.describe() for word_list in lists)
    return _assemble(rows, phrases, frequencies, sources, version)


def extend_lexicon(base: Artefact, lists: Sequence[WordList], *, version: str) -> Artefact:
    """Return a copy of `base` with `lists` added.

    Raises:
        ValueError: More than 64 lists in all.
    """
    rows, frequencies = _unpack(base)
    kinds = base.phrase_kinds
    phrases = {phrase: PhraseKind(int(kinds[i])) for phrase, i in base.phrases.items()}
    for index, word_list in enumerate(lists, start=len(base.sources)):
        _add_list(rows, phrases, word_list, index)
    sources = (*base.sources, *(word_list.describe() for word_list in lists))
    return _assemble(rows, phrases, frequencies, sources, version)


def count_level(count: int) -> int:
    """Return the stored level 1..255 of a count; 0 for no count.

    >>> count_level(0), count_level(10_000_000)
    (0, 255)
    """
    if count <= 0:
        return 0
    return max(1, min(255, round(255 * math.log10(count) / MAX_LOG10_COUNT)))


def _add_list(
    rows: defaultdict[str, _Row],
    phrases: dict[str, PhraseKind],
    word_list: WordList,
    index: int,
) -> None:
    n_spellings = 2 if word_list.add_unaccented else 1
    for entry, count in word_list.entries.items():
        for tokens in spellings(entry)[:n_spellings]:
            if len(tokens) == 1 and word_list.flag is not None:
                _add_word(rows[tokens[0]], word_list.flag, index, count)
            elif 2 <= len(tokens) <= MAX_PHRASE_TOKENS and word_list.phrase_kind:
                _add_phrase(phrases, tokens, word_list.phrase_kind)
                rows[tokens[0]].flags |= WordFlag.PHRASE_START


def _unpack(base: Artefact) -> tuple[defaultdict[str, _Row], dict[str, Frequency]]:
    rows: defaultdict[str, _Row] = defaultdict(_Row)
    frequencies: dict[str, Frequency] = {}
    arrays, sets = base.arrays, base.membership_sets
    for key, i in base.words.items():
        rows[key] = _Row(
            flags=int(arrays["flags"][i]),
            lists=int(sets[arrays["memberships"][i]]),
            surname_log=int(arrays["surname_log"][i]),
            first_name_log=int(arrays["first_name_log"][i]),
        )
        if arrays["word_logprob"][i]:
            ratio = int(arrays["lower_ratio"][i])
            frequencies[key] = Frequency(ratio, int(arrays["word_logprob"][i]))
    return rows, frequencies


def _assemble(
    rows: Mapping[str, _Row],
    phrases: Mapping[str, PhraseKind],
    frequencies: Mapping[str, Frequency],
    sources: tuple[Mapping[str, Any], ...],
    version: str,
) -> Artefact:
    if len(sources) > MAX_LISTS:
        raise ValueError(f"at most {MAX_LISTS} lists fit the membership bits, not {len(sources)}")
    words = marisa_trie.Trie(sorted(rows))
    sets, memberships = _membership_sets(rows, words)
    phrase_trie = marisa_trie.Trie(sorted(phrases))
    kinds = np.zeros(len(phrase_trie), np.uint8)
    for phrase, kind in phrases.items():
        kinds[phrase_trie[phrase]] = kind
    return Artefact(
        words=words,
        arrays=_arrays(rows, frequencies, words) | {"memberships": memberships},
        membership_sets=sets,
        phrases=phrase_trie,
        phrase_kinds=kinds,
        sources=sources,
        version=version,
    )


def _add_word(row: _Row, flag: WordFlag, index: int, count: int) -> None:
    row.flags |= flag
    row.lists |= 1 << index
    array = _COUNT_ARRAYS.get(flag)
    if array is not None:
        setattr(row, array, max(getattr(row, array), count_level(count)))


def _add_phrase(phrases: dict[str, PhraseKind], tokens: tuple[str, ...], kind: PhraseKind) -> None:
    phrase = " ".join(tokens)
    known = phrases.get(phrase)
    if known is None or _KIND_ORDER.index(kind) > _KIND_ORDER.index(known):
        phrases[phrase] = kind


def _arrays(
    rows: Mapping[str, _Row], frequencies: Mapping[str, Frequency], words: marisa_trie.Trie
) -> dict[str, UIntArray]:
    arrays: dict[str, UIntArray] = {name: np.zeros(len(words), dtype) for name, dtype in ARRAY_DTYPES.items()}
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


def _membership_sets(rows: Mapping[str, _Row], words: marisa_trie.Trie) -> tuple[UIntArray, UIntArray]:
    distinct = sorted({row.lists for row in rows.values()})
    position = {bits: index for index, bits in enumerate(distinct)}
    memberships = np.zeros(len(words), np.uint16)
    for key, row in rows.items():
        memberships[words[key]] = position[row.lists]
    return np.array(distinct, np.uint64), memberships
