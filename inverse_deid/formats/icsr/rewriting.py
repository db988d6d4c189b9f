"""A case with its masked texts in place and its structured fields as the profile says.

Exactly the values that are treated change; the case that was read stays as it was.

Source: RFC 9562, sections 5.1, 5.2, 5.6 and 5.7: UUIDs of the versions 1, 2, 6 and 7 hold a time, and those
of 1, 2 and 6 also the address of a machine.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from lxml import etree

from inverse_deid.core.errors import ConfigurationError, Remedy, StageError
from inverse_deid.core.wording import N_, _
from inverse_deid.formats.icsr.known import KnownValue, KnownValueFinder
from inverse_deid.formats.icsr.standard.ages import AgeElement, AgeFor
from inverse_deid.formats.icsr.standard.dates import DateElement, StampDate, is_stamp, parse_stamp
from inverse_deid.formats.icsr.standard.dialects import MessageDialect, leave_out
from inverse_deid.formats.icsr.standard.elements import Element, ElementKind
from inverse_deid.formats.icsr.standard.profiles import FieldAction, Profile
from inverse_deid.formats.icsr.standard.vocabulary import is_link, is_root
from inverse_deid.formats.icsr.survey import (
    TAIL,
    TEXT,
    WHOLE,
    Paths,
    Sort,
    Value,
    find_unknown_names,
    is_as_expected,
)

PseudonymFor = Callable[[str, str], str]
"""From the id of an element and its value to the value that replaces it."""

DateFor = Callable[[DateElement], StampDate | None]
"""From a date to the one that replaces it, None = it cannot be replaced."""

DEFAULT_MARKER = "PHI"

_UUID_WITH_TIME = re.compile(
    r"[0-9A-Fa-f]{8}-[0-9A-Fa-f]{4}-[1267][0-9A-Fa-f]{3}-[89ABab][0-9A-Fa-f]{3}-[0-9A-Fa-f]{12}"
)
_DAY_IN_OID = re.compile(
    r"[0-9.]*(?<![0-9])(?:19|20)\d\d(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])(?:\d{4}|\d{6,7})?(?![0-9])[0-9.]*"
)

_DAY = re.compile(
    r"(?<![0-9])(?:19|20)[0-9]{2}([-_/.]?)(?:0[1-9]|1[0-2])\1(?:0[1-9]|[12][0-9]|3[01])(?![0-9]{1,3}(?![0-9]))"
)
REPORT_IDS = frozenset(("N.1.2", "N.2.r.1", "C.1.1", "C.1.8.1", "C.1.9.1.r.2", "C.1.10.r"))
"""Ids that senders invent, often from the day; pseudonyms may replace them."""

_NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_SPACE = re.compile(r"\s")


class Done(StrEnum):
    """What was done to a value."""

    KEPT = "kept"
    MASKER = N_("went through the masker")
    SHORTENED = N_("went through the masker and was shortened to the longest text allowed")
    MASKED = "masked"
    BLANKED = "blanked"
    LEFT_OUT = N_("left out")
    PSEUDONYM = N_("replaced by a pseudonym")
    DATE = N_("date replaced")
    DATE_REMOVED = N_("date removed")
    AGE = N_("age made less precise")
    FILE_LEFT_OUT = N_("embedded file left out")
    TELLING_ID = N_("identifier that tells a time replaced by a number")
    OWN_ID = N_("identifier of no standard replaced by a number")
    WITHHELD = N_("words beside a code left out, they repeated a masked value")
    UNFIT = N_("not kept, since it does not look like a value of its element or is too long")
    UNKNOWN = N_("left out, since the standard does not know the element or attribute")


_GONE = frozenset((Done.LEFT_OUT, Done.FILE_LEFT_OUT, Done.DATE_REMOVED, Done.WITHHELD, Done.UNFIT))


@dataclass(frozen=True, slots=True)
class Change:
    """What was done to one value."""

    element: str  # its E2B element, "" = not known
    path: str  # its place in the case
    done: Done


@dataclass(frozen=True, slots=True)
class Replacements:
    """The functions that replace ids, dates and ages."""

    pseudonym: PseudonymFor | None = None  # for ids; needed if the profile asks for pseudonyms
    date_value: DateFor | None = None  # for dates; needed if the profile asks for dates
    age_value: AgeFor | None = None  # for ages; without it the ages that the profile asks for are left out
    marker: str = DEFAULT_MARKER  # replaces a text that cannot be shown at all


@dataclass(frozen=True, slots=True)
class RewrittenCase:
    """A rewritten case; `allowed` are all strings, other than structure, that it may contain."""

    node: etree._Element = field(repr=False)
    changes: tuple[Change, ...]  # one per value
    tail: str = ""  # the white space after it in the batch
    allowed: frozenset[str] = field(default=frozenset(), repr=False)


def _number_ids(case: etree._Element, *, moves_dates: bool) -> Iterator[Change]:
    # Identifiers of no standard and, where dates change, those that reveal a time.
    paths = Paths(case)
    numbers: dict[str, str] = {}
    for node in case.iter():
        root = str(node.get("root", ""))
        tells = moves_dates and tells_time(root)
        if tells or (is_link(root) and not is_root(root)):
            node.set("root", numbers.setdefault(root.lower(), make_numbered_uuid(len(numbers) + 1)))
            yield Change("", paths.of(node, "root"), Done.TELLING_ID if tells else Done.OWN_ID)


class CaseRewriter:
    """Rewrites one case, on a copy; `known` are the identifiers that the case states."""

    def __init__(
        self, dialect: MessageDialect, profile: Profile, given: Replacements, known: Sequence[KnownValue]
    ) -> None:
        self._dialect = dialect
        self._profile = profile
        self._given = given
        self._repeats = KnownValueFinder(value for value in known if profile.removes(value.element))
        self._nodes: list[etree._Element] = []
        self._written: dict[tuple[int, str], tuple[str, bool]] = {}

    def rewrite(
        self, root: etree._Element, values: Sequence[Value], masked_texts: Sequence[str]
    ) -> tuple[etree._Element, tuple[Change, ...]]:
        """Return a rewritten copy of a case with a masked text for each free text, and what was done.

        Raises:
            ConfigurationError: The profile asks for pseudonyms or dates that the replacements lack.
            StageError: Masked texts or pseudonyms do not fit.
        """
        n_texts = sum(value.sort == Sort.FREE_TEXT for value in values)
        if len(masked_texts) != n_texts:
            raise StageError(
                _(
                    "{n_masked_texts} masked texts for {n_texts} free texts of a case",
                    n_masked_texts=len(masked_texts),
                    n_texts=n_texts,
                )
            )
        if self._profile.asks_for(FieldAction.PSEUDONYM) and self._given.pseudonym is None:
            raise ConfigurationError(
                _("profile {profile} needs a key for pseudonyms. Give one", profile=self._profile.name)
            )
        if self._profile.asks_for(FieldAction.DATE) and self._given.date_value is None:
            raise ConfigurationError(
                _("profile {profile} changes dates", profile=self._profile.name),
                remedies=[Remedy("dates", step=N_("add {}"))],
            )
        fresh = copy.deepcopy(root)
        fresh.tail = None
        self._nodes = list(fresh.iter())
        self._write_texts(values, masked_texts)  # first, so that nothing unmasked can be left
        changes = list(self._drop_unknown(fresh)) if self._profile.unknown == "drop" else []
        changes += self._treat_others(values)
        changes += list(_number_ids(fresh, moves_dates=self._profile.other_dates != FieldAction.KEEP))
        return fresh, tuple(changes)

    def _drop_unknown(self, root: etree._Element) -> Iterator[Change]:
        found = find_unknown_names(root, self._dialect.name)
        for unknown in found:
            if unknown.holds_known:
                continue  # the check will refuse the case
            if unknown.attribute:
                del unknown.node.attrib[unknown.attribute]
            else:
                leave_out(unknown.node)
            yield Change("", unknown.path, Done.UNKNOWN)
        if found:
            etree.cleanup_namespaces(root)  # those that they alone used can say anything as well

    def _write_texts(self, values: Sequence[Value], masked_texts: Sequence[str]) -> None:
        texts = iter(masked_texts)
        for value in values:
            if value.sort == Sort.FREE_TEXT:
                self._text(value, next(texts))

    def _treat_others(self, values: Sequence[Value]) -> Iterator[Change]:
        done = [
            Done.MASKER if value.sort == Sort.FREE_TEXT else self._other(value, self._nodes[value.index])
            for value in values
        ]
        still_there = set(self._nodes[0].iter())
        for value, what in zip(values, done, strict=True):
            is_left = self._nodes[value.index] in still_there
            if value.sort == Sort.FREE_TEXT:
                in_the_end = self._text_in_the_end(value) if is_left else Done.LEFT_OUT
            else:
                in_the_end = what if is_left or what in _GONE else Done.LEFT_OUT
            yield Change(value.element_id, value.path, in_the_end)

    def _text(self, value: Value, masked: str) -> None:
        if _NOT_XML.search(masked):
            raise StageError(_("a masked text contains a character that XML does not allow"))
        longest = None if value.element is None else value.element.max_length[self._dialect.name]
        fitting = fit_text(masked, longest, self._given.marker)
        self._written[value.index, value.slot] = (fitting, len(fitting) < len(masked))
        node = self._nodes[value.index]
        if value.slot == WHOLE:
            del node[:]
        if value.slot in (TEXT, WHOLE):
            node.text = fitting
        elif value.slot == TAIL:
            node.tail = fitting
        else:
            node.set(value.slot, fitting)

    def _text_in_the_end(self, value: Value) -> Done:
        # It may be gone with a value that is masked or left out.
        node = self._nodes[value.index]
        fitting, is_shorter = self._written[value.index, value.slot]
        if value.slot in (TEXT, WHOLE):
            left = node.text
        else:
            left = node.tail if value.slot == TAIL else node.get(value.slot)
        if left != fitting:
            return Done.LEFT_OUT
        return Done.SHORTENED if is_shorter else Done.MASKER

    def _other(self, value: Value, node: etree._Element) -> Done:
        match value.sort:
            case Sort.ATTACHMENT:
                if self._profile.attachments == FieldAction.KEEP:
                    return Done.KEPT
                self._dialect.leave_out(node, "", value.element)
                return Done.FILE_LEFT_OUT
            case Sort.FILE:
                self._dialect.empty(node, "")
                self._dialect.drop_file_marks(node)
                node.text = self._given.marker
                return Done.FILE_LEFT_OUT
            case Sort.DISPLAY:
                return self._display(value, node)
            case _:
                return self._rewrite_structured(value, node)

    def _display(self, value: Value, node: etree._Element) -> Done:
        if self._profile.display_names == FieldAction.DROP:
            done = Done.LEFT_OUT
        elif not is_as_expected(value, self._dialect.name):
            done = Done.UNFIT
        elif self._repeats.finds(value.text):
            done = Done.WITHHELD
        else:
            return Done.KEPT
        node.attrib.pop(value.slot, "")
        return done

    def _rewrite_structured(self, value: Value, node: etree._Element) -> Done:
        element, attribute = value.element, "" if value.slot == TEXT else value.slot
        if element is not None and element.msk and self._dialect.is_masked(node):
            self._dialect.mask(node, element)  # it said so before, whatever it still held
            return Done.MASKED
        action = self._action(element, value.text)
        if action == FieldAction.KEEP and is_as_expected(value, self._dialect.name):
            return Done.KEPT
        is_date = element is None or element.kind == ElementKind.DATE
        if action == FieldAction.DATE or (action == FieldAction.KEEP and is_date):
            return self._date(value, node, attribute)
        if action == FieldAction.AGE:
            return self._age(value, node, attribute)
        if element is None:
            self._dialect.empty(node, attribute)
            return Done.DATE_REMOVED
        is_unfit = action == FieldAction.KEEP
        action = _remove_unfit(element) if is_unfit else action
        done = self._by_profile(action, element, value.text, node, attribute)
        return Done.UNFIT if is_unfit else done

    def _action(self, element: Element | None, text: str) -> FieldAction:
        # Where dates change, a kept report id with a day is replaced.
        if element is None:
            return self._profile.other_dates
        action = self._profile.actions[element.id]
        changes = self._profile.other_dates != FieldAction.KEEP
        if action == FieldAction.KEEP and changes and element.id in REPORT_IDS and holds_day(text):
            return FieldAction.PSEUDONYM
        return action

    def _by_profile(
        self, action: FieldAction, element: Element, text: str, node: etree._Element, attribute: str
    ) -> Done:
        match action:
            case FieldAction.MASK:
                return Done.MASKED if self._dialect.mask(node, element) else Done.LEFT_OUT
            case FieldAction.BLANK:
                self._dialect.empty(node, attribute)
                return Done.BLANKED
            case FieldAction.DROP:
                self._dialect.leave_out(node, attribute, element)
                return Done.LEFT_OUT
            case _:
                self._write(node, attribute, self._pseudonym(element, text))
                return Done.PSEUDONYM

    def _pseudonym(self, element: Element, text: str) -> str:
        name = self._given.pseudonym(element.id, text) if self._given.pseudonym is not None else ""
        longest = element.max_length[self._dialect.name]
        if not name.strip() or _NOT_XML.search(name) or (longest is not None and len(name) > longest):
            raise StageError(
                _(
                    "a pseudonym for {id} is empty or longer than {longest} characters",
                    id=element.id,
                    longest=longest,
                )
            )
        return name

    def _write(self, node: etree._Element, attribute: str, text: str) -> None:
        if attribute:
            node.set(attribute, text)
        else:
            self._dialect.empty(node, "")
            node.text = text

    def _date(self, value: Value, node: etree._Element, attribute: str) -> Done:
        date = parse_stamp(value.text.strip()) if is_stamp(value.text.strip()) else None
        new: StampDate | None = None
        if date is not None and self._given.date_value is not None:
            new = self._given.date_value(DateElement(value.element_id, value.path, value.text.strip(), date))
        if new is not None:
            self._dialect.write_date(node, attribute, new)
            return Done.DATE
        self._without_date(value.element, date, node, attribute)
        return Done.DATE_REMOVED

    def _age(self, value: Value, node: etree._Element, attribute: str) -> Done:
        old = AgeElement(value.element_id, value.text.strip(), self._dialect.unit(node))
        new = None if self._given.age_value is None else self._given.age_value(old)
        if new is None:
            self._dialect.leave_out(node, attribute, value.element)
            return Done.LEFT_OUT
        if new == old:
            return Done.KEPT
        self._dialect.write_age(node, attribute, new)
        return Done.AGE

    def _without_date(
        self, element: Element | None, date: StampDate | None, node: etree._Element, attribute: str
    ) -> None:
        # Masked where E2B allows it, removed where it may be missing, else the year is kept.
        if element is None:
            self._dialect.empty(node, attribute)
        elif element.msk:
            self._dialect.mask(node, element)
        elif not element.required:
            self._dialect.leave_out(node, attribute, element)
        elif date is not None:
            self._dialect.write_date(node, attribute, StampDate(date.year))
        else:
            self._dialect.empty(node, attribute)


def _remove_unfit(element: Element) -> FieldAction:
    # A required one needs another.
    if element.msk:
        return FieldAction.MASK
    return FieldAction.PSEUDONYM if element.required else FieldAction.DROP


def fit_text(text: str, longest: int | None, marker: str) -> str:
    """Return a masked text that fits its element of `longest` characters, None = no limit.

    A text that is too long ends with a marker, which replaces everything after it: a marker of the text, or
    one after the last whole word that leaves room for it. If no word fits, the result is the marker. An empty
    text becomes the marker, since an element with words may not become empty.

    Example:
        >>> fit_text("well until PHI came", 15, "PHI")
        'well until PHI'
        >>> fit_text("unbelievably", 5, "PHI")
        'PHI'
    """
    if not text or text.isspace():
        text = marker
    if longest is None or len(text) <= longest:
        return text
    room = longest - len(marker) - 1
    ends = [match.start() for match in _SPACE.finditer(text, 0, max(room + 1, 0))]
    kept = text[: ends[-1]].rstrip() if ends else ""
    if not kept.strip():
        return marker[:longest]
    return kept if kept.endswith(marker) else f"{kept} {marker}"


def tells_time(identifier: str) -> bool:
    """Return whether an identifier holds a time or a day.

    Example:
        >>> tells_time("c232ab00-9414-11ec-b3c8-9f6bdeced846"), tells_time("1.2.40.20200304.7")
        (True, True)
        >>> tells_time("154eb889-958b-45f2-a02f-42d4d6f4657f"), tells_time("2.16.840.1.113883.3.989.2.1.3.1")
        (False, False)
    """
    return bool(_UUID_WITH_TIME.fullmatch(identifier) or _DAY_IN_OID.fullmatch(identifier))


def make_numbered_uuid(number: int) -> str:
    """Return a UUID that contains only a number."""
    return f"00000000-0000-4000-8000-{number:012d}"


def holds_day(text: str) -> bool:
    """Return whether an id holds what reads as a day, year first.

    Example:
        >>> holds_day("SE-ACME-2020-03-04-7"), holds_day("SE-ACME-4711")
        (True, False)
    """
    return _DAY.search(text) is not None
