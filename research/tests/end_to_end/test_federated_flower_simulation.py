"""A study whose sites train in Flower's simulation engine finds what it finds in one process."""

import gc
import json
import os
import tempfile
from pathlib import Path

import pytest

pytest.importorskip("tensorflow")
pytest.importorskip("flwr")
pytest.importorskip("ray")

from invented_corpora import words_of
from small_studies import change_study, write_study

SETTINGS = """
[methods.B]
way = "round-robin"
[network]
char_dim = 5
char_units = 4
token_units = 6
token_layers = 1
hidden_units = 5
feature_set = "casing"
post_space = false
targets = "binary"
dropout = 0.2
[training]
optimizer = "adam"
learning_rate = 0.1
batch_tokens = 256
"""

pytestmark = [pytest.mark.slow, pytest.mark.ray, pytest.mark.filterwarnings("ignore")]


@pytest.fixture(autouse=True)
def _swept():
    """Ray leaves files open; they are found here, where warnings are ignored."""
    yield
    gc.collect()


@pytest.fixture
def folder(tmp_path):
    write_study(tmp_path, SETTINGS)
    return tmp_path


@pytest.fixture
def logs(monkeypatch):
    """Where Ray writes what its processes say; its sockets ask for a short path."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as short:
        monkeypatch.setenv("RAY_TMPDIR", short)
        yield Path(short)


@pytest.fixture
def simulate(folder, logs, capfd):
    from inverse_deid.cli.main import main

    def run(out, *options):
        capfd.readouterr()
        config, where = str(folder / "study.toml"), str(folder / out)
        with pytest.raises(SystemExit) as stopped:
            main(["research", "federated", "simulate", "--config", config, "--out", where, *options])
        return int(stopped.value.code or 0), capfd.readouterr()

    return run


def found(folder, out):
    """What was measured, without times."""
    runs = json.loads((folder / out / "study.json").read_text())
    for run in runs:
        for timed in (run, *run["epochs"]):
            del timed["seconds"]
    return runs


def approximately(value):
    """Processes of one thread add numbers in another order than one of several threads."""
    if isinstance(value, dict):
        return {name: approximately(part) for name, part in value.items()}
    if isinstance(value, list):
        return [approximately(part) for part in value]
    return pytest.approx(value, abs=2e-3) if isinstance(value, float) else value


def is_running():
    import ray

    return ray.is_initialized()


def test_sites_in_processes_find_what_they_find_in_one(simulate, folder, logs):
    status, printed = simulate("direct")
    assert status == 0, printed.err
    status, printed = simulate("flower", "--engine", "flower", "--processes", "2")
    assert status == 0, printed.err
    assert not is_running()
    assert found(folder, "flower") == approximately(found(folder, "direct"))
    assert "processes: 2" in (folder / "flower" / "report.md").read_text()
    assert printed.err == ""
    assert os.environ["FLWR_TELEMETRY_ENABLED"] == os.environ["RAY_USAGE_STATS_ENABLED"] == "0"
    names = words_of(folder / "train.jsonl")
    files = [path.read_bytes() for path in logs.rglob("*.*") if path.is_file()]
    assert names
    assert files
    everything = b"".join(files) + printed.out.encode()
    assert not [name for name in names if name.encode() in everything]

    sessions = list(logs.rglob("session_2*"))
    status, printed = simulate("flower", "--engine", "flower")
    assert (status, "epoch" in printed.out) == (0, False)
    assert list(logs.rglob("session_2*")) == sessions  # nothing is left to train, Ray is not started


def test_what_goes_wrong_at_a_site_is_one_line(simulate, folder):
    change_study(folder, "learning_rate = 0.1", "learning_rate = 1e38")
    status, printed = simulate("out", "--engine", "flower", "--processes", "1", "--only", "FedAvg")
    assert status == 2
    assert printed.err.startswith("inverse-deid: site-")
    assert printed.err.endswith("is not a number. Lower training.learning_rate.\n")
    assert printed.err.count("\n") == 1
    assert not is_running()


def test_processes_without_the_engine_are_refused(simulate, folder):
    status, printed = simulate("out", "--processes", "2")
    assert (status, printed.out) == (2, "")
    assert "--engine flower" in printed.err
    assert not (folder / "out").exists()
