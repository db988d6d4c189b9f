"""The reading page and its small requests; a response is sent only when the store has it on the disk.

A case is sent as JSON without offsets, so that browser and store count alike. Short words name the
categories: no meaning is carried by colour alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import msgspec
import numpy as np
import numpy.typing as npt
from starlette.responses import JSONResponse, Response

from inverse_deid.choices.names import CLASS_NAMES, TYPE_NAMES
from inverse_deid.choices.reasons import REASONS
from inverse_deid.core.phi import HYPER_CLASS_OF, HyperClass, PhiType
from inverse_deid.core.values import Reason, Tokens, show_name
from inverse_deid.core.wording import N_, _, ngettext
from inverse_deid.files.pictures import check_picture, draw_scan, list_scans
from inverse_deid.files.workers import borrow_worker
from inverse_deid.review.flow.approval import (
    Uncovered,
    approve,
    can_undo_approval,
    count_maybe_needless,
    count_uncovered,
    count_unseen,
    is_other_language,
)
from inverse_deid.review.flow.editing import act, add_note, redo, undo
from inverse_deid.review.flow.reading import (
    close_case,
    has_scans,
    keep_lock,
    open_case,
    open_dispute,
    open_scan,
    view_case,
)
from inverse_deid.review.flow.work_list import read_line
from inverse_deid.review.pages.intake_pages import describe_facts
from inverse_deid.review.pages.list_pages import find_next
from inverse_deid.review.pages.visits import LEGEND_COOKIE, Visit
from inverse_deid.review.store.sources import read_facts_around
from inverse_deid.review.store.values import (
    CATEGORIES,
    MAX_RANGES,
    ActionKind,
    CaseView,
    CopiedValue,
    DisputeView,
    LayerRevision,
    LayerTokens,
    MaskingFacts,
    ModelTokens,
    ReviewAction,
    TokenRange,
)
from inverse_deid.text.rendering import JOINING_GAPS, forbidden_gaps, replace_gap

GROUP_LETTERS: Mapping[HyperClass, str] = {
    HyperClass.NAME: "N",
    HyperClass.PLACE: "P",
    HyperClass.DATE: "D",
    HyperClass.AGE: "A",
    HyperClass.CONTACT: "C",
    HyperClass.ID: "I",
    HyperClass.PROFESSION: "J",
}

CATEGORY_CODES: Mapping[PhiType, str] = {one: one.value[:2] for one in PhiType} | {
    PhiType.DOCTOR: "DR",
    PhiType.PROFESSION: "JO",
    PhiType.STATE: "SA",
    PhiType.FAX: "FX",
    PhiType.MEDICALRECORD: "MR",
    PhiType.HEALTHPLAN: "HP",
}
"""Two letters each, typed in the category menu of the reading page."""

CATEGORY_TAGS: Mapping[PhiType, str] = {**TYPE_NAMES} | {
    PhiType.STATE: N_("region"),
    PhiType.LOCATION_OTHER: N_("place"),
    PhiType.PHONE: N_("phone"),
    PhiType.FAX: N_("fax"),
    PhiType.EMAIL: N_("e-mail"),
    PhiType.URL: N_("web"),
    PhiType.IPADDR: N_("computer"),
    PhiType.SSN: N_("social security"),
    PhiType.MEDICALRECORD: N_("record"),
    PhiType.HEALTHPLAN: N_("health plan"),
    PhiType.ACCOUNT: N_("account"),
    PhiType.LICENSE: N_("licence"),
    PhiType.VEHICLE: N_("vehicle"),
    PhiType.DEVICE: N_("device"),
    PhiType.BIOID: N_("body"),
    PhiType.IDNUM: N_("number"),
}
"""Short names, shown at the end of a mask."""

LONG_VALUE = 200
LONG_LINES = 4
"""A kept value of more characters or lines can be folded."""

N_LEVELS = 5
"""Strengths of colour that show doubt."""

_ASK_FIRST = 428
"""HTTP status: a condition must be met first, here a user's yes to a question."""

_Range = tuple[int, int]


class _Change(msgspec.Struct):
    revision: int


class _ActChange(_Change):
    kind: ActionKind
    ranges: Annotated[list[_Range], msgspec.Meta(min_length=1, max_length=MAX_RANGES)]
    category: PhiType | None = None
    all_mentions: bool = False


class _NoteChange(_Change):
    text: str
    first: int | None = None
    stop: int = 0

    __repr__ = show_name


class _Approval(_Change):
    seen: list[_Range] = []
    is_dispute: bool = False
    anyway: object = None
    uncovered: object = None
    other_language: object = None


def show_case(visit: Visit) -> Response:
    """Return the page of a case or dispute without its content, but with what was found in its file."""
    return visit.render(
        "case.html",
        case_id=visit.case_id,
        name=read_line(visit.store, visit.case_id).name,
        is_dispute=visit.request.scope["path"].startswith("/disputes/"),
        sentences=describe_facts(read_facts_around(visit.store, visit.case_id)),
        legend_open=visit.request.cookies.get(LEGEND_COOKIE) != "closed",
    )


def send_case(visit: Visit) -> Response:
    """Lock a case and send it, as far as the reviewer may see it."""
    view = open_case(visit.store, visit.user, visit.case_id)
    can_reopen = view.is_approved and can_undo_approval(visit.store, visit.user, visit.case_id)
    scans = has_scans(visit.store, visit.case_id)
    return JSONResponse({**encode_case(view, view.facts), "can_reopen": can_reopen, "has_scans": scans})


def send_dispute(visit: Visit) -> Response:
    dispute = open_dispute(visit.store, visit.user, visit.case_id)
    scans = has_scans(visit.store, visit.case_id)
    return JSONResponse({**encode_case(dispute.case, dispute.case.facts, dispute), "has_scans": scans})


def list_pictures(visit: Visit) -> Response:
    """Send the numbers of the pages of a case that were read as scans."""
    file = open_scan(visit.store, visit.user, visit.case_id)
    with borrow_worker() as worker:
        pages = worker.call(list_scans, file, n_bytes=len(file.data))
    return JSONResponse({"pages": pages})


def show_picture(visit: Visit) -> Response:
    """Send the picture of such a page, drawn again by a child process: nothing of the file as it came."""
    file = open_scan(visit.store, visit.user, visit.case_id)
    page = int(visit.request.path_params["page"])
    with borrow_worker() as worker:
        drawn = worker.call(draw_scan, file, page, n_bytes=len(file.data))
    return Response(check_picture(drawn), media_type="image/jpeg")


def act_on_tokens(visit: Visit) -> Response:
    given = visit.parse(_ActChange)
    ranges = tuple(TokenRange(*one) for one in given.ranges)
    action = ReviewAction(given.kind, ranges, given.category, all_mentions=given.all_mentions)
    return JSONResponse(msgspec.to_builtins(act(visit.store, _locate(visit, given), action)))


def undo_action(visit: Visit) -> Response:
    return JSONResponse(msgspec.to_builtins(undo(visit.store, _locate(visit, visit.parse(_Change)))))


def redo_action(visit: Visit) -> Response:
    return JSONResponse(msgspec.to_builtins(redo(visit.store, _locate(visit, visit.parse(_Change)))))


def store_note(visit: Visit) -> Response:
    given = visit.parse(_NoteChange)
    tokens = None if given.first is None else TokenRange(given.first, given.stop)
    add_note(visit.store, _locate(visit, given), given.text, tokens)
    notes = view_case(visit.store, visit.user, visit.case_id).notes
    return JSONResponse({"notes": msgspec.to_builtins(notes)})


def approve_case(visit: Visit) -> Response:
    """Approve, and name the next page.

    If doubtful words were not looked at, words were unmasked that the tool was sure of, or the text seems not
    to be English, the response is a question, and only a second request that states this approves.
    """
    given = visit.parse(_Approval)
    seen = [TokenRange(*one) for one in given.seen]
    n_unseen = count_unseen(visit.store, visit.user.id, visit.case_id, seen)
    uncovered = count_uncovered(visit.store, visit.user.id, visit.case_id)
    n_needless = count_maybe_needless(visit.store, visit.user.id, visit.case_id)
    is_other = is_other_language(visit.store, visit.case_id)
    is_open = not (_states(given.anyway, n_unseen) and _states(given.uncovered, uncovered.n_sure))
    if is_open or (is_other and given.other_language is not True):
        question = _ask_first(n_unseen, uncovered, n_needless, is_dispute=given.is_dispute)
        asked = {"error": question, "n_unseen": n_unseen, "n_uncovered": uncovered.n_sure}
        if is_other:
            asked |= {"error": f"{_warn_of_language()} {question}", "other_language": True}
        return JSONResponse(asked, status_code=_ASK_FIRST)
    state = approve(visit.store, _locate(visit, given))
    response = JSONResponse({"state": state.value, "next": find_next(visit)})
    name = read_line(visit.store, visit.case_id).name
    done = "settled" if given.is_dispute else "approved"
    said = _(
        "{name}: {done}.{after_approval}",
        name=name,
        done=done,
        after_approval=visit.audience.after_approval[state],
    )
    if uncovered.n_words:
        said = f"{said} {_list_uncovered(uncovered)}"
    if n_needless:
        said = f"{said} {_count_needless(n_needless)}"
    is_undoable = can_undo_approval(visit.store, visit.user, visit.case_id)
    visit.notify(response, said, undo_case=visit.case_id if is_undoable else 0)
    return response


def _states(given: object, number: int) -> bool:
    # Nothing has to be stated of 0.
    return not number or (type(given) is int and given == number)


def _warn_of_language() -> str:
    return _("This text seems not to be English. Identifiers may be missed in it, and facts may be lost.")


def _count_needless(n: int) -> str:
    return ngettext("{n:,} mask may be needless.", "{n:,} masks may be needless.", n, n=n)


def _ask_first(n_unseen: int, uncovered: Uncovered, n_needless: int, *, is_dispute: bool) -> str:
    said = [_list_uncovered(uncovered)] if uncovered.n_sure else []
    if n_unseen:
        n, word = f"{n_unseen:,}", "word" if n_unseen == 1 else "words"
        words = (
            _("{n} {word} in dispute. Settle", n=n, word=word)
            if is_dispute
            else _("{n} doubtful {word}. Approve", n=n, word=word)
        )
        said.append(_("You have not looked at {words} anyway?", words=words))
    else:
        said.append(_("Settle?") if is_dispute else _("Approve?"))
    said += [_count_needless(n_needless)] if n_needless else []
    return " ".join(said)


def _list_uncovered(found: Uncovered) -> str:
    said = ngettext("You uncovered {n:,} word.", "You uncovered {n:,} words.", found.n_words, n=found.n_words)
    if not found.n_sure:
        return said
    if found.n_sure == found.n_words:
        sure = ngettext(
            "The tool was sure that it must be masked.",
            "The tool was sure that they must be masked.",
            found.n_words,
        )
    else:
        sure = _("The tool was sure that {n:,} of them must be masked.", n=found.n_sure)
    return f"{said} {sure}"


def keep_open(visit: Visit) -> Response:
    """Prolong the lock: the user is still here."""
    return JSONResponse({"until": keep_lock(visit.store, visit.user, visit.case_id)})


def close(visit: Visit) -> Response:
    close_case(visit.store, visit.user, visit.case_id)
    return JSONResponse({})


def _locate(visit: Visit, given: _Change) -> LayerRevision:
    return LayerRevision(visit.user.id, visit.case_id, given.revision)


def encode_case(view: CaseView, facts: MaskingFacts, dispute: DisputeView | None = None) -> dict[str, Any]:
    """Return all that the reading page shows of a case, for JSON; an adjudicator also gets the dispute."""
    tokens = view.tokens
    begins, stops = [0, *tokens.ends.tolist()], [*tokens.starts.tolist(), len(tokens.text)]
    return {
        "case_id": view.case_id,
        "name": view.name,
        "state": _(view.state.value),
        "kind": view.kind.value,
        "revision": view.revision,
        "can_undo": view.can_undo,
        "can_redo": view.can_redo,
        "is_approved": view.is_approved,
        "words": tokens.words,
        "gaps": [tokens.text[begin:stop] for begin, stop in zip(begins, stops, strict=True)],
        "masked_gaps": _mask_gaps(tokens),
        "joining_gaps": sorted(JOINING_GAPS),
        "parts": [
            {"name": part.name, "first": int(np.searchsorted(tokens.starts, part.start))}
            for part in view.parts
        ],
        "marker": facts.marker,
        "category_markers": facts.category_markers,
        "layer": _encode_layer(view.layer),
        "model": None if view.model is None else _encode_model(view.model),
        "reviewers": [] if dispute is None else [_encode_layer(one) for one in dispute.reviewers],
        "disputed": "" if dispute is None else encode_digits(dispute.disputed),
        "notes": msgspec.to_builtins(view.notes),
        "warning": _warn_of_language() if view.other_language else "",
        "copied": None if view.copied is None else describe_copied(view.copied),
        "legend": list_legend(),
    }


def describe_copied(copied: Sequence[CopiedValue]) -> list[dict[str, object]]:
    """Return the values that are released beside a case, as the pages show them."""
    said = {
        "date": _("a date, replaced as those of the text are"),
        "age": _("an age, replaced as those of the text are"),
    }
    return [
        {
            "column": one.column,
            "value": said[one.replaced] if one.replaced else one.value,
            "is_replaced": bool(one.replaced),
            "is_long": len(one.value) > LONG_VALUE or one.value.count("\n") >= LONG_LINES,
        }
        for one in copied
    ]


def list_legend() -> dict[str, object]:
    """Return the categories, reasons and groups in words, as scripts need them."""
    return {
        "categories": [
            {
                "name": one.value,
                "code": CATEGORY_CODES[one],
                "group": GROUP_LETTERS[HYPER_CLASS_OF[one]],
                "title": _(TYPE_NAMES[one]),
                "tag": _(CATEGORY_TAGS[one]),
            }
            for one in CATEGORIES
        ],
        "reasons": [_(REASONS[one]) for one in Reason],
        "groups": [
            {"name": hyper.value, "letter": letter, "title": _(CLASS_NAMES[hyper].many)}
            for hyper, letter in GROUP_LETTERS.items()
        ],
    }


def _mask_gaps(tokens: Tokens) -> Mapping[int, str]:
    # Without forbidden characters.
    changed: dict[int, str] = {}
    for start, end in reversed(list(forbidden_gaps(tokens.text))):
        number = int(np.searchsorted(tokens.ends, start, side="right"))
        begin = int(tokens.ends[number - 1]) if number else 0
        stop = int(tokens.starts[number]) if number < len(tokens) else len(tokens.text)
        gap = changed.get(number, tokens.text[begin:stop])
        changed[number] = gap[: start - begin] + replace_gap(tokens.text[start:end]) + gap[end - begin :]
    return changed


def _encode_layer(layer: LayerTokens) -> dict[str, Any]:
    return {
        "keep": encode_digits(layer.keep),
        "decided": encode_digits(layer.decided),
        "categories": layer.categories.tolist(),
    }


def _encode_model(model: ModelTokens) -> dict[str, Any]:
    return {
        "keep": encode_digits(model.decisions.keep),
        "doubtful": encode_digits(model.is_doubtful),
        "rules_safe": encode_digits(model.rules_safe),
        "known": encode_digits(model.known),
        "reasons": model.decisions.reasons.tolist(),
        "categories": model.categories.tolist(),
        "p_safe": _encode_shares(model.decisions.p_safe),
        "thresholds": _encode_shares(model.decisions.thresholds),
        "levels": encode_digits(np.minimum(model.doubt * N_LEVELS, N_LEVELS - 1)),
    }


def _encode_shares(shares: npt.NDArray[np.float32]) -> list[int | None]:
    # Ten-thousandths, as integers are fastest. None = unknown (p_safe) or never (threshold).
    known = np.isfinite(shares)
    found: list[int | None] = np.rint(np.where(known, shares, 0.0) * 10_000.0).astype(np.int32).tolist()
    for token in np.flatnonzero(~known).tolist():
        found[token] = None
    return found


def encode_digits(numbers: npt.NDArray[Any]) -> str:
    """Return one digit per token, in [0, 9], rounded down; True is 1."""
    return (numbers.astype(np.uint8) + np.uint8(ord("0"))).tobytes().decode()
