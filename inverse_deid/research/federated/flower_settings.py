"""How Flower's SuperLink is reached."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True, kw_only=True)
class FlowerServer:
    """The SuperLink of Flower as the server reaches it, always over TLS.

    Args:
        superlink: HOST:PORT.
        root_certificates: PEM file of who signed the SuperLink's certificate.
        secret: The file that `flower-superlink` got as `--superexec-auth-secret-file`.
        node_keys: Folder with the public key SITE.pub of every site.
    """

    superlink: str
    root_certificates: Path
    secret: Path
    node_keys: Path


@dataclass(frozen=True, slots=True, kw_only=True)
class FlowerSite:
    """The SuperLink of Flower as a site reaches it, always over TLS.

    Args:
        superlink: HOST:PORT.
        root_certificates: PEM file of who signed the SuperLink's certificate.
        node_key: The site's private key.
    """

    superlink: str
    root_certificates: Path
    node_key: Path
