"""A pre-trained encoder that tells the classes of tokens, in Keras: layers, model, weights in files.

The encoder reads word pieces. To their vectors are added a learned vector of the token's shape and a linear
map of its rule features. The first piece of a token speaks for it. The word vectors stay as they are.

Source: Devlin et al. 2019; Wang et al. 2020 (MiniLM), whose weights the packaged second reader starts from;
Song et al. 2020 (MPNet), whose weights the teacher starts from.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import keras
import numpy as np
from keras import layers, ops

from inverse_deid.core.errors import ConfigurationError
from inverse_deid.core.values import FloatArray, IntArray
from inverse_deid.core.wording import _
from inverse_deid.network.pieces import N_SHAPES
from inverse_deid.training.config import EncoderConfig
from inverse_deid.training.encoders.weights import (
    Tensors,
    names_of_layer,
    read_tensors,
    without_prefix,
    write_tensors,
)

INPUT_NAMES = ("pieces", "lengths", "owners", "first", "shapes", "features")
"""Inputs of the network, and of its graph in order, as `join_windows` returns them."""
FEATURE_UNITS = 48
READING_ERRORS = (OSError, EOFError, KeyError, TypeError, ValueError)
"""What reading damaged weights can raise."""
HEADS = ("shape_vectors", "feature_map", "feature_dense", "classes")
"""The layers beside the encoder's body, which are not pre-trained."""
_DENSE = ("wide", "narrow")
_FORBIDDEN = -1e9
_FARTHEST = 128


@dataclass(frozen=True, slots=True, kw_only=True)
class BodyShape:
    """The shape of an encoder, by the names of its `config.json`."""

    model_type: str = "bert"
    vocab_size: int
    hidden_size: int
    num_hidden_layers: int
    num_attention_heads: int
    intermediate_size: int
    max_position_embeddings: int = 512
    layer_norm_eps: float = 1e-12
    hidden_dropout_prob: float = 0.1
    relative_attention_num_buckets: int = 0

    @property
    def first_position(self) -> int:
        """The row of the first position: MPNet counts from that of padding on."""
        return 2 if self.model_type == "mpnet" else 0


class Positions(layers.Layer):  # type: ignore[misc]
    """Adds the learned vector of its position to each piece: float32 (batch, length, size)."""

    def __init__(self, shape: BodyShape, **options: Any) -> None:  # noqa: ANN401
        super().__init__(**options)
        self._shape = shape

    def build(self, input_shape: Sequence[int | None]) -> None:
        """Make the table."""
        self.table = self.add_weight(
            shape=(self._shape.max_position_embeddings, input_shape[-1]), initializer=_small(), name="table"
        )

    def call(self, vectors: Any) -> Any:  # noqa: ANN401 - tensors of the backend
        """Return the sum."""
        first = self._shape.first_position
        return vectors + ops.cast(self.table[first : first + ops.shape(vectors)[1]], vectors.dtype)


class Distances(layers.Layer):  # type: ignore[misc]
    """Returns what the distance of two pieces adds to their attention: (1, heads, length, length)."""

    def __init__(self, shape: BodyShape, **options: Any) -> None:  # noqa: ANN401
        super().__init__(**options)
        self._shape = shape

    def build(self, input_shape: Sequence[int | None]) -> None:
        """Make the table."""
        shape = (self._shape.relative_attention_num_buckets, self._shape.num_attention_heads)
        self.table = self.add_weight(shape=shape, initializer=_small(), name="table")

    def call(self, vectors: Any) -> Any:  # noqa: ANN401
        """Look up the distances of all pieces of a window."""
        most = self._shape.max_position_embeddings
        bins = ops.convert_to_tensor(distance_bins(self._shape.relative_attention_num_buckets, most))
        places = ops.arange(ops.shape(vectors)[1])
        found = ops.take(bins, places[None, :] - places[:, None] + most - 1, axis=0)
        return ops.transpose(ops.cast(ops.take(self.table, found, axis=0), vectors.dtype), (2, 0, 1))[None]


def distance_bins(n_bins: int, most: int) -> IntArray:
    """Return the bin of each distance from `1 - most` to `most - 1`: int32 (2 * most - 1,).

    Half of the bins are for pieces that come later. Small distances have a bin each.
    """
    distances = np.arange(1 - most, most)
    half, exact = n_bins // 2, n_bins // 4
    size = np.abs(distances)
    scale = np.log(np.maximum(size, 1).astype(np.float32) / exact) / math.log(_FARTHEST / exact)
    large = np.minimum(exact + (scale * (half - exact)).astype(np.int64), half - 1)
    found = np.where(size < exact, size, large) + np.where(distances > 0, half, 0)
    return np.asarray(found, np.int32)


class EncoderLayer(layers.Layer):  # type: ignore[misc]
    """One layer: every piece attends to all pieces of its window, then a dense layer reads each."""

    def __init__(self, shape: BodyShape, **options: Any) -> None:  # noqa: ANN401
        super().__init__(**options)
        size, kind = shape.hidden_size, self.dtype_policy
        self.heads = shape.num_attention_heads

        def dense(name: str, units: int = size, activation: Any = None) -> layers.Dense:  # noqa: ANN401
            return layers.Dense(units, activation, kernel_initializer=_small(), name=name, dtype=kind)

        self.query, self.key, self.value = dense("query"), dense("key"), dense("value")
        self.joined, self.narrow = dense("joined"), dense("narrow")
        self.wide = dense("wide", shape.intermediate_size, keras.activations.gelu)
        eps = shape.layer_norm_eps
        self.attention_norm = layers.LayerNormalization(epsilon=eps, name="attention_norm", dtype=kind)
        self.norm = layers.LayerNormalization(epsilon=eps, name="norm", dtype=kind)
        self.attention_dropout = layers.Dropout(shape.hidden_dropout_prob, dtype=kind)
        self.dropout = layers.Dropout(shape.hidden_dropout_prob, dtype=kind)

    def build(self, input_shape: Sequence[int | None], *_: object) -> None:
        """Make the weights."""
        size = input_shape[-1]
        for part in (self.query, self.key, self.value, self.joined, self.wide):
            part.build((None, None, size))
        self.narrow.build((None, None, self.wide.units))
        for part in (self.attention_norm, self.norm):
            part.build((None, None, size))

    def call(self, vectors: Any, bias: Any, training: bool = False) -> Any:  # noqa: ANN401
        """Return vectors of the same shape; `bias` (batch, 1 or heads, 1 or length, length) is added."""
        batch, length, size = ops.shape(vectors)
        size = vectors.shape[-1]
        split = (batch, length, self.heads, size // self.heads)
        query, key, value = (
            ops.transpose(ops.reshape(part(vectors), split), (0, 2, 1, 3))
            for part in (self.query, self.key, self.value)
        )
        scores = ops.matmul(query, ops.transpose(key, (0, 1, 3, 2))) / math.sqrt(size // self.heads)
        seen = ops.matmul(ops.softmax(scores + bias, axis=-1), value)
        joined = self.joined(ops.reshape(ops.transpose(seen, (0, 2, 1, 3)), (batch, length, size)))
        vectors = self.attention_norm(vectors + self.attention_dropout(joined, training=training))
        read = self.narrow(self.wide(vectors))
        return self.norm(vectors + self.dropout(read, training=training))


class EncoderBody(layers.Layer):  # type: ignore[misc]
    """The pre-trained part: from pieces int32 (batch, length) and lengths (batch,) to vectors of pieces."""

    def __init__(self, shape: BodyShape, **options: Any) -> None:  # noqa: ANN401
        super().__init__(**options)
        kind = self.dtype_policy
        self.shape = shape
        self.words = layers.Embedding(
            shape.vocab_size, shape.hidden_size, _small(), trainable=False, name="words", dtype=kind
        )
        self.positions = Positions(shape, name="positions", dtype=kind)
        self.norm = layers.LayerNormalization(epsilon=shape.layer_norm_eps, name="norm", dtype=kind)
        self.dropout = layers.Dropout(shape.hidden_dropout_prob, dtype=kind)
        self.distances = (
            Distances(shape, name="distances", dtype=kind) if shape.model_type == "mpnet" else None
        )
        self.parts = [
            EncoderLayer(shape, name=f"layer_{i}", dtype=kind) for i in range(shape.num_hidden_layers)
        ]

    def build(self, *_: object) -> None:
        """Make the weights."""
        shape = (None, None, self.shape.hidden_size)
        self.words.build((None, None))
        for part in (self.positions, self.norm, *self.parts):
            part.build(shape)
        if self.distances is not None:
            self.distances.build(shape)

    def call(self, pieces: Any, lengths: Any, added: Any = None, training: bool = False) -> Any:  # noqa: ANN401
        """Return float32 (batch, length, size); `added`, of that shape, is added to the word vectors."""
        return self.states(pieces, lengths, added, training)[-1]

    def states(self, pieces: Any, lengths: Any, added: Any = None, training: bool = False) -> list[Any]:  # noqa: ANN401
        """Return the vectors before the first layer and after each."""
        vectors = self.words(pieces)
        vectors = self.norm(self.positions(vectors if added is None else vectors + added))
        vectors = self.dropout(vectors, training=training)
        is_piece = ops.arange(ops.shape(pieces)[1])[None, :] < ops.cast(lengths, "int32")[:, None]
        bias = ops.where(is_piece, 0.0, _FORBIDDEN)[:, None, None, :]
        bias = ops.cast(bias, vectors.dtype)
        if self.distances is not None:
            bias = bias + self.distances(vectors)
        found = [vectors]
        for part in self.parts:
            found.append(part(found[-1], bias, training=training))
        return found

    def compute_output_shape(self, pieces: Sequence[int | None], *_: object) -> tuple[int | None, ...]:
        """Return the shape of the vectors."""
        return (*pieces, self.shape.hidden_size)


def build_encoder(body: EncoderBody, n_features: int, n_classes: int) -> keras.Model:
    """Build the network around a body.

    Returns:
        A model of the inputs that `join_windows` describes. The output is float32 (n_tokens, n_classes),
        class probabilities, of which the first is `p_safe`.
    """
    size, kind = body.shape.hidden_size, body.dtype_policy
    inputs = {
        "pieces": layers.Input((None,), dtype="int32", name="pieces"),
        "lengths": layers.Input((), dtype="int32", name="lengths"),
        "owners": layers.Input((None,), dtype="int32", name="owners"),
        "first": layers.Input((), dtype="int32", name="first"),
        "shapes": layers.Input((), dtype="int32", name="shapes"),
        "features": layers.Input((n_features,), dtype="float32", name="features"),
    }
    features = inputs["features"]
    shapes = layers.Embedding(N_SHAPES, size, _small(), name="shape_vectors", dtype=kind)(inputs["shapes"])
    mapped = layers.Dense(size, kernel_initializer=_small(0.005), name="feature_map", dtype=kind)(features)
    of_token = ops.pad(shapes + mapped, ((0, 1), (0, 0)))  # the last row is for pieces without a token
    added = ops.take(of_token, inputs["owners"], axis=0)
    read = body(inputs["pieces"], inputs["lengths"], added)
    spoken = ops.take(ops.reshape(read, (-1, size)), inputs["first"], axis=0)
    hints = layers.Dense(FEATURE_UNITS, "relu", name="feature_dense", dtype=kind)(features)
    both = layers.Concatenate(dtype=kind)([spoken, hints])
    output = layers.Dense(n_classes, "softmax", name="classes", dtype="float32")(both)
    return keras.Model(inputs, output, name="encoder_network")


class Guesses(layers.Layer):  # type: ignore[misc]
    """Scores all pieces for hidden ones: a dense layer that begins as the identity, then the word vectors."""

    def __init__(self, words: layers.Embedding, **options: Any) -> None:  # noqa: ANN401
        super().__init__(**options)
        self._words = words
        size, kind = words.output_dim, self.dtype_policy
        self.dense = layers.Dense(
            size, keras.activations.gelu, kernel_initializer="identity", name="dense", dtype=kind
        )
        self.norm = layers.LayerNormalization(epsilon=1e-5, name="norm", dtype=kind)

    def build(self, input_shape: Sequence[int | None]) -> None:
        """Make the weights."""
        self.dense.build(input_shape)
        self.norm.build(input_shape)
        self.bias = self.add_weight(shape=(self._words.input_dim,), initializer="zeros", name="bias")

    def call(self, read: Any) -> Any:  # noqa: ANN401
        """Return float32 (n, n_pieces)."""
        hidden = self.norm(self.dense(read))
        scores = ops.matmul(hidden, ops.transpose(ops.cast(self._words.embeddings, hidden.dtype)))
        return ops.cast(scores, "float32") + ops.cast(self.bias, "float32")


def build_guesser(body: EncoderBody) -> keras.Model:
    """Build the network that guesses hidden pieces.

    Returns:
        A model of `pieces` int32 (batch, length), `lengths` int32 (batch,) and `places` int32 (n,), positions
        in the flattened pieces. The output is float32 (n, n_pieces), scores before the softmax.
    """
    inputs = {
        "pieces": layers.Input((None,), dtype="int32", name="pieces"),
        "lengths": layers.Input((), dtype="int32", name="lengths"),
        "places": layers.Input((), dtype="int32", name="places"),
    }
    read = body(inputs["pieces"], inputs["lengths"])
    hidden = ops.take(ops.reshape(read, (-1, body.shape.hidden_size)), inputs["places"], axis=0)
    return keras.Model(inputs, Guesses(body.words, name="guesses", dtype=body.dtype_policy)(hidden))


def _small(deviation: float = 0.02) -> keras.initializers.Initializer:
    return keras.initializers.RandomNormal(stddev=deviation)


# Weights in files ---------------------------------------------------------------------------------


def read_pretrained(
    folder: Path, chosen: EncoderConfig | None = None, dtype: str = "float32"
) -> tuple[EncoderBody, tuple[str, ...]]:
    """Read a pre-trained encoder, without its pooling layer, and the pieces of its vocabulary.

    Args:
        folder: With `config.json`, `vocab.txt` and `model.safetensors` of a BERT or MPNet encoder.
        chosen: Its `layers` and `wide` say what is kept; None = all.
        dtype: The dtype policy of Keras: `float32` or `mixed_bfloat16`.

    Raises:
        ConfigurationError: The folder lacks a file, is not such an encoder, or lacks a layer.
    """
    try:
        config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
        shape = BodyShape(**{name: config[name] for name in BodyShape.__slots__ if name in config})
        if shape.model_type not in ("bert", "mpnet") or config.get("hidden_act", "gelu") != "gelu":
            raise ValueError("another architecture")
        tensors = without_prefix(read_tensors(folder / "model.safetensors"), shape.model_type)
        kept = chosen.layers if chosen else ()
        if kept and max(kept) >= shape.num_hidden_layers:
            raise ConfigurationError(
                _(
                    "{folder}: has {num_hidden_layers} layers. Correct encoder.layers",
                    folder=folder,
                    num_hidden_layers=shape.num_hidden_layers,
                )
            )
        numbers = tuple(kept) or tuple(range(shape.num_hidden_layers))
        wide = min(chosen.wide if chosen else 0, shape.intermediate_size) or shape.intermediate_size
        own = {**asdict(shape), "num_hidden_layers": len(numbers), "intermediate_size": wide}
        body = EncoderBody(BodyShape(**own), name="body", dtype=dtype)
        body.build()
        _fill_body(body, tensors, numbers)
        pieces = (folder / "vocab.txt").read_text(encoding="utf-8").removesuffix("\n").split("\n")
    except READING_ERRORS as error:
        if isinstance(error, ConfigurationError):
            raise
        raise ConfigurationError(
            _(
                "{folder}: not a BERT or MPNet encoder. Give a folder with config.json, vocab.txt and "
                "model.safetensors",
                folder=folder,
            )
        ) from error
    return body, tuple(pieces)


def _fill_body(body: EncoderBody, tensors: Tensors, numbers: Sequence[int]) -> None:
    """Give a body the weights of a file; `numbers` are the layers there."""
    kind = body.shape.model_type
    body.words.set_weights([tensors["embeddings.word_embeddings.weight"]])
    positions = tensors["embeddings.position_embeddings.weight"]
    if kind == "bert":  # all pieces are of the first type, whose vector is added at every position
        positions = positions + tensors["embeddings.token_type_embeddings.weight"][0]
    body.positions.set_weights([positions])
    body.norm.set_weights([tensors[f"embeddings.LayerNorm.{one}"] for one in ("weight", "bias")])
    if body.distances is not None:
        body.distances.set_weights([tensors["encoder.relative_attention_bias.weight"]])
    for part, number in zip(body.parts, numbers, strict=True):
        of_layer = dict(tensors)
        wide, narrow = (
            f"{theirs}.weight" for ours, theirs, _ in names_of_layer(kind, number) if ours in _DENSE
        )
        units = _strongest(tensors[wide], tensors[narrow], body.shape.intermediate_size)
        bias_of_wide = wide.replace("weight", "bias")
        of_layer |= {
            wide: tensors[wide][units],
            bias_of_wide: tensors[bias_of_wide][units],
            narrow: tensors[narrow][:, units],
        }
        for ours, theirs, is_dense in names_of_layer(kind, number):
            weight, bias = of_layer[f"{theirs}.weight"], of_layer[f"{theirs}.bias"]
            getattr(part, ours).set_weights([weight.T if is_dense else weight, bias])


def _strongest(wide: FloatArray, narrow: FloatArray, n_units: int) -> IntArray:
    """Return the units of a dense part, in order, whose weights (n_units, n) and (n, n_units) are largest."""
    strength = np.linalg.norm(wide, axis=1) * np.linalg.norm(narrow, axis=0)
    return np.sort(np.argsort(-strength, kind="stable")[:n_units])


def write_pretrained(body: EncoderBody, pieces: Sequence[str], folder: Path) -> None:
    """Write an encoder's body in the form that `read_pretrained` reads, as other libraries do."""
    folder.mkdir(parents=True, exist_ok=True)
    shape = body.shape
    tensors: dict[str, FloatArray] = {
        "embeddings.word_embeddings.weight": _array(body.words.embeddings),
        "embeddings.position_embeddings.weight": _array(body.positions.table),
    }
    config = {**asdict(shape), "hidden_act": "gelu", "type_vocab_size": 2}
    if body.distances is None:
        tensors["embeddings.token_type_embeddings.weight"] = np.zeros((2, shape.hidden_size), np.float32)
        del config["relative_attention_num_buckets"]
    else:
        tensors["encoder.relative_attention_bias.weight"] = _array(body.distances.table)
    of_norm = zip(("weight", "bias"), body.norm.weights, strict=True)
    tensors |= {f"embeddings.LayerNorm.{one}": _array(weight) for one, weight in of_norm}
    for number, part in enumerate(body.parts):
        for ours, theirs, is_dense in names_of_layer(shape.model_type, number):
            weight, bias = map(_array, getattr(part, ours).weights)
            tensors |= {f"{theirs}.weight": weight.T if is_dense else weight, f"{theirs}.bias": bias}
    (folder / "config.json").write_text(json.dumps(config, indent=1) + "\n", encoding="utf-8")
    (folder / "vocab.txt").write_text("\n".join(pieces) + "\n", encoding="utf-8")
    write_tensors(tensors, folder / "model.safetensors")


def read_heads(network: keras.Model, tensors: Tensors) -> None:
    """Give a network the weights of its heads.

    Raises:
        KeyError: One is missing.
        ValueError: One has another shape.
    """
    for name in HEADS:
        weight = tensors[f"{name}.weight"]
        own = [weight] if name == "shape_vectors" else [weight.T, tensors[f"{name}.bias"]]
        network.get_layer(name).set_weights(own)


def heads_of(network: keras.Model) -> dict[str, FloatArray]:
    """Return the weights of the heads by name, dense ones (outputs, inputs) as in the body's file."""
    found: dict[str, FloatArray] = {}
    for name in HEADS:
        weight, *bias = map(_array, network.get_layer(name).weights)
        found[f"{name}.weight"] = weight.T if bias else weight
        if bias:
            found[f"{name}.bias"] = bias[0]
    return found


def _array(variable: Any) -> FloatArray:  # noqa: ANN401 - a variable of Keras
    return np.asarray(ops.convert_to_numpy(variable), np.float32)
