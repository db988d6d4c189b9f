"""Train a network as the thesis did, and score it after every epoch.

::

    runs/NAME/epoch-N.npz          scores of every corpus after epoch N
    runs/NAME/epoch-N.weights.npz  to fine-tune from
    runs/NAME/checkpoint.npz       during training, to resume it
    runs/NAME/progress.json        losses and seconds so far
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from inverse_deid.core.settings import as_plain_values
from inverse_deid.core.values import Document
from inverse_deid.network.config import NetworkConfig, Targets, TrainingConfig
from inverse_deid.network.encoding import WordVectors
from inverse_deid.research.studies.records import (
    Record,
    read_arrays,
    read_record,
    write_arrays,
    write_record,
)
from inverse_deid.research.studies.scoring import (
    AnalysedCorpus,
    TokenScores,
    read_scores,
    score_corpus,
    write_scores,
)
from inverse_deid.research.studies.study import Say
from inverse_deid.research.studies.training import (
    assign_weights,
    fit_network,
    keep_last,
    new_network,
    weights_of,
)
from inverse_deid.training.augmentation import EpochMaker, EpochRecipe

if TYPE_CHECKING:
    import keras


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ThesisRun:
    """One training, named as `a-1`, with its seed and number of epochs.

    The corpora are scored after each epoch; the first is the validation part. `start` has the weights to
    fine-tune from, None = random ones.
    """

    name: str
    network: NetworkConfig
    training: TrainingConfig
    gold: Sequence[Document] = field(repr=False)
    vectors: WordVectors = field(repr=False)
    corpora: tuple[AnalysedCorpus, ...] = field(repr=False)
    start: Path | None = None

    @property
    def kind(self) -> str:
        """The variant."""
        return self.name[0]

    @property
    def depends_on(self) -> tuple[object, ...]:
        """Network, training and first weights."""
        start = None if self.start is None else str(Path(*self.start.parts[-2:]))
        return self.network, self.training, start


def train_thesis_run(run: ThesisRun, place: Path, key: str, say: Say) -> Record:
    """Train a run, or resume it; score and keep the network after every epoch.

    Its files are in the folder `place`. The key identifies the run, so that no checkpoint of another one is
    resumed. `say` receives a line per epoch.

    Returns:
        Losses of the epochs (None = unknown), seconds without interruptions, and the settings.

    Raises:
        ConfigurationError: A checkpoint or weights of another run.
        UnreadableInputError: A stored file is damaged.
        OutputError: A file cannot be written.
    """
    from inverse_deid.network.checkpoints import Checkpoints
    from inverse_deid.network.training import EpochReport, Watch
    from inverse_deid.training.run import model_parts

    network = new_network(run.network, run.vectors, run.training.seed)
    if run.start is not None:
        assign_weights(network, read_arrays(run.start))
    checkpoints = Checkpoints(place, key)
    state, progress = checkpoints.read(), place / "progress.json"
    n_done = state.epoch if state else 0
    noted = (read_record(progress, key) or {}) if n_done else {}
    # A run that was killed right after saving an epoch has not noted its loss.
    losses: list[float | None] = [*noted.get("losses", []), *[None] * n_done][:n_done]
    begun = time.perf_counter() - float(noted.get("seconds", 0.0))

    def keep_epoch(network: keras.Model) -> float:
        """Return the accuracy on the validation part."""
        parts = model_parts(network, run.network, run.vectors)
        found = {corpus.name: score_corpus(parts, corpus) for corpus in run.corpora}
        epoch = len(losses) + 1
        write_scores(place / f"epoch-{epoch}.npz", found)
        write_arrays(weights_path(place, epoch), weights_of(network))
        return measure_accuracy(run.corpora[0], found[run.corpora[0].name], run.network.targets)

    def note_epoch(report: EpochReport) -> None:
        losses.append(report.loss)
        write_record(progress, key, {"losses": losses, "seconds": time.perf_counter() - begun})
        say(
            f"{run.name}: epoch {report.epoch}/{run.training.epochs}, loss {report.loss:.4f}, "
            f"validation accuracy {report.gain or 0:.4f}"
        )

    watch = Watch(on_epoch=note_epoch, validate=keep_epoch, checkpoints=checkpoints)
    recipe = EpochRecipe(
        gold=run.gold, carriers=(), network=run.network, training=run.training, vectors=run.vectors
    )
    fit_network(network, run.network, run.training, keep_last(EpochMaker(recipe).examples), watch)
    checkpoints.remove()
    return {
        "losses": losses,
        "seconds": time.perf_counter() - begun,
        "network": as_plain_values(run.network),
        "training": as_plain_values(run.training),
        "files": [f"{run.name}/epoch-{i + 1}.npz" for i in range(run.training.epochs)],
    }


def weights_path(place: Path, epoch: int) -> Path:
    """Return the file of the weights after an epoch, counted from 1."""
    return place / f"epoch-{epoch}.weights.npz"


def measure_accuracy(corpus: AnalysedCorpus, scores: TokenScores, targets: Targets) -> float:
    """Return the share of tokens whose most probable class is right, in [0, 1]; 0 without tokens."""
    right = corpus.gold_classes(targets) == scores.best
    return float(np.mean(right)) if len(right) else 0.0


@dataclass(frozen=True, slots=True, eq=False)
class TrainedRun:
    """What a training left.

    `epochs` has the scores of every corpus by its name after each epoch, `losses` those of each epoch (None
    = not noted). `epoch` is the one that counts, from 1.
    """

    name: str
    targets: Targets
    epochs: tuple[Mapping[str, TokenScores], ...] = field(repr=False)
    losses: tuple[float | None, ...]
    epoch: int

    @property
    def scores(self) -> Mapping[str, TokenScores]:
        """Of every corpus, after the epoch that counts."""
        return self.epochs[self.epoch - 1]


def read_thesis_run(run: ThesisRun, record: Record, place: Path) -> TrainedRun:
    """Read a finished run; the epoch of the highest validation accuracy counts, the first of equals.

    Raises:
        UnreadableInputError: A stored file is missing or damaged.
    """
    targets, validation = run.network.targets, run.corpora[0]
    epochs = tuple(read_scores(place / f"epoch-{i + 1}.npz") for i in range(run.training.epochs))
    found = [measure_accuracy(validation, scores[validation.name], targets) for scores in epochs]
    return TrainedRun(run.name, targets, epochs, tuple(record["losses"]), found.index(max(found)) + 1)
