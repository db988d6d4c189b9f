"""What a reviewer changes in his layer: every call is one transaction, on the disk when it returns."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from sqlalchemy import Connection, Row, delete, insert, update

from inverse_deid.core.errors import ReviewError, StaleRevisionError
from inverse_deid.core.values import Tokens
from inverse_deid.review.contents import CaseContent, read_content
from inverse_deid.review.layers import (
    Step,
    after_steps,
    base_tokens,
    changed_tokens,
    locked_case,
    own_layer,
    runs_of,
    steps_of,
)
from inverse_deid.review.locks import count_time, hold_lock, user_name
from inverse_deid.review.store import ReviewStore
from inverse_deid.review.tables import ACTIONS, LAYERS, NOTES
from inverse_deid.review.trail import TrailEvent, append
from inverse_deid.review.values import (
    CATEGORIES,
    MAX_RANGES,
    NO_CATEGORY,
    Action,
    ActionKind,
    Edited,
    LayerTokens,
    Place,
    TokenRange,
)
from inverse_deid.text.folding import folded

MAX_NOTE_CHARS = 4_000
MAX_ACTIONS = 20_000


def act(store: ReviewStore, place: Place, action: Action) -> Edited:
    """Mask, unmask or categorise tokens; what was undone before can no longer be redone.

    Raises:
        StaleRevisionError: The layer is of another revision; open the case again.
        CaseLockedError: The user does not hold the lock any more.
        ReviewError: Tokens that are not in the case, an approved layer, CATEGORY of a kept token.
    """
    return take_steps(store, place, lambda content, now: _steps(action, content, now))


def take_steps(
    store: ReviewStore, place: Place, steps_for: Callable[[CaseContent, LayerTokens], list[Step]]
) -> Edited:
    """Add one action of steps that depend on the case and on the layer as it is now; fails as `act`."""
    with store.writing() as connection:
        edit = _Edit(connection, store, place)
        steps = steps_for(edit.content, edit.before)
        if not steps:
            raise ReviewError("the action changes nothing")
        if edit.layer.n_done >= MAX_ACTIONS:
            raise ReviewError(f"more than {MAX_ACTIONS:,} actions in one case; close it and tell the admin")
        position = edit.layer.n_done
        is_undone = (ACTIONS.c.layer_id == edit.layer.id) & (ACTIONS.c.position >= position)
        connection.execute(delete(ACTIONS).where(is_undone))
        row = {"layer_id": edit.layer.id, "position": position, "steps": json.dumps(steps)}
        connection.execute(insert(ACTIONS), row)
        return edit.finished("change", [*edit.actions[:position], steps], position + 1)


def undo(store: ReviewStore, place: Place) -> Edited:
    """Take the last action back; fails as `act`, and if there is none."""
    with store.writing() as connection:
        edit = _Edit(connection, store, place)
        if not edit.layer.n_done:
            raise ReviewError("there is nothing to undo")
        return edit.finished("undo", edit.actions, edit.layer.n_done - 1)


def redo(store: ReviewStore, place: Place) -> Edited:
    """Do again what was undone last; fails as `act`, and if there is nothing."""
    with store.writing() as connection:
        edit = _Edit(connection, store, place)
        if edit.layer.n_done >= len(edit.actions):
            raise ReviewError("there is nothing to do again")
        return edit.finished("redo", edit.actions, edit.layer.n_done + 1)


def add_note(store: ReviewStore, place: Place, text: str, tokens: TokenRange | None = None) -> None:
    """Add a remark of 1 to 4,000 characters (encrypted like the narrative); the revision stays."""
    if not 0 < len(text.strip()) <= len(text) <= MAX_NOTE_CHARS:
        raise ReviewError(f"a note has 1 to {MAX_NOTE_CHARS:,} characters")
    with store.writing() as connection:
        edit = _Edit(connection, store, place)
        edit.check(tokens)
        row = {
            "case_id": place.case_id,
            "user_id": place.user_id,
            "at": store.now(),
            "first": None if tokens is None else tokens.first,
            "stop": None if tokens is None else tokens.stop,
            "sealed": store.sealer.sealed(text.encode("utf-8", "replace"), f"a note on case {place.case_id}"),
        }
        connection.execute(insert(NOTES), row)
        append(connection, store, [edit.event("note")])


def checked_layer(connection: Connection, store: ReviewStore, place: Place) -> tuple[Row[Any], Row[Any]]:
    """The rows of a case and of the user's layer, if he may change it now; fails as `act`."""
    case = locked_case(connection, place.case_id)
    layer = own_layer(connection, place.user_id, place.case_id)
    if layer.approval is not None:
        raise ReviewError(f"you approved case {place.case_id}; it does not change any more")
    hold_lock(connection, store, case, place.user_id)
    if layer.revision != place.revision:
        raise StaleRevisionError(
            f"case {place.case_id} changed in another window (revision {layer.revision}, not "
            f"{place.revision}); open it again"
        )
    count_time(connection, store, layer)
    return case, layer


class _Edit:
    """One change of a layer, within one transaction."""

    def __init__(self, connection: Connection, store: ReviewStore, place: Place) -> None:
        self._connection = connection
        self._store = store
        self._user_id = place.user_id
        self.case, self.layer = checked_layer(connection, store, place)
        self.content = read_content(connection, place.case_id, store.sealer)
        self.base = base_tokens(connection, store, self.layer, self.content)
        self.actions = steps_of(connection, self.layer.id)
        self.before = self._after(self.actions, self.layer.n_done)

    def _after(self, actions: Sequence[Sequence[Step]], n_done: int) -> LayerTokens:
        return after_steps(self.base, (step for action in actions[:n_done] for step in action))

    def check(self, tokens: TokenRange | None) -> None:
        """Refuse tokens that are not in the case."""
        check_range(tokens, self.content.tokens)

    def finished(self, event: str, actions: Sequence[Sequence[Step]], n_done: int) -> Edited:
        """Store the state of the layer and what changed."""
        after = self._after(actions, n_done)
        changed = changed_tokens(self.before, after)
        self._log(event, after, changed)
        values = {"n_done": n_done, "revision": self.layer.revision + 1}
        mine = (LAYERS.c.id == self.layer.id) & (LAYERS.c.revision == self.layer.revision)
        if self._connection.execute(update(LAYERS).where(mine).values(**values)).rowcount != 1:
            raise StaleRevisionError(f"case {self.case.id} changed in another window; open it again")
        runs = runs_of(changed, after.keep, after.categories)
        return Edited(
            revision=self.layer.revision + 1,
            changed=tuple(runs),
            keep=tuple(bool(after.keep[run.first]) for run in runs),
            categories=tuple(int(after.categories[run.first]) for run in runs),
            can_undo=n_done > 0,
            can_redo=n_done < len(actions),
            n_undecided=int((~after.decided).sum()),
        )

    def _log(self, event: str, after: LayerTokens, changed: np.ndarray) -> None:
        """An entry for each run of tokens that changed alike."""
        before = self.before
        states = (before.keep, before.decided, before.categories, after.keep, after.decided, after.categories)
        events = [
            self.event(event, run, old=_said(before, run.first), new=_said(after, run.first), after=after)
            for run in self._within_parts(runs_of(changed, *states))
        ]
        append(self._connection, self._store, events or [self.event(event)])

    def _within_parts(self, runs: Sequence[TokenRange]) -> list[TokenRange]:
        """The same runs, cut where a text of the case ends."""
        starts = self.content.tokens.starts
        edges = [int(np.searchsorted(starts, part.end)) for part in self.content.parts]
        cut: list[TokenRange] = []
        for run in runs:
            places = [run.first, *(edge for edge in edges if run.first < edge < run.stop), run.stop]
            cut += [TokenRange(a, b) for a, b in pairwise(places)]
        return cut

    def event(
        self,
        event: str,
        run: TokenRange | None = None,
        *,
        old: str | None = None,
        new: str | None = None,
        after: LayerTokens | None = None,
    ) -> TrailEvent:
        """An entry of the trail on the case or on a run of its tokens."""
        user = user_name(self._connection, self._user_id)
        if run is None or after is None:
            return TrailEvent(user=user, event=event, case=self.case.id, name=self.case.name)
        start, end = int(self.content.tokens.starts[run.first]), int(self.content.tokens.ends[run.stop - 1])
        part = next(part for part in self.content.parts if part.start <= start < part.end)
        masked_now = not after.keep[run.first]
        code = int((after if masked_now else self.before).categories[run.first])
        return TrailEvent(
            user=user,
            event=event,
            case=self.case.id,
            name=self.case.name,
            document=part.name,
            start=start - part.start,
            end=end - part.start,
            category=None if code == NO_CATEGORY else CATEGORIES[code].value,
            old=old,
            new=new,
        )


def _said(layer: LayerTokens, token: int) -> str:
    if not layer.decided[token]:
        return "undecided"
    if layer.keep[token]:
        return "keep"
    code = int(layer.categories[token])
    return "mask" if code == NO_CATEGORY else f"mask {CATEGORIES[code].value}"


def check_range(tokens: TokenRange | None, of: Tokens) -> None:
    """Refuse tokens that are not in the case.

    Raises:
        ReviewError: They are not.
    """
    if tokens is not None and tokens.stop > len(of):
        raise ReviewError(f"tokens {tokens.first}-{tokens.stop} are not in the case; it has {len(of)}")


def _steps(action: Action, content: CaseContent, now: LayerTokens) -> list[Step]:
    """The steps of an action on the tokens that it names and, if asked for, on all mentions of them."""
    for one in action.ranges:
        check_range(one, content.tokens)
    ranges = set(action.ranges)
    if action.all_mentions:
        ranges |= set(mentions(content.tokens, action.ranges))
    code = None if action.category is None else CATEGORIES.index(action.category)
    keep = {ActionKind.MASK: False, ActionKind.UNMASK: True, ActionKind.CATEGORY: None}[action.kind]
    if action.kind is ActionKind.CATEGORY:
        if any(now.keep[one.first : one.stop].any() for one in action.ranges):
            raise ReviewError("a kept token has no category; mask it")
        ranges = {one for one in ranges if not now.keep[one.first : one.stop].any()}
    ordered = sorted(ranges, key=lambda one: (one.first, one.stop))
    if len(ordered) > MAX_RANGES:
        raise ReviewError(f"the words stand at more than {MAX_RANGES:,} places; mask them in parts")
    return [(one.first, one.stop, keep, code) for one in ordered]


def mentions(tokens: Tokens, ranges: Sequence[TokenRange]) -> list[TokenRange]:
    """Everywhere that the words of some ranges stand, in any case, with or without accents.

    Example:
        >>> from inverse_deid.text.tokenizer import tokenize
        >>> mentions(tokenize("Ann Li and ANN-LI"), [TokenRange(0, 2)])
        [TokenRange(first=0, stop=2), TokenRange(first=3, stop=5)]
    """
    words = [folded(word) for word in tokens.words]
    found: dict[TokenRange, None] = {}
    for phrase in {tuple(words[one.first : one.stop]) for one in ranges}:
        n_words = len(phrase)
        for i in (i for i, word in enumerate(words) if word == phrase[0]):
            if tuple(words[i : i + n_words]) == phrase:
                found[TokenRange(i, i + n_words)] = None
    return sorted(found, key=lambda one: one.first)
