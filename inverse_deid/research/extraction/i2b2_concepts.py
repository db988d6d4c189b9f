r"""The concept files of the 2010 i2b2/VA task: a text and beside it one line for each concept.

A line is `c="chest pain" 5:3 5:4||t="problem"`: the numbers of the line (from 1) and of the
token in it (from 0) of the first and the last token; tokens are what white space separates.

Source: Uzuner, South, Shen and DuVall 2011, "2010 i2b2/VA challenge on concepts, assertions, and
relations in clinical text"; its annotation file formatting.
"""

from __future__ import annotations

import re
from contextlib import suppress

from inverse_deid.core.errors import AnnotationError
from inverse_deid.core.values import Document
from inverse_deid.research.extraction.concepts import ConceptDocument, ConceptSpan

_CONCEPT = re.compile(
    r'c=".*" (?P<line>\d+):(?P<token>\d+) (?P<last_line>\d+):(?P<last_token>\d+)\|\|t="(?P<type>[^"\s]+)"'
)
_TOKEN = re.compile(r"\S+")


def read_i2b2_concepts(text: bytes, concepts: bytes, name: str) -> ConceptDocument:
    r"""Read a document.

    Args:
        text: The text file, UTF-8.
        concepts: The `.con` file.
        name: Becomes the id of the document.

    Raises:
        AnnotationError: Not UTF-8, a line that cannot be read, or tokens that the text does not have.

    Example:
        >>> read_i2b2_concepts(b"A\nmild rash .\n", b'c="rash" 2:1 2:1||t="problem"\n', "d").concepts
        (ConceptSpan(start=7, end=11, type='problem'),)
    """
    decoded: tuple[str, str] | None = None
    with suppress(UnicodeError):
        decoded = text.decode("utf-8-sig"), concepts.decode("utf-8-sig")
    if decoded is None:
        raise AnnotationError(f"document {name}: is not UTF-8; save text and concepts as UTF-8")
    tokens = _tokens_by_line(decoded[0])
    found = {
        _concept(line, tokens, f"document {name}, line {number}")
        for number, line in enumerate(decoded[1].splitlines(), start=1)
        if line.strip()
    }
    return ConceptDocument(Document(name, decoded[0]), tuple(sorted(found)))


def _tokens_by_line(text: str) -> list[list[tuple[int, int]]]:
    """Start and end of each token of each line."""
    lines, position = [], 0
    for line in text.split("\n"):
        lines.append([(m.start() + position, m.end() + position) for m in _TOKEN.finditer(line)])
        position += len(line) + 1
    return lines


def _concept(line: str, tokens: list[list[tuple[int, int]]], where: str) -> ConceptSpan:
    match = _CONCEPT.fullmatch(line.strip())
    if match is None:
        raise AnnotationError(f'{where}: cannot be read; a line is c="WORDS" L:T L:T||t="TYPE"')
    ends = []
    for row, column in (("line", "token"), ("last_line", "last_token")):
        line_number, number = int(match[row]), int(match[column])
        if not (1 <= line_number <= len(tokens) and number < len(tokens[line_number - 1])):
            raise AnnotationError(
                f"{where}: names a token that the text does not have; lines count from 1, tokens from 0"
            )
        ends.append(tokens[line_number - 1][number])
    if ends[0] > ends[1]:
        raise AnnotationError(f"{where}: ends before it begins; give the first token before the last")
    return ConceptSpan(ends[0][0], ends[1][1], match["type"])
