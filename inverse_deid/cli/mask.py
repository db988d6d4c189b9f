"""`inverse-deid mask`: case narratives in, masked case narratives out."""

from __future__ import annotations

import secrets
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from inverse_deid import __version__
from inverse_deid.cli.case_options import CaseOptions, case_options
from inverse_deid.cli.mask_masker import case_masker, report_settings
from inverse_deid.cli.mask_options import STANDARD_INPUT, MaskOptions
from inverse_deid.cli.scale_options import ScaleOptions, mask_on_cluster, scale_options
from inverse_deid.core.errors import ConfigurationError
from inverse_deid.formats.registry import FORMATS

if TYPE_CHECKING:
    from inverse_deid.engine.jobs import Job
    from inverse_deid.engine.tally import Tally
    from inverse_deid.formats.icsr.profiles import Profile
    from inverse_deid.formats.known_values import KnownOfDocuments
    from inverse_deid.masking.case_masker import CaseMasker

INTERRUPTED = 130
MAX_WORKERS = 256

_FILE = click.Path(dir_okay=False, path_type=Path)
_FOLDER = click.Path(path_type=Path)
_SCALE_NAMES = ("engine", "address", "partition_mib")


@click.command()
@click.argument("inputs", nargs=-1, required=True, metavar="INPUT...")
@click.option("-o", "--out", help="Folder for the masked files; needed unless INPUT is -.")
@click.option("--format", "format_name", type=click.Choice(list(FORMATS)), help="By suffix if not given.")
@click.option(
    "--text-column",
    multiple=True,
    default=("text",),
    show_default=True,
    metavar="NAME",
    help="Column or JSON key to mask. Repeat it for several texts of one case.",
)
@click.option(
    "--id-column",
    metavar="NAME",
    help="Column or JSON key of the id. It is written unmasked.  [default: id, or the position]",
)
@click.option(
    "--keep-column",
    multiple=True,
    metavar="NAME",
    help="Column or JSON key to copy unmasked. Repeat it for several. Other columns are dropped.",
)
@click.option("--keep-all-columns", is_flag=True, help="Copy all other columns unmasked.")
@click.option("--delimiter", help="Between the cells of a CSV file: one character, or tab.  [default: ,]")
@click.option("--encoding", default="utf-8", show_default=True, help="Of text, JSON Lines and CSV files.")
@click.option("--marker", default="PHI", show_default=True, help="Stands for what is masked.")
@click.option(
    "--explain",
    is_flag=True,
    help="Write NAME.explain.jsonl: which words of the masked text were kept, and what each marker may hide.",
)
@click.option(
    "--with-text",
    is_flag=True,
    help="With --explain: the ORIGINAL words, why each was kept, and the probabilities. Confidential.",
)
@click.option(
    "--offsets",
    is_flag=True,
    help="In JSON Lines: add masks, the ranges of the original text that were masked, for evaluate. "
    "They tell the length of every masked word. Confidential.",
)
@click.option("--annotations", type=_FOLDER, help="Folder for i2b2 annotation XML. Holds the ORIGINAL text.")
@click.option(
    "--policy",
    type=click.Choice(["case-aware", "literal"]),
    default="case-aware",
    show_default=True,
    help="How the rules judge words that may be names. `literal` is the published way: it leaks more names.",
)
@click.option("--rules-only", is_flag=True, help="Decide by dictionaries and rules alone.")
@click.option(
    "--operating-point",
    type=click.Choice(["strict", "balanced", "lenient"]),
    help="How sure to be before a word is kept: strict masks most, lenient least.  [default: balanced]",
)
@click.option("--low", type=click.FloatRange(0, 1), help="Threshold where the rules say safe.")
@click.option("--high", type=click.FloatRange(0, 1), help="Threshold where they do not.")
@click.option("--certificate", type=_FILE, help="Thresholds that inverse-deid calibrate guaranteed.")
@click.option(
    "--allow-low-thresholds",
    is_flag=True,
    help="Mask even with thresholds that keep words that are probably identifiers.",
)
@click.option("--model", type=_FOLDER, help="Folder of another model.")
@click.option("--lexicon", type=_FILE, help="Another lexicon.")
@click.option("--allow", type=_FILE, help="File with words to keep, one a line.")
@click.option("--deny", type=_FILE, help="File with words or phrases to mask, one a line.")
@case_options
@scale_options
@click.option(
    "--threads",
    type=click.IntRange(0),
    default=0,
    help="For the network, in each worker; 0 = one a core, shared among the workers.",
)
@click.option(
    "--workers",
    type=click.IntRange(1, MAX_WORKERS),
    default=1,
    show_default=True,
    help="Processes that mask at once. The output does not depend on it.",
)
@click.option("--force", is_flag=True, help="Overwrite masked files that exist; never an input.")
@click.option("--resume", is_flag=True, help="Go on with a run that was interrupted.")
@click.option("-q", "--quiet", is_flag=True, help="No progress and no summary; failures are still listed.")
def mask(inputs: tuple[str, ...], **given: Any) -> int:  # noqa: ANN401 - click's options, typed in MaskOptions
    """Mask case narratives: everything is hidden but what is surely safe.

    INPUT is a file, a folder (searched with its subfolders) or - for standard
    input. Formats by suffix: .txt, .xml (case safety reports, ICH E2B(R3) and
    E2B(R2); 2014 i2b2), .jsonl, .csv, .tsv, .parquet; .gz is unpacked. Masked
    files go to the folder --out under the same names. File names and ids are
    copied, make sure that they hold no names. Other columns of tables and fields
    of JSON Lines are dropped, unless --keep-column names them.

    Exit status: 0 all done; 1 some documents failed and are listed; 2 nothing
    could be done; 130 stopped (run again with --resume).
    """
    names = {one.name for one in fields(CaseOptions)}
    cases = CaseOptions(**{name: given.pop(name) for name in names})
    scale = ScaleOptions(out=given["out"], **{name: given.pop(name) for name in _SCALE_NAMES})
    given["out"] = None if given["out"] is None else Path(given["out"])
    options = MaskOptions(**given, cases=cases)
    options.check(inputs)
    scale.check(options, inputs)
    started = time.monotonic()
    try:
        if scale.engine == "ray":
            tally = _mask_on_cluster(inputs, options, scale)
        else:
            tally = _mask_pipe(options) if inputs == (STANDARD_INPUT,) else _mask_files(inputs, options)
    except KeyboardInterrupt:
        remedy = "" if inputs == (STANDARD_INPUT,) else "; run the same command with --resume to go on"
        click.echo(f"inverse-deid: stopped{remedy}", err=True)
        return INTERRUPTED
    return _report(tally, time.monotonic() - started, options)


def _mask_files(inputs: tuple[str, ...], options: MaskOptions) -> Tally:
    """Plan, load the model, mask; planning comes first because it is quick to fail."""
    from inverse_deid.engine.jobs import PlanSettings, plan_jobs
    from inverse_deid.engine.path_clashes import check_paths

    plan = PlanSettings(
        out=options.out or Path(),
        format=options.format,
        explain=options.explain,
        with_text=options.with_text,
        offsets=options.offsets,
        surrogates=options.cases.makes_surrogates,
        annotations=options.annotations,
        maps=options.cases.maps,
    )
    jobs, tally = plan_jobs([Path(given) for given in inputs], plan)
    check_paths(jobs, options.given_paths())
    n_refused = tally.n_failures
    if jobs:
        profile = options.cases.report_profile()
        known = _known_of(jobs, options)
        with case_masker(options, known) as masker:
            _run(jobs, tally, options, (masker, known, profile))
    is_nothing_left = options.resume and not n_refused and tally.n_found_complete == len(jobs)
    if is_nothing_left and not options.quiet:
        complete = "the file is" if len(jobs) == 1 else f"all {len(jobs):,} files are"
        click.echo(f"Nothing is left to do: {complete} complete.", err=True)
    return tally


def _run(
    jobs: Sequence[Job],
    tally: Tally,
    options: MaskOptions,
    loaded: tuple[CaseMasker, KnownOfDocuments, Profile],
) -> None:
    """Mask, and count and report what was done."""
    from inverse_deid.engine.document_ids import hash_of
    from inverse_deid.engine.journal import Journal
    from inverse_deid.engine.run import run_jobs
    from inverse_deid.engine.run_report import RunReport
    from inverse_deid.engine.run_settings import RunSettings, settings_fingerprint

    masker, known, profile = loaded
    written = (options.explain, options.with_text, options.annotations, options.cases.maps)
    shape = (options.read_options, options.format_name, *written)
    fingerprint = settings_fingerprint(
        __version__, masker.fingerprint, *shape, profile, options.marker, hash_of(known)
    )
    journal = Journal(options.out or Path(), fingerprint)
    if options.resume and not tally.n_failures and journal.is_finished(jobs):
        _check_report_is_there(options)
        tally.n_found_complete = len(jobs)
        return
    report = RunReport(report_settings(options, masker, profile, hash_of(known)), masker.settings.key)
    with _Progress(options) as progress:
        run = RunSettings(
            fingerprint=fingerprint,
            read_options=options.read_options,
            force=options.force,
            resume=options.resume,
            on_progress=progress.add,
            profile=profile,
            key=masker.settings.key or secrets.token_bytes(32),
            marker=options.marker,
            n_at_once=options.workers,
            on_file=report.add if options.cases.run_report is not None else lambda _job, _entry: None,
        )
        tally.merge(run_jobs(jobs, journal, masker, run))
    if options.cases.run_report is not None:
        report.write(options.cases.run_report, tally)
    if not tally.n_failures:
        journal.finish(jobs)


def _check_report_is_there(options: MaskOptions) -> None:
    """A run that was complete before cannot be reported any more: what it counted is gone.

    Raises:
        ConfigurationError: A run report is asked for and is not there.
    """
    report = options.cases.run_report
    if report is not None and not report.exists():
        raise ConfigurationError(
            f"{report}: the run was complete before. For a report mask again with --force, without --resume"
        )


def _mask_on_cluster(inputs: tuple[str, ...], options: MaskOptions, scale: ScaleOptions) -> Tally:
    with _Progress(options) as progress:
        return mask_on_cluster(inputs, options, scale, progress.add)


def _mask_pipe(options: MaskOptions) -> Tally:
    from inverse_deid.engine.pipe import mask_pipe
    from inverse_deid.engine.run_settings import RunSettings

    if sys.stdin is None or sys.stdout is None:
        raise ConfigurationError("standard input or output is closed; connect both, or give files and --out")
    pipes = (sys.stdin.buffer, sys.stdout.buffer)
    with case_masker(options) as masker, _Progress(options) as progress:
        run = RunSettings(
            fingerprint="",
            read_options=options.read_options,
            on_progress=progress.add,
            n_at_once=options.workers,
        )
        return mask_pipe(pipes, options.format or FORMATS["text"], masker, run)


def _known_of(jobs: Sequence[Job], options: MaskOptions) -> KnownOfDocuments:
    """The sidecar with known identifiers, whose ids must all be those of documents."""
    from inverse_deid.engine.document_ids import check_ids
    from inverse_deid.formats.known_values import read_known_values

    if options.cases.known is None:
        return {}
    known = read_known_values(options.cases.known)
    check_ids(jobs, known, options.cases.known, options.read_options)
    return known


class _Progress:
    """Documents and tokens a second on a terminal, nothing in a pipe."""

    def __init__(self, options: MaskOptions) -> None:
        from tqdm import tqdm

        is_shown = sys.stderr.isatty() and not options.quiet
        self._bar = tqdm(unit=" documents", file=sys.stderr, disable=not is_shown, leave=False)
        self._started = time.monotonic()
        self._n_tokens = 0
        self._counting = threading.Lock()

    def __enter__(self) -> _Progress:
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.close()

    def add(self, n_documents: int, n_tokens: int) -> None:
        """Count a batch; may be called from several threads."""
        with self._counting:
            self._n_tokens += n_tokens
            rate = self._n_tokens / max(time.monotonic() - self._started, 1e-3)
            self._bar.set_postfix_str(f"{rate:,.0f} tokens/s", refresh=False)
            self._bar.update(n_documents)


def _report(tally: Tally, seconds: float, options: MaskOptions) -> int:
    """Print failures and summary; the exit status."""
    from inverse_deid.cli.summary import exit_status, failure_lines, summary_lines, warning_lines

    for line in failure_lines(tally):
        click.echo(f"inverse-deid: {line}", err=True)
    if options.keep_all_columns:
        for line in warning_lines(tally.columns):
            click.echo(line, err=True)
    was_complete = bool(tally.n_found_complete) and not tally.n_documents and not tally.n_failures
    if not options.quiet and not was_complete:
        for line in summary_lines(tally, seconds):
            click.echo(line, err=True)
        for note in _notes(options, tally):
            click.echo(f"note       {note}", err=True)
    return exit_status(tally)


def _notes(options: MaskOptions, tally: Tally) -> Iterator[str]:
    """What to bear in mind about what was written."""
    from inverse_deid.core.files import printable
    from inverse_deid.engine.journal import JOURNAL_NAME

    if tally.n_failures and options.out is not None and (options.out / JOURNAL_NAME).exists():
        yield f"--resume repeats what failed. Delete {JOURNAL_NAME} in the output folder before you share it"
    if options.certificate is not None:
        yield (
            f"the thresholds are those of {printable(options.certificate)}; it says what they "
            "guarantee and on which conditions"
        )
    if options.with_text:
        yield "CONFIDENTIAL: the explanations hold the original words. Keep them as safe as the originals"
    elif options.explain and options.cases.makes_surrogates:
        yield "CONFIDENTIAL: the explanations tell which words are made up. Do not pass them on"
    if options.offsets:
        yield (
            "CONFIDENTIAL: the masked files tell the length of every masked word. Pass on a masking without "
            "--offsets"
        )
    if options.annotations is not None:
        yield "CONFIDENTIAL: the annotation files hold the original texts. Keep them as safe"
    if options.cases.run_report is not None:
        yield "CONFIDENTIAL: the run report counts the words of each file. Keep it where the originals are"
    if options.cases.maps is not None:
        yield "with the key the maps give back the originals: keep both where the originals are"
    if options.cases.makes_surrogates:
        yield "made-up names stand beside what was missed; that is no anonymisation (docs/surrogates.md)"
