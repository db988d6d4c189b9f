"""E2B(R3): what in an HL7 v3 message is structure, and how a value is masked, emptied or left out.

Kept as structure, if it looks as it should: codes and their systems and versions, object
identifiers and UUIDs, units, numbers, flags, class, mood and type codes, `xsi:type`, null
flavors, languages, media types, two-letter countries, and `xsi:schemaLocation` where a message
begins (it is never fetched). What does not look as it should is free text.

Source: HL7 v3 data types (R1) as ICH E2B(R3) uses them, and the attributes that the FDA
test instances have; a masked value: ICH E2B(R3) implementation guide, on null flavors.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from lxml import etree

from inverse_deid.formats.icsr.ages import AgeElement
from inverse_deid.formats.icsr.dates import StampDate, stamp_with
from inverse_deid.formats.icsr.dialects import Role, remove_keeping_tail
from inverse_deid.formats.icsr.elements import HL7, Dialect, Element, nodes_at

XSI = "{http://www.w3.org/2001/XMLSchema-instance}"
XML = "{http://www.w3.org/XML/1998/namespace}"
NULL_FLAVOR = "nullFlavor"
MASKED = "MSK"

_WORD = r"[A-Za-z][A-Za-z0-9_.]{0,29}"
_OID = r"[0-2](?:\.\d{1,15}){1,29}"
_UUID = r"[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}"
_LABEL = r"[A-Za-z]{1,6}-?\d{1,6}"
_NAME_LIKE = r".*[A-Z][a-z]{3}"
_PATTERNS = {
    **dict.fromkeys(
        ("classCode", "moodCode", "determinerCode", "typeCode", "ITSVersion", "operator", "representation"),
        _WORD,
    ),
    NULL_FLAVOR: "NI|INV|DER|OTH|NINF|PINF|UNC|MSK|NA|UNK|ASKU|NAV|NASK|TRC|QS|NP",
    "use": rf"{_WORD}(?: {_WORD}){{0,3}}",
    "qualifier": rf"{_WORD}(?: {_WORD}){{0,3}}",
    "code": rf"(?!{_NAME_LIKE})" r"[A-Za-z0-9][A-Za-z0-9._:/+-]{0,59}",
    "root": rf"{_OID}|{_UUID}|{_LABEL}",
    "codeSystem": rf"{_OID}|{_UUID}",
    "codeSystemVersion": r"[A-Za-z0-9][A-Za-z0-9._+-]{0,24}",
    "unit": rf"(?!{_NAME_LIKE})" r"""[\w%*./\[\]{}()'"+^-]{1,30}""",
    "language": r"[A-Za-z]{2,3}(?:-[A-Za-z]{2})?",
    "mediaType": r"[a-z]{1,20}/[A-Za-z0-9.+-]{1,80}",
    "compression": r"DF|GZ|ZL|Z",
    "inclusive": r"true|false",
    "negationInd": r"true|false",
    f"{XSI}type": rf"(?:{_WORD}:)?{_WORD}",
    f"{XSI}nil": r"true|false|0|1",
    f"{XML}lang": r"[A-Za-z]{2,3}(?:-[A-Za-z]{2})?",
    f"{XML}space": r"default|preserve",
}
_STRUCTURE = {name: re.compile(pattern) for name, pattern in _PATTERNS.items()}
_LOCATION = re.compile(
    r"(?!.*(?:file:|\\|\b[A-Za-z]:/|/(?:home|[Uu]sers)/))[!-~]{1,300}(?: [!-~]{1,300}){0,9}"
)
_INTERACTION = re.compile(r"[A-Z]{4}_[A-Z]{2}\d{6}UV\d{0,2}")
_FLAG = re.compile(r"true|false")
_NUMBER = re.compile(r"[+-]?\d{1,12}(?:\.\d{1,12})?(?:[eE][+-]?\d{1,3})?", re.ASCII)
_STAMP = re.compile(r"\d{4,14}(?:\.\d{1,6})?(?:[+-]\d{2,4})?", re.ASCII)
_COUNTRY = re.compile(r"\s*[A-Za-z]{2,3}\s*")

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
VOCABULARY = frozenset(
    (
        *("ACT", "ACTI", "ASSIGNED", "AUT", "AUTH", "CACT", "CATEGORY", "CAUS", "CLNTRL", "CNTRCT", "COMP"),
        *("COUNTRY", "CSM", "DEV", "DOC", "DRIV", "EVN", "EVN.CRT", "EXPL", "FLFS", "HLD", "IDENT", "INST"),
        *("INSTANCE", "INT", "INVSBJ", "INVSTG", "KIND", "LOC", "LOCE", "MANU", "MMAT", "NAT", "OBS", "ORG"),
        *("PART", "PERT", "PRF", "PRS", "PSN", "QUAL", "RCV", "REFR", "REFV", "RSON", "SBADM", "SBJ", "SND"),
        *("SPRT", "SUBJ", "SUMM", "TERR", "XML_1.0", "true", "false", "active", "text/plain"),
        *("application/pdf", "PORR_TE049016UV", "PAT_ADV_EVNT"),
    )
)
"""Values of attributes that the standard names: a person may be called so."""

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
            return Role.DISPLAY if _fits("code", node.get("code", "")) else Role.TEXT
        if name == f"{XSI}schemaLocation":
            return _structure_if(node.getparent() is None and _LOCATION.fullmatch(value) is not None)
        if name == "extension":
            return _structure_if(
                _local(node) == "interactionId" and _INTERACTION.fullmatch(value) is not None
            )
        return _structure_if(_fits(name, value))

    def role_of_text(self, node: etree._Element, text: str) -> Role:
        """What the text of an element is that the table does not name."""
        return _structure_if(_local(node) == "country" and _COUNTRY.fullmatch(text) is not None)

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
            remove_keeping_tail(whole[0] if whole else node)

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


@lru_cache(maxsize=4096)
def _fits(name: str, value: str) -> bool:
    pattern = _STRUCTURE.get(name)
    return pattern is not None and pattern.fullmatch(value) is not None


def _local(node: etree._Element | None) -> str:
    return "" if node is None else etree.QName(node).localname


def _role_of_value(node: etree._Element, value: str) -> Role:
    """A number, a flag, a time stamp, or else text."""
    if _FLAG.fullmatch(value):
        return Role.STRUCTURE
    parent = node.getparent()
    types = {node.get(f"{XSI}type"), None if parent is None else parent.get(f"{XSI}type")}
    if node.get("unit") is not None or types & _QUANTITY_TYPES or _local(node) in _NUMBERS:
        return _structure_if(_NUMBER.fullmatch(value) is not None)
    if _local(node) in _TIMES or types & {"TS", "IVL_TS"}:
        return Role.DATE if _STAMP.fullmatch(value) else Role.TEXT
    return Role.TEXT
