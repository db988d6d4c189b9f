"""Small review stores for tests, with invented texts and a masker that masks capitals."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Sequence
from datetime import date
from pathlib import Path

from fake_maskers import FakeMasker, mask_capitals
from sqlalchemy import ColumnElement, Table, select

from inverse_deid.core.thresholds import Thresholds
from inverse_deid.replacement.settings import CaseSettings
from inverse_deid.review.files.loading import LoadSettings, create_store, plan_cases
from inverse_deid.review.flow.approval import approve
from inverse_deid.review.flow.editing import act
from inverse_deid.review.flow.reading import open_case
from inverse_deid.review.store.entries import TrailEvent
from inverse_deid.review.store.keys import ReviewKey
from inverse_deid.review.store.opening import ReviewStore, open_store
from inverse_deid.review.store.tables import TRAIL, USERS
from inverse_deid.review.store.values import (
    ActionKind,
    CaseState,
    Edited,
    LayerRevision,
    MaskingFacts,
    ReviewAction,
    ReviewPolicy,
    TokenRange,
    User,
    UserRole,
)

KEY = ReviewKey(b"0123456789abcdef0123456789abcdef")
TEXT = "seen by Okonkwo today, then okonkwo left"
"""Tokens: seen 0, by 1, Okonkwo 2, today 3, then 4, okonkwo 5, left 6; the fake masks token 2."""
PASSWORD = "a long enough sentence"
FACTS = MaskingFacts(fingerprint="fake", model_sha256="ab" * 32, thresholds=Thresholds(0.9, 0.9))


class Clock:
    """A clock that only a test moves."""

    def __init__(self) -> None:
        self.seconds = 1_700_000_000.0

    def __call__(self) -> float:
        return self.seconds


def json_lines(path: Path, texts: Sequence[str]) -> Path:
    lines = [json.dumps({"id": f"c{i}", "text": text}, ensure_ascii=False) for i, text in enumerate(texts, 1)]
    path.write_text("".join(line + "\n" for line in lines), encoding="utf-8", newline="")
    return path


def store_of(
    folder: Path,
    texts: Sequence[str] = (TEXT,),
    *,
    inputs: Sequence[Path] = (),
    masker: FakeMasker | None = None,
    clock: Clock | None = None,
    settings: LoadSettings | None = None,
    address: str | None = None,
    **policy: object,
) -> ReviewStore:
    """Make a store `review.db` in a folder, or at the address of a database."""
    given = list(inputs) or [json_lines(folder / "cases.jsonl", texts)]
    jobs, tally = plan_cases(given)
    assert not tally.n_failures, tally.failures
    made = settings or LoadSettings(
        policy=ReviewPolicy(**policy), facts=FACTS, cases=CaseSettings(today=date(2024, 1, 1), key=KEY.secret)
    )
    store, _ = create_store(
        address or folder / "review.db", KEY, jobs, masker or mask_capitals(), made, clock=clock or Clock()
    )
    return store


def copied_store(folder: Path, templates: Path, *, clock: Clock, **said: object) -> ReviewStore:
    """Make a store as `store_of` does; of several that are made alike, all but the first are copies.

    Args:
        folder: Where the store and its cases are written.
        templates: Keeps the first of each kind.
        clock: Of the store. One that runs makes a store of its own.
        said: What `store_of` takes.
    """
    if said.keys() & {"inputs", "masker", "settings", "address"} or not isinstance(clock, Clock):
        return store_of(folder, clock=clock, **said)
    template = templates / hashlib.sha256(repr(sorted(said.items())).encode()).hexdigest()
    if not template.exists():
        template.mkdir()
        store_of(template, **said).close()
    shutil.copytree(template, folder, dirs_exist_ok=True)
    return open_store(folder / "review.db", KEY, clock=clock)


def write_key(folder: Path) -> None:
    """Write the key of a store next to it, as commands look for it."""
    file = folder / "review.db.key"
    file.write_bytes(KEY.secret)
    file.chmod(0o600)


def user(store: ReviewStore, name: str, role: UserRole = UserRole.REVIEWER) -> User:
    """Add an account that nobody can log in to, as hashing passwords is slow."""
    with store.writing() as transaction:
        row = {"name": name, "password": "none", "role": role.value, "is_active": True}
        user_id = transaction.insert(USERS, row)
        event = f"account of {name} added"
        transaction.record(TrailEvent(user="command", event=event, new=role.value))
    return User(user_id, name, role)


def change_rows(store: ReviewStore, table: Table, condition: ColumnElement[bool], **values: object) -> None:
    """Change rows of a table as the program itself could."""
    with store.writing() as transaction:
        transaction.update(table, condition, **values)
        transaction.record(TrailEvent(user="command", event="test"))


def read_entries(store: ReviewStore, case_id: int) -> list[dict[str, object]]:
    """Return the entries of the trail on one case, in order."""
    with store.reading() as transaction:
        lines = transaction.execute(select(TRAIL.c.line).order_by(TRAIL.c.number)).scalars().all()
    return [entry for entry in map(json.loads, lines) if entry["case"] == case_id]


def place(store: ReviewStore, who: User, case_id: int = 1) -> LayerRevision:
    """Open the case."""
    return LayerRevision(who.id, case_id, open_case(store, who, case_id).revision)


def change(
    store: ReviewStore,
    at: LayerRevision,
    kind: ActionKind,
    first: int,
    stop: int | None = None,
    **more: object,
) -> tuple[LayerRevision, Edited]:
    """Act on tokens; return the new revision and the result."""
    ranges = (TokenRange(first, first + 1 if stop is None else stop),)
    edited = act(store, at, ReviewAction(kind, ranges, **more))
    return LayerRevision(at.user_id, at.case_id, edited.revision), edited


def review(
    store: ReviewStore, who: User, case_id: int = 1, *, mask: Sequence[int] = (), keep: Sequence[int] = ()
) -> CaseState:
    """Open, change, approve."""
    at = place(store, who, case_id)
    for token in mask:
        at, _ = change(store, at, ActionKind.MASK, token)
    for token in keep:
        at, _ = change(store, at, ActionKind.UNMASK, token)
    return approve(store, at)
