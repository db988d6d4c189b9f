"""The files of a store: download what is released, delete what is no longer needed.

A download is a post, as it is noted in the trail. The one person of a desk and the admins of a team delete.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Collection, Iterator
from contextlib import ExitStack
from datetime import UTC, datetime
from typing import BinaryIO
from urllib.parse import quote

from starlette.responses import Response, StreamingResponse

from inverse_deid.core.errors import NotAllowedError, ReviewError
from inverse_deid.core.wording import _, ngettext
from inverse_deid.review.files.exporting import Exported, released_file, released_zip, write_old_names
from inverse_deid.review.files.spool import open_spool
from inverse_deid.review.files.waiting import (
    UploadState,
    count_waiting,
    list_uploads,
    remove_all_uploads,
    waits_again,
)
from inverse_deid.review.flow.work_list import read_line
from inverse_deid.review.pages.intake_pages import describe_facts
from inverse_deid.review.pages.list_pages import SELECT_FIRST, count_unmasked, go_back, read_selected
from inverse_deid.review.pages.visits import Visit, count_words, read_number
from inverse_deid.review.store.deletion import Deleted, delete_case, delete_everything, delete_source
from inverse_deid.review.store.sources import SourceRow, list_sources, read_file_facts
from inverse_deid.review.store.values import CaseRow, UserRole

ZIP_NAME = "released.zip"
LIST_NAME = "confidential-old-names.csv"
PAGE_FILES = 100

_IN_MEMORY_BYTES = 32 * 1024 * 1024
_BLOCK_BYTES = 256 * 1024


def _can_delete(visit: Visit) -> bool:
    return visit.user.role in visit.audience.deleting_roles


def show_files(visit: Visit) -> Response:
    """Return all files with what can be done with them, the newest first, page by page."""
    rows = list_sources(visit.store)[::-1]
    n_cases, n_released = sum(row.n_cases for row in rows), sum(row.n_released for row in rows)
    given = visit.request.query_params.get("page", "1")
    page = int(given) if given.isascii() and given.isdecimal() and len(given) < 7 else 1
    shown = rows[max(0, page - 1) * PAGE_FILES : page * PAGE_FILES]
    found = read_file_facts(visit.store, [row.id for row in shown])
    return visit.render(
        "files.html",
        facts={source_id: describe_facts(one) for source_id, one in found.items()},
        rows=[(row, datetime.fromtimestamp(row.added_at, UTC)) for row in shown],
        n_files=len(rows),
        n_cases=n_cases,
        n_released=n_released,
        n_open=n_cases - n_released,
        n_waiting=count_waiting(visit.store),
        can_delete=_can_delete(visit),
        can_download=visit.user.role.includes(UserRole.ADJUDICATOR),
        previous=page - 1 if page > 1 else None,
        following=page + 1 if page * PAGE_FILES < len(rows) else None,
        unmasked=count_unmasked(visit),
        stage=5,
    )


def _find_source(visit: Visit, given: str) -> SourceRow | None:
    # None = it names none.
    if not given:
        return None
    found = next((row for row in list_sources(visit.store) if str(row.id) == given), None)
    if found is None:
        raise ReviewError(_("this file does not exist"))
    return found


def download(visit: Visit) -> Response:
    """Send the released text of one file in its format, or of all as a zip with a report."""
    source, renames = _find_source(visit, visit.text("source")), bool(visit.text("renames"))
    if source is None:
        return _send_zip(visit)
    source_id = source.id
    return _send(
        visit,
        lambda target: released_file(visit.store, source_id, target, by=visit.user.name, renames=renames),
    )


def download_selected(visit: Visit) -> Response:
    cases = read_selected(visit)
    if not cases:
        return go_back(visit, SELECT_FIRST)
    return _send_zip(visit, cases)


def download_old_names(visit: Visit) -> Response:
    return _send(visit, lambda target: write_old_names(visit.store, target, by=visit.user.name), LIST_NAME)


def _send_zip(visit: Visit, cases: Collection[int] | None = None) -> Response:
    renames, user = bool(visit.text("renames")), visit.user.name
    return _send(
        visit,
        lambda target: released_zip(visit.store, target, case_ids=cases, by=user, renames=renames),
        ZIP_NAME,
    )


def _send(visit: Visit, write: Callable[[BinaryIO], Exported | None], name: str = "") -> Response:
    # The next page tells what could not be written.
    # Without a name, the file has that of the export.
    with ExitStack() as unsent:
        file = unsent.enter_context(open_spool(_IN_MEMORY_BYTES))
        done = write(file)
        n_bytes = file.seek(0, io.SEEK_END)
        unsent.pop_all()  # it is closed when it is sent
    name = name or (done.files[0].name if done else "")
    is_zip = name == ZIP_NAME
    if is_zip and done and done.n_left_out:
        n_all = done.n_cases + done.n_left_out
        name = f"released ({done.n_cases} of {n_all}).zip"
    headers = {
        "Content-Disposition": f"attachment; filename*=UTF-8''{quote(name, safe='')}",
        "Content-Length": str(n_bytes),
    }
    kind = "application/zip" if is_zip else "application/octet-stream"
    response = StreamingResponse(_read_blocks(file), media_type=kind, headers=headers)
    if done and done.problems:
        left = _(
            "{n_problems} could not be written. {problem}",
            n_problems=len(done.problems),
            problem=done.problems[0],
        )
        visit.notify(
            response, _("{words} downloaded, but {left}", words=count_words(done.n_cases, "case"), left=left)
        )
    return response


def _read_blocks(file: BinaryIO) -> Iterator[bytes]:
    with file:
        file.seek(0)
        while block := file.read(_BLOCK_BYTES):
            yield block


def ask_delete(visit: Visit) -> Response:
    _check(visit)
    given = visit.request.query_params.get("case")
    if given is not None:
        case = _find_case(visit, given)
        going = [
            _("case {case_id}, {case}", case_id=case.case_id, case=case.name),
            _("its text in {source}, or this file if it has no other case", source=case.source),
            _("all decisions and notes on it, and entries of word lists that were made in it"),
            *_name_copy(visit, case.source_id),
        ]
        return visit.render("delete.html", source=None, case=case, going=going)
    source = _find_source(visit, visit.request.query_params.get("source", ""))
    rows = list_sources(visit.store) if source is None else (source,)
    n_cases = sum(row.n_cases for row in rows)
    n_released = sum(row.n_released for row in rows)
    n_waiting = 0 if source else count_waiting(visit.store)
    going = [
        ngettext(
            "{words} with {words_2}, of which {n_released:,} is approved",
            "{words} with {words_2}, of which {n_released:,} are approved",
            n_released,
            words=count_words(len(rows), "file"),
            words_2=count_words(n_cases, "document"),
            n_released=n_released,
        ),
        _("all decisions and notes on them, and entries of word lists that were made in them"),
        *([_("{words} not masked yet", words=count_words(n_waiting, "file"))] if n_waiting else []),
        *(_name_copy(visit, source.id) if source else ()),
    ]
    return visit.render("delete.html", source=source, case=None, going=going)


def _name_copy(visit: Visit, source_id: int) -> list[str]:
    return [_("its copy that waits for other choices")] * waits_again(visit.store, source_id)


def _find_case(visit: Visit, given: str) -> CaseRow:
    number = read_number(given)
    if number is None:
        raise ReviewError(_("this case does not exist"))
    return read_line(visit.store, number)


def delete(visit: Visit) -> Response:
    """Delete one case, one file or everything, and say what was deleted."""
    _check(visit)
    if visit.text("case"):
        case = _find_case(visit, visit.text("case"))
        if visit.text("typed").strip() != str(case.case_id):
            raise ReviewError(
                _("the number that you typed is not {case_id}, so nothing was deleted", case_id=case.case_id)
            )
        done = delete_case(visit.store, case.case_id, by=visit.user.name)
        gone = [_("case {case_id}, {case}", case_id=case.case_id, case=case.name), *_describe_work(done)]
        return visit.render("deleted.html", gone=gone, is_erased=done.is_erased, is_case=True)
    if visit.text("sure") != "yes":
        raise ReviewError(_("the box 'Yes, delete' is not ticked. Tick it first"))
    source = _find_source(visit, visit.text("source"))
    n_waiting = 0
    if source is None:
        if any(one.state is UploadState.MASKING for one in list_uploads(visit.store)):
            raise ReviewError(_("a file is being masked. Stop it first, or wait until it is done"))
        n_waiting = remove_all_uploads(visit.store, by=visit.user.name)
        done = delete_everything(visit.store, visit.user.name)
    else:
        done = delete_source(visit.store, source.id, by=visit.user.name)
    gone = [
        count_words(done.n_files, "file") if source is None else source.name,
        count_words(done.n_cases, "document"),
        *_describe_work(done),
        *([_("{words} not masked yet", words=count_words(n_waiting, "file"))] if n_waiting else []),
    ]
    return visit.render("deleted.html", gone=gone, is_erased=done.is_erased, is_case=False)


def _describe_work(done: Deleted) -> list[str]:
    listed = ngettext(
        "{n:,} entry of a word list", "{n:,} entries of word lists", done.n_listed, n=done.n_listed
    )
    return [
        count_words(done.n_decisions, "decision") + _(" of readers"),
        count_words(done.n_notes, "note"),
        *([listed] if done.n_listed else []),
    ]


def _check(visit: Visit) -> None:
    if not _can_delete(visit):
        raise NotAllowedError(_("only an admin can delete files and cases"))
