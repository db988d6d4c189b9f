"""Markers: one fixed word, or the suspected category in brackets; the last resort of every mask."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from inverse_deid.core.errors import ConfigurationError
from inverse_deid.core.values import Decisions
from inverse_deid.core.wording import _

MarkerKind = Literal["marker", "category"]
"""The fixed marker, or the suspected category."""

MarkerFor = Callable[[Decisions], Callable[[int, int], str]]
"""From a document's decisions to the marker of the mask over tokens `first` to `stop`."""

_MAX_MARKER_CHARS = 40


def markers_of(kind: MarkerKind, marker: str) -> MarkerFor:
    """Return the markers that the user chose; `marker` is the fallback where no category is known.

    Raises:
        ConfigurationError: The marker cannot be used.
    """
    fixed = fixed_marker(marker)
    return category_marker(marker) if kind == "category" else fixed


def fixed_marker(marker: str) -> MarkerFor:
    """Return the same word for every mask.

    Raises:
        ConfigurationError: It is empty, longer than 40 characters or contains a character that
            cannot be printed (a control character, half a surrogate pair, an unassigned code point).
    """
    if not (0 < len(marker) <= _MAX_MARKER_CHARS and marker.isprintable()):
        raise ConfigurationError(_("the marker must have 1 to 40 printable characters"))
    return lambda decisions: lambda first, stop: marker


def category_marker(fallback: str) -> MarkerFor:
    """Return `[NAME]`, `[DATE]` and so on: the category that most tokens of the mask are suspected of.

    Where no category is known (rules only, failed documents) it is the fallback.
    """
    return lambda decisions: lambda first, stop: f"[{decisions.suspect(first, stop) or fallback}]"
