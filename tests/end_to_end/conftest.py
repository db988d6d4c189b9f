"""Folders that the tests of the command share."""

from pathlib import Path

import pytest


@pytest.fixture
def given(tmp_path: Path) -> Path:
    folder = tmp_path / "in"
    folder.mkdir()
    return folder


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / "out"
