"""The report of a study: its settings, final scores, sites, and learning curves."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from inverse_deid.evaluation.page.panels import Curve
from inverse_deid.research.federated.encoded_sites import EncodedStudy, n_tokens
from inverse_deid.research.federated.leak_tables import inversion_table, membership_table
from inverse_deid.research.federated.learning_curves import learning_curves
from inverse_deid.research.federated.study_config import StudyConfig
from inverse_deid.research.federated.study_figures import Records, StudyFigures
from inverse_deid.research.federated.study_tables import (
    calibrated_table,
    curves_table,
    differences_table,
    exchange_table,
    experiments_table,
    recall_table,
    scores_table,
    seconds_table,
)
from inverse_deid.research.studies.records import write_text
from inverse_deid.research.studies.report import Provenance, Report
from inverse_deid.research.studies.tables import Table, frame_of

_COLOURS = {
    "central": "#111111",
    "round-robin": "#c2185b",
    "isolated": "#d32f2f",
    "average": "#1565c0",
    "secure-average": "#00838f",
}
_SELECTIVE = "#2e7d32"


@dataclass(frozen=True, slots=True)
class StudyResults:
    """What a study measured.

    Args:
        records: Of every method and seed.
        inversion: Of the attempts on changes of weights.
    """

    records: Records
    inversion: Mapping[str, Any]


def write_study_report(
    folder: Path, config: StudyConfig, study: EncodedStudy, results: StudyResults, provenance: Provenance
) -> None:
    """Write `report.md`, a CSV file for each table, `learning-curves.svg` and `study.json`.

    Args:
        folder: Where they go.
        config: The study.
        study: Its documents, for their numbers.
        results: Of every method and seed.
        provenance: What made the figures.

    Raises:
        OutputError: A file cannot be written.
    """
    records = results.records
    figures = StudyFigures(config, [site.name for site in study.sites], records)
    text = [
        "",
        "The method of Festag and Spreckelsen (JMIR Form Res 2020;4(5):e14064) on other data. One token is "
        "one decision, PHI against safe; the network alone, without the thresholds of dictionaries and "
        "document passes. Every method has the same sites, first weights and number of epochs.",
        "",
        "No formal guarantee: nothing here bounds what the exchanged numbers tell of a site's documents. "
        "The attempts below show what two attackers find; another one may find more.",
        "",
        "![learning curves](learning-curves.svg)",
    ]
    sections: dict[str, list[Table]] = {
        "Experiments": [_sites_table(study), experiments_table(config)],
        "Scores": [scores_table(figures), differences_table(figures), recall_table(figures)],
        "Thresholds": [calibrated_table(figures)],
        "Cost": [exchange_table(figures), seconds_table(figures)],
        "What leaks": [membership_table(figures), inversion_table(results.inversion)],
        "Curves": [curves_table(figures)],
    }
    write_text(folder / "study.json", json.dumps(_plain(records), indent=1) + "\n")
    Report(
        title="Training together without pooling",
        provenance=provenance,
        text=text,
        sections=sections,
        charts={"learning-curves.svg": _figure(figures)},
    ).write(folder)


def _sites_table(study: EncodedStudy) -> Table:
    rows = [
        (site.name, len(site.train), n_tokens(site.train), len(site.held_out), len(site.own_test) or None)
        for site in study.sites
    ]
    tests = len(study.test), n_tokens(study.test)
    return Table(
        "sites",
        "Sites",
        frame_of(
            ("site", "training documents", "tokens", "held out", "test documents of its kind"), tuple(rows)
        ),
        notes=(f"Test documents, of no site: {tests[0]}, {tests[1]:,} tokens.",),
    )


def _plain(records: Records) -> list[dict[str, Any]]:
    return [{"method": name, "seed": seed, **record} for (name, seed), record in records.items()]


def _figure(figures: StudyFigures) -> str:
    """A panel for each method that keeps documents at their sites, beside A, B and D."""
    ways = {method.name: method.way for method in figures.config.methods}
    curves = {name: _curve(figures, name, _COLOURS.get(way, _SELECTIVE)) for name, way in ways.items()}
    frame = [name for name, way in ways.items() if way in ("central", "round-robin", "isolated")]
    together = [name for name in ways if name not in frame] or [""]
    panels: Mapping[str, list[Curve]] = {
        name or "all": [curves[other] for other in frame] + ([curves[name]] if name else [])
        for name in together
    }
    late = [value for curve in curves.values() for value in curve.low[len(curve.low) // 4 :]]
    return learning_curves(panels, max(0.0, int(10 * min(late)) / 10 if min(late) < 1 else 0.9))


def _curve(figures: StudyFigures, name: str, colour: str) -> Curve:
    """F1 after each epoch: the mean over sites and seeds, from the lowest site to the highest."""
    mean, low, high = figures.f1_curve(name)
    return Curve(name, colour, range(1, len(mean) + 1), mean, low, high)
