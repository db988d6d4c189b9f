"""Opinions of an encoder on the documents of each pass, written before a network learns from them."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from inverse_deid.core.errors import ModelError
from inverse_deid.core.files import write_whole
from inverse_deid.core.values import FloatArray
from inverse_deid.network.batches import Example

_ABOUT = "about.json"
_STEPS = 250
"""Probabilities are stored in steps of one in this number."""


def digest_of(examples: Sequence[Example]) -> str:
    """Return a hash of the words of documents."""
    digest = hashlib.sha256()
    for example in examples:
        digest.update("\0".join(example.words).encode() + b"\n")
    return digest.hexdigest()


@dataclass(frozen=True, slots=True)
class StoredOpinions:
    """A folder with the opinions on each part of a training."""

    folder: Path

    def claim(self, teacher: str, class_names: Sequence[str]) -> None:
        """Write beside the opinions whose they are, by a hash of the teacher's weights.

        Raises:
            ModelError: The folder has opinions of another teacher.
        """
        about, path = {"teacher": teacher, "class_names": list(class_names)}, self.folder / _ABOUT
        if path.exists() and json.loads(path.read_text(encoding="utf-8")) != about:
            raise ModelError(f"{self.folder}: opinions of another teacher. Name another folder, or delete it")
        write_whole(path, [json.dumps(about).encode()])

    def check(self, class_names: Sequence[str]) -> str:
        """Check that a network can learn from these opinions, and return a hash of all of them.

        Raises:
            ModelError: There are none, or they are on other classes.
        """
        try:
            about = json.loads((self.folder / _ABOUT).read_text(encoding="utf-8"))
            files = sorted(self.folder.glob("opinions-*.npz"))
            digest = hashlib.sha256(about["teacher"].encode())
            for file in files:
                digest.update(hashlib.sha256(file.read_bytes()).digest())
            classes = about["class_names"]
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise ModelError(f"{self.folder}: no opinions. Write them first") from error
        if not files:
            raise ModelError(f"{self.folder}: no opinions. Write them first")
        if classes != list(class_names):
            raise ModelError(f"{self.folder}: opinions on other classes. Correct network.targets")
        return digest.hexdigest()

    def path(self, part: int) -> Path:
        """Return the file of a part."""
        return self.folder / f"opinions-{part:04}.npz"

    def write(self, part: int, opinions: FloatArray, digest: str) -> None:
        """Write the class probabilities of all tokens of a part: (n_tokens, n_classes)."""
        partial = self.path(part).with_suffix(".partial")
        steps = np.rint(opinions * _STEPS).astype(np.uint8)
        with partial.open("wb") as file:
            np.savez_compressed(file, steps=steps, digest=np.array(digest))
        partial.replace(self.path(part))

    def read(self, part: int, examples: Sequence[Example]) -> list[FloatArray]:
        """Return the class probabilities of documents: float32 (n_tokens, n_classes) each.

        Raises:
            ModelError: They are missing, or were made for other documents.
        """
        try:
            with zipfile.ZipFile(self.path(part)), np.load(self.path(part), allow_pickle=False) as arrays:
                steps, digest = arrays["steps"], str(arrays["digest"])
        except (OSError, EOFError, KeyError, ValueError, zipfile.BadZipFile) as error:
            raise ModelError(f"{self.path(part)}: no opinions. Write them again") from error
        if digest != digest_of(examples):
            raise ModelError(f"{self.path(part)}: made for other documents. Write them again")
        found = steps.astype(np.float32)
        found /= np.maximum(1, found.sum(axis=1, keepdims=True))
        return np.split(found, np.cumsum([len(example) for example in examples])[:-1])

    def added_to(
        self, part: int, examples: Sequence[Example], share: float, weak_weight: float
    ) -> list[Example]:
        """Return the examples of a part with these opinions.

        `share` is theirs in the target of a token that has a label. A token whose label is in doubt (its
        weight is 0) learns the opinion alone, with `weak_weight`.

        Raises:
            ModelError: They are missing, or were made for other documents.
        """
        found = []
        for example, opinion in zip(examples, self.read(part, examples), strict=True):
            in_doubt = example.weights == 0
            shares = np.where(in_doubt, 1.0, share)[:, None]
            weights = np.where(in_doubt, weak_weight, example.weights).astype(np.float32)
            weighed = (opinion * shares).astype(np.float16)
            found.append(dataclasses.replace(example, opinion=weighed, weights=weights))
        return found
