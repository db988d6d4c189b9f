"""Identifiers in disguise, which dictionaries and the network cannot read.

These rules may only mask. They are not features of the network, so that a trained network reads
ordinary text as it was trained. A word is masked if a character that must not leave touches it, if its
letters are separated, or if it contains a tag or encoded letters: HTML, percent and quoted-printable
encoding, escapes, MIME words.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from html.entities import html5
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from inverse_deid.core.values import BoolArray, show_name
from inverse_deid.lexicon import SAFE_FLAGS, Lexicon
from inverse_deid.rules.disguised_words import LEET, LEET_L, MIN_NAME, KnownWords
from inverse_deid.rules.shapes import is_glued_quantity
from inverse_deid.text.rendering import ALLOWED_GAP_CHARACTERS
from inverse_deid.text.tokenizer import CodePoints, JoinedTokens, tokens_touched

Flags = npt.NDArray[np.uint32]


class CharacterSet:
    """Some characters below U+300F, to be found among many code points."""

    def __init__(self, characters: Iterable[str]) -> None:
        self._table = np.zeros(0x3010, np.bool_)
        self._table[[ord(character) for character in characters]] = True

    def has(self, codes: CodePoints) -> BoolArray:
        return self._table[np.minimum(codes, 0x300F)]


_ALLOWED = CharacterSet(ALLOWED_GAP_CHARACTERS)


def find_disguises(tokens: JoinedTokens, flags: Flags, lexicon: Lexicon) -> BoolArray:
    """Tell which tokens a disguise makes unreadable: bool (n_tokens,).

    Args:
        tokens: Of several documents, each independent of the others.
        flags: uint32 (n_tokens,), the `WordFlag`s of each.
        lexicon: Contains the words that the pieces make.

    Example:
        >>> from inverse_deid.lexicon import load_lexicon
        >>> from inverse_deid.text.tokenizer import join, tokenize
        >>> tokens = join([tokenize("Ok&#111;nkwo took 5 mg")])
        >>> find_disguises(tokens, np.zeros(6, np.uint32), load_lexicon()).astype(int).tolist()
        [1, 1, 1, 0, 0, 0]
    """
    if not len(tokens):
        return np.zeros(0, np.bool_)
    allowed = _ALLOWED.has(tokens.codes[tokens.starts - 1]) & _ALLOWED.has(tokens.codes[tokens.ends])
    words = KnownWords(lexicon)
    ranges = [*_find_encoded(tokens, words), *_find_spelled(tokens, words)]
    ranges += [*_find_interrupted(tokens, flags, words), *_find_leet(tokens, words)]
    ranges += _find_parted(tokens, flags, words)
    return ~allowed | tokens_touched(tokens, ranges)


_MAX_GAP = 4
_MAX_LETTERS = 20
_WHITE_SPACE = re.compile(r"\s+")
_QUOTES = "'\u2019"
_JOINING = _QUOTES + "/&-"
_LAST_OPTION = "k"
_LIST_SIGNS = frozenset([",", ", ", "/", " / ", " & ", "&", "+", " + ", ";", "; "])


def _find_spelled(tokens: JoinedTokens, words: KnownWords) -> Iterator[tuple[int, int]]:
    # Where a word is written letter by letter, with any separators.
    single = tokens.ends - tokens.starts == 1
    gaps = tokens.starts[1:] - tokens.ends[:-1]
    pair = single[1:] & single[:-1] & (gaps <= _MAX_GAP) & (tokens.doc[1:] == tokens.doc[:-1])
    if len(pair) < 2:
        return
    triples = np.flatnonzero(pair[1:] & pair[:-1]).tolist()
    done = 0
    for first in triples:
        if first < done:
            continue
        last = first + 1
        while last < len(pair) and pair[last]:
            last += 1
        done = last + 1
        yield from _find_words(tokens, first, last, words)


def _raw_gap(tokens: JoinedTokens, left: int) -> str:
    doc = int(tokens.doc[left])
    offset = int(tokens.offsets[doc])
    return tokens.docs[doc].text[int(tokens.ends[left]) - offset : int(tokens.starts[left + 1]) - offset]


def _gap(tokens: JoinedTokens, left: int) -> str:
    # Any white space as one space.
    return _WHITE_SPACE.sub(" ", _raw_gap(tokens, left))


def _find_words(tokens: JoinedTokens, first: int, last: int, words: KnownWords) -> Iterator[tuple[int, int]]:
    # The words that single letters, tokens first to last, spell with one separator.
    signs = [_gap(tokens, i) for i in range(first, last)]
    if len(set(signs)) > 1:
        yield from _find_names(tokens, first, last, words)
    begin = 0
    while begin < len(signs):
        end = begin
        while end < len(signs) and signs[end] == signs[begin]:
            end += 1
        start, stop = first + begin, first + end
        if signs[begin] == " ":
            start, stop = _without_halves(tokens, start, stop)
        if _spells(tokens.words[start : stop + 1], signs[begin], words):
            yield int(tokens.starts[start]), int(tokens.ends[_with_rest(tokens, stop, signs[begin])])
        begin = end


def _find_names(tokens: JoinedTokens, first: int, last: int, words: KnownWords) -> Iterator[tuple[int, int]]:
    # Names such as `O.k-o n/k.w-o`, each from a capital to the next, or one letter longer.
    letters = tokens.words[first : last + 1]
    capitals = [i for i, letter in enumerate(letters) if letter.isupper()]
    begins = capitals if 0 < len(capitals) < len(letters) else [0]
    for begin, end in pairwise([*begins, len(letters)]):
        for stop in (end, end - 1):
            abbreviated = any(_gap(tokens, first + i) == ". " for i in range(begin, stop - 1))
            if _is_spelled_name("".join(letters[begin:stop]), abbreviated, words):
                yield int(tokens.starts[first + begin]), int(tokens.ends[first + stop - 1])
                break


def _is_spelled_name(word: str, abbreviated: bool, words: KnownWords) -> bool:
    # `p.o. t.i.d.` is not.
    if not MIN_NAME <= len(word) <= _MAX_LETTERS or words.is_clinical(word):
        return False
    if word[0].isupper() and word[1:].islower():
        return words.is_name(word) and (len(word) > MIN_NAME or not abbreviated)
    return words.is_only_name(word) and len(word) > MIN_NAME


def _without_halves(tokens: JoinedTokens, start: int, stop: int) -> tuple[int, int]:
    # The `s` of `it's a` and the `C` of `a C/S`.
    if chr(int(tokens.codes[tokens.starts[start] - 1])) in _QUOTES:
        start += 1
    if (
        chr(int(tokens.codes[tokens.ends[stop]])) in _JOINING
        and chr(int(tokens.codes[tokens.ends[stop] + 1])).isalnum()
    ):
        stop -= 1
    return start, stop


def _with_rest(tokens: JoinedTokens, stop: int, sign: str) -> int:
    # The last token of a word whose rest is not separated, as in `S/m/i/th`.
    behind = stop + 1
    joined = behind < len(tokens) and tokens.doc[behind] == tokens.doc[stop] and sign != " "
    if joined and tokens.starts[behind] - tokens.ends[stop] == len(sign) and _gap(tokens, stop) == sign:
        return behind if tokens.words[behind].isalpha() and len(tokens.words[behind]) <= 3 else stop
    return stop


def _spells(letters: Sequence[str], sign: str, words: KnownWords) -> bool:
    # Whether single letters are a word in disguise, not a list of options or an abbreviation.
    word = "".join(letters)
    if len(word) < 3 or not word.isalpha() or _is_list_of_letters(word, sign):
        return False
    if words.is_name(word) and not words.is_clinical(word):
        return True
    is_titled = word[0].isupper() and word[1:].islower()
    if len(word) == 3:
        return is_titled and sign != " " and not words.is_clinical(word)
    if is_titled:
        return True
    if len(word) == MIN_NAME and word.isupper() and sign in _LIST_SIGNS:
        return False  # serogroups, options
    return not (_in_order(word) or words.is_clinical(word))


def _in_order(word: str) -> bool:
    return all(a < b for a, b in pairwise(word.casefold()))


def _is_list_of_letters(word: str, sign: str) -> bool:
    # `A.B.C.D.`, `A, B, E`, not a name such as `A.m.y`.
    folded = word.casefold()
    if word.isupper() and sign in _LIST_SIGNS and _in_order(word) and folded[-1] <= _LAST_OPTION:
        return True
    return all(ord(b) - ord(a) == 1 for a, b in pairwise(folded))


_STRANGE_SIGNS = "_*|~^`\\{}[]#"
_MAX_PIECES = 12
_PARTING = CharacterSet(" \n/.,-+:()" + _STRANGE_SIGNS)
_STRANGE = CharacterSet("(" + _STRANGE_SIGNS)
_LEET_SIGNS = CharacterSet("@$!")
_NOT_LOWER = CharacterSet(char for char in map(chr, range(0x250)) if not char.islower())
_ANY_PARTING = re.compile(r"(?! \Z)(?:[^\w\r\n]|_){1,3}")
_CONTRACTED = frozenset(["s", "t", "ll", "re", "ve", "d", "m"])
_LEET_SIGN = re.compile(r"[@$!]+")
_LEET_RUN = re.compile(r"(?<![^\W_])(?:[^\W_]{1,40}|(?=\$))(?:[@$!]{1,3}[^\W_]{1,40})+")


def _find_interrupted(tokens: JoinedTokens, flags: Flags, words: KnownWords) -> Iterator[tuple[int, int]]:
    # `Okon/kwo`, `Smi_th`, `P@tel`.
    signs = tokens.codes[tokens.ends[:-1]]
    next_to = (tokens.starts[1:] - tokens.ends[:-1] == 1) & _PARTING.has(signs)
    safe = (flags & np.uint32(SAFE_FLAGS)) != 0
    is_space = (signs == ord(" ")) | (signs == ord("\n"))
    lower = ~_NOT_LOWER.has(tokens.codes[tokens.starts])
    unsafe = _STRANGE.has(signs) | ~(safe[1:] & safe[:-1]) & ~(is_space & (safe[1:] | safe[:-1]))
    chain_signs = next_to & ~is_space
    for i in np.flatnonzero(next_to & unsafe & lower[1:]).tolist():
        last = i + 1
        while last < len(chain_signs) and chain_signs[i] and chain_signs[last] and last - i < _MAX_PIECES:
            last += 1
        if _are_pieces(tokens.words[i : last + 1], "", words):
            yield int(tokens.starts[i]), int(tokens.ends[last])
        elif _are_pieces(tokens.words[i : i + 2], chr(int(signs[i])), words):
            yield int(tokens.starts[i]), int(tokens.ends[i + 1])


def _find_parted(tokens: JoinedTokens, flags: Flags, words: KnownWords) -> Iterator[tuple[int, int]]:
    # `Pet°rovic`, `Pet**rovic`.
    gaps = tokens.starts[1:] - tokens.ends[:-1]
    safe = (flags & np.uint32(SAFE_FLAGS)) != 0
    lower = ~_NOT_LOWER.has(tokens.codes[tokens.starts])
    near = (gaps >= 1) & (gaps <= 3) & (tokens.doc[1:] == tokens.doc[:-1]) & lower[1:]
    near &= ~((gaps == 1) & (tokens.codes[tokens.ends[:-1]] == ord(" ")))
    for i in np.flatnonzero(near & ~(safe[1:] & safe[:-1]) & ~lower[:-1]).tolist():
        last = i + 1
        while last < len(near) and near[last] and last - i < _MAX_PIECES:
            last += 1
        for stop in {i + 1, last}:
            if _is_parted_name(tokens, i, stop, words):
                yield int(tokens.starts[i]), int(tokens.ends[stop])


def _is_parted_name(tokens: JoinedTokens, first: int, last: int, words: KnownWords) -> bool:
    pieces = tokens.words[first : last + 1]
    word = "".join(pieces)
    if not (word.isalpha() and word[0].isupper() and word[1:].islower() and len(word) > MIN_NAME):
        return False
    if pieces[1] in _CONTRACTED or not words.is_only_name(word) or words.is_only_name(pieces[0]):
        return False
    gaps = [_raw_gap(tokens, i) for i in range(first, last)]
    if any(gap.isspace() and len(piece) == 1 for gap, piece in zip(gaps, pieces[1:], strict=True)):
        return False  # `Marsh   e-copy`
    return all(map(_ANY_PARTING.fullmatch, gaps))


def _find_leet(tokens: JoinedTokens, words: KnownWords) -> Iterator[tuple[int, int]]:
    # `P@tel`, `$mith`.
    for doc in np.unique(tokens.doc[_LEET_SIGNS.has(tokens.codes[tokens.starts - 1])]).tolist():
        offset = int(tokens.offsets[doc])
        for match in _LEET_RUN.finditer(tokens.docs[doc].text):
            if _reads_as_a_name(match.group(), words):
                yield match.start() + offset, match.end() + offset


def _reads_as_a_name(run: str, words: KnownWords) -> bool:
    # `pt@home` and `rash!Then` do not.
    read = run.translate(LEET)
    if not read.isalpha() or not any(map(str.isalpha, run)):
        return False
    if words.is_only_name(read) or words.is_only_name(run.translate(LEET_L).translate(LEET)):
        return True
    pieces = [piece for piece in _LEET_SIGN.split(run) if piece]
    is_word = not any(len(p) >= 2 and p.isalpha() and words.is_known(p) for p in pieces)
    return is_word and len(read) > MIN_NAME and read[1:].islower()


def _are_pieces(pieces: Sequence[str], sign: str, words: KnownWords) -> bool:
    word = "".join(pieces).translate(LEET)
    quantities = ("".join(pieces), pieces[0], "".join(pieces[:2]))  # `400|mg`, `50mg|oral`
    if not word.isalpha() or len(word) <= MIN_NAME or any(map(is_glued_quantity, quantities)):
        return False
    if words.is_only_name(word) and not words.is_only_name(pieces[0]):
        return True
    if sign == "" or sign not in _STRANGE_SIGNS or any(len(p) >= 2 and p.isdigit() for p in pieces):
        return False
    return not any(len(piece) >= 3 and words.is_known(piece) for piece in pieces)


_HEX = r"[0-9a-fA-F]"
_MARK = re.compile(
    r"(?P<tag><(?:/?[A-Za-z][^<>]{0,200}|!--[^<>]{0,200}--)>|&lt;/?[A-Za-z][^<>&]{0,200}&gt;)"
    r"|(?P<entity>&(?:amp;){0,3}(?:#\d{1,7};?|#[xX][0-9a-fA-F]{1,6};?|[A-Za-z][A-Za-z0-9]{1,31};))"
    rf"|(?P<percent>%(?:25){{0,3}}{_HEX}{{2}})"
    r"|(?P<mime>=\?[\w-]{1,40}\?[bBqQ]\?[^?\s]{0,200}\?=)"
    r"|(?P<quoted>=(?:[0-9A-F]{2}|\r?\n))"
    rf"|(?P<escape>\\(?:u{_HEX}{{4}}|u\{{{_HEX}{{1,6}}\}}|x{_HEX}{{2}}|U{_HEX}{{8}}|[0-7]{{3}}))"
)
_MARK_SIGNS = {"&": r"[A-Za-z#]", "<": r"[A-Za-z/!]", "%": _HEX, "=": r"[0-9A-F?\r\n]", "\\": r"[uxU0-7]"}
_BEGINS_MARK = np.zeros((0x80, 0x80), np.bool_)
_IS_BEGINNER = np.isin(np.arange(0x80), [ord(sign) for sign in _MARK_SIGNS])
for _sign, _next in _MARK_SIGNS.items():
    _BEGINS_MARK[ord(_sign), [code for code in range(0x80) if re.match(_next, chr(code))]] = True
_WORD = re.compile(r"[^\W_]*")
_TAG_NAME = re.compile(r"(?:<|&lt;)/?([A-Za-z][A-Za-z0-9]*)")
_BLOCK_TAG = re.compile(r"p|br|div|li|ul|ol|tr|td|th|table|hr|h[1-6]|section|article")
_APOSTROPHES = "'\u2018\u2019`\u00b4"
_SEEN = 40
"""Number of characters next to a mark that are read."""
_ENDINGS = frozenset(["s", "t", "d", "m", "re", "ve", "ll", "S", "T", "D", "M", "RE", "VE", "LL"])
"""The letters after the apostrophe of `patient's` and `don't`."""


class _Mark(NamedTuple):
    """An encoding or a tag: its place, its writing and its meaning."""

    start: int
    end: int
    kind: str
    decoded: str
    source: str

    def __repr__(self) -> str:
        return show_name(self)

    @property
    def is_letter(self) -> bool:
        return any(c.isalnum() and c not in "ªºµ" for c in self.decoded)

    @property
    def is_invisible(self) -> bool:
        return any(not c.isalnum() and c not in ALLOWED_GAP_CHARACTERS for c in self.decoded)


class _Run(NamedTuple):
    """Words and marks with nothing else between; one more word than marks, and words may be empty."""

    words: list[str]
    marks: list[_Mark]

    def __repr__(self) -> str:
        return show_name(self)

    @property
    def start(self) -> int:
        return self.marks[0].start - len(self.words[0])

    @property
    def end(self) -> int:
        return self.marks[-1].end + len(self.words[-1])

    def seen(self) -> Iterator[tuple[int, str, str]]:
        """Each mark's number, and the text that a reader sees before and after it (`_SEEN` characters)."""
        text = "".join(w + m.decoded for w, m in zip(self.words, self.marks, strict=False)) + self.words[-1]
        begin = 0
        for number, mark in enumerate(self.marks):
            begin += len(self.words[number])
            end = begin + len(mark.decoded)
            yield number, text[max(0, begin - _SEEN) : begin], text[end : end + _SEEN]
            begin = end


def _find_encoded(tokens: JoinedTokens, words: KnownWords) -> Iterator[tuple[int, int]]:
    # The runs of words and marks in which a reader of the decoded text would see another word.
    low = np.minimum(tokens.codes, 0x7F)
    places = np.flatnonzero(_IS_BEGINNER[low])
    places = places[_BEGINS_MARK[low[places], low[np.minimum(places + 1, len(low) - 1)]]]
    if not len(places):
        return
    by_doc: dict[int, list[int]] = defaultdict(list)
    docs = np.searchsorted(tokens.offsets, places, side="right") - 1
    for doc, place in zip(docs.tolist(), places.tolist(), strict=True):
        by_doc[doc].append(place - int(tokens.offsets[doc]))
    for doc, starts in by_doc.items():
        offset = int(tokens.offsets[doc])
        for run in _runs(tokens.docs[doc].text, starts):
            if any(_hides(run, number, before, behind, words) for number, before, behind in run.seen()):
                yield run.start + offset, run.end + offset


def _runs(text: str, places: Sequence[int]) -> Iterator[_Run]:
    run: _Run | None = None
    end = 0
    for place in places:
        mark = _mark_at(text, place) if place >= end else None
        if mark is None:
            continue
        end = mark.end
        behind = _WORD.match(text, mark.end).group()  # type: ignore[union-attr]
        if run is not None and run.end == mark.start:
            run.marks.append(mark)
            run.words.append(behind)
            continue
        if run is not None:
            yield run
        first = mark.start
        stop = run.end if run is not None else 0
        while first > stop and text[first - 1].isalnum():
            first -= 1
        run = _Run([text[first : mark.start], behind], [mark])
    if run is not None:
        yield run


def _mark_at(text: str, place: int) -> _Mark | None:
    match = _MARK.match(text, place)
    if match is None or match.lastgroup is None:
        return None
    decoded = _decode(match.lastgroup, match.group())
    if decoded is None:
        return None
    return _Mark(match.start(), match.end(), match.lastgroup, decoded, match.group())


def _decode(kind: str, source: str) -> str | None:
    # None = not an encoding.
    if kind == "entity":
        name = source.rstrip(";").rpartition("&")[2].rpartition("amp;")[2] or "amp"
        if not name.startswith("#"):
            return html5.get(f"{name};")
        return _character(int(name[2:], 16) if name[1] in "xX" else int(name[1:]))
    if kind in ("tag", "mime") or source[1:].isspace():
        return ""
    digits = source[-2:] if kind == "percent" else source.lstrip("=\\uxU{").rstrip("}")
    return _character(int(digits, 8 if kind == "escape" and source[1].isdigit() else 16))


def _character(code: int) -> str:
    return chr(code) if code < 0x110000 else "\ufffd"


def _hides(run: _Run, number: int, before: str, behind: str, words: KnownWords) -> bool:
    # Whether a reader would see a word at a mark that the rules and the network do not.
    mark = run.marks[number]
    if mark.kind in ("mime", "tag"):
        return mark.kind == "mime" or _is_tag_in_word(mark, before, behind, words)
    if mark.kind == "quoted":
        return _is_quoted_letter(run, number, before + mark.decoded + behind, words)
    if mark.kind == "percent" and len(run.marks) == 1 and before[-1:].isdigit():
        return False
    if mark.is_invisible:
        return bool(before or behind)
    if not mark.is_letter:
        return _joins_unsafe(mark, before, behind, words)
    # `IFN&gamma;` and `5 &micro;g` are harmless.
    is_greek = all("\u0370" <= c <= "\u03ff" for c in mark.decoded)
    is_inside = before[-1:].isalpha() and behind[:1].isalpha()
    return any(c.isalnum() for c in before + behind) and (is_inside or not is_greek)


def _joins_unsafe(mark: _Mark, before: str, behind: str, words: KnownWords) -> bool:
    # Whether an encoded sign joins words of which one is not safe, as in `O&#39;Brien`.
    if not (before[-1:].isalpha() and behind[:1].isalpha()):
        return False
    if mark.decoded in _APOSTROPHES and behind in _ENDINGS:
        return False
    left, right = _last_word(before), _first_word(behind)
    if words.are_safe([left, right]):
        return False
    return len(left) + len(right) >= MIN_NAME and not words.is_clinical(left + right)


def _first_word(text: str) -> str:
    return _WORD.match(text).group()  # type: ignore[union-attr]


def _last_word(text: str) -> str:
    return _first_word(text[::-1])[::-1]


def _is_tag_in_word(mark: _Mark, before: str, behind: str, words: KnownWords) -> bool:
    # Whether a tag is inside a word, unlike in `H<sub>2</sub>O` and `rash<br>fever`.
    if not (before[-1:].isalpha() and behind[:1].isalpha()):
        return False
    match = _TAG_NAME.match(mark.source)
    name = match.group(1).lower() if match else ""
    if name in ("sub", "sup") or (_BLOCK_TAG.fullmatch(name) and not behind[0].islower()):
        return False
    left, right = _last_word(before), _first_word(behind)
    return not words.are_safe([left, right]) or words.is_only_name(left + right)


def _is_quoted_letter(run: _Run, number: int, read: str, words: KnownWords) -> bool:
    # `Jos=C3=A9`, `Ok=6Fnkwo`, a word broken by `=` at the end of a line.
    # `HR=80`, `dose=50mg` and `stage=2B` are values, not letters.
    mark = run.marks[number]
    left, right = run.words[number], run.words[number + 1]
    if not mark.decoded:
        apart = words.are_safe([left, right]) and not words.is_only_name(left + right)
        return left[-1:].isalpha() and right[:1].isalpha() and not apart
    if not mark.decoded.isalpha() or 0x7A < ord(mark.decoded) < 0xC0:
        return False
    near = run.marks[max(0, number - 1) : number + 2]
    if any(a.end == b.start and _is_coded_letter(a) and _is_coded_letter(b) for a, b in pairwise(near)):
        return True
    if words.is_name(read) and len(read) > MIN_NAME:
        return True
    if right[:1].isalpha():
        digits = mark.source[1:]
        return not (digits.isdigit() and (is_glued_quantity(digits + right) or words.are_safe([right])))
    return bool(left[-1:].isalpha()) and ord(mark.decoded) >= 0xE0


def _is_coded_letter(mark: _Mark) -> bool:
    return (
        mark.kind == "quoted" and mark.decoded != "" and (mark.decoded.isalpha() or ord(mark.decoded) >= 0x80)
    )
