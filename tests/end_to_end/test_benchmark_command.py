"""`scripts/benchmark` as a command, with the real model and as little work as possible."""

import json
import os
import re
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TINY = (
    *("--repeats", "1", "--invented", "20", "--documents", "30", "--few", "8"),
    *("--requests", "40", "--clients", "4"),
    *("--max-documents", "40", "--lengths", "10,200", "--tokens-a-length", "400"),
)


def benchmark(out, only, *more):
    command = [sys.executable, ROOT / "scripts" / "benchmark", "--out", out, "--only", only, *TINY, *more]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=600)
    assert "Traceback" not in done.stderr
    return done, json.loads((out / "benchmark.json").read_text())["parts"]


def only_run(part, at=""):
    (point,) = [point for point in part["points"] if point["at"] == at]
    (run,) = point["runs"]
    assert run["tokens_a_second"] > 0
    assert run["peak_memory_mb"] > 20
    assert run["all_processes_mb"] > 20
    assert len(run["before"]["load_average"]) == 3
    return run


@pytest.mark.slow
def test_files_are_masked_by_one_process_and_by_workers(tmp_path):
    done, parts = benchmark(tmp_path, "serial,workers")
    assert done.returncode == 0, done.stderr
    serial, workers = only_run(parts["serial"]), only_run(parts["workers"])
    assert serial["documents"] == workers["documents"] == 30
    assert serial["tokens"] == workers["tokens"] == parts["serial"]["documents"]["documents"]["tokens"]
    assert 0 < serial["seconds_to_first_output"] <= serial["seconds"]
    assert serial["cpu_seconds"] > 0
    report = (tmp_path / "report.md").read_text()
    assert re.search(r"\| `mask --fast --workers 2` \| [\d,]+ ", report)
    assert "`mask --fast --engine ray`: not measured" in report


@pytest.mark.slow
def test_a_part_that_is_measured_later_joins_the_others(tmp_path):
    benchmark(tmp_path, "warm")
    done, parts = benchmark(tmp_path, "onnx,presidio")
    assert done.returncode == 1, done.stderr
    assert parts["presidio"]["missing"] == "no --peers-python given"
    for part in (parts["warm"], parts["onnx"]):
        assert {only_run(part, cores)["documents"] for cores in ("one", "all")} == {8}
    assert only_run(parts["warm"], "one")["tokens"] == only_run(parts["onnx"], "all")["tokens"]
    assert only_run(parts["warm"], "one")["ms_a_short_narrative"] > 0
    report = (tmp_path / "report.md").read_text()
    assert "Presidio, small spaCy model, one core: not measured (no --peers-python given)" in report


@pytest.mark.slow
def test_the_service_is_asked_by_many_clients(tmp_path):
    done, parts = benchmark(tmp_path, "service")
    assert done.returncode == 0, done.stderr
    short, documents = (only_run(parts["service"], at) for at in ("short narratives", "documents"))
    assert (short["requests"], documents["requests"]) == (40, 30)
    assert short["n_errors"] == documents["n_errors"] == 0
    assert documents["tokens"] == parts["service"]["documents"]["documents"]["tokens"]


@pytest.mark.slow
def test_growth_of_the_documents_of_a_file(tmp_path):
    file = tmp_path / "mine.jsonl"
    text = (
        "Ms. Okonkwo had a rash two hours after the second dose of 12-OCT-2019 and took 10 mg of cetirizine."
    )
    file.write_text("".join(json.dumps({"id": i, "text": text}) + "\n" for i in range(10)))
    done, parts = benchmark(tmp_path / "out", "documents,lengths", "--file", str(file))
    assert done.returncode == 0, done.stderr
    assert [point["at"] for point in parts["documents"]["points"]] == ["start", 40]
    lengths = {point["at"]: point["runs"][0] for point in parts["lengths"]["points"]}
    assert {at: (run["documents"], run["tokens"]) for at, run in lengths.items() if at != "start"} == {
        10: (40, 400),
        200: (2, 400),
    }
    ElementTree.parse(tmp_path / "out" / "growth.svg")
    report = (tmp_path / "out" / "report.md").read_text()
    assert "Exponent by least squares" in report
    assert "documents of mine.jsonl (sha256 " in report
    assert "Okonkwo" not in report + (tmp_path / "out" / "benchmark.json").read_text()


@pytest.mark.slow
def test_the_network_alone_in_keras(tmp_path):
    pytest.importorskip("tensorflow")
    done, parts = benchmark(tmp_path, "keras")
    assert done.returncode == 0, done.stderr
    assert only_run(parts["keras"], "one")["tokens"] == only_run(parts["keras"], "all")["tokens"] > 0


@pytest.mark.slow
@pytest.mark.ray
def test_files_are_masked_on_a_cluster(tmp_path):
    pytest.importorskip("ray")
    done, parts = benchmark(tmp_path, "ray")
    assert done.returncode == 0, done.stderr
    run = only_run(parts["ray"])
    assert run["documents"] == 30
    assert 0 < run["seconds_to_first_output"] <= run["seconds"]
