"""The characters that may stay between tokens: an allowlist without letters.

Everything else between tokens is masked: look-alikes of letters (circled and
squared letters), soft hyphens, zero-width and bidirectional controls,
combining marks, private-use characters, emoji.
"""

from __future__ import annotations

import re

_ASCII = "".join(map(chr, range(0x21, 0x7F)))
_ASCII_PUNCTUATION = "".join(c for c in _ASCII if not c.isalnum())
_WHITE_SPACE = " \t\n\r\x0b\x0c\u00a0\u2007\u2009\u200a\u202f"
_PUNCTUATION = "‘’‚“”„‹›«»–—‐‑‒―…·•¿¡§¶†‡′″‰"  # noqa: RUF001
_SIGNS = "°%±×÷≤≥≈≠<>=¬√∞→←↑↓↔€£¥¢©®™¨´`~^"  # noqa: RUF001

ALLOWED_GAP_CHARACTERS = frozenset(_ASCII_PUNCTUATION + _WHITE_SPACE + _PUNCTUATION + _SIGNS)
"""The characters that may stay between kept tokens."""

FORBIDDEN_GAP_PATTERN = re.compile(rf"[^\w{re.escape(''.join(sorted(ALLOWED_GAP_CHARACTERS)))}]+")
"""A run of characters that are neither part of a token nor allowed between tokens."""


def forbidden_gaps(text: str) -> list[tuple[int, int]]:
    """Return the ranges of characters that must never leave, in text order.

    Example:
        >>> forbidden_gaps("a b\u200bc")
        [(3, 4)]
    """
    return [match.span() for match in FORBIDDEN_GAP_PATTERN.finditer(text)]
