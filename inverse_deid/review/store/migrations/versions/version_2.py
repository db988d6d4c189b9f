"""Copy the one way of masking of a store to all of its files, and number files and cases for ever."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import TYPE_CHECKING

import sqlalchemy as sa

from inverse_deid.core.errors import UnreadableInputError
from inverse_deid.review.store.schema import hash_file, hash_masking

if TYPE_CHECKING:
    from alembic.operations import Operations

    from inverse_deid.review.store.opening import ReviewStore

revision = "2"
down_revision = "1"


def upgrade(op: Operations, store: ReviewStore, _wrapped_keys: str) -> None:
    """Migrate a store of version 1."""
    connection = op.get_bind()
    maskings = op.create_table(
        "maskings",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("fingerprint", sa.String(64), nullable=False, unique=True),
        sa.Column("facts", sa.Text, nullable=False),
        sa.Column("output", sa.Text, nullable=False),
    )
    intakes = op.create_table(
        "intakes",
        sa.Column(
            "source_id", sa.Integer, sa.ForeignKey("sources.id"), primary_key=True, autoincrement=False
        ),
        sa.Column("masking_id", sa.Integer, sa.ForeignKey("maskings.id"), nullable=False, index=True),
        sa.Column("export_name", sa.Text, nullable=False, unique=True),
        sa.Column("content_hash", sa.String(64), nullable=False),
        sa.Column("added_at", sa.Double, nullable=False),
        sa.Column("added_by", sa.String(64), nullable=False),
    )
    must_change = sa.Column("must_change_password", sa.Boolean, nullable=False, server_default=sa.false())
    op.add_column("users", must_change)
    op.create_index("cases_by_name", "cases", ["name", "id"])

    meta = sa.table("meta", sa.column("name"), sa.column("value"))
    stored = sa.select(meta.c.value).where(meta.c.name == "settings")
    settings = json.loads(connection.execute(stored).scalar_one())
    facts, output = settings["facts"], settings.pop("extra")
    changed = sa.update(meta).where(meta.c.name == "settings")
    connection.execute(changed.values(value=json.dumps(settings)))
    row = {"facts": json.dumps(facts), "output": json.dumps(output)}
    op.bulk_insert(maskings, [{**row, "fingerprint": hash_masking(facts, output)}])
    masking_id = connection.execute(sa.select(maskings.c.id)).scalar_one()
    for name, table in (("last case", "cases"), ("last file", "sources")):
        last = connection.execute(sa.select(sa.func.max(sa.table(table, sa.column("id")).c.id))).scalar()
        op.bulk_insert(meta, [{"name": name, "value": str(last or 0)}])
    sources = sa.table("sources", sa.column("id"), sa.column("name"), sa.column("sealed", sa.LargeBinary))
    for source_id, name in connection.execute(sa.select(sources.c.id, sources.c.name)).all():
        sealed = sa.select(sources.c.sealed).where(sources.c.id == source_id)
        content_hash = ""  # of a damaged file: it is the same as no other
        with suppress(UnreadableInputError):
            data = store.sealer.open(connection.execute(sealed).scalar_one(), f"file {source_id}")
            content_hash = hash_file(store.file_key, data)
        intake = {
            "source_id": source_id,
            "masking_id": masking_id,
            "export_name": name,
            "content_hash": content_hash,
            "added_at": store.now(),
            "added_by": "migration",
        }
        op.bulk_insert(intakes, [intake])
