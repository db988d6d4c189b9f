"""What both ends of the SuperLink need: sealed bytes in Flower's messages, keys, errors in one line."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from inverse_deid.core.errors import ConfigurationError, UnreadableInputError, UpdateError
from inverse_deid.core.extras import install_hint
from inverse_deid.research.federated.messages import Envelope

FLOWER = "1.41."
DECLARE = Envelope({"kind": "declare"})
"""Asks a site to declare itself."""

_PART, _BYTES = "sealed", "bytes"
_QUIET = {"FLWR_TELEMETRY_ENABLED": "0"}
"""Turns off telemetry."""
_LONGEST_PAUSE_S = 20.0


@dataclass(frozen=True, slots=True, eq=False)
class Parcel:
    """A message as it came.

    Args:
        data: Sealed bytes, not yet checked; empty in a message of another kind.
        message: Flower's, to reply to.
    """

    data: bytes = field(repr=False)
    message: Any = field(repr=False)


def pack(data: bytes) -> Any:  # noqa: ANN401 - Flower is imported when it is needed
    """Return bytes as the content of a message of Flower."""
    from flwr.app import ConfigRecord, RecordDict

    return RecordDict({_PART: ConfigRecord({_BYTES: data})})


def unpack(message: Any) -> Parcel:  # noqa: ANN401
    """Return the bytes in a message of Flower."""
    try:
        data = message.content[_PART][_BYTES]
    except (KeyError, TypeError, ValueError):
        data = b""
    return Parcel(data if isinstance(data, bytes) else b"", message)


def find_version(package: str) -> str:
    """Return the version of a package, "none" if it is not installed."""
    try:
        return version(package)
    except PackageNotFoundError:
        return "none"


def need_flower() -> None:
    """Check that Flower is installed, before anything is read.

    Raises:
        ConfigurationError: It is not installed, or has another version.
    """
    found = find_version("flwr")
    if not found.startswith(FLOWER):
        raise ConfigurationError(f"[flower] needs flwr {FLOWER}x, found {found}: {install_hint('federated')}")


def be_quiet() -> None:
    """Turn off Flower's telemetry and log. Call it before Flower is imported."""
    os.environ.update(_QUIET)
    logging.getLogger("flwr").disabled = True  # its level is set anew when Flower is imported


def be_patient(limit_s: float) -> Any:  # noqa: ANN401
    """Return Flower's invoker that retries while the SuperLink cannot be reached, up to a limit."""
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
    """Tell whether a certificate was refused, which will not change later."""
    return "certificate" in str(error).lower()


@contextmanager
def translate_errors() -> Iterator[None]:
    """Turn errors on the way to the SuperLink into one line."""
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
    """Return the bytes of a file.

    Raises:
        UnreadableInputError: It cannot be read.
    """
    try:
        return path.read_bytes()
    except OSError as error:
        raise UnreadableInputError(f"{path}: cannot be read ({error.strerror})") from error


def read_private_key(path: Path) -> Any:  # noqa: ANN401
    """Read a site's private key.

    Raises:
        UnreadableInputError: It cannot be read.
    """
    from cryptography.hazmat.primitives.serialization import load_ssh_private_key

    return _load_key(path, lambda data: load_ssh_private_key(data, None))


def read_public_key(path: Path) -> bytes:
    """Read a site's public key and return it as Flower writes it.

    Raises:
        UnreadableInputError: It cannot be read.
    """
    from cryptography.hazmat.primitives.serialization import load_ssh_public_key
    from flwr.supercore.primitives.asymmetric import public_key_to_bytes

    return bytes(public_key_to_bytes(_load_key(path, load_ssh_public_key)))


def _load_key(path: Path, load: Callable[[bytes], Any]) -> Any:  # noqa: ANN401
    from cryptography.exceptions import UnsupportedAlgorithm
    from flwr.supercore.primitives.asymmetric import uses_nist_ec_curve

    try:
        key = load(read_bytes(path))
        if uses_nist_ec_curve(key if hasattr(key, "public_bytes") else key.public_key()):
            return key
    except (ValueError, TypeError, AttributeError, UnsupportedAlgorithm):
        pass
    raise UnreadableInputError(
        f"{path}: not an ECDSA key for OpenSSH; make one with ssh-keygen -t ecdsa -b 384 -N ''"
    )
