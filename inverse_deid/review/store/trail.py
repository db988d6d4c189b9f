"""The trail: who changed which token of which case from what to what, and when; never a word of text.

Every entry contains the SHA-256 of the one before it, so that none can be changed, removed or moved. The
last hash and the number of entries are sealed with the key of the store (HMAC), so that none can be cut
off at the end. Anyone with the key can forge a trail, and a whole store can be replaced by an older
copy: export the trail regularly to a separate place, or anchor it (`anchors`).

A line of the export is `{"entry": ..., "hash": ...}`; the last line is the sealed head with a signature.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Set
from dataclasses import dataclass, fields, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

import msgspec
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from sqlalchemy import Row, or_, select

from inverse_deid.core.errors import (
    OVERWRITE,
    NotAllowedError,
    OutputExistsError,
    ReviewError,
    UnreadableInputError,
)
from inverse_deid.core.files import write_whole
from inverse_deid.core.wording import N_, _
from inverse_deid.formats.registry import input_errors, open_input
from inverse_deid.review.store import rows
from inverse_deid.review.store.entries import (
    NO_HASH,
    TrailEvent,
    TrailHead,
    encode_entry,
    find_head,
    hash_line,
    refuse_head,
)
from inverse_deid.review.store.keys import ReviewKey
from inverse_deid.review.store.opening import ReviewStore, Transaction
from inverse_deid.review.store.sources import open_source
from inverse_deid.review.store.tables import (
    CONTENTS,
    ENCRYPTED,
    META,
    NAMES,
    SIGNERS,
    SOURCES,
    TRAIL,
    place_of,
)

Anchors = Mapping[int, Set[str]]
"""Hashes of earlier entries by number. More than one of an entry are of trails that contradict each other."""
PAGE_ENTRIES = 100
ORIGINAL_SHOWN = "original shown"
"""A user saw the original of a case; `new` is the way: `reading page`, `dispute`, `causality form`, `import`,
`export jsonl` and the like. Values of a file that waits are `original of a file shown`. The masked text of an
agreed or released case is `masked text shown`, by `finished case`, `causality form` or `sample`."""
_NAMES = ("name", "document")
UNREADABLE = N_("this entry cannot be read")
MAX_PROBLEMS = 20
SEALED_EVENT = "rows sealed"
"""How the event begins from which on the replay of a trail explains the tables."""


@dataclass(frozen=True, slots=True)
class TrailCheck:
    """Result of a verification: the entries found and one sentence per problem."""

    n_entries: int
    problems: tuple[str, ...]
    notes: tuple[str, ...] = ()  # where a clock was put back, which is not a problem

    @property
    def is_intact(self) -> bool:
        return not self.problems


@dataclass(frozen=True, slots=True, kw_only=True)
class TrailFilter:
    """Which entries are shown: part of the name of a case (in capitals or not), a user, beginnings of events.

    Empty = all.
    """

    case: str = ""
    user: str = ""
    events: tuple[str, ...] = ()

    def admits(self, one: TrailEvent) -> bool:
        return (
            self.case.lower() in (one.name or "").lower()
            and self.user in ("", one.user)
            and (not self.events or one.event.startswith(self.events))
        )


@dataclass(frozen=True, slots=True)
class TrailEntry:
    """One entry: its number from 1, its time (ISO 8601, UTC, "" = cannot be read) and its event."""

    number: int
    at: str
    event: TrailEvent


def verify_store(store: ReviewStore, anchors: Anchors = MappingProxyType({})) -> TrailCheck:
    """Check the trail of a store from its first entry to its sealed head, and all rows against it.

    Every encrypted value is opened.

    `anchors` are hashes of earlier entries by number, see `read_anchors`.
    """
    with store.reading(snapshot=True) as transaction:
        check, suspects = _replay(transaction, anchors)
        unopened = [*_find_unopened(transaction), *_find_unnamed(transaction)]
    problems = (*check.problems, *(one.problem for one in suspects), *unopened)
    return replace(check, problems=problems[:MAX_PROBLEMS])


def _find_unopened(transaction: Transaction) -> Iterator[str]:
    # One problem for each row with a value that cannot be opened in its place, or is not what a hash is of.
    for table in dict.fromkeys(column.table for column in ENCRYPTED):
        columns = [column for column in table.c if column in ENCRYPTED]
        found = select(table).order_by(*table.primary_key).execution_options(yield_per=1)
        for row in transaction.execute(found):
            values = row._mapping
            try:
                if table is CONTENTS:
                    rows.check_content(values)
                for column in columns:
                    if column is SOURCES.c.sealed:
                        open_source(transaction, values["id"], values["sealed"])
                    elif values[column.name] is not None or not column.nullable:
                        transaction.sealer.open(values[column.name], place_of(column, values))
            except UnreadableInputError:
                yield f"{rows.name_row(table, values)} has an encrypted value that was altered or swapped"


def _find_unnamed(transaction: Transaction) -> Iterator[str]:
    # One problem for each row with a name that cannot be opened.
    for table in dict.fromkeys(column.table for column in NAMES):
        columns = [*table.primary_key, *(column for column in table.c if column in NAMES)]
        for row in transaction.execute(select(*columns).order_by(*table.primary_key)).all():
            values = row._mapping
            try:
                for column in columns[len(table.primary_key) :]:
                    transaction.names.open(values[column.name])
            except UnreadableInputError:
                yield f"{rows.name_row(table, values)} has a name that was altered or whose key is missing"


def read_recorded(transaction: Transaction) -> rows.RecordedRows:
    """Check everything, and return what the trail says of all rows.

    Raises:
        ReviewError: The trail or a row was altered.
    """
    check, recorded = _follow(transaction)
    if not check.is_intact or list(recorded.copy().compare(transaction.connection, transaction.store.seals)):
        raise ReviewError(
            _("the trail or a row was altered. Run inverse-deid review verify, and restore a backup")
        )
    return recorded


def _replay(
    transaction: Transaction, anchors: Anchors = MappingProxyType({})
) -> tuple[TrailCheck, list[rows.Suspect]]:
    check, recorded = _follow(transaction, anchors)
    return check, list(recorded.compare(transaction.connection, transaction.store.seals))


def _follow(
    transaction: Transaction, anchors: Anchors = MappingProxyType({})
) -> tuple[TrailCheck, rows.RecordedRows]:
    chain, recorded = _HashChain(anchors), rows.RecordedRows()
    for row in transaction.execute(select(TRAIL).order_by(TRAIL.c.number)).yield_per(1000):
        link = chain.add(str(row.line), row.hash)
        if chain.n != row.number:
            chain.problems.append(
                _("entry {number} is in place {n}: one was removed or moved", number=row.number, n=chain.n)
            )
        recorded.follow(chain.n, link.case, link.rows, is_begin=link.event.startswith(SEALED_EVENT))
        chain.problems += recorded.compare_acting(chain.n, link.acting)
    return chain.check(find_head(transaction.connection), transaction.store.trail_key), recorded


@dataclass(frozen=True, slots=True)
class HeldBack:
    """Cases and files that must not be exported, by their ids, each with the reason."""

    cases: Mapping[int, str]
    sources: Mapping[int, str]


def check_for_export(transaction: Transaction) -> HeldBack:
    """Return what does not follow from the trail and concerns single cases or files.

    Raises:
        NotAllowedError: The trail is broken, or a row that concerns more than that does not follow from it.
    """
    check, suspects = _replay(transaction)
    problems = list(check.problems)
    cases: dict[int, str] = {}
    sources: dict[int, str] = {}
    for one in suspects:
        if one.case_id is not None:
            cases.setdefault(one.case_id, one.problem)
        elif one.source_id is not None:
            sources.setdefault(one.source_id, one.problem)
        else:
            problems.append(one.problem)
    if problems:
        raise NotAllowedError(
            _(
                "the store was altered outside the program: {problem}. Nothing is exported. Run "
                "inverse-deid review verify, and restore a backup",
                problem=problems[0],
            )
        )
    return HeldBack(cases, sources)


def verify_export(
    path: Path,
    key: ReviewKey | None,
    *,
    public_key: Ed25519PublicKey | None = None,
    anchors: Anchors = MappingProxyType({}),
) -> TrailCheck:
    """Check an exported trail, its end by the key of the store or by the public key of its signature.

    Without either, all is checked except the end. `anchors` are as `read_anchors` returns them.

    Raises:
        UnreadableInputError: The file cannot be read.
    """
    chain = _HashChain(anchors)
    head: TrailHead | None = None
    for parsed in read_lines(path):
        if head is not None:
            chain.problems.append(_("the head is followed by another line"))
        if isinstance(parsed.get("entry"), dict):
            chain.add(encode_entry(parsed["entry"]), str(parsed.get("hash")))
        elif isinstance(parsed.get("head"), dict):
            try:
                head = msgspec.convert(parsed["head"], TrailHead)
            except msgspec.ValidationError:
                chain.problems.append(_("the head cannot be read"))
                head = TrailHead()
        else:
            chain.problems.append(_("the line after entry {n} is not an entry of a trail", n=chain.n))
    check = chain.check(head, None if key is None else key.derive("trail"))
    if public_key is None or (head is not None and head.is_signed(public_key)):
        return check
    problem = _("the signature of the head is broken or missing, or the public key belongs to another store")
    return replace(check, problems=(*check.problems, problem))


@dataclass(frozen=True, slots=True)
class EarlierHeads:
    """What a file of anchors or an earlier export states: the hashes that are signed, and what is not."""

    anchors: Anchors
    problems: tuple[str, ...]  # one for each line without a signature of the keys


def read_anchors(path: Path, keys: Collection[Ed25519PublicKey]) -> EarlierHeads:
    """Return hashes of entries by number, from an earlier export of the trail or a file of anchors.

    A line that none of the keys signed is a problem and counts for nothing: anybody could have added it.

    Raises:
        UnreadableInputError: The file cannot be read, or has no head and no anchor.
    """
    found: dict[int, set[str]] = {}
    problems: list[str] = []
    is_empty = True
    for i, parsed in enumerate(read_lines(path), 1):
        given = parsed.get("anchor", parsed.get("head"))
        if given is None:
            continue
        is_empty = False
        try:
            head = msgspec.convert(given, TrailHead)
        except msgspec.ValidationError:
            raise UnreadableInputError(_("{path} has a line that cannot be read", path=path)) from None
        if any(head.is_signed(key) for key in keys):
            found.setdefault(head.n_entries, set()).add(head.hash)
        else:
            problems.append(
                _(
                    "line {i} of the anchors is not signed with a key of this store, or was changed. If they "
                    "have a signing key of their own, give its public key",
                    i=i,
                )
            )
    if is_empty:
        raise UnreadableInputError(
            _("{path} is neither an export of a trail nor a file of anchors", path=path)
        )
    return EarlierHeads(found, tuple(problems[:MAX_PROBLEMS]))


def list_public_keys(store: ReviewStore) -> list[Ed25519PublicKey]:
    """Return the public key of the store, and those of the keys that it had before."""
    with store.reading() as transaction:
        rows = transaction.read(select(META).where(META.c.name == SIGNERS), META)
    former = json.loads(rows[0].value) if rows else []
    known = [Ed25519PublicKey.from_public_bytes(bytes.fromhex(one)) for one in former]
    return [store.signer.public_key(), *known]


def describe_head(transaction: Transaction) -> dict[str, Any]:
    """Return the head of the trail with its signature.

    Raises:
        UnreadableInputError: It was altered so that it cannot be read.
    """
    head = _read_head(transaction)
    signature = transaction.store.signer.sign(head.signed).hex()
    return {"n_entries": head.n_entries, "hash": head.hash, "seal": head.seal, "signature": signature}


def list_entries(
    store: ReviewStore, chosen: TrailFilter, *, before: int | None = None, n_rows: int = PAGE_ENTRIES
) -> tuple[tuple[TrailEntry, ...], bool]:
    """Return entries, the latest first, and whether there are more.

    `before` is the number of the last entry of the page before; None = the first page. An entry that was
    altered so that it cannot be read is shown as such.
    """
    found = select(TRAIL.c.number, TRAIL.c.line).order_by(TRAIL.c.number.desc())
    if before is not None:
        found = found.where(TRAIL.c.number < before)
    # The database only narrows down; `admits` decides on the parsed entry.
    if chosen.user:
        found = found.where(TRAIL.c.line.contains(f'"user":{json.dumps(chosen.user)}', autoescape=True))
    if chosen.events:
        begins = (f'"event":{json.dumps(one)[:-1]}' for one in chosen.events)
        found = found.where(or_(*(TRAIL.c.line.contains(one, autoescape=True) for one in begins)))
    entries: list[TrailEntry] = []
    with store.reading() as transaction:
        for number, line in transaction.execute(found).yield_per(n_rows + 1):
            entry = _read_entry(transaction, number, line)
            if chosen.admits(entry.event):
                entries.append(entry)
            if len(entries) > n_rows:
                break
    return tuple(entries[:n_rows]), len(entries) > n_rows


def count_entries(store: ReviewStore) -> int:
    """Return how many entries the head of the trail states; fails as `describe_head`."""
    with store.reading() as transaction:
        return _read_head(transaction).n_entries


def _read_entry(transaction: Transaction, number: int, line: str) -> TrailEntry:
    # Names that were deleted with their file are "".
    parsed = _parse_object(str(line))
    given = {one.name: parsed.get(one.name) for one in fields(TrailEvent)}
    given |= {one: transaction.names.find(given[one]) for one in _NAMES if isinstance(given[one], str)}
    try:
        return TrailEntry(number, str(parsed.get("at", "")), msgspec.convert(given, TrailEvent))
    except msgspec.ValidationError:
        return TrailEntry(number, "", TrailEvent(user="", event=UNREADABLE))


def encode_export(store: ReviewStore) -> Iterator[bytes]:
    """Yield the lines of an export, many at a time, as the trail is when the first ones are read."""
    with store.reading() as transaction:
        last = {"head": describe_head(transaction)}
        found = transaction.execute(select(TRAIL).order_by(TRAIL.c.number)).yield_per(1000)
        for part in found.partitions():
            yield "".join(f"{_encode_line(transaction, row)}\n" for row in part).encode()
    yield encode_entry(last).encode() + b"\n"


def _encode_line(transaction: Transaction, row: Row[Any]) -> str:
    # The chain covers the sealed name alone; a reader without the key sees the name beside the entry.
    name = transaction.names.find(_parse_object(str(row.line)).get("name"))
    beside = f',"name":{json.dumps(name)}' if name else ""
    return f'{{"entry":{row.line},"hash":"{row.hash}"{beside}}}'


def export_trail(store: ReviewStore, path: Path, *, force: bool = False) -> int:
    """Write the trail as JSON Lines; return the number of entries.

    Raises:
        OutputExistsError: The file exists and `force` is False.
        OutputError: It cannot be written.
    """
    if path.exists() and not force:
        raise OutputExistsError(_("{path} already exists", path=path), remedies=[OVERWRITE])
    lines = encode_export(store)
    write_whole(path, lines, private=True)
    return count_entries(store)


def _read_head(transaction: Transaction) -> TrailHead:
    head = find_head(transaction.connection)
    if head is None or head.n_entries < 0:
        raise refuse_head()
    return head


class _Link(msgspec.Struct, frozen=True):
    number: int = 0
    at: str = ""
    previous: str = ""
    event: str = ""
    case: int | None = None
    rows: dict[str, str | None] = {}
    acting: dict[str, str | None] = {}


class _HashChain:
    def __init__(self, anchors: Anchors = MappingProxyType({})) -> None:
        self.n = 0
        self.problems: list[str] = []
        self._notes: list[str] = []
        self._anchors = anchors
        self._last = NO_HASH
        self._at = ""

    def add(self, line: str, stated_hash: str) -> _Link:
        self.n += 1
        try:
            entry = msgspec.json.decode(line, type=_Link)
        except (msgspec.MsgspecError, UnicodeError):
            entry = _Link()
        if entry.number != self.n:
            self.problems.append(_("entry {n} has another number: one was removed or moved", n=self.n))
        elif entry.previous != self._last:
            self.problems.append(_("entry {n} does not follow the one before it", n=self.n))
        if hash_line(line) != stated_hash:
            self.problems.append(_("entry {n} was changed after it was written", n=self.n))
        if self._anchors.get(self.n, {stated_hash}) != {stated_hash}:
            self.problems.append(_("entry {n} is not the one of the earlier trail", n=self.n))
        if entry.at < self._at:
            self._notes.append(_("the clock was put back before entry {n}", n=self.n))
        self._last, self._at = stated_hash, entry.at
        return entry

    def check(self, head: TrailHead | None, key: bytes | None) -> TrailCheck:
        if head is None:
            self.problems.append(_("the sealed head is missing"))
        else:
            if key is not None and not head.is_sealed(key):
                self.problems.append(_("the seal of the head is broken, or the key belongs to another store"))
            if head.n_entries != self.n or head.hash != self._last:
                self.problems.append(
                    _(
                        "the trail ends at entry {n}, but its head says {n_entries}",
                        n=self.n,
                        n_entries=head.n_entries,
                    )
                )
        n_earlier = max(self._anchors, default=0)
        if n_earlier > self.n:
            self.problems.append(
                _(
                    "the trail ends at entry {n}, but an earlier one has {n_earlier}: its end was cut off",
                    n=self.n,
                    n_earlier=n_earlier,
                )
            )
        return TrailCheck(self.n, tuple(self.problems[:MAX_PROBLEMS]), tuple(self._notes[:MAX_PROBLEMS]))


def read_lines(path: Path) -> Iterator[dict[str, Any]]:
    """Read the objects of a file; any other line becomes an empty one."""
    try:
        with input_errors(), open_input(path) as stream:
            for line in stream:
                yield _parse_object(line.decode("utf-8", "replace"))
    except UnreadableInputError as error:
        raise error.add_prefix(f"{path} ") from None


def _parse_object(line: str) -> dict[str, Any]:
    try:
        parsed = json.loads(line)
    except (ValueError, RecursionError):
        return {}
    return parsed if isinstance(parsed, dict) else {}
