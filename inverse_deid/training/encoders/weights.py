"""Weights of pre-trained encoders in files: safetensors, and the names of BERT and MPNet.

A file has the length of its header (8 bytes, little-endian), the header (JSON: type, shape and offsets of
every tensor by name), and the tensors.

Source: the description of the format by its authors, https://github.com/huggingface/safetensors.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from inverse_deid.core.values import FloatArray

Tensors = Mapping[str, FloatArray]

_LARGEST_HEADER = 100_000_000
_TYPES = {"F64": np.float64, "F32": np.float32, "F16": np.float16, "BF16": np.uint16}


def read_tensors(path: Path) -> dict[str, FloatArray]:
    """Read a safetensors file: its tensors of floating-point numbers as float32.

    Raises:
        OSError: It cannot be read.
        ValueError: It is damaged.
    """
    data = path.read_bytes()
    size = int.from_bytes(data[:8], "little")
    if len(data) < 8 or size > min(_LARGEST_HEADER, len(data) - 8):
        raise ValueError("not a safetensors file")
    header = json.loads(data[8 : 8 + size])
    found = {}
    for name, about in header.items():
        if name == "__metadata__" or about["dtype"] not in _TYPES:
            continue
        start, end = about["data_offsets"]
        kind = np.dtype(_TYPES[about["dtype"]]).newbyteorder("<")
        values = np.frombuffer(data[8 + size + start : 8 + size + end], kind).reshape(about["shape"])
        if about["dtype"] == "BF16":
            values = (values.astype(np.uint32) << 16).view(np.float32)
        found[name] = values.astype(np.float32)
    return found


def write_tensors(tensors: Tensors, path: Path) -> None:
    """Write float32 tensors as a safetensors file."""
    header: dict[str, Any] = {}
    end = 0
    for name, values in sorted(tensors.items()):
        start, end = end, end + 4 * values.size
        header[name] = {"dtype": "F32", "shape": list(values.shape), "data_offsets": [start, end]}
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with path.open("wb") as file:
        file.write(len(text).to_bytes(8, "little") + text)
        for _, values in sorted(tensors.items()):
            file.write(np.ascontiguousarray(values, "<f4").tobytes())


_LAYER = {
    "bert": {
        "query": "attention.self.query",
        "key": "attention.self.key",
        "value": "attention.self.value",
        "joined": "attention.output.dense",
        "attention_norm": "attention.output.LayerNorm",
        "wide": "intermediate.dense",
        "narrow": "output.dense",
        "norm": "output.LayerNorm",
    },
    "mpnet": {
        "query": "attention.attn.q",
        "key": "attention.attn.k",
        "value": "attention.attn.v",
        "joined": "attention.attn.o",
        "attention_norm": "attention.LayerNorm",
        "wide": "intermediate.dense",
        "narrow": "output.dense",
        "norm": "output.LayerNorm",
    },
}
"""The parts of a layer by our names and by theirs."""


def names_of_layer(kind: str, number: int) -> Iterator[tuple[str, str, bool]]:
    """Yield our name of a part of a layer, the beginning of theirs, and whether it is a dense layer."""
    for ours, theirs in _LAYER[kind].items():
        yield ours, f"encoder.layer.{number}.{theirs}", not ours.endswith("norm")


def without_prefix(tensors: Tensors, kind: str) -> dict[str, FloatArray]:
    """Return tensors by names without that of the model, and with `weight` and `bias` in all of them."""
    plain = {name.removeprefix(f"{kind}."): values for name, values in tensors.items()}
    return {
        name.replace(".gamma", ".weight").replace(".beta", ".bias"): values for name, values in plain.items()
    }
