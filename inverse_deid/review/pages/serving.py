"""uvicorn over the application: loopback by default, elsewhere only with TLS or behind a proxy."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass
from pathlib import Path

import uvicorn

from inverse_deid.core.errors import ConfigurationError, UnreadableInputError
from inverse_deid.review.pages.application import make_application
from inverse_deid.review.store import ReviewStore

MAX_CONNECTIONS = 500

_LOOPBACK_NAMES = frozenset({"localhost", "127.0.0.1", "::1"})


@dataclass(frozen=True, slots=True, kw_only=True)
class ServeSettings:
    """Where the pages are served.

    Args:
        address: IP address to listen on.
        port: In [1, 65535].
        certificate: PEM file of the certificate chain.
        private_key: PEM file of its key.
        proxy: IP address of the proxy that ends TLS; what it says of clients is believed.

    Raises:
        ConfigurationError: Not loopback and neither TLS nor a proxy; half of a certificate.
        UnreadableInputError: A file is missing.
    """

    address: str = "127.0.0.1"
    port: int = 8017
    certificate: Path | None = None
    private_key: Path | None = None
    proxy: str | None = None

    def __post_init__(self) -> None:
        if (self.certificate is None) != (self.private_key is None):
            raise ConfigurationError("TLS needs both --certificate and --private-key")
        for file in (self.certificate, self.private_key):
            if file is not None and not file.is_file():
                raise UnreadableInputError(f"{file} does not exist")
        if not (self.is_loopback or self.is_secure):
            raise ConfigurationError(
                f"{self.address} is reached by others: give --certificate and --private-key, "
                "or --behind-proxy"
            )
        _address(self.proxy or "127.0.0.1")

    @property
    def is_loopback(self) -> bool:
        """Only this machine reaches it."""
        return _address(self.address).is_loopback

    @property
    def is_secure(self) -> bool:
        """Browsers reach it through TLS."""
        return self.certificate is not None or self.proxy is not None

    @property
    def hosts(self) -> frozenset[str] | None:
        """Names that it is called by; None = any, as only the proxy or the certificate knows them."""
        return _LOOPBACK_NAMES | {self.address} if self.is_loopback and self.proxy is None else None

    @property
    def url(self) -> str:
        """What to type into the browser."""
        host = f"[{self.address}]" if ":" in self.address else self.address
        return f"{'https' if self.certificate is not None else 'http'}://{host}:{self.port}/"


def _address(given: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address:
    try:
        return ipaddress.ip_address(given)
    except ValueError:
        pass
    raise ConfigurationError(f"{given} is no IP address; give one such as 127.0.0.1")


def serve(store: ReviewStore, settings: ServeSettings) -> None:
    """Serve the pages until the program is stopped; a request that was begun is ended first."""
    application = make_application(store, is_secure=settings.is_secure, hosts=settings.hosts)
    uvicorn.run(
        application,
        host=settings.address,
        port=settings.port,
        ssl_certfile=settings.certificate,
        ssl_keyfile=settings.private_key,
        proxy_headers=settings.proxy is not None,
        forwarded_allow_ips=settings.proxy,
        access_log=False,
        log_level="warning",
        server_header=False,
        limit_concurrency=MAX_CONNECTIONS,
        timeout_graceful_shutdown=10,
    )
