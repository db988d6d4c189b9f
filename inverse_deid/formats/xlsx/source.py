"""Excel files as a format: by column as other tables, or all cells as running text (docs/tables.md).

By column, the header is the first row that has the columns to be masked; rows above it and sheets without
these columns are left out. With `all_cells`, a sheet is one text: cells of a row are separated by tabs, rows
by line ends. A number there is hidden, since a bare number may be an id, unless its column is kept.

Rows keep their numbers. The masked file is a new workbook (`package`).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import BinaryIO

from inverse_deid.core.errors import FormatError, StageError
from inverse_deid.core.extras import need_modules
from inverse_deid.core.values import Document, MaskedDocument
from inverse_deid.core.wording import N_, _
from inverse_deid.formats.containers.office_package import open_package
from inverse_deid.formats.masked_slots import fill_slots, list_pieces
from inverse_deid.formats.plain_text import read_whole
from inverse_deid.formats.records import ReadOptions, Record, TableHead, Writable, iterate_changes
from inverse_deid.formats.tables.columns import (
    ColumnFate,
    Columns,
    check_names,
    choose_columns,
    fate_of,
    find_columns,
    is_header,
    list_named_columns,
    no_column,
)
from inverse_deid.formats.xlsx.cells import SheetCell, change_cell, column_letters, make_kept
from inverse_deid.formats.xlsx.package import EXCEL, NewSheet, NewWorkbook, StyleSheet
from inverse_deid.formats.xlsx.sheets import MergedCells, SheetRow, Workbook, open_workbook
from inverse_deid.text.rendering import GAP_MARK

MAX_ROWS_ABOVE = 50
"""The header is looked for in so many rows with values."""
MAX_MERGED = 1_000
"""So many cells of a row may be merged with others of it."""
BLOCK_CHARS = 100_000
"""A sheet of more text is several documents."""

_IS_WITH_OTHERS = N_("has a merged cell over a column that is kept and another. Unmerge it in Excel")
_NO_VALUES = N_("has no values in any sheet. Give a workbook with text")


@dataclass(frozen=True, slots=True)
class TableRow:
    """A row of a table: its kept cells (`checked` are not in the row), and the place and look of its texts.

    `absent` are the columns, in the new sheet, in which the row has no cell.
    """

    sheet: int
    row: SheetRow
    places: tuple[SheetCell, ...]
    absent: frozenset[int]
    checked: tuple[SheetCell, ...] = ()

    def fill(self, record: Record, masked: Sequence[MaskedDocument]) -> Sequence[SheetRow]:
        texts = [
            replace(place, text=one.text) for place, one in zip(self.places, masked, strict=bool(masked))
        ]
        there = [cell for cell in texts if cell.text or cell.column not in self.absent]
        kept = [
            cell if new is None else change_cell(cell, new)
            for cell, new in zip(self.checked, iterate_changes(record), strict=True)
        ]
        cells = sorted([*self.row.cells, *kept, *there], key=lambda cell: cell.column)
        return [replace(self.row, cells=tuple(cells))]


@dataclass(frozen=True, slots=True)
class CellBlock:
    """Rows of a sheet whose texts are one document, and where in it each cell begins and ends."""

    sheet: int
    rows: tuple[SheetRow, ...]
    places: Mapping[tuple[int, int], tuple[int, int]]  # by row in the block and column
    checked: tuple[tuple[int, int], ...] = ()  # row in the block and column of each kept cell to be checked

    def fill(self, record: Record, masked: Sequence[MaskedDocument]) -> Sequence[SheetRow]:
        """Return the rows with the masked texts.

        Raises:
            StageError: The masked text does not fit the cells.
        """
        if not masked:
            return self._fill_kept(record, self.rows)
        text = record.docs[0].text
        slots = [(start, text[start:end]) for start, end in self.places.values()]
        texts = fill_slots(slots, list_pieces(text, masked[0]))
        shown = dict(zip(self.places, texts, strict=True))
        rows = [
            replace(
                row,
                cells=tuple(
                    SheetCell(cell.column, shown[n, cell.column], style=cell.style)
                    if (n, cell.column) in shown
                    else cell
                    for cell in row.cells
                ),
            )
            for n, row in enumerate(self.rows)
        ]
        return self._fill_kept(record, rows)

    def _fill_kept(self, record: Record, rows: Sequence[SheetRow]) -> Sequence[SheetRow]:
        new = dict(zip(self.checked, iterate_changes(record), strict=True))
        changed = {place: value for place, value in new.items() if value is not None}
        if not changed:
            return rows
        return [
            replace(
                row,
                cells=tuple(
                    change_cell(cell, changed[n, cell.column]) if (n, cell.column) in changed else cell
                    for cell in row.cells
                ),
            )
            for n, row in enumerate(rows)
        ]


@dataclass(frozen=True, slots=True)
class SheetPlan:
    """A sheet that is written: its header, and what happens to its columns."""

    index: int  # in the workbook
    header: SheetRow | None  # None = no column of it is kept, and all cells are masked
    columns: Columns
    moved: Mapping[int, int]  # the new place of each column that is written


class _MergedRows:
    """The merged cells of a sheet while its rows are read.

    Args:
        merged: In the order of their rows.
        top: The row of the header. Columns that are merged there have one name.
    """

    def __init__(self, merged: Iterable[MergedCells], top: int) -> None:
        self._waiting = deque(merged)
        self._here: list[MergedCells] = []  # those of the row
        self._top = top
        self._of_header: list[MergedCells] = []

    def go_to(self, row: int) -> None:
        while self._waiting and self._waiting[0].first_row <= row:
            self._here.append(self._waiting.popleft())
        self._here = [one for one in self._here if one.last_row >= row]
        if len(self._here) > MAX_MERGED:
            raise FormatError(
                _(
                    "has more than {max_merged:,} merged cells in a row. Save it again in Excel",
                    max_merged=MAX_MERGED,
                )
            )
        if row == self._top:
            self._of_header = list(self._here)

    def is_with_others(self, column: int, kept_at: Container[int]) -> bool:
        # Its text may belong to that column, unless both have one name.
        if column not in kept_at:
            return False
        own = {i for one in self._of_header if column in one.columns for i in one.columns}
        merged = (i for one in self._here if column in one.columns for i in one.columns)
        return any(i not in kept_at and i not in own for i in merged)


@dataclass(slots=True)
class ExcelFile:
    """An open workbook (a `Source`)."""

    name: str
    options: ReadOptions
    workbook: Workbook
    plans: tuple[SheetPlan, ...] = field(repr=False)
    unit: str = N_("row")
    resumable: bool = False
    text_encoding: str = "utf-8"

    @property
    def columns(self) -> Mapping[str, str]:
        return {name: fate for plan in self.plans for name, fate in plan.columns.by_name.items() if name}

    @property
    def removed(self) -> Mapping[str, int]:
        """What is not written, by kind; complete once all records are read."""
        return {kind: n for kind, n in sorted(self.workbook.counted.items()) if n}

    @property
    def warnings(self) -> Mapping[str, str]:
        """By sheet, that its rows have no ids though others have."""
        name = self.options.id_column
        if name is None:
            return {}
        text = _("has no column {name!r}. The numbers of its rows are the ids", name=name)
        return {
            _("sheet {index}", index=plan.index + 1): text
            for plan in self.plans
            if plan.columns.id_index is None
        }

    def records(self) -> Iterator[Record]:
        """Yield one record a row, or with `all_cells` one a block of rows."""
        n_before = 0
        for sheet, plan in enumerate(self.plans):
            read = self._read_cells if self.options.all_cells else self._read_table
            last = n_before
            for record in read(sheet, plan, n_before):
                yield record
                last = record.number
            n_before = last

    def _read_table(self, sheet: int, plan: SheetPlan, n_before: int) -> Iterator[Record]:
        columns, names = plan.columns, plan.columns.names
        text_at = [names.index(name) for name in columns.text_columns]
        unchecked = (ColumnFate.ID, ColumnFate.UNCHECKED)
        kept_at = {i for i in columns.written if columns.fates[i] in unchecked}
        copied_at = {i for i in columns.written if columns.fates[i] is not ColumnFate.MASKED}
        top = plan.header.number if plan.header else 0
        merged = _MergedRows(self.workbook.merged(plan.index) if copied_at else (), top)
        for row in self.workbook.rows(plan.index, counts=True):
            merged.go_to(row.number)
            if row.number <= top:
                self.workbook.counted["row above the header"] += row.number < top
                continue
            columns.check_order(_names(row, len(names)))
            place = (
                _("row {number}", number=row.number)
                if plan.index == 0
                else _("sheet {index} row {number}", index=plan.index + 1, number=row.number)
            )
            if any(merged.is_with_others(cell.column, copied_at) for cell in row.cells):
                yield Record(n_before + row.number, problem=_IS_WITH_OTHERS, place=place)
                continue
            cells = {cell.column: cell for cell in row.cells}
            unnamed = (column >= len(names) or not names[column] for column in cells)
            self.workbook.counted["cell in a column without a name"] += sum(unnamed)
            number = n_before + row.number
            doc_id = str(row.number) if plan.index == 0 else f"{plan.index + 1}:{row.number}"
            new_id, is_numbered = "", True
            if columns.id_index in cells and cells[columns.id_index].text:
                id_cell = cells[columns.id_index]
                doc_id, is_numbered = id_cell.text, False
                if self.options.renames is not None:
                    new_id = self.options.new_id(doc_id)
                    cells[columns.id_index] = SheetCell(id_cell.column, new_id, style=id_cell.style)
            docs = tuple(Document(doc_id, cells[i].text if i in cells else "") for i in text_at)
            places = tuple(_moved(cells.get(i, SheetCell(i, "")), plan, is_text=True) for i in text_at)
            kept = tuple(_moved(cell, plan) for i, cell in cells.items() if i in kept_at)
            checked = tuple(cells[i] for i in columns.checked if i in cells)
            absent = frozenset(plan.moved[i] for i in text_at if i not in cells)
            moved = tuple(_moved(cell, plan) for cell in checked)
            carried = TableRow(sheet, replace(row, cells=kept), places, absent, moved)
            several = columns.text_columns if len(docs) > 1 else ()
            yield Record(
                number,
                docs,
                carried=(carried,),
                columns=several,
                new_id=new_id,
                place=place,
                is_numbered=is_numbered,
                kept=tuple(make_kept(cell, names[cell.column]) for cell in checked),
            )

    def _read_cells(self, sheet: int, plan: SheetPlan, n_before: int) -> Iterator[Record]:
        rows: list[SheetRow] = []
        words: list[str] = []
        places: dict[tuple[int, int], tuple[int, int]] = {}
        position = 0
        kept_at = {i for i, fate in enumerate(plan.columns.fates) if fate.is_kept}
        top = plan.header.number if plan.header else 0
        merged = _MergedRows(self.workbook.merged(plan.index) if kept_at else (), top)
        for row in self.workbook.rows(plan.index, counts=True):
            if rows and position >= BLOCK_CHARS:
                yield self._make_block(sheet, plan, n_before, CellBlock(sheet, tuple(rows), places), words)
                rows, words, places, position = [], [], {}, 0
            is_first = True
            merged.go_to(row.number)
            kept = {i for i in kept_at if not merged.is_with_others(i, kept_at)}
            for cell in row.cells:
                if cell.kind == "number" or cell.column in kept:
                    continue
                between = "" if not places else "\n" if is_first else "\t"
                is_first = False
                words += (between, cell.text)
                start = position + len(between)
                position = start + len(cell.text)
                places[len(rows), cell.column] = start, position
            cells = tuple(cell if cell.column in kept else _hidden(cell) for cell in row.cells)
            rows.append(replace(row, cells=cells))
        if rows:
            yield self._make_block(sheet, plan, n_before, CellBlock(sheet, tuple(rows), places), words)

    def _make_block(
        self, sheet: int, plan: SheetPlan, n_before: int, block: CellBlock, words: Sequence[str]
    ) -> Record:
        number = block.rows[0].number
        place = _("sheet {index} from row {number}", index=plan.index + 1, number=number)
        text = "".join(words)
        docs = (Document(f"{self.name} {place}", text),) if text else ()
        columns = plan.columns
        header = plan.header.number if plan.header else 0
        cells = {
            (n, cell.column): cell
            for n, row in enumerate(block.rows)
            for cell in row.cells
            if row.number > header and cell.column in columns.checked and (n, cell.column) not in block.places
        }
        kept = tuple(make_kept(cell, columns.names[cell.column]) for cell in cells.values())
        block = replace(block, checked=tuple(cells))
        last = n_before + block.rows[-1].number
        new_id = f"{self.options.new_name} {place}" if self.options.new_name else ""
        return Record(last, docs, carried=(block,), new_id=new_id, case_id=self.name, place=place, kept=kept)

    def sink(self, target: Writable, *, resumed: bool = False) -> ExcelSink:
        return ExcelSink(target, self)


def _moved(cell: SheetCell, plan: SheetPlan, *, is_text: bool = False) -> SheetCell:
    # A text to be masked loses its value.
    column = plan.moved[cell.column]
    return SheetCell(column, "", style=cell.style) if is_text else replace(cell, column=column)


def _hidden(cell: SheetCell) -> SheetCell:
    # Without its value.
    return SheetCell(cell.column, GAP_MARK if cell.kind == "number" else "", style=cell.style)


class ExcelSink:
    """Writes a new workbook when all its rows are there (a `Sink`)."""

    def __init__(self, target: Writable, source: ExcelFile) -> None:
        self._target = target
        self._is_1904 = source.workbook.is_1904
        self._styles = StyleSheet()
        self._sheets: list[NewSheet] = []
        for plan in source.plans:
            widths = source.workbook.widths[plan.index]
            moved = {plan.moved.get(column): width for column, width in widths.items()}
            self._sheets.append(
                NewSheet(
                    self._styles, {column: width for column, width in moved.items() if column is not None}
                )
            )
            if plan.header is not None and not source.options.all_cells:
                names = {plan.moved[i]: (plan.columns.names[i], i) for i in plan.columns.written}
                looks = {cell.column: cell.style for cell in plan.header.cells}
                cells = tuple(
                    SheetCell(column, name, style=looks[i]) for column, (name, i) in sorted(names.items())
                )
                self._sheets[-1].append([replace(plan.header, cells=cells)])

    def write(self, record: Record, masked: Sequence[MaskedDocument]) -> None:
        """Take the rows of a record.

        Raises:
            RefusedRecordError: A text is too long for a cell.
            StageError: The masked text does not fit the cells.
        """
        carried = record.carried[0]
        if not isinstance(carried, TableRow | CellBlock):
            raise StageError(_("a record of another format"))
        self._sheets[carried.sheet].append(carried.fill(record, masked))

    def finish(self) -> None:
        self._target.write(NewWorkbook(self._styles, self._sheets, self._is_1904).pack())


def read_xlsx(stream: BinaryIO, options: ReadOptions, name: str) -> ExcelFile:
    """Open an Excel file.

    Raises:
        FormatError: Not an Excel file, encrypted, damaged, made to do harm, or without a named column.
        UnreadableInputError: Empty or too large.
        ConfigurationError: openpyxl is not installed.
    """
    workbook = _open(stream)
    plan = _plan_cells if options.all_cells else _plan_table
    plans = plan(workbook, options)
    workbook.counted["sheet without the text column"] += len(workbook.sheets) - len(plans)
    return ExcelFile(name, options, workbook, plans)


def _open(stream: BinaryIO) -> Workbook:
    need_modules(_("reading .xlsx files"), "office", "openpyxl")
    return open_workbook(open_package(read_whole(stream), EXCEL))


def _plan_table(workbook: Workbook, options: ReadOptions) -> tuple[SheetPlan, ...]:
    plans: list[SheetPlan] = []
    others: list[list[str]] = []
    missing = {column: choice for choice, column in list_named_columns(options)}
    for index in range(len(workbook.sheets)):
        rows = list(islice(workbook.rows(index), MAX_ROWS_ABOVE))
        header = next((row for row in rows if _has_texts(_names(row), options)), None)
        if header is not None:
            names = _names(header)
            found = find_columns(names, options)
            real = [name for _, name in list_named_columns(found)]
            named = dict(zip((name for _, name in list_named_columns(options)), real, strict=True))
            missing = {name: choice for name, choice in missing.items() if named[name] not in names}
            check_names(names, found, column_letters)
            has_id = found.id_column is None or found.id_column in names
            plans.append(_plan_sheet(index, header, found, has_id=has_id))
        elif rows:
            others.append(_names(choose_header(rows)))
    if not plans:
        if not others:
            raise FormatError(_NO_VALUES)
        shown = [names for names in others if is_header(names)] or others[:1]
        names = list(dict.fromkeys(name for some in shown for name in some if name))
        text = next((name for name in options.text_columns if name not in names), options.text_columns[0])
        raise no_column("text_column", text, names)
    known = list(dict.fromkeys(name for plan in plans for name in plan.columns.names if name))
    if missing:
        name, choice = next(iter(missing.items()))
        raise no_column(choice, name, known)
    return tuple(plans)


def _has_texts(names: Sequence[str], options: ReadOptions) -> bool:
    return set(find_columns(names, options).text_columns) <= set(names)


def _plan_sheet(index: int, header: SheetRow, found: ReadOptions, *, has_id: bool) -> SheetPlan:
    # It need not have the id, nor all columns to be kept.
    names = _names(header)
    given = replace(
        found,
        keep_columns=tuple(name for name in found.keep_columns if name in names),
        keep_unchecked=tuple(name for name in found.keep_unchecked if name in names),
    )
    if not has_id:  # its own column `id` is not the one that the user named
        given = replace(given, id_column=None, without_id=True)
    columns = choose_columns(names, given)
    return SheetPlan(index, header, columns, {old: new for new, old in enumerate(columns.written)})


def _plan_cells(workbook: Workbook, options: ReadOptions) -> tuple[SheetPlan, ...]:
    # Of their columns only those that are named in their header are kept.
    plans = []
    found: dict[str, None] = {}
    kept = set(options.kept_columns)
    for index in range(len(workbook.sheets)):
        rows = list(islice(workbook.rows(index), MAX_ROWS_ABOVE))
        if not rows:
            continue
        header = rows[0] if kept else None  # a cell further down may have the name by chance
        names = [] if header is None else _names(header)
        found |= dict.fromkeys(names)
        check_names([name if name in kept else "" for name in names], options, column_letters)
        fates = tuple(fate_of(name, options) if name in kept else ColumnFate.MASKED for name in names)
        shown = tuple(name if name in kept else "" for name in names)
        moved = {column: column for column in workbook.widths[index]}
        plans.append(SheetPlan(index, header, Columns(shown, fates, (), None), moved))
    if not plans:
        raise FormatError(_NO_VALUES)
    _refuse_missing(options, [one for one in found if one])
    return tuple(plans)


def _refuse_missing(options: ReadOptions, found: Sequence[str]) -> None:
    for choice, name in list_named_columns(options):
        if name in options.kept_columns and name not in found:
            raise no_column(choice, name, found)


def _names(row: SheetRow, n_columns: int = 0) -> list[str]:
    # "" = none.
    names = [""] * max(row.cells[-1].column + 1, n_columns)
    for cell in row.cells:
        names[cell.column] = cell.text.strip()
    return names


def choose_header(rows: Sequence[SheetRow]) -> SheetRow:
    """Return the row that seems to be the header: the first with at least two values, else the first."""
    return next((row for row in rows if len(row.cells) > 1), rows[0])


def look_at_xlsx(stream: BinaryIO, options: ReadOptions, name: str = "") -> TableHead:
    """Open an Excel file to show its rows, the first ones of each sheet before all others.

    Raises as `read_xlsx` does.
    """
    workbook = _open(stream)
    tables: list[tuple[int, list[SheetRow], list[str]]] = []
    for index in range(len(workbook.sheets)):
        if rows := list(islice(workbook.rows(index), MAX_ROWS_ABOVE)):
            header = choose_header(rows)
            below = [row for row in rows if row.number >= header.number]
            tables.append((index, below, list(_names(header))))

    def read(row: SheetRow, columns: Sequence[str]) -> dict[str, str]:
        cells = [(columns[cell.column], cell.text) for cell in row.cells if cell.column < len(columns)]
        return {column: text for column, text in cells if column}

    def rows_of_all() -> Iterator[Mapping[str, str]]:
        for _ignored, below, columns in tables:
            yield from (read(row, columns) for row in below[1:])
        for index, below, columns in tables:
            rest = (row for row in workbook.rows(index) if row.number > below[-1].number)
            yield from (read(row, columns) for row in rest)

    names = dict.fromkeys(one for _, _, columns in tables for one in columns if one)
    return TableHead(tuple(names), rows_of_all())
