"""Number the ids of a run before it begins, so that the list is complete whenever the run stops."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from inverse_deid.core.errors import InverseDeidError
from inverse_deid.engine.jobs import Job
from inverse_deid.formats.records import ReadOptions
from inverse_deid.formats.registry import input_errors, open_input


def number_ids(jobs: Sequence[Job], options: ReadOptions) -> None:
    """Give new ids to the ids of all files, in the order of the jobs and of their records.

    The files are read once more for it, and the ids stay in memory. A file that cannot be read is skipped
    here: masking will fail on it in the same way.

    Args:
        jobs: Those of one document each, and case safety reports, have no ids of this kind.
        options: With the `renames` that take the ids.
    """
    options = replace(options, keep_columns=(), keep_all_columns=False)  # they would wait for a writer
    for job in jobs:
        if job.format.is_single_document or job.format.holds_cases:
            continue
        try:
            with open_input(job.input) as stream, input_errors():
                source = job.format.open(stream, replace(options, new_name=job.name), job.doc_id)
                for _ in source.records():
                    pass
        except InverseDeidError:
            continue
