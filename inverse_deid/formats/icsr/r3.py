"""E2B(R3): what in an HL7 v3 message is structure, and how a value is masked, emptied or left out.

Kept as structure, if the vocabulary of the standard knows it: codes and their systems and
versions, object identifiers and UUIDs, units, numbers, flags, class, mood and type codes,
`xsi:type`, null flavors, languages, media types, countries, and `xsi:schemaLocation` where a
message begins (it is never fetched). What the vocabulary does not know is free text.

Source: HL7 v3 data types (R1) as ICH E2B(R3) uses them, and the attributes that the FDA
test instances have; a masked value: ICH E2B(R3) implementation guide, on null flavors.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from lxml import etree

from inverse_deid.formats.icsr import vocabulary
from inverse_deid.formats.icsr.ages import AgeElement
from inverse_deid.formats.icsr.dates import StampDate, is_stamp, stamp_with
from inverse_deid.formats.icsr.dialects import Role, leave_out
from inverse_deid.formats.icsr.elements import HL7, Dialect, Element, nodes_at
from inverse_deid.formats.icsr.vocabulary import Measure

XSI = "{http://www.w3.org/2001/XMLSchema-instance}"
NULL_FLAVOR = "nullFlavor"
MASKED = "MSK"

_INTERACTION = re.compile(r"(?:MCCI|PORR)_IN\d{6}UV\d{0,2}")
_FLAG = re.compile(r"true|false")
_MEASURES: dict[str, Measure] = {"7": "weight", "17": "height"}
"""By observation code."""

_NUMBERS = frozenset(
    (
        *("priorityNumber", "sequenceNumber", "repeatNumber", "quantity", "doseQuantity", "pauseQuantity"),
        *("numerator", "denominator", "period", "width"),
    )
)
_QUANTITY_TYPES = frozenset(("PQ", "INT", "REAL", "RTO", "IVL_PQ", "IVL_INT", "IVL_REAL"))
_TIMES = frozenset(
    ("effectiveTime", "low", "high", "center", "comp", "creationTime", "availabilityTime", "time")
)
_DISPLAYS = frozenset({"displayName", "codeSystemName"})
BESIDE_A_MASK = frozenset(
    (
        *(NULL_FLAVOR, "root", "codeSystem", "use", f"{XSI}type"),
        *("classCode", "moodCode", "determinerCode", "typeCode"),
    )
)
"""Attributes that an element may have although its value is masked."""

_FILE_MARKS = ("representation", "mediaType", "compression", "integrityCheck", "integrityCheckAlgorithm")


@dataclass(frozen=True, slots=True)
class R3:
    """E2B(R3) (a `MessageDialect`)."""

    name: Dialect = "r3"
    root_tag: str = f"{{{HL7}}}MCCI_IN200100UV01"
    case_tag: str = f"{{{HL7}}}PORR_IN049016UV"

    def role_of_attribute(self, node: etree._Element, name: str, value: str) -> Role:
        """What an attribute value is that the table does not name."""
        if name == "value":
            return _role_of_value(node, value)
        if name in _DISPLAYS:
            has_code = _is_structure(node, "code", node.get("code", ""))
            return Role.DISPLAY if has_code else Role.TEXT
        if name == "root" and vocabulary.is_link(value):
            return Role.STRUCTURE  # a link inside the case, which becomes a number
        return _structure_if(_is_structure(node, name, value))

    def may_leave(self, node: etree._Element, name: str, value: str) -> bool:
        """Whether an attribute value is structure that says nothing."""
        is_structure = self.role_of_attribute(node, name, value) == Role.STRUCTURE
        return is_structure and (name != "root" or vocabulary.is_root(value))

    def role_of_text(self, node: etree._Element, text: str) -> Role:
        """What the text of an element is that the table does not name."""
        return _structure_if(_local(node) == "country" and vocabulary.is_country(text))

    def is_code(self, node: etree._Element, text: str) -> bool:
        """Never: R3 holds codes in attributes."""
        return False

    def is_file(self, node: etree._Element) -> bool:
        """Whether the text of an element is base64, compressed, or of another type than text."""
        is_text = node.get("mediaType", "text/plain").lower().startswith("text/")
        coded = node.get("representation", "TXT").upper() != "TXT"
        return coded or not is_text or node.get("compression") is not None

    def drop_file_marks(self, node: etree._Element) -> None:
        """Take away what says that the text of an element is a file."""
        for name in _FILE_MARKS:
            node.attrib.pop(name, "")

    def mask(self, node: etree._Element, element: Element) -> bool:
        """`<name nullFlavor="MSK"/>`, with nothing left of the value; a root or code system stays."""
        _clear(node)
        for name in set(map(str, node.attrib)) - BESIDE_A_MASK:
            del node.attrib[name]
        node.set(NULL_FLAVOR, MASKED)
        return True

    def is_masked(self, node: etree._Element) -> bool:
        """Whether the null flavor is MSK."""
        return node.get(NULL_FLAVOR) == MASKED

    def empty(self, node: etree._Element, attribute: str) -> None:
        """Take the text with all children, or the attribute, away."""
        if not attribute:
            _clear(node)
            return
        node.attrib.pop(attribute, "")
        for name in ("displayName", "codeSystemVersion") if attribute == "code" else ():
            node.attrib.pop(name, "")

    def leave_out(self, node: etree._Element, attribute: str, element: Element | None) -> None:
        """Take the element away, or what the table says goes with it, or its one optional attribute."""
        if element is not None and element.null:
            self.empty(node, attribute)
            node.set(NULL_FLAVOR, element.null)
        elif attribute == "assigningAuthorityName":
            node.attrib.pop(attribute, "")
        else:
            above = None if element is None else element.whole
            whole = [] if above is None else nodes_at(above, node)
            leave_out(whole[0] if whole else node)

    def written(self, node: etree._Element, attribute: str) -> str:
        """The value of an attribute or, without one, the text."""
        return str(node.get(attribute, "")) if attribute else node.text or ""

    def unit(self, node: etree._Element) -> str:
        """The unit of an age in UCUM, "" = none."""
        return str(node.get("unit", ""))

    def write_age(self, node: etree._Element, attribute: str, age: AgeElement) -> None:
        """Write an age in the place of another, with its unit."""
        node.set(attribute, age.number)
        node.set("unit", age.unit)

    def write_date(self, node: etree._Element, attribute: str, date: StampDate) -> None:
        """Write a date in the place of one that is at least as precise."""
        node.set(attribute, stamp_with(node.get(attribute, ""), date))


def _clear(node: etree._Element) -> None:
    del node[:]
    node.text = None


def _structure_if(condition: bool) -> Role:
    return Role.STRUCTURE if condition else Role.TEXT


def _is_structure(node: etree._Element, name: str, value: str) -> bool:
    """Whether the vocabulary knows a value of an attribute."""
    if name == "code":
        return vocabulary.is_code(value, node.get("codeSystem", ""), _local(node))
    if name == "codeSystemVersion":
        return vocabulary.is_version(value, node.get("codeSystem", ""))
    if name == "extension":
        return _local(node) == "interactionId" and _INTERACTION.fullmatch(value) is not None
    if name == f"{XSI}schemaLocation":
        return node.getparent() is None and vocabulary.known_location(value) == value
    test = _TESTS.get(name)
    return test(value) if test is not None else vocabulary.is_value(name, value) is True


_TESTS: dict[str, Callable[[str], bool]] = {
    "codeSystem": vocabulary.is_code_system,
    "root": vocabulary.is_root,
    "unit": vocabulary.is_unit,
    "language": vocabulary.is_language,
    f"{{{vocabulary.XML_NAMESPACE}}}lang": vocabulary.is_language,
}


def _local(node: etree._Element | None) -> str:
    return "" if node is None else etree.QName(node).localname


def _role_of_value(node: etree._Element, value: str) -> Role:
    """A number, a flag, a time stamp, or else text."""
    if _FLAG.fullmatch(value):
        return Role.STRUCTURE
    parent = node.getparent()
    types = {node.get(f"{XSI}type"), None if parent is None else parent.get(f"{XSI}type")}
    if node.get("unit") is not None or types & _QUANTITY_TYPES or _local(node) in _NUMBERS:
        return _structure_if(vocabulary.is_number(value, _measure(parent)))
    if _local(node) in _TIMES or types & {"TS", "IVL_TS"}:
        return Role.DATE if is_stamp(value) else Role.TEXT
    return Role.TEXT


def _measure(observation: etree._Element | None) -> Measure | None:
    """What an observation measures, if its range is known."""
    code = None if observation is None else observation.find(f"{{{HL7}}}code")
    if code is None or code.get("codeSystem") != vocabulary.OBSERVATIONS:
        return None
    return _MEASURES.get(code.get("code", ""))
