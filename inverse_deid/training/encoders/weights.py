"""Weights of pre-trained encoders in files of safetensors, and the names of BERT and MPNet."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save

from inverse_deid.core.values import FloatArray

Tensors = Mapping[str, FloatArray]

_FLOATING = {"F64", "F32", "F16", "BF16"}


def read_tensors(path: Path) -> dict[str, FloatArray]:
    """Read a safetensors file: its tensors of floating-point numbers as float32.

    Raises:
        OSError: It cannot be read.
        ValueError: It is damaged.
    """
    try:
        with safe_open(path, framework="numpy") as file:
            names = [one for one in file.keys() if file.get_slice(one).get_dtype() in _FLOATING]  # noqa: SIM118
            return {name: np.asarray(file.get_tensor(name), np.float32) for name in names}
    except SafetensorError as error:
        raise ValueError("not a safetensors file") from error


def write_tensors(tensors: Tensors, path: Path) -> None:
    """Write float32 tensors as a safetensors file."""
    path.write_bytes(save({name: np.ascontiguousarray(one, np.float32) for name, one in tensors.items()}))


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
