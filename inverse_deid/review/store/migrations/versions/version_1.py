"""The first tables, with one way of masking for a whole store."""

from __future__ import annotations

revision = "1"
down_revision = None
