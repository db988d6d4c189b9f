"""One method of a study with one seed: its epochs, measured at every site."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from inverse_deid.research.federated import methods
from inverse_deid.research.federated.attacks.attempts import membership_record
from inverse_deid.research.federated.encoded_sites import EncodedStudy, Say
from inverse_deid.research.federated.local_training import LocalTrainer
from inverse_deid.research.federated.measuring import Scored, measures, scored
from inverse_deid.research.federated.methods import COMMON, Course, Outcome, Site
from inverse_deid.research.federated.study_config import MethodConfig
from inverse_deid.research.federated.study_engine import SitesOf
from inverse_deid.research.federated.study_trainers import StudyTrainers
from inverse_deid.research.federated.weights import Weights
from inverse_deid.training.calibration import calibrate, measure


@dataclass(frozen=True, slots=True, eq=False)
class StudyRun:
    """One method with one seed.

    Args:
        method: The method.
        seed: Of first weights and of every random choice.
    """

    method: MethodConfig
    seed: int


def run_record(
    run: StudyRun, study: EncodedStudy, trainers: StudyTrainers, sites_of: SitesOf, say: Say
) -> dict[str, Any]:
    """Do a run.

    Args:
        run: What is done.
        study: Documents.
        trainers: Of this process, for A and for all that is measured.
        sites_of: Where sites train.
        say: Gets a line an epoch.

    Returns:
        A row for every epoch, what each site calibrates at the end, the attempt on membership.

    Raises:
        StageError: A loss is not a number.
    """
    config, method, seed = trainers.config, run.method, run.seed
    trainer = trainers.of(method.proximal)
    sites = [Site(site.name, site.train) for site in study.sites]
    begin = sites_of(method.proximal)
    course = Course(trainer, sites, begin, trainers.start(seed), config.study.epochs, seed)
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
        from inverse_deid.research.federated.secure_aggregation import secure_mean

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
