"""The folders of static files, which are served and hashed as they are."""

from __future__ import annotations

from pathlib import Path

import pytest

from inverse_deid.core.packaged import SHARED_PAGES
from inverse_deid.review.pages.visits import PAGES as REVIEW_PAGES
from inverse_deid.service.page_views import PAGES as SERVICE_PAGES


@pytest.mark.parametrize("folder", [SHARED_PAGES, REVIEW_PAGES.folder, SERVICE_PAGES.folder])
def test_nothing_but_styles_scripts_and_pictures(folder: Path) -> None:
    """Code among them would be served, and its compiled form, a folder, cannot be hashed."""
    assert {file.suffix for file in folder.iterdir()} <= {".css", ".js", ".png"}
