"""The trail: who changed which token of which case from what to what, and when; never a word of text.

Every entry holds the SHA-256 of the one before it, so that none can be changed, taken out or moved. The
last hash and the number of entries are sealed with the key of the store (HMAC), so that none can be cut
off at the end either. Who has the key can forge a trail, and a whole store can be put back to an older
copy: export the trail regularly to a place of its own.

A line of the export is `{"entry": ..., "hash": ...}`; the last line is the sealed head.
"""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, insert, select, update

from inverse_deid.core.errors import OutputExistsError, UnreadableInputError
from inverse_deid.core.files import PartialFile
from inverse_deid.formats.registry import input_errors, open_input
from inverse_deid.review.keys import ReviewKey
from inverse_deid.review.store import ReviewStore
from inverse_deid.review.tables import TRAIL, TRAIL_HEAD

NO_HASH = "0" * 64
MAX_PROBLEMS = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class TrailEvent:
    """One thing that happened.

    Args:
        user: Who did it.
        event: What was done.
        case: Number of the case in the store, None = it concerns no case.
        name: Id of the case in its source file.
        document: Name of the text of the case.
        start: Where it begins in the document, in code points.
        end: Where it ends.
        category: Of the tokens, if they are masked.
        old: The decision before.
        new: The decision now.
    """

    user: str
    event: str
    case: int | None = None
    name: str | None = None
    document: str | None = None
    start: int | None = None
    end: int | None = None
    category: str | None = None
    old: str | None = None
    new: str | None = None


@dataclass(frozen=True, slots=True)
class TrailCheck:
    """What a verification found.

    Args:
        n_entries: Entries that are there.
        problems: One sentence each, naming the entry by its number; empty = all is well.
    """

    n_entries: int
    problems: tuple[str, ...]

    @property
    def is_intact(self) -> bool:
        """Whether nothing was found."""
        return not self.problems


def begin_trail(connection: Connection, key: bytes) -> None:
    """Seal an empty trail in a new store."""
    head = {"id": 1, "n_entries": 0, "hash": NO_HASH, "seal": _seal(key, 0, NO_HASH)}
    connection.execute(insert(TRAIL_HEAD), head)


def append(connection: Connection, store: ReviewStore, events: Sequence[TrailEvent]) -> None:
    """Append to the trail, in the transaction of what happened; nothing else is locked after it."""
    if not events:
        return
    head = connection.execute(select(TRAIL_HEAD).with_for_update()).one()
    number, previous, rows = head.n_entries, head.hash, []
    at = datetime.fromtimestamp(store.now(), UTC).isoformat(timespec="microseconds")
    facts, pair = store.facts, store.facts.thresholds
    made_by = {
        "model": facts.model_sha256 or facts.fingerprint,
        "thresholds": [None, None] if pair is None else [pair.low, pair.high],
    }
    for one in events:
        number += 1
        entry = {"number": number, "at": at, **asdict(one), **made_by, "previous": previous}
        line = _canonical(entry)
        previous = _hash(line)
        rows.append({"number": number, "line": line, "hash": previous})
    connection.execute(insert(TRAIL), rows)
    seal = _seal(store.trail_key, number, previous)
    connection.execute(update(TRAIL_HEAD).values(n_entries=number, hash=previous, seal=seal))


def verify_store(store: ReviewStore) -> TrailCheck:
    """Check the trail of a store from its first entry to its sealed head."""
    with store.reading() as connection:
        rows = connection.execute(select(TRAIL).order_by(TRAIL.c.number)).yield_per(1000)
        chain = _Chain()
        for row in rows:
            chain.add(row.line, row.hash)
            if chain.n != row.number:
                chain.complain(f"entry {row.number} stands in place {chain.n}: one is missing, or was moved")
        head = connection.execute(select(TRAIL_HEAD)).one_or_none()
    return chain.checked(None if head is None else (head.n_entries, head.hash, head.seal), store.trail_key)


def verify_export(path: Path, key: ReviewKey | None) -> TrailCheck:
    """Check an exported trail; without the key, all but the seal of its end.

    Raises:
        UnreadableInputError: The file cannot be read.
    """
    chain = _Chain()
    head: tuple[int, str, str] | None = None
    for parsed in _parsed_lines(path):
        if head is not None:
            chain.complain("something stands behind the head")
        if isinstance(parsed.get("entry"), dict):
            chain.add(_canonical(parsed["entry"]), str(parsed.get("hash")))
        elif isinstance(parsed.get("head"), dict):
            found = parsed["head"]
            head = (int(found.get("n_entries", -1)), str(found.get("hash")), str(found.get("seal")))
        else:
            chain.complain(f"the line behind entry {chain.n} is no entry of a trail")
    return chain.checked(head, None if key is None else key.derived("trail"))


def export_trail(store: ReviewStore, path: Path, *, force: bool = False) -> int:
    """Write the trail as JSON Lines; how many entries it has.

    Raises:
        OutputExistsError: The file is there.
        OutputError: It cannot be written.
    """
    if path.exists() and not force:
        raise OutputExistsError(f"{path} exists already; give --force to overwrite it")
    file = PartialFile(path, private=True)
    is_complete = False
    try:
        with store.reading() as connection:
            head = connection.execute(select(TRAIL_HEAD)).one()
            for line in _lines(connection):
                file.write(line.encode() + b"\n")
        last = {"head": {"n_entries": head.n_entries, "hash": head.hash, "seal": head.seal}}
        file.write(_canonical(last).encode() + b"\n")
        file.sync()
        is_complete = True
    finally:
        file.commit() if is_complete else file.discard()
    return int(head.n_entries)


def entries_of(store: ReviewStore, case_id: int) -> tuple[dict[str, Any], ...]:
    """The entries on one case in order, for an adjudicator or admin."""
    with store.reading() as connection:
        found = select(TRAIL.c.line).where(TRAIL.c.line.contains(f'"case":{case_id},', autoescape=True))
        lines = connection.execute(found.order_by(TRAIL.c.number)).scalars().all()
    entries: Iterable[dict[str, Any]] = map(json.loads, lines)
    return tuple(entry for entry in entries if entry["case"] == case_id)


class _Chain:
    """Follows the hashes from entry to entry."""

    def __init__(self) -> None:
        self.n = 0
        self._last = NO_HASH
        self._problems: list[str] = []

    def complain(self, problem: str) -> None:
        """Note a problem."""
        self._problems.append(problem)

    def add(self, line: str, stated_hash: str) -> None:
        """Check one entry."""
        self.n += 1
        entry = _loaded(line)
        if entry.get("number") != self.n:
            self.complain(f"entry {self.n} calls itself another number: one is missing, or was moved")
        elif entry.get("previous") != self._last:
            self.complain(f"entry {self.n} does not follow the one before it")
        if _hash(line) != stated_hash:
            self.complain(f"entry {self.n} was changed after it was written")
        self._last = stated_hash

    def checked(self, head: tuple[int, str, str] | None, key: bytes | None) -> TrailCheck:
        """Hold the end against the sealed head."""
        if head is None:
            self.complain("the sealed head is missing")
        else:
            n_entries, last, seal = head
            if key is not None and not hmac.compare_digest(seal, _seal(key, n_entries, last)):
                self.complain("the seal of the head is broken, or the key is another one")
            if n_entries != self.n or last != self._last:
                self.complain(f"the trail ends at entry {self.n}, but its head says {n_entries}")
        return TrailCheck(self.n, tuple(self._problems[:MAX_PROBLEMS]))


def _lines(connection: Connection) -> Iterator[str]:
    for row in connection.execute(select(TRAIL).order_by(TRAIL.c.number)).yield_per(1000):
        yield f'{{"entry":{row.line},"hash":"{row.hash}"}}'


def _parsed_lines(path: Path) -> Iterator[dict[str, Any]]:
    """The objects of a file; what is none becomes an empty one."""
    try:
        with input_errors(), open_input(path) as stream:
            for line in stream:
                yield _loaded(line.decode("utf-8", "replace"))
    except UnreadableInputError as error:
        raise UnreadableInputError(f"{path} {error}") from None


def _loaded(line: str) -> dict[str, Any]:
    try:
        parsed = json.loads(line)
    except (ValueError, RecursionError):
        return {}
    return parsed if isinstance(parsed, dict) else {}


def _canonical(entry: dict[str, Any]) -> str:
    return json.dumps(entry, sort_keys=True, separators=(",", ":"))


def _hash(line: str) -> str:
    return hashlib.sha256(line.encode()).hexdigest()


def _seal(key: bytes, n_entries: int, last: str) -> str:
    return hmac.digest(key, f"{n_entries} {last}".encode(), "sha256").hex()
