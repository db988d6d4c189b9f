"""HTML that exports leave in plain text: read as the characters that it means, or as nothing.

`&gt;3 episodes<br/>after` reads as `>3 episodes`, end of the line, `after`. Within a word that is not safe
the markup stays, so that it is masked as a whole: it may break a name, as in `<b>Mau</b>reen`. Letters that
are encoded stay as well, unless the word is safe. A tag is read over only if all of it is known: comments,
links and attributes with text of their own are judged as any other text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from html.entities import html5
from itertools import pairwise
from typing import NamedTuple

from inverse_deid.text.rendering import ALLOWED_GAP_CHARACTERS, INVISIBLE_MARKS, Piece

_ENTITY = re.compile(r"&(?:amp;){0,3}(#\d{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});")
_INLINE = r"b|i|u|em|strong|span|font|sub|sup|small|big|strike|s|code|tt|wbr|nobr|o:p|ins|del|mark|label"
_BLOCK = (
    r"br|p|div|td|tr|th|table|tbody|thead|tfoot|ul|ol|li|h[1-6]|hr|center|blockquote|pre|dl|dt|dd|body|html|head|"
    r"section|article"
)
_VALUE = (
    r"(?:(?:color|background|font|size|family|weight|style|text|align|left|right|center|justify|margin|padding|top|bottom|"
    r"width|height|border|solid|none|normal|bold|italic|underline|black|red|blue|arial|calibri|times|new|roman|"
    r"helvetica|verdana|sans|serif|line|display|block|inline|indent|decoration|auto|nowrap|collapse|middle|baseline|ltr|rtl|"
    r"en|us|gb|mso[a-z]{0,20}|rgb|transparent|spacing|pre|wrap|vertical|list|disc|decimal|inherit|initial)\b|"
    r"#[0-9a-f]{3,6}\b|\d{1,4}(?:\.\d{1,2})?(?:px|pt|em|rem|cm|in|mm)?\b|[\s:;,%()-])"
)
_ATTRIBUTE = (
    r"\s{1,3}(?:class|style|align|valign|dir|lang|color|face|size|width|height|border|cellpadding|cellspacing|colspan|rowspan|"
    rf"bgcolor)\s?=\s?(?:\"{_VALUE}{{0,60}}\"|'{_VALUE}{{0,60}}'|{_VALUE}{{1,4}}(?=[\s/>&]))"
)
_TAG = re.compile(
    rf"(?:<|&lt;)/?(?:(?P<inline>{_INLINE})|(?P<block>{_BLOCK}))(?:{_ATTRIBUTE}){{0,8}}\s{{0,3}}/?(?:>|&gt;)",
    re.IGNORECASE,
)
_BREAK = re.compile(r"(?:<|&lt;)br\b", re.IGNORECASE)
_ANY_TAG = re.compile(r"<(?:/?[A-Za-z][^<>]{0,200}|!--[^<>]{0,200}--)>")
_MIN_WORD, _MAX_WORD = 3, 40
_AS_WRITTEN = "\0"
_LETTERS = re.compile(r"[^\W_]{0,40}")
_ENDINGS = frozenset(["s", "t", "d", "m", "re", "ve", "ll"])

IsSafe = Callable[[str], bool]


def find_markup(text: str, is_word: IsSafe, is_safe: IsSafe) -> Iterator[Piece]:
    r"""Return tags and encoded signs, in order, and what they read as.

    Args:
        text: Any.
        is_word: Tells whether any list has a word, lists of names included.
        is_safe: Tells whether a word is one that may be let back, or a number with its unit.

    Example:
        >>> known = {"rash", "days"}.__contains__
        >>> list(find_markup("rash<br/>&gt;3 days", known, known))
        [(4, 9, '\n'), (9, 13, '>')]
    """
    stop = 0
    for run in _runs(_find_marks(text), text):
        first, last = run[0], run[-1]
        if first.start < stop:
            continue
        stop = last.end
        left, right = _word_before(text, first.start), _word_behind(text, last.end)
        inner = [text[a.end : b.start] for a, b in pairwise(run)]
        is_in_word = left + right + "".join(inner) != "" and all(mark.is_unseen for mark in run)
        if is_in_word and is_safe("".join([left, *inner, right])):
            yield from ((mark.start, mark.end, "") for mark in run)
            continue
        words = [left, *inner, right]
        is_plain = _Plain(is_word, is_safe)
        reads = [
            _read_mark(mark, before, behind, is_plain)
            for mark, before, behind in zip(run, words, words[1:], strict=False)
        ]
        # A word of which a part cannot be read stays as a whole, with the tags around it.
        if not any(read is None for read in reads):
            for mark, read in zip(run, reads, strict=True):
                if read is not None and read is not _AS_WRITTEN:
                    goes_on = text[mark.end : mark.end + 1].islower() and _BREAK.match(text, mark.start)
                    yield mark.start, mark.end, " " if goes_on else read


class _Plain(NamedTuple):
    is_word: IsSafe
    is_safe: IsSafe

    def are_words(self, left: str, right: str) -> bool:
        # Whether two pieces are words of their own, and not a name together.
        if min(len(left), len(right)) < _MIN_WORD or self.is_word(left + right):
            return False
        return self.is_safe(left) and self.is_safe(right)


@dataclass(frozen=True, slots=True)
class _Mark:
    """A tag, several in a row, or an encoded sign."""

    start: int
    end: int
    kind: str  # `inline`, `script` (lowered or raised), `block`, `cells` (of several blocks), `other`, `sign`
    decoded: str = field(default="", repr=False)

    @property
    def is_unseen(self) -> bool:
        # Whether a reader sees nothing in its place.
        return self.kind in ("inline", "script") or (
            self.kind == "sign" and INVISIBLE_MARKS.issuperset(self.decoded)
        )


def _find_marks(text: str) -> list[_Mark]:
    # Known tags in a row are one.
    found: list[_Mark] = []
    known = set()
    for tag in _TAG.finditer(text):
        known.add(tag.start())
        kind = "block" if tag["block"] else "script" if tag["inline"].lower() in ("sub", "sup") else "inline"
        if not found or found[-1].end != tag.start():
            found.append(_Mark(*tag.span(), kind))
            continue
        before = found.pop()
        kinds = {before.kind, kind}
        joined = "cells" if kinds & {"block", "cells"} else "inline" if len(kinds) > 1 else kind
        found.append(_Mark(before.start, tag.end(), joined))
    found += [_Mark(*tag.span(), "other") for tag in _ANY_TAG.finditer(text) if tag.start() not in known]
    for one in _ENTITY.finditer(text):
        decoded = _decode(one[1])
        if decoded is not None:
            found.append(_Mark(*one.span(), "sign", decoded))
    return sorted(found, key=lambda mark: (mark.start, -mark.end))


def _runs(marks: Sequence[_Mark], text: str) -> Iterator[list[_Mark]]:
    # Marks between which there are only letters and digits together.
    run: list[_Mark] = []
    for mark in marks:
        if run and mark.start < run[-1].end:
            continue  # an encoded sign inside a tag
        if run and not (mark.start == run[-1].end or text[run[-1].end : mark.start].isalnum()):
            yield run
            run = []
        run.append(mark)
    if run:
        yield run


def _decode(name: str) -> str | None:
    if not name.startswith("#"):
        return html5.get(f"{name};")
    code = int(name[2:], 16) if name[1] in "xX" else int(name[1:])
    return chr(code) if code < 0x110000 else None


def _word_before(text: str, end: int) -> str:
    start = end
    while start > 0 and end - start < _MAX_WORD and text[start - 1].isalnum():
        start -= 1
    return text[start:end]


def _word_behind(text: str, start: int) -> str:
    return _LETTERS.match(text, start).group()  # type: ignore[union-attr] # it matches nothing as well


def _read_mark(mark: _Mark, left: str, right: str, plain: _Plain) -> str | None:
    # None = as it is written.
    if mark.kind == "other":
        return None
    if mark.kind == "sign":
        return _read_sign(mark.decoded, left, right, plain)
    is_block = mark.kind in ("block", "cells")
    if not (left and right) or mark.kind == "cells":
        return "\n" if is_block else ""
    if mark.kind == "script":
        return "e" if left == "10" and right.isdecimal() else None
    are_words = plain.are_words(left, right)
    if is_block:
        follows = len(right) >= _MIN_WORD and plain.is_safe(right) and not plain.is_word(left + right)
        is_apart = are_words or not right[0].islower() or (follows and len(left) < _MIN_WORD)
        return "\n" if is_apart else None
    return " " if are_words else "" if (left + right).isdecimal() else None


def _read_sign(decoded: str, left: str, right: str, plain: _Plain) -> str | None:  # noqa: PLR0911
    # None = as it is written.
    if INVISIBLE_MARKS.issuperset(decoded):
        word = left + right
        reads = not word or plain.is_safe(word) or (word.isdecimal() and not (left and right))
        return "" if reads else None
    if any(map(str.isalnum, decoded)):
        return decoded if plain.is_safe(left + decoded + right) else None
    if not ALLOWED_GAP_CHARACTERS.issuperset(decoded):
        return None
    if decoded.isspace():
        return decoded if decoded in "\r\n" else " "
    if not (left[-1:].isalpha() and right[:1].isalpha()):
        return decoded
    if decoded == "&" and len(left) == len(right) == 1:
        return _AS_WRITTEN  # `N&amp;V`: as one word it would be read as initials
    is_ending = right.lower() in _ENDINGS and plain.is_safe(left)
    return decoded if is_ending or plain.are_words(left, right) else None
