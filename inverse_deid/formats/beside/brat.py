r"""brat standoff: a text file, and an annotation file with one line per span: `T1<tab>PATIENT 3 8<tab>words`.

The text file contains the ORIGINAL text, unchanged. Offsets count code points. A span that crosses a line end
is written in pieces (`3 8;9 12`), as brat requires, and read back as one span.

Source: brat standoff format, https://brat.nlplab.org/standoff.html
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from contextlib import suppress

from inverse_deid.core.errors import AnnotationError
from inverse_deid.core.phi import OUR_TYPES, TypeMapping
from inverse_deid.core.values import Document, PhiSpan
from inverse_deid.core.wording import _

_LINE = re.compile(r"T\d+\t(?P<type>[^\s;]+) (?P<pieces>\d+ \d+(?:;\d+ \d+)*)\t.*")
_LINE_END = re.compile(r"[\r\n]+")

TextBound = tuple[str, int, int]
"""Type, start and end of a span; half-open."""


def brat_text(doc: Document) -> bytes:
    """Return the text file.

    Raises:
        AnnotationError: The text contains half a character (a lone surrogate).
    """
    data = None
    with suppress(UnicodeEncodeError):  # the error contains the text
        data = doc.text.encode()
    if data is None:
        raise AnnotationError(
            _("document {id}: contains half a character (a lone surrogate). Correct the text", id=doc.id)
        )
    return data


def brat_annotations(doc: Document) -> bytes:
    r"""Return the annotation file.

    Example:
        >>> from inverse_deid.core.phi import PhiType
        >>> brat_annotations(Document("d", "Ann\nLi", (PhiSpan(0, 6, PhiType.PATIENT),)))
        b'T1\tPATIENT 0 3;4 6\tAnn Li\n'
    """
    return annotation_lines(doc.text, ((span.type.value, span.start, span.end) for span in doc.spans))


def annotation_lines(text: str, spans: Iterable[TextBound]) -> bytes:
    """Return the annotation file of spans of any types (type, start, end), numbered from T1."""
    lines = []
    for number, (kind, first, last) in enumerate(spans, start=1):
        pieces = _pieces(text, first, last)
        offsets = ";".join(f"{start} {end}" for start, end in pieces)
        words = " ".join(text[start:end] for start, end in pieces)
        lines.append(f"T{number}\t{kind} {offsets}\t{words}\n")
    return "".join(lines).encode("utf-8", "replace")


def _pieces(text: str, first: int, last: int) -> list[tuple[int, int]]:
    # One that is nothing but line ends is one piece.
    pieces, position = [], first
    for match in _LINE_END.finditer(text, first, last):
        pieces.append((position, match.start()))
        position = match.end()
    pieces.append((position, last))
    return [(start, end) for start, end in pieces if start < end] or [(first, last)]


def read_gold_brat(text: bytes, annotations: bytes, name: str, types: TypeMapping = OUR_TYPES) -> Document:
    """Read a text and its annotation file, both UTF-8; relations, notes and the like are skipped.

    Raises:
        AnnotationError: Not UTF-8, a line that cannot be read, offsets outside the text, an unknown type.
    """
    decoded, bound = read_text_bound(text, annotations, name)
    spans = set()
    for kind, start, end in bound:
        phi_type = types.get(kind)
        if phi_type is None:
            raise AnnotationError(
                _(
                    "document {name}, span {start}-{end}: has an unknown type. Use the types of the 2014 "
                    "i2b2 task",
                    name=name,
                    start=start,
                    end=end,
                )
            )
        spans.add(PhiSpan(start, end, phi_type))
    return Document(name, decoded, tuple(sorted(spans)))


def read_text_bound(text: bytes, annotations: bytes, name: str) -> tuple[str, list[TextBound]]:
    """Return the text and its text-bound annotations of any types, in the order of the file.

    Raises:
        AnnotationError: Not UTF-8, a line that cannot be read, offsets outside the text.
    """
    decoded: tuple[str, str] | None = None
    with suppress(UnicodeError):
        decoded = text.decode(), annotations.decode("utf-8-sig")
    if decoded is None:
        raise AnnotationError(
            _("document {name}: is not UTF-8. Save text and annotations as UTF-8", name=name)
        )
    lines = enumerate(decoded[1].split("\n"), start=1)
    bound = [
        _text_bound(line, f"document {name}, line {number}", len(decoded[0]))
        for number, line in lines
        if line.startswith("T")
    ]
    return decoded[0], bound


def _text_bound(line: str, where: str, n_chars: int) -> TextBound:
    match = _LINE.fullmatch(line.rstrip("\r"))
    if match is None:
        raise AnnotationError(
            _("{where}: cannot be read. A line is T1, tab, TYPE START END, tab, words", where=where)
        )
    offsets = [int(offset) for offset in re.split("[ ;]", match["pieces"])]
    if not 0 <= offsets[0] < offsets[-1] <= n_chars or offsets != sorted(offsets):
        raise AnnotationError(
            _("{where}: offsets are outside the text or out of order. They count code points", where=where)
        )
    return match["type"], offsets[0], offsets[-1]
