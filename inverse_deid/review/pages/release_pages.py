"""Released text for those who may have it: one file, all files or chosen cases as a zip.

A download is a post, as it is noted in the trail.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import PurePosixPath
from typing import IO, BinaryIO, cast
from urllib.parse import quote

from starlette.responses import Response, StreamingResponse

from inverse_deid.review.exporting import Exported, released_file, released_zip
from inverse_deid.review.pages.list_pages import SELECT_FIRST, go_back, read_selected
from inverse_deid.review.pages.visits import Visit, count_words, read_number
from inverse_deid.review.sources import list_sources

PAGE_FILES = 100

_IN_MEMORY_BYTES = 16 * 1024 * 1024
_BLOCK_BYTES = 256 * 1024


def show_released(visit: Visit) -> Response:
    """Return the files with released cases, the newest first."""
    page = read_number(visit.request.query_params.get("page", "1")) or 1
    files = [one for one in reversed(list_sources(visit.store)) if one.n_released]
    shown = files[(page - 1) * PAGE_FILES : page * PAGE_FILES]
    return visit.render(
        "released.html",
        files=[(one, datetime.fromtimestamp(one.added_at, UTC)) for one in shown],
        n_files=len(files),
        n_released=sum(one.n_released for one in files),
        previous=page - 1 if page > 1 else None,
        following=page + 1 if page * PAGE_FILES < len(files) else None,
    )


def download_file(visit: Visit) -> Response:
    """Send the released cases of one file, in its original format."""
    source_id = int(visit.request.path_params["source_id"])
    return _send(visit, lambda target: released_file(visit.store, source_id, target, by=visit.user.name))


def download_all(visit: Visit) -> Response:
    """Send a zip of all released text, with the run report."""
    return _send(visit, lambda target: released_zip(visit.store, target, by=visit.user.name), "released.zip")


def download_selected(visit: Visit) -> Response:
    """Send a zip of the selected cases that are released."""
    cases = read_selected(visit)
    if not cases:
        return go_back(visit, SELECT_FIRST)
    return _send(
        visit,
        lambda target: released_zip(visit.store, target, case_ids=cases, by=visit.user.name),
        "released.zip",
    )


def _send(visit: Visit, write: Callable[[BinaryIO], Exported], name: str = "") -> Response:
    """Send what is written, whole, under its own name; the next page tells what could not be written."""
    with ExitStack() as unsent:
        file = unsent.enter_context(tempfile.SpooledTemporaryFile(_IN_MEMORY_BYTES))
        done = write(cast("BinaryIO", file))
        n_bytes = file.seek(0, os.SEEK_END)
        file.seek(0)
        unsent.pop_all()  # closed when all of it was sent
    shown = quote(name or PurePosixPath(str(done.files[0])).name)
    headers = {
        "Content-Disposition": f"attachment; filename*=UTF-8''{shown}",
        "Content-Length": str(n_bytes),
    }
    kind = "application/zip" if name else "application/octet-stream"
    response = StreamingResponse(_read_blocks(file), media_type=kind, headers=headers)
    if done.problems:
        left = f"{len(done.problems)} could not be written. {done.problems[0]}"
        visit.notify(response, f"{count_words(done.n_cases, 'case')} downloaded, but {left}")
    return response


def _read_blocks(file: IO[bytes]) -> Iterator[bytes]:
    with file:
        while block := file.read(_BLOCK_BYTES):
            yield block
