"""One case of a message: texts, dates and identifiers, its rewritten form, and what that may contain.

The allowed strings are found without the code that rewrites: the masked texts, the new ids, dates and ages,
and the values that the profile keeps. `checks.check_case` looks for everything else in the XML that is about
to be written.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from typing import ParamSpec, TypeVar

from lxml import etree

from inverse_deid.core.values import KnownIdentifier, KnownSort
from inverse_deid.formats.icsr.known import KnownValue, find_known_value
from inverse_deid.formats.icsr.rewriting import CaseRewriter, Replacements, RewrittenCase, fit_text
from inverse_deid.formats.icsr.standard.dates import (
    DateElement,
    ReportDates,
    StampDate,
    is_stamp,
    parse_stamp,
    stamp_with,
)
from inverse_deid.formats.icsr.standard.dialects import PRIVACY, MessageDialect
from inverse_deid.formats.icsr.standard.elements import Dialect, suspect_starts
from inverse_deid.formats.icsr.standard.profiles import FieldAction, Profile
from inverse_deid.formats.icsr.survey import Sort, Value, all_text, is_as_expected, survey

CASE_ID = "C.1.1"

_PERSONS = (
    ("C.2.r.1.2", "C.2.r.1.3", "C.2.r.1.4"),
    ("C.3.3.3", "C.3.3.4", "C.3.3.5"),
    ("A.3.2.2d", "A.3.2.2e", "A.3.2.2f"),
)
"""Given, middle and family name."""

_PARTS_OF_NAMES = {
    element: (person, part) for person, parts in enumerate(_PERSONS) for part, element in enumerate(parts)
}
_NAME_STEPS = re.compile(r"(?:/name(?:\[\d+\])?)?/[^/]*$")

_Given = ParamSpec("_Given")
_Answer = TypeVar("_Answer")


@dataclass(frozen=True, slots=True)
class TextElement:
    """One free text of a case."""

    element: str  # its E2B element, "" = not known
    path: str  # its place in the case
    text: str = field(repr=False)
    max_length: int | None  # longest text of the element in characters, None = no limit stated


@dataclass(frozen=True, slots=True, eq=False)
class Case:
    """One case, or one of the elements around the cases of a batch, which is treated like a case."""

    number: int  # which case of the file, from 1; 0 = an element around the cases
    dialect: MessageDialect
    node: etree._Element = field(repr=False)  # its XML, without comments and instructions
    tail: str = field(repr=False)  # the white space after it in the batch
    values: tuple[Value, ...] = field(repr=False)  # all of its values that are not structure
    n_nodes: int

    @property
    def is_case(self) -> bool:
        return self.number > 0

    @property
    def case_id(self) -> str:
        """The sender's safety report identifier, "" = none; as confidential as the case."""
        return next((value.text for value in self.values if value.element_id == CASE_ID), "")

    @property
    def free_texts(self) -> tuple[TextElement, ...]:
        """All free texts, in the order of the file, also those without a known element."""
        name = self.dialect.name
        return tuple(
            TextElement(
                v.element_id, v.path, v.text, None if v.element is None else v.element.max_length[name]
            )
            for v in self._of(Sort.FREE_TEXT)
        )

    @property
    def known_values(self) -> tuple[KnownValue, ...]:
        """Identifiers that must be masked in every free text of the case, each once."""
        named = ((value.element, value.text) for value in self.values if value.element is not None)
        found = (
            find_known_value(element.id, element.known, text) for element, text in named if element.known
        )
        return tuple(dict.fromkeys(value for value in found if value is not None))

    @property
    def dates(self) -> ReportDates:
        nodes = list(self.node.iter())
        suspects = suspect_starts()[self.dialect.name].nodes(self.node) if self.is_case else []
        stamps = [(v, v.text.strip()) for v in self._of(Sort.DATE)]
        return ReportDates(
            tuple(
                DateElement(v.element_id, v.path, stamp, parse_stamp(stamp), nodes[v.index] in suspects)
                for v, stamp in stamps
            )
        )

    def rewrite(
        self, masked_texts: Sequence[str], profile: Profile, given: Replacements | None = None
    ) -> RewrittenCase:
        """Return the case with a masked text for each of `free_texts`, and its fields as the profile says.

        Raises:
            ConfigurationError: The profile asks for pseudonyms or dates that `given` lacks.
            StageError: Masked texts or pseudonyms do not fit.
        """
        given = given or Replacements()
        answers: set[str] = set()
        noting = replace(
            given,
            pseudonym=_note(given.pseudonym, lambda answer, *_: answer.strip(), answers),
            date_value=_note(given.date_value, lambda new, date: stamp_with(date.value, new), answers),
            age_value=_note(given.age_value, lambda age, _: age.number.strip(), answers),
        )
        rewriter = CaseRewriter(self.dialect, profile, noting, self.known_values)
        node, changes = rewriter.rewrite(self.node, self.values, masked_texts)
        allowed = self._list_allowed(masked_texts, profile, given.marker)
        return RewrittenCase(node, changes, self.tail, allowed | answers)

    def _list_allowed(self, masked_texts: Sequence[str], profile: Profile, marker: str) -> frozenset[str]:
        # All strings, other than structure and answers, that the rewritten case may contain.
        allowed = {marker}
        if self.dialect.name == "r2":
            allowed.add(PRIVACY)
        for text, masked in zip(self.free_texts, masked_texts, strict=True):
            allowed.add(fit_text(masked, text.max_length, marker).strip())
        nodes = list(self.node.iter())
        for value in self.values:
            allowed.update(_list_kept(value, nodes[value.index], profile, self.dialect.name))
        return frozenset(allowed)

    def _of(self, sort: Sort) -> tuple[Value, ...]:
        return tuple(value for value in self.values if value.sort == sort)


def case_from(number: int, node: etree._Element, tail: str, dialect: MessageDialect) -> Case:
    """Return a case from its XML, which has no comments and instructions; see `Case`.

    Raises:
        FormatError: It contains an entity.
    """
    found = survey(node, dialect, batch=number == 0)
    return Case(number, dialect, node, tail, found.values, len(found.nodes))


def _note(
    function: Callable[_Given, _Answer] | None, write: Callable[..., str], answers: set[str]
) -> Callable[_Given, _Answer] | None:
    # Answers are noted as `write` writes them.
    if function is None:
        return None

    def answer(*given: _Given.args, **named: _Given.kwargs) -> _Answer:
        found = function(*given, **named)
        if found is not None:
            answers.add(write(found, *given))
        return found

    return answer


def _list_kept(value: Value, node: etree._Element, profile: Profile, dialect: Dialect) -> Iterator[str]:
    if _keeps(value, profile, dialect):
        yield value.text.strip()
        yield from (text.strip() for text in _pieces(value, node))
    elif value.sort == Sort.DATE and value.element is not None and value.element.required:
        date = parse_stamp(value.text.strip()) if is_stamp(value.text.strip()) else None
        if date is not None:
            yield StampDate(date.year).digits  # the year of a date that may not be missing


def _pieces(value: Value, node: etree._Element) -> Iterator[str]:
    # Of a file also their attributes.
    if value.text.strip() != all_text(node).strip() and value.sort != Sort.ATTACHMENT:
        return
    yield from map(str, node.itertext())
    if value.sort == Sort.ATTACHMENT:
        yield from (str(text) for inner in node.iterdescendants() for text in inner.attrib.values())


def _keeps(value: Value, profile: Profile, dialect: Dialect) -> bool:
    match value.sort:
        case Sort.FREE_TEXT | Sort.FILE:
            return False
        case Sort.ATTACHMENT:
            return profile.attachments == FieldAction.KEEP
        case Sort.DISPLAY:
            return profile.display_names == FieldAction.KEEP and is_as_expected(value, dialect)
        case _ if value.element is None:
            return profile.other_dates == FieldAction.KEEP and is_as_expected(value, dialect)
        case _:
            is_kept = profile.actions[value.element_id] == FieldAction.KEEP
            return is_kept and is_as_expected(value, dialect)


def list_known_identifiers(case: Case) -> Iterator[KnownIdentifier]:
    """Yield the identifiers of persons in the fields of a case, and all dates that are known to the day."""
    for value in case.known_values:
        yield KnownIdentifier(value.value, KnownSort(value.sort))
    for person in _persons(case):
        for parts in product(*(names or ("",) for names in person)):
            whole = " ".join(part for part in parts if part)
            if " " in whole:
                yield KnownIdentifier(whole, KnownSort.NAME)
    for found in case.dates.every:
        if found.date is not None and found.date.day is not None:
            yield KnownIdentifier(found.date.digits, KnownSort.DATE)


def _persons(case: Case) -> Iterator[Sequence[Sequence[str]]]:
    # Two reporters have two places.
    persons: dict[tuple[str, int], tuple[dict[str, None], ...]] = {}
    for value in case.values:
        if value.element is None or value.element_id not in _PARTS_OF_NAMES:
            continue
        found = find_known_value(value.element_id, value.element.known, value.text)
        sort, part = _PARTS_OF_NAMES[value.element_id]
        person = persons.setdefault((_NAME_STEPS.sub("", value.path), sort), ({}, {}, {}))
        person[part].update({} if found is None else {found.value: None})
    yield from (tuple(map(tuple, person)) for person in persons.values())
