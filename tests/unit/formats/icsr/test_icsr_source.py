"""Case safety reports as records: cases, the parts around them, and what becomes of a case that is refused."""

import io
from dataclasses import replace

import pytest
from fake_maskers import mask_all
from icsr_messages import ALL_KEEP, invent

from inverse_deid.core.errors import RefusedRecordError, StageError
from inverse_deid.engine.masker import mask_with_fields
from inverse_deid.engine.serial import write_batch
from inverse_deid.engine.tally import Tally
from inverse_deid.formats.icsr.source import read_reports
from inverse_deid.formats.records import CHARS_PER_NODE, ReadOptions, Record, ReportingSink

OPTIONS = ReadOptions(profile=ALL_KEEP)


class Recorder:
    """A sink that notes the numbers of the records that it is given."""

    def __init__(self):
        self.numbers = []

    def write(self, record, masked):
        self.numbers.append(record.number)

    def finish(self):
        pass


def opened(dialect="r3", n_cases=2, data=None):
    return read_reports(io.BytesIO(data or invent(dialect, n_cases).data), OPTIONS, "cases.xml")


@pytest.mark.parametrize("dialect", ["r3", "r2"])
def test_the_records_are_the_cases_and_the_parts_around_them(dialect):
    records = list(opened(dialect).records())
    assert [record.number for record in records if not record.is_frame] == [1, 2]
    assert all(record.number == 0 for record in records if record.is_frame)
    assert all(record.report is not None and record.case_id for record in records)


def test_a_case_of_many_small_fields_takes_room_in_a_batch():
    record = next(record for record in opened().records() if not record.is_frame)
    assert record.n_chars >= CHARS_PER_NODE * record.report.n_nodes
    assert record.n_chars >= sum(len(doc.text) for doc in record.docs)


def test_a_refused_case_is_named_and_reaches_no_other_sink():
    source, target, others, tally = opened(), io.BytesIO(), Recorder(), Tally()
    sink = source.sink(target)
    assert isinstance(sink, ReportingSink)
    results = mask_with_fields(mask_all(), list(source.records()), b"", "PHI")
    spoilt = [(record, masked[1:] if record.number == 1 else masked) for record, masked in results]
    write_batch(spoilt, [sink, others], tally, "cases.xml", "case")
    assert (tally.n_documents, tally.n_failures, set(others.numbers)) == (1, 1, {0, 2})
    assert tally.failures[0].where == "cases.xml case 1"
    assert (sink.report.n_cases, sink.report.n_problems) == (1, 1)


def test_a_case_that_cannot_be_read_is_left_out_and_listed():
    source, tally = opened(), Tally()
    sink = source.sink(io.BytesIO())
    write_batch([(Record(7, problem="is too large"), ())], [sink], tally, "cases.xml", "case")
    assert [problem.number for problem in sink.report.problems] == [7]
    assert tally.failures[0].reason == "is too large. It was left out"


def test_nothing_is_written_after_a_part_around_the_cases_that_is_refused():
    source = opened()
    sink = source.sink(io.BytesIO())
    frame = next(record for record in source.records() if record.is_frame)
    with pytest.raises(StageError, match="around the cases"):
        sink.leave_out(replace(frame, problem="has too many known values"))
    if frame.docs:
        with pytest.raises(StageError, match="around the cases"):
            sink.write(frame, ())


def test_the_sink_of_reports_takes_no_other_records():
    with pytest.raises((StageError, RefusedRecordError)):
        opened().sink(io.BytesIO()).write(Record(1), ())
