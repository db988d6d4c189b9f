"""The records of the table of choices: a value, a choice, and what makes choices contradict each other."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import StrEnum
from typing import Any, Literal

import msgspec

from inverse_deid.core.wording import _


class Surface(StrEnum):
    """A place where a user chooses."""

    MASK = "mask"  # the command
    REVIEW = "review"  # its commands init and add
    SERVE = "serve"  # the command, for the operator of a service
    UTILITY = "utility"  # the command
    CALIBRATE = "calibrate"  # the command
    PYTHON = "python"  # keyword arguments of inverse_deid.mask
    REQUEST = "request"  # settings of a request to the service
    TRY = "try"  # the page to try the service
    DESK = "desk"  # the questions about files that are added to a review, on the desk or in a team


Kind = Literal[
    "values",
    "flag",
    "order",
    "text",
    "number",
    "count",
    "file",
    "folder",
    "words",
    "single words",
    "categories",
    "day",
    "key",
]
"""The type of a choice. "order" is yes, no or unknown; the words of "words" may be phrases."""


class Value(msgspec.Struct, frozen=True):
    """One value of a choice."""

    name: str  # as it is given
    label: str = ""  # on pages
    text: str = ""  # on pages, what it does
    note: str = ""  # what it does, in the help of commands and the description of requests
    surfaces: frozenset[Surface] = frozenset(Surface)  # that offer it
    needs_key: bool = False


class Permit(msgspec.Struct, frozen=True):
    """What lets requests choose a value that masks less than the operator's."""

    name: str
    refusal: str  # without it; `{own}` is the operator's value


class Choice(msgspec.Struct, frozen=True, kw_only=True):
    """One choice.

    Args:
        name: As a keyword argument and in requests.
        kind: Its type.
        group: Heading in the help of commands.
        help: What it does.
        surfaces: That offer it.
        values: Of kind "values", from the one that masks most; of kind "flag", the answers no and yes of
            pages; of kind "categories", the presets.
        default: If nothing is chosen. None = as `usual` says.
        defaults: Of single surfaces, if it is another one there.
        usual: What happens by default, in words; "" = what `default` says.
        limits: Least and greatest number, or length of a text. None = without.
        option: Other name on the command line, or those of yes and no; "" = as `name`.
        metavar: Stands for the value in the help of commands; "" = that of the type.
        value_help: What it does, where it is given as a value and not as a file; "" = as `help`.
        question: Of pages; "" = pages do not ask.
        permit: What lets requests mask less with it, None = it cannot mask less, or nothing does.
        detail_of: The choice and its value that this one describes more closely; pages ask both at once.
        shapes_output: Whether the same text can be masked otherwise with another value.
        are_options: Of kind "values": on the command line, each value is an option of its own, without an
            argument. Its help is the note of the value.
    """

    name: str
    kind: Kind
    group: str
    help: str
    surfaces: frozenset[Surface]
    values: tuple[Value, ...] = ()
    default: str | float | bool | None = None
    defaults: Mapping[Surface, str | float | bool] = {}
    usual: str = ""
    limits: tuple[int, int | None] | None = None
    option: str = ""
    metavar: str = ""
    value_help: str = ""
    question: str = ""
    permit: Permit | None = None
    detail_of: tuple[str, str] | None = None
    shapes_output: bool = True
    are_options: bool = False

    def values_on(self, surface: Surface) -> tuple[Value, ...]:
        """Return the values that a surface offers."""
        return tuple(one for one in self.values if surface in one.surfaces)

    def names_on(self, surface: Surface) -> tuple[str, ...]:
        """Return the names of the values that a surface offers."""
        return tuple(one.name for one in self.values_on(surface))

    def help_on(self, surface: Surface) -> str:
        """Return what it does, with notes on the values that a surface offers."""
        is_value = surface in (Surface.REQUEST, Surface.PYTHON)
        start = self.value_help if is_value and self.value_help else self.help
        notes = [(one.name, _(one.note)) for one in self.values_on(surface) if one.note]
        return " ".join(
            [_(start), *(f"{name}: {note}" if self.are_options else note for name, note in notes)]
        )

    def default_on(self, surface: Surface) -> str | float | bool | None:
        """Return what holds on a surface if nothing is chosen."""
        return self.defaults.get(surface, self.default)

    def is_given(self, value: object) -> bool:
        """Tell whether a value is another than the default."""
        return value is not None and value != self.default


class Needs(msgspec.Struct, frozen=True):
    """A choice, or one value of it, that does nothing without another choice."""

    choice: str
    other: str
    value: str | None = None  # None = any that is not the default
    values: tuple[str | bool, ...] = ()  # of the other one; () = any


class Excludes(msgspec.Struct, frozen=True):
    """A choice that makes others idle."""

    choice: str
    others: tuple[str, ...]
    why: str  # after its name
    value: str | None = None  # of the others; None = any that is not the default


Contradiction = Needs | Excludes

Table = tuple[Choice, ...]


def list_choices(table: Table, surface: Surface) -> Iterator[Choice]:
    """Yield the choices that a surface offers."""
    return (one for one in table if surface in one.surfaces)


def find_choice(table: Table, name: str) -> Choice:
    """Return the choice of this name."""
    return next(one for one in table if one.name == name)


Given = Mapping[str, Any]
"""Values by name of the choice, in the types of the keyword arguments."""
