"""The dictionaries at run time: look words and phrases up, and explain an entry."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Final, Literal

import numpy as np
import numpy.typing as npt

from inverse_deid.core.errors import LexiconError
from inverse_deid.core.packaged import LEXICON_SHA256, packaged_path
from inverse_deid.core.wording import _
from inverse_deid.lexicon.artefact import Artefact, parse_artefact
from inverse_deid.lexicon.entries import (
    MAX_PHRASE_TOKENS,
    SAFE_FLAGS,
    UNSAFE_FLAGS,
    PhraseKind,
    WordFlag,
    word_key,
)

_MAX_FIRST_WORDS: Final = 1 << 14
_UNKNOWN_RATIO: Final = 255
_FLOAT_OF_LEVEL: Final = (np.arange(256) / 255).astype(np.float32)
_RATIO_OF_LEVEL: Final = np.append(np.arange(255) / 254, np.nan).astype(np.float32)


@dataclass(frozen=True, slots=True)
class WordTable:
    """What the lexicon knows of n words; all arrays are (n,), one row per word."""

    flags: npt.NDArray[np.uint32]  # `WordFlag` bits; 0 = in no list
    lower_ratio: npt.NDArray[np.float32]  # p(lower) / (p(lower) + p(Title)) in [0, 1]; NaN = unknown
    word_logprob: npt.NDArray[np.float32]  # scaled log frequency in [0, 1]; 0 = unknown
    surname_log: npt.NDArray[np.float32]  # log10(count) / 7 in [0, 1]; 0 = not a surname
    first_name_log: npt.NDArray[np.float32]  # log10(count) / 7 in [0, 1]; 0 = not a first name

    def __len__(self) -> int:
        return int(self.flags.shape[0])


class Lexicon:
    """An immutable set of word lists with one lookup."""

    __slots__ = ("_rows", "_second_words", "artefact")

    def __init__(self, artefact: Artefact) -> None:
        self.artefact = artefact
        self._second_words = lru_cache(_MAX_FIRST_WORDS)(self._list_second_words)
        # One row past the end answers for unknown words (id -1).
        self._rows = {
            name: np.append(array, array.dtype.type(_UNKNOWN_RATIO * (name == "lower_ratio")))
            for name, array in artefact.arrays.items()
        }

    def __repr__(self) -> str:
        return f"Lexicon(version={self.version!r}, n_words={len(self)})"

    def __len__(self) -> int:
        return len(self.artefact.words)

    @property
    def version(self) -> str:
        return self.artefact.version

    @property
    def sha256(self) -> str:
        """SHA-256 of the manifest, which lists the SHA-256 of every member."""
        return self.artefact.sha256

    @property
    def sources(self) -> tuple[Any, ...]:
        """Of each list: name, version, licence, count, flag and so on."""
        return self.artefact.sources

    def lookup(self, words: Sequence[str]) -> WordTable:
        """Return what is known of each word, in order."""
        get = self.artefact.words.get
        ids = np.fromiter((get(word_key(w), -1) for w in words), np.int64, len(words))
        rows = self._rows
        return WordTable(
            flags=rows["flags"][ids],
            lower_ratio=_RATIO_OF_LEVEL[rows["lower_ratio"][ids]],
            word_logprob=_FLOAT_OF_LEVEL[rows["word_logprob"][ids]],
            surname_log=_FLOAT_OF_LEVEL[rows["surname_log"][ids]],
            first_name_log=_FLOAT_OF_LEVEL[rows["first_name_log"][ids]],
        )

    def flags(self, word: str) -> WordFlag:
        """Return the flags of one word, in any case; no flag for an unknown word."""
        return WordFlag(int(self._rows["flags"][self.artefact.words.get(word_key(word), -1)]))

    def may_begin_phrase(self, first: str, second: str) -> bool:
        """Tell whether a known phrase begins with two words, in any case."""
        return second.casefold() in self._second_words(first)

    def _list_second_words(self, first: str) -> frozenset[str]:
        # Recent answers are kept.
        phrases = self.artefact.phrases.iterkeys(f"{first.casefold()} ")
        return frozenset(phrase.split(" ", 2)[1] for phrase in phrases)

    def longest_phrase(self, tokens: Sequence[str]) -> tuple[PhraseKind, int] | None:
        """Return the longest known phrase that the case-folded `tokens` begin with, and its length.

        >>> load_lexicon().longest_phrase(["new", "york", "today"])
        (<PhraseKind.CITY: 1>, 2)
        """
        text = " ".join(tokens[:MAX_PHRASE_TOKENS])
        longest = None
        for phrase, index in self.artefact.phrases.iter_prefixes_with_ids(text):
            n_tokens = phrase.count(" ") + 1
            if n_tokens > 1 and text[len(phrase) :][:1] in ("", " "):
                longest = PhraseKind(int(self.artefact.phrase_kinds[index])), n_tokens
        return longest

    def memberships(self, word: str) -> tuple[str, ...]:
        index = self.artefact.words.get(word_key(word), -1)
        if index < 0:
            return ()
        sets = self.artefact.membership_sets
        bits = int(sets[self.artefact.arrays["memberships"][index]])
        return tuple(s["name"] for i, s in enumerate(self.sources) if bits >> i & 1)


def load_lexicon(path: Path | None = None) -> Lexicon:
    """Return the lexicon of the file at `path`, by default the packaged one.

    Raises:
        LexiconError: The file is missing, damaged or of another format, or the packaged
            lexicon is not the one that was shipped.
    """
    try:
        data = (packaged_path("lexicon.zip") if path is None else path).read_bytes()
    except OSError as error:
        where = "packaged lexicon" if path is None else f"lexicon {path.name}"
        raise LexiconError(
            _("cannot read the {where}: {strerror}", where=where, strerror=error.strerror)
        ) from error
    artefact = parse_artefact(data)
    if path is None and artefact.sha256 != LEXICON_SHA256:
        raise LexiconError(
            _(
                "the packaged lexicon is not the one that this version was shipped with. Install "
                "inverse-deid again. If you rebuilt the lexicon, run `python "
                "scripts/pin_packaged_data.py`"
            )
        )
    return Lexicon(artefact)


Standing = Literal["safe", "unsafe", "ambiguous", "neither"]


@dataclass(frozen=True, slots=True)
class ListEntry:
    """One list that has the word, and the origin of the list."""

    name: str
    flag: str
    title: str
    origin: str
    licence: str


@dataclass(frozen=True, slots=True)
class WordExplanation:
    """The entry of one word in the lexicon."""

    key: str  # the word as it is looked up
    standing: Standing  # the verdict of its lists
    reason: str  # why, in one sentence
    lists: tuple[ListEntry, ...]
    lower_ratio: float | None  # p(lower) / (p(lower) + p(Title)); None = unknown
    frequency: float | None  # scaled log frequency in [0, 1]; None = unknown


def explain_word(lexicon: Lexicon, word: str) -> WordExplanation:
    """Return what `lexicon` knows of `word`."""
    table = lexicon.lookup([word])
    flags = WordFlag(int(table.flags[0]))
    ratio, frequency = float(table.lower_ratio[0]), float(table.word_logprob[0])
    standing = standing_of(flags)
    held = lexicon.memberships(word)
    sources = [source for source in lexicon.sources if source["name"] in held]
    keys = ("name", "flag", "title", "origin", "licence")
    return WordExplanation(
        key=word_key(word),
        standing=standing,
        reason=_reason(standing, flags),
        lists=tuple(ListEntry(**{key: str(s.get(key, "")) for key in keys}) for s in sources),
        lower_ratio=None if math.isnan(ratio) else ratio,
        frequency=frequency or None,
    )


def standing_of(flags: WordFlag) -> Standing:
    """Return what the flags make of a word, whatever its context."""
    safe, unsafe = bool(flags & SAFE_FLAGS), bool(flags & UNSAFE_FLAGS)
    if safe and unsafe:
        return "ambiguous"
    if safe or unsafe:
        return "safe" if safe else "unsafe"
    return "neither"


def format_explanation(explanation: WordExplanation) -> str:
    lines = [f"{explanation.key}: {explanation.standing} ({explanation.reason})"]
    lines += [
        f"  {entry.flag:<16} {entry.name}: {entry.title} [{entry.origin}; {entry.licence}]"
        for entry in explanation.lists
    ]
    ratio, frequency = explanation.lower_ratio, explanation.frequency
    lines.append(f"  written in lower case: {'unknown' if ratio is None else f'{100 * ratio:.0f} %'}")
    lines.append(f"  frequency (0 to 1):    {'unknown' if frequency is None else f'{frequency:.2f}'}")
    return "\n".join(lines)


def _reason(standing: Standing, flags: WordFlag) -> str:
    safe, unsafe = _names(flags & SAFE_FLAGS), _names(flags & UNSAFE_FLAGS)
    if standing == "safe":
        return f"in safe lists only: {safe}"
    if standing == "unsafe":
        return f"in unsafe lists only: {unsafe}"
    if standing == "ambiguous":
        return f"safe as {safe}, unsafe as {unsafe}: its case and its context decide"
    return "in no list that counts; it is masked unless the rest of the rules knows better"


def _names(flags: WordFlag) -> str:
    return ", ".join(flag.name.lower() for flag in flags if flag.name)
