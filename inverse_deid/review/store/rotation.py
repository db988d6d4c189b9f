"""Give a store another key, and encrypt everything again, so that the old key opens nothing in it.

The first step is one transaction: the store gets new keys, encrypted with the new key, all rows and the trail
get new seals, and all sessions end. From then on the old key does not open the store. Programs that have it
open cannot write any more and must be started again.

Large values are then encrypted again, some at a time. Meanwhile the store has the old keys as well, and works
as usual. At the end they are dropped and the file is rebuilt. After a crash the same command resumes: a value
that the newest key opens is done.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from sqlalchemy import Row, Table, and_, delete, select, true, tuple_, update

from inverse_deid.core.errors import ConfigurationError, ReviewError, UnreadableInputError
from inverse_deid.core.wording import _
from inverse_deid.review.store.deletion import erase
from inverse_deid.review.store.entries import TrailEvent, lock_head, store_head
from inverse_deid.review.store.keys import ReviewKey, StoreKeys
from inverse_deid.review.store.opening import Clock, ReviewStore, Transaction, open_store
from inverse_deid.review.store.rows import SEALED, check_content, hash_content
from inverse_deid.review.store.sources import hash_file, open_source
from inverse_deid.review.store.tables import (
    CONTENTS,
    ENCRYPTED,
    FAILURES,
    INTAKES,
    KEYS,
    KNOWN,
    META,
    METADATA,
    SESSIONS,
    SIGNERS,
    SOURCES,
    WAITING_PIECES,
    place_of,
)
from inverse_deid.review.store.trail import SEALED_EVENT, read_recorded

_LARGE = {CONTENTS: 200, SOURCES: 1, WAITING_PIECES: 16}
"""Tables whose values are encrypted again in many transactions, and their rows in one."""


@dataclass(frozen=True, slots=True)
class Rotated:
    """What was done: values encrypted again, values that are damaged and stay as they were."""

    n_values: int
    n_damaged: int  # these stay as they were
    is_erased: bool  # False if others were reading: old pages are still in the file of the store


def rotate_key(
    address: str | Path, key: ReviewKey, new_key: ReviewKey, *, by: str, clock: Clock = time.time
) -> Rotated:
    """Give a store another key, or resume to do so.

    Raises:
        ConfigurationError: Both keys are the same, or none belongs to the store.
        ReviewError: The trail or a row was altered, and new seals would hide it.
    """
    if key.secret == new_key.secret:
        raise ConfigurationError(
            _("the new key is the old one. Make another with: inverse-deid key new FILE")
        )
    n_values = n_damaged = 0
    with _open_begun(address, key, new_key, by=by, clock=clock) as store:
        if len(store.keys.data) > 1:
            for table, n_rows in _LARGE.items():
                for n_renewed, n_lost in _encrypt_again(store, table, n_rows, by=by):
                    n_values += n_renewed
                    n_damaged += n_lost
            _finish(store, new_key, by=by)
        return Rotated(n_values, n_damaged, erase(store))


def _open_begun(
    address: str | Path, key: ReviewKey, new_key: ReviewKey, *, by: str, clock: Clock
) -> ReviewStore:
    # An earlier run may have given it this key.
    try:
        return open_store(address, new_key, clock=clock)
    except ConfigurationError:
        with open_store(address, key, clock=clock) as store:
            _begin(store, new_key, by=by)
    return open_store(address, new_key, clock=clock)


def _begin(store: ReviewStore, new_key: ReviewKey, *, by: str) -> None:
    data = (ReviewKey(os.urandom(32)), *store.keys.data)
    keys = replace(
        store.keys,
        data=data,
        trail=new_key.derive("trail"),
        signatures=new_key.derive("signatures"),
        generation=store.keys.generation + 1,
    )
    new = store.with_keys(keys)
    with store.writing(alone=True) as old:
        store.check_state(old)  # another change of the key can have been faster
        recorded = read_recorded(old)
        head = lock_head(old.connection, store.trail_key)
        store_head(old.connection, new.trail_key, head.n_entries, head.hash)
        transaction = Transaction(old.connection, new)
        transaction.record(TrailEvent(user=by, event="key changed: all sessions ended"))
        # Triggers could forge rows at any moment: a row is checked as it was read for its new seal.
        reseal(transaction, by=by, check=partial(recorded.check, store.seals))
        if missing := recorded.list_missing():
            raise ReviewError(_("{problem}. Restore a backup", problem=missing[0].problem))
        transaction.delete(SESSIONS, true())
        for table in (FAILURES, KNOWN):  # hashes that nobody can compare any more
            transaction.execute(delete(table))
        transaction.update(META, META.c.name == KEYS, value=keys.wrap(new_key))
        _keep_signer(transaction, keys_before=store.keys)
        for table in METADATA.sorted_tables:
            if table in _LARGE or not any(column in ENCRYPTED for column in table.c):
                continue
            for row in transaction.execute(select(table)).all():
                _renew(transaction, table, row)
        transaction.finish()


def _keep_signer(transaction: Transaction, *, keys_before: StoreKeys) -> None:
    # Anchors that the old key signed can still be checked.
    before = (
        Ed25519PrivateKey.from_private_bytes(keys_before.signatures).public_key().public_bytes_raw().hex()
    )
    rows = transaction.read(select(META).where(META.c.name == SIGNERS), META)
    if rows:
        signers = [*json.loads(rows[0].value), before]
        transaction.update(META, META.c.name == SIGNERS, value=json.dumps(signers))
    else:
        transaction.insert(META, {"name": SIGNERS, "value": json.dumps([before])})


def reseal(transaction: Transaction, *, by: str, check: Callable[[Table, Mapping[str, Any]], None]) -> None:
    """Seal all rows that a check lets pass, and let the replay begin here; the trail has its new head."""
    counts = [f"{transaction.seal_again(table, check)} {table.name}" for table in SEALED]
    transaction.record(TrailEvent(user=by, event=f"{SEALED_EVENT}: {', '.join(counts)}"))


def _encrypt_again(store: ReviewStore, table: Table, n_rows: int, *, by: str) -> Iterator[tuple[int, int]]:
    # Yield after each step how many, and how many are damaged.
    keys = list(table.primary_key)
    last: Sequence[Any] | None = None
    while True:
        found = select(table).order_by(*keys).limit(n_rows).with_for_update()
        if last is not None:
            found = found.where(tuple_(*keys) > tuple_(*last))
        with store.writing() as transaction:
            rows = transaction.execute(found).all()
            done = [_renew(transaction, table, row) for row in rows]
            if table is SOURCES and rows and done[0][0]:
                _hash_again(transaction, rows[0], by=by)
            elif table is CONTENTS and any(n_renewed for n_renewed, _ in done):
                about = f"cases {rows[0].case_id} to {rows[-1].case_id}"
                transaction.record(TrailEvent(user=by, event=f"{about} encrypted with the new key"))
        if not rows:
            return
        last = [rows[-1]._mapping[key] for key in keys]
        yield sum(n for n, _ in done), sum(n for _, n in done)


def _renew(transaction: Transaction, table: Table, row: Row[Any]) -> tuple[int, int]:
    # How many it were, and how many are damaged.
    before = dict(row._mapping)
    values: dict[str, bytes] = {}
    n_damaged = 0
    for column in table.c:
        sealed = before[column.name]
        if column not in ENCRYPTED or sealed is None:
            continue
        try:
            _check_hash(transaction, table, before)
            renewed = transaction.sealer.renew(sealed, place_of(column, before))
        except UnreadableInputError:
            n_damaged += 1
        else:
            values |= {} if renewed is None else {column.name: renewed}
    if values:
        mine = and_(*(key == before[key.name] for key in table.primary_key))
        if table is CONTENTS:
            both = before | values
            new_hash = hash_content(both["sealed_text"], both["sealed_tokens"])
            transaction.update(table, mine, **values, content_hash=new_hash)
        elif table in SEALED and table is not SOURCES:
            transaction.update(table, mine, **values)
        else:
            transaction.execute(update(table).where(mine).values(**values))
    return len(values), n_damaged


def _check_hash(transaction: Transaction, table: Table, row: Mapping[str, Any]) -> None:
    """Refuse a text or file in the place of another, as a new hash would hide it."""
    if table is CONTENTS:
        check_content(row)
    elif table is SOURCES:
        open_source(transaction, row["id"], row["sealed"])


def _hash_again(transaction: Transaction, source: Row[Any], *, by: str) -> None:
    # Only the new key can compare the hash.
    data = open_source(transaction, source.id, source.sealed)
    content_hash = hash_file(transaction.store.file_key, data)
    transaction.update(INTAKES, INTAKES.c.source_id == source.id, content_hash=content_hash)
    transaction.record(TrailEvent(user=by, event=f"file {source.id} encrypted with the new key"))


def _finish(store: ReviewStore, new_key: ReviewKey, *, by: str) -> None:
    # Nothing needs them any more.
    keys = replace(store.keys, data=store.keys.data[:1])
    with store.writing() as transaction:
        transaction.update(META, META.c.name == KEYS, value=keys.wrap(new_key))
        transaction.record(TrailEvent(user=by, event="key changed: everything is encrypted with it"))
