"""The reading page and its small requests; an answer comes only after the store has it on the disk."""

from __future__ import annotations

from typing import Any

from starlette.responses import JSONResponse, Response

from inverse_deid.core.errors import ReviewError
from inverse_deid.core.phi import PhiType
from inverse_deid.review.approval import approve, count_unseen
from inverse_deid.review.editing import act, add_note, redo, undo
from inverse_deid.review.pages.case_data import case_data, edited_data, notes_data
from inverse_deid.review.pages.rendering import page
from inverse_deid.review.pages.visits import Visit
from inverse_deid.review.pages.work_list_page import next_address
from inverse_deid.review.reading import close_case, keep_lock, open_case, open_dispute, view_case
from inverse_deid.review.values import MAX_RANGES, Action, ActionKind, Place, TokenRange

_ASK_FIRST = 428
"""HTTP: a condition is asked for, here that a person said yes to a question."""


def reading_page(visit: Visit) -> Response:
    """The page without the case: looking at an address changes and shows nothing."""
    return page(visit.request, "case.html", visit.session, case_id=visit.case_id, is_dispute=False)


def dispute_page(visit: Visit) -> Response:
    """The same for an adjudicator."""
    return page(visit.request, "case.html", visit.session, case_id=visit.case_id, is_dispute=True)


def open_(visit: Visit) -> Response:
    """Lock a case and give what the reviewer may see."""
    view = open_case(visit.store, visit.session.user, visit.case_id)
    return JSONResponse(case_data(view, visit.store.facts))


def open_disputed(visit: Visit) -> Response:
    """Lock a disagreement and give both sides."""
    dispute = open_dispute(visit.store, visit.session.user, visit.case_id)
    return JSONResponse(case_data(dispute.case, visit.store.facts, dispute))


def do(visit: Visit) -> Response:
    """Mask, unmask, categorise."""
    return JSONResponse(edited_data(act(visit.store, _place(visit), _action(visit.payload))))


def take_back(visit: Visit) -> Response:
    """Undo."""
    return JSONResponse(edited_data(undo(visit.store, _place(visit))))


def do_again(visit: Visit) -> Response:
    """Redo."""
    return JSONResponse(edited_data(redo(visit.store, _place(visit))))


def note(visit: Visit) -> Response:
    """Add a remark on the case or on some of its tokens."""
    text = visit.payload.get("text")
    if not isinstance(text, str):
        raise ReviewError("a note is a text")
    tokens = None
    if visit.payload.get("first") is not None:
        tokens = TokenRange(visit.number("first"), visit.number("stop"))
    add_note(visit.store, _place(visit), text, tokens)
    view = view_case(visit.store, visit.session.user, visit.case_id)
    return JSONResponse({"notes": notes_data(view.notes)})


def approve_and_next(visit: Visit) -> Response:
    """Approve, and say where to go.

    Doubtful words that nobody looked at need a second request that names how many they are: the answer
    to the first is the question that the page asks.
    """
    place = _place(visit)
    is_dispute = bool(visit.payload.get("is_dispute"))
    seen = visit.payload.get("seen", [])
    if not isinstance(seen, list):
        raise ReviewError("seen has to be a list of ranges of tokens")
    n_unseen = count_unseen(visit.store, place.user_id, place.case_id, [_range(one) for one in seen])
    anyway = visit.payload.get("anyway")
    if n_unseen and (type(anyway) is not int or anyway != n_unseen):
        question = _question(n_unseen, is_dispute=is_dispute)
        return JSONResponse({"error": question, "n_unseen": n_unseen}, status_code=_ASK_FIRST)
    state = approve(visit.store, place)
    address = "/?state=disagreed" if is_dispute else next_address(visit)
    return JSONResponse({"state": state.value, "next": address})


def _question(n_unseen: int, *, is_dispute: bool) -> str:
    words = "word" if n_unseen == 1 else "words"
    if is_dispute:
        return f"You have not looked at {n_unseen:,} {words} in dispute. Settle anyway?"
    return f"You have not looked at {n_unseen:,} doubtful {words}. Approve anyway?"


def keep(visit: Visit) -> Response:
    """Still here."""
    return JSONResponse({"until": keep_lock(visit.store, visit.session.user, visit.case_id)})


def close(visit: Visit) -> Response:
    """Give the lock back."""
    close_case(visit.store, visit.session.user, visit.case_id)
    return JSONResponse({})


def _place(visit: Visit) -> Place:
    return Place(visit.session.user.id, visit.case_id, visit.number("revision"))


def _action(payload: Any) -> Action:  # noqa: ANN401 - what a browser sent
    """An action from JSON.

    Raises:
        ReviewError: It is none.
    """
    ranges = payload.get("ranges")
    if not isinstance(ranges, list) or len(ranges) > MAX_RANGES:
        raise ReviewError(f"an action needs 1 to {MAX_RANGES} ranges of tokens")
    category = payload.get("category")
    try:
        kind = ActionKind(payload.get("kind"))
        phi_type = None if category is None else PhiType(category)
    except ValueError:
        kind, phi_type = None, None
    if kind is None:
        raise ReviewError("the action or the category is not known")
    return Action(
        kind, tuple(map(_range, ranges)), phi_type, all_mentions=payload.get("all_mentions") is True
    )


def _range(given: object) -> TokenRange:
    if isinstance(given, list) and len(given) == 2:
        first, stop = given
        if type(first) is int and type(stop) is int:
            return TokenRange(first, stop)
    raise ReviewError("a range of tokens is two whole numbers")
