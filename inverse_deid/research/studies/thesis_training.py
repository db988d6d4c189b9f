"""Train a network as the thesis did and score it after every epoch.

::

    runs/NAME/epoch-N.npz          scores of every corpus after epoch N
    runs/NAME/epoch-N.weights.npz  to fine-tune from
    runs/NAME/checkpoint.npz       while it trains: where an interrupted run goes on
    runs/NAME/progress.json        losses and seconds so far
    runs/NAME/run.json             key, losses and seconds: written last
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from inverse_deid.core.settings import as_plain_values
from inverse_deid.core.values import Document
from inverse_deid.masking.scorers import feature_names
from inverse_deid.network.batches import Example
from inverse_deid.network.config import NetworkConfig, Targets, TrainingConfig
from inverse_deid.network.encoding import WordVectors
from inverse_deid.research.studies.analysed import (
    AnalysedCorpus,
    TokenScores,
    gold_classes,
    read_arrays,
    read_scores,
    score,
    write_arrays,
    write_scores,
)
from inverse_deid.research.studies.provenance import fingerprint, read_record, write_record
from inverse_deid.research.studies.variant_training import assign_weights, trained_weights
from inverse_deid.rules.words import DICTIONARY_FEATURE_NAMES
from inverse_deid.training.augmentation import EpochMaker, EpochRecipe

if TYPE_CHECKING:
    import keras

Say = Callable[[str], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class ThesisRun:
    """One training.

    Args:
        name: As `a-1`; that of its folder.
        network: The variant.
        training: With the run's seed and number of epochs.
        gold: Trained on.
        vectors: The vocabulary.
        corpora: Scored after each epoch; the first is the validation part.
        start: Weights to fine-tune from, None = random ones.
        key: Names the data.
    """

    name: str
    network: NetworkConfig
    training: TrainingConfig
    gold: Sequence[Document] = field(repr=False)
    vectors: WordVectors = field(repr=False)
    corpora: tuple[AnalysedCorpus, ...] = field(repr=False)
    start: Path | None = None
    key: str = ""

    @property
    def record_key(self) -> str:
        """Changes with everything that can change the run."""
        start = None if self.start is None else str(Path(*self.start.parts[-2:]))
        return fingerprint(self.key, self.network, self.training, start)


@dataclass(frozen=True, slots=True, eq=False)
class TrainedRun:
    """What a training left.

    Args:
        name: As `a-1`.
        targets: Classes of its network.
        epochs: Scores of every corpus by its name, after each epoch.
        weights: Files, one an epoch.
        losses: Of each epoch; None = not noted.
        seconds: Training and scoring.
    """

    name: str
    targets: Targets
    epochs: tuple[dict[str, TokenScores], ...] = field(repr=False)
    weights: tuple[Path, ...]
    losses: tuple[float | None, ...]
    seconds: float


def scores_path(folder: Path, name: str, epoch: int) -> Path:
    """Where the scores after an epoch (from 1) stand."""
    return folder / "runs" / name / f"epoch-{epoch}.npz"


def weights_path(folder: Path, name: str, epoch: int) -> Path:
    """Where the weights after an epoch (from 1) stand."""
    return folder / "runs" / name / f"epoch-{epoch}.weights.npz"


def trained(run: ThesisRun, folder: Path, say: Say) -> TrainedRun:
    """Train a run, or go on with it, or read it if it is done.

    Raises:
        ConfigurationError: A checkpoint or weights of another run.
        UnreadableInputError: A stored file is damaged.
        OutputError: A file cannot be written.
    """
    path = folder / "runs" / run.name / "run.json"
    record = read_record(path, run.record_key)
    numbers = range(1, run.training.epochs + 1)
    if record is None or not all(scores_path(folder, run.name, epoch).exists() for epoch in numbers):
        record = _train(run, folder, say)
        write_record(path, run.record_key, record)
    return TrainedRun(
        name=run.name,
        targets=run.network.targets,
        epochs=tuple(read_scores(scores_path(folder, run.name, epoch)) for epoch in numbers),
        weights=tuple(weights_path(folder, run.name, epoch) for epoch in numbers),
        losses=tuple(record["losses"]),
        seconds=float(record["seconds"]),
    )


def _train(run: ThesisRun, folder: Path, say: Say) -> dict[str, Any]:
    import keras

    from inverse_deid.network.checkpoints import Checkpoints
    from inverse_deid.network.network import build_network
    from inverse_deid.network.training import EpochReport, Watch, fit

    place = folder / "runs" / run.name
    keras.utils.clear_session()
    keras.utils.set_random_seed(run.training.seed)
    names = feature_names(run.network.feature_set)
    network = build_network(run.network, len(names), run.vectors.matrix())
    if run.start is not None:
        assign_weights(network, read_arrays(run.start))
    checkpoints = Checkpoints(place, run.record_key)
    state = checkpoints.read()
    keeper = _Keeper(run, folder, n_done=state.epoch if state else 0)

    def on_epoch(report: EpochReport) -> None:
        keeper.note(report.loss)
        say(
            f"{run.name}: epoch {report.epoch}/{run.training.epochs}, loss {report.loss:.4f}, "
            f"validation accuracy {report.gain or 0:.4f}"
        )

    watch = Watch(on_epoch=on_epoch, validate=keeper.after_epoch, checkpoints=checkpoints)
    columns = [i for i, name in enumerate(names) if name in DICTIONARY_FEATURE_NAMES]
    recipe = EpochRecipe(
        gold=run.gold, carriers=(), network=run.network, training=run.training, vectors=run.vectors
    )
    fit(network, _Epochs(recipe), run.training, dictionary_columns=columns, watch=watch)
    checkpoints.remove()
    return {
        "losses": keeper.losses,
        "seconds": keeper.seconds,
        "network": as_plain_values(run.network),
        "training": as_plain_values(run.training),
    }


class _Keeper:
    """Scores and keeps the network after every epoch, and notes losses and time for a run that goes on."""

    def __init__(self, run: ThesisRun, folder: Path, n_done: int) -> None:
        self._run, self._folder, self._epoch = run, folder, n_done
        self._path = folder / "runs" / run.name / "progress.json"
        noted = (read_record(self._path, run.record_key) or {}) if n_done else {}
        # A run that was killed right after saving an epoch has not noted its loss.
        self.losses: list[float | None] = [*noted.get("losses", []), *[None] * n_done][:n_done]
        self._before, self._start = float(noted.get("seconds", 0.0)), time.perf_counter()

    @property
    def seconds(self) -> float:
        """Of this run, interruptions left out."""
        return self._before + time.perf_counter() - self._start

    def after_epoch(self, network: keras.Model) -> float:
        """Score and keep; the accuracy on the validation part."""
        from inverse_deid.training.run import model_parts

        run = self._run
        parts = model_parts(network, run.network, run.vectors)
        found = {corpus.name: score(parts, corpus) for corpus in run.corpora}
        self._epoch += 1
        write_scores(scores_path(self._folder, run.name, self._epoch), found)
        write_arrays(weights_path(self._folder, run.name, self._epoch), trained_weights(network))
        return accuracy(run.corpora[0], found[run.corpora[0].name], run.network.targets)

    def note(self, loss: float) -> None:
        """Remember an epoch that is done and saved."""
        self.losses.append(loss)
        write_record(self._path, self._run.record_key, {"losses": self.losses, "seconds": self.seconds})


class _Epochs:
    """Makes the epochs in this process; the last one is kept."""

    def __init__(self, recipe: EpochRecipe) -> None:
        self._maker = EpochMaker(recipe)
        self._last: tuple[int, Sequence[Example]] = (-1, ())

    def __call__(self, epoch: int) -> Sequence[Example]:
        if self._last[0] != epoch:
            self._last = (epoch, self._maker.examples(epoch))
        return self._last[1]


def accuracy(corpus: AnalysedCorpus, scores: TokenScores, targets: Targets) -> float:
    """Share of the tokens whose most probable class is the right one, in [0, 1]; 0 of no token.

    Args:
        corpus: The gold.
        scores: Of its tokens.
        targets: The classes of the network.
    """
    right = gold_classes(corpus, targets) == scores.best
    return float(np.mean(right)) if len(right) else 0.0
