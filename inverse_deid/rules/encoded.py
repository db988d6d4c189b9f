"""Encoded letters and tags inside words: HTML, percent and quoted-printable encoding, escapes, MIME words.

A run of words and marks without anything else between them is masked whole if a reader of the decoded
text would see a word that the rules and the network do not.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from html.entities import html5
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from inverse_deid.rules.disguised_words import MIN_NAME, KnownWords
from inverse_deid.rules.shapes import is_glued_quantity
from inverse_deid.text.gaps import ALLOWED_GAP_CHARACTERS
from inverse_deid.text.joined import JoinedTokens

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
for _sign, _next in _MARK_SIGNS.items():
    _BEGINS_MARK[ord(_sign), [code for code in range(0x80) if re.match(_next, chr(code))]] = True
_BEGINNERS = np.array([ord(sign) for sign in _MARK_SIGNS], np.uint32)
_IS_BEGINNER = np.isin(np.arange(0x80), _BEGINNERS)
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


def encoded_ranges(tokens: JoinedTokens, words: KnownWords) -> Iterator[tuple[int, int]]:
    """Return where words contain encoded letters or tags."""
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
            if _hides(run, words):
                yield run.start + offset, run.end + offset


def _runs(text: str, places: Sequence[int]) -> Iterator[_Run]:
    """Return the runs of words and marks of a text, given where marks may begin."""
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
    """Return the characters that an encoding means, None = not an encoding."""
    if kind == "entity":
        return _decode_entity(source.rstrip(";").rpartition("&")[2].rpartition("amp;")[2] or "amp")
    if kind in ("tag", "mime") or source[1:].isspace():
        return ""
    digits = source[-2:] if kind == "percent" else source.lstrip("=\\uxU{").rstrip("}")
    return _character(int(digits, 8 if kind == "escape" and source[1].isdigit() else 16))


def _decode_entity(name: str) -> str | None:
    if not name.startswith("#"):
        return html5.get(f"{name};")
    return _character(int(name[2:], 16) if name[1] in "xX" else int(name[1:]))


def _character(code: int) -> str:
    return chr(code) if code < 0x110000 else "\ufffd"


def _hides(run: _Run, words: KnownWords) -> bool:
    """Tell whether a reader would see a word that the rules and the network do not."""
    return any(_mark_hides(run, number, sides, words) for number, *sides in run.seen())


def _mark_hides(run: _Run, number: int, sides: Sequence[str], words: KnownWords) -> bool:
    mark = run.marks[number]
    before, behind = sides
    if mark.kind in ("mime", "tag"):
        return mark.kind == "mime" or _tag_hides(mark, before, behind, words)
    if mark.kind == "quoted":
        return _quoted_hides(run, number, before + mark.decoded + behind, words)
    if mark.kind == "percent" and len(run.marks) == 1 and before[-1:].isdigit():
        return False
    if mark.is_invisible:
        return bool(before or behind)
    return (
        _letter_hides(mark, before, behind) if mark.is_letter else _joins_unsafe(mark, before, behind, words)
    )


def _letter_hides(mark: _Mark, before: str, behind: str) -> bool:
    """Tell whether an encoded letter is next to others; `IFN&gamma;` and `5 &micro;g` are harmless."""
    if not any(c.isalnum() for c in before + behind):
        return False
    is_greek = all("\u0370" <= c <= "\u03ff" for c in mark.decoded)
    return not (is_greek and not (before[-1:].isalpha() and behind[:1].isalpha()))


def _joins_unsafe(mark: _Mark, before: str, behind: str, words: KnownWords) -> bool:
    """Tell whether an encoded sign joins words of which one is not safe, as in `O&#39;Brien`."""
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


def _tag_hides(mark: _Mark, before: str, behind: str, words: KnownWords) -> bool:
    """Tell whether a tag is inside a word, unlike in `H<sub>2</sub>O` and `rash<br>fever`."""
    if not (before[-1:].isalpha() and behind[:1].isalpha()):
        return False
    match = _TAG_NAME.match(mark.source)
    name = match.group(1).lower() if match else ""
    if name in ("sub", "sup") or (_BLOCK_TAG.fullmatch(name) and not behind[0].islower()):
        return False
    left, right = _last_word(before), _first_word(behind)
    return not words.are_safe([left, right]) or words.is_only_name(left + right)


def _quoted_hides(run: _Run, number: int, read: str, words: KnownWords) -> bool:
    """Recognise quoted-printable: `Jos=C3=A9`, `Ok=6Fnkwo`, a word broken by `=` at the end of a line.

    `HR=80`, `dose=50mg` and `stage=2B` are values, not letters.
    """
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
