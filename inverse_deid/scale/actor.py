"""What a worker does: load the model once, read, mask and write partitions, never let an error out.

Ray pickles what an actor raises, with its text, into logs and object store. So nothing is raised: a
partition that fails is returned as one line without text.
"""

from __future__ import annotations

import gzip
import io
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from pathlib import PurePosixPath
from typing import Any, BinaryIO, Protocol, cast

import msgspec

from inverse_deid import __version__
from inverse_deid.choices.table import Device
from inverse_deid.core.errors import (
    ConfigurationError,
    InputError,
    InverseDeidError,
    KeptColumnError,
    Remedy,
    StageError,
    UnreadableInputError,
    describe_error,
)
from inverse_deid.core.files import WrittenState
from inverse_deid.core.wording import N_, _
from inverse_deid.engine.masker import check_kept, mask_with_fields
from inverse_deid.engine.serial import write_batch
from inverse_deid.engine.tally import Tally
from inverse_deid.files.reading import batch_records, guard_records
from inverse_deid.formats.records import ReadOptions, Record, Source
from inverse_deid.formats.registry import input_errors
from inverse_deid.masking.case_masker import CaseMasker, DocumentMasker
from inverse_deid.scale.partitions import Partition, Receipt, write_receipt
from inverse_deid.scale.storage import (
    AtomicFile,
    ByteRange,
    fingerprint_of,
    open_place,
    place_of,
    storage_errors,
)

PARTITION = "partition"
OUTCOME = "outcome"


@contextmanager
def open_partition(partition: Partition, options: ReadOptions) -> Iterator[Source]:
    """Open a partition; its records have their numbers of the whole file.

    Raises:
        InputError: The file has changed, or cannot be used.
    """
    place = place_of(partition.address)
    check_unchanged(partition)
    with open_place(place) as whole:
        stream, options = _open_part(whole, partition, options)
        with closing(stream):
            with storage_errors(place), input_errors():
                name = PurePosixPath(partition.name).name
                source = partition.format.open(stream, options, name)
            yield source


def check_unchanged(partition: Partition) -> None:
    """Refuse a partition of a file that has changed.

    Raises:
        InputError: It has changed, or can no longer be read.
    """
    if fingerprint_of(place_of(partition.address)) != partition.fingerprint:
        raise InputError(
            _("has changed since the run was planned"),
            remedies=[Remedy("force", step=N_("run again with {}"))],
        )


def _open_part(whole: BinaryIO, partition: Partition, options: ReadOptions) -> tuple[BinaryIO, ReadOptions]:
    if partition.format.is_split_by_row_group and not partition.is_packed:
        row_groups = (partition.start, partition.end)
        return whole, replace(options, n_before=partition.n_before, row_groups=row_groups)
    if partition.is_packed:
        return cast(BinaryIO, gzip.open(whole, "rb")), options
    if partition.is_whole:
        return whole, options
    part = ByteRange(whole, partition.head_bytes, partition.start, partition.end)
    return io.BufferedReader(part, 1 << 20), replace(options, n_before=partition.n_before)


@dataclass(frozen=True, slots=True)
class Work:
    """What is the same for all partitions of a run."""

    out: str  # address of the output folder
    settings: str  # fingerprint of all that shapes the output
    read_options: ReadOptions


def mask_partition(partition: Partition, masker: DocumentMasker, work: Work) -> Receipt:
    """Mask a partition, write its output and then its receipt.

    Both get their names in one step each and depend on the partition alone: masking it twice, even at
    the same time, has the same result as masking it once.

    Raises:
        InputError: The partition cannot be read to its end; nothing is written.
        OutputError: The output cannot be written.
    """
    out = place_of(work.out)
    tally = Tally()
    with open_partition(partition, work.read_options) as source:
        file = AtomicFile(out.child(partition.target))
        written = _write(partition, source, masker, file, tally)
        tally.note_columns(source.columns)
    receipt = Receipt(partition.target, partition.fingerprint, work.settings, written, tally)
    write_receipt(out, partition, receipt, seal_key(masker))
    return receipt


def seal_key(masker: DocumentMasker) -> bytes:
    """Return the key of a run, which its notes are sealed with; b"" = none."""
    return (masker.settings.key or b"") if isinstance(masker, CaseMasker) else b""


def _write(
    partition: Partition, source: Source, masker: DocumentMasker, file: AtomicFile, tally: Tally
) -> WrittenState | None:
    # None = no document of it could be written.
    is_kept = False
    try:
        sink = source.sink(file)
        n_records = 0
        kept = check_kept(masker, source.unit)
        for batch in batch_records(_read(source, partition)):
            n_records += len(batch)
            results = mask_with_fields(masker, batch, kept=kept, unit=source.unit)
            write_batch(results, [sink], tally, partition.shown, source.unit)
        if not n_records and source.unit == "line" and partition.is_whole:
            raise UnreadableInputError(_("is empty. Give a file that contains text"))
        sink.finish()
        check_unchanged(partition)
        is_kept = bool(tally.n_documents or not tally.n_failures)
        return file.commit() if is_kept else None
    finally:
        if not is_kept:
            file.discard()


def _read(source: Source, partition: Partition) -> Iterator[Record]:
    # What breaks while the storage is read becomes one line.
    place = place_of(partition.address)
    records = guard_records(source.records())
    while True:
        with storage_errors(place):
            record = next(records, None)
        if record is None:
            return
        yield record


class MaskerMaker(Protocol):
    """Makes the masker inside a worker; it is pickled, so it has paths and options, no secret."""

    def __call__(self, *, n_threads: int, device: Device) -> DocumentMasker:
        """Load lexicon and model from this machine's disk."""
        ...


@dataclass(frozen=True, slots=True)
class ActorJob:
    work: Work  # what is the same for all partitions
    make_masker: MaskerMaker
    fingerprint: str  # the masker must have it
    n_threads: int = 1  # threads of the network
    device: Device = "cpu"  # where the network runs
    version: str = __version__  # of this package


@dataclass(frozen=True, slots=True)
class Outcome:
    target: str
    receipt: Receipt | None = None  # None = it failed
    problem: str = ""  # why it failed, without text of narratives; "" = it did not fail
    remedies: tuple[Remedy, ...] = ()  # what mends it
    is_refused: bool = False  # a value must not leave, so no part of its file may
    is_fatal: bool = False  # the worker cannot mask anything, and the run must stop

    def as_json(self) -> str:
        return msgspec.json.encode(self).decode()

    @classmethod
    def from_json(cls, stored: str) -> Outcome:
        return msgspec.json.decode(stored, type=cls)


class PartitionActor:
    """Masks partitions, one after another. Errors of loading are reported with the first partition."""

    def __init__(self, job: ActorJob) -> None:
        self._work = job.work
        self._masker: DocumentMasker | None = None
        self._problem: InverseDeidError = StageError()
        try:
            self._masker = _load_masker(job)
        except InverseDeidError as error:
            self._problem = error.add_prefix("")
        except Exception as error:  # noqa: BLE001 - Ray would write it down
            self._problem = StageError(_("{error} while the model was loaded", error=describe_error(error)))

    def __call__(self, batch: Mapping[str, Sequence[Any]]) -> dict[str, list[str]]:
        """Mask a batch: under `PARTITION` it has partitions as JSON, the result under `OUTCOME` outcomes."""
        partitions = [Partition.from_json(str(stored)) for stored in batch[PARTITION]]
        return {OUTCOME: [self._make_outcome(partition).as_json() for partition in partitions]}

    def _make_outcome(self, partition: Partition) -> Outcome:
        if self._masker is None:
            problem = self._problem
            return Outcome(partition.target, problem=str(problem), remedies=problem.remedies, is_fatal=True)
        try:
            return Outcome(partition.target, mask_partition(partition, self._masker, self._work))
        except InverseDeidError as error:
            is_refused = isinstance(error, KeptColumnError)
            return Outcome(
                partition.target, problem=str(error), remedies=error.remedies, is_refused=is_refused
            )
        except Exception as error:  # noqa: BLE001 - Ray would write it down
            return Outcome(
                partition.target, problem=_("an unforeseen error ({name})", name=type(error).__name__)
            )


def _load_masker(job: ActorJob) -> DocumentMasker:
    # Only if this machine has the same program, model and files as the run.
    if job.version != __version__:
        raise ConfigurationError(
            _(
                "the run was started with inverse-deid {version}, but a machine of the cluster has "
                "version {version_2}. Install the same version on all machines",
                version=job.version,
                version_2=__version__,
            )
        )
    masker = job.make_masker(n_threads=job.n_threads, device=job.device)
    if masker.fingerprint != job.fingerprint:
        raise ConfigurationError(
            _(
                "a machine of the cluster has another model, lexicon, key or word list than the machine "
                "that started the run. Put the same files on all machines"
            )
        )
    return masker
