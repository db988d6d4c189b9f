"""Delete files with their cases, so that no byte of their sealed text is left in the file of the store.

SQLite overwrites what is deleted (`secure_delete`). Older pages can be left in the write-ahead log, so the
database is rebuilt and the log is cut off afterwards. PostgreSQL rewrites the tables; its own logs and
backups keep deleted rows until the server recycles them. The trail stays: it has counts, names and offsets,
and no text.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from sqlalchemy import ColumnElement, Connection, Select, Table, delete, select

from inverse_deid.core.errors import ReviewError
from inverse_deid.review.rows import SealedRows
from inverse_deid.review.schema import lock_numbers
from inverse_deid.review.store import ReviewStore
from inverse_deid.review.tables import (
    ACTIONS,
    CASES,
    CONTENTS,
    FORMS,
    INTAKES,
    LAYERS,
    MASKINGS,
    NOTES,
    SAMPLE_CASES,
    SAMPLES,
    SOURCES,
    WAITING_PIECES,
)
from inverse_deid.review.trail import TrailEvent, append

_HOLD_TEXT = (CONTENTS, SOURCES, NOTES, FORMS, WAITING_PIECES)


@dataclass(frozen=True, slots=True, kw_only=True)
class Deleted:
    """What was deleted. `n_decisions` counts actions of users, `n_forms` causality forms.

    `is_erased` is False if other users were reading, so that old pages are still in the file of the store:
    `erase` removes them later.
    """

    n_files: int
    n_cases: int
    n_decisions: int
    n_notes: int
    n_forms: int
    is_erased: bool = False


def delete_source(store: ReviewStore, source_id: int, *, by: str) -> Deleted:
    """Delete one file with its cases and all work on them.

    Raises:
        ReviewError: The file does not exist.
    """
    return _delete(store, source_id, by)


def delete_everything(store: ReviewStore, by: str) -> Deleted:
    """Delete all files with their cases and all work on them; accounts and the trail stay."""
    return _delete(store, None, by)


def erase(store: ReviewStore) -> bool:
    """Remove what was deleted from the file of the store; return whether nothing is left in it."""
    return store.rewrite([table.name for table in _HOLD_TEXT])


def _delete(store: ReviewStore, source_id: int | None, by: str) -> Deleted:
    """Delete one file or (None) all in one transaction, then erase what was deleted."""
    chosen = select(SOURCES.c.id)
    if source_id is not None:
        chosen = chosen.where(SOURCES.c.id == source_id)
    with store.writing() as connection:
        lock_numbers(connection, store.rows)
        deleted = _delete_rows(connection, store.rows, chosen)
        if source_id is not None and not deleted.n_files:
            raise ReviewError(f"the store has no file {source_id}")
        counts = (
            f"{deleted.n_files} files, {deleted.n_cases} cases, {deleted.n_decisions} decisions, "
            f"{deleted.n_notes} notes, {deleted.n_forms} causality forms"
        )
        what = "everything" if source_id is None else f"file {source_id}"
        append(connection, store, [TrailEvent(user=by, event=f"{what} deleted: {counts}")])
    return replace(deleted, is_erased=erase(store))


def _delete_rows(connection: Connection, sealed: SealedRows, chosen: Select[tuple[int]]) -> Deleted:
    """Delete files and all rows that belong to them; `chosen` selects their numbers."""
    mine = CASES.c.source_id.in_(chosen)
    # Whoever works on one of the cases finishes that step first.
    connection.execute(select(CASES.c.id).where(mine).order_by(CASES.c.id).with_for_update()).all()
    cases = select(CASES.c.id).where(mine)
    layers = select(LAYERS.c.id).where(LAYERS.c.case_id.in_(cases))
    # A sample without some of its cases would prove less than it says.
    samples = select(SAMPLE_CASES.c.sample_id).where(SAMPLE_CASES.c.case_id.in_(cases))
    broken = connection.execute(samples.distinct()).scalars().all()

    def remove(table: Table, condition: ColumnElement[bool]) -> int:
        return sealed.delete(connection, table, condition)

    remove(SAMPLE_CASES, SAMPLE_CASES.c.sample_id.in_(broken))
    remove(SAMPLES, SAMPLES.c.id.in_(broken))
    n_decisions = connection.execute(delete(ACTIONS).where(ACTIONS.c.layer_id.in_(layers))).rowcount
    remove(LAYERS, LAYERS.c.case_id.in_(cases))
    n_notes = connection.execute(delete(NOTES).where(NOTES.c.case_id.in_(cases))).rowcount
    n_forms = remove(FORMS, FORMS.c.case_id.in_(cases))
    connection.execute(delete(CONTENTS).where(CONTENTS.c.case_id.in_(cases)))
    n_cases = remove(CASES, mine)
    remove(INTAKES, INTAKES.c.source_id.in_(chosen))
    n_files = remove(SOURCES, SOURCES.c.id.in_(chosen))
    remove(MASKINGS, MASKINGS.c.id.not_in(select(INTAKES.c.masking_id)))
    return Deleted(
        n_files=n_files, n_cases=n_cases, n_decisions=n_decisions, n_notes=n_notes, n_forms=n_forms
    )
