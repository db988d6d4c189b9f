"""`inverse-deid review init`: cases are masked into a new store."""

from __future__ import annotations

import time
from dataclasses import fields
from pathlib import Path
from typing import Any

import click

from inverse_deid.cli.case_options import CaseOptions
from inverse_deid.cli.mask import mask
from inverse_deid.cli.mask_masker import load_masker, masking_settings
from inverse_deid.cli.mask_options import MaskOptions
from inverse_deid.cli.review_store import new_key, store_options
from inverse_deid.cli.summary import exit_status, failure_lines, summary_lines, warning_lines
from inverse_deid.core.errors import OutputExistsError, UnreadableInputError
from inverse_deid.core.thresholds import Thresholds
from inverse_deid.review.loading import LoadSettings, create_store, plan_cases
from inverse_deid.review.store import MaskingFacts, store_path
from inverse_deid.review.values import ReviewPolicy

_OF_FILES = {"out", "explain", "with_text", "annotations", "force", "resume", "quiet", "workers"}
_OF_CASES = {"key", "run_report", "replace", "maps"}
_NOT_HERE = _OF_FILES | _OF_CASES
"""Options of `mask` that make no sense here."""


def _masking_options(command: click.Command) -> click.Command:
    """Add the options of `mask` that say how files are read and masked."""
    names = {one.name for kind in (MaskOptions, CaseOptions) for one in fields(kind)} - _NOT_HERE
    command.params += [
        option for option in mask.params if isinstance(option, click.Option) and option.name in names
    ]
    return command


@_masking_options
@click.command()
@click.argument("inputs", nargs=-1, required=True, metavar="CASES...", type=click.Path(path_type=Path))
@store_options
@click.option(
    "--replace",
    type=click.Choice(["marker", "category"]),
    default="marker",
    show_default=True,
    help="Show the marker, or the suspected category ([NAME], [DATE] ...).",
)
@click.option(
    "--approvals", type=click.IntRange(1, 2), default=2, show_default=True, help="Reviewers a case."
)
@click.option("--blind-to-model", is_flag=True, help="The second reviewer starts from the bare text.")
@click.option("--release-by-hand", is_flag=True, help="An adjudicator releases what reviewers agree on.")
@click.option("--lock-minutes", type=click.IntRange(1, 1440), default=30, show_default=True)
def init(inputs: tuple[Path, ...], address: str, key: Path | None, **given: Any) -> int:  # noqa: ANN401
    """Mask CASES (files or folders) into a new store, where people review them.

    The store holds the originals, encrypted. Without --key a key file is made beside
    the store: move it to another place than the store and its backups. Without the
    key nobody can read the store again. File names and ids are not encrypted.

    Exit status: 0 all done; 1 some cases failed and are listed; 2 nothing was done.
    """
    from inverse_deid.engine.document_ids import check_ids
    from inverse_deid.formats.known_values import read_known_values

    policy = ReviewPolicy(
        approvals=given.pop("approvals"),
        blind_to_model=given.pop("blind_to_model"),
        automatic_release=not given.pop("release_by_hand"),
        lock_minutes=given.pop("lock_minutes"),
    )
    options = _options(given)
    path = store_path(address)
    if path is not None and path.exists():
        raise OutputExistsError(f"{path} exists already; a store is never overwritten: give another --store")
    started = time.monotonic()
    jobs, tally = plan_cases(inputs, options.format)
    if not jobs:
        first = tally.failures[0]
        raise UnreadableInputError(f"{first.where} {first.reason}")
    known = {} if options.cases.known is None else read_known_values(options.cases.known)
    if options.cases.known is not None:
        check_ids(jobs, known, options.cases.known, options.read_options)
    masker = load_masker(masking_settings(options))
    secret, made = new_key(address, key)
    is_complete = False
    try:
        settings = LoadSettings(
            policy=policy,
            facts=_facts(masker.fingerprint, dict(getattr(masker, "made_of", {})), options),
            cases=options.cases.settings(secret.secret),
            profile=options.cases.report_profile(),
            read_options=options.read_options,
            known=known,
        )
        store, loaded = create_store(address, secret, jobs, masker, settings)
        store.close()
        is_complete = True
    finally:
        if made is not None and not is_complete:
            made.unlink(missing_ok=True)
    tally.merge(loaded)
    for line in failure_lines(tally):
        click.echo(f"inverse-deid: {line}", err=True)
    for line in warning_lines(tally.columns) if options.keep_all_columns else ():
        click.echo(line, err=True)
    for line in summary_lines(tally, time.monotonic() - started):
        click.echo(line, err=True)
    if made is not None:
        click.echo(f"note       the key is in {made}; move it elsewhere, and never lose it", err=True)
    return exit_status(tally)


def _options(given: dict[str, Any]) -> MaskOptions:
    names = {one.name for one in fields(CaseOptions)}
    cases = CaseOptions(**{name: given.pop(name) for name in names & set(given)})
    rest: dict[str, Any] = {"out": Path(), "explain": False, "with_text": False, "annotations": None}
    rest |= {"force": False, "resume": False, "quiet": False, "workers": 1}
    options = MaskOptions(**given, **rest, cases=cases)
    options.check(())
    return options


def _facts(fingerprint: str, made_of: dict[str, Any], options: MaskOptions) -> MaskingFacts:
    thresholds = made_of.get("thresholds")
    return MaskingFacts(
        fingerprint=fingerprint,
        model_sha256=made_of.get("model_sha256"),
        lexicon_sha256=made_of.get("lexicon_sha256") or "",
        thresholds=None if thresholds is None else Thresholds.from_json(thresholds),
        marker=options.marker,
        category_markers=options.marker_kind == "category",
    )
