"""A disk that fills up while `inverse-deid train` writes: the older model stays, and the run can go on."""

import os
import subprocess
import sys
from pathlib import Path

import gold_files
import pytest

pytest.importorskip("tensorflow")
pytest.importorskip("resource")

from inverse_deid.network.folder import read_model

ROOT = Path(__file__).parents[2]
LIMITED = """
import resource, signal, sys
sys.dont_write_bytecode = True  # a truncated .pyc would stay behind, and every later import of it would fail
if int(sys.argv[1]):
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[1]),) * 2)
from inverse_deid.cli.main import main
if __name__ == "__main__":
    main(sys.argv[2:])
"""
KB = 1000


@pytest.fixture(scope="module")
def script(tmp_path_factory):
    path = tmp_path_factory.mktemp("limited") / "limited.py"
    path.write_text(LIMITED)
    return path


def train(script, limit, *arguments):
    command = [sys.executable, str(script), str(limit), "train", *map(str, arguments)]
    path = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
    env = {**os.environ, "PYTHONPATH": path, "TF_CPP_MIN_LOG_LEVEL": "3"}
    done = subprocess.run(command, check=False, env=env, capture_output=True, text=True, timeout=600)
    complaints = [line for line in done.stderr.splitlines() if line.startswith("inverse-deid: ")]
    return done.returncode, done.stdout, complaints


@pytest.mark.slow
def test_no_space_for_the_checkpoint_then_none_for_the_model_then_enough(tmp_path, script):
    gold_files.write_json_lines(tmp_path / "gold.jsonl", gold_files.invented_documents(40, seed=1))
    (tmp_path / "own.toml").write_text('[data]\ngold = ["gold.jsonl"]\n' + gold_files.TINY_CONFIG)
    out = tmp_path / "out"
    arguments = ("--config", tmp_path / "own.toml", "--out", out / "model", "--resume")

    status, said, complaints = train(script, 100 * KB, *arguments)
    assert (status, len(complaints)) == (2, 1), complaints
    assert "model.training/checkpoint.npz: cannot be written (File too large). Make room" in complaints[0]
    assert sorted(path.name for path in out.iterdir()) == ["model.training"]
    assert "epoch 1/2" not in said

    status, said, complaints = train(script, 1500 * KB, *arguments)  # the word vectors are larger
    assert (status, len(complaints)) == (2, 1), complaints
    assert "model cannot be written: File too large" in complaints[0]
    assert sorted(path.name for path in out.iterdir()) == ["model.training"]
    assert "epoch 2/2" in said

    status, said, complaints = train(script, 0, *arguments)
    assert (status, complaints) == (0, [])
    assert "tokens/s" not in said  # all epochs were done: nothing is trained again
    model = read_model(out / "model")

    status, _, _ = train(script, 1500 * KB, *arguments)
    assert status == 2
    assert sorted(path.name for path in out.iterdir()) == ["model", "model.training"]
    assert read_model(out / "model").provenance == model.provenance
