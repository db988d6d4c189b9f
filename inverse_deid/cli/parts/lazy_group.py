"""A group of commands whose modules are imported when a command is called."""

from __future__ import annotations

import importlib
import inspect
import keyword
from collections.abc import Mapping
from typing import Any

import click

from inverse_deid.core.wording import _

Commands = Mapping[str, Mapping[str, tuple[str, str]]]
"""By heading and name: the module with the command (`import_` for `import`), and a line of help."""


def translate_help(command: click.Command) -> None:
    """Translate the help of a command, which is its docstring, and that of its subcommands."""
    command.help = _(inspect.cleandoc(command.help or ""))
    for one in command.commands.values() if isinstance(command, click.Group) else ():
        translate_help(one)


class LazyGroup(click.Group):
    """A click group that lists its commands under headings (click asks for a subclass)."""

    def __init__(self, *args: Any, commands: Commands, **given: Any) -> None:  # noqa: ANN401 - as click declares it
        super().__init__(*args, **given)
        self._sections = commands

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002, RUF100
        return [name for section in self._sections.values() for name in section]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002, RUF100
        """Import a command; None = unknown name."""
        for section in self._sections.values():
            if cmd_name in section:
                module = importlib.import_module(section[cmd_name][0])
                name = cmd_name.replace("-", "_")
                command: click.Command = getattr(module, f"{name}_" if keyword.iskeyword(name) else name)
                translate_help(command)
                return command
        return None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002, RUF100
        for heading, section in self._sections.items():
            with formatter.section(_(heading)):
                formatter.write_dl([(name, _(text)) for name, (_module, text) in section.items()])
