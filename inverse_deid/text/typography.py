"""Typography to read over: spaces of any width, marks that nobody sees, lowered and raised signs.

`levo<soft hyphen>thyroxine` reads as the word that people see, if that word is safe. Within any other word
the marks stay, so that it is masked: they may hide an identifier. Lowered and raised digits read as digits.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from inverse_deid.text.rendering import (
    INVISIBLE_MARKS,
    LINE_SEPARATORS,
    RAISED_SIGNS,
    TYPOGRAPHIC_SPACES,
    Piece,
)

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

    Args:
        text: Any.
        is_safe: See `IsSafe`.

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
