"""An LSTM whose gates are coupled: one decides what is new in a cell and, as its complement, what is kept.

Source: Festag and Spreckelsen (JMIR Form Res 2020;4(5):e14064), whose LSTMs are such.
"""

from __future__ import annotations

import keras
import tensorflow as tf

from inverse_deid.network.lstm import PackedLSTM


@keras.saving.register_keras_serializable(package="inverse_deid_research")
class CoupledLSTM(PackedLSTM):
    """As `PackedLSTM`, on a processor only, with 1 - input gate as the forget gate.

    Its weights are those of input gate, candidate and output gate. At first a cell keeps most of what it
    has, as in other LSTMs, whose forget gate begins with a bias of 1.

    Raises:
        ValueError: As for `PackedLSTM`.
    """

    def build(self, sequences_shape: tuple[int | None, ...], initial_state_shape: None = None) -> None:
        """Make the weights of three gates instead of four."""
        cell = self.cell
        if not cell.built:
            n_columns = 3 * self.units
            begin = [-1.0] * self.units + [0.0] * 2 * self.units
            cell.kernel = cell.add_weight(
                shape=(sequences_shape[-1], n_columns), name="kernel", initializer=cell.kernel_initializer
            )
            cell.recurrent_kernel = cell.add_weight(
                shape=(self.units, n_columns),
                name="recurrent_kernel",
                initializer=cell.recurrent_initializer,
            )
            cell.bias = cell.add_weight(
                shape=(n_columns,), name="bias", initializer=lambda shape, dtype: tf.reshape(begin, shape)
            )
            cell.built = True
        super().build(sequences_shape, initial_state_shape)

    def weights_of_gates(self) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
        """Return kernel, recurrent kernel and bias of four gates: 1 - sigmoid(x) is sigmoid(-x)."""
        kernel, recurrent_kernel, bias = super().weights_of_gates()
        return _add_forget_gate(kernel), _add_forget_gate(recurrent_kernel), _add_forget_gate(bias)


def _add_forget_gate(weights: tf.Tensor) -> tf.Tensor:
    in_gate, candidate, out_gate = tf.split(weights, 3, axis=-1)
    return tf.concat([in_gate, -in_gate, candidate, out_gate], axis=-1)
