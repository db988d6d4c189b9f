"""Train a network as the thesis did, and score it after every epoch; train its rivals.

::

    runs/NAME/epoch-N.npz          scores of every corpus after epoch N
    runs/NAME/epoch-N.weights.npz  to fine-tune from
    runs/NAME/checkpoint.npz       during training, to resume it
    runs/NAME/progress.json        losses and seconds so far
    runs/NAME/safe.npz             of a rival: `p_safe` of every corpus
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from inverse_deid.core.settings import as_plain_values, change_settings
from inverse_deid.core.values import Document
from inverse_deid.network.batches import windows
from inverse_deid.network.config import NetworkConfig, Targets, TrainingConfig
from inverse_deid.network.encoding import WordVectors
from inverse_deid_research.comparison.learning_systems import ConditionalRandomField
from inverse_deid_research.comparison.systems import make_system
from inverse_deid_research.studies.records import (
    Arrays,
    Record,
    read_arrays,
    read_record,
    write_arrays,
    write_record,
)
from inverse_deid_research.studies.scoring import (
    AnalysedCorpus,
    TokenScores,
    read_opinion,
    read_scores,
    write_scores,
)
from inverse_deid_research.studies.study import Say
from inverse_deid_research.studies.training import (
    assign_weights,
    fit_network,
    new_network,
    on_epoch,
    weights_of,
)
from inverse_deid_research.thesis.published import encode_as_published, weigh_types

if TYPE_CHECKING:
    import keras


_SCORED_AT_ONCE = 512
"""Tokens of the pieces that longer documents are scored in."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ThesisRun:
    """One training, named as `a-1`; its corpora are scored after each epoch, the first for validation."""

    name: str
    network: NetworkConfig
    training: TrainingConfig
    gold: Sequence[Document] = field(repr=False)
    vectors: WordVectors = field(repr=False)
    corpora: tuple[AnalysedCorpus, ...] = field(repr=False)
    start: Path | None = None  # has the weights to fine-tune from, None = random ones

    @property
    def kind(self) -> str:
        return self.name[0]

    @property
    def depends_on(self) -> tuple[object, ...]:
        start = None if self.start is None else str(Path(*self.start.parts[-2:]))
        return self.network, self.training, start


def train_thesis_run(run: ThesisRun, place: Path, key: str, say: Say) -> Record:
    """Train a run, or resume it; score and keep the network after every epoch.

    Its files are in the folder `place`. The key identifies the run, so that no checkpoint of another one is
    resumed. The record has losses (None = unknown), seconds without interruptions, and settings.

    Raises:
        ConfigurationError: A checkpoint or weights of another run.
        UnreadableInputError: A stored file is damaged.
        OutputError: A file cannot be written.
    """
    from inverse_deid.network.checkpoints import Checkpoints
    from inverse_deid.network.training import RECALL, probabilities

    # The characters after a token are part of its own sequence, see `encode_as_published`.
    config = change_settings(run.network, post_space=False)
    network = new_network(config, run.vectors, run.training.seed)
    if run.start is not None:
        assign_weights(network, read_arrays(run.start))
    checkpoints = Checkpoints(place, key)
    state, progress = checkpoints.read(), place / "progress.json"
    n_done = state.epoch if state else 0
    noted = (read_record(progress, key) or {}) if n_done else {}
    # A run that was killed right after saving an epoch has not noted its loss.
    losses: list[float | None] = [*noted.get("losses", []), *[None] * n_done][:n_done]
    begun = time.perf_counter() - float(noted.get("seconds", 0.0))

    examples = weigh_types(encode_as_published(run.gold, run.network, run.vectors), run.network)
    pieces = {
        corpus.name: windows(
            encode_as_published(corpus.docs, run.network, run.vectors), _SCORED_AT_ONCE, None
        )
        for corpus in run.corpora
    }

    def keep_epoch(network: keras.Model) -> float:
        found = {
            name: read_opinion(np.concatenate(probabilities(network, of, config)), run.network.targets)
            for name, of in pieces.items()
        }
        epoch = len(losses) + 1
        write_scores(place / f"epoch-{epoch}.npz", found)
        write_arrays(weights_path(place, epoch), weights_of(network))
        return measure_accuracy(run.corpora[0], found[run.corpora[0].name], run.network.targets)

    def note_epoch(epoch: int, logs: Mapping[str, float]) -> None:
        losses.append(logs["loss"])
        write_record(progress, key, {"losses": losses, "seconds": time.perf_counter() - begun})
        say(
            f"{run.name}: epoch {epoch}/{run.training.epochs}, loss {logs['loss']:.4f}, "
            f"validation accuracy {logs[RECALL]:.4f}"
        )

    fit_network(
        network,
        config,
        run.training,
        lambda epoch: examples,
        validate=keep_epoch,
        checkpoints=checkpoints,
        callbacks=[on_epoch(note_epoch)],
    )
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
    """What a training left: the scores of every corpus by its name, and the loss, after each epoch."""

    name: str
    targets: Targets
    epochs: tuple[Mapping[str, TokenScores], ...] = field(repr=False)
    losses: tuple[float | None, ...]  # None = not noted
    epoch: int  # the one that counts, from 1

    @property
    def scores(self) -> Mapping[str, TokenScores]:
        """Of every corpus, after the epoch that counts."""
        return self.epochs[self.epoch - 1]


def read_thesis_run(
    run: ThesisRun,
    record: Record,
    place: Path,
    choose: Callable[[Sequence[Mapping[str, TokenScores]]], int],
) -> TrainedRun:
    """Read a finished run. `choose` returns the number of the epoch that counts, from 0.

    Raises:
        UnreadableInputError: A stored file is missing or damaged.
    """
    epochs = tuple(read_scores(place / f"epoch-{i + 1}.npz") for i in range(run.training.epochs))
    return TrainedRun(run.name, run.network.targets, epochs, tuple(record["losses"]), choose(epochs) + 1)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RivalRun:
    """A system of the comparison that learns from documents and masks corpora.

    Of a CRF the probability of *safe* is kept, of another system 1 for kept tokens and 0 for masked ones.
    """

    name: str
    system: str
    seed: int
    gold: Sequence[Document] = field(repr=False)
    corpora: tuple[AnalysedCorpus, ...] = field(repr=False)

    @property
    def kind(self) -> str:
        return self.system

    @property
    def depends_on(self) -> tuple[object, ...]:
        return self.name, self.system, self.seed


def train_rival(run: RivalRun, place: Path) -> Record:
    """Train a system, and keep `p_safe` of every corpus in the folder `place`.

    Raises:
        ConfigurationError: A package that the system needs is not installed.
        OutputError: A file cannot be written.
    """
    system = make_system(run.system)
    system.fit(run.gold, run.seed)
    found: Arrays = {}
    for corpus in run.corpora:
        if isinstance(system, ConditionalRandomField):
            of_docs = system.p_safe(corpus.docs)
        else:
            masked = [{start for start, _ in ranges} for ranges in system.masks(corpus.docs)]
            of_docs = [
                np.array([start not in starts for start in tokens.starts.tolist()], np.float64)
                for tokens, starts in zip(corpus.tokens, masked, strict=True)
            ]
        found[corpus.name] = np.concatenate([np.zeros(0), *of_docs]).astype(np.float32)
    write_arrays(place / "safe.npz", found)
    return {"files": [f"{run.name}/safe.npz"]}
