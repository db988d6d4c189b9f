"""PDF files written by hand, with everything that a PDF can hide."""

from __future__ import annotations

import re
import zlib
from base64 import a85decode
from collections.abc import Callable, Iterable, Mapping

import pypdfium2

Canary = Callable[[], str]
Line = tuple[float, float, str]
"""x, y and words."""


def built(objects: Mapping[int, str | bytes], trailer: str = "/Root 1 0 R", comment: str = "") -> bytes:
    """Return a file of numbered objects."""
    data = b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n" + f"% {comment}\n".encode()
    offsets = {}
    for number, content in objects.items():
        offsets[number] = len(data)
        body = content.encode("cp1252") if isinstance(content, str) else content
        data += f"{number} 0 obj\n".encode() + body + b"\nendobj\n"
    start = len(data)
    size = max(objects) + 1
    entries = "".join(
        f"{offsets[n]:010} 00000 n \n" if n in offsets else "0000000000 65535 f \n" for n in range(size)
    )
    return (
        data
        + f"xref\n0 {size}\n{entries}trailer\n<</Size {size} {trailer}>>\nstartxref\n{start}\n%%EOF\n".encode()
    )


def stream(content: str | bytes, entries: str = "") -> bytes:
    body = content.encode("cp1252") if isinstance(content, str) else content
    return f"<<{entries}/Length {len(body)}>>\nstream\n".encode() + body + b"\nendstream"


def escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace("(", "\\(").replace(")", "\\)")


def shown(lines: Iterable[Line], size: float = 10, mode: int = 0) -> str:
    """Return the operators that show lines of text."""
    return "".join(
        f"BT /F1 {size} Tf {mode} Tr 1 0 0 1 {x} {y} Tm ({escaped(text)}) Tj ET\n" for x, y, text in lines
    )


def below(text: str, x: float = 50, top: float = 780, leading: float = 12) -> list[Line]:
    """Return the lines of a text one below the other."""
    return [(x, top - leading * i, line) for i, line in enumerate(text.split("\n")) if line]


FONT = "<</Type/Font/Subtype/Type1/BaseFont/Helvetica/Encoding/WinAnsiEncoding>>"
PICTURE = stream(
    b"\x80" * 12, "/Type/XObject/Subtype/Image/Width 4/Height 3/BitsPerComponent 8/ColorSpace/DeviceGray"
)


def of_pages(
    *contents: str | bytes, page: str = "", catalog: str = "", others: Mapping[int, str | bytes] | None = None
) -> bytes:
    """Return a file with a page for each content stream; objects 3 and 4 are the font and a picture."""
    pages = {10 + 2 * i: content for i, content in enumerate(contents)}
    objects: dict[int, str | bytes] = {
        1: f"<</Type/Catalog/Pages 2 0 R{catalog}>>",
        2: f"<</Type/Pages/Count {len(pages)}/Kids[{' '.join(f'{n} 0 R' for n in pages)}]>>",
        3: FONT,
        4: PICTURE,
    }
    for number, content in pages.items():
        objects[number] = (
            "<</Type/Page/Parent 2 0 R/MediaBox[0 0 595 842]/Resources<</Font<</F1 3 0 R>>"
            f"/XObject<</Im 4 0 R>>>>/Contents {number + 1} 0 R{page}>>"
        )
        objects[number + 1] = stream(content)
    return built({**objects, **(others or {})})


def of_text(*pages: str) -> bytes:
    """Return a file that shows texts, a page for each."""
    return of_pages(*(shown(below(page)) for page in pages))


SCANNED = "q 595 0 0 842 0 0 cm /Im Do Q\n"
"""A picture over the whole page."""


def field(kind: str, name: str, value: str, place: str, more: str = "") -> str:
    """Return a form field that is its own widget."""
    return (
        f"<</Type/Annot/Subtype/Widget/FT/{kind}/T({name}){f'/V{value}' if value else ''}"
        f"/Rect[{place}]{more}/F 4>>"
    )


def of_form(*fields: str, content: str = "", catalog: str = "") -> bytes:
    """Return a page with form fields."""
    numbers = [f"{100 + i} 0 R" for i in range(len(fields))]
    listed = " ".join(numbers)
    return of_pages(
        content,
        page=f"/Annots[{listed}]",
        catalog=f"/AcroForm<</Fields[{listed}]/DA(/F1 10 Tf)/DR<</Font<</F1 3 0 R>>>>>>{catalog}",
        others={100 + i: one for i, one in enumerate(fields)},
    )


def of_nested_forms(n_levels: int = 8, n_each: int = 10) -> bytes:
    """Return a small file whose page shows a form that shows forms that show forms."""
    forms: dict[int, str | bytes] = {4: PICTURE}
    for level in range(n_levels):
        content = "/Im Do " * n_each if level < n_levels - 1 else shown(below("seen"))
        inner = f"/Resources<</XObject<</Im {101 + level} 0 R>>/Font<</F1 3 0 R>>>>"
        forms[100 + level] = stream(content, f"/Type/XObject/Subtype/Form/BBox[0 0 600 800]{inner}")
    page = "/Resources<</XObject<</Im 100 0 R>>>>"  # the last one of a key counts
    return of_pages("/Im Do", page=page, others=forms)


def hostile(t: Canary, h: Canary) -> bytes:
    """Return a file with a value of `t` wherever there is text, and one of `h` in all other places."""
    content = (
        shown(below(f"plain {t()} was seen\nand {t()} again"))
        + shown([(50, 700, f"invisible {t()}")], mode=3)
        + "1 1 1 rg "
        + shown([(50, 680, f"white {t()}")])
        + shown([(50, 660, f"tiny {t()}")], size=0.5)
        + shown([(5000, 640, f"outside {t()}")])
        + f"q 0 1 -1 0 30 100 cm {shown([(0, 0, f'upwards {t()}')])} Q "
        + f"/OC /MC0 BDC {shown([(50, 600, f'layered {t()}')])} EMC "
        + f"/Span <</ActualText(spoken {t()})/Alt({h()})/E({h()})>> BDC {shown([(50, 580, 'spanned')])} EMC "
        + f"/{h()} MP % {h()}\n"
        + "q 20 0 0 20 500 20 cm /Im Do Q\n"
    )
    form = [
        field(
            "Tx", h(), f"(typed {t()})", "50 500 200 520", f"/TU(label {t()})/DV({h()})/TM({h()})/RV({h()})"
        ),
        field("Tx", f"named{t()}", f"(unlabelled {t()})", "50 470 200 490"),
        field("Tx", h(), "", "50 440 200 460", f"/TU({h()})/DV({h()})"),
        field(
            "Ch", h(), "(1)", "50 410 200 430", f"/TU(choice)/Ff 131072/Opt[[(1)(chosen {t()})][(2)({h()})]]"
        ),
        field(
            "Btn",
            h(),
            f"/{t()}",
            "50 380 70 400",
            f"/TU(box)/AS/{'PLACE'}/AP<</N<</{'PLACE'} 30 0 R/Off 30 0 R>>>>",
        ),
        field(
            "Btn",
            h(),
            "",
            "50 350 70 370",
            f"/Ff 65536/TU({h()})/MK<</CA({h()})>>/A<</S/JavaScript/JS({h()})>>",
        ),
        field("Sig", h(), f"<</Type/Sig/Name({h()})/Reason({h()})/Contents<00>>>", "50 320 70 340"),
    ]
    # The value of a check box is the name of its appearance.
    value = form[4].split("/V/", 1)[1].split("/Rect", 1)[0]
    form[4] = form[4].replace("PLACE", value)
    notes = [
        f"<</Type/Annot/Subtype/Text/Contents(noted {t()})/T({h()})/Subj({h()})/NM({h()})/RC({h()})/Rect[1 1 9 9]>>",
        f"<</Type/Annot/Subtype/FreeText/Contents(free {t()})/T({h()})/DA(/F1 9 Tf)/Rect[1 20 90 40]>>",
        f"<</Type/Annot/Subtype/Link/Contents({h()})/A<</S/URI/URI(https://example.org/{h()})>>/Rect[1 50 9 60]>>",
        f"<</Type/Annot/Subtype/Popup/Contents({h()})/Rect[1 50 9 60]>>",
        f"<</Type/Annot/Subtype/FileAttachment/Contents({h()})/FS 20 0 R/Rect[1 60 9 70]>>",
    ]
    fields = " ".join(f"{100 + i} 0 R" for i in range(len(form)))
    listed = " ".join(f"{100 + i} 0 R" for i in range(len(form) + len(notes)))
    others: dict[int, str | bytes] = {
        20: f"<</Type/Filespec/F({h()})/UF({h()})/Desc({h()})/EF<</F 21 0 R>>>>",
        21: stream(h(), "/Type/EmbeddedFile"),
        22: stream(f"<x:xmpmeta>{h()}</x:xmpmeta>", "/Type/Metadata/Subtype/XML"),
        23: "<</Type/Outlines/First 24 0 R/Last 24 0 R/Count 1>>",
        24: f"<</Title({h()})/Parent 23 0 R/A<</S/URI/URI({h()})>>>>",
        25: f"<</Type/OCG/Name({h()})>>",
        26: f"<</Type/StructTreeRoot/K<</S/Figure/Alt({h()})/T({h()})/ID({h()})>>>>",
        27: f"<</Unused({h()})>>",
        28: stream(h(), "/Width 1/Height 1/BitsPerComponent 8/ColorSpace/DeviceGray"),
        30: stream("", "/Type/XObject/Subtype/Form/BBox[0 0 9 9]"),
        31: f"<</Title({h()})/Author({h()})/Subject({h()})/Keywords({h()})/Creator({h()})/Producer({h()})"
        f"/Own({h()})>>",
        **{100 + i: one for i, one in enumerate([*form, *notes])},
    }
    names = (
        f"/Names<</EmbeddedFiles<</Names[({h()})20 0 R]>>/JavaScript<</Names[({h()})<</S/JavaScript/JS({h()})>>]>>"
        f"/Dests<</Names[({h()})[10 0 R/Fit]]>>>>"
    )
    catalog = (
        f"{names}/Metadata 22 0 R/Outlines 23 0 R/OCProperties<</OCGs[25 0 R]/D<</Name({h()})/OFF[25 0 R]>>>>"
        f"/StructTreeRoot 26 0 R/OpenAction<</S/JavaScript/JS({h()})>>/Lang({h()})/URI<</Base({h()})>>"
        f"/PageLabels<</Nums[0<</P({h()})>>]>>/PieceInfo<</X<</Private({h()})>>>>"
        f"/AcroForm<</Fields[{fields}]/DA(/F1 10 Tf)/DR<</Font<</F1 3 0 R>>>>>>"
    )
    page = f"/Annots[{listed}]/Thumb 28 0 R/PieceInfo<</X<</Private({h()})>>>>/AA<</O<</S/JavaScript/JS({h()})>>>>"
    data = of_pages(content, page=page, catalog=catalog, others=others)
    data = data.replace(b"/XObject<</Im 4 0 R>>", b"/XObject<</Im 4 0 R>>/Properties<</MC0 25 0 R>>", 1)
    return rebuilt_with(data, comment=h(), identifier=h())


def rebuilt_with(data: bytes, comment: str, identifier: str) -> bytes:
    """Return the file with a comment, properties and an id; PDFium mends the offsets."""
    head, tail = data.rsplit(b"xref\n0", 1)
    size = tail.split(b"\n", 1)[0].strip().decode()
    trailer = f"trailer\n<</Size {size}/Root 1 0 R/Info 31 0 R/ID[({identifier})({identifier})]>>\n"
    return head + f"% {comment}\n{trailer}startxref\n0\n%%EOF\n".encode()


def unpacked(data: bytes) -> str:
    """Return all that can be read of a file: its bytes, its streams and its text."""
    found = [data]
    for match in re.finditer(rb"/Filter \[([^]]*)\][^>]*>>\s*stream\r?\n(.*?)endstream", data, re.DOTALL):
        packed = a85decode(match[2].strip().removesuffix(b"~>")) if b"ASCII85" in match[1] else match[2]
        found.append(zlib.decompressobj().decompress(packed))
    with pypdfium2.PdfDocument(data) as pdf:
        text = "\n".join(page.get_textpage().get_text_range() for page in pdf)
    assert len(found) == 1 + data.count(b"endstream") > 2
    return b"\n".join(found).decode("latin-1") + text
