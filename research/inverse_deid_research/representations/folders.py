"""The folders of this way of sharing: a published representation, and a network over one.

::

    representation/            what a provider publishes
        manifest.json          kind, format, provenance, sha256 of every other file, seal over all this
        config.json            its sizes
        words.txt              the words with a vector: PUBLIC, as the vectors are
        word_vectors.npz       int8 codes and float32 scale of their vectors
        weights.npz            of the representation alone

    network/                   what `share train` writes and `mask --model` reads
        manifest.json          the same, and the operating points
        config.json            sizes of the network
        weights.npz            of the network
        representation/        the representation that it reads through
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from msgspec import Struct

from inverse_deid.core.errors import ConfigurationError, ModelError
from inverse_deid.core.files import sha256_if_readable, write_folder
from inverse_deid.core.seals import is_sealed
from inverse_deid.core.settings import as_plain_values, make_settings
from inverse_deid.core.thresholds import OperatingPoints, read_operating_points, write_operating_points
from inverse_deid.core.values import FloatArray
from inverse_deid.network.config import Share
from inverse_deid.network.encoding import WordVectors
from inverse_deid.network.folder import write_manifest
from inverse_deid_research.representations.config import RepresentationConfig, TaggerConfig

FORMAT_VERSION = 4
REPRESENTATION, NETWORK = "private representation", "network over a private representation"
_REMEDIES = {
    REPRESENTATION: "Give a folder that `inverse-deid research share init` wrote",
    NETWORK: "Give a folder that `inverse-deid research share train` wrote",
}
_REPRESENTATION_FILES = ("config.json", "words.txt", "word_vectors.npz", "weights.npz")
_NETWORK_FILES = (
    "config.json",
    "weights.npz",
    "representation/manifest.json",
    *(f"representation/{name}" for name in _REPRESENTATION_FILES),
)
Config = TypeVar("Config", RepresentationConfig, TaggerConfig)


@dataclass(frozen=True, slots=True, eq=False)
class Representation:
    """A representation as it is published."""

    config: RepresentationConfig  # its sizes
    word_vectors: WordVectors = field(repr=False)  # of the words that it reads
    weights: Mapping[str, FloatArray] = field(repr=False)  # by path
    # Data hashes, settings, results of attacks; no narrative text.
    provenance: Mapping[str, Any] = field(default_factory=dict)
    fingerprint: str = ""  # changes with anything in the folder; "" = not read from one


@dataclass(frozen=True, slots=True, eq=False)
class PrivateNetwork:
    """A de-identification network over a representation; see `Representation`."""

    config: TaggerConfig
    weights: Mapping[str, FloatArray] = field(repr=False)
    representation: Representation
    operating_points: OperatingPoints
    provenance: Mapping[str, Any] = field(default_factory=dict)


class _AttackFigures(Struct, frozen=True):
    share: Share
    margin: Share
    chance: Share


class _Provenance(Struct, frozen=True):
    attacks: dict[str, _AttackFigures] = {}

    def __post_init__(self) -> None:
        if not all(name.isprintable() for name in self.attacks):
            raise ConfigurationError("attacks: names must be printable")


def _read_object(path: Path) -> dict[str, Any]:
    # Empty if there is none.
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def refuse_other(folder: Path, kind: str) -> None:
    """Refuse to write over anything else; ask before a long training.

    Raises:
        ModelError: The folder exists and is not of this kind.
    """
    if folder.exists() and _read_object(folder / "manifest.json").get("kind") != kind:
        raise ModelError(f"{folder}: exists and is not a {kind}. Choose another name")


def write_representation(representation: Representation, folder: Path) -> None:
    """Write a folder, whole or not at all.

    Raises:
        ModelError: Something else exists there, or it cannot be written.
    """
    refuse_other(folder, REPRESENTATION)
    write_folder(folder, lambda staging: _fill_representation(representation, staging))


def write_network(network: PrivateNetwork, folder: Path) -> None:
    """Write a folder, whole or not at all.

    Raises:
        ModelError: Something else exists there, or it cannot be written.
    """
    refuse_other(folder, NETWORK)

    def fill(staging: Path) -> None:
        (staging / "representation").mkdir()
        _fill_representation(network.representation, staging / "representation")
        points = write_operating_points(network.operating_points)
        values = {**_manifest(NETWORK, network.provenance), "operating_points": points}
        _write_parts(staging, network.config, network.weights)
        write_manifest(staging, values, _NETWORK_FILES)

    write_folder(folder, fill)


def _fill_representation(representation: Representation, folder: Path) -> None:
    vectors = representation.word_vectors
    (folder / "words.txt").write_text("\n".join(vectors.words) + "\n", encoding="utf-8")
    np.savez_compressed(folder / "word_vectors.npz", codes=vectors.codes, scale=vectors.scale)
    _write_parts(folder, representation.config, representation.weights)
    write_manifest(folder, _manifest(REPRESENTATION, representation.provenance), _REPRESENTATION_FILES)


def _manifest(kind: str, provenance: Mapping[str, Any]) -> dict[str, Any]:
    return {"kind": kind, "format": FORMAT_VERSION, "provenance": dict(provenance)}


def _write_parts(folder: Path, config: Struct, weights: Mapping[str, FloatArray]) -> None:
    text = json.dumps(as_plain_values(config), indent=1) + "\n"
    (folder / "config.json").write_text(text, encoding="utf-8")
    np.savez_compressed(folder / "weights.npz", **weights)  # type: ignore[arg-type]


def _read_parts(folder: Path, kind: type[Config]) -> tuple[Config, dict[str, FloatArray]]:
    values = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    with np.load(folder / "weights.npz", allow_pickle=False) as arrays:
        return make_settings(values, kind), dict(arrays)


def _read_manifest(folder: Path, kind: str, files: tuple[str, ...]) -> dict[str, Any]:
    manifest = _read_object(folder / "manifest.json")
    if manifest.get("kind") != kind:
        raise ModelError(f"{folder}: is not a {kind}. {_REMEDIES[kind]}")
    if manifest.get("format") != FORMAT_VERSION:
        raise ModelError(
            f"{folder}: a {kind} of format {manifest.get('format')}, this version reads {FORMAT_VERSION}. "
            "Make it again with this version"
        )
    if not is_sealed(manifest):
        raise ModelError(f"{folder}/manifest.json: damaged or altered. Get the folder again")
    hashes = manifest.get("sha256")
    for name in files:
        if not isinstance(hashes, dict) or hashes.get(name) != sha256_if_readable(folder / name):
            raise ModelError(f"{folder}/{name}: altered or missing. Get the folder again")
    return manifest


def read_representation(folder: Path) -> Representation:
    """Read a representation after checking it.

    Raises:
        ModelError: Missing, damaged, altered or of another format.
    """
    manifest = _read_manifest(folder, REPRESENTATION, _REPRESENTATION_FILES)
    try:
        config, weights = _read_parts(folder, RepresentationConfig)
        words = (folder / "words.txt").read_text(encoding="utf-8").splitlines()
        with np.load(folder / "word_vectors.npz", allow_pickle=False) as arrays:
            vectors = WordVectors(tuple(words), arrays["codes"], arrays["scale"])
        check_vectors(vectors)
        provenance = manifest.get("provenance", {})
        make_settings(provenance, _Provenance)
        fingerprint = sha256_if_readable(folder / "manifest.json")
        return Representation(config, vectors, weights, provenance, fingerprint)
    except (KeyError, ValueError, OSError, ConfigurationError) as error:
        raise ModelError(f"{folder}: damaged ({type(error).__name__}). Get the folder again") from error


def read_network(folder: Path) -> PrivateNetwork:
    """Read a network and its representation after checking them.

    Raises:
        ModelError: Missing, damaged, altered or of another format.
    """
    manifest = _read_manifest(folder, NETWORK, _NETWORK_FILES)
    try:
        config, weights = _read_parts(folder, TaggerConfig)
        points = read_operating_points(manifest.get("operating_points"))
    except (KeyError, ValueError, OSError, ConfigurationError) as error:
        raise ModelError(f"{folder}: damaged ({type(error).__name__}). Train it again") from error
    representation = read_representation(folder / "representation")
    return PrivateNetwork(config, weights, representation, points, manifest.get("provenance", {}))


def check_vectors(vectors: WordVectors) -> None:
    """Refuse word vectors whose parts do not fit each other.

    Raises:
        ConfigurationError: There is not one code of the vectors' length for every word.
    """
    expected = (len(vectors.words), vectors.dim)
    if vectors.codes.shape != expected or not vectors.words:
        raise ConfigurationError(
            f"the word vectors have shape {vectors.codes.shape} where {expected[0]} words of length "
            f"{expected[1]} are named. Make them again with scripts/build_word_vectors.py"
        )
