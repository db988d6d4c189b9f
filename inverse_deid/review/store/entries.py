"""The entries of the trail and its head: each entry contains the hash of the one before it.

The last hash and the number of entries are sealed with the key of the store (HMAC), so that none can be cut
off at the end. `trail` reads and checks what is written here.
"""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import msgspec
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from sqlalchemy import Connection, insert, select, update

from inverse_deid.core.errors import UnreadableInputError
from inverse_deid.core.wording import _
from inverse_deid.review.store.tables import TRAIL, TRAIL_HEAD

NO_HASH = "0" * 64


@dataclass(frozen=True, slots=True, kw_only=True)
class TrailEvent:
    """What a user did to a case (by its number), to a text of it, or to something else (None)."""

    user: str
    event: str
    case: int | None = None
    name: str | None = None  # the id of the case in its source file
    document: str | None = None  # the name of a text of the case
    start: int | None = None  # code points
    end: int | None = None  # after the last one
    category: str | None = None  # of masked tokens
    old: str | None = None  # a decision
    new: str | None = None  # a decision


class TrailHead(msgspec.Struct, frozen=True):
    n_entries: int = -1
    hash: str = ""
    seal: str = ""
    signature: str = ""

    def is_signed(self, public_key: Ed25519PublicKey) -> bool:
        try:
            public_key.verify(bytes.fromhex(self.signature), self.signed)
        except (InvalidSignature, ValueError):
            return False
        return True

    @property
    def signed(self) -> bytes:
        return f"inverse-deid head of a trail {self.n_entries} {self.hash}".encode()

    def is_sealed(self, key: bytes) -> bool:
        # SQLite stores a text of any length in any column.
        is_head = type(self.n_entries) is int and len(self.hash) == len(NO_HASH)
        right = _seal(key, self.n_entries, self.hash)
        return is_head and hmac.compare_digest(self.seal.encode(), right.encode())


def find_head(connection: Connection, *, locks: bool = False) -> TrailHead | None:
    """Return the head of the trail, None = it is missing. One that cannot be read fits no trail."""
    found = select(TRAIL_HEAD.c.n_entries, TRAIL_HEAD.c.hash, TRAIL_HEAD.c.seal)
    row = connection.execute(found.with_for_update() if locks else found).one_or_none()
    try:
        if row is None:
            return None
        return msgspec.convert({"n_entries": row.n_entries, "hash": row.hash, "seal": row.seal}, TrailHead)
    except msgspec.ValidationError:
        return TrailHead()


def begin_trail(connection: Connection, key: bytes) -> None:
    """Seal an empty trail in a new store."""
    head = {"id": 1, "n_entries": 0, "hash": NO_HASH, "seal": _seal(key, 0, NO_HASH)}
    connection.execute(insert(TRAIL_HEAD), head)


def lock_head(connection: Connection, key: bytes) -> TrailHead:
    """Return the head of the trail, which nobody else changes until the transaction ends.

    Raises:
        UnreadableInputError: It was altered.
    """
    head = find_head(connection, locks=True)
    if head is None or not head.is_sealed(key):
        raise refuse_head()
    return head


def store_head(connection: Connection, key: bytes, n_entries: int, last: str) -> None:
    values = {"n_entries": n_entries, "hash": last, "seal": _seal(key, n_entries, last)}
    connection.execute(update(TRAIL_HEAD).values(**values))


def write_entries(
    connection: Connection,
    key: bytes,
    head: TrailHead,
    at: float,
    entries: Sequence[Mapping[str, Any]],
    changed: Mapping[str, Any],
) -> None:
    """Write entries after a head that is locked; the last one also has what was `changed`."""
    number, previous, lines = head.n_entries, head.hash, []
    time = datetime.fromtimestamp(at, UTC).isoformat(timespec="microseconds")
    for entry in entries:
        number += 1
        more = changed if entry is entries[-1] else {}
        line = encode_entry({"number": number, "at": time, **entry, **more, "previous": previous})
        previous = hash_line(line)
        lines.append({"number": number, "line": line, "hash": previous})
    connection.execute(insert(TRAIL), lines)
    store_head(connection, key, number, previous)


def refuse_head() -> UnreadableInputError:
    return UnreadableInputError(
        _(
            "the head of the trail was altered outside the program. Run inverse-deid review verify, and "
            "restore a backup"
        )
    )


def encode_entry(entry: Mapping[str, Any]) -> str:
    return json.dumps(entry, sort_keys=True, separators=(",", ":"))


def hash_line(line: str) -> str:
    """Return the hash of an entry, which the next one contains."""
    return hashlib.sha256(line.encode()).hexdigest()


def _seal(key: bytes, n_entries: int, last: str) -> str:
    return hmac.digest(key, f"{n_entries} {last}".encode(), "sha256").hex()
