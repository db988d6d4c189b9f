"""A pre-trained encoder that tells the classes of tokens: its network, its weights in files, its graph.

The encoder reads word pieces. To their vectors are added a learned vector of the token's shape and a linear
map of its rule features. The first piece of a token speaks for it. The word vectors stay as they are.

Source: Devlin et al. 2019; Wang et al. 2020 (MiniLM), whose weights the packaged second reader starts from;
Song et al. 2020 (MPNet), whose weights the teacher starts from.
"""

from __future__ import annotations

import json
import tempfile
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TypeAlias

import numpy as np
import onnx
import torch
from onnxruntime.quantization import QuantType, quantize_dynamic
from safetensors import SafetensorError
from torch import nn
from transformers import BertConfig, BertModel, MPNetConfig, MPNetModel

from inverse_deid.core.errors import ConfigurationError
from inverse_deid.core.wording import _
from inverse_deid.network.encoding import N_GAP_CHARACTERS
from inverse_deid.network.pieces import N_SHAPES, Vocabulary, encode_window, join_windows

INPUT_NAMES = ("pieces", "lengths", "owners", "first", "shapes", "features")
"""Inputs of the graph in order, as `join_windows` returns them."""
FEATURE_UNITS = 48
OPSET = 18
READING_ERRORS = (OSError, EOFError, KeyError, ValueError, RuntimeError, zipfile.BadZipFile, SafetensorError)
"""What reading damaged weights can raise."""
_KINDS = {"bert": (BertConfig, BertModel), "mpnet": (MPNetConfig, MPNetModel)}
Body: TypeAlias = BertModel | MPNetModel


class EncoderNetwork(nn.Module):  # type: ignore[misc]
    """The encoder with shapes, features and classes; inputs as `join_windows` returns them."""

    def __init__(self, body: Body, n_features: int, n_classes: int) -> None:
        super().__init__()
        size = body.config.hidden_size
        self.body = body
        self.body.embeddings.word_embeddings.requires_grad_(False)
        self.shape_vectors = nn.Embedding(N_SHAPES, size)
        self.feature_map = nn.Linear(n_features, size)
        self.feature_dense = nn.Linear(n_features, FEATURE_UNITS)
        self.classes = nn.Linear(size + FEATURE_UNITS, n_classes)
        nn.init.normal_(self.shape_vectors.weight, std=0.02)
        nn.init.normal_(self.feature_map.weight, std=0.005)
        nn.init.zeros_(self.feature_map.bias)

    def forward(self, inputs: Mapping[str, torch.Tensor]) -> torch.Tensor:
        """Return the scores of the classes: float32 (n_tokens, n_classes), before the softmax."""
        features = inputs["features"]
        of_token = self.shape_vectors(inputs["shapes"]) + self.feature_map(features)
        of_token = torch.cat([of_token, of_token.new_zeros(1, of_token.shape[1])])
        pieces = self.body.embeddings.word_embeddings(inputs["pieces"])
        length = inputs["pieces"].shape[1]
        valid = torch.arange(length, device=pieces.device)[None, :] < inputs["lengths"][:, None]
        pieces = pieces + of_token[inputs["owners"].long()]
        read = self.body(inputs_embeds=pieces, attention_mask=valid.long())
        spoken = read.last_hidden_state.reshape(-1, pieces.shape[-1])[inputs["first"].long()]
        hints = torch.relu(self.feature_dense(features))
        scores: torch.Tensor = self.classes(torch.cat([spoken, hints], dim=1))
        return scores


def read_pretrained(folder: Path, layers: Sequence[int] = ()) -> tuple[Body, tuple[str, ...]]:
    """Read a pre-trained encoder, without its pooling layer, and the pieces of its vocabulary.

    Args:
        folder: With `config.json`, `vocab.txt` and `model.safetensors` of a BERT or MPNet encoder.
        layers: The layers to keep, from 0; none named = all.

    Raises:
        ConfigurationError: The folder lacks a file, is not such an encoder, or lacks a layer.
    """
    try:
        kind = json.loads((folder / "config.json").read_text(encoding="utf-8")).get("model_type", "bert")
        of_config, of_model = _KINDS[kind]
        config = of_config.from_pretrained(folder)
        config.attention_probs_dropout_prob = 0.0
        body = of_model.from_pretrained(
            folder, config=config, add_pooling_layer=False, attn_implementation="eager", dtype=torch.float32
        )
        pieces = (folder / "vocab.txt").read_text(encoding="utf-8").splitlines()
    except READING_ERRORS as error:
        raise ConfigurationError(
            _(
                "{folder}: not a BERT or MPNet encoder. Give a folder with config.json, vocab.txt and "
                "model.safetensors",
                folder=folder,
            )
        ) from error
    if layers:
        if max(layers) >= len(body.encoder.layer):
            raise ConfigurationError(
                _(
                    "{folder}: has {n_layer} layers. Correct encoder.layers",
                    folder=folder,
                    n_layer=len(body.encoder.layer),
                )
            )
        body.encoder.layer = nn.ModuleList(body.encoder.layer[i] for i in layers)
        body.config.num_hidden_layers = len(layers)
    return body, tuple(pieces)


def write_pretrained(body: Body, pieces: Sequence[str], folder: Path) -> None:
    """Write an encoder's body in the form that `read_pretrained` reads."""
    body.save_pretrained(folder)
    (folder / "vocab.txt").write_text("\n".join(pieces) + "\n", encoding="utf-8")


def as_tensors(inputs: Mapping[str, np.ndarray]) -> dict[str, torch.Tensor]:
    """Return the inputs of a graph as those of `EncoderNetwork`."""
    return {name: torch.from_numpy(value) for name, value in inputs.items()}


class _Exported(nn.Module):  # type: ignore[misc]
    """The network with its inputs by position, as the exporter wants them, and probabilities as output."""

    def __init__(self, network: EncoderNetwork) -> None:
        super().__init__()
        self.network = network

    def forward(self, *inputs: torch.Tensor) -> torch.Tensor:
        scores = self.network(dict(zip(INPUT_NAMES, inputs, strict=True)))
        return torch.softmax(scores, dim=-1)


def export_encoder(network: EncoderNetwork, vocabulary: Vocabulary) -> bytes:
    """Return the ONNX graph of an encoder in single precision.

    Inputs are those of `join_windows`; the output is `probabilities` float32 (n_tokens, n_classes).
    """
    n_features = network.feature_map.in_features
    example = [
        encode_window(
            ["rash"] * n_tokens,
            np.zeros((n_tokens, N_GAP_CHARACTERS), np.int32),
            np.zeros((n_tokens, n_features), np.float32),
            vocabulary,
        )
        for n_tokens in (3, 5)
    ]
    inputs = as_tensors(join_windows(example, vocabulary.pad))
    batch, length, tokens = (torch.export.Dim(name, min=2, max=2**16) for name in ("b", "p", "t"))
    by_piece, by_token = {0: batch, 1: length}, {0: tokens}
    program = torch.onnx.export(
        _Exported(network).eval(),
        tuple(inputs[name] for name in INPUT_NAMES),
        input_names=INPUT_NAMES,
        output_names=["probabilities"],
        dynamic_shapes=((by_piece, {0: batch}, by_piece, by_token, by_token, by_token),),
        opset_version=OPSET,
        dynamo=True,
        verbose=False,
    )
    return without_traces(program.model_proto)


def without_traces(model: onnx.ModelProto) -> bytes:
    """Return a graph without what the exporter notes on it: source lines, and paths of the machine."""
    for part in (model, model.graph, *model.graph.node, *model.graph.value_info, *model.graph.initializer):
        del part.metadata_props[:]
    for part in (*model.graph.input, *model.graph.output):
        del part.metadata_props[:]
    for part in (model.graph, *model.graph.node, *model.graph.initializer):
        part.doc_string = ""
    del model.functions[:]
    return bytes(model.SerializeToString())


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
