"""Annotated corpora: reading, grouping of documents that belong together, splitting by group."""

from __future__ import annotations

import hashlib
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from inverse_deid.core.errors import ConfigurationError, FormatError, InputError, UnreadableInputError
from inverse_deid.core.phi import OUR_TYPES, PhiType, TypeMapping
from inverse_deid.core.values import Document
from inverse_deid.deep.config import read_config
from inverse_deid.formats.i2b2_xml import read_gold_i2b2_xml
from inverse_deid.formats.json_lines import read_gold_json_lines
from inverse_deid.formats.registry import open_input
from inverse_deid.text.tokenizer import tokenize

_SHINGLE_TOKENS = 10
_I2B2_NAME = re.compile(r"(\d+)-\d+(?:\.xml)?")
"""File names of the 2014 i2b2 task: number of the patient, number of the record."""
_PERSONS = frozenset({PhiType.PATIENT, PhiType.RELATIVE})


def read_annotated(path: Path, types: TypeMapping = OUR_TYPES) -> list[Document]:
    """Read annotated documents: JSON Lines (also gzipped), an i2b2 XML file or a folder of them.

    Args:
        path: File or folder.
        types: What the type names mean.

    Raises:
        InputError: Names the file, the line or document and the remedy.
    """
    try:
        if path.is_dir():
            docs = [_read_xml(file, types) for file in sorted(path.rglob("*.xml"))]
        elif path.suffix == ".xml":
            docs = [_read_xml(path, types)]
        else:
            with open_input(path) as stream:
                docs = list(read_gold_json_lines(stream, types))
    except OSError as error:
        raise UnreadableInputError(f"{path}: cannot be read ({error.strerror})") from error
    except InputError as error:
        raise type(error)(_naming(path, error)) from error
    if not docs:
        raise FormatError(f"{path}: holds no document; give JSON Lines with spans or 2014 i2b2 XML")
    return docs


def _naming(path: Path, error: InputError) -> str:
    return str(error) if str(path) in str(error) else f"{path}: {error}"


def _read_xml(path: Path, types: TypeMapping) -> Document:
    try:
        with path.open("rb") as stream:
            return read_gold_i2b2_xml(stream, path.name, types)
    except InputError as error:
        raise type(error)(_naming(path, error)) from error


def read_type_mapping(path: Path | None) -> TypeMapping:
    """Read what the type names of another scheme mean; without a file the names are ours.

    The file is TOML: a table `[types]` from their names to ours, as in `Person = "PATIENT"`.

    Raises:
        ConfigurationError: Missing, not TOML, no such table, or an unknown type of ours.
    """
    if path is None:
        return OUR_TYPES
    table = read_config(path).get("types")
    if not isinstance(table, dict) or not table:
        raise ConfigurationError(f'{path}: has no table [types] with lines such as Person = "PATIENT"')
    unknown = sorted(str(ours) for ours in table.values() if ours not in OUR_TYPES)
    if unknown:
        raise ConfigurationError(f"{path}: {', '.join(unknown)}: not among {', '.join(OUR_TYPES)}")
    return {name: OUR_TYPES[ours] for name, ours in table.items()}


class OfficialSplit(NamedTuple):
    """The parts of the 2014 i2b2 release as its folders name them."""

    training: tuple[Path, ...]
    test: tuple[Path, ...]


OFFICIAL_SIZES = (790, 514)
"""Records in the training and in the test part of the 2014 i2b2 task."""


def official_split(folder: Path) -> OfficialSplit | None:
    """The official training and test folders below a folder of the 2014 i2b2 release.

    Returns:
        `training-PHI-Gold-Set1` and `-Set2` against `testing-PHI-Gold-fixed`, whatever
        follows `training-` and `testing-`; None if the folder does not hold both.
    """
    if not folder.is_dir():
        return None
    parts = sorted(path for path in folder.iterdir() if path.is_dir())
    training = tuple(path for path in parts if path.name.lower().startswith("training-phi"))
    test = tuple(path for path in parts if path.name.lower().startswith("testing-phi"))
    return OfficialSplit(training, test) if training and test else None


def near_duplicate_groups(docs: Sequence[Document]) -> list[int]:
    """Group documents that share a run of ten tokens or the full name of a patient.

    Returns:
        A group number for each document; documents of one number belong on one
        side of any split.

    Example:
        >>> text = "one two three four five six seven eight nine ten"
        >>> near_duplicate_groups([Document("a", text), Document("b", "x " + text), Document("c", "y")])
        [0, 0, 2]
    """
    leaders = list(range(len(docs)))

    def leader(i: int) -> int:
        while leaders[i] != i:
            leaders[i] = i = leaders[leaders[i]]
        return i

    seen: dict[str, int] = {}
    for i, doc in enumerate(docs):
        for key in _keys(doc):
            first, second = sorted((leader(seen.setdefault(key, i)), leader(i)))
            leaders[second] = first
    return [leader(i) for i in range(len(docs))]


def _keys(doc: Document) -> Iterator[str]:
    """What two documents that belong together have in common."""
    words = [word.casefold() for word in tokenize(doc.text).words]
    for i in range(len(words) - _SHINGLE_TOKENS + 1):
        yield " ".join(words[i : i + _SHINGLE_TOKENS])
    record = _I2B2_NAME.fullmatch(doc.id)
    if record:
        yield f"patient {record[1]}"
    for span in doc.spans:
        if span.type in _PERSONS:
            name = sorted(word.casefold() for word in tokenize(doc.text[span.start : span.end]).words)
            if len(name) > 1 and sum(map(len, name)) > 6:
                yield "name " + " ".join(name)


def split_by_group(
    docs: Sequence[Document], share: float, seed: int
) -> tuple[list[Document], list[Document]]:
    """Split documents in two, whole groups to one side, by a hash that does not depend on the order.

    Args:
        docs: Annotated documents.
        share: About which share of the groups goes to the second part.
        seed: Changes the split.

    Returns:
        The larger and the smaller part.
    """
    groups: dict[int, list[Document]] = defaultdict(list)
    for doc, group in zip(docs, near_duplicate_groups(docs), strict=True):
        groups[group].append(doc)
    rest: list[Document] = []
    held_out: list[Document] = []
    for members in groups.values():
        name = min(doc.id for doc in members)
        digest = hashlib.sha256(f"{seed}:{name}".encode()).digest()
        (held_out if int.from_bytes(digest[:8]) < share * 2**64 else rest).extend(members)
    return rest, held_out
