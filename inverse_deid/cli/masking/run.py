"""One run of `inverse-deid mask`: plan, load, mask, and say what was done."""

from __future__ import annotations

import secrets
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import click

from inverse_deid.cli.masking.settings import (
    STANDARD_INPUT,
    CaseMaskerMaker,
    MaskOptions,
    describe_settings,
    make_profile,
    open_masker,
    read_known,
)
from inverse_deid.cli.masking.summary import (
    alarm_lines,
    exit_status,
    figure_lines,
    mask_notes,
    result_lines,
)
from inverse_deid.cli.parts.progress_display import ProgressDisplay
from inverse_deid.core.errors import ConfigurationError
from inverse_deid.core.extras import missing_extra
from inverse_deid.core.files import printable
from inverse_deid.core.wording import _
from inverse_deid.engine.jobs.checks import check_paths
from inverse_deid.engine.jobs.journal import Entry, Journal
from inverse_deid.engine.jobs.planning import Job, PlanSettings, plan_jobs
from inverse_deid.engine.jobs.renaming import number_ids
from inverse_deid.engine.run import run_jobs
from inverse_deid.engine.run_report import RunReport, hash_known
from inverse_deid.engine.run_settings import OnFile, RunSettings, fingerprint_run
from inverse_deid.engine.streams import mask_pipe
from inverse_deid.engine.tally import Tally
from inverse_deid.formats.beside.rename_list import read_renames, write_renames
from inverse_deid.formats.registry import FORMATS
from inverse_deid.masking.case_masker import CaseMasker

if TYPE_CHECKING:
    from inverse_deid.engine.explained_page.page import ExplainedRun

INTERRUPTED = 130
MIB = 1024 * 1024


def run_mask(inputs: tuple[str, ...], options: MaskOptions) -> int:
    """Mask, print failures and a summary, and return the exit status.

    Raises:
        InverseDeidError: Nothing can be done.
    """
    options.check(inputs)
    started = time.monotonic()
    is_pipe = inputs == (STANDARD_INPUT,)
    try:
        if options.engine == "ray":
            tally = _mask_on_cluster(inputs, options)
        else:
            tally = _mask_pipe(options) if is_pipe else _mask_files(inputs, options)
    except KeyboardInterrupt:
        remedy = "" if is_pipe else _(". Run the same command with --resume to continue")
        click.echo(_("inverse-deid: stopped{remedy}", remedy=remedy), err=True)
        return INTERRUPTED
    for line in alarm_lines(
        tally, keeps_all=options.keep_all_columns, notes=options.choose(options.key).notes
    ):
        click.echo(line, err=True)
    if not options.quiet:
        figures = figure_lines(tally, time.monotonic() - started) if options.verbose else ()
        for line in (*result_lines(tally, _name_place(options)), *mask_notes(options, tally), *figures):
            click.echo(line, err=True)
    return exit_status(tally)


def _mask_files(inputs: tuple[str, ...], options: MaskOptions) -> Tally:
    # Planning comes first because it is quick to fail.
    renames = None if options.rename is None else read_renames(options.rename)
    plan = PlanSettings(
        out=options.folder,
        format=options.format,
        explain=options.explain,
        with_text=options.with_text,
        offsets=options.offsets,
        surrogates=options.makes_surrogates,
        annotations=options.annotations,
        maps=options.maps,
        renames=renames,
    )
    jobs, tally = plan_jobs([Path(given) for given in inputs], plan)
    check_paths(jobs, options.given_paths)
    if jobs:
        _mask_jobs(jobs, options, tally, plan)
    return tally


def _mask_jobs(jobs: Sequence[Job], options: MaskOptions, tally: Tally, plan: PlanSettings) -> None:
    # What is done is added to the tally.
    chosen = options.choose(options.key)
    marker = chosen.masking.marker
    load_profile = cache(partial(make_profile, options, chosen.cases))  # files without cases need none
    if options.profile is not None:
        load_profile()
    known, renames = read_known(options, jobs), plan.renames
    read_options = replace(options.read_options, renames=renames)
    with open_masker(options, known) as masker:
        profile = load_profile() if any(_may_hold_cases(job) for job in jobs) else None
        fingerprint = fingerprint_run(
            masker, plan, read_options, profile, known, marker=marker, rename_list=options.rename
        )
        seal_key = masker.settings.key or b""
        journal = Journal(options.folder, fingerprint, seal_key)
        if options.resume and not tally.n_failures and journal.is_finished(jobs):
            _refuse_finished(options)
            tally.n_found_complete = len(jobs)
            return
        report = None
        if options.run_report is not None:
            described = describe_settings(options, masker, load_profile(), hash_known(known))
            names = None if renames is None else {job.shown: job.name for job in jobs}
            report = RunReport(described, masker.settings.key, names)
        if renames is not None and options.rename is not None:
            number_ids(jobs, read_options)
            write_renames(renames, options.rename)
        page = _open_page(options)
        with _show_progress(options, sum(job.n_bytes for job in jobs)) as progress:
            run = RunSettings(
                fingerprint=fingerprint,
                read_options=read_options,
                force=options.force,
                resume=options.resume,
                on_progress=progress.add,
                on_advance=progress.advance,
                load_profile=load_profile,
                key=seal_key or secrets.token_bytes(32),
                seal_key=seal_key,
                marker=marker,
                n_at_once=options.workers,
                on_file=_note_files(report, page),
                watch=None if page is None else page.watch,
            )
            tally.merge(run_jobs(jobs, journal, masker, run))
        if report is not None and options.run_report is not None:
            report.write(options.run_report, tally)
        if page is not None and options.html is not None and exit_status(tally) < 2:
            page.write(options.html, tally)
        if not tally.n_failures:
            journal.finish(jobs)


def _may_hold_cases(job: Job) -> bool:
    return job.format.holds_cases or job.format.is_container


def _refuse_finished(options: MaskOptions) -> None:
    # What a report would tell of a run that was complete before is gone.
    for what, path in (("report", options.run_report), ("page", options.html)):
        if path is not None and not path.exists():
            raise ConfigurationError(
                _(
                    "{path}: the run was complete before. For a {what} mask again with --force, without "
                    "--resume",
                    path=path,
                    what=what,
                )
            )


def _note_files(report: RunReport | None, page: ExplainedRun | None) -> OnFile:
    def note(job: Job, entry: Entry) -> None:
        if report is not None:
            report.add(job, entry)
        if page is not None:
            page.add(job)

    return note


def _open_page(options: MaskOptions) -> ExplainedRun | None:
    # jinja2 is needed for `--html` only.
    if options.html is None:
        return None
    from inverse_deid.engine.explained_page.page import ExplainedRun

    return ExplainedRun()


def _mask_pipe(options: MaskOptions) -> Tally:
    if sys.stdin is None or sys.stdout is None:
        raise ConfigurationError(
            _("standard input or output is closed. Connect both, or give files and --out")
        )
    with open_masker(options) as masker, _show_progress(options) as progress:
        run = RunSettings(
            fingerprint="",
            read_options=options.read_options,
            on_progress=progress.add,
            n_at_once=options.workers,
        )
        kind = options.format or FORMATS["text"]
        return mask_pipe(sys.stdin.buffer, sys.stdout.buffer, kind, masker, run)


def _mask_on_cluster(inputs: tuple[str, ...], options: MaskOptions) -> Tally:
    try:
        from inverse_deid.scale.cluster import Cluster
        from inverse_deid.scale.run import PARTITION_BYTES, RayRun, mask_with_ray
    except ImportError as error:
        raise missing_extra("--engine ray", error.name, "scale") from error
    # Every worker must take the same day for today, also after midnight.
    chosen = options.choose(options.key)
    options = replace(options, day=chosen.cases.today)
    profile = make_profile(options, chosen.cases)
    mib = options.partition_mib
    with _show_progress(options) as progress:
        run = RayRun(
            inputs=inputs,
            out=options.out or "",
            cluster=Cluster(options.address, max(chosen.masking.n_threads, 1)),
            format=options.format,
            read_options=options.read_options,
            partition_bytes=PARTITION_BYTES if mib is None else max(1, int(mib * MIB)),
            resume=options.resume,
            force=options.force,
            on_progress=progress.add,
            on_plan=progress.expect,
            on_advance=progress.advance,
            describe=lambda masker: _count_columns(
                describe_settings(options, cast(CaseMasker, masker), profile, "")
            ),
        )
        return mask_with_ray(run, CaseMaskerMaker(options))


def _count_columns(described: dict[str, Any]) -> dict[str, Any]:
    # The manifest is with the masked files, so it has no name of a column.
    n_named = {name: len(described[name]) for name in ("text_columns", "keep_columns", "keep_unchecked")}
    return {**described, **n_named, "id_column": described["id_column"] is not None}


def _name_place(options: MaskOptions) -> str | None:
    # None = standard output.
    if options.out is None or options.engine == "ray":
        return options.out
    return printable(options.folder.resolve())


def _show_progress(options: MaskOptions, n_bytes: int = 0) -> ProgressDisplay:
    return ProgressDisplay(n_bytes, is_quiet=options.quiet, with_lines=options.progress)
