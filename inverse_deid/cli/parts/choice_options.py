"""The options of commands that the table of choices describes, and what was given with them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import click

from inverse_deid.choices.records import Choice, Surface, Table, list_choices
from inverse_deid.choices.table import CHOICES
from inverse_deid.cli.parts.grouped_command import AddOption
from inverse_deid.cli.parts.secret_files import KEY_VARIABLE
from inverse_deid.core.errors import ConfigurationError, UnreadableInputError
from inverse_deid.core.wording import _
from inverse_deid.formats.registry import input_errors
from inverse_deid.text.tokenizer import tokenize

_FILE = click.Path(dir_okay=False, path_type=Path)


def list_options(surface: Surface, group: str | None = None, table: Table = CHOICES) -> list[AddOption]:
    """Return the options of a command for the choices of a group, None = of all groups."""
    chosen = (one for one in list_choices(table, surface) if group in (None, one.group))
    return [option for one in chosen for option in make_options(one, surface)]


def choice_options(
    surface: Surface, table: Table = CHOICES
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return a decorator that adds the options of all choices to a function, before it is a command."""

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        for option in reversed(list_options(surface, table=table)):
            function = option(function)
        return function

    return decorate


def list_headings(surface: Surface, table: Table = CHOICES) -> dict[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    for one in list_choices(table, surface):
        found[one.group] = (*found.get(one.group, ()), one.name)
    return found


def make_options(choice: Choice, surface: Surface) -> list[AddOption]:
    """Return the option of a choice, or those of its values; without one, the value is None."""
    if choice.are_options:
        return [
            click.option(
                f"--{one.name}",
                choice.name,
                flag_value=one.name,
                default=None,
                help=_(one.note) + (_("  [default]") if one.name == choice.usual else ""),
            )
            for one in choice.values_on(surface)
        ]
    default = choice.default_on(surface)
    usual = _(choice.usual) or ("" if default is None or choice.kind == "flag" else str(default))
    text = choice.help_on(surface) + (
        _(" Or set {key_variable}.", key_variable=KEY_VARIABLE) if choice.kind == "key" else ""
    )
    option = click.option(
        "/".join(_names_of(choice)),
        choice.name,
        type=_type_of(choice, surface),
        is_flag=True if choice.kind == "flag" else None,
        default=None,
        metavar=choice.metavar or None,
        help=text + _("  [default: {usual}]", usual=usual) if usual else text,
    )
    return [option]


def _type_of(choice: Choice, surface: Surface) -> Any:  # noqa: ANN401 - as click declares it
    # None = click knows it.
    least, most = choice.limits or (None, None)
    types: dict[str, Any] = {
        "values": click.Choice(choice.names_on(surface)),
        "number": click.FloatRange(least, most),
        "count": click.IntRange(least, most),
        "folder": click.Path(path_type=Path),
        "day": click.DateTime(["%Y-%m-%d"]),
        **dict.fromkeys(("file", "words", "single words", "key"), _FILE),
    }
    return types.get(choice.kind)


def _names_of(choice: Choice) -> list[str]:
    # One name, or that of yes and that of no.
    return [f"--{name.replace('_', '-')}" for name in (choice.option or choice.name).split("/")]


def take_choices(given: dict[str, Any], table: Table = CHOICES) -> dict[str, Any]:
    """Take the choices out of what click gives a command, and return those that were made."""
    names = [one.name for one in table if one.name in given]
    found = {name: given.pop(name) for name in names}
    return {name: value for name, value in found.items() if value is not None}


def read_files(choices: Mapping[str, Any]) -> dict[str, Any]:
    """Return choices with the words of lists in place of their files, and days without a time.

    Raises:
        UnreadableInputError: A file cannot be read or is not UTF-8.
        ConfigurationError: A line of it has no word or, where phrases are not allowed, several words.
    """
    kinds = {one.name: one.kind for one in CHOICES}

    def read(name: str, value: Any) -> Any:  # noqa: ANN401
        kind = kinds[name]
        is_list = kind in ("words", "single words") and isinstance(value, Path)
        return read_words(value, phrases=kind == "words") if is_list else value

    return {name: read(name, value) for name, value in choices.items()}


def read_words(path: Path, *, phrases: bool) -> frozenset[str]:
    """Return the words or phrases of a file, one per line; blank lines and lines with # are skipped.

    Raises:
        UnreadableInputError: The file cannot be read or is not UTF-8.
        ConfigurationError: A line has no word or, where phrases are not allowed, several words.
    """
    text = None
    try:
        with input_errors():
            text = path.read_bytes().decode("utf-8-sig")
    except UnicodeError:
        pass
    except UnreadableInputError as error:
        raise UnreadableInputError(f"{path} {error}") from None
    if text is None:
        raise UnreadableInputError(
            _("{path} is not UTF-8 text. Save it as UTF-8, one word per line", path=path)
        )
    lines = {number: line.strip() for number, line in enumerate(text.splitlines(), start=1)}
    words = {number: line for number, line in lines.items() if line and not line.startswith("#")}
    for number, line in words.items():
        found = tokenize(line).words
        if not found or (not phrases and found != [line]):
            raise ConfigurationError(
                _(
                    "{path} line {number} is not one word of letters and digits. Give each part its own line",
                    path=path,
                    number=number,
                )
            )
    return frozenset(words.values())
