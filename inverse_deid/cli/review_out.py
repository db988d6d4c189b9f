"""`inverse-deid review export` and `import`: what leaves a store, and corrections back into it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import click

from inverse_deid.cli.review_store import opened, store_options
from inverse_deid.cli.summary import column_lines
from inverse_deid.core.errors import ReviewError
from inverse_deid.core.files import printable
from inverse_deid.core.values import Document
from inverse_deid.review.accounts import user_named
from inverse_deid.review.annotated import (
    AnnotationFormat,
    adopt_annotations,
    cases_named,
    export_annotated,
    read_annotations,
)
from inverse_deid.review.exporting import export_released
from inverse_deid.review.reading import close_case, open_case
from inverse_deid.review.store import ReviewStore
from inverse_deid.review.trail import export_trail
from inverse_deid.review.values import Place, User

_PATH = click.Path(path_type=Path)


@click.command()
@store_options
@click.option("-o", "--out", required=True, type=_PATH, help="Folder, or file of jsonl and trail.")
@click.option(
    "--as",
    "form",
    type=click.Choice(["released", *(form.value for form in AnnotationFormat), "trail"]),
    default="released",
    show_default=True,
    help="released: masked text in the formats it came in. jsonl, i2b2, brat: ORIGINAL text with marks, for "
    "training. trail: the log, with offsets of the originals. All but released is confidential.",
)
@click.option("--force", is_flag=True, help="Overwrite what is there.")
def export(address: str, key: Path | None, out: Path, form: str, force: bool) -> int:
    """Write released cases, training documents or the trail.

    Exit status: 0 done; 1 some released cases could not be written and are listed.
    """
    with opened(address, key) as store:
        if form == "trail":
            click.echo(f"{export_trail(store, out, force=force):,} entries in {out}", err=True)
            click.echo(
                "note: CONFIDENTIAL: the trail tells where each changed word begins and ends", err=True
            )
            return 0
        if form == "released":
            exported = export_released(store, out, force=force)
        else:
            exported = export_annotated(store, out, AnnotationFormat(form), force=force)
    for problem in exported.problems:
        click.echo(f"inverse-deid: {problem}", err=True)
    click.echo(f"{exported.n_cases:,} cases written, {exported.n_left_out:,} not released yet", err=True)
    for line in column_lines(exported.columns):
        click.echo(line, err=True)
    if form != "released":
        click.echo("note: CONFIDENTIAL: these files hold the original texts. Keep them as safe", err=True)
    return 1 if exported.problems else 0


@click.command(name="import")
@click.argument("annotations", type=_PATH)
@store_options
@click.option("--user", "name", required=True, help="Whose layer takes the corrections over.")
def import_(annotations: Path, address: str, key: Path | None, name: str) -> int:
    """Take over ANNOTATIONS (jsonl, i2b2 XML or brat, corrected elsewhere) for cases of the same id.

    They become one action in the layer of the user, who then approves as usual.

    Exit status: 0 done; 1 some documents were not taken over and are listed.
    """
    n_taken, n_refused = 0, 0
    docs = read_annotations(annotations)
    with opened(address, key) as store:
        who = user_named(store, name)
        found = cases_named(store)
        for doc in docs:
            try:
                _adopt(store, who, doc, found)
                n_taken += 1
            except ReviewError as error:
                n_refused += 1
                click.echo(f"inverse-deid: document {printable(Path(doc.id))}: {error}", err=True)
    click.echo(f"{n_taken:,} documents taken over, {n_refused:,} not", err=True)
    return 1 if n_refused else 0


def _adopt(store: ReviewStore, who: User, doc: Document, found: Mapping[str, Sequence[int]]) -> None:
    """Take one document over."""
    ids = found.get(doc.id) or found.get(doc.id.removesuffix(".xml")) or []
    if len(ids) != 1:
        raise ReviewError(f"{len(ids)} cases have this id")
    view = open_case(store, who, ids[0])
    try:
        adopt_annotations(store, Place(who.id, ids[0], view.revision), doc)
    finally:
        close_case(store, who, ids[0])
