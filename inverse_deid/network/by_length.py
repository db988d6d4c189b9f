"""Short words apart from long ones, so that a network reads few characters of most words."""

from __future__ import annotations

from typing import Any

import tensorflow as tf
from keras import layers


class ByLength(layers.Layer):  # type: ignore[misc]
    """Deals words out to groups by their number of characters.

    `call` takes codes int32 (n, length), 0 = padding at the end, and gives for each group the
    rows int32 (n_of_group,) of its words and their codes, cut behind the longest that may come.

    Args:
        limits: Most characters of a word of each group but the last, ascending.
    """

    def __init__(self, limits: tuple[int, ...], **options: Any) -> None:  # noqa: ANN401 - as Keras declares it
        super().__init__(**options)
        self._limits = limits

    def call(self, codes: Any) -> list[tuple[Any, Any]]:  # noqa: ANN401 - tensors of the backend
        """Rows and codes of each group; a group may be empty."""
        lengths = tf.math.count_nonzero(codes, axis=1, dtype=tf.int32)
        longest = tf.reduce_max(lengths)
        groups, shorter = [], -1
        for limit in (*self._limits, codes.shape[1]):
            rows = tf.cast(tf.where((lengths > shorter) & (lengths <= limit))[:, 0], tf.int32)
            groups.append((rows, tf.gather(codes, rows)[:, : tf.clip_by_value(longest, 1, limit)]))
            shorter = limit
        return groups


class InOrder(layers.Layer):  # type: ignore[misc]
    """Puts what was made of groups in the order of the words: the way back from `ByLength`."""

    def call(self, rows: list[Any], vectors: list[Any]) -> Any:  # noqa: ANN401
        """Vectors float32 (n_of_group, dim) of each group to (n, dim)."""
        return tf.dynamic_stitch(rows, vectors)
