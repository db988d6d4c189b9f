"""Changes of a reviewer's layer: every call is one transaction, on the disk when it returns.

Each change is computed before the transaction begins, so that others can write meanwhile. The
transaction fails if the layer is no longer the one that was computed from.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
from sqlalchemy import Row, delete, insert

from inverse_deid.core.errors import ReviewError, StaleRevisionError
from inverse_deid.core.values import Tokens
from inverse_deid.core.wording import _
from inverse_deid.review.flow.cases import (
    check_holder,
    count_time,
    hold_lock,
    lock_row,
    read_row,
    read_user_name,
)
from inverse_deid.review.flow.contents import CaseContent, read_content
from inverse_deid.review.flow.layers import (
    LayerStep,
    apply_steps,
    find_changes,
    find_layer,
    find_runs,
    read_base,
    read_steps,
)
from inverse_deid.review.store.entries import TrailEvent
from inverse_deid.review.store.opening import ReviewStore, Transaction
from inverse_deid.review.store.rows import hash_actions
from inverse_deid.review.store.tables import ACTIONS, LAYERS, NOTES, place_of
from inverse_deid.review.store.values import (
    CATEGORIES,
    MAX_RANGES,
    NO_CATEGORY,
    ActionKind,
    Edited,
    LayerRevision,
    LayerTokens,
    ReviewAction,
    TokenRange,
)
from inverse_deid.text.matching import fold

MAX_NOTE_CHARS = 4_000
MAX_ACTIONS = 20_000
MAX_CHANGES = 10_000
"""Most places that one action can change; each is an entry of the trail."""

_HASH_BASE = 0x9E3779B97F4A7C15
"""Odd; sums are modulo 2^64."""


def act(store: ReviewStore, at: LayerRevision, action: ReviewAction) -> Edited:
    """Mask, unmask or categorise tokens; undone actions can no longer be redone.

    Raises:
        StaleRevisionError: The layer has another revision; open the case again.
        CaseLockedError: The user no longer holds the lock.
        ReviewError: Tokens that are not in the case, an approved layer, or CATEGORY of a kept token.
    """
    return take_steps(store, at, lambda content, now: _plan_steps(action, content, now))


def take_steps(
    store: ReviewStore, at: LayerRevision, steps_for: Callable[[CaseContent, LayerTokens], list[LayerStep]]
) -> Edited:
    """Add one action, of steps that depend on the case and on the layer as it is now; fails as `act`."""
    edit = _read_edit(store, at)
    steps = steps_for(edit.content, edit.before)
    if not steps:
        raise ReviewError(_("the action changes nothing"))
    return edit.finish(store, edit.add(steps))


def take_steps_in(
    transaction: Transaction,
    at: LayerRevision,
    steps_for: Callable[[CaseContent, LayerTokens], list[LayerStep]],
    event: str = "change",
) -> Edited | None:
    """Add one action in the caller's transaction, as `take_steps` does; None = no step, so nothing is done.

    The trail names an `event` that changes no word.
    """
    edit = _Edit(transaction, at)
    steps = steps_for(edit.content, edit.before)
    if not steps:
        return None
    planned = edit.add(steps, event)
    edit.write(transaction, planned)
    return planned.edited


def take_out_in(transaction: Transaction, at: LayerRevision, entry: int) -> Edited:
    """Take the actions of an entry of a word list out, in the caller's transaction, as if it had never been.

    Decisions of the user in these places, before and afterwards, hold. Fails as `take_steps`.
    """
    edit = _Edit(transaction, at)
    planned = edit.take_out(entry)
    edit.write(transaction, planned)
    return planned.edited


def undo(store: ReviewStore, at: LayerRevision) -> Edited:
    """Undo the last action; fails as `act`, and if there is nothing to undo."""
    edit = _read_edit(store, at)
    return edit.finish(store, edit.take_back())


def undo_in(transaction: Transaction, at: LayerRevision) -> Edited:
    """Undo the last action in the caller's transaction; fails as `undo`."""
    edit = _Edit(transaction, at)
    planned = edit.take_back()
    edit.write(transaction, planned)
    return planned.edited


def redo(store: ReviewStore, at: LayerRevision) -> Edited:
    """Redo the action undone last; fails as `act`, and if there is nothing to redo."""
    edit = _read_edit(store, at)
    if edit.layer.n_done >= len(edit.actions):
        raise ReviewError(_("there is nothing to redo"))
    return edit.finish(store, edit.plan("redo", edit.layer.n_done + 1))


def add_note(store: ReviewStore, at: LayerRevision, text: str, tokens: TokenRange | None = None) -> None:
    """Add a note of 1 to 4,000 characters (encrypted like the narrative); the revision stays."""
    if not 0 < len(text.strip()) <= len(text) <= MAX_NOTE_CHARS:
        raise ReviewError(
            _("a note must have 1 to {max_note_chars:,} characters", max_note_chars=MAX_NOTE_CHARS)
        )
    with store.writing() as transaction:
        case, _ignored = check_layer(transaction, at)
        if tokens is not None:
            check_range(tokens, case.n_tokens)
        row = {
            "case_id": at.case_id,
            "user_id": at.user_id,
            "at": store.now(),
            "first": None if tokens is None else tokens.first,
            "stop": None if tokens is None else tokens.stop,
        }
        sealed = store.sealer.seal(text.encode("utf-8", "replace"), place_of(NOTES.c.sealed, row))
        transaction.insert(NOTES, {**row, "sealed": sealed})
        user = read_user_name(transaction, at.user_id)
        transaction.record(TrailEvent(user=user, event="note", case=case.id, name=case.name))


def check_layer(transaction: Transaction, at: LayerRevision) -> tuple[Row[Any], Row[Any]]:
    """Return the rows of a case and of the user's layer, if they may change it now; fails as `act`."""
    case = lock_row(transaction, at.case_id)
    layer = _find_own(transaction, case, at)
    hold_lock(transaction, case, at.user_id)
    count_time(transaction, layer)
    return case, layer


def _find_own(transaction: Transaction, case: Row[Any], at: LayerRevision) -> Row[Any]:
    # Fails as `act`.
    layer = find_layer(transaction, at.user_id, at.case_id)
    if layer.approval is not None:
        raise ReviewError(
            _("you have approved case {case_id}, so it can no longer be changed", case_id=at.case_id)
        )
    check_holder(case, at.user_id)
    if layer.revision != at.revision:
        raise StaleRevisionError(
            _(
                "case {case_id} was changed in another window (revision {revision}, not {revision_2}). "
                "Open it again",
                case_id=at.case_id,
                revision=layer.revision,
                revision_2=at.revision,
            )
        )
    return layer


def _read_edit(store: ReviewStore, at: LayerRevision) -> _Edit:
    # Outside of any writing transaction.
    with store.reading() as transaction:
        return _Edit(transaction, at)


@dataclass(frozen=True, slots=True)
class _Planned:
    """A change that is computed and not yet stored."""

    edited: Edited
    events: list[TrailEvent]
    n_done: int
    actions: Sequence[Sequence[LayerStep]]
    n_kept: int  # so many of the stored actions stay as they are

    @property
    def actions_hash(self) -> str:
        return hash_actions([json.dumps(steps) for steps in self.actions])


class _Edit:
    """One change of a layer: computed from what a transaction reads, then stored by the same or another."""

    def __init__(self, transaction: Transaction, at: LayerRevision) -> None:
        self._at = at
        self.case = read_row(transaction, at.case_id)
        self.layer = _find_own(transaction, self.case, at)
        self.content = read_content(transaction, at.case_id)
        self.base = read_base(transaction, self.layer, self.content)
        self.actions = read_steps(transaction, self.layer)
        self._user = read_user_name(transaction, at.user_id)
        self.before = self._replay(self.actions, self.layer.n_done)

    def _replay(self, actions: Sequence[Sequence[LayerStep]], n_done: int) -> LayerTokens:
        return apply_steps(self.base, (step for action in actions[:n_done] for step in action))

    def add(self, steps: Sequence[LayerStep], event: str = "change") -> _Planned:
        if self.layer.n_done >= MAX_ACTIONS:
            raise ReviewError(
                _(
                    "the case has more than {max_actions:,} actions. Close it and tell your administrator",
                    max_actions=MAX_ACTIONS,
                )
            )
        n_done = self.layer.n_done
        return self.plan(event, n_done + 1, [*self.actions[:n_done], list(steps)], n_kept=n_done)

    def take_out(self, entry: int) -> _Planned:
        stays = [all(step.entry != entry for step in action) for action in self.actions]
        left = [action for action, is_left in zip(self.actions, stays, strict=True) if is_left]
        n_kept = stays.index(False) if False in stays else len(stays)
        return self.plan("undo", sum(stays[: self.layer.n_done]), left, n_kept=n_kept)

    def take_back(self) -> _Planned:
        if not self.layer.n_done:
            raise ReviewError(_("there is nothing to undo"))
        return self.plan("undo", self.layer.n_done - 1)

    def plan(
        self,
        event: str,
        n_done: int,
        actions: Sequence[Sequence[LayerStep]] | None = None,
        *,
        n_kept: int | None = None,
    ) -> _Planned:
        """Compute a change to the first `n_done` of other actions (None = the same ones)."""
        actions = self.actions if actions is None else actions
        before, after = self.before, self._replay(actions, n_done)
        changed = find_changes(before, after)
        states = (before.keep, before.decided, before.categories, after.keep, after.decided, after.categories)
        runs = self._cut_at_parts(find_runs(changed, *states))
        if len(runs) > MAX_CHANGES:
            raise ReviewError(
                _(
                    "this changes more than {max_changes:,} places. Select fewer words at a time",
                    max_changes=MAX_CHANGES,
                )
            )
        edited = Edited(
            revision=self.layer.revision + 1,
            changed=tuple(
                (run.first, run.stop, bool(after.keep[run.first]), int(after.categories[run.first]))
                for run in find_runs(changed, after.keep, after.categories)
            ),
            can_undo=n_done > 0,
            can_redo=n_done < len(actions),
            n_undecided=int((~after.decided).sum()),
        )
        events = [self.describe(event, run, after) for run in runs] or [self.describe(event)]
        return _Planned(edited, events, n_done, actions, len(actions) if n_kept is None else n_kept)

    def finish(self, store: ReviewStore, planned: _Planned) -> Edited:
        with store.writing() as transaction:
            self.write(transaction, planned)
        return planned.edited

    def write(self, transaction: Transaction, planned: _Planned) -> None:
        # Only if the layer is still the one computed from.
        _ignored, layer = check_layer(transaction, self._at)
        old, now = ((one.id, one.n_done, one.is_blind, one.actions_hash) for one in (self.layer, layer))
        if now != old:
            raise StaleRevisionError(
                _("case {id} was changed in another window. Open it again", id=self.case.id)
            )
        is_replaced = (ACTIONS.c.layer_id == layer.id) & (ACTIONS.c.position >= planned.n_kept)
        transaction.execute(delete(ACTIONS).where(is_replaced))
        rows = [
            {"layer_id": layer.id, "position": position, "steps": json.dumps(steps)}
            for position, steps in enumerate(planned.actions[planned.n_kept :], planned.n_kept)
        ]
        if rows:
            transaction.execute(insert(ACTIONS), rows)
        values = {
            "n_done": planned.n_done,
            "revision": layer.revision + 1,
            "actions_hash": planned.actions_hash,
        }
        transaction.update(LAYERS, LAYERS.c.id == layer.id, **values)
        documents = {
            name: transaction.names.seal_like(self.case.name, name)
            for name in {one.document for one in planned.events if one.document is not None}
        }
        events = (replace(one, document=documents.get(one.document or "")) for one in planned.events)
        transaction.record(*events)

    def _cut_at_parts(self, runs: Sequence[TokenRange]) -> list[TokenRange]:
        starts = self.content.tokens.starts
        edges = [int(np.searchsorted(starts, part.end)) for part in self.content.parts]
        cut: list[TokenRange] = []
        for run in runs:
            places = [run.first, *(edge for edge in edges if run.first < edge < run.stop), run.stop]
            cut += [TokenRange(a, b) for a, b in pairwise(places)]
        return cut

    def describe(
        self, event: str, run: TokenRange | None = None, after: LayerTokens | None = None
    ) -> TrailEvent:
        user = self._user
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
            old=_name_decision(self.before, run.first),
            new=_name_decision(after, run.first),
        )


def _name_decision(layer: LayerTokens, token: int) -> str:
    if not layer.decided[token]:
        return "undecided"
    if layer.keep[token]:
        return "keep"
    code = int(layer.categories[token])
    return "mask" if code == NO_CATEGORY else f"mask {CATEGORIES[code].value}"


def check_range(given: TokenRange, n_tokens: int) -> None:
    if given.stop > n_tokens:
        raise ReviewError(
            _(
                "the case has {n_tokens} words, so {first}-{stop} is out of range",
                n_tokens=n_tokens,
                first=given.first,
                stop=given.stop,
            )
        )


def _plan_steps(action: ReviewAction, content: CaseContent, now: LayerTokens) -> list[LayerStep]:
    for one in action.ranges:
        check_range(one, len(content.tokens))
    ranges = set(action.ranges)
    if action.all_mentions:
        ranges |= set(find_mentions(content.tokens, action.ranges))
    code = None if action.category is None else CATEGORIES.index(action.category)
    keep = {ActionKind.MASK: False, ActionKind.UNMASK: True, ActionKind.CATEGORY: None}[action.kind]
    if action.kind is ActionKind.CATEGORY:
        if any(now.keep[one.first : one.stop].any() for one in action.ranges):
            raise ReviewError(_("a kept word has no category. Mask it first"))
        ranges = {one for one in ranges if not now.keep[one.first : one.stop].any()}
    return [LayerStep(first, stop, keep, code) for first, stop in _unite(ranges)]


def _unite(ranges: Iterable[TokenRange]) -> list[tuple[int, int]]:
    # Overlapping ranges become one, so that replaying them takes linear time.
    united: list[tuple[int, int]] = []
    for one in sorted(ranges, key=lambda one: (one.first, one.stop)):
        if united and one.first < united[-1][1]:
            united[-1] = (united[-1][0], max(united[-1][1], one.stop))
        else:
            united.append((one.first, one.stop))
    return united


def find_mentions(tokens: Tokens, ranges: Sequence[TokenRange]) -> list[TokenRange]:
    """Find all places of the words of some ranges, ignoring case and accents.

    Phrases of any length are compared by hashes of all words before a place (Karp and Rabin 1987), and then
    word by word.

    Raises:
        ReviewError: There are more than 5,000 places.

    Example:
        >>> from inverse_deid.text.tokenizer import tokenize
        >>> find_mentions(tokenize("Ann Li and ANN-LI"), [TokenRange(0, 2)])
        [TokenRange(first=0, stop=2), TokenRange(first=3, stop=5)]
    """
    folded = {word: fold(word) for word in set(tokens.words)}
    codes = {word: code for code, word in enumerate(sorted(set(folded.values())))}
    words = np.fromiter((codes[folded[word]] for word in tokens.words), np.int64, len(tokens))
    order = np.argsort(words, kind="stable")
    bounds = np.searchsorted(words[order], np.arange(len(codes) + 1))
    powers = np.multiply.accumulate(np.full(len(words) + 1, _HASH_BASE, np.uint64))
    hashes = np.concatenate([np.zeros(1, np.uint64), np.cumsum((words + 1).astype(np.uint64) * powers[:-1])])
    found: set[tuple[int, int]] = set()
    for first, stop in dict.fromkeys((one.first, one.stop) for one in ranges):
        if (first, stop) in found:
            continue
        n_words = stop - first
        places = order[bounds[words[first]] : bounds[words[first] + 1]]
        places = places[places <= len(words) - n_words]
        # Both sides are brought to the same power, as one cannot divide.
        alike = (hashes[places + n_words] - hashes[places]) * powers[first]
        alike = alike == (hashes[stop : stop + 1] - hashes[first]) * powers[places]
        for place in places[alike].tolist():
            if np.array_equal(words[place : place + n_words], words[first:stop]):
                found.add((place, place + n_words))
            if len(found) > MAX_RANGES:
                raise ReviewError(
                    _(
                        "the words occur in more than {max_ranges:,} places. Mask fewer at a time",
                        max_ranges=MAX_RANGES,
                    )
                )
    return [TokenRange(*one) for one in sorted(found)]
