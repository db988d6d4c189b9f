"""From Keras to ONNX: two graphs with the LSTM operator, built by hand.

Keras's own export of a bidirectional LSTM unrolls it or fails. Here the LSTM
operator takes sequence lengths, so that padding has no influence, and batch
and time stay dynamic. `characters.onnx` gives the vector of a distinct word;
`tokens.onnx` everything after it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import keras
import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from inverse_deid.core.errors import ModelError
from inverse_deid.core.values import FloatArray
from inverse_deid.core.wording import _
from inverse_deid.network.config import NetworkConfig
from inverse_deid.network.encoding import N_GAP_CHARACTERS

OPSET = 17
IR_VERSION = 9


class Graph:
    """Collects the nodes and constants of a graph under construction."""

    def __init__(self) -> None:
        self.nodes: list[onnx.NodeProto] = []
        self.constants: list[onnx.TensorProto] = []

    def constant(self, name: str, value: np.ndarray) -> str:
        """Add a constant, and return its name."""
        self.constants.append(numpy_helper.from_array(np.asarray(value, order="C"), name))
        return name

    def add(
        self, operator: str, inputs: Sequence[str], output: str, **attributes: float | Sequence[int]
    ) -> str:
        """Add a node, and return the name of its output."""
        node = helper.make_node(operator, list(inputs), [output], name=output)
        node.attribute.extend(helper.make_attribute(name, value) for name, value in attributes.items())
        self.nodes.append(node)
        return output

    def dense(self, source: str, layer: keras.Layer, name: str = "") -> str:
        """Add the linear part of a dense layer; `name` is its own unless given."""
        kernel, bias = layer.get_weights()
        name = name or layer.name
        product = self.add("MatMul", [source, self.constant(f"{name}_kernel", kernel)], f"{name}_product")
        return self.add("Add", [product, self.constant(f"{name}_bias", bias)], f"{name}_sum")

    def bidirectional_lstm(self, source: str, lengths: str, layer: keras.Layer, outputs: list[str]) -> None:
        """Add an LSTM over (time, batch, size); `outputs` name Y and Y_h, "" leaves one out."""
        name, hidden = layer.name, layer.forward_layer.units
        w, r, b = lstm_weights(layer)
        parts = [self.constant(f"{name}_{k}", v) for k, v in (("w", w), ("r", r), ("b", b))]
        self.nodes.append(
            helper.make_node(
                "LSTM",
                [source, *parts, lengths],
                outputs,
                name=name,
                hidden_size=hidden,
                direction="bidirectional",
            )
        )

    def model(self, inputs: Sequence[onnx.ValueInfoProto], output: onnx.ValueInfoProto) -> bytes:
        """Return the checked model."""
        graph = helper.make_graph(self.nodes, "inverse_deid", inputs, [output], self.constants)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)])
        model.ir_version = IR_VERSION
        model.producer_name = "inverse-deid"
        onnx.checker.check_model(model)
        return bytes(model.SerializeToString())


def lstm_weights(layer: keras.Layer) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the weights of a bidirectional Keras LSTM in the order of ONNX.

    Returns:
        W float32 (2, 4h, n_inputs), R float32 (2, 4h, h), B float32 (2, 8h), gates i, o, f, c.
    """
    ws, rs, bs = [], [], []
    for one in (layer.forward_layer, layer.backward_layer):
        kernel, recurrent, bias = (np.asarray(w) for w in one.cell.get_weights())
        ws.append(_iofc(kernel).T)
        rs.append(_iofc(recurrent).T)
        bs.append(np.concatenate([_iofc(bias[None])[0], np.zeros_like(bias)]))
    return np.stack(ws), np.stack(rs), np.stack(bs)


def _iofc(gates: FloatArray) -> FloatArray:
    """Reorder the gates of the last axis from Keras's i, f, c, o."""
    i, f, c, o = np.split(gates, 4, axis=-1)
    return np.concatenate([i, o, f, c], axis=-1)


def export_characters(network: keras.Model) -> bytes:
    """Return the graph of the character encoder.

    Inputs: `codes` int32 (n, length) and `lengths` int32 (n,).
    Output: `vectors` float32 (n, 2 * char_units).
    """
    encoder = network.get_layer("character_encoder")
    lstm = encoder.get_layer("character_lstm")
    graph = Graph()
    table = graph.constant("character_table", encoder.get_layer("character_embedding").get_weights()[0])
    graph.add("Transpose", ["codes"], "codes_by_time", perm=[1, 0])
    graph.add("Gather", [table, "codes_by_time"], "embedded")
    graph.bidirectional_lstm("embedded", "lengths", lstm, ["", "last"])
    graph.add("Transpose", ["last"], "last_by_word", perm=[1, 0, 2])
    shape = graph.constant("shape", np.array([0, 2 * lstm.forward_layer.units], np.int64))
    graph.add("Reshape", ["last_by_word", shape], "vectors")
    return graph.model(
        [
            helper.make_tensor_value_info("codes", TensorProto.INT32, ["n", "length"]),
            helper.make_tensor_value_info("lengths", TensorProto.INT32, ["n"]),
        ],
        helper.make_tensor_value_info("vectors", TensorProto.FLOAT, ["n", 2 * lstm.forward_layer.units]),
    )


def export_tokens(network: keras.Model, config: NetworkConfig, n_features: int) -> bytes:
    """Return the graph from a batch of token inputs to class probabilities.

    Inputs: `word_vectors` float32 (batch, time, 2 * char_units + word_dim), the
    character vector and the word vector of each token; `gaps` int32 (batch, time, 3);
    `features` float32 (batch, time, n_features); `lengths` int32 (batch,).
    Output: `probabilities` float32 (batch, time, n_classes); the scores of the classes
    where a CRF follows, which the scorer computes itself.
    """
    graph = Graph()
    inputs = [_input("word_vectors", TensorProto.FLOAT, 2 * config.char_units + config.word_dim)]
    parts = ["word_vectors"]
    if config.post_space:
        inputs.append(_input("gaps", TensorProto.INT32, N_GAP_CHARACTERS))
        parts.append(_gap_vectors(graph, network, config))
    if n_features:
        inputs.append(_input("features", TensorProto.FLOAT, n_features))
        hidden = graph.dense("features", network.get_layer("feature_dense"))
        parts.append(graph.add("Relu", [hidden], "feature_vectors"))
    graph.add("Concat", parts, "token_vectors", axis=2)
    vectors = "token_vectors"
    if config.narrow_units:
        vectors = graph.dense(vectors, network.get_layer("narrow_dense"))
    source = graph.add("Transpose", [vectors], "by_time", perm=[1, 0, 2])
    for i in range(config.token_layers):
        source = _token_layer(graph, network.get_layer(f"token_lstm_{i}"), source)
    graph.add("Transpose", [source], "by_batch", perm=[1, 0, 2])
    hidden = "by_batch"
    if config.hidden_units:
        hidden = graph.add("Tanh", [graph.dense(hidden, network.get_layer("hidden_dense"))], "hidden")
    logits = graph.dense(hidden, network.get_layer("classes"))
    output = logits
    if config.output == "softmax":
        output = graph.add("Softmax", [logits], "probabilities", axis=-1)
    inputs.append(helper.make_tensor_value_info("lengths", TensorProto.INT32, ["batch"]))
    n_classes = network.output_shape[-1]
    return graph.model(inputs, _input(output, TensorProto.FLOAT, n_classes))


def _input(name: str, kind: int, size: int) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, kind, ["batch", "time", size])


def _gap_vectors(graph: Graph, network: keras.Model, config: NetworkConfig) -> str:
    table = graph.constant("gap_table", network.get_layer("gap_embedding").get_weights()[0])
    graph.add("Gather", [table, "gaps"], "gap_embedded")
    shape = graph.constant("gap_shape", np.array([0, 0, N_GAP_CHARACTERS * config.gap_dim], np.int64))
    return graph.add("Reshape", ["gap_embedded", shape], "gap_vectors")


def _token_layer(graph: Graph, layer: keras.Layer, source: str) -> str:
    """Add a BiLSTM over (time, batch, size); its output is (time, batch, 2 * units)."""
    name = layer.name
    graph.bidirectional_lstm(source, "lengths", layer, [f"{name}_y"])
    graph.add("Transpose", [f"{name}_y"], f"{name}_by_token", perm=[0, 2, 1, 3])
    shape = graph.constant(f"{name}_shape", np.array([0, 0, 2 * layer.forward_layer.units], np.int64))
    return graph.add("Reshape", [f"{name}_by_token", shape], f"{name}_joined")


def all_weights(network: keras.Model) -> Mapping[str, FloatArray]:
    """Return every weight by its path, for later fine-tuning, without the word vectors.

    The vector of unknown words takes in the first row of the word vectors, which
    every unknown word reads as well: zero, or what `learn_words` made of it.
    """
    first_row = network.get_layer("word_embedding").get_weights()[0][:1]
    (unknown,) = network.get_layer("unknown_word").weights
    weights = {
        variable.path: np.asarray(variable)
        for variable in network.weights
        if not variable.path.startswith("word_embedding/")
    }
    return {**weights, unknown.path: np.asarray(unknown) + first_row}


def read_word_matrix(network: keras.Model) -> FloatArray:
    """Return the word vectors after training: float32 (n_words, word_dim)."""
    matrix: FloatArray = np.asarray(network.get_layer("word_embedding").get_weights()[0], np.float32)[1:]
    return matrix


def load_weights(network: keras.Model, weights: Mapping[str, FloatArray]) -> None:
    """Give a freshly built network the weights of a model folder.

    Raises:
        ModelError: The network has another shape than the weights.
    """
    for variable in network.weights:
        if variable.path.startswith("word_embedding/"):
            continue
        weight = weights.get(variable.path)
        if weight is None or tuple(weight.shape) != tuple(variable.shape):
            raise ModelError(
                _("the model has no fitting weight {path}. Train it with this version", path=variable.path)
            )
        variable.assign(weight)
