"""The files of a store: how far they are, and deleting what is no longer needed.

The one person of a desk and the admins of a team delete. `release_pages` sends what is downloaded.
"""

from __future__ import annotations

from starlette.responses import Response

from inverse_deid.core.errors import NotAllowedError, ReviewError
from inverse_deid.review.deletion import delete_everything, delete_source
from inverse_deid.review.pages.visits import Visit, count_words
from inverse_deid.review.sources import SourceRow, list_sources
from inverse_deid.review.values import UserRole
from inverse_deid.review.waiting import UploadState, count_waiting, list_uploads, remove_all_uploads


def _can_delete(visit: Visit) -> bool:
    """Whether the user may delete; on a desk it is the only one."""
    return visit.request.app.state.door is not None or visit.user.role.includes(UserRole.ADMIN)


def show_files(visit: Visit) -> Response:
    """Return all files with what can be done with them."""
    rows = list_sources(visit.store)
    n_cases, n_released = sum(row.n_cases for row in rows), sum(row.n_released for row in rows)
    return visit.render(
        "files.html",
        rows=rows,
        n_cases=n_cases,
        n_released=n_released,
        n_open=n_cases - n_released,
        n_waiting=count_waiting(visit.store),
        can_delete=_can_delete(visit),
        step=5,
    )


def _find_source(visit: Visit, given: str) -> SourceRow | None:
    """Return the file that a request names, None = it names none.

    Raises:
        ReviewError: It does not exist.
    """
    if not given:
        return None
    found = next((row for row in list_sources(visit.store) if str(row.id) == given), None)
    if found is None:
        raise ReviewError("this file does not exist")
    return found


def ask_delete(visit: Visit) -> Response:
    """Return what would be deleted, and ask."""
    _check(visit)
    source = _find_source(visit, visit.request.query_params.get("source", ""))
    rows = list_sources(visit.store) if source is None else (source,)
    n_cases = sum(row.n_cases for row in rows)
    n_released = sum(row.n_released for row in rows)
    n_waiting = 0 if source else count_waiting(visit.store)
    going = [
        f"{count_words(len(rows), 'file')} with {count_words(n_cases, 'document')}, "
        f"of which {n_released:,} are approved",
        "all decisions and notes on them",
        *([f"{count_words(n_waiting, 'file')} not masked yet"] if n_waiting else []),
    ]
    return visit.render("delete.html", source=source, going=going)


def delete(visit: Visit) -> Response:
    """Delete one file or everything, and say what was deleted."""
    _check(visit)
    if visit.text("sure") != "yes":
        raise ReviewError("say that you are sure, then delete")
    source = _find_source(visit, visit.text("source"))
    n_waiting = 0
    if source is None:
        if any(one.state is UploadState.MASKING for one in list_uploads(visit.store)):
            raise ReviewError("a file is being masked. Stop it first, or wait until it is done")
        n_waiting = remove_all_uploads(visit.store)
        done = delete_everything(visit.store, visit.user.name)
    else:
        done = delete_source(visit.store, source.id, by=visit.user.name)
    gone = [
        count_words(done.n_files, "file") if source is None else source.name,
        count_words(done.n_cases, "document"),
        count_words(done.n_decisions, "decision") + " of readers",
        count_words(done.n_notes, "note"),
        *([f"{count_words(n_waiting, 'file')} not masked yet"] if n_waiting else []),
    ]
    return visit.render("deleted.html", gone=gone, is_erased=done.is_erased)


def _check(visit: Visit) -> None:
    if not _can_delete(visit):
        raise NotAllowedError("only an admin can delete files")
