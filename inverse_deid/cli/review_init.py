"""`inverse-deid review init` and `add`: mask cases into a new store, or into one that is in use."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from inverse_deid.cli.mask import mask
from inverse_deid.cli.mask_settings import (
    MaskOptions,
    load_masker,
    make_case_settings,
    make_masking_settings,
    make_profile,
    read_known,
)
from inverse_deid.cli.review_store import make_key, read_key, store_options
from inverse_deid.cli.summary import exit_status, failure_lines, language_lines, summary_lines, warning_lines
from inverse_deid.core.errors import OutputExistsError, UnreadableInputError
from inverse_deid.core.thresholds import Thresholds
from inverse_deid.engine.jobs import Job
from inverse_deid.engine.tally import Tally
from inverse_deid.formats.known_values import KnownOfDocuments
from inverse_deid.review.intake import LoadSettings, add_cases, plan_cases
from inverse_deid.review.loading import create_store
from inverse_deid.review.store import MaskingFacts, ReviewKey, open_store, store_path
from inverse_deid.review.values import ReviewPolicy

if TYPE_CHECKING:
    from inverse_deid.masking.pipeline import Deidentifier

_NOT_HERE = {
    *("out", "force", "resume", "quiet", "explain", "with_text", "annotations", "maps", "run_report"),
    *("key", "replace", "workers", "engine", "address", "partition_mib"),
}
"""Options of `mask` that make no sense here."""


def _masking_options(command: click.Command) -> click.Command:
    """Add the options of `mask` that say how files are read and masked."""
    names = {one.name for one in fields(MaskOptions)} - _NOT_HERE
    command.params += [
        option for option in mask.params if isinstance(option, click.Option) and option.name in names
    ]
    return command


_replace_option = click.option(
    "--replace",
    type=click.Choice(["marker", "category"]),
    default="marker",
    show_default=True,
    help="Show the marker, or the suspected category ([NAME], [DATE] ...).",
)


@_masking_options
@click.command()
@click.argument("inputs", nargs=-1, metavar="[CASES]...", type=click.Path(path_type=Path))
@store_options
@_replace_option
@click.option(
    "--approvals", type=click.IntRange(1, 2), default=2, show_default=True, help="Reviewers per case."
)
@click.option("--blind-to-model", is_flag=True, help="The second reviewer starts from the bare text.")
@click.option("--release-by-hand", is_flag=True, help="An adjudicator releases agreed cases.")
@click.option(
    "--lock-minutes",
    type=click.IntRange(1, 1440),
    default=30,
    show_default=True,
    help="Minutes that a case stays locked.",
)
def init(inputs: tuple[Path, ...], address: str, key: Path | None, **given: Any) -> int:  # noqa: ANN401
    """Mask CASES (files or folders) into a new store for review. Without CASES it is empty.

    The store contains the originals, encrypted. Without --key, a key file is made
    next to the store: move it away from the store and its backups. Without the key
    the store cannot be read again. File names and ids are not encrypted.

    Exit status: 0 all done, 1 some cases failed and are listed, 2 nothing was done.
    """
    policy = ReviewPolicy(
        approvals=given.pop("approvals"),
        blind_to_model=given.pop("blind_to_model"),
        automatic_release=not given.pop("release_by_hand"),
        lock_minutes=given.pop("lock_minutes"),
    )
    options = MaskOptions(**given, out="")
    options.check(())
    path = store_path(address)
    if path is not None and path.exists():
        raise OutputExistsError(f"{path} already exists and is never overwritten. Use another --store.")
    started = time.monotonic()
    jobs, tally = _plan(inputs, options) if inputs else ([], Tally())
    known = read_known(options, jobs)
    masker = load_masker(make_masking_settings(options))
    secret, made = make_key(address, key)
    is_complete = False
    try:
        settings = replace(_make_settings(options, masker, secret, known), policy=policy)
        store, loaded = create_store(address, secret, jobs, masker, settings)
        store.close()
        is_complete = True
    finally:
        if made is not None and not is_complete:
            made.unlink(missing_ok=True)
    tally.merge(loaded)
    _report(tally, options, time.monotonic() - started)
    if made is not None:
        click.echo(f"note       the key is in {made}. Move it elsewhere, and never lose it.", err=True)
    return exit_status(tally)


@_masking_options
@click.command()
@click.argument("inputs", nargs=-1, required=True, metavar="CASES...", type=click.Path(path_type=Path))
@store_options
@_replace_option
def add(inputs: tuple[Path, ...], address: str, key: Path | None, **given: Any) -> int:  # noqa: ANN401
    """Mask CASES (files or folders) into a store that may be in use.

    The options hold for these files alone: give them again for each addition. Each
    file is added whole or not at all. A file that the store already has, with the
    same name and contents, is refused.

    Exit status: 0 all done, 1 some files or cases failed and are listed, 2 nothing was added.
    """
    options = MaskOptions(**given, out="")
    options.check(())
    started = time.monotonic()
    jobs, tally = _plan(inputs, options)
    known = read_known(options, jobs)
    secret = read_key(address, key)
    with open_store(address, secret) as store:
        masker = load_masker(make_masking_settings(options))
        settings = _make_settings(options, masker, secret, known)
        tally.merge(add_cases(store, jobs, masker, settings, by="command"))
    _report(tally, options, time.monotonic() - started)
    return exit_status(tally)


def _plan(inputs: Sequence[Path], options: MaskOptions) -> tuple[list[Job], Tally]:
    """Return the files with cases, and a tally of all other files.

    Raises:
        UnreadableInputError: There is none.
    """
    jobs, tally = plan_cases(inputs, options.format)
    if not jobs:
        first = tally.failures[0]
        raise UnreadableInputError(f"{first.where} {first.reason}")
    return jobs, tally


def _make_settings(
    options: MaskOptions, masker: Deidentifier, secret: ReviewKey, known: KnownOfDocuments
) -> LoadSettings:
    """Return how the files are read, masked and written."""
    made_of: dict[str, Any] = dict(getattr(masker, "made_of", {}))
    thresholds = made_of.get("thresholds")
    facts = MaskingFacts(
        fingerprint=masker.fingerprint,
        model_sha256=made_of.get("model_sha256"),
        lexicon_sha256=made_of.get("lexicon_sha256") or "",
        thresholds=None if thresholds is None else Thresholds.from_json(thresholds),
        marker=options.marker,
        category_markers=options.marker_kind == "category",
        categories=tuple(made_of.get("categories") or ()),
    )
    return LoadSettings(
        facts=facts,
        cases=make_case_settings(options, secret.secret),
        profile=make_profile(options),
        read_options=options.read_options,
        known=known,
    )


def _report(tally: Tally, options: MaskOptions, seconds: float) -> None:
    """Say what was done."""
    for line in failure_lines(tally):
        click.echo(f"inverse-deid: {line}", err=True)
    for line in warning_lines(tally.columns) if options.keep_all_columns else ():
        click.echo(line, err=True)
    for line in language_lines(tally):
        click.echo(line, err=True)
    for line in summary_lines(tally, seconds):
        click.echo(line, err=True)
