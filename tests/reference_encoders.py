"""BERT and MPNet of a few weights as files, and what they compute, written down in NumPy from the papers.

Devlin et al. 2019; Song et al. 2020; Vaswani et al. 2017, section 3; Raffel et al. 2020, section 2.1 (distances).
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from tiny_encoders import PIECES

from inverse_deid.training.encoders.weights import write_tensors

MPNET_PIECES = ("<s>", "<pad>", "</s>", "<unk>", *PIECES, "<mask>")
SIZE, WIDE, HEADS, LAYERS, MOST, BINS = 24, 32, 2, 2, 514, 32
EPSILON = 1e-6


def write_tiny(
    folder: Path,
    kind: str = "bert",
    scale: float = 0.3,
    pieces: Sequence[str] = (),
    n_layers: int = LAYERS,
) -> Path:
    """Write an encoder of random weights, with the names that its authors gave them."""
    rng = np.random.default_rng(0)
    pieces = pieces or (PIECES if kind == "bert" else MPNET_PIECES)
    tensors = {}

    def draw(name, *shape, near=0.0):
        tensors[name] = (near + scale * rng.normal(size=shape)).astype(np.float32)

    def dense(name, n_inputs, n_outputs):
        draw(f"{name}.weight", n_outputs, n_inputs)
        draw(f"{name}.bias", n_outputs)

    def norm(name):
        draw(f"{name}.weight", SIZE, near=1.0)
        draw(f"{name}.bias", SIZE)

    draw("embeddings.word_embeddings.weight", len(pieces), SIZE)
    draw("embeddings.position_embeddings.weight", MOST, SIZE)
    norm("embeddings.LayerNorm")
    if kind == "bert":
        draw("embeddings.token_type_embeddings.weight", 2, SIZE)
    else:
        draw("encoder.relative_attention_bias.weight", BINS, HEADS)
    for number in range(n_layers):
        layer = f"encoder.layer.{number}"
        if kind == "bert":
            for part in ("query", "key", "value"):
                dense(f"{layer}.attention.self.{part}", SIZE, SIZE)
            dense(f"{layer}.attention.output.dense", SIZE, SIZE)
            norm(f"{layer}.attention.output.LayerNorm")
        else:
            for part in "qkvo":
                dense(f"{layer}.attention.attn.{part}", SIZE, SIZE)
            norm(f"{layer}.attention.LayerNorm")
        dense(f"{layer}.intermediate.dense", SIZE, WIDE)
        dense(f"{layer}.output.dense", WIDE, SIZE)
        norm(f"{layer}.output.LayerNorm")
    config = {
        "model_type": kind,
        "vocab_size": len(pieces),
        "hidden_size": SIZE,
        "num_hidden_layers": n_layers,
        "num_attention_heads": HEADS,
        "intermediate_size": WIDE,
        "max_position_embeddings": MOST,
        "layer_norm_eps": EPSILON,
        "hidden_act": "gelu",
        "hidden_dropout_prob": 0.1,
    }
    if kind == "mpnet":
        config["relative_attention_num_buckets"] = BINS
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text(json.dumps(config))
    (folder / "vocab.txt").write_text("\n".join(pieces) + "\n")
    write_tensors(tensors, folder / "model.safetensors")
    return folder


def read_plainly(path: Path) -> dict[str, np.ndarray]:
    """Read float32 tensors of a safetensors file."""
    data = path.read_bytes()
    size = int.from_bytes(data[:8], "little")
    return {
        name: np.frombuffer(data, "<f4", math.prod(about["shape"]), 8 + size + about["data_offsets"][0])
        .reshape(about["shape"])
        .astype(np.float64)
        for name, about in json.loads(data[8 : 8 + size]).items()
        if name != "__metadata__"
    }


def bin_of(distance: int) -> int:
    """The bin of a distance from a piece to another one: 8 for small ones each way, then logarithmic ones."""
    size, start = abs(distance), BINS // 2 if distance > 0 else 0
    if size < BINS // 4:
        return start + size
    large = math.log(size / (BINS // 4)) / math.log(128 / (BINS // 4)) * (BINS // 4)
    return start + min(BINS // 4 + int(large), BINS // 2 - 1)


def encode(folder: Path, pieces: list[int], added: np.ndarray | None = None) -> list[np.ndarray]:
    """The vectors of the pieces of one window before the first layer and after each."""
    weights = read_plainly(folder / "model.safetensors")
    config = json.loads((folder / "config.json").read_text())
    heads, kind = config["num_attention_heads"], config["model_type"]

    def dense(name, x):
        return x @ weights[f"{name}.weight"].T + weights[f"{name}.bias"]

    def norm(name, x):
        middle = x - x.mean(axis=-1, keepdims=True)
        scale = np.sqrt((middle**2).mean(axis=-1, keepdims=True) + config["layer_norm_eps"])
        return middle / scale * weights[f"{name}.weight"] + weights[f"{name}.bias"]

    x = weights["embeddings.word_embeddings.weight"][pieces]
    x = x if added is None else x + added
    first = 0 if kind == "bert" else 2
    x = x + weights["embeddings.position_embeddings.weight"][first : first + len(pieces)]
    bias = np.zeros((heads, 1, 1))
    if kind == "bert":
        x = x + weights["embeddings.token_type_embeddings.weight"][0]
    else:
        table, places = weights["encoder.relative_attention_bias.weight"], range(len(pieces))
        bias = np.array([[table[bin_of(key - query)] for key in places] for query in places]).transpose(
            2, 0, 1
        )
    found = [norm("embeddings.LayerNorm", x)]
    for number in range(config["num_hidden_layers"]):
        layer, x = f"encoder.layer.{number}", found[-1]
        names = (
            [f"attention.self.{part}" for part in ("query", "key", "value")]
            if kind == "bert"
            else [f"attention.attn.{part}" for part in "qkv"]
        )
        query, key, value = (np.split(dense(f"{layer}.{name}", x), heads, axis=1) for name in names)
        seen = []
        for head in range(heads):
            scores = query[head] @ key[head].T / math.sqrt(query[head].shape[1]) + bias[head]
            shares = np.exp(scores - scores.max(axis=1, keepdims=True))
            seen.append(shares / shares.sum(axis=1, keepdims=True) @ value[head])
        out = "attention.output.dense" if kind == "bert" else "attention.attn.o"
        after = "attention.output.LayerNorm" if kind == "bert" else "attention.LayerNorm"
        x = norm(f"{layer}.{after}", x + dense(f"{layer}.{out}", np.concatenate(seen, axis=1)))
        wide = dense(f"{layer}.intermediate.dense", x)
        wide = wide * np.array([[(1 + math.erf(w / math.sqrt(2))) / 2 for w in row] for row in wide])
        found.append(norm(f"{layer}.output.LayerNorm", x + dense(f"{layer}.output.dense", wide)))
    return found
