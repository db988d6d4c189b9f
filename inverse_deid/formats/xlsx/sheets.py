"""The sheets of a workbook, read row by row in constant memory, apart from the texts that they share.

Only cells, their looks and the sizes of rows and columns are read. All else is counted and stays behind.
The XML is read with the parser for files of strangers; openpyxl, which builds on another, tells what number
formats and dates mean (`cells`).

Source: ECMA-376 part 1, 18.2 (workbook), 18.3 (sheets), 18.4 (shared strings)
"""

from __future__ import annotations

import re
from collections import Counter, deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from inverse_deid.core.errors import FormatError
from inverse_deid.core.wording import N_, _
from inverse_deid.formats.containers.office_package import Package
from inverse_deid.formats.xlsx.cells import (
    PLAIN,
    CellStyle,
    S,
    SheetCell,
    make_number,
    read_place,
    read_styles,
    unescape,
)

MAX_ROWS = 1_048_576
MAX_COLUMNS = 16_384
MAX_CELL_CHARS = 1_000_000
"""Excel allows 32,767."""
MAX_SHARED_CHARS = 128 * 1024 * 1024
MAX_SHARED = 4_000_000
MAX_CHARS = 128 * 1024 * 1024
"""The most that all cells may show together: many of them may show one shared text."""

_COUNTED = {
    "dataValidation": N_("list of allowed values"),
    "conditionalFormatting": N_("conditional format"),
    "hyperlink": "link",
    "headerFooter": N_("page header or footer"),
    "mergeCell": N_("merged cells"),
    "sheetProtection": "protection",
    "autoFilter": "filter",
    "scenario": "scenario",
    "customSheetView": "view",
    "protectedRange": "protection",
    "ext": "extension",
    "definedName": N_("name of a range"),
    "fileSharing": "author",
    "workbookProtection": "protection",
    "rPh": N_("reading aid"),
}
_FORMULA = N_("formula (its result counts as a value)")
_NO_RESULT = N_("formula without a stored result (its cell is empty)")
_OTHER_TYPE = N_("value of another type than its cell says")
_MAX_SIZE = 255
"""The widest column, in characters; a row may be a little higher, in points."""
_SIZE = re.compile(r"\d{1,4}(?:\.\d{1,20})?", re.ASCII)
_STRICT = "{http://purl.oclc.org/ooxml/spreadsheetml/main}"
_SHEET, _DATA, _ROW, _CELL = (f"{S}{name}" for name in ("worksheet", "sheetData", "row", "c"))


@dataclass(frozen=True, slots=True)
class SheetRow:
    """A row with cells, in the order of their columns; `number` counts from 1."""

    number: int
    cells: tuple[SheetCell, ...] = field(repr=False)
    height: float | None = None  # in points, None = as usual


class MergedCells(NamedTuple):
    """Merged cells: rows count from 1, columns from 0, and the last ones are part of them."""

    first_row: int
    last_row: int
    first_column: int
    last_column: int

    @property
    def columns(self) -> range:
        return range(self.first_column, self.last_column + 1)


@dataclass(slots=True)
class Workbook:
    """An open workbook: where its sheets are, and what they share."""

    package: Package
    sheets: tuple[str, ...] = field(repr=False)  # the names of their parts, in the order of their tabs
    strings: Sequence[str] = field(repr=False)
    styles: Sequence[CellStyle]
    is_1904: bool
    counted: Counter[str]  # what is not written, by kind
    widths: list[dict[int, float]]  # by sheet and column, in characters; known after the first row
    n_chars: int = 0  # of the cells that were read

    def rows(self, sheet: int, *, counts: bool = False) -> Iterator[SheetRow]:
        """Yield the rows with values of a sheet.

        Args:
            sheet: Its place among `sheets`.
            counts: Note in `counted` what is not written. Do this once.

        Raises:
            FormatError: It is damaged.
        """
        target = _SheetTarget(self)
        for _ignored in self.package.feed(self.sheets[sheet], target):
            self.widths[sheet] = target.widths
            while target.rows:
                yield target.rows.popleft()
        if counts:
            self.counted.update(target.counted)

    def merged(self, sheet: int) -> list[MergedCells]:
        """Return the cells of a sheet that are merged over several columns, in the order of their rows.

        Raises:
            FormatError: It is damaged.
        """
        target = _MergedTarget(self.package)
        for _ignored in self.package.feed(self.sheets[sheet], target):
            pass
        return sorted(target.found)


def open_workbook(package: Package) -> Workbook:
    """Find the sheets of a package and read what they share.

    Raises:
        FormatError: It is not a workbook, or damaged.
    """
    found = {one.target for one in package.related("") if one.kind == "officeDocument"}
    main = next((target for target in sorted(found) if target), "")
    root = package.parse(main) if main else None
    if root is None or root.tag != f"{S}workbook":
        strict = _(", not in the strict format") if root is not None and root.tag.startswith(_STRICT) else ""
        raise FormatError(
            _("has no workbook in it. Save it as an Excel workbook (.xlsx){strict}", strict=strict)
        )
    related = [one for one in package.related(main) if one.target]
    parts = {one.id: one.target for one in related if one.kind == "worksheet"}
    texts = {one.target for one in related if one.kind == "sharedStrings"}
    if len(texts) > 1:  # a cell could show a text of the wrong part
        raise FormatError(package.program.damaged)
    shared = next(iter(texts), "")
    looks = next((one.target for one in related if one.kind == "styles"), "")
    names = (tag.rpartition("}")[2] for tag in (str(node.tag) for node in root.iter()))
    counted = Counter(_COUNTED[name] for name in names if name in _COUNTED)
    sheets = []
    for node in root.iterfind(f"{S}sheets/{S}sheet"):
        identifier = next((value for name, value in node.attrib.items() if str(name).endswith("}id")), "")
        if identifier not in parts:
            counted["chart sheet or macro sheet"] += 1
            continue
        sheets.append(parts[identifier])
        counted["hidden sheet, shown now"] += node.get("state", "visible") != "visible"
    if not sheets or len(set(sheets)) < len(sheets):
        raise FormatError(_("has no sheet with cells. Save it as an Excel workbook (.xlsx)"))
    properties = root.find(f"{S}workbookPr")
    is_1904 = properties is not None and properties.get("date1904") in ("1", "true")
    styles = read_styles(package.parse(looks) if looks else None)
    strings = _read_strings(package, shared, counted) if shared else ()
    kept = frozenset({main, shared, looks, *sheets})
    counted.update(package.count_removed(kept))
    return Workbook(package, tuple(sheets), strings, styles, is_1904, counted, [{} for _ in sheets])


class _Target:
    """What both targets of a parser share (see `safe_parser`)."""

    def __init__(self, package: Package) -> None:
        self._package = package
        self._words: list[str] | None = None  # None = here is no text that counts
        self._n_chars = 0

    def doctype(self, *_: object) -> None:
        raise FormatError(self._package.has_doctype)

    def data(self, text: str) -> None:
        if self._words is not None:
            self._n_chars += len(text)
            if self._n_chars > MAX_CELL_CHARS:
                raise FormatError(
                    _(
                        "has a cell of more than {max_cell_chars:,} characters. Split it",
                        max_cell_chars=MAX_CELL_CHARS,
                    )
                )
            self._words.append(text)

    def close(self) -> None:
        # The results are attributes.
        pass


class _StringsTarget(_Target):
    """Without readings (`rPh`) and looks."""

    def __init__(self, package: Package) -> None:
        super().__init__(package)
        self.strings: list[str] = []
        self.n_readings = 0
        self.n_chars = 0
        self._text: list[str] = []
        self._in_reading = False
        self._is_in_text = False

    def start(self, tag: str, attrib: Mapping[str, str]) -> None:
        if tag == f"{S}si":
            if self._is_in_text:  # the numbers of all texts after it would be in doubt
                raise FormatError(self._package.program.damaged)
            self._text, self._n_chars, self._is_in_text = [], 0, True
        elif tag == f"{S}rPh":
            self._in_reading = True
            self.n_readings += 1
        elif tag == f"{S}t" and not self._in_reading:
            self._words = self._text

    def end(self, tag: str) -> None:
        if tag == f"{S}t":
            self._words = None
        elif tag == f"{S}rPh":
            self._in_reading = False
        elif tag == f"{S}si":
            self._is_in_text = False
            self.strings.append(unescape("".join(self._text)))
            self.n_chars += self._n_chars
            if self.n_chars > MAX_SHARED_CHARS or len(self.strings) > MAX_SHARED:
                raise FormatError(
                    _(
                        "has more than {max_shared_chars} MiB of text, or too many texts. Split it",
                        max_shared_chars=MAX_SHARED_CHARS >> 20,
                    )
                )


def _read_strings(package: Package, name: str, counted: Counter[str]) -> list[str]:
    target = _StringsTarget(package)
    for _ignored in package.feed(name, target):
        pass
    counted[_COUNTED["rPh"]] += target.n_readings
    return target.strings


class _MergedTarget(_Target):
    def __init__(self, package: Package) -> None:
        super().__init__(package)
        self.found: list[MergedCells] = []

    def start(self, tag: str, attrib: Mapping[str, str]) -> None:
        # What is not a range of cells merges none.
        if tag != f"{S}mergeCell":
            return
        begin, _, end = attrib.get("ref", "").replace("$", "").partition(":")
        (row, column), (other_row, other_column) = read_place(begin.strip()), read_place(end.strip())
        if row and other_row and column != other_column:
            rows, columns = sorted((row, other_row)), sorted((column, other_column))
            self.found.append(MergedCells(rows[0], rows[1], columns[0], columns[1]))

    def end(self, tag: str) -> None:
        pass


class _SheetTarget(_Target):
    """Collects the rows of a sheet.

    A row or cell without a number is after the one before it, also after an empty one. A place in doubt is an
    error: a text could slide into a column that is kept.
    """

    def __init__(self, workbook: Workbook) -> None:
        super().__init__(workbook.package)
        self.rows: deque[SheetRow] = deque()
        self.widths: dict[int, float] = {}
        self.counted: Counter[str] = Counter()
        self._workbook = workbook
        self._open: list[str] = []  # the elements that are not closed
        self._has_data = False
        self._number = 0
        self._column = -1  # of the last cell of the row, with or without a value
        self._height: float | None = None
        self._cells: list[SheetCell] | None = None  # None = outside of rows
        self._cell: tuple[int, str, CellStyle] | None = None  # column, type and look; None = outside of cells
        self._value: list[str] = []
        self._inline: list[str] = []
        self._in_reading = False
        self._has_formula = self._has_value = False  # the cell that is open

    def start(self, tag: str, attrib: Mapping[str, str]) -> None:
        name = tag.rpartition("}")[2]
        if kind := _COUNTED.get(name):
            self.counted[kind] += 1
        around = self._open[-1] if self._open else ""
        self._open.append(tag)
        # Anything around or among rows or cells, and rows or cells elsewhere, put places in doubt.
        right = {_DATA: _SHEET, _ROW: _DATA, _CELL: _ROW}.get(tag)
        is_among_cells = around == _ROW and tag not in (_CELL, f"{S}extLst")
        if is_among_cells or right not in (None, around) or (tag == _DATA and self._has_data):
            raise self._doubt(N_("an element that is not at its place"))
        self._has_data |= tag == _DATA
        if not tag.startswith(S):
            return
        if tag == _ROW:
            self._begin_row(attrib)
        elif name == "col":
            self._note_width(attrib)
        elif tag == _CELL:
            self._begin_cell(attrib)
        elif self._cell is not None and name in ("v", "t") and not self._in_reading:
            self._words = self._value if name == "v" else self._inline
            self._has_value |= name == "v"
        elif name == "f" and self._cell is not None:
            self._has_formula = True
        elif name == "rPh":
            self._in_reading = True

    def _doubt(self, what: str) -> FormatError:
        # `what` holds nothing of the file.
        place = _("in or after row {number}", number=self._number)
        return FormatError(
            _(
                "has {what} {place}. The columns of cells are in doubt. Save it again in Excel",
                what=what,
                place=place,
            )
        )

    def end(self, tag: str) -> None:
        self._open.pop()
        if not tag.startswith(S):
            return
        name = tag.rpartition("}")[2]
        if name in ("v", "t"):
            self._words = None
        elif name == "rPh":
            self._in_reading = False
        elif name == "c" and self._cell is not None:
            self._end_cell()
        elif name == "row" and self._cells is not None:
            if self._cells:
                self.rows.append(SheetRow(self._number, tuple(self._cells), self._height))
            self._cells = None

    def _begin_row(self, attrib: Mapping[str, str]) -> None:
        given = attrib.get("r", str(self._number + 1))
        number = int(given) if re.fullmatch("[0-9]{1,7}", given) else 0
        if not self._number < number <= MAX_ROWS:
            raise self._doubt(N_("a row number that is repeated, out of order or not valid"))
        self._number, self._column, self._cells = number, -1, []
        height = attrib.get("ht", "")
        is_size = _SIZE.fullmatch(height) and float(height) <= _MAX_SIZE and attrib.get("customHeight")
        self._height = float(height) if is_size else None
        self.counted["hidden row, shown now"] += attrib.get("hidden") in ("1", "true")

    def _note_width(self, attrib: Mapping[str, str]) -> None:
        first, last, width = (attrib.get(name, "") for name in ("min", "max", "width"))
        if not (first.isdecimal() and last.isdecimal() and len(first) <= 5 and len(last) <= 5):
            return
        self.counted["hidden columns, shown now"] += attrib.get("hidden") in ("1", "true")
        if _SIZE.fullmatch(width) and 0 < float(width) <= _MAX_SIZE:
            for column in range(int(first) - 1, min(int(last), MAX_COLUMNS)):
                self.widths[column] = float(width)

    def _begin_cell(self, attrib: Mapping[str, str]) -> None:
        row, column = read_place(attrib["r"]) if "r" in attrib else (self._number, self._column + 1)
        if row != self._number or not self._column < column < MAX_COLUMNS:
            raise self._doubt(N_("a cell that is repeated, out of order or of another row"))
        self._column = column
        number = attrib.get("s", "0")
        styles = self._workbook.styles
        is_style = re.fullmatch("[0-9]{1,6}", number) and int(number) < len(styles)
        self._cell = column, attrib.get("t", "n"), styles[int(number)] if is_style else PLAIN
        self._value, self._inline, self._n_chars = [], [], 0
        self._has_formula = self._has_value = False

    def _end_cell(self) -> None:
        column, kind, style = self._cell or (0, "n", PLAIN)
        value, inline = "".join(self._value), "".join(self._inline)
        self._cell = None
        if self._has_formula:
            has_result = bool(value) or (kind == "str" and self._has_value) or bool(inline)
            self.counted[_FORMULA if has_result else _NO_RESULT] += 1
        unread = value if kind == "inlineStr" else inline
        self.counted[_OTHER_TYPE] += bool(unread)
        if kind == "inlineStr":
            self._add(SheetCell(column, unescape(inline), style=style))
        elif not self._value:
            return
        elif kind == "s":
            if not re.fullmatch(r"\s*[0-9]{1,9}\s*", value) or int(value) >= len(self._workbook.strings):
                raise FormatError(self._package.program.damaged)
            self._add(SheetCell(column, self._workbook.strings[int(value)], style=style))
        elif kind == "b" and value.strip() in ("0", "1", "true", "false"):
            is_true = value.strip() in ("1", "true")
            text = "TRUE" if is_true else "FALSE"
            self._add(SheetCell(column, text, "boolean", str(int(is_true)), style))
        else:
            number = (
                make_number(column, value, style, is_1904=self._workbook.is_1904) if kind == "n" else None
            )
            self._add(number or SheetCell(column, unescape(value), style=style))

    def _add(self, cell: SheetCell) -> None:
        self._workbook.n_chars += len(cell.text)
        if self._workbook.n_chars > MAX_CHARS:
            raise FormatError(_("has more than {max_chars} MiB of text. Split it", max_chars=MAX_CHARS >> 20))
        if self._cells is not None:
            self._cells.append(cell)
