"""Which revision a figure comes of."""

import shutil
import subprocess

import pytest

from inverse_deid.core.errors import ConfigurationError
from inverse_deid.core.revision import require_clean_revision, revision

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")


def git(folder, *arguments):
    author = ("-c", "user.name=a", "-c", "user.email=a@example.org")
    return subprocess.run(
        ["git", "-C", folder, *author, *arguments], check=True, capture_output=True, text=True
    ).stdout.strip()


@pytest.fixture
def checkout(tmp_path):
    for name in ("code/part.py", "reports/one/report.md"):
        (tmp_path / name).parent.mkdir(parents=True)
        (tmp_path / name).write_text("first\n")
    git(tmp_path, "init", "-q")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-q", "-m", "first")
    return tmp_path


def test_changed_code_is_told_by_a_plus(checkout):
    commit = git(checkout, "rev-parse", "HEAD")
    assert revision(checkout / "code") == commit
    (checkout / "code/part.py").write_text("second\n")
    assert revision(checkout / "code") == f"{commit}+"


def test_a_report_that_is_being_written_changes_no_revision(checkout):
    (checkout / "reports/one/report.md").write_text("second\n")
    assert revision(checkout / "code") == git(checkout, "rev-parse", "HEAD")


def test_reports_are_refused_while_code_is_changed(checkout):
    (checkout / "code/part.py").write_text("second\n")
    with pytest.raises(ConfigurationError, match="clean revision"):
        require_clean_revision(checkout / "reports/two", checkout / "code")


def test_changed_code_may_write_a_report_elsewhere(checkout):
    (checkout / "code/part.py").write_text("second\n")
    require_clean_revision(checkout / "runs/two", checkout / "code")


def test_changed_and_new_reports_do_not_count(checkout):
    for name in ("reports/one/report.md", "reports/new.md", "code/untracked.py"):
        (checkout / name).write_text("second\n")
    require_clean_revision(checkout / "reports/one", checkout / "code")


def test_without_a_checkout_there_is_no_revision(tmp_path):
    assert revision(tmp_path) == ""
