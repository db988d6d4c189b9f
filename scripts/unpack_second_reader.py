"""Make a trained encoder from an encoder folder: a training can begin with its weights or learn from it.

    python scripts/unpack_second_reader.py inverse_deid/data/second_reader runs/unpacked

The weights are those of 8 bits in the graph, as floating-point numbers. The folder that the training of the
encoder left (OUT.training/trained) has them in full precision.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path

import click
import numpy as np
import onnx
from onnx import numpy_helper

from inverse_deid.core.errors import ModelError
from inverse_deid.core.files import write_folder
from inverse_deid.core.values import FloatArray
from inverse_deid.core.wording import _
from inverse_deid.network.second_reader import EncoderParts, read_encoder
from inverse_deid.training.encoders.weights import names_of_layer, write_tensors

_HEADS = ("feature_map", "feature_dense", "classes")
_HEAD_SIZE = 32
"""Units of an attention head of MiniLM, which the graph does not say."""


@click.command()
@click.argument("encoder", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.argument("out", type=click.Path(path_type=Path))
def main(encoder: Path, out: Path) -> None:
    """Write a trained encoder that other trainings can begin with or learn from."""
    parts = read_encoder(encoder)
    body, heads = _sort_tensors(_read_weights(parts.graph))
    shape = {
        "model_type": "bert",
        "vocab_size": len(parts.pieces),
        "hidden_size": int(body["embeddings.word_embeddings.weight"].shape[1]),
        "num_hidden_layers": sum(name.endswith("attention.self.query.weight") for name in body),
        "intermediate_size": len(body["encoder.layer.0.intermediate.dense.bias"]),
        "max_position_embeddings": len(body["embeddings.position_embeddings.weight"]),
        "hidden_act": "gelu",
    }
    shape["num_attention_heads"] = len(body["encoder.layer.0.attention.self.query.bias"]) // _HEAD_SIZE

    def write_files(staging: Path) -> None:
        (staging / "body").mkdir()
        write_tensors(body, staging / "body" / "model.safetensors")
        (staging / "body" / "config.json").write_text(json.dumps(shape, indent=1) + "\n", "utf-8")
        (staging / "body" / "vocab.txt").write_text("\n".join(parts.pieces) + "\n", "utf-8")
        write_tensors(heads, staging / "heads.safetensors")
        (staging / "about.json").write_text(json.dumps(_describe(parts), indent=1) + "\n", "utf-8")

    write_folder(out, write_files)
    click.echo(f"{out}: {shape['num_hidden_layers']} layers of {shape['hidden_size']}")


def _describe(parts: EncoderParts) -> dict[str, object]:
    return {
        "class_names": parts.class_names,
        "feature_names": parts.feature_names,
        "provenance": {**parts.provenance, "unpacked": "from weights of 8 bits"},
    }


def _read_weights(data: bytes) -> dict[str, FloatArray]:
    """Return the weights of a graph by the names that it gives them, dense ones by those of their biases."""
    graph = onnx.load_from_string(data).graph
    constants = {one.name: numpy_helper.to_array(one) for one in graph.initializer}
    readers: dict[str, list[onnx.NodeProto]] = {}
    for node in graph.node:
        for name in node.input:
            readers.setdefault(name, []).append(node)
    found = {
        name: np.asarray(value, np.float32)
        for name, value in constants.items()
        if value.dtype == np.float32 and f"{name.removesuffix('_scale')}_quantized" not in constants
    }
    for name in constants:
        stem = name.removesuffix("_quantized")
        if stem == name:
            continue
        exact = _exact(constants, stem)
        (node, *_others) = readers[name]
        found[_name_of_bias(node, readers, constants) if node.op_type == "MatMulInteger" else stem] = exact
    return found


def _exact(constants: Mapping[str, np.ndarray], stem: str) -> FloatArray:
    values, zero = (constants[f"{stem}_{part}"].astype(np.float32) for part in ("quantized", "zero_point"))
    return np.asarray((values - zero) * constants[f"{stem}_scale"], np.float32)


def _name_of_bias(
    node: onnx.NodeProto, readers: Mapping[str, list[onnx.NodeProto]], constants: Mapping[str, np.ndarray]
) -> str:
    """Return the name of the bias that is added to a product, with `weight` for `bias`."""
    while node.op_type != "Add":
        (node,) = readers[node.output[0]]
    (bias,) = (name for name in node.input if name in constants)
    return bias.replace("bias", "weight")


def _sort_tensors(found: Mapping[str, FloatArray]) -> tuple[dict[str, FloatArray], dict[str, FloatArray]]:
    """Return the weights of body and heads by their names in files, dense ones (outputs, inputs)."""
    body: dict[str, FloatArray] = {}
    heads: dict[str, FloatArray] = {}
    wanted = dict(_wanted_names(found))
    for name, theirs in wanted.items():
        if theirs not in found:
            raise ModelError(_("the graph has no weights named {name}. It is of another kind", name=theirs))
        weight = found[theirs]
        is_dense = name.endswith(".weight") and weight.ndim == 2 and "embeddings" not in name
        target = heads if name.split(".")[0] in (*_HEADS, "shape_vectors") else body
        target[name] = weight.T if is_dense and not name.startswith("shape_vectors") else weight
    if "embeddings.token_type_embeddings.weight" not in body:
        size = body["embeddings.word_embeddings.weight"].shape[1]
        body["embeddings.token_type_embeddings.weight"] = np.zeros((2, size), np.float32)
    return body, heads


def _wanted_names(found: Mapping[str, FloatArray]) -> Iterator[tuple[str, str]]:
    """Yield the name in a file and the name in the graph: of today's export, or of that of PyTorch before."""
    is_old = any(name.startswith("network.body.") for name in found)
    n_layers = sum("attention.self.query.bias" in name or name.endswith("_query_bias") for name in found)
    old = "network.body." if is_old else ""
    yield (
        "embeddings.word_embeddings.weight",
        f"{old}embeddings.word_embeddings.weight" if is_old else "words",
    )
    positions = "embeddings.position_embeddings.weight"
    yield positions, f"{old}{positions}" if is_old else "positions"
    if is_old:
        yield "embeddings.token_type_embeddings.weight", f"{old}embeddings.token_type_embeddings.weight"
    for ours, theirs in (("weight", "scale"), ("bias", "shift")):
        yield (
            f"embeddings.LayerNorm.{ours}",
            f"{old}embeddings.LayerNorm.{ours}" if is_old else f"norm_{theirs}",
        )
    for number in range(n_layers):
        for ours, theirs, is_dense in names_of_layer("bert", number):
            for part, of_norm in (("weight", "scale"), ("bias", "shift")):
                new = f"layer_{number}_{ours}_{part if is_dense else of_norm}"
                yield f"{theirs}.{part}", f"{old}{theirs}.{part}" if is_old else new
    network = "network." if is_old else ""
    yield "shape_vectors.weight", "network.shape_vectors.weight" if is_old else "shape_vectors"
    for head in _HEADS:
        yield f"{head}.weight", f"{network}{head}.weight" if is_old else f"{head}_weight"
        yield f"{head}.bias", f"{network}{head}.bias" if is_old else f"{head}_bias"


if __name__ == "__main__":
    main()
