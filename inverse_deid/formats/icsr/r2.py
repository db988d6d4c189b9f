"""E2B(R2): what in an `ichicsr` file is structure, and how a value is masked, emptied or left out.

R2 has no attributes but `lang`; codes, numbers, units and format codes are texts of elements
with names of their own. Kept as structure is the text of those elements, if it is a code,
number or country as it should be; what does not, and every element that no table names, is free text.

Source: ICH ICSR DTD 2.1 (names of the elements); E2B(R2) (which hold codes); PRIVACY for a
masked value: ICH E2B(R3) implementation guide, appendix on conversion between R2 and R3.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache

from lxml import etree

from inverse_deid.formats.icsr import vocabulary
from inverse_deid.formats.icsr.ages import R2_UNITS, AgeElement
from inverse_deid.formats.icsr.dates import StampDate, stamp_with
from inverse_deid.formats.icsr.dialects import Role, leave_out
from inverse_deid.formats.icsr.elements import Dialect, Element, Kind, r2_codes
from inverse_deid.formats.icsr.vocabulary import Measure

MASKED = "PRIVACY"


_MEDDRA = re.compile(r"\s*10\d{6}\s*", re.ASCII)
_CODE = re.compile(r"\s*\d{1,3}\s*", re.ASCII)
_VERSION = re.compile(r"\s*\d{1,2}(?:\.\d{1,2}){0,2}\s*", re.ASCII)
_TYPE = re.compile(r"\s*(?:ichicsr|backlog|psur|ctasr|masterichicsr)\s*", re.IGNORECASE)
_FORMAT = re.compile(r"\s*(?:102|203|204|602|610)\s*")
_MEASURES: dict[str, Measure] = {
    "patientweight": "weight",
    "parentweight": "weight",
    "patientheight": "height",
    "parentheight": "height",
}
_FORMATS_NAMED_OTHERWISE = {"patientlastmenstrualdate": "lastmenstrualdateformat"}
_CODE_OF_LENGTH = {4: "602", 6: "610", 8: "102"}
"""Format code by number of digits."""


@dataclass(frozen=True, slots=True)
class R2:
    """E2B(R2) (a `MessageDialect`)."""

    name: Dialect = "r2"
    root_tag: str = "ichicsr"
    case_tag: str = "safetyreport"

    def role_of_attribute(self, node: etree._Element, name: str, value: str) -> Role:
        """What an attribute value is: a language, or text."""
        return Role.STRUCTURE if name == "lang" and vocabulary.is_language(value) else Role.TEXT

    def may_leave(self, node: etree._Element, name: str, value: str) -> bool:
        """Whether an attribute value is structure that says nothing."""
        return self.role_of_attribute(node, name, value) == Role.STRUCTURE

    def role_of_text(self, node: etree._Element, text: str) -> Role:
        """What the text of an element is that the table does not name."""
        test = _tests().get(str(node.tag))
        if str(node.tag).endswith("dateformat"):
            test = _matching(_FORMAT)
        return Role.STRUCTURE if test is not None and test(text) else Role.TEXT

    def is_code(self, node: etree._Element, text: str) -> bool:
        """Whether an element that may hold a MedDRA code or a term holds a code."""
        return node.tag in r2_codes()["coded"] and _MEDDRA.fullmatch(text) is not None

    def is_file(self, node: etree._Element) -> bool:
        """Never: R2 embeds no files."""
        return False

    def drop_file_marks(self, node: etree._Element) -> None:
        """Nothing says so in R2."""

    def mask(self, node: etree._Element, element: Element) -> bool:
        """Write PRIVACY; where it does not fit (dates, country codes), the element goes."""
        room = element.max_length["r2"]
        if element.kind == Kind.DATE or (room is not None and room < len(MASKED)):
            self.leave_out(node, "", element)
            return False
        self.empty(node, "")
        node.text = MASKED
        return True

    def is_masked(self, node: etree._Element) -> bool:
        """Whether the text is PRIVACY."""
        return (node.text or "").strip() == MASKED

    def empty(self, node: etree._Element, attribute: str) -> None:
        """Take the text away; that of the format beside a date, too."""
        for emptied in (node, _format_beside(node)):
            if emptied is not None:
                del emptied[:]
                emptied.text = None

    def leave_out(self, node: etree._Element, attribute: str, element: Element | None) -> None:
        """Take the element away; the format beside a date and the unit beside an age, too."""
        for gone in (_format_beside(node), _unit_beside(node), node):
            if gone is not None:
                leave_out(gone)

    def written(self, node: etree._Element, attribute: str) -> str:
        """The text; there are no attributes that count."""
        return node.text or ""

    def unit(self, node: etree._Element) -> str:
        """The unit of an age in UCUM, "" = none."""
        beside = _unit_beside(node)
        return "" if beside is None else R2_UNITS.get((beside.text or "").strip(), "")

    def write_age(self, node: etree._Element, attribute: str, age: AgeElement) -> None:
        """Write an age in the place of another, with its unit."""
        node.text = age.number
        beside = _unit_beside(node)
        if beside is not None:
            beside.text = next(code for code, unit in R2_UNITS.items() if unit == age.unit)

    def write_date(self, node: etree._Element, attribute: str, date: StampDate) -> None:
        """Write a date in the place of one that is at least as precise; its format follows."""
        old = (node.text or "").strip()
        node.text = stamp_with(old, date)
        beside = _format_beside(node)
        if beside is not None and len(node.text) != len(old):
            beside.text = _CODE_OF_LENGTH[len(node.text)]


@lru_cache(maxsize=1)
def _tests() -> Mapping[str, Callable[[str], bool]]:
    """How the text of an element that holds a code must look."""
    tests: dict[str, Callable[[str], bool]] = {
        "numbers": lambda text: vocabulary.is_number(text.strip()),
        "codes": _matching(_CODE),
        "versions": _matching(_VERSION),
        "countries": vocabulary.is_country,
        "coded": _matching(_MEDDRA),
    }
    named = {tag: test for sort, test in tests.items() for tag in r2_codes()[sort]}
    return {
        **named,
        **{tag: _measuring(of) for tag, of in _MEASURES.items()},
        "messagetype": _matching(_TYPE),
    }


def _matching(pattern: re.Pattern[str]) -> Callable[[str], bool]:
    return lambda text: pattern.fullmatch(text) is not None


def _measuring(measure: Measure) -> Callable[[str], bool]:
    return lambda text: vocabulary.is_number(text.strip(), measure)


def _format_beside(node: etree._Element) -> etree._Element | None:
    tag, parent = str(node.tag), node.getparent()
    if parent is None or not tag.endswith("date"):
        return None
    return parent.find(_FORMATS_NAMED_OTHERWISE.get(tag, f"{tag}format"))


def _unit_beside(node: etree._Element) -> etree._Element | None:
    """Where the unit of an age stands, None = there is none."""
    parent = node.getparent()
    return None if parent is None else parent.find(f"{node.tag}unit")
