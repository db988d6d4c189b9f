"""What a service allows, and who may ask it."""

from __future__ import annotations

import hashlib
import hmac
import ipaddress
import socket
from dataclasses import dataclass, field
from typing import Self

from inverse_deid.core.errors import ConfigurationError
from inverse_deid.service.batching import BatchingSettings
from inverse_deid.service.choices import Operator

MIN_TOKEN_CHARS = 16


@dataclass(frozen=True, slots=True)
class Token:
    """The secret that every client must send, kept as its SHA-256 and compared in constant time.

    Example:
        >>> Token.of("not-a-secret-00001").fits("not-a-secret-00002")
        False
    """

    digest: bytes = field(repr=False)

    @classmethod
    def of(cls, secret: str) -> Self:
        """Return the token of a secret.

        Raises:
            ConfigurationError: It is short, or has characters that no header can carry.
        """
        if len(secret) < MIN_TOKEN_CHARS or not secret.isascii() or not secret.isprintable() or " " in secret:
            raise ConfigurationError(
                f"the token needs {MIN_TOKEN_CHARS} or more printable ASCII characters, without blanks. "
                "Make one with: openssl rand -hex 32"
            )
        return cls(_digest(secret))

    def fits(self, secret: str) -> bool:
        """Tell whether a client sent the secret."""
        return hmac.compare_digest(self.digest, _digest(secret))


def _digest(secret: str) -> bytes:
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).digest()


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceSettings:
    """What a service allows.

    Raises:
        ConfigurationError: A limit is not above 0.
    """

    operator: Operator = field(default_factory=Operator)  # how texts are masked, and what requests may choose
    has_details: bool = True  # answers can tell where and why something was masked
    token: Token | None = None  # clients must send it; None = no token (on a loopback address alone)
    max_body_bytes: int = 1_000_000  # size of a request
    max_documents: int = 1000  # documents in a request
    max_file_bytes: int = 10_000_000  # size of a file
    seconds: float = 30.0  # how long a request may take, reading and waiting included
    batching: BatchingSettings = field(default_factory=BatchingSettings)

    def __post_init__(self) -> None:
        if min(self.max_body_bytes, self.max_documents, self.max_file_bytes, self.seconds) <= 0:
            raise ConfigurationError("the limits of size, documents and time must be above 0")


def check_address(host: str, token: Token | None) -> None:
    """Refuse to listen to others without a token.

    Raises:
        ConfigurationError: Others could connect without a token, or the address does not exist.
    """
    if token is None and not is_loopback(host):
        raise ConfigurationError(
            "--host: without a token the service listens on a loopback address alone. Give --token-file, set "
            "INVERSE_DEID_TOKEN, or leave --host out"
        )


def is_loopback(host: str) -> bool:
    """Tell whether only this machine reaches an address, or all addresses of a name.

    Raises:
        ConfigurationError: The address does not exist.

    Example:
        >>> is_loopback("127.0.0.1"), is_loopback("0.0.0.0"), is_loopback("")
        (True, False, False)
    """
    if not host:
        return False
    try:
        found = {info[4][0] for info in socket.getaddrinfo(host, None)}
    except (OSError, UnicodeError):
        found = set()
    if not found:
        raise ConfigurationError("--host is not an address of this machine. Give one, such as 127.0.0.1")
    return all(ipaddress.ip_address(str(one).partition("%")[0]).is_loopback for one in found)
