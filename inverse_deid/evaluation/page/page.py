"""An evaluation as one HTML page: no script, no external address, readable on screen and on paper."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from jinja2 import Environment, PackageLoader, StrictUndefined

from inverse_deid.evaluation.added_reports import AddedReport
from inverse_deid.evaluation.page.added import show_added, show_provenance
from inverse_deid.evaluation.page.measures import count_nouns
from inverse_deid.evaluation.page.sections import (
    choose_headlines,
    list_categories,
    measure_figure,
    show_documents,
    show_figures,
    show_harmless,
    show_kinds,
    show_over_masking,
    show_thresholds,
)
from inverse_deid.evaluation.report import EvaluationReport
from inverse_deid.evaluation.uncertainty import FEW_UNITS

TITLE = "What masking caught and what it missed"


def render_page(
    report: EvaluationReport,
    added: Sequence[AddedReport] = (),
    *,
    title: str = TITLE,
    command: str | None = None,
) -> str:
    """Render the page of one evaluation. The same report always gives the same bytes.

    It contains numbers and settings, the harmless list, and the ids of at most 50 documents
    with leaks. No narrative text.

    Args:
        report: The evaluation.
        added: Reports of other measurements.
        title: Heading of the page.
        command: The call of the evaluation, if the page is to show it.

    Example:
        >>> from inverse_deid.evaluation.evaluation import evaluate_masks
        >>> from inverse_deid.evaluation.report import build_report
        >>> render_page(build_report(evaluate_masks([], {}))).splitlines()[0]
        '<!doctype html>'
    """
    sections = (
        show_kinds(report),
        show_documents(report),
        show_over_masking(report),
        *show_thresholds(report),
        *show_added(added),
        show_figures(report),
        show_harmless(report),
        show_provenance(report.provenance),
    )
    template = _environment().get_template("report.html.j2")
    return template.render(
        title=title,
        facts=_list_facts(report),
        n_missing=len(report.missing),
        headlines=choose_headlines(report),
        reading=_judge_intervals(report),
        sections=sections,
        command=command,
    )


def _environment() -> Environment:
    return Environment(
        loader=PackageLoader(__package__, package_path=""),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )


def _list_facts(report: EvaluationReport) -> list[str]:
    """Return the measured amounts and the version."""
    facts = [
        count_nouns(report.documents, "document"),
        count_nouns(report.tokens, "word"),
        f"{report.masked_tokens:,} of them masked",
    ]
    version = report.provenance.get("version")
    return [*facts, f"inverse-deid {version}"] if version is not None else facts


@dataclass(frozen=True, slots=True)
class Reading:
    """How to read the intervals.

    Args:
        confidences: In percent, each once. Empty without intervals.
        unit: The independent units: document or patient.
        n_few: Number of units with identifiers, if they are too few.
        is_alike: Whether all resamples of an interval were equal.
    """

    confidences: tuple[str, ...]
    unit: str
    n_few: int | None
    is_alike: bool


def _judge_intervals(report: EvaluationReport) -> Reading:
    overall = [measure_figure(report, name) for name in report.intervals]
    within = [category.measure("recall") for category in list_categories(report)]
    known = [share for share in overall if share.has_interval]
    n_units = report.provenance.get("units_with_phi")
    is_few = bool(known) and isinstance(n_units, int) and n_units < FEW_UNITS
    return Reading(
        tuple(f"{100 * c:.4g}" for c in sorted({share.confidence for share in known if share.confidence})),
        "patient" if report.provenance.get("intervals_by") == "patient" else "document",
        n_units if is_few and isinstance(n_units, int) else None,
        any(share.is_alike for share in [*known, *within]),
    )
