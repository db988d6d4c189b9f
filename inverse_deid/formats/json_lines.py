"""JSON Lines: one JSON object a line with a text and, if it has one, an id.

Output lines hold exactly `{"id", "text"}`. No other key of the input is passed on:
it could hold identifiers. If asked for, they also hold `"masks": [[start, end], ...]`
in code-point offsets of the original text: these tell the length of every masked
word, so that the file is as confidential as the original. A line that cannot be
used is reported by its number and left out; the others are done.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, BinaryIO

from inverse_deid.core.errors import AnnotationError, FormatError
from inverse_deid.core.phi import OUR_TYPES, TypeMapping
from inverse_deid.core.values import Document, MaskedDocument, PhiSpan
from inverse_deid.formats.encodings import TextCodec, split_mark
from inverse_deid.formats.records import MAX_RECORD_BYTES, ReadOptions, Record, Writable


@dataclass(frozen=True, slots=True)
class JsonLines:
    """An open JSON Lines file (a `Source`)."""

    stream: BinaryIO = field(repr=False)
    codec: TextCodec
    options: ReadOptions
    unit: str = "line"
    resumable: bool = True
    n_copied_columns: int = 0
    text_encoding: str = "utf-8"

    def records(self) -> Iterator[Record]:
        """One record a line that is not blank."""
        for number, line in numbered_lines(self.stream):
            yield _record(number + self.options.n_before, line, self)

    def sink(self, target: Writable, *, resumed: bool = False) -> JsonLinesSink:
        """Writes `{"id", "text"}` lines, with `masks` if they were asked for."""
        return JsonLinesSink(target, self.options.with_offsets)


@dataclass(frozen=True, slots=True)
class JsonLinesSink:
    """Writes one line a masked document (a `Sink`)."""

    target: Writable = field(repr=False)
    with_offsets: bool = False

    def write(self, record: Record, masked: MaskedDocument | None) -> None:
        """Write the line; the id keeps the JSON type that it had in the input."""
        if masked is None:
            return
        line: dict[str, object] = {"id": _id_of(record, masked), "text": masked.text}
        if self.with_offsets:
            line["masks"] = masked.masks
        self.target.write(json.dumps(line, ensure_ascii=False).encode("utf-8", "replace") + b"\n")

    def finish(self) -> None:
        """Nothing follows the last line."""


def _id_of(record: Record, masked: MaskedDocument) -> object:
    return record.carried[0] if record.carried else masked.id


def read_json_lines(stream: BinaryIO, options: ReadOptions) -> JsonLines:
    """Open a JSON Lines file; its lines are read lazily.

    Raises:
        FormatError: An encoding in which lines cannot be told apart (UTF-16).

    Example:
        >>> import io
        >>> source = read_json_lines(io.BytesIO(b'{"id": 7, "text": "Pt well."}'), ReadOptions())
        >>> [record.doc.id for record in source.records()]
        ['7']
    """
    stream, codec = split_mark(stream, options.encoding)
    if not codec.ascii_lines:
        raise FormatError(f"JSON Lines cannot be {codec.name}; save the file as UTF-8")
    return JsonLines(stream, codec, options)


def numbered_lines(stream: BinaryIO) -> Iterator[tuple[int, bytes]]:
    """The lines that are not blank, with their numbers; of an endless line only the beginning."""
    number = 0
    while line := stream.readline(MAX_RECORD_BYTES + 1):
        number += 1
        if not line.isspace():
            yield number, line
        while len(line) > MAX_RECORD_BYTES and not line.endswith(b"\n"):
            line = stream.readline(MAX_RECORD_BYTES + 1)


def _record(number: int, line: bytes, source: JsonLines) -> Record:
    if len(line) > MAX_RECORD_BYTES:
        return Record(number, problem="is too long for one document; split it")
    parsed = _parse(line, source.codec)
    if isinstance(parsed, str):
        return Record(number, problem=parsed)
    text, doc_id, problem = _fields(parsed, source.options)
    if problem:
        return Record(number, problem=problem)
    doc_id = str(number) if doc_id is None else doc_id
    return Record(number, Document(str(doc_id), text), carried=(doc_id,))


def _parse(
    line: bytes, codec: TextCodec, remedy: str = "save the file as UTF-8 or give --encoding"
) -> dict[str, Any] | str:
    """The object of a line, or what is wrong with it."""
    try:
        parsed = json.loads(line.decode(codec.name))
    except UnicodeError:
        return f"is not {codec.name} text; {remedy}"
    except (ValueError, RecursionError):
        return "is not valid JSON; write one JSON object a line"
    return parsed if isinstance(parsed, dict) else "is not a JSON object; write one object a line"


def _fields(parsed: dict[str, Any], options: ReadOptions) -> tuple[str, str | int | None, str]:
    """Text, id and what is wrong with them ("" = nothing)."""
    text = parsed.get(options.text_column)
    doc_id = None if options.id_name is None else parsed.get(options.id_name)
    if not isinstance(text, str):
        return "", None, f"has no text under the key {options.text_column!r}; name the key with --text-column"
    if isinstance(doc_id, bool) or not isinstance(doc_id, str | int | None):
        return "", None, "has an id that is neither text nor a whole number; mend it or use --id-column"
    if doc_id is None and options.id_column is not None:
        return "", None, f"has no id under the key {options.id_column!r}; name the key with --id-column"
    if not (_is_unicode(text) and _is_unicode(str(doc_id))):
        return "", None, "holds half a character (a lone surrogate); write the file again as UTF-8"
    return text, doc_id, ""


def _is_unicode(text: str) -> bool:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def read_gold_json_lines(stream: BinaryIO, types: TypeMapping = OUR_TYPES) -> Iterator[Document]:
    """Annotated documents: `{"id", "text", "spans": [{"start", "end", "type"}]}`.

    Args:
        stream: The bytes, UTF-8.
        types: What the type names mean.

    Raises:
        FormatError: A line is broken (the message names the line).
        AnnotationError: Spans do not fit their text or are of an unknown type (the
            message names the document).
    """
    for number, line in numbered_lines(stream):
        yield read_gold_json_line(number, line, types)


def read_gold_json_line(number: int, line: bytes, types: TypeMapping = OUR_TYPES) -> Document:
    """One line of such a file; `number` names it in errors. Raises as `read_gold_json_lines` does."""
    parsed = _parse(line, TextCodec("utf-8"), "save the file as UTF-8")
    if isinstance(parsed, str):
        raise FormatError(f"line {number} {parsed}")
    if not isinstance(parsed.get("text"), str):
        raise FormatError(f'line {number} has no text; a document is {{"id", "text", "spans"}}')
    text, doc_id, problem = _fields(parsed, ReadOptions())
    if problem:
        raise FormatError(f"line {number} {problem}")
    name = str(number) if doc_id is None else str(doc_id)
    where = f"line {number}, document {name}"
    return Document(name, text, _spans(where, text, parsed.get("spans", []), types))


def _spans(where: str, text: str, listed: object, types: TypeMapping) -> tuple[PhiSpan, ...]:
    """The spans in text order."""
    remedy = 'a span is {"start", "end", "type"} with whole numbers and the name of a type'
    if not isinstance(listed, list):
        raise AnnotationError(f"{where}: its spans are no list; {remedy}")
    spans = []
    for number, span in enumerate(listed, start=1):
        if not isinstance(span, dict) or not all(type(span.get(key)) is int for key in ("start", "end")):
            raise AnnotationError(f"{where}: span {number} cannot be read; {remedy}")
        start, end = span["start"], span["end"]
        if not 0 <= start < end <= len(text):
            raise AnnotationError(
                f"{where}: span {start}-{end} is empty, reversed or outside the text ({len(text)} "
                "characters); offsets are half-open and count code points"
            )
        phi_type = types.get(str(span.get("type")))
        if phi_type is None:
            raise AnnotationError(
                f"{where}: span {start}-{end} is of an unknown type; use the types of the 2014 "
                "i2b2 task, or a mapping file that names their types"
            )
        repeated = span.get("text")
        if isinstance(repeated, str) and repeated != text[start:end]:
            raise AnnotationError(
                f"{where}: the text of span {start}-{end} is not what stands there; "
                "check that offsets count code points"
            )
        spans.append(PhiSpan(start, end, phi_type))
    return tuple(sorted(spans))
