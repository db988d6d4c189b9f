"""An LSTM layer with its gradient written out: what Keras computes, faster on a CPU.

Automatic differentiation of a loop keeps every intermediate result of every step, and adds up
the gradients of the weights step by step. Here the loop keeps four arrays, and each weight
matrix gets its gradient in one product after the loop.

Source: Hochreiter and Schmidhuber 1997; the equations are those of Graves 2012, chapter 4,
without peepholes.
"""

from __future__ import annotations

from typing import Any

import keras
import tensorflow as tf
from keras import layers

Tensor = Any
"""Of the backend."""


@keras.saving.register_keras_serializable("inverse_deid")
class Lstm(layers.LSTM):  # type: ignore[misc]
    """`keras.layers.LSTM` with the usual activations; weights, options and results are the same.

    Where TensorFlow sees a GPU, or the layer is given a state or asked for one, it is Keras's own.
    """

    def call(
        self,
        sequences: Tensor,
        initial_state: Tensor = None,
        mask: Tensor = None,
        training: bool = False,
    ) -> Tensor:
        """Read sequences.

        Args:
            sequences: float32 (batch, time, dim).
            initial_state: As in Keras.
            mask: bool (batch, time); a step without is passed over.
            training: Whether dropout acts.

        Returns:
            float32 (batch, units), or (batch, time, units) with `return_sequences`, latest
            step first with `go_backwards`.
        """
        if initial_state is not None or not self._is_plain():
            return super().call(sequences, initial_state=initial_state, mask=mask, training=training)
        n_sequences = tf.shape(sequences)[0]
        if training and self.dropout:
            sequences *= self._kept(self.dropout, (n_sequences, 1, sequences.shape[2]))
        passed = self._kept(self.recurrent_dropout if training else 0.0, (n_sequences, self.units))
        real = tf.ones(tf.shape(sequences)[:2]) if mask is None else tf.cast(mask, tf.float32)
        by_time, real = tf.transpose(sequences, (1, 0, 2)), tf.transpose(real)[..., None]
        if self.go_backwards:
            by_time, real = by_time[::-1], real[::-1]
        weights = (self.cell.kernel, self.cell.recurrent_kernel, self.cell.bias)
        outputs = hidden_states(by_time, real, passed, *map(tf.convert_to_tensor, weights))
        return tf.transpose(outputs, (1, 0, 2)) if self.return_sequences else outputs[-1]

    def _is_plain(self) -> bool:
        """Whether the written-out gradient will do."""
        return not (self.stateful or self.return_state or tf.config.get_visible_devices("GPU"))

    def _kept(self, rate: float, shape: Tensor) -> Tensor:
        """One draw of dropout for all steps of a sequence."""
        kept = tf.ones(shape)
        return keras.random.dropout(kept, rate, seed=self.cell.seed_generator) if rate else kept


@tf.custom_gradient  # type: ignore[untyped-decorator]
def hidden_states(
    inputs: Tensor,
    real: Tensor,
    passed: Tensor,
    kernel: Tensor,
    recurrent: Tensor,
    bias: Tensor,
) -> Tensor:
    """Run an LSTM over sequences.

    Args:
        inputs: float32 (time, batch, dim), at least one step.
        real: float32 (time, batch, 1), 1 or 0: a step of 0 leaves the state as it is.
        passed: float32 (batch, units), what the hidden state is multiplied with on its way to the
            next step.
        kernel: float32 (dim, 4 * units), gates in the order of Keras: input, forget, cell, output.
        recurrent: float32 (units, 4 * units).
        bias: float32 (4 * units,).

    Returns:
        float32 (time, batch, units); no gradient reaches `real` and `passed`.
    """
    n_steps, n_sequences = tf.shape(inputs)[0], tf.shape(inputs)[1]
    dim, units = kernel.shape[0], recurrent.shape[0]
    flat_inputs = tf.reshape(inputs, (-1, dim))
    drive = tf.reshape(flat_inputs @ kernel + bias, (n_steps, n_sequences, 4 * units))
    nothing = tf.zeros((n_sequences, units))

    def forth(t: Tensor, hidden: Tensor, cell: Tensor, kept: Tensor) -> Tensor:
        i, f, g, o = tf.split(drive[t] + (hidden * passed) @ recurrent, 4, axis=1)
        i, f, g, o = tf.sigmoid(i), tf.sigmoid(f), tf.tanh(g), tf.sigmoid(o)
        new_cell = f * cell + i * g
        out = tf.tanh(new_cell)
        values = (hidden, cell, tf.concat([i, f, g, o], axis=1), out)
        kept = [array.write(t, value) for array, value in zip(kept, values, strict=True)]
        hidden += real[t] * (o * out - hidden)
        return t + 1, hidden, cell + real[t] * (new_cell - cell), kept

    begin = (0, nothing, nothing, [_steps(n_steps, n) for n in (units, units, 4 * units, units)])
    _, last, _, kept = tf.while_loop(lambda t, *_: t < n_steps, forth, begin, maximum_iterations=n_steps)
    hiddens, cells, gates, outs = (array.stack() for array in kept)

    def gradient(wanted: Tensor) -> Tensor:
        back_recurrent = tf.transpose(recurrent)

        def back(n_done: Tensor, of_hidden: Tensor, of_cell: Tensor, changes: Tensor) -> Tensor:
            t = n_steps - 1 - n_done
            of_hidden += wanted[t]
            i, f, g, o = tf.split(gates[t], 4, axis=1)
            reached = real[t] * of_hidden
            of_new = real[t] * of_cell + reached * o * (1 - outs[t] ** 2)
            change = tf.concat(
                [
                    of_new * g * i * (1 - i),
                    of_new * cells[t] * f * (1 - f),
                    of_new * i * (1 - g**2),
                    reached * outs[t] * o * (1 - o),
                ],
                axis=1,
            )
            of_hidden += passed * (change @ back_recurrent) - reached
            of_cell = of_cell - real[t] * of_cell + of_new * f
            return n_done + 1, of_hidden, of_cell, changes.write(t, change)

        begin = (0, nothing, nothing, _steps(n_steps, 4 * units))
        *_, changes = tf.while_loop(lambda n, *_: n < n_steps, back, begin, maximum_iterations=n_steps)
        flat = tf.reshape(changes.stack(), (-1, 4 * units))
        of_inputs = tf.reshape(tf.matmul(flat, kernel, transpose_b=True), tf.shape(inputs))
        of_kernel = tf.matmul(flat_inputs, flat, transpose_a=True)
        of_recurrent = tf.matmul(tf.reshape(hiddens * passed, (-1, units)), flat, transpose_a=True)
        return of_inputs, None, None, of_kernel, of_recurrent, tf.reduce_sum(flat, axis=0)

    return tf.concat([hiddens[1:], last[None]], axis=0), gradient


def _steps(n_steps: Tensor, n: int) -> tf.TensorArray:
    return tf.TensorArray(tf.float32, n_steps, element_shape=(None, n))
