"""Train one variant with one seed on stored epochs, and keep what it says of every corpus.

::

    runs/NAME-SEED.json        key, loss and seconds: written last
    runs/NAME-SEED.npz         scores of every corpus
    runs/NAME-SEED.weights.npz what a student learns from
"""

from __future__ import annotations

import dataclasses
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass, field
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np

from inverse_deid.core.errors import ConfigurationError
from inverse_deid.core.settings import as_plain_values
from inverse_deid.masking.scorers import feature_names
from inverse_deid.network.batches import Example
from inverse_deid.network.config import NetworkConfig, class_names
from inverse_deid.network.encoding import WordVectors
from inverse_deid.research.studies.analysed import (
    AnalysedCorpus,
    read_arrays,
    score,
    write_arrays,
    write_scores,
)
from inverse_deid.research.studies.epoch_store import EpochStore, StoredEpochs, View
from inverse_deid.research.studies.provenance import fingerprint, read_record, write_record
from inverse_deid.research.studies.variants import Variant
from inverse_deid.rules.words import DICTIONARY_FEATURE_NAMES

Say = Callable[[str], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Bench:
    """What all runs of an experiment share.

    Args:
        folder: Of the experiment; holds `epochs` and `runs`.
        vectors: The vocabulary.
        corpora: What is scored.
        key: Names data and epochs.
    """

    folder: Path
    vectors: WordVectors = field(repr=False)
    corpora: tuple[AnalysedCorpus, ...] = field(repr=False)
    key: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """A variant with a seed.

    Args:
        variant: What to train.
        seed: Of network and batches.
        teachers: Weight files of the teachers.
        teacher_network: Their shape.
    """

    variant: Variant
    seed: int
    teachers: tuple[Path, ...] = ()
    teacher_network: NetworkConfig | None = None

    @property
    def name(self) -> str:
        """Of its files."""
        return f"{self.variant.name}-{self.seed}"


def paths_of(folder: Path, job: Job) -> tuple[Path, Path, Path]:
    """Record, scores and weights of a run."""
    stem = folder / "runs" / job.name
    return (
        stem.with_name(f"{job.name}.json"),
        stem.with_name(f"{job.name}.npz"),
        weights_path(folder, job.name),
    )


def weights_path(folder: Path, name: str) -> Path:
    """Where the weights of a run stand."""
    return folder / "runs" / f"{name}.weights.npz"


def key_of(bench_key: str, job: Job) -> str:
    """Changes with everything that can change a run; the title cannot."""
    variant = dataclasses.replace(job.variant, title="", training=job.variant.seeded(job.seed))
    return fingerprint(bench_key, variant, [path.name for path in job.teachers], job.teacher_network)


def finished(bench: Bench, job: Job) -> dict[str, Any] | None:
    """The record of a run, None if it is still to be trained."""
    record, scores, weights = paths_of(bench.folder, job)
    return read_record(record, key_of(bench.key, job)) if scores.exists() and weights.exists() else None


def train_all(bench: Bench, jobs: Sequence[Job], n_processes: int, say: Say) -> dict[str, dict[str, Any]]:
    """Train what is not yet trained.

    Args:
        bench: What they share.
        jobs: Their teachers are trained.
        n_processes: 1 trains here, more at a time in processes of one thread each.
        say: Gets a line when a run is done.

    Returns:
        The records by the jobs' names.
    """
    records = {job.name: record for job in jobs if (record := finished(bench, job)) is not None}
    todo = [job for job in jobs if job.name not in records]
    for name, record in _trained(bench, todo, n_processes, say):
        records[name] = record
        say(
            f"{name}: loss {record['loss']:.4f}, trained in {record['seconds']:.0f} s, "
            f"{len(records)} of {len(jobs)} done"
        )
    return records


def _trained(
    bench: Bench, jobs: Sequence[Job], n_processes: int, say: Say
) -> Iterator[tuple[str, dict[str, Any]]]:
    if n_processes == 1 or len(jobs) < 2:
        for job in jobs:
            yield job.name, train_variant(bench, job, say)
        return
    context = get_context("spawn")
    with ProcessPoolExecutor(n_processes, context, _start_worker, (bench,)) as pool:
        running = {pool.submit(_work, job): job.name for job in jobs}
        try:
            for done in as_completed(running):
                yield running[done], done.result()
        finally:
            pool.shutdown(wait=True, cancel_futures=True)


_bench: Bench | None = None


def _start_worker(bench: Bench) -> None:
    """One TensorFlow thread a process."""
    global _bench  # noqa: PLW0603 - a worker process serves one experiment
    os.environ["TF_CPP_MIN_LOG_LEVEL"] = "2"
    import tensorflow as tf

    tf.config.threading.set_intra_op_parallelism_threads(1)
    tf.config.threading.set_inter_op_parallelism_threads(1)
    _bench = bench


def _work(job: Job) -> dict[str, Any]:
    if _bench is None:
        raise RuntimeError("the worker was not started")
    return train_variant(_bench, job, lambda line: None)


def train_variant(bench: Bench, job: Job, say: Say) -> dict[str, Any]:
    """Train one variant, score the corpora, and write the run's files.

    Raises:
        ConfigurationError: Teachers of other classes.
        StageError: Training failed.
        OutputError: A file cannot be written.
    """
    import keras

    from inverse_deid.network.network import build_network
    from inverse_deid.network.training import EpochReport, Watch, fit
    from inverse_deid.training.run import model_parts

    start = time.perf_counter()
    variant, training = job.variant, job.variant.seeded(job.seed)
    keras.utils.clear_session()
    keras.utils.set_random_seed(job.seed)
    names = feature_names(variant.network.feature_set)
    network = build_network(variant.network, len(names), bench.vectors.matrix())
    columns = [i for i, name in enumerate(names) if name in DICTIONARY_FEATURE_NAMES]
    losses: list[float] = []
    speeds: list[float] = []

    def on_epoch(report: EpochReport) -> None:
        losses.append(report.loss)
        speeds.append(report.n_tokens / max(report.seconds, 1e-9))
        say(
            f"{job.name}: epoch {report.epoch}/{training.epochs}, loss {report.loss:.4f}, "
            f"{speeds[-1]:.0f} tokens/s"
        )

    fit(network, _data(bench, job), training, dictionary_columns=columns, watch=Watch(on_epoch=on_epoch))
    parts = model_parts(network, variant.network, bench.vectors)
    record, scores, weights = paths_of(bench.folder, job)
    write_scores(scores, {corpus.name: score(parts, corpus) for corpus in bench.corpora})
    write_arrays(weights, trained_weights(network))
    values = {
        "loss": losses[-1],
        "losses": losses,
        "tokens_per_second": float(np.median(speeds)),
        "seconds": time.perf_counter() - start,
        "network": as_plain_values(variant.network),
        "training": as_plain_values(training),
    }
    write_record(record, key_of(bench.key, job), values)
    return values


def trained_weights(network: Any) -> dict[str, np.ndarray]:  # noqa: ANN401 - a keras.Model, imported lazily
    """The trainable weights by their order: names of layers differ between networks of one process."""
    return {f"{i:03}": np.asarray(variable) for i, variable in enumerate(network.trainable_variables)}


def assign_weights(network: Any, weights: Mapping[str, np.ndarray]) -> None:  # noqa: ANN401
    """Give a network of the same shape the weights of `trained_weights`.

    Raises:
        ConfigurationError: The network has another shape.
    """
    given = [weights[name] for name in sorted(weights)]
    shapes = [tuple(variable.shape) for variable in network.trainable_variables]
    if shapes != [weight.shape for weight in given]:
        raise ConfigurationError("the stored weights are of another network; start anew with --force")
    for variable, weight in zip(network.trainable_variables, given, strict=True):
        variable.assign(weight)


def _data(bench: Bench, job: Job) -> Callable[[int], Sequence[Example]]:
    store = EpochStore(bench.folder / "epochs")
    view = View(network=job.variant.network, training=job.variant.training, leave_out=job.variant.leave_out)
    if not job.teachers or job.teacher_network is None:
        return StoredEpochs(store, view)
    return _TaughtEpochs(bench, job, store, view)


class _TaughtEpochs:
    """The epochs with the mean opinion of teachers."""

    def __init__(self, bench: Bench, job: Job, store: EpochStore, view: View) -> None:
        from inverse_deid.network.network import build_network

        config = job.teacher_network
        if config is None or class_names(config.targets) != class_names(view.network.targets):
            raise ConfigurationError(f"{job.name}: its classes are not those of its teachers")
        if view.network.output == "crf":
            raise ConfigurationError(f"{job.name}: a CRF learns from labels alone")
        self._config, self._view = config, view
        self._epochs = StoredEpochs(store, view)
        self._seen = StoredEpochs(store, dataclasses.replace(view, network=config))
        self._networks = []
        for path in job.teachers:
            network = build_network(config, len(feature_names(config.feature_set)), bench.vectors.matrix())
            assign_weights(network, read_arrays(path))
            self._networks.append(network)
        self._last: tuple[int, Sequence[Example]] = (-1, ())

    def __call__(self, epoch: int) -> Sequence[Example]:
        if self._last[0] != epoch:
            self._last = (epoch, list(self._taught(epoch)))
        return self._last[1]

    def _taught(self, epoch: int) -> Iterator[Example]:
        from inverse_deid.network.training import probabilities

        seen, training = self._seen(epoch), self._view.training
        opinions = [probabilities(network, seen, self._config) for network in self._networks]
        for i, example in enumerate(self._epochs(epoch)):
            doubtful = example.weights == 0
            share = np.where(doubtful, 1.0, training.teacher_weight)[:, None]
            opinion = np.mean([rows[i] for rows in opinions], axis=0) * share
            weights = np.where(doubtful, training.weak_weight, example.weights).astype(np.float32)
            yield dataclasses.replace(example, weights=weights, opinion=opinion.astype(np.float16))
