"""Carry the work on a file over to the same file when it was masked again with other choices.

Decisions of readers are over the words of a case, so they fit if its texts are the same. Every approval ends,
as it was one of other masks. The new cases have new numbers, so that nobody was shown them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import msgspec
import numpy as np
from sqlalchemy import ColumnElement, Row, Table, select, union

from inverse_deid.core.errors import ReviewError
from inverse_deid.core.wording import _
from inverse_deid.formats.records import ReadOptions
from inverse_deid.formats.registry import FORMATS
from inverse_deid.review.flow.contents import CaseContent, read_contents
from inverse_deid.review.store.deletion import delete_replaced
from inverse_deid.review.store.entries import TrailEvent
from inverse_deid.review.store.opening import Transaction
from inverse_deid.review.store.sources import read_masking
from inverse_deid.review.store.tables import (
    CASES,
    FORMS,
    INTAKES,
    LAYERS,
    LISTED_WORDS,
    NOTES,
    SOURCES,
    USERS,
    place_of,
)
from inverse_deid.review.store.values import CaseState, LayerKind, UserRole

_CASES_AT_ONCE = 100
_OF_ITS_CASE = ("id", "seal", "sealed")
"""Columns that a note or form has anew in another case."""


class Carried(msgspec.Struct, frozen=True, kw_only=True):
    """The work on a file that was masked again: what stays and what is gone.

    Args:
        n_cases: Cases whose decisions and notes were carried over.
        n_reopened: Cases that had an approval, which ended.
        left: The names of cases whose decisions and notes do not fit, so that they are gone.
    """

    n_cases: int = 0
    n_reopened: int = 0
    left: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return f"Carried({self.describe()})"

    def describe(self) -> str:
        """Return the counts, for the trail."""
        work = f"decisions on {self.n_cases} cases carried over, on {len(self.left)} not"
        return f"{work}, approvals of {self.n_reopened} ended"


def carry_over(transaction: Transaction, old_id: int, new_id: int, *, by: str) -> Carried:
    """Carry the work on a file over to another one with the same bytes, and delete the first one.

    Raises:
        ReviewError: The first one is gone, somebody else is reading one of its cases, one of them was
            deleted since it waits, or an entry of a word list is not in all cases yet.
    """
    found = select(CASES).where(CASES.c.source_id == old_id).order_by(CASES.c.number)
    old = transaction.read(found.with_for_update(), CASES)
    if not old:
        raise ReviewError(_("the store has no file {source_id}", source_id=old_id))
    hashes = select(INTAKES.c.content_hash).where(INTAKES.c.source_id.in_([old_id, new_id])).distinct()
    if len(transaction.execute(hashes).all()) > 1:
        # A case was deleted in it, and must not come back.
        raise ReviewError(_("file {source_id} was changed by somebody else. Try again", source_id=old_id))
    _refuse_others(transaction, old, by)
    of_new = select(CASES).where(CASES.c.source_id == new_id).order_by(CASES.c.number)
    new_cases = transaction.read(of_new, CASES)
    pairs = _pair(transaction, old, new_cases)
    worked = _find_worked(transaction, old_id)
    fitting = _find_fitting(transaction, {one: pairs[one] for one in worked if one in pairs})
    _carry_cases(transaction, old, new_cases, pairs, fitting, by)
    left = [transaction.names.open(case.name) for case in old if case.id in worked - fitting]
    _keep_lists(transaction, {case.id: pairs.get(case.id, new_cases[0].id) for case in old})
    n_reopened = sum(case.n_approvals > 0 for case in old)
    carried = Carried(n_cases=len(fitting), n_reopened=n_reopened, left=tuple(left))
    # It is still the file of whoever added it, and as old.
    intake = transaction.read(select(INTAKES).where(INTAKES.c.source_id == old_id), INTAKES)[0]
    added = {"added_by": intake.added_by, "added_at": intake.added_at}
    transaction.update(INTAKES, INTAKES.c.source_id == new_id, **added)
    delete_replaced(transaction, old_id)
    return carried


def _refuse_others(transaction: Transaction, cases: Sequence[Row[Any]], by: str) -> None:
    user_id = transaction.execute(select(USERS.c.id).where(USERS.c.name == by)).scalar()
    for case in cases:
        if case.lock_user_id not in (None, user_id) and (case.lock_until or 0) > transaction.now():
            raise ReviewError(_("somebody is reading a document of this file now. Try again later"))
    # It would not reach the new cases. If an account is closed or has no lists, nobody can go on with it.
    readers = select(USERS.c.id, USERS.c.role).where(USERS.c.is_active, USERS.c.role != UserRole.ADMIN.value)
    roles = {row.id: UserRole(row.role) for row in transaction.execute(readers)}
    keepers = [one for one, role in roles.items() if role.includes(UserRole.ADJUDICATOR)]
    unfinished = select(LISTED_WORDS.c.id).where(LISTED_WORDS.c.unfinished != "")
    if transaction.execute(unfinished.where(LISTED_WORDS.c.user_id.in_(keepers))).first():
        raise ReviewError(_("an entry of a word list is not in all cases yet. Go on with it first"))
    source_id = cases[0].source_id
    swept = list(transaction.store.swept.items())
    if any(of_file and key[0] in roles and key[1] == source_id for key, of_file in swept):
        raise ReviewError(
            _("a decision for the whole file is not in all rows yet. Load its table, and go on with it")
        )


def _pair(transaction: Transaction, old: Sequence[Row[Any]], new: Sequence[Row[Any]]) -> dict[int, int]:
    """Return the new case of each old one, by their ids; one of which this is not sure is left out."""
    before, after = (read_masking(transaction, one[0].source_id).output.read_options for one in (old, new))
    kind = transaction.execute(select(SOURCES.c.format).where(SOURCES.c.id == old[0].source_id)).scalar_one()
    has_several = FORMATS[kind].is_container or kind == "xlsx"
    masked, masked_now = _list_masked(before), _list_masked(after)
    if not has_several or masked == masked_now:
        numbers = {case.number: case.id for case in new}
        return {case.id: numbers[case.number] for case in old if case.number in numbers}
    # Numbers count the rows of all tables or sheets, so they are others if one is left out.
    names, new_names = (_name_alone(transaction, cases) for cases in (old, new))
    if masked.keys().isdisjoint(masked_now):  # ids in other tables can be the same
        names = {name: case_id for name, case_id in names.items() if name.is_place}
    return {case_id: new_names[name] for name, case_id in names.items() if name in new_names}


def _list_masked(options: ReadOptions) -> dict[str, set[str]]:
    # The tables inside a file that are masked, with the columns, as these choose the sheets of a workbook.
    if not options.part_columns:
        return {"": set(options.text_columns)}
    return {
        place: set(columns.text_columns)
        for place, columns in options.part_columns.items()
        if columns.text_columns
    }


@dataclass(frozen=True, slots=True)
class _Name:
    """The name of a case: its id, or its place in the file."""

    is_place: bool
    text: str = field(repr=False)


def _name_alone(transaction: Transaction, cases: Sequence[Row[Any]]) -> dict[_Name, int]:
    found = select(INTAKES.c.export_name).where(INTAKES.c.source_id == cases[0].source_id)
    file = transaction.names.open(transaction.execute(found).scalar_one())
    opened = [(transaction.names.open(case.name), case.id) for case in cases]
    named = [(_Name(name.startswith(file), name.removeprefix(file)), case_id) for name, case_id in opened]
    counts = Counter(name for name, _ in named)
    return {name: case_id for name, case_id in named if counts[name] == 1}


def _find_worked(transaction: Transaction, source_id: int) -> frozenset[int]:
    """Return the cases of a file with decisions, notes or forms of readers."""
    of_file = select(CASES.c.id).where(CASES.c.source_id == source_id)
    found = union(
        *(select(one.c.case_id).where(one.c.case_id.in_(of_file)) for one in (LAYERS, NOTES, FORMS))
    )
    return frozenset(transaction.execute(found).scalars())


def _find_fitting(transaction: Transaction, pairs: Mapping[int, int]) -> frozenset[int]:
    """Return the cases whose texts are those of the case that takes their place."""
    fitting: set[int] = set()
    for some in _batch(pairs):
        contents = read_contents(transaction, [*some, *(pairs[one] for one in some)])
        fitting.update(one for one in some if _has_same_texts(contents[one], contents[pairs[one]]))
    return frozenset(fitting)


def _has_same_texts(one: CaseContent, other: CaseContent) -> bool:
    # Decisions name words by their place.
    def name_places(content: CaseContent) -> tuple[object, ...]:
        parts = tuple((part.start, part.end) for part in content.parts)
        return content.text, parts

    return (
        name_places(one) == name_places(other)
        and np.array_equal(one.tokens.starts, other.tokens.starts)
        and np.array_equal(one.tokens.ends, other.tokens.ends)
    )


def _carry_cases(
    transaction: Transaction,
    old: Sequence[Row[Any]],
    new: Sequence[Row[Any]],
    pairs: Mapping[int, int],
    fitting: Collection[int],
    by: str,
) -> None:
    """Give the new cases their readers, and those that fit the decisions, notes and forms."""
    of_review = LAYERS.c.kind == LayerKind.REVIEW.value
    layers = _read_of(transaction, LAYERS, fitting, of_review)
    with_layers = {one.case_id for one in layers}
    cases = {case.id: case for case in new}
    changed, events = [], []
    for case in old:
        if case.id not in pairs:
            continue
        one = cases[pairs[case.id]]
        state = CaseState.IN_REVIEW.value if case.id in with_layers else one.state
        if (case.assignee_id, state) != (one.assignee_id, one.state):
            changed.append((one, {"assignee_id": case.assignee_id, "state": state}))
        if case.id in fitting:
            event = TrailEvent(
                user=by,
                event="decisions carried over",
                case=one.id,
                name=case.name,
                old=f"case {case.id}",
                new=f"case {one.id}",
            )
            events.append(event)
        if case.id in with_layers:
            events.append(replace(event, event="state", old=CaseState.NEW.value, new=state))
    transaction.update_each(CASES, changed)
    # A page that was opened before is stale.
    moved = [
        (one, {"case_id": pairs[one.case_id], "approval": None, "revision": one.revision + 1})
        for one in layers
    ]
    transaction.update_each(LAYERS, moved)
    for table in (NOTES, FORMS):
        for row in _read_of(transaction, table, fitting):
            kept = {name: value for name, value in row._asdict().items() if name not in _OF_ITS_CASE}
            kept["case_id"] = pairs[row.case_id]
            text = transaction.sealer.open(row.sealed, place_of(table.c.sealed, row._mapping))
            sealed = transaction.sealer.seal(text, place_of(table.c.sealed, kept))
            transaction.insert(table, {**kept, "sealed": sealed})
    transaction.record(*events)


def _read_of(
    transaction: Transaction, table: Table, case_ids: Iterable[int], *conditions: ColumnElement[bool]
) -> list[Row[Any]]:
    rows: list[Row[Any]] = []
    for some in _batch(case_ids):
        found = select(table).where(table.c.case_id.in_(some), *conditions).order_by(*table.primary_key)
        rows += transaction.read(found.with_for_update(), table)
    return rows


def _batch(case_ids: Iterable[int]) -> Iterator[list[int]]:
    ids = sorted(case_ids)
    return (ids[begin : begin + _CASES_AT_ONCE] for begin in range(0, len(ids), _CASES_AT_ONCE))


def _keep_lists(transaction: Transaction, new_ids: Mapping[int, int]) -> None:
    # Entries of word lists go with the case that they were made in, so they follow it. If it is gone, they
    # stay with the file: words that are always masked must not be lost.
    found = select(LISTED_WORDS.c.case_id).where(LISTED_WORDS.c.case_id.is_not(None)).distinct()
    for case_id in transaction.execute(found).scalars().all():
        if case_id in new_ids:
            transaction.update(LISTED_WORDS, LISTED_WORDS.c.case_id == case_id, case_id=new_ids[case_id])
