"""Number the ids of a run before it begins, so that the list is complete whenever the run stops."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import BinaryIO

from inverse_deid.core.errors import InverseDeidError
from inverse_deid.engine.jobs.planning import Job
from inverse_deid.formats.records import Format, ReadOptions
from inverse_deid.formats.registry import input_errors, open_input


def number_ids(jobs: Sequence[Job], options: ReadOptions) -> None:
    """Give new ids to the ids of all files, in the order of the jobs and of their records.

    The files are read once more for it, and the ids stay in memory. A file that cannot be read is skipped
    here: masking will fail on it in the same way. `options` have the `renames` that take the ids.
    """
    for job in jobs:
        try:
            with open_input(job.input) as stream, input_errors():
                number_records(job.format, stream, replace(options, new_name=job.name), job.doc_id)
        except InverseDeidError:
            continue


def number_records(kind: Format, stream: BinaryIO, options: ReadOptions, doc_id: str) -> None:
    """Give new ids to the ids of one file, and close it.

    Files of one document each, and case safety reports, have no ids of this kind.

    Raises:
        InputError: The file cannot be read.
    """
    if kind.is_single_document or kind.holds_cases:
        return
    options = replace(
        options, keep_columns=(), keep_all_columns=False, keep_unchecked=()
    )  # they would wait for a writer
    with stream:
        source = kind.open(stream, options, doc_id)
        for _ in source.records():
            pass
