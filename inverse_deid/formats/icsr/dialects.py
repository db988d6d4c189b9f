"""What reading and rewriting must know of R3 and of R2."""

from __future__ import annotations

from enum import StrEnum
from typing import Protocol

from lxml import etree

from inverse_deid.formats.icsr.ages import AgeElement
from inverse_deid.formats.icsr.dates import StampDate
from inverse_deid.formats.icsr.elements import Dialect, Element


class Role(StrEnum):
    """What a string is that the table of elements does not name."""

    STRUCTURE = "structure"
    """A code, a number with its unit, an object identifier ...: kept."""
    DISPLAY = "display"
    """The words for a code that stands beside them: kept or left out."""
    DATE = "date"
    TEXT = "text"
    """Anything else: free text."""


class MessageDialect(Protocol):
    """R3 or R2."""

    @property
    def name(self) -> Dialect:
        """Which of the two."""
        ...

    @property
    def root_tag(self) -> str:
        """Name of the element around a batch."""
        ...

    @property
    def case_tag(self) -> str:
        """Name of the element that holds one case."""
        ...

    def role_of_attribute(self, node: etree._Element, name: str, value: str) -> Role:
        """What an attribute value is that the table does not name."""
        ...

    def may_leave(self, node: etree._Element, name: str, value: str) -> bool:
        """Whether an attribute value is structure that says nothing."""
        ...

    def role_of_text(self, node: etree._Element, text: str) -> Role:
        """What the text of an element is that the table does not name."""
        ...

    def is_code(self, node: etree._Element, text: str) -> bool:
        """Whether an element that may hold a code or words holds a code."""
        ...

    def is_file(self, node: etree._Element) -> bool:
        """Whether the text of an element is an embedded file."""
        ...

    def drop_file_marks(self, node: etree._Element) -> None:
        """Take away what says that the text of an element is a file."""
        ...

    def mask(self, node: etree._Element, element: Element) -> bool:
        """Put the sign for a masked value in the place of the value; False = there is no room for it."""
        ...

    def is_masked(self, node: etree._Element) -> bool:
        """Whether an element says that its value is masked."""
        ...

    def empty(self, node: etree._Element, attribute: str) -> None:
        """Take the value away, leave the element."""
        ...

    def leave_out(self, node: etree._Element, attribute: str, element: Element | None) -> None:
        """Take the element away."""
        ...

    def written(self, node: etree._Element, attribute: str) -> str:
        """The value of an attribute or, without one, the text."""
        ...

    def unit(self, node: etree._Element) -> str:
        """The unit of an age in UCUM, "" = none."""
        ...

    def write_age(self, node: etree._Element, attribute: str, age: AgeElement) -> None:
        """Write an age in the place of another, with its unit."""
        ...

    def write_date(self, node: etree._Element, attribute: str, date: StampDate) -> None:
        """Write a date in the place of one that is at least as precise."""
        ...


def leave_out(node: etree._Element) -> None:
    """Remove an XML element with the text behind it; white space behind it stays."""
    if node.tail and not node.tail.isspace():
        node.tail = None
    remove_keeping_tail(node)


def remove_keeping_tail(node: etree._Element) -> None:
    """Remove an XML element (or comment) from its parent; the text behind it stays."""
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
