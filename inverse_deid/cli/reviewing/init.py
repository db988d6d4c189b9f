"""`inverse-deid review init` and `add`: mask cases into a new store, or into one that is in use."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from inverse_deid.choices.records import Surface
from inverse_deid.choices.table import CHOICES
from inverse_deid.cli.masking.mask import OPTION_GROUPS, mask
from inverse_deid.cli.masking.settings import (
    MaskOptions,
    load_masker,
    make_profile,
    read_known,
)
from inverse_deid.cli.masking.summary import (
    alarm_lines,
    count_documents,
    exit_status,
    fact_lines,
    figure_lines,
    problem_lines,
)
from inverse_deid.cli.parts.choice_options import list_options
from inverse_deid.cli.parts.grouped_command import GroupedCommand
from inverse_deid.cli.parts.progress_display import ProgressDisplay
from inverse_deid.cli.reviewing.store import anchor_given, make_key, read_key, store_options
from inverse_deid.core.errors import ConfigurationError, OutputExistsError, Remedy, UnreadableInputError
from inverse_deid.core.files import printable
from inverse_deid.core.wording import N_, _
from inverse_deid.engine.tally import Tally
from inverse_deid.files.finding import FoundFile
from inverse_deid.files.survey import survey
from inverse_deid.formats.beside.known_values import KnownOfDocuments
from inverse_deid.formats.records import ReadOptions
from inverse_deid.replacement.settings import CaseSettings
from inverse_deid.review.files.choices import find_copied
from inverse_deid.review.files.intake import FileProgress, LoadSettings, add_cases, plan_cases, state_facts
from inverse_deid.review.files.loading import create_store
from inverse_deid.review.flow.contents import Listed
from inverse_deid.review.flow.word_lists import follow_lists
from inverse_deid.review.store.database import store_path
from inverse_deid.review.store.keys import ReviewKey
from inverse_deid.review.store.opening import open_store
from inverse_deid.review.store.values import MaskingFacts, ReviewPolicy

_BORROWED = {
    *("format_name", "progress", "known", "profile", "delimiter", "encoding"),
    *("text_column", "id_column", "keep_column", "keep_all_columns", "keep_unchecked", "all_cells"),
}
"""Options of `mask`, beside choices of the table, that say how the files of these commands are read."""
_OF_CASES = _BORROWED | {one.name for one in CHOICES if one.name in CaseSettings.__slots__} - {"key"}
"""Options that do nothing without a file: these, and those that say what replaces dates and ages."""

_ANY_KEY = bytes(16)
"""Stands for the key of the store, which is not read or made before all else is found to be in order."""

_EXAMPLES = {
    N_("One reviewer per case"): "inverse-deid review init CASES --store review.db --approvals 1",
    N_("A table"): "inverse-deid review init cases.csv --text-column narrative --store review.db",
}


_ADD_EXAMPLES = {
    N_("More cases of a table"): "inverse-deid review add more.csv --text-column narrative --store review.db",
}


def _masking_options(command: GroupedCommand) -> GroupedCommand:
    for heading in OPTION_GROUPS:
        command.add_groups({heading: list_options(Surface.REVIEW, heading)})
        borrowed = _BORROWED | {"verbose"}
        command.borrow(mask, {name for name in borrowed if mask.headings.get(name) == heading})
    return command


@_masking_options
@click.command(cls=GroupedCommand, heading=N_("The review"), examples=_EXAMPLES)
@click.argument("inputs", nargs=-1, metavar="[CASES]...", type=click.Path(path_type=Path))
@store_options
@click.option(
    "--approvals", type=click.IntRange(1, 2), default=2, show_default=True, help=_("Reviewers per case.")
)
@click.option("--blind-to-model", is_flag=True, help=_("The second reviewer starts from the bare text."))
@click.option("--release-by-hand", is_flag=True, help=_("An adjudicator releases agreed cases."))
@click.option(
    "--lock-minutes",
    type=click.IntRange(1, 1440),
    default=30,
    show_default=True,
    help=_("Minutes that a case stays locked."),
)
@click.option("--second-factor", is_flag=True, help=_("Each log-in needs a password and a one-time code."))
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
        second_factor=given.pop("second_factor"),
    )
    options = MaskOptions.read(given, out="")
    options.check((), _ANY_KEY)
    if not inputs:
        _refuse_given(_OF_CASES)
    path = store_path(address)
    if path is not None and path.exists():
        raise OutputExistsError(
            _("{path} already exists and is never overwritten. Use another --store", path=path)
        )
    started = time.monotonic()
    jobs, tally = _plan(inputs, options) if inputs else ([], Tally())
    known = read_known(options, jobs)
    masking = options.choose(_ANY_KEY).masking
    masker = load_masker(masking)
    secret, made = make_key(address, key)
    is_complete = False
    try:
        with ProgressDisplay(sum(job.n_bytes for job in jobs), with_lines=options.progress) as display:
            # The store has no key of its own yet. Any key keeps listed words from being guessed.
            facts = state_facts(masker, masking, secrets.token_bytes(32))
            settings = _make_settings(options, facts, secret, known, display, jobs)
            listed = Listed(masking.deny, masking.allow)
            settings = replace(settings, policy=policy, listed=listed)
            store, loaded = create_store(address, secret, jobs, masker, settings)
        with store, anchor_given(store, is_new=True):
            pass
        is_complete = True
    finally:
        if made is not None and not is_complete:
            made.unlink(missing_ok=True)
    tally.merge(loaded)
    lines = _result_lines("Masked", tally, path)
    _report(tally, options, lines, time.monotonic() - started)
    if made is not None:
        click.echo(_("The key is in: {made}", made=printable(made)), err=True)
        click.echo(
            _("Keep it apart from the store, and never lose it. Without it, nobody can read the store."),
            err=True,
        )
    return exit_status(tally)


@_masking_options
@click.command(cls=GroupedCommand, heading=N_("The review"), examples=_ADD_EXAMPLES)
@click.argument("inputs", nargs=-1, required=True, metavar="CASES...", type=click.Path(path_type=Path))
@store_options
def add(inputs: tuple[Path, ...], address: str, key: Path | None, **given: Any) -> int:  # noqa: ANN401
    """Mask CASES (files or folders) into a store that may be in use.

    The options hold for these files alone: give them again for each addition. Each
    file is added whole or not at all. A file that the store already has, with the
    same name and contents, is refused.

    Exit status: 0 all done, 1 some files or cases failed and are listed, 2 nothing was added.
    """
    options = MaskOptions.read(given, out="")
    options.check((), _ANY_KEY)
    started = time.monotonic()
    jobs, tally = _plan(inputs, options)
    known = read_known(options, jobs)
    secret = read_key(address, key)
    with open_store(address, secret) as store, anchor_given(store):
        masking = follow_lists(store, options.choose(secret.secret).masking)
        masker = load_masker(masking)
        with ProgressDisplay(sum(job.n_bytes for job in jobs), with_lines=options.progress) as display:
            facts = state_facts(masker, masking, store.case_key)
            settings = _make_settings(options, facts, secret, known, display, jobs)
            settings = replace(settings, listed=Listed(masking.deny, masking.allow))
            tally.merge(add_cases(store, jobs, masker, settings, by="command"))
    _report(tally, options, _result_lines("Added", tally, store_path(address)), time.monotonic() - started)
    return exit_status(tally)


def _refuse_given(names: Collection[str]) -> None:
    context = click.get_current_context()
    given = [
        param.opts[0]
        for param in context.command.params
        if param.name in names
        and context.get_parameter_source(str(param.name)) is ParameterSource.COMMANDLINE
    ]
    if given:
        raise ConfigurationError(
            _("{given}: for CASES alone. Give CASES, or leave this out", given=", ".join(given))
        )


def _plan(inputs: Sequence[Path], options: MaskOptions) -> tuple[list[FoundFile], Tally]:
    jobs, tally = plan_cases(inputs, options.format)
    if not jobs:
        first = tally.failures[0]
        raise UnreadableInputError(f"{first.where} {first.reason}", remedies=first.remedies)
    if options.read_options.kept_columns or options.keep_all_columns:
        for job in jobs:
            _refuse_copied(job, options.read_options)
    return jobs, tally


def _refuse_copied(job: FoundFile, options: ReadOptions) -> None:
    # Who gives the command cannot show that another adjudicator agrees, so the pages ask one.
    concerns = find_copied(survey(job.input).columns, options)
    if concerns:
        raise ConfigurationError(
            _(
                "{file}: column {name} would be copied unmasked. {found} Another adjudicator must confirm it",
                file=job.shown,
                name=concerns[0].shown,
                found=_(concerns[0].found),
            ),
            remedies=[
                Remedy(step=N_("add the file on the pages of the review")),
                Remedy(step=N_("mask or drop the column")),
            ],
        )


def follow_files(display: ProgressDisplay, jobs: Sequence[FoundFile]) -> Callable[[FileProgress], None]:
    """Return what tells a display how far each file is, in bytes as they are on the disk."""
    sizes = {job.shown: job.n_bytes for job in jobs}
    told: dict[str, int] = {}

    def advance(file: FileProgress) -> None:
        done = sizes[file.name] * file.n_bytes_read // max(file.n_bytes, 1)
        display.advance(max(done - told.get(file.name, 0), 0), False)
        told[file.name] = max(done, told.get(file.name, 0))

    return advance


def _result_lines(done: str, tally: Tally, path: Path | None) -> Iterator[str]:
    # The number of cases, the store, and what became of the parts of files.
    place = _("the database") if path is None else printable(path)
    yield _(
        "{done} {documents} for review. The store is: {place}",
        done=done,
        documents=count_documents(tally.n_documents),
        place=place,
    )
    yield from problem_lines(tally)
    yield from fact_lines(tally)


def _make_settings(
    options: MaskOptions,
    facts: MaskingFacts,
    secret: ReviewKey,
    known: KnownOfDocuments,
    display: ProgressDisplay,
    jobs: Sequence[FoundFile],
) -> LoadSettings:
    cases = options.choose(secret.secret).cases
    return LoadSettings(
        facts=facts,
        cases=cases,
        profile=make_profile(options, cases),
        read_options=options.read_options,
        known=known,
        on_progress=display.add,
        on_file=follow_files(display, jobs),
    )


def _report(tally: Tally, options: MaskOptions, results: Iterator[str], seconds: float) -> None:
    lines = (
        *alarm_lines(tally, keeps_all=options.keep_all_columns, notes=options.choose(_ANY_KEY).notes),
        *results,
        *(figure_lines(tally, seconds) if options.verbose else ()),
    )
    for line in lines:
        click.echo(line, err=True)
