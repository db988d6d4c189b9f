"""`inverse-deid evaluate`: compare masks with gold documents."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import click
import numpy as np

from inverse_deid.choices.categories import kept_classes, list_categories, parse_categories
from inverse_deid.cli.parts.grouped_command import GroupedCommand
from inverse_deid.cli.parts.report_files import check_target, write_json
from inverse_deid.core.errors import ConfigurationError, FormatError
from inverse_deid.core.files import write_whole
from inverse_deid.core.values import Document
from inverse_deid.core.wording import N_, _
from inverse_deid.evaluation.added_reports import AddedReport, list_plain_added, read_added, refuse_foreign
from inverse_deid.evaluation.chosen_categories import measure_kept, split_spans
from inverse_deid.evaluation.evaluation import evaluate_masks, intervals_of, read_patients
from inverse_deid.evaluation.masked_files import masks_by_id, read_explained, read_masked, score_tokens
from inverse_deid.evaluation.measures.counts import WordTest, read_harmless
from inverse_deid.evaluation.measures.curves import ScoreFigures, measure_scores
from inverse_deid.evaluation.measures.figures import encode_record
from inverse_deid.evaluation.measures.resampling import N_RESAMPLES, SEED
from inverse_deid.evaluation.measures.uncertainty import CONFIDENCE
from inverse_deid.evaluation.plain_text import format_share
from inverse_deid.evaluation.provenance import name_files, trace_sources
from inverse_deid.evaluation.report import FORMAT_NAME, EvaluationReport, build_report, table_lines
from inverse_deid.lexicon import Lexicon, WordFlag, load_lexicon
from inverse_deid.training.corpus import read_annotated

_FILE = click.Path(dir_okay=False, path_type=Path)
_PATH = click.Path(path_type=Path)
_CLINICAL = WordFlag.DRUG | WordFlag.MEDICAL | WordFlag.SHORTHAND | WordFlag.UNIT


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluateOptions:
    """The options of the command."""

    json_path: Path | None
    html: Path | None
    added: tuple[Path, ...]
    explain: Path | None
    patients: Path | None
    confidence: float
    resamples: int
    seed: int
    harmless: Path | None
    allow_missing: bool
    categories: str | None
    force: bool


_HEADINGS = {
    "Reports": ("html", "json_path", "added", "force"),
    N_("What is counted"): ("categories", "patients", "harmless", "allow_missing", "explain"),
    "Intervals": ("confidence", "resamples", "seed"),
}

_EXAMPLES = {
    N_("Mask with offsets first"): "inverse-deid mask MINE.jsonl --out MASKED --offsets",
    N_(
        "Write a page to read or print"
    ): "inverse-deid evaluate MINE.jsonl MASKED/MINE.jsonl --html report.html",
}


@click.command(cls=GroupedCommand, headings=_HEADINGS, examples=_EXAMPLES)
@click.argument("gold", type=_PATH)
@click.argument("masked", type=_PATH)
@click.option("--json", "json_path", type=_FILE, help=_("Write all figures as JSON, exact and by document."))
@click.option("--html", type=_FILE, help=_("Write the same as one HTML page, to read or print."))
@click.option(
    "--add",
    "added",
    type=_FILE,
    multiple=True,
    help=_(
        "JSON of `risk`, `utility`, `leaks grade` or `research extraction cost`, added to the page and "
        "the JSON. May be repeated."
    ),
)
@click.option(
    "--explain",
    type=_PATH,
    help=_("Output of `mask --explain --with-text`. Adds the curve and the reliability of p_safe."),
)
@click.option(
    "--patients",
    type=_FILE,
    help=_("CSV with the columns id, patient. Intervals are then by patients, not documents."),
)
@click.option(
    "--confidence",
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    default=CONFIDENCE,
    show_default=True,
    help=_("Confidence of the intervals."),
)
@click.option(
    "--resamples",
    type=click.IntRange(100, 100_000),
    default=N_RESAMPLES,
    show_default=True,
    help=_("Number of draws of documents or patients for the intervals."),
)
@click.option(
    "--seed", type=click.IntRange(0), default=SEED, show_default=True, help=_("Seed of these draws.")
)
@click.option("--harmless", type=_FILE, help=_("TOML file with tokens that the corrected recall forgives."))
@click.option("--allow-missing", is_flag=True, help=_("Count documents without masks as unmasked."))
@click.option(
    "--categories",
    metavar="LIST",
    help=_(
        "What was to be masked, as in `mask`. Marks of other categories do not count as PHI, except ages "
        "over 89.  [default: all]"
    ),
)
@click.option("--force", is_flag=True, help=_("Overwrite files of an earlier evaluation."))
def evaluate(gold: Path, masked: Path, **given: Any) -> None:  # noqa: ANN401 - click's options, typed above
    """Measure what leaked and what was kept: compare MASKED with GOLD.

    GOLD is annotated: JSON Lines with spans (also .gz), a 2014 i2b2 XML file or
    a folder of these. MASKED is the output of `inverse-deid mask` for it: the JSON
    Lines of --offsets, or for XML the folder of --annotations. For other systems give
    JSON Lines of {"id", "masks": [[start, end], ...]}, with offsets in code points of
    the original text. Documents are matched by id.

    Exit status: 0 done. 2 refused, nothing was written.
    """
    options = EvaluateOptions(**given)
    targets = [path for path in (options.json_path, options.html) if path is not None]
    if len({path.resolve() for path in targets}) < len(targets):
        raise ConfigurationError(_("--json and --html name the same file. Give each its own"))
    for path in targets:
        check_target(path, FORMAT_NAME, force=options.force)
    if options.added and not targets:
        raise ConfigurationError(_("--add needs a report to add to. Give --html FILE or --json FILE"))
    added = read_added(options.added)
    forgiven = read_harmless(options.harmless)
    categories = parse_categories("all" if options.categories is None else options.categories)
    docs = marked = read_annotated(gold)
    with name_files(masked):
        masks = masks_by_id(docs, read_masked(masked))
    docs, _ignored = split_spans(marked, categories)
    patients = None if options.patients is None else read_patients(options.patients, [doc.id for doc in docs])
    clinical = _make_clinical_test(load_lexicon())
    with name_files(gold, masked):
        evaluation = evaluate_masks(
            docs, masks, harmless=forgiven, clinical=clinical, allow_missing=options.allow_missing
        )
    refuse_foreign(added, evaluation)
    explain, scores = options.explain, None
    if explain is not None:
        scores = _measure_explained(marked, evaluation.missing, explain, confidence=options.confidence)
    intervals = intervals_of(
        evaluation,
        patients,
        n_resamples=options.resamples,
        confidence=options.confidence,
        seed=options.seed,
    )
    if targets:
        read = trace_sources(
            gold=gold,
            masked=masked,
            explain=explain,
            patients=options.patients,
            harmless=options.harmless,
        )
        if options.categories is not None:
            read["categories"] = ", ".join(list_categories(categories))
        report = build_report(evaluation, intervals, provenance=read, scores=scores)
        _write_reports(report, added, options, private=scores is not None)
    for line in table_lines(evaluation, intervals, scores):
        click.echo(line)
    if kept_classes(categories):
        share = measure_kept(marked, masks, categories)
        click.echo(
            _(
                "Categories: {categories}. Marks of others are not PHI.",
                categories=", ".join(list_categories(categories)),
            )
        )
        click.echo(_("Of the tokens of other categories, kept: {share}", share=format_share(share)))
    if scores is not None and targets:
        click.echo(
            _(
                "note: CONFIDENTIAL: the curve contains the probabilities of single words. Leave out "
                "--explain for a report that you pass on."
            ),
            err=True,
        )


def _measure_explained(
    docs: Sequence[Document], missing: Sequence[str], path: Path, *, confidence: float
) -> ScoreFigures | None:
    with name_files(path):
        explained = read_explained(path)
        if explained is None:
            click.echo(
                _(
                    "note: {path} has no probabilities, so there are no curves. Mask again with "
                    "--explain --with-text to get them. That file is confidential.",
                    path=path,
                ),
                err=True,
            )
            return None
        is_phi, p_safe = score_tokens(docs, explained, missing)
    if np.isnan(p_safe).all():
        raise FormatError(
            _("{path}: no p_safe found. Mask with --explain and without --rules-only", path=path)
        )
    return measure_scores(is_phi, p_safe, confidence)


def _make_clinical_test(lexicon: Lexicon) -> WordTest:
    @cache
    def is_clinical(word: str) -> bool:
        flags = lexicon.flags(word)
        return bool(flags & _CLINICAL) and not flags & WordFlag.STOP_WORD

    return lambda words: np.array([is_clinical(word) for word in words], np.bool_)


def _write_reports(
    report: EvaluationReport, added: Sequence[AddedReport], options: EvaluateOptions, *, private: bool
) -> None:
    # All files are made before the first is written.
    page = None
    if options.html is not None:
        from inverse_deid.evaluation.page.page import render_page

        page = render_page(report, added).encode("utf-8", "replace")
    if options.json_path is not None:
        plain = {**encode_record(report), **list_plain_added(added)}
        write_json(options.json_path, plain, private=private)
    if options.html is not None and page is not None:
        write_whole(options.html, [page], private=private)
