"""The most probable sequence of classes of a linear chain."""

from __future__ import annotations

import numpy as np

from inverse_deid.core.values import FloatArray, IntArray


def best_path(scores: FloatArray, transitions: FloatArray) -> IntArray:
    """Return the most probable sequence of classes, int32 (n_tokens,), given its scores.

    Scores are float32 (n_tokens, n_classes), transitions float32 (n_classes, n_classes), from row to column.
    Of equally probable sequences that of the lower classes at the end is returned.

    Source:
        Viterbi 1967; Rabiner 1989, section III B.
    """
    best = np.zeros_like(scores, np.float64)
    came_from = np.zeros(scores.shape, np.int32)
    path = np.zeros(len(scores), np.int32)
    if not len(scores):
        return path
    best[0] = scores[0]
    for t in range(1, len(scores)):
        reached = best[t - 1][:, None] + transitions
        came_from[t] = reached.argmax(axis=0)
        best[t] = reached.max(axis=0) + scores[t]
    path[-1] = best[-1].argmax()
    for t in range(len(scores) - 1, 0, -1):
        path[t - 1] = came_from[t, path[t]]
    return path
