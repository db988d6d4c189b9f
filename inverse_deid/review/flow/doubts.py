"""Doubtful words of the cases that a reader can still review, grouped by word, so that each is decided once.

A case is read once, and again after its reader changed it. The process remembers no word of it, only hashes
with a key of the store, numbers of words, and doubts. For words that are shown, texts are read again.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import inf
from typing import Any

import numpy as np
import numpy.typing as npt
from sqlalchemy import Row, Select, select

from inverse_deid.review.flow.contents import DOUBTFUL_FROM, CaseContent, read_contents, read_doubts
from inverse_deid.review.flow.oversight import disclose, refuse_admin, remember
from inverse_deid.review.flow.table import MAX_ROW_TOKENS, find_obstacle, replay_row
from inverse_deid.review.flow.work_list import select_cases
from inverse_deid.review.store.opening import ReviewStore, Transaction
from inverse_deid.review.store.tables import CASES, LAYERS
from inverse_deid.review.store.values import LayerKind, User, WorkFilter
from inverse_deid.text.matching import fold

MAX_GROUPS = 300
"""So many doubtful words of a file are listed."""
CONTEXT_CHARS = 60
PAGE_SECONDS = 0.1
"""So long a page reads cases before it is shown without words."""
READ_SECONDS = 1.0
"""So long one request of such a page reads further cases; it asks until none is left."""

_TOKENS_AT_ONCE = 5_000
_CASES_AT_ONCE = 200
_PLACE = np.dtype([("word", "<u8"), ("token", "<i4"), ("keep", "?"), ("doubt", "<f4")])


@dataclass(frozen=True, slots=True, eq=False)
class CaseWords:
    """Words of a case for a reader, at a revision of their layer (0 = they have not begun it)."""

    revision: int
    words: npt.NDArray[np.uint64]  # hashes of its words, each once, sorted
    doubts: bytes  # of an array of `_PLACE`, the doubtful words that the reader has not decided

    def have(self, word: int) -> bool:
        """Whether the case has a word of this hash."""
        i = int(self.words.searchsorted(np.uint64(word)))
        return i < len(self.words) and int(self.words[i]) == word


def hash_word(store: ReviewStore, word: str) -> int:
    """Return a number that a folded word alone has, and that nobody without the key can guess words by."""
    digest = hashlib.blake2b(word.encode("utf-8", "surrogatepass"), key=store.word_key, digest_size=8)
    return int.from_bytes(digest.digest(), "little")


def select_open_words(store: ReviewStore, user: User) -> Select[Any]:
    """Return a query of the cases whose words `read_words` reads: those that a reader can still review."""
    mine = LAYERS.alias("mine")
    is_mine = (mine.c.user_id == user.id) & (mine.c.kind == LayerKind.REVIEW.value)
    joined = CASES.outerjoin(mine, (mine.c.case_id == CASES.c.id) & is_mine)
    columns = (CASES.c.id, CASES.c.n_tokens, CASES.c.n_approvals, mine.c.revision, mine.c.is_blind)
    found = select(*columns).select_from(joined).where(~CASES.c.is_failed).order_by(CASES.c.id)
    return select_cases(store, found, WorkFilter(claimable_by=user.id))


def read_words(
    transaction: Transaction, user: User, found: Select[Any], *, seconds: float = inf
) -> tuple[dict[int, CaseWords], int]:
    """Return what cases of `select_open_words` have, by number, and how many were not read in these seconds.

    Cases that the reader reads without the masks of the tool have nothing.
    """
    store, until = transaction.store, time.monotonic() + seconds
    is_blind_later = transaction.policy.blind_to_model
    rows = [
        row
        for row in transaction.execute(found).all()
        if not (row.is_blind or (is_blind_later and row.n_approvals))
    ]
    known: dict[int, CaseWords] = {}
    unread: list[Row[Any]] = []
    for row in rows:
        one = store.case_words.get((user.id, row.id))
        if one is not None and one.revision == (row.revision or 0):
            known[row.id] = one
        else:
            unread.append(row)
    for some in _split(unread):
        if time.monotonic() > until:
            break
        fresh = _read_some(transaction, user, some)
        store.case_words.update({(user.id, case_id): one for case_id, one in fresh.items()})
        known |= fresh
    return {row.id: known[row.id] for row in rows if row.id in known}, len(rows) - len(known)


def forget_words(store: ReviewStore, user: User, but: Collection[int]) -> None:
    """Forget what the cases of a user have, except these cases."""
    for key in [key for key in list(store.case_words) if key[0] == user.id and key[1] not in but]:
        store.case_words.pop(key, None)


def _split(rows: Sequence[Row[Any]]) -> Iterator[list[int]]:
    # Into some with few words together.
    some: list[int] = []
    n_tokens = 0
    for row in rows:
        some.append(row.id)
        n_tokens += row.n_tokens
        if n_tokens >= _TOKENS_AT_ONCE or len(some) == _CASES_AT_ONCE:
            yield some
            some, n_tokens = [], 0
    if some:
        yield some


def _read_some(transaction: Transaction, user: User, case_ids: Sequence[int]) -> dict[int, CaseWords]:
    mine = (LAYERS.c.user_id == user.id) & (LAYERS.c.kind == LayerKind.REVIEW.value)
    found = select(LAYERS).where(mine, LAYERS.c.case_id.in_(case_ids))
    layers = {row.case_id: row for row in transaction.read(found, LAYERS)}
    return {
        case_id: _find_words(transaction, layers.get(case_id), content)
        for case_id, content in read_contents(transaction, case_ids).items()
    }


def _find_words(transaction: Transaction, layer: Row[Any] | None, content: CaseContent) -> CaseWords:
    hashes = {word: hash_word(transaction.store, fold(word)) for word in set(content.tokens.words)}
    now, touched, _n_actions = replay_row(transaction, layer, content)
    doubt = read_doubts(content)
    places = np.flatnonzero((doubt >= DOUBTFUL_FROM) & ~touched)
    doubts = np.zeros(len(places), _PLACE)
    doubts["word"] = [hashes[content.tokens.words[i]] for i in places.tolist()]
    doubts["token"], doubts["keep"], doubts["doubt"] = places, now.keep[places], doubt[places]
    words = np.unique(np.fromiter(hashes.values(), np.uint64, len(hashes)))
    return CaseWords(0 if layer is None else int(layer.revision), words, doubts.tobytes())


@dataclass(frozen=True, slots=True)
class DoubtfulWord:
    """A word of which the tool is in doubt somewhere, with the place where it is most so."""

    word: str = field(repr=False)
    n_kept: int  # places where it is kept, and the reader has not decided it
    n_masked: int
    n_cases: int
    before: str = field(repr=False)
    after: str = field(repr=False)
    case_id: int  # of this place


@dataclass(frozen=True, slots=True)
class Grouped:
    """Some doubtful words, of how many; none as long as there are cases that were not read yet."""

    words: tuple[DoubtfulWord, ...] = ()
    n_words: int = 0
    n_read: int = 0
    n_unread: int = 0


def group_doubts(
    store: ReviewStore,
    user: User,
    *,
    source_id: int | None = None,
    first: int = 0,
    n_words: int = MAX_GROUPS,
    seconds: float = inf,
) -> Grouped:
    """Return doubtful words that the reader has not decided, from the `first` on.

    The most frequent ones come first, and of these the more doubtful ones. Words are the same without
    capitals and accents. The cases whose words are shown are entered into the trail as originals that are
    shown, but do not count as read. `source_id`: of this file alone, in rows that its table shows.
    """
    refuse_admin(user)
    found = select_open_words(store, user).where(CASES.c.n_doubtful > 0)
    if source_id is not None:
        found = found.where(CASES.c.source_id == source_id, CASES.c.n_tokens <= MAX_ROW_TOKENS)
    with store.reading() as transaction:
        cases, n_unread = read_words(transaction, user, found, seconds=seconds)
        if n_unread:
            return Grouped(n_read=len(cases), n_unread=n_unread)
        n_groups, groups = _group(cases, slice(first, first + n_words))
        words, quoted = _quote(transaction, groups)
    with store.writing() as transaction:
        disclosed = disclose(transaction, user.name, quoted, "doubtful words")
    remember(store, disclosed)
    return Grouped(words, n_groups, len(cases))


@dataclass(frozen=True, slots=True)
class _Group:
    n_kept: int
    n_masked: int
    n_cases: int
    case_id: int  # of its most doubtful place
    token: int


def _group(cases: Mapping[int, CaseWords], chosen: slice) -> tuple[int, list[_Group]]:
    # How many words there are, and the chosen ones.
    places = np.frombuffer(b"".join(one.doubts for one in cases.values()), _PLACE)
    if not len(places):
        return 0, []
    n_each = [len(one.doubts) // _PLACE.itemsize for one in cases.values()]
    case_ids = np.repeat(np.fromiter(cases, np.int64), n_each)
    words, group = np.unique(places["word"], return_inverse=True)
    n_places = np.bincount(group)
    n_kept = np.bincount(group, places["keep"])
    doubt = np.bincount(group, places["doubt"]) / n_places
    # A case once for each word.
    _pairs, once = np.unique(group * len(cases) + np.repeat(np.arange(len(cases)), n_each), return_index=True)
    n_cases = np.bincount(group[once])
    by_doubt = np.lexsort((-places["doubt"], group))  # stable, so that of equal places the first one is shown
    most = by_doubt[np.cumsum(n_places) - n_places]
    order = np.lexsort((most, -doubt, -n_places))
    return len(words), [
        _Group(
            n_kept=int(n_kept[i]),
            n_masked=int(n_places[i] - n_kept[i]),
            n_cases=int(n_cases[i]),
            case_id=int(case_ids[most[i]]),
            token=int(places["token"][most[i]]),
        )
        for i in order[chosen].tolist()
    ]


def _quote(
    transaction: Transaction, groups: Sequence[_Group]
) -> tuple[tuple[DoubtfulWord, ...], list[Row[Any]]]:
    # The words, and the cases that they are from. One that changed meanwhile is left out.
    case_ids = {one.case_id for one in groups}
    rows = transaction.read(select(CASES).where(CASES.c.id.in_(case_ids)), CASES)
    cases = {row.id: row for row in rows if not find_obstacle(transaction, row, inf)}
    contents = read_contents(transaction, list(cases))
    words = tuple(_quote_one(contents[one.case_id], one) for one in groups if one.case_id in contents)
    return words, list(cases.values())


def _quote_one(content: CaseContent, group: _Group) -> DoubtfulWord:
    start, end = int(content.tokens.starts[group.token]), int(content.tokens.ends[group.token])
    part = next(one for one in content.parts if one.start <= start < one.end)
    return DoubtfulWord(
        word=content.tokens.words[group.token],
        n_kept=group.n_kept,
        n_masked=group.n_masked,
        n_cases=group.n_cases,
        before=_cut_before(content.text[max(part.start, start - CONTEXT_CHARS - 1) : start]),
        after=_cut_after(content.text[end : min(part.end, end + CONTEXT_CHARS + 1)]),
        case_id=group.case_id,
    )


def _cut_before(text: str) -> str:
    # The end of a text in whole words, as far as they fit.
    shown = text[-CONTEXT_CHARS:]
    if len(shown) == len(text):
        return shown
    cut = shown.partition(" ")[2] if not text[-CONTEXT_CHARS - 1].isspace() else shown
    return f"… {(cut or shown).lstrip()}"


def _cut_after(text: str) -> str:
    shown = text[:CONTEXT_CHARS]
    if len(shown) == len(text):
        return shown
    cut = shown.rpartition(" ")[0] if not text[CONTEXT_CHARS].isspace() else shown
    return f"{(cut or shown).rstrip()} …"
