"""The de-identification network: two BiLSTM layers and a CRF over vectors and casings.

Source: Friedrich et al. 2019, section 3 and table 1; variational dropout after Gal and
Ghahramani 2016.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import keras
import numpy as np
import tensorflow as tf
from keras import layers

from inverse_deid.core.phi import HyperClass
from inverse_deid.core.values import FloatArray
from inverse_deid.network.crf import Crf
from inverse_deid.research.representations.batches import VectorSentence, batch_numbers, padded
from inverse_deid.research.representations.casing import N_CASINGS
from inverse_deid.research.representations.config import TaggerConfig

N_CLASSES = len(HyperClass)
_SCORING_BATCH = 128


def build_tagger(config: TaggerConfig, dim: int) -> keras.Model:
    """Build the network.

    Args:
        config: Sizes and dropouts.
        dim: Length of a vector.

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
        lstm = layers.LSTM(
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


class TaggerLoss:
    """Negative log-likelihood of the classes of a batch of sentences, per token.

    Args:
        tagger: From `build_tagger`.
    """

    def __init__(self, tagger: keras.Model) -> None:
        self._crf = tagger.get_layer("crf")
        self._scorer = keras.Model(tagger.inputs, tagger.get_layer("scores").output)

    def __call__(self, vectors: Any, batch: dict[str, Any], *, training: bool) -> Any:  # noqa: ANN401
        """A scalar; `vectors` float32 (batch, time, dim), the rest as `Batch` has it."""
        inputs = [vectors, batch["casings"], batch["valid"]]
        scores = self._scorer(inputs, training=training)
        allowed = tf.cast(tf.one_hot(batch["classes"], N_CLASSES), tf.bool)
        likelihood = self._crf.log_likelihood(scores, batch["valid"], allowed)
        return -tf.reduce_sum(likelihood) / tf.reduce_sum(tf.cast(batch["valid"], tf.float32))


def class_probabilities(tagger: keras.Model, sentences: Sequence[VectorSentence]) -> list[FloatArray]:
    """Class probabilities of every token: float32 (n_tokens, n_classes) a sentence, in order."""
    found: list[FloatArray] = [np.zeros((0, N_CLASSES), np.float32)] * len(sentences)
    for numbers in batch_numbers([len(sentence) for sentence in sentences], _SCORING_BATCH, None):
        batch = padded([sentences[i] for i in numbers])
        rows = tagger.predict_on_batch([batch.vectors, batch.casings, batch.valid])
        for i, row in zip(numbers, rows, strict=True):
            found[i] = row[: len(sentences[i])]
    return found
