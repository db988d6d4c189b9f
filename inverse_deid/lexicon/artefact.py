"""The lexicon as one file: a zip of tries and aligned arrays under a manifest.

Members, all listed with their SHA-256 in `manifest.json`:

- `words.marisa`: trie of the word keys; a word's id indexes the arrays below.
- `flags.npy`: uint32 (n_words,), `WordFlag` bits.
- `lower_ratio.npy`: uint8 (n_words,), 254 * p(lower) / (p(lower) + p(Title)); 255 = unknown.
- `word_logprob.npy`: uint8 (n_words,), frequency bucket 1..255; 0 = unknown.
- `surname_log.npy`, `first_name_log.npy`: uint8 (n_words,), log10 of the count; 0 = none.
- `memberships.npy`: uint16 (n_words,), index into `membership_sets.npy`.
- `membership_sets.npy`: uint64 (n_sets,), bit i = the word is in list i of the manifest.
- `phrases.marisa`, `phrase_kinds.npy`: trie of phrases (keys joined by one space) and
  uint8 (n_phrases,) of `PhraseKind`.

No member is executable or pickled, and nothing is used before its hash is right.
"""

import hashlib
import io
import json
import zipfile
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import marisa_trie
import numpy as np
import numpy.typing as npt

from inverse_deid.core.errors import LexiconError

FORMAT_VERSION: Final = 1
ARRAY_DTYPES: Final[Mapping[str, type[np.generic]]] = {
    "flags": np.uint32,
    "lower_ratio": np.uint8,
    "word_logprob": np.uint8,
    "surname_log": np.uint8,
    "first_name_log": np.uint8,
    "memberships": np.uint16,
}
_MANIFEST: Final = "manifest.json"
_TIMESTAMP: Final = (1980, 1, 1, 0, 0, 0)

UIntArray = npt.NDArray[Any]


@dataclass(frozen=True, slots=True)
class Artefact:
    """The parts of a lexicon, in memory; arrays are aligned by trie id.

    Args:
        words: Trie of the word keys.
        arrays: One array (n_words,) for each name of `ARRAY_DTYPES`.
        membership_sets: uint64 (n_sets,), bit i = list i of `sources`.
        phrases: Trie of the phrases, keys joined by one space.
        phrase_kinds: uint8 (n_phrases,), values of `PhraseKind`.
        sources: Of each list: name, version, licence, count, flag and so on.
        version: Version of the content.
        sha256: SHA-256 of the manifest, hence of everything.
    """

    words: marisa_trie.Trie
    arrays: Mapping[str, UIntArray]
    membership_sets: UIntArray
    phrases: marisa_trie.Trie
    phrase_kinds: UIntArray
    sources: tuple[Mapping[str, Any], ...]
    version: str
    sha256: str = ""


def dump_artefact(artefact: Artefact) -> bytes:
    """Return the file's bytes: the same for the same content.

    Raises:
        LexiconError: An array does not fit its trie.
    """
    _check_shapes(artefact)
    members = _members(artefact)
    manifest = {
        "format_version": FORMAT_VERSION,
        "version": artefact.version,
        "n_words": len(artefact.words),
        "n_phrases": len(artefact.phrases),
        "members": {name: _digest(data) for name, data in sorted(members.items())},
        "sources": [dict(source) for source in artefact.sources],
    }
    text = json.dumps(manifest, ensure_ascii=False, indent=1, sort_keys=True)
    return _zip({_MANIFEST: text.encode(), **members})


def parse_artefact(data: bytes) -> Artefact:
    """Return the lexicon in the bytes of a file.

    Raises:
        LexiconError: Not a lexicon, another format version, or damaged.
    """
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            return _parse_archive(archive)
    except (
        zipfile.BadZipFile, zlib.error, KeyError, ValueError, TypeError, OSError,
        EOFError, RuntimeError, NotImplementedError, AttributeError,
    ) as error:  # fmt: skip
        raise LexiconError(
            f"the lexicon is damaged ({type(error).__name__}): install the package again "
            "or build the file again"
        ) from error


def _members(artefact: Artefact) -> dict[str, bytes]:
    arrays = {**artefact.arrays, "membership_sets": artefact.membership_sets}
    arrays["phrase_kinds"] = artefact.phrase_kinds
    members = {f"{name}.npy": _array_bytes(array) for name, array in sorted(arrays.items())}
    members["words.marisa"] = artefact.words.tobytes()
    members["phrases.marisa"] = artefact.phrases.tobytes()
    return members


def _parse_archive(archive: zipfile.ZipFile) -> Artefact:
    manifest_bytes = archive.read(_MANIFEST)
    manifest = json.loads(manifest_bytes)
    if manifest["format_version"] != FORMAT_VERSION:
        raise LexiconError(
            f"the lexicon has format {manifest['format_version']!r}, this program reads "
            f"{FORMAT_VERSION}: build the file again"
        )
    members = {
        name: _checked(name, archive.read(name), digest) for name, digest in manifest["members"].items()
    }
    artefact = Artefact(
        words=_trie(members["words.marisa"]),
        arrays={name: _array(members[f"{name}.npy"]) for name in ARRAY_DTYPES},
        membership_sets=_array(members["membership_sets.npy"]),
        phrases=_trie(members["phrases.marisa"]),
        phrase_kinds=_array(members["phrase_kinds.npy"]),
        sources=tuple(manifest["sources"]),
        version=str(manifest["version"]),
        sha256=_digest(manifest_bytes),
    )
    _check_shapes(artefact)
    return artefact


def _check_shapes(artefact: Artefact) -> None:
    expected = dict.fromkeys(ARRAY_DTYPES, len(artefact.words))
    found = {name: artefact.arrays[name] for name in ARRAY_DTYPES}
    for name, array in found.items():
        if array.shape != (expected[name],) or array.dtype != ARRAY_DTYPES[name]:
            raise LexiconError(
                f"the lexicon is damaged: {name} is {array.dtype} {array.shape}, expected ({expected[name]},)"
            )
    if artefact.phrase_kinds.shape != (len(artefact.phrases),):
        raise LexiconError("the lexicon is damaged: phrase_kinds does not fit its phrases")
    if found["memberships"].size and found["memberships"].max() >= artefact.membership_sets.size:
        raise LexiconError("the lexicon is damaged: memberships point outside their sets")


def _checked(name: str, data: bytes, digest: str) -> bytes:
    if _digest(data) != digest:
        raise LexiconError(f"the lexicon is damaged: {name} has another SHA-256 than listed")
    return data


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _trie(data: bytes) -> marisa_trie.Trie:
    trie = marisa_trie.Trie()
    trie.frombytes(data)
    return trie


def _array(data: bytes) -> UIntArray:
    array: UIntArray = np.load(io.BytesIO(data), allow_pickle=False)
    array.flags.writeable = False
    return array


def _array_bytes(array: UIntArray) -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, np.ascontiguousarray(array), allow_pickle=False)
    return buffer.getvalue()


def _zip(members: Mapping[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name, data in members.items():
            info = zipfile.ZipInfo(name, _TIMESTAMP)
            info.compress_type = zipfile.ZIP_DEFLATED
            info.create_system = 3
            info.external_attr = 0o644 << 16
            archive.writestr(info, data)
    return buffer.getvalue()
