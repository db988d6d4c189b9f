"""Masking one partition: what a worker does, with or without Ray."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from inverse_deid.core.errors import UnreadableInputError
from inverse_deid.core.files import WrittenState
from inverse_deid.engine.masker import Masker, mask_records
from inverse_deid.engine.serial import BatchLimits, batches, guarded, write_batch
from inverse_deid.engine.tally import Tally
from inverse_deid.formats.records import ReadOptions, Record, Source
from inverse_deid.scale.partitions import Partition
from inverse_deid.scale.reading import check_unchanged, open_partition
from inverse_deid.scale.receipts import Receipt, write_receipt
from inverse_deid.scale.storage import AtomicFile, Place, place_of, storage_errors


@dataclass(frozen=True, slots=True)
class Work:
    """What is the same for all partitions of a run.

    Args:
        out: Address of the output folder.
        settings: Fingerprint of all that shapes the output.
        read_options: How the files are read.
    """

    out: str
    settings: str
    read_options: ReadOptions


def mask_partition(partition: Partition, masker: Masker, work: Work) -> Receipt:
    """Mask a partition, write its output and then its receipt.

    Both get their names in one step each and depend on the partition alone: doing it
    twice, even at the same time, leaves what doing it once leaves.

    Raises:
        InputError: The partition cannot be read to its end; nothing is written.
        OutputError: The output cannot be written.
    """
    out = place_of(work.out)
    tally = Tally()
    with open_partition(partition, work.read_options) as source:
        written = _write(partition, source, masker, (out.child(partition.target), tally))
        tally.note_columns(source.columns)
    receipt = Receipt(partition.target, partition.fingerprint, work.settings, written, tally)
    write_receipt(out, receipt)
    return receipt


def _write(
    partition: Partition, source: Source, masker: Masker, target: tuple[Place, Tally]
) -> WrittenState | None:
    """The output under its name; None: no document of it could be written."""
    place, tally = target
    file = AtomicFile(place)
    is_kept = False
    try:
        sink = source.sink(file)
        n_records = 0
        for batch in batches(_read(source, partition), BatchLimits()):
            n_records += len(batch)
            results = zip(batch, mask_records(masker, batch), strict=True)
            write_batch(results, [sink], tally, partition.shown, source.unit)
        if not n_records and source.unit == "line" and partition.is_whole:
            raise UnreadableInputError("is empty; give a file that holds text")
        sink.finish()
        check_unchanged(partition)
        is_kept = bool(tally.n_documents or not tally.n_failures)
        return file.commit() if is_kept else None
    finally:
        if not is_kept:
            file.discard()


def _read(source: Source, partition: Partition) -> Iterator[Record]:
    """The records; what breaks while the storage is read becomes one line."""
    place = place_of(partition.address)
    records = guarded(source.records())
    while True:
        with storage_errors(place):
            record = next(records, None)
        if record is None:
            return
        yield record
