import dataclasses
import io

import msgspec
import pytest
from fake_maskers import BROKEN_STAGE, CANARY, keep_all, mask_capitals

from inverse_deid.core.errors import StageError, UnreadableInputError
from inverse_deid.core.values import Document, Reason
from inverse_deid.engine.masker import mask_records
from inverse_deid.engine.serial import SourceProgress, mask_source, write_batch
from inverse_deid.engine.tally import MARKERS_LEFT, Tally
from inverse_deid.files.facts import MAX_FAILURES, Failure
from inverse_deid.files.reading import guard_records
from inverse_deid.formats.records import ReadOptions, Record
from inverse_deid.formats.tables.json_lines import read_json_lines


def records(*n_chars: int) -> list[Record]:
    return [Record(i, (Document(str(i), "x" * n),)) for i, n in enumerate(n_chars)]


class Other:
    def mask_many(self, docs):
        return keep_all().mask_many([Document("other", doc.text) for doc in docs])


class Fewer:
    def mask_many(self, docs):
        return keep_all().mask_many(docs[1:])


@pytest.mark.parametrize("masker", [Other(), Fewer()])
def test_a_masker_that_mixes_documents_up_is_stopped(masker):
    with pytest.raises(StageError):
        mask_records(masker, records(3, 3))


def test_records_without_text_do_not_reach_the_masker():
    masker = keep_all()
    assert mask_records(masker, [Record(1), Record(2)]) == [(), ()]
    assert masker.batch_sizes == []


def test_reading_errors_become_typed_errors():
    def broken():
        yield Record(1)
        raise OSError(5, "Input/output error")

    stream = guard_records(broken())
    assert next(stream).number == 1
    with pytest.raises(UnreadableInputError, match="Input/output error"):
        next(stream)


def run(data: bytes, tally: Tally, target: io.BytesIO, n_before: int = 0) -> list[int]:
    source = read_json_lines(io.BytesIO(data), ReadOptions())
    progress = SourceProgress("a.jsonl", tally, lambda documents, tokens: None)
    return list(mask_source(source, [source.sink(target)], mask_capitals(), progress, n_before))


def test_a_source_is_counted_and_its_failures_are_named_by_line():
    lines = [f'{{"text": "{CANARY} fell"}}', "nonsense", f'{{"text": "{BROKEN_STAGE} x"}}']
    tally, target = Tally(), io.BytesIO()
    assert run("\n".join(lines).encode(), tally, target) == [3]
    assert (tally.n_documents, tally.n_failed_documents, tally.n_tokens, tally.n_failures) == (2, 1, 4, 2)
    assert [failure.where for failure in tally.failures] == ["a.jsonl line 2", "a.jsonl line 3"]
    assert tally.tokens_by_reason[Reason.BELOW_THRESHOLD] == 3
    assert CANARY.encode() not in target.getvalue()


def test_a_document_that_kept_its_markers_is_named():
    tally = Tally()
    (masked,) = mask_capitals().mask_many([Document("1", f"{CANARY} fell")])
    write_batch([(Record(7), [dataclasses.replace(masked, is_plain=True)])], [], tally, "a.jsonl", "line")
    assert (tally.n_documents, tally.n_failed_documents) == (1, 0)
    assert tally.failures == [Failure("a.jsonl line 7", MARKERS_LEFT)]


def test_masking_goes_on_behind_what_is_done():
    lines = [f'{{"text": "{"well " * 400} {i}"}}' for i in range(600)]
    data = "\n".join(lines).encode()
    whole, rest = io.BytesIO(), io.BytesIO()
    checkpoints = run(data, Tally(), whole)
    assert len(checkpoints) > 3
    assert run(data, Tally(), rest, checkpoints[1]) == checkpoints[2:]
    assert whole.getvalue().endswith(rest.getvalue())
    assert rest.getvalue().count(b"\n") == 600 - checkpoints[1]


def test_tallies_add_up_and_survive_json():
    one, two = Tally(), Tally(columns={"dob": "dropped"})
    for masked in keep_all().mask_many([Document("a", "well now"), Document("b", BROKEN_STAGE)]):
        one.add_case([masked])
        two.add_case([masked])
    two.fail("a", "broken")
    one.merge(two)
    assert (one.n_documents, one.n_tokens, one.n_failures) == (4, 6, 1)
    assert one.columns == {"dob": "dropped"}
    assert msgspec.convert(one.as_json(), Tally) == one


def test_endless_failures_do_not_fill_the_memory():
    tally = Tally()
    for i in range(MAX_FAILURES + 10):
        tally.fail(str(i), "broken")
    assert tally.n_failures == MAX_FAILURES + 10
    assert len(tally.failures) == MAX_FAILURES
