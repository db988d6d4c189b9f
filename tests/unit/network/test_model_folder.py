"""A model folder is written whole or not at all, and checked before it is used."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from inverse_deid.core.errors import ModelError, OutputError
from inverse_deid.core.packaged import MODEL_SHA256, packaged_path
from inverse_deid.core.seals import seal
from inverse_deid.core.thresholds import Thresholds
from inverse_deid.network import folder as model_folder
from inverse_deid.network.config import NetworkConfig
from inverse_deid.network.encoding import quantise
from inverse_deid.network.folder import (
    ModelParts,
    model_fingerprint,
    read_manifest,
    read_model,
    refuse_other_folder,
    write_model,
)

ROOT = Path(__file__).parents[3]
POINTS = {name: Thresholds(0.5, 0.9, 0.5) for name in ("strict", "balanced", "lenient")}


def parts(mark=b"first", points=POINTS):
    rng = np.random.default_rng(1)
    return ModelParts(
        network=NetworkConfig(word_dim=4),
        feature_names=("one", "two"),
        word_vectors=quantise(["rash", "fever"], rng.normal(size=(2, 4)).astype(np.float32)),
        characters=mark,
        tokens=b"graph",
        weights={"layer/kernel": rng.normal(size=(300, 20)).astype(np.float32)},
        operating_points=points,
    )


@pytest.fixture
def older(tmp_path):
    write_model(parts(), tmp_path / "model")
    return tmp_path / "model"


def only(path):
    """The folder holds a whole model and stands alone."""
    assert [p.name for p in path.parent.iterdir()] == [path.name]
    return read_model(path).characters


def test_an_older_model_is_replaced(older):
    write_model(parts(b"second"), older)
    assert only(older) == b"second"


def full_disk(*_, **__):
    raise OSError(28, "No space left on device")


def half_written(path, *_, **__):
    Path(path).write_bytes(b"half")
    raise OSError(28, "No space left on device")


@pytest.mark.parametrize(
    ("place", "failure"),
    [
        ("inverse_deid.network.folder.np.savez_compressed", full_disk),
        ("inverse_deid.network.folder.np.savez_compressed", half_written),
        ("inverse_deid.core.files.tempfile.mkdtemp", full_disk),
        ("inverse_deid.network.folder.Path.write_text", full_disk),
        ("inverse_deid.network.folder.Path.write_bytes", full_disk),
        ("inverse_deid.network.folder.Path.chmod", full_disk),
        ("inverse_deid.network.folder.Path.rename", full_disk),
    ],
)
@pytest.mark.parametrize("is_there", [True, False])
def test_a_full_disk_leaves_the_older_model_or_none(tmp_path, monkeypatch, place, failure, is_there):
    target = tmp_path / "model"
    if is_there:
        write_model(parts(), target)
    monkeypatch.setattr(place, failure)
    with pytest.raises(
        OutputError, match=r"model cannot be written: no space left on the disk\. Free some space"
    ):
        write_model(parts(b"second"), target)
    monkeypatch.undo()
    assert [path.name for path in tmp_path.iterdir()] == (["model"] if is_there else [])
    if is_there:
        assert only(target) == b"first"


def test_if_the_new_folder_cannot_take_its_place_the_older_returns(older, monkeypatch):
    rename = Path.rename

    def no_staging(self, target):
        if Path(target) == older and not self.name.endswith("-older"):
            raise OSError(39, "Directory not empty")
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", no_staging)
    with pytest.raises(OutputError, match="model cannot be written: Directory not empty"):
        write_model(parts(b"second"), older)
    monkeypatch.undo()
    assert only(older) == b"first"


LIMITED = """
import resource, signal, sys
sys.dont_write_bytecode = True  # a truncated .pyc would stay behind
sys.path[:0] = sys.argv[3:]
from pathlib import Path
from test_model_folder import parts, write_model
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[2]),) * 2)
try:
    write_model(parts(b"second"), Path(sys.argv[1]))
except Exception as error:
    print(type(error).__name__, error)
"""


@pytest.mark.parametrize("limit", [0, 100, 5000, 20_000])
def test_the_system_refuses_to_write_more(older, limit):
    pytest.importorskip("resource")
    paths = [str(ROOT), str(Path(__file__).parent)]
    command = [sys.executable, "-c", LIMITED, str(older), str(limit), *paths]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120)
    assert done.stdout.startswith(f"OutputError {older} cannot be written: File too large. ")
    assert only(older) == b"first"


def test_what_is_no_model_folder_is_not_replaced(tmp_path):
    (tmp_path / "notes").mkdir()
    (tmp_path / "file").write_text("mine")
    for name in ("notes", "file"):
        with pytest.raises(ModelError, match=rf"{name}: exists and is not a model folder"):
            refuse_other_folder(tmp_path / name)
        with pytest.raises(ModelError, match="not a model folder"):
            write_model(parts(), tmp_path / name)


def altered_manifest(folder, **changed):
    """As somebody would write it who knows of the seal."""
    path = folder / "manifest.json"
    path.write_text(json.dumps(seal({**json.loads(path.read_text()), **changed})))


def test_the_manifest_knows_every_other_file(older):
    hashed = json.loads((older / "manifest.json").read_text())["sha256"]
    assert {*hashed, "manifest.json"} == {path.name for path in older.iterdir()}


@pytest.mark.parametrize(
    "change",
    [
        lambda found: found["operating_points"]["balanced"].update(low=0.0, high=0.0),
        lambda found: found["operating_points"].pop("strict"),
        lambda found: found["provenance"].update(seed=2),
        lambda found: found.update(more=1),
        lambda found: found.update(seal=""),
        lambda found: found.update(seal=None),
        lambda found: found.pop("seal"),
    ],
)
def test_an_edited_manifest_is_refused(older, change):
    path = older / "manifest.json"
    found = json.loads(path.read_text())
    change(found)
    path.write_text(json.dumps(found))
    with pytest.raises(ModelError, match=r"manifest\.json: damaged or altered. Install or train"):
        read_model(older)


@pytest.mark.parametrize("step", [9, pytest.param(1, marks=pytest.mark.slow)])
def test_no_flipped_bit_of_a_manifest_goes_unnoticed(older, monkeypatch, step):
    hashes = {older / name: model_folder.sha256_if_readable(older / name) for name in model_folder._FILES}
    monkeypatch.setattr(model_folder, "sha256_if_readable", hashes.get)  # these files stay as they are
    path = older / "manifest.json"
    whole = path.read_bytes()
    for i in range(0, 8 * len(whole), step):
        flipped = bytearray(whole)
        flipped[i // 8] ^= 1 << i % 8
        path.write_bytes(flipped)
        with pytest.raises(ModelError):
            read_manifest(older)


def test_the_packaged_model_is_the_one_that_the_code_names():
    """After a change on purpose: `python scripts/pin_packaged_data.py`."""
    assert model_fingerprint(packaged_path("model")) == MODEL_SHA256


def test_another_model_in_the_place_of_the_packaged_one_is_refused(older, monkeypatch):
    monkeypatch.setattr(model_folder, "packaged_path", lambda _: older)
    with pytest.raises(ModelError, match=r"not the one that this version was shipped with.*pin_packaged"):
        read_model(older)
    monkeypatch.setattr(model_folder, "MODEL_SHA256", model_fingerprint(older))
    read_model(older)


def test_a_model_of_the_first_format_is_refused_with_a_remedy(older):
    altered_manifest(older, format=1, thresholds={"low": 0.5, "high": 0.9})
    with pytest.raises(ModelError, match=r"model: not of model format 4. Train it with this version"):
        read_model(older)


@pytest.mark.parametrize(
    "points",
    [
        None,
        [],
        {"balanced": 0.5},
        {"balanced": {"low": 0.5}},
        {"balanced": {"low": 0.5, "high": 0.9}},
        {"balanced": {"low": "0.5", "high": "0.9", "density_slope": 0.0}},
        {"balanced": {"low": 0.9, "high": 0.5, "density_slope": 0.0}},
        {"balanced": {"low": 0.5, "high": 1.5, "density_slope": 0.0}},
        {"balanced": {"low": float("nan"), "high": 0.9, "density_slope": 0.0}},
        {"balanced": {"low": 0.5, "high": 0.9, "density_slope": -1.0}},
        {"balanced": {"low": 0.5, "high": 0.9, "density_slope": None}},
        {"balanced": {"low": 0.5, "high": 0.9, "density_slope": 0.0, "more": 1.0}},
    ],
)
def test_operating_points_that_are_none_are_refused(older, points):
    altered_manifest(older, operating_points=points)
    with pytest.raises(ModelError, match=r"manifest\.json: damaged or altered. Install or train"):
        read_model(older)


@pytest.mark.parametrize("name", model_folder._FILES)
def test_a_file_that_is_missing_or_half_is_named(older, name):
    data = (older / name).read_bytes()
    for left in (data[: len(data) // 2], None):
        if left is None:
            (older / name).unlink()
        else:
            (older / name).write_bytes(left)
        with pytest.raises(ModelError, match=f"{name}: altered or missing"):
            read_model(older)


def test_a_staging_folder_that_a_crash_left_is_no_model(older):
    staging = older.with_name(".model-abc")
    shutil.copytree(older, staging)
    (staging / "manifest.json").unlink()  # written last
    with pytest.raises(ModelError, match=r"no readable manifest\.json"):
        read_model(staging)
