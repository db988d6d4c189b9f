"""The desk: a review of one person on their own computer, without accounts and without a terminal.

It is an ordinary store with one user and one approval. Everything is encrypted in a folder, and the key of
the store is in another folder of the same person. Only one desk at a time works on a folder: a second start
gets a one-time address from the first one.
"""

from __future__ import annotations

import hashlib
import http.client
import json
import os
import secrets
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import date
from functools import partial
from pathlib import Path

from filelock import FileLock, Timeout
from platformdirs import PlatformDirs
from sqlalchemy import select

from inverse_deid.core.errors import ConfigurationError, Remedy
from inverse_deid.core.files import check_private, output_errors, printable, replace_own
from inverse_deid.core.wording import N_, _
from inverse_deid.masking.assemble import build_deidentifier
from inverse_deid.masking.maskers import BuildMasker
from inverse_deid.replacement.settings import CaseSettings
from inverse_deid.review.files.loading import LoadSettings, create_store
from inverse_deid.review.files.service import IntakeService
from inverse_deid.review.flow.oversight import read_limits, set_limits
from inverse_deid.review.pages.application import make_application
from inverse_deid.review.pages.door import Door, Place, open_answer, prove
from inverse_deid.review.pages.intake_pages import cut_uploads
from inverse_deid.review.people.accounts import insert_user
from inverse_deid.review.store.keys import ReviewKey, make_key_file
from inverse_deid.review.store.migrations import migrate_store
from inverse_deid.review.store.opening import ReviewStore, open_store
from inverse_deid.review.store.tables import USERS
from inverse_deid.review.store.values import MaskingFacts, ReviewLimits, ReviewPolicy, User, UserRole
from inverse_deid.web.metrics import Metrics
from inverse_deid.web.server import WebSettings, owned_signals, run_server

USER_NAME = "you"
USUAL_PORT = 8018
"""Taken if it is free, so that the address of the pages stays the same."""

_NAME = "inverse-deid"
_STORE = "desk.db"
_LOCK = "desk.lock"
_RUNNING = "desk.running"
_TIMEOUT_SECONDS = 5


def find_place(folder: Path | None) -> Place:
    """Return where a desk keeps its store and its key.

    Without a folder it is the one that the system has for data of its user. The key is never in the folder.
    """
    data = PlatformDirs(_NAME, appauthor=False).user_data_path
    keys = PlatformDirs(_NAME, appauthor=False, roaming=True).user_preference_path
    chosen = (data / "desk" if folder is None else folder).absolute()
    mark = hashlib.sha256(str(chosen).encode("utf-8", "surrogateescape")).hexdigest()[:12]
    return Place(chosen, keys / f"desk-{mark}.key")


def open_key(place: Place) -> ReviewKey:
    """Return the key of a desk; a new one is made for a new desk.

    Raises:
        ConfigurationError: The key of an old desk is missing, others can read it, or it cannot be written.
    """
    for folder in (place.folder, place.key_file.parent):
        with output_errors(folder):
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    if place.key_file.exists():
        check_private(place.key_file)
        with output_errors(place.key_file):
            return ReviewKey(place.key_file.read_bytes().strip())
    if (place.folder / _STORE).exists():
        raise ConfigurationError(
            _(
                "{key_file} is missing, and without this key nothing in {folder} can be read",
                key_file=printable(place.key_file),
                folder=printable(place.folder),
            ),
            remedies=[Remedy(step=N_("put the key back")), Remedy("folder", step=N_("choose another {}"))],
        )
    return make_key_file(place.key_file)


def open_desk_store(place: Place, key: ReviewKey) -> tuple[ReviewStore, User]:
    """Open the store of a desk, or make an empty one; return it with its only user."""
    path = place.folder / _STORE
    if path.exists():
        migrate_store(path, key, by="command")
        store = open_store(path, key)
    else:
        settings = LoadSettings(
            policy=ReviewPolicy(approvals=1),
            facts=MaskingFacts(fingerprint="chosen for each file"),
            cases=CaseSettings(today=date.today(), key=key.secret),  # noqa: DTZ011, RUF100 - a person's day
        )
        store, _ = create_store(path, key, (), None, settings)
    with store.writing() as transaction:
        found = transaction.read(select(USERS).where(USERS.c.name == USER_NAME), USERS)
        if found:
            user_id = found[0].id
        else:
            user_id = insert_user(transaction, USER_NAME, UserRole.ADJUDICATOR, by="command")
        limits = read_limits(transaction)
    if limits == ReviewLimits():  # nobody waits for the locks of a desk, and it has no admin to break them
        set_limits(store, ReviewLimits(max_locks=10_000), by="command")
    return store, User(user_id, USER_NAME, UserRole.ADJUDICATOR)


@contextmanager
def hold_folder(folder: Path) -> Iterator[bool]:
    """Lock a folder until the block ends, or the program does; yield False if another program has it."""
    lock = FileLock(folder / _LOCK, blocking=False, mode=0o600)
    with output_errors(folder), suppress(Timeout):
        lock.acquire()
    try:
        yield lock.is_locked
    finally:
        lock.release()


def ask_running_desk(place: Place, key: ReviewKey) -> str | None:
    """Return a new one-time address of the desk that has the folder, None = it does not answer."""
    secret = key.derive("desk")
    nonce = secrets.token_hex(16)
    with suppress(OSError, ValueError, http.client.HTTPException):
        port = int(json.loads((place.folder / _RUNNING).read_bytes())["port"])
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=_TIMEOUT_SECONDS)
        try:
            connection.request("POST", "/again", f"{nonce} {prove(secret, nonce)}")
            answer = connection.getresponse().read(4096).decode("ascii")
        finally:
            connection.close()
        return open_answer(secret, nonce, answer)
    return None


def bind(port: int | None) -> socket.socket:
    """Return a listening socket that only this computer can reach; None = the usual port, or any free one.

    Raises:
        ConfigurationError: The port is taken.
    """
    for candidate in (USUAL_PORT, 0) if port is None else (port,):
        listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        if os.name == "posix":
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listening.bind(("127.0.0.1", candidate))
            listening.listen()
        except OSError:
            listening.close()
        else:
            return listening
    raise ConfigurationError(
        _("port {port} is taken by another program", port=port),
        remedies=[Remedy("port", step=N_("leave out {}")), Remedy(step=N_("give another one"))],
    )


def serve_desk(
    place: Place,
    key: ReviewKey,
    listening: socket.socket,
    on_open: Callable[[Door], None],
    build: BuildMasker = build_deidentifier,
) -> None:
    """Serve until stopped, or the terminal is closed; `on_open` is called when browsers can come."""
    port = int(listening.getsockname()[1])
    running = place.folder / _RUNNING
    with owned_signals():
        store, user = open_desk_store(place, key)
        door = Door(store, user, key.derive("desk"), place, port)
        intake = IntakeService(store, build)
        metrics = Metrics()
        application = make_application(
            store, hosts=frozenset({"127.0.0.1", "localhost"}), intake=intake, door=door, metrics=metrics
        )
        with store:
            intake.start()
            try:
                with output_errors(running):
                    replace_own(running, json.dumps({"port": port}).encode())
                on_open(door)
                cut = partial(cut_uploads, application)
                run_server(application, WebSettings(sockets=[listening], stop_seconds=5, cut=cut), metrics)
            finally:
                intake.close()
                store.checkpoint()
                running.unlink(missing_ok=True)
                place.remove_opening()
