"""Finding every value of a case that is not structure, with its entry in the table of elements.

Nothing is skipped: each text and each attribute value of the XML is the value of a known element, or has the
form of structure, or is free text without a name, which is masked and listed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import cast

from lxml import etree

from inverse_deid.core.errors import FormatError
from inverse_deid.core.wording import N_, _
from inverse_deid.formats.icsr.standard.ages import is_age
from inverse_deid.formats.icsr.standard.dates import is_stamp
from inverse_deid.formats.icsr.standard.dialects import MessageDialect, StringRole
from inverse_deid.formats.icsr.standard.elements import Dialect, Element, ElementKind, elements_in, path_words
from inverse_deid.formats.icsr.standard.forms import has_form, is_display
from inverse_deid.formats.icsr.standard.vocabulary import is_known_attribute, is_known_element

_POSITION = re.compile(r"\[\d+\]")

TEXT = "text()"
TAIL = "tail()"
WHOLE = "string()"
"""Slots of a value: an element's text, the text after it, its text with that of all elements in it. Any other
slot is the name of an attribute."""


class Sort(StrEnum):
    """How a value is treated."""

    FREE_TEXT = N_("free text")
    IDENTIFIER = "identifier"
    DATE = "date"
    AGE = "age"
    PRODUCT = "product"
    ATTACHMENT = "attachment"
    FILE = "file"
    """An embedded file where none is expected."""
    DISPLAY = "display"


@dataclass(frozen=True, slots=True)
class Value:
    """One value of a case."""

    index: int  # which XML element of the case, in document order
    slot: str  # its text, the text after it, or the name of an attribute
    sort: Sort
    element: Element | None  # its entry in the table, None = no entry
    path: str  # its place; names that the table does not use are shown as `*`
    text: str = field(repr=False)

    @property
    def element_id(self) -> str:
        """Id of the element, "" = none."""
        return "" if self.element is None else self.element.id


_SORT_OF_KIND = {
    ElementKind.FREE_TEXT: Sort.FREE_TEXT,
    ElementKind.IDENTIFIER: Sort.IDENTIFIER,
    ElementKind.DATE: Sort.DATE,
    ElementKind.AGE: Sort.AGE,
    ElementKind.PRODUCT: Sort.PRODUCT,
    ElementKind.ATTACHMENT: Sort.ATTACHMENT,
}


@dataclass(frozen=True, slots=True, eq=False)
class Survey:
    nodes: tuple[etree._Element, ...] = field(repr=False)  # in document order
    named: Mapping[tuple[int, str], Element] = field(repr=False)  # by index and slot
    values: tuple[Value, ...] = field(repr=False)  # all that are not structure

    def nodes_of(self, element: str) -> list[etree._Element]:
        return [self.nodes[index] for (index, _), known in self.named.items() if known.id == element]


def survey(root: etree._Element, dialect: MessageDialect, *, batch: bool) -> Survey:
    """Return the contents of a case without comments, or (`batch`) of a part of a batch around its cases.

    Raises:
        FormatError: It contains an entity.
    """
    nodes = list(root.iter())
    if not all(isinstance(node.tag, str) for node in nodes):
        raise FormatError(_("contains an entity reference. Write the character itself"))
    surveyor = _Surveyor(nodes, dialect, batch=batch)
    return Survey(tuple(nodes), surveyor.named, tuple(surveyor.values()))


class _Surveyor:
    def __init__(self, nodes: list[etree._Element], dialect: MessageDialect, *, batch: bool) -> None:
        self._nodes = nodes
        self._dialect = dialect
        self._index = {node: index for index, node in enumerate(nodes)}
        self._no_ages: set[tuple[int, str]] = set()  # not an age where one should be
        self.named = self._find_named_slots(batch=batch)
        self._named_nodes = {nodes[index] for index, _ in self.named}
        self._paths = Paths(nodes[0])
        self._owners: dict[int, Element | None] = {}
        self._done: set[int] = set()  # inside a file or joined words, which are removed as a whole
        self._taken: set[int] = set()  # inside a structured value: its text went with it

    def _find_named_slots(self, *, batch: bool) -> dict[tuple[int, str], Element]:
        named: dict[tuple[int, str], Element] = {}
        for element in elements_in(self._dialect.name, batch=batch):
            place = element.places[self._dialect.name]
            for node in place.nodes(self._nodes[0]):
                slot = (self._index[node], place.attribute or TEXT)
                written = self._dialect.read_value(node, place.attribute)
                if element.kind == ElementKind.AGE and not is_age(written, element.id):
                    self._no_ages.add(slot)
                else:
                    named.setdefault(slot, element)
        return named

    def values(self) -> Iterator[Value]:
        # The values can be run through once.
        for index, node in enumerate(self._nodes):
            if index not in self._done and index not in self._taken:
                yield from self._text(index, node)
            if index not in self._done:
                yield from self._attributes(index, node)
            if index:
                yield from self._tail(index, node)

    def _text(self, index: int, node: etree._Element) -> Iterator[Value]:
        element = self.named.get((index, TEXT)) or self._owner_above(node)
        if element is None and not node.text and not len(node):
            return
        if element is not None and element.kind != ElementKind.FREE_TEXT:
            yield from self._whole(index, node, _SORT_OF_KIND[element.kind], element)
        elif self._dialect.is_file(node):
            yield from self._whole(index, node, Sort.FILE, element)
        else:
            self._owners[index] = element
            if self._is_broken_up(node, element):
                self._done.update(self._index[n] for n in node.iterdescendants())
                yield self._value(index, WHOLE, Sort.FREE_TEXT, element, all_text(node))
                return
            text = node.text
            if not text or text.isspace():
                return
            is_structure = element is None and self._dialect.role_of_text(node, text) == StringRole.STRUCTURE
            is_structure |= self._dialect.is_code(node, text)
            if (index, TEXT) in self._no_ages or not is_structure:
                yield self._value(index, TEXT, Sort.FREE_TEXT, element, text)

    def _whole(
        self, index: int, node: etree._Element, sort: Sort, element: Element | None
    ) -> Iterator[Value]:
        is_file = sort in (Sort.ATTACHMENT, Sort.FILE)
        (self._done if is_file else self._taken).update(self._index[n] for n in node.iterdescendants())
        text = all_text(node).strip()
        if text or (is_file and len(node)):
            yield self._value(index, TEXT, sort, element, text)

    def _is_broken_up(self, node: etree._Element, element: Element | None) -> bool:
        # A name could be divided between two of them.
        if not len(node) or any(n in self._named_nodes for n in node.iterdescendants()):
            return False
        if sum(not str(piece).isspace() for piece in node.itertext()) < 2:
            return False
        between = [node.text, *(child.tail for child in node)]
        return element is not None or any(text and not text.isspace() for text in between)

    def _attributes(self, index: int, node: etree._Element) -> Iterator[Value]:
        for name, text in node.attrib.items():
            key, value = str(name), str(text)
            if not value or value.isspace():
                continue
            element = self.named.get((index, key))
            if element is not None:
                yield self._value(index, key, _SORT_OF_KIND[element.kind], element, value)
                continue
            role = self._dialect.role_of_attribute(node, key, value)
            sort = Sort.FREE_TEXT if (index, key) in self._no_ages else _SORT_OF_ROLE[role]
            if sort is not None:
                yield self._value(index, key, sort, None, value)

    def _tail(self, index: int, node: etree._Element) -> Iterator[Value]:
        # Unless it was taken with the element around it.
        text, parent = node.tail, node.getparent()
        if not text or text.isspace() or parent is None or index in self._done or index in self._taken:
            return
        yield self._value(index, TAIL, Sort.FREE_TEXT, self._owner_above(node), text)

    def _owner_above(self, node: etree._Element) -> Element | None:
        parent = node.getparent()
        return None if parent is None else self._owners.get(self._index.get(parent, -1))

    def _value(self, index: int, slot: str, sort: Sort, element: Element | None, text: str) -> Value:
        return Value(index, slot, sort, element, self._paths.of(self._nodes[index], slot), text)


_SORT_OF_ROLE = {
    StringRole.STRUCTURE: None,
    StringRole.DISPLAY: Sort.DISPLAY,
    StringRole.DATE: Sort.DATE,
    StringRole.TEXT: Sort.FREE_TEXT,
}


def is_as_expected(value: Value, dialect: Dialect) -> bool:
    """Return whether a value is what its element is for: a date a date, a lot number a lot number.

    A kept value may leave only if it is.
    """
    if value.sort == Sort.DATE:
        return is_stamp(value.text.strip())
    if value.sort == Sort.DISPLAY:
        return is_display(value.text)
    if value.sort not in (Sort.IDENTIFIER, Sort.PRODUCT) or value.element is None:
        return True
    return has_form(value.element.form, value.text, value.element.max_length[dialect])


@dataclass(frozen=True, slots=True)
class UnknownName:
    """An element or attribute that the standard does not know; its name may say anything and is not shown."""

    node: etree._Element = field(repr=False)
    attribute: str = field(repr=False)  # "" = the element itself
    path: str
    line: int | None  # of the file
    holds_known: bool = False  # elements of the standard are in it, whose loss would change the case


def find_unknown_names(root: etree._Element, dialect: Dialect) -> list[UnknownName]:
    """Return the elements and attributes that the standard does not know; none is inside another."""
    paths = Paths(root)
    found: list[UnknownName] = []
    inside: set[etree._Element] = set()
    for node in root.iter():
        parent = node.getparent()
        line = cast("int | None", node.sourceline)
        if parent in inside:
            inside.add(node)
        elif node is not root and not is_known_element(str(node.tag), dialect):
            inside.add(node)
            holds_known = any(is_known_element(str(one.tag), dialect) for one in node.iterdescendants())
            found.append(UnknownName(node, "", paths.of(node, TEXT), line, holds_known))
        else:
            unknown = [str(name) for name in node.attrib if not is_known_attribute(str(name), dialect)]
            found += [UnknownName(node, name, paths.of(node, name), line) for name in unknown]
    return found


def bare_path(path: str) -> str:
    """Return a path without positions, so that the same place of all cases is counted together.

    Example:
        >>> bare_path("patient/drug[2]/drugadditional")
        'patient/drug/drugadditional'
    """
    return _POSITION.sub("", path)


def all_text(node: etree._Element) -> str:
    return "".join(str(piece) for piece in node.itertext())


class Paths:
    """Paths from the case on, with positions among siblings of the same name."""

    def __init__(self, root: etree._Element) -> None:
        self._shown = path_words() | _ALSO_SHOWN
        self._of_node = {root: ""}
        self._root_name = self._name(str(root.tag))

    def of(self, node: etree._Element, slot: str) -> str:
        inner = self._path(node)
        if slot in (TEXT, WHOLE):
            return inner or self._root_name
        step = TAIL if slot == TAIL else f"@{self._name(slot)}"
        return f"{inner}/{step}" if inner else step

    def _path(self, node: etree._Element) -> str:
        path = self._of_node.get(node)
        if path is None:
            parent = node.getparent()
            above = "" if parent is None else self._path(parent)
            path = f"{above}/{self._step(node)}" if above else self._step(node)
            self._of_node[node] = path
        return path

    def _step(self, node: etree._Element) -> str:
        tag = str(node.tag)
        n_before = sum(1 for _ in node.itersiblings(tag, preceding=True))
        is_one_of_many = n_before or next(node.itersiblings(tag), None) is not None
        return f"{self._name(tag)}[{n_before + 1}]" if is_one_of_many else self._name(tag)

    def _name(self, tag: str) -> str:
        name = tag.rpartition("}")[2]
        return name if name in self._shown else "*"


_ALSO_SHOWN = frozenset(
    ("displayName", "codeSystemName", "language", "mediaType", "qualifier", "use", "unit", "lang", "country")
)
