"""Sentences in, private sentences out: fresh noise for every one."""

from __future__ import annotations

from collections.abc import Sequence

import keras
import numpy as np

from inverse_deid.core.values import FloatArray
from inverse_deid.research.representations.batches import VectorSentence, batch_numbers, padded, with_vectors
from inverse_deid.research.representations.secret_draws import SecretNormal
from inverse_deid.research.representations.sentences import Sentence

_BATCH = 128


def encoded(
    representer: keras.Model,
    sentences: Sequence[Sentence],
    matrix: FloatArray,
    rng: np.random.Generator | SecretNormal | None,
) -> list[VectorSentence]:
    """Represent sentences, in order.

    Args:
        representer: From `load_representer`.
        sentences: Any.
        matrix: float32 (n_words + 1, word_dim), row 0 is zero.
        rng: Draws the noise. Anyone who can predict it can remove the noise, so released noise is
            drawn by `SecretNormal`. None = no noise.
    """
    given = with_vectors(sentences, matrix)
    found: list[VectorSentence] = list(given)
    dim = representer.output_shape[-1]
    for numbers in batch_numbers([len(sentence) for sentence in given], _BATCH, None):
        batch = padded([given[i] for i in numbers])
        draws_in, draws_out = _draws(batch.vectors.shape, rng), _draws((*batch.valid.shape, dim), rng)
        rows = representer.predict_on_batch([batch.vectors, draws_in, draws_out, batch.valid])
        for i, row in zip(numbers, rows, strict=True):
            found[i] = VectorSentence(row[: len(given[i])], given[i].casings, given[i].classes)
    return found


def _draws(shape: tuple[int, ...], rng: np.random.Generator | SecretNormal | None) -> FloatArray:
    return np.zeros(shape, np.float32) if rng is None else rng.standard_normal(shape, np.float32)
