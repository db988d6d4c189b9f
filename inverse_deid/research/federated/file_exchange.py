"""Messages as files in a folder that both sides can reach, for sites without open ports.

::

    to/SITE/state-000012.msg      from the server
    from/SITE/declaration.msg     from the site
    from/SITE/reply-000012.msg

The folder may be a share, a synchronised folder or a stick that is carried. Files appear whole or
not at all. Each site has its own key and needs to see its own two folders only.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from inverse_deid.core.errors import OutputExistsError, UnreadableInputError, UpdateError
from inverse_deid.core.files import write_whole
from inverse_deid.research.federated.messages import (
    Envelope,
    Gathered,
    TrainingState,
    open_sealed,
    pack,
    seal,
)

DECLARATION = "declaration"
STEP_S = 0.2
_LEAST_KEY_BYTES = 16


def reply_name(number: int) -> str:
    """Return the name of the message that answers a round."""
    return f"reply-{number:06}"


class FileExchange:
    """Both ends of the folder; with the keys of all sites it is the `Carrier` of a server."""

    def __init__(
        self,
        folder: Path,
        keys: Mapping[str, bytes] | None = None,
        wait: Callable[[float], None] = time.sleep,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.folder = folder
        self._keys, self._wait, self._clock = keys or {}, wait, clock

    def send(self, side: str, site: str, name: str, data: bytes) -> None:
        """Write a message, whole or not at all, or raise `OutputError`."""
        write_whole(self._path(side, site, name), [data])

    def has(self, side: str, site: str, name: str) -> bool:
        """Tell whether a message is there."""
        return self._path(side, site, name).is_file()

    def read(self, side: str, site: str, name: str) -> bytes:
        """Return a message as it is, or raise `UnreadableInputError`."""
        return read_bytes(self._path(side, site, name))

    def find_latest(self, site: str) -> str | None:
        """Return the name of the newest state for a site."""
        return max((path.stem for path in (self.folder / "to" / site).glob("state-*.msg")), default=None)

    def gather(self, sites: Sequence[str], name: str, timeout_s: float) -> dict[str, Envelope | UpdateError]:
        """Wait for a message of each site, no longer than the limit."""
        found: dict[str, Envelope | UpdateError] = {}
        end = self._clock() + timeout_s
        while True:
            for site in sites:
                if site not in found and self.has("from", site, name):
                    try:
                        found[site] = open_sealed(self.read("from", site, name), self._keys[site])
                    except UpdateError as error:
                        found[site] = error
            if len(found) == len(sites) or self._clock() >= end:
                return found
            self._wait(STEP_S)

    def refuse_earlier_run(self) -> None:
        """Refuse a folder with states of an earlier server."""
        if any(self.find_latest(site) for site in self._keys):
            raise OutputExistsError(
                f"{self.folder}: contains an earlier run. Resume it with --resume, or use an empty folder"
            )

    def gather_declarations(self, sites: Sequence[str], timeout_s: float) -> Gathered:
        """Wait for declarations, which sites write without being asked."""
        return self.gather(sites, DECLARATION, timeout_s)

    def gather_answers(self, state: TrainingState, timeout_s: float) -> Gathered:
        """Publish a state, then wait."""
        self._publish(state, state.asked)
        return self.gather(state.asked, reply_name(state.number), timeout_s)

    def conclude(self, state: TrainingState, timeout_s: float) -> Sequence[str]:
        """Leave the result in the folder, where a site may fetch it at any time."""
        self._publish(state, list(self._keys))
        return ()

    def _publish(self, state: TrainingState, sites: Sequence[str]) -> None:
        for site in sites:
            self.send("to", site, f"state-{state.number:06}", seal(pack(state), self._keys[site]))

    def _path(self, side: str, site: str, name: str) -> Path:
        return self.folder / side / site / f"{name}.msg"


def read_bytes(path: Path, remedy: str = "") -> bytes:
    """Return the bytes of a file, or raise `UnreadableInputError`."""
    try:
        return path.read_bytes()
    except OSError as error:
        raise UnreadableInputError(f"{path}: cannot be read ({error.strerror}){remedy}") from error


def read_key(path: Path) -> bytes:
    """Read a site's key: at least 16 bytes, as from `openssl rand -out east.key 32`.

    Raises:
        UnreadableInputError: It is missing or too short.
    """
    key = read_bytes(path, ". Make a key first")
    if len(key) < _LEAST_KEY_BYTES:
        raise UnreadableInputError(
            f"{path}: a key needs at least {_LEAST_KEY_BYTES} bytes. Make a longer one"
        )
    return key
