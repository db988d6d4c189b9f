"""The check of a rewritten case: faults that the schema of ICH does not find.

The schema accepts a masked element that still has its value, MSK where it is not allowed, and a missing
narrative. A case with a finding must not be written. A string that is not on the list of allowed strings is a
finding, wherever it is.

Source: ICH E2B(R3) implementation guide, core data elements (null flavors, lengths, H.1).
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterator
from dataclasses import dataclass
from enum import StrEnum

from lxml import etree

from inverse_deid.core.errors import FormatError
from inverse_deid.core.wording import N_
from inverse_deid.formats.icsr.cases import Case
from inverse_deid.formats.icsr.known import KnownValueFinder
from inverse_deid.formats.icsr.standard.ages import AGE_GROUP, HIGH_AGE_YEARS, years_of
from inverse_deid.formats.icsr.standard.dialects import BESIDE_A_MASK, MessageDialect, StringRole
from inverse_deid.formats.icsr.standard.elements import Element, ElementKind, path_words
from inverse_deid.formats.icsr.standard.profiles import FieldAction, Profile
from inverse_deid.formats.icsr.standard.vocabulary import (
    is_known_attribute,
    is_known_element,
    is_known_namespace,
    is_word,
)
from inverse_deid.formats.icsr.survey import (
    TAIL,
    TEXT,
    Paths,
    Sort,
    Survey,
    Value,
    all_text,
    bare_path,
    survey,
)

NARRATIVE = "H.1"

_DIGIT = re.compile(r"\d")


class Rule(StrEnum):
    VALUE_LEFT = N_("the element should be masked, emptied or left out, but still has a value")
    MASK_NOT_ALLOWED = N_("the element says that it is masked where E2B does not allow it")
    NO_NARRATIVE = N_("the case narrative (H.1) is missing, empty or masked as a whole")
    TOO_LONG = N_("the text is longer than the element allows")
    KNOWN_VALUE = N_("the text contains an identifier that the case states")
    ATTACHMENT_LEFT = N_("an embedded file was left")
    UNEXPECTED = N_("a value is neither masked, nor kept, nor part of the standard")
    UNKNOWN_NAME = N_("an element, attribute or namespace has a name that the standard does not know")
    NOT_READABLE = N_("the rewritten case cannot be read again")


@dataclass(frozen=True, slots=True)
class Finding:
    """Something wrong with a rewritten case; never a value."""

    rule: Rule
    element: str  # its E2B element, "" = not known
    path: str


def check_case(
    case: Case, rewritten: etree._Element, profile: Profile, allowed: Container[str]
) -> tuple[Finding, ...]:
    """Return what is wrong with a rewritten case; raise nothing.

    Args:
        case: As it was read.
        rewritten: Its rewritten XML, read again from the bytes that are about to be written.
        profile: By which it was rewritten.
        allowed: All strings, other than structure, that it may contain (`RewrittenCase.allowed`).

    Returns:
        Nothing if it may be written.
    """
    try:
        found = survey(rewritten, case.dialect, batch=not case.is_case)
    except FormatError:
        return (Finding(Rule.NOT_READABLE, "", ""),)
    findings = [*_Check(case, found, profile).find_all(), *_find_strangers(rewritten, case.dialect, allowed)]
    return tuple(dict.fromkeys(findings))


def _find_strangers(
    root: etree._Element, dialect: MessageDialect, allowed: Container[str]
) -> Iterator[Finding]:
    paths = Paths(root)
    for node in root.iter():
        if not is_known_element(str(node.tag), dialect.name):
            yield Finding(Rule.UNKNOWN_NAME, "", paths.of(node, TEXT))
        text = node.text or ""
        is_structure = dialect.is_code(node, text) or dialect.role_of_text(node, text) == StringRole.STRUCTURE
        if not is_structure and not _is_allowed(text, allowed):
            yield Finding(Rule.UNEXPECTED, "", paths.of(node, TEXT))
        if node is not root and not _is_allowed(node.tail, allowed):
            yield Finding(Rule.UNEXPECTED, "", paths.of(node, TAIL))
        for name, value in ((str(name), str(value)) for name, value in node.attrib.items()):
            if not is_known_attribute(name, dialect.name):
                yield Finding(Rule.UNKNOWN_NAME, "", paths.of(node, name))
            if not _is_allowed(value, allowed) and not dialect.may_leave(node, name, value):
                yield Finding(Rule.UNEXPECTED, "", paths.of(node, name))
    declared = (declaration for _, declaration in etree.iterwalk(root, events=("start-ns",)))
    if not all(is_known_namespace(prefix or None, uri) for prefix, uri in declared):
        yield Finding(Rule.UNKNOWN_NAME, "", "*")


def _is_allowed(text: str | None, allowed: Container[str]) -> bool:
    return not text or text.isspace() or text.strip() in allowed


class _Check:
    def __init__(self, case: Case, found: Survey, profile: Profile) -> None:
        self._case = case
        self._dialect = case.dialect
        self._found = found
        self._profile = profile
        self._paths = Paths(found.nodes[0])
        self._before = {(value.element_id, value.text) for value in case.values}

    def find_all(self) -> Iterator[Finding]:
        # The same one may occur twice.
        for value in self._found.values:
            yield from self._check_value(value)
        yield from self._check_masks()
        yield from self._check_narrative()
        yield from self._check_lengths()
        yield from self._check_known_values()

    def _check_value(self, value: Value) -> Iterator[Finding]:
        if value.sort == Sort.ATTACHMENT and self._profile.attachments == FieldAction.DROP:
            yield Finding(Rule.ATTACHMENT_LEFT, value.element_id, value.path)
        if value.element is None or value.sort not in (Sort.IDENTIFIER, Sort.DATE, Sort.AGE, Sort.PRODUCT):
            return
        action, node = self._profile.actions[value.element_id], self._found.nodes[value.index]
        years = years_of(value.text, self._dialect.unit(node))
        is_below_90 = years is not None and years < HIGH_AGE_YEARS
        is_left = {
            FieldAction.MASK: not self._dialect.is_masked(node),
            FieldAction.BLANK: True,
            FieldAction.DROP: True,
            FieldAction.AGE: value.element_id != AGE_GROUP and not is_below_90,
            FieldAction.PSEUDONYM: (value.element_id, value.text) in self._before,
        }
        if is_left.get(action, False):
            yield Finding(Rule.VALUE_LEFT, value.element_id, value.path)

    def _check_masks(self) -> Iterator[Finding]:
        paths = Paths(self._case.node)
        nodes = (node for node in self._case.node.iter() if self._dialect.is_masked(node))
        before = {bare_path(paths.of(node, TEXT)) for node in nodes}
        for index, node in enumerate(self._found.nodes):
            if not self._dialect.is_masked(node):
                continue
            element = self._find_masked_element(index)
            name, path = "" if element is None else element.id, self._paths.of(node, TEXT)
            may_be_masked = element is not None and element.msk
            if not may_be_masked and bare_path(path) not in before:
                yield Finding(Rule.MASK_NOT_ALLOWED, name, path)
            attributes = {str(slot) for slot in node.attrib} - BESIDE_A_MASK
            is_empty = not attributes and not len(node) and not (node.text or "").strip()
            if self._dialect.name == "r3" and not is_empty:
                yield Finding(Rule.VALUE_LEFT, name, path)

    def _find_masked_element(self, index: int) -> Element | None:
        named = self._found.named
        return next(
            (named[index, slot] for slot in (TEXT, "value", "extension", "code") if (index, slot) in named),
            None,
        )

    def _check_narrative(self) -> Iterator[Finding]:
        # R2 may lack a narrative, but not lose it.
        had_one = any(value.element_id == NARRATIVE for value in self._case.values)
        if not self._case.is_case or (self._dialect.name == "r2" and not had_one):
            return
        nodes = self._found.nodes_of(NARRATIVE)
        if not nodes:
            yield Finding(Rule.NO_NARRATIVE, NARRATIVE, "")
        for node in nodes:
            if self._dialect.is_masked(node) or not all_text(node).strip():
                yield Finding(Rule.NO_NARRATIVE, NARRATIVE, self._paths.of(node, TEXT))

    def _check_lengths(self) -> Iterator[Finding]:
        for (index, _ignored), element in self._found.named.items():
            longest, node = element.max_length[self._dialect.name], self._found.nodes[index]
            if (
                element.kind == ElementKind.FREE_TEXT
                and longest is not None
                and len(all_text(node)) > longest
            ):
                yield Finding(Rule.TOO_LONG, element.id, self._paths.of(node, TEXT))
        for value in self._found.values:
            longest = None if value.element is None else value.element.max_length[self._dialect.name]
            is_new_id = value.sort == Sort.IDENTIFIER and (value.element_id, value.text) not in self._before
            if is_new_id and longest is not None and len(value.text) > longest:
                yield Finding(Rule.TOO_LONG, value.element_id, value.path)

    def _check_known_values(self) -> Iterator[Finding]:
        # A field that the profile keeps may have the same value (sender and reporter may have the same
        # organisation). Numbers are searched in texts only, not in codes.
        removed = [value for value in self._case.known_values if self._profile.removes(value.element)]
        anywhere = KnownValueFinder(removed)
        for value in self._found.values:
            if value.sort in (Sort.FREE_TEXT, Sort.DISPLAY, Sort.FILE) and anywhere.finds(value.text):
                yield Finding(Rule.KNOWN_VALUE, value.element_id, value.path)
        names = KnownValueFinder(value for value in removed if not _DIGIT.search(value.value))
        yield from self._find_names(names)

    def _find_names(self, names: KnownValueFinder) -> Iterator[Finding]:
        valued = {(value.index, value.slot) for value in self._found.values}
        for index, node in enumerate(self._found.nodes):
            for name, text in node.attrib.items():
                slot, value = str(name), str(text)
                if (index, slot) in valued or is_word(slot, value):
                    continue
                if names.finds(value):
                    yield Finding(Rule.KNOWN_VALUE, "", self._paths.of(node, slot))
        chosen = {etree.QName(node).localname for node in self._found.nodes} - path_words()
        spaces = etree.iterwalk(self._found.nodes[0], events=("start-ns",))
        chosen.update(f"{prefix} {uri}" for _, (prefix, uri) in spaces)
        if any(names.finds(text) for text in chosen):
            yield Finding(Rule.KNOWN_VALUE, "", "*")
