"""A new workbook: nothing of the old file but what is written here, cell by cell.

Texts are written into their cells and are strings whatever they begin with, so that no program runs them.
There are no properties, names, times, themes or shared texts. The same rows give the same bytes.

Source: ECMA-376 part 1, 18 (SpreadsheetML)
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from xml.sax.saxutils import escape as escape_xml
from xml.sax.saxutils import quoteattr

from inverse_deid.core.errors import RefusedRecordError
from inverse_deid.core.wording import N_, _
from inverse_deid.formats.containers.office_package import KINDS, PACKAGE, Program, pack
from inverse_deid.formats.xlsx.cells import GENERAL, PLAIN, CellStyle, SheetCell, column_letters, escape
from inverse_deid.formats.xlsx.sheets import SheetRow

EXCEL = Program(
    "Excel",
    N_("an Excel file (.xlsx)"),
    N_("an old Excel file (.xls)"),
    ".xlsx",
    (
        ("xl/comments", "comments"),
        ("xl/threadedcomments", N_("threaded comments")),
        ("xl/persons", N_("list of people")),
        ("xl/media/", "image"),
        ("xl/drawings/", "drawing"),
        ("xl/charts/", "chart"),
        ("xl/chartsheets/", N_("chart sheet")),
        ("xl/pivottables/", N_("pivot table")),
        ("xl/pivotcache/", N_("stored data of a pivot table")),
        ("xl/slicer", "slicer"),
        ("xl/timeline", "slicer"),
        ("xl/externallinks/", N_("link to another file")),
        ("xl/connections", N_("connection to data")),
        ("xl/querytables/", N_("connection to data")),
        ("xl/querie", N_("connection to data")),
        ("xl/model/", N_("data model")),
        ("xl/customdata/", N_("custom data")),
        ("xl/customproperty", "properties"),
        ("xl/tables/", N_("table name")),
        ("xl/vba", "macro"),
        ("xl/macrosheets/", "macro"),
        ("xl/dialogsheets/", N_("dialog sheet")),
        ("xl/embeddings/", N_("embedded object")),
        ("xl/activex/", "control"),
        ("xl/ctrlprops/", "control"),
        ("xl/printersettings/", N_("printer settings")),
        ("xl/theme/", "theme"),
        ("xl/calcchain", N_("order of formulas")),
        ("xl/metadata", N_("data of cells")),
        ("xl/richdata/", N_("data of cells")),
        ("xl/volatiledependencies", N_("data of cells")),
        ("xl/revisions/", N_("earlier versions")),
        ("xl/usernames", N_("list of people")),
        ("xl/webextensions/", "extension"),
        ("xl/worksheets/", N_("unused sheet")),
        ("docprops/thumbnail", "thumbnail"),
        ("docprops/", "properties"),
        ("docmetadata/", "properties"),
        ("customxml/", N_("custom XML")),
        ("customui/", N_("user interface")),
        ("_xmlsignatures/", "signature"),
    ),
)

_MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
_HEAD = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n'
_TYPE = "application/vnd.openxmlformats-officedocument.spreadsheetml"
_FIRST_OWN_FORMAT = 164
MAX_CELL_CHARS = 32_767
"""The longest text that Excel opens without repair."""


class NewSheet:
    """A sheet while it is written; it is packed at once, so that it takes little memory."""

    def __init__(self, styles: StyleSheet, widths: Mapping[int, float]) -> None:
        self._styles = styles
        self._compressor = zlib.compressobj(1)
        self._packed: list[bytes] = []
        columns = "".join(
            f'<col min="{column + 1}" max="{column + 1}" width="{width:g}" customWidth="1"/>'
            for column, width in sorted(widths.items())
        )
        self._put(
            f'{_HEAD}<worksheet xmlns="{_MAIN}">{f"<cols>{columns}</cols>" if columns else ""}<sheetData>'
        )

    def _put(self, xml: str) -> None:
        if packed := self._compressor.compress(xml.encode("utf-8", "replace")):
            self._packed.append(packed)

    def append(self, rows: Sequence[SheetRow]) -> None:
        """Write rows after those before them, all or none.

        Raises:
            RefusedRecordError: A text is too long for a cell.
        """
        xml = []
        for row in rows:
            height = "" if row.height is None else f' ht="{row.height:g}" customHeight="1"'
            cells = "".join(self._cell(cell, row.number) for cell in row.cells)
            xml.append(f'<row r="{row.number}"{height}>{cells}</row>')
        self._put("".join(xml))

    def _cell(self, cell: SheetCell, row: int) -> str:
        place = f'<c r="{column_letters(cell.column)}{row}" s="{self._styles.number(cell)}"'
        if cell.kind in ("number", "date"):
            return f"{place}><v>{escape_xml(cell.value)}</v></c>"
        if cell.kind == "boolean":
            return f'{place} t="b"><v>{escape_xml(cell.value)}</v></c>'
        text = escape(cell.text)
        if len(text) > MAX_CELL_CHARS:
            raise RefusedRecordError(
                _(
                    "has a text of more than {max_cell_chars:,} characters, as no cell can have",
                    max_cell_chars=MAX_CELL_CHARS,
                )
            )
        return f'{place} t="inlineStr"><is><t xml:space="preserve">{escape_xml(text)}</t></is></c>'

    def finish(self) -> Iterator[bytes]:
        self._put("</sheetData></worksheet>")
        self._packed.append(self._compressor.flush())
        unpacker = zlib.decompressobj()
        for packed in self._packed:
            yield unpacker.decompress(packed)
        yield unpacker.flush()


class StyleSheet:
    """The looks of the cells that are written, numbered in the order in which they appear."""

    def __init__(self) -> None:
        self._numbers: dict[CellStyle, int] = {PLAIN: 0}

    def number(self, cell: SheetCell) -> int:
        """Return the number of the look of a cell; only numbers and dates have a number format."""
        style = cell.style
        code = style.number_format if cell.kind in ("number", "date") else GENERAL
        plain = CellStyle(code, is_bold=style.is_bold, wraps=style.wraps)
        return self._numbers.setdefault(plain, len(self._numbers))

    def xml(self) -> str:
        codes = sorted({style.number_format for style in self._numbers} - {GENERAL})
        ids = {GENERAL: 0} | {code: _FIRST_OWN_FORMAT + i for i, code in enumerate(codes)}
        formats = "".join(f'<numFmt numFmtId="{ids[code]}" formatCode={quoteattr(code)}/>' for code in codes)
        looks = "".join(
            f'<xf numFmtId="{ids[style.number_format]}" fontId="{int(style.is_bold)}" fillId="0" '
            'borderId="0" xfId="0" applyNumberFormat="1" applyFont="1" applyAlignment="1">'
            f'<alignment vertical="top" wrapText="{int(style.wraps)}"/></xf>'
            for style in self._numbers
        )
        font = '<sz val="11"/><name val="Calibri"/><family val="2"/>'
        n_formats = f'<numFmts count="{len(codes)}">{formats}</numFmts>' if codes else ""
        return (
            f'{_HEAD}<styleSheet xmlns="{_MAIN}">{n_formats}'
            f'<fonts count="2"><font>{font}</font><font><b/>{font}</font></fonts>'
            '<fills count="2"><fill><patternFill patternType="none"/></fill>'
            '<fill><patternFill patternType="gray125"/></fill></fills>'
            '<borders count="1"><border><left/><right/><top/><bottom/><diagonal/></border></borders>'
            '<cellStyleXfs count="1"><xf numFmtId="0" fontId="0" fillId="0" borderId="0"/></cellStyleXfs>'
            f'<cellXfs count="{len(self._numbers)}">{looks}</cellXfs>'
            '<cellStyles count="1"><cellStyle name="Normal" xfId="0" builtinId="0"/></cellStyles>'
            "</styleSheet>"
        )


@dataclass(frozen=True, slots=True)
class NewWorkbook:
    """The sheets that were written, their looks, and whether dates count from 1904 as the Mac once did."""

    styles: StyleSheet
    sheets: Sequence[NewSheet]
    is_1904: bool = False

    def pack(self) -> bytes:
        """Return the file; its sheets are named Sheet1, Sheet2 and so on."""
        numbers = range(1, len(self.sheets) + 1)
        sheet_types = "".join(
            f'<Override PartName="/xl/worksheets/sheet{n}.xml" ContentType="{_TYPE}.worksheet+xml"/>'
            for n in numbers
        )
        types = (
            f'{_HEAD}<Types xmlns="{PACKAGE}/content-types"><Default Extension="rels" '
            'ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
            f'<Override PartName="/xl/workbook.xml" ContentType="{_TYPE}.sheet.main+xml"/>'
            f'<Override PartName="/xl/styles.xml" ContentType="{_TYPE}.styles+xml"/>{sheet_types}</Types>'
        )
        listed = "".join(f'<sheet name="Sheet{n}" sheetId="{n}" r:id="rId{n}"/>' for n in numbers)
        dates = '<workbookPr date1904="1"/>' if self.is_1904 else ""
        names = f'xmlns="{_MAIN}" xmlns:r="{KINDS.rstrip("/")}"'
        workbook = f"<workbook {names}>{dates}<sheets>{listed}</sheets></workbook>"
        related = "".join(_relationship(n, "worksheet", f"worksheets/sheet{n}.xml") for n in numbers)
        related += _relationship(len(self.sheets) + 1, "styles", "styles.xml")
        relations = f'{_HEAD}<Relationships xmlns="{PACKAGE}/relationships">'
        main = _relationship(1, "officeDocument", "xl/workbook.xml")
        return pack(
            {
                "[Content_Types].xml": types.encode(),
                "_rels/.rels": f"{relations}{main}</Relationships>".encode(),
                "xl/workbook.xml": f"{_HEAD}{workbook}".encode(),
                "xl/_rels/workbook.xml.rels": f"{relations}{related}</Relationships>".encode(),
                "xl/styles.xml": self.styles.xml().encode(),
                **{
                    f"xl/worksheets/sheet{n}.xml": sheet.finish()
                    for n, sheet in zip(numbers, self.sheets, strict=True)
                },
            }
        )


def _relationship(number: int, kind: str, target: str) -> str:
    return f'<Relationship Id="rId{number}" Type="{KINDS}{kind}" Target="{target}"/>'
