"""The Parquet file that an institution releases: vectors, casings and classes of sentences.

It has one row per sentence, in random order; no text, no id, no offset. Metadata names the
representation that made it, so that vectors of two of them are never mixed.

::

    vectors   list<float>   n_tokens * dim numbers
    casings   list<uint8>   n_tokens values of `Casing`
    classes   list<uint8>   n_tokens indices into `HyperClass`
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from inverse_deid.core.errors import (
    ConfigurationError,
    FormatError,
    OutputExistsError,
    Remedy,
    UnreadableInputError,
)
from inverse_deid.core.phi import HyperClass
from inverse_deid_research.representations.secret_draws import in_secret_order
from inverse_deid_research.representations.sentences import N_CASINGS, VectorSentence
from inverse_deid_research.studies.records import open_whole

if TYPE_CHECKING:
    import pyarrow as pa

FORMAT_VERSION = 1
_KEY = b"inverse_deid"


@dataclass(frozen=True, slots=True, eq=False)
class SharedSentences:
    """The content of a file."""

    sentences: Sequence[VectorSentence] = field(repr=False)  # in the file's order
    dim: int  # length of a vector
    representation: str  # fingerprint of the representation that made the vectors


def refuse_existing(path: Path, *, force: bool) -> None:
    """Refuse to overwrite a file before any work is done.

    Raises:
        OutputExistsError: The file exists, and `force` is not given; or it is a folder.
    """
    if path.is_dir() or (path.exists() and not force):
        raise OutputExistsError(
            f"{path}: exists",
            remedies=[Remedy(step="choose another name"), Remedy("force", step="overwrite a file with {}")],
        )


def write_shared(shared: SharedSentences, path: Path) -> None:
    """Write a file, whole or not at all.

    Raises:
        OutputError: It cannot be written.
    """
    import pyarrow as pa
    import pyarrow.parquet

    meta = {
        "format": FORMAT_VERSION,
        "dim": shared.dim,
        "representation": shared.representation,
        "classes": list(HyperClass),
    }
    schema = _schema().with_metadata({_KEY: json.dumps(meta).encode()})
    columns = [
        [sentence.vectors.ravel() for sentence in shared.sentences],
        [sentence.casings.astype(np.uint8) for sentence in shared.sentences],
        [sentence.classes.astype(np.uint8) for sentence in shared.sentences],
    ]
    arrays = [pa.array(column, kind) for column, kind in zip(columns, schema.types, strict=True)]
    with open_whole(path) as stream:
        pyarrow.parquet.write_table(pa.table(arrays, schema=schema), stream)


def _schema() -> pa.Schema:
    import pyarrow as pa

    numbers = pa.list_(pa.uint8())
    return pa.schema({"vectors": pa.list_(pa.float32()), "casings": numbers, "classes": numbers})


def read_shared(path: Path) -> SharedSentences:
    """Read a file and check every row.

    Raises:
        UnreadableInputError: It cannot be read.
        FormatError: No such file, of another version, or vectors of the wrong size.
    """
    table = _read_table(path)
    meta = _read_meta(path, table)
    columns = [[np.asarray(cell.values) for cell in table.column(name)] for name in table.schema.names]
    sentences = [
        _check_sentence(path, number, meta["dim"], cells)
        for number, cells in enumerate(zip(*columns, strict=True), start=1)
    ]
    if not sentences:
        raise FormatError(f"{path}: has no sentence. Encode again")
    return SharedSentences(sentences, meta["dim"], meta["representation"])


def _read_table(path: Path) -> pa.Table:
    import pyarrow as pa
    import pyarrow.parquet

    try:
        stream = path.open("rb")
    except OSError as error:
        raise UnreadableInputError(f"{path}: cannot be read ({error.strerror}). Check the path") from error
    with stream, suppress(pa.ArrowException, OSError):
        return pyarrow.parquet.read_table(stream)
    raise FormatError(f"{path}: is not a Parquet file or is damaged. Give what `share encode` wrote")


def _read_meta(path: Path, table: pa.Table) -> dict[str, Any]:
    found = None
    with suppress(ValueError):
        found = json.loads((table.schema.metadata or {}).get(_KEY, b""))
    schema = _schema()
    if not isinstance(found, dict) or table.schema.names != schema.names:
        raise FormatError(f"{path}: has no private sentences. Give what `share encode` wrote")
    if found.get("format") != FORMAT_VERSION or found.get("classes") != list(HyperClass):
        raise FormatError(f"{path}: private sentences of another version. Encode again with this one")
    is_whole = table.schema.types == schema.types and not any(column.null_count for column in table.columns)
    is_described = isinstance(found.get("dim"), int) and isinstance(found.get("representation"), str)
    if not is_whole or not is_described:
        raise FormatError(f"{path}: damaged. Encode again")
    return found


def _check_sentence(path: Path, number: int, dim: int, cells: Sequence[np.ndarray]) -> VectorSentence:
    vectors, casings, classes = cells
    n_tokens = len(classes)
    if len(vectors) != n_tokens * dim:
        raise FormatError(
            f"{path}: row {number} has {len(vectors)} numbers for {n_tokens} tokens. Vectors of size {dim} "
            f"have {n_tokens * dim}. Encode again"
        )
    in_range = len(casings) == n_tokens and bool(
        (casings < N_CASINGS).all() and (classes < len(HyperClass)).all()
    )
    if not n_tokens or not in_range or not np.isfinite(vectors).all():
        raise FormatError(f"{path}: row {number} is damaged. Encode again")
    return VectorSentence(vectors.reshape(n_tokens, dim), casings, classes.astype(np.int32))


def pool_sentences(files: Sequence[tuple[Path, SharedSentences]]) -> SharedSentences:
    """Return the sentences of all files in random order; their paths are for messages.

    Raises:
        ConfigurationError: A file is given twice, or was made by another representation.
    """
    paths = [path.resolve() for path, _ in files]
    twice = next((path for path in paths if paths.count(path) > 1), None)
    if twice is not None:
        raise ConfigurationError(f"{twice}: given twice. Name each file once")
    first = files[0][1]
    for path, one in files[1:]:
        if (one.representation, one.dim) != (first.representation, first.dim):
            raise ConfigurationError(
                f"{path}: was made by another representation than {files[0][0]}. Encode both with one"
            )
    together = [sentence for _, one in files for sentence in one.sentences]
    return SharedSentences(in_secret_order(together), first.dim, first.representation)
