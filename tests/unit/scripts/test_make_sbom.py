"""The software bill of materials is made, valid, and the same each time."""

import json
import os
import shutil
import subprocess
import sys
import venv
from importlib.metadata import distribution, version
from pathlib import Path

import pytest

pytest.importorskip("cyclonedx_py", reason="no cyclonedx-bom; pip install '.[dev]'")
SCRIPT = Path(__file__).resolve().parents[3] / "scripts" / "make_sbom"


@pytest.fixture
def python(tmp_path):
    """The Python of an environment with one package, as that of the tests has hundreds."""
    venv.create(tmp_path / "venv", with_pip=False)
    (site,) = (tmp_path / "venv").glob("lib/python*/site-packages")
    facts = distribution("click")._path
    shutil.copytree(facts, site / facts.name)
    return tmp_path / "venv" / "bin" / "python"


@pytest.mark.slow
def test_the_list_of_packages_is_valid_and_can_be_made_again(python, tmp_path):
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    for name in ("a.json", "b.json"):
        command = [str(SCRIPT), str(tmp_path / name), str(python)]
        subprocess.run(command, check=True, env={**os.environ, "PATH": path}, capture_output=True)
    assert (tmp_path / "a.json").read_bytes() == (tmp_path / "b.json").read_bytes()
    made = json.loads((tmp_path / "a.json").read_text())
    assert made["bomFormat"] == "CycloneDX"
    assert made["metadata"]["component"]["name"] == "inverse-deid"
    assert [(one["name"], one["version"]) for one in made["components"]] == [("click", version("click"))]
