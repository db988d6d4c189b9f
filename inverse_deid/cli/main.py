"""The command `inverse-deid`: its subcommands, and how errors become one line and a status."""

from __future__ import annotations

import importlib.metadata
import os
import sys
from collections.abc import Callable
from types import MappingProxyType
from typing import Any, NoReturn

import click

from inverse_deid import __version__
from inverse_deid.cli.parts.lazy_group import Commands, LazyGroup, translate_help
from inverse_deid.cli.parts.messages import describe_error
from inverse_deid.core.errors import ConfigurationError, InverseDeidError
from inverse_deid.core.errors import describe_error as describe_unforeseen
from inverse_deid.core.extras import install_hint, research_hint
from inverse_deid.core.wording import N_, _, languages_of, speaking

ADDED_COMMANDS = "inverse_deid.commands"
"""The entry points under which other packages add a command: its name, and the click command."""
_RESEARCH = "research"
_OF_MASKING = ("mask", "serve", "desk")

NOTHING_DONE = 2
INTERRUPTED = 130

_COMMANDS: Commands = MappingProxyType(
    {
        N_("Mask and release"): {
            "mask": (
                "inverse_deid.cli.masking.mask",
                N_("Mask case narratives: files, folders or standard input."),
            ),
            "reveal": ("inverse_deid.cli.reveal", N_("Restore the originals with the map and the key.")),
            "serve": ("inverse_deid.cli.serve", N_("Mask documents over HTTP.")),
            "key": ("inverse_deid.cli.key", N_("Make a key file.")),
            "lexicon": ("inverse_deid.cli.lexicon", N_("Build the dictionaries, or look up a word.")),
        },
        "Review": {
            "desk": ("inverse_deid.cli.desk", N_("From a file to its masked file, in the browser.")),
            "review": ("inverse_deid.cli.reviewing.group", N_("Read, correct and release masked cases.")),
        },
        "Measure": {
            "evaluate": ("inverse_deid.cli.evaluate", N_("Measure what a masking leaked and what it kept.")),
            "leaks": (
                "inverse_deid.cli.leaks",
                N_("List missed tokens for reviewers, or read their grades."),
            ),
            "risk": ("inverse_deid.cli.risk", N_("Estimate the risk that a document is re-identified.")),
            "utility": ("inverse_deid.cli.utility", N_("Measure what is left for causality assessment.")),
        },
        "Train": {
            "train": ("inverse_deid.cli.train", N_("Train a model on annotated documents.")),
            "fine-tune": ("inverse_deid.cli.train", N_("Train a model further on your own documents.")),
            "calibrate": ("inverse_deid.cli.calibrate", N_("Find thresholds with a guaranteed leak rate.")),
            "generate": ("inverse_deid.cli.generate", N_("Generate synthetic annotated documents.")),
        },
    }
)


class _MainGroup(LazyGroup):
    def list_commands(self, ctx: click.Context) -> list[str]:
        return [*super().list_commands(ctx), *_find_added_commands()]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        # None = unknown name.
        if cmd_name in _OF_MASKING:
            # NumPy starts a thread per core for products of matrices, and masking has none.
            os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
        if (own := super().get_command(ctx, cmd_name)) is not None:
            return own
        if (added := _find_added_commands().get(cmd_name)) is not None:
            command: click.Command = added.load()
            return command
        if cmd_name == _RESEARCH:
            raise ConfigurationError(_("the research is a package of its own: {hint}", hint=research_hint()))
        return None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        super().format_commands(ctx, formatter)
        if added := _find_added_commands():
            with formatter.section(_("Other packages")):
                formatter.write_dl([(name, one.load().get_short_help_str()) for name, one in added.items()])

    def main(self, *args: Any, **options: Any) -> NoReturn:  # noqa: ANN401 - as click declares it
        run = super().main
        options = {"prog_name": "inverse-deid", **options, "standalone_mode": False}
        # Commands are imported afterwards: their options have texts in this language.
        with speaking(languages_of(os.environ)):
            translate_help(self)
            status = status_of(lambda: run(*args, **options))
            if not _is_output_written() and not status:
                click.echo(
                    _("inverse-deid: standard output was closed before everything was written"), err=True
                )
                status = NOTHING_DONE
        sys.exit(status)


@click.group(cls=_MainGroup, commands=_COMMANDS, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="inverse-deid")
def main() -> None:
    """Mask medical case narratives: hide every word that is not surely safe.

    Exit status: 0 all done, 1 some documents failed and are listed, 2 nothing could be done.
    """


def _find_added_commands() -> dict[str, importlib.metadata.EntryPoint]:
    # None of them replaces one of ours.
    own = {name for section in _COMMANDS.values() for name in section}
    added = importlib.metadata.entry_points(group=ADDED_COMMANDS)
    return {one.name: one for one in sorted(added, key=lambda one: one.name) if one.name not in own}


def status_of(call: Callable[[], object]) -> int:
    """Run a command and return its status; every error becomes one line on standard error."""
    try:
        status = call()
    except click.exceptions.Abort:
        return INTERRUPTED
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except InverseDeidError as error:
        click.echo(f"inverse-deid: {describe_error(error)}", err=True)
        return NOTHING_DONE
    except Exception as error:  # noqa: BLE001 - the message of an unforeseen error may quote a narrative
        click.echo(f"inverse-deid: {_describe_unforeseen(error)}", err=True)
        return NOTHING_DONE
    return status if isinstance(status, int) else 0


def _is_output_written() -> bool:
    # Otherwise Python would try again when it ends, print its own error and exit with status 120.
    if sys.stdout is None or sys.stdout.closed:
        return True
    try:
        sys.stdout.flush()
    except OSError:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)
        return False
    return True


def _describe_unforeseen(error: Exception) -> str:
    package = (error.name or "").partition(".")[0] if isinstance(error, ModuleNotFoundError) else ""
    if package in ("", "inverse_deid"):
        return _(
            "{unforeseen} stopped the program; please report this line", unforeseen=describe_unforeseen(error)
        )
    return _(
        "the package {package} is not installed: {hint}. The extras are in pyproject.toml",
        package=package,
        hint=install_hint("EXTRA"),
    )


if __name__ == "__main__":
    main()
