"""Anchors: the head of a trail, kept outside the store, so that a trail that was cut is found.

An anchor is one line of JSON with the number and hash of the last entry, its time, the seal and a signature.
It is appended to a file that should be elsewhere, or sent to syslog. `review verify --against FILE` checks
that the trail still has all anchored entries. Entries after the last anchor can still be cut off.
"""

from __future__ import annotations

import json
import logging
import logging.handlers
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from threading import Event, Thread

from sqlalchemy import select

from inverse_deid.core.errors import ConfigurationError, OutputError, describe_error
from inverse_deid.core.files import output_errors
from inverse_deid.review.store import ReviewStore
from inverse_deid.review.tables import TRAIL_HEAD
from inverse_deid.review.trail import describe_head

EVERY_ENTRIES = 1000
EVERY_MINUTES = 10.0

LOG = logging.getLogger("inverse_deid.review")

_LOOK_SECONDS = 5.0
_SYSLOG = "syslog:"
_SYSLOG_SOCKET = "/dev/log"


def write_anchor(store: ReviewStore, places: Sequence[str]) -> int:
    """Write the head of the trail to every place, and return the number of its last entry.

    A place is the path of a file, `syslog:` (this machine) or `syslog:HOST:PORT` (UDP).

    Raises:
        OutputError: A file cannot be written, or syslog cannot be reached.
    """
    with store.reading() as connection:
        head = connection.execute(select(TRAIL_HEAD)).one()
    at = datetime.fromtimestamp(store.now(), UTC).isoformat(timespec="microseconds")
    line = json.dumps({"anchor": {"at": at, **describe_head(store, head.n_entries, head.hash, head.seal)}})
    for place in places:
        if place.startswith(_SYSLOG):
            _send_to_syslog(place.removeprefix(_SYSLOG), line)
        else:
            _append_line(Path(place), line)
    return int(head.n_entries)


def _append_line(path: Path, line: str) -> None:
    with output_errors(path):
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        try:
            os.write(descriptor, line.encode() + b"\n")
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


class _Syslog(logging.handlers.SysLogHandler):
    """Sends a line, or raises."""

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802
        """Raise instead of printing."""
        raise OutputError("syslog cannot be reached, so nothing was anchored") from None


def _send_to_syslog(address: str, line: str) -> None:
    host, _, port = address.rpartition(":")
    if address and not port.isdecimal():
        raise ConfigurationError(f"{_SYSLOG}{address} is not an address such as {_SYSLOG}HOST:514")
    try:
        handler = _Syslog((host, int(port)) if address else _SYSLOG_SOCKET)
    except OSError as error:
        raise OutputError(f"syslog cannot be reached ({type(error).__name__})") from None
    handler.emit(logging.LogRecord("inverse-deid", logging.INFO, "", 0, line, None, None))
    handler.close()


@contextmanager
def anchoring(
    store: ReviewStore,
    places: Sequence[str],
    *,
    every_entries: int = EVERY_ENTRIES,
    every_minutes: float = EVERY_MINUTES,
    look_seconds: float = _LOOK_SECONDS,
    is_new: bool = False,
) -> Iterator[None]:
    """Anchor the trail while the block runs, and at its end; nothing is written if nothing was appended.

    A thread looks at the head. It writes an anchor after a number of entries, or some minutes after one. Of a
    trail that `is_new`, all entries count as appended.
    """
    if not places:
        yield
        return
    anchored, began = 0 if is_new else _count(store), store.now()
    is_over = Event()

    def work() -> None:
        nonlocal anchored, began
        while not is_over.wait(look_seconds):
            try:
                n_new = _count(store) - anchored
                is_due = store.now() - began >= 60.0 * every_minutes
                if n_new >= every_entries or (n_new and is_due):
                    anchored, began = write_anchor(store, places), store.now()
            except Exception as error:  # noqa: BLE001 - the thread goes on, and only kind and place are logged
                LOG.error("%s", describe_error(error))  # noqa: TRY400 - no traceback

    thread = Thread(target=work, name="anchors", daemon=True)
    thread.start()
    try:
        yield
    finally:
        is_over.set()
        thread.join()
        if _count(store) != anchored:
            write_anchor(store, places)


def _count(store: ReviewStore) -> int:
    with store.reading() as connection:
        return int(connection.execute(select(TRAIL_HEAD.c.n_entries)).scalar_one())
