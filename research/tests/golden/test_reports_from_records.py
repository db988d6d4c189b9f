"""The tables of reports follow from the records of their runs, to the last digit.

A table that was changed by hand, or a way of counting that changed since, makes these tests fail.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from inverse_deid.core.settings import read_settings
from inverse_deid.evaluation.measures.resampling import bootstrap_difference
from inverse_deid_research.extraction.spanish import read_spanish_study
from inverse_deid_research.extraction.study import read_extraction_study
from inverse_deid_research.extraction.tables import Verdicts, extraction_tables, spanish_tables
from inverse_deid_research.federated.settings import FederatedStudySettings, restrict_study
from inverse_deid_research.federated.tables import StudyFrames
from inverse_deid_research.federated.tables import make_sections as make_federated_sections
from inverse_deid_research.representations.config import read_study_config
from inverse_deid_research.representations.runs import list_runs
from inverse_deid_research.representations.tables import make_sections as make_sharing_sections
from inverse_deid_research.studies.tables import Table

ROOT = Path(__file__).parents[3]
REPORTS = ROOT / "reports"
CONFIGS = ROOT / "research" / "configs"


def read_runs(report: str) -> dict[str, Any]:
    """Return the records of a report by the name of the run."""
    return {
        path.stem: json.loads(path.read_text(encoding="utf-8"))
        for path in sorted((REPORTS / report / "runs").glob("*.json"))
    }


def group_by_model(report: str) -> dict[str, list[Any]]:
    found: dict[str, list[Any]] = defaultdict(list)
    for name, record in read_runs(report).items():
        found[name.rsplit("-", 1)[0]].append(record)
    return found


def assert_same(
    report: str, sections: Mapping[str, Iterable[Table]], *, without: tuple[str, ...] = ()
) -> None:
    tables = [table for found in sections.values() for table in found if table.name not in without]
    assert tables
    differing = [
        table.name
        for table in tables
        if (REPORTS / report / f"{table.name}.csv").read_text(encoding="utf-8") != table.csv()
    ]
    assert not differing


@pytest.mark.parametrize(
    "report", ["extraction-joint-models", "extraction-vectors", "extraction-vectors-mpnet"]
)
def test_tables_of_extraction_follow_from_the_records(report):
    models = ("spanish-phi", "spanish-phi-whole")  # never run for these reports, and their rows are empty
    settings = read_extraction_study(CONFIGS / "experiments" / "extraction.toml")
    records = {**{name: [] for name in models}, **group_by_model(report)}
    assert_same(report, extraction_tables(records, Verdicts(settings.seeds, settings.looks)))


def test_tables_of_spanish_concepts_follow_from_the_records():
    settings = read_spanish_study(CONFIGS / "experiments" / "extraction-spanish.toml")
    records = group_by_model("extraction-spanish")
    assert_same("extraction-spanish", spanish_tables(records, Verdicts(settings.seeds)))


@pytest.mark.parametrize(
    ("report", "config"),
    [
        ("private-representations-question", "sharing-question"),
        ("private-representations-dynamic", "sharing-question"),
        ("private-representations-pseudonyms", "sharing-question"),
        ("private-representations-subwords", "sharing-subwords"),
        ("private-representations-meddocan", "sharing-meddocan"),
        ("private-representations-sizes", "sharing-sizes"),
        ("private-representations-neighbours", "sharing-neighbours"),
        ("private-representations-neighbours-meddocan", "sharing-neighbours-meddocan"),
        ("private-representations-carriers", "sharing-carriers"),
    ],
)
def test_tables_of_representations_follow_from_the_records(report, config):
    settings = read_study_config(CONFIGS / "experiments" / f"{config}.toml")
    found = read_runs(report)
    seeds = sorted({int(name.rsplit("-", 1)[1]) for name in found})
    records = {run: found[run.name] for run in list_runs(settings, seeds) if run.name in found}
    assert len(records) == len(found)
    assert_same(report, make_sharing_sections(settings, records, seeds))


@pytest.mark.parametrize(
    "name", ["kinds", "kinds-paper", "meddocan", "meddocan-paper", "letters-paper", "letters-coupled"]
)
def test_tables_of_common_training_follow_from_the_records(name):
    report = f"federated-{name}"
    path = CONFIGS / "federated" / f"{name}.toml"
    found = read_runs(report)
    attempts = found.pop("inversion")["attempts"]
    records = {(run.rsplit("-", 1)[0], int(run.rsplit("-", 1)[1])): record for run, record in found.items()}
    methods, seeds = (tuple(dict.fromkeys(run[place] for run in sorted(records))) for place in (0, 1))
    n_epochs = len(next(iter(records.values()))["epochs"])
    settings = restrict_study(read_settings(path, FederatedStudySettings), methods, n_epochs, seeds)
    sites = list(next(iter(records.values()))["calibrated"])
    frames = StudyFrames(settings, sites, records)
    documents = SimpleNamespace(sites=(), test=())  # the table of sites counts them, and no other
    assert_same(report, make_federated_sections(frames, documents, attempts), without=("sites",))


def write_difference(a: list[Any], b: list[Any], form: str) -> str:
    found = bootstrap_difference(np.array(a), np.array(b))
    bounds = (found.low, found.high)
    return form.format(found.value, abs(found.value), *sorted(map(abs, bounds)), *bounds)


def read_page(name: str) -> str:
    return " ".join((ROOT / "docs" / f"{name}.md").read_text(encoding="utf-8").split())


def test_what_the_marker_costs_an_extractor_of_original_text():
    found = group_by_model("extraction-joint-models")["concepts-original"]
    original, marker = (
        [record["test"]["concepts"][view]["parts"] for record in found] for view in ("original", "marker")
    )
    shown = write_difference(original, marker, "and {0:.3f} ({4:.3f} to {5:.3f}) with the marker")
    assert shown.replace("0.", ".") in read_page("extraction")


@pytest.mark.parametrize(
    ("report", "method", "form"),
    [
        ("meddocan", "C_0.1", "C_0.1 is undecided ({0:+.3f}, {4:.3f} to {5:.3f})"),
        ("meddocan", "C_0.5", "C_0.5 better ({0:+.3f}, {4:.3f} to {5:.3f})"),
        ("kinds", "C_0.1", "C_0.1 has {1:.3f} less F1 ({2:.3f} to {3:.3f})"),
        ("kinds", "C_0.5", "C_0.5 {1:.3f} ({2:.3f} to {3:.3f})"),
    ],
)
def test_selective_sharing_against_averaging(report, method, form):
    found = read_runs(f"federated-{report}")
    shared, averaged = (
        [
            list(record["f1_by_document"].values())
            for name, record in found.items()
            if name.startswith(f"{one}-")
        ]
        for one in (method, "FedAvg")
    )
    shown = write_difference(shared, averaged, form)
    assert shown in read_page("federated")
