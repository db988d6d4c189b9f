"""How the benchmark runs parts, in processes of their own, and keeps what they give."""

import json
import os
import sys
from pathlib import Path

import pytest
from benchmarks import processes, results
from benchmarks.command import main
from benchmarks.material import Material, Wanted
from benchmarks.part import Part, Point, Settings
from benchmarks.parts import PARTS
from benchmarks.processes import PartError, measured
from benchmarks.results import measure_part, median, read_results
from benchmarks.warm import peer, peers_missing
from fake_maskers import CANARY

from inverse_deid.core.errors import FormatError

HOLDER = "import time; held = bytearray(100 * 2**20); time.sleep(1.5)"
PARENT = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {HOLDER!r}]); print('{{}}')"


@pytest.fixture(autouse=True)
def _quick(monkeypatch):
    monkeypatch.setattr(results, "disturbance", lambda: {"load_average": [0.0], "busy_cores": 0.0})


@pytest.fixture
def material(tmp_path):
    file = tmp_path / "given.jsonl"
    file.write_text("".join(json.dumps({"text": f"Ms. {CANARY} had a rash."}) + "\n" for _ in range(20)))
    folder = tmp_path / "material"
    folder.mkdir()
    return Material(Wanted(files=(file,), n_documents=10, n_few=4), folder)


@pytest.mark.parametrize("with_root", [True, False])
def test_memory_is_that_of_all_processes_below(with_root):
    found = measured([sys.executable, "-c", PARENT], with_root=with_root)
    assert 100 <= found["all_processes_mb"] < 200


def test_figures_may_follow_other_output():
    program = "print('{ not this }'); print('{\"a\": {\\n \"b\": 1}}')"
    assert measured([sys.executable, "-c", program])["a"] == {"b": 1}


@pytest.mark.parametrize("program", [f"raise SystemExit('{CANARY}')", f"print('{CANARY}')"])
def test_a_program_that_fails_is_named_without_its_output(program, tmp_path):
    script = tmp_path / "program.py"
    script.write_text(program)
    with pytest.raises(PartError, match=r"program\.py") as failed:
        measured([sys.executable, script])
    assert CANARY not in str(failed.value)
    assert str(tmp_path) not in str(failed.value)


def test_no_token_of_the_service_is_passed_on(monkeypatch):
    monkeypatch.setenv("INVERSE_DEID_TOKEN", "not-a-secret-0123456789")
    assert "INVERSE_DEID_TOKEN" not in processes.environment()


def test_the_median_of_every_number_is_kept():
    runs = [{"before": {}, "s": s, "none": None, "versions": {"a": "1"}} for s in (3.0, 1.0, 9.0)]
    assert median(runs) == {"s": 3.0, "none": None, "versions": {"a": "1"}}


def test_every_point_is_measured_as_often_as_asked(material):
    seen = []
    points = [Point(at, lambda at=at: seen.append(at) or {"s": len(seen)}) for at in (1, 2)]
    part = Part("x", lambda settings, given: points)
    *_, found = measure_part(part, Settings(repeats=3), material)
    assert seen == [1, 1, 1, 2, 2, 2]
    assert [[run["s"] for run in point["runs"]] for point in found["points"]] == [[1, 2, 3], [4, 5, 6]]


def test_a_point_that_fails_ends_the_part_and_keeps_what_was_measured(material):
    def fail():
        raise PartError("too little memory")

    part = Part("x", lambda settings, given: [Point(1, lambda: {"s": 1}), Point(2, fail), Point(3, fail)])
    *_, found = measure_part(part, Settings(repeats=1), material)
    assert found["missing"] == "too little memory"
    assert [point["at"] for point in found["points"]] == [1]


def test_results_that_are_none_are_refused(tmp_path):
    file = tmp_path / "benchmark.json"
    assert read_results(file) == {"parts": {}}
    for content in ("[1]", "{", '{"parts": 1}'):
        file.write_text(content)
        with pytest.raises(FormatError, match="no results of a benchmark"):
            read_results(file)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--only", "serial,bogus"], "no part bogus. There are serial, default, workers"),
        (["--only", ","], "no part given"),
        (["--file", "none.jsonl", "--only", "serial"], "none.jsonl: cannot be read"),
        (["--report-only"], "has no results. Measure first"),
    ],
)
def test_bad_input_costs_one_line_and_nothing_is_written(arguments, message, tmp_path, capsys):
    assert main([*arguments, "--out", str(tmp_path / "out")]) == 2
    assert message in capsys.readouterr().err.splitlines()[-1]
    assert not (tmp_path / "out").exists()


def test_without_a_python_for_the_peers_they_are_missing(material):
    for name in ("presidio", "scrubadub", "datafog"):
        (found,) = measure_part(PARTS[name], Settings(), material)
        assert found["missing"] == peers_missing(Settings()) == "no --peers-python given"


def stub_python(folder: Path, **modules: str) -> Path:
    """A Python in which these modules are the only ones beside the standard library."""
    for name, source in modules.items():
        (folder / f"{name}.py").write_text(source)
        info = folder / f"{name}-1.2.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.2\n")
    python = folder / "python"
    python.write_text(f'#!/bin/sh\nPYTHONPATH="{folder}" exec "{sys.executable}" -S "$@"\n')
    python.chmod(0o755)
    return python


SCRUBBER = f"""
class Scrubber:
    def clean(self, text):
        print(text)
        if text.startswith("fail"):
            raise ValueError(text)
        return text.replace("{CANARY}", "X")
"""


@pytest.mark.skipif(os.name == "nt", reason="a shell script")
def test_a_peer_masks_our_documents_in_its_own_python(material, tmp_path):
    python = stub_python(tmp_path, scrubadub=SCRUBBER)
    (point,) = peer("scrubadub")(Settings(peers_python=python), material)
    figures = point.run()
    assert (figures["documents"], figures["documents_changed"], figures["failures"]) == (4, 4, 0)
    assert figures["tokens"] == 4 * 5
    assert figures["versions"] == {"scrubadub": "1.2"}
    assert 0 < figures["seconds"] < 60
    assert CANARY not in json.dumps(figures)


@pytest.mark.skipif(os.name == "nt", reason="a shell script")
@pytest.mark.parametrize(
    ("modules", "why"),
    [
        ({}, "datafog is not installed"),
        ({"datafog": f"raise OSError('{CANARY}')"}, "datafog cannot start (OSError)"),
    ],
)
def test_a_peer_that_is_not_there_is_missing(material, tmp_path, modules, why):
    settings = Settings(peers_python=stub_python(tmp_path, **modules), repeats=1)
    *_, found = measure_part(PARTS["datafog"], settings, material)
    assert found["points"] == []
    assert found["missing"] == why


def test_a_python_that_is_not_there_is_told(material, tmp_path):
    settings = Settings(peers_python=tmp_path / "none", repeats=1)
    *_, found = measure_part(PARTS["datafog"], settings, material)
    assert "cannot be run" in found["missing"]
