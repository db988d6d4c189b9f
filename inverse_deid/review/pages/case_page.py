"""The reading page and its small requests; a response is sent only when the store has it on the disk.

A case is sent as JSON without offsets, so that browser and store count alike. Letters name categories
and reasons: no meaning is carried by colour alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

import msgspec
import numpy as np
import numpy.typing as npt
from starlette.responses import JSONResponse, Response

from inverse_deid.core.phi import HYPER_CLASS_OF, HyperClass, PhiType
from inverse_deid.core.values import Reason, Tokens, show_name
from inverse_deid.review.approval import approve, count_unseen
from inverse_deid.review.editing import act, add_note, redo, undo
from inverse_deid.review.pages.form_pages import find_next
from inverse_deid.review.pages.visits import Visit
from inverse_deid.review.reading import close_case, keep_lock, open_case, open_dispute, view_case
from inverse_deid.review.store import MaskingFacts
from inverse_deid.review.values import (
    CATEGORIES,
    MAX_RANGES,
    ActionKind,
    CaseView,
    DisputeView,
    LayerRevision,
    LayerTokens,
    ModelTokens,
    ReviewAction,
    TokenRange,
)
from inverse_deid.text.rendering import GAP_MARK, JOINING_GAPS, forbidden_gaps

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

REASONS: Mapping[Reason, tuple[str, str]] = {
    Reason.KEPT_SAFE_WORD: ("S", "the dictionaries list it as safe, and the model agrees"),
    Reason.KEPT_BY_NETWORK: ("N", "the model alone is confident that it is safe"),
    Reason.BELOW_THRESHOLD: ("B", "the model is not confident enough that it is safe"),
    Reason.NEVER_SAFE_WORD: ("X", "this word is never safe"),
    Reason.VETO_PATTERN: ("P", "it looks like an identifier"),
    Reason.NAME_WITH_TITLE: ("T", "it follows a title, as names do"),
    Reason.OTHER_MENTION: ("M", "it is masked elsewhere in the case"),
    Reason.KNOWN_IDENTIFIER: ("K", "it is a known identifier of the case"),
    Reason.DENY_LIST: ("D", "it is on the deny list"),
    Reason.FAILED_CLOSED: ("F", "masking failed here, so everything is masked"),
    Reason.KEPT_ALLOW_LIST: ("A", "it is on the allow list"),
    Reason.RULES_ONLY_UNSAFE: ("R", "the dictionaries do not list it as safe (no model)"),
    Reason.JOINED_TO_MASKED: ("J", "it is joined to a masked word"),
    Reason.NAME_ONLY_WORD: ("L", "it is known only as a name"),
    Reason.KEPT_CATEGORY: ("C", "the model is confident that it is safe or of a category to keep"),
    Reason.CHOSEN_CATEGORY: ("O", "it tells an origin, which this store masks"),
}
"""A letter and a sentence for each reason of the model."""

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


def show_case(visit: Visit) -> Response:
    """Return the page of a case or dispute without its content: a GET request changes and shows nothing."""
    is_dispute = visit.request.url.path.startswith("/disputes/")
    return visit.render("case.html", case_id=visit.case_id, is_dispute=is_dispute)


def send_case(visit: Visit) -> Response:
    """Lock a case and send it, as far as the reviewer may see it."""
    view = open_case(visit.store, visit.user, visit.case_id)
    return JSONResponse(encode_case(view, view.facts))


def send_dispute(visit: Visit) -> Response:
    """Lock a disagreement and send both sides."""
    dispute = open_dispute(visit.store, visit.user, visit.case_id)
    return JSONResponse(encode_case(dispute.case, dispute.case.facts, dispute))


def act_on_tokens(visit: Visit) -> Response:
    """Mask, unmask, categorise."""
    given = visit.parse(_ActChange)
    ranges = tuple(TokenRange(*one) for one in given.ranges)
    action = ReviewAction(given.kind, ranges, given.category, all_mentions=given.all_mentions)
    return JSONResponse(msgspec.to_builtins(act(visit.store, _locate(visit, given), action)))


def undo_action(visit: Visit) -> Response:
    """Undo."""
    return JSONResponse(msgspec.to_builtins(undo(visit.store, _locate(visit, visit.parse(_Change)))))


def redo_action(visit: Visit) -> Response:
    """Redo."""
    return JSONResponse(msgspec.to_builtins(redo(visit.store, _locate(visit, visit.parse(_Change)))))


def store_note(visit: Visit) -> Response:
    """Add a note on the case or on some of its tokens."""
    given = visit.parse(_NoteChange)
    tokens = None if given.first is None else TokenRange(given.first, given.stop)
    add_note(visit.store, _locate(visit, given), given.text, tokens)
    notes = view_case(visit.store, visit.user, visit.case_id).notes
    return JSONResponse({"notes": msgspec.to_builtins(notes)})


def approve_case(visit: Visit) -> Response:
    """Approve, and name the next page.

    If doubtful words were not looked at, the response is a question, and only a second request that
    states their number approves.
    """
    given = visit.parse(_Approval)
    seen = [TokenRange(*one) for one in given.seen]
    n_unseen = count_unseen(visit.store, visit.user.id, visit.case_id, seen)
    if n_unseen and (type(given.anyway) is not int or given.anyway != n_unseen):
        n, word = f"{n_unseen:,}", "word" if n_unseen == 1 else "words"
        words = f"{n} {word} in dispute. Settle" if given.is_dispute else f"{n} doubtful {word}. Approve"
        question = f"You have not looked at {words} anyway?"
        return JSONResponse({"error": question, "n_unseen": n_unseen}, status_code=_ASK_FIRST)
    state = approve(visit.store, _locate(visit, given))
    address = "/?state=disagreed" if given.is_dispute else find_next(visit)
    return JSONResponse({"state": state.value, "next": address})


def keep_open(visit: Visit) -> Response:
    """Prolong the lock: the user is still here."""
    return JSONResponse({"until": keep_lock(visit.store, visit.user, visit.case_id)})


def close(visit: Visit) -> Response:
    """Give the lock back."""
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
        "state": view.state.value,
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
        "disputed": "" if dispute is None else _encode_digits(dispute.disputed),
        "notes": msgspec.to_builtins(view.notes),
        "legend": _list_legend(),
    }


def _list_legend() -> dict[str, object]:
    """Return the names and letters of categories, their groups, and reasons."""
    return {
        "categories": [
            {"name": one.value, "code": CATEGORY_CODES[one], "group": GROUP_LETTERS[HYPER_CLASS_OF[one]]}
            for one in CATEGORIES
        ],
        "reasons": [{"code": REASONS[one][0], "text": REASONS[one][1]} for one in Reason],
        "groups": [{"name": hyper.value, "letter": letter} for hyper, letter in GROUP_LETTERS.items()],
    }


def _mask_gaps(tokens: Tokens) -> Mapping[int, str]:
    """Return the gaps that differ in the masked text, by number: a sign replaces forbidden characters."""
    changed: dict[int, str] = {}
    for start, end in reversed(list(forbidden_gaps(tokens.text))):
        number = int(np.searchsorted(tokens.ends, start, side="right"))
        begin = int(tokens.ends[number - 1]) if number else 0
        stop = int(tokens.starts[number]) if number < len(tokens) else len(tokens.text)
        gap = changed.get(number, tokens.text[begin:stop])
        changed[number] = gap[: start - begin] + GAP_MARK + gap[end - begin :]
    return changed


def _encode_layer(layer: LayerTokens) -> dict[str, Any]:
    return {
        "keep": _encode_digits(layer.keep),
        "decided": _encode_digits(layer.decided),
        "categories": layer.categories.tolist(),
    }


def _encode_model(model: ModelTokens) -> dict[str, Any]:
    return {
        "keep": _encode_digits(model.decisions.keep),
        "doubtful": _encode_digits(model.is_doubtful),
        "rules_safe": _encode_digits(model.rules_safe),
        "known": _encode_digits(model.known),
        "reasons": model.decisions.reasons.tolist(),
        "categories": model.categories.tolist(),
        "p_safe": _encode_shares(model.decisions.p_safe),
        "thresholds": _encode_shares(model.decisions.thresholds),
        "levels": _encode_digits(np.minimum(model.doubt * N_LEVELS, N_LEVELS - 1)),
    }


def _encode_shares(shares: npt.NDArray[np.float32]) -> list[int | None]:
    """Return ten-thousandths, as integers are fastest; None = unknown (p_safe) or never (threshold)."""
    known = np.isfinite(shares)
    found: list[int | None] = np.rint(np.where(known, shares, 0.0) * 10_000.0).astype(np.int32).tolist()
    for token in np.flatnonzero(~known).tolist():
        found[token] = None
    return found


def _encode_digits(numbers: npt.NDArray[Any]) -> str:
    """Return one digit per token, in [0, 9], rounded down; True is 1."""
    return (numbers.astype(np.uint8) + np.uint8(ord("0"))).tobytes().decode()
