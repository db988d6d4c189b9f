"""The database of a review (SQLite in a file, or PostgreSQL by URL), its key and its encryption.

SQLite runs with a write-ahead log and `synchronous=FULL`: when a function returns, its changes are on
the disk, and survive a crash or a power cut. A writing transaction is short and takes SQLite's one write
lock at its beginning, so that two of them queue up and cannot deadlock. In PostgreSQL they lock the row of
the case first and the head of the trail last.

Texts are encrypted with AES-256-GCM, bound to their place in the store. A person with the key file and
the database can read every narrative. Without the key file nothing can be read or recovered.

Source: RFC 5869 (HKDF); NIST SP 800-38D (GCM): a random nonce of 96 bits for far fewer than 2^32 values.
"""

from __future__ import annotations

import json
import os
import sqlite3
import stat
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from sqlalchemy import Connection, Engine, Table, create_engine, event, insert, inspect, select
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError, NoSuchModuleError, SQLAlchemyError

from inverse_deid.core.errors import ConfigurationError, OutputError, UnreadableInputError
from inverse_deid.core.thresholds import Thresholds
from inverse_deid.replacement import keys
from inverse_deid.review import rows
from inverse_deid.review.rows import SealedRows
from inverse_deid.review.schema import OLDER_VERSIONS, SCHEMA_VERSION, VERSION, make_tables, migrate
from inverse_deid.review.tables import META
from inverse_deid.review.values import ReviewPolicy

MIN_KEY_BYTES = 16

_BUSY_SECONDS = 30
_KEY_CHECK = b"the key of this store"
_NONCE_BYTES = 12
_OTHERS = stat.S_IRWXG | stat.S_IRWXO
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
            raise ConfigurationError(f"the key is too short. It needs at least {MIN_KEY_BYTES} bytes.")

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


def check_private(path: Path) -> None:
    """Refuse a key file that others can read.

    Raises:
        ConfigurationError: Its mode gives access to group or others.
    """
    if os.name == "posix" and path.exists() and path.stat().st_mode & _OTHERS:
        raise ConfigurationError(f"{path} can be read by other users. Run chmod 600 on it.")


class Sealer:
    """Encrypts and decrypts with one key of 32 secret bytes.

    Example:
        >>> sealer = Sealer(bytes(32))
        >>> sealer.open(sealer.seal(b"well", "case 7"), "case 7")
        b'well'
    """

    def __init__(self, key: bytes) -> None:
        self._cipher = AESGCM(key)

    def seal(self, data: bytes, place: str) -> bytes:
        """Encrypt for one place of the store; the result can be opened for that place alone."""
        nonce = os.urandom(_NONCE_BYTES)
        return nonce + self._cipher.encrypt(nonce, data, place.encode())

    def open(self, sealed: bytes, place: str) -> bytes:
        """Decrypt.

        Raises:
            UnreadableInputError: Another key, another place, or altered bytes.
        """
        try:
            return self._cipher.decrypt(sealed[:_NONCE_BYTES], sealed[_NONCE_BYTES:], place.encode())
        except (InvalidTag, ValueError):
            pass
        raise UnreadableInputError(
            f"{place} of the store cannot be decrypted: it was altered, or belongs to another key"
        )


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
    those that the store was made with; `sources.read_facts` returns those of a case.
    """

    def __init__(self, engine: Engine, key: ReviewKey, clock: Clock) -> None:
        self._engine = engine
        self.now = clock
        self.sealer = Sealer(key.derive("encryption"))
        self.rows = SealedRows(key.derive("rows"))
        self.trail_key = key.derive("trail")
        self.session_key = key.derive("sessions")
        self.file_key = key.derive("hashes of files")
        self.case_key = key.secret
        with self.reading() as connection:
            check = select(META.c.value).where(META.c.name == "key check")
            sealed: str = connection.execute(check).scalar_one()
        self.sealer.open(bytes.fromhex(sealed), "key check")
        self.policy = ReviewPolicy()
        self.facts = MaskingFacts(fingerprint="")

    def load_settings(self) -> None:
        """Read policy and facts.

        Raises:
            UnreadableInputError: They were altered.
        """
        with self.reading() as connection:
            stored = {row.name: row.value for row in self.rows.read(connection, select(META), META)}
        settings = json.loads(stored["settings"])
        self.policy = ReviewPolicy(**settings["policy"])
        self.facts = MaskingFacts.from_json(settings["facts"])

    def __enter__(self) -> ReviewStore:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"ReviewStore(version={SCHEMA_VERSION})"

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """Give a connection within a transaction that only reads."""
        with _database_errors("read"), self._engine.connect() as connection, connection.begin():
            yield connection

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """Give a connection within a transaction that is on the disk when the block ends without error.

        The entries for the trail are written at its end.
        """
        with (
            _database_errors("written"),
            self._engine.connect().execution_options(**{_WRITES: True}) as connection,
            connection.begin(),
        ):
            rows.begin(connection)
            yield connection
            rows.finish(connection)

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
def _database_errors(done: str) -> Iterator[None]:
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
            "permissions and the connection, then try again."
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
        engine = create_engine(url, connect_args=arguments, hide_parameters=True)
    except (ArgumentError, NoSuchModuleError, ImportError) as error:
        problem = type(error).__name__
    if problem:
        raise ConfigurationError(
            f"the address of the store cannot be used ({problem}). Give a file, or a URL such as "
            "postgresql+psycopg://HOST/NAME and install its driver."
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


def write_settings(connection: Connection, key: ReviewKey, policy: ReviewPolicy, facts: MaskingFacts) -> None:
    """Make the tables of a new store and write its settings."""
    stored = {
        "key check": Sealer(key.derive("encryption")).seal(_KEY_CHECK, "key check").hex(),
        "settings": json.dumps({"policy": asdict(policy), "facts": facts.as_json()}),
    }
    make_tables(connection, SealedRows(key.derive("rows")), stored)


def open_store(address: str | Path, key: ReviewKey, *, clock: Clock = time.time) -> ReviewStore:
    """Open a store at the path of an SQLite file or at a URL of SQLAlchemy; an older one is migrated.

    Raises:
        UnreadableInputError: The store does not exist, is not a database or has another version.
        ConfigurationError: The key belongs to another store.
    """
    path = store_path(address)
    if path is not None and not path.is_file():
        raise UnreadableInputError(f"{path} does not exist. Make a store with inverse-deid review init.")
    name = "the store" if path is None else str(path)
    engine = make_engine(address)
    version = _read_version(engine)
    problem = ""
    if version is None:
        problem = f"{name} is not a review store. Give one made by inverse-deid review init."
    elif version != str(SCHEMA_VERSION) and version not in OLDER_VERSIONS:
        problem = (
            f"{name} has version {version}, and this program knows only {SCHEMA_VERSION} and older ones. "
            "Install a newer program."
        )
    else:
        store = None
        with suppress(UnreadableInputError):
            store = ReviewStore(engine, key, clock)
        if store is not None:
            if version in OLDER_VERSIONS:
                from inverse_deid.review.replay import seal_all

                with store.writing() as connection:
                    if migrate(connection, store):
                        seal_all(connection, store)
            store.load_settings()
            return store
    engine.dispose()
    if problem:
        raise UnreadableInputError(problem)
    raise ConfigurationError(f"the key does not belong to {name}. Give the key that it was made with.")


def _read_version(engine: Engine) -> str | None:
    """Return the version of a store, None = it is not a store."""
    with suppress(SQLAlchemyError), engine.connect() as connection:
        if inspect(connection).has_table(META.name):
            found = select(META.c.value).where(META.c.name == VERSION)
            return connection.execute(found).scalar_one_or_none()
    return None
