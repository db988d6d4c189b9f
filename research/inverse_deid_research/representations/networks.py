"""The networks: private representation, de-identification network and adversaries; their losses and scores.

The representation is R = |N_out + W LSTM(E + N_in)|, of length 1, with noise whose strength is learned.
Two BiLSTM layers and a CRF read it. Two adversaries ask whether two sequences come from the same sentence.

Source: Friedrich et al. 2019, sections 3 and 5.2 to 5.4, equations 1 and 2, table 1; variational dropout
after Gal and Ghahramani 2016, gradient reversal after Ganin et al. 2016, losses after Feutry et al. 2018.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import keras
import numpy as np
import tensorflow as tf
from keras import layers

from inverse_deid.core.errors import ModelError
from inverse_deid.core.phi import HyperClass
from inverse_deid.core.values import FloatArray, RuleAnalysis, Tokens
from inverse_deid.masking.pipeline import Scores
from inverse_deid.network.crf import Crf
from inverse_deid.network.lstm import PackedLSTM
from inverse_deid_research.representations.config import RepresentationConfig, SharingConfig, TaggerConfig
from inverse_deid_research.representations.folders import PrivateNetwork, Representation
from inverse_deid_research.representations.secret_draws import SecretNormal
from inverse_deid_research.representations.sentences import (
    LONGEST,
    N_CASINGS,
    Sentence,
    SentenceBatch,
    VectorSentence,
    casings_of,
    predict_sentences,
    with_vectors,
    word_rows,
)
from inverse_deid_research.sentences import sentence_bounds

NOISE_IN, NOISE_OUT = "noise_in", "noise_out"
"""Names of the layers of noise, on words and on private vectors."""
N_CLASSES = len(HyperClass)
RANDOM_LOSS = -math.log(0.5)
"""Cross-entropy of an adversary that guesses."""


class TrainableNoise(layers.Layer):  # type: ignore[misc]
    """Adds Gaussian noise with a learned standard deviation in each dimension, always above 0.

    The draws are an input, so that callers decide where they come from. `initial` is the standard
    deviation at the start. With `dynamic`, deviations also depend on the values, linearly
    before the softplus, from nothing at the start.
    """

    def __init__(self, initial: float, *, dynamic: bool = False, **options: Any) -> None:  # noqa: ANN401 - as Keras declares it
        super().__init__(**options)
        self._initial, self._dynamic = initial, dynamic

    def build(self, input_shape: tuple[int | None, ...]) -> None:
        """Make one weight per dimension; its softplus is the standard deviation."""
        inverse_softplus = self._initial + math.log(-math.expm1(-self._initial))
        self.strength = self.add_weight(
            shape=(input_shape[-1],),
            initializer=keras.initializers.Constant(inverse_softplus),
            name="strength",
        )
        if self._dynamic:
            shape = (input_shape[-1], input_shape[-1])
            self.kernel = self.add_weight(shape=shape, initializer="zeros", name="kernel")
        super().build(input_shape)

    @property
    def standard_deviations(self) -> Any:  # noqa: ANN401 - a tensor of the backend
        """float32 (dim,), the standard deviations; of dynamic noise, those of values of 0."""
        return tf.math.softplus(self.strength)

    def call(self, values: Any, draws: Any) -> Any:  # noqa: ANN401 - tensors of the backend
        """Return values plus scaled draws.

        Args:
            values: float32 (batch, time, dim).
            draws: float32 of that shape, standard normal; 0 = no noise.
        """
        if not self._dynamic:
            return values + self.standard_deviations * draws
        moved = tf.tensordot(values, self.kernel, 1)
        return values + tf.math.softplus(self.strength + moved) * draws

    def compute_mask(self, *_: object) -> None:
        """The padding is given as an input; no mask is passed on."""


def build_representer(config: RepresentationConfig, word_dim: int) -> keras.Model:
    """Build the representation over word vectors of length `word_dim`.

    Returns:
        A model of the inputs `vectors` float32 (batch, time, word_dim), `draws_in` of that
        shape, `draws_out` float32 (batch, time, dim) and `valid` bool (batch, time); the
        output is float32 (batch, time, dim).
    """
    vectors = layers.Input((None, word_dim), name="vectors")
    draws_in = layers.Input((None, word_dim), name="draws_in")
    draws_out = layers.Input((None, config.dim), name="draws_out")
    valid = layers.Input((None,), dtype="bool", name="valid")
    noisy = TrainableNoise(config.noise_in, name=NOISE_IN)(vectors, draws_in)
    lstm = PackedLSTM(config.units or config.dim // 2, return_sequences=True, name="lstm")
    hidden = layers.Bidirectional(lstm, name="bilstm")(noisy, mask=valid)
    if config.units:
        hidden = layers.Dense(config.dim, name="dense")(hidden)
    if config.normalise == "around noise":
        hidden = layers.UnitNormalization(name="bounded")(hidden)
    noise = TrainableNoise(config.noise_out, dynamic=config.dynamic, name=NOISE_OUT)
    output = noise(hidden, draws_out)
    if config.normalise != "never":
        output = layers.UnitNormalization(name="normalised")(output)
    return keras.Model([vectors, draws_in, draws_out, valid], output, name="representer")


@contextmanager
def hold_noise(representer: keras.Model) -> Iterator[None]:
    """Within it, steps of training that are built leave the deviations of the noise as they are."""
    noises = [representer.get_layer(name) for name in (NOISE_IN, NOISE_OUT)]
    for noise in noises:
        noise.trainable = False
    try:
        yield
    finally:
        for noise in noises:
            noise.trainable = True


def remove_noise(representer: keras.Model) -> None:
    """Take the noise away for good, to see what it hides."""
    for name in (NOISE_IN, NOISE_OUT):
        strength = representer.get_layer(name).strength
        strength.assign(tf.fill(strength.shape, -math.inf))


def standard_deviations_of(representer: keras.Model) -> dict[str, FloatArray]:
    """Return the deviations of the noise: `NOISE_IN` float32 (word_dim,), `NOISE_OUT` float32 (dim,)."""
    return {
        name: np.asarray(representer.get_layer(name).standard_deviations) for name in (NOISE_IN, NOISE_OUT)
    }


def noise_range(representer: keras.Model) -> dict[str, list[float]]:
    """Return least, median and most of the standard deviations of each layer of noise."""
    return {
        name: np.quantile(values, (0, 0.5, 1)).tolist()
        for name, values in standard_deviations_of(representer).items()
    }


def represent_batch(representer: keras.Model, vectors: Any, valid: Any) -> Any:  # noqa: ANN401 - tensors
    """Represent a batch in training, with fresh draws of TensorFlow's global generator.

    `vectors` are float32 (batch, time, word_dim), `valid` is bool (batch, time).
    """
    shape = tf.shape(vectors)
    draws_in = tf.random.normal(shape)
    draws_out = tf.random.normal([shape[0], shape[1], representer.output_shape[-1]])
    return representer([vectors, draws_in, draws_out, valid], training=True)


def encode_sentences(
    representer: keras.Model,
    sentences: Sequence[Sentence],
    matrix: FloatArray,
    rng: np.random.Generator | SecretNormal | None,
) -> list[VectorSentence]:
    """Represent sentences, in order; `matrix` is float32 (n_words + 1, word_dim), row 0 is zero.

    `rng` draws the noise, None = no noise. Anyone who can predict it can remove the noise, so
    released noise is drawn by `SecretNormal`.
    """

    def draw(*shape: int) -> FloatArray:
        return np.zeros(shape, np.float32) if rng is None else rng.standard_normal(shape, np.float32)

    def predict(batch: SentenceBatch) -> FloatArray:
        draws_in = draw(*batch.vectors.shape)
        draws_out = draw(*batch.valid.shape, representer.output_shape[-1])
        found: FloatArray = representer.predict_on_batch([batch.vectors, draws_in, draws_out, batch.valid])
        return found

    given = with_vectors(sentences, matrix)
    return [
        VectorSentence(rows, one.casings, one.classes)
        for one, rows in zip(given, predict_sentences(given, predict), strict=True)
    ]


def build_tagger(config: TaggerConfig, dim: int) -> keras.Model:
    """Build the de-identification network over vectors of length `dim`.

    Returns:
        A model of the inputs `vectors` float32 (batch, time, dim), `casings` int32 (batch, time)
        and `valid` bool (batch, time); the output is float32 (batch, time, n_classes),
        probabilities of the classes of `HyperClass`, of which the first is `p_safe`.
    """
    vectors = layers.Input((None, dim), name="vectors")
    casings = layers.Input((None,), dtype="int32", name="casings")
    valid = layers.Input((None,), dtype="bool", name="valid")
    hidden = layers.Dropout(config.input_dropout, name="input_dropout")(vectors)
    if config.casing:
        one_hot = keras.ops.one_hot(casings, N_CASINGS, dtype="float32")
        hidden = layers.Concatenate(name="token_vector")([hidden, one_hot])
    for number in range(1, config.layers + 1):
        lstm = PackedLSTM(
            config.units,
            return_sequences=True,
            dropout=config.variational_dropout,
            recurrent_dropout=config.variational_dropout,
            name="lstm",
        )
        hidden = layers.Bidirectional(lstm, name=f"lstm_{number}")(hidden, mask=valid)
    hidden = layers.Dropout(config.dropout, name="dropout")(hidden)
    scores = layers.Dense(N_CLASSES, name="scores")(hidden)
    return keras.Model([vectors, casings, valid], Crf(name="crf")(scores, valid), name="tagger")


def class_probabilities(tagger: keras.Model, sentences: Sequence[VectorSentence]) -> list[FloatArray]:
    """Return class probabilities of tokens: float32 (n_tokens, n_classes) per sentence, in order."""
    return predict_sentences(
        sentences, lambda batch: tagger.predict_on_batch([batch.vectors, batch.casings, batch.valid])
    )


class TaggerLoss:
    """Negative log-likelihood per token of the classes of a batch of sentences."""

    def __init__(self, tagger: keras.Model) -> None:
        self._crf = tagger.get_layer("crf")
        self._scorer = keras.Model(tagger.inputs, tagger.get_layer("scores").output)

    def __call__(self, vectors: Any, batch: dict[str, Any], *, training: bool) -> Any:  # noqa: ANN401
        """Return a scalar; `vectors` are float32 (batch, time, dim), the rest is as in `SentenceBatch`."""
        inputs = [vectors, batch["casings"], batch["valid"]]
        scores = self._scorer(inputs, training=training)
        allowed = tf.cast(tf.one_hot(batch["classes"], N_CLASSES), tf.bool)
        likelihood = self._crf.log_likelihood(scores, batch["valid"], allowed)
        return -tf.reduce_sum(likelihood) / tf.reduce_sum(tf.cast(batch["valid"], tf.float32))


class GradientReversal(layers.Layer):  # type: ignore[misc]
    """Passes values on unchanged, and gradients with the opposite sign."""

    def call(self, values: Any) -> Any:  # noqa: ANN401 - a tensor of the backend
        return _reverse(values)


@tf.custom_gradient  # type: ignore[untyped-decorator]
def _reverse(values: Any) -> Any:  # noqa: ANN401 - a tensor of the backend
    return tf.identity(values), lambda gradient: -gradient


class _Cosines(layers.Layer):  # type: ignore[misc]
    """Cosine similarity of two sequences, token by token: (batch, time, dim) twice to (batch, time, 1)."""

    def call(self, one: Any, other: Any) -> Any:  # noqa: ANN401 - tensors of the backend
        unit_one, unit_other = tf.math.l2_normalize(one, axis=-1), tf.math.l2_normalize(other, axis=-1)
        return tf.reduce_sum(unit_one * unit_other, axis=-1, keepdims=True)


def build_adversary(word_dim: int, dim: int, units: int) -> keras.Model:
    """Build both adversaries as one model.

    The first reads a representation and word vectors, the second two representations and their
    cosine similarities, token by token. Each direction of each LSTM has `units`.

    Returns:
        A model of the inputs `first` float32 (batch, time, dim), `words` float32 (batch, time,
        word_dim), `second` float32 (batch, time, dim) and `valid` bool (batch, time); the output
        is float32 (batch,), the mean of both probabilities of "same sentence".
    """
    first = layers.Input((None, dim), name="first")
    words = layers.Input((None, word_dim), name="words")
    second = layers.Input((None, dim), name="second")
    valid = layers.Input((None,), dtype="bool", name="valid")
    cosines = _Cosines(name="cosines")(first, second)
    with_words = layers.Concatenate(name="first_task")([first, words])
    with_second = layers.Concatenate(name="second_task")([first, second, cosines])
    answers = []
    for number, sequence in enumerate((with_words, with_second), start=1):
        hidden = layers.Bidirectional(PackedLSTM(units), name=f"lstm_{number}")(sequence, mask=valid)
        answers.append(layers.Dense(1, activation="sigmoid", name=f"answer_{number}")(hidden))
    mean = layers.Average(name="mean")(answers)
    return keras.Model([first, words, second, valid], layers.Reshape((), name="same")(mean), name="adversary")


@dataclass(frozen=True, slots=True, eq=False)
class Networks:
    """The three networks that are trained together; the tagger reads private vectors."""

    representer: keras.Model = field(repr=False)
    tagger: keras.Model = field(repr=False)
    adversary: keras.Model = field(repr=False)

    @property
    def all(self) -> list[keras.Model]:
        return [self.representer, self.tagger, self.adversary]


def build_networks(config: SharingConfig, word_dim: int) -> Networks:
    """Build untrained networks, whose first weights the seed decides."""
    keras.utils.set_random_seed(config.learning.seed)
    part = config.representation
    return Networks(
        representer=build_representer(part, word_dim),
        tagger=build_tagger(config.tagger, part.dim),
        adversary=build_adversary(word_dim, part.dim, config.adversary.units),
    )


def representation_loss(task: Any, adversary: Any, privacy_weight: float) -> Any:  # noqa: ANN401 - scalars
    """Return the task's loss plus the distance of the adversary's loss from that of guessing.

    An adversary that is wrong more often than one that guesses also knows the answer. Hence
    the distance.

    Example:
        >>> round(representation_loss(0.25, 0.5, 2.0), 4)
        0.6363
    """
    return task + privacy_weight * abs(adversary - RANDOM_LOSS)


class Losses:
    """The losses of networks on batches, given as dictionaries of tensors; with the paper's lambda."""

    def __init__(self, networks: Networks, privacy_weight: float) -> None:
        self._networks, self.privacy_weight = networks, privacy_weight
        self._tagger_loss = TaggerLoss(networks.tagger)
        self._reversal = GradientReversal()

    def task(self, batch: dict[str, Any], *, training: bool) -> Any:  # noqa: ANN401 - a scalar tensor
        """Return that of the de-identification network on represented sentences."""
        private = represent_batch(self._networks.representer, batch["vectors"], batch["valid"])
        return self._tagger_loss(private, batch, training=training)

    def answers(self, pairs: dict[str, Any], *, reverse: bool = False) -> Any:  # noqa: ANN401 - a tensor
        """Return the adversary's probabilities of "same sentence": float32 (batch,)."""
        networks, valid = self._networks, pairs["valid"]
        sides = tf.concat([pairs["first"], pairs["second"]], axis=0)
        private = represent_batch(networks.representer, sides, tf.concat([valid, valid], axis=0))
        first, second = tf.split(self._reversal(private) if reverse else private, 2)
        return networks.adversary([first, pairs["second"], second, valid], training=True)

    def adversary(self, pairs: dict[str, Any], *, reverse: bool = False) -> Any:  # noqa: ANN401 - a scalar
        """Return the mean cross-entropy of the adversary's answers."""
        answers = self.answers(pairs, reverse=reverse)
        return tf.reduce_mean(keras.losses.binary_crossentropy(pairs["same"][:, None], answers[:, None]))

    def representation(self, batch: dict[str, Any], pairs: dict[str, Any], *, training: bool) -> Any:  # noqa: ANN401
        task = self.task(batch, training=training)
        return representation_loss(task, self.adversary(pairs), self.privacy_weight)


def weights_by_path(network: keras.Model) -> dict[str, FloatArray]:
    return {variable.path: np.asarray(variable).copy() for variable in network.trainable_variables}


def load_representer(representation: Representation) -> keras.Model:
    """Return the representation as a network.

    Raises:
        ModelError: The weights are not those of its sizes, or add no noise in some dimension, or the
            noise depends on the words, so that it may vanish for some.
    """
    if representation.config.dynamic:
        raise ModelError("the noise of the representation depends on the words. Get another")
    network = build_representer(representation.config, representation.word_vectors.dim)
    _assign_weights(network, representation.weights)
    if not all((values > 0).all() for values in standard_deviations_of(network).values()):
        raise ModelError("the representation adds no noise and hides nothing. Get another")
    return network


def load_tagger(network: PrivateNetwork) -> keras.Model:
    """Return the de-identification network; fails as `load_representer` does."""
    tagger = build_tagger(network.config, network.representation.config.dim)
    _assign_weights(tagger, network.weights)
    return tagger


def _assign_weights(network: keras.Model, weights: Mapping[str, FloatArray]) -> None:
    expected = {variable.path: tuple(variable.shape) for variable in network.trainable_variables}
    if expected != {path: weight.shape for path, weight in weights.items()}:
        raise ModelError(
            f"the weights of the {network.name} are not those of its sizes. Make the folder again"
        )
    if not all(np.isfinite(weight).all() for weight in weights.values()):
        raise ModelError(f"the weights of the {network.name} are damaged. Get the folder again")
    for variable in network.trainable_variables:
        variable.assign(weights[variable.path])


class PrivateScorer:
    """Scores the tokens of a text through a representation, for `mask`.

    The noise protects shared data. Masking shares nothing, so texts are read without noise.

    Raises:
        ModelError: The weights do not fit.
    """

    def __init__(self, network: PrivateNetwork) -> None:
        vectors = network.representation.word_vectors
        self._numbers, self._matrix = vectors.numbers(), vectors.matrix()
        self._representer = load_representer(network.representation)
        self._tagger = load_tagger(network)

    def probabilities(self, tokens: Tokens) -> FloatArray:
        """Return float32 (n_tokens, n_classes), classes of `HyperClass`; the first is `p_safe`."""
        found = np.full((len(tokens), N_CLASSES), np.nan, np.float32)
        parts = [slice(*bound) for bound in sentence_bounds(tokens, LONGEST)]
        rows, casings = word_rows(tokens.words, self._numbers), casings_of(tokens.words)
        unknown = np.zeros(len(tokens), np.int32)
        sentences = [Sentence(rows[part], casings[part], unknown[part]) for part in parts]
        private = encode_sentences(self._representer, sentences, self._matrix, None)
        for part, answer in zip(parts, class_probabilities(self._tagger, private), strict=True):
            found[part] = answer
        return found

    def score(self, tokens: Sequence[Tokens], analyses: Sequence[RuleAnalysis]) -> list[Scores]:
        """Score the tokens of each document as the pipeline asks for it."""
        del analyses  # the network reads words and casing alone
        found = [self.probabilities(one) for one in tokens]
        return [Scores(one[:, 0], (one[:, 1:].argmax(axis=1) + 1).astype(np.uint8)) for one in found]
