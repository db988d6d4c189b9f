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
from itertools import compress, product
from math import prod
from types import MappingProxyType

import numpy as np
import numpy.typing as npt

from inverse_deid.core.values import BoolArray, Tokens
from inverse_deid.text.tokenizer import JoinedTokens, tokens_touched

BitArray = npt.NDArray[np.uint64]
Places = npt.NDArray[np.intp]

ANY_WORD = r"\w"
_BITS_OF_BLOCK = 64
_TABLE_SIZE = 0x2200


@dataclass(frozen=True, slots=True)
class Anchor:
    """A word without which a pattern cannot match."""

    word: str  # its beginning, in any case unless `cased`
    before: str = ""  # one of these signs is directly before it; "" = any
    behind: str = ""  # one of these signs is directly after it; "" = any
    begins: bool = True  # the pattern begins with this word; otherwise the word is anywhere in it
    cased: bool = False  # upper and lower case differ
    words: frozenset[str] = frozenset()  # instead of `word`: any of these, whole, in any case


def within(word: str, before: str = "", behind: str = "") -> Anchor:
    """Return an anchor that can be anywhere in its pattern."""
    return Anchor(word, before, behind, begins=False)


def one_of(words: Iterable[str], *, begins: bool = True) -> Anchor:
    """Return an anchor that is any of some whole words."""
    return Anchor("", begins=begins, words=frozenset(words))


def any_of(words: str) -> str:
    r"""Return a pattern that matches any of some words.

    Args:
        words: Separated by white space; each is a pattern in which `_` is white space.

    Example:
        >>> any_of("badges? sort_code a/c")
        '(?:badges?|sort\\scode|a/c)'
    """
    return rf"(?:{'|'.join(words.split())})".replace("_", r"\s")


def beginning_with(words: str) -> Anchor:
    r"""Return the anchor of a pattern that begins with `any_of(words)`.

    Example:
        >>> beginning_with("badges? log-?in sort_code a/c").word
        '(?:a|badges?|log|login|sort)\\Z'
    """
    joined = [word.replace("_?", "").replace("-?", "") for word in words.split()]
    firsts = {re.split(r"(?<!\?)[_/&'’]|-", word)[0] for word in (*words.split(), *joined)}  # noqa: RUF001
    return Anchor(rf"(?:{'|'.join(sorted(firsts))})\Z")


_PART_OF_WORD = re.compile(r"(?:\(\?:([\w|]*)\)|\[(\w+)\]|(\w))(\??)")
_MOST_FORMS = 64


def _forms(pattern: str) -> list[str] | None:
    """Return the words that a simple pattern matches, in lower case, None = it is not simple.

    Example:
        >>> _forms("licen[cs]es?")
        ['licences', 'licence', 'licenses', 'license']
        >>> _forms("[a-z]+") is None
        True
    """
    parts, end = [], 0
    for part in _PART_OF_WORD.finditer(pattern):
        if part.start() != end:
            return None
        end = part.end()
        group, several, one, optional = part.groups()
        forms = group.split("|") if group is not None else list(several or one)
        parts.append([*forms, ""] if optional else forms)
    if end != len(pattern) or prod(map(len, parts)) > _MOST_FORMS:
        return None
    return ["".join(form).lower() for form in product(*parts)]


def _alternatives(pattern: str) -> list[str]:
    """Split a pattern where it says *or*, outside of groups and classes.

    Example:
        >>> _alternatives("a(?:b|c)|[|]d")
        ['a(?:b|c)', '[|]d']
    """
    found, begin, depth = [], 0, 0
    for sign in re.finditer(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|[(|)]", pattern):
        depth += {"(": 1, ")": -1}.get(sign[0], 0)
        if sign[0] == "|" and not depth:
            found.append(pattern[begin : sign.start()])
            begin = sign.end()
    return [*found, pattern[begin:]]


def split_words(pattern: str) -> tuple[list[str], str]:
    r"""Split the pattern of a word into whole words, which can be looked up, and the pattern of the rest.

    Example:
        >>> split_words(r"(?:cars?|\d+)\Z")
        (['cars', 'car'], '(?:\\d+)\\Z')
    """
    end = r"\Z"
    of_group = pattern.removeprefix("(?:").removesuffix(rf"){end}")
    is_group = len(pattern) - len(of_group) == len("(?:)") + len(end) and ")" not in re.sub(
        r"\([^()]*\)", "", of_group
    )
    words: list[str] = []
    rest = []
    for one in _alternatives(of_group if is_group else pattern):
        is_whole = is_group or one.endswith(end)
        forms = _forms(one.removesuffix(end)) if is_whole else None
        if forms is None:
            rest.append(one)
        else:
            words += forms
    left = "|".join(rest)
    return words, rf"(?:{left}){end}" if is_group and rest else left


_DOTLESS = str.maketrans("ıİ", "ii")


def _fold(word: str) -> str:
    """Return a word as patterns compare it when case does not matter."""
    return word.lower() if word.isascii() else word.translate(_DOTLESS).casefold()


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
        # Any word can be these: no search is needed to tell.
        self._of_all = [number for number, a in enumerate(self._distinct) if a.word == ANY_WORD]
        # The numbers of the anchors that a whole word is; the patterns of the others are searched.
        self._of_word: dict[str, list[int]] = {}
        self._searched: list[int] = []
        searched = []
        for number, anchor in enumerate(self._distinct):
            words, rest = ([], anchor.word) if anchor.cased else split_words(anchor.word)
            for word in {*words, *map(_fold, anchor.words)} - {""}:
                self._of_word.setdefault(word, []).append(number)
            if rest and anchor.word != ANY_WORD:
                self._searched.append(number)
                searched.append(rest if anchor.cased else f"(?i:{rest})")
        # Matches every word that can be one of them and does not begin with a digit.
        self._any_letters = re.compile("|".join(one for one in searched if not one.startswith(r"(?i:\d")))
        # Matches the empty beginning of any word; group `i + 1` is set if the word can be the `i`th of them.
        self._each_word = re.compile("".join(f"(?:(?=({one})))?" for one in searched))
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
        bits = np.tile(self._bits_of(self._of_all), (len(words), 1))
        for i, word in enumerate(words):
            if word[:1].isdecimal() or self._any_letters.match(word) is not None:
                groups = self._each_word.match(word).groups()  # type: ignore[union-attr] # it matches every word
                bits[i] |= self._bits_of(compress(self._searched, groups))
            if (numbers := self._of_word.get(_fold(word))) is not None:
                bits[i] |= self._bits_of(numbers)
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
