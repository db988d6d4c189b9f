"""`inverse-deid review`: cases into a store, accounts, exports, trail, samples, summary."""

from __future__ import annotations

from types import MappingProxyType

import click

from inverse_deid.cli.parts.lazy_group import Commands, LazyGroup
from inverse_deid.core.extras import missing_extra
from inverse_deid.core.wording import N_, _

_COMMANDS: Commands = MappingProxyType(
    {
        "Commands": {
            "init": ("inverse_deid.cli.reviewing.init", N_("Mask cases into a new store.")),
            "add": (
                "inverse_deid.cli.reviewing.init",
                N_("Mask more cases into a store that may be in use."),
            ),
            "serve": ("inverse_deid.cli.reviewing.store", N_("Serve the pages for the browser.")),
            "user": (
                "inverse_deid.cli.reviewing.store",
                N_("Add, list, close and unlock accounts, end sessions."),
            ),
            "export": (
                "inverse_deid.cli.reviewing.out",
                N_("Write released cases, training documents, the trail."),
            ),
            "import": ("inverse_deid.cli.reviewing.out", N_("Import corrected annotations.")),
            "verify": ("inverse_deid.cli.reviewing.out", N_("Check that nobody tampered with the store.")),
            "public-key": (
                "inverse_deid.cli.reviewing.out",
                N_("Print the key that checks exported trails."),
            ),
            "sample": (
                "inverse_deid.cli.reviewing.out",
                N_("Draw cases to read in full, bound the leaks."),
            ),
            "status": (
                "inverse_deid.cli.reviewing.out",
                N_("Who holds and reads how many cases, and the limits."),
            ),
            "limits": ("inverse_deid.cli.reviewing.out", N_("Change the limits of people.")),
            "delete": ("inverse_deid.cli.reviewing.life", N_("Delete one case or one file.")),
            "purge": ("inverse_deid.cli.reviewing.life", N_("Delete cases that were released long ago.")),
            "backup": ("inverse_deid.cli.reviewing.life", N_("Write an encrypted copy of a store in use.")),
            "restore": ("inverse_deid.cli.reviewing.life", N_("Make a store from a backup.")),
            "migrate": (
                "inverse_deid.cli.reviewing.life",
                N_("Give an older store the tables of this version."),
            ),
            "rotate-key": ("inverse_deid.cli.reviewing.life", N_("Give a store another key.")),
            "summary": ("inverse_deid.cli.reviewing.out", N_("Progress, agreement, time, causality forms.")),
        }
    }
)


class _ReviewGroup(LazyGroup):
    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        try:
            return super().get_command(ctx, cmd_name)
        except ImportError as error:
            raise missing_extra(_("a review"), error.name, "review") from error


@click.group(cls=_ReviewGroup, commands=_COMMANDS)
def review() -> None:
    """Read, correct and release masked cases in the browser (docs/review.md).

    Needs the extra `review` (pip install '.[review]').
    """
