"""Attack A1: a network that learns to turn private vectors back into words.

Source: Friedrich et al. 2019, section 5 (attack A1).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import keras
import numpy as np
import tensorflow as tf
from keras import layers

from inverse_deid.core.values import FloatArray, IntArray
from inverse_deid.deep.lstm import Lstm
from inverse_deid.representations.attacks.outcome import (
    Outcome,
    Scene,
    blind_chance,
    outcome,
    phi_documents,
    phi_rows,
)
from inverse_deid.representations.batches import batch_numbers, stacked
from inverse_deid.representations.config import LearningConfig
from inverse_deid.representations.encoding import encoded
from inverse_deid.representations.sentences import Sentence
from inverse_deid.representations.steps import Say, epoch_loss, training_step

EPOCHS = 20
UNITS = 64
_SCORING_BATCH = 128


def inverse_model(scene: Scene, config: LearningConfig, say: Say, n_epochs: int = EPOCHS) -> Outcome:
    """Learn the way back from one's own documents and try it on those of others.

    The attacker has the published representation and encodes his documents anew in every
    epoch. A token counts as recovered if the word nearest to the model's answer is the one.

    Args:
        scene: What he has and attacks.
        config: Rates, batches, seed.
        say: Gets a line at the end; numbers only.
        n_epochs: Of the inverse model.
    """
    keras.utils.set_random_seed(config.seed)
    rng = np.random.default_rng(config.seed)
    representer, matrix = scene.representer, scene.matrix
    inverse = _network(representer.output_shape[-1], matrix.shape[1])
    unit = matrix / np.maximum(np.linalg.norm(matrix, axis=1, keepdims=True), 1e-9)

    def loss(given: dict[str, Any]) -> Any:  # noqa: ANN401 - a scalar tensor
        answers = tf.math.l2_normalize(inverse([given["vectors"], given["valid"]], training=True), axis=-1)
        cosines = tf.reduce_sum(answers * given["words"], axis=-1) * given["weights"]
        return 1.0 - tf.reduce_sum(cosines) / tf.maximum(tf.reduce_sum(given["weights"]), 1.0)

    step = training_step(loss, [inverse], config)
    for _ in range(n_epochs):
        private = [one.vectors for one in encoded(representer, scene.known, matrix, rng)]
        last = epoch_loss(
            step, ((batch,) for batch in _batches(scene.known, private, unit, config.batch, rng))
        )
    say(f"inverse model: loss {last:.4f}")
    right = _recovered(inverse, scene, unit, rng) == phi_rows(scene.held_out)
    chance = max(blind_chance(scene.known, scene.held_out), 1 / (len(matrix) - 1))
    return outcome("inverse model (A1)", right, phi_documents(scene.held_out), chance)


def _network(dim: int, word_dim: int) -> keras.Model:
    vectors, valid = layers.Input((None, dim)), layers.Input((None,), dtype="bool")
    lstm = layers.Bidirectional(Lstm(UNITS, return_sequences=True))
    return keras.Model([vectors, valid], layers.Dense(word_dim)(lstm(vectors, mask=valid)), name="inverse")


def _batches(
    sentences: Sequence[Sentence],
    private: Sequence[FloatArray],
    unit: FloatArray,
    size: int,
    rng: np.random.Generator,
) -> Any:  # noqa: ANN401 - an iterator of dictionaries of tensors
    for numbers in batch_numbers([len(one) for one in private], size, rng):
        lengths = np.array([len(private[i]) for i in numbers])
        longest = int(lengths.max())
        yield {
            "vectors": tf.constant(stacked([private[i] for i in numbers], longest, np.float32)),
            "words": tf.constant(stacked([unit[sentences[i].rows] for i in numbers], longest, np.float32)),
            "weights": tf.constant(stacked([sentences[i].rows > 0 for i in numbers], longest, np.float32)),
            "valid": tf.constant(np.arange(longest) < lengths[:, None]),
        }


def _recovered(inverse: keras.Model, scene: Scene, unit: FloatArray, rng: np.random.Generator) -> IntArray:
    """The word nearest to each answer at a PHI token: int32 (n_tokens,)."""
    found = [np.zeros(0, np.int32)]
    shared = encoded(scene.representer, scene.held_out, scene.matrix, rng)
    answers = _answers(inverse, [one.vectors for one in shared])
    for sentence, answer in zip(scene.held_out, answers, strict=True):
        if sentence.movable.any():
            found.append((answer[sentence.movable] @ unit[1:].T).argmax(axis=1).astype(np.int32) + 1)
    return np.concatenate(found)


def _answers(inverse: keras.Model, private: Sequence[FloatArray]) -> list[FloatArray]:
    """What the model says of every token: float32 (n_tokens, word_dim) a sentence, in order."""
    found = list(private)
    for numbers in batch_numbers([len(one) for one in private], _SCORING_BATCH, None):
        lengths = np.array([len(private[i]) for i in numbers])
        longest = int(lengths.max())
        vectors = stacked([private[i] for i in numbers], longest, np.float32)
        rows = inverse.predict_on_batch([vectors, np.arange(longest) < lengths[:, None]])
        for i, row in zip(numbers, rows, strict=True):
            found[i] = row[: len(private[i])]
    return found
