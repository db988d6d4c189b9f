"""Word files written by hand, with everything that Word hides in them."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable, Mapping

W = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
KINDS = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
PACKAGE = "http://schemas.openxmlformats.org/package/2006"
MS = "http://schemas.microsoft.com/office"
NAMESPACES = (
    f'xmlns:w="{W}" xmlns:r="{KINDS}" xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006" '
    'xmlns:wp="http://schemas.openxmlformats.org/drawingml/2006/wordprocessingDrawing" '
    'xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main" '
    f'xmlns:wps="{MS}/word/2010/wordprocessingShape" xmlns:v="urn:schemas-microsoft-com:vml" '
    'xmlns:m="http://schemas.openxmlformats.org/officeDocument/2006/math" '
    f'xmlns:w14="{MS}/word/2010/wordml"'
)

Canary = Callable[[], str]
Parts = Mapping[str, bytes]


def paragraph(*runs: str) -> str:
    return f"<w:p>{''.join(map(run, runs))}</w:p>"


def run(text: str) -> str:
    escaped = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return f'<w:r><w:t xml:space="preserve">{escaped}</w:t></w:r>'


def part(root: str, content: str) -> bytes:
    return f'<?xml version="1.0" encoding="UTF-8"?><w:{root} {NAMESPACES}>{content}</w:{root}>'.encode()


def relations(*found: tuple[str, str, str, str]) -> bytes:
    """Return relations: id, kind, target, mode."""
    listed = "".join(
        f'<Relationship Id="{identifier}" Type="{kind if ":" in kind else f"{KINDS}/{kind}"}" Target="{target}"'
        f"{mode and f' TargetMode={mode!r}'}/>"
        for identifier, kind, target, mode in found
    )
    return f'<Relationships xmlns="{PACKAGE}/relationships">{listed}</Relationships>'.encode()


def simple(body: str) -> dict[str, bytes]:
    """Return the parts of the smallest file with this body."""
    return {
        "[Content_Types].xml": b"<Types/>",
        "_rels/.rels": relations(("rId1", "officeDocument", "word/document.xml", "")),
        "word/document.xml": part("document", f"<w:body>{body}</w:body>"),
    }


def zipped(parts: Parts, comment: bytes = b"") -> bytes:
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.comment = comment
        for name, data in parts.items():
            info = zipfile.ZipInfo(name, (2021, 3, 4, 5, 6, 8))
            info.compress_type = zipfile.ZIP_DEFLATED
            info.comment = comment
            archive.writestr(info, data)
    return target.getvalue()


def unpacked(data: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        assert archive.testzip() is None
        return {name: archive.read(name) for name in archive.namelist()}


def box_content(c: Canary, word: str) -> str:
    return (
        f'<w:txbxContent><w:p w:rsidR="{c()}"><w:r><w:t>{word} {c()}</w:t></w:r>'
        f"<w:r><w:delText>{c()}</w:delText></w:r></w:p></w:txbxContent>"
    )


def text_box(c: Canary) -> str:
    """Return a text box in both of its forms, placed on the page."""
    return f"""<mc:AlternateContent><mc:Choice Requires="wps"><w:drawing>
<wp:anchor distT="0" simplePos="0" wp14x="{c()}"><wp:simplePos x="0" y="0"/>
<wp:positionH relativeFrom="column"><wp:posOffset>914400</wp:posOffset></wp:positionH>
<wp:positionV relativeFrom="paragraph"><wp:posOffset>-5000</wp:posOffset></wp:positionV>
<wp:extent cx="1828800" cy="914400"/><wp:docPr id="7" name="{c()}" descr="{c()}" title="{c()}"/>
<a:graphic><a:graphicData uri="{c()}"><wps:wsp><wps:cNvPr id="1" name="{c()}"/><wps:cNvSpPr txBox="1"/>
<wps:spPr><a:xfrm><a:off x="0" y="0"/><a:ext cx="1828800" cy="914400"/></a:xfrm></wps:spPr>
<wps:txbx>{box_content(c, "boxed")}</wps:txbx><wps:bodyPr/></wps:wsp></a:graphicData></a:graphic></wp:anchor>
</w:drawing></mc:Choice><mc:Fallback><w:pict><v:shape id="{c()}" alt="{c()}" style="width:{c()}">
<v:textbox>{box_content(c, "boxed")}</v:textbox></v:shape></w:pict></mc:Fallback></mc:AlternateContent>"""


def picture(c: Canary) -> str:
    return (
        f'<w:r><w:drawing><wp:inline><wp:extent cx="1" cy="1"/><wp:docPr id="1" name="{c()}" descr="{c()}"/>'
        f'<a:graphic><a:graphicData uri="x"><a:blip r:embed="rIdI"/><a:t>{c()}</a:t></a:graphicData></a:graphic>'
        f'</wp:inline></w:drawing></w:r><w:r><w:pict><v:shape><v:textpath string="{c()}"/></v:shape></w:pict>'
        f'</w:r><w:r><w:object><v:shape alt="{c()}"/></w:object></w:r>'
    )


def tracked(c: Canary) -> str:
    who = f'w:id="1" w:author="{c()}" w:date="2021-03-04T05:06:07Z" w:initials="{c()}"'
    return (
        f'<w:p w:rsidR="{c()}" w14:paraId="{c()}"><w:pPr><w:jc w:val="center"/><w:rPr><w:ins {who}/></w:rPr>'
        f'<w:pPrChange {who}><w:pPr><w:pStyle w:val="{c()}"/></w:pPr></w:pPrChange></w:pPr>'
        f"<w:ins {who}>{run(f'inserted {c()}')}</w:ins><w:moveTo {who}>{run(f' moved {c()}')}</w:moveTo>"
        f"<w:del {who}><w:r><w:delText>gone {c()}</w:delText><w:t>gone {c()}</w:t></w:r></w:del>"
        f"<w:moveFrom {who}>{run(f'gone {c()}')}</w:moveFrom></w:p>"
        f"<w:p><w:pPr><w:rPr><w:del {who}/></w:rPr></w:pPr>{run('jo')}</w:p><w:p>{run('ined')}</w:p>"
    )


def fields(c: Canary) -> str:
    return (
        f'<w:p><w:bookmarkStart w:id="1" w:name="{c()}"/><w:r><w:fldChar w:fldCharType="begin" w:dirty="{c()}">'
        f"<w:ffData><w:name w:val='{c()}'/><w:statusText w:val='{c()}'/></w:ffData></w:fldChar></w:r>"
        f'<w:r><w:instrText>MERGEFIELD {c()}</w:instrText></w:r><w:r><w:fldChar w:fldCharType="separate"/></w:r>'
        f"{run(f'shown {c()}')}<w:r><w:fldChar w:fldCharType='end'/></w:r><w:bookmarkEnd w:id='1'/>"
        f'<w:fldSimple w:instr="AUTHOR {c()}">{run(f" author {c()}")}</w:fldSimple>'
        f'<w:hyperlink r:id="rIdL" w:anchor="{c()}" w:tooltip="{c()}">{run(f" linked {c()}")}</w:hyperlink>'
        f'<w:smartTag w:uri="{c()}" w:element="{c()}">{run(f" tagged {c()}")}</w:smartTag></w:p>'
        f'<w:sdt><w:sdtPr><w:alias w:val="{c()}"/><w:tag w:val="{c()}"/><w:dataBinding w:xpath="{c()}"/></w:sdtPr>'
        f"<w:sdtContent>{paragraph(f'controlled {c()}')}</w:sdtContent></w:sdt>"
        f'<w:customXml w:uri="{c()}" w:element="{c()}">{paragraph(f"custom {c()}")}</w:customXml>'
        f'<w:p><m:oMath><m:r><m:t>formula {c()}</m:t></m:r></m:oMath><w:r><w:sym w:font="{c()}" w:char="F0FC"/>'
        f"<w:ruby><w:rt><w:r><w:t>{c()}</w:t></w:r></w:rt><w:rubyBase><w:r><w:t> ruby {c()}</w:t></w:r></w:rubyBase>"
        f"</w:ruby></w:r></w:p><w:altChunk r:id='{c()}'/><w:zzz w:val='{c()}'>{c()}<w:p>{run(c())}</w:p></w:zzz>"
    )


def table(c: Canary) -> str:
    return (
        f'<w:tbl><w:tblPr><w:tblStyle w:val="{c()}"/><w:tblW w:w="5000" w:type="pct"/><w:tblLook w:val="04A0"/><w:tblCaption w:val="{c()}"/>'
        f'<w:tblDescription w:val="{c()}"/></w:tblPr><w:tblGrid><w:gridCol w:w="2500"/><w:gridCol w:w="2500"/>'
        f'</w:tblGrid><w:tr w:rsidR="{c()}"><w:tc><w:tcPr><w:tcW w:w="2500" w:type="pct"/></w:tcPr>'
        f"{paragraph(f'left {c()}')}</w:tc><w:tc>{paragraph('ri', 'ght ', 'Zebu', 'lonova')}</w:tc></w:tr>"
        f'<w:tr><w:trPr><w:del w:id="3" w:author="{c()}"/></w:trPr><w:tc>{paragraph(f"gone {c()}")}</w:tc></w:tr>'
        "</w:tbl>"
    )


def references(c: Canary) -> str:
    return (
        '<w:p><w:pPr><w:pStyle w:val="Secret"/><w:numPr><w:ilvl w:val="0"/><w:numId w:val="1"/></w:numPr></w:pPr>'
        f'<w:commentRangeStart w:id="31"/><w:r><w:rPr><w:rFonts w:ascii="{c()}" w:cs="Arial"/><w:color w:val="{c()}"/><w:b/>'
        f'<w:lang w:val="{c()}"/></w:rPr><w:t>noted</w:t></w:r><w:commentRangeEnd w:id="31"/><w:r>'
        '<w:commentReference w:id="31"/></w:r><w:r><w:footnoteReference w:id="41"/></w:r>'
        '<w:r><w:endnoteReference w:id="51"/></w:r></w:p>'
    )


_WORDS = (
    "plain inserted moved joined shown author linked tagged controlled custom formula ruby left right boxed noted "
    "heading foot footnote endnote comment"
)
SAFE = _WORDS.split()
"""Words of `hostile` that must stay."""


def note(kind: str, identifier: int, text: str, c: Canary) -> str:
    return (
        f'<w:{kind} w:id="{identifier}" w:author="{c()}" w:initials="{c()}" w:date="{c()}">'
        f"<w:p><w:r><w:{kind.replace('comment', 'annotation')}Ref/></w:r>{run(f'{text} {c()}')}</w:p></w:{kind}>"
    )


def hostile(c: Canary) -> dict[str, bytes]:
    """Return the parts of a file with a value of `c` wherever a name could be."""
    header, image, chart, comments = c(), c(), c(), c()
    body = (
        f"<!-- {c()} --><?word {c()}?><w:background w:color='{c()}'/><w:body>{paragraph(f'plain {c()} ', 'Zeb', 'ulonova')}"
        f"{tracked(c)}{fields(c)}{table(c)}{references(c)}<w:p><w:r>{text_box(c)}</w:r>{picture(c)}</w:p>"
        '<w:sectPr><w:headerReference w:type="default" r:id="rIdH"/><w:footerReference w:type="first" r:id="rIdF"/>'
        f'<w:pgSz w:w="11906" w:h="16838"/><w:printerSettings r:id="rIdP"/><w:titlePg/></w:sectPr>{c()}</w:body>'
    )
    style = (
        f'<w:latentStyles><w:lsdException w:name="{c()}"/></w:latentStyles><w:style w:type="paragraph" w:default="1" '
        f'w:styleId="Normal"><w:name w:val="Normal"/></w:style><w:style w:type="paragraph" w:styleId="Secret">'
        f'<w:name w:val="{c()}"/><w:aliases w:val="{c()}"/><w:basedOn w:val="Normal"/><w:rsid w:val="{c()}"/>'
        f'<w:rPr><w:b/></w:rPr></w:style><w:style w:type="{c()}" w:styleId="{c()}"><w:name w:val="{c()}"/></w:style>'
    )
    numbering = (
        f'<w:numPicBullet w:numPicBulletId="0"><w:pict><v:shape alt="{c()}"/></w:pict></w:numPicBullet>'
        f'<w:abstractNum w:abstractNumId="0"><w:nsid w:val="{c()}"/><w:name w:val="{c()}"/><w:lvl w:ilvl="0">'
        f'<w:start w:val="1"/><w:numFmt w:val="decimal"/><w:lvlText w:val="{c()} %1"/></w:lvl></w:abstractNum>'
        '<w:num w:numId="1"><w:abstractNumId w:val="0"/></w:num>'
    )
    settings = (
        f'<w:attachedTemplate r:id="{c()}"/><w:docVars><w:docVar w:name="{c()}" w:val="{c()}"/></w:docVars>'
        f'<w:rsids><w:rsid w:val="{c()}"/></w:rsids><w:mailMerge><w:query w:val="{c()}"/></w:mailMerge>'
        f"<w:evenAndOddHeaders/>"
    )
    related = [
        ("rIdS", "styles", "styles.xml", ""),
        ("rIdN", "numbering", "numbering.xml", ""),
        ("rIdT", "settings", "settings.xml", ""),
        ("rIdH", "header", f"{header}.xml", ""),
        ("rIdF", "footer", "/word/footer1.xml", ""),
        ("rId1", "footnotes", "footnotes.xml", ""),
        ("rId2", "endnotes", "endnotes.xml", ""),
        ("rIdC", "comments", f"{comments}.xml", ""),
        ("rIdI", "image", f"media/{image}.png", ""),
        ("rIdP", "printerSettings", "printerSettings1.bin", ""),
        ("rIdL", "hyperlink", f"https://example.org/{c()}", "External"),
        (c(), f"urn:{c()}", f"{c()}.xml", ""),
    ]
    hidden = (
        "docProps/core.xml docProps/app.xml docProps/custom.xml docProps/thumbnail.jpeg customXml/item1.xml "
        "word/vbaProject.bin word/people.xml word/commentsExtended.xml word/commentsIds.xml word/fontTable.xml "
        "word/theme/theme1.xml word/glossary/document.xml word/embeddings/oleObject1.bin word/fonts/font1.odttf "
        "word/diagrams/data1.xml word/webSettings.xml word/printerSettings1.bin _xmlsignatures/sig1.xml "
        "word/afchunk.htm word/activeX/activeX1.xml word/recipientData.xml word/header9.xml"
    )
    return {
        "[Content_Types].xml": f'<Types xmlns="{PACKAGE}/content-types"><Override PartName="{c()}"/></Types>'.encode(),
        "_rels/.rels": relations(
            ("rId1", "officeDocument", "word/document.xml", ""), ("rId2", "extended-properties", c(), "")
        ),
        "word/_rels/document.xml.rels": relations(*related),
        "word/document.xml": part("document", body),
        "word/styles.xml": part("styles", style),
        "word/numbering.xml": part("numbering", numbering),
        "word/settings.xml": part("settings", settings),
        f"word/{header}.xml": part(
            "hdr", paragraph(f"heading {c()}") + f"<w:p><w:r>{text_box(c)}</w:r></w:p>"
        ),
        f"word/_rels/{header}.xml.rels": relations((c(), "image", f"{c()}.png", "")),
        "word/footer1.xml": part("ftr", paragraph(f"foot {c()}")),
        "word/footnotes.xml": part("footnotes", note("footnote", 41, "footnote", c)),
        "word/endnotes.xml": part("endnotes", note("endnote", 51, "endnote", c)),
        f"word/{comments}.xml": part("comments", note("comment", 31, "comment", c)),
        f"word/media/{image}.png": c().encode(),
        f"word/charts/{chart}.xml": c().encode(),
        f"{c()}/{c()}.bin": c().encode(),
        **{name: c().encode() for name in hidden.split()},
    }
