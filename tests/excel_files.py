"""Excel files written by hand, with everything that Excel hides in them."""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence

import openpyxl
from word_files import KINDS, PACKAGE, relations

MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
MS = "http://schemas.microsoft.com/office"
NAMESPACES = (
    f'xmlns="{MAIN}" xmlns:r="{KINDS}" xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006" '
    f'xmlns:x14="{MS}/spreadsheetml/2009/9/main" xmlns:xm="{MS}/excel/2006/main"'
)

Canary = Callable[[], str]

SAFE = ["plain", "shared", "rich", "inline", "computed", "far", "hidden", "aside"]
"""Words of the text column of `hostile` that must stay."""


def part(root: str, content: str) -> bytes:
    return f'<?xml version="1.0" encoding="UTF-8"?><{root} {NAMESPACES}>{content}</{root}>'.encode()


def inline(place: str, text: str, attributes: str = "") -> str:
    escaped = text.replace("&", "&amp;").replace("<", "&lt;")
    return f'<c r="{place}" t="inlineStr" {attributes}><is><t xml:space="preserve">{escaped}</t></is></c>'


def sheet(*rows: str, before: str = "", after: str = "") -> bytes:
    numbered = "".join(f'<row r="{n}">{row}</row>' for n, row in enumerate(rows, start=1))
    return part("worksheet", f"{before}<sheetData>{numbered}</sheetData>{after}")


def book(*sheets: bytes, **more: bytes) -> dict[str, bytes]:
    """Return the parts of a small workbook."""
    names = [f"worksheets/sheet{n}.xml" for n in range(1, len(sheets) + 1)]
    listed = "".join(f'<sheet name="S{n}" sheetId="{n}" r:id="rId{n}"/>' for n in range(1, len(sheets) + 1))
    return {
        "[Content_Types].xml": b"<Types/>",
        "_rels/.rels": relations(("rId1", "officeDocument", "xl/workbook.xml", "")),
        "xl/workbook.xml": part("workbook", f"<sheets>{listed}</sheets>"),
        "xl/_rels/workbook.xml.rels": relations(
            *((f"rId{n}", "worksheet", name, "") for n, name in enumerate(names, start=1)),
            ("rIdT", "sharedStrings", "sharedStrings.xml", ""),
            ("rIdS", "styles", "styles.xml", ""),
        ),
        **{f"xl/{name}": data for name, data in zip(names, sheets, strict=True)},
        **{f"xl/{name}.xml": data for name, data in more.items()},
    }


def shared_strings(c: Canary) -> bytes:
    """Return shared texts: header, plain, rich, with a reading, and one that no cell uses."""
    texts = [
        "<t>id</t>",
        "<t>text</t>",
        "<t>age</t>",
        f"<t>{c()}</t>",
        f"<t>shared {c()}</t>",
        f'<r><rPr><rFont val="{c()}"/><b/></rPr><t xml:space="preserve">rich Zebu</t></r><r><t>lonova {c()}</t></r>'
        f'<rPh sb="0" eb="1"><t>{c()}</t></rPh><phoneticPr fontId="1" type="{c()}"/>',
        f"<t>{c()}</t>",
    ]
    return part(
        "sst", f'{"".join(f"<si>{text}</si>" for text in texts)}<extLst><ext uri="{c()}">{c()}</ext></extLst>'
    )


def styles(c: Canary) -> bytes:
    return part(
        "styleSheet",
        f'<numFmts count="2"><numFmt numFmtId="170" formatCode="&quot;{c()}&quot; 0"/>'
        f'<numFmt numFmtId="171" formatCode="yyyy\\-mm\\-dd &quot;{c()}&quot;"/></numFmts>'
        f'<fonts count="2"><font><name val="{c()}"/></font><font><b/><color rgb="{c()}"/><name val="{c()}"/></font></fonts>'
        f'<fills count="1"><fill><patternFill patternType="{c()}"/></fill></fills><borders count="1"><border/></borders>'
        f'<cellXfs count="4"><xf numFmtId="0" fontId="0"/><xf numFmtId="170" fontId="1" extra="{c()}"/>'
        f'<xf numFmtId="171" fontId="0"><alignment wrapText="1" horizontal="{c()}"/></xf><xf numFmtId="14"/></cellXfs>'
        f'<cellStyles><cellStyle name="{c()}" xfId="0"/></cellStyles><dxfs><dxf><numFmt numFmtId="172" formatCode="{c()}"/></dxf></dxfs>'
        f'<tableStyles defaultTableStyle="{c()}"><tableStyle name="{c()}"/></tableStyles>',
    )


def main_sheet(c: Canary) -> bytes:
    rows = [
        f"{inline('A1', f'Line list {c()}')}",
        '<c r="A2" t="s"><v>0</v></c><c r="B2" t="s" s="1"><v>1</v></c><c r="C2" t="s"><v>2</v></c><c r="D2" t="s"><v>3</v></c>',
        f'<c r="A3"><v>7</v></c>{inline("B3", f"plain {c()} Zebulonova")}<c r="C3" s="1"><v>43</v></c>{inline("D3", c())}',
        f'<c r="A4"><v>8</v></c><c r="B4" t="s" ph="{c()}" cm="{c()}"><v>4</v></c><c r="C4" s="2"><v>43750</v></c><c r="D4" t="s"><v>3</v></c>',
        f'<c r="A5"><v>9</v></c><c r="B5" t="s"><v>5</v></c><c r="C5" t="b"><v>1</v></c><c r="D5"><v>1</v><f>"{c()}"</f></c>',
        f'<c r="A6"><v>10</v></c><c r="B6" t="str"><f ca="{c()}">CONCAT("{c()}")</f><v>computed {c()}</v></c><c r="D6" t="e"><v>{c()}</v></c>',
        f'<c r="A7"><v>11</v></c><c r="B7" t="inlineStr"><is><r><rPr><rFont val="{c()}"/></rPr><t>inline {c()}</t></r><rPh sb="0"><t>{c()}</t></rPh></is>'
        f"<extLst><ext>{c()}</ext></extLst></c><!-- {c()} --><?x {c()}?>",
    ]
    numbered = "".join(
        f'<row r="{n}" spans="{c()}" ht="{30 if n == 3 else c()}" customHeight="1">{row}</row>'
        for n, row in enumerate(rows, start=1)
    )
    hidden = f'<row r="9" hidden="1"><c r="A9"><v>12</v></c>{inline("B9", f"hidden {c()}")}</row>'
    far = f'<row r="40">{inline("B40", f"far {c()}")}{inline("XFD40", c())}</row>'
    before = (
        f'<sheetPr codeName="{c()}"><tabColor rgb="{c()}"/></sheetPr><dimension ref="{c()}"/>'
        f'<sheetViews><sheetView workbookViewId="0"><selection activeCell="{c()}"/></sheetView></sheetViews>'
        f'<cols><col min="2" max="2" width="40.5" style="{c()}"/><col min="4" max="4" width="9" hidden="1"/><col min="{c()}" max="3" width="{c()}"/></cols>'
    )
    after = (
        f'<sheetProtection algorithmName="{c()}" password="{c()}"/><protectedRanges><protectedRange name="{c()}" sqref="A1"/></protectedRanges>'
        f'<scenarios><scenario name="{c()}" user="{c()}" comment="{c()}"><inputCells r="A1" val="{c()}"/></scenario></scenarios>'
        f'<autoFilter ref="A2:D9"><filterColumn colId="1"><filters><filter val="{c()}"/></filters></filterColumn></autoFilter>'
        f'<customSheetViews><customSheetView guid="{c()}"><headerFooter><oddHeader>{c()}</oddHeader></headerFooter></customSheetView></customSheetViews>'
        f'<mergeCells><mergeCell ref="{c()}"/></mergeCells><phoneticPr fontId="{c()}"/>'
        f'<conditionalFormatting sqref="B1"><cfRule type="containsText" text="{c()}"><formula>"{c()}"</formula></cfRule></conditionalFormatting>'
        f'<dataValidations><dataValidation type="list" promptTitle="{c()}" prompt="{c()}" error="{c()}" sqref="B1"><formula1>"{c()},{c()}"</formula1>'
        f'</dataValidation></dataValidations><hyperlinks><hyperlink ref="B3" r:id="rIdL" location="{c()}" tooltip="{c()}" display="{c()}"/></hyperlinks>'
        f'<headerFooter differentFirst="1"><oddHeader>&amp;L{c()}</oddHeader><oddFooter>{c()}</oddFooter><firstHeader>{c()}</firstHeader></headerFooter>'
        f'<cellWatches><cellWatch r="{c()}"/></cellWatches><ignoredErrors><ignoredError sqref="{c()}"/></ignoredErrors><drawing r:id="rIdD"/><legacyDrawing r:id="rIdV"/>'
        f'<oleObjects><oleObject progId="{c()}" shapeId="1" r:id="rIdO"/></oleObjects><controls><control shapeId="1" r:id="rIdO" name="{c()}"/></controls>'
        f'<tableParts><tablePart r:id="rIdB"/></tableParts><extLst><ext uri="{c()}"><x14:dataValidations><x14:dataValidation><x14:formula1><xm:f>{c()}</xm:f></x14:formula1>'
        f"</x14:dataValidation></x14:dataValidations></ext></extLst>"
    )
    return part("worksheet", f"{before}<sheetData>{numbered}{hidden}{far}</sheetData>{after}")


def hostile(c: Canary) -> dict[str, bytes]:
    """Return the parts of a workbook with a value of `c` wherever a name could be."""
    image, persons, cache, note = c(), c(), c(), c()
    second = sheet(inline("A1", "text") + inline("B1", c()), inline("A2", f"aside {c()}") + inline("B2", c()))
    third = sheet(inline("A1", c()), inline("A2", c()) + "<c><v>4711</v></c>")
    workbook = (
        f'<fileVersion appName="{c()}" codeName="{c()}"/><fileSharing userName="{c()}" reservationPassword="{c()}"/><workbookPr codeName="{c()}"/>'
        f'<workbookProtection workbookPassword="{c()}"/><bookViews><workbookView/></bookViews><sheets><sheet name="{c()}" sheetId="1" r:id="rId1"/>'
        f'<sheet name="{c()}" sheetId="2" state="veryHidden" r:id="rId2"/><sheet name="{c()}" sheetId="3" state="hidden" r:id="rId3"/>'
        f'<sheet name="{c()}" sheetId="4" r:id="rIdC"/></sheets><externalReferences><externalReference r:id="rIdE"/></externalReferences>'
        f'<definedNames><definedName name="{c()}" comment="{c()}" description="{c()}">"{c()}"</definedName></definedNames><customWorkbookViews>'
        f'<customWorkbookView name="{c()}"/></customWorkbookViews><pivotCaches><pivotCache cacheId="1" r:id="rIdP"/></pivotCaches>'
        f'<smartTagTypes><smartTagType namespaceUri="{c()}" name="{c()}"/></smartTagTypes><webPublishing characterSet="{c()}"/><extLst><ext uri="{c()}">{c()}</ext></extLst>'
    )
    related = [
        ("rId1", "worksheet", "worksheets/sheet1.xml", ""),
        ("rId2", "worksheet", f"worksheets/{note}.xml", ""),
        ("rId3", "worksheet", "/xl/worksheets/sheet3.xml", ""),
        ("rIdC", "chartsheet", "chartsheets/sheet1.xml", ""),
        ("rIdT", "sharedStrings", "sharedStrings.xml", ""),
        ("rIdS", "styles", "styles.xml", ""),
        ("rIdE", "externalLink", "externalLinks/externalLink1.xml", ""),
        ("rIdP", "pivotCacheDefinition", f"pivotCache/{cache}.xml", ""),
        ("rIdN", f"{MS}/2017/10/relationships/person", f"persons/{persons}.xml", ""),
        (c(), f"urn:{c()}", f"{c()}.xml", ""),
        ("rIdX", "hyperlink", f"https://example.org/{c()}", "External"),
    ]
    hidden = (
        "docProps/core.xml docProps/app.xml docProps/custom.xml docProps/thumbnail.jpeg customXml/item1.xml customXml/itemProps1.xml "
        "xl/vbaProject.bin xl/comments1.xml xl/comments/comment2.xml xl/threadedComments/threadedComment1.xml xl/drawings/drawing1.xml "
        "xl/drawings/vmlDrawing1.vml xl/charts/chart1.xml xl/charts/colors1.xml xl/chartsheets/sheet1.xml xl/embeddings/oleObject1.bin xl/embeddings/book.xlsx "
        "xl/pivotTables/pivotTable1.xml xl/pivotCache/pivotCacheRecords1.xml xl/slicers/slicer1.xml xl/slicerCaches/slicerCache1.xml "
        "xl/timelines/timeline1.xml xl/externalLinks/externalLink1.xml xl/externalLinks/_rels/externalLink1.xml.rels xl/connections.xml xl/queryTables/queryTable1.xml "
        "xl/model/item.data xl/customData/itemProps1.xml xl/customProperty1.bin xl/tables/table1.xml xl/tables/tableSingleCells1.xml xl/activeX/activeX1.xml "
        "xl/ctrlProps/ctrlProp1.xml xl/printerSettings/printerSettings1.bin xl/theme/theme1.xml xl/calcChain.xml xl/metadata.xml xl/richData/rdrichvalue.xml "
        "xl/revisions/revisionLog1.xml xl/revisions/userNames.xml xl/userNames.xml xl/webextensions/webextension1.xml xl/worksheets/sheet9.xml "
        "xl/macrosheets/sheet1.xml xl/dialogsheets/sheet1.xml xl/xmlMaps.xml xl/volatileDependencies.xml _xmlsignatures/sig1.xml customUI/customUI.xml docMetadata/LabelInfo.xml"
    )
    return {
        "[Content_Types].xml": f'<Types xmlns="{PACKAGE}/content-types"><Override PartName="{c()}"/></Types>'.encode(),
        "_rels/.rels": relations(
            ("rId1", "officeDocument", "xl/workbook.xml", ""), ("rId2", "extended-properties", c(), "")
        ),
        "xl/workbook.xml": part("workbook", workbook),
        "xl/_rels/workbook.xml.rels": relations(*related),
        "xl/worksheets/sheet1.xml": main_sheet(c),
        "xl/worksheets/_rels/sheet1.xml.rels": relations(
            ("rIdL", "hyperlink", f"mailto:{c()}", "External"), (c(), "image", f"../media/{image}.png", "")
        ),
        f"xl/worksheets/{note}.xml": second,
        "xl/worksheets/sheet3.xml": third,
        "xl/sharedStrings.xml": shared_strings(c),
        "xl/styles.xml": styles(c),
        f"xl/media/{image}.png": c().encode(),
        f"xl/persons/{persons}.xml": part("personList", f'<person displayName="{c()}" userId="{c()}"/>'),
        f"xl/pivotCache/{cache}.xml": part(
            "pivotCacheDefinition", f'<sharedItems><s v="{c()}"/></sharedItems>'
        ),
        f"{c()}/{c()}.bin": c().encode(),
        **{name: c().encode() for name in hidden.split()},
    }


def workbook_of(*rows: Sequence[object], **more: Sequence[Sequence[object]]) -> bytes:
    """Return an Excel file with a sheet of these rows; each keyword is the rows of another sheet."""
    workbook = openpyxl.Workbook()
    for row in rows:
        workbook.active.append(row)
    for name, others in more.items():
        sheet = workbook.create_sheet(name)
        for row in others:
            sheet.append(row)
    target = io.BytesIO()
    workbook.save(target)
    return target.getvalue()
