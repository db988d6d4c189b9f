"""`inverse-deid research compare`: several systems on the same documents, measured side by side."""

from __future__ import annotations

import os
import platform
import re
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from inverse_deid import __version__
from inverse_deid.research.commands.experiment import command_line
from inverse_deid.research.comparison.registry import REFERENCE, SYSTEMS

if TYPE_CHECKING:
    from inverse_deid.research.comparison.comparison import Comparison, ComparisonSettings

_ANY = click.Path(path_type=Path)
_FOLDER = click.Path(file_okay=False, path_type=Path)
_N_PRINTED = 2
"""Tables that fit a terminal: the comparison of methods, the recall by category."""
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,59}")


@dataclass(frozen=True, slots=True)
class NamedFile:
    """Masks of a tool: its name, which will be that of a file too, and where they stand."""

    name: str
    path: Path

    def __str__(self) -> str:
        return f"{self.name}={self.path}"


class _NamedFileType(click.ParamType):  # type: ignore[type-arg]
    """NAME=FILE."""

    name = "NAME=FILE"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> NamedFile:
        name, _, file = str(value).partition("=")
        if not (file and _NAME.fullmatch(name)):
            self.fail(
                "give NAME=FILE; the name has letters, digits, dots, hyphens or underscores", param, ctx
            )
        if Path(file).is_dir():
            self.fail("give a file of JSON Lines, not a folder", param, ctx)
        return NamedFile(name, Path(file))


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
    help="May be repeated. Without it all run but bilstm, bilstm-crf and presidio, and those that learn only "
    "with --train.",
)
@click.option(
    "--masks",
    multiple=True,
    type=_NamedFileType(),
    help='JSON Lines of {"id", "masks": [[start, end], ...]} that another tool wrote. May be repeated.',
)
@click.option("--reference", metavar="NAME", help=f"What the others are tested against; usually {REFERENCE}.")
@click.option(
    "--out", required=True, type=_FOLDER, help="Folder for masks, tables and report; must not exist."
)
@click.option(
    "--seed",
    type=click.IntRange(0),
    default=1,
    show_default=True,
    help="Of learning, resampling and swapping.",
)
@click.option("--epochs", type=click.IntRange(1), help="Of bilstm and bilstm-crf; without it 10.")
@click.option("--force", is_flag=True, help="Replace an earlier comparison in the folder.")
def compare(test: Path, out: Path, **given: Any) -> None:  # noqa: ANN401 - click's options
    """Run systems on the annotated documents TEST and evaluate them side by side.

    NAME is one of patterns, dictionary, crf, svm, bilstm, bilstm-crf, presidio, rules, network,
    hybrid-strict, hybrid, hybrid-lenient (see docs/comparing.md).

    What a system learns from never shares id, patient or text with TEST: such
    documents are left out, with a line. Needs the extra `compare` for crf, svm and
    bilstm (pip install '.[compare]').

    Exit status: 0 done; 2 refused, nothing was written.
    """
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
    from inverse_deid.research.comparison.comparison_folder import check_folder, write_comparison
    from inverse_deid.research.comparison.comparison_run import compare as run
    from inverse_deid.research.comparison.comparison_tables import comparison_tables
    from inverse_deid.research.comparison.tables import plain_lines

    start = time.perf_counter()
    settings = _settings(test, given)
    check_folder(out, force=given["force"])
    comparison = run(settings, lambda line: click.echo(line, err=True))
    tables = comparison_tables(comparison)
    head, provenance = _provenance(comparison, time.perf_counter() - start)
    write_comparison(out, comparison, tables, head, provenance)
    for table in tables[:_N_PRINTED]:
        for line in (*plain_lines(table), *table.notes, ""):
            click.echo(line)
    click.echo(f"these and further tables written to {out / 'report.md'}")


def _settings(test: Path, given: Mapping[str, Any]) -> ComparisonSettings:
    """What the command line says.

    Raises:
        BadParameter: Two files of masks have one name.
    """
    from inverse_deid.research.comparison.comparison import ComparisonSettings

    masks = {file.name: file.path for file in given["masks"]}
    if len(masks) < len(given["masks"]):
        raise click.BadParameter("give every file a name of its own", param_hint="--masks")
    return ComparisonSettings(
        test=test,
        train=given["train"],
        systems=given["systems"],
        masks=masks,
        reference=given["reference"],
        seed=given["seed"],
        n_epochs=given["epochs"],
    )


def _provenance(comparison: Comparison, n_seconds: float) -> tuple[list[str], dict[str, Any]]:
    """What made the figures: lines for the report, and the same as JSON values."""
    from inverse_deid.core.revision import revision
    from inverse_deid.lexicon import load_lexicon
    from inverse_deid.masking.assemble import packaged_model
    from inverse_deid.network.folder import model_fingerprint
    from inverse_deid.research.studies.provenance import Provenance

    model, lexicon = model_fingerprint(packaged_model()), load_lexicon().sha256
    made = Provenance(
        command=command_line(click.get_current_context()),
        device=_machine(),
        seeds=[comparison.settings.seed],
        hashes=comparison.hashes,
        settings={"packaged model": f"sha256 `{model}`", "packaged lexicon": f"sha256 `{lexicon}`"},
        n_seconds={"comparing": n_seconds},
    )
    values = {
        "command": made.command,
        "version": __version__,
        "revision": revision(),
        "machine": made.device,
        "seed": comparison.settings.seed,
        "data_sha256": dict(made.hashes),
        "model_sha256": model,
        "lexicon_sha256": lexicon,
    }
    return [*made.lines(), *(f"- {line}" for line in comparison.notes)], values


def _machine() -> str:
    """The processor's name, as far as the system tells."""
    name = platform.processor() or platform.machine()
    with suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return name
