"""`inverse-deid evaluate`: gold documents and masks in, figures out."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
import numpy as np

from inverse_deid import __version__
from inverse_deid.core.errors import FormatError, InputError, OutputExistsError
from inverse_deid.core.values import BoolArray, Document
from inverse_deid.engine.partial_file import PartialFile, sha256_of
from inverse_deid.evaluation.counts import WordTest
from inverse_deid.evaluation.curves import ScoreFigures, score_figures
from inverse_deid.evaluation.evaluation import evaluate_masks, intervals_of, read_patients
from inverse_deid.evaluation.explained import read_explained, scored_tokens
from inverse_deid.evaluation.harmless import read_harmless
from inverse_deid.evaluation.masked_files import masks_by_id, read_masked
from inverse_deid.evaluation.report import FORMAT_NAME, json_report, table_lines
from inverse_deid.evaluation.uncertainty import CONFIDENCE, N_RESAMPLES, SEED
from inverse_deid.formats.registry import input_errors
from inverse_deid.learning.corpus import read_annotated
from inverse_deid.lexicon import Lexicon, WordFlag, load_lexicon

_FILE = click.Path(dir_okay=False, path_type=Path)
_PATH = click.Path(path_type=Path)
_HEAD_BYTES = 100
_CLINICAL = WordFlag.DRUG | WordFlag.MEDICAL | WordFlag.SHORTHAND | WordFlag.UNIT


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluateOptions:
    """What was given on the command line beside GOLD and MASKED."""

    json_path: Path | None
    explain: Path | None
    patients: Path | None
    confidence: float
    resamples: int
    seed: int
    harmless: Path | None
    allow_missing: bool
    force: bool


@click.command()
@click.argument("gold", type=_PATH)
@click.argument("masked", type=_PATH)
@click.option("--json", "json_path", type=_FILE, help="Write all figures, exact and by document, as JSON.")
@click.option(
    "--explain", type=_PATH, help="What `mask --explain` wrote: adds the curve and the reliability of p_safe."
)
@click.option(
    "--patients", type=_FILE, help="CSV with the columns id, patient: intervals by patients, not documents."
)
@click.option(
    "--confidence",
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    default=CONFIDENCE,
    show_default=True,
    help="Of the intervals.",
)
@click.option(
    "--resamples",
    type=click.IntRange(100, 100_000),
    default=N_RESAMPLES,
    show_default=True,
    help="How often documents or patients are drawn for the intervals.",
)
@click.option("--seed", type=click.IntRange(0), default=SEED, show_default=True, help="Of these draws.")
@click.option("--harmless", type=_FILE, help="TOML file with the tokens that the corrected recall forgives.")
@click.option("--allow-missing", is_flag=True, help="Count documents without masks as unmasked.")
@click.option("--force", is_flag=True, help="Overwrite a JSON file of an earlier evaluation.")
def evaluate(gold: Path, masked: Path, **given: Any) -> None:  # noqa: ANN401 - click's options, typed above
    """Say what leaked and what was kept: hold MASKED against GOLD.

    GOLD is annotated: JSON Lines with spans (also .gz), a 2014 i2b2 XML file or
    a folder of them. MASKED is what `inverse-deid mask` made of it: the JSON
    Lines, or for XML the folder of --annotations. Other systems are measured by
    JSON Lines of {"id", "masks": [[start, end], ...]}, offsets in code points of
    the original text. Documents are matched by id.

    Exit status: 0 done; 2 refused, nothing was written.
    """
    options = EvaluateOptions(**given)
    if options.json_path is not None:
        _check_target(options.json_path, force=options.force)
    forgiven = read_harmless(options.harmless)
    docs = read_annotated(gold)
    masks = masks_by_id(docs, read_masked(masked))
    patients = None if options.patients is None else read_patients(options.patients, [doc.id for doc in docs])
    clinical = _clinical_test(load_lexicon())
    evaluation = evaluate_masks(
        docs, masks, harmless=forgiven, clinical=clinical, allow_missing=options.allow_missing
    )
    explain = options.explain
    scores = (
        None if explain is None else _scores(docs, evaluation.missing, explain, confidence=options.confidence)
    )
    intervals = intervals_of(
        evaluation,
        patients,
        n_resamples=options.resamples,
        confidence=options.confidence,
        seed=options.seed,
    )
    if options.json_path is not None:
        provenance = _provenance(gold, masked, options)
        _write(options.json_path, json_report(evaluation, intervals, provenance=provenance, scores=scores))
    for line in table_lines(evaluation, intervals, scores):
        click.echo(line)


def _scores(
    docs: Sequence[Document], missing: Sequence[str], path: Path, *, confidence: float
) -> ScoreFigures:
    """What `p_safe` alone is worth.

    Raises:
        InputError: The explanations are not those of the documents, or hold no `p_safe`.
    """
    is_phi, p_safe = scored_tokens(docs, read_explained(path), missing)
    if np.isnan(p_safe).all():
        raise FormatError(f"{path}: holds no p_safe; explain a masking without --rules-only")
    return score_figures(is_phi, p_safe, confidence)


def _provenance(gold: Path, masked: Path, options: EvaluateOptions) -> Mapping[str, Any]:
    """The version and, under the names that were given, the SHA-256 of every file.

    Raises:
        UnreadableInputError: A file cannot be read any more.
    """
    read = {
        "gold": gold,
        "masked": masked,
        "explain": options.explain,
        "patients": options.patients,
        "harmless": options.harmless,
    }
    return {
        "version": __version__,
        **{role: {"name": str(path), **_hashes(path)} for role, path in read.items() if path is not None},
    }


def _hashes(path: Path) -> dict[str, Any]:
    """SHA-256 of a file, or of each file of a folder that is not hidden, by its name there."""
    try:
        with input_errors():
            if not path.is_dir():
                return {"sha256": sha256_of(path)}
            names = [file.relative_to(path) for file in sorted(path.rglob("*")) if file.is_file()]
            shown = [name for name in names if not any(part.startswith(".") for part in name.parts)]
            return {"files": {name.as_posix(): sha256_of(path / name) for name in shown}}
    except InputError as error:
        raise type(error)(f"{path}: {error}") from error


def _clinical_test(lexicon: Lexicon) -> WordTest:
    """Tells which words the packaged lists know as clinical and not as function words."""
    known: dict[str, bool] = {}

    def is_clinical(word: str) -> bool:
        flags = lexicon.flags(word)
        return bool(flags & _CLINICAL) and not flags & WordFlag.STOP_WORD

    def test(words: Sequence[str]) -> BoolArray:
        for word in words:
            if word not in known:
                known[word] = is_clinical(word)
        return np.array([known[word] for word in words], np.bool_)

    return test


def _check_target(path: Path, *, force: bool) -> None:
    """Nothing but an earlier evaluation is ever overwritten, and that only when asked.

    Raises:
        OutputExistsError: The file is there.
    """
    if not path.exists():
        return
    head = b""
    with suppress(OSError), path.open("rb") as stream:
        head = stream.read(_HEAD_BYTES)
    if FORMAT_NAME.encode() not in head:
        raise OutputExistsError(f"{path} exists and is no evaluation; choose another name with --json")
    if not force:
        raise OutputExistsError(f"{path} exists already; give --force to overwrite it")


def _write(path: Path, report: dict[str, object]) -> None:
    file = PartialFile(path)
    is_complete = False
    try:
        file.write(json.dumps(report, ensure_ascii=False, indent=1).encode("utf-8", "replace") + b"\n")
        file.sync()
        is_complete = True
    finally:
        file.commit() if is_complete else file.discard()
