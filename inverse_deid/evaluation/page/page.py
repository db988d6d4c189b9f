"""An evaluation as one HTML page: no script, no external address, readable on screen and paper."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from inverse_deid.core.errors import FormatError
from inverse_deid.evaluation.json_report import FORMAT_NAME
from inverse_deid.evaluation.page.blocks import Section
from inverse_deid.evaluation.page.further import added_sections, provenance_section, threshold_section
from inverse_deid.evaluation.page.measures import counted, mapping, whole_number
from inverse_deid.evaluation.page.sections import (
    Report,
    categories,
    documents_section,
    figure,
    figures_section,
    harmless_section,
    headlines,
    leaks_section,
    over_masking_section,
)
from inverse_deid.evaluation.uncertainty import FEW_UNITS

TITLE = "What the masking caught, and what it missed"


def html_report(report: Mapping[str, Any], *, title: str = TITLE, command: str | None = None) -> str:
    """The page of one evaluation; the same report gives the same bytes.

    It holds numbers and settings, the harmless list, and the ids of at most 50 documents
    with leaks. No narrative text.

    Args:
        report: As `json_report` gives it, or read from its file. Optional parts that are absent are
            left out of the page, undefined values are dashes.
        title: Heading of the page.
        command: What the evaluation was called with; None: as in the provenance of the report, if there.

    Raises:
        FormatError: It is no report of an evaluation.

    Example:
        >>> from inverse_deid.evaluation.evaluation import evaluate_masks
        >>> from inverse_deid.evaluation.json_report import json_report
        >>> html_report(json_report(evaluate_masks([], {}))).splitlines()[0]
        '<!doctype html>'
    """
    if report.get("format") != FORMAT_NAME:
        raise FormatError(f"no {FORMAT_NAME}; give the report that `inverse-deid evaluate --json` writes")
    provenance = mapping(report.get("provenance"))
    recorded = provenance.get("command")
    return (
        _environment()
        .get_template("report.html.j2")
        .render(
            title=title,
            facts=_facts(report),
            n_missing=_n_missing(report),
            headlines=headlines(report),
            reading=_reading(report),
            sections=_sections(report),
            command=command if command is not None else recorded if isinstance(recorded, str) else None,
        )
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


def _sections(report: Report) -> tuple[Section, ...]:
    """In the order of the page; provenance is the last."""
    return (
        leaks_section(report),
        documents_section(report),
        over_masking_section(report),
        *threshold_section(report),
        *added_sections(report),
        figures_section(report),
        harmless_section(report),
        provenance_section(report),
    )


def _facts(report: Report) -> list[str]:
    """What was measured, and how much of it there is."""
    n_documents, n_words = whole_number(report.get("documents")), whole_number(report.get("tokens"))
    counts = ((n_documents, "document"), (n_words, "word"))
    facts = [counted(n, noun) for n, noun in counts if n is not None]
    n_masked = whole_number(report.get("masked_tokens"))
    if n_masked is not None:
        facts.append(f"{n_masked:,} of them masked")
    version = mapping(report.get("provenance")).get("version")
    if isinstance(version, str):
        facts.append(f"inverse-deid {version}")
    return facts


def _n_missing(report: Report) -> int:
    missing = report.get("missing")
    return len(missing) if isinstance(missing, list | tuple) else 0


@dataclass(frozen=True, slots=True)
class Reading:
    """What decides how the intervals are to be read.

    Args:
        confidences: In percent, each once; none without intervals.
        unit: What was taken as independent: document or patient.
        n_few: How many units have identifiers, if they are too few.
        is_alike: Whether an interval stands in for one of resamples that were all alike.
    """

    confidences: tuple[str, ...]
    unit: str
    n_few: int | None
    is_alike: bool


def _reading(report: Report) -> Reading:
    overall = [figure(report, name) for name in mapping(report.get("intervals"))]
    within = [category.measure("recall") for category in categories(report)]
    known = [share for share in overall if share.has_interval]
    provenance = mapping(report.get("provenance"))
    n_units = whole_number(provenance.get("units_with_phi"))
    return Reading(
        tuple(f"{100 * c:.4g}" for c in sorted({share.confidence for share in known if share.confidence})),
        "patient" if provenance.get("intervals_by") == "patient" else "document",
        n_units if known and n_units is not None and n_units < FEW_UNITS else None,
        any(share.is_alike for share in [*known, *within]),
    )
