"""`inverse-deid review`: cases into a store, accounts, exports, trail, samples, summary."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from types import MappingProxyType

import click

from inverse_deid.core.extras import missing_extra

_COMMANDS: Mapping[str, tuple[str, str]] = MappingProxyType(
    {
        "init": ("inverse_deid.cli.review_init", "Mask cases into a new store."),
        "serve": ("inverse_deid.cli.review_serve", "Serve the pages for the browser."),
        "user": ("inverse_deid.cli.review_user", "Add and list accounts, change passwords."),
        "export": ("inverse_deid.cli.review_out", "Write released cases, training documents or the trail."),
        "import": ("inverse_deid.cli.review_out", "Take over corrected annotations."),
        "verify": ("inverse_deid.cli.review_checks", "Check that the trail was not tampered with."),
        "sample": (
            "inverse_deid.cli.review_checks",
            "Draw released cases to read in full; bound the leaks.",
        ),
        "summary": ("inverse_deid.cli.review_checks", "Progress, agreement, time, causality forms."),
    }
)

_FUNCTIONS = {"import": "import_", "export": "export", "init": "init"}


class _LazyGroup(click.Group):
    """Imports a subcommand when it is called (click asks for a subclass)."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002, RUF100
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002, RUF100
        if cmd_name not in _COMMANDS:
            return None
        try:
            module = importlib.import_module(_COMMANDS[cmd_name][0])
        except ImportError as error:
            raise missing_extra("a review", error.name, "review") from error
        command: click.Command = getattr(module, _FUNCTIONS.get(cmd_name, cmd_name))
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002, RUF100
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in _COMMANDS.items()])


@click.group(cls=_LazyGroup)
def review() -> None:
    """Let people read, correct and release masked cases (docs/review.md).

    Needs the extra `review` (pip install '.[review]').
    """
