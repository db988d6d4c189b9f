"""Train an extractor: stochastic gradient descent on the CRF likelihood, the rate halved without gain."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from inverse_deid.core.errors import ConfigurationError, StageError
from inverse_deid.network.encoding import WordVectors
from inverse_deid.network.training import enough_memory
from inverse_deid.text.tokenizer import tokenize
from inverse_deid_research.extraction.concepts import CONCEPTS, PHI, ConceptDocument, Types, select_gold
from inverse_deid_research.extraction.config import ExtractorConfig, ExtractorTraining
from inverse_deid_research.extraction.network import TaggerNetwork
from inverse_deid_research.extraction.passages import Embedder, Passage, pad_labels, pad_passages
from inverse_deid_research.extraction.scoring import count_concepts
from inverse_deid_research.extraction.tagger import Tagger, new_tagger

_POOL = 16
"""Batches whose passages are sorted by length together, so that there is less padding."""


@dataclass(frozen=True, slots=True)
class ExtractorEpoch:
    """The figures of one epoch, counted from 1."""

    number: int
    loss: float  # mean negative log likelihood per passage, summed over the tasks
    rates: Mapping[str, float]  # learning rate of each task
    gains: Mapping[str, float]  # F1 of each task, none in pre-training
    best: bool
    seconds: float  # of the training steps alone

    def __str__(self) -> str:
        rates = ", ".join(f"{rate:g}" for rate in self.rates.values())
        gains = ", ".join(f"{task} {f1:.4f}" for task, f1 in self.gains.items())
        gain = f"dev F1: {gains}{' *' if self.best else ''}" if gains else "alone"
        return f"epoch {self.number:>3}  loss {self.loss:.3f}  rates {rates}  {gain}  {self.seconds:.0f} s"


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
    """Train an extractor and return it with the weights of the epoch that is best on `dev`.

    The best epoch is that with the highest F1 of concepts, or of the only task. The development documents
    also decide when to halve the rates and to stop. The joint kinds have the types of both tasks, a tagger
    those of one.

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
            if not any(select_gold(_with_gold(docs, task), task, kinds)):
                raise ConfigurationError(
                    f"the {part} documents have no {task} of the types {', '.join(kinds)}"
                )
    keras.utils.set_random_seed(training.seed)
    tagger = new_tagger(config, types, vectors, embedders, seed=training.seed)
    maker = tagger.passage_maker()
    passages = [passage for doc in train for passage in maker.encode_gold(doc)]
    dev = [doc for doc in dev if not types.keys().isdisjoint(doc.gold)]
    gold = {task: select_gold(_with_gold(dev, task), task, kinds) for task, kinds in types.items()}
    held_out = [tokenize(doc.doc.text) for doc in dev], [maker.encode_gold(doc) for doc in dev]

    def validate() -> dict[str, float]:
        found = tagger.find_in(*held_out)
        gains = {}
        for task, kinds in types.items():
            spans = [each[task] for doc, each in zip(dev, found, strict=True) if task in doc.gold]
            gains[task] = count_concepts(gold[task], spans, kinds).score().f1 or 0.0
        return gains

    fit_tagger(tagger.network, passages, training, validate=validate, on_epoch=on_epoch)
    return tagger


def _with_gold(docs: Sequence[ConceptDocument], task: str) -> list[ConceptDocument]:
    return [doc for doc in docs if task in doc.gold]


def fit_tagger(
    network: TaggerNetwork,
    passages: Sequence[Passage],
    config: ExtractorTraining,
    *,
    validate: Callable[[], Mapping[str, float]],
    on_epoch: Callable[[ExtractorEpoch], None] = lambda epoch: None,
) -> None:
    """Train an extractor in place; it ends with the averaged weights of its best epoch.

    The rate is too high for the weights themselves to converge. Their moving averages do, and are
    validated (Polyak and Juditsky 1992). A passage is not empty, and is learned for the tasks of its
    labels.
    `validate` measures each task on the development documents; higher is better.

    Raises:
        StageError: The loss is not a number, or the device is out of memory.
    """
    training = _Fitting(network, passages, config)
    decisive = CONCEPTS if CONCEPTS in network.tasks else PHI
    best_gains, n_stale = dict.fromkeys(network.tasks, -math.inf), dict.fromkeys(network.tasks, 0)
    best_weights = None
    n_alone = config.pretraining if len(network.tasks) > 1 else 0
    for number in range(1, n_alone + 1):
        loss, seconds = training.run_epoch(number, [PHI])
        on_epoch(ExtractorEpoch(number, loss, training.rates, {}, best=False, seconds=seconds))
    training.restart_averages()
    for number in range(n_alone + 1, n_alone + config.epochs + 1):
        loss, seconds = training.run_epoch(number, network.tasks)
        rates = training.rates
        with training.averages():
            gains = validate()
            is_best = gains[decisive] > best_gains[decisive]
            if is_best:
                best_weights = network.model.get_weights()
        on_epoch(ExtractorEpoch(number, loss, rates, gains, is_best, seconds))
        for task, gain in gains.items():
            n_stale[task] = 0 if gain > best_gains[task] else n_stale[task] + 1
            best_gains[task] = max(gain, best_gains[task])
            if n_stale[task] and n_stale[task] % config.halve_after == 0:
                training.halve_rate(task)
        if n_stale[decisive] >= config.patience:
            break
    if best_weights is not None:
        network.model.set_weights(best_weights)


class _Fitting:
    """A training in progress: one optimiser for each task, over all that its loss depends on."""

    def __init__(
        self, network: TaggerNetwork, passages: Sequence[Passage], config: ExtractorTraining
    ) -> None:
        self._network, self._config = network, config
        self._passages = {task: [one for one in passages if task in one.labels] for task in network.tasks}
        rates = dict.fromkeys(network.tasks, config.learning_rate)
        if len(rates) > 1:
            rates[CONCEPTS] = config.extraction_rate
        self._optimizers = {
            task: keras.optimizers.SGD(rate, global_clipnorm=config.clip_norm) for task, rate in rates.items()
        }
        self._averages = [tf.Variable(variable.numpy()) for variable in network.model.trainable_variables]
        self._momentum = tf.Variable(0.0)
        n_steps = config.averaging * sum(
            math.ceil(len(found) / config.batch) for found in self._passages.values()
        )
        self._full_momentum = 1 - 1 / max(1.0, n_steps)
        self._steps = {task: self._compile_step(task) for task in rates}
        self._rng = np.random.default_rng(config.seed)

    @property
    def rates(self) -> dict[str, float]:
        return {task: float(optimizer.learning_rate) for task, optimizer in self._optimizers.items()}

    def halve_rate(self, task: str) -> None:
        self._optimizers[task].learning_rate = self.rates[task] / 2

    def restart_averages(self) -> None:
        # Forget the weights so far at the next step.
        self._momentum.assign(0.0)

    def run_epoch(self, number: int, tasks: Sequence[str]) -> tuple[float, float]:
        # Returns the sum of the mean losses, and seconds.
        begun = time.perf_counter()
        batches = {
            task: list(draw_batches(self._passages[task], self._config.batch, self._rng)) for task in tasks
        }
        loss = 0.0
        for task, group in alternate(batches):
            loss += self._learn(task, group) * len(group) / len(self._passages[task])
        if not math.isfinite(loss):
            raise StageError(f"the loss of epoch {number} is not a number. Lower training.learning_rate")
        return loss, time.perf_counter() - begun

    def _learn(self, task: str, group: Sequence[Passage]) -> float:
        # Returns the mean loss.
        model = self._network.model
        padded = pad_passages(group, self._network.max_characters)
        hidden = self._rng.random(padded["words"].shape) < self._config.word_dropout
        padded["words"] = np.where(hidden, 0, padded["words"]).astype(np.int32)
        inputs = {tensor.name: padded[tensor.name] for tensor in model.inputs}
        with enough_memory(f"on a batch of {len(group)} passages"):
            loss = self._steps[task](inputs, pad_labels(group, task))
        self._momentum.assign(self._full_momentum)
        return float(loss)

    def _compile_step(self, task: str) -> Callable[[dict[str, Any], Any], Any]:
        network, optimizer = self._network, self._optimizers[task]
        variables = network.model.trainable_variables
        inputs_signature = {
            t.name: tf.TensorSpec((None, *t.shape[1:]), t.dtype, t.name) for t in network.model.inputs
        }
        optimizer.build(variables)

        @tf.function(input_signature=[inputs_signature, tf.TensorSpec((None, None), tf.int32)])  # type: ignore[untyped-decorator]
        def step(inputs: dict[str, tf.Tensor], labels: tf.Tensor) -> tf.Tensor:
            with tf.GradientTape() as tape:
                loss = compute_loss(network, inputs, task, labels)
            pairs = zip(tape.gradient(loss, variables), variables, strict=True)
            optimizer.apply_gradients([pair for pair in pairs if pair[0] is not None])
            for average, variable in zip(self._averages, variables, strict=True):
                average.assign(self._momentum * average + (1 - self._momentum) * variable.value)
            return loss

        compiled: Callable[[dict[str, Any], Any], Any] = step
        return compiled

    @contextmanager
    def averages(self) -> Iterator[None]:
        # Afterwards the network has its own weights again.
        variables = self._network.model.trainable_variables
        own = [np.array(variable.numpy()) for variable in variables]
        for variable, average in zip(variables, self._averages, strict=True):
            variable.assign(average)
        try:
            yield
        finally:
            for variable, value in zip(variables, own, strict=True):
                variable.assign(value)


def alternate(batches: Mapping[str, Sequence[list[Passage]]]) -> Iterator[tuple[str, list[Passage]]]:
    """Yield the batches of all tasks, in turn; those of a task with fewer are spread evenly.

    Example:
        >>> [task for task, _ in alternate({"a": [[], [], [], []], "b": [[], []]})]
        ['a', 'b', 'a', 'a', 'b', 'a']
    """
    places = [
        ((number + 0.5) / len(found), task, number)
        for task, found in batches.items()
        for number in range(len(found))
    ]
    for _, task, number in sorted(places, key=lambda place: place[0]):
        yield task, batches[task][number]


def draw_batches(passages: Sequence[Passage], size: int, rng: np.random.Generator) -> Iterator[list[Passage]]:
    """Yield batches of `size` passages in random order; every passage comes once."""
    order = rng.permutation(len(passages))
    groups = []
    for start in range(0, len(order), size * _POOL):
        pool = sorted(order[start : start + size * _POOL].tolist(), key=lambda i: len(passages[i]))
        groups += [pool[i : i + size] for i in range(0, len(pool), size)]
    for number in rng.permutation(len(groups)):
        yield [passages[i] for i in groups[number]]


def compute_loss(network: TaggerNetwork, inputs: dict[str, Any], task: str, labels: Any) -> Any:  # noqa: ANN401
    """Return the mean over passages of the negative log likelihood of a task."""
    scores = network.scorer(inputs, training=True)[task]
    allowed = tf.one_hot(labels, scores.shape[-1], on_value=True, off_value=False, dtype=tf.bool)
    return -tf.reduce_mean(network.crf(task).log_likelihood(scores, inputs["valid"], allowed))
