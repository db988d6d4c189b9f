"""`inverse-deid research federated simulate`: every method on the same sites, first weights and seeds.

A run trains a method with a seed and measures it, or attacks changes of weights.
"""

from __future__ import annotations

import json
import logging
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

from inverse_deid.core.errors import ConfigurationError
from inverse_deid.core.extras import research_hint
from inverse_deid.core.values import BoolArray, FloatArray, RuleVerdicts
from inverse_deid.engine.worker_pool import n_threads_each
from inverse_deid.lexicon import load_lexicon
from inverse_deid.network.batches import Example
from inverse_deid.training.backend import prepare_backend
from inverse_deid.training.calibration import ScoredCorpus, calibrate, densities, measure, recall_at_precision
from inverse_deid_research.federated import methods
from inverse_deid_research.federated.attacks import attempt_inversion, attempt_membership
from inverse_deid_research.federated.documents import EncodedStudy, encode_study
from inverse_deid_research.federated.methods import COMMON, Course, EpochOutcome
from inverse_deid_research.federated.network import CommonNetwork, DirectEpochs, LocalTrainer, SiteEpochs
from inverse_deid_research.federated.settings import FederatedStudySettings, MethodSettings
from inverse_deid_research.federated.tables import StudyFrames, draw_curves, make_sections
from inverse_deid_research.studies.records import Record, fingerprint, write_text
from inverse_deid_research.studies.report import Report
from inverse_deid_research.studies.study import Say, Study, StudyOptions

BeginSites = Callable[[float], SiteEpochs]
"""Begins a run of the sites with a proximal term (0 = none), in which no site has trained yet."""

Work = Callable[[BeginSites, Say], None]
"""Work with sites. It says its lines through the given function."""

_FLOWER = "1.41."
_QUIET = {
    "FLWR_TELEMETRY_ENABLED": "0",
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
}
"""Turn off usage reports, and Ray's warning about GPUs, which the processes do not use."""

_TEXT = (
    "",
    "The method of Festag and Spreckelsen (JMIR Form Res 2020;4(5):e14064) on other data. One token is "
    "one decision, protected health information (PHI) against safe. The network is alone, without the "
    "thresholds of dictionaries and document passes. Every method has the same sites, first weights and "
    "number of epochs.",
    "",
    "No formal guarantee: nothing here bounds what the exchanged numbers tell of a site's documents. The "
    "attempts below show what two attackers find. Another attacker may find more.",
    "",
    "![learning curves](learning-curves.svg)",
)


@dataclass(frozen=True, slots=True)
class FlowerSimulation:
    """The processes that train at the same time in Flower's simulation engine; all use every core once.

    0 = one per site, or per core if these are fewer. `ConfigurationError` without Flower or Ray.
    """

    n_processes: int = 0

    def __post_init__(self) -> None:
        found = {name: find_version(name) for name in ("flwr", "ray")}
        if not found["flwr"].startswith(_FLOWER) or found["ray"] == "none":
            here = ", ".join(f"{name} {number}" for name, number in found.items())
            hint = research_hint("federated-simulation")
            raise ConfigurationError(
                f"flower needs flwr {_FLOWER}x and ray, found {here}: {hint}", choice="engine"
            )

    def count_processes(self, n_sites: int) -> int:
        """Return the number of processes for a number of sites; none would be idle."""
        return min(n_sites, self.n_processes or n_threads_each(1))

    def describe(self, n_sites: int) -> str:
        n = self.count_processes(n_sites)
        packages = f"Flower {find_version('flwr')} on Ray {find_version('ray')}"
        return f"{packages}, processes: {n}, threads of each: {n_threads_each(n)}"


def find_version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "none"


def run_study(
    settings: FederatedStudySettings,
    path: Path,
    options: StudyOptions,
    flower: FlowerSimulation | None = None,
    *,
    planned: Sequence[int] = (),
) -> None:
    """Do the missing runs of a study and write its report, without verdicts if `planned` seeds are left out.

    With `flower`, sites train in Flower's simulation engine; else in this process.

    Raises:
        InputError: A corpus cannot be read.
        ConfigurationError: Settings do not fit the data, or the folder is another study's.
        ClusterError: The engine could not be started, or was lost.
        StageError: A loss is not a number.
        OutputError: A file cannot be written.
    """
    say = options.say
    inputs = [*settings.data.train, *settings.data.test]
    shared = msgspec.structs.replace(settings.study, epochs=1, seeds=(1,))  # these are those of a run
    network = (settings.network, *(["coupled gates"] if settings.coupled_gates else []))
    key = fingerprint(settings.sites, shared, *network, settings.training, load_lexicon().sha256)
    study = Study("federated", options, inputs=inputs, shared={"settings": key}, config=path)
    began = time.perf_counter()
    common = CommonNetwork(
        settings.network,
        settings.training,
        settings.data.word_vectors,
        is_coupled=settings.coupled_gates,
    )
    encoded = encode_study(settings, common, say)
    n_seconds = {"reading": time.perf_counter() - began}
    say(prepare_backend())
    work = StudyWork(settings, encoded, common)
    names, epochs = [site.name for site in encoded.sites], settings.study.epochs
    runs = [
        FederatedRun(f"{name}-{seed}", name, seed, (name, method, epochs, seed))
        for seed in settings.study.seeds
        for name, method in settings.methods.items()
    ]
    selective = [method.selection() for method in settings.methods.values() if method.way == "selective"]
    first = settings.study.seeds[0]
    inversion = FederatedRun("inversion", "inversion", first, (first, selective[:1]))

    def do_missing(begin: BeginSites, tell: Say) -> None:
        list(study.finish(runs, lambda run, _: work.run_method(run, begin, tell)))

    if flower and study.missing(runs):
        os.environ.update(_QUIET)
        logging.getLogger("flwr").disabled = True  # its level is set anew when Flower is imported
        from inverse_deid_research.federated.flower import run_in_flower

        hashes = {str(name): study.hashes[str(name)] for name in inputs}
        run_in_flower(flower.count_processes(len(names)), settings, hashes, names, do_missing, say)
    else:
        documents = [site.train for site in encoded.sites]
        do_missing(lambda proximal: DirectEpochs(common.trainer_with(proximal), documents), say)
    records = {(run.kind, run.seed): study.record(run) or {} for run in runs}
    attacked = study.finish(
        [inversion], lambda *_: {"attempts": attempt_inversion(settings, encoded, common)}
    )
    attempts = dict(attacked)[inversion]["attempts"]
    for name in settings.methods:
        n_seconds[name] = sum(records[name, seed]["seconds"] for seed in settings.study.seeds)
    provenance = study.provenance(
        settings={
            "network": " with ".join(map(str, network)),
            "training": repr(settings.training),
            "engine": flower.describe(len(names)) if flower else "direct",
            "peak memory": _describe_memory() + (", without the processes of sites" if flower else ""),
        },
        n_seconds=n_seconds,
    )
    frames = StudyFrames(settings, names, records, planned)
    plain = [{"method": name, "seed": seed, **record} for (name, seed), record in records.items()]
    write_text(study.folder / "study.json", json.dumps(plain, indent=1) + "\n")
    Report(
        title="Training together without pooling",
        provenance=provenance,
        text=_TEXT,
        sections=make_sections(frames, encoded, attempts),
        charts={"learning-curves.svg": draw_curves(frames)},
    ).write(study.folder)


def _describe_memory() -> str:
    try:
        import resource
    except ImportError:  # Windows
        return "not measured"
    return f"{resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20:.1f} GiB"


@dataclass(frozen=True, slots=True, eq=False)
class FederatedRun:
    """One method, named by `kind`, with one seed, or the attempts on changes of weights."""

    name: str
    kind: str
    seed: int
    depends_on: tuple[object, ...]


@dataclass(frozen=True, slots=True, eq=False)
class StudyWork:
    """What all runs of a study share; `common` is for method A and for all measurements."""

    settings: FederatedStudySettings
    study: EncodedStudy
    common: CommonNetwork

    def run_method(self, run: FederatedRun, begin: BeginSites, say: Say) -> Record:
        """Train a method and measure it on the way; `StageError` if a loss is not a number.

        The record contains every epoch, parts and wholes of F1 by network and test document at the end, the
        threshold that each site calibrates then, and the attempt on membership.
        """
        method, study = self.settings.methods[run.kind], self.study
        proximal = method.proximal or 0.0
        trainer, start = self.common.trainer_with(proximal), self.common.start(run.seed)
        begin_run = partial(begin, proximal)
        wanted = self.settings.study
        course = Course(trainer, study.sites, begin_run, start, wanted.epochs, run.seed)
        epochs: list[dict[str, Any]] = []
        for number, outcome in enumerate(_train(course, method), start=1):
            numbers = {name: getattr(outcome, name) for name in ("loss", "n_sent", "n_received", "seconds")}
            epochs.append(numbers)
            line = f"{run.kind}, seed {run.seed}, epoch {number}: loss {outcome.loss:.4f}"
            if number % wanted.measure_every == 0 or number == wanted.epochs:
                found = {
                    name: score_tokens(study.test, trainer.predict(weights, study.test))
                    for name, weights in outcome.networks.items()
                }
                numbers["sites"] = self._measure_sites(found)
                f1 = [row["all"]["f1"] or 0.0 for row in numbers["sites"].values()]
                line += f", F1 mean {np.mean(f1):.4f} (from {min(f1):.4f} to {max(f1):.4f})"
            say(f"{line}, {outcome.seconds:.0f} s")
        networks = {site.name: _of_site(outcome.networks, site.name) for site in study.sites}
        return {
            "epochs": epochs,
            "f1_by_document": {name: one.share_by_document().tolist() for name, one in found.items()},
            "calibrated": self._calibrate(trainer, outcome, found),
            "membership": attempt_membership(trainer, study.sites, networks, run.seed),
        }

    def _measure_sites(self, found: Mapping[str, ScoredTokens]) -> dict[str, dict[str, Any]]:
        precision = self.settings.study.precision
        whole = {name: measure_tokens(one, precision) for name, one in found.items()}
        rows = {}
        for site in self.study.sites:
            rows[site.name] = {"all": _of_site(whole, site.name)}
            if site.own_test:
                own = _of_site(found, site.name).select(site.own_test)
                rows[site.name]["own"] = measure_tokens(own, precision)
        return rows

    def _calibrate(
        self, trainer: LocalTrainer, last: EpochOutcome, found: Mapping[str, ScoredTokens]
    ) -> dict[str, dict[str, float | None]]:
        rows: dict[str, dict[str, float | None]] = {}
        for site in self.study.sites:
            weights = _of_site(last.networks, site.name)
            held_out = score_tokens(site.held_out, trainer.predict(weights, site.held_out))
            thresholds = calibrate([held_out.for_calibration(site.name)], self.settings.study.recall)
            tested = _of_site(found, site.name)
            tested = tested.select(site.own_test) if site.own_test else tested
            point = measure(tested.for_calibration(site.name), thresholds)
            rows[site.name] = {"high": thresholds.high, "recall": point.recall, "precision": point.precision}
        return rows


def _train(course: Course, method: MethodSettings) -> Iterator[EpochOutcome]:
    if method.way == "selective":
        selections = {site.name: method.selection(site.name) for site in course.sites}
        return methods.train_selectively(course, selections)
    ways = {
        "central": methods.train_centrally,
        "round-robin": methods.train_in_turns,
        "isolated": methods.train_alone,
        "average": methods.train_averaged,
    }
    return ways[method.way](course)


def _of_site(found: Mapping[str, Any], name: str) -> Any:  # noqa: ANN401 - whatever is kept by network
    return found[name] if name in found else found[COMMON]


@dataclass(frozen=True, slots=True, eq=False)
class ScoredTokens:
    """The tokens of documents as a network sees them, in one row, and the tokens of each document."""

    is_phi: BoolArray = field(repr=False)  # bool (n_tokens,), gold
    p_safe: FloatArray = field(repr=False)  # float32 (n_tokens,)
    is_masked: BoolArray = field(repr=False)  # bool (n_tokens,), the most probable class is not *safe*
    lengths: tuple[int, ...] = field(repr=False)

    def select(self, documents: Sequence[int]) -> ScoredTokens:
        chosen = np.zeros(len(self.lengths), np.bool_)
        chosen[list(documents)] = True
        tokens = np.repeat(chosen, self.lengths)
        kept = tuple(n for n, is_chosen in zip(self.lengths, chosen.tolist(), strict=True) if is_chosen)
        return ScoredTokens(self.is_phi[tokens], self.p_safe[tokens], self.is_masked[tokens], kept)

    def share_by_document(self) -> npt.NDArray[np.int64]:
        """Return part and whole of F1 in each document, int64 (n_documents, 2): F1 is a ratio of their sums.

        Example:
            >>> flags = np.array([True, True, False])
            >>> ScoredTokens(flags, np.ones(3, np.float32), ~flags, (1, 2)).share_by_document().tolist()
            [[0, 1], [0, 2]]
        """
        columns = np.stack([2 * (self.is_phi & self.is_masked), self.is_phi + 1 * self.is_masked], axis=1)
        sums = np.concatenate([np.zeros((1, 2), np.int64), columns.cumsum(0)])
        found: npt.NDArray[np.int64] = np.diff(sums[np.cumsum([0, *self.lengths])], axis=0)
        return found

    def for_calibration(self, name: str) -> ScoredCorpus:
        """Return what calibration reads: the network alone, without rules."""
        verdicts = RuleVerdicts.silent(len(self.is_phi))
        parts = np.split(self.p_safe, np.cumsum(self.lengths)[:-1])
        return ScoredCorpus(name, self.is_phi, self.p_safe, verdicts, densities(parts))


def score_tokens(examples: Sequence[Example], probabilities: Sequence[FloatArray]) -> ScoredTokens:
    """Join what a network says of documents: float32 (n_tokens, n_classes) of each.

    A row with NaN counts as masked.
    """
    rows = np.concatenate(list(probabilities))
    best: npt.NDArray[np.int64] = rows.argmax(axis=1)
    return ScoredTokens(
        np.concatenate([example.labels > 0 for example in examples]),
        rows[:, 0].copy(),
        np.asarray((best != 0) | np.isnan(rows).any(axis=1)),
        tuple(len(example) for example in examples),
    )


def measure_tokens(found: ScoredTokens, precision: float) -> dict[str, float | None]:
    """Measure protected health information (PHI) against safe, one decision per token.

    Returns:
        F1, precision and recall of the most probable class, whatever type of PHI it is, and the
        highest recall of any threshold at the wanted precision; None = undefined.

    Example:
        >>> flags, masked = np.array([True, True, False]), np.array([True, False, False])
        >>> found = ScoredTokens(flags, np.array([0.1, 0.9, 0.8], np.float32), masked, (3,))
        >>> measure_tokens(found, 0.9)
        {'f1': 0.6666666666666666, 'precision': 1.0, 'recall': 0.5, 'recall_at_precision': 0.5}
    """
    hits = int((found.is_phi & found.is_masked).sum())
    n_masked, n_phi = int(found.is_masked.sum()), int(found.is_phi.sum())
    return {
        "f1": 2 * hits / (n_masked + n_phi) if n_masked + n_phi else None,
        "precision": hits / n_masked if n_masked else None,
        "recall": hits / n_phi if n_phi else None,
        "recall_at_precision": recall_at_precision(found.is_phi, found.p_safe, precision) if n_phi else None,
    }
