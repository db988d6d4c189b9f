"""The reading of a text: broken lines joined and wrong encodings mended, with offsets into the original.

Rules, features and network read the reading. Masks are always ranges of the original. Five things are
mended, each only where the text itself shows it:

- a word that a hyphen breaks at the end of a line,
- the ends of lines that were cut at a width in the middle of their sentences,
- characters whose UTF-8 was read in another encoding (`Ã©`, `â€™`), repaired by `ftfy`,
- typography: spaces of any width, lowered and raised digits, and marks that nobody sees: those only where the
  word is safe. Within any other word they stay, so that it is masked: they may hide an identifier,
- HTML that exports leave in plain text: tags and encoded signs (`markup.py`).

Source: ftfy (Speer 2019), its heuristics for badly decoded text.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import accumulate

import numpy as np

from inverse_deid.core.values import BoolArray, IntArray, Tokens
from inverse_deid.text.markup import find_markup
from inverse_deid.text.rendering import (
    FORBIDDEN_GAP_PATTERN,
    INVISIBLE_MARKS,
    LINE_SEPARATORS,
    RAISED_SIGNS,
    TYPOGRAPHIC_SPACES,
    Piece,
    Rendering,
    substitute,
)
from inverse_deid.text.tokenizer import TOKEN_PATTERN

IsSafe = Callable[[str], bool]
"""Tells whether a word is one that may be let back, or a number with its unit."""

_MAX_WORD = 40
_MARKS = "".join(sorted(INVISIBLE_MARKS))
_MARK_RUN = re.compile(f"[{_MARKS}]+")
_REST = re.compile(f"(?:[^\\W_]|[{_MARKS}])*")
_SOFT_HYPHEN_AT_END = re.compile("\u00ad(?=\r?\n)")
_SPACES = re.compile(f"[{TYPOGRAPHIC_SPACES}]")
_SEPARATORS = re.compile(f"[{LINE_SEPARATORS}]")
_DIGITS = str.maketrans("₀₁₂₃₄₅₆₇₈₉⁰¹²³⁴⁵⁶⁷⁸⁹", "01234567890123456789")
_SIGNS = str.maketrans("⁺⁻⁼⁽⁾₊₋₌₍₎", "+-=()+-=()")
_SCRIPT = re.compile("[₀-₉⁰¹²³⁴-⁹]+")
_TEN = re.compile(r"(?<!\d)10\Z")
_POWER_OF_TEN = re.compile(r"(?<=\b10)\^(?=1?\d\b)")
_SCRIPT_SIGN = re.compile(f"[{RAISED_SIGNS}]")


def find_typography(text: str, is_safe: IsSafe) -> Iterator[Piece]:
    r"""Return the typography of a text and what it reads as, kind by kind.

    Example:
        >>> list(find_typography("a\u2003ra\u00adsh", {"rash"}.__contains__))
        [(1, 2, ' '), (4, 5, '')]
    """
    yield from ((*match.span(), " ") for match in _SPACES.finditer(text))
    yield from ((*match.span(), "\n") for match in _SEPARATORS.finditer(text))
    yield from _find_marks(text, is_safe)
    yield from _find_scripts(text)


def _find_marks(text: str, is_safe: IsSafe) -> Iterator[Piece]:
    # The marks that are not part of a word, or of a word that is safe without them.
    stop = 0
    for mark in _MARK_RUN.finditer(text):
        if mark.start() < stop:
            continue
        start = mark.start()
        while start > stop and text[start - 1].isalnum() and mark.start() - start <= _MAX_WORD:
            start -= 1
        stop = _REST.match(text, mark.end()).end()  # type: ignore[union-attr] # it matches nothing as well
        written = text[start:stop]
        if not _reads_as_safe(written, is_safe):
            continue
        for inner in _MARK_RUN.finditer(text, start, stop):
            if not _SOFT_HYPHEN_AT_END.match(text, inner.end() - 1):
                yield *inner.span(), ""


def _reads_as_safe(written: str, is_safe: IsSafe) -> bool:
    # Whether letters, digits and marks are nothing or a safe word without the marks.
    word = "".join(one for one in written if one not in INVISIBLE_MARKS)
    if len(word) > _MAX_WORD:
        return False
    is_whole = word in written
    return not word or (is_whole and word.isdecimal()) or is_safe(word)


def _find_scripts(text: str) -> Iterator[Piece]:
    # `10⁹` and `10^9` read as `10e9`, as plain text has it.
    yield from ((*match.span(), "e") for match in _POWER_OF_TEN.finditer(text))
    for match in _SCRIPT.finditer(text):
        start, end = match.span()
        digits = match.group().translate(_DIGITS)
        is_raised = not "₀" <= match.group()[0] <= "₉"
        sign = ("e" if _TEN.search(text, max(0, start - 3), start) else "^") if is_raised else ""
        yield start, end, sign + digits if text[start - 1 : start].isdecimal() else digits
    for match in _SCRIPT_SIGN.finditer(text):
        yield *match.span(), match.group().translate(_SIGNS)


_TOKENS_AT_ONCE = 65_536

IsWord = Callable[[str], bool]
"""Tells whether a list of the lexicon has a word, in any case; names count as well."""


@dataclass(frozen=True, slots=True, eq=False)
class Reading:
    """A mended text. Everything outside the edits is the same character for character."""

    original: str = field(repr=False)
    text: str = field(repr=False)
    edited: tuple[tuple[int, int], ...] = field(repr=False)  # half-open ranges of the original, in order
    edits: tuple[tuple[int, int], ...] = field(repr=False)  # of each, the range of `text` that it reads as

    def originals(self, tokens: Tokens) -> tuple[IntArray, IntArray]:
        r"""Return where each token of the reading starts and ends in the original: int32 (n_tokens,) each.

        A token that shares a character with an edit covers all that the edit replaced.

        Example:
            >>> from inverse_deid.text.tokenizer import tokenize
            >>> reading = read_text("pa-\ntient well", {"patient"}.__contains__)
            >>> [array.tolist() for array in reading.originals(tokenize(reading.text))]
            [[0, 10], [9, 14]]
        """
        read, written = np.array(self.edits, np.int64), np.array(self.edited, np.int64)
        # The characters that the edits up to each one removed.
        removed = np.concatenate([[0], written[:, 1] - read[:, 1]])

        def place(characters: IntArray, end: int) -> IntArray:
            """Return where the original of each character of the reading starts, or ends if `end` is 1."""
            passed = np.searchsorted(read[:, 1], characters, side="right")
            own = np.minimum(passed, len(read) - 1)
            inside = (passed < len(read)) & (read[own, 0] <= characters)
            return np.asarray(
                np.where(inside, written[own, end], characters + end + removed[passed]), np.int32
            )

        starts, ends = np.empty_like(tokens.starts), np.empty_like(tokens.ends)
        for at in range(0, len(tokens), _TOKENS_AT_ONCE):
            some = slice(at, at + _TOKENS_AT_ONCE)
            starts[some] = place(tokens.starts[some], 0)
            ends[some] = place(tokens.ends[some] - 1, 1)
        return starts, ends

    def harmful(self) -> list[tuple[int, int]]:
        """Return the ranges of the original that read as a character that must never leave, in order."""
        pairs = zip(self.edited, self.edits, strict=True)
        return [one for one, (start, end) in pairs if FORBIDDEN_GAP_PATTERN.search(self.text, start, end)]

    def covered(self) -> BoolArray:
        """Tell which characters of the original an edit replaced: bool (n_characters,)."""
        covered = np.zeros(len(self.original), np.bool_)
        for start, end in self.edited:
            covered[start:end] = True
        return covered

    def unseen(self) -> list[int]:
        """Return the marks that nobody sees and an edit read over, not those of badly decoded letters."""
        found = []
        for start, end in self.edited:
            if not any(map(str.isalnum, self.original[start:end])):
                found += [at for at in range(start, end) if self.original[at] in INVISIBLE_MARKS]
        return found


def read_text(text: str, is_word: IsWord, is_safe: IsSafe = lambda word: False) -> Reading | None:
    r"""Return the reading of a text, None = it reads as it is written.

    Args:
        text: The original.
        is_word: See `IsWord`.
        is_safe: See `IsSafe`. Marks that nobody sees are read over in such words only.

    Example:
        >>> read_text("The patient was well.", lambda word: True) is None
        True
        >>> read_text("MÃ¼ller had a head-\nache.", {"head", "ache", "headache"}.__contains__).text
        'Müller had a headache.'
    """
    read = substitute(text, [] if text.isascii() else list(_find_wrong_encodings(text)))
    if "&" in read.text or "<" in read.text:
        read = _mend(text, read, find_markup(read.text, is_word, is_safe))
    if not read.text.isascii() or "10^" in read.text:
        read = _mend(text, read, find_typography(read.text, is_safe))
    read = _mend(text, read, _find_broken_words(read.text, is_word, is_safe))
    read = _mend(text, read, _find_wrapped_lines(read.text))
    return Reading(text, read.text, read.masks, read.replaced) if read.masks else None


def _mend(text: str, read: Rendering, found: Iterable[Piece]) -> Rendering:
    """Mend more of a text that was mended in part; what was mended stays as it is.

    Args:
        text: The original.
        read: What was mended until now.
        found: What to mend, with offsets into `read.text`.
    """
    pieces = sorted(found)
    if not pieces:
        return read
    begins, stops = [start for start, _ in read.replaced], [stop for _, stop in read.replaced]
    removed = [0, *(end - stop for (_, end), stop in zip(read.masks, stops, strict=True))]
    earlier = [
        (start, end, read.text[begin:stop])
        for (start, end), (begin, stop) in zip(read.masks, read.replaced, strict=True)
    ]
    moved = []
    for start, end, new in pieces:
        passed = bisect_right(stops, start)
        if passed == len(begins) or begins[passed] >= end:
            moved.append((start + removed[passed], end + removed[passed], new))
    return substitute(text, sorted([*earlier, *moved]))


_SUSPECTS = re.compile(r"[^\x00-\x7f]{2,}|[\u00c2\u00c3] ")
_LOST_QUOTE, _QUOTE = "\u00e2\u20ac\ufffd", "\u00e2\u20ac\x9d"
"""A closing quotation mark whose last byte Windows-1252 does not have, replaced by U+FFFD; and complete."""


def _find_wrong_encodings(text: str) -> Iterator[Piece]:
    for match in _SUSPECTS.finditer(text):
        start, end = match.span()
        # A neighbour in ASCII tells ftfy whether the run is inside a word, and is not changed.
        before, after = text[max(0, start - 1) : start], text[end : end + 1]
        before, after = (one if one.isascii() else "" for one in (before, after))
        run = match.group()
        if not (before.isalpha() and after.isalpha()):  # there, it may also be an invisible character
            run = run.replace(_LOST_QUOTE, _QUOTE)
        fixed = _fix_encoding(before + run + after)
        if len(fixed) > len(before + after) and fixed.startswith(before) and fixed.endswith(after):
            fixed = fixed[len(before) : len(fixed) - len(after)]
            if len(fixed) < end - start:  # UTF-8 has several bytes for one such character
                yield start, end, fixed


_CONTROLS = re.compile("[\x80-\x9f]")
_GUESSES = frozenset([("decode", "windows-1252"), ("transcode", "fix_c1_controls")])
"""Steps of ftfy that read other encodings than UTF-8; they would give any control character a meaning."""


def _fix_encoding(text: str) -> str:
    # The same text = it is not, or not all of it.
    import ftfy  # slow to import, and hardly ever needed

    if not ftfy.badness.is_bad(text):
        return text
    fixed = ftfy.fix_encoding_and_explain(text)
    steps = {(step.action, step.parameter) for step in fixed.explanation or ()}
    return text if steps & _GUESSES or _CONTROLS.search(fixed.text) else fixed.text


_BROKEN_LINE = re.compile("[-\u00ad]\r?\n([ \t]*)")
_LAST_LETTERS = re.compile(r"[^\W\d_]+\Z")
_PARTICLES = frozenset(["up", "off", "out", "on", "in", "down", "over"])
"""After a verb they make a word with a hyphen: `follow-up`, `check-in`."""
_CLOSING = frozenset(".,;:!?)]}'\"’”/%-")  # noqa: RUF001
_LIST_MARKER = re.compile(r"[-*•·>#|+](?:\s|\Z)")


def _find_broken_words(text: str, is_word: IsWord, is_safe: IsSafe) -> Iterator[Piece]:
    # What a hyphen, the end of a line and an indent between two parts of a word read as.
    if not any(end in text for end in ("-\n", "-\r\n", "\u00ad\n", "\u00ad\r\n")):
        return
    for match in _BROKEN_LINE.finditer(text):
        left = _LAST_LETTERS.search(text[max(0, match.start() - _MAX_WORD) : match.start()])
        if left is not None:
            behind = text[match.end() : match.end() + _MAX_WORD]
            if match.group()[0] == "-":
                new = _read_break(left.group(), match.group(1), behind, is_word)
            else:  # a soft hyphen
                right = TOKEN_PATTERN.match(behind)
                new = "" if right is not None and is_safe(left.group() + right.group()) else None
            if new is not None:
                yield match.start(), match.end(), new


def _read_break(left: str, indent: str, behind: str, is_word: IsWord) -> str | None:
    # None = as it is written.
    word = TOKEN_PATTERN.match(behind)
    if word is None:
        if not behind or behind[0] in "\r\n" or _LIST_MARKER.match(behind):
            return None
        return " " if indent else ("" if behind[0] in _CLOSING else None)
    right = word.group()
    are_words = is_word(left) and is_word(right)
    is_known = is_word(left + right) and not (are_words and right in _PARTICLES)
    if indent == " ":  # more often the space between two words than an indent
        return "" if is_known and not are_words and right.islower() else " "
    if not (right.islower() or (right.isupper() and left.isupper() and right.isalpha())):
        return "-"
    return "" if is_known or not are_words else "-"


_LEAST_WIDTH, _MOST_WIDTH = 40, 140
_MIN_BREAKS = 3
_RAGGED = 12
"""A line cut at a width ends less than this many characters before it, if no long word follows."""
_STRUCTURE = re.compile(
    r"\s*(?:[-*•·>#|+=_~]|\(?\d{1,3}[.)]\s|\(?[A-Za-z][.)]\s|[^\W\d_][^.:]{0,40}:(?:\s|\Z)|\Z)|"
    r".*(?:\t|\S {3,}\S)"
)
"""The beginning of a line that stands for itself: of a list, a table, a label, or empty."""
_STOPS = (".", "!", "?", ":", ";")


def _find_wrapped_lines(text: str) -> Iterator[Piece]:
    if text.count("\n") < _MIN_BREAKS:
        return
    lines = [line.rstrip() for line in text.split("\n")]
    lengths = list(map(len, lines))
    width = max(lengths)
    if not _LEAST_WIDTH <= width <= _MOST_WIDTH:
        return
    n_inner, cut, n_inside = 0, [], 0
    for i, line in enumerate(lines[:-1]):
        behind = lines[i + 1]
        if not line or line.endswith("-") or _STRUCTURE.match(behind):
            continue
        n_inner += 1
        in_sentence = not line.endswith(_STOPS) and behind.lstrip()[0].islower()
        is_full = lengths[i] + 1 + len(behind.split(None, 1)[0]) > width
        if is_full or (in_sentence and lengths[i] >= width - _RAGGED):
            cut.append(i)
            n_inside += in_sentence
    if len(cut) < _MIN_BREAKS or 2 * n_inside < len(cut) or 3 * len(cut) < 2 * n_inner:
        return
    ends = list(accumulate(len(line) + 1 for line in text.split("\n")))
    for i in cut:
        end = ends[i]
        start = end - (2 if text.endswith("\r", 0, end - 1) else 1)
        following = lines[i + 1]
        yield start, end + len(following) - len(following.lstrip(" \t")), " "
