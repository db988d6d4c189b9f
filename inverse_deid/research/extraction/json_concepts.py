"""Concepts as JSON Lines: this project's form, with both kinds of gold, and the form of PHEE.

Ours: `{"id", "text", "spans": [...], "concepts": [{"start", "end", "type"}]}`; `spans` are identifiers as
everywhere in this project. In PHEE's lines `spans` are the concepts, and there are no identifiers.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import suppress
from typing import Any, BinaryIO

from inverse_deid.core.errors import AnnotationError, FormatError
from inverse_deid.core.values import Document
from inverse_deid.formats.json_lines import gold_json_line, number_lines, read_gold_json_line
from inverse_deid.formats.strict_json import parse_json
from inverse_deid.research.extraction.concepts import ConceptDocument, ConceptSpan

_REMEDY = 'a concept is {"start", "end", "type"} with whole numbers and the name of a type'


def read_concept_json_lines(stream: BinaryIO) -> Iterator[ConceptDocument]:
    """Documents with identifiers and concepts.

    Raises:
        FormatError: A line is broken or has no concepts (the message names the line).
        AnnotationError: Spans or concepts do not fit their text.
    """
    for number, line in number_lines(stream):
        doc = read_gold_json_line(number, line)
        listed = json.loads(line).get("concepts")
        if listed is None:
            raise FormatError(
                f'line {number} has no "concepts"; give documents of `research extraction inject`, or '
                "--layout phee if its spans are the concepts"
            )
        yield ConceptDocument(doc, _concepts(f"line {number}, document {doc.id}", doc.text, listed))


def read_phee(stream: BinaryIO) -> Iterator[ConceptDocument]:
    """Documents whose spans are concepts.

    Raises:
        FormatError: A line is broken (the message names the line).
        AnnotationError: Concepts do not fit their text.
    """
    for number, line in number_lines(stream):
        parsed: Any = None
        with suppress(ValueError, RecursionError):
            parsed = parse_json(line)
        if not isinstance(parsed, dict) or not isinstance(parsed.get("text"), str):
            raise FormatError(f'line {number} is no document; one is {{"id", "text", "spans"}}')
        name, text = str(parsed.get("id", number)), parsed["text"]
        listed = parsed.get("spans", [])
        yield ConceptDocument(
            Document(name, text), _concepts(f"line {number}, document {name}", text, listed)
        )


def _concepts(where: str, text: str, listed: object) -> tuple[ConceptSpan, ...]:
    """The concepts in text order."""
    if not isinstance(listed, list):
        raise AnnotationError(f"{where}: its concepts are no list; {_REMEDY}")
    found = set()
    for number, span in enumerate(listed, start=1):
        if not isinstance(span, dict) or not all(type(span.get(key)) is int for key in ("start", "end")):
            raise AnnotationError(f"{where}: concept {number} cannot be read; {_REMEDY}")
        start, end, kind = span["start"], span["end"], span.get("type")
        if not 0 <= start < end <= len(text):
            raise AnnotationError(
                f"{where}: concept {start}-{end} is empty, reversed or outside the text ({len(text)} "
                "characters); offsets are half-open and count code points"
            )
        if not isinstance(kind, str) or not kind or not kind.isprintable() or " " in kind:
            raise AnnotationError(f"{where}: concept {start}-{end} has no type; {_REMEDY}")
        found.add(ConceptSpan(start, end, kind))
    return tuple(sorted(found))


def concept_json_line(doc: ConceptDocument) -> bytes:
    r"""One line of our form, which `read_concept_json_lines` reads back.

    Example:
        >>> concept_json_line(ConceptDocument(Document("d", "rash"), (ConceptSpan(0, 4, "Effect"),)))
        b'{"id": "d", "text": "rash", "spans": [], "concepts": [{"start": 0, "end": 4, "type": "Effect"}]}\n'
    """
    concepts = [{"start": span.start, "end": span.end, "type": span.type} for span in doc.concepts]
    line = json.loads(gold_json_line(doc.doc)) | {"concepts": concepts}
    return json.dumps(line, ensure_ascii=False).encode() + b"\n"
