"""Messages as files in a folder that both sides can reach, for sites without open ports.

::

    to/SITE/state-000012.msg      from the server
    from/SITE/declaration.msg     from the site
    from/SITE/reply-000012.msg

A share, a synchronised folder or a stick that is carried: what counts is that files arrive
whole, so each is written beside its place and then renamed. Each site has its own key and
needs to see its own two folders only.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from inverse_deid.core.errors import OutputError, UnreadableInputError, UpdateError
from inverse_deid.research.federated.messages import Envelope, opened, sealed

Wait = Callable[[float], None]

DECLARATION = "declaration"
_LEAST_KEY_BYTES = 16
_STEP_S = 0.2


def state_name(number: int) -> str:
    """The name of a state's message."""
    return f"state-{number:06}"


def reply_name(number: int) -> str:
    """The name of a reply's message."""
    return f"reply-{number:06}"


class FileExchange:
    """Both ends of the folder.

    Args:
        folder: That both can reach.
        keys: The key of each site whose messages are opened or sealed here.
        wait: Sleeps between two looks.
        clock: Seconds, rising.
    """

    def __init__(
        self,
        folder: Path,
        keys: Mapping[str, bytes] | None = None,
        wait: Wait = time.sleep,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._folder, self._keys, self._wait, self._clock = folder, keys or {}, wait, clock

    def bytes_of(self, site: str, envelope: Envelope) -> bytes:
        """A message to or from a site, sealed with its key."""
        return sealed(envelope, self._keys[site])

    def send(self, side: str, site: str, name: str, data: bytes) -> None:
        """Put a message in its place, whole or not at all.

        Raises:
            OutputError: It cannot be written.
        """
        path = self._path(side, site, name)
        staging = path.with_name(f".{path.name}.partial")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            staging.write_bytes(data)
            staging.replace(path)
        except OSError as error:
            raise OutputError(f"{path}: cannot be written ({error.strerror})") from error

    def has(self, side: str, site: str, name: str) -> bool:
        """Whether a message is there."""
        return self._path(side, site, name).is_file()

    def read(self, side: str, site: str, name: str) -> Envelope:
        """Open a message.

        Raises:
            UpdateError: It is damaged, or sealed with another key.
            UnreadableInputError: It is not there.
        """
        return opened(self.data(side, site, name), self._keys[site])

    def data(self, side: str, site: str, name: str) -> bytes:
        """A message as it is.

        Raises:
            UnreadableInputError: It is not there.
        """
        path = self._path(side, site, name)
        try:
            return path.read_bytes()
        except OSError as error:
            raise UnreadableInputError(f"{path}: cannot be read ({error.strerror})") from error

    def latest(self, site: str) -> str | None:
        """The name of the newest state for a site."""
        names = sorted(path.stem for path in (self._folder / "to" / site).glob("state-*.msg"))
        return names[-1] if names else None

    def gather(self, sites: Sequence[str], name: str, timeout_s: float) -> dict[str, Envelope | UpdateError]:
        """Wait for a message of each site, no longer than the limit.

        Returns:
            What came, in the order of arrival; an error where a message could not be opened.
        """
        found: dict[str, Envelope | UpdateError] = {}
        end = self._clock() + timeout_s
        while True:
            for site in sites:
                if site not in found and self.has("from", site, name):
                    found[site] = self._opened(site, name)
            if len(found) == len(sites) or self._clock() >= end:
                return found
            self._wait(_STEP_S)

    def _opened(self, site: str, name: str) -> Envelope | UpdateError:
        try:
            return self.read("from", site, name)
        except UpdateError as error:
            return error

    def _path(self, side: str, site: str, name: str) -> Path:
        return self._folder / side / site / f"{name}.msg"


def read_key(path: Path) -> bytes:
    """Read a site's key: at least 16 bytes, as from `openssl rand -out east.key 32`.

    Raises:
        UnreadableInputError: Missing or too short.
    """
    try:
        key = path.read_bytes()
    except OSError as error:
        raise UnreadableInputError(f"{path}: cannot be read ({error.strerror}); make a key first") from error
    if len(key) < _LEAST_KEY_BYTES:
        raise UnreadableInputError(f"{path}: a key has at least {_LEAST_KEY_BYTES} bytes")
    return key
