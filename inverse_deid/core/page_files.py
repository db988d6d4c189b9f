"""What the pages of the review and of the service share: style sheets, icon, their address, and headers."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from pathlib import Path

COMMON_FOLDER = Path(__file__).with_name("pages")
"""The shared files; nothing of a case."""


HEADERS = (
    (
        "Content-Security-Policy",
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
        "form-action 'self'; base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; "
        "trusted-types 'none'",
    ),
    ("X-Content-Type-Options", "nosniff"),
    ("X-Frame-Options", "DENY"),
    ("Referrer-Policy", "no-referrer"),
    ("Cross-Origin-Opener-Policy", "same-origin"),
    ("Cross-Origin-Resource-Policy", "same-origin"),
    ("Permissions-Policy", "camera=(), microphone=(), geolocation=()"),
    ("Cache-Control", "no-store"),
)
"""Of every response; browsers may keep only the static files of the package."""

KEEP = "public, max-age=31536000, immutable"
"""How long browsers keep static files, whose addresses change with them."""


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
