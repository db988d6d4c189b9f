"""JSON Lines: one JSON object per line with a text and, usually, an id.

Output lines contain `{"id", "text"}` and the fields that the user named. No other key of the input is copied:
it could contain identifiers. On request they contain `"masks": [[start, end], ...]` in code-point offsets of
the original text. These reveal the length of every masked word, so the file is as confidential as the
original. If several fields are masked, each keeps its name, and `masks` is an object with one list per field.
A line that cannot be used is reported by its number and left out; the others are masked.
"""

from __future__ import annotations

import io
import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any, BinaryIO, cast

from inverse_deid.core.errors import AnnotationError, FormatError, Remedy, UnreadableInputError
from inverse_deid.core.phi import OUR_TYPES, TypeMapping
from inverse_deid.core.values import Document, MaskedDocument, PhiSpan
from inverse_deid.core.wording import N_, _
from inverse_deid.formats.encodings import TextCodec, as_utf8, name_codec, open_text, split_mark
from inverse_deid.formats.records import (
    MAX_RECORD_BYTES,
    Format,
    ReadOptions,
    Record,
    TableHead,
    Writable,
    iterate_changes,
)
from inverse_deid.formats.tables.columns import (
    MAX_NAMES,
    OTHERS,
    ColumnFate,
    fate_of,
    list_named_columns,
    looks_like_a_name,
    no_column,
    refuse_all_cells,
)
from inverse_deid.formats.tables.kept_cells import fill_json_cells, list_json_cells
from inverse_deid.formats.tables.strict_json import RepeatedKeyError, parse_json

_ENCODER = json.JSONEncoder(ensure_ascii=False)
_RESERVED = frozenset({"id", "masks"})
"""Fields of the output that are not texts."""


@dataclass(frozen=True, slots=True)
class JsonLines:
    """An open JSON Lines file (a `Source`)."""

    stream: BinaryIO = field(repr=False)
    codec: TextCodec
    options: ReadOptions
    unit: str = N_("line")
    resumable: bool = True
    columns: dict[str, str] = field(default_factory=dict)
    text_encoding: str = "utf-8"
    read_as: Mapping[str, int] = field(default_factory=dict)

    def records(self) -> Iterator[Record]:
        """Yield one record a line that is not blank."""
        for number, line in number_lines(self.stream):
            yield _record(number + self.options.n_before, line, self)

    def sink(self, target: Writable, *, resumed: bool = False) -> JsonLinesSink:
        """Return what writes `{"id", "text"}` lines, or those of several texts, with `masks` on request."""
        names = self.options.text_columns
        return JsonLinesSink(target, names if len(names) > 1 else (), self.options.with_offsets)

    def note(self, key: str, fate: ColumnFate) -> None:
        """Note the fate of a field; a name that may be data, or one too many, is not shown."""
        is_named = fate in (ColumnFate.MASKED, ColumnFate.ID) or key in self.options.kept_columns
        has_room = key in self.columns or len(self.columns) < MAX_NAMES
        self.columns[key if is_named or (has_room and looks_like_a_name(key)) else OTHERS] = fate


@dataclass(frozen=True, slots=True)
class JsonLinesSink:
    """Writes one line per masked document (a `Sink`)."""

    target: Writable = field(repr=False)
    text_columns: tuple[str, ...] = ()
    with_offsets: bool = False

    def write(self, record: Record, masked: Sequence[MaskedDocument]) -> None:
        """Write the line; the id keeps the JSON type that it had in the input."""
        if not masked:
            return
        doc_id, kept, checked = cast(
            tuple[object, dict[str, Any], frozenset[str]], record.carried or (masked[0].id, {}, frozenset())
        )
        new = iterate_changes(record)
        kept = {key: fill_json_cells(value, new) if key in checked else value for key, value in kept.items()}
        masks: object
        if self.text_columns:
            by_column = dict(zip(record.columns, masked, strict=True))
            texts = {name: by_column[name].text if name in by_column else None for name in self.text_columns}
            masks = {name: one.masks for name, one in by_column.items()}
        else:
            texts, masks = {"text": masked[0].text}, masked[0].masks
        line = {"id": doc_id, **texts, **({"masks": masks} if self.with_offsets else {}), **kept}
        self.target.write(_ENCODER.encode(line).encode("utf-8", "replace") + b"\n")

    def finish(self) -> None:
        """Nothing follows the last line."""


def read_json_lines(stream: BinaryIO, options: ReadOptions, name: str = "") -> JsonLines:
    """Open a JSON Lines file; its lines are read lazily.

    Raises:
        FormatError: A text column with the name of another field of the output.
        UnreadableInputError: The byte-order mark belongs to another encoding than the user gave.
    """
    refuse_all_cells(options, _("a JSON Lines file"))
    stream, codec, found = _open(stream, options)
    has_several = len(options.text_columns) > 1
    if options.is_masked:
        options = replace(options, id_column=None)
        options = options if has_several else replace(options, text_columns=("text",))
    if not _RESERVED.isdisjoint(options.text_columns if has_several else ()):
        raise FormatError(_("JSON Lines: a text column cannot have the name id or masks. Rename the field"))
    return JsonLines(stream, codec, options, read_as={found: 1} if found else {})


def _open(stream: BinaryIO, options: ReadOptions) -> tuple[BinaryIO, TextCodec, str]:
    # A file whose encoding is in doubt is UTF-8, so that only its bad lines are left out.
    if not stream.seekable() and not hasattr(stream, "peek"):
        stream = io.BufferedReader(cast(io.RawIOBase, stream))
    encoding, codec = options.encoding, None
    with suppress(UnreadableInputError):
        stream, codec, _ = open_text(stream, encoding, finds_out=options.finds_out)
    if codec is None:
        stream, codec = split_mark(stream, options.usual_encoding)
    found = "" if codec.name == "utf-8" or encoding is not None else name_codec(codec)
    if not codec.ascii_lines:
        return as_utf8(stream, codec), TextCodec("utf-8"), found
    return stream, codec, found


def look_at_json_lines(stream: BinaryIO, options: ReadOptions, name: str = "") -> TableHead:
    """Open a JSON Lines file to show its first lines; lines that cannot be read are skipped.

    Raises:
        UnreadableInputError: The byte-order mark belongs to another encoding.
    """
    stream, codec, found = _open(stream, options)

    def cells() -> Iterator[dict[str, str]]:
        for _ignored, line in number_lines(stream):
            parsed = _parse(line, codec)
            if isinstance(parsed, dict):
                yield {key: as_shown(value) for key, value in parsed.items() if _is_unicode(key)}

    return TableHead((), cells(), found)


def as_shown(value: object) -> str:
    """Return a value as a text to look at, "" = null."""
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    return "" if value is None else json.dumps(value, default=str)


def number_lines(stream: BinaryIO) -> Iterator[tuple[int, bytes]]:
    """Yield the lines that are not blank, with their numbers; an endless line is cut."""
    number = 0
    while line := stream.readline(MAX_RECORD_BYTES + 1):
        number += 1
        if not line.isspace():
            yield number, line
        while len(line) > MAX_RECORD_BYTES and not line.endswith(b"\n"):
            line = stream.readline(MAX_RECORD_BYTES + 1)


def _record(number: int, line: bytes, source: JsonLines) -> Record:
    if len(line) > MAX_RECORD_BYTES:
        return Record(number, problem=_("is too long for one document. Split it"))
    parsed = _parse(line, source.codec)
    if isinstance(parsed, FormatError):
        return Record.refuse(number, parsed)
    try:
        texts, doc_id = _fields(parsed, source.options)
        kept = _keep_fields(parsed, source.options)
    except FormatError as error:
        return Record.refuse(number, error)
    for key in parsed:
        source.note(key, fate_of(key, source.options))
    shown_id: str | int = str(number) if doc_id is None else doc_id
    docs = tuple(Document(str(shown_id), text) for text in texts.values())
    if doc_id is not None and source.options.renames is not None:
        shown_id = source.options.new_id(str(doc_id))
    columns = tuple(texts) if len(source.options.text_columns) > 1 else ()
    checked = frozenset(key for key in kept if fate_of(key, source.options) is ColumnFate.KEPT)
    cells = tuple(cell for key in kept if key in checked for cell in list_json_cells(kept[key], key))
    return Record(
        number,
        docs,
        carried=(shown_id, kept, checked),
        columns=columns,
        new_id=str(shown_id),
        is_numbered=doc_id is None,
        kept=cells,
    )


def _parse(line: bytes, codec: TextCodec) -> dict[str, Any] | FormatError:
    try:
        parsed = parse_json(line.decode(codec.name))
    except UnicodeError:
        other = [Remedy(step=N_("save the file as UTF-8")), Remedy("encoding", step=N_("give {}"))]
        return FormatError(_("is not {codec} text", codec=codec.name), remedies=other)
    except RepeatedKeyError as error:
        return FormatError(_("{error}. Leave one out", error=error))
    except (ValueError, RecursionError):
        return FormatError(_("is not valid JSON. Write one JSON object per line"))
    if isinstance(parsed, dict):
        return parsed
    return FormatError(_("is not a JSON object. Write one object per line"))


def _fields(parsed: dict[str, Any], options: ReadOptions) -> tuple[dict[str, str], str | int | None]:
    for choice, name in list_named_columns(options):
        if name not in parsed:
            raise no_column(choice, name, list(parsed)).add_prefix(_("has "))
    given = {name: parsed[name] for name in options.text_columns}
    texts = {name: text for name, text in given.items() if isinstance(text, str)}
    wrong = [name for name, text in given.items() if not isinstance(text, str | None)]
    if wrong:
        named = Remedy("text_column", step=N_("name the key with {}"))
        raise FormatError(_("has no text under the key {wrong!r}", wrong=wrong[0]), remedies=[named])
    if not texts:  # all are null: the line stays, as a row with empty cells does
        texts = dict.fromkeys(options.text_columns, "")
    doc_id = None if options.id_name is None else parsed.get(options.id_name)
    if isinstance(doc_id, bool) or not isinstance(doc_id, str | int | None):
        raise FormatError(
            _("has an id that is neither a string nor a whole number"),
            remedies=[Remedy(step=N_("correct it")), Remedy("id_column")],
        )
    if doc_id is None and options.id_column is not None:
        named = Remedy("id_column", step=N_("name the key with {}"))
        raise FormatError(
            _("has no id under the key {id_column!r}", id_column=options.id_column), remedies=[named]
        )
    if not all(map(_is_unicode, (*texts.values(), str(doc_id)))):
        raise FormatError(_("contains half a character (a lone surrogate). Write the file again as UTF-8"))
    return texts, doc_id


def _keep_fields(parsed: dict[str, Any], options: ReadOptions) -> dict[str, Any]:
    kept = {key: value for key, value in parsed.items() if fate_of(key, options).is_kept}
    if options.is_masked:
        kept.pop("masks", None)
    taken = _RESERVED if len(options.text_columns) > 1 else _RESERVED | {"text"}
    if not taken.isdisjoint(kept):
        raise FormatError(_("has a kept field named id, text or masks, as the output has. Rename it"))
    is_deep = False
    try:
        json.dumps(kept)
    except RecursionError:
        is_deep = True
    if is_deep:
        raise FormatError(
            _("has a kept field that is nested too deeply"),
            remedies=[Remedy("keep_column", step=N_("leave out its {}"))],
        )
    return kept


def _gold_fields(number: int, parsed: dict[str, Any]) -> tuple[dict[str, str], str | int | None]:
    # `number` names it in errors.
    problem = FormatError()
    try:
        return _fields(parsed, ReadOptions())
    except FormatError as error:
        problem = _drop_choices(error, number)
    raise problem


def _drop_choices(error: FormatError, number: int) -> FormatError:
    # The file is always read alike, so no choice can mend it.
    steps = [one for one in error.remedies if not one.choice]
    return FormatError(_("line {number} {error}", number=number, error=error), remedies=steps)


def _is_unicode(text: str) -> bool:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def read_gold_json_lines(stream: BinaryIO, types: TypeMapping = OUR_TYPES) -> Iterator[Document]:
    """Yield annotated documents, UTF-8: `{"id", "text", "spans": [{"start", "end", "type"}]}`.

    Raises:
        FormatError: A line is broken (the message names the line).
        AnnotationError: Spans do not fit their text or are of an unknown type (the
            message names the document).
    """
    for number, line in number_lines(stream):
        yield read_gold_json_line(number, line, types)


def read_gold_json_line(number: int, line: bytes, types: TypeMapping = OUR_TYPES) -> Document:
    """Return one line of such a file; `number` names it in errors. Raises as `read_gold_json_lines` does."""
    parsed = _parse(line, TextCodec("utf-8"))
    if isinstance(parsed, FormatError):
        raise _drop_choices(parsed, number)
    if not isinstance(parsed.get("text"), str):
        raise FormatError(
            _('line {number} has no text. A document is {{"id", "text", "spans"}}', number=number)
        )
    texts, doc_id = _gold_fields(number, parsed)
    text = texts["text"]
    name = str(number) if doc_id is None else str(doc_id)
    where = _("line {number}, document {name}", number=number, name=name)
    return Document(name, text, _spans(where, text, parsed.get("spans", []), types))


def _spans(where: str, text: str, listed: object, types: TypeMapping) -> tuple[PhiSpan, ...]:
    remedy = _('A span is {"start", "end", "type"} with whole numbers and the name of a type')
    if not isinstance(listed, list):
        raise AnnotationError(_("{where}: spans must be a list. {remedy}", where=where, remedy=remedy))
    spans = []
    for number, span in enumerate(listed, start=1):
        if not isinstance(span, dict) or not all(type(span.get(key)) is int for key in ("start", "end")):
            raise AnnotationError(
                _(
                    "{where}: span {number} cannot be read. {remedy}",
                    where=where,
                    number=number,
                    remedy=remedy,
                )
            )
        start, end = span["start"], span["end"]
        if not 0 <= start < end <= len(text):
            raise AnnotationError(
                _(
                    "{where}: span {start}-{end} is empty, reversed or outside the text ({n_text} "
                    "characters). Offsets are half-open and count code points",
                    where=where,
                    start=start,
                    end=end,
                    n_text=len(text),
                )
            )
        phi_type = types.get(str(span.get("type")))
        if phi_type is None:
            raise AnnotationError(
                _(
                    "{where}: span {start}-{end} has an unknown type. Use the types of the 2014 i2b2 "
                    "task, or a mapping file for your types",
                    where=where,
                    start=start,
                    end=end,
                )
            )
        repeated = span.get("text")
        if isinstance(repeated, str) and repeated != text[start:end]:
            raise AnnotationError(
                _(
                    "{where}: span {start}-{end} repeats a text other than the one at its offsets. Check "
                    "that offsets count code points",
                    where=where,
                    start=start,
                    end=end,
                )
            )
        spans.append(PhiSpan(start, end, phi_type))
    return tuple(sorted(spans))


def gold_json_line(doc: Document) -> bytes:
    r"""Return one line of JSON: `{"id", "text", "spans": [{"start", "end", "type"}]}`.

    Returns:
        UTF-8 with a line end.

    Raises:
        AnnotationError: The text or the id contains half a character (a lone surrogate).

    Example:
        >>> from inverse_deid.core.phi import PhiType
        >>> gold_json_line(Document("d1", "Ann", (PhiSpan(0, 3, PhiType.PATIENT),)))
        b'{"id": "d1", "text": "Ann", "spans": [{"start": 0, "end": 3, "type": "PATIENT"}]}\n'
    """
    spans = [{"start": span.start, "end": span.end, "type": span.type} for span in doc.spans]
    line = json.dumps({"id": doc.id, "text": doc.text, "spans": spans}, ensure_ascii=False)
    data = None
    with suppress(UnicodeEncodeError):  # the error contains the text
        data = line.encode()
    if data is None:
        raise AnnotationError(
            _("document {id}: contains half a character (a lone surrogate). Correct the text", id=doc.id)
        )
    return data + b"\n"


def blank_lines(data: bytes, options: ReadOptions, _name: str, numbers: Collection[int]) -> bytes:
    r"""Return a JSON Lines file with a blank line in the place of some lines.

    Example:
        >>> blank_lines(b'{"text": "a"}\n{"text": "b"}\n', ReadOptions(), "", [1])
        b'\n{"text": "b"}\n'
    """
    stream, codec, _ = _open(io.BytesIO(data), options)
    lines = enumerate(stream, 1)
    return codec.mark + b"".join(b"\n" if number in numbers else line for number, line in lines)


FORMAT = Format(
    name="jsonl",
    open=read_json_lines,
    suffixes=(".jsonl", ".ndjson"),
    can_be_split=True,
    has_offsets=True,
    look=look_at_json_lines,
    blank=blank_lines,
)
