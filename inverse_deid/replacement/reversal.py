"""Where the masked words of documents stood, for a reversal that somebody is entitled to.

For every masked text the map holds what stood in each replaced range, and a hash of the masked
text: so the original comes back exactly, whatever words stand in its place, and only into the
text that the map was made for. The map is as confidential as the originals.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from inverse_deid.core.errors import FormatError, InputError
from inverse_deid.core.values import MaskedDocument

Edit = tuple[int, int, str]
"""A half-open range of the masked text, and what stood there in the original."""


@dataclass(frozen=True, slots=True)
class HiddenText:
    """What is hidden in one masked text.

    Args:
        location: Where in its document it stands, "" = it is the document's only text.
        sha256: Of the masked text, in the encoding in which it was written.
        edits: What stood where, in text order, not overlapping.
    """

    location: str
    sha256: str
    edits: tuple[Edit, ...] = field(repr=False)


@dataclass(frozen=True, slots=True)
class HiddenCase:
    """What is hidden in one document or case.

    Args:
        document: Its id.
        texts: One entry a text, in the order in which they were written.
    """

    document: str
    texts: tuple[HiddenText, ...]

    def as_json(self) -> bytes:
        """Bytes that `hidden_case` takes back."""
        texts = [[text.location, text.sha256, text.edits] for text in self.texts]
        return json.dumps([self.document, texts], ensure_ascii=True).encode()


def hidden_case(stored: bytes) -> HiddenCase:
    """The case that `as_json` described.

    Raises:
        FormatError: It described none.
    """
    found: HiddenCase | None = None
    try:
        document, texts = json.loads(stored)
        found = HiddenCase(str(document), tuple(_hidden_text(*text) for text in texts))
    except (ValueError, TypeError):
        found = None
    if found is None:
        raise FormatError("holds an entry that is none; it was made by another version")
    return found


def _hidden_text(location: str, sha256: str, edits: Sequence[Any]) -> HiddenText:
    return HiddenText(location, sha256, tuple((int(start), int(end), str(old)) for start, end, old in edits))


def digest(text: str, encoding: str = "utf-8") -> str:
    """SHA-256 of a text as it is written; what the encoding has no sign for is written as `?`."""
    return hashlib.sha256(text.encode(encoding, "replace")).hexdigest()


def hide(
    masked: MaskedDocument, *, location: str = "", written: str | None = None, encoding: str = "utf-8"
) -> HiddenText:
    """What is hidden in a masked document.

    Args:
        masked: As it came from the masker, with dates, ages and surrogates in place.
        location: Where it stands.
        written: What was written of it, if that was shortened to fit; None = all.
        encoding: In which it was written.

    Example:
        >>> from inverse_deid.text.rendering import render
        >>> import numpy as np
        >>> from inverse_deid.text.tokenizer import tokenize
        >>> from inverse_deid.core.values import Decisions
        >>> tokens, none = tokenize("seen by Ann"), np.zeros(3, np.uint8)
        >>> found = render(tokens, np.array([True, True, False]), lambda first, last: "PHI")
        >>> decisions = Decisions(none > 0, none, none.astype(np.float32), none.astype(np.float32), none)
        >>> doc = MaskedDocument("1", found.text, found.masks, found.replaced, tokens, decisions)
        >>> reveal("seen by PHI", hide(doc))
        'seen by Ann'
    """
    shown = masked.text if written is None else written
    edits = tuple(_edits(masked, shown))
    return HiddenText(location, digest(shown, encoding), edits)


def _edits(masked: MaskedDocument, shown: str) -> Iterator[Edit]:
    """One edit a mask; what was cut off is one more."""
    original = masked.tokens.text
    cut = len(shown) if shown == masked.text else _cut(masked, shown)
    position = 0
    behind = 0
    for (start, end), (first, last) in zip(masked.masks, masked.replaced, strict=True):
        if last > cut:
            break
        yield first, last, original[start:end]
        position, behind = last, end
    if shown != masked.text:
        yield cut, len(shown), original[behind + cut - position :]


def _cut(masked: MaskedDocument, shown: str) -> int:
    """Up to where the shown text is the masked one, not within a replacement."""
    pairs = enumerate(zip(shown, masked.text, strict=False))
    cut = next((i for i, (a, b) in pairs if a != b), min(len(shown), len(masked.text)))
    return next((first for first, last in masked.replaced if first < cut < last), cut)


def reveal(text: str, hidden: HiddenText, encoding: str = "utf-8") -> str:
    """The original of a masked text.

    Raises:
        InputError: It is not the text that the entry was made for.
    """
    if digest(text, encoding) != hidden.sha256:
        raise InputError("is not the text that the map was made for: it was changed, or the map is another's")
    pieces: list[str] = []
    position = 0
    for start, end, original in hidden.edits:
        if not position <= start <= end <= len(text):
            raise InputError("has an entry in the map whose ranges do not fit; the map is damaged")
        pieces += (text[position:start], original)
        position = end
    return "".join((*pieces, text[position:]))
