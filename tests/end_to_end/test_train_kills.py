"""A training that is killed resumes, and ends with the bits of one that was not."""

import os
import signal
import subprocess
import sys
import time

import gold_files
import numpy as np
import pytest

pytest.importorskip("tensorflow")

pytestmark = pytest.mark.slow

CONFIG = (
    gold_files.TINY_CONFIG.replace("epochs = 2", "epochs = 8") + 'seed = 3\n[data]\ngold = ["gold.jsonl"]\n'
)
MANY = "from inverse_deid.cli.main import main; main()"


def start(folder, out, *more):
    command = [sys.executable, "-c", MANY, "train", "--config", folder / "own.toml", "--out", out, *more]
    return subprocess.Popen(
        list(map(str, command)), start_new_session=True, stdout=subprocess.PIPE, text=True
    )


def weights(model):
    with np.load(model / "weights.npz") as arrays:
        return dict(arrays)


def test_a_killed_training_resumes_with_the_same_bits(tmp_path):
    gold_files.write_json_lines(tmp_path / "gold.jsonl", gold_files.invented_documents(40, seed=1))
    (tmp_path / "own.toml").write_text(CONFIG, encoding="utf-8")
    whole = start(tmp_path, tmp_path / "whole")
    assert "epoch 8/8" in whole.communicate(timeout=600)[0]
    killed = start(tmp_path, tmp_path / "killed")
    log = tmp_path / "killed.training" / "log.csv"
    deadline = time.monotonic() + 600
    while not (log.exists() and len(log.read_text().splitlines()) >= 3):  # two epochs are complete
        assert time.monotonic() < deadline
        assert killed.poll() is None, "it ended before it was killed"
        time.sleep(0.02)
    os.killpg(killed.pid, signal.SIGKILL)
    killed.communicate()
    assert not (tmp_path / "killed").exists()
    resumed = start(tmp_path, tmp_path / "killed", "--resume")
    said = resumed.communicate(timeout=600)[0]
    assert "resuming after epoch" in said
    assert "epoch 8/8" in said
    expected, found = weights(tmp_path / "whole"), weights(tmp_path / "killed")
    assert expected.keys() == found.keys()
    assert all(np.array_equal(found[name], expected[name]) for name in expected)
