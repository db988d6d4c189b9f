"""Number the ids of a run before it begins, so that the list is complete whenever the run stops."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace

from inverse_deid.core.errors import InverseDeidError
from inverse_deid.engine.jobs.planning import Job
from inverse_deid.files.reading import give_names
from inverse_deid.formats.records import ReadOptions
from inverse_deid.formats.registry import open_input


def number_ids(jobs: Sequence[Job], options: ReadOptions) -> None:
    """Give new ids to the ids of all files, in the order of the jobs and of their records.

    The files are read once more for it, and the ids stay in memory. A file that cannot be read is skipped
    here: masking will fail on it in the same way. `options` have the `renames` that take the ids.
    """
    for job in jobs:
        with suppress(InverseDeidError), open_input(job.input) as stream:
            give_names(job.format, stream, replace(options, new_name=job.name), job.doc_id)
