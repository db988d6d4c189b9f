"""Who may ask the service: tokens by client, and how much each client may ask in a minute.

A token file is TOML, one table per client; of a token it has the SHA-256 alone:

    [[client]]
    name = "ward-7"
    sha256 = "9f2c..."
    requests_per_minute = 600
    words_per_minute = 500_000
"""

from __future__ import annotations

import hashlib
import hmac
import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Self

import msgspec

from inverse_deid.core.errors import ConfigurationError
from inverse_deid.core.settings import read_settings
from inverse_deid.core.wording import _

MIN_TOKEN_CHARS = 16

Clock = Callable[[], float]


class Client(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A program that may ask; None = without a limit."""

    name: Annotated[str, msgspec.Meta(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$")]
    sha256: Annotated[str, msgspec.Meta(pattern=r"^[0-9a-f]{64}$")]
    requests_per_minute: Annotated[int, msgspec.Meta(ge=1)] | None = None
    words_per_minute: Annotated[int, msgspec.Meta(ge=1)] | None = None

    def __repr__(self) -> str:
        return f"Client(name={self.name!r})"


class _ClientFile(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    client: tuple[Client, ...]

    def __post_init__(self) -> None:
        if not self.client:
            raise ConfigurationError(_("it has no [[client]]. Add one"))
        for kind in ("name", "sha256"):
            [(value, n_times)] = Counter(getattr(one, kind) for one in self.client).most_common(1)
            if n_times > 1:
                shown = value if kind == "name" else "one token"
                raise ConfigurationError(
                    _(
                        "{shown} is there {n_times} times. Give each client its own",
                        shown=shown,
                        n_times=n_times,
                    )
                )


class TooOftenError(Exception):
    """A client has used what it may ask; `seconds` until it may ask again."""

    def __init__(self, what: str, seconds: float) -> None:
        super().__init__(_("more {what} than this client may send in a minute. Try again later", what=what))
        self.seconds = seconds


class Clients:
    """The clients of a service and what they may still ask; used in the thread of the event loop alone.

    Example:
        >>> clients = Clients.of_token("not-a-secret-00001")
        >>> clients.find("not-a-secret-00001"), clients.find("not-a-secret-00002")
        (Client(name='token'), None)
    """

    def __init__(self, clients: Sequence[Client], clock: Clock = time.monotonic) -> None:
        self._clients = tuple(clients)
        self._clock = clock
        self._left: dict[tuple[str, str], tuple[float, float]] = {}  # allowance, and when that was

    def __repr__(self) -> str:
        return f"Clients(n={len(self._clients)})"

    @classmethod
    def of_token(cls, token: str) -> Self:
        """Return one client without limits.

        Raises:
            ConfigurationError: The token is short, or has characters that no header can carry.
        """
        if len(token) < MIN_TOKEN_CHARS or not token.isascii() or not token.isprintable() or " " in token:
            raise ConfigurationError(
                _(
                    "the token needs {min_token_chars} or more printable ASCII characters, without "
                    "blanks. Make one with: openssl rand -hex 32",
                    min_token_chars=MIN_TOKEN_CHARS,
                )
            )
        return cls([Client(name="token", sha256=_digest(token))])

    @classmethod
    def read(cls, path: Path) -> Self:
        """Return the clients of a token file.

        Raises:
            ConfigurationError: It cannot be read, or a value is missing, unknown or given twice.
        """
        return cls(read_settings(path, _ClientFile).client)

    def replace(self, other: Clients) -> None:
        """Take over others; what clients of the same name have used stays used."""
        self._clients = other._clients

    @property
    def is_shared(self) -> bool:
        """Whether all clients have the same token."""
        return len(self._clients) == 1

    def find(self, secret: str) -> Client | None:
        """Return the client of a token, None = unknown. All are compared, each in constant time."""
        digest = _digest(secret)
        fits = [one for one in self._clients if hmac.compare_digest(one.sha256, digest)]
        return fits[0] if fits else None

    def begin(self, client: Client) -> None:
        """Count a request.

        Raises:
            TooOftenError: The client has used its requests or words. This request is not counted.
        """
        for what, limit in (("requests", client.requests_per_minute), ("words", client.words_per_minute)):
            if limit is not None:
                need = 1.0 if what == "requests" else 0.0
                missing = need - self._allowance(client.name, what, limit)
                if missing > 0 or (what == "words" and missing == 0):
                    raise TooOftenError(what, max(1.0, missing * 60 / limit))
        self._use(client.name, "requests", client.requests_per_minute, 1)

    def charge(self, client: Client | None, n_words: int) -> None:
        """Count the words of a request when they are known. They may be more than was left."""
        if client is not None:
            self._use(client.name, "words", client.words_per_minute, n_words)

    def _allowance(self, name: str, what: str, limit: int) -> float:
        """Return how many may be used now: a minute fills an empty allowance."""
        left, at = self._left.get((name, what), (float(limit), self._clock()))
        return min(float(limit), left + (self._clock() - at) * limit / 60)

    def _use(self, name: str, what: str, limit: int | None, n: int) -> None:
        if limit is not None:
            self._left[name, what] = self._allowance(name, what, limit) - n, self._clock()


def _digest(secret: str) -> str:
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()
