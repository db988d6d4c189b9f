"""What may stand in a rewritten case, worked out without the code that rewrites it.

Allowed are the masked texts, what stands for ids, dates and ages, and the values that the profile
keeps. `checks.check_case` looks for everything else in the XML that is about to be written.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from lxml import etree

from inverse_deid.formats.icsr.ages import AgeElement
from inverse_deid.formats.icsr.dates import DateElement, StampDate, is_stamp, parse_stamp, stamp_with
from inverse_deid.formats.icsr.dialects import MessageDialect
from inverse_deid.formats.icsr.profiles import Action, Profile
from inverse_deid.formats.icsr.rewriting import Replacements, fitted
from inverse_deid.formats.icsr.survey import Sort, Value, all_text, is_as_expected

MASKED_R2 = "PRIVACY"


class Answers:
    """What the functions for ids, dates and ages answered.

    Args:
        given: The functions.
    """

    def __init__(self, given: Replacements) -> None:
        self.given = given
        self.strings: set[str] = set()

    def noting(self) -> Replacements:
        """The same functions, whose answers are noted."""
        given = self.given
        return replace(
            given,
            pseudonym=None if given.pseudonym is None else self._pseudonym,
            date_value=None if given.date_value is None else self._date,
            age_value=None if given.age_value is None else self._age,
        )

    def _pseudonym(self, element: str, value: str) -> str:
        answer = "" if self.given.pseudonym is None else self.given.pseudonym(element, value)
        self.strings.add(answer.strip())
        return answer

    def _date(self, date: DateElement) -> StampDate | None:
        answer = None if self.given.date_value is None else self.given.date_value(date)
        if answer is not None:
            self.strings.add(stamp_with(date.value, answer))
        return answer

    def _age(self, age: AgeElement) -> AgeElement | None:
        answer = None if self.given.age_value is None else self.given.age_value(age)
        if answer is not None:
            self.strings.add(answer.number.strip())
        return answer


def allowed_strings(
    nodes: Sequence[etree._Element],
    values: Sequence[Value],
    masked_texts: Sequence[str],
    dialect: MessageDialect,
    plan: tuple[Profile, Answers],
) -> frozenset[str]:
    """Every string that may stand in a rewritten case and is not structure, without white space around it.

    Args:
        nodes: The XML elements of the case as it was read, in document order.
        values: Its values.
        masked_texts: One for each free text.
        dialect: R3 or R2.
        plan: Profile and answers.
    """
    profile, answers = plan
    marker = answers.given.marker
    allowed = {marker, *answers.strings}
    if dialect.name == "r2":
        allowed.add(MASKED_R2)
    free = [value for value in values if value.sort == Sort.FREE_TEXT]
    for value, masked in zip(free, masked_texts, strict=True):
        longest = None if value.element is None else value.element.max_length[dialect.name]
        allowed.add(fitted(masked, longest, marker).strip())
    for value in values:
        allowed.update(_kept(value, nodes[value.index], profile))
    return frozenset(allowed)


def _kept(value: Value, node: etree._Element, profile: Profile) -> Iterator[str]:
    """What a profile keeps of a value."""
    if _keeps(value, profile):
        yield value.text.strip()
        yield from (text.strip() for text in _pieces(value, node))
    elif value.sort == Sort.DATE and value.element is not None and value.element.required:
        date = parse_stamp(value.text.strip()) if is_stamp(value.text.strip()) else None
        if date is not None:
            yield StampDate(date.year).digits  # the year of a date that may not be missing


def _pieces(value: Value, node: etree._Element) -> Iterator[str]:
    """The texts of a value that has elements in it; of a file, their attributes, too."""
    if value.text.strip() != all_text(node).strip() and value.sort != Sort.ATTACHMENT:
        return
    yield from map(str, node.itertext())
    if value.sort == Sort.ATTACHMENT:
        yield from (str(text) for inner in node.iterdescendants() for text in inner.attrib.values())


def _keeps(value: Value, profile: Profile) -> bool:
    """Whether the profile says that a value stays as it is."""
    match value.sort:
        case Sort.FREE_TEXT | Sort.FILE:
            return False
        case Sort.ATTACHMENT:
            return profile.attachments == Action.KEEP
        case Sort.DISPLAY:
            return profile.display_names == Action.KEEP
        case _ if value.element is None:
            return profile.other_dates == Action.KEEP and is_as_expected(value)
        case _:
            return profile.actions[value.element_id] == Action.KEEP and is_as_expected(value)
