"""The tables of a store. Columns named `sealed` hold encrypted bytes; no other column holds text of a case.

An encrypted value is bound to a place (`place_of`): it cannot be opened in another row or column.

Times are seconds since 1970, UTC.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Double,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    Text,
    UniqueConstraint,
    false,
    text,
)
from sqlalchemy.schema import SchemaItem

SCHEMA_VERSION = 1
"""Whoever changes the tables adds one, and writes the migration to it (`migrations`)."""

VERSION = "schema version"
KEYS = "keys"
SETTINGS = "settings"
LAST_CASE = "last case"
LAST_SOURCE = "last file"
SIGNERS = "signers"
"""Names of rows of `META`."""

METADATA = MetaData()


def _define(name: str, *parts: SchemaItem) -> Table:
    return Table(name, METADATA, *parts)


_UNSEALED = {"seals": False}
"""Of a column that the seal of its row does not cover."""
_PASSING = {"passes": True}
"""Of a column that changes without an entry in the trail."""
_NAME = {"name": True}
"""Of a column with names, which the key of their file seals."""


def _place(template: str) -> dict[str, str]:
    # Info of a column with encrypted values, which are bound to a place that columns of the row name.
    return {"place": template}


def place_of(column: Column[Any], row: Mapping[Any, Any]) -> str:
    """Return the place that an encrypted value of a row is bound to.

    Example:
        >>> place_of(CONTENTS.c.sealed_text, {"case_id": 7})
        'the text of case 7'
    """
    return str(column.info["place"]).format_map(row)


def _define_sealed(name: str, *parts: SchemaItem) -> Table:
    # A column with a server default also needs a default.
    return Table(name, METADATA, *parts, Column("seal", String(64)), info={"sealed": True})


META = _define_sealed(
    "meta",
    Column("name", String(40), primary_key=True),
    Column("value", Text, nullable=False),
)
"""Version of the schema, settings, the last numbers of cases and files, the keys, encrypted, and the public
keys that signed before the key was changed."""

NAME_KEYS = _define(
    "name_keys",
    Column("id", BigInteger, primary_key=True, autoincrement=False),
    Column("sealed", LargeBinary, nullable=False, info=_place("name key {id}")),
)
"""The key of each file that seals its name and those of its cases, here and in the trail. It is deleted with
the file, so that nobody can open them any more."""

SOURCES = _define_sealed(
    "sources",
    Column("id", Integer, primary_key=True),
    Column("name", Text, nullable=False, info=_NAME),
    Column("name_key", BigInteger, nullable=False),
    Column("format", String(20), nullable=False),
    Column("sealed", LargeBinary, nullable=False, info=_UNSEALED | _place("file {id}")),
)
"""The files that the cases came in, whole; `INTAKES` has a hash of each."""

MASKINGS = _define_sealed(
    "maskings",
    Column("id", Integer, primary_key=True),
    Column("fingerprint", String(64), nullable=False, unique=True),
    Column("facts", Text, nullable=False),
    Column("output", Text, nullable=False),
)
"""Ways of masking, as JSON: `MaskingFacts`, and `OutputSettings` without the key."""

INTAKES = _define_sealed(
    "intakes",
    Column("source_id", ForeignKey("sources.id"), primary_key=True),
    Column("masking_id", ForeignKey("maskings.id"), nullable=False, index=True),
    Column("export_name", Text, nullable=False, info=_NAME),
    Column("content_hash", String(64), nullable=False),
    Column("added_at", Double, nullable=False),
    Column("added_by", String(64), nullable=False),
    Column("sealed_facts", LargeBinary, nullable=False, info=_place("facts of file {source_id}")),
)
"""How each file came in and is masked. Its name in exports is its own, even if two files came as `a.csv`."""

USERS = _define_sealed(
    "users",
    Column("id", Integer, primary_key=True),
    Column("name", String(64), nullable=False, unique=True),
    Column("password", Text, nullable=False),
    Column("role", String(20), nullable=False),
    Column("is_active", Boolean, nullable=False),
    Column("must_change_password", Boolean, nullable=False, default=False, server_default=false()),
    Column("sealed_secret", LargeBinary, info=_place("second factor of user {id}")),
    Column("last_code", BigInteger, info=_PASSING),
    Column("recovery_codes", Text),
    Column("issuer", Text),
    Column("subject", Text),
    Index("users_by_subject", "issuer", "subject", unique=True),
)
"""`must_change_password`: another person knows the password, as an admin has set it. `sealed_secret` makes
one-time codes, of which `last_code` was the last one used; of recovery codes only hashes are stored. `issuer`
and `subject` are those of an account of an OpenID provider, which has no password here."""

SESSIONS = _define_sealed(
    "sessions",
    Column("id_hash", String(64), primary_key=True),
    Column("user_id", ForeignKey("users.id"), nullable=False, index=True),
    Column("expires_at", Double, nullable=False),
    Column("seen_at", Double, nullable=False, info=_PASSING),
    Column("address", Text),
    Column("needs_code", Boolean, nullable=False, default=False, server_default=false()),
)
"""`needs_code`: the password was right, and the one-time code is still to be given."""

FAILURES = _define(
    "failures",
    Column("id", Integer, primary_key=True),
    Column("who_hash", String(64), nullable=False),
    Column("at", Double, nullable=False),
    Index("failures_by_who", "who_hash", "at"),
)
"""Failed log-ins by the hash of a name or of an address."""

KNOWN = _define(
    "known",
    Column("who_hash", String(64), primary_key=True),
    Column("at", Double, nullable=False),
)
"""Browsers and addresses of successful log-ins by their hash, alone and with a name."""

UNRECORDED = _define(
    "unrecorded",
    Column("user", String(64), primary_key=True),
    Column("event", String(64), primary_key=True),
    Column("since", Double, nullable=False),
    Column("n", Integer, nullable=False),
)
"""Events of the last hour that the trail has once: how often they happened again."""

CASES = _define_sealed(
    "cases",
    Column("id", Integer, primary_key=True),
    Column("source_id", ForeignKey("sources.id"), nullable=False),
    Column("number", Integer, nullable=False),
    Column("name", Text, nullable=False, info=_NAME),
    Column("state", String(20), nullable=False),
    Column("doubt", Double, nullable=False),
    Column("n_tokens", Integer, nullable=False),
    Column("n_doubtful", Integer, nullable=False),
    Column("is_failed", Boolean, nullable=False),
    Column("n_approvals", Integer, nullable=False, default=0),
    Column("assignee_id", ForeignKey("users.id"), index=True),
    Column("lock_user_id", ForeignKey("users.id"), index=True, info=_PASSING),
    Column("lock_until", Double, info=_PASSING),
    UniqueConstraint("source_id", "number"),
    Index("cases_by_doubt", text("doubt DESC"), "id"),
    Index("cases_by_state", "state", text("doubt DESC"), "id"),
)

CONTENTS = _define_sealed(
    "contents",
    Column("case_id", ForeignKey("cases.id"), primary_key=True),
    Column("sealed_text", LargeBinary, nullable=False, info=_UNSEALED | _place("the text of case {case_id}")),
    Column(
        "sealed_tokens",
        LargeBinary,
        nullable=False,
        info=_UNSEALED | _place("the decisions on case {case_id}"),
    ),
    Column("content_hash", String(64), nullable=False),
)
"""Apart from `cases`, so that a page of the work list reads none of it. The hash is over both encrypted
values, so that seals and marks need not read them."""

LAYERS = _define_sealed(
    "layers",
    Column("id", Integer, primary_key=True),
    Column("case_id", ForeignKey("cases.id"), nullable=False),
    Column("user_id", ForeignKey("users.id"), nullable=False),
    Column("kind", String(20), nullable=False),
    Column("is_blind", Boolean, nullable=False),
    Column("revision", Integer, nullable=False),
    Column("n_done", Integer, nullable=False),
    Column("approval", Integer),
    Column("actions_hash", String(64)),
    Column("seconds", Double, nullable=False, info=_UNSEALED),
    Column("seen_at", Double, nullable=False, info=_UNSEALED),
    UniqueConstraint("case_id", "user_id", "kind"),
)
"""`n_done` of the layer's actions hold, the rest is undone; `approval` 1 or 2 = first or second.
`actions_hash` is over all actions, with those that are undone."""

ACTIONS = _define(
    "actions",
    Column("layer_id", ForeignKey("layers.id"), primary_key=True),
    Column("position", Integer, primary_key=True),
    Column("steps", Text, nullable=False),
)

LISTED_WORDS = _define_sealed(
    "listed_words",
    Column("id", BigInteger, primary_key=True, autoincrement=False),
    Column("sort", String(20), nullable=False),
    Column("user_id", ForeignKey("users.id"), nullable=False),
    Column("at", Double, nullable=False),
    Column("case_id", ForeignKey("cases.id"), index=True),
    Column("for_new_files", Boolean, nullable=False),
    Column("unfinished", String(10), nullable=False),
    Column("sealed", LargeBinary, nullable=False, info=_place("listed words {id}")),
)
"""Words that are always or never masked (`flow.word_lists`), and the case that they are from, NULL = they
were typed. The numbers are random, so that none is used again: actions have them. `unfinished` says whether
cases are left to which one is to be added, or from which it is to be removed, "" = none."""

NOTES = _define_sealed(
    "notes",
    Column("id", Integer, primary_key=True),
    Column("case_id", ForeignKey("cases.id"), nullable=False, index=True),
    Column("user_id", ForeignKey("users.id"), nullable=False),
    Column("at", Double, nullable=False),
    Column("first", Integer),
    Column("stop", Integer),
    Column("sealed", LargeBinary, nullable=False, info=_place("a note of user {user_id} on case {case_id}")),
)

FORMS = _define_sealed(
    "forms",
    Column("case_id", ForeignKey("cases.id"), primary_key=True),
    Column("user_id", ForeignKey("users.id"), primary_key=True),
    Column("answers", Text, nullable=False),
    Column("sealed", LargeBinary, nullable=False, info=_place("a form of user {user_id} on case {case_id}")),
)

SAMPLES = _define_sealed(
    "samples",
    Column("id", Integer, primary_key=True),
    Column("drawn_at", Double, nullable=False),
    Column("n_released", Integer, nullable=False),
)

SAMPLE_CASES = _define_sealed(
    "sample_cases",
    Column("sample_id", ForeignKey("samples.id"), primary_key=True),
    Column("case_id", ForeignKey("cases.id"), primary_key=True),
    Column("reader_id", ForeignKey("users.id")),
    Column("leaks", Boolean),
)

TRAIL = _define(
    "trail",
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("line", Text, nullable=False),
    Column("hash", String(64), nullable=False),
)

TRAIL_HEAD = _define(
    "trail_head",
    Column("id", Integer, primary_key=True, autoincrement=False),
    Column("n_entries", Integer, nullable=False),
    Column("hash", String(64), nullable=False),
    Column("seal", String(64), nullable=False),
)

WAITING = _define(
    "waiting",
    Column("id", Integer, primary_key=True),
    Column("state", String(20), nullable=False),
    Column("n_bytes", BigInteger, nullable=False),
    Column("name_key", BigInteger, nullable=False),
    Column("sealed", LargeBinary, nullable=False, info=_place("waiting {id}")),
)
"""Files that somebody added and what came of them; `sealed` has all other facts."""

WAITING_PIECES = _define(
    "waiting_pieces",
    Column("waiting_id", ForeignKey("waiting.id"), primary_key=True),
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("sealed", LargeBinary, nullable=False, info=_place("waiting {waiting_id} piece {number}")),
)
"""The bytes of these files, in order; gone as soon as a file is masked or taken away."""

ENCRYPTED = tuple(column for table in METADATA.sorted_tables for column in table.c if "place" in column.info)
"""All columns with encrypted values, except those of `NAMES`."""

NAMES = tuple(column for table in METADATA.sorted_tables for column in table.c if "name" in column.info)
"""All columns with names, sealed with the key of their file (`keys.FileNames`)."""
