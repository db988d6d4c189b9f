"""`inverse-deid research federated simulate`: every method on the same sites, start and seeds."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from inverse_deid.lexicon import load_lexicon
from inverse_deid.research.federated.attacks.attempts import inversion_record
from inverse_deid.research.federated.encoded_sites import EncodedStudy, Say, encoded_study
from inverse_deid.research.federated.flower_simulation import FlowerSimulation, flower_engine
from inverse_deid.research.federated.study_config import StudyConfig
from inverse_deid.research.federated.study_engine import Engine, SitesOf, direct_engine
from inverse_deid.research.federated.study_report import StudyResults, write_study_report
from inverse_deid.research.federated.study_run import StudyRun, run_record
from inverse_deid.research.federated.study_trainers import StudyTrainers, peak_memory
from inverse_deid.research.studies.records import fingerprint, read_record, write_record
from inverse_deid.research.studies.report import Provenance
from inverse_deid.research.studies.study import prepare_folder
from inverse_deid.training.documents import corpus_sha256
from inverse_deid.training.run import device_line

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
        flower: Sites train in Flower's simulation engine; None = in this process.
    """

    config: StudyConfig
    config_path: Path
    folder: Path
    command: str = ""
    force: bool = False
    flower: FlowerSimulation | None = None


def run_study(settings: SimulationSettings, say: Say, clock: Clock = time.perf_counter) -> None:
    """Run what is not there yet of a study and write its report.

    Raises:
        InputError: A corpus cannot be read.
        ConfigurationError: Settings do not fit the data, or the folder is another study's.
        ClusterError: The engine could not be started, or was lost.
        StageError: A loss is not a number.
        OutputError: A file cannot be written.
    """
    config = settings.config
    hashes = {str(path): corpus_sha256(path) for path in (*config.train, *config.test)}
    key = {"data": sorted(hashes.values()), "settings": _key(config)}
    prepare_folder(settings.folder, "federated", key, force=settings.force)
    began = clock()
    study = encoded_study(config, say)
    n_seconds = {"reading": clock() - began}
    say(device_line())
    trainers = StudyTrainers(config, study.vectors)
    kept = _KeptRuns(settings.folder / "runs", sorted(key.items()), config.study.epochs)
    runs = [StudyRun(method, seed) for seed in config.study.seeds for method in config.methods]
    missing = [run for run in runs if kept.record(run) is None]

    def work(sites_of: SitesOf, tell: Say) -> None:
        for run in missing:
            began = clock()
            record = run_record(run, study, trainers, sites_of, tell)
            kept.keep(run, {**record, "seconds": clock() - began})

    if missing:
        _engine(settings, study, trainers, hashes)(work, say)
    records = {(run.method.name, run.seed): kept.record(run) or {} for run in runs}
    for method in config.methods:
        n_seconds[method.name] = sum(records[method.name, seed]["seconds"] for seed in config.study.seeds)
    leaks = _leaks(settings.folder, fingerprint(sorted(key.items()), config.study.seeds[0]), study, trainers)
    provenance = _provenance(settings, hashes, len(study.sites), n_seconds)
    write_study_report(settings.folder, config, study, StudyResults(records, leaks), provenance)


@dataclass(frozen=True, slots=True)
class _KeptRuns:
    """A file for every finished run; an interrupted study goes on behind them."""

    folder: Path
    shared: Sequence[tuple[str, object]]
    n_epochs: int

    def record(self, run: StudyRun) -> Mapping[str, Any] | None:
        """What a run found; None if it has not been finished."""
        return read_record(self._path(run), self._key(run))

    def keep(self, run: StudyRun, record: Mapping[str, Any]) -> None:
        """Write down what a run found."""
        write_record(self._path(run), self._key(run), record)

    def _path(self, run: StudyRun) -> Path:
        return self.folder / f"{run.method.name}-{run.seed}.json"

    def _key(self, run: StudyRun) -> str:
        return fingerprint(self.shared, run.method, self.n_epochs, run.seed)


def _engine(
    settings: SimulationSettings, study: EncodedStudy, trainers: StudyTrainers, hashes: Mapping[str, str]
) -> Engine:
    if settings.flower is None:
        return direct_engine(trainers, study)
    return flower_engine(settings.flower, settings.config, hashes, [site.name for site in study.sites])


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
    settings: SimulationSettings, hashes: Mapping[str, str], n_sites: int, n_seconds: Mapping[str, float]
) -> Provenance:
    path = settings.config_path
    return Provenance(
        command=settings.command,
        device=device_line(),
        seeds=settings.config.study.seeds,
        hashes={**hashes, str(path): corpus_sha256(path)},
        settings={
            "network": repr(settings.config.network),
            "training": repr(settings.config.training),
            "engine": settings.flower.words(n_sites) if settings.flower else "direct",
            "peak memory": peak_memory() + (", without the processes of sites" if settings.flower else ""),
        },
        n_seconds=n_seconds,
    )
