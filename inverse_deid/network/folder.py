"""The model folder: complete or absent, and checked before use.

::

    manifest.json      format, provenance, operating points, sha256 of every other file, seal over all this
    config.json        network configuration, class and feature names
    words.txt          the words with a vector, one per line
    word_vectors.npz   int8 codes and float32 scale of their vectors
    characters.onnx    word's characters -> vector
    tokens.onnx        vectors, gaps, features of a batch -> class probabilities
    weights.npz        trainable weights for fine-tuning; masking reads the vector of unknown words
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from inverse_deid.core.errors import ConfigurationError, ModelError
from inverse_deid.core.files import sha256_if_readable, write_folder
from inverse_deid.core.packaged import MODEL_SHA256, packaged_path
from inverse_deid.core.seals import is_sealed, seal
from inverse_deid.core.settings import as_plain_values, make_settings
from inverse_deid.core.thresholds import OperatingPoints, read_operating_points, write_operating_points
from inverse_deid.core.values import FloatArray
from inverse_deid.core.wording import _
from inverse_deid.network.config import NetworkConfig
from inverse_deid.network.encoding import WordVectors

FORMAT_VERSION = 4
_FILES = ("config.json", "words.txt", "word_vectors.npz", "characters.onnx", "tokens.onnx", "weights.npz")


@dataclass(frozen=True, slots=True, eq=False)
class ModelParts:
    """The content of a model folder: the two graphs as bytes, and trainable weights by path.

    The feature names are in the order in which the network reads them. The provenance (data hashes, seed,
    configuration, revision) is free form, without narrative text.
    """

    network: NetworkConfig
    feature_names: tuple[str, ...]
    word_vectors: WordVectors = field(repr=False)
    characters: bytes = field(repr=False)
    tokens: bytes = field(repr=False)
    weights: Mapping[str, FloatArray] = field(repr=False)
    operating_points: OperatingPoints
    provenance: Mapping[str, Any] = field(default_factory=dict)


def write_model(parts: ModelParts, folder: Path) -> None:
    """Write a model folder; an older one of that name is replaced only when the new one is complete.

    Raises:
        ModelError: The folder exists and is not a model folder.
        OutputError: It cannot be written.
    """
    refuse_other_folder(folder)
    write_folder(folder, lambda staging: _write_files(parts, staging))


def refuse_other_folder(folder: Path) -> None:
    """Refuse to replace anything but a model folder. Call this before a long training.

    Raises:
        ModelError: The folder exists and is not a model folder.
    """
    if folder.exists() and not (folder / "manifest.json").is_file():
        raise ModelError(_("{folder}: exists and is not a model folder. Choose another name", folder=folder))


def _write_files(parts: ModelParts, folder: Path) -> None:
    config = {"network": as_plain_values(parts.network), "feature_names": parts.feature_names}
    (folder / "config.json").write_text(json.dumps(config, indent=1) + "\n", encoding="utf-8")
    (folder / "words.txt").write_text("\n".join(parts.word_vectors.words) + "\n", encoding="utf-8")
    vectors = parts.word_vectors
    np.savez_compressed(folder / "word_vectors.npz", codes=vectors.codes, scale=vectors.scale)
    (folder / "characters.onnx").write_bytes(parts.characters)
    (folder / "tokens.onnx").write_bytes(parts.tokens)
    np.savez_compressed(folder / "weights.npz", **parts.weights)  # type: ignore[arg-type]
    manifest = {
        "format": FORMAT_VERSION,
        "operating_points": write_operating_points(parts.operating_points),
        "provenance": dict(parts.provenance),
    }
    write_manifest(folder, manifest, _FILES)


def write_manifest(folder: Path, values: Mapping[str, Any], names: Sequence[str]) -> None:
    """Write the manifest of a folder whose other files are complete: values, hashes of the files, a seal."""
    manifest = seal({**values, "sha256": {name: sha256_if_readable(folder / name) for name in names}})
    (folder / "manifest.json").write_text(json.dumps(manifest, indent=1) + "\n", encoding="utf-8")


def read_manifest(folder: Path) -> dict[str, Any]:
    """Read and check the manifest of a model folder, and the hash of every file it names.

    Raises:
        ModelError: Missing, damaged, altered or of another format version, or the packaged
            model is not the one that was shipped.
    """
    manifest = read_checked_manifest(folder, FORMAT_VERSION, _FILES)
    if folder.resolve() == packaged_path("model").resolve() and model_fingerprint(folder) != MODEL_SHA256:
        raise ModelError(
            _(
                "the packaged model is not the one that this version was shipped with. Install "
                "inverse-deid again. If you rebuilt the model, run `python scripts/pin_packaged_data.py`"
            )
        )
    try:
        read_operating_points(manifest.get("operating_points"))
    except ConfigurationError as error:
        raise ModelError(
            _("{folder}/manifest.json: damaged or altered. Install or train the model again", folder=folder)
        ) from error
    return manifest


def read_checked_manifest(folder: Path, version: int | str, names: Sequence[str]) -> dict[str, Any]:
    """Read the manifest of a folder of a format, and check its seal and the hash of every named file.

    Raises:
        ModelError: Missing, damaged, altered or of another format.
    """
    damaged = ModelError(
        _("{folder}/manifest.json: damaged or altered. Install or train the model again", folder=folder)
    )
    try:
        manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    except OSError as error:
        raise ModelError(
            _("{folder}: no readable manifest.json. Give a model folder", folder=folder)
        ) from error
    except ValueError as error:
        raise damaged from error
    if not isinstance(manifest, dict) or manifest.get("format") != version:
        raise ModelError(
            _(
                "{folder}: not of model format {version}. Train it with this version",
                folder=folder,
                version=version,
            )
        )
    hashes = manifest.get("sha256")
    if not isinstance(hashes, dict) or not is_sealed(manifest):
        raise damaged
    for name in names:
        if hashes.get(name) != sha256_if_readable(folder / name):
            raise ModelError(
                _(
                    "{folder}/{name}: altered or missing. Install or train the model again",
                    folder=folder,
                    name=name,
                )
            )
    return manifest


def read_model(folder: Path) -> ModelParts:
    """Read a model folder after checking it.

    Raises:
        ModelError: Missing, damaged, altered or of another format version.
    """
    manifest = read_manifest(folder)
    try:
        config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
        with np.load(folder / "word_vectors.npz", allow_pickle=False) as arrays:
            words = (folder / "words.txt").read_text(encoding="utf-8").splitlines()
            vectors = WordVectors(tuple(words), arrays["codes"], arrays["scale"])
        with np.load(folder / "weights.npz", allow_pickle=False) as arrays:
            weights = dict(arrays)
        return ModelParts(
            network=make_settings(config["network"], NetworkConfig),
            feature_names=tuple(config["feature_names"]),
            word_vectors=vectors,
            characters=(folder / "characters.onnx").read_bytes(),
            tokens=(folder / "tokens.onnx").read_bytes(),
            weights=weights,
            operating_points=read_operating_points(manifest["operating_points"]),
            provenance=manifest["provenance"],
        )
    except (KeyError, ValueError, OSError, ConfigurationError) as error:
        raise ModelError(
            _(
                "{folder}: damaged ({name}). Install or train it again",
                folder=folder,
                name=type(error).__name__,
            )
        ) from error


def model_fingerprint(folder: Path) -> str:
    """Return a hash that changes with anything in the model: that of its manifest."""
    return sha256_if_readable(folder / "manifest.json")
