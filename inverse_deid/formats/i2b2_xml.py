"""The XML of the 2014 i2b2/UTHealth task: one document per file, with text and stand-off tags.

::

    <deIdi2b2><TEXT><![CDATA[...]]></TEXT><TAGS><NAME id="P0" start="3" end="9" .../></TAGS></deIdi2b2>

The masked output contains the masked text and an empty `TAGS`, because the tags of the input repeat the
identifiers. The annotation output contains the ORIGINAL text and the masks as tags, for the official
evaluation script. Gold documents also contain the ORIGINAL text: keep both as safe as their source.

XML turns CR LF and CR into LF before a program sees the text. Offsets count the code points after that, as in
the task. Entities and document type declarations are refused, nothing is fetched, and the size limits of the
parser stay on.

Source: Stubbs and Uzuner 2015, "Annotating longitudinal clinical narratives for
de-identification: the 2014 i2b2/UTHealth corpus"; XML 1.0, sections 2.2 (characters) and 2.11 (line ends).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import BinaryIO

import numpy as np
from lxml import etree

from inverse_deid.core.errors import AnnotationError, FormatError
from inverse_deid.core.phi import HYPER_CLASS_OF, OUR_TYPES, HyperClass, PhiType, TypeMapping
from inverse_deid.core.values import Document, MaskedDocument, PhiSpan
from inverse_deid.core.wording import _
from inverse_deid.formats.plain_text import read_whole
from inverse_deid.formats.rebuilt_file import RebuiltFile
from inverse_deid.formats.records import Format, ReadOptions, Record, Writable
from inverse_deid.formats.safe_xml import safe_parser

_TYPES_NOT_OURS: Mapping[str, PhiType] = MappingProxyType(
    {
        "OTHER": PhiType.LOCATION_OTHER,
        "ROOM": PhiType.LOCATION_OTHER,
        "DEPARTMENT": PhiType.HOSPITAL,
    }
)

_TAG_OF_CLASS: Mapping[HyperClass, tuple[str, str]] = MappingProxyType(
    {
        HyperClass.SAFE: ("PHI", "OTHER"),
        HyperClass.NAME: ("NAME", "PATIENT"),
        HyperClass.PLACE: ("LOCATION", "LOCATION-OTHER"),
        HyperClass.DATE: ("DATE", "DATE"),
        HyperClass.AGE: ("AGE", "AGE"),
        HyperClass.CONTACT: ("CONTACT", "PHONE"),
        HyperClass.ID: ("ID", "IDNUM"),
        HyperClass.PROFESSION: ("PROFESSION", "PROFESSION"),
    }
)
"""Element and TYPE for a mask. Only the class is known; the TYPE is its most frequent one."""


_PLACE = "LOCATION"

I2B2_ELEMENT_OF: Mapping[PhiType, str] = MappingProxyType(
    {
        phi_type: _PLACE if hyper is HyperClass.PLACE else hyper.value
        for phi_type, hyper in HYPER_CLASS_OF.items()
    }
)
"""The element of every fine type; the type itself is the attribute `TYPE`."""


@dataclass(frozen=True, slots=True)
class AnnotationXmlSink:
    """Writes the ORIGINAL text with the masks as tags (a `Sink`), for evaluation only."""

    target: Writable = field(repr=False)

    def write(self, record: Record, masked: Sequence[MaskedDocument]) -> None:
        """Write the whole file; masks without a token (hidden characters) get no tag."""
        for doc, one in zip(record.docs, masked, strict=True):
            tags = [
                _tag(number, one, first, (start, end))
                for number, (first, start, end) in enumerate(_masks_with_tokens(one))
            ]
            self.target.write(_file(doc.text, tags))

    def finish(self) -> None:
        """Nothing follows the document."""


def _masks_with_tokens(masked: MaskedDocument) -> Iterator[tuple[int, int, int]]:
    # First token, start and end of every mask that covers a token.
    starts, ends = masked.tokens.starts, masked.tokens.ends
    for start, end in masked.masks:
        first = int(np.searchsorted(ends, start, side="right"))
        if first < len(starts) and starts[first] < end:
            yield first, start, end


def _tag(number: int, masked: MaskedDocument, first_token: int, span: tuple[int, int]) -> str:
    from xml.sax.saxutils import quoteattr  # loads a client of HTTP, which only this format needs

    start, end = span
    category = list(HyperClass)[int(masked.decisions.categories[first_token])]
    element, fine_type = _TAG_OF_CLASS[category]
    text = quoteattr(masked.tokens.text[start:end], {"\n": " ", "\r": " ", "\t": " "})
    return (
        f'<{element} id="P{number}" start="{start}" end="{end}" text={text} TYPE="{fine_type}" comment="" />'
    )


def _file(text: str, tags: list[str]) -> bytes:
    # `]]>` and CR are not allowed in CDATA and are written outside.
    escaped = text.replace("]]>", "]]]]><![CDATA[>").replace("\r", "]]>&#13;<![CDATA[")
    lines = "".join(f"{tag}\n" for tag in tags)
    return (
        '<?xml version="1.0" encoding="UTF-8" ?>\n<deIdi2b2>\n'
        f"<TEXT><![CDATA[{escaped}]]></TEXT>\n<TAGS>\n{lines}</TAGS>\n</deIdi2b2>\n"
    ).encode("utf-8", "replace")


def read_i2b2_xml(stream: BinaryIO, options: ReadOptions, name: str) -> RebuiltFile:
    """Read the text of a file for masking, in the encoding that the XML declares.

    Raises:
        FormatError: Broken XML, a document type declaration, or no single `TEXT`.
        UnreadableInputError: Empty or too large.
    """
    doc = Document(name, _text_of(_parse(read_whole(stream))))
    return RebuiltFile(doc, lambda masked: _file(masked.text, []), {})


def read_gold_i2b2_xml(stream: BinaryIO, name: str, types: TypeMapping = OUR_TYPES) -> Document:
    """Read text and gold tags; a repeated tag counts once.

    Raises:
        FormatError: As `read_i2b2_xml`.
        AnnotationError: A tag has no usable start, end or TYPE, overlaps another, or
            repeats a text other than the one at its offsets (the message names the document).
    """
    root = _parse(read_whole(stream))
    text = _text_of(root)
    spans = {_span(tag, name, text, types) for tag in root.iterfind("TAGS/*")}
    return Document(name, text, tuple(sorted(spans)))


def _parse(data: bytes) -> etree._Element:
    # The message of the parser may quote the text and is dropped.
    root: etree._Element | None = None
    line = 0
    try:
        root = etree.fromstring(data, safe_parser())
    except etree.XMLSyntaxError as error:
        line = error.lineno or 0
    except ValueError:
        line = 1
    if root is None:
        raise FormatError(
            _("broken XML at line {line}. Correct the line or export the file again", line=line)
        )
    if root.getroottree().docinfo.internalDTD is not None:
        raise FormatError(_("document type declarations are refused. Delete <!DOCTYPE ...>"))
    return root


def _text_of(root: etree._Element) -> str:
    found = root.findall("TEXT")
    if len(found) != 1 or len(found[0]):
        raise FormatError(
            _("is not 2014 i2b2 XML. The root element must contain exactly one <TEXT>, with text only")
        )
    return found[0].text or ""


def _span(tag: etree._Element, name: str, text: str, types: TypeMapping) -> PhiSpan:
    where = f"document {name}: tag at line {tag.sourceline}"
    try:
        start, end = int(tag.get("start", "")), int(tag.get("end", ""))
    except ValueError:
        start = end = 0
    if not 0 <= start < end <= len(text):
        raise AnnotationError(
            _("{where}: start or end is missing or outside the text. Check the offsets", where=where)
        )
    type_name = tag.get("TYPE", "")
    phi_type = types.get(type_name) or _TYPES_NOT_OURS.get(type_name)
    if phi_type is None:
        raise AnnotationError(
            _(
                "{where}: TYPE is missing or unknown. Use the types of the 2014 i2b2 task, or a mapping "
                "file that names its types",
                where=where,
            )
        )
    repeated = tag.get("text")
    if repeated is not None and repeated.split() != text[start:end].split():
        raise AnnotationError(
            _(
                "{where}: its text differs from the text at {start}-{end}. Check the offsets",
                where=where,
                start=start,
                end=end,
            )
        )
    return PhiSpan(start, end, phi_type)


def gold_i2b2_xml(doc: Document) -> bytes:
    """Return a whole file of a gold document; its name is the id.

    Returns:
        UTF-8; a carriage return is written as a character reference, since XML drops bare ones.

    Raises:
        AnnotationError: The text contains characters that XML does not allow: control characters other than
            tab and line ends, half a character, U+FFFE or U+FFFF.
    """
    data = None
    with suppress(ValueError):
        data = etree.tostring(_root(doc), encoding="UTF-8", xml_declaration=True)
    if data is None:
        raise AnnotationError(
            _(
                "document {id}: contains a character that XML does not allow (a control character, half "
                "a character, U+FFFE or U+FFFF). Remove it, or write JSON Lines",
                id=doc.id,
            )
        )
    return bytes(data) + b"\n"


def _root(doc: Document) -> etree._Element:
    root = etree.Element("deIdi2b2")
    root.text = "\n"
    text, tags = etree.SubElement(root, "TEXT"), etree.SubElement(root, "TAGS")
    text.text, text.tail = doc.text, "\n"
    tags.text = tags.tail = "\n"
    for number, span in enumerate(doc.spans):
        tag = etree.SubElement(tags, I2B2_ELEMENT_OF[span.type], _attributes(number, span, doc.text))
        tag.tail = "\n"
    return root


def _attributes(number: int, span: PhiSpan, text: str) -> dict[str, str]:
    return {
        "id": f"P{number}",
        "start": str(span.start),
        "end": str(span.end),
        "text": " ".join(text[span.start : span.end].split()),
        "TYPE": span.type.value,
        "comment": "",
    }


FORMAT = Format(
    name="i2b2", open=read_i2b2_xml, suffixes=(".xml",), is_single_document=True, has_annotations=True
)
