"""Carry the work on a file over to the same file when it was masked again with other choices.

Decisions of readers are over the words of a case, so they fit if its texts are the same. Every approval ends,
as it was one of other masks. The new cases have new numbers, so that nobody was shown them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import msgspec
import numpy as np
from sqlalchemy import Row, select, union

from inverse_deid.core.errors import ReviewError
from inverse_deid.core.wording import _
from inverse_deid.formats.records import ReadOptions
from inverse_deid.formats.registry import FORMATS
from inverse_deid.review.flow.contents import CaseContent, read_content
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
from inverse_deid.review.store.values import CaseState, LayerKind


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
    n_cases, left = 0, []
    for case in old:
        new = pairs.get(case.id)
        if new is not None and case.assignee_id is not None:
            transaction.update(CASES, CASES.c.id == new, assignee_id=case.assignee_id)
        if case.id not in worked:
            continue
        if new is not None and _has_same_texts(transaction, case.id, new):
            _carry_case(transaction, case, new, by)
            n_cases += 1
        else:
            left.append(transaction.names.open(case.name))
    _keep_lists(transaction, {case.id: pairs.get(case.id, new_cases[0].id) for case in old})
    carried = Carried(n_cases=n_cases, n_reopened=sum(case.n_approvals > 0 for case in old), left=tuple(left))
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
    # It would not reach the new cases.
    if transaction.execute(select(LISTED_WORDS.c.id).where(LISTED_WORDS.c.unfinished != "")).first():
        raise ReviewError(_("an entry of a word list is not in all cases yet. Go on with it first"))
    source_id = cases[0].source_id
    if any(of_file and key[1] == source_id for key, of_file in list(transaction.store.swept.items())):
        raise ReviewError(
            _("a decision for the whole file is not in all rows yet. Load its table, and go on with it")
        )


def _pair(transaction: Transaction, old: Sequence[Row[Any]], new: Sequence[Row[Any]]) -> dict[int, int]:
    """Return the new case of each old one, by their ids; one of which this is not sure is left out."""
    before, after = (read_masking(transaction, one[0].source_id).output.read_options for one in (old, new))
    kind = transaction.execute(select(SOURCES.c.format).where(SOURCES.c.id == old[0].source_id)).scalar_one()
    has_several = FORMATS[kind].is_container or kind == "xlsx"
    if not has_several or _list_masked(before) == _list_masked(after):
        numbers = {case.number: case.id for case in new}
        return {case.id: numbers[case.number] for case in old if case.number in numbers}
    # Numbers count the rows of all tables or sheets, so they are others if one is left out.
    names, new_names = (_name_alone(transaction, cases) for cases in (old, new))
    return {case_id: new_names[name] for name, case_id in names.items() if name in new_names}


def _list_masked(options: ReadOptions) -> object:
    # The tables inside a file that are masked, with the columns, as these choose the sheets of a workbook.
    if options.part_columns:
        return {
            place: set(columns.text_columns)
            for place, columns in options.part_columns.items()
            if columns.text_columns
        }
    return set(options.text_columns)


def _name_alone(transaction: Transaction, cases: Sequence[Row[Any]]) -> dict[str, int]:
    opened = [(transaction.names.open(case.name), case.id) for case in cases]
    counts = Counter(name for name, _ in opened)
    return {name: case_id for name, case_id in opened if counts[name] == 1}


def _find_worked(transaction: Transaction, source_id: int) -> frozenset[int]:
    """Return the cases of a file with decisions, notes or forms of readers."""
    of_file = select(CASES.c.id).where(CASES.c.source_id == source_id)
    found = union(
        *(select(one.c.case_id).where(one.c.case_id.in_(of_file)) for one in (LAYERS, NOTES, FORMS))
    )
    return frozenset(transaction.execute(found).scalars())


def _has_same_texts(transaction: Transaction, case_id: int, other_id: int) -> bool:
    # Decisions name words by their place.
    def name_places(content: CaseContent) -> tuple[object, ...]:
        parts = tuple((part.start, part.end) for part in content.parts)
        return content.text, parts

    one, other = read_content(transaction, case_id), read_content(transaction, other_id)
    return (
        name_places(one) == name_places(other)
        and np.array_equal(one.tokens.starts, other.tokens.starts)
        and np.array_equal(one.tokens.ends, other.tokens.ends)
    )


def _carry_case(transaction: Transaction, case: Row[Any], new_id: int, by: str) -> None:
    of_review = (LAYERS.c.case_id == case.id) & (LAYERS.c.kind == LayerKind.REVIEW.value)
    layers = transaction.read(select(LAYERS).where(of_review), LAYERS)
    for layer in layers:
        # A page that was opened before is stale.
        values = {"case_id": new_id, "approval": None, "revision": layer.revision + 1}
        transaction.update(LAYERS, LAYERS.c.id == layer.id, **values)
    if layers:
        transaction.update(CASES, CASES.c.id == new_id, state=CaseState.IN_REVIEW.value)
    for row in transaction.read(select(NOTES).where(NOTES.c.case_id == case.id).order_by(NOTES.c.id), NOTES):
        text = transaction.sealer.open(row.sealed, place_of(NOTES.c.sealed, row._mapping))
        note = {"user_id": row.user_id, "at": row.at, "first": row.first, "stop": row.stop, "case_id": new_id}
        sealed = transaction.sealer.seal(text, place_of(NOTES.c.sealed, note))
        transaction.insert(NOTES, {**note, "sealed": sealed})
    for row in transaction.read(select(FORMS).where(FORMS.c.case_id == case.id), FORMS):
        text = transaction.sealer.open(row.sealed, place_of(FORMS.c.sealed, row._mapping))
        form = {"case_id": new_id, "user_id": row.user_id, "answers": row.answers}
        sealed = transaction.sealer.seal(text, place_of(FORMS.c.sealed, form))
        transaction.insert(FORMS, {**form, "sealed": sealed})
    event = TrailEvent(
        user=by,
        event="decisions carried over",
        case=new_id,
        name=case.name,
        old=f"case {case.id}",
        new=f"case {new_id}",
    )
    transaction.record(event)
    if layers:
        old, new = CaseState.NEW.value, CaseState.IN_REVIEW.value
        transaction.record(replace(event, event="state", old=old, new=new))


def _keep_lists(transaction: Transaction, new_ids: Mapping[int, int]) -> None:
    # Entries of word lists go with the case that they were made in, so they follow it. If it is gone, they
    # stay with the file: words that are always masked must not be lost.
    found = select(LISTED_WORDS.c.case_id).where(LISTED_WORDS.c.case_id.is_not(None)).distinct()
    for case_id in transaction.execute(found).scalars().all():
        if case_id in new_ids:
            transaction.update(LISTED_WORDS, LISTED_WORDS.c.case_id == case_id, case_id=new_ids[case_id])
