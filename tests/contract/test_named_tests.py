"""The tests that the security documents name exist."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DOCUMENTS = ("docs/security.md", "docs/threat-model.md")
FILES = {
    path.relative_to(ROOT).as_posix(): path.read_text("utf-8") for path in ROOT.glob("tests/**/test_*.py")
}
SHORT = {
    "pages": "end_to_end/test_review_pages.py",
    "deployment": "end_to_end/test_deployment.py",
    "doors": "end_to_end/test_review_doors.py",
    "service": "unit/service/test_service_app.py",
}
"""What docs/security.md calls some files."""


def find(name):
    """Return the code of the files that a name of a file means."""
    return [code for path, code in FILES.items() if f"/{path}".endswith(f"/{name}")]


def has(code, name):
    return re.search(rf"^ *(?:async )?def {name}\(|^class {name}\b", code, re.MULTILINE) is not None


def list_missing(text):
    """Return the tests that a document names and that do not exist."""
    missing = []
    for line in text.splitlines():
        codes = [SHORT[name] for name in SHORT if re.search(rf"\b{name} `test_", line)]
        names = re.findall(r"`((?:[\w/]+/)?test_\w+\.py)`", line)
        missing += [name for name in names if not find(name)]
        near = [code for name in (*codes, *names) for code in find(name)] or list(FILES.values())
        functions = re.findall(r"`(test_\w+)`", line)
        missing += [name for name in functions if not any(has(code, name) for code in near)]
    return missing


@pytest.mark.parametrize("document", DOCUMENTS)
def test_each_named_test_exists(document):
    text = (ROOT / document).read_text("utf-8")
    assert len(re.findall(r"`[\w/]*test_\w+", text)) > 20
    assert list_missing(text) == []


@pytest.mark.parametrize(
    ("line", "missing"),
    [
        ("| 1 | pages `test_nothing_like_it` |", ["test_nothing_like_it"]),
        ("| 1 | `unit/review/test_nothing.py` |", ["unit/review/test_nothing.py"]),
        ("| 1 | `contract/test_named_tests.py` `test_each_named_test_exists` |", []),
        ("| 1 | pages `test_each_named_test_exists` |", ["test_each_named_test_exists"]),
    ],
)
def test_a_missing_test_is_found(line, missing):
    assert list_missing(line) == missing
