"""Forward-backward over a linear chain of classes, in numpy, for use without TensorFlow.

Source: Rabiner 1989, section III; Lafferty, McCallum and Pereira 2001.
"""

from __future__ import annotations

import numpy as np

from inverse_deid.core.values import BoolArray, FloatArray


def marginals(scores: FloatArray, valid: BoolArray, transitions: FloatArray) -> FloatArray:
    """Return the marginal probability of each class at each token.

    Args:
        scores: float32 (batch, time, n_classes).
        valid: bool (batch, time), False on the padding at the end.
        transitions: float32 (n_classes, n_classes), from row to column.

    Returns:
        float32 (batch, time, n_classes); rows of real tokens sum to 1.
    """
    n_times = scores.shape[1]
    forward = np.empty_like(scores, np.float64)
    backward = np.zeros_like(forward)
    forward[:, 0] = scores[:, 0]
    for t in range(1, n_times):
        reached = _log_sum(forward[:, t - 1, :, None] + transitions, 1) + scores[:, t]
        forward[:, t] = np.where(valid[:, t, None], reached, forward[:, t - 1])
    for t in range(n_times - 2, -1, -1):
        ahead = (scores[:, t + 1] + backward[:, t + 1])[:, None, :] + transitions
        backward[:, t] = np.where(valid[:, t + 1, None], _log_sum(ahead, 2), backward[:, t + 1])
    total = forward + backward
    total -= total.max(axis=2, keepdims=True)
    probabilities = np.exp(total)
    found: FloatArray = (probabilities / probabilities.sum(axis=2, keepdims=True)).astype(np.float32)
    return found


def _log_sum(values: np.ndarray, axis: int) -> np.ndarray:
    top = values.max(axis=axis)
    summed: np.ndarray = top + np.log(np.exp(values - np.expand_dims(top, axis)).sum(axis=axis))
    return summed
