"""The key of a store: read, made, and split into keys for single purposes.

Whoever has the key file and the database can read every narrative; without the key file nothing
can be read, and nothing can be recovered.

Source: RFC 5869 (HKDF).
"""

from __future__ import annotations

import os
import secrets
import stat
from dataclasses import dataclass, field
from pathlib import Path

from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from inverse_deid.core.errors import ConfigurationError

MIN_KEY_BYTES = 16
_OTHERS = stat.S_IRWXG | stat.S_IRWXO


@dataclass(frozen=True, slots=True)
class ReviewKey:
    """A secret.

    Args:
        secret: At least 16 bytes.

    Raises:
        ConfigurationError: It is shorter.
    """

    secret: bytes = field(repr=False)

    def __post_init__(self) -> None:
        if len(self.secret) < MIN_KEY_BYTES:
            raise ConfigurationError(f"the key is too short; give {MIN_KEY_BYTES} secret bytes or more")

    def derived(self, purpose: str) -> bytes:
        """32 bytes for one purpose that tell nothing of the key or of those for other purposes."""
        info = f"inverse-deid review {purpose}".encode()
        return HKDF(algorithm=SHA256(), length=32, salt=None, info=info).derive(self.secret)


def key_beside(store: Path) -> Path:
    """Where `review init` puts the key of a store if none was given.

    Example:
        >>> key_beside(Path("review.db")).name
        'review.db.key'
    """
    return store.with_name(store.name + ".key")


def make_key_file(path: Path) -> ReviewKey:
    """Write a new random key that only its owner can read (mode 600).

    Raises:
        ConfigurationError: The file is there, or cannot be written.
    """
    secret = secrets.token_urlsafe(32).encode()
    problem = ""
    try:
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as stream:
            stream.write(secret + b"\n")
            stream.flush()
            os.fsync(stream.fileno())
    except OSError as error:
        problem = error.strerror or type(error).__name__
    if problem:
        raise ConfigurationError(f"{path} cannot be written ({problem}); give a key with --key")
    return ReviewKey(secret)


def check_private(path: Path) -> None:
    """Refuse a key file that others may read.

    Raises:
        ConfigurationError: Its mode lets group or others in.
    """
    if os.name == "posix" and path.exists() and path.stat().st_mode & _OTHERS:
        raise ConfigurationError(f"{path} can be read by others; run chmod 600 on it")
