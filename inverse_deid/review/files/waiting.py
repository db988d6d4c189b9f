"""Files that wait to be masked: sealed in the store from the first byte, in pieces, until they are masked.

Nothing of a file is on the disk in the clear, neither its bytes nor its name. When a file is masked or taken
away, its pieces are deleted. After a crash everything that was complete is still there.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import msgspec
from sqlalchemy import delete, func, insert, select, update

from inverse_deid.core.errors import ReviewError, UnreadableInputError
from inverse_deid.core.wording import _
from inverse_deid.files.facts import FileFacts
from inverse_deid.files.given import MAX_FILE_BYTES
from inverse_deid.files.survey import FileSurvey
from inverse_deid.formats.tables.columns import ColumnFate
from inverse_deid.review.files.carrying import Carried
from inverse_deid.review.files.choices import Concern, MaskingChoices
from inverse_deid.review.flow.oversight import forget_file
from inverse_deid.review.store.entries import TrailEvent
from inverse_deid.review.store.opening import ReviewStore, Transaction
from inverse_deid.review.store.tables import SOURCES, WAITING, WAITING_PIECES, place_of
from inverse_deid.review.store.values import StoredState

MAX_FILES = 2_000
"""Most files that wait at a time."""
MAX_TOTAL_BYTES = 2 * 1024 * 1024 * 1024
PIECE_BYTES = 1024 * 1024

_MAX_PART_CHARS = 120
_MAX_PARTS = 12


class UploadState(StoredState):
    """How far a file is."""

    RECEIVING = "receiving"
    READY = "ready"
    CONFIRMING = "confirming"
    QUEUED = "queued"
    MASKING = "masking"
    STOPPED = "stopped"
    DONE = "done"
    FAILED = "failed"


class AskedColumn(msgspec.Struct, frozen=True):
    """A column that another person than the one who chose it has to confirm, as its values are copied.

    Args:
        concern: Which one, and why.
        n_values: Values that are not empty, None = they were not counted yet.
        n_checked: Of these, the ones that were looked at.
        n_names: Of these, the ones that look like names of people.
        n_others: Of these, the ones that may identify a person in another way.
        examples: Some values, first those that may identify a person.
    """

    concern: Concern
    n_values: int | None = None
    n_checked: int = 0
    n_names: int = 0
    n_others: int = 0
    examples: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return f"AskedColumn(n_values={self.n_values})"


class UploadFacts(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of a file, all of it sealed.

    Args:
        name: Its path below the folder that was added, with `/`.
        by: The user who added it.
        chosen_by: The user who chose how it is masked, "" = nobody yet.
        refused: The numbers of columns in which masking found what must not be kept.
        unconfirmed: In a team, the columns that another adjudicator has to confirm before it is masked.
        problem: Why it cannot be masked, "" = it can.
        survey: What was found in it when it was received, None = it cannot be read.
        columns: What happens to each column that was found, () = nothing was chosen yet.
        choices: What was chosen for it, None = nothing yet.
        masked: Once it is masked: what was found then.
        n_bytes: Its size.
        replaces: The number of the file of the store that is masked again, 0 = it is a new one.
        carried: Once it is masked again: what became of the work on it.
    """

    name: str
    by: str
    chosen_by: str = ""
    refused: tuple[int, ...] = ()
    unconfirmed: tuple[AskedColumn, ...] = ()
    problem: str = ""
    survey: FileSurvey | None = None
    columns: tuple[ColumnFate, ...] = ()
    choices: MaskingChoices | None = None
    masked: FileFacts | None = None
    n_bytes: int
    replaces: int = 0
    carried: Carried | None = None

    def __repr__(self) -> str:
        return f"UploadFacts(n_bytes={self.n_bytes})"

    @property
    def found(self) -> FileFacts:
        """What is known of it by now."""
        if self.masked is not None:
            return self.masked
        return FileFacts() if self.survey is None else self.survey.facts

    @property
    def n_expected(self) -> int:
        """Its documents (rows of a table), as far as they were counted when it was received."""
        return 0 if self.survey is None else self.survey.facts.n_documents


class Upload(msgspec.Struct, frozen=True, kw_only=True):
    """A file that was added."""

    id: int
    state: UploadState
    n_bytes: int
    name_key: int
    facts: UploadFacts


def clean_name(given: str) -> str:
    r"""Return a path that leads nowhere else and can be shown; nothing is ever opened by it.

    Example:
        >>> clean_name("../../etc/passwd"), clean_name("C:\\case\\a\n.txt"), clean_name("..")
        ('etc/passwd', 'C/case/a.txt', 'file')
    """
    parts = []
    for part in given.replace("\\", "/").split("/"):
        plain = "".join(sign for sign in part if sign.isprintable() and sign not in '<>:"|?*')
        plain = plain.encode("utf-8", "replace").decode().strip().rstrip(". ")
        stem, dot, suffix = plain.rpartition(".")
        if len(plain) > _MAX_PART_CHARS:
            plain = stem[: _MAX_PART_CHARS - len(dot + suffix[:20])] + dot + suffix[:20]
        if plain:
            parts.append(plain)
    return "/".join(parts[-_MAX_PARTS:]) or "file"


def open_waiting_area(store: ReviewStore) -> None:
    """Tidy up after a program that was stopped.

    A file that was not received to its end is deleted. One that was being masked waits to be resumed.
    """
    with store.writing() as transaction:
        for upload in _read(transaction):
            if upload.state is UploadState.RECEIVING:
                _delete(transaction, upload.id)
            elif upload.state in (UploadState.QUEUED, UploadState.MASKING):
                _set(transaction, upload, UploadState.STOPPED, upload.facts)


def begin_upload(
    store: ReviewStore,
    name: str,
    n_bytes: int,
    *,
    by: str,
    name_key: int = 0,
    replaces: int = 0,
    **known: object,
) -> Upload:
    """Begin to receive a file of a stated size.

    Args:
        store: The store.
        name: Its path, as the user knows it.
        n_bytes: Its size.
        by: The user who adds it.
        name_key: The key of its name, 0 = a new one.
        replaces: The number of the file of the store that is masked again, 0 = it is a new one.
        known: Other facts of it.

    Raises:
        ReviewError: It is too large, too much waits already, or the file that it replaces is gone or waits
            already.
    """
    if n_bytes > MAX_FILE_BYTES:
        limit = f"{MAX_FILE_BYTES >> 20} MB"
        raise ReviewError(_("is larger than {limit}. Split it into smaller files", limit=limit))
    with store.writing() as transaction:
        if replaces:
            _check_replaced(transaction, replaces)
        pieces = select(func.count(), func.coalesce(func.sum(WAITING.c.n_bytes), 0))
        n_files, n_waiting = transaction.execute(
            pieces.where(WAITING.c.state != UploadState.DONE.value)
        ).one()
        if n_files >= MAX_FILES or n_waiting + n_bytes > MAX_TOTAL_BYTES:
            raise ReviewError(_("too many files are waiting. Mask or remove those first, then add more"))
        facts = UploadFacts(name=clean_name(name), by=by, n_bytes=n_bytes, replaces=replaces)
        facts = msgspec.structs.replace(facts, **known)
        key_id = name_key or transaction.names.add_key()
        row = {"state": UploadState.RECEIVING.value, "n_bytes": n_bytes, "name_key": key_id, "sealed": b""}
        upload_id = transaction.insert_unsealed(WAITING, row)
        upload = Upload(
            id=upload_id,
            state=UploadState.RECEIVING,
            n_bytes=n_bytes,
            name_key=key_id,
            facts=facts,
        )
        _set(transaction, upload, UploadState.RECEIVING, facts)
    forget_file(store, upload_id)
    return upload


def _check_replaced(transaction: Transaction, source_id: int) -> None:
    # Of two at the same time, the second one waits here and then sees the first one.
    found = select(SOURCES.c.id).where(SOURCES.c.id == source_id).with_for_update()
    if transaction.execute(found).first() is None:
        raise ReviewError(_("this file does not exist"))
    if _waits_again(transaction, source_id):
        raise ReviewError(_("this file waits for other choices already"))


def add_piece(store: ReviewStore, upload_id: int, number: int, data: bytes) -> None:
    """Seal one piece of a file that is being received."""
    row = {"waiting_id": upload_id, "number": number}
    sealed = store.sealer.seal(data, place_of(WAITING_PIECES.c.sealed, row))
    with store.writing() as transaction:
        transaction.execute(insert(WAITING_PIECES), {**row, "sealed": sealed})


def read_bytes(store: ReviewStore, upload_id: int) -> bytes:
    """Return the bytes of a file that was received to its end.

    Raises:
        UnreadableInputError: They were altered, or some are missing.
    """
    found = select(WAITING_PIECES).where(WAITING_PIECES.c.waiting_id == upload_id)
    with store.reading() as transaction:
        upload = next(_read(transaction, upload_id), None)
        rows = transaction.execute(found.order_by(WAITING_PIECES.c.number)).yield_per(16)
        data = b"".join(
            store.sealer.open(row.sealed, place_of(WAITING_PIECES.c.sealed, row._mapping)) for row in rows
        )
    if upload is not None and upload.facts.n_bytes != len(data):
        raise UnreadableInputError(_("has lost a part: the store was altered. Add the file again"))
    return data


def list_uploads(store: ReviewStore) -> tuple[Upload, ...]:
    """Return all files that were received, in the order in which they were added."""
    with store.reading() as transaction:
        return tuple(one for one in _read(transaction) if one.state is not UploadState.RECEIVING)


def change_upload(
    store: ReviewStore,
    upload_id: int,
    state: UploadState,
    *,
    only_from: tuple[UploadState, ...] = tuple(UploadState),
    only_as: UploadFacts | None = None,
    events: Sequence[TrailEvent] = (),
    **changes: object,
) -> Upload | None:
    """Set the state and facts of a file; return it, None = it was not as it should be.

    The bytes of a file that is done or failed are deleted.

    Args:
        store: The store.
        upload_id: The file.
        state: Its new state.
        only_from: It must be in one of these states.
        only_as: These must be its facts, None = any.
        events: They enter the trail with the name of the file.
        changes: New facts.
    """
    with store.writing() as transaction:
        upload = next(_read(transaction, upload_id, locks=True), None)
        if upload is None or upload.state not in only_from or only_as not in (None, upload.facts):
            return None
        facts = msgspec.structs.replace(upload.facts, **changes)
        _set(transaction, upload, state, facts)
        if events:
            name = transaction.names.seal(upload.name_key, facts.name)
            transaction.record(*(replace(one, name=name) for one in events))
        return msgspec.structs.replace(upload, state=state, facts=facts)


def note_carried(transaction: Transaction, upload_id: int, carried: Carried) -> None:
    """Store with a file that was masked again what became of the work on it."""
    for upload in _read(transaction, upload_id, locks=True):
        facts = msgspec.structs.replace(upload.facts, carried=carried)
        _set(transaction, upload, upload.state, facts)


def remove_upload(store: ReviewStore, upload_id: int, *, by: str | None = None) -> bool:
    """Take a file away; return whether it was there. One that is being masked stays.

    `by` is for the trail; None = nobody had seen the file, so its removal is not noted.
    """
    with store.writing() as transaction:
        upload = next(_read(transaction, upload_id, locks=True), None)
        if upload is None or upload.state is UploadState.MASKING:
            return False
        if by is not None and upload.state is not UploadState.DONE:
            name = transaction.names.seal(upload.name_key, upload.facts.name)
            transaction.record(TrailEvent(user=by, event="file removed before it was masked", name=name))
        _delete(transaction, upload_id)
    return True


def count_uploads(store: ReviewStore) -> dict[UploadState, int]:
    """Count the files that were added, by state; a state without files is left out."""
    found = select(WAITING.c.state, func.count()).group_by(WAITING.c.state)
    with store.reading() as transaction:
        return {UploadState(state): int(n) for state, n in transaction.execute(found)}


def waits_again(store: ReviewStore, source_id: int) -> bool:
    """Whether a file of the store waits for other choices."""
    with store.reading() as transaction:
        return _waits_again(transaction, source_id)


def _waits_again(transaction: Transaction, source_id: int) -> bool:
    # Also what the file came from, if the program was stopped before it noted that it is masked.
    key = select(SOURCES.c.name_key).where(SOURCES.c.id == source_id).scalar_subquery()
    ended = [one.value for one in _ENDED]
    found = select(WAITING.c.id).where(WAITING.c.name_key == key, WAITING.c.state.not_in(ended))
    return transaction.execute(found).first() is not None


def count_waiting(store: ReviewStore) -> int:
    """Count the files whose bytes are still here."""
    with store.reading() as transaction:
        return _count_waiting(transaction)


def _count_waiting(transaction: Transaction) -> int:
    ended = (UploadState.DONE.value, UploadState.FAILED.value)
    found = select(func.count()).select_from(WAITING).where(WAITING.c.state.not_in(ended))
    return int(transaction.execute(found).scalar_one())


def remove_all_uploads(store: ReviewStore, *, by: str) -> int:
    """Take all files away; return how many still had their bytes. `by` is for the trail."""
    with store.writing() as transaction:
        n_files = _count_waiting(transaction)
        transaction.execute(delete(WAITING_PIECES))
        transaction.execute(delete(WAITING))
        transaction.names.drop_unused()
        if n_files:
            event = TrailEvent(user=by, event=f"files removed before they were masked: {n_files}")
            transaction.record(event)
    return n_files


def _read(transaction: Transaction, upload_id: int | None = None, *, locks: bool = False) -> Iterator[Upload]:
    # With `locks`, others who change it wait until this transaction ends, and then see what it changed.
    found = select(WAITING).order_by(WAITING.c.id)
    if locks:
        found = found.with_for_update()
    if upload_id is not None:
        found = found.where(WAITING.c.id == upload_id)
    for row in transaction.execute(found).all():
        facts = msgspec.json.decode(
            transaction.sealer.open(row.sealed, place_of(WAITING.c.sealed, row._mapping)), type=UploadFacts
        )
        yield Upload(
            id=row.id,
            state=UploadState(row.state),
            n_bytes=row.n_bytes,
            name_key=row.name_key,
            facts=facts,
        )


_ENDED = (UploadState.DONE, UploadState.FAILED)


def _set(transaction: Transaction, upload: Upload, state: UploadState, facts: UploadFacts) -> None:
    if state in _ENDED and facts.survey is not None:  # the values of columns go with the file
        survey = msgspec.structs.replace(facts.survey, columns=(), tables=())
        facts = msgspec.structs.replace(facts, survey=survey, unconfirmed=())
    sealed = transaction.sealer.seal(
        msgspec.json.encode(facts), place_of(WAITING.c.sealed, {"id": upload.id})
    )
    changed = update(WAITING).where(WAITING.c.id == upload.id)
    transaction.execute(changed.values(state=state.value, sealed=sealed))
    if state in _ENDED:
        transaction.execute(delete(WAITING_PIECES).where(WAITING_PIECES.c.waiting_id == upload.id))


def _delete(transaction: Transaction, upload_id: int) -> None:
    transaction.execute(delete(WAITING_PIECES).where(WAITING_PIECES.c.waiting_id == upload_id))
    transaction.execute(delete(WAITING).where(WAITING.c.id == upload_id))
    transaction.names.drop_unused()
