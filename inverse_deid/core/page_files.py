"""The style sheet and the icon that the pages of the review and of the service share, and their address."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from pathlib import Path

COMMON_FOLDER = Path(__file__).with_name("pages")
"""The shared files; nothing of a case."""


def address_of(folders: Iterable[Path]) -> str:
    """Return the address of static files; it changes with them, so that browsers may keep them.

    Example:
        >>> address_of([COMMON_FOLDER]).startswith("/static/")
        True
    """
    digest = hashlib.sha256()
    for file in sorted((file for folder in folders for file in folder.iterdir()), key=lambda one: one.name):
        digest.update(file.name.encode() + b"\0" + file.read_bytes() + b"\0")
    return f"/static/{digest.hexdigest()[:16]}"
