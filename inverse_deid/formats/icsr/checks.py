"""Our own check of a rewritten case: what the schema of ICH does not catch.

The schema lets pass a masked element that still holds its value, MSK where it is not allowed,
and a narrative that is missing. A case with a finding must not be written.

Source: ICH E2B(R3) implementation guide, core data elements (null flavors, lengths, H.1).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from lxml import etree

from inverse_deid.core.errors import FormatError
from inverse_deid.formats.icsr.ages import AGE_GROUP, HIGH_AGE_YEARS, years_of
from inverse_deid.formats.icsr.cases import Case
from inverse_deid.formats.icsr.elements import Element, Kind, path_words
from inverse_deid.formats.icsr.known import KnownValueFinder
from inverse_deid.formats.icsr.profiles import Action, Profile
from inverse_deid.formats.icsr.r3 import BESIDE_A_MASK, VOCABULARY
from inverse_deid.formats.icsr.survey import TEXT, Paths, Sort, Survey, Value, all_text, bare_path, survey

NARRATIVE = "H.1"

_DIGIT = re.compile(r"\d")


class Rule(StrEnum):
    """What is wrong."""

    VALUE_LEFT = "the element should be masked, emptied or left out and still holds a value"
    MASK_NOT_ALLOWED = "the element says that it is masked where E2B does not allow it"
    NO_NARRATIVE = "the case narrative (H.1) is missing, empty or masked as a whole"
    TOO_LONG = "the text is longer than the element may hold"
    KNOWN_VALUE = "an identifier that the case states still stands there"
    ATTACHMENT_LEFT = "an embedded file is still there"
    NOT_READABLE = "the rewritten case cannot be read again"


@dataclass(frozen=True, slots=True)
class Finding:
    """Something wrong with a rewritten case; never a value.

    Args:
        rule: What is wrong.
        element: Its E2B element, "" = none that is known.
        path: Where.
    """

    rule: Rule
    element: str
    path: str


def check_case(case: Case, rewritten: etree._Element, profile: Profile) -> tuple[Finding, ...]:
    """What is wrong with a rewritten case; raises nothing.

    Args:
        case: As it was read.
        rewritten: Its rewritten XML.
        profile: By which it was rewritten.

    Returns:
        Nothing if it may be written.
    """
    try:
        found = survey(rewritten, case.dialect, batch=not case.is_case)
    except FormatError:
        return (Finding(Rule.NOT_READABLE, "", ""),)
    return tuple(dict.fromkeys(_Check(case, found, profile).findings()))


class _Check:
    """Looks at one rewritten case."""

    def __init__(self, case: Case, found: Survey, profile: Profile) -> None:
        self._case = case
        self._dialect = case.dialect
        self._found = found
        self._profile = profile
        self._paths = Paths(found.nodes[0])
        self._before = {(value.element_id, value.text) for value in case.values}

    def findings(self) -> Iterator[Finding]:
        """All of them; the same one may come twice."""
        for value in self._found.values:
            yield from self._value_left(value)
        yield from self._masks()
        yield from self._narrative()
        yield from self._lengths()
        yield from self._known_values()

    def _value_left(self, value: Value) -> Iterator[Finding]:
        """A structured value that should not be there any more."""
        if value.sort == Sort.ATTACHMENT and self._profile.attachments == Action.DROP:
            yield Finding(Rule.ATTACHMENT_LEFT, value.element_id, value.path)
        if value.element is None or value.sort not in (Sort.IDENTIFIER, Sort.DATE, Sort.AGE, Sort.PRODUCT):
            return
        action = self._profile.actions[value.element_id]
        is_left = {
            Action.MASK: not self._dialect.is_masked(self._found.nodes[value.index]),
            Action.BLANK: True,
            Action.DROP: True,
            Action.AGE: value.element_id != AGE_GROUP and not self._is_below_90(value),
            Action.PSEUDONYM: (value.element_id, value.text) in self._before,
        }
        if is_left.get(action, False):
            yield Finding(Rule.VALUE_LEFT, value.element_id, value.path)

    def _is_below_90(self, value: Value) -> bool:
        """Whether an age is surely below 90 years."""
        years = years_of(value.text, self._dialect.unit(self._found.nodes[value.index]))
        return years is not None and years < HIGH_AGE_YEARS

    def _masks(self) -> Iterator[Finding]:
        """Every element that says that it is masked: may it (or did it before), and is it empty?"""
        before = self._masked_before()
        for index, node in enumerate(self._found.nodes):
            if not self._dialect.is_masked(node):
                continue
            element = self._masked_element(index)
            name, path = "" if element is None else element.id, self._paths.of(node, TEXT)
            may_be_masked = element is not None and element.msk
            if not may_be_masked and bare_path(path) not in before:
                yield Finding(Rule.MASK_NOT_ALLOWED, name, path)
            if self._dialect.name == "r3" and _holds_something(node):
                yield Finding(Rule.VALUE_LEFT, name, path)

    def _masked_before(self) -> set[str]:
        """Where the case said before it was rewritten that a value is masked."""
        paths = Paths(self._case.node)
        nodes = (node for node in self._case.node.iter() if self._dialect.is_masked(node))
        return {bare_path(paths.of(node, TEXT)) for node in nodes}

    def _masked_element(self, index: int) -> Element | None:
        """The known element whose value stood in an XML element."""
        named = self._found.named
        return next(
            (named[index, slot] for slot in (TEXT, "value", "extension", "code") if (index, slot) in named),
            None,
        )

    def _narrative(self) -> Iterator[Finding]:
        """R2 may lack a narrative, but not lose it."""
        had_one = any(value.element_id == NARRATIVE for value in self._case.values)
        if not self._case.is_case or (self._dialect.name == "r2" and not had_one):
            return
        nodes = self._found.nodes_of(NARRATIVE)
        if not nodes:
            yield Finding(Rule.NO_NARRATIVE, NARRATIVE, "")
        for node in nodes:
            if self._dialect.is_masked(node) or not all_text(node).strip():
                yield Finding(Rule.NO_NARRATIVE, NARRATIVE, self._paths.of(node, TEXT))

    def _lengths(self) -> Iterator[Finding]:
        """Free texts, and ids that are new."""
        for (index, _), element in self._found.named.items():
            longest, node = element.max_length[self._dialect.name], self._found.nodes[index]
            if element.kind == Kind.FREE_TEXT and longest is not None and len(all_text(node)) > longest:
                yield Finding(Rule.TOO_LONG, element.id, self._paths.of(node, TEXT))
        for value in self._found.values:
            longest = None if value.element is None else value.element.max_length[self._dialect.name]
            is_new_id = value.sort == Sort.IDENTIFIER and (value.element_id, value.text) not in self._before
            if is_new_id and longest is not None and len(value.text) > longest:
                yield Finding(Rule.TOO_LONG, value.element_id, value.path)

    def _known_values(self) -> Iterator[Finding]:
        """Identifiers that the profile takes away, where they may not stand.

        A field that the profile keeps may hold the same value (the sender's organisation may be
        that of the reporter). Numbers are looked for in texts only, not in codes.
        """
        removed = [value for value in self._case.known_values if self._profile.removes(value.element)]
        anywhere = KnownValueFinder(removed)
        for value in self._found.values:
            if value.sort in (Sort.FREE_TEXT, Sort.DISPLAY, Sort.FILE) and anywhere.finds(value.text):
                yield Finding(Rule.KNOWN_VALUE, value.element_id, value.path)
        names = KnownValueFinder(value for value in removed if not _DIGIT.search(value.value))
        yield from self._names_in_structure(names)

    def _names_in_structure(self, names: KnownValueFinder) -> Iterator[Finding]:
        """Names in attributes, and in what XML itself lets one choose: tags, prefixes, namespaces."""
        valued = {(value.index, value.slot) for value in self._found.values}
        for index, node in enumerate(self._found.nodes):
            for name, text in node.attrib.items():
                slot, value = str(name), str(text)
                if (index, slot) in valued or value in VOCABULARY:
                    continue
                if names.finds(value):
                    yield Finding(Rule.KNOWN_VALUE, "", self._paths.of(node, slot))
        chosen = {etree.QName(node).localname for node in self._found.nodes} - path_words()
        spaces = etree.iterwalk(self._found.nodes[0], events=("start-ns",))
        chosen.update(f"{prefix} {uri}" for _, (prefix, uri) in spaces)
        if any(names.finds(text) for text in chosen):
            yield Finding(Rule.KNOWN_VALUE, "", "*")


def _holds_something(node: etree._Element) -> bool:
    """Whether an R3 element that says that it is masked has more than the sign for it."""
    attributes = {str(name) for name in node.attrib} - BESIDE_A_MASK
    return bool(attributes) or len(node) > 0 or bool((node.text or "").strip())
