"""The Parquet file that leaves an institution: vectors, casings and classes of sentences.

One row a sentence, in random order; no text, no id, no offset. Metadata says which
representation made it, so that vectors of two of them are never mixed.

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
    OutputError,
    OutputExistsError,
    UnreadableInputError,
)
from inverse_deid.core.phi import HyperClass
from inverse_deid.research.representations.batches import VectorSentence
from inverse_deid.research.representations.casing import N_CASINGS
from inverse_deid.research.representations.secret_draws import in_secret_order

if TYPE_CHECKING:
    import pyarrow as pa

FORMAT_VERSION = 1
_KEY = b"inverse_deid"
_COLUMNS = ("vectors", "casings", "classes")


@dataclass(frozen=True, slots=True, eq=False)
class SharedSentences:
    """The content of a file.

    Args:
        sentences: In the file's order.
        dim: Length of a vector.
        representation: Fingerprint of the representation that made the vectors.
    """

    sentences: Sequence[VectorSentence] = field(repr=False)
    dim: int
    representation: str


def refuse_existing(path: Path, *, force: bool) -> None:
    """Refuse to overwrite, before any work is done.

    Raises:
        OutputExistsError: The file exists, and `force` is not given; or it is a folder.
    """
    if path.is_dir() or (path.exists() and not force):
        raise OutputExistsError(f"{path}: exists. Choose another name, or overwrite a file with --force")


def write_shared(shared: SharedSentences, path: Path) -> None:
    """Write a file, whole or not at all.

    Raises:
        OutputError: It cannot be written.
    """
    import pyarrow.parquet

    table = _table(shared)
    staging = path.with_name(f".{path.name}.partial")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        pyarrow.parquet.write_table(table, staging)
        staging.replace(path)
    except OSError as error:
        staging.unlink(missing_ok=True)
        raise OutputError(f"{path}: cannot be written ({error.strerror}). Make room") from error


def _table(shared: SharedSentences) -> pa.Table:
    import pyarrow as pa

    meta = {
        "format": FORMAT_VERSION,
        "dim": shared.dim,
        "representation": shared.representation,
        "classes": list(HyperClass),
    }
    kinds = (pa.float32(), pa.uint8(), pa.uint8())
    schema = pa.schema(
        [pa.field(name, pa.list_(kind)) for name, kind in zip(_COLUMNS, kinds, strict=True)],
        metadata={_KEY: json.dumps(meta).encode()},
    )
    columns = [
        [sentence.vectors.ravel() for sentence in shared.sentences],
        [sentence.casings.astype(np.uint8) for sentence in shared.sentences],
        [sentence.classes.astype(np.uint8) for sentence in shared.sentences],
    ]
    return pa.table([pa.array(c, pa.list_(k)) for c, k in zip(columns, kinds, strict=True)], schema=schema)


def read_shared(path: Path) -> SharedSentences:
    """Read a file and check every row.

    Raises:
        UnreadableInputError: It cannot be read.
        FormatError: No such file, of another version, or vectors of the wrong size.
    """
    table = _read_table(path)
    meta = _meta(path, table)
    columns = [[np.asarray(cell.values) for cell in table.column(name)] for name in _COLUMNS]
    sentences = [
        _sentence(path, number, meta["dim"], cells)
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


def _meta(path: Path, table: pa.Table) -> dict[str, Any]:
    import pyarrow as pa

    given = (table.schema.metadata or {}).get(_KEY, b"")
    found = None
    with suppress(ValueError):
        found = json.loads(given)
    if not isinstance(found, dict) or table.schema.names != list(_COLUMNS):
        raise FormatError(f"{path}: has no private sentences. Give what `share encode` wrote")
    if found.get("format") != FORMAT_VERSION or found.get("classes") != list(HyperClass):
        raise FormatError(f"{path}: private sentences of another version. Encode again with this one")
    kinds = [pa.list_(pa.float32()), pa.list_(pa.uint8()), pa.list_(pa.uint8())]
    is_whole = table.schema.types == kinds and not any(column.null_count for column in table.columns)
    if (
        not is_whole
        or not isinstance(found.get("dim"), int)
        or not isinstance(found.get("representation"), str)
    ):
        raise FormatError(f"{path}: damaged. Encode again")
    return found


def _sentence(path: Path, number: int, dim: int, cells: Sequence[np.ndarray]) -> VectorSentence:
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


def pooled(files: Sequence[tuple[Path, SharedSentences]]) -> SharedSentences:
    """The sentences of all files together, in random order.

    Args:
        files: Each with its path, for messages.

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
