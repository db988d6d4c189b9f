"""`inverse-deid mask --workers N`: the same output for every N, whatever happens to a worker."""

import gzip
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pandas as pd
import psutil
import pytest
from excel_files import workbook_of
from fake_maskers import BROKEN_STAGE, CANARY
from icsr_messages import invent
from pdf_files import of_text as pdf_of
from rtf_files import of_text as rtf_of
from word_files import paragraph, simple, zipped

from inverse_deid.engine.jobs.journal import JOURNAL_NAME

HERE = Path(__file__).parent


def start(*args, stdin=subprocess.DEVNULL, **variables: str) -> subprocess.Popen:
    path = os.pathsep.join([str(HERE.parent), str(HERE.parent.parent), os.environ.get("PYTHONPATH", "")])
    environment = {**os.environ, "PYTHONPATH": path, **variables}
    command = [sys.executable, str(HERE / "slow_command.py"), "mask", *map(str, args)]
    return subprocess.Popen(
        command, env=environment, stdin=stdin, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )


def finish(process: subprocess.Popen) -> tuple[int, str, bytes]:
    stdout, stderr = process.communicate(timeout=600)
    return process.returncode, stderr.decode(), stdout


def wait_for(condition, process: subprocess.Popen | None = None) -> None:
    until = time.monotonic() + 300
    while not condition():
        if process is not None:
            assert process.poll() is None, process.stderr.read().decode()
        assert time.monotonic() < until, "nothing happened for 5 minutes"
        time.sleep(0.01)


def contents(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


def workers_of(process: subprocess.Popen) -> list[psutil.Process]:
    found = psutil.Process(process.pid).children(recursive=True)
    return [child for child in found if "spawn_main" in " ".join(child.cmdline())]


def write_all_formats(folder: Path) -> Path:
    """Every format, with records and files that cannot be read and a document that fails."""
    folder.mkdir()
    texts = [f"case {i}: Ms. {CANARY} had a rash; é 𝔘 \u200b on day {i}. " * 12 for i in range(600)]
    lines = [json.dumps({"id": i, "text": text}) for i, text in enumerate(texts)]
    lines[300], lines[500] = CANARY, json.dumps({"text": f"{BROKEN_STAGE} {CANARY}"})
    (folder / "long.jsonl").write_text("\n".join(lines))
    (folder / "short.jsonl").write_text("\n".join(lines[298:310]))
    (folder / "cut.jsonl.gz").write_bytes(gzip.compress("\n".join(lines).encode())[:-20])
    rows = "".join(f'{i},"{text}\r\n{i}"\r\n' for i, text in enumerate(texts))
    (folder / "table.csv").write_bytes(f"n,text\r\n{rows}".encode())
    pd.DataFrame({"n": range(600), "text": texts}).to_parquet(folder / "table.parquet")
    for i in range(60):
        (folder / f"note{i:03}.txt").write_text(f"{texts[i]} {BROKEN_STAGE if i == 40 else ''}")
    (folder / "note050.txt").write_bytes(b"\xff")
    (folder / "toy.xml").write_text(f"<deIdi2b2><TEXT><![CDATA[{CANARY} was well]]></TEXT></deIdi2b2>")
    (folder / "long.xlsx").write_bytes(workbook_of(["text"], *([text] for text in texts)))
    (folder / "page.html").write_text(f"<p title='{CANARY}'>seen by Zebu<b>lonova</b></p>")
    (folder / "letter.rtf").write_bytes(rtf_of(f"seen by {CANARY}"))
    (folder / "letter.docx").write_bytes(zipped(simple(paragraph("seen by ", CANARY[:3], CANARY[3:]))))
    (folder / "letter.pdf").write_bytes(pdf_of(f"seen by {CANARY}"))
    given = {"H.1": f"Dr {CANARY} came.", "C.2.r.1.4": CANARY}
    (folder / "batch.xml").write_bytes(invent("r2", 30, given=given).data)
    for i, dialect in enumerate(["r3", "r2", "r3"]):
        (folder / f"case{i}.xml").write_bytes(invent(dialect, 1, seed=i, given=given).data)
    return folder


def without_journal(files):
    """The journal of a run with failures is sealed anew each time."""
    return {name: data for name, data in files.items() if name != JOURNAL_NAME}


@pytest.mark.slow
def test_the_output_does_not_depend_on_the_number_of_workers(tmp_path):
    given = write_all_formats(tmp_path / "in")
    key = tmp_path / "key"
    key.write_bytes(bytes(range(32)))
    results = {}
    for n in (1, 3):
        report = tmp_path / f"{n}.json"
        out = tmp_path / str(n)
        options = ("--explain", "--key", key, "--dates", "relative-day", "--run-report", report)
        status, said, _ = finish(start(given, "--out", out, "--workers", n, *options))
        assert status == 1, said
        lines = said.replace(str(out), "OUT").splitlines()
        without_time = [line for line in lines if not line.startswith("time")]
        results[n] = (without_time, without_journal(contents(out)), report.read_bytes())
    assert results[1] == results[3]
    said, written, _ = results[1]
    assert len([name for name in written if not name.startswith(".")]) == 2 * (59 + 4 + 1 + 4 + 5)
    assert not any(CANARY.encode() in data for data in written.values())
    assert any("cut.jsonl.gz" in line for line in said)
    assert any("long.jsonl line 301" in line for line in said)
    assert any("long.jsonl line 501" in line and "masked completely" in line for line in said)


@pytest.mark.slow
def test_standard_input_up_to_where_it_breaks_off(tmp_path):
    rows = [f'{i},"Ms. {CANARY} had a rash. {"well " * 20}"\r\n' for i in range(600)]
    table = tmp_path / "a.csv"
    table.write_text("n,text\r\n" + "".join(rows) + '600,"never closed')
    results = []
    for n in (1, 2):
        with table.open("rb") as stdin:
            status, said, written = finish(start("-", "--format", "csv", "--workers", n, stdin=stdin))
        without_time = [line for line in said.splitlines() if not line.startswith("time")]
        results.append((status, without_time, written))
    assert results[0] == results[1]
    assert results[0][0] == 1
    assert results[0][2].count(b"\r\n") > 100
    assert CANARY not in str(results)


def write_lines(path: Path, n: int = 800, extra: dict[int, str] | None = None) -> Path:
    texts = [f"case {i}: Ms. {CANARY} had a rash after the dose. " * 12 for i in range(n)]
    for i, text in (extra or {}).items():
        texts[i] = text
    path.write_text("\n".join(json.dumps({"text": text}) for text in texts))
    return path


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A file of `write_lines`, and the output of one process that nothing stops."""
    folder = tmp_path_factory.mktemp("whole")
    given = write_lines(folder / "a.jsonl")
    assert finish(start(given, "--out", folder / "out"))[0] == 0
    return given, contents(folder / "out")


@pytest.mark.slow
def test_a_worker_that_is_killed_costs_nothing(tmp_path, whole):
    given, expected = whole
    process = start(given, "--out", tmp_path / "out", "--workers", 2, SECONDS_A_BATCH="0.8")
    wait_for((tmp_path / "out" / ".a.jsonl.progress.json").exists, process)
    workers_of(process)[0].send_signal(signal.SIGKILL)
    status, said, _ = finish(process)
    assert status == 0, said
    assert "problem" not in said
    assert contents(tmp_path / "out") == expected


@pytest.mark.slow
def test_a_poison_document_is_masked_completely_and_listed(tmp_path):
    from worker_maskers import KILLS

    given = write_lines(tmp_path / "a.jsonl", 300, {7: f"{KILLS} {CANARY} fell ill"})
    process = start(given, "--out", tmp_path / "out", "--workers", 2, FAILING_FOLDER=str(tmp_path))
    status, said, _ = finish(process)
    assert status == 1
    assert f"{given} line 8: could not be analysed and was masked completely" in said
    assert "1 problem is listed above" in said
    assert CANARY not in said
    lines = (tmp_path / "out" / "a.jsonl").read_text().splitlines()
    assert (len(lines), json.loads(lines[7])["text"]) == (300, "PHI")


@pytest.mark.parametrize(
    "stop",
    [signal.SIGINT, *(pytest.param(one, marks=pytest.mark.slow) for one in (signal.SIGKILL, signal.SIGTERM))],
)
def test_a_stopped_run_leaves_no_process_and_is_continued(tmp_path, whole, stop):
    given, expected = whole
    out = tmp_path / "out"
    process = start(given, "--out", out, "--workers", 2, SECONDS_A_BATCH="1.5")
    wait_for((out / ".a.jsonl.progress.json").exists, process)
    workers = workers_of(process)
    assert len(workers) == 2
    process.send_signal(stop)
    status, said, _ = finish(process)
    assert status == (130 if stop == signal.SIGINT else -stop)
    wait_for(lambda: not any(worker.is_running() for worker in workers))
    assert "Traceback" not in said
    assert not (out / "a.jsonl").exists()
    assert not any(CANARY.encode() in data for data in contents(out).values())

    # Resumed with another number of workers.
    status, said, _ = finish(start(given, "--out", out, "--workers", 1, "--resume"))
    assert status == 0, said
    assert contents(out) == expected


@pytest.mark.slow
def test_the_keyboard_reaches_the_command_and_not_its_workers(tmp_path):
    given = write_lines(tmp_path / "a.jsonl")
    process = start(given, "--out", tmp_path / "out", "--workers", 2, SECONDS_A_BATCH="1.5")
    wait_for((tmp_path / "out" / ".a.jsonl.progress.json").exists, process)
    workers = workers_of(process)
    for one in [*workers, psutil.Process(process.pid)]:  # as a terminal does
        one.send_signal(signal.SIGINT)
    status, said, _ = finish(process)
    assert status == 130
    assert said.splitlines() == ["inverse-deid: stopped. Run the same command with --resume to continue"]
    wait_for(lambda: not any(worker.is_running() for worker in workers))


def test_memory_does_not_grow_with_the_documents(tmp_path):
    """Batches wait for a slow worker, not in memory: little more is read than is written."""
    given = tmp_path / "a.jsonl"
    line = json.dumps({"text": "well " * 4000}) + "\n"
    given.write_text(line * 3000)
    process = start(given, "--out", tmp_path / "out", "--workers", 2, SECONDS_A_BATCH="0.4")
    wait_for((tmp_path / "out" / ".a.jsonl.progress.json").exists, process)
    time.sleep(1)
    used = psutil.Process(process.pid).memory_full_info().uss
    process.kill()
    finish(process)
    assert used < 120 * 2**20  # the file alone has 60 MB of text, and 500 MB of tokens
