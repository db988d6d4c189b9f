"""Markers: one fixed word, or the suspected category in brackets."""

from __future__ import annotations

from collections.abc import Callable

from inverse_deid.core.errors import ConfigurationError
from inverse_deid.core.values import Decisions

_MAX_MARKER_CHARS = 40

MarkerFor = Callable[[Decisions], Callable[[int, int], str]]
"""From a document's decisions to the marker of the mask over tokens `first` to `last`."""


def fixed_marker(marker: str) -> MarkerFor:
    """The same word for every mask.

    Raises:
        ConfigurationError: Empty, longer than 40 characters or with one that cannot be printed
            (a control, half a character, a code point that is none).
    """
    if not (0 < len(marker) <= _MAX_MARKER_CHARS and marker.isprintable()):
        raise ConfigurationError("the marker needs 1 to 40 printable characters")
    return lambda decisions: lambda first, last: marker


def category_marker(fallback: str) -> MarkerFor:
    """`[NAME]`, `[DATE]` and so on: the category that most tokens of the mask are suspected of.

    Args:
        fallback: Stands where no category is known (rules only, failed documents).
    """

    def for_document(decisions: Decisions) -> Callable[[int, int], str]:
        def marker(first: int, last: int) -> str:
            return f"[{decisions.suspected(first, last) or fallback}]"

        return marker

    return for_document
