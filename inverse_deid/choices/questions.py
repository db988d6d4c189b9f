"""The questions that pages ask about masking: the choices of the table, with the answers in plain words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from inverse_deid.choices.categories import PRESETS, Category
from inverse_deid.choices.records import Choice, Surface, Table, list_choices
from inverse_deid.choices.table import CHOICES, REPLACED_CATEGORIES
from inverse_deid.core.wording import _


class Answer(msgspec.Struct, frozen=True):
    """An answer, and what it chooses."""

    value: str
    label: str
    text: str
    settings: Mapping[str, Any]
    idle: tuple[str, ...] = ()  # questions that do not matter with it, because nothing is left to replace

    @property
    def as_json(self) -> str:
        """What it chooses, for the script of a page."""
        return msgspec.json.encode(self.settings).decode()


class Question(msgspec.Struct, frozen=True):
    """A question with one answer of several."""

    name: str
    text: str
    answers: tuple[Answer, ...]
    default: str  # the value of the usual answer

    def find_answer(self, value: object) -> Answer | None:
        """Return the answer with this value, None = there is none."""
        return next((one for one in self.answers if one.value == value), None)


def list_questions(surface: Surface, table: Table = CHOICES) -> tuple[Question, ...]:
    """Return the questions of a page.

    A choice that describes a value of another one more closely is asked together with it.

    Example:
        >>> ages = next(one for one in list_questions(Surface.DESK) if one.name == "ages")
        >>> [one.value for one in ages.answers][:3], ages.answers[1].settings
        (['mask', '10-years', '5-years'], {'ages': 'band', 'age_bands': '10-years'})
    """
    asked = [one for one in list_choices(table, surface) if one.question and one.values_on(surface)]
    return tuple(
        Question(one.name, _(one.question), tuple(_list_answers(one, surface, table)), _usual_value(one))
        for one in asked
    )


def _usual_value(choice: Choice) -> str:
    if choice.kind == "flag":
        return choice.values[bool(choice.default)].name
    return choice.usual if choice.default is None else str(choice.default)


def _list_answers(choice: Choice, surface: Surface, table: Table) -> Iterator[Answer]:
    for number, value in enumerate(choice.values_on(surface)):
        settings = {choice.name: bool(number) if choice.kind == "flag" else value.name}
        details = [
            (detail.name, one)
            for detail in list_choices(table, surface)
            if detail.detail_of == (choice.name, value.name)
            for one in detail.values_on(surface)
        ]
        for name, one in details:
            yield Answer(one.name, _(one.label), _(one.text), {**settings, name: one.name})
        if not details:
            hidden = PRESETS[value.name] if choice.kind == "categories" else frozenset(Category)
            idle = tuple(name for name, category in REPLACED_CATEGORIES.items() if category not in hidden)
            yield Answer(value.name, _(value.label), _(value.text), settings, idle)
