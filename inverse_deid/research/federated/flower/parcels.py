"""Sealed bytes in Flower's messages, keys as ssh-keygen writes them, and errors in one line."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from inverse_deid.core.errors import UnreadableInputError, UpdateError

_PART, _BYTES = "sealed", "bytes"
_QUIET = {"FLWR_TELEMETRY_ENABLED": "0"}
"""Flower shall not tell anybody that it runs."""
_LONGEST_PAUSE_S = 20.0


@dataclass(frozen=True, slots=True, eq=False)
class Parcel:
    """A message as it came.

    Args:
        data: Sealed bytes; whoever reads them checks the seal. None in a message of another kind.
        message: Flower's, to reply to.
    """

    data: bytes = field(repr=False)
    message: Any = field(repr=False)


def packed(data: bytes) -> Any:  # noqa: ANN401 - Flower is imported when it is needed
    """The content of a message of Flower."""
    from flwr.app import ConfigRecord, RecordDict

    return RecordDict({_PART: ConfigRecord({_BYTES: data})})


def unpacked(message: Any) -> Parcel:  # noqa: ANN401
    """The bytes in a message of Flower."""
    try:
        data = message.content[_PART][_BYTES]
    except (KeyError, TypeError, ValueError):
        data = b""
    return Parcel(data if isinstance(data, bytes) else b"", message)


def be_quiet() -> None:
    """Before Flower is imported: no telemetry, no log beside that of this program."""
    os.environ.update(_QUIET)
    logging.getLogger("flwr").disabled = True  # its level is set anew when Flower is imported


def patient(limit_s: float) -> Any:  # noqa: ANN401
    """Flower's way to try again, while the SuperLink cannot be reached, up to a limit."""
    import httpx
    from flwr.supercore.retry import RetryInvoker, exponential

    return RetryInvoker(
        lambda: exponential(max_delay=_LONGEST_PAUSE_S),
        httpx.TransportError,
        max_tries=None,
        max_time=limit_s,
        should_giveup=_is_refusal,
    )


def _is_refusal(error: Exception) -> bool:
    """A certificate that does not fit will not fit later."""
    return "certificate" in str(error).lower()


@contextmanager
def reached() -> Iterator[None]:
    """Errors on the way to the SuperLink, in one line."""
    import httpx

    try:
        yield
    except httpx.HTTPStatusError as error:
        status, path = error.response.status_code, error.request.url.path
        raise UpdateError(f"the SuperLink refused {path} ({status})") from error
    except httpx.HTTPError as error:
        why = "certificate not accepted" if _is_refusal(error) else type(error).__name__
        raise UpdateError(f"the SuperLink cannot be reached over TLS ({why})") from error


def read_bytes(path: Path) -> bytes:
    """The bytes of a file.

    Raises:
        UnreadableInputError: It cannot be read.
    """
    try:
        return path.read_bytes()
    except OSError as error:
        raise UnreadableInputError(f"{path}: cannot be read ({error.strerror})") from error


def private_key(path: Path) -> Any:  # noqa: ANN401
    """A site's private key.

    Raises:
        UnreadableInputError: There is none.
    """
    from cryptography.hazmat.primitives.serialization import load_ssh_private_key

    return _loaded(path, lambda data: load_ssh_private_key(data, None))


def public_key(path: Path) -> bytes:
    """A site's public key as Flower writes it.

    Raises:
        UnreadableInputError: There is none.
    """
    from cryptography.hazmat.primitives.serialization import load_ssh_public_key
    from flwr.supercore.primitives.asymmetric import public_key_to_bytes

    return bytes(public_key_to_bytes(_loaded(path, load_ssh_public_key)))


def _loaded(path: Path, load: Callable[[bytes], Any]) -> Any:  # noqa: ANN401
    from cryptography.exceptions import UnsupportedAlgorithm
    from flwr.supercore.primitives.asymmetric import uses_nist_ec_curve

    try:
        key = load(read_bytes(path))
        if uses_nist_ec_curve(key if hasattr(key, "public_bytes") else key.public_key()):
            return key
    except (ValueError, TypeError, AttributeError, UnsupportedAlgorithm):
        pass
    raise UnreadableInputError(
        f"{path}: no key of the wanted kind; make it by ssh-keygen -t ecdsa -b 384 -N ''"
    )
