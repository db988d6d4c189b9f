"""The first tables: those of `tables`, as a new store gets them."""

from __future__ import annotations

revision = "1"
down_revision = None
