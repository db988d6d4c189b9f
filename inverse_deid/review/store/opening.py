"""The database of a review (SQLite in a file, or PostgreSQL by URL), its key and its encryption.

SQLite runs with a write-ahead log and `synchronous=FULL`: when a function returns, its changes are on
the disk, and survive a crash or a power cut. A writing transaction is short and takes SQLite's one write
lock at its beginning, so that two of them queue up and cannot deadlock. In PostgreSQL they lock the row of
the case first and the head of the trail last.

Texts are encrypted with AES-256-GCM, bound to their place in the store. The keys for this and for all other
purposes are random and in the store, encrypted with the key that people hold. So a person with that key and
the database can read every narrative. Without it nothing can be read or recovered.

Source: RFC 5869 (HKDF); NIST SP 800-38D (GCM): a random nonce of 96 bits for far fewer than 2^32 values.
"""

from __future__ import annotations

import json
import os
import sqlite3
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from threading import Lock
from typing import Any

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from sqlalchemy import Connection, Engine, Table, create_engine, event, insert, inspect, select
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError, NoSuchModuleError, SQLAlchemyError

from inverse_deid.core.errors import ConfigurationError, OutputError, UnreadableInputError
from inverse_deid.core.thresholds import Thresholds
from inverse_deid.replacement import keys
from inverse_deid.review.store import rows
from inverse_deid.review.store.rows import SealedRows
from inverse_deid.review.store.schema import OLDER_VERSIONS, SCHEMA_VERSION, VERSION, make_tables, migrate
from inverse_deid.review.store.tables import META
from inverse_deid.review.store.values import ReviewPolicy

MIN_KEY_BYTES = 16

_BUSY_SECONDS = 30
_POOL_SIZE = 20  # opening a connection takes as long as a decision
_KEYS = "keys"
_ADVISORY_LOCK = 0x1DE1D
_NONCE_BYTES = 12
_SECRET_BYTES = 32
_WRITES = "inverse_deid_writes"

Clock = Callable[[], float]
"""Seconds since 1970, UTC."""


@dataclass(frozen=True, slots=True)
class ReviewKey:
    """A secret of at least 16 bytes.

    Raises:
        ConfigurationError: It is shorter.
    """

    secret: bytes = field(repr=False)

    def __post_init__(self) -> None:
        if len(self.secret) < MIN_KEY_BYTES:
            raise ConfigurationError(f"the key is too short. It needs at least {MIN_KEY_BYTES} bytes")

    def derive(self, purpose: str) -> bytes:
        """Return 32 bytes for one purpose, which reveal nothing about the key or about other purposes."""
        info = f"inverse-deid review {purpose}".encode()
        return HKDF(algorithm=SHA256(), length=32, salt=None, info=info).derive(self.secret)


def make_key_file(path: Path) -> ReviewKey:
    """Write a new random key that only its owner can read (mode 600).

    Raises:
        ConfigurationError: The file exists, or cannot be written.
    """
    return ReviewKey(keys.make_key_file(path))


class Sealer:
    """Encrypts with the first of some keys of 32 secret bytes, and decrypts with any.

    Example:
        >>> sealer = Sealer(bytes(32))
        >>> sealer.open(sealer.seal(b"well", "case 7"), "case 7")
        b'well'
    """

    def __init__(self, *keys: bytes) -> None:
        self._ciphers = [AESGCM(key) for key in keys]

    def seal(self, data: bytes, place: str) -> bytes:
        """Encrypt for one place of the store; the result can be opened for that place alone."""
        nonce = os.urandom(_NONCE_BYTES)
        return nonce + self._ciphers[0].encrypt(nonce, data, place.encode())

    def open(self, sealed: bytes, place: str) -> bytes:
        """Decrypt.

        Raises:
            UnreadableInputError: Another key, another place, or altered bytes.
        """
        for cipher in self._ciphers:
            with suppress(InvalidTag, ValueError, TypeError):  # NULL, if somebody changed the table
                return cipher.decrypt(sealed[:_NONCE_BYTES], sealed[_NONCE_BYTES:], place.encode())
        raise UnreadableInputError(
            f"{place} of the store cannot be decrypted: it was altered, or belongs to another key"
        )

    def renew(self, sealed: bytes, place: str) -> bytes | None:
        """Return what an older key encrypted, encrypted with the newest one; None = it is already.

        Raises:
            UnreadableInputError: As `open`.
        """
        with suppress(InvalidTag, ValueError, TypeError):
            self._ciphers[0].decrypt(sealed[:_NONCE_BYTES], sealed[_NONCE_BYTES:], place.encode())
            return None
        return self.seal(self.open(sealed, place), place)


@dataclass(frozen=True, slots=True)
class StoreKeys:
    """The secrets of a store, which are stored in it under the key that people hold.

    The keys of most purposes are derived from the first of `data`. The others decrypt what a rotation of the
    key has not yet encrypted again. `case` decides pseudonyms, moved dates and surrogates: it outlives
    rotations, so that those of a case never change. `trail` and `signatures` seal and sign the trail. They
    are derived from the key that people hold, so that an export can be checked without the store.
    `generation` counts the rotations.
    """

    data: tuple[ReviewKey, ...]
    case: bytes = field(repr=False)
    trail: bytes = field(repr=False)
    signatures: bytes = field(repr=False)
    generation: int = 0

    @classmethod
    def make(cls, key: ReviewKey) -> StoreKeys:
        """Return the secrets of a new store: stores of one key give an id the same pseudonym."""
        data = (ReviewKey(os.urandom(_SECRET_BYTES)),)
        return cls(data, key.derive("pseudonyms"), key.derive("trail"), key.derive("signatures"))

    @classmethod
    def of_older(cls, key: ReviewKey) -> StoreKeys:
        """Return those of a store of version 1 or 2, which knew nothing but the key."""
        return cls((key,), key.secret, key.derive("trail"), key.derive("signatures"))

    def wrap(self, key: ReviewKey) -> str:
        """Return what is stored: the generation, and the secrets encrypted with a key."""
        secrets = {"data": [one.secret.hex() for one in self.data], "case": self.case.hex()}
        sealer = Sealer(key.derive("keys of the store"))
        sealed = sealer.seal(json.dumps(secrets).encode(), f"keys {self.generation}")
        return f"{self.generation} {sealed.hex()}"

    @classmethod
    def unwrap(cls, stored: str, key: ReviewKey) -> StoreKeys:
        """Read what `wrap` returned.

        Raises:
            UnreadableInputError: It was made with another key, or altered.
        """
        generation, _, sealed = stored.partition(" ")
        with suppress(ValueError):
            opened = Sealer(key.derive("keys of the store")).open(bytes.fromhex(sealed), f"keys {generation}")
            secrets = json.loads(opened)
            data = tuple(ReviewKey(bytes.fromhex(one)) for one in secrets["data"])
            case = bytes.fromhex(secrets["case"])
            return cls(data, case, key.derive("trail"), key.derive("signatures"), int(generation))
        raise UnreadableInputError("the keys of the store were altered. Restore a backup")


@dataclass(frozen=True, slots=True, kw_only=True)
class MaskingFacts:
    """How the cases of a store were masked. Model and thresholds are None without the network.

    The fingerprint changes with anything that can change a decision. With `category_markers`, the category
    replaces masked text instead of the marker. `categories` names what was masked, () = as by default.
    """

    fingerprint: str
    model_sha256: str | None = None
    lexicon_sha256: str = ""
    thresholds: Thresholds | None = None
    marker: str = "PHI"
    category_markers: bool = False
    categories: tuple[str, ...] = ()

    @classmethod
    def from_json(cls, stored: dict[str, Any]) -> MaskingFacts:
        """Read the facts that `as_json` wrote."""
        rest = {name: value for name, value in stored.items() if name not in _THRESHOLDS}
        rest["categories"] = tuple(rest.get("categories", ()))
        if stored["low"] is None:
            return cls(**rest)
        return cls(**rest, thresholds=Thresholds(**{name: stored[name] for name in _THRESHOLDS}))

    def as_json(self) -> dict[str, Any]:
        """Return the facts as one flat dictionary."""
        stored = asdict(self)
        thresholds = stored.pop("thresholds") or {"low": None, "high": None, "density_slope": 0.0}
        return stored | thresholds


_THRESHOLDS = [one.name for one in fields(Thresholds)]


class ReviewStore:
    """An open store; safe to share between threads.

    Get one with `open_store` or `loading.create_store`. Use it in a `with` block, or `close` it. `facts` are
    those that the store was made with; `sources.read_facts` returns those of a case. The `signer` signs heads
    of the trail; a key of its own can replace the derived one. `shown` is the memory of `oversight`.
    """

    def __init__(self, engine: Engine, keys: StoreKeys, clock: Clock) -> None:
        self._engine = engine
        self._turn = Lock()
        self.now = clock
        self.keys = keys
        key = keys.data[0]
        self.sealer = Sealer(*(one.derive("encryption") for one in keys.data))
        self.rows = SealedRows(key.derive("rows"))
        self.trail_key = keys.trail
        self.session_key = key.derive("sessions")
        self.file_key = key.derive("hashes of files")
        self.case_key = keys.case
        self.signer = Ed25519PrivateKey.from_private_bytes(keys.signatures)
        self.shown: dict[tuple[str, int, str, str], float] = {}
        self.policy = ReviewPolicy()
        self.facts = MaskingFacts(fingerprint="")

    def load_settings(self, connection: Connection) -> None:
        """Read policy and facts.

        Raises:
            UnreadableInputError: They were altered.
        """
        stored = {row.name: row.value for row in self.rows.read(connection, select(META), META)}
        settings = json.loads(stored["settings"])
        self.policy = ReviewPolicy(**settings["policy"])
        self.facts = MaskingFacts.from_json(settings["facts"])

    def with_keys(self, keys: StoreKeys) -> ReviewStore:
        """Return the same store with other keys; both have the same connections."""
        other = ReviewStore(self._engine, keys, self.now)
        other.policy, other.facts = self.policy, self.facts
        other._turn = self._turn
        return other

    @contextmanager
    def _taking_turns(self) -> Iterator[None]:
        """Let one thread at a time write to an SQLite file. SQLite would let the others sleep up to 0.1 s."""
        if self._engine.dialect.name != "sqlite":
            yield
            return
        if not self._turn.acquire(timeout=_BUSY_SECONDS):
            raise OutputError("others are writing to the store. Nothing of this step was stored. Try again")
        try:
            yield
        finally:
            self._turn.release()

    def __enter__(self) -> ReviewStore:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"ReviewStore(version={SCHEMA_VERSION})"

    @contextmanager
    def reading(self, *, snapshot: bool = False) -> Iterator[Connection]:
        """Give a connection within a transaction that only reads; with `snapshot`, at one moment."""
        # SQLite always reads at one moment.
        at_one_moment = snapshot and self._engine.dialect.name != "sqlite"
        options = {"isolation_level": "REPEATABLE READ"} if at_one_moment else {}
        connect = self._engine.connect()
        with database_errors("read"), connect.execution_options(**options) as connection, connection.begin():
            yield connection

    @contextmanager
    def writing(self, *, alone: bool = False) -> Iterator[Connection]:
        """Give a connection within a transaction that is on the disk when the block ends without error.

        Entries for the trail are written at its end. `alone` is for a change of keys or tables: it
        waits until no other transaction writes, and whoever makes it checks what it changes.

        Raises:
            OutputError: Another program migrated the store or gave it another key.
        """
        with (
            self._taking_turns(),
            database_errors("written"),
            self._engine.connect().execution_options(**{_WRITES: True}) as connection,
            connection.begin(),
        ):
            if connection.dialect.name == "postgresql":
                # SQLite has one writer at a time.
                lock = "pg_advisory_xact_lock" if alone else "pg_advisory_xact_lock_shared"
                connection.exec_driver_sql(f"SELECT {lock}({_ADVISORY_LOCK})")
            if not alone:
                self.check_state(connection)
            rows.begin(connection)
            yield connection
            rows.finish(connection)

    def check_state(self, connection: Connection) -> None:
        """Refuse to write with keys that others dropped, or into tables that this program does not know."""
        found = select(META.c.name, META.c.value).where(META.c.name.in_([VERSION, _KEYS]))
        stored = {row.name: row.value for row in connection.execute(found)}
        generation = str(stored.get(_KEYS, "")).partition(" ")[0]
        if (stored.get(VERSION), generation) != (str(SCHEMA_VERSION), str(self.keys.generation)):
            raise OutputError(
                "another program gave the store other tables or another key. Stop this program, and start it "
                "again with a version and a key that belong to the store"
            )

    def rewrite(self, tables: Sequence[str]) -> bool:
        """Rewrite the database without what was deleted; return whether old pages are gone.

        PostgreSQL rewrites the given tables only. Others wait meanwhile. Old pages stay if somebody is
        reading them, or if there is no room for a second copy.
        """
        try:
            if self._engine.dialect.name == "sqlite":
                return _vacuum(self._engine)
            with self._engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
                for name in tables:
                    connection.exec_driver_sql(f"VACUUM FULL {name}")
        except (SQLAlchemyError, sqlite3.Error):
            return False
        return True

    def close(self) -> None:
        """Close all connections."""
        self._engine.dispose()


def _vacuum(engine: Engine) -> bool:
    """Rebuild an SQLite file and empty its write-ahead log; return whether the log could be emptied."""
    busy = 1
    # Around the transactions that the engine begins: `VACUUM` cannot run in one.
    with closing(engine.raw_connection()) as connection, closing(connection.cursor()) as cursor:
        for step in ("PRAGMA wal_checkpoint(TRUNCATE)", "VACUUM", "PRAGMA wal_checkpoint(TRUNCATE)"):
            cursor.execute(step)
            busy, *_ = cursor.fetchone() or (busy,)
    return not busy


@contextmanager
def database_errors(done: str) -> Iterator[None]:
    """Turn errors of the database into one line; their own messages could contain values."""
    problem = ""
    try:
        yield
    except SQLAlchemyError as error:
        original = getattr(error, "orig", None)
        problem = type(original or error).__name__
    if problem:
        raise OutputError(
            f"the store cannot be {done} ({problem}). Nothing of this step was stored. Check disk space, "
            "permissions and the connection, then try again"
        )


def insert_row(connection: Connection, table: Table, row: Mapping[str, object]) -> int:
    """Insert a row without a seal and return its id."""
    key = connection.execute(insert(table), dict(row)).inserted_primary_key
    return int(key[0]) if key else 0


def store_path(address: str | Path) -> Path | None:
    """Return the file of a store, None = it is on a server."""
    return None if "://" in str(address) else Path(address)


def make_engine(address: str | Path) -> Engine:
    """Set up connections to a database, as the module describes.

    Raises:
        ConfigurationError: The URL is malformed, or its driver is not installed.
    """
    problem = ""
    try:
        url = make_url(f"sqlite+pysqlite:///{address}" if store_path(address) else str(address))
        is_sqlite = url.get_backend_name() == "sqlite"
        arguments: dict[str, Any] = {"timeout": _BUSY_SECONDS} if is_sqlite else {}
        engine = create_engine(url, connect_args=arguments, hide_parameters=True, pool_size=_POOL_SIZE)
    except (ArgumentError, NoSuchModuleError, ImportError) as error:
        problem = type(error).__name__
    if problem:
        raise ConfigurationError(
            f"the address of the store cannot be used ({problem}). Give a file, or a URL such as "
            "postgresql+psycopg://HOST/NAME and install its driver"
        )
    if is_sqlite:

        def set_up(connection: sqlite3.Connection, _: object) -> None:
            # The program begins transactions itself.
            connection.isolation_level = None
            for pragma in ("journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON", "secure_delete=ON"):
                connection.execute(f"PRAGMA {pragma}")

        def begin(connection: Connection) -> None:
            writes = connection.get_execution_options().get(_WRITES, False)
            connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")

        event.listen(engine, "connect", set_up)
        event.listen(engine, "begin", begin)
    return engine


def write_settings(
    connection: Connection, key: ReviewKey, policy: ReviewPolicy, facts: MaskingFacts
) -> StoreKeys:
    """Make the tables of a new store and write its settings; return its keys."""
    keys = StoreKeys.make(key)
    stored = {
        _KEYS: keys.wrap(key),
        "settings": json.dumps({"policy": asdict(policy), "facts": facts.as_json()}),
    }
    make_tables(connection, SealedRows(keys.data[0].derive("rows")), stored)
    return keys


def open_store(
    address: str | Path, key: ReviewKey, *, clock: Clock = time.time, migrates: bool = False
) -> ReviewStore:
    """Open a store at the path of an SQLite file or at a URL of SQLAlchemy.

    With `migrates`, an older one is migrated: all of its rows get seals as they are, so somebody who knows
    that it is an older one must have asked for it.

    Raises:
        UnreadableInputError: The store does not exist, is not a database or has another version.
        ConfigurationError: The key belongs to another store.
    """
    path = store_path(address)
    if path is not None and not path.is_file():
        raise UnreadableInputError(f"{path} does not exist. Make a store with inverse-deid review init")
    name = "the store" if path is None else str(path)
    engine = make_engine(address)
    is_open = False
    try:
        stored = _read_meta(engine)
        version = stored.get(VERSION)
        if version is None:
            raise UnreadableInputError(
                f"{name} is not a review store. Give one made by inverse-deid review init"
            )
        if version != str(SCHEMA_VERSION) and version not in OLDER_VERSIONS:
            raise UnreadableInputError(
                f"{name} has version {version}, and this program knows only {SCHEMA_VERSION} and older ones. "
                "Install a newer program"
            )
        if version in OLDER_VERSIONS and _KEYS in stored:
            raise UnreadableInputError(
                f"{name} is not of version {version}: it was altered. Restore a backup"
            )
        keys = _read_keys(stored, key)
        if keys is None:
            raise ConfigurationError(
                f"the key does not belong to {name}. Give the key that it was made with, or its newest one"
            )
        if version in OLDER_VERSIONS and not migrates:
            raise UnreadableInputError(
                f"{name} has the older version {version}. Run inverse-deid review migrate. If it was "
                "migrated before, somebody altered it: restore a backup"
            )
        store = ReviewStore(engine, keys, clock)
        if version in OLDER_VERSIONS:
            with store.writing(alone=True) as connection:
                migrate(connection, store, keys.wrap(key))
        with store.reading() as connection:
            store.load_settings(connection)
        is_open = True
        return store
    finally:
        if not is_open:
            engine.dispose()


def _read_meta(engine: Engine) -> dict[str, str]:
    """Return what a store says about itself, unchecked; empty = it is not a store."""
    with suppress(SQLAlchemyError), engine.connect() as connection:
        if inspect(connection).has_table(META.name):
            found = select(META.c.name, META.c.value)
            return {row.name: row.value for row in connection.execute(found)}
    return {}


def _read_keys(stored: Mapping[str, str], key: ReviewKey) -> StoreKeys | None:
    """Return the keys of a store, None = the key belongs to another one."""
    with suppress(UnreadableInputError):
        if stored[VERSION] not in OLDER_VERSIONS:
            return StoreKeys.unwrap(stored.get(_KEYS, ""), key)
        keys = StoreKeys.of_older(key)
        Sealer(key.derive("encryption")).open(bytes.fromhex(stored.get("key check", "")), "key check")
        return keys
    return None
