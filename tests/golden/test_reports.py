"""Each report names a revision of this history, says in its title if it has several, and has the settings of its configuration."""

from __future__ import annotations

import hashlib
import re
import shutil
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest

from inverse_deid.core.packaged import SECOND_READER_SHA256

ROOT = Path(__file__).parents[2]
REPORTS = sorted(path for path in (ROOT / "reports").rglob("*.md") if path.name != "README.md")
NOT_CLEAN = "not of one clean revision"


def git(*arguments: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(["git", "-C", str(ROOT), *arguments], capture_output=True, check=False)


needs_history = pytest.mark.skipif(
    shutil.which("git") is None or git("rev-parse", "--is-shallow-repository").stdout.strip() != b"false",
    reason="needs the whole history",
)


def read_revisions(path: Path) -> list[str]:
    """Return the revisions that the lines about the origin of a report name, with `+` if there were changes."""
    found = re.findall(
        r"(?:^- (?:runs made at )?|(?:at|with) )revision ([0-9a-f]{8,40}\+?|unknown)",
        path.read_text(encoding="utf-8"),
        re.MULTILINE,
    )
    assert found, "no revision"
    return list(dict.fromkeys(found))


def name_report(path: Path) -> str:
    return path.relative_to(ROOT / "reports").as_posix()


@pytest.mark.parametrize("path", REPORTS, ids=name_report)
def test_a_report_of_several_revisions_says_so_in_its_title(path):
    revisions = read_revisions(path)
    clean = len(revisions) == 1 and not revisions[0].endswith("+") and revisions[0] != "unknown"
    title = path.read_text(encoding="utf-8").split("\n", 1)[0]
    assert title.endswith(NOT_CLEAN) != clean, f"{title}: {revisions}"


@needs_history
@pytest.mark.parametrize("path", REPORTS, ids=name_report)
def test_the_revisions_of_a_report_are_in_the_history(path):
    for revision in read_revisions(path):
        assert git("merge-base", "--is-ancestor", revision.removesuffix("+"), "HEAD").returncode == 0, (
            revision
        )


@pytest.mark.parametrize("path", REPORTS, ids=name_report)
def test_a_report_of_an_earlier_reader_or_other_marks_is_in_the_list(path):
    text = path.read_text(encoding="utf-8")
    readers = re.findall(r"second reader[^\n]{0,20} `?([0-9a-f]{12})`?", text)
    marks = re.findall(
        r"- data `(?:narratives|\.\./shared/data)/letters[-/]dev\.jsonl` sha256 `([0-9a-f]{64})`", text
    )
    today = hashlib.sha256((ROOT / "narratives" / "letters-dev.jsonl").read_bytes()).hexdigest()
    is_earlier = any(not SECOND_READER_SHA256.startswith(one) for one in readers) or any(
        one != today for one in marks
    )
    name = path.parent.name if path.name == "report.md" else path.name
    listed = (ROOT / "reports" / "README.md").read_text(encoding="utf-8").split("\n## ")[1]
    assert not is_earlier or f"`{name}`" in listed


def find_configurations() -> list[Any]:
    """Return each report with the path and the hash of each configuration that it was made with."""
    return [
        pytest.param(path, name, digest, id=f"{name_report(path)}-{Path(name).stem}")
        for path in REPORTS
        for name, digest in re.findall(
            r"- data `((?:research/)?configs/[^`]+)` sha256 `([0-9a-f]{64})`",
            path.read_text(encoding="utf-8"),
        )
        if not (path.parent.name == "ablations" and name.endswith("ablations.toml"))  # reports/README.md
    ]


def drop_paths(settings: Any) -> Any:
    """Return settings without the folders of the files that they name."""
    if isinstance(settings, dict):
        return {name: drop_paths(value) for name, value in settings.items()}
    if isinstance(settings, list):
        return [drop_paths(value) for value in settings]
    return re.sub(r"^(?:\.\./)+", "", settings) if isinstance(settings, str) else settings


@needs_history
@pytest.mark.parametrize(("path", "name", "digest"), find_configurations())
def test_a_report_has_the_settings_of_its_configuration(path, name, digest):
    texts = [git("show", f"{revision.removesuffix('+')}:{name}").stdout for revision in read_revisions(path)]
    made_with = [text for text in texts if hashlib.sha256(text).hexdigest() == digest]
    assert made_with, "no revision of the report has this configuration"
    today = ROOT / name if (ROOT / name).is_file() else ROOT / "research" / name
    then, now = tomllib.loads(made_with[0].decode()), tomllib.loads(today.read_text(encoding="utf-8"))
    for settings in (then, now):  # what a verdict needs decides no record
        settings.pop("seeds", None)
        settings.pop("looks", None)
    assert drop_paths(then) == drop_paths(now), (
        f"{today.relative_to(ROOT)} has other settings now: reports/README.md must name the report"
    )
