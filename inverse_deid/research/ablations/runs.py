"""Train one variant with one seed on stored epochs, and keep what it says of every corpus.

::

    runs/NAME-SEED.npz          scores of every corpus
    runs/NAME-SEED.weights.npz  what a student learns from
"""

from __future__ import annotations

import dataclasses
import functools
import time
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from inverse_deid.core.errors import ConfigurationError
from inverse_deid.core.settings import as_plain_values, change_settings
from inverse_deid.network.batches import Example
from inverse_deid.network.config import NetworkConfig, class_names
from inverse_deid.network.encoding import WordVectors
from inverse_deid.research.ablations.epochs import read_epoch
from inverse_deid.research.ablations.variants import Variant
from inverse_deid.research.studies.records import Record, read_arrays, write_arrays
from inverse_deid.research.studies.scoring import AnalysedCorpus, score_corpus, write_scores
from inverse_deid.research.studies.study import Say
from inverse_deid.research.studies.training import (
    Epochs,
    assign_weights,
    fit_network,
    keep_last,
    new_network,
    weights_of,
)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class AblationRun:
    """A variant with a seed, and the runs whose networks, of one shape, teach it."""

    variant: Variant
    seed: int
    teachers: tuple[str, ...] = ()
    teacher_network: NetworkConfig | None = None

    @property
    def name(self) -> str:
        """Variant and seed."""
        return f"{self.variant.name}-{self.seed}"

    @property
    def kind(self) -> str:
        """The variant."""
        return self.variant.name

    @property
    def depends_on(self) -> tuple[object, ...]:
        """All but the title."""
        training = change_settings(self.variant.training, seed=self.seed)
        variant = dataclasses.replace(self.variant, title="", training=training)
        return variant, [weights_name(name) for name in self.teachers], self.teacher_network


def weights_name(run: str) -> str:
    """Return the file of the weights of a run in the folder `runs`."""
    return f"{run}.weights.npz"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class VariantTrainer:
    """Trains the runs of an ablation, perhaps in several processes.

    The folder is that of the study and contains `epochs` and `runs`. The corpora are scored.
    """

    folder: Path
    vectors: WordVectors = field(repr=False)
    corpora: tuple[AnalysedCorpus, ...] = field(repr=False)

    def __call__(self, run: AblationRun, say: Say) -> Record:
        """Train a run, score the corpora, and write scores and weights.

        Raises:
            ConfigurationError: Its teachers have other classes.
            StageError: Training failed.
            OutputError: A file cannot be written.
        """
        from inverse_deid.network.training import EpochReport, Watch
        from inverse_deid.training.run import model_parts

        start = time.perf_counter()
        config = run.variant.network
        training = change_settings(run.variant.training, seed=run.seed)
        network = new_network(config, self.vectors, run.seed)
        losses: list[float] = []
        speeds: list[float] = []

        def on_epoch(report: EpochReport) -> None:
            losses.append(report.loss)
            speeds.append(report.n_tokens / max(report.seconds, 1e-9))
            say(
                f"{run.name}: epoch {report.epoch}/{training.epochs}, loss {report.loss:.4f}, "
                f"{speeds[-1]:.0f} tokens/s"
            )

        fit_network(network, config, training, self._epochs(run), Watch(on_epoch=on_epoch))
        parts = model_parts(network, config, self.vectors)
        scores, weights = f"{run.name}.npz", weights_name(run.name)
        runs = self.folder / "runs"
        write_scores(runs / scores, {corpus.name: score_corpus(parts, corpus) for corpus in self.corpora})
        write_arrays(runs / weights, weights_of(network))
        return {
            "loss": losses[-1],
            "losses": losses,
            "tokens_per_second": float(np.median(speeds)),
            "seconds": time.perf_counter() - start,
            "network": as_plain_values(config),
            "training": as_plain_values(training),
            "files": [scores, weights],
        }

    def _epochs(self, run: AblationRun) -> Epochs:
        """Return the epochs, with the mean opinion of teachers if there are some."""
        own = keep_last(functools.partial(read_epoch, self.folder / "epochs", run.variant))
        config, training = run.teacher_network, run.variant.training
        if config is None:
            return own
        if class_names(config.targets) != class_names(run.variant.network.targets):
            raise ConfigurationError(
                f"{run.name}: its classes differ from those of its teachers. Give both the same targets"
            )
        if run.variant.network.output == "crf":
            raise ConfigurationError(
                f"{run.name}: a CRF can learn from labels only. Remove its teachers, or use output softmax"
            )
        seen_variant = dataclasses.replace(run.variant, network=config)
        seen = keep_last(functools.partial(read_epoch, self.folder / "epochs", seen_variant))
        networks = [new_network(config, self.vectors) for _ in run.teachers]
        for network, name in zip(networks, run.teachers, strict=True):
            assign_weights(network, read_arrays(self.folder / "runs" / weights_name(name)))

        def teach(epoch: int) -> list[Example]:
            from inverse_deid.network.training import probabilities

            opinions = [probabilities(network, seen(epoch), config) for network in networks]
            taught = []
            for i, example in enumerate(own(epoch)):
                doubtful = example.weights == 0
                share = np.where(doubtful, 1.0, training.teacher_weight)[:, None]
                opinion = np.mean([rows[i] for rows in opinions], axis=0) * share
                weights = np.where(doubtful, training.weak_weight, example.weights).astype(np.float32)
                taught.append(
                    dataclasses.replace(example, weights=weights, opinion=opinion.astype(np.float16))
                )
            return taught

        return keep_last(teach)
