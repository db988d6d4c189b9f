"""Folders that the tests of the command share, and the browser of the tests of pages."""

import os
import shutil
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


@pytest.fixture(scope="module")
def chromium():
    found = shutil.which("chromium")
    if found is None and not os.environ.get("CI"):
        pytest.skip("no chromium; apt-get install chromium")
    api = pytest.importorskip("playwright.sync_api", reason="no Playwright; pip install playwright")
    with api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def expect():
    """Waits for what a page shows after a click; a plain assertion looks at once."""
    found = pytest.importorskip("playwright.sync_api").expect
    found.set_options(timeout=60_000)
    return found
