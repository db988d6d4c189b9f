"""JSON files (.json): one object, or a list of objects. Each object is a case.

As in JSON Lines, text fields are masked, the id and named fields are copied, and all others are dropped. A
field in another is named by its path: `report.narrative`. A path leads through lists: it then names the field
of every object in the list. Every field keeps its name and place.

With `all_cells`, all strings are masked, and the keys with them. Numbers, true and false become null.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, BinaryIO

from inverse_deid.core.errors import FormatError, Remedy, StageError
from inverse_deid.core.values import Document, MaskedDocument
from inverse_deid.core.wording import N_, _
from inverse_deid.formats.encodings import decode, find_codec
from inverse_deid.formats.masked_slots import fill_slots, list_pieces
from inverse_deid.formats.plain_text import read_whole
from inverse_deid.formats.records import Format, ReadOptions, Record, TableHead, Writable, iterate_changes
from inverse_deid.formats.tables.columns import (
    MAX_NAMES,
    OTHERS,
    ColumnFate,
    fate_of,
    list_named_columns,
    looks_like_a_name,
    no_column,
)
from inverse_deid.formats.tables.json_lines import as_shown
from inverse_deid.formats.tables.kept_cells import KeptCell, fill_json_cells, list_json_cells, make_key_cell
from inverse_deid.formats.tables.strict_json import RepeatedKeyError, parse_json

MAX_LEVELS = 60
"""So many objects and lists may be in each other."""

_TOO_DEEP = N_("is nested too deeply. Give a file with the narratives alone")


@dataclass(frozen=True, slots=True)
class _Slot:
    """Where a masked text goes: its number."""

    number: int


@dataclass(frozen=True, slots=True)
class _Kept:
    """A kept value, as it is in the file, and the number of its first cell in the record."""

    value: Any = field(repr=False)
    first: int


@dataclass(slots=True)
class JsonFile:
    """An open JSON file (a `Source`)."""

    objects: list[Any] = field(repr=False)
    is_list: bool
    options: ReadOptions
    name: str
    columns: dict[str, str] = field(default_factory=dict)
    unit: str = N_("object")
    resumable: bool = False
    text_encoding: str = "utf-8"
    read_as: dict[str, int] = field(default_factory=dict)

    def records(self) -> Iterator[Record]:
        for number, found in enumerate(self.objects, start=1):
            if not isinstance(found, dict):
                yield Record(number, problem=_("is not a JSON object. A case is an object with a text"))
            elif self.options.all_cells:
                yield self._read_strings(number, found)
            else:
                yield self._read_fields(number, found)

    def _read_fields(self, number: int, found: dict[str, Any]) -> Record:
        case = _Case(self.options)
        tree = case.copy(found)
        missing = next((one for one in list_named_columns(self.options) if one[1] not in case.seen), None)
        problem = case.problem
        if missing is not None and problem is None:
            problem = no_column(*missing, list(case.seen)).add_prefix(_("has "))
        if problem is not None:
            return Record.refuse(number, problem)
        for key, fate in case.fates.items():
            is_named = fate in (ColumnFate.MASKED, ColumnFate.ID) or key in self.options.kept_columns
            is_shown = is_named or (len(self.columns) < MAX_NAMES and looks_like_a_name(key))
            self.columns[key if is_shown else OTHERS] = fate
        doc_id, new_id = self._choose_ids(number, case)
        texts = case.texts.values() or [""]  # all are null, which stays in the tree
        docs = tuple(Document(doc_id, text) for text in texts)
        columns = tuple(case.texts) if len(docs) > 1 else ()
        is_numbered = self.is_list and not case.doc_id
        return Record(
            number,
            docs,
            carried=(tree,),
            columns=columns,
            new_id=new_id,
            is_numbered=is_numbered,
            kept=tuple(case.kept),
        )

    def _choose_ids(self, number: int, case: _Case) -> tuple[str, str]:
        if case.doc_id:
            return case.doc_id, self.options.new_id(case.doc_id)
        if self.is_list:
            return str(number), ""
        return self.name, self.options.new_name

    def _read_strings(self, number: int, found: dict[str, Any]) -> Record:
        strings = _Strings(self.options)
        tree = strings.copy(found, "")
        doc_id = f"{self.name} {number}" if self.is_list else self.name
        new_id = doc_id.replace(self.name, self.options.new_name, 1) if self.options.new_name else ""
        docs = (Document(doc_id, "".join(strings.words)),) if strings.slots else ()
        carried = (tree, tuple(strings.slots))
        return Record(number, docs, carried=carried, new_id=new_id, kept=tuple(strings.kept))

    def sink(self, target: Writable, *, resumed: bool = False) -> JsonFileSink:
        return JsonFileSink(target, is_list=self.is_list)


@dataclass(slots=True)
class _Case:
    options: ReadOptions
    texts: dict[str, str] = field(default_factory=dict, repr=False)  # by path; lists are numbered in it
    fates: dict[str, ColumnFate] = field(default_factory=dict, repr=False)
    seen: dict[str, None] = field(default_factory=dict, repr=False)  # all paths that are there, in order
    kept: list[KeptCell] = field(default_factory=list, repr=False)
    doc_id: str = field(default="", repr=False)
    problem: FormatError | None = None

    def copy(
        self,
        found: dict[str, Any],
        before: str = "",
        shown: str = "",
        others: ColumnFate = ColumnFate.DROPPED,
    ) -> dict[str, Any]:
        """Return what is written of an object.

        Args:
            found: The object.
            before: Its path, which ends with a dot, "" = none.
            shown: The same with the numbers of objects in lists.
            others: The fate of its fields of which nothing is said.
        """
        new: dict[str, Any] = {}
        for key, value in found.items():
            path, place = before + key, shown + key
            self.seen[path] = None
            fate = fate_of(path, self.options)
            if fate is ColumnFate.DROPPED:
                fate = others
            is_plain = fate in (ColumnFate.MASKED, ColumnFate.ID)
            if not is_plain and (branch := self._copy_branch(value, path, place, fate)) is not None:
                if branch:
                    new[key] = branch
                continue
            if fate is ColumnFate.MASKED:
                new[key] = self._mask(value, path, place)
            elif fate is ColumnFate.ID:
                new[key] = self._read_id(value)
            elif fate.is_kept:
                new[key] = self._keep(value, path, fate)
            self.fates[path] = fate
        return new

    def _copy_branch(self, value: Any, path: str, place: str, fate: ColumnFate) -> Any:  # noqa: ANN401 - JSON
        # None = there are none that count.
        if fate.is_kept and not any(name.startswith(f"{path}.") for name in self._list_named()):
            return None
        if isinstance(value, dict):
            if fate is ColumnFate.KEPT:
                self.kept += [make_key_cell(path, key) for key in value]
            return self.copy(value, f"{path}.", f"{place}.", fate)
        if not _has_object(value):
            return None
        copies = []
        for n, one in enumerate(value, start=1):
            if _has_object(one):
                copies.append(self._copy_branch(one, path, f"{place}.{n}", fate))
            elif fate.is_kept:
                copies.append(self._keep(one, path, fate))
            else:  # null keeps the places of the objects after it
                copies.append(None)
        return copies if any(copies) else []

    def _keep(self, value: Any, path: str, fate: ColumnFate) -> Any:  # noqa: ANN401 - JSON
        if fate is ColumnFate.UNCHECKED:
            return value
        place = _Kept(value, len(self.kept))
        self.kept += list_json_cells(value, path)
        return place

    def _list_named(self) -> Iterator[str]:
        # Their fields must not be copied with what is around them.
        yield from self.options.text_columns
        yield from self.options.keep_unchecked
        if self.options.id_name is not None:
            yield self.options.id_name

    def _mask(self, value: Any, path: str, place: str) -> Any:  # noqa: ANN401 - JSON
        if isinstance(value, list):
            return [self._mask(one, path, f"{place}.{n}") for n, one in enumerate(value, start=1)]
        if value is None:
            return None
        if not isinstance(value, str):
            named = Remedy("text_column", step=N_("name the key with {}"))
            self.problem = FormatError(_("has no text under the key {path!r}", path=path), remedies=[named])
            return None
        if place in self.texts:
            self.problem = FormatError(_("has several fields with the path {path!r}. Rename one", path=path))
        self.texts[place] = value
        return _Slot(len(self.texts) - 1)

    def _read_id(self, value: Any) -> str | int | None:  # noqa: ANN401 - JSON
        if isinstance(value, bool) or not isinstance(value, str | int | None):
            self.problem = FormatError(
                _("has an id that is neither a string nor a whole number"), remedies=[Remedy("id_column")]
            )
            return None
        if value is None:
            return None
        self.doc_id = str(value)
        return value if self.options.renames is None else self.options.new_id(self.doc_id)


def _has_object(value: Any) -> bool:  # noqa: ANN401 - JSON
    return isinstance(value, dict) or (isinstance(value, list) and any(map(_has_object, value)))


@dataclass(slots=True)
class _Strings:
    """All strings of one object as one text: a key and its value are a line."""

    options: ReadOptions
    words: list[str] = field(default_factory=list, repr=False)
    slots: list[tuple[int, str]] = field(default_factory=list, repr=False)
    position: int = 0
    kept: list[KeptCell] = field(default_factory=list, repr=False)

    def copy(self, value: Any, path: str) -> Any:  # noqa: ANN401 - JSON
        # Slots instead of strings, and pairs of slots and values for objects.
        if isinstance(value, str):
            return self._add(value, "\n")
        if isinstance(value, list):
            return [self.copy(one, path) for one in value]
        if not isinstance(value, dict):
            return None
        pairs: list[tuple[Any, Any]] = []
        for key, one in value.items():
            inner = f"{path}.{key}" if path else key
            if inner in self.options.keep_unchecked:
                pairs.append((key, one))
            elif inner in self.options.keep_columns:
                pairs.append((key, _Kept(one, len(self.kept))))
                self.kept += list_json_cells(one, inner)
            else:
                pairs.append((self._add(key, ": "), self.copy(one, inner)))
        return _Pairs(pairs)

    def _add(self, text: str, end: str) -> _Slot:
        self.slots.append((self.position, text))
        self.words += (text, end)
        self.position += len(text) + len(end)
        return _Slot(len(self.slots) - 1)


@dataclass(frozen=True, slots=True)
class _Pairs:
    pairs: list[tuple[Any, Any]] = field(repr=False)


class JsonFileSink:
    """Writes objects (a `Sink`)."""

    def __init__(self, target: Writable, *, is_list: bool) -> None:
        self._target = target
        self._is_list = is_list
        self._n_written = 0

    def write(self, record: Record, masked: Sequence[MaskedDocument]) -> None:
        """Write one object.

        Raises:
            StageError: The masked text does not fit the object.
        """
        tree, *slots = record.carried
        if slots:
            found: Any = slots[0]
            texts = fill_slots(found, list_pieces(record.docs[0].text, masked[0])) if masked else []
        else:
            texts = [one.text for one in masked]
        new = tuple(iterate_changes(record))
        line = json.dumps(_fill(tree, texts, new), ensure_ascii=False)
        before = ("[\n" if not self._n_written else ",\n") if self._is_list else ""
        self._n_written += 1
        self._target.write((before + line).encode("utf-8", "replace"))

    def finish(self) -> None:
        end = "\n" if self._n_written or not self._is_list else "[\n"
        self._target.write(f"{end}]\n".encode() if self._is_list else b"\n")


def _fill(tree: Any, texts: Sequence[str], kept: Sequence[str | None]) -> Any:  # noqa: ANN401 - JSON
    # Equal keys are numbered.
    if isinstance(tree, _Kept):
        return fill_json_cells(tree.value, iter(kept[tree.first :]))
    if isinstance(tree, _Slot):
        if tree.number >= len(texts):
            raise StageError(_("the masked texts do not fit the object"))
        return texts[tree.number]
    if isinstance(tree, list):
        return [_fill(one, texts, kept) for one in tree]
    if isinstance(tree, dict):
        return {key: _fill(one, texts, kept) for key, one in tree.items()}
    if not isinstance(tree, _Pairs):
        return tree
    new: dict[str, Any] = {}
    for key, one in tree.pairs:
        shown = base = str(_fill(key, texts, kept))
        number = 1
        while shown in new:
            number += 1
            shown = f"{base} ({number})"
        new[shown] = _fill(one, texts, kept)
    return new


def read_json_file(stream: BinaryIO, options: ReadOptions, name: str) -> JsonFile:
    """Open a JSON file.

    Raises:
        FormatError: Not JSON, with a repeated key or without an object, or nested too deeply.
        UnreadableInputError: Empty, too large, or in another encoding.

    Example:
        >>> import io
        >>> data = io.BytesIO(b'{"id": 7, "report": {"narrative": "Pt well."}}')
        >>> source = read_json_file(data, ReadOptions(text_columns=("report.narrative",)), "a.json")
        >>> [(record.doc.id, record.doc.text) for record in source.records()]
        [('7', 'Pt well.')]
    """
    data = read_whole(stream)
    codec, read_as = find_codec(data, options.encoding, finds_out=options.finds_out)
    text, problem, found = decode(data[len(codec.mark) :], codec), "", None
    try:
        found = parse_json(text)
    except RepeatedKeyError as error:
        problem = _("{error}. Leave one out", error=error)
    except RecursionError:
        problem = _TOO_DEEP
    except ValueError:
        problem = _("is not valid JSON. Write one object, or a list of objects")
    if problem:
        raise FormatError(problem)
    if not isinstance(found, dict | list) or not found:
        raise FormatError(_("has no JSON object. Give a file with one object, or a list of objects"))
    if _measure_depth(found) > MAX_LEVELS:
        raise FormatError(_TOO_DEEP)
    if "\\u" in text and not _is_unicode(found):
        raise FormatError(_("contains half a character (a lone surrogate). Write the file again as UTF-8"))
    source = JsonFile(found if isinstance(found, list) else [found], isinstance(found, list), options, name)
    source.read_as |= {read_as: 1} if read_as else {}
    return source


def _is_unicode(found: Any) -> bool:  # noqa: ANN401 - JSON
    try:
        json.dumps(found, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return False
    return True


def _measure_depth(found: Any) -> int:  # noqa: ANN401 - JSON
    level, depth = [found], 0
    while level:
        depth += 1
        values = (one.values() if isinstance(one, dict) else one for one in level)
        level = [one for some in values for one in some if isinstance(one, dict | list)]
    return depth


def look_at_json(stream: BinaryIO, options: ReadOptions, name: str = "") -> TableHead:
    """Open a JSON file to show its first objects, fields by path. Raises as `read_json_file` does."""
    objects = read_json_file(stream, options, name).objects
    return TableHead((), (dict(_list_fields(one, "")) for one in objects if isinstance(one, dict)))


def _list_fields(found: dict[str, Any], before: str) -> Iterator[tuple[str, str]]:
    for key, value in found.items():
        one = next(iter(value), None) if isinstance(value, list) else value
        if isinstance(one, dict):
            yield from _list_fields(one, f"{before}{key}.")
        else:
            yield before + key, as_shown(one)


FORMAT = Format(
    name="json", open=read_json_file, suffixes=(".json",), can_be_revealed=False, look=look_at_json
)
