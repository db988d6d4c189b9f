"""The ids of all documents of a run, to tell whether a sidecar belongs to them."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from inverse_deid.core.errors import FormatError, InputError
from inverse_deid.core.files import printable
from inverse_deid.engine.jobs import Job
from inverse_deid.formats.known_values import KnownOfDocuments
from inverse_deid.formats.records import ReadOptions
from inverse_deid.formats.registry import input_errors, open_input, open_source

_MAX_IDS_SHOWN = 10


def check_ids(jobs: Sequence[Job], known: KnownOfDocuments, path: Path, options: ReadOptions) -> None:
    """Refuse a sidecar with ids that no document has: a misspelt id would leave a name in its document.

    Args:
        jobs: What is to be masked; files that cannot be read are passed over here.
        known: The sidecar.
        path: Its file.
        options: How the files are read.

    Raises:
        FormatError: Some ids belong to no document.
    """
    missing = set(known)
    for job in jobs:
        missing.difference_update(_ids(job, options))
        if not missing:
            return
    listed = ", ".join(printable(Path(doc_id)) for doc_id in sorted(missing)[:_MAX_IDS_SHOWN])
    raise FormatError(
        f"{path}: {len(missing)} ids belong to no document ({listed}); the id of a text file is its path "
        "below the folder that was given"
    )


def hash_of(known: KnownOfDocuments) -> str:
    """Tells one sidecar from another."""
    listed = [
        (doc_id, [(value.value, str(value.sort)) for value in known[doc_id]]) for doc_id in sorted(known)
    ]
    return hashlib.sha256(repr(listed).encode("utf-8", "surrogatepass")).hexdigest()


def hash_of_words(words: Iterable[str]) -> str:
    """Tells one list of words from another, whatever its order."""
    return hashlib.sha256("\n".join(sorted(words)).encode("utf-8", "surrogatepass")).hexdigest()


def _ids(job: Job, options: ReadOptions) -> Iterator[str]:
    if job.format.is_single_document:
        yield job.name
        return
    if job.format.holds_cases:
        return
    try:
        with open_input(job.input) as stream, input_errors():
            source = open_source(stream, job.name, job.format, options)
            for record in source.records():
                if record.doc is not None:
                    yield record.doc.id
    except InputError:
        return
