"""Choices are plain strings: click takes the members of an enumeration by name, not by value."""

from collections.abc import Iterator

import click
import pytest

from inverse_deid.cli.main import main


def options(command: click.Command, path: tuple[str, ...] = ()) -> Iterator[tuple[str, click.Parameter]]:
    """All parameters of all commands, with the words that call them."""
    for parameter in command.params:
        yield " ".join((*path, parameter.name or "")), parameter
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            sub = command.get_command(context, name)
            assert sub is not None
            yield from options(sub, (*path, name))


def choices() -> dict[str, click.Choice]:
    return {name: p.type for name, p in options(main) if isinstance(p.type, click.Choice)}


@pytest.mark.parametrize(("name", "choice"), choices().items(), ids=choices())
def test_every_choice_is_taken_as_it_is_listed(name, choice):
    assert choice.choices
    for value in choice.choices:
        assert type(value) is str, name
        assert choice.convert(str(value), None, None) == value


def test_there_are_choices():
    assert {"mask operating_point", "review export form", "review user add role"} <= set(choices())
