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
import math
import zipfile
import zlib
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import marisa_trie
import numpy as np
import numpy.typing as npt

from inverse_deid.core.errors import LexiconError
from inverse_deid.core.wording import _
from inverse_deid.lexicon.entries import MAX_PHRASE_TOKENS, PhraseKind, WordFlag, WordList, spellings

FORMAT_VERSION: Final = 1
ARRAY_DTYPES: Final[Mapping[str, type[np.generic]]] = {
    "flags": np.uint32,
    "lower_ratio": np.uint8,
    "word_logprob": np.uint8,
    "surname_log": np.uint8,
    "first_name_log": np.uint8,
    "memberships": np.uint16,
}
MANIFEST: Final = "manifest.json"
"""The first member of a lexicon."""
_TIMESTAMP: Final = (1980, 1, 1, 0, 0, 0)

UIntArray = npt.NDArray[Any]


@dataclass(frozen=True, slots=True)
class Artefact:
    """The parts of a lexicon, in memory, as the module describes them; arrays are aligned by trie id."""

    words: marisa_trie.Trie
    arrays: Mapping[str, UIntArray]  # one (n_words,) for each name of `ARRAY_DTYPES`
    membership_sets: UIntArray
    phrases: marisa_trie.Trie
    phrase_kinds: UIntArray
    sources: tuple[Mapping[str, Any], ...]  # of each list: name, version, licence, count, flag and so on
    version: str  # of the content
    sha256: str = ""  # of the manifest, hence of everything; empty until the file is written and read


def dump_artefact(artefact: Artefact) -> bytes:
    """Return the file's bytes: the same for the same content.

    Raises:
        LexiconError: An array does not fit its trie.
    """
    _check_shapes(artefact)
    arrays = {**artefact.arrays, "membership_sets": artefact.membership_sets}
    arrays["phrase_kinds"] = artefact.phrase_kinds
    members = {}
    for name, array in sorted(arrays.items()):
        np.save(buffer := io.BytesIO(), np.ascontiguousarray(array), allow_pickle=False)
        members[f"{name}.npy"] = buffer.getvalue()
    members["words.marisa"] = artefact.words.tobytes()
    members["phrases.marisa"] = artefact.phrases.tobytes()
    manifest = {
        "format_version": FORMAT_VERSION,
        "version": artefact.version,
        "n_words": len(artefact.words),
        "n_phrases": len(artefact.phrases),
        "members": {name: _digest(data) for name, data in sorted(members.items())},
        "sources": [dict(source) for source in artefact.sources],
    }
    text = json.dumps(manifest, ensure_ascii=False, indent=1, sort_keys=True)
    return _zip({MANIFEST: text.encode(), **members})


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
            _(
                "the lexicon is damaged ({name}): install the package again or build the file again",
                name=type(error).__name__,
            )
        ) from error


def _parse_archive(archive: zipfile.ZipFile) -> Artefact:
    manifest_bytes = archive.read(MANIFEST)
    manifest = json.loads(manifest_bytes)
    if manifest["format_version"] != FORMAT_VERSION:
        raise LexiconError(
            _(
                "the lexicon has format {format_version!r}, this program reads {format_version_2}: build "
                "the file again",
                format_version=manifest["format_version"],
                format_version_2=FORMAT_VERSION,
            )
        )
    members = {name: archive.read(name) for name in manifest["members"]}
    for name, digest in manifest["members"].items():
        if _digest(members[name]) != digest:
            raise LexiconError(_("the lexicon is damaged: {name} has another SHA-256 than listed", name=name))
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
    n_words = len(artefact.words)
    for name, dtype in ARRAY_DTYPES.items():
        array = artefact.arrays[name]
        if array.shape != (n_words,) or array.dtype != dtype:
            raise LexiconError(
                _(
                    "the lexicon is damaged: {name} is {dtype} {shape}, expected ({n_words},)",
                    name=name,
                    dtype=array.dtype,
                    shape=array.shape,
                    n_words=n_words,
                )
            )
    if artefact.phrase_kinds.shape != (len(artefact.phrases),):
        raise LexiconError(_("the lexicon is damaged: phrase_kinds does not fit its phrases"))
    memberships = artefact.arrays["memberships"]
    if memberships.size and memberships.max() >= artefact.membership_sets.size:
        raise LexiconError(_("the lexicon is damaged: memberships point outside their sets"))


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


MAX_LOG10_COUNT: Final = 7.0
"""Counts are stored as log10(count) / 7, so ten million is 1."""

MAX_LISTS: Final = 64
UNKNOWN_RATIO: Final = 255
_COUNT_ARRAYS: Final = {WordFlag.SURNAME: "surname_log", WordFlag.FIRST_NAME: "first_name_log"}
_KIND_ORDER: Final = (
    PhraseKind.EPONYM,
    PhraseKind.HOLIDAY,
    PhraseKind.COUNTRY,
    PhraseKind.STATE,
    PhraseKind.CITY,
)
"""If a phrase has several kinds, the last one counts: only eponyms are safe."""


@dataclass(frozen=True, slots=True)
class Frequency:
    """How often, and in which case, a word is written in general English."""

    lower_ratio: int  # 0..254, 254 * p(lower) / (p(lower) + p(Title)); 255 = unknown
    logprob: int  # 1..255, bucket of the log probability in any case; 0 = unknown


@dataclass(slots=True)
class _Row:
    flags: int = 0
    lists: int = 0
    surname_log: int = 0
    first_name_log: int = 0


def compile_lexicon(
    lists: Sequence[WordList], frequencies: Mapping[str, Frequency], *, version: str
) -> Artefact:
    """Return the artefact made of `lists`.

    Args:
        lists: Their order is the order of the manifest.
        frequencies: Word key to frequency. Words that are in no list are stored as well.
        version: Version of the content.

    Raises:
        ValueError: More than 64 lists.
    """
    rows: defaultdict[str, _Row] = defaultdict(_Row)
    phrases: dict[str, PhraseKind] = {}
    for index, word_list in enumerate(lists):
        _add_list(rows, phrases, word_list, index)
    for key in frequencies:
        rows[key]  # A word of no list gets a row as well.
    sources = tuple(word_list.describe() for word_list in lists)
    return _assemble(rows, phrases, frequencies, sources, version)


def extend_lexicon(base: Artefact, lists: Sequence[WordList], *, version: str) -> Artefact:
    """Return a copy of `base` with `lists` added.

    Raises:
        ValueError: More than 64 lists in all.
    """
    rows, frequencies = _unpack(base)
    kinds = base.phrase_kinds
    phrases = {phrase: PhraseKind(int(kinds[i])) for phrase, i in base.phrases.items()}
    for index, word_list in enumerate(lists, start=len(base.sources)):
        _add_list(rows, phrases, word_list, index)
    sources = (*base.sources, *(word_list.describe() for word_list in lists))
    return _assemble(rows, phrases, frequencies, sources, version)


def count_level(count: int) -> int:
    """Return the stored level 1..255 of a count; 0 for no count."""
    if count <= 0:
        return 0
    return max(1, min(255, round(255 * math.log10(count) / MAX_LOG10_COUNT)))


def _add_list(
    rows: defaultdict[str, _Row],
    phrases: dict[str, PhraseKind],
    word_list: WordList,
    index: int,
) -> None:
    n_spellings = 2 if word_list.add_unaccented else 1
    flag, kind = word_list.flag, word_list.phrase_kind
    for entry, count in word_list.entries.items():
        for tokens in spellings(entry)[:n_spellings]:
            if len(tokens) == 1 and flag is not None:
                row = rows[tokens[0]]
                row.flags |= flag
                row.lists |= 1 << index
                if array := _COUNT_ARRAYS.get(flag):
                    setattr(row, array, max(getattr(row, array), count_level(count)))
            elif 2 <= len(tokens) <= MAX_PHRASE_TOKENS and kind:
                rows[tokens[0]].flags |= WordFlag.PHRASE_START
                known = phrases.setdefault(" ".join(tokens), kind)
                if _KIND_ORDER.index(kind) > _KIND_ORDER.index(known):
                    phrases[" ".join(tokens)] = kind


def _unpack(base: Artefact) -> tuple[defaultdict[str, _Row], dict[str, Frequency]]:
    rows: defaultdict[str, _Row] = defaultdict(_Row)
    frequencies: dict[str, Frequency] = {}
    arrays, sets = base.arrays, base.membership_sets
    for key, i in base.words.items():
        rows[key] = _Row(
            flags=int(arrays["flags"][i]),
            lists=int(sets[arrays["memberships"][i]]),
            surname_log=int(arrays["surname_log"][i]),
            first_name_log=int(arrays["first_name_log"][i]),
        )
        if arrays["word_logprob"][i]:
            ratio = int(arrays["lower_ratio"][i])
            frequencies[key] = Frequency(ratio, int(arrays["word_logprob"][i]))
    return rows, frequencies


def _assemble(
    rows: Mapping[str, _Row],
    phrases: Mapping[str, PhraseKind],
    frequencies: Mapping[str, Frequency],
    sources: tuple[Mapping[str, Any], ...],
    version: str,
) -> Artefact:
    if len(sources) > MAX_LISTS:
        raise ValueError(f"at most {MAX_LISTS} lists fit the membership bits, not {len(sources)}")
    words = marisa_trie.Trie(sorted(rows))
    sets, memberships = _membership_sets(rows, words)
    phrase_trie = marisa_trie.Trie(sorted(phrases))
    kinds = np.zeros(len(phrase_trie), np.uint8)
    for phrase, kind in phrases.items():
        kinds[phrase_trie[phrase]] = kind
    return Artefact(
        words=words,
        arrays=_arrays(rows, frequencies, words) | {"memberships": memberships},
        membership_sets=sets,
        phrases=phrase_trie,
        phrase_kinds=kinds,
        sources=sources,
        version=version,
    )


def _arrays(
    rows: Mapping[str, _Row], frequencies: Mapping[str, Frequency], words: marisa_trie.Trie
) -> dict[str, UIntArray]:
    arrays: dict[str, UIntArray] = {name: np.zeros(len(words), dtype) for name, dtype in ARRAY_DTYPES.items()}
    arrays["lower_ratio"][:] = UNKNOWN_RATIO
    for key, row in rows.items():
        index = words[key]
        arrays["flags"][index] = row.flags
        arrays["surname_log"][index] = row.surname_log
        arrays["first_name_log"][index] = row.first_name_log
        frequency = frequencies.get(key)
        if frequency is not None:
            arrays["lower_ratio"][index] = frequency.lower_ratio
            arrays["word_logprob"][index] = frequency.logprob
    return arrays


def _membership_sets(rows: Mapping[str, _Row], words: marisa_trie.Trie) -> tuple[UIntArray, UIntArray]:
    distinct = sorted({row.lists for row in rows.values()})
    position = {bits: index for index, bits in enumerate(distinct)}
    memberships = np.zeros(len(words), np.uint16)
    for key, row in rows.items():
        memberships[words[key]] = position[row.lists]
    return np.array(distinct, np.uint64), memberships
