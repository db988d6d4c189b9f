"""Search for many patterns at once, only where a telling word of theirs is.

Running some eighty regular expressions over every character of every text is expensive. Nearly all
of them need one telling word: digits, a month, a label. Each distinct word is checked once for the
patterns that it can belong to, and a text is searched only where such a word is next to the right sign.
An anchor is *necessary* for its pattern and nothing more: the pattern itself is matched there, so
`PatternSearch.find` and `pattern_hits` agree.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import compress
from types import MappingProxyType

import numpy as np
import numpy.typing as npt

from inverse_deid.core.values import BoolArray, Tokens
from inverse_deid.text.tokenizer import JoinedTokens, tokens_touched

BitArray = npt.NDArray[np.uint64]
Places = npt.NDArray[np.intp]

_BITS_OF_BLOCK = 64
_TABLE_SIZE = 0x2100


_ONLY_WORDS = re.compile(r"\(\?:([a-z|]+)\)\\Z")
_DOTLESS = str.maketrans("ıİ", "ii")


def fold_word(word: str) -> str:
    """Return a word in lower case; regular expressions take an i without its dot for an i."""
    return word.translate(_DOTLESS).casefold()


@dataclass(frozen=True, slots=True)
class Anchor:
    """A word without which a pattern cannot match."""

    word: str  # its beginning, in any case unless `cased`
    before: str = ""  # one of these signs is directly before it; "" = any
    behind: str = ""  # one of these signs is directly after it; "" = any
    begins: bool = True  # the pattern begins with this word; otherwise the word is anywhere in it
    cased: bool = False  # upper and lower case differ
    words: frozenset[str] = frozenset()  # instead of `word`: any of these, whole, in any case

    def whole_words(self) -> frozenset[str]:
        """Return the words if the anchor is nothing but whole words, which need no regular expression."""
        match = None if self.cased else _ONLY_WORDS.fullmatch(self.word)
        return self.words if match is None else frozenset(match.group(1).split("|"))


def any_of(words: Iterable[str], *, begins: bool = True) -> Anchor:
    """Return an anchor that is one of some words, which are found faster than by a regular expression."""
    return Anchor("", begins=begins, words=frozenset(words))


def within(word: str, before: str = "", behind: str = "") -> Anchor:
    """Return an anchor that can be anywhere in its pattern."""
    return Anchor(word, before, behind, begins=False)


def compile_patterns(
    patterns: Mapping[str, str], flags: re.RegexFlag = re.IGNORECASE
) -> dict[str, re.Pattern[str]]:
    """Return the patterns compiled, by name."""
    return {name: re.compile(pattern, flags) for name, pattern in patterns.items()}


def select_span(match: re.Match[str]) -> tuple[int, int]:
    """Return the range of a match that counts: its group, or all of it; (-1, -1) = nothing."""
    return match.span(1 if match.re.groups == 1 else 0)


def trim(words: Sequence[str], first: int, stop: int, plain: frozenset[str]) -> tuple[int, int]:
    """Return the range of words without the plain ones at its ends, the same range = all of it is plain.

    Example:
        >>> trim(["in", "his", "early", "fifties"], 0, 4, frozenset({"in", "his"}))
        (2, 4)
    """
    begin, end = first, stop
    while begin < end and words[begin].casefold() in plain:
        begin += 1
    while end > begin and words[end - 1].casefold() in plain:
        end -= 1
    return (begin, end) if begin < end else (first, stop)


def pattern_hits(tokens: Tokens, patterns: Iterable[re.Pattern[str]]) -> list[BoolArray]:
    r"""Tell which tokens each pattern touches: one bool (n_tokens,) per pattern.

    Example:
        >>> from inverse_deid.text.tokenizer import tokenize
        >>> hits = pattern_hits(tokenize("seen 3/4/2021 BP 120/80"), [re.compile(r"\d+/\d+/\d+")])
        >>> hits[0].astype(int).tolist()
        [0, 1, 1, 1, 0, 0, 0]
    """
    spans = (map(select_span, pattern.finditer(tokens.text)) for pattern in patterns)
    return [tokens_touched(tokens, [span for span in some if span[0] >= 0]) for some in spans]


class PatternSearch:
    """Finds the tokens that patterns touch.

    Args:
        patterns: By name.
        anchors: Of every pattern: each of its matches has one of them, or the sign of the pattern.
        signs: A sign that every match of a pattern contains, or one of the anchors.
        longest: Characters of the longest match of patterns with such a limit: they are searched near
            their anchors only.
        plain: Words, in lower case, at either end of a match that the pattern does not touch.
    """

    def __init__(
        self,
        patterns: Mapping[str, re.Pattern[str]],
        anchors: Mapping[str, Sequence[Anchor]],
        signs: Mapping[str, str],
        longest: Mapping[str, int],
        plain: Mapping[str, frozenset[str]] = MappingProxyType({}),
    ) -> None:
        self._patterns, self._signs, self._longest = dict(patterns), signs, longest
        self._plain = [plain.get(name, frozenset()) for name in patterns]
        self._distinct = list(dict.fromkeys(anchor for some in anchors.values() for anchor in some))
        self._whole: dict[str, list[int]] = {}
        searched = []  # the anchors that need a regular expression
        for number, anchor in enumerate(self._distinct):
            whole = anchor.whole_words()
            for word in whole:
                self._whole.setdefault(fold_word(word), []).append(number)
            searched += [] if whole else [number]
        self._searched = searched
        anchors_searched = [self._distinct[number] for number in searched]
        words = [a.word if a.cased else f"(?i:{a.word})" for a in anchors_searched]
        # Matches every word that can be such an anchor and does not begin with a digit.
        letters = (w for w, a in zip(words, anchors_searched, strict=True) if a.word[:2] != r"\d")
        self._any_letters = re.compile("|".join(letters))
        # Matches the empty beginning of any word; group `i + 1` is set if it can be anchor `searched[i]`.
        self._each_word = re.compile("".join(f"(?:(?=({word})))?" for word in words))
        self._n_blocks = -(-len(self._distinct) // _BITS_OF_BLOCK)
        self._before, self._behind = self._bits_of_signs("before"), self._bits_of_signs("behind")
        self._bits = {
            name: self._bits_of(self._distinct.index(anchor) for anchor in anchors[name]) for name in patterns
        }
        # Whether every match of a pattern begins with one of its anchors.
        self._begins = {
            name: bool(anchors[name]) and all(a.begins for a in anchors[name]) for name in patterns
        }
        self._beginning_with = lru_cache(8192)(self._patterns_beginning_with)

    def _bits_of(self, anchors: Iterable[int]) -> BitArray:
        """Return the bits of some anchors, given by number: uint64 (n_blocks,)."""
        bits = np.zeros(self._n_blocks, np.uint64)
        for anchor in anchors:
            bits[anchor // _BITS_OF_BLOCK] |= np.uint64(1 << anchor % _BITS_OF_BLOCK)
        return bits

    def anchor_bits(self, words: Sequence[str]) -> BitArray:
        """Tell which anchors each word can be: uint64 (n_words, n_blocks), one bit per distinct anchor."""
        bits = np.zeros((len(words), self._n_blocks), np.uint64)
        for i, word in enumerate(words):
            if word[:1].isdecimal() or self._any_letters.match(word) is not None:
                groups = self._each_word.match(word).groups()  # type: ignore[union-attr] # it matches every word
                bits[i] = self._bits_of(compress(self._searched, groups))
            whole = self._whole.get(fold_word(word))
            if whole is not None:
                bits[i] |= self._bits_of(whole)
        return bits

    def _bits_of_signs(self, side: str) -> BitArray:
        """Return the anchors that each sign allows: uint64 (_TABLE_SIZE, n_blocks), last of other signs."""
        table = np.zeros((_TABLE_SIZE, self._n_blocks), np.uint64)
        for number, anchor in enumerate(self._distinct):
            signs: str = getattr(anchor, side)
            table[[ord(sign) for sign in signs] if signs else slice(None)] |= self._bits_of([number])
        return table

    def find(self, tokens: JoinedTokens, bits: BitArray) -> dict[str, BoolArray]:
        """Tell which tokens each pattern of the rules touches: bool (n_tokens,) by the name of the pattern.

        Args:
            tokens: Of several documents.
            bits: uint64 (n_tokens, n_blocks), `anchor_bits` of each token's word.
        """
        signs = np.minimum(tokens.codes, _TABLE_SIZE - 1)
        here = bits & self._before[signs[tokens.starts - 1]] & self._behind[signs[tokens.ends]]
        anchored = np.flatnonzero(here.any(axis=1))
        here = here[anchored]
        found = list(self._beginning_at(tokens, anchored, list(map(tuple, here.tolist()))))
        any_bits = np.bitwise_or.reduce(here, axis=0)
        for row, name in enumerate(self._patterns):
            if not self._begins[name] and (name in self._signs or (any_bits & self._bits[name]).any()):
                places = anchored[(here & self._bits[name]).any(axis=1)]
                search = self._near if name in self._longest else self._containing
                found += [(row, *span) for span in search(name, tokens, places)]
        hits = np.zeros((len(self._patterns), len(tokens)), np.bool_)
        if found:
            rows, starts, ends = zip(*found, strict=True)
            firsts = np.searchsorted(tokens.ends, starts, side="right")
            stops = np.searchsorted(tokens.starts, ends, side="left")
            for row, first, stop in zip(rows, firsts.tolist(), stops.tolist(), strict=True):
                begin, end = trim(tokens.words, first, stop, self._plain[row])
                hits[row, begin:end] = True
        return dict(zip(self._patterns, hits, strict=True))

    def _beginning_at(
        self, tokens: JoinedTokens, places: Places, bits: Sequence[tuple[int, ...]]
    ) -> Iterator[tuple[int, int, int]]:
        """Yield the matches of all patterns that begin at their anchors: row of the pattern, start and end.

        Args:
            tokens: Of several documents.
            places: The tokens that are anchors.
            bits: Which anchors each of them is.
        """
        docs, offsets = tokens.doc[places].tolist(), tokens.offsets[tokens.doc[places]].tolist()
        behind = [0] * len(self._patterns)  # matches of one pattern do not overlap
        texts = [doc.text for doc in tokens.docs]
        for start, doc, offset, own in zip(tokens.starts[places].tolist(), docs, offsets, bits, strict=True):
            for row, pattern, group in self._beginning_with(own):
                match = pattern.match(texts[doc], start - offset) if start >= behind[row] else None
                if match is not None:
                    behind[row] = match.end() + offset
                    first, last = match.span(group)
                    if first >= 0:
                        yield row, first + offset, last + offset

    def _patterns_beginning_with(self, bits: tuple[int, ...]) -> list[tuple[int, re.Pattern[str], int]]:
        """Return the patterns that begin with one of these anchors: row, pattern, the group that counts."""
        return [
            (row, pattern, int(pattern.groups == 1))
            for row, (name, pattern) in enumerate(self._patterns.items())
            if self._begins[name] and any(map(int.__and__, bits, self._bits[name].tolist()))
        ]

    def _near(self, name: str, tokens: JoinedTokens, places: Places) -> Iterator[tuple[int, int]]:
        """Yield the matches, at most `longest` characters, of a pattern that contain one of its anchors."""
        pattern, longest = self._patterns[name], self._longest[name]
        behind = 0
        docs, offsets = tokens.doc[places].tolist(), tokens.offsets[tokens.doc[places]].tolist()
        edges = zip(tokens.starts[places].tolist(), tokens.ends[places].tolist(), strict=True)
        for (start, end), doc, offset in zip(edges, docs, offsets, strict=True):
            begin = max(behind, start - longest, offset) - offset
            # Two more characters than a match that begins in the anchor needs: it may look ahead.
            for match in pattern.finditer(tokens.docs[doc].text, begin, end - offset + longest + 2):
                if match.start() > end - offset:
                    break  # another anchor's, or cut off
                behind = match.end() + offset
                first, last = select_span(match)
                if first >= 0:
                    yield first + offset, last + offset

    def _containing(self, name: str, tokens: JoinedTokens, places: Places) -> Iterator[tuple[int, int]]:
        """Yield the matches of a pattern that contain one of its anchors or its sign anywhere."""
        docs = set(tokens.doc[places].tolist())
        if name in self._signs:
            signs = np.flatnonzero(tokens.codes == ord(self._signs[name]))
            docs.update((np.searchsorted(tokens.offsets, signs, side="right") - 1).tolist())
        for doc in sorted(docs):
            offset = int(tokens.offsets[doc])
            for match in self._patterns[name].finditer(tokens.docs[doc].text):
                start, end = select_span(match)
                if start >= 0:
                    yield start + offset, end + offset
