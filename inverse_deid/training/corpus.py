"""Annotated corpora: reading, grouping of documents that belong together, splitting by group."""

from __future__ import annotations

import dataclasses
import hashlib
import random
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence, Set
from itertools import accumulate
from pathlib import Path
from typing import NamedTuple

from inverse_deid.core.errors import ConfigurationError, FormatError, InputError
from inverse_deid.core.phi import OUR_TYPES, PhiType, TypeMapping
from inverse_deid.core.settings import read_toml
from inverse_deid.core.values import Document, PhiSpan
from inverse_deid.core.wording import _
from inverse_deid.formats.i2b2_xml import read_gold_i2b2_xml
from inverse_deid.formats.registry import input_errors, open_input
from inverse_deid.formats.tables.json_lines import read_gold_json_lines
from inverse_deid.text.tokenizer import tokenize

_SHINGLE_TOKENS = 10
_PHRASE_DOCUMENTS = 5
"""A run of tokens in more documents than this is a phrase and not a sign of a duplicate."""
_PERSON, _WHOLE = "person: ", "whole: "
"""Beginnings of keys that are never phrases, in however many documents they occur."""
_I2B2_NAME = re.compile(r"(\d{3})-\d\d(?:\.xml)?")
"""File names of the 2014 i2b2 task: number of the patient, number of the record."""
_PERSONS = frozenset({PhiType.PATIENT, PhiType.RELATIVE})


def read_annotated(path: Path, types: TypeMapping = OUR_TYPES) -> list[Document]:
    """Read annotated documents: JSON Lines (also gzipped), an i2b2 XML file or a folder of them.

    Raises:
        InputError: Names the file, the line or document and the remedy.
    """
    is_xml = path.is_dir() or path.suffix == ".xml"
    docs: list[Document] = []
    for file in sorted(path.rglob("*.xml")) if path.is_dir() else [path]:
        try:
            with input_errors(), file.open("rb") if is_xml else open_input(file) as stream:
                if is_xml:
                    docs.append(read_gold_i2b2_xml(stream, file.name, types))
                else:
                    docs += read_gold_json_lines(stream, types)
        except InputError as error:
            if str(file) in str(error):
                raise
            raise error.add_prefix(f"{file}: ") from error
    if not docs:
        raise FormatError(_("{path}: no documents. Give JSON Lines with spans or 2014 i2b2 XML", path=path))
    return docs


def read_type_mapping(path: Path | None) -> TypeMapping:
    """Read the meaning of the type names of another scheme. Names that it does not map are ours.

    The file is TOML: a table `[types]` from their names to ours, as in `Person = "PATIENT"`.
    One run can then train on a corpus of that scheme and compare with one of the 2014 i2b2 task.

    Raises:
        ConfigurationError: Missing, not TOML, no such table, or an unknown type of ours.
    """
    if path is None:
        return OUR_TYPES
    table = read_toml(path).get("types")
    if not isinstance(table, dict) or not table:
        raise ConfigurationError(
            _('{path}: no table [types]. Add one with lines such as Person = "PATIENT"', path=path)
        )
    unknown = sorted(str(ours) for ours in table.values() if ours not in list(OUR_TYPES))
    if unknown:
        raise ConfigurationError(
            _(
                "{path}: {unknown}: unknown types. Choose from {our_types}",
                path=path,
                unknown=", ".join(unknown),
                our_types=", ".join(OUR_TYPES),
            )
        )
    return {**OUR_TYPES, **{name: OUR_TYPES[ours] for name, ours in table.items()}}


class OfficialSplit(NamedTuple):
    """The parts of the 2014 i2b2 release as its folders name them."""

    training: tuple[Path, ...]
    test: tuple[Path, ...]


OFFICIAL_SIZES = (790, 514)
"""Records in the training and in the test part of the 2014 i2b2 task."""


def official_split(folder: Path) -> OfficialSplit | None:
    """Return the official training and test folders below a folder of the 2014 i2b2 release, if it has both.

    They are `training-PHI-Gold-Set1` and `-Set2` against `testing-PHI-Gold-fixed`, whatever follows
    `training-` and `testing-`.
    """
    if not folder.is_dir():
        return None
    training, test = (_outermost(folder, name) for name in ("training-phi", "testing-phi"))
    return OfficialSplit(training, test) if training and test else None


def _outermost(folder: Path, name: str) -> tuple[Path, ...]:
    """Return the folders at any depth whose names begin so, without those within another."""
    found = [
        path for path in sorted(folder.rglob("*")) if path.is_dir() and path.name.lower().startswith(name)
    ]
    return tuple(path for path in found if not set(path.parents) & set(found))


def near_duplicate_groups(docs: Sequence[Document]) -> list[int]:
    """Return group numbers: equal for documents that share a run of ten tokens or a patient's full name.

    Documents of one group belong on one side of any split. A run that occurs in many documents is a
    phrase of a form or company and does not count.

    Example:
        >>> text = "one two three four five six seven eight nine ten"
        >>> near_duplicate_groups([Document("a", text), Document("b", "x " + text), Document("c", "y")])
        [0, 0, 2]
    """
    return _groups([set(_keys(doc)) for doc in docs])


def patient_groups(docs: Sequence[Document]) -> list[int]:
    """Return group numbers: equal for documents of one patient, and for copies of one document.

    Unlike `near_duplicate_groups` it does not join documents that only share a phrase, so
    that a corpus from one hospital does not become one group.

    Example:
        >>> patient_groups([Document("101-01", "x"), Document("101-02", "y"), Document("102-01", "z")])
        [0, 0, 2]
    """
    return _groups([{key for key in _keys(doc) if key.startswith((_PERSON, _WHOLE))} for doc in docs])


def _groups(keys_of: Sequence[set[str]]) -> list[int]:
    leaders = list(range(len(keys_of)))

    def leader(i: int) -> int:
        while leaders[i] != i:
            leaders[i] = i = leaders[leaders[i]]
        return i

    members: dict[str, list[int]] = defaultdict(list)
    for i, keys in enumerate(keys_of):
        for key in keys:
            members[key].append(i)
    for key, found in members.items():
        if len(found) > _PHRASE_DOCUMENTS and not key.startswith((_PERSON, _WHOLE)):
            continue
        for i in found[1:]:
            first, second = sorted((leader(found[0]), leader(i)))
            leaders[second] = first
    return [leader(i) for i in range(len(keys_of))]


def without_near_duplicates(docs: Sequence[Document], of: Sequence[Document]) -> list[Document]:
    """Leave out documents that share an id, a run of ten tokens or a patient with those held out (`of`)."""
    ids = {doc.id for doc in of if not doc.id.isdecimal()}  # a mere number may be that of a line
    apart = {key for doc in of for key in _keys(doc)}
    shared = [apart.intersection(_keys(doc)) for doc in docs]
    counts = Counter(key for keys in shared for key in keys)
    phrases = {
        key
        for key, count in counts.items()
        if count > _PHRASE_DOCUMENTS and not key.startswith((_PERSON, _WHOLE))
    }
    return [doc for doc, keys in zip(docs, shared, strict=True) if doc.id not in ids and keys <= phrases]


def without_shared_passages(docs: Sequence[Document], of: Sequence[Document]) -> list[Document]:
    """Leave out documents of the patients of others (`of`), and lines with ten tokens in a row of theirs.

    Documents with an id of theirs, or with the same text, are left out as well. Unlike
    `without_near_duplicates` it keeps the rest of a document that shares the head of a letter.

    Example:
        >>> text = "one two three four five six seven eight nine ten"
        >>> left = without_shared_passages([Document("a", f"{text}{chr(10)}more")], [Document("b", text)])
        >>> [doc.text for doc in left]
        ['more']
    """
    ids = {doc.id for doc in of if not doc.id.isdecimal()}
    theirs = {key for doc in of for key in _keys(doc)}
    strict = {key for key in theirs if key.startswith((_PERSON, _WHOLE))}
    apart = [doc for doc in docs if doc.id not in ids and strict.isdisjoint(_keys(doc))]
    kept = [_without_runs(doc, theirs) for doc in apart]
    return [doc for doc in kept if doc.text.strip()]


def _without_runs(doc: Document, theirs: Set[str]) -> Document:
    """Cut the lines that touch a run, with the annotations that reach into them, until none is left."""
    tokens = tokenize(doc.text)
    words = [word.casefold() for word in tokens.words]
    cut = bytearray(len(doc.text))
    for i in range(len(words) - _SHINGLE_TOKENS + 1):
        if " ".join(words[i : i + _SHINGLE_TOKENS]) in theirs:
            first, last = int(tokens.starts[i]), int(tokens.ends[i + _SHINGLE_TOKENS - 1])
            start, end = doc.text.rfind("\n", 0, first) + 1, doc.text.find("\n", last) + 1 or len(doc.text)
            cut[start:end] = b"\1" * (end - start)
    if not any(cut):
        return doc
    for span in doc.spans:
        if any(cut[span.start : span.end]):
            cut[span.start : span.end] = b"\1" * (span.end - span.start)
    left = [0, *accumulate(1 - gone for gone in cut)]
    spans = [PhiSpan(left[s.start], left[s.end], s.type) for s in doc.spans if not cut[s.start]]
    text = "".join(character for character, gone in zip(doc.text, cut, strict=True) if not gone)
    return _without_runs(dataclasses.replace(doc, text=text, spans=tuple(spans)), theirs)


def _keys(doc: Document) -> Iterator[str]:
    """Return the keys that two documents share if they belong together."""
    words = [word.casefold() for word in tokenize(doc.text).words]
    for i in range(len(words) - _SHINGLE_TOKENS + 1):
        yield " ".join(words[i : i + _SHINGLE_TOKENS])
    if words:
        yield _WHOLE + " ".join(words)
    record = _I2B2_NAME.fullmatch(doc.id)
    if record:
        yield f"{_PERSON}{record[1]}"
    for span in doc.spans:
        if span.type in _PERSONS:
            name = sorted(word.casefold() for word in tokenize(doc.text[span.start : span.end]).words)
            if len(name) > 1 and sum(map(len, name)) > 6:
                yield _PERSON + " ".join(name)


def split_by_group(
    docs: Sequence[Document], share: float, seed: int
) -> tuple[list[Document], list[Document]]:
    """Split documents in two, whole groups to one side, by a hash that does not depend on the order.

    About `share` of the groups go to the second part.
    """
    marked = list(zip(docs, flag_held_out(docs, share, seed), strict=True))
    return [doc for doc, out in marked if not out], [doc for doc, out in marked if out]


def hold_out_patients(
    docs: Sequence[Document], share: float, seed: int
) -> tuple[list[Document], list[Document]]:
    """Return training and held-out documents, whole patients, with at least the share, in (0, 1), held out.

    Unlike `split_by_group` it separates documents that only share phrases of a form, so that
    the share is met even in a corpus of one hospital.
    """
    numbers = patient_groups(docs)
    drawn = sorted(set(numbers))
    random.Random(seed).shuffle(drawn)
    sizes = Counter(numbers)
    out: set[int] = set()
    while drawn and sum(sizes[number] for number in out) < share * len(docs):
        out.add(drawn.pop())
    marked = list(zip(docs, numbers, strict=True))
    return [doc for doc, n in marked if n not in out], [doc for doc, n in marked if n in out]


def flag_held_out(docs: Sequence[Document], share: float, seed: int) -> list[bool]:
    """Return which documents `split_by_group` holds out."""
    numbers = near_duplicate_groups(docs)
    names: dict[int, str] = {}
    for doc, number in zip(docs, numbers, strict=True):
        names[number] = min(doc.id, names.get(number, doc.id))

    def is_out(name: str) -> bool:
        digest = hashlib.sha256(f"{seed}:{name}".encode()).digest()
        return int.from_bytes(digest[:8]) < share * 2**64

    return [is_out(names[number]) for number in numbers]
