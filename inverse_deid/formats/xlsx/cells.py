"""Cells of a sheet: their values, how Excel would show them, and the looks that carry no text.

A number format may quote text (`"Ms. Okonkwo" 0`), so only formats of signs and date letters are kept.

Source: ECMA-376 part 1, 18.3.1.4 (cells), 18.8.30 (number formats), 22.9.2.19 (escaped characters)
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from datetime import date, datetime, time, timedelta
from typing import Literal

from lxml import etree

from inverse_deid.formats.tables.kept_cells import CellType, KeptCell

S = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"
GENERAL = "General"

_DATE = "yyyy-mm-dd"
_DATE_AND_TIME = "yyyy-mm-dd hh:mm"
_PLAIN_FORMAT = re.compile(
    r"(?:General|AM/PM|\[(?:h|hh|m|mm|s|ss|Red)\]|E[+-](?=0)|[0#?.,%/:;() $€£_*\\@+-]"
    r"|(?<![A-Za-z])(?:y{2,4}m{0,5}d{0,4}|d{1,4}m{0,5}y{0,4}|m{1,5}d{0,4}y{0,4}|h{1,2}m{0,2}s{0,2}|s{1,2})"
    r"(?![A-Za-z]))+"
)
_MAX_FORMAT_CHARS = 60
_NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d{1,3})?", re.ASCII)
_ESCAPE = re.compile(r"_x([0-9A-Fa-f]{4})_")
_MUST_ESCAPE = re.compile(r"_(?=x[0-9A-Fa-f]{4}_)|[\0-\x08\x0b-\x1f\ufffe\uffff]")

_DAY = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)

CellKind = Literal["text", "number", "date", "boolean"]


@dataclass(frozen=True, slots=True)
class CellStyle:
    """The look of a cell, without anything that a person wrote."""

    number_format: str = GENERAL
    is_date: bool = False
    is_duration: bool = False
    is_bold: bool = False
    wraps: bool = False


PLAIN = CellStyle()


@dataclass(frozen=True, slots=True)
class SheetCell:
    """A cell with a value."""

    column: int  # counted from 0
    text: str = field(repr=False)  # as it is shown, as far as this tool knows
    kind: CellKind = "text"  # of its value
    # A number as the file has it, "1" or "0" of a boolean, "" of a text.
    value: str = field(default="", repr=False)
    style: CellStyle = PLAIN  # its look


def read_styles(root: etree._Element | None) -> tuple[CellStyle, ...]:
    """Return the looks of a workbook by number.

    Args:
        root: Of the part with the styles, None = there is no such part.
    """
    from openpyxl.styles.numbers import BUILTIN_FORMATS, is_date_format, is_timedelta_format

    if root is None:
        return (PLAIN,)
    formats: dict[str, str] = {str(number): code for number, code in BUILTIN_FORMATS.items()}
    for node in root.iterfind(f"{S}numFmts/{S}numFmt"):
        formats[node.get("numFmtId", "")] = node.get("formatCode", GENERAL)
    fonts = [_is_set(node.find(f"{S}b")) for node in root.iterfind(f"{S}fonts/{S}font")]
    styles = []
    for node in root.iterfind(f"{S}cellXfs/{S}xf"):
        code = formats.get(node.get("numFmtId", "0"), GENERAL)
        font, alignment = node.get("fontId", "0"), node.find(f"{S}alignment")
        is_bold = font.isdecimal() and int(font[:6]) < len(fonts) and fonts[int(font[:6])]
        wraps = alignment is not None and alignment.get("wrapText") in ("1", "true")
        is_date = bool(is_date_format(code))
        clean = _clean_format(code, is_date=is_date)
        styles.append(CellStyle(clean, is_date, bool(is_timedelta_format(code)), is_bold, wraps))
    return tuple(styles) or (PLAIN,)


def _is_set(node: etree._Element | None) -> bool:
    return node is not None and node.get("val", "1") not in ("0", "false")


def _clean_format(code: str, *, is_date: bool) -> str:
    """Return a number format without text.

    Example:
        >>> [_clean_format(code, is_date=False) for code in ("0.00%", '"Ann" 0')]
        ['0.00%', 'General']
    """
    code = re.sub(r"\[\$-[0-9A-Fa-f]{1,8}\]", "", code)
    if len(code) <= _MAX_FORMAT_CHARS and _PLAIN_FORMAT.fullmatch(code):
        return code
    if not is_date:
        return GENERAL
    return _DATE_AND_TIME if "h" in code.lower() else _DATE


def make_number(column: int, value: str, style: CellStyle, *, is_1904: bool) -> SheetCell | None:
    """Return a cell with a number or a date; None: it is not a number, so it is not read."""
    value = value.strip()
    if not _NUMBER.fullmatch(value):
        return None
    if style.is_date:
        text = _show_date(float(value), is_1904=is_1904, is_duration=style.is_duration)
        if text:
            return SheetCell(column, text, "date", value, style)
    number = float(value)
    if "%" in style.number_format:
        return SheetCell(column, f"{_show_number(round(number * 100, 10))}%", "number", value, style)
    return SheetCell(column, _show_number(number), "number", value, style)


def _show_number(number: float) -> str:
    """Return a number as a cell without a format shows it.

    Example:
        >>> _show_number(43.0), _show_number(38.9)
        ('43', '38.9')
    """
    is_whole = number.is_integer() and abs(number) < 1e15
    return str(int(number)) if is_whole else repr(number)


def _show_date(number: float, *, is_1904: bool, is_duration: bool) -> str:
    # "" = it is not a date.
    from openpyxl.utils.datetime import MAC_EPOCH, WINDOWS_EPOCH, from_excel

    shown: object = None
    try:
        shown = from_excel(number, MAC_EPOCH if is_1904 else WINDOWS_EPOCH, timedelta=is_duration)
    except (ValueError, OverflowError, TypeError):
        return ""
    if isinstance(shown, datetime):
        is_day = shown.time() == time()
        return show_moment(shown.date() if is_day else shown)
    return str(shown) if isinstance(shown, time | timedelta) else ""


def show_moment(moment: date) -> str:
    """Return a day, or a day and a time to the minute or second.

    Example:
        >>> show_moment(date(2019, 10, 12)), show_moment(datetime(2019, 10, 12, 14, 5))
        ('2019-10-12', '2019-10-12 14:05')
    """
    if not isinstance(moment, datetime):
        return moment.isoformat()
    return moment.isoformat(" ", "seconds" if moment.second else "minutes")


def make_kept(cell: SheetCell, column: str) -> KeptCell:
    """Return a cell of a kept column as it is judged; a time alone or a duration is a text."""
    is_day = cell.kind == "date" and _DAY.match(cell.text) is not None
    kind: CellType = "date" if is_day else "number" if cell.kind == "number" else "text"
    return KeptCell(column, cell.text[:10] if is_day else "" if cell.kind == "boolean" else cell.text, kind)


def change_cell(cell: SheetCell, new: str) -> SheetCell:
    """Return a cell with another value; a date that stays one keeps its time and its look.

    Example:
        >>> change_cell(SheetCell(0, "2019-10-12", "date", "43750"), "2019-10-11").value
        '43749'
    """
    if cell.kind == "date" and _DAY.fullmatch(new):
        moved = (date.fromisoformat(new) - date.fromisoformat(cell.text[:10])).days
        value = float(cell.value) + moved
        return replace(cell, text=new + cell.text[10:], value=_show_number(value))
    return SheetCell(cell.column, new, style=cell.style)


def unescape(text: str) -> str:
    r"""Return a text of the file as Excel reads it.

    Example:
        >>> unescape("a_x000D_b"), unescape("_x005F_x000D_")
        ('a\rb', '_x000D_')
    """
    if "_x" not in text:
        return text
    found = _ESCAPE.sub(lambda match: chr(int(match[1], 16)), text)
    return found.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def escape(text: str) -> str:
    r"""Return a text from which Excel reads this one.

    Example:
        >>> escape("a\rb"), escape("_x000D_")
        ('a_x000D_b', '_x005F_x000D_')
    """
    return _MUST_ESCAPE.sub(lambda match: f"_x{ord(match[0]):04X}_", text)


def read_place(address: str) -> tuple[int, int]:
    """Return the row, counted from 1, and the column, counted from 0, of a cell; (0, 0) = not an address.

    Example:
        >>> read_place("A1"), read_place("AB12"), read_place("b7"), read_place("12")
        ((1, 0), (12, 27), (7, 1), (0, 0))
    """
    match = re.fullmatch(r"([A-Za-z]{1,3})([0-9]{1,7})", address)
    if match is None:
        return 0, 0
    index = 0
    for letter in match[1].upper():
        index = index * 26 + ord(letter) - ord("A") + 1
    return int(match[2]), index - 1


def column_letters(index: int) -> str:
    """Return the letters of a column.

    Example:
        >>> column_letters(0), column_letters(27)
        ('A', 'AB')
    """
    letters = ""
    index += 1
    while index:
        index, rest = divmod(index - 1, 26)
        letters = chr(ord("A") + rest) + letters
    return letters
