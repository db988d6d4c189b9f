"""From an encoder in Keras to ONNX: one graph, built by hand as that of the network is.

Batch, length and number of tokens stay dynamic. The graph computes what the model computes without dropout.
"""

from __future__ import annotations

import math
import tempfile
from pathlib import Path

import keras
import numpy as np
from onnx import TensorProto, helper
from onnxruntime.quantization import QuantType, quantize_dynamic

from inverse_deid.network.export import Graph
from inverse_deid.training.encoders.encoder import EncoderBody, EncoderLayer, distance_bins

_FORBIDDEN = np.float32(-1e9)


def export_encoder(network: keras.Model) -> bytes:
    """Return the ONNX graph of an encoder in single precision.

    Inputs are those of `join_windows`; the output is `probabilities` float32 (n_tokens, n_classes).
    """
    graph = Graph()
    body: EncoderBody = network.get_layer("body")
    size = body.shape.hidden_size
    shapes = graph.constant("shape_vectors", network.get_layer("shape_vectors").get_weights()[0])
    graph.add("Gather", [shapes, "shapes"], "of_shape")
    mapped = graph.dense("features", network.get_layer("feature_map"))
    graph.add("Add", ["of_shape", mapped], "of_token")
    none = graph.constant("of_no_token", np.zeros((1, size), np.float32))
    graph.add("Concat", ["of_token", none], "of_token_or_none", axis=0)
    graph.add("Gather", ["of_token_or_none", "owners"], "of_piece")
    read = _add_body(graph, body, "of_piece")
    flat = graph.constant("flat_shape", np.array([-1, size], np.int64))
    graph.add("Reshape", [read, flat], "flat")
    graph.add("Gather", ["flat", "first"], "spoken", axis=0)
    hints = graph.dense("features", network.get_layer("feature_dense"))
    graph.add("Relu", [hints], "hints")
    graph.add("Concat", ["spoken", "hints"], "both", axis=1)
    scores = graph.dense("both", network.get_layer("classes"))
    output = graph.add("Softmax", [scores], "probabilities", axis=-1)
    n_features = len(network.get_layer("feature_map").get_weights()[0])
    n_classes = int(network.output_shape[-1])
    dims = {"pieces": ["b", "p"], "lengths": ["b"], "owners": ["b", "p"], "first": ["t"], "shapes": ["t"]}
    inputs = [helper.make_tensor_value_info(name, TensorProto.INT32, shape) for name, shape in dims.items()]
    inputs.append(helper.make_tensor_value_info("features", TensorProto.FLOAT, ["t", n_features]))
    return graph.model(inputs, helper.make_tensor_value_info(output, TensorProto.FLOAT, ["t", n_classes]))


def _add_body(graph: Graph, body: EncoderBody, added: str) -> str:
    """Add the pre-trained part: the vectors of all pieces (batch, length, size)."""
    first = body.shape.first_position
    words = graph.constant("words", body.words.get_weights()[0])
    graph.add("Gather", [words, "pieces"], "word_vectors")
    graph.add("Add", ["word_vectors", added], "word_and_token")
    table = graph.constant("positions", body.positions.get_weights()[0][first:])
    zero, one, two = (graph.constant(f"number_{n}", np.array([n], np.int64)) for n in (0, 1, 2))
    graph.add("Shape", ["pieces"], "shape_of_pieces")
    graph.add("Slice", ["shape_of_pieces", one, two], "length")
    graph.add("Slice", [table, zero, "length", zero], "position_vectors")
    graph.add("Add", ["word_and_token", "position_vectors"], "embedded")
    vectors = _add_norm(graph, body.norm, "embedded", "norm")
    scalar = graph.constant("no_axes", np.zeros(0, np.int64))
    graph.add("Reshape", ["length", scalar], "length_number")
    begin, step = (graph.constant(f"scalar_{n}", np.array(n, np.int64)) for n in (0, 1))
    graph.add("Range", [begin, "length_number", step], "places")
    graph.add("Cast", ["lengths"], "long_lengths", to=TensorProto.INT64)
    graph.add("Unsqueeze", ["long_lengths", one], "lengths_by_row")
    graph.add("Less", ["places", "lengths_by_row"], "is_piece")
    allowed = graph.constant("allowed", np.array(0, np.float32))
    graph.add("Where", ["is_piece", allowed, graph.constant("forbidden", np.array(_FORBIDDEN))], "mask")
    axes = graph.constant("axes_1_2", np.array([1, 2], np.int64))
    bias = graph.add("Unsqueeze", ["mask", axes], "mask_bias")
    if body.distances is not None:
        bias = graph.add("Add", [bias, _add_distances(graph, body)], "bias")
    for part in body.parts:
        vectors = _add_layer(graph, part, vectors, bias)
    return vectors


def _add_distances(graph: Graph, body: EncoderBody) -> str:
    """Add what distances add to attention, of MPNet: (1, heads, length, length)."""
    most = body.shape.max_position_embeddings
    table = body.distances.get_weights()[0] if body.distances is not None else np.zeros((0, 0))
    by_distance = table[distance_bins(len(table), most)]
    graph.add("Unsqueeze", ["places", "number_0"], "places_of_key")
    graph.add("Unsqueeze", ["places", "number_1"], "places_of_query")
    graph.add("Sub", ["places_of_key", "places_of_query"], "distances")
    graph.add(
        "Add", ["distances", graph.constant("offset", np.array(most - 1, np.int64))], "rows_of_distances"
    )
    graph.add("Gather", [graph.constant("by_distance", by_distance), "rows_of_distances"], "of_distances")
    graph.add("Transpose", ["of_distances"], "of_distances_by_head", perm=[2, 0, 1])
    return graph.add("Unsqueeze", ["of_distances_by_head", "number_0"], "distance_bias")


def _add_layer(graph: Graph, layer: EncoderLayer, vectors: str, bias: str) -> str:
    name, size = layer.name, layer.query.units
    heads = layer.heads
    split = graph.constant(f"{name}_split", np.array([0, 0, heads, size // heads], np.int64))
    joined = graph.constant(f"{name}_join", np.array([0, 0, size], np.int64))
    parts = {}
    for part, order in (("query", [0, 2, 1, 3]), ("key", [0, 2, 3, 1]), ("value", [0, 2, 1, 3])):
        one = graph.dense(vectors, getattr(layer, part), f"{name}_{part}")
        one = graph.add("Reshape", [one, split], f"{name}_{part}_split")
        parts[part] = graph.add("Transpose", [one], f"{name}_{part}_by_head", perm=order)
    scores = graph.add("MatMul", [parts["query"], parts["key"]], f"{name}_products")
    scale = graph.constant(f"{name}_scale", np.array(math.sqrt(size // heads), np.float32))
    scores = graph.add("Div", [scores, scale], f"{name}_scores")
    scores = graph.add("Add", [scores, bias], f"{name}_biased")
    shares = graph.add("Softmax", [scores], f"{name}_shares", axis=-1)
    seen = graph.add("MatMul", [shares, parts["value"]], f"{name}_seen")
    seen = graph.add("Transpose", [seen], f"{name}_seen_by_piece", perm=[0, 2, 1, 3])
    seen = graph.add("Reshape", [seen, joined], f"{name}_seen_joined")
    seen = graph.dense(seen, layer.joined, f"{name}_joined")
    seen = graph.add("Add", [vectors, seen], f"{name}_attended")
    vectors = _add_norm(graph, layer.attention_norm, seen, f"{name}_attention_norm")
    wide = _add_gelu(graph, graph.dense(vectors, layer.wide, f"{name}_wide"), f"{name}_wide")
    narrow = graph.dense(wide, layer.narrow, f"{name}_narrow")
    return _add_norm(graph, layer.norm, graph.add("Add", [vectors, narrow], f"{name}_read"), f"{name}_norm")


def _add_gelu(graph: Graph, source: str, name: str) -> str:
    root = graph.constant(f"{name}_root", np.array(math.sqrt(2), np.float32))
    one, half = (graph.constant(f"{name}_{n}", np.array(n, np.float32)) for n in (1, 0.5))
    divided = graph.add("Div", [source, root], f"{name}_divided")
    raised = graph.add("Add", [graph.add("Erf", [divided], f"{name}_erf"), one], f"{name}_raised")
    product = graph.add("Mul", [source, raised], f"{name}_gated")
    return graph.add("Mul", [product, half], f"{name}_gelu")


def _add_norm(graph: Graph, layer: keras.layers.LayerNormalization, source: str, name: str) -> str:
    scale, shift = layer.get_weights()
    parts = [graph.constant(f"{name}_scale", scale), graph.constant(f"{name}_shift", shift)]
    return graph.add(
        "LayerNormalization", [source, *parts], f"{name}_normal", axis=-1, epsilon=float(layer.epsilon)
    )


def round_weights(graph: bytes) -> bytes:
    """Return the graph with 8-bit weights of matrices and word vectors: a quarter of the size, and faster.

    One bit is left unused, since processors without VNNI add products of 8 bits in 16.
    """
    with tempfile.TemporaryDirectory() as folder:
        exact, rounded = Path(folder) / "exact.onnx", Path(folder) / "rounded.onnx"
        exact.write_bytes(graph)
        quantize_dynamic(
            exact,
            rounded,
            op_types_to_quantize=["MatMul", "Gather"],
            per_channel=True,
            reduce_range=True,
            weight_type=QuantType.QInt8,
            extra_options={"MatMulConstBOnly": True},
        )
        return rounded.read_bytes()
