"""Whatever the text: annotated documents are read back as they were written, or refused by their id."""

from __future__ import annotations

import io

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from inverse_deid.core.errors import AnnotationError
from inverse_deid.core.phi import PhiType
from inverse_deid.core.values import Document, PhiSpan
from inverse_deid.formats.i2b2_xml import I2B2_ELEMENT_OF, gold_i2b2_xml, read_gold_i2b2_xml
from inverse_deid.formats.tables.json_lines import gold_json_line, read_gold_json_lines

HARD = [
    "\r",
    "\r\n",
    "]]>",
    "<![CDATA[",
    "&amp;",
    "<b>",
    '"',
    "'",
    "é",
    "e\u0301",
    "𝔘",
    "\u2028",
    "\x85",
    "\t",
]
NOT_IN_XML = ["\x00", "\x08", "\x0b", "\x1f", "\ufffe", "\uffff", "\ud800"]
CANARY = "Quillfeather"

characters = st.characters(exclude_categories=["Cs"])
pieces = st.lists(st.one_of(st.text(characters, max_size=12), st.sampled_from(HARD)), max_size=8)
texts = pieces.map("".join)


def _is_xml(text: str) -> bool:
    return all(sign >= " " or sign in "\t\n\r" for sign in text) and not set(text) & {"\ufffe", "\uffff"}


@st.composite
def documents(draw: st.DrawFn, text: st.SearchStrategy[str] = texts):
    written = draw(text)
    ends = sorted(draw(st.sets(st.integers(0, len(written)), max_size=8)))
    spans = tuple(
        PhiSpan(start, end, draw(st.sampled_from(list(PhiType))))
        for start, end in zip(ends[::2], ends[1::2], strict=False)
    )
    return Document(draw(st.text(characters, max_size=8)), written, spans)


def _from_json(data: bytes) -> list[Document]:
    return list(read_gold_json_lines(io.BytesIO(data)))


def _from_xml(data: bytes, doc_id: str) -> Document:
    return read_gold_i2b2_xml(io.BytesIO(data), doc_id)


def _everything() -> Document:
    text = "".join(HARD)
    return Document("all", text, (PhiSpan(0, 3, PhiType.RELATIVE), PhiSpan(4, len(text), PhiType.STREET)))


@given(st.lists(documents(), max_size=3))
@example([_everything()])
def test_json_lines_are_read_back(docs: list[Document]) -> None:
    assert _from_json(b"".join(map(gold_json_line, docs))) == docs


@given(documents(texts.filter(_is_xml)))
@example(_everything())
@example(Document("empty", ""))
def test_i2b2_xml_is_read_back(doc: Document) -> None:
    assert _from_xml(gold_i2b2_xml(doc), doc.id) == doc


@pytest.mark.parametrize("phi_type", PhiType)
def test_every_type_is_read_back(phi_type: PhiType) -> None:
    doc = Document("d", "Ann", (PhiSpan(0, 3, phi_type),))
    assert _from_xml(gold_i2b2_xml(doc), "d") == doc
    assert _from_json(gold_json_line(doc)) == [doc]


def test_elements_are_those_of_the_task() -> None:
    elements = {"NAME", "PROFESSION", "LOCATION", "AGE", "DATE", "CONTACT", "ID"}
    assert set(I2B2_ELEMENT_OF.values()) == elements
    assert I2B2_ELEMENT_OF[PhiType.RELATIVE] == I2B2_ELEMENT_OF[PhiType.USERNAME] == "NAME"
    assert I2B2_ELEMENT_OF[PhiType.ZIP] == I2B2_ELEMENT_OF[PhiType.LOCATION_OTHER] == "LOCATION"


@pytest.mark.parametrize("sign", NOT_IN_XML)
def test_what_xml_cannot_hold_is_refused_by_the_id(sign: str) -> None:
    doc = Document("case-7", f"Ms. {CANARY}{sign}", (PhiSpan(4, 4 + len(CANARY), PhiType.PATIENT),))
    with pytest.raises(AnnotationError, match=r"document case-7: .*\. Remove it") as refused:
        gold_i2b2_xml(doc)
    assert CANARY not in str(refused.value)
    assert refused.value.__context__ is None


def test_half_a_character_is_refused_by_the_id() -> None:
    with pytest.raises(AnnotationError, match=r"document case-7: .* half a character") as refused:
        gold_json_line(Document("case-7", f"{CANARY} \ud800"))
    assert CANARY not in str(refused.value)
    assert refused.value.__context__ is None
