"""Errors as lines of the command line: choices are options, and the line ends with a full stop."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from inverse_deid.choices.table import CHOICES
from inverse_deid.core.errors import InverseDeidError, Remedy, add_remedies

_VALUES_ARE_OPTIONS = {one.name for one in CHOICES if one.are_options}
_OPTIONS = {one.name: one.option.split("/")[0] for one in CHOICES if one.option}
"""The options that are not called as the choice is."""


def name_option(choice: str, value: str = "") -> str:
    """Return the option of a choice, with a value ("" = none).

    Example:
        >>> name_option("text_column", "Case text")
        "--text-column 'Case text'"
    """
    if value and choice in _VALUES_ARE_OPTIONS:
        return f"--{value}"
    option = f"--{_OPTIONS.get(choice, choice).replace('_', '-')}"
    return f"{option} {shlex.quote(value)}" if value else option


def name_choice(choice: str, value: object) -> str:
    """Return the option of a choice that was made, without its argument.

    Example:
        >>> name_choice("dates", "year"), name_choice("reading", "fast")
        ('--dates', '--fast')
    """
    return name_option(choice, str(value) if choice in _VALUES_ARE_OPTIONS else "")


def describe_problem(message: str, remedies: Sequence[Remedy] = ()) -> str:
    """Return what is wrong and what mends it, as sentences.

    Example:
        >>> describe_problem("is not UTF-8", [Remedy("encoding", "cp1252")])
        'is not UTF-8. Use --encoding cp1252.'
    """
    return end_sentence(add_remedies(message, remedies, name_option))


def describe_error(error: InverseDeidError) -> str:
    """Return the line of an error; it begins with the option at fault, if one is.

    Example:
        >>> describe_error(InverseDeidError("shift needs a key", choice="dates", remedies=[Remedy("key")]))
        '--dates: shift needs a key. Use --key.'
    """
    message = str(error)
    if error.choice:
        message = name_option(error.choice) + message.removeprefix(error.choice)
    return describe_problem(message, error.remedies)


def end_sentence(text: str) -> str:
    """Return a text with a full stop, unless it ends a sentence already."""
    return text if text.endswith((".", "?", "!")) else f"{text}."
