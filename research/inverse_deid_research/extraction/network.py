"""The three extractors in Keras: one tagger, two that share their input, and one above the other.

Source: Lange, Adel and Strötgen 2020, sections 3.1 and 3.3, figure 2. For the Gumbel softmax: Jang, Gu and
Poole 2017; Maddison, Mnih and Teh 2017.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import keras
import numpy as np
import tensorflow as tf
from keras import layers

from inverse_deid.core.values import FloatArray
from inverse_deid.network.crf import Crf
from inverse_deid.network.lstm import PackedLSTM
from inverse_deid.network.network import character_encoder, gap_embedding, make_inputs, word_embedding
from inverse_deid_research.extraction.concepts import CONCEPTS, PHI, Types, list_labels
from inverse_deid_research.extraction.config import ExtractorConfig

MASKED = "masked_embedding"
CHOICE = "choice"
_SMALLEST = 1e-20


def gumbel_softmax(log_weights: Any, noise: Any, temperature: float) -> Any:  # noqa: ANN401 - tensors
    """Return a point on the simplex near a draw from the categorical distribution.

    As the temperature (above 0) goes to 0, all components but one go to 0. `log_weights` are float32
    (..., n_classes), log probabilities up to a constant, `noise` draws from Gumbel(0, 1) of the same shape;
    0 = the most probable class.
    """
    return tf.nn.softmax((log_weights + noise) / temperature, axis=-1)


class GumbelChoice(layers.Layer):  # type: ignore[misc]
    """Chooses one class per token, as a one-hot vector with the gradient of the Gumbel softmax.

    In training the class is drawn, otherwise it is the most probable one. `call` takes
    probabilities float32 (batch, time, n_classes) and returns exact zeros and ones of that shape.
    """

    def __init__(self, temperature: float, seed: int, **options: Any) -> None:  # noqa: ANN401
        super().__init__(**options)
        self._temperature = temperature
        self._draws = keras.random.SeedGenerator(seed)

    def call(self, probabilities: Any, training: bool | None = None) -> Any:  # noqa: ANN401
        log_weights = tf.math.log(probabilities + _SMALLEST)
        noise = tf.zeros_like(log_weights)
        if training:
            uniform = keras.random.uniform(tf.shape(log_weights), 1e-7, 1.0, seed=self._draws)
            noise = -tf.math.log(-tf.math.log(uniform) + _SMALLEST)
        soft = gumbel_softmax(log_weights, noise, self._temperature)
        hard = tf.one_hot(tf.argmax(log_weights + noise, axis=-1), tf.shape(soft)[-1])
        # the bracket is exactly 0, so that the value is exactly the hard choice
        return hard + (soft - tf.stop_gradient(soft))


class MaskedEmbedding(layers.Layer):  # type: ignore[misc]
    """Replaces the vectors of chosen tokens by trained vectors of their class.

    `call` takes vectors float32 (batch, time, dim) and a one-hot choice float32 (batch, time,
    n_labels), whose first label lets the word through; a masked vector has no influence at all.
    `class_of_label` is the class of each label but the first, counted from 0.
    """

    def __init__(self, class_of_label: tuple[int, ...], **options: Any) -> None:  # noqa: ANN401
        super().__init__(**options)
        self._class_of_label = class_of_label

    def build(self, input_shape: tuple[int | None, ...]) -> None:
        shape = (max(self._class_of_label) + 1, input_shape[-1])
        self.class_vectors = self.add_weight(shape=shape, initializer="uniform", name="class_vectors")
        super().build(input_shape)

    def call(self, vectors: Any, choice: Any) -> Any:  # noqa: ANN401
        of_label = tf.gather(self.class_vectors, np.array(self._class_of_label))
        return choice[..., :1] * vectors + tf.matmul(choice[..., 1:], of_label)

    def compute_output_shape(self, input_shape: tuple[int | None, ...]) -> tuple[int | None, ...]:
        return input_shape


@dataclass(frozen=True, slots=True, eq=False)
class TaggerNetwork:
    """The network of an extractor: `scorer` returns the scores before the CRF."""

    max_characters: int  # of a word that both read at most
    # Returns the class probabilities of each task, float32 (batch, time, n_labels).
    model: keras.Model = field(repr=False)
    scorer: keras.Model = field(repr=False)

    def crf(self, task: str) -> Crf:
        crf: Crf = self.model.get_layer(f"{task}_crf")
        return crf

    @property
    def tasks(self) -> tuple[str, ...]:
        """The tasks, in the order of the model's outputs."""
        return tuple(self.model.output)


def build_tagger_network(
    config: ExtractorConfig, types: Types, word_matrix: FloatArray, *, n_further: int = 0, seed: int = 0
) -> TaggerNetwork:
    """Build an extractor of a given kind, for the types of one task or, of the joint kinds, of both.

    The word matrix is float32 (n_words + 1, word_dim). The seed is that of the draws of the Gumbel softmax.

    Returns:
        Models of the inputs `gaps`, `valid`, those that the settings read of `characters` with `distinct`
        and `words`, and with further numbers per token `features`, as in `network.network.build_network`.
    """
    inputs = make_inputs(config.characters, n_further)
    parts = [gap_embedding(inputs["gaps"], config.gap_dim)]
    if "words" in config.reads:
        parts.append(word_embedding(inputs["words"], word_matrix, learned=config.learn_words))
    else:
        del inputs["words"]
    if "characters" in config.reads:
        of_characters = character_encoder(config.characters)(inputs["characters"])
        parts.append(keras.ops.take(of_characters, inputs["distinct"], axis=0))
    else:
        del inputs["characters"], inputs["distinct"]
    if n_further:
        parts.append(inputs["features"])
    vectors = layers.Concatenate(name="token_vector")(parts)
    vectors = layers.Dropout(config.dropout, name="token_dropout")(vectors)
    n_labels = {task: len(list_labels(kinds)) for task, kinds in types.items()}
    crfs = {task: Crf(name=f"{task}_crf") for task in types}
    if config.kind == "stacked":
        below = _add_bilstm(config, vectors, inputs["valid"], "phi_token")
        phi_scores = _add_scores(config, PHI, n_labels[PHI], below)
        choice = GumbelChoice(config.temperature, seed, name=CHOICE)(crfs[PHI](phi_scores, inputs["valid"]))
        # labels are B and I of each class in turn
        seen = MaskedEmbedding(tuple(i // 2 for i in range(n_labels[PHI] - 1)), name=MASKED)(vectors, choice)
        above = _add_bilstm(config, seen, inputs["valid"], f"{CONCEPTS}_token")
        scores = {PHI: phi_scores, CONCEPTS: _add_scores(config, CONCEPTS, n_labels[CONCEPTS], above)}
    else:
        hidden = _add_bilstm(config, vectors, inputs["valid"], "token")
        scores = {task: _add_scores(config, task, n, hidden) for task, n in n_labels.items()}
    probabilities = {task: crfs[task](found, inputs["valid"]) for task, found in scores.items()}
    return TaggerNetwork(
        max_characters=config.max_characters,
        model=keras.Model(inputs, probabilities, name="extractor"),
        scorer=keras.Model(inputs, scores, name="scorer"),
    )


def _add_bilstm(
    config: ExtractorConfig, vectors: keras.KerasTensor, valid: keras.KerasTensor, name: str
) -> keras.KerasTensor:
    lstm = PackedLSTM(config.token_units, return_sequences=True, name="lstm")
    hidden = layers.Bidirectional(lstm, name=f"{name}_lstm")(vectors, mask=valid)
    return layers.Dropout(config.dropout, name=f"{name}_lstm_dropout")(hidden)


def _add_scores(
    config: ExtractorConfig, task: str, n_labels: int, hidden: keras.KerasTensor
) -> keras.KerasTensor:
    if config.kind == "multitask":
        hidden = layers.Dense(config.hidden_units, activation="relu", name=f"{task}_hidden")(hidden)
    return layers.Dense(n_labels, name=f"{task}_scores")(hidden)
