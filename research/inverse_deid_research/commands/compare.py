"""`inverse-deid research compare`: several systems on the same documents, measured side by side."""

from __future__ import annotations

import platform
import re
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import click

from inverse_deid_research.commands.experiment import command_line
from inverse_deid_research.comparison.systems import REFERENCE, SYSTEMS

_ANY = click.Path(path_type=Path)
_FOLDER = click.Path(file_okay=False, path_type=Path)
_PRINTED = ("methods", "equal-recall", "categories")
"""Tables that fit a terminal."""
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,59}")


class _NamedFileType(click.ParamType):  # type: ignore[type-arg]
    name = "NAME=FILE"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> str:
        name, _, file = str(value).partition("=")
        if not (file and _NAME.fullmatch(name)):
            signs = "letters, digits, dots, hyphens and underscores"
            self.fail(f"give NAME=FILE. The name consists of {signs}", param, ctx)
        if Path(file).is_dir():
            self.fail("give a file of JSON Lines, not a folder", param, ctx)
        return f"{name}={Path(file)}"


@click.command()
@click.argument("test", type=_ANY)
@click.option(
    "--train",
    multiple=True,
    type=_ANY,
    help="Annotated documents that crf, svm and bilstm learn from. May be repeated.",
)
@click.option(
    "--system",
    "systems",
    multiple=True,
    metavar="NAME",
    type=click.Choice(list(SYSTEMS)),
    help="Run this system. May be repeated. Without it all systems run except bilstm, bilstm-crf "
    "and presidio. Systems that learn run only with --train.",
)
@click.option(
    "--masks",
    multiple=True,
    type=_NamedFileType(),
    help='JSON Lines of {"id", "masks": [[start, end], ...]} that another tool wrote. May be repeated.',
)
@click.option(
    "--reference", metavar="NAME", help=f"The system that the others are tested against. Usually {REFERENCE}."
)
@click.option(
    "--out", required=True, type=_FOLDER, help="Folder for masks, tables and report. It must not exist."
)
@click.option(
    "--seed",
    type=click.IntRange(0),
    default=1,
    show_default=True,
    help="Seed of learning, resampling and swapping.",
)
@click.option("--epochs", type=click.IntRange(1), help="Epochs of bilstm and bilstm-crf. The default is 10.")
@click.option("--force", is_flag=True, help="Replace an earlier comparison in the folder.")
def compare(test: Path, out: Path, **given: Any) -> None:  # noqa: ANN401 - click's options
    """Run systems on the annotated documents TEST and evaluate them side by side.

    NAME is one of patterns, dictionary, crf, svm, bilstm, bilstm-crf, presidio, rules, network,
    hybrid-strict, hybrid, hybrid-lenient, hybrid-fast (see docs/comparing.md).

    Training documents that share an id, a patient or text with TEST are left out. If the
    packaged model learned from the same file, TEST documents are left out instead. A line
    says how many.


    Exit status: 0 done, 2 refused and nothing written.
    """
    from inverse_deid_research.comparison.comparison import ComparisonSettings
    from inverse_deid_research.comparison.comparison import compare as run
    from inverse_deid_research.comparison.report import check_folder, write_comparison

    start = time.perf_counter()
    masks = {name: Path(file) for name, _, file in (value.partition("=") for value in given["masks"])}
    if len(masks) < len(given["masks"]):
        raise click.BadParameter("give every file a different name", param_hint="--masks")
    settings = ComparisonSettings(
        test=test,
        masks=masks,
        n_epochs=given["epochs"],
        **{name: given[name] for name in ("train", "systems", "reference", "seed")},
    )
    check_folder(out, force=given["force"])
    comparison = run(settings, lambda line: click.echo(line, err=True))
    tables = write_comparison(
        out,
        comparison,
        command=command_line(click.get_current_context()),
        device=name_processor(),
        n_seconds=time.perf_counter() - start,
    )
    for table in (table for table in tables if table.name in _PRINTED):
        for line in (*table.plain_lines(), *table.notes, ""):
            click.echo(line)
    click.echo(f"these and further tables written to {out / 'report.md'}")


def name_processor() -> str:
    """Return the model of the processor, as far as the system names it."""
    name = platform.processor() or platform.machine()
    with suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return name
