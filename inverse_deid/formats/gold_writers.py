"""Annotated documents written: JSON Lines, and the XML of the 2014 i2b2/UTHealth task.

`read_gold_json_lines` and `read_gold_i2b2_xml` read them back to equal documents.
What belongs to no annotation (`known`, `meta`) is not written. Both hold the
ORIGINAL text and its identifiers: keep them as safe as their source.

Source: Stubbs and Uzuner 2015, "Annotating longitudinal clinical narratives for
de-identification: the 2014 i2b2/UTHealth corpus"; XML 1.0, section 2.2 (characters).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from types import MappingProxyType

from lxml import etree

from inverse_deid.core.errors import AnnotationError
from inverse_deid.core.phi import HYPER_CLASS_OF, HyperClass, PhiType
from inverse_deid.core.values import Document, PhiSpan

_PLACE = "LOCATION"

I2B2_ELEMENT_OF: Mapping[PhiType, str] = MappingProxyType(
    {
        phi_type: _PLACE if hyper is HyperClass.PLACE else hyper.value
        for phi_type, hyper in HYPER_CLASS_OF.items()
    }
)
"""The element of every fine type; the type itself is the attribute `TYPE`."""


def gold_json_line(doc: Document) -> bytes:
    r"""One line of JSON: `{"id", "text", "spans": [{"start", "end", "type"}]}`.

    Returns:
        UTF-8 with a line end.

    Raises:
        AnnotationError: The text or the id holds half a character (a lone surrogate).

    Example:
        >>> gold_json_line(Document("d1", "Ann", (PhiSpan(0, 3, PhiType.PATIENT),)))
        b'{"id": "d1", "text": "Ann", "spans": [{"start": 0, "end": 3, "type": "PATIENT"}]}\n'
    """
    spans = [{"start": span.start, "end": span.end, "type": span.type} for span in doc.spans]
    line = json.dumps({"id": doc.id, "text": doc.text, "spans": spans}, ensure_ascii=False)
    data = None
    with suppress(UnicodeEncodeError):  # it holds the text and is not passed on
        data = line.encode()
    if data is None:
        raise AnnotationError(f"document {doc.id}: holds half a character (a lone surrogate); mend the text")
    return data + b"\n"


def gold_i2b2_xml(doc: Document) -> bytes:
    """A whole file; its name, not its content, says the id.

    Returns:
        UTF-8; a carriage return is a character reference, since XML drops bare ones.

    Raises:
        AnnotationError: The text holds what XML cannot: control characters other than
            tab and line ends, half a character, U+FFFE or U+FFFF.

    Example:
        >>> b'<NAME id="P0" start="0" end="3"' in gold_i2b2_xml(
        ...     Document("d1", "Ann", (PhiSpan(0, 3, PhiType.RELATIVE),))
        ... )
        True
    """
    data = None
    with suppress(ValueError):
        data = etree.tostring(_root(doc), encoding="UTF-8", xml_declaration=True)
    if data is None:
        raise AnnotationError(
            f"document {doc.id}: holds a character that XML cannot hold (a control character, half a "
            "character, U+FFFE or U+FFFF); remove it, or write JSON Lines"
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
