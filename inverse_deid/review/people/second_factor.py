"""One-time codes as the second factor of a log-in, and recovery codes for a lost telephone.

The secret is sealed in the store. Each code opens once: a code of the same or of an earlier half minute is
refused. Recovery codes have 80 random bits, and only their hashes are stored.

Source: RFC 6238 (TOTP), section 5.2: one step earlier or later is accepted, and no code twice.
"""

from __future__ import annotations

import base64
import hmac
import json
import secrets
from dataclasses import asdict, replace
from typing import Any

import pyotp
from sqlalchemy import Row, select

from inverse_deid.core.errors import LogInError, NotAllowedError, ReviewError
from inverse_deid.core.wording import _
from inverse_deid.review.people.accounts import (
    SETTINGS,
    Session,
    begin_session_in,
    check_own_password,
    end_sessions_in,
    others_of,
    read_policy,
)
from inverse_deid.review.people.attempts import (
    FAILURE_WINDOW_MINUTES,
    NOWHERE,
    Client,
    begin_try,
    forget_failures,
    limit_codes,
    record_failure,
    refuse_try,
)
from inverse_deid.review.store.entries import TrailEvent
from inverse_deid.review.store.opening import ReviewStore
from inverse_deid.review.store.tables import META, SESSIONS, USERS, place_of
from inverse_deid.review.store.values import ReviewPolicy

N_RECOVERY_CODES = 10
STEP_SECONDS = 30


def make_secret() -> str:
    """Return a new secret of 160 random bits, as base32."""
    return pyotp.random_base32()


def make_address(session: Session, secret: str) -> str:
    """Return the address that an authenticator app reads from the QR code."""
    return pyotp.TOTP(secret).provisioning_uri(name=session.user.name, issuer_name="inverse-deid review")


def turn_on(
    store: ReviewStore, session: Session, secret: str, *, code: str, password: str
) -> tuple[str, ...]:
    """Ask the user of a session for a code from now on, and end their other sessions.

    Returns:
        Recovery codes, each for one log-in; they are stored nowhere else.

    Raises:
        NotAllowedError: The password is wrong.
        ReviewError: The code does not fit the secret, or the account has a second factor.
    """
    user = session.user
    check_own_password(store, session, password)
    used = _find_step(store, secret, code, None)
    if used is None:
        raise ReviewError(
            _("the code does not fit. Check the time of your telephone, and give the next code")
        )
    codes = tuple(base64.b32encode(secrets.token_bytes(10)).decode().lower() for _ in range(N_RECOVERY_CODES))
    values = {
        "sealed_secret": store.sealer.seal(secret.encode(), place_of(USERS.c.sealed_secret, {"id": user.id})),
        "last_code": used,
        "recovery_codes": json.dumps([_hash(store, one) for one in codes]),
    }
    with store.writing() as transaction:
        mine = (USERS.c.id == user.id) & USERS.c.sealed_secret.is_(None) & USERS.c.issuer.is_(None)
        if transaction.update(USERS, mine, **values) != 1:
            raise ReviewError(_("you already have a second factor. Remove it first"))
        transaction.record(TrailEvent(user=user.name, event=f"second factor of {user.name} added"))
        end_sessions_in(transaction, others_of(session), by=user.name)
    return codes


def turn_off(store: ReviewStore, name: str, *, by: str = "command") -> None:
    """Remove the second factor of an account, whose user lost it.

    Raises:
        ReviewError: The account does not exist, or has no second factor.
    """
    with store.writing() as transaction:
        mine = (USERS.c.name == name.lower()) & USERS.c.sealed_secret.is_not(None)
        values = {"sealed_secret": None, "last_code": None, "recovery_codes": None}
        if transaction.update(USERS, mine, **values) != 1:
            raise ReviewError(_("no account with this name has a second factor"))
        event = f"second factor of {name.lower()} removed"
        transaction.record(TrailEvent(user=by, event=event))


def turn_off_own(store: ReviewStore, session: Session, code: str) -> None:
    """Remove the own second factor.

    Raises:
        NotAllowedError: The code is wrong, was used, or was wrong too often in the last 15 minutes.
    """
    try:
        _use_code(store, session, code, NOWHERE)
    except LogInError as error:
        raise NotAllowedError(str(error)) from None
    turn_off(store, session.user.name, by=session.user.name)


def complete_log_in(store: ReviewStore, session: Session, code: str, *, client: Client = NOWHERE) -> Session:
    """Check the code of a session that waits for one, and begin a session with a new id.

    Raises:
        LogInError: The code is wrong, was used, or was wrong too often in the last 15 minutes.
    """
    _use_code(store, session, code, client)
    with store.writing() as transaction:
        waiting = (SESSIONS.c.user_id == session.user.id) & SESSIONS.c.needs_code
        transaction.delete(SESSIONS, waiting)
        return begin_session_in(transaction, session.user, client)


def require(store: ReviewStore, *, is_required: bool, by: str = "command") -> None:
    """Ask everybody who logs in with a password for a second factor, or leave the choice to them."""
    with store.writing() as transaction:
        mine = META.c.name == SETTINGS
        (row,) = transaction.read(select(META).where(mine).with_for_update(), META)
        settings = json.loads(row.value)
        policy = ReviewPolicy(**settings["policy"])
        if policy.second_factor == is_required:
            return
        settings["policy"] = asdict(replace(policy, second_factor=is_required))
        transaction.update(META, mine, value=json.dumps(settings))
        event = f"second factor {'required' if is_required else 'left to each user'}"
        transaction.record(TrailEvent(user=by, event=event))


def is_required(store: ReviewStore) -> bool:
    """Whether everybody who logs in with a password needs a second factor."""
    with store.reading() as transaction:
        return read_policy(transaction).second_factor


def _use_code(store: ReviewStore, session: Session, code: str, client: Client) -> None:
    user, address = session.user, client.address
    with store.writing() as transaction:
        mine = USERS.c.id == user.id
        (row,) = transaction.read(select(USERS).where(mine).with_for_update(), USERS)
        tried = begin_try(transaction, limit_codes(transaction, user, client))
        if tried.wait_seconds:
            record_failure(transaction, user.name, "code blocked", address)
        elif (values := _spend(store, row, code)) is not None:
            transaction.update(USERS, mine, **values)
            forget_failures(transaction, user.id, user.name)
            if "recovery_codes" in values:
                left = f"{len(json.loads(values['recovery_codes']))} left"
                transaction.record(TrailEvent(user=user.name, event="recovery code used", new=left))
            return
        else:
            record_failure(transaction, user.name, "code wrong", address)
    if tried.wait_seconds:
        raise refuse_try(
            tried,
            _(
                "too many wrong codes. Try again in {failure_window_minutes} minutes",
                failure_window_minutes=FAILURE_WINDOW_MINUTES,
            ),
        )
    raise LogInError(_("the code is wrong, or was used before. Give the next one"))


def _spend(store: ReviewStore, row: Row[Any], code: str) -> dict[str, Any] | None:
    # None = it is wrong.
    if row.sealed_secret is None:
        return None
    secret = store.sealer.open(row.sealed_secret, place_of(USERS.c.sealed_secret, {"id": row.id})).decode()
    step = _find_step(store, secret, code, row.last_code)
    if step is not None:
        return {"last_code": step}
    hashes = json.loads(row.recovery_codes)
    given = _hash(store, "".join(code.split()).replace("-", "").lower())
    left = [one for one in hashes if not hmac.compare_digest(one, given)]
    return {"recovery_codes": json.dumps(left)} if len(left) < len(hashes) else None


def _find_step(store: ReviewStore, secret: str, code: str, last: int | None) -> int | None:
    # Half minutes since 1970, None = wrong or not after the last.
    now, given = int(store.now()) // STEP_SECONDS, "".join(code.split()).encode("utf-8", "replace")
    for step in (now - 1, now, now + 1):
        right = pyotp.TOTP(secret).at(step * STEP_SECONDS).encode()
        if hmac.compare_digest(right, given) and (last is None or step > last):
            return step
    return None


def _hash(store: ReviewStore, code: str) -> str:
    return hmac.digest(store.session_key, f"recovery code {code}".encode("utf-8", "replace"), "sha256").hex()
