"""Train one variant with one seed on stored epochs, and keep what it says of every corpus.

::

    runs/NAME-SEED.npz          scores of every corpus
    runs/NAME-SEED.weights.npz  what a student learns from
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from inverse_deid.core.errors import ConfigurationError
from inverse_deid.masking.scorers import feature_names
from inverse_deid.network.batches import Example
from inverse_deid.network.config import NetworkConfig, class_names
from inverse_deid.network.encoding import WordVectors
from inverse_deid.research.ablations.epochs import EpochStore, EpochView, StoredEpochs
from inverse_deid.research.ablations.variants import Variant
from inverse_deid.research.studies.records import Record, read_arrays, write_arrays
from inverse_deid.research.studies.scoring import (
    AnalysedCorpus,
    assign_weights,
    score_corpus,
    trained_weights,
    write_scores,
)
from inverse_deid.research.studies.study import Say
from inverse_deid.rules.words import DICTIONARY_FEATURE_NAMES


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class AblationRun:
    """A variant with a seed.

    Args:
        variant: What to train.
        seed: Of network and batches.
        teachers: Names of the runs whose networks teach this one.
        teacher_network: Their shape.
    """

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
        training = dataclasses.replace(self.variant.training, seed=self.seed)
        variant = dataclasses.replace(self.variant, title="", training=training)
        return variant, [weights_name(name) for name in self.teachers], self.teacher_network


def weights_name(run: str) -> str:
    """Return the file of the weights of a run in the folder `runs`."""
    return f"{run}.weights.npz"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class VariantTrainer:
    """Trains the runs of an ablation, perhaps in several processes.

    Args:
        folder: Of the study; contains `epochs` and `runs`.
        vectors: The vocabulary.
        corpora: What is scored.
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
        import keras

        from inverse_deid.network.network import build_network
        from inverse_deid.network.training import EpochReport, Watch, fit
        from inverse_deid.training.run import model_parts

        start = time.perf_counter()
        variant = run.variant
        training = dataclasses.replace(variant.training, seed=run.seed)
        keras.utils.clear_session()
        keras.utils.set_random_seed(run.seed)
        names = feature_names(variant.network.feature_set)
        network = build_network(variant.network, len(names), self.vectors.matrix())
        columns = [i for i, name in enumerate(names) if name in DICTIONARY_FEATURE_NAMES]
        losses: list[float] = []
        speeds: list[float] = []

        def on_epoch(report: EpochReport) -> None:
            losses.append(report.loss)
            speeds.append(report.n_tokens / max(report.seconds, 1e-9))
            say(
                f"{run.name}: epoch {report.epoch}/{training.epochs}, loss {report.loss:.4f}, "
                f"{speeds[-1]:.0f} tokens/s"
            )

        epochs = self._epochs(run)
        fit(network, epochs, training, dictionary_columns=columns, watch=Watch(on_epoch=on_epoch))
        parts = model_parts(network, variant.network, self.vectors)
        scores, weights = f"{run.name}.npz", weights_name(run.name)
        runs = self.folder / "runs"
        write_scores(runs / scores, {corpus.name: score_corpus(parts, corpus) for corpus in self.corpora})
        write_arrays(runs / weights, trained_weights(network))
        return {
            "loss": losses[-1],
            "losses": losses,
            "tokens_per_second": float(np.median(speeds)),
            "seconds": time.perf_counter() - start,
            "network": dataclasses.asdict(variant.network),
            "training": dataclasses.asdict(training),
            "files": [scores, weights],
        }

    def _epochs(self, run: AblationRun) -> Callable[[int], Sequence[Example]]:
        store = EpochStore(self.folder / "epochs")
        variant = run.variant
        view = EpochView(network=variant.network, training=variant.training, leave_out=variant.leave_out)
        if run.teacher_network is None:
            return StoredEpochs(store, view)
        weights = [self.folder / "runs" / weights_name(name) for name in run.teachers]
        return _TaughtEpochs(run, weights, self.vectors, store, view)


class _TaughtEpochs:
    """The epochs with the mean opinion of teachers."""

    def __init__(
        self,
        run: AblationRun,
        weights: Sequence[Path],
        vectors: WordVectors,
        store: EpochStore,
        view: EpochView,
    ) -> None:
        from inverse_deid.network.network import build_network

        config = run.teacher_network
        if config is None or class_names(config.targets) != class_names(view.network.targets):
            raise ConfigurationError(
                f"{run.name}: its classes differ from those of its teachers. Give both the same targets"
            )
        if view.network.output == "crf":
            raise ConfigurationError(
                f"{run.name}: a CRF can learn from labels only. Remove its teachers, or use output softmax"
            )
        self._config, self._training = config, view.training
        self._epochs = StoredEpochs(store, view)
        self._seen = StoredEpochs(store, dataclasses.replace(view, network=config))
        self._networks = []
        for path in weights:
            network = build_network(config, len(feature_names(config.feature_set)), vectors.matrix())
            assign_weights(network, read_arrays(path))
            self._networks.append(network)
        self._last: tuple[int, Sequence[Example]] = (-1, ())

    def __call__(self, epoch: int) -> Sequence[Example]:
        if self._last[0] != epoch:
            self._last = (epoch, list(self._teach(epoch)))
        return self._last[1]

    def _teach(self, epoch: int) -> Iterator[Example]:
        from inverse_deid.network.training import probabilities

        seen = self._seen(epoch)
        opinions = [probabilities(network, seen, self._config) for network in self._networks]
        for i, example in enumerate(self._epochs(epoch)):
            doubtful = example.weights == 0
            share = np.where(doubtful, 1.0, self._training.teacher_weight)[:, None]
            opinion = np.mean([rows[i] for rows in opinions], axis=0) * share
            weights = np.where(doubtful, self._training.weak_weight, example.weights).astype(np.float32)
            yield dataclasses.replace(example, weights=weights, opinion=opinion.astype(np.float16))
