"""A second reader: a pre-trained encoder that reads again where the network is unsure.

The encoder folder::

    manifest.json   format, operating points, provenance, sha256 of every other file, seal over all this
    config.json     classes and features in order, and which tokens are doubtful
    pieces.txt      the word pieces, one per line
    encoder.onnx    pieces, shapes and features of a window -> class probabilities of its tokens

Reading with both is slower than reading with the network alone, and the two err in different places.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from inverse_deid.choices.table import Device
from inverse_deid.core.errors import ConfigurationError, ModelError, StageError
from inverse_deid.core.files import write_folder
from inverse_deid.core.packaged import SECOND_READER_SHA256, packaged_path
from inverse_deid.core.thresholds import OperatingPoints, read_operating_points, write_operating_points
from inverse_deid.core.values import BoolArray, FloatArray
from inverse_deid.core.wording import _
from inverse_deid.network.doubt import Doubt, Doubts, find_widest, plan_windows
from inverse_deid.network.encoding import gap_codes
from inverse_deid.network.folder import (
    model_fingerprint,
    read_checked_manifest,
    refuse_other_folder,
    write_manifest,
)
from inverse_deid.network.pieces import Vocabulary, encode_window, join_windows
from inverse_deid.network.scorer import ScorerInput, open_sessions

ENCODER_FORMAT = "inverse-deid encoder 3"
_FILES = ("config.json", "pieces.txt", "encoder.onnx")

_ROUNDING = 1e-3
"""How far the class probabilities of a token may be from 1 in sum; farther, and the token is masked."""
_LEAST = 1e-9
"""A smaller probability counts as this one, so that no reader alone can be certain."""
_SLOW_FUSIONS = ("SkipLayerNormFusion",)
"""Optimizers of the runtime that slow this graph down. What they fuse is rounded otherwise, so the thresholds
are those without them."""
_KEPT_WORDS = 200_000
"""Words whose pieces are remembered between documents."""


@dataclass(frozen=True, slots=True, eq=False)
class EncoderParts:
    """The content of an encoder folder.

    Args:
        class_names: The classes in the order of the graph's output; the first is *safe*.
        feature_names: The rule features in the order in which the graph reads them.
        pieces: The word pieces of the vocabulary.
        graph: The ONNX graph.
        doubtful: Which tokens are read again at each operating point; of others, those of the widest limits.
        weight: Weight of this reader in the geometric mean of both, in [0, 1]; the network has the rest.
        first_reader: Fingerprint of the network that the operating points were calibrated with.
        operating_points: Thresholds for both readers together.
        provenance: Data hashes, seeds, settings, revision; free form, without narrative text.
    """

    class_names: tuple[str, ...]
    feature_names: tuple[str, ...]
    pieces: tuple[str, ...] = field(repr=False)
    graph: bytes = field(repr=False)
    doubtful: Doubts = field(default_factory=dict)
    weight: float = 0.5
    first_reader: str = ""
    operating_points: OperatingPoints = field(default_factory=dict)
    provenance: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not 0 <= self.weight <= 1:
            raise ConfigurationError(_("the weight of the second reader must be between 0 and 1"))

    def doubt_at(self, operating_point: str | None) -> Doubt:
        """Return which tokens are read again at an operating point; None = thresholds of any other kind."""
        known = self.doubtful.get(operating_point or "")
        return find_widest(self.doubtful.values()) if known is None else known


def write_encoder(parts: EncoderParts, folder: Path) -> None:
    """Write an encoder folder; an older one of that name is replaced only when the new one is complete.

    Raises:
        ModelError: The folder exists and is not a model folder.
        OutputError: It cannot be written.
    """
    refuse_other_folder(folder)

    def write_files(staging: Path) -> None:
        config = {
            "class_names": parts.class_names,
            "feature_names": parts.feature_names,
            "doubtful": {name: doubt.as_json() for name, doubt in parts.doubtful.items()},
            "weight": parts.weight,
            "first_reader": parts.first_reader,
        }
        (staging / "config.json").write_text(json.dumps(config, indent=1) + "\n", encoding="utf-8")
        (staging / "pieces.txt").write_text("\n".join(parts.pieces) + "\n", encoding="utf-8")
        (staging / "encoder.onnx").write_bytes(parts.graph)
        manifest = {
            "format": ENCODER_FORMAT,
            "operating_points": write_operating_points(parts.operating_points),
            "provenance": dict(parts.provenance),
        }
        write_manifest(staging, manifest, _FILES)

    write_folder(folder, write_files)


def read_encoder(folder: Path) -> EncoderParts:
    """Read an encoder folder after checking it.

    Raises:
        ModelError: Missing, damaged, altered or of another format, or the packaged encoder is not the
            one that was shipped.
    """
    manifest = read_checked_manifest(folder, ENCODER_FORMAT, _FILES)
    packaged = packaged_path("second_reader")
    if folder.resolve() == packaged.resolve() and model_fingerprint(folder) != SECOND_READER_SHA256:
        raise ModelError(
            _(
                "the packaged second reader is not the one that this version was shipped with. Install "
                "inverse-deid again. If you rebuilt it, run `python scripts/pin_packaged_data.py`"
            )
        )
    try:
        config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
        return EncoderParts(
            class_names=tuple(config["class_names"]),
            feature_names=tuple(config["feature_names"]),
            pieces=tuple((folder / "pieces.txt").read_text(encoding="utf-8").splitlines()),
            graph=(folder / "encoder.onnx").read_bytes(),
            doubtful={name: Doubt.from_json(one) for name, one in config["doubtful"].items()},
            weight=float(config["weight"]),
            first_reader=str(config["first_reader"]),
            operating_points=read_operating_points(manifest["operating_points"]),
            provenance=manifest["provenance"],
        )
    except (AttributeError, KeyError, ValueError, TypeError, OSError, ConfigurationError) as error:
        raise ModelError(
            _(
                "{folder}: damaged ({name}). Install or train it again",
                folder=folder,
                name=type(error).__name__,
            )
        ) from error


def find_first_reader(folder: Path) -> str:
    """Return `EncoderParts.first_reader` without a check of the folder, "" = it cannot be read."""
    try:
        return str(json.loads((folder / "config.json").read_text(encoding="utf-8"))["first_reader"])
    except (OSError, ValueError, TypeError, KeyError, RecursionError):
        return ""


def is_encoder(folder: Path) -> bool:
    """Tell whether a folder has the manifest of an encoder; it may be damaged."""
    try:
        manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return False
    return isinstance(manifest, dict) and manifest.get("format") == ENCODER_FORMAT


class SecondReader:
    """Reads doubtful tokens again, in `n_threads` threads (0 = one per core).

    The graph has 8-bit weights, and the scale of its activations depends on what is read at once. So a
    window is always read alone, and a document's scores do not depend on its company.

    Raises:
        ModelError: The graph cannot be loaded, or the vocabulary is incomplete.
        ConfigurationError: The device cannot be used.
    """

    def __init__(self, parts: EncoderParts, n_threads: int = 0, device: Device = "cpu") -> None:
        self._vocabulary = Vocabulary(parts.pieces)
        self.device, (self._session,) = open_sessions([parts.graph], device, without=_SLOW_FUSIONS)
        self._weight = parts.weight
        self.class_names = parts.class_names
        self._runs = ThreadPoolExecutor(n_threads or os.cpu_count() or 1, "second-reader")

    def begin(
        self,
        docs: Sequence[ScorerInput],
        first: Sequence[FloatArray],
        doubtful: Sequence[BoolArray],
        words: Sequence[str] | None = None,
    ) -> Callable[[], list[FloatArray]]:
        """Begin to read again; the returned function waits.

        Args:
            docs: Tokens of every document, with the features that the encoder names.
            first: float32 (n_tokens, n_classes) per document, what the network says.
            doubtful: bool (n_tokens,) per document, which tokens are read again.
            words: The word of each number in `ScorerInput.ids`, as the rules read it; None = the tokens are
                read as they are written.

        Returns:
            float32 (n_tokens, n_classes) per document: of doubtful tokens the geometric mean of both
            readers, of all others what the network says.

        Raises:
            StageError: The encoder returned another shape than was asked for.
        """
        bounds = np.cumsum([0, *map(len, doubtful)])
        asked = np.concatenate([np.zeros(0, np.bool_), *doubtful])
        windows = plan_windows(asked, bounds.tolist())
        gaps = {row: gap_codes(docs[row].tokens) for row in np.unique(windows.doc).tolist()}
        runs: list[tuple[slice, Future[FloatArray]]] = []
        columns = (windows.doc, windows.start, windows.end, windows.first, windows.last)
        for row, start, end, own_start, own_end in zip(*(one.tolist() for one in columns), strict=True):
            doc, read = docs[row], slice(start - int(bounds[row]), end - int(bounds[row]))
            seen = doc.tokens.words[read] if words is None else [words[i] for i in doc.ids[read]]
            window = encode_window(seen, gaps[row][read], doc.features[read], self._vocabulary)
            inputs = join_windows([window], self._vocabulary.pad)
            run = self._runs.submit(self._run, inputs, slice(own_start - start, own_end - start))
            runs.append((slice(own_start, own_end), run))
        self._vocabulary.trim(_KEPT_WORDS)

        def wait() -> list[FloatArray]:
            found = np.concatenate([np.zeros((0, len(self.class_names)), np.float32), *first])
            again = np.full_like(found, np.nan)
            for own, run in runs:
                again[own] = run.result()
            found[asked] = _mean(found[asked], again[asked], self._weight)
            return [found[a:b] for a, b in pairwise(bounds.tolist())]

        return wait

    def _run(self, inputs: Mapping[str, np.ndarray], own: slice) -> FloatArray:
        found = np.asarray(self._session.run(None, dict(inputs))[0], np.float32)
        if found.shape != (len(inputs["first"]), len(self.class_names)):
            raise StageError(_("the second reader returned shape {shape}. Train it again", shape=found.shape))
        with np.errstate(invalid="ignore"):
            are_probabilities = (found >= 0).all(axis=1) & (np.abs(found.sum(axis=1) - 1) <= _ROUNDING)
        return np.where(are_probabilities[:, None], found, np.float32(np.nan))[own]


def _mean(one: FloatArray, other: FloatArray, weight: float) -> FloatArray:
    """Return the normalised geometric mean of class probabilities; NaN where one of them is NaN.

    `weight`, in [0, 1], is that of the other.
    """
    with np.errstate(invalid="ignore"):
        logs = (1 - weight) * np.log(np.maximum(one, _LEAST)) + weight * np.log(np.maximum(other, _LEAST))
        product = np.exp(logs - logs.max(axis=1, keepdims=True))
        mean: FloatArray = (product / product.sum(axis=1, keepdims=True)).astype(np.float32)
    return mean
