"""Anchors: the head of a trail, kept outside the store, so that a trail that was cut is found.

An anchor is one line of JSON with the number and hash of the last entry, its time, the seal and a signature.
It is appended to a file that should be elsewhere, or sent to syslog. `review verify --against FILE` checks
the signatures, and that the trail still has all anchored entries. Entries after the last anchor can still be
cut off.

A time-stamp authority (RFC 3161) can stamp the SHA-256 of the line. Its answer is appended to the files of
anchors, with the anchor itself: `{"anchor": ..., "token": base64}`.
"""

from __future__ import annotations

import json
import logging
import logging.handlers
import os
from base64 import b64decode, b64encode
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import copy_context
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from http.client import HTTPException
from pathlib import Path
from threading import Event, Thread
from typing import TYPE_CHECKING
from urllib.error import HTTPError
from urllib.parse import urlsplit
from urllib.request import HTTPRedirectHandler, Request, build_opener

from inverse_deid.core.errors import (
    ConfigurationError,
    OutputError,
    Remedy,
    UnreadableInputError,
    describe_error,
)
from inverse_deid.core.files import output_errors
from inverse_deid.core.wording import N_, _
from inverse_deid.review.store.opening import ReviewStore
from inverse_deid.review.store.trail import MAX_PROBLEMS, TrailCheck, count_entries, describe_head, read_lines

if TYPE_CHECKING:
    from cryptography.x509 import Certificate

EVERY_ENTRIES = 1000
EVERY_MINUTES = 10.0

LOG = logging.getLogger("inverse_deid.review")

_LOOK_SECONDS = 5.0
_SYSLOG = "syslog:"
_SYSLOG_SOCKET = "/dev/log"
_AUTHORITY = "tsa:"
_STAMP_SECONDS = 10.0
_MAX_ANSWER_BYTES = 1 << 18
_USUAL_DELAY = timedelta(minutes=5)


def write_anchor(store: ReviewStore, places: Sequence[str], *, stamp_seconds: float = _STAMP_SECONDS) -> int:
    """Write the head of the trail to every place, and return the number of its last entry.

    A place is the path of a file, `syslog:` (this machine), `syslog:HOST:PORT` (UDP), or `tsa:URL`, whose
    time stamp is appended to the files. A time stamp that fails is logged, and the anchor is written.

    Raises:
        ConfigurationError: A place is malformed, or a time stamp has no file.
        OutputError: A file cannot be written, or syslog cannot be reached.
    """
    files, authorities = _find_files(places), _find_authorities(places)
    with store.reading() as transaction:
        head = describe_head(transaction)
    at = datetime.fromtimestamp(store.now(), UTC).isoformat(timespec="microseconds")
    anchor = {"at": at, **head}
    line = _encode_anchor(anchor)
    for path in files:
        _append_line(path, line)
    for place in places:
        if place.startswith(_SYSLOG):
            _send_to_syslog(place.removeprefix(_SYSLOG), line)
    for url in authorities:
        try:
            token = b64encode(_request_stamp(url, line.encode(), stamp_seconds)).decode()
        except OutputError as error:
            LOG.error("%s", error)  # noqa: TRY400 - no traceback
            continue
        for path in files:
            _append_line(path, json.dumps({"anchor": anchor, "token": token}))
    return int(head["n_entries"])


def _find_files(places: Sequence[str]) -> list[Path]:
    return [Path(place) for place in places if not place.startswith((_SYSLOG, _AUTHORITY))]


def _find_authorities(places: Sequence[str]) -> list[str]:
    # A URL can hold a secret, so none is in a message.
    urls = [place.removeprefix(_AUTHORITY) for place in places if place.startswith(_AUTHORITY)]
    for url in urls:
        try:
            parts = urlsplit(url)
            is_url = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
        except ValueError:
            is_url = False
        if not is_url:
            raise ConfigurationError(
                _("{authority} needs an address such as {authority}https://HOST/PATH", authority=_AUTHORITY)
            )
    if urls and not _find_files(places):
        raise ConfigurationError(
            _("{authority} needs a file for its time stamps", authority=_AUTHORITY),
            remedies=[Remedy("anchor", "FILE", step=N_("add {}"))],
        )
    return urls


def _encode_anchor(anchor: object) -> str:
    return json.dumps({"anchor": anchor})


def _append_line(path: Path, line: str) -> None:
    with output_errors(path):
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        try:
            os.write(descriptor, line.encode() + b"\n")
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


class _Syslog(logging.handlers.SysLogHandler):
    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802
        # Raise instead of printing.
        raise OutputError(_("syslog cannot be reached, so nothing was anchored")) from None


def _send_to_syslog(address: str, line: str) -> None:
    host, _ignored, port = address.rpartition(":")
    if address and not port.isdecimal():
        raise ConfigurationError(
            _("{syslog}{address} is not an address such as {syslog}HOST:514", syslog=_SYSLOG, address=address)
        )
    try:
        handler = _Syslog((host, int(port)) if address else _SYSLOG_SOCKET)
    except OSError as error:
        raise OutputError(_("syslog cannot be reached ({name})", name=type(error).__name__)) from None
    handler.emit(logging.LogRecord("inverse-deid", logging.INFO, "", 0, line, None, None))
    handler.close()


class _NoRedirect(HTTPRedirectHandler):
    """Follows no redirect: nothing is sent anywhere else."""

    def redirect_request(self, *_: object) -> None:
        # None makes the redirect an error.
        pass


def _request_stamp(url: str, line: bytes, seconds: float) -> bytes:
    """Return the answer of an authority, which gets the SHA-256 of the line and a random number.

    Source: RFC 3161, sections 2.4 and 3.4.
    """
    from rfc3161_client import HashAlgorithm, PKIStatus, TimestampRequestBuilder, decode_timestamp_response

    request = TimestampRequestBuilder().data(line).hash_algorithm(HashAlgorithm.SHA256).build()
    headers = {"Content-Type": "application/timestamp-query", "User-Agent": "inverse-deid"}
    found: list[bytes] = []
    faults: list[str] = []

    def ask() -> None:
        try:
            asked = Request(url, request.as_bytes(), headers)  # noqa: S310 - only http and https get here
            with build_opener(_NoRedirect).open(asked, timeout=seconds) as stream:
                answer = stream.read(_MAX_ANSWER_BYTES)
        except HTTPError as error:
            faults.append(_("status {code}", code=error.code))
            error.close()
            return
        except (OSError, HTTPException, ValueError) as error:
            if not isinstance(getattr(error, "reason", error), TimeoutError):
                faults.append(_("it cannot be reached"))
            return
        try:
            stamp = decode_timestamp_response(answer)
            is_fit = (
                stamp.status == PKIStatus.GRANTED
                and stamp.tst_info.nonce == request.nonce
                and stamp.tst_info.message_imprint.message == request.message_imprint.message
            )
        except ValueError:
            faults.append(_("its answer cannot be read"))
            return
        if is_fit:
            found.append(answer)
        else:
            faults.append(_("its answer does not fit the request"))

    thread = Thread(
        target=copy_context().run, args=(ask,), name="time stamp", daemon=True
    )  # a look-up may take long
    thread.start()
    thread.join(seconds)
    if found:
        return found[0]
    fault = faults[0] if faults else _("no answer within {seconds:g} seconds", seconds=seconds)
    host = urlsplit(url).hostname
    raise OutputError(
        _(
            "no time stamp from {host}: {fault}. The anchor is written. The next one tries again",
            host=host,
            fault=fault,
        )
    )


def check_stamps(check: TrailCheck, path: Path, certificates: Sequence[Certificate]) -> TrailCheck:
    """Add to a check whether the time stamps of a file of anchors fit their lines and the certificates.

    The certificates are trusted: that of the authority, or those that issued it. Without any, nothing is
    checked, and a note says so.

    Raises:
        UnreadableInputError: The file cannot be read, or has no time stamp for the certificates.
    """
    problems: list[str] = []
    notes: list[str] = []
    stamped: list[tuple[datetime, int]] = []
    lines = [(i, line) for i, line in enumerate(read_lines(path), 1) if "anchor" in line]
    tokens = [(i, line["anchor"], line["token"]) for i, line in lines if "token" in line]
    if not certificates:
        notes = (
            [
                _(
                    "{n_tokens:,} time stamps were not checked. Give the certificate of the authority.",
                    n_tokens=len(tokens),
                )
            ]
            if tokens
            else []
        )
        return replace(check, notes=(*check.notes, *notes))
    if not tokens:
        raise UnreadableInputError(_("{path} has no time stamps", path=path))
    from rfc3161_client import VerificationError, VerifierBuilder, decode_timestamp_response

    verifier = VerifierBuilder(roots=list(certificates)).build()
    for i, anchor, token in tokens:
        try:
            answer = decode_timestamp_response(b64decode(token, validate=True))
            verifier.verify_message(answer, _encode_anchor(anchor).encode())
            at, n_entries = answer.tst_info.gen_time, int(anchor["n_entries"])
            if abs(at - datetime.fromisoformat(anchor["at"])) > _USUAL_DELAY:
                notes.append(
                    _(
                        "the anchor of entry {n_entries} has another time than its stamp, {show}",
                        n_entries=n_entries,
                        show=_show(at),
                    )
                )
            stamped.append((at, n_entries))
        except (VerificationError, ValueError, TypeError, KeyError):
            problems.append(
                _("line {i} of the anchors: the time stamp does not fit the line or certificate", i=i)
            )
    n_bare = len(
        {_encode_anchor(line["anchor"]) for _, line in lines} - {_encode_anchor(a) for _, a, _ in tokens}
    )
    if n_bare:
        notes.append(_("{n_bare:,} anchors have no time stamp", n_bare=n_bare))
    for at, n_entries in dict.fromkeys((min(stamped), max(stamped)) if stamped else ()):
        notes.append(
            _(
                "entry {n_entries} and those before it existed at {show}, by their time stamp",
                n_entries=n_entries,
                show=_show(at),
            )
        )
    return replace(
        check,
        problems=(*check.problems, *problems[:MAX_PROBLEMS]),
        notes=(*check.notes, *notes[-MAX_PROBLEMS:]),
    )


def _show(at: datetime) -> str:
    return f"{at.astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC"


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
    _find_authorities(places)
    anchored, began = 0 if is_new else count_entries(store), store.now()
    is_over = Event()

    def work() -> None:
        nonlocal anchored, began
        while not is_over.wait(look_seconds):
            try:
                n_new = count_entries(store) - anchored
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
        if count_entries(store) != anchored:
            write_anchor(store, places)
