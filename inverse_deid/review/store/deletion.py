"""Delete files, cases and old cases, so that no byte of their sealed text is left in the file of the store.

A case is also in the file that it came in. A file whose format allows it gets a blank line in the place of
the case (JSON Lines, CSV), and all other cases keep their number and their bytes. A file that has no other
case is deleted. Any other file keeps its cases: one of them cannot be deleted without the others.

SQLite overwrites what is deleted (`secure_delete`). Older pages can be left in the write-ahead log, so the
database is rebuilt and the log is cut off afterwards. PostgreSQL rewrites the tables; its own logs and
backups keep deleted rows until the server recycles them. The trail stays: it has counts, names and offsets,
and no text.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

import msgspec
from sqlalchemy import ColumnElement, Row, Table, delete, select, true

from inverse_deid.core.errors import InverseDeidError, ReviewError, UnreadableInputError
from inverse_deid.core.wording import _
from inverse_deid.files.facts import FileFacts
from inverse_deid.files.given import GivenFile
from inverse_deid.files.reading import take_out
from inverse_deid.files.workers import borrow_worker
from inverse_deid.formats.records import Format
from inverse_deid.formats.registry import FORMATS
from inverse_deid.review.store.entries import TrailEvent
from inverse_deid.review.store.opening import ReviewStore, Transaction
from inverse_deid.review.store.rows import SEALED
from inverse_deid.review.store.sources import (
    hash_file,
    list_sources,
    lock_numbers,
    open_source,
    read_facts_of,
    read_masking,
    seal_facts,
)
from inverse_deid.review.store.tables import (
    ACTIONS,
    CASES,
    CONTENTS,
    FORMS,
    INTAKES,
    LAYERS,
    LISTED_WORDS,
    MASKINGS,
    NAME_KEYS,
    NOTES,
    SAMPLE_CASES,
    SAMPLES,
    SOURCES,
    TRAIL,
    WAITING,
    WAITING_PIECES,
    place_of,
)
from inverse_deid.review.store.values import CaseState

SECONDS_PER_DAY = 86_400.0

_HOLD_TEXT = (
    *(CONTENTS, SOURCES, NAME_KEYS, INTAKES, LISTED_WORDS, NOTES, FORMS),
    *(WAITING, WAITING_PIECES),
)
_IDS_AT_ONCE = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class Deleted:
    """What was deleted. `n_decisions` counts actions of users, `n_forms` causality forms.

    Entries of word lists have words of the case that they were made in, so they go with it.
    """

    n_files: int = 0
    n_cases: int = 0
    n_decisions: int = 0  # actions of users
    n_notes: int = 0
    n_listed: int = 0  # entries of word lists
    n_forms: int = 0  # causality forms
    # False if others were reading: old pages are still in the file, until `erase` removes them.
    is_erased: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class OldCases:
    """The cases of one file that are older than the limit."""

    source_id: int
    name: str
    case_ids: tuple[int, ...]
    is_whole_file: bool
    problem: str = ""  # why they stay, "" = they are deleted (with the whole file if it has no other case)
    is_erased: bool = True  # as in `Deleted`


def delete_source(store: ReviewStore, source_id: int, *, by: str) -> Deleted:
    """Delete one file with its cases and all work on them.

    Raises:
        ReviewError: The file does not exist.
    """
    return replace(_delete_files(store, source_id, by), is_erased=erase(store))


def delete_everything(store: ReviewStore, by: str) -> Deleted:
    """Delete all files with their cases and all work on them; accounts and the trail stay."""
    return replace(_delete_files(store, None, by), is_erased=erase(store))


def delete_case(store: ReviewStore, case_id: int, *, by: str) -> Deleted:
    """Delete one case, in the file that it came in as well, and all work on it.

    Raises:
        ReviewError: The case does not exist, or its file cannot be written without it.
    """
    with store.reading() as transaction:
        source_id = transaction.execute(select(CASES.c.source_id).where(CASES.c.id == case_id)).scalar()
        if source_id is None:
            raise ReviewError(_("the store has no case {case_id}", case_id=case_id))
        of_file = select(CASES.c.id).where(CASES.c.source_id == source_id)
        is_only_case = transaction.execute(of_file).scalars().all() == [case_id]
    if is_only_case:
        return delete_source(store, source_id, by=by)
    return replace(_delete_cases(store, source_id, [case_id], by), is_erased=erase(store))


def purge(
    store: ReviewStore, older_than_days: int, *, all_cases: bool = False, dry_run: bool = False, by: str
) -> tuple[OldCases, ...]:
    """Delete the cases that were released more than some days ago and still are; return them by file.

    With `all_cases`, delete all cases that were added so long ago, whatever their state. With `dry_run`,
    nothing is deleted.
    """
    limit = store.now() - SECONDS_PER_DAY * older_than_days
    found = tuple(_find_old_cases(store, limit, all_cases=all_cases))
    if dry_run:
        return found
    done = []
    for one in found:
        problem = one.problem
        try:
            if one.is_whole_file:
                _delete_files(store, one.source_id, by)
            elif not problem:
                _delete_cases(store, one.source_id, one.case_ids, by)
        except ReviewError as error:
            problem = str(error)
        done.append(replace(one, problem=problem))
    what = "added" if all_cases else "released"
    n_cases = sum(len(one.case_ids) for one in done if not one.problem)
    n_kept = sum(len(one.case_ids) for one in done if one.problem)
    event = f"retention: {n_cases} cases deleted, {n_kept} kept, {what} over {older_than_days} days ago"
    with store.writing() as transaction:
        transaction.record(TrailEvent(user=by, event=event))
    is_erased = not n_cases or erase(store)
    return tuple(replace(one, is_erased=is_erased) for one in done)


def erase(store: ReviewStore) -> bool:
    """Remove what was deleted from the file of the store; return whether nothing is left in it."""
    return store.rewrite([table.name for table in _HOLD_TEXT])


def _find_old_cases(store: ReviewStore, limit: float, *, all_cases: bool) -> Iterator[OldCases]:
    with store.reading() as transaction:
        released = {} if all_cases else _read_releases(transaction)
        states = transaction.execute(select(CASES.c.id, CASES.c.source_id, CASES.c.state)).all()
    for source in list_sources(store):
        cases = [one for one in states if one.source_id == source.id]
        if all_cases:
            old = [one.id for one in cases if source.added_at < limit]
        else:
            is_released = (one for one in cases if one.state == CaseState.RELEASED.value)
            old = [one.id for one in is_released if released.get(one.id, limit) < limit]
        if not old:
            continue
        is_whole = len(old) == len(cases)
        kind = FORMATS[source.format]
        yield OldCases(
            source_id=source.id,
            name=source.name,
            case_ids=tuple(old),
            is_whole_file=is_whole,
            problem="" if is_whole or kind.blank is not None else _refuse(kind),
        )


class _State(msgspec.Struct):
    at: datetime
    event: str
    case: int
    new: str


def _read_releases(transaction: Transaction) -> dict[int, float]:
    # By their numbers, in seconds since 1970.
    found = select(TRAIL.c.line).where(TRAIL.c.line.contains('"event":"state"', autoescape=True))
    times: dict[int, float] = {}
    for line in transaction.execute(found.order_by(TRAIL.c.number)).scalars():
        try:
            one = msgspec.json.decode(line, type=_State)
        except msgspec.MsgspecError:
            raise UnreadableInputError(
                _("an entry of the trail was altered. Run inverse-deid review verify, and restore a backup")
            ) from None
        if one.event == "state" and one.new == CaseState.RELEASED.value:
            times[one.case] = one.at.timestamp()
    return times


def _delete_files(store: ReviewStore, source_id: int | None, by: str) -> Deleted:
    # None = all.
    mine = true() if source_id is None else SOURCES.c.id == source_id
    chosen = select(SOURCES.c.id).where(mine)
    with store.writing() as transaction:
        lock_numbers(transaction)
        _delete_copies(transaction, mine)
        counts = _delete_rows(transaction, CASES.c.source_id.in_(chosen))
        if source_id is None:
            counts["n_listed"] += transaction.delete(LISTED_WORDS, true())
        transaction.delete(INTAKES, INTAKES.c.source_id.in_(chosen))
        n_files = transaction.delete(SOURCES, mine)
        _forget_uploads(transaction)
        transaction.delete(MASKINGS, MASKINGS.c.id.not_in(select(INTAKES.c.masking_id)))
        deleted = _count(counts, n_files)
        if source_id is not None and not deleted.n_files:
            raise ReviewError(_("the store has no file {source_id}", source_id=source_id))
        told = f"{deleted.n_files} files, {deleted.n_cases} cases, {_describe_work(deleted)}"
        what = "everything" if source_id is None else f"file {source_id}"
        transaction.record(TrailEvent(user=by, event=f"{what} deleted: {told}"))
    return deleted


def delete_replaced(transaction: Transaction, source_id: int) -> None:
    """Delete a file with its cases in the caller's transaction; another one has its name, bytes and key."""
    key_id = transaction.execute(select(SOURCES.c.name_key).where(SOURCES.c.id == source_id)).scalar_one()
    _delete_rows(transaction, CASES.c.source_id == source_id)
    transaction.delete(INTAKES, INTAKES.c.source_id == source_id)
    transaction.delete(SOURCES, SOURCES.c.id == source_id)
    is_over = WAITING.c.state.in_(("done", "failed"))
    transaction.execute(delete(WAITING).where(is_over, WAITING.c.name_key == key_id))
    transaction.delete(MASKINGS, MASKINGS.c.id.not_in(select(INTAKES.c.masking_id)))
    transaction.store.case_names = {}


def _count(counts: Counter[str], n_files: int = 0) -> Deleted:
    return Deleted(
        n_files=n_files,
        n_cases=counts["n_cases"],
        n_decisions=counts["n_decisions"],
        n_notes=counts["n_notes"],
        n_listed=counts["n_listed"],
        n_forms=counts["n_forms"],
    )


def _describe_work(deleted: Deleted) -> str:
    work = f"{deleted.n_decisions} decisions, {deleted.n_notes} notes, {deleted.n_forms} causality forms"
    return f"{work}, {deleted.n_listed} list entries" if deleted.n_listed else work


def _delete_cases(store: ReviewStore, source_id: int, case_ids: Sequence[int], by: str) -> Deleted:
    with store.reading() as transaction:
        source = _read_source(transaction, source_id)
        cases = [
            case
            for ids in _in_parts(case_ids)
            for case in transaction.execute(select(CASES).where(CASES.c.id.in_(ids))).all()
        ]
        data = _take_out(transaction, source, [one.number for one in cases])
    with store.writing() as transaction:
        lock_numbers(transaction)
        if _read_source(transaction, source_id).sealed != source.sealed:
            raise ReviewError(
                _("file {source_id} was changed by somebody else. Try again", source_id=source_id)
            )
        _delete_copies(transaction, SOURCES.c.id == source_id)
        sealed = store.sealer.seal(data, place_of(SOURCES.c.sealed, {"id": source_id}))
        transaction.update(SOURCES, SOURCES.c.id == source_id, sealed=sealed)
        content_hash = hash_file(store.file_key, data)
        facts = seal_facts(transaction, source_id, _forget_case(transaction, source_id, len(case_ids)))
        mine = INTAKES.c.source_id == source_id
        transaction.update(INTAKES, mine, content_hash=content_hash, sealed_facts=facts)
        _forget_uploads(transaction)
        transaction.record(
            *[TrailEvent(user=by, event="case deleted", case=one.id, name=one.name) for one in cases]
        )
        counts: Counter[str] = Counter()
        for ids in _in_parts(case_ids):
            counts += _delete_rows(transaction, CASES.c.id.in_(ids))
    return _count(counts)


def _forget_case(transaction: Transaction, source_id: int, n_cases: int) -> FileFacts:
    """Return the facts of a file without what they say of single cases, and with fewer cases."""
    facts = read_facts_of(transaction, [source_id])[source_id]
    n_documents = max(0, facts.n_documents - n_cases)
    return msgspec.structs.replace(
        facts,
        n_documents=n_documents,
        n_other_language=min(facts.n_other_language, n_documents),
        other_language=(),
        failures=(),
    )


def _forget_uploads(transaction: Transaction) -> None:
    """Delete the notes on uploads that are over, which may tell of what is deleted, and keys of no file."""
    transaction.execute(delete(WAITING).where(WAITING.c.state.in_(("done", "failed"))))
    transaction.names.drop_unused()
    transaction.store.case_names = {}


def _delete_copies(transaction: Transaction, mine: ColumnElement[bool]) -> None:
    """Delete what waits of files, as if it were masked again it would bring back what is deleted."""
    # `mine` is a condition on `SOURCES`. Whoever lets one of them wait finishes that step first.
    keys = transaction.execute(select(SOURCES.c.name_key).where(mine).with_for_update()).scalars().all()
    for some in _in_parts(keys):
        waiting = select(WAITING.c.id).where(WAITING.c.name_key.in_(some))
        transaction.execute(delete(WAITING_PIECES).where(WAITING_PIECES.c.waiting_id.in_(waiting)))
        transaction.execute(delete(WAITING).where(WAITING.c.name_key.in_(some)))


def _read_source(transaction: Transaction, source_id: int) -> Row[Any]:
    source = transaction.execute(select(SOURCES).where(SOURCES.c.id == source_id)).one_or_none()
    if source is None:
        raise ReviewError(_("the store has no file {source_id}", source_id=source_id))
    return source


def _in_parts(case_ids: Sequence[int]) -> Iterator[Sequence[int]]:
    return (case_ids[i : i + _IDS_AT_ONCE] for i in range(0, len(case_ids), _IDS_AT_ONCE))


def _take_out(transaction: Transaction, source: Row[Any], numbers: Collection[int]) -> bytes:
    # All others are exactly as they were.
    kind = FORMATS[source.format]
    if kind.blank is None:
        raise ReviewError(_refuse(kind))
    output = read_masking(transaction, source.id).output
    options = replace(output.read_options, profile=output.profile)
    file = GivenFile(
        transaction.names.open(source.name), kind, open_source(transaction, source.id, source.sealed)
    )
    written, problem = None, ""
    try:
        with borrow_worker() as worker:
            written = worker.call(take_out, file, options, frozenset(numbers), n_bytes=len(file.data))
    except InverseDeidError as error:
        problem = str(error)
    if problem:
        raise ReviewError(
            _(
                "file {id} cannot be read without the case ({problem}). Delete the whole file, and add the "
                "other cases again",
                id=source.id,
                problem=problem,
            )
        )
    if written is None:
        raise ReviewError(
            _(
                "file {id} would be read in another way without the case. Delete the whole file, and add "
                "the other cases again",
                id=source.id,
            )
        )
    return written


def _refuse(kind: Format) -> str:
    return _(
        "a {kind} file cannot be written without one of its cases. Delete the whole file, and add the "
        "other cases again.",
        kind=kind,
    )


def _delete_rows(transaction: Transaction, mine: ColumnElement[bool]) -> Counter[str]:
    # `mine` is a condition on `CASES`.
    # Whoever works on one of the cases finishes that step first.
    transaction.execute(select(CASES.c.id).where(mine).order_by(CASES.c.id).with_for_update()).all()
    cases = select(CASES.c.id).where(mine)
    layers = select(LAYERS.c.id).where(LAYERS.c.case_id.in_(cases))
    # A sample without some of its cases would prove less than it says.
    samples = select(SAMPLE_CASES.c.sample_id).where(SAMPLE_CASES.c.case_id.in_(cases))
    broken = transaction.execute(samples.distinct()).scalars().all()

    def remove(table: Table, condition: ColumnElement[bool]) -> int:
        if table in SEALED:
            return transaction.delete(table, condition)
        return transaction.execute(delete(table).where(condition)).rowcount

    remove(SAMPLE_CASES, SAMPLE_CASES.c.sample_id.in_(broken))
    remove(SAMPLES, SAMPLES.c.id.in_(broken))
    n_decisions = remove(ACTIONS, ACTIONS.c.layer_id.in_(layers))
    remove(LAYERS, LAYERS.c.case_id.in_(cases))
    n_listed = remove(LISTED_WORDS, LISTED_WORDS.c.case_id.in_(cases))
    n_notes = remove(NOTES, NOTES.c.case_id.in_(cases))
    n_forms = remove(FORMS, FORMS.c.case_id.in_(cases))
    remove(CONTENTS, CONTENTS.c.case_id.in_(cases))
    n_cases = remove(CASES, mine)
    return Counter(
        n_cases=n_cases, n_decisions=n_decisions, n_notes=n_notes, n_listed=n_listed, n_forms=n_forms
    )
