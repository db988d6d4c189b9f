"""What a child process says of a file: records without their file, and what is written of them."""

import io
import json

import msgspec
import pytest
from fake_maskers import CANARY, mask_capitals
from icsr_canaries import sample

from inverse_deid.core.child_process import LimitedProcess, answer_all
from inverse_deid.core.errors import StageError
from inverse_deid.engine.masker import mask_read
from inverse_deid.files.facts import Failure, FileFacts, list_facts
from inverse_deid.files.given import open_given
from inverse_deid.files.reading import ReadBatch, Writing, list_names, read_cases, take_out, write_cases
from inverse_deid.formats.records import ReadOptions
from inverse_deid.formats.renames import Renames

LINES = "".join(json.dumps({"id": n, "text": f"{CANARY} fell {n}"}) + "\n" for n in (7, 8)).encode()
WRITING = Writing(b"sixteen bytes or", "PHI")


@pytest.fixture(scope="module")
def child():
    process = LimitedProcess()
    yield process
    process.end()


def write(worker, file):
    written = io.BytesIO()

    def answer(asked):
        if isinstance(asked, ReadBatch):
            return mask_read(mask_capitals(), asked.records)
        written.write(asked)
        return None

    done = answer_all(worker(write_cases, file, ReadOptions(), WRITING), answer)
    return written.getvalue(), done


@pytest.mark.parametrize("name", ["cases.jsonl", "case.xml"])
def test_a_child_writes_the_same_file_as_this_process(child, name):
    file = open_given(name, LINES if name == "cases.jsonl" else sample("r3"))
    here, done = write(lambda work, *given: work(*given), file)
    there, also_done = write(child.talk, file)
    assert (here, done) == (there, also_done)
    assert CANARY.encode() not in here and done.n_cases > 0


def test_what_is_known_of_a_case_is_said_once():
    file = open_given("case.xml", sample("r3"))
    batches = list(read_cases(file, ReadOptions()))
    records = [record for batch in batches for record in batch.records]
    (case,) = [one for one in records if one.is_report and not one.is_frame]
    assert len(case.texts.docs) > 1 and case.texts.docs[0].known
    assert len(case.known) == 1
    decoded = msgspec.msgpack.decode(msgspec.msgpack.encode(case), type=type(case))
    assert [doc.known for doc in decoded.texts.docs] == [doc.known for doc in case.texts.docs]


def test_too_few_answers_write_nothing():
    file = open_given("cases.jsonl", LINES)
    with pytest.raises(StageError, match="not as many answers as records"):
        answer_all(write_cases(file, ReadOptions(), WRITING), lambda _asked: [])


def test_names_are_listed_without_those_of_other_files():
    file = open_given("cases.jsonl", LINES)
    renames = Renames()
    renames.name("id", "of another file")
    assert list_names(file, ReadOptions())["id"] == ["7", "8"]


def test_a_record_is_taken_out_and_the_others_keep_their_bytes():
    file = open_given("cases.jsonl", LINES)
    assert take_out(file, ReadOptions(), frozenset({1})) == b"\n" + LINES.splitlines(keepends=True)[1]
    assert take_out(open_given("a.json", b'[{"text": "fell"}]'), ReadOptions(), frozenset({1})) is None


def test_many_refused_records_do_not_hide_what_is_true_of_the_whole_file():
    failures = tuple(Failure(f"a.jsonl line {n}", "is not JSON") for n in range(50))
    facts = FileFacts(n_documents=9, n_other_language=9, columns={"text": "masked"}, failures=failures)
    assert [one.field for one in list_facts(facts)[:3]] == ["n_other_language", "columns", "failures"]
