"""JSON Lines: one JSON object a line with a text and, if it has one, an id.

Output lines hold `{"id", "text"}` and the fields that the user named. No other key of
the input is passed on: it could hold identifiers. If asked for, they also hold
`"masks": [[start, end], ...]` in code-point offsets of the original text: these tell the
length of every masked word, so that the file is as confidential as the original. Where
several fields are masked, each has its own name, and `masks` is an object with one list
for each. A line that cannot be used is reported by its number and left out; the others
are done.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, BinaryIO, cast

from inverse_deid.core.errors import AnnotationError, FormatError
from inverse_deid.core.phi import OUR_TYPES, TypeMapping
from inverse_deid.core.values import Document, MaskedDocument, PhiSpan
from inverse_deid.formats.columns import (
    MAX_NAMES,
    OTHERS,
    ColumnFate,
    fate_of,
    looks_like_a_name,
    named_columns,
    no_column,
)
from inverse_deid.formats.encodings import TextCodec, split_mark
from inverse_deid.formats.records import MAX_RECORD_BYTES, Format, ReadOptions, Record, Writable
from inverse_deid.formats.strict_json import RepeatedKeyError, parse_json

_RESERVED = frozenset({"id", "masks"})
"""Fields of the output that are not texts."""


@dataclass(frozen=True, slots=True)
class JsonLines:
    """An open JSON Lines file (a `Source`)."""

    stream: BinaryIO = field(repr=False)
    codec: TextCodec
    options: ReadOptions
    unit: str = "line"
    resumable: bool = True
    columns: dict[str, str] = field(default_factory=dict)
    text_encoding: str = "utf-8"

    def records(self) -> Iterator[Record]:
        """One record a line that is not blank."""
        for number, line in numbered_lines(self.stream):
            yield _record(number + self.options.n_before, line, self)

    def sink(self, target: Writable, *, resumed: bool = False) -> JsonLinesSink:
        """Writes `{"id", "text"}` lines, or those of several texts, with `masks` if they were asked for."""
        names = self.options.text_columns
        return JsonLinesSink(target, names if len(names) > 1 else (), self.options.with_offsets)

    def note(self, key: str, fate: ColumnFate) -> None:
        """Remember what became of a field; one that may be data, or one too many, is not named."""
        is_named = fate in (ColumnFate.MASKED, ColumnFate.ID) or key in self.options.keep_columns
        has_room = key in self.columns or len(self.columns) < MAX_NAMES
        self.columns[key if is_named or (has_room and looks_like_a_name(key)) else OTHERS] = fate


@dataclass(frozen=True, slots=True)
class JsonLinesSink:
    """Writes one line a masked document (a `Sink`)."""

    target: Writable = field(repr=False)
    text_columns: tuple[str, ...] = ()
    with_offsets: bool = False

    def write(self, record: Record, masked: Sequence[MaskedDocument]) -> None:
        """Write the line; the id keeps the JSON type that it had in the input."""
        if not masked:
            return
        doc_id, kept = cast(tuple[object, dict[str, Any]], record.carried or (masked[0].id, {}))
        masks: object
        if self.text_columns:
            by_column = dict(zip(record.columns, masked, strict=True))
            texts = {name: by_column[name].text if name in by_column else None for name in self.text_columns}
            masks = {name: one.masks for name, one in by_column.items()}
        else:
            texts, masks = {"text": masked[0].text}, masked[0].masks
        line = {"id": doc_id, **texts, **({"masks": masks} if self.with_offsets else {}), **kept}
        self.target.write(json.dumps(line, ensure_ascii=False).encode("utf-8", "replace") + b"\n")

    def finish(self) -> None:
        """Nothing follows the last line."""


def read_json_lines(stream: BinaryIO, options: ReadOptions, name: str = "") -> JsonLines:
    """Open a JSON Lines file; its lines are read lazily.

    Raises:
        FormatError: An encoding in which lines cannot be told apart (UTF-16), or a text column with
            the name of another field of the output.

    Example:
        >>> import io
        >>> source = read_json_lines(io.BytesIO(b'{"id": 7, "text": "Pt well."}'), ReadOptions())
        >>> [record.doc.id for record in source.records()]
        ['7']
    """
    stream, codec = split_mark(stream, options.encoding)
    if not codec.ascii_lines:
        raise FormatError(f"JSON Lines cannot be {codec.name}; save the file as UTF-8")
    has_several = len(options.text_columns) > 1
    if options.is_masked:
        options = replace(options, id_column=None)
        options = options if has_several else replace(options, text_columns=("text",))
    if not _RESERVED.isdisjoint(options.text_columns if has_several else ()):
        raise FormatError("a text column cannot be called id or masks in JSON Lines; rename the field")
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
    texts, doc_id, problem = _fields(parsed, source.options)
    kept, refused = _kept(parsed, source.options)
    if problem or refused:
        return Record(number, problem=problem or refused)
    for key in parsed:
        source.note(key, fate_of(key, source.options))
    doc_id = str(number) if doc_id is None else doc_id
    docs = tuple(Document(str(doc_id), text) for text in texts.values())
    columns = tuple(texts) if len(source.options.text_columns) > 1 else ()
    return Record(number, docs, carried=(doc_id, kept), columns=columns)


def _parse(
    line: bytes, codec: TextCodec, remedy: str = "save the file as UTF-8 or give --encoding"
) -> dict[str, Any] | str:
    """The object of a line, or what is wrong with it."""
    try:
        parsed = parse_json(line.decode(codec.name))
    except UnicodeError:
        return f"is not {codec.name} text; {remedy}"
    except RepeatedKeyError as error:
        return f"{error}; leave one out"
    except (ValueError, RecursionError):
        return "is not valid JSON; write one JSON object a line"
    return parsed if isinstance(parsed, dict) else "is not a JSON object; write one object a line"


def _fields(parsed: dict[str, Any], options: ReadOptions) -> tuple[dict[str, str], str | int | None, str]:
    """Texts by their keys, id and what is wrong with them ("" = nothing)."""
    for option, name in named_columns(options):
        if name not in parsed:
            return {}, None, f"has {no_column(option, name, list(parsed))}"
    given = {name: parsed[name] for name in options.text_columns}
    texts = {name: text for name, text in given.items() if isinstance(text, str)}
    wrong = [name for name, text in given.items() if not isinstance(text, str | None)]
    if wrong or not texts:
        name = (wrong or options.text_columns)[0]
        return {}, None, f"has no text under the key {name!r}; name the key with --text-column"
    doc_id = None if options.id_name is None else parsed.get(options.id_name)
    if isinstance(doc_id, bool) or not isinstance(doc_id, str | int | None):
        return {}, None, "has an id that is neither text nor a whole number; mend it or use --id-column"
    if doc_id is None and options.id_column is not None:
        return {}, None, f"has no id under the key {options.id_column!r}; name the key with --id-column"
    if not all(map(_is_unicode, (*texts.values(), str(doc_id)))):
        return {}, None, "holds half a character (a lone surrogate); write the file again as UTF-8"
    return texts, doc_id, ""


def _kept(parsed: dict[str, Any], options: ReadOptions) -> tuple[dict[str, Any], str]:
    """The fields that are copied, and why they cannot be ("" = they can)."""
    kept = {key: value for key, value in parsed.items() if fate_of(key, options) is ColumnFate.KEPT}
    if options.is_masked:
        kept.pop("masks", None)
    taken = _RESERVED if len(options.text_columns) > 1 else _RESERVED | {"text"}
    if not taken.isdisjoint(kept):
        return {}, "has a field to keep that is called id, text or masks as one of the output; rename it"
    try:
        json.dumps(kept)
    except RecursionError:
        return {}, "has a field to keep that is nested too deeply; leave out its --keep-column"
    return kept, ""


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
    texts, doc_id, problem = _fields(parsed, ReadOptions())
    if problem:
        raise FormatError(f"line {number} {problem}")
    text = texts["text"]
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


FORMAT = Format(
    name="jsonl",
    open=read_json_lines,
    suffixes=(".jsonl", ".ndjson"),
    can_be_split=True,
    has_offsets=True,
)
