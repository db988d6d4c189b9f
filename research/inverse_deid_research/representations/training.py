"""Training: of the de-identification network alone, and of the representation against the adversaries.

The adversaries see real and fake pairs: the same sentence, or one with one PHI token moved. Of a
sentence and its moved twin, either is on either side equally often, in real pairs as in fake ones. So
one side alone says nothing of the answer: an adversary that only notices odd words stays at chance, and
what it gains it gains from the representation.

Source: Friedrich et al. 2019, sections 3, 5.3 and 5.4 and figure 3 (three phases after Feutry et al.
2018, gradient reversal after Ganin et al. 2016).
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from inverse_deid.core.errors import ConfigurationError, StageError
from inverse_deid.core.settings import change_settings
from inverse_deid.core.values import FloatArray
from inverse_deid_research.representations.config import LearningConfig, SharingConfig, TaggerConfig
from inverse_deid_research.representations.networks import (
    Losses,
    Networks,
    TaggerLoss,
    build_tagger,
    hold_noise,
    representation_loss,
)
from inverse_deid_research.representations.pseudonyms import Neighbours
from inverse_deid_research.representations.sentences import (
    Sentence,
    SentenceBatch,
    VectorSentence,
    batch_numbers,
    batches,
    pad_rows,
    with_vectors,
)
from inverse_deid_research.studies.study import Say

Tensors = dict[str, Any]
PRE_TRAINING, PRE_TRAINING_ADVERSARY, ALTERNATING, REVERSAL = (
    "pre-training",
    "pre-training of the adversary",
    "alternating",
    "reversal",
)


@dataclass(frozen=True, slots=True, eq=False)
class Pair:
    """Two sentences of one length."""

    first: Sentence = field(repr=False)  # what the representation under attack is made of
    second: Sentence = field(repr=False)  # what it is compared with: its words, and their representation
    same: bool  # whether they are the same sentence
    moved: int  # place of the token that differs between a sentence and its twin


def movable_sentences(sentences: Sequence[Sentence]) -> list[Sentence]:
    """Return the sentences that have a PHI token with neighbours.

    Raises:
        ConfigurationError: There is none.
    """
    found = [sentence for sentence in sentences if sentence.movable.any()]
    if not found:
        raise ConfigurationError(
            "no identifier in the documents has a word vector, so none can be moved. "
            "Use word vectors that include names and places"
        )
    return found


def move_token(sentence: Sentence, table: Neighbours, rng: np.random.Generator) -> tuple[Sentence, int]:
    """Move a PHI token to a neighbour other than itself; return the sentence and the token's place."""
    place = int(rng.choice(np.flatnonzero(sentence.movable)))
    nearest = table.of(sentence.rows[place : place + 1])[0]
    rows = sentence.rows.copy()
    rows[place] = nearest[rng.integers(1, table.n)]
    return dataclasses.replace(sentence, rows=rows), place


def draw_pairs(sentences: Sequence[Sentence], table: Neighbours, rng: np.random.Generator) -> list[Pair]:
    """Draw a real and a fake pair of every sentence of `movable_sentences`; N is at least 2."""
    made = []
    for sentence in sentences:
        moved, place = move_token(sentence, table, rng)
        sides = [sentence, moved]
        real, fake = int(rng.integers(2)), int(rng.integers(2))
        made.append(Pair(sides[real], sides[real], same=True, moved=place))
        made.append(Pair(sides[fake], sides[1 - fake], same=False, moved=place))
    return made


def pair_batches(
    given: Sequence[Pair], matrix: FloatArray, size: int, rng: np.random.Generator | None = None
) -> Iterator[Tensors]:
    """Yield all pairs once, in batches of `size`; word vectors are looked up in `matrix`.

    Returns:
        Word vectors `first` and `second` float32 (batch, time, word_dim), `valid` bool (batch, time),
        and `same` float32 (batch,), 1 = the same sentence.
    """
    for numbers in batch_numbers([len(pair.first) for pair in given], size, rng):
        chosen = [given[i] for i in numbers]
        lengths = np.array([len(pair.first) for pair in chosen])
        longest = int(lengths.max())
        arrays = {
            "first": pad_rows([matrix[pair.first.rows] for pair in chosen], longest, np.float32),
            "second": pad_rows([matrix[pair.second.rows] for pair in chosen], longest, np.float32),
            "valid": np.arange(longest) < lengths[:, None],
            "same": np.array([pair.same for pair in chosen], np.float32),
        }
        yield {name: tf.convert_to_tensor(array) for name, array in arrays.items()}


@dataclass(frozen=True, slots=True)
class EpochRecord:
    """An epoch of a phase, counted from 1 in each."""

    phase: str  # what was trained
    epoch: int  # its number
    loss: float  # mean training loss of a batch
    validation: float  # validation loss, which decides when to stop
    # Of the adversary on the validation pairs; None where it plays no part.
    adversary_accuracy: float | None = None


def tensors(batch: SentenceBatch) -> Tensors:
    return {name: tf.convert_to_tensor(getattr(batch, name)) for name in batch.__slots__}


def training_step(
    loss: Callable[..., Any], trained: Sequence[keras.Model], config: LearningConfig
) -> Callable[..., float]:
    """Compile a step of Nadam; networks that are not named are frozen, whatever the loss reads.

    `loss` returns a scalar for dictionaries of tensors. Each network has its own state and norm.
    """
    optimizers = [
        keras.optimizers.Nadam(config.learning_rate, global_clipnorm=config.clip_norm) for _ in trained
    ]
    for network, optimizer in zip(trained, optimizers, strict=True):
        optimizer.build(network.trainable_variables)

    def step(*given: Tensors) -> Any:  # noqa: ANN401 - a scalar tensor
        with tf.GradientTape() as tape:
            value = loss(*given)
        gradients = tape.gradient(value, [network.trainable_variables for network in trained])
        for network, optimizer, gradient in zip(trained, optimizers, gradients, strict=True):
            optimizer.apply_gradients(zip(gradient, network.trainable_variables, strict=True))
        return value

    run = compile_function(step)
    return lambda *given: float(run(*given))


def compile_function(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile a function of dictionaries of tensors once, at its first call.

    The first two axes of each tensor, batch and length, may change.
    """
    made: list[Callable[..., Any]] = []

    def specify(tensor: Any) -> tf.TensorSpec:  # noqa: ANN401 - a tensor
        n_free = min(2, len(tensor.shape))
        return tf.TensorSpec([None] * n_free + list(tensor.shape[n_free:]), tensor.dtype)

    def run(*given: Tensors) -> Any:  # noqa: ANN401 - a tensor
        if not made:
            signature = [{name: specify(tensor) for name, tensor in one.items()} for one in given]
            made.append(tf.function(function, input_signature=signature, autograph=False))
        return made[0](*given)

    return run


def epoch_loss(step: Callable[..., float], given: Iterable[Tensors | tuple[Tensors, ...]]) -> float:
    """Return the mean loss of a step over an epoch of batches, or of tuples of them.

    Raises:
        StageError: It is not a number.
    """
    losses = [step(*batch) if isinstance(batch, tuple) else step(batch) for batch in given]
    loss = float(np.mean(losses))
    if not np.isfinite(loss):
        raise StageError("the loss is not a number. Lower learning.learning_rate")
    return loss


class EarlyStopping:
    """Keeps the weights of the best epoch and says when no better one is to be expected.

    `patience` is the number of epochs without a lower validation loss.
    """

    def __init__(self, networks: Sequence[keras.Model], patience: int) -> None:
        self._networks, self._patience = networks, patience
        self._best, self._n_stale = np.inf, 0
        self._weights = self._copy_weights()

    def _copy_weights(self) -> list[list[FloatArray]]:
        return [[np.array(weight) for weight in network.get_weights()] for network in self._networks]

    def is_over(self, validation: float) -> bool:
        if validation < self._best:
            self._best, self._n_stale, self._weights = validation, 0, self._copy_weights()
        else:
            self._n_stale += 1
        return self._n_stale >= self._patience

    def restore(self) -> None:
        for network, weights in zip(self._networks, self._weights, strict=True):
            network.set_weights(weights)


def run_phase(
    train: Callable[[], float],
    validate: Callable[[], tuple[float, float | None]],
    networks: Sequence[keras.Model],
    config: LearningConfig,
    record: Callable[[int, float, float, float | None], EpochRecord],
) -> list[EpochRecord]:
    """Train epoch by epoch until validation gains no more, and end with the best weights.

    Args:
        train: Trains an epoch and returns its mean loss.
        validate: Returns the validation loss and the accuracy of the adversary, if it plays a part.
        networks: What `train` changes.
        config: Epochs and patience.
        record: Makes the record of an epoch from its number, both losses and the accuracy.
    """
    stopping, records = EarlyStopping(networks, config.patience), []
    for epoch in range(1, config.epochs + 1):
        records.append(record(epoch, train(), *validate()))
        if stopping.is_over(records[-1].validation):
            break
    stopping.restore()
    return records


def train_tagger(
    sentences: Sequence[VectorSentence],
    held_out: Sequence[VectorSentence],
    tagger_config: TaggerConfig,
    config: LearningConfig,
    say: Say,
) -> tuple[keras.Model, list[EpochRecord]]:
    """Train a new network on word vectors, or on private ones, until the held-out loss falls no more.

    Returns:
        The network with the weights of its best epoch, and what each epoch did.

    Raises:
        StageError: The loss is not a number.
    """
    keras.utils.set_random_seed(config.seed)
    rng = np.random.default_rng(config.seed)
    tagger = build_tagger(tagger_config, held_out[0].vectors.shape[1])
    loss = TaggerLoss(tagger)
    step = training_step(lambda batch: loss(batch["vectors"], batch, training=True), [tagger], config)
    held_out_loss = compile_function(lambda batch: loss(batch["vectors"], batch, training=False))
    fixed = [tensors(batch) for batch in batches(held_out, config.batch)]

    def train() -> float:
        return epoch_loss(step, map(tensors, batches(sentences, config.batch, rng)))

    def validate() -> tuple[float, None]:
        return float(np.mean([float(held_out_loss(batch)) for batch in fixed])), None

    def record(epoch: int, value: float, validation: float, _: float | None) -> EpochRecord:
        say(f"epoch {epoch}: loss {value:.4f}, held out {validation:.4f}")
        return EpochRecord("network", epoch, value, validation)

    return tagger, run_phase(train, validate, [tagger], config, record)


@dataclass(frozen=True, slots=True, eq=False)
class Material:
    """The sentences that a representation is trained on."""

    train: Sequence[Sentence] = field(repr=False)  # sentences of the training documents
    validation: Sequence[Sentence] = field(repr=False)  # sentences of other documents
    matrix: FloatArray = field(repr=False)  # float32 (n_words + 1, word_dim), row 0 is zero
    table: Neighbours = field(repr=False)  # neighbours of the PHI tokens of both


def train_representation(
    networks: Networks, given: Material, config: SharingConfig, say: Say
) -> list[EpochRecord]:
    """Train the networks of `build_networks` in place; they end with the weights of the best epoch.

    `say` receives a line after each epoch; numbers only.

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
    """Do the first of three phases, as `train_representation`; the neighbours play no part in it."""
    return PhaseTraining(networks, given, config, say).pre_train()


def train_against_adversaries(
    networks: Networks, given: Material, config: SharingConfig, say: Say
) -> list[EpochRecord]:
    """Do the other phases, or all at once with a reversed gradient, as `train_representation`."""
    training = PhaseTraining(networks, given, config, say)
    if not is_pre_trained(config):
        return training.reverse()
    return [*training.pre_train_adversary(), *training.alternate()]


class PhaseTraining:
    """One training of the networks, from a random state that the seed alone decides."""

    def __init__(self, networks: Networks, given: Material, config: SharingConfig, say: Say) -> None:
        keras.utils.set_random_seed(config.learning.seed)
        self._networks, self._given, self._say = networks, given, say
        self._config, self._adversary_config = config.learning, config.adversary
        part = config.representation
        self._holds_noise, self._n_alone = part.hold_noise, part.pre_training
        self._losses = Losses(networks, part.privacy_weight)
        self._task_loss = compile_function(lambda batch: self._losses.task(batch, training=False))
        self._answers = compile_function(self._losses.answers)
        self._rng = np.random.default_rng(config.learning.seed)
        self._sentences = with_vectors(given.train, given.matrix)
        self._movable = movable_sentences(given.train)
        held_out = with_vectors(given.validation, given.matrix)
        rng = np.random.default_rng([config.learning.seed, 1])  # the first phase is the same for every N
        pairs = draw_pairs(movable_sentences(given.validation), given.table, rng)
        size = self._config.batch
        self._held_out = [tensors(batch) for batch in batches(held_out, size)]
        self._held_out_pairs = list(pair_batches(pairs, given.matrix, size))

    def pre_train(self) -> list[EpochRecord]:
        """Phase 1: train representation and de-identification network for the task alone.

        With `hold_noise` the noise stays as it is: the task alone takes it away.
        """
        networks = [self._networks.representer, self._networks.tagger]
        with hold_noise(self._networks.representer) if self._holds_noise else nullcontext():
            step = self._make_step(lambda batch: self._losses.task(batch, training=True), networks)
            return self._run(
                PRE_TRAINING,
                lambda: epoch_loss(step, self._draw_batches()),
                lambda: (self._validate_task(), None),
                networks,
                change_settings(self._config, epochs=self._n_alone),
            )

    def pre_train_adversary(self) -> list[EpochRecord]:
        """Phase 2: train the adversary on the frozen representation, with its own epochs and patience."""
        step = self._make_step(self._losses.adversary, [self._networks.adversary])
        own = self._adversary_config
        return self._run(
            PRE_TRAINING_ADVERSARY,
            lambda: epoch_loss(step, self._draw_pairs()),
            self._validate_adversary,
            [self._networks.adversary],
            change_settings(self._config, epochs=own.epochs, patience=own.patience),
        )

    def alternate(self) -> list[EpochRecord]:
        """Phase 3, in rounds: an epoch of the representation, then task and adversary catch up with it.

        A round is judged when they have: an adversary that was deceived a moment ago is at chance
        whatever the representation. It has some passes more than the task, to be worth deceiving.
        """
        networks, losses = self._networks, self._losses
        both = self._make_step(
            lambda batch, pairs: losses.task(batch, training=True) + losses.adversary(pairs),
            [networks.tagger, networks.adversary],
        )
        alone = self._make_step(losses.adversary, [networks.adversary])
        representation = self._make_step(
            lambda batch, pairs: losses.representation(batch, pairs, training=True), [networks.representer]
        )

        def train() -> float:
            moved = epoch_loss(representation, self._join_batches())
            epoch_loss(both, self._join_batches())
            for _ in range(self._adversary_config.passes - 1):
                epoch_loss(alone, self._draw_pairs())
            return moved

        return self._run(ALTERNATING, train, self._validate_both, networks.all)

    def reverse(self) -> list[EpochRecord]:
        """Train all three at once: the sum of the losses, the adversary's gradient reversed."""
        losses, networks = self._losses, self._networks.all
        step = self._make_step(
            lambda batch, pairs: losses.task(batch, training=True) + losses.adversary(pairs, reverse=True),
            networks,
        )
        return self._run(
            REVERSAL, lambda: epoch_loss(step, self._join_batches()), self._validate_both, networks
        )

    def _make_step(self, loss: Callable[..., Any], networks: Sequence[keras.Model]) -> Callable[..., float]:
        return training_step(loss, networks, self._config)

    def _draw_batches(self) -> Iterator[Tensors]:
        return map(tensors, batches(self._sentences, self._config.batch, self._rng))

    def _draw_pairs(self) -> Iterator[Tensors]:
        pairs = draw_pairs(self._movable, self._given.table, self._rng)
        return pair_batches(pairs, self._given.matrix, self._config.batch, self._rng)

    def _join_batches(self) -> Iterator[tuple[Tensors, Tensors]]:
        of_sentences, of_pairs = list(self._draw_batches()), list(self._draw_pairs())
        n_steps = max(len(of_sentences), len(of_pairs))
        return itertools.islice(
            zip(itertools.cycle(of_sentences), itertools.cycle(of_pairs), strict=False), n_steps
        )

    def _validate_task(self) -> float:
        return float(np.mean([float(self._task_loss(batch)) for batch in self._held_out]))

    def _validate_adversary(self) -> tuple[float, float]:
        answers = np.concatenate([np.asarray(self._answers(batch)) for batch in self._held_out_pairs])
        same = np.concatenate([np.asarray(batch["same"]) for batch in self._held_out_pairs])
        loss = float(tf.reduce_mean(keras.losses.binary_crossentropy(same[:, None], answers[:, None])))
        return loss, float(((answers > 0.5) == (same > 0.5)).mean())

    def _validate_both(self) -> tuple[float, float]:
        adversary, accuracy = self._validate_adversary()
        loss = representation_loss(self._validate_task(), adversary, self._losses.privacy_weight)
        return float(loss), accuracy

    def _run(
        self,
        phase: str,
        train: Callable[[], float],
        validate: Callable[[], tuple[float, float | None]],
        networks: Sequence[keras.Model],
        config: LearningConfig | None = None,
    ) -> list[EpochRecord]:
        def record(epoch: int, loss: float, validation: float, accuracy: float | None) -> EpochRecord:
            shown = "" if accuracy is None else f", adversary right in {100 * accuracy:.1f} %"
            self._say(f"{phase} {epoch}: loss {loss:.4f}, held out {validation:.4f}{shown}")
            return EpochRecord(phase, epoch, loss, validation, accuracy)

        return run_phase(train, validate, networks, config or self._config, record)
