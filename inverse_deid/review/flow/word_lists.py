"""Word lists of a store: words that are always masked, never masked, or left as they are.

Adjudicators keep them (at a desk its one person). An entry changes the open cases of whoever adds it, as if
they had decided each place themselves, and no case that they have approved. Other readers decide on their
own, and do not see it. The steps of its actions have its number, so that it can be taken out again.

An entry for new files is also given to the masker of every file that is masked from then on, whoever adds it,
so all adjudicators see it and can end that.
"""

from __future__ import annotations

import json
import secrets
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from math import inf
from threading import Lock
from typing import Any, Literal

import numpy as np
from sqlalchemy import Row, exists, func, select

from inverse_deid.core.errors import CaseLockedError, NotAllowedError, ReviewError
from inverse_deid.core.values import BoolArray, IntArray
from inverse_deid.core.wording import N_, _
from inverse_deid.masking.assemble import MaskingSettings
from inverse_deid.review.flow.cases import drop_lock, lock_row
from inverse_deid.review.flow.contents import CaseContent, find_doubtful, read_content
from inverse_deid.review.flow.doubts import (
    CaseWords,
    forget_words,
    hash_word,
    read_words,
    select_open_words,
)
from inverse_deid.review.flow.editing import take_out_in, take_steps_in
from inverse_deid.review.flow.layers import LayerStep, find_runs, read_steps
from inverse_deid.review.flow.oversight import disclose, lock_user, read_limits, remember
from inverse_deid.review.flow.table import (
    MAX_PHRASE_WORDS,
    ROWS_AT_ONCE,
    find_phrase,
    find_review,
    replay_row,
    take_row,
)
from inverse_deid.review.flow.work_list import select_cases
from inverse_deid.review.store.entries import TrailEvent
from inverse_deid.review.store.opening import ReviewStore, Transaction
from inverse_deid.review.store.tables import ACTIONS, CASES, LAYERS, LISTED_WORDS, USERS, place_of
from inverse_deid.review.store.values import LayerKind, LayerRevision, User, UserRole, WorkFilter
from inverse_deid.text.matching import fold
from inverse_deid.text.tokenizer import tokenize

MAX_ENTRIES = 1_000
MAX_WORDS_CHARS = 400
MOST_SECONDS = 1.5
"""After so long a change of many cases pauses between two of them, and `go_on` takes it up."""

_MAX_ID = 10**9
_IDS_AT_ONCE = 1000


class Unfinished(StrEnum):
    """What is left to do with an entry in some cases."""

    NOTHING = ""
    ADDING = "adding"
    REMOVING = "removing"


class Sort(StrEnum):
    """What an entry says of its words."""

    ALWAYS = N_("always masked")
    NEVER = N_("never masked")
    LEFT = N_("left as it is")  # doubtful words, which count as decided

    @property
    def keeps(self) -> bool:
        return self is Sort.NEVER


@dataclass(frozen=True, slots=True)
class Asked:
    """Words to list, and the case that they are from (None = they were typed).

    Raises:
        ReviewError: No words, or too many.
    """

    words: tuple[str, ...] = field(repr=False)
    case_id: int | None = None

    def __post_init__(self) -> None:
        if not 0 < len(self.words) <= MAX_PHRASE_WORDS or len(self.text) > MAX_WORDS_CHARS:
            raise ReviewError(_("give 1 to {n} words for a word list", n=MAX_PHRASE_WORDS))

    @classmethod
    def read(cls, text: str, case_id: int | None = None) -> Asked:
        """Return the words of a text, as cases have them.

        Example:
            >>> Asked.read(" Zelvoran-Plus ").text
            'Zelvoran Plus'
        """
        return cls(tuple(tokenize(text[: 4 * MAX_WORDS_CHARS]).words), case_id)

    @property
    def text(self) -> str:
        return " ".join(self.words)

    @property
    def folded(self) -> list[str]:
        return [fold(word) for word in self.words]

    @property
    def can_be_kept_in_new_files(self) -> bool:
        """Whether the masker can keep them: single words without digits."""
        return len(self.words) == 1 and self.words[0].isalpha()


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """An entry of a list; `by` added it at a time (seconds since 1970, UTC)."""

    id: int
    sort: Sort
    asked: Asked
    by: str
    is_own: bool  # the user who is shown it added it
    at: float
    for_new_files: bool
    unfinished: Unfinished


@dataclass(frozen=True, slots=True)
class Places:
    """Where words would change in a user's open cases."""

    case_ids: tuple[int, ...] = ()
    n_places: int = 0  # words or phrases that would change
    n_sure: int = 0  # of which the tool was sure that they must be masked
    n_confirmed: int = 0  # doubtful ones that stay as they are, and count as decided

    @property
    def told(self) -> str:
        """The numbers that a page says, so that an answer to others can be refused."""
        return f"{self.n_places} {self.n_sure} {self.n_confirmed}"


@dataclass(frozen=True, slots=True)
class Done:
    """How many cases an entry changed, and how many it could not: others hold them, or they are approved."""

    n_cases: int
    n_held: int = 0
    n_approved: int = 0
    # Not reached within `MOST_SECONDS`, or locked while an entry was removed: go on.
    n_left: int = 0
    n_locked: int = field(default=0, compare=False)  # of the held ones: somebody is working on them now
    entry_id: int = field(default=0, compare=False)  # of the entry that was added

    @property
    def n_all(self) -> int:
        """All open cases of the change."""
        return self.n_cases + self.n_held + self.n_left

    @property
    def is_paused(self) -> bool:
        """Whether going on at once helps; where only locked cases are left, it does not."""
        return self.n_left > self.n_locked


@dataclass(slots=True)
class _Work:
    """What is left of the change of an entry; of one process, as another finds it out again."""

    unfinished: Unfinished
    case_ids: list[int]
    n_approved: int = 0
    n_cases: int = 0
    n_held: int = 0
    n_locked: int = 0
    turn: Lock = field(default_factory=Lock)  # two windows of a user go on one after the other

    def report(self) -> Done:
        return Done(
            self.n_cases, self.n_held, self.n_approved, n_left=len(self.case_ids), n_locked=self.n_locked
        )


def refuse_others(user: User) -> None:
    """Refuse a user who keeps no lists."""
    if not user.role.includes(UserRole.ADJUDICATOR):
        raise NotAllowedError(_("only adjudicators keep word lists"))


def count_places(store: ReviewStore, user: User, asked: Asked) -> dict[Sort, Places]:
    """Count what each kind of entry would change in the user's open cases; the trail records the search."""
    refuse_others(user)
    found: dict[Sort, tuple[list[int], list[int]]] = {sort: ([], [0, 0, 0]) for sort in Sort}
    with store.reading() as transaction:
        same = _find_same(transaction, user, asked)
        entry_id = int(same[0].id) if same else None
        cases, _n_unread = read_words(transaction, user, select_open_words(store, user))
        having = _find_cases(store, cases, asked)
        for case_id in having:
            content = read_content(transaction, case_id)
            phrase = find_phrase(content.tokens, asked.folded)
            now = _read_now(transaction, find_review(transaction, user.id, case_id), content)
            for sort, (case_ids, counts) in found.items():
                due = phrase & now.find_due(sort, entry_id)
                if due.any():
                    case_ids.append(case_id)
                changes = due & (now.keep != now.after(sort))
                counts[0] += len(find_runs(changes))
                counts[1] += int((changes & now.sure).sum()) if sort.keeps else 0
                counts[2] += len(find_runs(due & ~changes & now.open))
    forget_words(store, user, cases)
    with store.writing() as transaction:
        said = f"open cases: {len(cases)}, with words that were looked for: {len(having)}"
        transaction.record(TrailEvent(user=user.name, event="original texts searched", new=said))
    return {sort: Places(tuple(case_ids), *counts) for sort, (case_ids, counts) in found.items()}


def _find_cases(store: ReviewStore, cases: Mapping[int, CaseWords], asked: Asked) -> list[int]:
    words = [hash_word(store, word) for word in asked.folded]
    return [case_id for case_id, one in cases.items() if all(map(one.have, words))]


def _find_same(transaction: Transaction, user: User, asked: Asked) -> list[Row[Any]]:
    rows = transaction.read(select(LISTED_WORDS).where(LISTED_WORDS.c.user_id == user.id), LISTED_WORDS)
    return [row for row in rows if _open(transaction, row).folded == asked.folded]


@dataclass(frozen=True, slots=True, eq=False)
class _Now:
    """A user's decisions on a case now: arrays (n_tokens,)."""

    keep: BoolArray
    open: BoolArray  # doubtful words that they have not decided
    sure: BoolArray  # words that the tool was sure to mask
    masked_by: IntArray  # the entry that masked a word last, 0 = none

    def find_due(self, sort: Sort, entry_id: int | None) -> BoolArray:
        """Return what an entry decides: bool (n_tokens,).

        What another entry masks, an entry of words to mask masks as well, so that the word stays masked when
        either is removed, and an entry of words to keep does not uncover.
        """
        if sort is Sort.LEFT:
            return self.open
        by_others = (self.masked_by > 0) & (self.masked_by != (entry_id or 0)) & ~self.keep
        due = (self.keep != sort.keeps) | self.open
        return np.asarray(due & ~by_others if sort.keeps else due | by_others)

    def after(self, sort: Sort) -> BoolArray:
        """Return what an entry makes of the words that it decides: bool (n_tokens,), True = kept."""
        return self.keep if sort is Sort.LEFT else np.full(len(self.keep), sort.keeps)


def _read_now(transaction: Transaction, layer: Row[Any] | None, content: CaseContent) -> _Now:
    tokens, touched, _n_actions = replay_row(transaction, layer, content)
    doubtful = find_doubtful(content)
    masked_by = np.zeros(len(content.tokens), np.int32)
    actions = [] if layer is None else read_steps(transaction, layer)[: layer.n_done]
    for one in (step for action in actions for step in action):
        if one.keep is not None:
            masked_by[one.first : one.stop] = 0 if one.keep else one.entry or 0
    return _Now(tokens.keep, doubtful & ~touched, ~content.decisions.keep & ~doubtful, masked_by)


def add_entry(
    store: ReviewStore,
    user: User,
    asked: Asked,
    sort: Sort,
    places: Places,
    *,
    for_new_files: bool = False,
) -> Done:
    """Add an entry, and change the open cases of the user in which `count_places` found its words.

    An entry that the user has already is applied again. After `MOST_SECONDS`, the rest is left to `go_on`,
    also if the program ends.

    Raises:
        NotAllowedError: The user keeps no lists, or the limits forbid lists of words that are never masked.
        ReviewError: The words are on another list of the user, the lists are full, new files cannot keep the
            words, or they are not from this case.
    """
    refuse_others(user)
    if for_new_files:
        _check_for_new_files(sort, asked)
    if asked.case_id is not None:
        _check_origin(store, user, asked, asked.case_id)
    with store.writing() as transaction:
        lock_user(transaction, user.id)
        if sort.keeps and read_limits(transaction).no_allow_lists:
            raise NotAllowedError(_("lists of words that are never masked are not used here"))
        case = None if asked.case_id is None else lock_row(transaction, asked.case_id)
        same = _find_same(transaction, user, asked)
        if any(row.sort != sort.value for row in same):
            raise ReviewError(_("these words are on another list. Remove them there first"))
        unfinished = Unfinished.ADDING if places.case_ids else Unfinished.NOTHING
        said = f"{sort.value}, {places.n_places} places in {len(places.case_ids)} cases, "
        said += f"of which the tool was sure: {places.n_sure}, doubtful ones confirmed: {places.n_confirmed}"
        said += ", also in new files" * for_new_files
        if same:
            entry_id = int(same[0].id)
            mine = LISTED_WORDS.c.id == entry_id
            changed = {"for_new_files": for_new_files or same[0].for_new_files}
            transaction.update(LISTED_WORDS, mine, unfinished=unfinished.value, **changed)
        else:
            n_entries = select(func.count()).select_from(LISTED_WORDS)
            if transaction.execute(n_entries).scalar_one() >= MAX_ENTRIES:
                raise ReviewError(_("the word lists have {n:,} entries. Remove some first", n=MAX_ENTRIES))
            entry_id = _insert(transaction, user, asked, sort, unfinished, for_new_files=for_new_files)
        event = "word listed again" if same else "word listed"
        known = {} if case is None else {"case": case.id, "name": case.name}
        transaction.record(TrailEvent(user=user.name, event=event, new=f"entry {entry_id}: {said}", **known))
    store.word_work[entry_id] = _Work(Unfinished.ADDING, list(places.case_ids))
    return replace(go_on(store, user, entry_id), entry_id=entry_id)


def go_on(store: ReviewStore, user: User, entry_id: int) -> Done:
    """Go on with the change of an entry where it paused, or where the program was stopped.

    Returns:
        What was done by now, by this process: 0 cases if nothing was left to do.

    Raises:
        NotAllowedError: The user keeps no lists.
        ReviewError: The user has no such entry.
    """
    refuse_others(user)
    with store.reading() as transaction:
        row = _find_own(transaction, user, entry_id)
        asked, sort, unfinished = _open(transaction, row), Sort(row.sort), Unfinished(row.unfinished)
        if unfinished is Unfinished.NOTHING:
            return Done(0)
        known: _Work | None = store.word_work.get(entry_id)
        if known is not None and known.unfinished is not unfinished:
            known = None
        n_cases = 0 if known is None else known.n_cases
        # Others take the place of cases that are gone if their file was masked again.
        if known is not None and not _are_there(transaction, known.case_ids):
            known = None
    if unfinished is Unfinished.ADDING:
        change = _make_adding(user, entry_id, asked, sort)
        work = known or replace(_find_added(store, user, entry_id, asked, sort), n_cases=n_cases)
    else:
        change = _make_removing(user, entry_id)
        work = known or replace(_find_removed(store, user, entry_id), n_cases=n_cases)
    store.word_work[entry_id] = work
    with work.turn:
        _change_cases(store, user, entry_id, work, change)
        if work.case_ids:
            return work.report()
        _finish(store, user, entry_id, work)
        if store.word_work.get(entry_id) is work:
            del store.word_work[entry_id]
    done = work.report()
    if work.unfinished is Unfinished.REMOVING and work.n_locked:
        return replace(done, n_held=done.n_held - done.n_locked, n_left=done.n_locked)
    return done


Change = Callable[[Transaction, Row[Any], int], bool]
"""Changes one case at a revision of the user's layer; returns whether it did."""


def _are_there(transaction: Transaction, case_ids: Sequence[int]) -> bool:
    ids = tuple(case_ids)  # another window may go on with them
    for begin in range(0, len(ids), _IDS_AT_ONCE):
        some = ids[begin : begin + _IDS_AT_ONCE]
        found = select(func.count()).select_from(CASES).where(CASES.c.id.in_(some))
        if transaction.execute(found).scalar_one() < len(some):
            return False
    return True


def _find_added(store: ReviewStore, user: User, entry_id: int, asked: Asked, sort: Sort) -> _Work:
    # Cases that have the entry already are left out: their reader may have decided otherwise since.
    places = count_places(store, user, asked)[sort]
    with store.reading() as transaction:
        having = {row.case_id for row in _find_having(transaction, user, entry_id)}
    return _Work(Unfinished.ADDING, [one for one in places.case_ids if one not in having])


def _find_removed(store: ReviewStore, user: User, entry_id: int) -> _Work:
    with store.reading() as transaction:
        layers = _find_having(transaction, user, entry_id)
    case_ids = [row.case_id for row in layers if row.approval is None]
    return _Work(Unfinished.REMOVING, case_ids, n_approved=len(layers) - len(case_ids))


def _find_having(transaction: Transaction, user: User, entry_id: int) -> Sequence[Row[Any]]:
    # The layers of a user that have the number of an entry in an action.
    mine = (LAYERS.c.user_id == user.id) & (LAYERS.c.kind == LayerKind.REVIEW.value)
    marked = ACTIONS.c.steps.contains(f", {entry_id}]", autoescape=True)
    has_entry = exists().where(ACTIONS.c.layer_id == LAYERS.c.id, marked)
    found = select(LAYERS.c.case_id, LAYERS.c.approval).where(mine, has_entry)
    return transaction.execute(found.order_by(LAYERS.c.case_id)).all()


def _make_adding(user: User, entry_id: int, asked: Asked, sort: Sort) -> Change:
    event_of_case = "confirm" if sort is Sort.LEFT else "change"

    def steps_for(case: Row[Any], content: CaseContent, transaction: Transaction) -> list[LayerStep]:
        now = _read_now(transaction, find_review(transaction, user.id, case.id), content)
        chosen = find_phrase(content.tokens, asked.folded) & now.find_due(sort, entry_id)
        keep = now.after(sort)
        return [
            LayerStep(run.first, run.stop, bool(keep[run.first]), None, entry_id)
            for run in find_runs(chosen, keep)
        ]

    def change(transaction: Transaction, case: Row[Any], revision: int) -> bool:
        at = LayerRevision(user.id, case.id, revision)
        edited = take_steps_in(
            transaction, at, lambda content, _now: steps_for(case, content, transaction), event=event_of_case
        )
        return edited is not None

    return change


def _make_removing(user: User, entry_id: int) -> Change:
    def change(transaction: Transaction, case: Row[Any], revision: int) -> bool:
        take_out_in(transaction, LayerRevision(user.id, case.id, revision), entry_id)
        return True

    return change


def _check_origin(store: ReviewStore, user: User, asked: Asked, case_id: int) -> None:
    # Its name is shown with the entry.
    can_review = select_cases(store, select(CASES.c.id), WorkFilter(claimable_by=user.id))
    has_read = select(LAYERS.c.case_id).where(LAYERS.c.user_id == user.id)
    with store.reading() as transaction:
        content = read_content(transaction, case_id)
        found = can_review.where(CASES.c.id == case_id).union(has_read.where(LAYERS.c.case_id == case_id))
        is_visible = transaction.execute(found).first() is not None
    if not is_visible or not find_phrase(content.tokens, asked.folded).any():
        raise ReviewError(_("these words are not in case {id}, or you cannot read it", id=case_id))


def _check_for_new_files(sort: Sort, asked: Asked) -> None:
    if sort is Sort.LEFT:
        raise ReviewError(_("words that are left as they are cannot be used for new files"))
    if sort.keeps and not asked.can_be_kept_in_new_files:
        raise ReviewError(_("only single words without digits can be kept in new files"))


def _insert(
    transaction: Transaction,
    user: User,
    asked: Asked,
    sort: Sort,
    unfinished: Unfinished,
    *,
    for_new_files: bool,
) -> int:
    row: dict[str, object] = {
        "id": secrets.randbelow(_MAX_ID - 1) + 1,
        "sort": sort.value,
        "user_id": user.id,
        "at": float(transaction.now()),
        "case_id": asked.case_id,
        "for_new_files": for_new_files,
        "unfinished": unfinished.value,
    }
    words = json.dumps(asked.words).encode()
    sealed = transaction.sealer.seal(words, place_of(LISTED_WORDS.c.sealed, row))
    return transaction.insert(LISTED_WORDS, {**row, "sealed": sealed})


def _open(transaction: Transaction, row: Row[Any]) -> Asked:
    opened = transaction.sealer.open(row.sealed, place_of(LISTED_WORDS.c.sealed, row._mapping))
    return Asked(tuple(json.loads(opened)), row.case_id)


def _change_cases(store: ReviewStore, user: User, entry_id: int, work: _Work, change: Change) -> None:
    # Some cases per transaction, so that others can write meanwhile. One that went away is left out.
    until = time.monotonic() + MOST_SECONDS
    while work.case_ids and time.monotonic() <= until:
        some = work.case_ids[:ROWS_AT_ONCE]
        with store.writing() as transaction:
            lock_user(transaction, user.id)
            if _find_own(transaction, user, entry_id).unfinished != work.unfinished:
                work.case_ids.clear()  # undone, or done by another program, meanwhile
                return
            changed = [_change_case(transaction, user, case_id, change) for case_id in some]
            is_last = len(some) == len(work.case_ids) and work.unfinished is Unfinished.ADDING
            if is_last and "changed" in changed:  # of which the trail has entries
                mine = LISTED_WORDS.c.id == entry_id
                transaction.update(LISTED_WORDS, mine, unfinished=Unfinished.NOTHING.value)
        del work.case_ids[: len(some)]
        work.n_cases += changed.count("changed")
        work.n_held += changed.count("held") + changed.count("locked")
        work.n_locked += changed.count("locked")


def _change_case(
    transaction: Transaction, user: User, case_id: int, change: Change
) -> Literal["changed", "same", "held", "locked"]:
    try:
        case = lock_row(transaction, case_id)
        is_held = case.lock_user_id == user.id and (case.lock_until or 0) > transaction.now()
        revision = take_row(transaction, user, case, inf)
    except CaseLockedError:  # others work on it
        return "locked"
    except ReviewError:  # it was approved or deleted since
        return "held"
    try:
        is_changed = change(transaction, case, revision)
    except ReviewError:  # it has too many places or actions; nothing of it was changed
        found: Literal["changed", "same", "held"] = "held"
    else:
        found = "changed" if is_changed else "same"
    if not is_held:  # it stays with a user who has its page open
        drop_lock(transaction, case_id)
    return found


def _finish(store: ReviewStore, user: User, entry_id: int, work: _Work) -> None:
    """Note that no case is left, unless the user has undone the change meanwhile."""
    with store.writing() as transaction:
        lock_user(transaction, user.id)
        row = _find_own(transaction, user, entry_id)
        mine = LISTED_WORDS.c.id == entry_id
        if row.unfinished != work.unfinished:
            return
        if work.unfinished is Unfinished.ADDING:
            transaction.update(LISTED_WORDS, mine, unfinished=Unfinished.NOTHING.value)
            said = f"entry {entry_id}: {row.sort}"
            transaction.record(TrailEvent(user=user.name, event="word listed in all cases", new=said))
            return
        if work.n_locked:
            return
        transaction.delete(LISTED_WORDS, mine)
        said = f"entry {entry_id}: {row.sort}, taken out of {work.n_cases} cases, "
        said += f"{work.n_approved} approved and {work.n_held} held ones stay"
        transaction.record(TrailEvent(user=user.name, event="word of a list removed", old=said))


def remove_entry(store: ReviewStore, user: User, entry_id: int) -> Done:
    """Remove an entry of the user, and take it out of their open cases; approved ones stay as they are.

    The user's own decisions in these places hold. The entry stays until no case is left: what is not done
    within `MOST_SECONDS` is left to `go_on`, and so is what somebody is working on.

    Raises:
        NotAllowedError: The user keeps no lists.
        ReviewError: The user has no such entry.
    """
    refuse_others(user)
    with store.writing() as transaction:
        lock_user(transaction, user.id)
        row = _find_own(transaction, user, entry_id)
        mine = LISTED_WORDS.c.id == entry_id
        transaction.update(LISTED_WORDS, mine, unfinished=Unfinished.REMOVING.value)
        said = f"entry {entry_id}: {row.sort}"
        transaction.record(TrailEvent(user=user.name, event="removal of a word of a list begun", old=said))
    return go_on(store, user, entry_id)


def _find_own(transaction: Transaction, user: User, entry_id: int) -> Row[Any]:
    found = select(LISTED_WORDS).where(LISTED_WORDS.c.id == entry_id, LISTED_WORDS.c.user_id == user.id)
    rows = transaction.read(found, LISTED_WORDS)
    if not rows:
        raise ReviewError(_("this entry is not on your word lists any more"))
    return rows[0]


def use_for_new_files(store: ReviewStore, user: User, entry_id: int, *, is_used: bool) -> None:
    """Say whether files that are masked from now on follow an entry.

    Its adder decides that. Other adjudicators can only end it.

    Raises:
        NotAllowedError: The user keeps no lists, or only its adder can begin to use an entry.
        ReviewError: The entry is gone, or new files cannot keep its words.
    """
    refuse_others(user)
    with store.writing() as transaction:
        entry = next((one for one in _read(transaction, user) if one.id == entry_id), None)
        if entry is None:
            raise ReviewError(_("this entry is not on your word lists any more"))
        if is_used and not entry.is_own:
            raise NotAllowedError(_("only who added an entry can use it for new files"))
        if is_used:
            _check_for_new_files(entry.sort, entry.asked)
        transaction.update(LISTED_WORDS, LISTED_WORDS.c.id == entry_id, for_new_files=is_used)
        event = "word list for new files changed"
        new = f"entry {entry_id}: {'used' if is_used else 'not used'}"
        transaction.record(TrailEvent(user=user.name, event=event, new=new))


def list_entries(store: ReviewStore, user: User) -> tuple[Entry, ...]:
    """Return the entries of a user and those of others for new files, the newest first.

    Words of others are words of cases, so that the trail records that they are shown.
    """
    refuse_others(user)
    with store.reading() as transaction:
        entries = tuple(_read(transaction, user))
        of_others = [one.asked.case_id for one in entries if not one.is_own and one.asked.case_id is not None]
        cases = transaction.read(select(CASES).where(CASES.c.id.in_(of_others)), CASES)
    with store.writing() as transaction:
        disclosed = disclose(transaction, user.name, cases, "word lists")
    remember(store, disclosed)
    return entries


def list_unfinished(store: ReviewStore, user: User) -> tuple[Entry, ...]:
    """Return the entries of a user that are to be added to further cases, or removed from them."""
    refuse_others(user)
    with store.reading() as transaction:
        return tuple(
            one for one in _read(transaction, user) if one.is_own and one.unfinished is not Unfinished.NOTHING
        )


def _read(transaction: Transaction, user: User) -> Iterator[Entry]:
    names = {row.id: row.name for row in transaction.execute(select(USERS.c.id, USERS.c.name))}
    found = select(LISTED_WORDS).order_by(LISTED_WORDS.c.at.desc(), LISTED_WORDS.c.id)
    for row in transaction.read(found, LISTED_WORDS):
        if row.user_id == user.id or row.for_new_files:
            yield Entry(
                id=row.id,
                sort=Sort(row.sort),
                asked=_open(transaction, row),
                by=names[row.user_id],
                is_own=row.user_id == user.id,
                at=row.at,
                for_new_files=row.for_new_files,
                unfinished=Unfinished(row.unfinished),
            )


def follow_lists(store: ReviewStore, masking: MaskingSettings) -> MaskingSettings:
    """Return the settings of a masking of new files that also follows the word lists.

    A certificate, which states what is kept at most, is not followed by words to keep.
    """
    words = read_for_new_files(store)
    allow = words[Sort.NEVER] if masking.certificate is None else frozenset()
    return replace(masking, deny=masking.deny | words[Sort.ALWAYS], allow=masking.allow | allow)


def read_for_new_files(store: ReviewStore) -> dict[Sort, frozenset[str]]:
    """Return the words for new files that are always masked, and never; those on both lists are masked."""
    found: dict[Sort, dict[str, str]] = {sort: {} for sort in Sort}
    with store.reading() as transaction:
        used = select(LISTED_WORDS).where(LISTED_WORDS.c.for_new_files)
        for row in transaction.read(used, LISTED_WORDS):
            asked = _open(transaction, row)
            found[Sort(row.sort)][" ".join(asked.folded)] = asked.text
        if read_limits(transaction).no_allow_lists:
            found[Sort.NEVER].clear()
    kept = {key: text for key, text in found[Sort.NEVER].items() if key not in found[Sort.ALWAYS]}
    return {Sort.ALWAYS: frozenset(found[Sort.ALWAYS].values()), Sort.NEVER: frozenset(kept.values())}
