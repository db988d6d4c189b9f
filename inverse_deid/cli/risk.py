"""`inverse-deid risk`: gold documents and masks in, an estimate of the re-identification risk out."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path

import click

from inverse_deid.cli.provenance import provenance
from inverse_deid.cli.report_files import check_target, write_json
from inverse_deid.evaluation.evaluation import evaluate_masks
from inverse_deid.evaluation.masked_files import masks_by_id, read_masked
from inverse_deid.evaluation.plain_text import aligned, percent
from inverse_deid.evaluation.risk import (
    FORMAT_NAME,
    NO_PROOF,
    Risk,
    Verdict,
    json_risk,
    reidentification_risk,
)
from inverse_deid.evaluation.risk_assumptions import Assumptions, read_assumptions
from inverse_deid.training.corpus import read_annotated

_FILE = click.Path(dir_okay=False, path_type=Path)


@click.command()
@click.argument("gold", type=click.Path(path_type=Path))
@click.argument("masked", type=click.Path(path_type=Path))
@click.option("--assumptions", "path", type=_FILE, help="TOML file with assumptions of your own.")
@click.option("--json", "json_path", type=_FILE, help="Write the estimate, exact and by document, as JSON.")
@click.option("--allow-missing", is_flag=True, help="Take documents without masks as unmasked.")
@click.option("--force", is_flag=True, help="Overwrite a JSON file of an earlier estimate.")
def risk(
    gold: Path, masked: Path, path: Path | None, json_path: Path | None, allow_missing: bool, force: bool
) -> None:
    """Estimate the risk that a document is re-identified by what MASKED leaks of GOLD.

    GOLD and MASKED are those of `inverse-deid evaluate`. The estimate follows the
    form of Scaiano et al. (2016) and holds under the assumptions that it prints;
    docs/leaks-and-risk.md explains them. It is no proof of anonymity.

    Exit status: 0 done; 2 refused, nothing was written.
    """
    if json_path is not None:
        check_target(json_path, FORMAT_NAME, force=force)
    assumptions = read_assumptions(path)
    docs = read_annotated(gold)
    masks = masks_by_id(docs, read_masked(masked))
    evaluation = evaluate_masks(docs, masks, allow_missing=allow_missing)
    estimate = reidentification_risk(evaluation.counts, assumptions)
    if json_path is not None:
        read = provenance(gold=gold, masked=masked, assumptions=path)
        write_json(json_path, {**json_risk(evaluation, estimate), "provenance": read})
    if evaluation.missing:
        click.echo(f"Missing documents, taken as unmasked: {len(evaluation.missing):,}.")
    for line in _risk_lines(estimate):
        click.echo(line)


def _risk_lines(risk: Risk) -> Iterator[str]:
    """The estimate in plain words."""
    yield from aligned(list(_document_rows(risk)))
    yield ""
    yield from aligned(list(_estimate_rows(risk)))
    yield ""
    yield from _verdict_lines(risk)
    yield ""
    yield from NO_PROOF
    yield ""
    yield from aligned(list(_type_rows(risk)))
    yield ""
    yield "assumptions"
    yield from (f"  {line}" for line in _assumption_lines(risk.assumptions))


def _document_rows(risk: Risk) -> Iterator[tuple[str, ...]]:
    yield "documents", f"{len(risk.by_document):,}", ""
    for title, documents in (
        ("  a direct identifier leaks", risk.direct.documents),
        (f"  {risk.assumptions.quasi_needed} or more quasi-identifiers leak", risk.quasi.documents),
        ("  either", risk.overall.documents),
    ):
        yield title, f"{documents.part:,}", percent(documents)


def _estimate_rows(risk: Risk) -> Iterator[tuple[str, ...]]:
    yield (
        "risk that a document is re-identified",
        "estimate",
        f"upper bound ({100 * risk.assumptions.confidence:.4g} %)",
    )
    for title, estimate in (
        ("by direct identifiers", risk.direct),
        ("by quasi-identifiers", risk.quasi),
        ("by either", risk.overall),
    ):
        yield title, _shown(estimate.point), _shown_up(estimate.upper)
    yield "  if identifiers leaked independently", _shown(risk.independent), ""


def _verdict_lines(risk: Risk) -> Iterator[str]:
    threshold = f"the threshold of {risk.assumptions.threshold:.4g}"
    yield {
        Verdict.BELOW: f"The upper bound is below {threshold}.",
        Verdict.UNDECIDED: f"The estimate is below {threshold}, the upper bound is not: with documents so "
        "few, a higher risk may look like this too.",
        Verdict.ABOVE: f"The estimate is not below {threshold}.",
        Verdict.UNDEFINED: "Without documents there is no estimate.",
    }[risk.verdict]
    n_above = int((risk.by_document >= risk.assumptions.threshold).sum())
    yield f"This is the average: {n_above:,} of {len(risk.by_document):,} documents reach it by themselves."


def _type_rows(risk: Risk) -> Iterator[tuple[str, ...]]:
    yield "type", "counts as", "documents", "leaking", "share", "upper bound", "identifiers", "leaking"
    for leaks in risk.types:
        yield (
            leaks.type.value,
            "direct" if leaks.is_direct else "quasi",
            f"{leaks.documents.whole:,}",
            f"{leaks.documents.part:,}",
            percent(leaks.documents),
            _shown_up(leaks.upper),
            f"{leaks.identifiers.whole:,}",
            f"{leaks.identifiers.part:,}",
        )


def _assumption_lines(assumed: Assumptions) -> Iterator[str]:
    """Each assumption as its file names it, and what it means."""
    for name in ("direct", "quasi", "neither"):
        yield f"{name}: {', '.join(sorted(getattr(assumed, name))) or '-'}"
    yield f"quasi_needed = {assumed.quasi_needed}: so many leaked quasi-identifiers put a document at risk"
    yield f"caught = {assumed.caught:g}: a leaked identifier is taken for a real one"
    yield f"direct_identifies = {assumed.direct_identifies:g}: a direct identifier leads to the patient"
    yield (
        f"persons_alike = {assumed.persons_alike:g}: so many share the leaked quasi-identifiers; "
        f"one is picked rightly with {assumed.quasi_identifies:.3g}"
    )
    yield f"deliberate = {assumed.deliberate:g}: somebody tries on purpose"
    yield f"breach = {assumed.breach:g}: the documents get lost to somebody who tries"
    yield (
        f"acquaintances = {assumed.acquaintances}, prevalence = {assumed.prevalence:g}: "
        f"a reader knows somebody with such a case with {assumed.inadvertent:.3g}"
    )
    yield f"Of these three attacks the most probable one counts: {assumed.attack:.3g}."
    yield "Documents are of different patients, drawn like those to be released, and their marks are right."


def _shown(probability: float | None) -> str:
    """In percent; what is not 0 is never shown as 0."""
    if probability is None:
        return "-"
    return "< 0.01 %" if 0 < probability < 0.0001 else f"{100 * probability:.2f} %"


def _shown_up(bound: float | None) -> str:
    """An upper bound in percent, rounded up: it never looks lower than it is."""
    return "-" if bound is None else f"{math.ceil(round(10_000 * bound, 6)) / 100:.2f} %"
