"""The pages that put new files into a store: add them, choose how they are masked, watch the masking.

Their handlers work on a store and its `IntakeService`, on the desk of one person and in a team alike. A file
is posted on its own, as bare bytes: its name is in a header, so that no address contains it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple
from urllib.parse import unquote

from anyio import CapacityLimiter, to_thread
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, RedirectResponse, Response

from inverse_deid.choices.questions import list_questions
from inverse_deid.choices.records import Surface
from inverse_deid.core.errors import InverseDeidError, ReviewError
from inverse_deid.core.wording import N_, _, ngettext
from inverse_deid.files.facts import FileFacts, list_facts
from inverse_deid.files.given import MAX_FILE_BYTES
from inverse_deid.files.survey import FileSurvey, SurveyedTable
from inverse_deid.formats.registry import FORMATS
from inverse_deid.formats.tables.columns import ColumnFate, is_header
from inverse_deid.review.files.asked import describe_count, list_seconds
from inverse_deid.review.files.carrying import Carried
from inverse_deid.review.files.choices import (
    EXAMPLE,
    QUESTIONS,
    Concern,
    MaskingChoices,
    find_concerns,
    find_danger,
    find_refusal,
    looks_like_case_number,
)
from inverse_deid.review.files.service import IntakeService, explain_problem
from inverse_deid.review.files.waiting import (
    PIECE_BYTES,
    Upload,
    UploadFacts,
    UploadState,
    add_piece,
    begin_upload,
    list_uploads,
    remove_upload,
)
from inverse_deid.review.flow.oversight import disclose_files
from inverse_deid.review.flow.word_lists import read_for_new_files
from inverse_deid.review.pages.visits import Visit, make_sentence, read_number
from inverse_deid.review.people.accounts import Session
from inverse_deid.review.store.sources import list_sources

MAX_FACTS = 20
"""So many facts of a file are shown."""
MAX_NAME_CHARS = 4_000
"""Of a path as the browser sends it, percent-encoded."""


def _service(visit: Visit) -> IntakeService:
    service: IntakeService = visit.request.app.state.intake
    return service


def show_add(visit: Visit) -> Response:
    return visit.render(
        "add.html",
        limit=MAX_FILE_BYTES >> 20,
        suffixes=sorted({suffix for kind in FORMATS.values() for suffix in kind.suffixes}),
        stage=1,
    )


async def receive_file(request: Request, session: Session) -> dict[str, object]:
    """Take one file, seal it piece by piece, and look into it.

    Raises:
        ReviewError: It is too large, or it was not sent to its end.
    """
    service: IntakeService = request.app.state.intake
    receiving: set[asyncio.Task[object] | None] = request.app.state.receiving
    task = asyncio.current_task()
    name = unquote(request.headers.get("x-file-name", "")[:MAX_NAME_CHARS])
    stated = request.headers.get("content-length", "")
    n_bytes = int(stated) if stated.isascii() and stated.isdecimal() else 0
    upload = await run_in_threadpool(begin_upload, service.store, name, n_bytes, by=session.user.name)
    inspected: Upload | None = None
    receiving.add(task)
    try:
        if not await _receive_pieces(request, service, upload.id, n_bytes):
            raise ReviewError(_("the file was not sent to its end. Add it again"))
        # Those that wait for their turn hold up no page.
        uploads: CapacityLimiter = request.app.state.uploads
        inspected = await to_thread.run_sync(service.inspect, upload.id, limiter=uploads)
    finally:
        receiving.discard(task)
        if inspected is None:
            await run_in_threadpool(remove_upload, service.store, upload.id)
    if inspected is None:
        raise ReviewError(_("the file was taken away"))
    return _describe(service, inspected)


async def _receive_pieces(request: Request, service: IntakeService, upload_id: int, n_bytes: int) -> bool:
    # Whether it was sent to its end, and no further.
    n_received, number, piece = 0, 0, bytearray()
    try:
        async for data in request.stream():
            n_received += len(data)
            if n_received > n_bytes:
                return False
            piece += data
            while len(piece) >= PIECE_BYTES:
                await run_in_threadpool(
                    add_piece, service.store, upload_id, number, bytes(piece[:PIECE_BYTES])
                )
                del piece[:PIECE_BYTES]
                number += 1
    except ClientDisconnect:
        return False
    if piece:
        await run_in_threadpool(add_piece, service.store, upload_id, number, bytes(piece))
    return n_received == n_bytes


def cut_uploads(application: Starlette) -> None:
    """End the files that are being received: a stop does not wait for them, and nothing of them is kept."""
    for task in application.state.receiving:
        task.cancel()


def _describe(service: IntakeService, upload: Upload) -> dict[str, object]:
    facts = upload.facts
    n_done, seconds_left = service.progress_of(upload)
    return {
        "id": upload.id,
        "name": facts.name,
        "state": upload.state.value,
        "n_bytes": upload.n_bytes,
        "format": "" if facts.survey is None else facts.survey.format,
        "problem": make_sentence(facts.problem) if facts.problem else "",
        "n_expected": facts.n_expected,
        "n_done": n_done if facts.masked is None else facts.masked.n_documents,
        "seconds_left": seconds_left,
        "facts": [*describe_carried(facts.carried), *describe_facts(facts.found)],
        "waits": _describe_wait(upload),
    }


def describe_carried(carried: Carried | None) -> list[dict[str, object]]:
    """Return what became of the work on a file that was masked again, as `describe_facts` does."""
    if carried is None:
        return []
    n_left = len(carried.left)
    said = [
        (
            ngettext(
                "Decisions and notes on {n:,} document were carried over.",
                "Decisions and notes on {n:,} documents were carried over.",
                carried.n_cases,
                n=carried.n_cases,
            ),
            False,
        ),
        (
            ngettext(
                "{n:,} document was approved and must be approved again.",
                "{n:,} documents were approved and must be approved again.",
                carried.n_reopened,
                n=carried.n_reopened,
            ),
            carried.n_reopened > 0,
        ),
        (
            ngettext(
                "Decisions and notes on {n:,} document do not fit its new text: {names}.",
                "Decisions and notes on {n:,} documents do not fit their new texts: {names}.",
                n_left,
                n=n_left,
                names=", ".join(carried.left[:MAX_FACTS]) + (" ..." if n_left > MAX_FACTS else ""),
            ),
            True,
        ),
    ]
    shown = zip(said, (True, carried.n_reopened, n_left), strict=True)
    return [{"text": text, "is_warning": is_warning} for (text, is_warning), is_there in shown if is_there]


def ask_again(visit: Visit) -> Response:
    """Ask before a file is masked again, and say what that means for the work on it."""
    source_id = read_number(visit.request.query_params.get("source", ""))
    source = next((one for one in list_sources(visit.store) if one.id == source_id), None)
    if source is None:
        raise ReviewError(_("this file does not exist"))
    return visit.render("again.html", source=source)


def mask_again(visit: Visit) -> Response:
    """Let a file of the store wait for other choices, and lead to them."""
    source_id = read_number(visit.text("source"))
    _service(visit).mask_again(source_id or 0, by=visit.user.name)
    return RedirectResponse("/choices", status_code=303)


def _describe_wait(upload: Upload) -> str:
    # "" = it does not wait for a second adjudicator.
    if upload.state is not UploadState.CONFIRMING:
        return ""
    names = ", ".join(one.concern.shown for one in upload.facts.unconfirmed)
    n = len(upload.facts.unconfirmed)
    return ngettext(
        "waits for the confirmation of column {names} by a second adjudicator",
        "waits for the confirmation of columns {names} by a second adjudicator",
        n,
        names=names,
    )


def describe_facts(facts: FileFacts) -> list[dict[str, object]]:
    """Return the facts of a file as sentences, in the words of the pages; warnings are marked."""
    found = list_facts(facts, explain_problem)
    shown = [
        {"text": f"{one.text.removesuffix('.')}.", "is_warning": one.is_warning} for one in found[:MAX_FACTS]
    ]
    n_unlisted = facts.n_failures - len(facts.failures)
    if n_more := len(found) - len(shown) + n_unlisted:
        shown.append({"text": _("... and {n_more:,} more.", n_more=n_more), "is_warning": True})
    return shown


def list_files(visit: Visit) -> Response:
    service = _service(visit)
    uploads = list_uploads(service.store)
    return JSONResponse(
        {
            "files": [_describe(service, upload) for upload in uploads],
            "is_ready": service.is_ready,
            "fault": make_sentence(service.fault) if service.fault else "",
        }
    )


def change_file(visit: Visit) -> Response:
    service, upload_id = _service(visit), int(visit.request.path_params["upload_id"])
    what, by = str(visit.payload.get("what", "")), visit.user.name
    if what == "remove":
        if not remove_upload(service.store, upload_id, by=by):
            raise ReviewError(_("this file cannot be removed now. Stop it first"))
    elif what == "stop":
        service.cancel(upload_id, by=by)
    elif what == "resume":
        service.resume(upload_id, by=by)
    elif what == "rechoose":
        service.choose_again(upload_id, by=by)
    else:
        raise ReviewError(_("this change is not known. Load the page again"))
    return list_files(visit)


def show_choices(visit: Visit) -> Response:
    # Some may be back with what was chosen for them.
    ready = [one for one in list_uploads(visit.store) if one.state is UploadState.READY]
    choices = next((one.facts.choices for one in ready if one.facts.choices), MaskingChoices())
    columns = {one.id: one.facts.columns for one in ready}
    return _render_choices(visit, choices, columns, "")


class _ShownTable(NamedTuple):
    """A table whose columns are chosen: a file, or tables inside a file that have the same columns."""

    upload: Upload
    number: int
    title: str
    n_rows: int
    read_as: str
    columns: Sequence[tuple[object, ...]]
    has_header: bool


def _list_tables(
    upload: Upload, survey: FileSurvey, fates: Sequence[ColumnFate], asked: Mapping[int, Concern]
) -> Iterator[_ShownTable]:
    # `fates`: what was chosen before, if anything was.
    inside = survey.tables or (SurveyedTable((), "", upload.facts.n_expected),)
    for table_number, table in enumerate(inside):
        columns = []
        for number, column in enumerate(survey.columns):
            if column.table != table_number:
                continue
            usual = ColumnFate.MASKED if column.is_narrative else ColumnFate.DROPPED
            is_refused = number in upload.facts.refused
            danger = find_danger(column, is_refused=is_refused)
            offered = [
                (one, _(label), _(does))
                for one, label, does in _FATES
                if not find_refusal(column, one, is_refused=is_refused)
            ]
            fate = fates[number] if fates else usual
            says = _(danger) if danger else ""
            columns.append(
                (number, column, fate, says, asked.get(number), offered, looks_like_case_number(column))
            )
        yield _ShownTable(
            upload,
            table_number,
            _name_table(upload.facts.name, table),
            table.n_rows,
            table.read_as,
            columns,
            _has_header(survey, table_number),
        )


def _name_table(name: str, table: SurveyedTable) -> str:
    if not table.label:
        return name
    n = len(table.places) - 1
    if not n:
        return f"{name}, {table.label}"
    return ngettext(
        "{name}, {label} and {n:,} table with the same columns",
        "{name}, {label} and {n:,} tables with the same columns",
        n,
        n=n,
        name=name,
        label=table.label,
    )


def _render_choices(
    visit: Visit,
    choices: MaskingChoices,
    chosen: Mapping[int, Sequence[ColumnFate]],
    message: str,
    concerns: Mapping[int, Sequence[Concern]] | None = None,
) -> Response:
    service = _service(visit)
    ready = [one for one in list_uploads(service.store) if one.state is UploadState.READY]
    if not ready:
        return RedirectResponse("/add", status_code=303)
    tables: list[_ShownTable] = []
    shown = {}
    for upload in ready:
        if upload.facts.survey is None or not upload.facts.survey.columns:
            continue
        shown[upload.id] = upload.name_key, upload.facts.name
        asked = {one.number: one for one in (concerns or {}).get(upload.id, ())}
        tables += _list_tables(upload, upload.facts.survey, chosen.get(upload.id, ()), asked)
    disclose_files(service.store, visit.user.name, shown, "columns")
    return visit.render(
        "choices.html",
        files=ready,
        facts=[(one.facts.name, describe_facts(one.facts.found)) for one in ready],
        tables=tables,
        questions=[(one, choices.answer_to(one)) for one in list_questions(Surface.DESK)],
        example=service.mask_example(choices) if service.is_ready else [(EXAMPLE, False)],
        original=EXAMPLE,
        words=[len(words) for words in read_for_new_files(service.store).values()],
        message=message,
        problems=[
            make_sentence(f"{one.facts.name}: {one.facts.problem}")
            for one in ready
            if one.facts.problem and not message
        ],
        status=400 if message and visit.request.method == "POST" else 200,
        asks_second=visit.audience.asks_second,
        stage=2,
    )


def show_example(visit: Visit) -> Response:
    choices = MaskingChoices.from_fields(visit.payload)
    return JSONResponse({"parts": _service(visit).mask_example(choices)})


def submit_choices(visit: Visit) -> Response:
    """Queue the files of the form, or return it with what is wrong."""
    service = _service(visit)
    choices = MaskingChoices.from_fields({one.name: visit.text(one.name) for one in QUESTIONS})
    # A number of a file is used again, its key is not.
    keys = frozenset(visit.fields.get("file", []))
    columns: dict[int, list[ColumnFate]] = {}
    checked: list[int] = []
    concerns: dict[int, list[Concern]] = {}
    message = ""
    for upload in list_uploads(service.store):
        if str(upload.name_key) not in keys or upload.state is not UploadState.READY:
            continue
        checked.append(upload.id)
        survey = upload.facts.survey
        if survey is None or not survey.columns:
            continue
        n_columns = len(survey.columns)
        fates = [_read_fate(visit.text(f"column {upload.id} {number}")) for number in range(n_columns)]
        columns[upload.id] = fates
        concerns[upload.id] = find_concerns(survey.columns, fates, upload.facts.refused)
        headers = [
            visit.text(f"header {upload.id} {number}") == "yes" for number in range(len(survey.tables) or 1)
        ]
        problem = _find_problem(upload.facts, survey, fates, headers)
        try:
            service.check_columns(upload, fates, choices)
        except InverseDeidError as error:
            problem = problem or explain_problem(str(error), error.remedies)
        if problem:
            message = message or f"{upload.facts.name}: {problem}"
    is_confirmed = all(
        visit.text(f"copies {upload_id} {one.number}") == one.fate.value
        for upload_id, found in concerns.items()
        for one in found
    )
    message = message or _find_alone(visit, concerns)
    if not (message or is_confirmed):
        message = _("Nothing is masked yet. Confirm each column that would be copied unmasked")
    if message:
        return _render_choices(visit, choices, columns, make_sentence(message), concerns)
    service.submit(
        choices,
        columns,
        checked,
        by=visit.user.name,
        confirmed=concerns,
        needs_second=visit.audience.asks_second,
    )
    return RedirectResponse("/masking", status_code=303)


def _find_alone(visit: Visit, concerns: Mapping[int, Sequence[Concern]]) -> str:
    # Why nobody can confirm the columns of a file, "" = somebody can, or need not.
    if not visit.audience.asks_second:
        return ""
    for upload in list_uploads(visit.store):
        if concerns.get(upload.id) and not list_seconds(visit.store, upload.facts, visit.user.name):
            return _(
                "{file}: another adjudicator must confirm column {name}, and there is none who neither added "
                "the file nor chooses here. Ask an admin for another account of an adjudicator, or mask "
                "or drop the column",
                file=upload.facts.name,
                name=concerns[upload.id][0].shown,
            )
    return ""


def show_unconfirmed(visit: Visit) -> Response:
    """Show the columns that wait for a second adjudicator, with their values."""
    waiting = [one for one in list_uploads(visit.store) if one.state is UploadState.CONFIRMING]
    shown = {one.id: (one.name_key, one.facts.name) for one in waiting}
    disclose_files(visit.store, visit.user.name, shown, "columns to confirm")
    return visit.render(
        "confirm.html",
        files=[
            (
                one,
                visit.user.name in (one.facts.by, one.facts.chosen_by),
                list_seconds(visit.store, one.facts, one.facts.chosen_by),
                [(asked, describe_count(asked)) for asked in one.facts.unconfirmed],
            )
            for one in waiting
        ],
        labels={fate: _(label) for fate, label, _does in _FATES},
    )


def answer_column(visit: Visit) -> Response:
    """Take the answer of a second adjudicator on one column of a file that they were shown."""
    number, key = read_number(visit.text("column")), visit.text("file")
    upload_id, answer = int(visit.request.path_params["upload_id"]), visit.text("answer")
    upload = next((one for one in list_uploads(visit.store) if one.id == upload_id), None)
    # A number of a file is used again, its key is not.
    if upload is None or str(upload.name_key) != key or number is None:
        raise ReviewError(_("this column does not wait for an answer any more. Load the page again"))
    _service(visit).answer(upload, number, answer, by=visit.user.name)
    done = (
        _("The column is not copied.")
        if answer == ColumnFate.MASKED
        else _("Confirmed: the column is copied.")
    )
    return visit.redirect("/confirm", done)


def _find_problem(
    facts: UploadFacts, survey: FileSurvey, fates: Sequence[ColumnFate], headers: Sequence[bool]
) -> str:
    # "" = the columns can be treated like this.
    # `headers`: the user says of each table that the first row names the columns; it is written as it is.
    for number, (column, fate) in enumerate(zip(survey.columns, fates, strict=True)):
        if refusal := find_refusal(column, fate, is_refused=number in facts.refused):
            return _("column {number} {refusal}", number=number + 1, refusal=refusal)
    for number, is_header_said in enumerate(headers):
        own = [fate for column, fate in zip(survey.columns, fates, strict=True) if column.table == number]
        is_left_out = bool(survey.tables) and set(own) <= {ColumnFate.DROPPED}
        if not (is_left_out or is_header_said or _has_header(survey, number)):
            return _(
                "the first row does not look like names of columns. It would be written as it is. Say that "
                "it names nobody, or add a row with names to the file"
            )
    return ""


def _has_header(survey: FileSurvey, table: int) -> bool:
    return is_header([column.name for column in survey.columns if column.table == table])


def _read_fate(given: str) -> ColumnFate:
    return ColumnFate(given) if given in set(ColumnFate) else ColumnFate.DROPPED


def show_masking(visit: Visit) -> Response:
    return visit.render("masking.html", stage=3)


_FATES = (
    (ColumnFate.MASKED, N_("Mask"), N_("its text is masked")),
    (ColumnFate.KEPT, N_("Keep"), N_("copied if it names nobody, dates and ages as in the text")),
    (ColumnFate.DROPPED, N_("Drop"), N_("left out")),
    (ColumnFate.ID, N_("Case number"), N_("copied as it is, and names the case in the list")),
    (ColumnFate.UNCHECKED, N_("Keep unchecked"), N_("copied as it is, whatever it contains")),
)
"""For each column: the choice, its label and what it does."""
