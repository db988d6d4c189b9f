"""Both ways of training the representation against the adversaries: three phases, gradient reversal.

Source: Friedrich et al. 2019, section 5.4 and figure 3 (three phases after Feutry et al.
2018, gradient reversal after Ganin et al. 2016).
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from inverse_deid.core.values import FloatArray
from inverse_deid.research.representations.batches import VectorSentence, batches, with_vectors
from inverse_deid.research.representations.config import LearningConfig, SharingConfig
from inverse_deid.research.representations.losses import Losses, Networks, build_networks
from inverse_deid.research.representations.neighbours import Neighbours, phi_neighbours
from inverse_deid.research.representations.pairs import Pair, movable_sentences, pair_batches, pairs
from inverse_deid.research.representations.representer import noise_held
from inverse_deid.research.representations.sentences import Sentence
from inverse_deid.research.representations.steps import (
    EpochRecord,
    Say,
    compiled,
    epoch_loss,
    run_phase,
    tensors,
    training_step,
)

PRE_TRAINING, PRE_TRAINING_ADVERSARY, ALTERNATING, REVERSAL = (
    "pre-training",
    "pre-training of the adversary",
    "alternating",
    "reversal",
)


@dataclass(frozen=True, slots=True, eq=False)
class Material:
    """The sentences that a representation is trained on.

    Args:
        train: Sentences of the training documents.
        validation: Sentences of other documents.
        matrix: float32 (n_words + 1, word_dim), row 0 is zero.
        table: Neighbours of the PHI tokens of both.
    """

    train: Sequence[Sentence] = field(repr=False)
    validation: Sequence[Sentence] = field(repr=False)
    matrix: FloatArray = field(repr=False)
    table: Neighbours = field(repr=False)


def material(
    train: Sequence[Sentence], validation: Sequence[Sentence], matrix: FloatArray, n_neighbours: int
) -> Material:
    """Look the neighbours up.

    Raises:
        ConfigurationError: There are fewer words than neighbours asked for.
    """
    return Material(train, validation, matrix, phi_neighbours(matrix, [*train, *validation], n_neighbours))


def new_networks(config: SharingConfig, word_dim: int) -> Networks:
    """Untrained networks, whose first weights the seed decides."""
    keras.utils.set_random_seed(config.learning.seed)
    return build_networks(config, word_dim)


def train_representation(
    networks: Networks, given: Material, config: SharingConfig, say: Say
) -> list[EpochRecord]:
    """Train representation, de-identification network and adversary, in place.

    Args:
        networks: From `new_networks`; they end with the weights of the best epoch.
        given: Sentences and neighbours.
        config: Networks, procedure, rates, seed.
        say: Gets a line after each epoch; numbers only.

    Returns:
        What each epoch did.

    Raises:
        ConfigurationError: No PHI token can be moved.
        StageError: The loss is not a number.
    """
    alone = pre_train(networks, given, config, say) if is_pre_trained(config) else []
    return [*alone, *train_against_adversaries(networks, given, config, say)]


def is_pre_trained(config: SharingConfig) -> bool:
    """Whether the procedure begins with the task alone."""
    return config.representation.procedure == "three-phase"


def pre_train(networks: Networks, given: Material, config: SharingConfig, say: Say) -> list[EpochRecord]:
    """The first of three phases, as `train_representation`; the neighbours play no part in it."""
    return _Training(networks, given, config, say).pre_training()


def train_against_adversaries(
    networks: Networks, given: Material, config: SharingConfig, say: Say
) -> list[EpochRecord]:
    """The other phases, or all at once with a reversed gradient; as `train_representation`."""
    training = _Training(networks, given, config, say)
    if not is_pre_trained(config):
        return training.reversal()
    return [*training.pre_training_adversary(), *training.alternating()]


class _Training:
    """One training of the networks, from a random state that the seed alone decides."""

    def __init__(self, networks: Networks, given: Material, config: SharingConfig, say: Say) -> None:
        keras.utils.set_random_seed(config.learning.seed)
        self._networks, self._given, self._say = networks, given, say
        self._config, self._adversary_config = config.learning, config.adversary
        self._losses = Losses(networks, config.representation.privacy_weight)
        self._task_loss = compiled(lambda batch: self._losses.task(batch, training=False))
        self._answers = compiled(self._losses.answers)
        self._rng = np.random.default_rng(config.learning.seed)
        self._sentences = with_vectors(given.train, given.matrix)
        self._movable = movable_sentences(given.train)
        held_out = with_vectors(given.validation, given.matrix)
        rng = np.random.default_rng([config.learning.seed, 1])  # the first phase is the same for every N
        held_out_pairs = pairs(movable_sentences(given.validation), given.table, rng)
        self._held_out = list(self._batches(held_out, shuffle=False))
        self._held_out_pairs = list(self._pair_batches(held_out_pairs))

    def pre_training(self) -> list[EpochRecord]:
        """Phase 1: representation and de-identification network, for the task alone.

        The noise stays as it is: the task alone would take it away, and with it what hides names.
        """
        networks = [self._networks.representer, self._networks.tagger]
        with noise_held(self._networks.representer):
            step = self._step(lambda batch: self._losses.task(batch, training=True), networks)
            return self._run(
                PRE_TRAINING,
                lambda _: epoch_loss(step, ((batch,) for batch in self._batches(self._sentences))),
                lambda: (self._task(), None),
                networks,
            )

    def pre_training_adversary(self) -> list[EpochRecord]:
        """Phase 2: the adversary, on the frozen representation, with epochs and patience of its own."""
        step = self._step(self._losses.adversary, [self._networks.adversary])
        own = self._adversary_config
        return self._run(
            PRE_TRAINING_ADVERSARY,
            lambda _: epoch_loss(step, ((batch,) for batch in self._fresh_pairs())),
            self._adversary,
            [self._networks.adversary],
            dataclasses.replace(self._config, epochs=own.epochs, patience=own.patience),
        )

    def alternating(self) -> list[EpochRecord]:
        """Phase 3, in rounds: an epoch of the representation, then task and adversary catch up with it.

        A round is judged when they have: an adversary that was deceived a moment ago is at chance
        whatever the representation. It has some passes more than the task, to be worth deceiving.
        """
        networks, losses = self._networks, self._losses
        both = self._step(
            lambda batch, pairs: losses.task(batch, training=True) + losses.adversary(pairs),
            [networks.tagger, networks.adversary],
        )
        alone = self._step(losses.adversary, [networks.adversary])
        representation = self._step(
            lambda batch, pairs: losses.representation(batch, pairs, training=True), [networks.representer]
        )

        def train(_: int) -> float:
            moved = epoch_loss(representation, self._joined())
            epoch_loss(both, self._joined())
            for _ in range(self._adversary_config.passes - 1):
                epoch_loss(alone, ((batch,) for batch in self._fresh_pairs()))
            return moved

        return self._run(ALTERNATING, train, self._combined, self._all())

    def reversal(self) -> list[EpochRecord]:
        """All three at once: the sum of the losses, the adversary's gradient reversed."""
        losses = self._losses
        step = self._step(
            lambda batch, pairs: losses.task(batch, training=True) + losses.adversary(pairs, reverse=True),
            self._all(),
        )
        return self._run(REVERSAL, lambda _: epoch_loss(step, self._joined()), self._combined, self._all())

    def _all(self) -> list[keras.Model]:
        return [self._networks.representer, self._networks.tagger, self._networks.adversary]

    def _step(self, loss: Callable[..., Any], networks: Sequence[keras.Model]) -> Callable[..., float]:
        return training_step(loss, networks, self._config)

    def _batches(
        self, sentences: Sequence[VectorSentence], *, shuffle: bool = True
    ) -> Iterator[dict[str, Any]]:
        return map(tensors, batches(sentences, self._config.batch, self._rng if shuffle else None))

    def _pair_batches(
        self, given: Sequence[Pair], rng: np.random.Generator | None = None
    ) -> Iterator[dict[str, Any]]:
        return map(tensors, pair_batches(given, self._given.matrix, self._config.batch, rng))

    def _fresh_pairs(self) -> Iterator[dict[str, Any]]:
        """Yield pairs of all sentences that allow it, drawn again each time."""
        return self._pair_batches(pairs(self._movable, self._given.table, self._rng), self._rng)

    def _joined(self) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
        """Batches of sentences beside batches of pairs, until both have been seen once."""
        of_sentences, of_pairs = list(self._batches(self._sentences)), list(self._fresh_pairs())
        n_steps = max(len(of_sentences), len(of_pairs))
        return itertools.islice(
            zip(itertools.cycle(of_sentences), itertools.cycle(of_pairs), strict=False), n_steps
        )

    def _task(self) -> float:
        return float(np.mean([float(self._task_loss(batch)) for batch in self._held_out]))

    def _adversary(self) -> tuple[float, float]:
        """Its loss and its accuracy on the validation pairs."""
        answers = np.concatenate([np.asarray(self._answers(batch)) for batch in self._held_out_pairs])
        same = np.concatenate([np.asarray(batch["same"]) for batch in self._held_out_pairs])
        loss = float(tf.reduce_mean(keras.losses.binary_crossentropy(same[:, None], answers[:, None])))
        return loss, float(((answers > 0.5) == (same > 0.5)).mean())

    def _combined(self) -> tuple[float, float]:
        adversary, accuracy = self._adversary()
        return float(self._losses.combined(self._task(), adversary)), accuracy

    def _run(
        self,
        phase: str,
        train: Callable[[int], float],
        validate: Callable[[], tuple[float, float | None]],
        networks: Sequence[keras.Model],
        config: LearningConfig | None = None,
    ) -> list[EpochRecord]:
        def record(epoch: int, loss: float, validation: float, accuracy: float | None) -> EpochRecord:
            shown = "" if accuracy is None else f", adversary right in {100 * accuracy:.1f} %"
            self._say(f"{phase} {epoch}: loss {loss:.4f}, held out {validation:.4f}{shown}")
            return EpochRecord(phase, epoch, loss, validation, accuracy)

        return run_phase(train, validate, networks, config or self._config, record)
