"""`inverse-deid leaks`: write the missed tokens for reviewers, and read their grades."""

from __future__ import annotations

from pathlib import Path

import click

from inverse_deid.cli.parts.report_files import check_target, write_json
from inverse_deid.core.errors import ConfigurationError
from inverse_deid.core.files import write_whole
from inverse_deid.core.wording import _
from inverse_deid.evaluation.evaluation import evaluate_masks
from inverse_deid.evaluation.grades import FORMAT_NAME, grade_lines, group_grades, read_grades, report_grades
from inverse_deid.evaluation.leaks import COLUMNS, CONTEXT_TOKENS, find_leaks, write_leak_list
from inverse_deid.evaluation.masked_files import masks_by_id, read_masked
from inverse_deid.evaluation.measures.counts import GroupKind
from inverse_deid.evaluation.measures.figures import encode_record
from inverse_deid.evaluation.provenance import trace_sources
from inverse_deid.training.corpus import read_annotated

_FILE = click.Path(dir_okay=False, path_type=Path)
_MARK = ",".join(COLUMNS)


@click.group()
def leaks() -> None:
    """List the missed tokens for reviewers, or read their grades."""


@leaks.command("list")
@click.argument("gold", type=click.Path(path_type=Path))
@click.argument("masked", type=click.Path(path_type=Path))
@click.option("--out", required=True, type=_FILE, help=_("CSV file to write. It contains identifiers."))
@click.option(
    "--context",
    type=click.IntRange(0, 1000),
    default=CONTEXT_TOKENS,
    show_default=True,
    help=_("Number of tokens to show on each side."),
)
@click.option("--allow-missing", is_flag=True, help=_("Count documents without masks as unmasked."))
@click.option("--force", is_flag=True, help=_("Overwrite an earlier list and its grades."))
def list_leaks(gold: Path, masked: Path, out: Path, context: int, allow_missing: bool, force: bool) -> None:
    """Write every token of GOLD that MASKED missed, with its context, for reviewers to grade.

    GOLD and MASKED are those of `inverse-deid evaluate`. The list is CSV with a row
    per leak. The context is that of the output, so masked text is hidden.
    Give each reviewer a copy. They write direct, indirect or none (or d, i, n)
    into the column `grade`. THE LIST CONTAINS IDENTIFIERS: keep it where the
    originals are kept, and delete it with all copies after grading.

    Exit status: 0 done. 2 refused, nothing was written.
    """
    _check_place(out, gold, masked)
    check_target(out, _MARK, force=force)
    docs = read_annotated(gold)
    masks = masks_by_id(docs, read_masked(masked))
    tokens = evaluate_masks(docs, masks, allow_missing=allow_missing).group(GroupKind.ALL).recall
    found = [leak for doc in docs for leak in find_leaks(doc, masks.get(doc.id, ()), context)]
    write_whole(out, write_leak_list(found), private=True)
    n_documents = len({leak.document for leak in found})
    click.echo(
        _(
            "{n_found:,} of {whole:,} PHI tokens missed, documents with a leak: {n_documents:,}",
            n_found=len(found),
            whole=tokens.whole,
            n_documents=n_documents,
        )
    )
    click.echo(_("{out} CONTAINS IDENTIFIERS in plain text. Only you can read it (mode 600).", out=out))
    click.echo(_("Delete it and every copy when the leaks are graded."))


def _check_place(out: Path, gold: Path, masked: Path) -> None:
    # Next to a single masked file they are allowed if the gold is there: that folder is confidential anyway.
    folder = out.resolve().parent
    if masked.is_dir():
        is_among = masked.resolve() in out.resolve().parents
    else:
        is_among = masked.resolve().parent == folder and folder not in gold.resolve().parents
    if is_among:
        raise ConfigurationError(
            _("--out will contain identifiers. Give a file outside the folder of masked files")
        )


@leaks.command()
@click.argument("first", metavar="LEAKS_A.csv", type=_FILE)
@click.argument("second", metavar="[LEAKS_B.csv]", type=_FILE, required=False)
@click.option("--json", "json_path", type=_FILE, help=_("Write all exact figures as JSON."))
@click.option("--allow-ungraded", is_flag=True, help=_("Leave out leaks without a grade."))
@click.option(
    "--seed", type=click.IntRange(0), default=0, show_default=True, help=_("Seed of the resamples.")
)
@click.option("--force", is_flag=True, help=_("Overwrite the JSON file of earlier grades."))
def grade(
    first: Path, second: Path | None, json_path: Path | None, allow_ungraded: bool, seed: int, force: bool
) -> None:
    """Count the grades of one or two reviewers, and measure how far two reviewers agree.

    Give the copies of one list of leaks with the grades direct, indirect and none (or d, i, n).
    The output has counts, never text.

    Exit status: 0 done. 2 refused, nothing was written.
    """
    if json_path is not None:
        check_target(json_path, FORMAT_NAME, force=force)
    a = read_grades(first, allow_ungraded=allow_ungraded)
    b = None if second is None else read_grades(second, allow_ungraded=allow_ungraded)
    if second is not None and second.samefile(first):
        raise ConfigurationError(
            _("{second} was given twice. Give the copies of two reviewers, or one copy", second=second)
        )
    groups = group_grades(a, b, seed=seed)
    if json_path is not None:
        read = trace_sources(first=first, second=second)
        write_json(json_path, encode_record(report_grades(groups, seed=seed, provenance=read)))
    click.echo(f"A: {first}")
    if second is not None:
        click.echo(f"B: {second}")
    for line in grade_lines(groups):
        click.echo(line)
