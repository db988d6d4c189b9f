"""A command with many options: its help has examples, and the options are under headings."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

import click

from inverse_deid.core.wording import N_, _

AddOption = Callable[[Any], Any]

OptionGroups = Mapping[str, Sequence[AddOption]]
"""Options by heading, basics first."""

Examples = Mapping[str, str]
"""What somebody wants to do, and the command that does it."""


class GroupedCommand(click.Command):
    """A click command whose help lists its options under headings (click asks for a subclass).

    Args:
        args: As of `click.Command`.
        headings: The names of the options that decorators of `click.option` add, by heading, basics first.
        heading: Of those of them that `headings` does not name. They come after the others.
        examples: Shown after the help text.
        given: As of `click.Command`.
    """

    def __init__(
        self,
        *args: Any,  # noqa: ANN401 - as click declares it
        headings: Mapping[str, Sequence[str]] | None = None,
        heading: str = N_("Further options"),
        examples: Examples | None = None,
        **given: Any,  # noqa: ANN401
    ) -> None:
        super().__init__(*args, **given)
        self.examples = dict(examples or {})
        own = [str(one.name) for one in self.params if isinstance(one, click.Option) and not one.hidden]
        named = {name: under for under, names in (headings or {}).items() for name in names}
        self.headings = named | {name: heading for name in own if name not in named}  # by name of the option

    def add_groups(self, groups: OptionGroups) -> None:
        """Add options; each heading gets its own."""
        for heading, options in groups.items():
            for option in options:
                option(self)  # click adds it to the end of `params`
                self.headings[str(self.params[-1].name)] = heading

    def borrow(self, other: GroupedCommand, names: Collection[str]) -> None:
        """Add options of another command, under the headings that they have there."""
        for param in other.params:
            if param.name in names and param.name in other.headings:
                self.params.append(param)
                self.headings[param.name] = other.headings[param.name]

    def format_help_text(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the help text, and the examples after it."""
        super().format_help_text(ctx, formatter)
        if self.examples:
            with formatter.section(_("Examples")):
                for wanted, command in self.examples.items():
                    formatter.write_text(f"{_(wanted)}:")
                    formatter.write(f"{'':>{formatter.current_indent + 2}}{command}\n")

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        options: dict[str, list[click.Option]] = {}
        for one in self.get_params(ctx):
            if isinstance(one, click.Option):
                options.setdefault(str(one.name), []).append(one)
        rest = {name: N_("Other options") for name in options if name not in self.headings}
        sections: dict[str, list[tuple[str, str]]] = {}
        for name, heading in (self.headings | rest).items():
            shown = [one.get_help_record(ctx) for one in options[name]]
            sections.setdefault(heading, []).extend(record for record in shown if record is not None)
        for heading, records in sections.items():
            with formatter.section(_(heading)):
                formatter.write_dl(records)


def with_groups(groups: OptionGroups) -> Callable[[GroupedCommand], GroupedCommand]:
    """Return a decorator that adds options to a command, under headings."""

    def decorate(command: GroupedCommand) -> GroupedCommand:
        command.add_groups(groups)
        return command

    return decorate
