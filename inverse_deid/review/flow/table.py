"""A listing read as a table: many cases of one file under each other, corrected in place, approved together.

A row is approved with others only if this reader was shown it as it is now, and has decided each of its
doubtful words. Which rows were shown is known to the process alone: a new process knows of none, so that
the rows must be shown again, and nobody can forge a row of the store to have seen one.

Rows are not locked while they are shown. Whoever changes or approves one takes the lock for that moment.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from threading import Lock
from typing import Any

import numpy as np
from sqlalchemy import Row, Select, func, select

from inverse_deid.core.errors import CaseLockedError, NotAllowedError, ReviewError, StaleRevisionError
from inverse_deid.core.values import BoolArray, Tokens
from inverse_deid.core.wording import _
from inverse_deid.review.flow.approval import approve_in, uncovered_by, undo_approval
from inverse_deid.review.flow.cases import drop_lock, lock_row
from inverse_deid.review.flow.contents import CaseContent, read_content, read_model
from inverse_deid.review.flow.editing import check_range, take_steps_in, undo_in
from inverse_deid.review.flow.layers import (
    LayerStep,
    apply_steps,
    begin_from_model,
    find_runs,
    list_layers,
    read_base,
    read_copied,
    read_steps,
)
from inverse_deid.review.flow.oversight import disclose, lock_user, refuse_admin, remember
from inverse_deid.review.flow.reading import begin_review, close_case
from inverse_deid.review.flow.work_list import select_cases
from inverse_deid.review.store.opening import ReviewStore, Transaction
from inverse_deid.review.store.sources import read_facts
from inverse_deid.review.store.tables import CASES, LAYERS
from inverse_deid.review.store.values import (
    CaseState,
    CaseView,
    LayerKind,
    LayerRevision,
    LayerTokens,
    MaskingFacts,
    TokenRange,
    User,
    WorkFilter,
)
from inverse_deid.text.matching import fold

ROWS_AT_ONCE = 50
"""Most rows that one request shows, changes or approves."""
SEARCHED_AT_ONCE = 300
"""Most rows in which one request looks for a word."""
MAX_ROW_TOKENS = 1_500
"""A longer text is read on its own page."""
MAX_PHRASE_WORDS = 20
SHOWN_SECONDS = 0.4
"""A row that is said to be read sooner after it was sent was not read."""

_MAX_SHOWN = 500_000
_WAY = "table"
_HOW = (
    ". Approved in the table of the file together with other rows, after this reader was shown it. "
    "Doubtful words: {n_doubtful}, each decided by this reader"
)


class RowAct(StrEnum):
    """What a reader does with words of a row; CONFIRM: they looked at them, and they are right."""

    MASK = "mask"
    UNMASK = "unmask"
    CONFIRM = "confirm"


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class TableRow:
    """A row as a reader is shown it; `obstacle` says why it must be read on its own page, "" = none."""

    case_id: int
    number: int  # in the file
    name: str
    obstacle: str = ""
    revision: int = 0
    view: CaseView | None = None  # None = it has an obstacle, or the reader was not sent it
    touched: BoolArray | None = field(default=None, repr=False)  # bool (n_tokens,), this reader decided it


@dataclass(frozen=True, slots=True)
class Planned:
    """A row that can be approved, at the revision that was shown, with the number of uncovered sure words."""

    case_id: int
    revision: int
    n_sure: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What approving all rows that were read would do."""

    rows: tuple[Planned, ...]
    n_uncovered: int  # words that the reader unmasked in them
    n_not_shown: int  # rows that stay
    n_doubtful: int
    n_elsewhere: int  # that must be read on their own pages


@dataclass(frozen=True, slots=True)
class Swept:
    """The rows in which a word was changed, the row to go on after (None = done), and rows left out."""

    case_ids: tuple[int, ...]
    after: int | None
    n_left: int


class RowsShown:
    """Which rows each reader was sent, and which of them they were shown; of one process, and thread-safe.

    It also knows the decisions for a whole file that are not in all its rows yet, as their page was closed:
    until they are, nothing in the file is approved together.
    """

    def __init__(self, unfinished: dict[tuple[int, int], dict[InFile, int]] | None = None) -> None:
        self._turn = Lock()
        self._sent: dict[tuple[int, int], tuple[int, float]] = {}
        self._read: dict[tuple[int, int], int] = {}
        self._unfinished = {} if unfinished is None else unfinished

    def note_swept(self, user_id: int, source_id: int, asked: InFile, after: int | None) -> None:
        """Note after which row a decision for a whole file goes on, None = it is done or left."""
        with self._turn:
            of_file = self._unfinished.setdefault((user_id, source_id), {})
            of_file.pop(asked, None)
            if after is not None:
                of_file[asked] = after

    def list_unfinished(self, user_id: int, source_id: int) -> list[tuple[InFile, int]]:
        """Return the decisions for a whole file that are not done, and after which rows they go on."""
        with self._turn:
            return list(self._unfinished.get((user_id, source_id), {}).items())

    def note_sent(self, user_id: int, revisions: Mapping[int, int], now: float) -> None:
        """Note rows that are sent to a reader, with the revisions of their layers."""
        with self._turn:
            if len(self._sent) > _MAX_SHOWN:  # nothing is read any more, so that nothing can be approved
                self._sent.clear()
                self._read.clear()
            for case_id, revision in revisions.items():
                key = (user_id, case_id)
                known = self._sent.get(key)
                if known is None or known[0] != revision:
                    self._sent[key] = (revision, now)

    def note_read(self, user_id: int, revisions: Mapping[int, int], now: float) -> list[int]:
        """Note that a reader was shown rows, and return those of them that they were sent as they are."""
        with self._turn:
            accepted = []
            for case_id, revision in revisions.items():
                sent, at = self._sent.get((user_id, case_id), (-1, 0.0))
                if sent == revision and now - at >= SHOWN_SECONDS:
                    self._read[user_id, case_id] = revision
                    accepted.append(case_id)
            return accepted

    def is_sent(self, user_id: int, case_id: int) -> bool:
        """Tell whether a reader was sent a row, as it is or as it was."""
        with self._turn:
            return (user_id, case_id) in self._sent

    def carry(self, user_id: int, case_id: int, old: int, new: int, now: float) -> None:
        """Note that a reader changed a row themselves: if they had been shown it, they still have."""
        with self._turn:
            key = (user_id, case_id)
            if key in self._sent:
                self._sent[key] = (new, now)
            if self._read.get(key) == old:
                self._read[key] = new

    def is_read(self, user_id: int, case_id: int, revision: int) -> bool:
        with self._turn:
            return self._read.get((user_id, case_id)) == revision


def count_rows(store: ReviewStore, user: User, source_id: int) -> int:
    """Count the rows of a file that a reader can still review."""
    refuse_admin(user)
    found = select(func.count()).select_from(CASES).where(CASES.c.source_id == source_id)
    found = select_cases(store, found, WorkFilter(claimable_by=user.id))
    with store.reading() as transaction:
        return int(transaction.execute(found).scalar_one())


def list_rows(
    store: ReviewStore, user: User, source_id: int, shown: RowsShown, *, after: int = -1
) -> tuple[TableRow, ...]:
    """Return the next rows of a file, in its order, that the reader can still review; none = the end.

    Each is entered into the trail as an original that is shown.
    """
    refuse_admin(user)
    found = _select_open(store, user, source_id).where(CASES.c.number > after)
    with store.writing() as transaction:
        cases = transaction.read(found.order_by(CASES.c.number).limit(ROWS_AT_ONCE), CASES)
        rows = [_show(transaction, user, case) for case in cases]
        open_cases = [case for case, row in zip(cases, rows, strict=True) if row.view is not None]
        disclosed = disclose(transaction, user.name, open_cases, _WAY)
    remember(store, disclosed)
    revisions = {row.case_id: row.view.revision for row in rows if row.view is not None}
    shown.note_sent(user.id, revisions, store.now())
    return tuple(rows)


def show_rows(
    store: ReviewStore, user: User, source_id: int, case_ids: Collection[int], shown: RowsShown
) -> tuple[TableRow, ...]:
    """Return rows that were changed, as they are now, without those that the reader cannot review.

    A row that the reader was not sent by `list_rows` comes without its text. The others are originals that
    are shown once more.
    """
    found = _select_open(store, user, source_id).where(CASES.c.id.in_(list(case_ids)[:ROWS_AT_ONCE]))
    rows: list[TableRow] = []
    with store.writing() as transaction:
        cases = transaction.read(found, CASES)
        for case in cases:
            if shown.is_sent(user.id, case.id):
                rows.append(_show(transaction, user, case))
            else:
                name, layer = transaction.names.open(case.name), find_review(transaction, user.id, case.id)
                revision = 0 if layer is None else layer.revision
                rows.append(TableRow(case_id=case.id, number=case.number, name=name, revision=revision))
        seen = [case for case, row in zip(cases, rows, strict=True) if row.view is not None]
        disclosed = disclose(transaction, user.name, seen, _WAY)
    remember(store, disclosed)
    return tuple(rows)


def _select_open(store: ReviewStore, user: User, source_id: int) -> Select[Any]:
    # All cases of a file that a reader can still review.
    found = select(CASES).where(CASES.c.source_id == source_id)
    return select_cases(store, found, WorkFilter(claimable_by=user.id))


def _show(transaction: Transaction, user: User, case: Row[Any]) -> TableRow:
    obstacle = find_obstacle(transaction, case)
    layer = find_review(transaction, user.id, case.id)
    obstacle = obstacle or _find_blindness(layer)
    name = transaction.names.open(case.name)
    if obstacle:
        return TableRow(case_id=case.id, number=case.number, name=name, obstacle=obstacle)
    content = read_content(transaction, case.id)
    facts = read_facts(transaction, case.id)
    tokens, touched, n_actions = replay_row(transaction, layer, content)
    view = CaseView(
        case_id=case.id,
        name=name,
        state=CaseState(case.state),
        text=content.text,
        parts=content.parts,
        tokens=content.tokens,
        kind=LayerKind.REVIEW,
        layer=tokens,
        model=read_model(content, facts),
        facts=facts,
        revision=0 if layer is None else layer.revision,
        can_undo=layer is not None and layer.n_done > 0,
        can_redo=layer is not None and layer.n_done < n_actions,
        is_approved=False,
        notes=(),
        copied=read_copied(transaction, case, content),
        other_language=content.other_language,
    )
    return TableRow(
        case_id=case.id,
        number=case.number,
        name=name,
        revision=view.revision,
        view=view,
        touched=touched,
    )


def find_obstacle(transaction: Transaction, case: Row[Any], most_tokens: float = MAX_ROW_TOKENS) -> str:
    """Return why a case can only be read on its own page, "" = it need not."""
    if case.is_failed:
        return _("masking failed, so everything is masked")
    if case.n_tokens > most_tokens:
        return _("a long text")
    if transaction.policy.blind_to_model and case.n_approvals:
        return _("you read it without the masks of the tool")
    return ""


def _find_blindness(layer: Row[Any] | None) -> str:
    # Of a case that was withdrawn since, so it has no approval any more.
    return "" if layer is None or not layer.is_blind else _("you read it without the masks of the tool")


def find_review(transaction: Transaction, user_id: int, case_id: int) -> Row[Any] | None:
    """Return the layer of a reader on a case, None = they have not begun it."""
    rows = list_layers(transaction, case_id, LayerKind.REVIEW)
    return next((row for row in rows if row.user_id == user_id), None)


def _read_layers(transaction: Transaction, user_id: int, source_id: int) -> dict[int, Row[Any]]:
    # Of one reader on the cases of a file, by case.
    mine = select(LAYERS).where(LAYERS.c.user_id == user_id, LAYERS.c.kind == LayerKind.REVIEW.value)
    of_file = LAYERS.c.case_id.in_(select(CASES.c.id).where(CASES.c.source_id == source_id))
    return {row.case_id: row for row in transaction.read(mine.where(of_file), LAYERS)}


def replay_row(
    transaction: Transaction, layer: Row[Any] | None, content: CaseContent
) -> tuple[LayerTokens, BoolArray, int]:
    """Return a layer now, the words that its user decided themselves, and how many actions it has."""
    touched = np.zeros(len(content.tokens), np.bool_)
    if layer is None:
        return begin_from_model(content), touched, 0
    actions = read_steps(transaction, layer)
    steps = [step for action in actions[: layer.n_done] for step in action]
    for one in steps:
        if one.keep is not None:
            touched[one.first : one.stop] = True
    return apply_steps(read_base(transaction, layer, content), steps), touched, len(actions)


def act_on_row(
    store: ReviewStore,
    user: User,
    at: LayerRevision,
    act: RowAct,
    ranges: Sequence[TokenRange],
    shown: RowsShown,
) -> None:
    """Change words of one row, or confirm them.

    Raises:
        StaleRevisionError: The reader's layer has another revision; load the row again.
        CaseLockedError: Another user works on it.
        NotAllowedError: The user may not review it.
        ReviewError: Words that are not in the row.
    """

    def steps_for(content: CaseContent, now: LayerTokens) -> list[LayerStep]:
        for one in ranges:
            check_range(one, len(content.tokens))
        chosen = np.zeros(len(content.tokens), np.bool_)
        for one in ranges:
            chosen[one.first : one.stop] = True
        return _plan_steps(act, chosen, now)

    with store.writing() as transaction:
        lock_user(transaction, user.id)
        revision = take_row(transaction, user, lock_row(transaction, at.case_id))
        if revision != at.revision:
            raise StaleRevisionError(
                _("case {id} was changed in another window. Open it again", id=at.case_id)
            )
        edited = take_steps_in(transaction, at, steps_for, event=_EVENTS[act])
        drop_lock(transaction, at.case_id)
    if edited is not None:
        shown.carry(user.id, at.case_id, at.revision, edited.revision, store.now())


_EVENTS = {RowAct.MASK: "change", RowAct.UNMASK: "change", RowAct.CONFIRM: "confirm"}


def _plan_steps(act: RowAct, chosen: BoolArray, now: LayerTokens) -> list[LayerStep]:
    if act is RowAct.CONFIRM:
        return [
            LayerStep(run.first, run.stop, bool(now.keep[run.first])) for run in find_runs(chosen, now.keep)
        ]
    return [LayerStep(run.first, run.stop, act is RowAct.UNMASK) for run in find_runs(chosen)]


def take_row(
    transaction: Transaction, user: User, case: Row[Any], most_tokens: float = MAX_ROW_TOKENS
) -> int:
    """Lock a row for one transaction, and return the revision of the reader's layer.

    Raises:
        NotAllowedError: The user may not review it, or only on its own page.
        CaseLockedError: Another user works on it.
        ReviewError: The user has approved it.
    """
    layer = find_review(transaction, user.id, case.id)
    obstacle = find_obstacle(transaction, case, most_tokens) or _find_blindness(layer)
    if obstacle:
        raise NotAllowedError(
            _("case {id} must be read on its own page: {obstacle}", id=case.id, obstacle=obstacle)
        )
    if layer is not None and layer.approval is not None:
        raise ReviewError(
            _("you have approved case {case_id}, so it can no longer be changed", case_id=case.id)
        )
    begin_review(transaction, case, layer, user)
    return 0 if layer is None else int(layer.revision)


@dataclass(frozen=True, slots=True)
class InFile:
    """What a reader decides about the same words in all rows, compared without capitals and accents.

    Raises:
        ReviewError: No or too many words.
    """

    act: RowAct
    words: tuple[str, ...] = field(repr=False)
    keeps: bool | None = None  # only where they are kept (True) or masked (False)

    def __post_init__(self) -> None:
        if not 0 < len(self.words) <= MAX_PHRASE_WORDS:
            raise ReviewError(_("select 1 to {n} words for the whole file", n=MAX_PHRASE_WORDS))


def sweep(
    store: ReviewStore, user: User, source_id: int, asked: InFile, shown: RowsShown, *, after: int = -1
) -> Swept:
    """Change or confirm the same words in the rows of a file after one, some rows at a time."""
    shown.note_swept(user.id, source_id, asked, after)
    places, last = _find_places(store, user, source_id, asked, after)
    changed: dict[int, tuple[int, int]] = {}
    with store.writing() as transaction:
        lock_user(transaction, user.id)
        for case_id, chosen in places.items():
            try:
                old = take_row(transaction, user, lock_row(transaction, case_id))
            except (CaseLockedError, NotAllowedError):
                continue

            def steps_for(_content: CaseContent, now: LayerTokens, at: BoolArray = chosen) -> list[LayerStep]:
                return _plan_steps(asked.act, at, now)

            at = LayerRevision(user.id, case_id, old)
            edited = take_steps_in(transaction, at, steps_for, event=_EVENTS[asked.act])
            drop_lock(transaction, case_id)
            if edited is not None:
                changed[case_id] = (old, edited.revision)
    for case_id, (old, new) in changed.items():
        shown.carry(user.id, case_id, old, new, store.now())
    shown.note_swept(user.id, source_id, asked, last)
    return Swept(tuple(changed), last, len(places) - len(changed))


def _find_places(
    store: ReviewStore, user: User, source_id: int, asked: InFile, after: int
) -> tuple[dict[int, BoolArray], int | None]:
    # The words to decide in the next rows, and the row to go on after, None = that was the last one.
    phrase = [fold(word) for word in asked.words]
    found = _select_open(store, user, source_id).where(CASES.c.number > after).order_by(CASES.c.number)
    places: dict[int, BoolArray] = {}
    with store.reading() as transaction:
        cases = transaction.read(found.limit(SEARCHED_AT_ONCE), CASES)
        for case in cases:
            if not find_obstacle(transaction, case):
                content = read_content(transaction, case.id)
                chosen = find_phrase(content.tokens, phrase)
                if chosen.any():
                    chosen &= _find_due(transaction, user, case, content, asked)
                if chosen.any():
                    places[case.id] = chosen
            if len(places) == ROWS_AT_ONCE:
                return places, int(case.number)
    return places, int(cases[-1].number) if len(cases) == SEARCHED_AT_ONCE else None


def _find_due(
    transaction: Transaction, user: User, case: Row[Any], content: CaseContent, asked: InFile
) -> BoolArray:
    # The words that would change, or of which the reader has not decided a doubt.
    layer = find_review(transaction, user.id, case.id)
    now, touched, _n_actions = replay_row(transaction, layer, content)
    due: BoolArray = read_model(content, read_facts(transaction, case.id)).is_doubtful & ~touched
    if asked.act is not RowAct.CONFIRM:
        due |= now.keep == (asked.act is RowAct.MASK)
    return due if asked.keeps is None else due & (now.keep == asked.keeps)


def find_phrase(tokens: Tokens, phrase: Sequence[str]) -> BoolArray:
    """Return where folded words follow each other: bool (n_tokens,).

    Example:
        >>> from inverse_deid.text.tokenizer import tokenize
        >>> find_phrase(tokenize("Ann Li and ANN-LI"), ["ann", "li"]).tolist()
        [True, True, False, True, True]
    """
    found = np.zeros(len(tokens), np.bool_)
    words = [fold(word) for word in tokens.words]
    n = len(phrase)
    for first in range(len(words) - n + 1):
        if words[first] == phrase[0] and words[first : first + n] == list(phrase):
            found[first : first + n] = True
    return found


def undo_on_rows(
    store: ReviewStore, user: User, revisions: Mapping[int, int], shown: RowsShown
) -> tuple[int, ...]:
    """Undo the reader's last action on rows that still have these revisions; return the rows.

    Raises:
        StaleRevisionError: A row has another one. No row is changed.
        CaseLockedError: Another user works on one of them.
    """
    done: dict[int, int] = {}
    with store.writing() as transaction:
        lock_user(transaction, user.id)
        for case_id, revision in sorted(revisions.items())[:ROWS_AT_ONCE]:
            take_row(transaction, user, lock_row(transaction, case_id))
            done[case_id] = undo_in(transaction, LayerRevision(user.id, case_id, revision)).revision
            drop_lock(transaction, case_id)
    for case_id, new in done.items():
        shown.carry(user.id, case_id, revisions[case_id], new, store.now())
    return tuple(done)


def plan_approval(store: ReviewStore, user: User, source_id: int, shown: RowsShown) -> Plan:
    """Find which rows of a file can be approved together: shown as they are now, without an open doubt."""
    refuse_admin(user)
    rows: list[Planned] = []
    n_uncovered = n_not_shown = n_doubtful = n_elsewhere = 0
    found = _select_open(store, user, source_id).order_by(CASES.c.number)
    with store.reading() as transaction:
        layers = _read_layers(transaction, user.id, source_id)
        for case in transaction.read(found, CASES):
            layer = layers.get(case.id)
            revision = 0 if layer is None else int(layer.revision)
            if find_obstacle(transaction, case):
                n_elsewhere += 1
            elif not shown.is_read(user.id, case.id, revision):
                n_not_shown += 1
            elif layer is None or not layer.n_done:
                n_doubtful += bool(case.n_doubtful)
                rows += [] if case.n_doubtful else [Planned(case.id, revision, 0)]
            else:
                content = read_content(transaction, case.id)
                if _count_open(transaction, layer, content, read_facts(transaction, case.id)):
                    n_doubtful += 1
                    continue
                uncovered = uncovered_by(transaction, layer, content)
                n_uncovered += uncovered.n_words
                rows.append(Planned(case.id, revision, uncovered.n_sure))
    return Plan(
        rows=tuple(rows),
        n_uncovered=n_uncovered,
        n_not_shown=n_not_shown,
        n_doubtful=n_doubtful,
        n_elsewhere=n_elsewhere,
    )


def _count_open(
    transaction: Transaction, layer: Row[Any] | None, content: CaseContent, facts: MaskingFacts
) -> int:
    # The doubtful words that the reader has not decided.
    _tokens, touched, _n_actions = replay_row(transaction, layer, content)
    return int((read_model(content, facts).is_doubtful & ~touched).sum())


def approve_rows(
    store: ReviewStore, user: User, source_id: int, planned: Sequence[Planned], shown: RowsShown
) -> dict[int, str]:
    """Approve rows of a plan, and return the reasons of those that were left as they were.

    Everything that the plan found is checked again. It is one reader's approval: where the policy wants two,
    another reader still has to read the rows.

    Raises:
        ReviewError: A row is not of this file, there are too many, or a decision of the reader for the whole
            file is not in all rows yet.
    """
    refuse_admin(user)
    if shown.list_unfinished(user.id, source_id):
        raise ReviewError(_("a decision for the whole file is not in all rows yet. Load the page again"))
    if len(planned) > ROWS_AT_ONCE:
        raise ReviewError(_("at most {n} rows can be approved in one step", n=ROWS_AT_ONCE))
    left: dict[int, str] = {}
    with store.writing() as transaction:
        lock_user(transaction, user.id)
        for one in planned:
            case = lock_row(transaction, one.case_id)
            if case.source_id != source_id:
                raise ReviewError(_("case {id} is not of this file", id=one.case_id))
            try:
                _approve_row(transaction, user, case, one, shown)
            except (CaseLockedError, NotAllowedError) as error:
                left[one.case_id] = str(error)
    return left


def _approve_row(
    transaction: Transaction, user: User, case: Row[Any], planned: Planned, shown: RowsShown
) -> None:
    # Refused before anything is written.
    layer = find_review(transaction, user.id, case.id)
    revision = 0 if layer is None else int(layer.revision)
    if layer is not None and layer.approval is not None:
        raise NotAllowedError(_("you have approved it already"))
    if planned.revision != revision or not shown.is_read(user.id, case.id, revision):
        raise NotAllowedError(_("you were not shown it as it is now"))
    content = read_content(transaction, case.id)
    facts = read_facts(transaction, case.id)
    if _count_open(transaction, layer, content, facts):
        raise NotAllowedError(_("it has doubtful words that you have not decided"))
    n_sure = 0 if layer is None else uncovered_by(transaction, layer, content).n_sure
    if n_sure != planned.n_sure:
        raise NotAllowedError(_("you uncovered other words since you were asked"))
    take_row(transaction, user, case)
    n_doubtful = int(read_model(content, facts).is_doubtful.sum())
    approve_in(transaction, LayerRevision(user.id, case.id, revision), _HOW.format(n_doubtful=n_doubtful))


def reopen_rows(store: ReviewStore, user: User, case_ids: Sequence[int]) -> dict[int, str]:
    """Undo the reader's approvals of rows, and return the reasons of those that stay approved."""
    left: dict[int, str] = {}
    for case_id in case_ids[:ROWS_AT_ONCE]:
        try:
            undo_approval(store, user, case_id)
        except (CaseLockedError, NotAllowedError) as error:
            left[case_id] = str(error)
        else:
            close_case(store, user, case_id)
    return left
