"""The folder of an extractor: written whole or not at all, checked before it is used.

::

    manifest.json      format, provenance, sha256 of every other file, seal over all this
    config.json        kind and sizes, types of each task, names of further embedders
    words.txt          the words with a vector, one a line
    word_vectors.npz   int8 codes and float32 scale of their vectors
    weights.npz        all other weights
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from inverse_deid.core.errors import ConfigurationError, ModelError
from inverse_deid.core.files import write_folder
from inverse_deid.network.encoding import WordVectors
from inverse_deid.network.folder import (
    read_checked_manifest,
    refuse_other_folder,
    write_manifest,
)
from inverse_deid.research.extraction.config import tagger_config
from inverse_deid.research.extraction.passage_inputs import Embedder
from inverse_deid.research.extraction.tagger import Tagger, new_tagger

FORMAT = "inverse-deid research extraction 3"
_FILES = ("config.json", "words.txt", "word_vectors.npz", "weights.npz")


def write_tagger(tagger: Tagger, folder: Path, provenance: Mapping[str, Any]) -> None:
    """Write the folder; an older one of that name is replaced only when all is written.

    Args:
        tagger: The extractor.
        folder: The folder.
        provenance: Data hashes, seed, settings; free form, no narrative text.

    Raises:
        ModelError: The folder exists and is not a model folder, or cannot be written.
    """
    refuse_other_folder(folder)
    write_folder(folder, lambda staging: _write_files(tagger, staging, provenance))


def _write_files(tagger: Tagger, folder: Path, provenance: Mapping[str, Any]) -> None:
    config = {
        "extractor": dataclasses.asdict(tagger.config),
        "types": {task: list(kinds) for task, kinds in tagger.types.items()},
        "embedders": [embedder.name for embedder in tagger.embedders],
    }
    (folder / "config.json").write_text(json.dumps(config, indent=1) + "\n", encoding="utf-8")
    (folder / "words.txt").write_text("".join(f"{word}\n" for word in tagger.vectors.words), encoding="utf-8")
    np.savez_compressed(folder / "word_vectors.npz", codes=tagger.vectors.codes, scale=tagger.vectors.scale)
    weights = {str(i): weight for i, weight in enumerate(_stored(tagger))}
    np.savez_compressed(folder / "weights.npz", **weights)
    write_manifest(folder, {"format": FORMAT, "provenance": dict(provenance)}, _FILES)


def _stored(tagger: Tagger) -> list[Any]:
    """The variables that are stored as weights: all but fixed word vectors."""
    return [
        variable
        for variable in tagger.network.model.weights
        if tagger.config.learn_words or not variable.path.startswith("word_embedding/")
    ]


def read_tagger(folder: Path, embedders: Sequence[Embedder] = ()) -> Tagger:
    """Read an extractor after checking its folder.

    Args:
        folder: The folder.
        embedders: Those that it was trained with, in the same order.

    Raises:
        ModelError: Missing, damaged, altered, of another format, or with other embedders.
    """
    read_checked_manifest(folder, FORMAT, _FILES)
    try:
        config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
        words = (folder / "words.txt").read_text(encoding="utf-8").splitlines()
        with np.load(folder / "word_vectors.npz", allow_pickle=False) as arrays:
            vectors = WordVectors(tuple(words), arrays["codes"], arrays["scale"])
        if config["embedders"] != [embedder.name for embedder in embedders]:
            raise ModelError(f"{folder}: was trained with the embedders {config['embedders']}; give the same")
        types = {str(task): tuple(kinds) for task, kinds in config["types"].items()}
        tagger = new_tagger(tagger_config(config["extractor"]), types, vectors, embedders)
        with np.load(folder / "weights.npz", allow_pickle=False) as arrays:
            for i, variable in enumerate(_stored(tagger)):
                variable.assign(arrays[str(i)])
    except (KeyError, ValueError, OSError, ConfigurationError) as error:
        raise ModelError(f"{folder}: damaged ({type(error).__name__}); train it again") from error
    return tagger
