"""Keras is imported late, on the device that was asked for, and without noise."""

import subprocess
import sys

import gold_files
import pytest

pytest.importorskip("tensorflow")

from inverse_deid.core.errors import ConfigurationError
from inverse_deid.training import backend

REFUSED = """
import sys
from inverse_deid.cli.main import main
try:
    main(sys.argv[1:], standalone_mode=False)
except BaseException as error:
    print(type(error).__name__, error)
print(sorted({"tensorflow", "keras"} & set(sys.modules)))
"""


def python(code, *arguments):
    command = [sys.executable, "-c", code, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=300, check=True)


@pytest.mark.parametrize(
    ("gold", "options", "complaint"),
    [
        ("none.jsonl", [], "none.jsonl: does not exist"),
        ("mine.jsonl", ["--freeze", "letters"], "cannot freeze letters"),
        ("mine.jsonl", ["--model", "nothing"], "nothing: no readable manifest.json"),
    ],
)
def test_what_is_given_is_checked_before_keras_is_imported(tmp_path, gold, options, complaint):
    gold_files.write_json_lines(tmp_path / "mine.jsonl", gold_files.invented_documents(20, seed=1))
    given = ["fine-tune", "--gold", tmp_path / gold, "--out", tmp_path / "model", *options]
    done = python(REFUSED, *given)
    *said, imported = done.stdout.splitlines()
    assert complaint in "".join(said) + done.stderr
    assert imported == "[]"


@pytest.mark.slow
@pytest.mark.parametrize("device", ["auto", "cpu"])
def test_nothing_is_written_to_standard_error(device):
    code = (
        "from inverse_deid.training.backend import prepare_backend\n"
        f"print(prepare_backend({device!r}))\n"
        "import keras\n"
        "print(float(keras.ops.sum(keras.ops.ones((2, 3)))))"
    )
    done = python(code)
    said, result = done.stdout.splitlines()
    assert done.stderr == ""
    assert said.startswith("training on ")
    assert result == "6.0"


@pytest.mark.slow
def test_a_gpu_that_is_not_there_is_one_line():
    if backend._find_gpus():
        pytest.skip("there is a GPU")
    with pytest.raises(ConfigurationError, match=r"device cuda: tensorflow finds no NVIDIA GPU\. Install"):
        backend.prepare_backend("cuda")
    assert backend.prepare_backend("auto") == "training on the CPU (no GPU was found)"


def test_a_missing_backend_is_named(monkeypatch):
    monkeypatch.setenv("KERAS_BACKEND", "no_such_backend")
    with pytest.raises(
        ConfigurationError, match=r"training needs the package no_such_backend: .*\.\[train\]"
    ):
        backend.check_packages()


def test_python_may_still_write_after_the_silence(capfd):
    with backend._silence():
        sys.stderr.write("hidden")
        sys.stderr.flush()
    sys.stderr.write("shown")
    assert "shown" in capfd.readouterr().err
