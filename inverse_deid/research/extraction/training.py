"""Train an extractor: stochastic gradient descent on the CRF likelihood, the rate halved without gain."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from inverse_deid.core.errors import ConfigurationError, StageError
from inverse_deid.network.encoding import WordVectors
from inverse_deid.network.training import enough_memory
from inverse_deid.research.extraction.concepts import (
    CONCEPTS,
    PHI,
    ConceptDocument,
    Types,
    select_gold,
)
from inverse_deid.research.extraction.config import ExtractorConfig, ExtractorTraining
from inverse_deid.research.extraction.network import TaggerNetwork
from inverse_deid.research.extraction.passages import Embedder, Passage, pad_labels, pad_passages
from inverse_deid.research.extraction.scoring import count_concepts
from inverse_deid.research.extraction.tagger import Tagger, new_tagger
from inverse_deid.text.tokenizer import tokenize

_POOL = 16
"""Batches whose passages are sorted by length together, so that there is less padding."""


@dataclass(frozen=True, slots=True)
class ExtractorEpoch:
    """The figures of one epoch.

    Args:
        number: Counted from 1.
        loss: Mean negative log likelihood per passage.
        rate: Learning rate of the shared part.
        gain: Result of validation; NaN in pre-training.
        best: Whether that is the best so far.
        seconds: Of the training steps alone.
    """

    number: int
    loss: float
    rate: float
    gain: float
    best: bool
    seconds: float

    def __str__(self) -> str:
        gain = "alone" if math.isnan(self.gain) else f"dev F1 {self.gain:.4f}{' *' if self.best else ''}"
        head = f"epoch {self.number:>3}  loss {self.loss:.3f}  rate {self.rate:g}"
        return f"{head}  {gain}  {self.seconds:.0f} s"


def train_tagger(  # noqa: PLR0913 - what a training is made of
    train: Sequence[ConceptDocument],
    dev: Sequence[ConceptDocument],
    config: ExtractorConfig,
    training: ExtractorTraining,
    *,
    types: Types,
    vectors: WordVectors,
    embedders: Sequence[Embedder] = (),
    on_epoch: Callable[[ExtractorEpoch], None] = lambda epoch: None,
) -> Tagger:
    """Train an extractor and return it with the weights of the epoch with the best mean F1 on `dev`.

    Args:
        train: Annotated documents.
        dev: Annotated documents that decide when to halve the rate and to stop.
        config: Kind and sizes.
        training: Rates, epochs, seed.
        types: The types of each task; both tasks for the joint kinds.
        vectors: The vocabulary.
        embedders: Give further vectors.
        on_epoch: Receives the report of each epoch.

    Raises:
        ConfigurationError: The documents have no spans of the types, or the tasks do not fit the kind.
        StageError: The loss is not a number, or the device is out of memory.
    """
    n_tasks = 1 if config.kind == "tagger" else 2
    if len(types) != n_tasks or not set(types) <= {CONCEPTS, PHI}:
        raise ConfigurationError(
            f"the kind {config.kind} needs {n_tasks} of the tasks {CONCEPTS} and {PHI}, but got {len(types)}"
        )
    for part, docs in (("training", train), ("development", dev)):
        for task, kinds in types.items():
            if not any(select_gold(docs, task, kinds)):
                raise ConfigurationError(
                    f"the {part} documents have no {task} of the types {', '.join(kinds)}"
                )
    keras.utils.set_random_seed(training.seed)
    tagger = new_tagger(config, types, vectors, embedders, seed=training.seed)
    maker = tagger.passage_maker()
    passages = [passage for doc in train for passage in maker.encode_gold(doc)]
    gold = {task: select_gold(dev, task, kinds) for task, kinds in types.items()}
    held_out = [tokenize(doc.doc.text) for doc in dev], [maker.encode_gold(doc) for doc in dev]

    def validate() -> float:
        """Return the mean F1 of the tasks on the development documents."""
        found = tagger.find_in(*held_out)
        scores = [
            count_concepts(gold[task], [spans[task] for spans in found], kinds).score().f1 or 0.0
            for task, kinds in types.items()
        ]
        return sum(scores) / len(scores)

    fit_tagger(tagger.network, passages, training, validate=validate, on_epoch=on_epoch)
    return tagger


def fit_tagger(
    network: TaggerNetwork,
    passages: Sequence[Passage],
    config: ExtractorTraining,
    *,
    validate: Callable[[], float],
    on_epoch: Callable[[ExtractorEpoch], None] = lambda epoch: None,
) -> None:
    """Train an extractor in place; it ends with the averaged weights of its best epoch.

    The rate is too high for the weights themselves to converge. Their moving averages do, and are
    validated (Polyak and Juditsky 1992).

    Args:
        network: From `build_tagger_network`.
        passages: With labels of every task of the network, none empty.
        config: Rates, epochs, patience, seed.
        validate: Measures the network on the development documents; higher is better.
        on_epoch: Receives the report of each epoch.

    Raises:
        StageError: The loss is not a number, or the device is out of memory.
    """
    training = _Fitting(network, passages, config)
    best_gain, best_weights, n_stale = -math.inf, None, 0
    for number in range(1, training.n_alone + 1):
        loss, seconds = training.run_epoch(number, alone=True)
        on_epoch(ExtractorEpoch(number, loss, training.rate, math.nan, best=False, seconds=seconds))
    for number in range(training.n_alone + 1, training.n_alone + config.epochs + 1):
        loss, seconds = training.run_epoch(number, alone=False)
        with training.averages():
            gain = validate()
            is_best = gain > best_gain
            if is_best:
                best_gain, best_weights = gain, network.model.get_weights()
        on_epoch(ExtractorEpoch(number, loss, training.rate, gain, is_best, seconds))
        n_stale = 0 if is_best else n_stale + 1
        if n_stale >= config.patience:
            break
        if n_stale and n_stale % config.halve_after == 0:
            training.halve_rates()
    if best_weights is not None:
        network.model.set_weights(best_weights)


class _Fitting:
    """A training in progress: one optimiser for the concept part of a joint model, one for all else."""

    def __init__(
        self, network: TaggerNetwork, passages: Sequence[Passage], config: ExtractorTraining
    ) -> None:
        self._network, self._passages, self._config = network, passages, config
        above, others = network.parts()
        self._variables = (others, above)
        n_steps = config.averaging * math.ceil(len(passages) / config.batch)
        self._optimizers = [
            keras.optimizers.SGD(
                rate,
                global_clipnorm=config.clip_norm,
                use_ema=n_steps > 1,
                ema_momentum=1 - 1 / max(1, n_steps),
            )
            for rate in (config.learning_rate, config.extraction_rate)
        ]
        for optimizer, variables in zip(self._optimizers, self._variables, strict=True):
            optimizer.build(variables)
        self.n_alone = config.pretraining if above else 0
        self._steps = {
            alone: _compile_step(network, self._optimizers, alone=alone)
            for alone in {self.n_alone > 0, False}
        }
        self._rng = np.random.default_rng(config.seed)

    @property
    def rate(self) -> float:
        """Learning rate of the shared part."""
        return float(self._optimizers[0].learning_rate)

    def halve_rates(self) -> None:
        """Halve both learning rates."""
        for optimizer in self._optimizers:
            optimizer.learning_rate = float(optimizer.learning_rate) / 2

    def run_epoch(self, number: int, *, alone: bool) -> tuple[float, float]:
        """Learn from all passages once; return mean loss and seconds.

        Raises:
            StageError: The loss is not a number, or the device is out of memory.
        """
        begun = time.perf_counter()
        network, config, step, rng = self._network, self._config, self._steps[alone], self._rng
        names = [tensor.name for tensor in network.model.inputs]
        max_characters = int(network.model.get_layer("characters").output.shape[1])
        total = 0.0
        for group in draw_batches(self._passages, config.batch, rng):
            inputs = pad_passages(group, max_characters)
            hidden = rng.random(inputs["words"].shape) < config.word_dropout
            inputs["words"] = np.where(hidden, 0, inputs["words"]).astype(np.int32)
            labels = pad_labels(group)
            with enough_memory(f"on a batch of {len(group)} passages"):
                loss = step(
                    {name: inputs[name] for name in names}, {task: labels[task] for task in network.tasks}
                )
            total += float(loss) * len(group)
        loss = total / max(1, len(self._passages))
        if not math.isfinite(loss):
            raise StageError(f"the loss of epoch {number} is not a number. Lower training.learning_rate")
        return loss, time.perf_counter() - begun

    @contextmanager
    def averages(self) -> Iterator[None]:
        """Give the network the moving averages of its weights, and its own again afterwards."""
        own = [[np.array(variable.numpy()) for variable in variables] for variables in self._variables]
        for optimizer, variables in zip(self._optimizers, self._variables, strict=True):
            optimizer.finalize_variable_values(variables)
        try:
            yield
        finally:
            for variables, values in zip(self._variables, own, strict=True):
                for variable, value in zip(variables, values, strict=True):
                    variable.assign(value)


def draw_batches(passages: Sequence[Passage], size: int, rng: np.random.Generator) -> Iterator[list[Passage]]:
    """Yield batches of `size` passages in random order; every passage comes once."""
    order = rng.permutation(len(passages))
    groups = []
    for start in range(0, len(order), size * _POOL):
        pool = sorted(order[start : start + size * _POOL].tolist(), key=lambda i: len(passages[i]))
        groups += [pool[i : i + size] for i in range(0, len(pool), size)]
    for number in rng.permutation(len(groups)):
        yield [passages[i] for i in groups[number]]


def _compile_step(
    network: TaggerNetwork, optimizers: Sequence[keras.optimizers.Optimizer], *, alone: bool
) -> Callable[[dict[str, Any], dict[str, Any]], Any]:
    """Compile one step; `alone` trains all variables except those of the extractor."""
    above, others = network.parts()
    tasks = (PHI,) if alone else network.tasks
    variables = others if alone else [*others, *above]
    signature = [
        {t.name: tf.TensorSpec((None, *t.shape[1:]), t.dtype, t.name) for t in network.model.inputs},
        {task: tf.TensorSpec((None, None), tf.int32) for task in network.tasks},
    ]

    @tf.function(input_signature=signature)  # type: ignore[untyped-decorator]
    def step(inputs: dict[str, tf.Tensor], labels: dict[str, tf.Tensor]) -> tf.Tensor:
        with tf.GradientTape() as tape:
            loss = compute_joint_loss(network, inputs, {task: labels[task] for task in tasks})
        gradients = tape.gradient(loss, variables)
        pairs = list(zip(gradients, variables, strict=True))
        optimizers[0].apply_gradients(pairs[: len(others)])
        if pairs[len(others) :]:
            optimizers[1].apply_gradients(pairs[len(others) :])
        return loss

    compiled: Callable[[dict[str, Any], dict[str, Any]], Any] = step
    return compiled


def compute_joint_loss(network: TaggerNetwork, inputs: dict[str, Any], labels: dict[str, Any]) -> Any:  # noqa: ANN401
    """Return the mean over passages of the negative log likelihood of all tasks that have labels."""
    scores = network.scorer(inputs, training=True)
    loss = tf.constant(0.0)
    for task, wanted in labels.items():
        allowed = tf.one_hot(wanted, scores[task].shape[-1], on_value=True, off_value=False, dtype=tf.bool)
        loss -= tf.reduce_mean(network.crf(task).log_likelihood(scores[task], inputs["valid"], allowed))
    return loss
