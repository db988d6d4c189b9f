"""R3 and R2: what in a message is structure, and how a value is masked, emptied or left out.

R3 keeps as structure what the vocabulary of the standard knows: codes and their systems and versions, object
identifiers and UUIDs, units, numbers, flags, class, mood and type codes, `xsi:type`, null flavors, languages,
media types, countries, and `xsi:schemaLocation` at the start of a message (it is never fetched).

R2 has no attributes except `lang`. Codes, numbers, units and format codes are texts of elements with their
own names. Such a text is structure if it is a code, number or country as it should be.

Everything else is free text.

Source: HL7 v3 data types (R1) as ICH E2B(R3) uses them, and the attributes of the FDA test instances; ICH
ICSR DTD 2.1 (names of elements); E2B(R2) (which elements hold codes); ICH E2B(R3) implementation guide on
null flavors, and its appendix on conversion between R2 and R3 (PRIVACY).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache, partial

from lxml import etree

from inverse_deid.formats.icsr.standard import vocabulary
from inverse_deid.formats.icsr.standard.ages import R2_UNITS, AgeElement
from inverse_deid.formats.icsr.standard.dates import StampDate, is_stamp, stamp_with
from inverse_deid.formats.icsr.standard.elements import HL7, Dialect, Element, ElementKind, nodes_at, r2_codes
from inverse_deid.formats.icsr.standard.vocabulary import Measure

XSI = f"{{{vocabulary.XSI_NAMESPACE}}}"
NULL_FLAVOR = "nullFlavor"
MSK = "MSK"

_INTERACTION = re.compile(r"(?:MCCI|PORR)_IN\d{6}UV\d{0,2}")
_FLAG = re.compile(r"true|false")
_R3_MEASURES: dict[str, Measure] = {"7": "weight", "17": "height"}
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

PRIVACY = "PRIVACY"


_MEDDRA = re.compile(r"\s*10\d{6}\s*", re.ASCII)
_CODE = re.compile(r"\s*\d{1,3}\s*", re.ASCII)
_VERSION = re.compile(r"\s*\d{1,2}(?:\.\d{1,2}){0,2}\s*", re.ASCII)
_TYPE = re.compile(r"\s*(?:ichicsr|backlog|psur|ctasr|masterichicsr)\s*", re.IGNORECASE)
_FORMAT = re.compile(r"\s*(?:102|203|204|602|610)\s*")
_R2_MEASURES: dict[str, Measure] = {
    "patientweight": "weight",
    "parentweight": "weight",
    "patientheight": "height",
    "parentheight": "height",
}
_FORMATS_NAMED_OTHERWISE = {"patientlastmenstrualdate": "lastmenstrualdateformat"}
_CODE_OF_LENGTH = {4: "602", 6: "610", 8: "102"}
"""Format code by number of digits."""


class StringRole(StrEnum):
    """The role of a string that the table of elements does not name."""

    STRUCTURE = "structure"
    """A code, a number with its unit, an object identifier ...: kept."""
    DISPLAY = "display"
    """The words for the code in the same element: kept or left out."""
    DATE = "date"
    TEXT = "text"
    """Anything else: free text."""


def leave_out(node: etree._Element) -> None:
    """Remove an XML element with the text after it; white space after it stays."""
    if node.tail and not node.tail.isspace():
        node.tail = None
    remove_keeping_tail(node)


def remove_keeping_tail(node: etree._Element) -> None:
    """Remove an XML element (or comment) from its parent; the text after it stays."""
    parent = node.getparent()
    if parent is None:
        return
    previous, tail = node.getprevious(), node.tail or ""
    if tail and previous is not None:
        previous.tail = (previous.tail or "") + tail
    elif tail:
        parent.text = (parent.text or "") + tail
    node.tail = None
    parent.remove(node)


@dataclass(frozen=True, slots=True)
class R3:
    """E2B(R3): what in an HL7 v3 message is structure, and how a value is masked, emptied or removed."""

    name: Dialect = "r3"
    root_tag: str = f"{{{HL7}}}MCCI_IN200100UV01"
    case_tag: str = f"{{{HL7}}}PORR_IN049016UV"

    def role_of_attribute(self, node: etree._Element, name: str, value: str) -> StringRole:
        """Return the role of an attribute value that the table of elements does not name."""
        if name == "value":
            return _role_of_value(node, value)
        if name in _DISPLAYS:
            has_code = _is_structure(node, "code", node.get("code", ""))
            return StringRole.DISPLAY if has_code else StringRole.TEXT
        if name == "root" and vocabulary.is_link(value):
            return StringRole.STRUCTURE  # a link inside the case, which becomes a number
        return _structure_if(_is_structure(node, name, value))

    def may_leave(self, node: etree._Element, name: str, value: str) -> bool:
        """Return whether an attribute value is harmless structure."""
        is_structure = self.role_of_attribute(node, name, value) == StringRole.STRUCTURE
        return is_structure and (name != "root" or vocabulary.is_root(value))

    def role_of_text(self, node: etree._Element, text: str) -> StringRole:
        """Return the role of a text that the table of elements does not name."""
        return _structure_if(_local(node) == "country" and vocabulary.is_country(text))

    def is_code(self, node: etree._Element, text: str) -> bool:
        """Return False: R3 has codes in attributes."""
        return False

    def is_file(self, node: etree._Element) -> bool:
        """Return whether the text of an element is base64, compressed, or of another type than text."""
        is_text = node.get("mediaType", "text/plain").lower().startswith("text/")
        coded = node.get("representation", "TXT").upper() != "TXT"
        return coded or not is_text or node.get("compression") is not None

    def drop_file_marks(self, node: etree._Element) -> None:
        """Remove the attributes that mark the text of an element as a file."""
        for name in _FILE_MARKS:
            node.attrib.pop(name, "")

    def mask(self, node: etree._Element, element: Element) -> bool:
        """Write `<name nullFlavor="MSK"/>` without the value; a root or code system stays."""
        _clear(node)
        for name in set(map(str, node.attrib)) - BESIDE_A_MASK:
            del node.attrib[name]
        node.set(NULL_FLAVOR, MSK)
        return True

    def is_masked(self, node: etree._Element) -> bool:
        return node.get(NULL_FLAVOR) == MSK

    def empty(self, node: etree._Element, attribute: str) -> None:
        """Remove the text with all children, or the attribute."""
        if not attribute:
            _clear(node)
            return
        node.attrib.pop(attribute, "")
        for name in ("displayName", "codeSystemVersion") if attribute == "code" else ():
            node.attrib.pop(name, "")

    def leave_out(self, node: etree._Element, attribute: str, element: Element | None) -> None:
        """Remove the element, or the larger element of the table, or its one optional attribute."""
        if element is not None and element.null:
            self.empty(node, attribute)
            node.set(NULL_FLAVOR, element.null)
        elif attribute == "assigningAuthorityName":
            node.attrib.pop(attribute, "")
        else:
            above = None if element is None else element.whole
            whole = [] if above is None else nodes_at(above, node)
            leave_out(whole[0] if whole else node)

    def read_value(self, node: etree._Element, attribute: str) -> str:
        """Return the value of an attribute or, without one, the text."""
        return str(node.get(attribute, "")) if attribute else node.text or ""

    def unit(self, node: etree._Element) -> str:
        """Return the unit of an age in UCUM, "" = none."""
        return str(node.get("unit", ""))

    def write_age(self, node: etree._Element, attribute: str, age: AgeElement) -> None:
        node.set(attribute, age.number)
        node.set("unit", age.unit)

    def write_date(self, node: etree._Element, attribute: str, date: StampDate) -> None:
        """Replace a date with one that is at most as precise."""
        node.set(attribute, stamp_with(node.get(attribute, ""), date))


def _clear(node: etree._Element) -> None:
    del node[:]
    node.text = None


def _structure_if(condition: bool) -> StringRole:
    return StringRole.STRUCTURE if condition else StringRole.TEXT


def _is_structure(node: etree._Element, name: str, value: str) -> bool:
    if name == "code":
        return vocabulary.is_code(value, node.get("codeSystem", ""), _local(node))
    if name == "codeSystemVersion":
        return vocabulary.is_version(value, node.get("codeSystem", ""))
    if name == "extension":
        return _local(node) == "interactionId" and _INTERACTION.fullmatch(value) is not None
    if name == f"{XSI}schemaLocation":
        return node.getparent() is None and vocabulary.release_location(value) == value
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


def _role_of_value(node: etree._Element, value: str) -> StringRole:
    if _FLAG.fullmatch(value):
        return StringRole.STRUCTURE
    parent = node.getparent()
    types = {node.get(f"{XSI}type"), None if parent is None else parent.get(f"{XSI}type")}
    if node.get("unit") is not None or types & _QUANTITY_TYPES or _local(node) in _NUMBERS:
        return _structure_if(vocabulary.is_number(value, _measure(parent)))
    if _local(node) in _TIMES or types & {"TS", "IVL_TS"}:
        return StringRole.DATE if is_stamp(value) else StringRole.TEXT
    return StringRole.TEXT


def _measure(observation: etree._Element | None) -> Measure | None:
    code = None if observation is None else observation.find(f"{{{HL7}}}code")
    if code is None or code.get("codeSystem") != vocabulary.OBSERVATIONS:
        return None
    return _R3_MEASURES.get(code.get("code", ""))


@dataclass(frozen=True, slots=True)
class R2:
    """E2B(R2): what in an `ichicsr` file is structure, and how a value is masked, emptied or removed."""

    name: Dialect = "r2"
    root_tag: str = "ichicsr"
    case_tag: str = "safetyreport"

    def role_of_attribute(self, node: etree._Element, name: str, value: str) -> StringRole:
        return StringRole.STRUCTURE if name == "lang" and vocabulary.is_language(value) else StringRole.TEXT

    def may_leave(self, node: etree._Element, name: str, value: str) -> bool:
        return self.role_of_attribute(node, name, value) == StringRole.STRUCTURE

    def role_of_text(self, node: etree._Element, text: str) -> StringRole:
        test = _tests().get(str(node.tag))
        if str(node.tag).endswith("dateformat"):
            test = _match(_FORMAT)
        return StringRole.STRUCTURE if test is not None and test(text) else StringRole.TEXT

    def is_code(self, node: etree._Element, text: str) -> bool:
        """Return whether an element that may hold a MedDRA code or a term holds a code."""
        return node.tag in r2_codes()["coded"] and _MEDDRA.fullmatch(text) is not None

    def is_file(self, node: etree._Element) -> bool:
        """Return False: R2 embeds no files."""
        return False

    def drop_file_marks(self, node: etree._Element) -> None:
        """Do nothing: R2 has no such marks."""

    def mask(self, node: etree._Element, element: Element) -> bool:
        """Write PRIVACY; remove the element where that does not fit (dates, country codes)."""
        room = element.max_length["r2"]
        if element.kind == ElementKind.DATE or (room is not None and room < len(PRIVACY)):
            self.leave_out(node, "", element)
            return False
        self.empty(node, "")
        node.text = PRIVACY
        return True

    def is_masked(self, node: etree._Element) -> bool:
        return (node.text or "").strip() == PRIVACY

    def empty(self, node: etree._Element, attribute: str) -> None:
        """Remove the text, and with a date the text of its format."""
        for emptied in (node, _find_format(node)):
            if emptied is not None:
                del emptied[:]
                emptied.text = None

    def leave_out(self, node: etree._Element, attribute: str, element: Element | None) -> None:
        """Remove the element, with a date its format, and with an age its unit."""
        for gone in (_find_format(node), _find_unit(node), node):
            if gone is not None:
                leave_out(gone)

    def read_value(self, node: etree._Element, attribute: str) -> str:
        """Return the text; R2 has no values in attributes."""
        return node.text or ""

    def unit(self, node: etree._Element) -> str:
        unit = _find_unit(node)
        return "" if unit is None else R2_UNITS.get((unit.text or "").strip(), "")

    def write_age(self, node: etree._Element, attribute: str, age: AgeElement) -> None:
        node.text = age.number
        element = _find_unit(node)
        if element is not None:
            element.text = next(code for code, unit in R2_UNITS.items() if unit == age.unit)

    def write_date(self, node: etree._Element, attribute: str, date: StampDate) -> None:
        old = (node.text or "").strip()
        node.text = stamp_with(old, date)
        code = _find_format(node)
        if code is not None and len(node.text) != len(old):
            code.text = _CODE_OF_LENGTH[len(node.text)]


@lru_cache(maxsize=1)
def _tests() -> Mapping[str, Callable[[str], bool]]:
    tests: dict[str, Callable[[str], bool]] = {
        "numbers": _is_number,
        "codes": _match(_CODE),
        "versions": _match(_VERSION),
        "countries": vocabulary.is_country,
        "coded": _match(_MEDDRA),
    }
    named = {tag: test for sort, test in tests.items() for tag in r2_codes()[sort]}
    return {
        **named,
        **{tag: partial(_is_number, measure=of) for tag, of in _R2_MEASURES.items()},
        "messagetype": _match(_TYPE),
    }


def _is_number(text: str, measure: Measure | None = None) -> bool:
    return vocabulary.is_number(text.strip(), measure)


def _match(pattern: re.Pattern[str]) -> Callable[[str], bool]:
    return lambda text: pattern.fullmatch(text) is not None


def _find_format(node: etree._Element) -> etree._Element | None:
    tag, parent = str(node.tag), node.getparent()
    if parent is None or not tag.endswith("date"):
        return None
    return parent.find(_FORMATS_NAMED_OTHERWISE.get(tag, f"{tag}format"))


def _find_unit(node: etree._Element) -> etree._Element | None:
    # None = no unit.
    parent = node.getparent()
    return None if parent is None else parent.find(f"{node.tag}unit")


MessageDialect = R3 | R2
