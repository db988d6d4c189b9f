"""Words without case and accents, for comparison."""

from __future__ import annotations

import unicodedata


def folded(word: str) -> str:
    """Return a word without case, accents and compatibility forms.

    Example:
        >>> folded("JOSÉ") == folded("Jose") == folded("ＪＯＳＥ")
        True
    """
    plain = unicodedata.normalize("NFKD", word)
    return "".join(c for c in plain if not unicodedata.combining(c)).casefold()
