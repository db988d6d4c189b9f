"""Records in batches: masked one after the other or several at once, written in order, in bounded memory."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from inverse_deid.core.errors import RefusedRecordError, Remedy, UnreadableInputError
from inverse_deid.core.values import MaskedDocument
from inverse_deid.core.wording import _
from inverse_deid.engine.in_order import in_order
from inverse_deid.engine.masker import check_kept, mask_with_fields
from inverse_deid.engine.progress import FileMeter
from inverse_deid.engine.tally import MARKERS_LEFT, Tally
from inverse_deid.files.reading import MaskedRecord, batch_records, guard_records
from inverse_deid.formats.records import Record, ReportingSink, Sink, Source
from inverse_deid.masking.case_masker import DocumentMasker

OnProgress = Callable[[int, int], None]
"""Told of every batch: documents and tokens."""


@dataclass(frozen=True, slots=True)
class SourceProgress:
    """How a source is masked, how far it is, and who is notified."""

    name: str  # the file in messages
    tally: Tally  # counts what was written; a resumed run begins with what was counted before
    on_progress: OnProgress  # told of every batch
    n_at_once: int = 1  # how many batches the masker takes at once
    key: bytes = field(default=b"", repr=False)  # for the pseudonyms of report ids
    marker: str = "PHI"  # replaces a text of a report that cannot be shown at all
    meter: FileMeter | None = None  # told how much of the file is done, None = a pipe


def write_batch(
    results: Iterable[tuple[Record, Sequence[MaskedDocument]]],
    sinks: Sequence[Sink],
    tally: Tally,
    name: str,
    unit: str,
) -> None:
    """Write and count a batch; a record that cannot be written is noted with its number."""
    for record, masked in results:
        place = record.place or (f"{_(unit)} {record.number}" if record.number else "")
        where = f"{name} {place}".rstrip()
        problem, remedies = record.problem, record.remedies
        if problem:
            for sink in sinks:
                if isinstance(sink, ReportingSink):
                    sink.leave_out(record)
        else:
            problem, remedies = _write(record, masked, sinks)
        if problem:
            tally.fail(where, _("{problem}. It was left out", problem=problem), remedies)
            continue
        note_record(
            tally,
            where,
            MaskedRecord(tuple(masked), None, record.changes),
            is_report=record.report is not None,
            is_frame=record.is_frame,
        )


def note_record(tally: Tally, where: str, masked: MaskedRecord, *, is_report: bool, is_frame: bool) -> None:
    """Count a record that was masked; a report is a case even without text, the part around it is not."""
    if masked.changes is not None:
        tally.note_kept(masked.changes)
    if masked.docs or is_report:
        tally.add_case(masked.docs, is_case=not is_frame)
    if any(one.failed for one in masked.docs):
        tally.fail(where, _("could not be analysed and was masked completely"))
    elif any(one.is_plain for one in masked.docs):
        tally.fail(where, MARKERS_LEFT)


def _write(
    record: Record, masked: Sequence[MaskedDocument], sinks: Sequence[Sink]
) -> tuple[str, tuple[Remedy, ...]]:
    """Write one record into all sinks, or return why the first of them refused it, and what mends it."""
    try:
        for sink in sinks:
            sink.write(record, masked)
    except RefusedRecordError as error:
        return str(error), error.remedies
    return "", ()


def mask_source(
    source: Source, sinks: Sequence[Sink], masker: DocumentMasker, progress: SourceProgress, n_before: int = 0
) -> Iterator[int]:
    """Mask a source; after each batch is written, yield how many of its records are done.

    The first `n_before` records are read but not masked again.

    Raises:
        InputError: The file breaks off or has no records.
    """
    tally = progress.tally
    tally.note_columns(source.columns)
    n_done = n_before
    todo = _skip(n_before, batch_records(guard_records(source.records())), source, progress.meter)

    kept = check_kept(masker, source.unit)

    def mask(item: _Batch) -> list[tuple[Record, tuple[MaskedDocument, ...]]]:
        return mask_with_fields(masker, item.records, progress.key, progress.marker, kept, unit=source.unit)

    for (n_done, place, _ignored), masked in in_order(mask, todo, progress.n_at_once):
        before = (tally.n_documents, tally.n_tokens)
        write_batch(masked, sinks, tally, progress.name, source.unit)
        tally.note_columns(source.columns)
        progress.on_progress(tally.n_documents - before[0], tally.n_tokens - before[1])
        if progress.meter is not None:
            progress.meter.reach(place)
        yield n_done
    if not n_done and source.unit == "line":
        raise UnreadableInputError(_("is empty. Give a file that contains text"))


class _Batch(NamedTuple):
    """Records that are masked together."""

    n_done: int  # records of the file that are done after it
    place: int  # bytes of the file that were read for it and all before it, 0 = unknown
    records: list[Record]


def _skip(
    n_records: int, found: Iterable[list[Record]], source: Source, meter: FileMeter | None
) -> Iterator[_Batch]:
    n_seen = 0
    for batch in found:
        n_seen += len(batch)
        place = 0 if meter is None else meter.place(source, n_seen)
        if n_seen > n_records:
            yield _Batch(n_seen, place, batch)
        elif meter is not None:
            meter.reach(place, was_done=True)
