"""What a service allows, and who may ask it."""

from __future__ import annotations

import ipaddress
import socket
from dataclasses import dataclass, field

from inverse_deid.core.errors import ConfigurationError, Remedy
from inverse_deid.core.wording import N_, _
from inverse_deid.service.batching import BatchingSettings
from inverse_deid.service.choices import Operator
from inverse_deid.service.clients import Clients


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceSettings:
    """What a service allows.

    Raises:
        ConfigurationError: A limit is not above 0.
    """

    operator: Operator = field(default_factory=Operator)  # how texts are masked, and what requests may choose
    has_details: bool = True  # answers can tell where and why something was masked
    clients: Clients | None = None  # who must send a token; None = no token (on a loopback address alone)
    hosts: frozenset[str] | None = None  # host names that it answers to, None = any
    max_body_bytes: int = 1_000_000  # size of a request
    max_documents: int = 1000  # documents in a request
    max_file_bytes: int = 10_000_000  # size of a file
    seconds: float = 30.0  # how long a request may take, reading and waiting included
    batching: BatchingSettings = field(default_factory=BatchingSettings)

    def __post_init__(self) -> None:
        if min(self.max_body_bytes, self.max_documents, self.max_file_bytes, self.seconds) <= 0:
            raise ConfigurationError(_("the limits of size, documents and time must be above 0"))


def check_address(host: str, clients: Clients | None, proxy: str | None = None) -> None:
    """Refuse to listen to others, or to a proxy that passes on what others send, without a token.

    Raises:
        ConfigurationError: Others could connect without a token, or the address does not exist.
    """
    if clients is None and (proxy is not None or not is_loopback(host)):
        raise ConfigurationError(
            _("without a token the service listens on a loopback address alone, and to no proxy"),
            choice="host",
            remedies=[
                Remedy("token_file", step=N_("give {}")),
                Remedy("tokens", step=N_("give {}")),
                Remedy(step=N_("set INVERSE_DEID_TOKEN")),
                Remedy("host", also=("behind_proxy",), step=N_("leave out {}")),
            ],
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
        raise ConfigurationError(
            _("is not an address of this machine. Give one, such as 127.0.0.1"), choice="host"
        )
    return all(ipaddress.ip_address(str(one).partition("%")[0]).is_loopback for one in found)
