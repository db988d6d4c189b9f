"""The table of a file: its rows under each other, sent some at a time, corrected and approved together.

Rows are sent as the reading page gets a case. The page says which rows it has shown, and the server keeps
that (`flow.table.RowsShown`): what it was not told, or told of rows that have changed since, is not approved.
"""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
from starlette.responses import JSONResponse, Response

from inverse_deid.core.errors import ReviewError
from inverse_deid.core.values import show_name
from inverse_deid.core.wording import _, ngettext
from inverse_deid.files.facts import list_facts
from inverse_deid.review.flow.doubts import group_doubts
from inverse_deid.review.flow.table import (
    ROWS_AT_ONCE,
    InFile,
    Plan,
    Planned,
    RowAct,
    RowsShown,
    TableRow,
    act_on_row,
    approve_rows,
    count_rows,
    list_rows,
    plan_approval,
    reopen_rows,
    show_rows,
    sweep,
    undo_on_rows,
)
from inverse_deid.review.pages.case_page import encode_case, encode_digits, list_legend
from inverse_deid.review.pages.intake_pages import describe_facts
from inverse_deid.review.pages.list_pages import can_download, find_next
from inverse_deid.review.pages.visits import Visit
from inverse_deid.review.store.sources import list_sources, read_file_facts
from inverse_deid.review.store.values import MAX_RANGES, LayerRevision, TokenRange

_Some = Annotated[list[tuple[int, int]], msgspec.Meta(max_length=ROWS_AT_ONCE)]
_Range = tuple[int, int]


class _After(msgspec.Struct):
    after: int = -1


class _Rows(msgspec.Struct):
    rows: _Some  # the number of a case, and its revision


class _Act(msgspec.Struct):
    case: int
    revision: int
    act: RowAct
    ranges: Annotated[list[_Range], msgspec.Meta(min_length=1, max_length=MAX_RANGES)]


class _Sweep(msgspec.Struct):
    act: RowAct
    words: list[str]
    after: int = -1
    keeps: bool | None = None
    is_left: bool = False  # the reader leaves it as far as it is done

    __repr__ = show_name


class _Approval(msgspec.Struct):
    rows: Annotated[list[tuple[int, int, int]], msgspec.Meta(max_length=ROWS_AT_ONCE)]


class _Reopened(msgspec.Struct):
    rows: Annotated[list[int], msgspec.Meta(max_length=ROWS_AT_ONCE)]


def show_table(visit: Visit) -> Response:
    """Return the page of a file without its rows: a GET request changes and shows nothing."""
    source_id = _source(visit)
    source = next((one for one in list_sources(visit.store) if one.id == source_id), None)
    if source is None:
        raise ReviewError(_("this file does not exist"))
    facts = read_file_facts(visit.store, [source_id])[source_id]
    return visit.render(
        "table.html",
        source_id=source_id,
        name=source.name,
        n_rows=count_rows(visit.store, visit.user, source_id),
        sentences=describe_facts(facts),
        approvals=visit.store.policy.approvals,
    )


def send_rows(visit: Visit) -> Response:
    """Send the next rows that the reader can review."""
    given = visit.parse(_After)
    rows = list_rows(visit.store, visit.user, _source(visit), _shown(visit), after=given.after)
    unfinished = _shown(visit).list_unfinished(visit.user.id, _source(visit)) if given.after < 0 else []
    return JSONResponse(
        {
            "rows": [_encode(row) for row in rows],
            "legend": list_legend(),
            "unfinished": [{**msgspec.to_builtins(asked), "after": after} for asked, after in unfinished],
        }
    )


def note_read(visit: Visit) -> Response:
    """Note which rows the page has shown, and say which of them count."""
    given = visit.parse(_Rows)
    return JSONResponse({"read": _shown(visit).note_read(visit.user.id, dict(given.rows), visit.store.now())})


def act(visit: Visit) -> Response:
    given = visit.parse(_Act)
    at = LayerRevision(visit.user.id, given.case, given.revision)
    ranges = [TokenRange(*one) for one in given.ranges]
    act_on_row(visit.store, visit.user, at, given.act, ranges, _shown(visit))
    return _send_again(visit, [given.case])


def sweep_file(visit: Visit) -> Response:
    """Change the same words in some more rows of the file; the page goes on until all are done."""
    given = visit.parse(_Sweep)
    asked = InFile(given.act, tuple(given.words), given.keeps)
    if given.is_left:
        _shown(visit).note_swept(visit.user.id, _source(visit), asked, None)
        return JSONResponse({"rows": [], "after": None, "n_left": 0})
    done = sweep(visit.store, visit.user, _source(visit), asked, _shown(visit), after=given.after)
    return _send_again(visit, done.case_ids, after=done.after, n_left=done.n_left)


def list_words(visit: Visit) -> Response:
    """Send the doubtful words of the file, grouped, so that each can be decided once."""
    found = group_doubts(visit.store, visit.user, source_id=_source(visit))
    return JSONResponse({"words": msgspec.to_builtins(found.words)})


def undo(visit: Visit) -> Response:
    done = undo_on_rows(visit.store, visit.user, dict(visit.parse(_Rows).rows), _shown(visit))
    return _send_again(visit, done)


def ask_approval(visit: Visit) -> Response:
    """Say what approving all rows that were read would do, and with which rows."""
    if _shown(visit).list_unfinished(visit.user.id, _source(visit)):
        question = _(
            "A decision for the whole file is not in all rows yet. Load the page again to go on with it."
        )
        return JSONResponse({"rows": [], "question": question, "staying": []})
    plan = plan_approval(visit.store, visit.user, _source(visit), _shown(visit))
    rows = [(one.case_id, one.revision, one.n_sure) for one in plan.rows]
    facts = read_file_facts(visit.store, [_source(visit)])[_source(visit)]
    warnings = [f"{one.text}." for one in list_facts(facts) if one.field == "n_other_language"]
    question = " ".join([*warnings, _ask(plan)])
    return JSONResponse({"rows": rows, "question": question, "staying": _list_staying(plan)})


def approve(visit: Visit) -> Response:
    given = [Planned(*one) for one in visit.parse(_Approval).rows]
    left = approve_rows(visit.store, visit.user, _source(visit), given, _shown(visit))
    done = [one.case_id for one in given if one.case_id not in left]
    is_through = find_next(visit) == "/" and can_download(visit)
    return JSONResponse({"done": done, "left": left, "is_through": is_through})


def reopen(visit: Visit) -> Response:
    given = visit.parse(_Reopened).rows
    left = reopen_rows(visit.store, visit.user, given)
    return JSONResponse({"done": [one for one in given if one not in left], "left": left})


def _source(visit: Visit) -> int:
    return int(visit.request.path_params["source_id"])


def _shown(visit: Visit) -> RowsShown:
    shown: RowsShown = visit.request.app.state.rows_shown
    return shown


def _send_again(visit: Visit, case_ids: list[int] | tuple[int, ...], **more: Any) -> Response:  # noqa: ANN401
    rows = show_rows(visit.store, visit.user, _source(visit), case_ids, _shown(visit))
    return JSONResponse({"rows": [_encode(row) for row in rows], **more})


def _encode(row: TableRow) -> dict[str, Any]:
    known = {
        "case_id": row.case_id,
        "number": row.number,
        "name": row.name,
        "obstacle": row.obstacle,
        "revision": row.revision,
    }
    if row.view is None or row.touched is None:
        return known
    return {
        **known,
        **encode_case(row.view, row.view.facts),
        "touched": encode_digits(row.touched),
        "legend": None,
    }


def _ask(plan: Plan) -> str:
    n_rows, n_sure = len(plan.rows), sum(one.n_sure for one in plan.rows)
    if not n_rows:
        return _("No row can be approved yet.")
    said = ngettext(
        "You have seen {n:,} row that has no open doubt.",
        "You have seen {n:,} rows that have no open doubt.",
        n_rows,
        n=n_rows,
    )
    if n_sure:
        said += " " + ngettext(
            "In them you uncovered {n:,} word that the tool was sure must be masked.",
            "In them you uncovered {n:,} words that the tool was sure must be masked.",
            n_sure,
            n=n_sure,
        )
    return said + " " + ngettext("Approve it?", "Approve them?", n_rows)


def _list_staying(plan: Plan) -> list[str]:
    n_unseen, n_doubtful, n_elsewhere = plan.n_not_shown, plan.n_doubtful, plan.n_elsewhere
    unseen = ngettext("{n:,} row was not shown yet", "{n:,} rows were not shown yet", n_unseen, n=n_unseen)
    doubtful = ngettext(
        "{n:,} row has doubtful words to decide",
        "{n:,} rows have doubtful words to decide",
        n_doubtful,
        n=n_doubtful,
    )
    elsewhere = ngettext(
        "{n:,} row must be read on its own page",
        "{n:,} rows must be read on their own pages",
        n_elsewhere,
        n=n_elsewhere,
    )
    return [said for n, said in ((n_unseen, unseen), (n_doubtful, doubtful), (n_elsewhere, elsewhere)) if n]
