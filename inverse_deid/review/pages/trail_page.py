"""The trail for admins: pages of entries in plain words, whether it is intact, and its export."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from urllib.parse import urlencode

from starlette.responses import RedirectResponse, Response, StreamingResponse

from inverse_deid.choices.names import TYPE_NAMES
from inverse_deid.core.errors import ReviewError
from inverse_deid.core.phi import PhiType
from inverse_deid.core.wording import N_, _
from inverse_deid.review.pages.visits import MAX_SEARCH_CHARS, Visit, read_number
from inverse_deid.review.people.accounts import list_users
from inverse_deid.review.store.entries import TrailEvent
from inverse_deid.review.store.trail import (
    TrailEntry,
    TrailFilter,
    count_entries,
    encode_export,
    list_entries,
    verify_store,
)

MAX_CHECKED_AT_ONCE = 20_000
"""A longer trail is checked only on request, as every entry is read."""

GROUPS: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "words": (N_("decisions on words"), ("change", "undo", "redo", "confirm", "word ")),
    "originals": (N_("originals shown"), ("original ", "masked text shown")),
    "states": (N_("approvals and releases"), ("begin", "approv", "settle", "state")),
    "assign": (N_("assignments and locks"), ("assign", "lock broken")),
    "notes": (N_("notes and forms"), ("note", "causality form")),
    "sample": (N_("sample"), ("sample ", "read for sample ")),
    "files": (
        N_("files in and out"),
        (
            "file ",
            "kept column ",
            "files removed",
            "everything deleted",
            "case deleted",
            "retention",
            "released text",
            "list of old names",
            "annotated documents",
            "trail exported",
        ),
    ),
    "accounts": (
        N_("accounts, log-ins and limits"),
        (
            *("log in", "log-in ", "log out", "session of ", "code ", "recovery code ", "own password "),
            *("account of ", "password of ", "role of ", "second factor ", "limit ", "command "),
        ),
    ),
}
"""Groups of events by how the events begin."""

_WHOLE = {
    "log in": N_("Logged in"),
    "log out": N_("Logged out"),
    "begin": N_("Began to review the case"),
    "approve": N_("Approved the case"),
    "settle": N_("Settled the disagreement"),
    "approval undone": N_("Undid their approval of the case"),
    "confirm": N_("Confirmed doubtful words as they are"),
    "note": N_("Added a note"),
    "causality form": N_("Filled in the causality form"),
}
_DECISIONS = {"keep": N_("kept"), "mask": N_("masked"), "undecided": N_("undecided")}
_ACTIONS = {"change": "", "undo": N_("Undone: "), "redo": N_("Redone: ")}


def show_trail(visit: Visit) -> Response:
    query = visit.request.query_params
    group, user = query.get("group", ""), query.get("user", "")
    search = visit.open_search(query.get("q", ""))
    chosen = TrailFilter(case=search, user=user, events=GROUPS[group][1] if group in GROUPS else ())
    given = query.get("before", "")
    before = read_number(given)
    if given and before is None:
        raise ReviewError(_("the page cannot be found. Begin at the first page"))
    entries, has_more = list_entries(visit.store, chosen, before=before)
    n_entries = count_entries(visit.store)
    is_checked = n_entries <= MAX_CHECKED_AT_ONCE or query.get("check") == "1"
    fields = {"user": user, "group": group if group in GROUPS else "", "q": query.get("q", "")}
    address = "/trail?" + urlencode({name: value for name, value in fields.items() if value})
    older = "&" + urlencode({"before": entries[-1].number}) if has_more else ""
    return visit.render(
        "trail.html",
        entries=[(one, describe_event(one.event), _describe_time(one)) for one in entries],
        older=address + older if has_more else None,
        is_first=not given,
        begin=address,
        users=[one.name for one in list_users(visit.store)],
        groups={name: _(label) for name, (label, _begins) in GROUPS.items()},
        given=fields,
        search=search,
        max_search=MAX_SEARCH_CHARS,
        n_entries=n_entries,
        check=verify_store(visit.store) if is_checked else None,
    )


def find_entries(visit: Visit) -> Response:
    """Redirect to the chosen entries; the name of a case is encrypted in the address."""
    fields = {name: visit.text(name) for name in ("user", "group")} | {
        "q": visit.seal_search(visit.text("search"))
    }
    return RedirectResponse(
        "/trail?" + urlencode({name: value for name, value in fields.items() if value}), status_code=303
    )


def export_trail(visit: Visit) -> Response:
    """Send the whole trail as JSON Lines, as `review export --as trail` writes it."""
    with visit.store.writing() as transaction:
        transaction.record(TrailEvent(user=visit.user.name, event="trail exported"))
    headers = {"Content-Disposition": 'attachment; filename="trail.jsonl"'}
    lines = encode_export(visit.store)
    return StreamingResponse(lines, media_type="application/x-ndjson", headers=headers)


def describe_event(event: TrailEvent) -> str:
    """Return what happened in plain words; an unknown event speaks for itself.

    Example:
        >>> describe_event(TrailEvent(user="ann", event="state", old="in review", new="agreed"))
        'State changed from in review to agreed'
        >>> describe_event(TrailEvent(user="ann", event="change", start=9, end=12, old="keep", new="mask"))
        'Masked, was kept (characters 10 to 12)'
    """
    if event.event in _ACTIONS:
        return _describe_words(event)
    if event.event == "state":
        return _("State changed from {old} to {new}", old=_(event.old or ""), new=_(event.new or ""))
    if event.event == "assign":
        return _("Assigned the case to {new}", new=event.new or "anybody")
    said = _(_WHOLE.get(event.event, event.event[:1].upper() + event.event[1:]))
    if event.event == "lock broken":
        return _("Broke the lock of {old}", old=event.old)
    if event.event.startswith("file "):
        return said  # its `new` is a hash of the settings
    change = _(" to ").join(one for one in (event.old, event.new) if one)
    return f"{said}: {change}" if change else said


def _describe_words(event: TrailEvent) -> str:
    action = _(_ACTIONS[event.event])
    if event.new is None or event.start is None or event.end is None:
        return _("{action}no word changed", action=action) if action else _("Changed no word")
    new, old = _describe_decision(event.new), _describe_decision(event.old)
    said = action + (new if event.event != "change" else new.capitalize())
    before = _(", was {old}", old=old) if old != new else ""
    place = _("characters {start:,} to {end:,}", start=event.start + 1, end=event.end)
    part = _(" of {document}", document=event.document) if event.document not in (None, event.name) else ""
    return f"{said}{before} ({place}{part})"


def _describe_decision(decision: str | None) -> str:
    """Return a decision on words in plain words.

    Example:
        >>> _describe_decision("mask CITY"), _describe_decision("keep")
        ('masked as city', 'kept')
    """
    said, _space, category = (decision or "undecided").partition(" ")
    name = _(TYPE_NAMES[PhiType(category)]) if category in set(PhiType) else category.lower()
    return _(_DECISIONS.get(said, said)) + (_(" as {name}", name=name) if name else "")


def _describe_time(entry: TrailEntry) -> str:
    # A script shows it in the time of the browser.
    try:
        return f"{datetime.fromisoformat(entry.at).astimezone(UTC):%d %b %Y, %H:%M:%S} UTC"
    except ValueError:
        return "unknown"
