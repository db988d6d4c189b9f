"""The E2B data elements that are known, from `elements.toml`.

Source: ICH E2B(R3) implementation guide and ICH E2B(R2) message specification; see
`elements.toml` for what was taken from where.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from importlib.resources import files
from typing import Any, Literal, cast

from lxml import etree

Dialect = Literal["r3", "r2"]

HL7 = "urn:hl7-org:v3"
NAMESPACES = {"h": HL7}

_ATTRIBUTE = re.compile(r"(?P<node>.*)/@(?P<name>[A-Za-z]+)", re.DOTALL)


class ElementKind(StrEnum):
    FREE_TEXT = "free-text"
    IDENTIFIER = "identifier"
    DATE = "date"
    AGE = "age"
    ATTACHMENT = "attachment"
    PRODUCT = "product"


@dataclass(frozen=True, slots=True)
class ElementPlace:
    """The place of an element's value."""

    xpath: etree.XPath  # finds the XML elements, from the case (or from a part of the batch)
    attribute: str  # which attribute of them holds the value, "" = their text

    def nodes(self, root: etree._Element) -> list[etree._Element]:
        """Return the XML elements in a case (or a part of the batch)."""
        return nodes_at(self.xpath, root)


@dataclass(frozen=True, slots=True)
class Element:
    """One E2B data element."""

    id: str  # as ICH numbers it, for example `C.2.r.1.4`
    name: str  # in words
    kind: ElementKind
    max_length: Mapping[Dialect, int | None]  # in characters by dialect, None = no limit stated
    msk: bool  # whether MSK (R3) or PRIVACY (R2) may replace the value
    required: bool  # whether a message without it is not valid
    known: str  # the sort of identifier that free texts must not repeat, "" = none
    places: Mapping[Dialect, ElementPlace]  # by dialect; a dialect may lack it
    batch: bool  # whether it is outside the cases
    whole: etree.XPath | None  # finds, from an R3 element, what is left out with it; None = itself
    form: str  # what a kept value must look like, see `forms`, "" = other rules say it
    null: str  # null flavor of an emptied R3 element that can be neither masked nor missing


def nodes_at(xpath: etree.XPath, start: etree._Element) -> list[etree._Element]:
    found = xpath(start)
    return [node for node in found if isinstance(node, etree._Element)] if isinstance(found, list) else []


@lru_cache(maxsize=1)
def elements() -> Mapping[str, Element]:
    """Return all known elements by id."""
    table = _table()
    shorthand = _expand(table["shorthand"])
    return {name: _element(name, row, shorthand) for name, row in table["elements"].items()}


@lru_cache(maxsize=1)
def r2_codes() -> Mapping[str, frozenset[str]]:
    """Return the elements of R2 with codes as their text: codes, numbers, versions, countries, coded."""
    return {sort: frozenset(tags) for sort, tags in _table()["r2_codes"].items()}


@lru_cache(maxsize=1)
def suspect_starts() -> Mapping[Dialect, ElementPlace]:
    """Return the places of the start dates of suspect and interacting drugs."""
    table = _table()
    shorthand = _expand(table["shorthand"])
    places = {dialect: _place(_fill(path, shorthand)) for dialect, path in table["suspect"].items()}
    return cast(dict[Dialect, ElementPlace], places)


def _table() -> dict[str, Any]:
    source = files("inverse_deid.formats.icsr.standard").joinpath("elements.toml")
    return tomllib.loads(source.read_text(encoding="utf-8"))


@lru_cache(maxsize=4)
def elements_in(dialect: Dialect, *, batch: bool) -> tuple[Element, ...]:
    """Return the elements that a case can contain, or (`batch`) the parts of a batch around its cases."""
    return tuple(e for e in elements().values() if dialect in e.places and e.batch == batch)


@lru_cache(maxsize=1)
def path_words() -> frozenset[str]:
    """Return names of XML elements and attributes that may be shown in a path: those of the table."""
    shown = {word for element in elements().values() for word in _words(element)}
    return frozenset(shown | {"MCCI_IN200100UV01", "PORR_IN049016UV", "ichicsr", "safetyreport"})


def _words(element: Element) -> Iterator[str]:
    for place in element.places.values():
        without_values = re.sub(r"'[^']*'", "", place.xpath.path)
        yield from re.findall(r"[A-Za-z][A-Za-z0-9]*", without_values)
        yield place.attribute


def _expand(shorthand: Mapping[str, str]) -> dict[str, str]:
    full: dict[str, str] = {}
    for name, text in shorthand.items():
        full[name] = _fill(text, full)
    return full


def _fill(text: str, shorthand: Mapping[str, str]) -> str:
    return re.sub(r"\{(\w+)\}", lambda match: shorthand[match[1]], text)


def _element(name: str, row: Mapping[str, Any], shorthand: Mapping[str, str]) -> Element:
    dialects: tuple[Dialect, ...] = ("r3", "r2")
    return Element(
        id=name,
        name=row["name"],
        kind=ElementKind(row["kind"]),
        max_length={"r3": row.get("max") or None, "r2": row.get("max_r2") or None},
        msk=row.get("msk", False),
        required=row.get("required", False),
        known=row.get("known", ""),
        places={d: _place(_fill(row[d], shorthand)) for d in dialects if d in row},
        batch=row.get("batch", False),
        whole=_compile(row["whole"]) if "whole" in row else None,
        form=row.get("form", ""),
        null=row.get("null", ""),
    )


def _place(xpath: str) -> ElementPlace:
    match = _ATTRIBUTE.fullmatch(xpath)
    if match is None or match["node"].endswith("["):
        return ElementPlace(_compile(xpath), "")
    return ElementPlace(_compile(match["node"]), match["name"])


def _compile(xpath: str) -> etree.XPath:
    return etree.XPath(xpath, namespaces=NAMESPACES, smart_strings=False)
