"""Text that grows piece by piece together with its spans."""

from __future__ import annotations

import re
from collections.abc import Callable

from inverse_deid.core.phi import PhiType
from inverse_deid.core.values import Document, PhiSpan

Move = tuple[int, int, int]
"""A stretch that was copied: its start and end in the old text, its start in the new one."""


class TextBuilder:
    """Collects pieces of text; a marked piece becomes a span. `change_case` must keep lengths.

    Example:
        >>> builder = TextBuilder()
        >>> builder.add("Seen by Dr. ")
        >>> builder.mark("Okafor", PhiType.DOCTOR)
        >>> builder.document("d1").spans[0].start
        12
    """

    def __init__(self, change_case: Callable[[str], str] = str) -> None:
        self._change_case = change_case
        self._pieces: list[str] = []
        self._spans: list[PhiSpan] = []
        self._length = 0
        self.moves: list[Move] = []

    def add(self, text: str) -> None:
        """Append safe text."""
        text = self._change_case(text)
        self._pieces.append(text)
        self._length += len(text)

    def mark(self, text: str, phi_type: PhiType) -> None:
        """Append an identifier; white space at its ends stays outside the span."""
        core = text.strip()
        start = self._length + len(text) - len(text.lstrip())
        self.add(text)
        if core:
            self._spans.append(PhiSpan(start, self._length - (len(text) - len(text.rstrip())), phi_type))

    def copy(self, doc: Document, start: int, end: int) -> None:
        """Append a stretch of a document with the spans inside it."""
        shift = self._length - start
        self.moves.append((start, end, self._length))
        inside = (span for span in doc.spans if start <= span.start and span.end <= end)
        self._spans += [PhiSpan(span.start + shift, span.end + shift, span.type) for span in inside]
        self._pieces.append(doc.text[start:end])
        self._length += end - start

    def document(self, doc_id: str, **meta: str) -> Document:
        """Return the document built so far."""
        return Document(doc_id, "".join(self._pieces), tuple(self._spans), meta=meta)


def hard_wrapped(text: str, width: int) -> str:
    r"""Break lines longer than `width` at spaces; each break replaces one space, so that offsets stay.

    Example:
        >>> hard_wrapped("seen by Dr. Okafor", 12)
        'seen by Dr.\nOkafor'
    """
    return re.sub(rf"(?=[^\n]{{{width + 1}}})([^\n]{{1,{width}}}) ", r"\1\n", text)
