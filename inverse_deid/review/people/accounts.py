"""Accounts, argon2 passwords, log-in, sessions and CSRF tokens; of session ids only hashes are stored.

Source: RFC 9106 (argon2id); NIST SP 800-63B, section 5.1.1 (length and a check instead of composition rules).
"""

from __future__ import annotations

import hashlib
import hmac
import json
import re
import secrets
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import lru_cache
from typing import Any

from argon2 import PasswordHasher
from argon2.exceptions import Argon2Error, InvalidHashError
from sqlalchemy import ColumnElement, Row, select

from inverse_deid.core.errors import (
    LogInError,
    NotAllowedError,
    ReviewError,
)
from inverse_deid.core.wording import _, ngettext
from inverse_deid.review.people.attempts import (
    FAILURE_WINDOW_MINUTES,
    NOWHERE,
    UNKNOWN,
    Client,
    begin_try,
    end_try,
    forget_failures,
    limit_log_ins,
    limit_old_passwords,
    record_counts,
    record_failure,
    refuse_try,
    remember,
)
from inverse_deid.review.store.entries import TrailEvent
from inverse_deid.review.store.opening import ReviewStore, Transaction
from inverse_deid.review.store.tables import CASES, META, SESSIONS, USERS
from inverse_deid.review.store.values import ReviewPolicy, User, UserRole

MIN_PASSWORD_CHARS = 12
MAX_PASSWORD_CHARS = 1_000
SESSION_HOURS = 10
IDLE_MINUTES = 60
CODE_MINUTES = 5
"""How long after the password a one-time code may be given."""

PROVIDER = "provider"
"""What the trail calls the OpenID provider."""
SETTINGS = "settings"
NO_PASSWORD = "none"  # noqa: S105 - no password has this hash

_NAME = re.compile(r"[a-z0-9._@-]{1,64}")
_NOT_PEOPLE = frozenset({"command", PROVIDER, UNKNOWN})
"""What the trail calls programs and strangers: no person may have their entries."""
_MIN_STRENGTH = 3
"""Of 0 to 4: 10^8 guesses are not enough."""
_RATED_CHARS = 32
"""Rating more characters can take seconds, and adds nothing to a good beginning."""
_USUAL_WORDS = (
    *(
        "hospital",
        "clinic",
        "klinik",
        "krankenhaus",
        "spital",
        "patient",
        "doctor",
        "arzt",
        "nurse",
        "pharmacy",
    ),
    *("medical", "medicine", "pharmacovigilance", "narrative", "review", "reviewer", "adjudicator", "admin"),
    *("inverse", "deid", "masking", "password", "passwort", "kennwort", "login"),
)
"""What comes to the mind of those who work here."""
_SEEN_EVERY_SECONDS = 60.0


def add_user(
    store: ReviewStore,
    name: str,
    password: str,
    role: UserRole,
    *,
    by: str = "command",
    must_change: bool = False,
) -> User:
    """Add an account; `by` is for the trail. `must_change`: the password serves for the first log-in only.

    A name has 1 to 64 of a-z, 0-9, `.`, `_`, `-`, `@` (capitals become small letters), a password 12 to
    1,000 characters.

    Raises:
        ReviewError: The name is taken, malformed or that of a program, or the password is too short, too
            long or easy to guess.
    """
    name = _check_name(name)
    _refuse_weak(password, name)
    password_hash = hash_password(password)
    with store.writing() as transaction:
        if transaction.execute(select(USERS.c.id).where(USERS.c.name == name)).one_or_none() is not None:
            raise ReviewError(_("the name {name} is already taken. Choose another name", name=name))
        values = {"password": password_hash, "must_change_password": must_change}
        user_id = insert_user(transaction, name, role, by=by, **values)
    return User(user_id, name, role, must_change_password=must_change)


def insert_user(transaction: Transaction, name: str, role: UserRole, *, by: str, **values: object) -> int:
    """Insert the row of a new account, which has no password if none is given, and return its id."""
    row = {"name": name, "password": NO_PASSWORD, "role": role.value, "is_active": True, **values}
    user_id = transaction.insert(USERS, row)
    transaction.record(TrailEvent(user=by, event=f"account of {name} added", new=role.value))
    return user_id


def list_users(store: ReviewStore) -> tuple[User, ...]:
    with store.reading() as transaction:
        rows = transaction.read(select(USERS).order_by(USERS.c.name), USERS)
        return tuple(map(_read_user, rows))


def find_user(store: ReviewStore, name: str) -> User:
    """Return the account of a name.

    Raises:
        ReviewError: It does not exist.
    """
    with store.reading() as transaction:
        return _read_user(_find_row(transaction, name))


def set_password(
    store: ReviewStore, name: str, password: str, *, by: str = "command", must_change: bool = False
) -> None:
    """Change the password of an account and end all its sessions; fails as `add_user`."""
    _refuse_weak(password, name.lower())
    password_hash = hash_password(password)
    with store.writing() as transaction:
        row = _find_local(transaction, name)
        values = {"password": password_hash, "must_change_password": must_change}
        transaction.update(USERS, USERS.c.id == row.id, **values)
        transaction.record(TrailEvent(user=by, event=f"password of {row.name} changed"))
        end_sessions_in(transaction, SESSIONS.c.user_id == row.id, by=by)


def change_own_password(store: ReviewStore, session: Session, old: str, new: str) -> None:
    """Change the password of the user of a session; all their other sessions end.

    Raises:
        NotAllowedError: The old password is wrong, or was wrong too often in the last 15 minutes.
        ReviewError: The new password is too short or too long, or equals the old one.
    """
    user = session.user
    row = check_own_password(store, session, old)
    if new == old:
        raise ReviewError(_("the new password must differ from the old one"))
    _refuse_weak(new, user.name)
    password_hash = hash_password(new)
    with store.writing() as transaction:
        # The old hash is in the condition: an admin may have changed it meanwhile.
        mine = (USERS.c.id == user.id) & (USERS.c.password == row.password)
        values = {"password": password_hash, "must_change_password": False}
        if transaction.update(USERS, mine, **values) != 1:
            raise NotAllowedError(_("the password was changed meanwhile. Log in again"))
        transaction.record(TrailEvent(user=user.name, event=f"password of {user.name} changed"))
        end_sessions_in(transaction, others_of(session), by=user.name)


def check_own_password(store: ReviewStore, session: Session, password: str) -> Row[Any]:
    """Return the row of the user of a session if they know their password.

    Raises:
        NotAllowedError: It is wrong, or was wrong too often in the last 15 minutes.
    """
    user, limits = session.user, limit_old_passwords(session.user.id)
    with store.writing() as transaction:
        row = _find_local(transaction, user.name)
        tried = begin_try(transaction, limits)
        if tried.wait_seconds:
            record_failure(transaction, user.name, "own password blocked")
    if tried.wait_seconds:
        # Not a LogInError here: the session goes on.
        raise NotAllowedError(
            _(
                "the old password was wrong too often. Try again in {failure_window_minutes} minutes",
                failure_window_minutes=FAILURE_WINDOW_MINUTES,
            )
        )
    is_right = _is_password(row.password, password)
    with store.writing() as transaction:
        if is_right:
            end_try(transaction, limits, tried.rows)
        else:
            record_failure(transaction, user.name, "own password wrong")
    if not is_right:
        raise NotAllowedError(_("the old password is wrong"))
    return row


def set_role(
    store: ReviewStore, name: str, role: UserRole, *, by: str = "command", keep: Session | None = None
) -> None:
    """Change the role of an account, and end its sessions but the one to `keep`.

    Raises:
        ReviewError: The account does not exist, is the only open admin account, or belongs to a provider.
    """
    with store.writing() as transaction:
        row = _find_local(transaction, name)
        if row.role == role.value:
            return
        if role is not UserRole.ADMIN:
            _refuse_last_admin(transaction, row)
        transaction.update(USERS, USERS.c.id == row.id, role=role.value)
        event = TrailEvent(user=by, event=f"role of {row.name} changed", old=row.role, new=role.value)
        transaction.record(event)
        mine = SESSIONS.c.user_id == row.id if keep is None else others_of(keep)
        end_sessions_in(transaction, mine, by=by)


def _refuse_last_admin(transaction: Transaction, row: Row[Any]) -> None:
    # All are locked, as two admins may close each other at once.
    is_admin = (USERS.c.role == UserRole.ADMIN.value) & USERS.c.is_active
    admins = transaction.read(select(USERS).where(is_admin).with_for_update(), USERS)
    if [one.id for one in admins] == [row.id]:
        raise ReviewError(_("{row} is the only open admin account. Make another admin first", row=row.name))


def set_active(store: ReviewStore, name: str, *, is_active: bool, by: str = "command") -> None:
    """Close an account (its sessions, locks and assignments end) or open it again.

    Raises:
        ReviewError: The account does not exist, or is the only open admin account.
    """
    with store.writing() as transaction:
        row = _find_row(transaction, name)
        if not is_active:
            _refuse_last_admin(transaction, row)
        transaction.update(USERS, USERS.c.id == row.id, is_active=is_active)
        done = "opened" if is_active else "closed"
        transaction.record(TrailEvent(user=by, event=f"account of {row.name} {done}"))
        if not is_active:
            end_sessions_in(transaction, SESSIONS.c.user_id == row.id, by=by)
            locked = CASES.c.lock_user_id == row.id
            transaction.update(CASES, locked, lock_user_id=None, lock_until=None)
            transaction.update(CASES, CASES.c.assignee_id == row.id, assignee_id=None)


def unlock(store: ReviewStore, name: str, *, by: str = "command") -> None:
    """Let an account log in again after too many failures.

    Raises:
        ReviewError: The account does not exist.
    """
    with store.writing() as transaction:
        row = _find_row(transaction, name)
        forget_failures(transaction, row.id, row.name)
        transaction.record(TrailEvent(user=by, event=f"account of {row.name} unlocked"))


def link_account(store: ReviewStore, name: str, issuer: str, subject: str) -> None:
    """Let the user of an OpenID provider have an account that exists; its password no longer counts.

    Raises:
        ReviewError: The account does not exist, or the subject has another one.
    """
    with store.writing() as transaction:
        row = _find_row(transaction, name)
        taken = (USERS.c.issuer == issuer) & (USERS.c.subject == subject)
        if transaction.execute(select(USERS.c.id).where(taken)).one_or_none() is not None:
            raise ReviewError(_("this subject already has an account"))
        values = {
            "issuer": issuer,
            "subject": subject,
            "password": NO_PASSWORD,
            "must_change_password": False,
        }
        values |= {"sealed_secret": None, "recovery_codes": None}
        transaction.update(USERS, USERS.c.id == row.id, **values)
        event = TrailEvent(user="command", event=f"account of {row.name} linked", new=f"{issuer} {subject}")
        transaction.record(event)
        end_sessions_in(transaction, SESSIONS.c.user_id == row.id, by="command")


def _check_name(name: str) -> str:
    name = name.lower()
    if name in _NOT_PEOPLE:
        raise ReviewError(_("the trail calls a program {name}. Choose another name", name=name))
    if not _NAME.fullmatch(name):
        raise ReviewError(_("the name must have 1 to 64 characters, only a-z, 0-9 and . _ - @"))
    return name


def _refuse_weak(password: str, name: str) -> None:
    # Also for those who know the name of the user and the place.
    from zxcvbn import zxcvbn  # it reads lists of words

    if not MIN_PASSWORD_CHARS <= len(password) <= MAX_PASSWORD_CHARS:
        return  # `hash_password` refuses it
    words = [name, *re.split(r"[^a-z0-9]+", name), *_USUAL_WORDS]
    if zxcvbn(password[:_RATED_CHARS], words)["score"] < _MIN_STRENGTH:
        raise ReviewError(
            _("the password is easy to guess. Use a sentence of words that do not belong together")
        )


def hash_password(password: str) -> str:
    """Return the argon2id hash of a password, with its salt and parameters.

    Raises:
        ReviewError: The password is too short or too long.
    """
    if not MIN_PASSWORD_CHARS <= len(password) <= MAX_PASSWORD_CHARS:
        raise ReviewError(
            _(
                "the password must have {min_password_chars} to {max_password_chars:,} characters. A "
                "sentence is best",
                min_password_chars=MIN_PASSWORD_CHARS,
                max_password_chars=MAX_PASSWORD_CHARS,
            )
        )
    return PasswordHasher().hash(password.encode("utf-8", "surrogatepass"))


def _is_password(password_hash: str, given: str) -> bool:
    if len(given) > MAX_PASSWORD_CHARS:
        return False
    try:
        return PasswordHasher().verify(password_hash, given.encode("utf-8", "surrogatepass"))
    except (Argon2Error, InvalidHashError):
        return False


def _read_user(row: Row[Any]) -> User:
    return User(
        row.id,
        row.name,
        UserRole(row.role),
        row.is_active,
        row.must_change_password,
        has_second_factor=row.sealed_secret is not None,
        issuer=row.issuer,
    )


def _find_row(transaction: Transaction, name: str) -> Row[Any]:
    row = _read_one(transaction, USERS.c.name == name.lower())
    if row is None:
        raise ReviewError(_("no account has this name. List all with inverse-deid review user list"))
    return row


def _read_one(transaction: Transaction, condition: ColumnElement[bool]) -> Row[Any] | None:
    # None = there is none.
    rows = transaction.read(select(USERS).where(condition), USERS)
    return rows[0] if rows else None


def _find_local(transaction: Transaction, name: str) -> Row[Any]:
    row = _find_row(transaction, name)
    if row.issuer is not None:
        raise ReviewError(_("{row} signs in at the provider. Change role and password there", row=row.name))
    return row


class Step(StrEnum):
    """Steps that a user must take before anything else, by the page where they take them."""

    CODE = "/code"
    PASSWORD = "/password"  # noqa: S105 - an address
    SECOND_FACTOR = "/second-factor"


@dataclass(frozen=True, slots=True)
class Session:
    """A log-in. The id, random, 256 bits, is for the cookie and stored nowhere else."""

    id: str = field(repr=False)
    csrf_token: str = field(repr=False)
    user: User
    step: Step | None = None  # what is still missing; until then nothing else is open


@dataclass(frozen=True, slots=True)
class OpenSession:
    """A session as its user sees it in a list; `id_hash` names it and opens nothing."""

    id_hash: str
    begun_at: float
    seen_at: float
    address: str


def log_in(
    store: ReviewStore,
    name: str,
    password: str,
    *,
    client: Client = NOWHERE,
    old_session_id: str | None = None,
) -> Session:
    """Check a password and begin a session with a new id; an old one of the same browser ends.

    The session waits for a one-time code if the account has a second factor.

    Raises:
        LogInError: Wrong name or password, closed account, or a try before the delay after several failures
            is over; the first two look alike.
    """
    address = client.address
    with store.writing() as transaction:
        limits = limit_log_ins(transaction, name, client)
        row = _read_one(transaction, USERS.c.name == name.lower())
        known = None if row is None else row.name
        tried = begin_try(transaction, limits, delays=True)
        if tried.wait_seconds:
            record_failure(transaction, known, "log-in blocked", address)
    if tried.wait_seconds:
        raise refuse_try(
            tried,
            ngettext(
                "too many failed log-ins. Try again in {n} second",
                "too many failed log-ins. Try again in {n} seconds",
                tried.wait_seconds,
                n=tried.wait_seconds,
            ),
        )
    is_right = _is_password(_hash_nothing() if row is None or row.issuer else row.password, password)
    if row is None or not is_right or not row.is_active or row.issuer:
        with store.writing() as transaction:
            record_failure(transaction, known, "log-in failed", address)
        raise LogInError(_("name or password is wrong, or the account is closed"))
    user = _read_user(row)
    needs_code = user.has_second_factor
    with store.writing() as transaction:
        # A password whose code never comes counts as a failure of its name.
        rows = tried.rows[1:] if needs_code else tried.rows
        end_try(transaction, limits, rows, forgets=not needs_code)
        session = begin_session_in(transaction, user, client, old_session_id, needs_code=needs_code)
        record_counts(transaction)
    return session


def begin_session(store: ReviewStore, user: User) -> Session:
    """Begin a session of a user who was recognised in another way than by a password."""
    with store.writing() as transaction:
        return begin_session_in(transaction, user)


@dataclass(frozen=True, slots=True)
class Identity:
    """A person as an OpenID provider knows them, and the role that they have here, None = no access."""

    issuer: str
    subject: str
    name: str
    role: UserRole | None


def sign_in(
    store: ReviewStore, who: Identity, *, client: Client = NOWHERE, old_session_id: str | None = None
) -> Session:
    """Begin a session for a user of an OpenID provider, who gets an account at the first one.

    An account belongs to issuer and subject, never to a name: others could choose the name of somebody else.

    Raises:
        LogInError: No role, a closed account, or a name that cannot be used or is taken.
    """
    mine = (USERS.c.issuer == who.issuer) & (USERS.c.subject == who.subject)
    with store.writing() as transaction:
        row = _read_one(transaction, mine)
        problem = _refuse_identity(transaction, row, who)
        if problem or who.role is None:
            if row is not None:
                end_sessions_in(transaction, SESSIONS.c.user_id == row.id, by=PROVIDER)
            record_failure(transaction, None if row is None else row.name, "log-in refused", client.address)
        else:
            if row is None:
                user = User(0, _check_name(who.name), who.role, issuer=who.issuer)
                known_as = {"issuer": who.issuer, "subject": who.subject}
                user = replace(
                    user, id=insert_user(transaction, user.name, who.role, by=PROVIDER, **known_as)
                )
            else:
                user = replace(_read_user(row), role=who.role)
                if row.role != who.role.value:
                    transaction.update(USERS, USERS.c.id == row.id, role=who.role.value)
                    event, roles = f"role of {row.name} changed", (row.role, who.role.value)
                    transaction.record(TrailEvent(user=PROVIDER, event=event, old=roles[0], new=roles[1]))
                    end_sessions_in(transaction, SESSIONS.c.user_id == row.id, by=PROVIDER)
            return begin_session_in(transaction, user, client, old_session_id)
    raise LogInError(problem)


def _refuse_identity(transaction: Transaction, row: Row[Any] | None, who: Identity) -> str:
    # "" = they have access.
    if who.role is None:
        return _("your account has no role in this review. Ask your administrator.")
    if row is not None:
        return "" if row.is_active else _("your account is closed here. Ask your administrator.")
    try:
        name = _check_name(who.name)
    except ReviewError as error:
        return _("your name cannot be used here: {error}", error=error)
    if transaction.execute(select(USERS.c.id).where(USERS.c.name == name)).one_or_none() is not None:
        return _(
            "the name {name} belongs to another account here. Ask your administrator to link it.", name=name
        )
    return ""


def begin_session_in(
    transaction: Transaction,
    user: User,
    client: Client = NOWHERE,
    old_session_id: str | None = None,
    *,
    needs_code: bool = False,
) -> Session:
    """Begin a session in a transaction; an old one of the same browser ends."""
    is_over = (SESSIONS.c.expires_at <= transaction.now()) | (
        SESSIONS.c.seen_at <= transaction.now() - 60.0 * IDLE_MINUTES
    )
    end_sessions_in(transaction, is_over)
    if old_session_id is not None:
        end_sessions_in(transaction, SESSIONS.c.id_hash == _hash_id(old_session_id), by=user.name)
    session_id = secrets.token_urlsafe(32)
    row = {
        "id_hash": _hash_id(session_id),
        "user_id": user.id,
        "expires_at": transaction.now() + (60.0 * CODE_MINUTES if needs_code else 3600.0 * SESSION_HOURS),
        "seen_at": transaction.now(),
        "address": client.address,
        "needs_code": needs_code,
    }
    transaction.insert(SESSIONS, row)
    if not needs_code:
        remember(transaction, user.name, client)
    event = "log-in waits for a code" if needs_code else "log in"
    transaction.record(TrailEvent(user=user.name, event=event))
    step = Step.CODE if needs_code else None
    return Session(session_id, _make_csrf_token(transaction.store, session_id), user, step)


def find_session(store: ReviewStore, session_id: str, *, prolongs: bool = True) -> Session:
    """Return the session of an id.

    Only what a person does prolongs it: not the requests that an open page sends by itself.

    Raises:
        LogInError: It does not exist, has ended or was idle for an hour, or the account is closed.
    """
    now = store.now()
    mine = SESSIONS.c.id_hash == _hash_id(session_id)
    found = select(SESSIONS, USERS)
    found = found.join(USERS, USERS.c.id == SESSIONS.c.user_id).where(mine)
    with store.reading() as transaction:
        rows = transaction.read(found, SESSIONS, USERS)
        row = rows[0] if rows else None
        is_required = read_policy(transaction).second_factor
    is_over = row is None or row.expires_at <= now or row.seen_at + 60.0 * IDLE_MINUTES <= now
    if row is None or is_over or not row.is_active:
        if row is not None:
            with store.writing() as transaction:
                end_sessions_in(transaction, mine)
        raise LogInError(_("log in first"))
    if prolongs and now - row.seen_at > _SEEN_EVERY_SECONDS:
        with store.writing() as transaction:
            transaction.update(SESSIONS, mine, seen_at=now)
    user = _read_user(row)
    step = None
    if row.needs_code:
        step = Step.CODE
    elif user.must_change_password:
        step = Step.PASSWORD
    elif is_required and not (user.has_second_factor or user.issuer):
        step = Step.SECOND_FACTOR
    return Session(session_id, _make_csrf_token(store, session_id), user, step)


def read_policy(transaction: Transaction) -> ReviewPolicy:
    """Return the policy as it is now; another process may have changed that of log-ins."""
    (row,) = transaction.read(select(META).where(META.c.name == SETTINGS), META)
    return ReviewPolicy(**json.loads(row.value)["policy"])


def log_out(store: ReviewStore, session: Session) -> None:
    with store.writing() as transaction:
        mine = SESSIONS.c.id_hash == _hash_id(session.id)
        if transaction.delete(SESSIONS, mine):
            transaction.record(TrailEvent(user=session.user.name, event="log out"))


def list_sessions(store: ReviewStore, session: Session) -> tuple[OpenSession, tuple[OpenSession, ...]]:
    """Return a session, and the other ones of the same user, the latest first."""
    now = store.now()
    mine = (SESSIONS.c.user_id == session.user.id) & ~SESSIONS.c.needs_code & (SESSIONS.c.expires_at > now)
    mine &= SESSIONS.c.seen_at > now - 60.0 * IDLE_MINUTES
    with store.reading() as transaction:
        rows = transaction.execute(select(SESSIONS).where(mine).order_by(SESSIONS.c.seen_at.desc())).all()
    found = {
        row.id_hash: OpenSession(
            row.id_hash, row.expires_at - 3600.0 * SESSION_HOURS, row.seen_at, row.address or ""
        )
        for row in rows
    }
    return found.pop(_hash_id(session.id)), tuple(found.values())


def end_own_sessions(store: ReviewStore, session: Session, id_hash: str | None = None) -> None:
    """End one other session of the same user, or (None) all others."""
    mine = others_of(session)
    if id_hash is not None:
        mine &= SESSIONS.c.id_hash == id_hash
    with store.writing() as transaction:
        end_sessions_in(transaction, mine, by=session.user.name)


def end_sessions(store: ReviewStore, name: str, *, by: str = "command") -> int:
    """End all sessions of an account and return how many there were.

    Raises:
        ReviewError: The account does not exist.
    """
    with store.writing() as transaction:
        return end_sessions_in(transaction, SESSIONS.c.user_id == _find_row(transaction, name).id, by=by)


def others_of(session: Session) -> ColumnElement[bool]:
    return (SESSIONS.c.user_id == session.user.id) & (SESSIONS.c.id_hash != _hash_id(session.id))


def end_sessions_in(
    transaction: Transaction, condition: ColumnElement[bool], *, by: str | None = None
) -> int:
    """Delete sessions in a transaction and return how many; `by` None = their time was over."""
    found = select(SESSIONS.c.id_hash, USERS.c.name)
    found = found.join(USERS, USERS.c.id == SESSIONS.c.user_id).where(condition)
    rows = transaction.execute(found.order_by(SESSIONS.c.id_hash).with_for_update(of=SESSIONS)).all()
    transaction.delete(SESSIONS, SESSIONS.c.id_hash.in_([row.id_hash for row in rows]))
    for row in rows:
        event = f"session of {row.name} {'ended' if by else 'expired'}"
        transaction.record(TrailEvent(user=by or row.name, event=event))
    return len(rows)


def is_csrf_token(session: Session, given: str) -> bool:
    """Whether a form has the token of the session; wrong ones take as long to compare."""
    return hmac.compare_digest(session.csrf_token.encode(), given.encode("utf-8", "replace"))


def _hash_id(session_id: str) -> str:
    return hashlib.sha256(session_id.encode("utf-8", "replace")).hexdigest()


def _make_csrf_token(store: ReviewStore, session_id: str) -> str:
    return hmac.digest(store.session_key, b"csrf " + session_id.encode("utf-8", "replace"), "sha256").hex()


@lru_cache(maxsize=1)
def _hash_nothing() -> str:
    # An unknown name takes as long as a known one.
    return hash_password(secrets.token_urlsafe(32))
