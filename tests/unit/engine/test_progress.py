"""How far a run is: bytes of the inputs, told while files are read, also within one file."""

import gzip
import json
import random
from datetime import date

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from fake_maskers import FakeMasker, mask_capitals

from inverse_deid.engine.jobs.journal import Journal
from inverse_deid.engine.jobs.planning import PlanSettings, plan_jobs
from inverse_deid.engine.progress import RunProgress
from inverse_deid.engine.run import run_jobs
from inverse_deid.engine.run_settings import RunSettings
from inverse_deid.masking.case_masker import CaseMasker
from inverse_deid.replacement.settings import CaseSettings

TEXT = "Seen by the nurse and all well."
N_RECORDS = 1300  # at most 256 go into a batch


@pytest.fixture
def given(tmp_path):
    folder = tmp_path / "in"
    folder.mkdir()
    return folder


@pytest.fixture
def out(tmp_path):
    return tmp_path / "out"


class Clock:
    def __init__(self):
        self.now = 0.0

    def __call__(self):
        return self.now


def lines(n):
    return "".join(json.dumps({"text": f"{i} {TEXT}"}) + "\n" for i in range(n)).encode()


def run(given, out, **options):
    """Mask a folder; return the size of its files and every step that was told."""
    jobs, _ = plan_jobs([given], PlanSettings(out=out))
    steps = []
    settings = RunSettings(
        fingerprint="same", on_advance=lambda amount, was_done: steps.append((amount, was_done)), **options
    )
    masker = CaseMasker(mask_capitals(), CaseSettings(today=date(2026, 1, 1)))
    run_jobs(jobs, Journal(out, "same"), masker, settings)
    return sum(job.n_bytes for job in jobs), steps


def write_lines(path):
    path.write_bytes(lines(N_RECORDS))


def write_packed(path):
    chance = random.Random(7)  # what repeats would fit into one buffer
    rows = (json.dumps({"text": f"{TEXT} {chance.randbytes(300).hex()}"}) for _ in range(N_RECORDS))
    path.with_suffix(".jsonl.gz").write_bytes(gzip.compress("\n".join(rows).encode()))


def write_csv(path):
    rows = "".join(f'{i},"{TEXT}"\n' for i in range(N_RECORDS))
    path.with_suffix(".csv").write_text(f"id,text\n{rows}")


def write_parquet(path):
    pq.write_table(
        pa.table({"text": [f"{i} {TEXT}" for i in range(N_RECORDS)]}), path.with_suffix(".parquet")
    )


@pytest.mark.parametrize("write", [write_lines, write_packed, write_csv, write_parquet])
@pytest.mark.parametrize("n_at_once", [1, 3])
def test_one_big_file_advances_in_several_steps_to_its_size(given, out, write, n_at_once):
    write(given / "a.jsonl")
    total, steps = run(given, out, n_at_once=n_at_once)
    amounts = [amount for amount, was_done in steps if not was_done]
    assert sum(amounts) == total
    assert len(amounts) > 3
    assert max(amounts) < 0.6 * total


def test_every_file_counts_with_its_size_also_if_it_fails(given, out):
    for i in range(5):
        (given / f"note{i}.txt").write_text(TEXT)
    (given / "bad.txt").write_bytes(b"\x00\xff")
    (given / "bad.csv").write_text("no,such\n1,2\n")
    (given / "empty.jsonl").write_text("")
    (given / "good.jsonl").write_bytes(lines(3))
    total, steps = run(given, out)
    assert sum(amount for amount, _ in steps) == total


def test_what_an_earlier_run_did_is_told_apart(given, out):
    (given / "a.txt").write_text(TEXT)
    (given / "b.jsonl").write_bytes(lines(3))
    run(given, out)
    (given / "c.txt").write_text(TEXT)
    total, steps = run(given, out, resume=True)
    size = len(TEXT.encode())
    assert sum(amount for amount, was_done in steps if not was_done) == size
    assert sum(amount for amount, was_done in steps if was_done) == total - size


def test_a_file_that_is_continued_begins_where_it_was_stopped(given, out):
    (given / "a.jsonl").write_bytes(lines(N_RECORDS))

    class Stops(FakeMasker):
        def mask_many(self, docs):
            if len(self.batch_sizes) == 3:
                raise KeyboardInterrupt
            return super().mask_many(docs)

    jobs, _ = plan_jobs([given], PlanSettings(out=out))
    with pytest.raises(KeyboardInterrupt):
        run_jobs(
            jobs,
            Journal(out, "same"),
            CaseMasker(Stops(str.islower), CaseSettings(today=date(2026, 1, 1))),
            RunSettings(fingerprint="same"),
        )
    total, steps = run(given, out, resume=True)
    before = sum(amount for amount, was_done in steps if was_done)
    assert 0.1 * total < before < 0.9 * total
    assert sum(amount for amount, _ in steps) == total


def test_the_time_left_is_at_the_pace_of_this_run_alone():
    clock = Clock()
    progress = RunProgress(1000, clock)
    assert progress.estimate_seconds_left() is None
    progress.advance(500, True)
    clock.now = 10.0
    assert progress.estimate_seconds_left() is None
    progress.advance(100, False)
    assert progress.share == 0.6
    assert progress.estimate_seconds_left() == pytest.approx(40.0)
    progress.advance(400, False)
    assert (progress.share, progress.estimate_seconds_left()) == (1.0, 0.0)


def test_a_total_that_is_unknown_gives_neither_share_nor_time():
    progress = RunProgress()
    progress.add(3, 100)
    progress.advance(100, False)
    assert (progress.n_documents, progress.share, progress.estimate_seconds_left()) == (3, None, None)
