"""Features of a word from dictionaries and shape, whatever its neighbours.

One row per distinct word, kept in step with the numbers of `InternedWords`.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np
import numpy.typing as npt

from inverse_deid.core.values import BoolArray, FloatArray, IntArray
from inverse_deid.lexicon import SAFE_FLAGS, UNSAFE_FLAGS, Lexicon, WordFlag, WordTable
from inverse_deid.rules.disguised_words import find_disguised_words
from inverse_deid.rules.misread_words import MisreadWords
from inverse_deid.rules.patterns.anchors import BitArray
from inverse_deid.rules.patterns.search import pattern_search
from inverse_deid.rules.shapes import (
    SHAPES,
    WORD_CLASSES,
    class_matrix,
    has_long_number,
    in_foreign_script,
    shape_matrix,
)
from inverse_deid.text.interning import GrowingArray, InternedWords, read_units

_DICTIONARY_FEATURES: dict[str, WordFlag] = {
    "is-possibly-name": WordFlag.SURNAME | WordFlag.FIRST_NAME,
    "is-surname": WordFlag.SURNAME,
    "is-first-name": WordFlag.FIRST_NAME,
    "is-stop-word": WordFlag.STOP_WORD,
    "is-common-word": WordFlag.COMMON_ENGLISH,
    "is-drug": WordFlag.DRUG,
    "is-medical-term": WordFlag.MEDICAL,
    "is-clinical-shorthand": WordFlag.SHORTHAND,
    "is-unit": WordFlag.UNIT,
    "is-city-word": WordFlag.CITY,
    "is-country-word": WordFlag.COUNTRY,
    "is-state-word": WordFlag.STATE,
    "is-hospital-word": WordFlag.HOSPITAL,
    "is-weekday": WordFlag.WEEKDAY,
    "is-month": WordFlag.MONTH,
    "is-holiday": WordFlag.HOLIDAY,
    "is-street": WordFlag.STREET,
    "is-written-out-number": WordFlag.NUMBER_WORD,
    "is-salutation": WordFlag.SALUTATION,
    "is-possibly-top-level-domain": WordFlag.TOP_LEVEL_DOMAIN,
}
_DERIVED_FEATURES = (
    "is-safe-only",
    "is-unsafe-only",
    "is-ambiguous",
    "is-unknown-word",
    "lower-case-ratio",
    "lower-case-ratio-unknown",
    "word-frequency",
    "surname-frequency",
    "first-name-frequency",
)

DICTIONARY_FEATURE_NAMES = frozenset((*_DICTIONARY_FEATURES, *_DERIVED_FEATURES))
"""Features that come from the lexicon; training hides them at random."""

WORD_FEATURE_NAMES: tuple[str, ...] = (*_DICTIONARY_FEATURES, *_DERIVED_FEATURES, *WORD_CLASSES, *SHAPES)

_COLUMN = {name: i for i, name in enumerate(WORD_FEATURE_NAMES)}


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class WordRows:
    """Features of each distinct word, (n_words, ...); the row is its number in `InternedWords`."""

    flags: npt.NDArray[np.uint32]  # the `WordFlag`s of the lexicon
    features: FloatArray  # (n_words, len(WORD_FEATURE_NAMES)), in [0, 1]
    lower_ratio: FloatArray  # share of lower-case use in [0, 1], NaN = unknown
    foreign: BoolArray  # mixes scripts or is outside Latin and Greek
    disguised: BoolArray  # a name glued to another word, written with digits, or in base64 or hexadecimal
    misread: BoolArray  # in no list, and one confusion of characters away from a safe word
    misread_no_name: BoolArray  # misread, and the safe word is in no list of names
    long_number: BoolArray  # has seven digits or more
    anchors: BitArray  # see `PatternSearch.anchor_bits`
    keys: IntArray  # the same number for words that differ only in case
    n_chars: IntArray

    def has(self, name: str, ids: IntArray) -> BoolArray:
        """Tell whether the words of these numbers have a feature: bool (n_tokens,)."""
        return np.asarray(self.features[ids, _COLUMN[name]] > 0)


class WordKnowledge:
    """Looks distinct words up once and keeps the answers; the other stages share `interned`."""

    def __init__(self, lexicon: Lexicon, interned: InternedWords) -> None:
        self._lexicon = lexicon
        self._interned = interned
        self._generation = interned.generation
        self._keys = InternedWords()
        self.misread = MisreadWords(lexicon)
        empty = self._describe([])
        self._columns = {one.name: GrowingArray(getattr(empty, one.name)) for one in fields(WordRows)}

    def _forget(self) -> None:
        kept = self._interned.survivors(self._generation, len(self._columns["flags"]))
        for column in self._columns.values():
            column.keep(kept)
        self._generation = self._interned.generation
        words = self._interned.words_from(0)[: len(kept)]
        self._keys = InternedWords()
        self._columns["keys"] = GrowingArray(self._keys_of(words))

    def _keys_of(self, words: list[str]) -> IntArray:
        return self._keys.ids(list(map(str.casefold, words)))

    def rows(self) -> WordRows:
        if self._generation != self._interned.generation:
            self._forget()
        n_known = len(self._columns["flags"])
        if n_known < len(self._interned):
            fresh = self._describe(self._interned.words_from(n_known))
            for name, column in self._columns.items():
                column.append(getattr(fresh, name))
        return WordRows(**{name: column.rows for name, column in self._columns.items()})

    def _describe(self, words: list[str]) -> WordRows:
        words = read_units(words)
        table = self._lexicon.lookup(words)
        misread, no_name = self.misread.among(words, table.flags)
        parts = [_lexicon_columns(table), class_matrix(words), shape_matrix(words)]
        return WordRows(
            flags=table.flags,
            features=np.concatenate(parts, axis=1).astype(np.float32),
            lower_ratio=table.lower_ratio,
            foreign=np.fromiter(map(in_foreign_script, words), np.bool_, len(words)),
            disguised=find_disguised_words(words, self._lexicon),
            misread=misread,
            misread_no_name=no_name,
            long_number=np.fromiter(map(has_long_number, words), np.bool_, len(words)),
            anchors=pattern_search().anchor_bits(words),
            keys=self._keys_of(words),
            n_chars=np.fromiter(map(len, words), np.int32, len(words)),
        )


def _lexicon_columns(table: WordTable) -> FloatArray:
    flags = table.flags
    safe, unsafe = (flags & np.uint32(SAFE_FLAGS)) != 0, (flags & np.uint32(UNSAFE_FLAGS)) != 0
    unknown_ratio = np.isnan(table.lower_ratio)
    columns = [(flags & np.uint32(flag)) != 0 for flag in _DICTIONARY_FEATURES.values()]
    columns += [
        safe & ~unsafe,
        unsafe & ~safe,
        safe & unsafe,
        ~safe & ~unsafe,
        np.where(unknown_ratio, 0.0, table.lower_ratio),
        unknown_ratio,
        table.word_logprob,
        table.surname_log,
        table.first_name_log,
    ]
    return np.stack(columns, axis=1).astype(np.float32)
