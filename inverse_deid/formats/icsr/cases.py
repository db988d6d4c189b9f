"""One case of a message: what to mask in it, what is known from it, and its rewritten form."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from lxml import etree

from inverse_deid.formats.icsr.allowed import Answers, allowed_strings
from inverse_deid.formats.icsr.dates import CaseDates, DateElement, parse_stamp
from inverse_deid.formats.icsr.dialects import MessageDialect
from inverse_deid.formats.icsr.elements import suspect_starts
from inverse_deid.formats.icsr.known import KnownValue, known_value
from inverse_deid.formats.icsr.profiles import Profile
from inverse_deid.formats.icsr.rewriting import (
    Replacements,
    Rewritten,
    rewrite,
)
from inverse_deid.formats.icsr.survey import Sort, Value, survey

CASE_ID = "C.1.1"


@dataclass(frozen=True, slots=True)
class TextElement:
    """One free text of a case.

    Args:
        element: Its E2B element, "" = none that is known.
        path: Where it stands.
        text: What it says.
        max_length: Longest text that may stand there, None = no limit stated.
    """

    element: str
    path: str
    text: str = field(repr=False)
    max_length: int | None


@dataclass(frozen=True, slots=True, eq=False)
class Case:
    """One case, or one of the elements around the cases of a batch, which is treated alike.

    Args:
        number: Which case of the file, from 1; 0 = an element around the cases.
        dialect: R3 or R2.
        node: Its XML, without comments and instructions.
        tail: What stands behind it in the batch (white space).
        values: All of its values that are not structure.
        n_nodes: Its XML elements.
    """

    number: int
    dialect: MessageDialect
    node: etree._Element = field(repr=False)
    tail: str = field(repr=False)
    values: tuple[Value, ...] = field(repr=False)
    n_nodes: int

    @property
    def is_case(self) -> bool:
        """Whether it is a case."""
        return self.number > 0

    @property
    def case_id(self) -> str:
        """The sender's safety report identifier, "" = none; as confidential as the case."""
        return next((value.text for value in self.values if value.element_id == CASE_ID), "")

    @property
    def free_texts(self) -> tuple[TextElement, ...]:
        """All free texts, in the order of the file; those without a known element, too."""
        return tuple(_text_element(value, self.dialect) for value in self._of(Sort.FREE_TEXT))

    @property
    def known_values(self) -> tuple[KnownValue, ...]:
        """Identifiers that must be masked in every free text of the case, each once."""
        named = ((value.element, value.text) for value in self.values if value.element is not None)
        found = (known_value(element.id, element.known, text) for element, text in named if element.known)
        return tuple(dict.fromkeys(value for value in found if value is not None))

    @property
    def dates(self) -> CaseDates:
        """The structured dates."""
        nodes = list(self.node.iter())
        suspects = suspect_starts()[self.dialect.name].nodes(self.node) if self.is_case else []
        dates = (_date_element(v, is_suspect=nodes[v.index] in suspects) for v in self._of(Sort.DATE))
        return CaseDates(tuple(dates))

    def rewrite(
        self, masked_texts: Sequence[str], profile: Profile, given: Replacements | None = None
    ) -> Rewritten:
        """Return the case with masked texts in place and its structured fields as the profile says.

        Args:
            masked_texts: One for each of `free_texts`.
            profile: What happens to the structured fields.
            given: The values of ids, dates and ages, as far as the profile asks for them.

        Raises:
            ConfigurationError: The profile asks for pseudonyms or dates and there is no source of them.
            StageError: Masked texts or pseudonyms that do not fit.
        """
        answers = Answers(given or Replacements())
        plan = (profile, answers.noting(), self.known_values)
        node, changes = rewrite(self.node, self.values, masked_texts, self.dialect, plan)
        allowed = allowed_strings(
            list(self.node.iter()), self.values, masked_texts, self.dialect, (profile, answers)
        )
        return Rewritten(node, changes, self.tail, allowed)

    def _of(self, sort: Sort) -> tuple[Value, ...]:
        return tuple(value for value in self.values if value.sort == sort)


def case_from(number: int, node: etree._Element, tail: str, dialect: MessageDialect) -> Case:
    """A case from its XML.

    Args:
        number: Which case of the file, from 1; 0 = an element around the cases.
        node: Without comments and instructions.
        tail: What stands behind it.
        dialect: R3 or R2.

    Raises:
        FormatError: An entity stands in it.
    """
    found = survey(node, dialect, batch=number == 0)
    return Case(number, dialect, node, tail, found.values, len(found.nodes))


def _date_element(value: Value, *, is_suspect: bool) -> DateElement:
    text = value.text.strip()
    return DateElement(value.element_id, value.path, text, parse_stamp(text), is_suspect)


def _text_element(value: Value, dialect: MessageDialect) -> TextElement:
    longest = None if value.element is None else value.element.max_length[dialect.name]
    return TextElement(value.element_id, value.path, value.text, longest)
