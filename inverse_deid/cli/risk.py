"""`inverse-deid risk`: estimate the re-identification risk of masked documents."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path

import click

from inverse_deid.cli.parts.report_files import check_target, write_json
from inverse_deid.core.wording import _
from inverse_deid.evaluation.evaluation import evaluate_masks
from inverse_deid.evaluation.masked_files import masks_by_id, read_masked
from inverse_deid.evaluation.measures.figures import encode_record
from inverse_deid.evaluation.plain_text import align, format_share
from inverse_deid.evaluation.provenance import trace_sources
from inverse_deid.evaluation.risk import (
    FORMAT_NAME,
    NO_PROOF,
    Assumptions,
    Risk,
    Verdict,
    estimate_risk,
    read_assumptions,
    report_risk,
)
from inverse_deid.training.corpus import read_annotated

_FILE = click.Path(dir_okay=False, path_type=Path)


@click.command()
@click.argument("gold", type=click.Path(path_type=Path))
@click.argument("masked", type=click.Path(path_type=Path))
@click.option("--assumptions", "path", type=_FILE, help=_("TOML file with your assumptions."))
@click.option("--json", "json_path", type=_FILE, help=_("Write the estimate as JSON, exact and by document."))
@click.option("--allow-missing", is_flag=True, help=_("Count documents without masks as unmasked."))
@click.option("--force", is_flag=True, help=_("Overwrite the JSON file of an earlier estimate."))
def risk(
    gold: Path, masked: Path, path: Path | None, json_path: Path | None, allow_missing: bool, force: bool
) -> None:
    """Estimate the risk that a document of GOLD is re-identified from the leaks in MASKED.

    GOLD and MASKED are those of `inverse-deid evaluate`. The estimate follows the
    form of Scaiano et al. (2016). It is valid under the assumptions that it prints,
    and docs/leaks-and-risk.md explains them. It does not prove anonymity.

    Exit status: 0 done. 2 refused, nothing was written.
    """
    if json_path is not None:
        check_target(json_path, FORMAT_NAME, force=force)
    assumptions = read_assumptions(path)
    docs = read_annotated(gold)
    masks = masks_by_id(docs, read_masked(masked))
    evaluation = evaluate_masks(docs, masks, allow_missing=allow_missing)
    estimate = estimate_risk(evaluation.counts, assumptions)
    if json_path is not None:
        read = trace_sources(gold=gold, masked=masked, assumptions=path)
        write_json(json_path, encode_record(report_risk(evaluation, estimate, read)))
    if evaluation.missing:
        click.echo(
            _("Missing documents, counted as unmasked: {n_missing:,}.", n_missing=len(evaluation.missing))
        )
    for line in _risk_lines(estimate):
        click.echo(line)


def _risk_lines(risk: Risk) -> Iterator[str]:
    yield from align(list(_document_rows(risk)))
    yield ""
    yield from align(list(_estimate_rows(risk)))
    yield ""
    yield from _verdict_lines(risk)
    yield ""
    yield from NO_PROOF
    yield ""
    yield from align(list(_type_rows(risk)))
    yield ""
    yield _("assumptions")
    yield from (f"  {line}" for line in _assumption_lines(risk.assumptions))


def _document_rows(risk: Risk) -> Iterator[tuple[str, ...]]:
    yield _("documents"), f"{len(risk.by_document):,}", ""
    for title, documents in (
        (_("  a direct identifier leaks"), risk.direct.documents),
        (
            _("  {quasi_needed} or more quasi-identifiers leak", quasi_needed=risk.assumptions.quasi_needed),
            risk.quasi.documents,
        ),
        (_("  either"), risk.overall.documents),
    ):
        yield title, f"{documents.part:,}", format_share(documents)


def _estimate_rows(risk: Risk) -> Iterator[tuple[str, ...]]:
    yield (
        _("risk that a document is re-identified"),
        _("estimate"),
        _("upper bound ({confidence:.4g} %)", confidence=100 * risk.assumptions.confidence),
    )
    for title, estimate in (
        (_("by direct identifiers"), risk.direct),
        (_("by quasi-identifiers"), risk.quasi),
        (_("by either"), risk.overall),
    ):
        yield title, _format_risk(estimate.point), _format_bound(estimate.upper)
    yield _("  if identifiers leaked independently"), _format_risk(risk.independent), ""


def _verdict_lines(risk: Risk) -> Iterator[str]:
    threshold = _("the threshold of {threshold:.4g}", threshold=risk.assumptions.threshold)
    yield {
        Verdict.BELOW: _("The upper bound is below {threshold}.", threshold=threshold),
        Verdict.UNDECIDED: _(
            "The estimate is below {threshold}, but the upper bound is not. With so few documents, a "
            "higher risk could give the same result.",
            threshold=threshold,
        ),
        Verdict.ABOVE: _("The estimate is not below {threshold}.", threshold=threshold),
        Verdict.UNDEFINED: _("There are no documents, so there is no estimate."),
    }[risk.verdict]
    n_above = int((risk.by_document >= risk.assumptions.threshold).sum())
    yield _(
        "This is an average: {n_above:,} of {n_by_document:,} documents alone reach the threshold.",
        n_above=n_above,
        n_by_document=len(risk.by_document),
    )


def _type_rows(risk: Risk) -> Iterator[tuple[str, ...]]:
    yield (
        _("type"),
        _("counts as"),
        _("documents"),
        _("leaking"),
        _("share"),
        _("upper bound"),
        _("identifiers"),
        _("leaking"),
    )
    for leaks in risk.types:
        yield (
            leaks.type.value,
            "direct" if leaks.is_direct else "quasi",
            f"{leaks.documents.whole:,}",
            f"{leaks.documents.part:,}",
            format_share(leaks.documents),
            _format_bound(leaks.upper),
            f"{leaks.identifiers.whole:,}",
            f"{leaks.identifiers.part:,}",
        )


def _assumption_lines(assumed: Assumptions) -> Iterator[str]:
    for name in ("direct", "quasi", "neither"):
        yield f"{name}: {', '.join(sorted(getattr(assumed, name))) or '-'}"
    yield _(
        "quasi_needed = {quasi_needed}: leaked quasi-identifiers that put a document at risk",
        quasi_needed=assumed.quasi_needed,
    )
    yield _(
        "caught = {caught:g}: probability that a leaked identifier is taken for real", caught=assumed.caught
    )
    yield (
        _(
            "direct_identifies = {direct_identifies:g}: probability that a direct identifier leads to the "
            "patient",
            direct_identifies=assumed.direct_identifies,
        )
    )
    yield (
        _(
            "persons_alike = {persons_alike:g}: persons who share the leaked quasi-identifiers, so the right "
            "one is picked with probability {quasi_identifies:.3g}",
            persons_alike=assumed.persons_alike,
            quasi_identifies=assumed.quasi_identifies,
        )
    )
    yield _(
        "deliberate = {deliberate:g}: probability that somebody attacks on purpose",
        deliberate=assumed.deliberate,
    )
    yield _(
        "breach = {breach:g}: probability that the documents are lost to an attacker", breach=assumed.breach
    )
    yield (
        _(
            "acquaintances = {acquaintances}, prevalence = {prevalence:g}: a reader knows somebody with such "
            "a case with probability {inadvertent:.3g}",
            acquaintances=assumed.acquaintances,
            prevalence=assumed.prevalence,
            inadvertent=assumed.inadvertent,
        )
    )
    yield _("Only the most probable of these three attacks counts: {attack:.3g}.", attack=assumed.attack)
    yield _("The documents are of different patients, and drawn like those to be released.")
    yield _("Their marks are correct.")


def _format_risk(probability: float | None) -> str:
    # Only 0 becomes 0.
    if probability is None:
        return "-"
    return "< 0.01 %" if 0 < probability < 0.0001 else f"{100 * probability:.2f} %"


def _format_bound(bound: float | None) -> str:
    # An upper bound is rounded up.
    return "-" if bound is None else f"{math.ceil(round(10_000 * bound, 6)) / 100:.2f} %"
