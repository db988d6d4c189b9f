"""`inverse-deid calibrate`: find thresholds with a guarantee on annotated documents."""

from __future__ import annotations

import dataclasses
import sys
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

import click

from inverse_deid import __version__
from inverse_deid.choices.records import Surface, list_choices
from inverse_deid.choices.table import CHOICES
from inverse_deid.cli.parts.choice_options import choice_options, take_choices
from inverse_deid.cli.parts.grouped_command import GroupedCommand
from inverse_deid.cli.parts.report_files import check_target, write_json
from inverse_deid.core.files import printable
from inverse_deid.core.seals import seal
from inverse_deid.core.thresholds import Thresholds
from inverse_deid.core.values import Document
from inverse_deid.core.wording import N_, _
from inverse_deid.evaluation.evaluation import Evaluation, evaluate_masks, read_patients
from inverse_deid.evaluation.guarantees import (
    Aim,
    GuaranteeMethod,
    Unit,
    choose_step,
    describe_guarantee,
    list_conditions,
    refuse_too_few,
)
from inverse_deid.evaluation.plain_text import format_share
from inverse_deid.masking.assemble import (
    CERTIFICATE_FORMAT,
    CERTIFICATE_VERSION,
    Assembly,
    MaskingSettings,
    assemble,
    find_reading,
    packaged_model,
    packaged_second_reader,
)
from inverse_deid.masking.choices import choose_settings
from inverse_deid.masking.pipeline import Deidentifier
from inverse_deid.network.folder import read_manifest
from inverse_deid.network.second_reader import read_encoder
from inverse_deid.training.corpus import near_duplicate_groups, read_annotated
from inverse_deid.training.documents import corpus_sha256
from inverse_deid.training.guaranteed import (
    CalibrationSet,
    calibration_set,
    count_kept_phi,
    refuse_training_documents,
    threshold_sequence,
)

_FILE = click.Path(dir_okay=False, path_type=Path)
_ANY = click.Path(path_type=Path)
_BATCH_DOCUMENTS = 256


@dataclass(frozen=True, slots=True, kw_only=True)
class CalibrateOptions:
    gold: Path
    target_leak_rate: float
    confidence: float | None
    unit: str
    method: str
    patients: Path | None
    out: Path
    force: bool
    choices: dict[str, Any]  # of the readers and the lexicon

    @property
    def aim(self) -> Aim:
        return Aim(
            target=self.target_leak_rate,
            confidence=self.confidence,
            unit=Unit(self.unit),
            method=GuaranteeMethod(self.method),
            counted="documents" if self.patients is None else "patients",
        )


@dataclass(frozen=True, slots=True, eq=False)
class Calibrated:
    """The chosen thresholds and their result on the calibration set."""

    thresholds: Thresholds
    n_counted: int  # documents or patients with PHI
    n_leaking: int  # of these, those with any PHI token kept
    mean_loss: float  # the figure that was compared with the target, in [0, 1]
    evaluation: Evaluation  # of masking all documents with these thresholds


_HEADINGS = {
    N_("The guarantee"): ["target_leak_rate", "confidence", "unit", "method", "patients"],
    N_("The certificate"): ["out", "force"],
    N_("The tool"): [one.name for one in list_choices(CHOICES, Surface.CALIBRATE)],
}
_EXAMPLES = {
    N_("At most 1 % of the documents may leak"): "inverse-deid calibrate GOLD.jsonl --target-leak-rate 0.01 "
    "--confidence 0.95 --out certificate.json",
}


@click.command(cls=GroupedCommand, headings=_HEADINGS, examples=_EXAMPLES)
@click.argument("gold", type=_ANY)
@click.option(
    "--target-leak-rate",
    type=float,
    required=True,
    metavar="R",
    help=_("Highest leak rate allowed: 0.01 is 1 %."),
)
@click.option(
    "--confidence",
    type=float,
    metavar="C",
    help=_("Confidence of the guarantee, for example 0.95. With --method exact only."),
)
@click.option(
    "--unit",
    type=click.Choice([unit.value for unit in Unit]),
    default=Unit.DOCUMENT.value,
    show_default=True,
    help=_("Limit the share of documents that leak, or the mean share of PHI tokens kept per document."),
)
@click.option(
    "--method",
    type=click.Choice([method.value for method in GuaranteeMethod]),
    default=GuaranteeMethod.EXACT.value,
    show_default=True,
    help=_("Exact tests with a confidence, or conformal risk control, which holds on average."),
)
@choice_options(Surface.CALIBRATE)
@click.option(
    "--patients",
    type=_FILE,
    help=_("CSV file with the columns id and patient. Each patient then counts once."),
)
@click.option("-o", "--out", type=_FILE, required=True, help=_("JSON file for the certificate."))
@click.option("--force", is_flag=True, help=_("Overwrite an existing certificate."))
def calibrate(**given: Any) -> None:  # noqa: ANN401 - click's options, typed in CalibrateOptions
    """Find the lowest thresholds whose leak rate is guaranteed.

    GOLD contains annotated documents, in the formats of `evaluate`. They must be
    like the documents to be masked. They must not have been used to train the model
    or to choose settings. The certificate contains the thresholds, the guarantee and
    its conditions, and the hashes of model and lexicon. Use it with:

    inverse-deid mask CASES --out MASKED --certificate CERTIFICATE.json

    Exit status: 0 = done. 2 = refused, because there are too few documents or the
    model leaks too much. Nothing was written.
    """
    options = CalibrateOptions(choices=take_choices(given), **given)
    # The model's own thresholds are not used here.
    base = MaskingSettings(allow_low_thresholds=True)
    chosen = choose_settings(base, options.choices, date.min, surface=Surface.CALIBRATE)
    settings = chosen.masking
    aim = options.aim
    check_target(options.out, CERTIFICATE_FORMAT, force=options.force)
    gold = read_annotated(options.gold)
    ids = [doc.id for doc in gold]
    patients = None if options.patients is None else read_patients(options.patients, ids)
    calibration = calibration_set(gold, patients)
    refuse_too_few(calibration.n_counted, aim)
    manifest = read_manifest(settings.model or packaged_model())
    refuse_training_documents(options.gold, manifest.get("provenance") or {})
    if find_reading(settings) == "careful":
        encoder = read_encoder(settings.second_reader or packaged_second_reader())
        refuse_training_documents(options.gold, encoder.provenance)
    assembly = assemble(settings, seeks_thresholds=True)
    calibrated = _choose_thresholds(gold, calibration, assembly, aim)
    write_json(options.out, _certificate(calibrated, assembly, options))
    for note in chosen.notes:
        click.echo(_("WARNING: {note}.", note=note), err=True)
    for line in (*_found_lines(calibrated, calibration, options), "", *_guarantee_lines(calibration, aim)):
        click.echo(line)


def _choose_thresholds(
    gold: Sequence[Document], calibration: CalibrationSet, assembly: Assembly, aim: Aim
) -> Calibrated:
    from tqdm import tqdm

    stages = assembly.stages
    sequence = threshold_sequence(stages.thresholds)
    hidden = not sys.stderr.isatty()
    bar = tqdm(
        total=len(calibration.docs), unit=_(" documents"), file=sys.stderr, disable=hidden, leave=False
    )
    with bar:
        kept = count_kept_phi(calibration, stages, sequence, bar.update)
    losses = kept.leaking() if aim.unit is Unit.DOCUMENT else kept.share_kept()
    step = choose_step(losses.sum(axis=0), calibration.n_counted, aim)
    deidentifier = Deidentifier(dataclasses.replace(stages, thresholds=sequence[step]))
    batches = (gold[i : i + _BATCH_DOCUMENTS] for i in range(0, len(gold), _BATCH_DOCUMENTS))
    masks = {doc.id: doc.masks for batch in batches for doc in deidentifier.mask_many(batch)}
    return Calibrated(
        thresholds=sequence[step],
        n_counted=calibration.n_counted,
        n_leaking=int(kept.leaking()[:, step].sum()),
        mean_loss=float(losses[:, step].mean()),
        evaluation=evaluate_masks(gold, masks),
    )


def _certificate(calibrated: Calibrated, assembly: Assembly, options: CalibrateOptions) -> dict[str, Any]:
    # Numbers and hashes, no ids.
    aim, evaluation = options.aim, calibrated.evaluation
    figures = {name: evaluation.figure(name) for name in ("recall_all", "precision", "safe_kept")}
    return seal(
        {
            "format": CERTIFICATE_FORMAT,
            "version": CERTIFICATE_VERSION,
            "tool_version": __version__,
            "guarantee": describe_guarantee(aim),
            "conditions": list(list_conditions(aim)),
            "target_leak_rate": aim.target,
            "confidence": aim.confidence,
            "unit": aim.unit.value,
            "method": aim.method.value,
            "thresholds": calibrated.thresholds.as_json(),
            "documents": len(evaluation.ids),
            "counted": aim.counted,
            "counted_with_phi": calibrated.n_counted,
            "counted_leaking": calibrated.n_leaking,
            "mean_loss": calibrated.mean_loss,
            **{
                name: {"share": share.value, "part": share.part, "whole": share.whole}
                for name, share in figures.items()
            },
            "model_sha256": assembly.model_sha256,
            "lexicon_sha256": assembly.lexicon_sha256,
            "calibration_sha256": corpus_sha256(options.gold),
            "patients_sha256": None if options.patients is None else corpus_sha256(options.patients),
        }
    )


def _found_lines(
    calibrated: Calibrated, calibration: CalibrationSet, options: CalibrateOptions
) -> Iterator[str]:
    aim, evaluation, thresholds = options.aim, calibrated.evaluation, calibrated.thresholds
    slope = (
        _(", moved by density ({density_slope:g})", density_slope=thresholds.density_slope)
        if thresholds.density_slope
        else ""
    )
    yield _(
        "documents      {n_ids:,}, with PHI {n_docs:,}",
        n_ids=len(evaluation.ids),
        n_docs=len(calibration.docs),
    )
    yield _(
        "counted        {n_counted:,} {counted} with PHI", n_counted=calibrated.n_counted, counted=aim.counted
    )
    yield _(
        "thresholds     high {high:.6f}, low {low:.6f}{slope}",
        high=thresholds.high,
        low=thresholds.low,
        slope=slope,
    )
    if thresholds.are_low:
        yield _("               these are low. To mask with them, use --allow-low-thresholds")
    yield _("leaking        {n_leaking:,} {counted}", n_leaking=calibrated.n_leaking, counted=aim.counted)
    if aim.unit is Unit.TOKEN:
        yield _("mean loss      {mean_loss:.3f} %", mean_loss=100 * calibrated.mean_loss)
    yield _(
        "recall         {share} of the PHI tokens masked", share=format_share(evaluation.figure("recall_all"))
    )
    yield _(
        "precision      {share} of the masked tokens PHI", share=format_share(evaluation.figure("precision"))
    )
    yield _("safe kept      {share} of the other tokens", share=format_share(evaluation.figure("safe_kept")))
    yield _("certificate    {out}", out=printable(options.out))


def _guarantee_lines(calibration: CalibrationSet, aim: Aim) -> Iterator[str]:
    yield describe_guarantee(aim)
    if aim.confidence is not None:
        yield _(
            "Of calibrations done like this, up to {confidence:.4g} % promise too much.",
            confidence=100 * (1 - aim.confidence),
        )
    yield _("This holds if")
    yield from (f"  {number}. {text}" for number, text in enumerate(list_conditions(aim), start=1))
    if n_alike := _n_alike(calibration):
        yield (
            _(
                "Note: {n_alike:,} of the documents with PHI share ten words in a row or a patient's name "
                "with one that counts apart. If they belong to one patient, use --patients to count them "
                "once.",
                n_alike=n_alike,
            )
        )


def _n_alike(calibration: CalibrationSet) -> int:
    owners: dict[int, set[int]] = defaultdict(set)
    groups = near_duplicate_groups(calibration.docs)
    for group, owner in zip(groups, calibration.owners.tolist(), strict=True):
        owners[group].add(owner)
    return sum(len(owners[group]) > 1 for group in groups)
