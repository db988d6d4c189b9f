"""`inverse-deid federated simulate`: every method on the same sites, start and seeds."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from inverse_deid.experiments.provenance import (
    Provenance,
    fingerprint,
    prepare_folder,
    read_record,
    write_record,
)
from inverse_deid.federated import methods
from inverse_deid.federated.attacks.attempts import inversion_record, membership_record
from inverse_deid.federated.encoded_sites import EncodedStudy, Say, encoded_study
from inverse_deid.federated.local_training import LocalTrainer
from inverse_deid.federated.measuring import Scored, measures, scored
from inverse_deid.federated.methods import COMMON, Course, Outcome, Site
from inverse_deid.federated.study_config import MethodConfig, StudyConfig
from inverse_deid.federated.study_report import StudyResults, write_study_report
from inverse_deid.federated.study_trainers import StudyTrainers, peak_memory
from inverse_deid.federated.weights import Weights
from inverse_deid.learning.calibration import calibrate, measure
from inverse_deid.learning.documents import sha256_of
from inverse_deid.learning.run import device_line
from inverse_deid.lexicon import load_lexicon

Clock = Callable[[], float]


@dataclass(frozen=True, slots=True, kw_only=True)
class SimulationSettings:
    """What the command is told.

    Args:
        config: The study.
        config_path: Where it stands.
        folder: Takes runs and report.
        command: For the report.
        force: Start anew.
    """

    config: StudyConfig
    config_path: Path
    folder: Path
    command: str = ""
    force: bool = False


def run_study(settings: SimulationSettings, say: Say, clock: Clock = time.perf_counter) -> None:
    """Run what is not there yet of a study and write its report.

    Raises:
        InputError: A corpus cannot be read.
        ConfigurationError: Settings do not fit the data, or the folder is another study's.
        StageError: A loss is not a number.
        OutputError: A file cannot be written.
    """
    config = settings.config
    hashes = {str(path): sha256_of(path) for path in (*config.train, *config.test)}
    key = {"data": sorted(hashes.values()), "settings": _key(config)}
    prepare_folder(settings.folder, "federated", key, force=settings.force)
    began = clock()
    study = encoded_study(config, say)
    n_seconds = {"reading": clock() - began}
    say(device_line())
    trainers = StudyTrainers(config, study)
    records: dict[tuple[str, int], Mapping[str, Any]] = {}
    for seed in config.study.seeds:
        for method in config.methods:
            path = settings.folder / "runs" / f"{method.name}-{seed}.json"
            run_key = fingerprint(sorted(key.items()), method, config.study.epochs, seed)
            record = read_record(path, run_key)
            if record is None:
                began = clock()
                record = {**_run(study, config, method, trainers, seed, say), "seconds": clock() - began}
                write_record(path, run_key, record)
            records[method.name, seed] = record
    for method in config.methods:
        n_seconds[method.name] = sum(records[method.name, seed]["seconds"] for seed in config.study.seeds)
    leaks = _leaks(settings.folder, fingerprint(sorted(key.items()), config.study.seeds[0]), study, trainers)
    provenance = _provenance(settings, hashes, n_seconds)
    write_study_report(settings.folder, config, study, StudyResults(records, leaks), provenance)


def _leaks(folder: Path, key: str, study: EncodedStudy, trainers: StudyTrainers) -> Mapping[str, Any]:
    """The attempts on changes of weights, which depend on no method."""
    path = folder / "runs" / "inversion.json"
    record = read_record(path, key)
    if record is None:
        record = {"attempts": inversion_record(study, trainers)}
        write_record(path, key, record)
    found: Mapping[str, Any] = record["attempts"]
    return found


def _key(config: StudyConfig) -> str:
    """Changes with whatever all runs share; methods, epochs and seeds are those of a run."""
    shared = dataclasses.replace(config.study, epochs=1, seeds=(1,))
    return fingerprint(config.sites, shared, config.network, config.training, load_lexicon().sha256)


def _provenance(
    settings: SimulationSettings, hashes: Mapping[str, str], n_seconds: Mapping[str, float]
) -> Provenance:
    path = settings.config_path
    return Provenance(
        command=settings.command,
        device=device_line(),
        seeds=settings.config.study.seeds,
        hashes={**hashes, str(path): sha256_of(path)},
        settings={
            "network": repr(settings.config.network),
            "training": repr(settings.config.training),
            "peak memory": peak_memory(),
        },
        n_seconds=n_seconds,
    )


def _run(
    study: EncodedStudy,
    config: StudyConfig,
    method: MethodConfig,
    trainers: StudyTrainers,
    seed: int,
    say: Say,
) -> dict[str, Any]:
    """One method with one seed: a row for every epoch, and what each site calibrates at the end."""
    trainer = trainers.of(method.proximal)
    sites = [Site(site.name, site.train) for site in study.sites]
    course = Course(trainer, sites, trainers.start(seed), config.study.epochs, seed)
    epochs: list[dict[str, Any]] = []
    for number, outcome in enumerate(_outcomes(course, method), start=1):
        found = _scores(trainer, study, outcome)
        rows = _rows(study, found, config.study.precision)
        epochs.append(_epoch_record(outcome, rows))
        f1 = [row["all"]["f1"] or 0.0 for row in rows.values()]
        say(
            f"{method.name}, seed {seed}, epoch {number}: loss {outcome.loss:.4f}, F1 mean {np.mean(f1):.4f} "
            f"(from {min(f1):.4f} to {max(f1):.4f}), {outcome.seconds:.0f} s"
        )
    networks = {site.name: _of_site(outcome.networks, site.name) for site in study.sites}
    return {
        "epochs": epochs,
        "calibrated": _calibrated(trainer, study, outcome, found, config.study.recall),
        "membership": membership_record(trainer, study.sites, networks, seed),
    }


def _outcomes(course: Course, method: MethodConfig) -> Iterator[Outcome]:
    if method.way == "selective":
        settings = {site.name: method.settings_of(site.name) for site in course.sites}
        return methods.selective(course, settings)
    if method.way == "secure-average":
        from inverse_deid.federated.secure_aggregation import secure_mean

        return methods.averaged(course, secure_mean)
    ways = {
        "central": methods.central,
        "round-robin": methods.round_robin,
        "isolated": methods.isolated,
        "average": methods.averaged,
    }
    return ways[method.way](course)


def _scores(trainer: LocalTrainer, study: EncodedStudy, outcome: Outcome) -> dict[str, Scored]:
    """The test documents as each network sees them."""
    return {
        name: scored(study.test, trainer.probabilities(weights, study.test))
        for name, weights in outcome.networks.items()
    }


def _of_site(found: Mapping[str, Any], name: str) -> Any:  # noqa: ANN401 - whatever is kept by network
    return found[name] if name in found else found[COMMON]


def _rows(study: EncodedStudy, found: Mapping[str, Scored], precision: float) -> dict[str, dict[str, Any]]:
    """The measures of each site's network on all test documents and on those of its own kind."""
    whole = {name: dataclasses.asdict(measures(one, precision)) for name, one in found.items()}
    rows = {}
    for site in study.sites:
        rows[site.name] = {"all": _of_site(whole, site.name)}
        if site.own_test:
            own = _of_site(found, site.name).of(site.own_test)
            rows[site.name]["own"] = dataclasses.asdict(measures(own, precision))
    return rows


def _epoch_record(outcome: Outcome, rows: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "loss": outcome.loss,
        "n_sent": outcome.n_sent,
        "n_received": outcome.n_received,
        "seconds": outcome.seconds,
        "sites": dict(rows),
    }


def _calibrated(
    trainer: LocalTrainer, study: EncodedStudy, last: Outcome, found: Mapping[str, Scored], recall: float
) -> dict[str, dict[str, float | None]]:
    """Each site sets its threshold on its own held-out documents; what that does on the test documents."""
    rows: dict[str, dict[str, float | None]] = {}
    for site in study.sites:
        held_out = _held_out(trainer, _of_site(last.networks, site.name), site.held_out)
        thresholds = calibrate([held_out.corpus(site.name)], recall)
        tested = _of_site(found, site.name)
        tested = tested.of(site.own_test) if site.own_test else tested
        point = measure(tested.corpus(site.name), thresholds)
        rows[site.name] = {"high": thresholds.high, "recall": point.recall, "precision": point.precision}
    return rows


def _held_out(trainer: LocalTrainer, weights: Weights, examples: Sequence[Any]) -> Scored:
    return scored(examples, trainer.probabilities(weights, examples))
