"""Make a smaller network out of a trained one, as the start of its own training.

Three parts change. A linear layer projects the inputs of the LSTM to a few numbers per token: those that keep
most of what its gates receive. Of the units of the LSTM, those stay from which the others are predicted
best, and their outgoing weights take in what they predict. All other weights are copied. The result is
worse than the large network until it has been trained.

Source: Eckart and Young 1936 (the best matrix of low rank, here under the covariance of the inputs);
Mariet and Sra 2016, "Diversity networks", section 3.2 (fusing pruned units into the others by least squares).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import keras
import numpy as np
import numpy.typing as npt

from inverse_deid.core.errors import ConfigurationError
from inverse_deid.core.values import Document, FloatArray
from inverse_deid.core.wording import _
from inverse_deid.lexicon import load_lexicon
from inverse_deid.masking.scorers import feature_names
from inverse_deid.network.batches import Example, batches
from inverse_deid.network.config import NetworkConfig
from inverse_deid.network.export import load_weights
from inverse_deid.network.folder import ModelParts
from inverse_deid.network.network import build_network
from inverse_deid.training.examples import ExampleMaker, Weights
from inverse_deid.training.run import model_parts

_LSTM, _NARROW = "token_lstm_0", "narrow_dense"
_BATCH_TOKENS = 8192
_SMALL = 1e-6
"""Added to variances, so that inputs which never vary can be divided by."""


def compress_network(large: ModelParts, config: NetworkConfig, docs: Sequence[Document]) -> ModelParts:
    """Return a network of other sizes with the knowledge of a larger one; it is not calibrated.

    Args:
        large: A network with one LSTM and without a linear layer before it.
        config: Its settings with `narrow_units`, and as many or fewer `token_units`.
        docs: Training documents. Only what the network computes on them is used, not their labels.

    Raises:
        ConfigurationError: Other settings differ, or the new network is not smaller.
    """
    check_sizes(large.network, config)
    n_features = len(feature_names(config.feature_set))
    vectors = large.word_vectors
    source = build_network(large.network, n_features, vectors.matrix())
    load_weights(source, large.weights)
    target = build_network(config, n_features, vectors.matrix())
    maker = ExampleMaker(large.network, load_lexicon(), vectors)
    copy_knowledge(source, target, [maker.make(doc, Weights()) for doc in docs])
    return model_parts(target, config, vectors)


def copy_knowledge(source: keras.Model, target: keras.Model, examples: Sequence[Example]) -> None:
    """Give a smaller network the weights of a larger one, as near as its sizes allow on the examples."""
    inputs, states = _read_activations(source, examples)
    for layer in target.layers:
        if layer.weights and layer.name not in (_LSTM, _NARROW, "classes"):
            layer.set_weights(source.get_layer(layer.name).get_weights())
    _fill_token_layers(source, target, inputs, states)


def check_sizes(large: NetworkConfig, small: NetworkConfig) -> None:
    """Check that a network of some settings can be compressed to others.

    Raises:
        ConfigurationError: Other settings differ, or the new network is not smaller.
    """
    changed = {name for name in large.__struct_fields__ if getattr(large, name) != getattr(small, name)}
    changed -= {"narrow_units", "token_units", "dropout"}
    if changed:
        raise ConfigurationError(
            _("the networks differ in {changed}. Make them equal", changed=", ".join(sorted(changed)))
        )
    if large.narrow_units or large.token_layers != 1 or large.hidden_units:
        raise ConfigurationError(
            _("only a network of one LSTM without dense layers around it can be compressed")
        )
    if not small.narrow_units or small.token_units > large.token_units:
        raise ConfigurationError(_("give narrow_units, and no more token_units than the large network has"))


def _read_activations(network: keras.Model, examples: Sequence[Example]) -> tuple[FloatArray, FloatArray]:
    """Return what the LSTM receives, (n_tokens, n_inputs), and what it returns, (n_tokens, 2 * units)."""
    reader = keras.Model(
        network.inputs, [network.get_layer("token_vector").output, network.get_layer(_LSTM).output]
    )
    names = [t.name for t in network.inputs]
    length = int(network.get_layer("characters").output.shape[1])
    found = []
    for batch in batches([one for one in examples if len(one)], _BATCH_TOKENS, length):
        rows = reader.predict_on_batch({name: batch.inputs[name] for name in names})
        found.append([np.asarray(some)[batch.inputs["valid"]] for some in rows])
    inputs, states = (np.concatenate(some) for some in zip(*found, strict=True))
    return inputs, states


def _fill_token_layers(
    source: keras.Model, target: keras.Model, inputs: FloatArray, states: FloatArray
) -> None:
    """Set the weights of the linear layer, of the LSTM in both directions, and of the classes."""
    large, small = source.get_layer(_LSTM), target.get_layer(_LSTM)
    class_kernel, class_bias = source.get_layer("classes").get_weights()
    n_units, n_kept = large.forward_layer.units, small.forward_layer.units
    kernels, rest, class_kernels = [], [], []
    for i, layer in enumerate((large.forward_layer, large.backward_layer)):
        kernel, recurrent, bias = layer.cell.get_weights()
        own = slice(i * n_units, (i + 1) * n_units)
        use = np.concatenate([recurrent, class_kernel[own]], axis=1)
        kept, merge, shift = merge_units(states[:, own], use, n_kept)
        columns = np.concatenate([gate * n_units + kept for gate in range(4)])
        kernels.append(kernel[:, columns])
        rest.append([(merge @ recurrent)[:, columns], (bias + shift @ recurrent)[columns]])
        class_kernels.append(merge @ class_kernel[own])
        class_bias = class_bias + shift @ class_kernel[own]
    both = np.concatenate(kernels, axis=1)
    narrow, offset, wide = project(inputs, both, target.get_layer(_NARROW).units)
    target.get_layer(_NARROW).set_weights([narrow, offset])
    means = np.split(inputs.mean(axis=0) @ both, 2)
    for layer, kernel, mean, (recurrent, bias) in zip(
        (small.forward_layer, small.backward_layer), np.split(wide, 2, axis=1), means, rest, strict=True
    ):
        layer.cell.set_weights([kernel, recurrent, bias + mean])
    target.get_layer("classes").set_weights([np.concatenate(class_kernels), class_bias])


def merge_units(
    states: FloatArray, use: FloatArray, n_kept: int
) -> tuple[npt.NDArray[np.intp], FloatArray, FloatArray]:
    """Choose the units to keep, and predict all from them.

    One unit after the other is dropped: the one whose loss costs least.

    Args:
        states: float32 (n_tokens, n_units).
        use: float32 (n_units, n): the weights by which the states are used. Errors count by their size there.
        n_kept: In [1, n_units].

    Returns:
        The kept units, ascending; `merge` float32 (n_kept, n_units) and `shift` float32 (n_units,), with
        `states[:, kept] @ merge + shift` near `states`.
    """
    means = states.mean(axis=0)
    covariance = np.cov(states.T.astype(np.float64)) + _SMALL * np.eye(states.shape[1])
    weight = use.astype(np.float64) @ use.T.astype(np.float64)
    kept = list(range(states.shape[1]))
    while len(kept) > n_kept:
        costs = []
        for unit in kept:
            others = [one for one in kept if one != unit]
            lost = covariance - covariance[:, others] @ _solve(covariance, others)
            costs.append(np.sum(weight * lost))
        kept.pop(int(np.argmin(costs)))
    merge = _solve(covariance, kept)
    return (
        np.array(kept, np.intp),
        merge.astype(np.float32),
        (means - means[kept] @ merge).astype(np.float32),
    )


def _solve(covariance: npt.NDArray[np.float64], known: list[int]) -> npt.NDArray[Any]:
    """Return the least-squares weights that predict all variables from the known ones."""
    return np.linalg.solve(covariance[np.ix_(known, known)], covariance[known])


def project(inputs: FloatArray, kernel: FloatArray, rank: int) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Split the product of inputs and kernel in two, with few numbers between them.

    Args:
        inputs: float32 (n_tokens, n_inputs).
        kernel: float32 (n_inputs, n_outputs).
        rank: How many numbers per token; each has mean 0 and variance 1.

    Returns:
        `narrow` float32 (n_inputs, rank), `offset` float32 (rank,) and `wide` float32 (rank, n_outputs), with
        `(inputs @ narrow + offset) @ wide` as near as possible to `(inputs - mean) @ kernel`.
    """
    mean = inputs.mean(axis=0)
    covariance = np.cov(inputs.T.astype(np.float64)) + _SMALL * np.eye(inputs.shape[1])
    variances, basis = np.linalg.eigh(covariance)
    deviations = np.sqrt(variances)
    left, sizes, right = np.linalg.svd((basis * deviations).T @ kernel, full_matrices=False)
    narrow = (basis / deviations) @ left[:, :rank]
    wide = sizes[:rank, None] * right[:rank]
    return narrow.astype(np.float32), (-mean @ narrow).astype(np.float32), wide.astype(np.float32)
