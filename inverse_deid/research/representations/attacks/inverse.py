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

from inverse_deid.core.phi import HyperClass
from inverse_deid.core.values import FloatArray
from inverse_deid.research.representations.attacks.outcome import (
    Outcome,
    Scene,
    are_targets,
    blind_chance,
    outcome,
    targets,
)
from inverse_deid.research.representations.batches import VectorSentence, batch_numbers, stacked
from inverse_deid.research.representations.casing import N_CASINGS
from inverse_deid.research.representations.config import LearningConfig
from inverse_deid.research.representations.encoding import encoded
from inverse_deid.research.representations.sentences import Sentence
from inverse_deid.research.representations.steps import Say, epoch_loss, training_step

EPOCHS = 20
UNITS = 64
_SCORING_BATCH = 128


def inverse_model(scene: Scene, config: LearningConfig, say: Say, n_epochs: int = EPOCHS) -> list[Outcome]:
    """Learn the way back from the attacker's own documents and try it on those of others.

    The attacker has the published representation and encodes their documents again in every
    epoch. The model reads vectors, casings and classes, as a file has them. A token counts as
    recovered if the word nearest to the model's answer is the one.

    Args:
        scene: What he has and attacks.
        config: Rates, batches, seed.
        say: Gets a line at the end; numbers only.
        n_epochs: Of the inverse model.

    Returns:
        Of PHI tokens, and of safe ones.
    """
    keras.utils.set_random_seed(config.seed)
    rng = np.random.default_rng(config.seed)
    representer, matrix = scene.representer, scene.matrix
    inverse = _network(representer.output_shape[-1] + N_CASINGS + len(HyperClass), matrix.shape[1])
    unit = matrix / np.maximum(np.linalg.norm(matrix, axis=1, keepdims=True), 1e-9)

    def loss(given: dict[str, Any]) -> Any:  # noqa: ANN401 - a scalar tensor
        answers = tf.math.l2_normalize(inverse([given["vectors"], given["valid"]], training=True), axis=-1)
        cosines = tf.reduce_sum(answers * given["words"], axis=-1) * given["weights"]
        return 1.0 - tf.reduce_sum(cosines) / tf.maximum(tf.reduce_sum(given["weights"]), 1.0)

    step = training_step(loss, [inverse], config)
    for _ in range(n_epochs):
        private = _seen(encoded(representer, scene.known, matrix, rng))
        last = epoch_loss(
            step, ((batch,) for batch in _batches(scene.known, private, unit, config.batch, rng))
        )
    say(f"inverse model: loss {last:.4f}")
    answers = _answers(inverse, _seen(encoded(representer, scene.held_out, matrix, rng)))
    return [_recovered(scene, answers, unit, safe=safe) for safe in (False, True)]


def _seen(sentences: Sequence[VectorSentence]) -> list[FloatArray]:
    """What a file tells: vectors, casings, classes side by side, (n_tokens, dim + n_casings + n_classes)."""
    casings, classes = np.eye(N_CASINGS, dtype=np.float32), np.eye(len(HyperClass), dtype=np.float32)
    return [np.concatenate([s.vectors, casings[s.casings], classes[s.classes]], axis=1) for s in sentences]


def _network(dim: int, word_dim: int) -> keras.Model:
    vectors, valid = layers.Input((None, dim)), layers.Input((None,), dtype="bool")
    lstm = layers.Bidirectional(layers.LSTM(UNITS, return_sequences=True))
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


def _recovered(scene: Scene, answers: Sequence[FloatArray], unit: FloatArray, *, safe: bool) -> Outcome:
    """Count the tokens whose word is the nearest to the answer."""
    known, wanted = targets(scene.known, safe=safe), targets(scene.held_out, safe=safe)
    found = [np.zeros(0, np.int32)]
    for sentence, answer in zip(scene.held_out, answers, strict=True):
        attacked = answer[are_targets(sentence, safe=safe)]
        if len(attacked):
            found.append((attacked @ unit[1:].T).argmax(axis=1).astype(np.int32) + 1)
    chance = max(blind_chance(known, wanted), 1 / (len(unit) - 1))
    name = "inverse model (A1)" + (", safe words" if safe else "")
    return outcome(name, np.concatenate(found) == wanted.rows, wanted.documents.tolist(), chance)


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
