"""Search for many patterns at once, only where a telling word of theirs is.

Running some eighty regular expressions over every character of every text is expensive. Nearly all
of them need one telling word: digits, a month, a label. Each distinct word is checked once for the
patterns that it can belong to, and a text is searched only where such a word is next to the right sign
and before the right word.
An anchor is *necessary* for its pattern and nothing more: the pattern itself is matched there, so
`PatternSearch.find` and `pattern_hits` agree.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import compress
from types import MappingProxyType
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from inverse_deid.core.values import BoolArray, Tokens
from inverse_deid.text.tokenizer import JoinedTokens, tokens_touched

BitArray = npt.NDArray[np.uint64]
Places = npt.NDArray[np.intp]

ANY_WORD = r"\w"
SPACES = "".join(filter(str.isspace, map(chr, range(0x3001))))
"""What `\\s` matches."""
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
    next: str = ""  # the beginning of the word that follows, in any case; "" = any, or no word


def within(word: str, before: str = "", behind: str = "", next: str = "") -> Anchor:  # noqa: A002
    """Return an anchor that can be anywhere in its pattern."""
    return Anchor(word, before, behind, begins=False, next=next)


def any_of(words: str) -> str:
    r"""Return a pattern that matches any of some words.

    Args:
        words: Separated by white space; each is a pattern in which `_` is white space.

    Example:
        >>> any_of("badges? sort_code a/c")
        '(?:badges?|sort\\scode|a/c)'
    """
    return rf"(?:{'|'.join(words.split())})".replace("_", r"\s")


def begin_phrases(words: str, then: str = "") -> list[Anchor]:
    r"""Return the anchors of a pattern that begins with `any_of(words)`: each tells the word that follows it.

    Args:
        words: As of `any_of`.
        then: The beginning of the word that follows `any_of(words)`, see `Anchor.next`.

    Example:
        >>> for anchor in begin_phrases("badges? sort_code a/c", then="no|[0-9]"):
        ...     print(anchor.word, anchor.next)
        (?:badges?)\Z no|[0-9]
        (?:sort)\Z code
        (?:a)\Z c
    """
    joined = [word.replace("_?", "").replace("-?", "") for word in words.split()]
    nexts: dict[str, set[str]] = {}
    for word in dict.fromkeys((*words.split(), *joined)):
        first, *rest = re.split(r"(?<!\?)[_/&'’]|-", word, maxsplit=1)
        second = re.split(r"[_/&'’-]", rest[0].lstrip("?-_"))[0] if rest else then
        nexts.setdefault(first, set()).add(second)
    firsts: dict[str, list[str]] = {}
    for first, seconds in nexts.items():
        firsts.setdefault("" if "" in seconds else "|".join(sorted(seconds)), []).append(first)
    return [Anchor(rf"(?:{'|'.join(some)})\Z", next=second) for second, some in firsts.items()]


_MOST_FORMS = 128
_LETTERS = re.compile(r"(\w+(?!\?)|\w)|\[(\w+)\]")
"""Letters that are all there, one that may be there, or a class of them."""


def _forms(pattern: str) -> list[str] | None:
    """Return the words that a simple pattern matches, None = it is not simple.

    Example:
        >>> _forms("(?:licen[cs]|cas)es?")
        ['licences', 'licence', 'licenses', 'license', 'cases', 'case']
        >>> _forms("[a-z]+") is None
        True
    """
    forms, at = [""], 0
    while at < len(pattern):
        end = at + 1
        if pattern.startswith("(?:", at):
            end = at + _length_of_group(pattern[at:])
            inner = [_forms(one) for one in split_alternatives(pattern[at + 3 : end - 1])]
            if any(some is None for some in inner):
                return None
            part = [one for some in inner if some is not None for one in some]
        elif (letters := _LETTERS.match(pattern, at)) is not None:
            part, end = [letters[1]] if letters[1] else list(letters[2]), letters.end()
        else:
            return None
        if pattern[end : end + 1] == "?":
            part, end = [*part, ""], end + 1
        forms, at = [one + other for one in forms for other in part], end
        if len(forms) > _MOST_FORMS:
            return None
    return forms


def _length_of_group(pattern: str) -> int:
    depth = 0
    for sign in re.finditer(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|[()]", pattern):
        depth += {"(": 1, ")": -1}.get(sign[0], 0)
        if not depth and sign[0] == ")":
            return sign.end()
    return len(pattern)


def split_alternatives(pattern: str) -> list[str]:
    """Split a pattern where it says *or*, outside of groups and classes.

    Example:
        >>> split_alternatives("a(?:b|c)|[|]d")
        ['a(?:b|c)', '[|]d']
    """
    if "|" not in pattern:
        return [pattern]
    found, begin, depth = [], 0, 0
    for sign in re.finditer(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|[(|)]", pattern):
        depth += {"(": 1, ")": -1}.get(sign[0], 0)
        if sign[0] == "|" and not depth:
            found.append(pattern[begin : sign.start()])
            begin = sign.end()
    return [*found, pattern[begin:]]


def split_words(pattern: str) -> tuple[list[str], list[str], str]:
    r"""Split the pattern of the beginning of a word into what can be looked up and the rest.

    Returns:
        Whole words, beginnings of words, and the pattern of all other words.

    Example:
        >>> split_words(r"(?:cars?|\d+)\Z|bus")
        (['cars', 'car'], ['bus'], '\\d+\\Z')
    """
    end = r"\Z"
    words: list[str] = []
    beginnings: list[str] = []
    rest: list[str] = []
    for one in split_alternatives(pattern):
        bare = one.removesuffix(end)
        if one.startswith("(?:") and _length_of_group(bare) == len(bare):
            left = []
            for inner in split_alternatives(bare[3:-1]):
                some, begun, other = split_words(inner if bare == one else f"{inner.removesuffix(end)}{end}")
                words += some
                beginnings += begun
                left += [other] if other else []
            rest += left
        elif (forms := _forms(bare)) is None:
            rest.append(one)
        elif bare == one:
            beginnings += forms
        else:
            words += forms
    return words, beginnings, "|".join(rest)


_DOTLESS = str.maketrans("ıİ", "ii")


def _fold(word: str) -> str:
    return word.lower() if word.isascii() else word.translate(_DOTLESS).casefold()


class Patterns(Mapping[str, re.Pattern[str]]):
    """Regular expressions by name, compiled when asked for: a command that masks nothing compiles nothing.

    Args:
        sources: The text and the flags of each.
    """

    def __init__(self, sources: Mapping[str, tuple[str, re.RegexFlag]]) -> None:
        self._sources = dict(sources)
        self._compiled: dict[str, re.Pattern[str]] = {}

    def __getitem__(self, name: str) -> re.Pattern[str]:
        if name not in self._compiled:
            self._compiled[name] = re.compile(*self._sources[name])
        return self._compiled[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._sources)

    def __len__(self) -> int:
        return len(self._sources)

    def __or__(self, other: Patterns) -> Patterns:
        return Patterns(self._sources | other._sources)


def compile_patterns(patterns: Mapping[str, str], flags: re.RegexFlag = re.IGNORECASE) -> Patterns:
    """Return the patterns by name, ready to be compiled."""
    return Patterns({name: (pattern, flags) for name, pattern in patterns.items()})


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


_ASCII = "".join(map(chr, range(0x80)))
_GROUP = re.compile(r"\(\?(?:(-?i)?:|([=!]))")
_SIGN = re.compile(r"(?:\\[^bBAZ]|\[\^?\]?(?:\\.|[^\]\\])*\]|[^()^$\\])")
_NEED_NOT_BE = re.compile(r"(?:[?*]|\{(?:0?,\d*|0)\})[?+]?")


def _first_signs(pattern: str, flags: re.RegexFlag = re.NOFLAG) -> set[str]:
    r"""Return the ASCII signs that a match may begin with, all of them where the pattern does not tell.

    Example:
        >>> sorted(_first_signs(r"(?:b|[de])?f\Z|(?=\d)7"))
        ['7', 'b', 'd', 'e', 'f']
    """
    found: set[str] = set()
    for alternative in split_alternatives(pattern):
        rest, may_be_left_out = alternative, True
        while may_be_left_out:
            stop, is_condition = _length_of_group(rest), False
            if (group := _GROUP.match(rest)) is not None:
                is_condition = group[2] is not None
                inner = {"i": re.IGNORECASE, "-i": re.NOFLAG}.get(group[1], flags)
                found |= set() if is_condition else _first_signs(rest[group.end() : stop - 1], inner)
            elif (sign := _SIGN.match(rest)) is not None:
                found.update(re.findall(sign[0], _ASCII, flags))
                stop = sign.end()
            else:
                return set(_ASCII)
            quantifier = _NEED_NOT_BE.match(rest, stop)
            may_be_left_out = is_condition or quantifier is not None
            rest = rest[stop if quantifier is None else quantifier.end() :]
    return found


class _WordConditions:
    """Tells which of some conditions each word meets, as the bits of an integer.

    Args:
        conditions: The pattern of the beginning of a word, "" = any word, and whether case matters.
        bits: Those that tell that each condition is met.
    """

    def __init__(self, conditions: Sequence[tuple[str, bool]], bits: Sequence[int]) -> None:
        self._always = 0
        # What whole words meet, and what beginnings of words do, by length. Other conditions are searched.
        self._of_word: dict[str, int] = defaultdict(int)
        self._beginning: dict[int, dict[str, int]] = defaultdict(lambda: defaultdict(int))
        self._searched: dict[str, int] = defaultdict(int)
        for (pattern, is_cased), own in zip(conditions, bits, strict=True):
            if pattern in ("", ANY_WORD):
                self._always |= own
                continue
            words, beginnings, rest = ([], [], pattern) if is_cased else split_words(pattern)
            for word in map(_fold, words):
                self._of_word[word] |= own
            for word in map(_fold, beginnings):
                self._beginning[len(word)][word] |= own
            if rest:
                self._searched[rest if is_cased else f"(?i:{rest})"] |= own
        self._signs = {pattern: _first_signs(pattern) for pattern in self._searched}
        self._compiled = compile_patterns({pattern: pattern for pattern in self._searched}, re.NOFLAG)
        self._after_sign = lru_cache(1 + len(_ASCII))(self._list_searched)

    def _list_searched(self, sign: str) -> list[tuple[re.Pattern[str], int]]:
        # What a word with this first sign may meet; "" = any other sign.
        return [
            (self._compiled[pattern], own)
            for pattern, own in self._searched.items()
            if not sign or sign in self._signs[pattern]
        ]

    def met_by(self, word: str) -> int:
        folded = _fold(word)
        met = self._always | self._of_word.get(folded, 0)
        for length, beginning in self._beginning.items():
            met |= beginning.get(folded[:length], 0)
        sign = word[:1]
        for pattern, own in self._after_sign(sign if sign.isascii() else ""):
            if pattern.match(word) is not None:
                met |= own
        return met


def _touch(tokens: JoinedTokens, spans: Sequence[tuple[int, int]], plain: frozenset[str]) -> BoolArray:
    """Tell which tokens touch a span, without the plain words at its ends: bool (n_tokens,)."""
    starts, ends = zip(*spans, strict=True)
    firsts = np.searchsorted(tokens.ends, starts, side="right").tolist()
    stops = np.searchsorted(tokens.starts, ends, side="left").tolist()
    touched = np.zeros(len(tokens), np.bool_)
    for first, stop in zip(firsts, stops, strict=True):
        begin, end = trim(tokens.words, first, stop, plain) if plain else (first, stop)
        touched[begin:end] = True
    return touched


_Begun: TypeAlias = tuple[int, Callable[[str, int], re.Match[str] | None], int]
"""A pattern that begins at its anchors: its row, its method, and the group that counts."""


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
        self._patterns, self._signs, self._longest = patterns, signs, longest
        self._plain = [plain.get(name, frozenset()) for name in patterns]
        self._distinct = list(dict.fromkeys(anchor for some in anchors.values() for anchor in some))
        self._n_blocks = -(-len(self._distinct) // _BITS_OF_BLOCK)
        bits = [1 << number for number in range(len(self._distinct))]
        self._own = _WordConditions([(a.word, a.cased) for a in self._distinct], bits)
        self._next = _WordConditions([(a.next, False) for a in self._distinct], bits)
        self._without_next = self._pack([sum(compress(bits, [not a.next for a in self._distinct]))])
        self._before, self._behind = self._bits_of_signs("before"), self._bits_of_signs("behind")
        bits_of = dict(zip(self._distinct, bits, strict=True))
        self._bits = {name: sum({bits_of[anchor] for anchor in anchors[name]}) for name in patterns}
        # Whether every match of a pattern begins with one of its anchors.
        self._begins = {
            name: bool(anchors[name]) and all(a.begins for a in anchors[name]) for name in patterns
        }
        self._with_anchors = lru_cache(8192)(self._patterns_with_anchors)

    def _pack(self, bits: Sequence[int]) -> BitArray:
        """Return bits of anchors as an array: uint64 (n, n_blocks)."""
        n_bytes = self._n_blocks * _BITS_OF_BLOCK // 8
        packed = b"".join(one.to_bytes(n_bytes, "little") for one in bits)
        return np.frombuffer(packed, np.dtype("<u8")).reshape(len(bits), self._n_blocks)

    def anchor_bits(self, words: Sequence[str]) -> BitArray:
        """Tell which anchors each word can be, and which it can follow: uint64 (n_words, 2 * n_blocks)."""
        own, follows = (self._pack([side.met_by(word) for word in words]) for side in (self._own, self._next))
        return np.concatenate([own, follows], axis=1)

    def _bits_of_signs(self, side: str) -> BitArray:
        """Return the anchors that each sign allows: uint64 (_TABLE_SIZE, n_blocks), last of other signs."""
        table = np.zeros((_TABLE_SIZE, self._n_blocks), np.uint64)
        with_signs: dict[str, int] = defaultdict(int)
        for number, anchor in enumerate(self._distinct):
            with_signs[getattr(anchor, side)] |= 1 << number
        for signs, bits in with_signs.items():
            codes = [min(ord(sign), _TABLE_SIZE - 1) for sign in signs]
            table[codes or slice(None)] |= self._pack([bits])
        return table

    def find(self, tokens: JoinedTokens, bits: BitArray) -> dict[str, BoolArray]:
        """Tell which tokens each pattern of the rules touches: bool (n_tokens,) by the name of the pattern.

        Args:
            tokens: Of several documents.
            bits: uint64 (n_tokens, 2 * n_blocks), `anchor_bits` of each token's word.

        Returns:
            Of all patterns. Those that touch nothing share one array, which cannot be written to.
        """
        found, around = self._beginning_at(tokens, *self._anchored(tokens, bits))
        for row, name in enumerate(self._patterns):
            if row in around or name in self._signs:
                search = self._near if name in self._longest else self._containing
                found[row] = list(search(name, tokens, np.asarray(around.get(row, ()), np.intp)))
        none = np.zeros(len(tokens), np.bool_)
        none.flags.writeable = False
        hits = dict.fromkeys(self._patterns, none)
        for (name, plain), spans in zip(zip(hits, self._plain, strict=True), found, strict=True):
            if spans:
                hits[name] = _touch(tokens, spans, plain)
        return hits

    def _anchored(self, tokens: JoinedTokens, bits: BitArray) -> tuple[Places, list[bytes]]:
        # The tokens that are anchors, and which anchors each of them is, as bytes.
        signs = np.minimum(tokens.codes, _TABLE_SIZE - 1)
        here = bits[:, : self._n_blocks] & self._before[signs[tokens.starts - 1]]
        here &= self._behind[signs[tokens.ends]]
        here[:-1] &= bits[1:, self._n_blocks :]
        here[-1:] &= self._without_next
        anchored = np.flatnonzero(here.any(axis=1))
        return anchored, here[anchored].view(f"V{here.itemsize * self._n_blocks}").ravel().tolist()

    def _beginning_at(
        self, tokens: JoinedTokens, places: Places, own: Sequence[bytes]
    ) -> tuple[list[list[tuple[int, int]]], dict[int, list[int]]]:
        """Return the matches of the patterns that begin at their anchors, and the anchors of the others.

        Returns:
            The spans of each pattern; places by row of a pattern.
        """
        found: list[list[tuple[int, int]]] = [[] for _ in self._patterns]
        around: dict[int, list[int]] = defaultdict(list)
        behind = [0] * len(self._patterns)  # matches of one pattern do not overlap
        texts = [doc.text for doc in tokens.docs]
        docs = tokens.doc[places]
        offsets = tokens.offsets[docs].tolist()
        edges = zip(places.tolist(), tokens.starts[places].tolist(), docs.tolist(), offsets, own, strict=True)
        for place, start, doc, offset, bits in edges:
            beginning, others = self._with_anchors(bits)
            text, at = texts[doc], start - offset
            for row, match_at, group in beginning:
                match = match_at(text, at)
                if match is not None and start >= behind[row]:
                    behind[row] = match.end() + offset
                    first, last = match.span(group)
                    if first >= 0:
                        found[row].append((first + offset, last + offset))
            for row in others:
                around[row].append(place)
        return found, around

    def _patterns_with_anchors(self, own: bytes) -> tuple[list[_Begun], list[int]]:
        """Return the patterns that begin with one of these anchors, and the rows of others that have one."""
        bits = int.from_bytes(own, "little")
        rows = [(row, name) for row, name in enumerate(self._patterns) if bits & self._bits[name]]
        beginning = [(row, self._patterns[name]) for row, name in rows if self._begins[name]]
        return (
            [(row, pattern.match, int(pattern.groups == 1)) for row, pattern in beginning],
            [row for row, name in rows if not self._begins[name]],
        )

    def _near(self, name: str, tokens: JoinedTokens, places: Places) -> Iterator[tuple[int, int]]:
        # The matches, at most `longest` characters, of a pattern that contain one of its anchors.
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
        # The matches of a pattern that contain one of its anchors or its sign anywhere.
        docs = set(tokens.doc[places].tolist())
        if name in self._signs:
            docs.update(i for i, doc in enumerate(tokens.docs) if self._signs[name] in doc.text)
        for doc in sorted(docs):
            offset = int(tokens.offsets[doc])
            for match in self._patterns[name].finditer(tokens.docs[doc].text):
                start, end = select_span(match)
                if start >= 0:
                    yield start + offset, end + offset
