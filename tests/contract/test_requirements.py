"""The locked versions are those that product and research allow, each with its hashes, from no named index."""

import re
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement

ROOT = Path(__file__).parents[2]
LOCKS = sorted((ROOT / "scripts" / "requirements").glob("*.txt"))
PRODUCT, RESEARCH = (
    tomllib.loads((ROOT / folder / "pyproject.toml").read_text("utf-8"))["project"]
    for folder in ("", "research")
)
LEAST = {
    "starlette": "0.49.1",
    "jinja2": "3.1.6",
    "h11": "0.16",
    "lxml": "6.1",
    "click": "8.3.3",
    "pyarrow": "23.0.1",
}
"""Versions below have a known vulnerability."""


def declared():
    """Return what product and research need from an index, with all extras."""
    lines = []
    for project in (PRODUCT, RESEARCH):
        extras = project["optional-dependencies"].values()
        lines += [*project["dependencies"], *(line for each in extras for line in each)]
    return [Requirement(line) for line in lines if not line.startswith(PRODUCT["name"])]


def test_the_research_goes_with_this_version_of_the_product():
    assert RESEARCH["dependencies"][0] == f"{PRODUCT['name']}[train]=={PRODUCT['version']}"
    assert RESEARCH["version"] == PRODUCT["version"]


def test_the_product_never_installs_the_research():
    extras = PRODUCT["optional-dependencies"]
    lines = [*PRODUCT["dependencies"], *(line for each in extras.values() for line in each)]
    assert not [line for line in lines if "research" in line]
    assert not {"experiments", "compare", "federated-simulation"} & set(extras)


def pins(path):
    """Versions by name; one package can have several, for different Pythons."""
    found = {}
    for line in path.read_text("utf-8").replace("\\\n", " ").splitlines():
        pin, *hashes = line.split("--hash=")
        assert hashes and all(re.fullmatch(r"sha256:[0-9a-f]{64}\s*", one) for one in hashes), pin
        requirement = Requirement(pin)
        found.setdefault(requirement.name.lower(), []).append(str(requirement.specifier).removeprefix("=="))
    return found


def test_all_environments_are_locked():
    assert [path.name for path in LOCKS] == ["audit.txt", "flower.txt", "newest.txt", "oldest.txt"]


@pytest.mark.parametrize("path", LOCKS, ids=lambda path: path.name)
def test_locked_versions_are_allowed(path):
    locked = pins(path)
    known = [requirement for requirement in declared() if requirement.name.lower() in locked]
    if path.name == "audit.txt":  # pip-audit has an environment of its own
        assert "pip-audit" in locked
        return
    assert len(known) > 20
    for requirement in known:
        for version in locked[requirement.name.lower()]:
            assert requirement.specifier.contains(version), requirement.name


@pytest.mark.parametrize("path", LOCKS, ids=lambda path: path.name)
def test_a_lock_names_no_index(path):
    assert not re.search(r"://|--(extra-)?index|--find-links", path.read_text("utf-8"))


@pytest.mark.parametrize(("name", "least"), LEAST.items())
def test_no_floor_admits_a_known_vulnerability(name, least):
    (specifier,) = {str(one.specifier) for one in declared() if one.name == name}
    below = ".".join([*least.split(".")[:-1], str(int(least.split(".")[-1]) - 1)]) + ".99"
    assert not Requirement(f"{name}{specifier}").specifier.contains(below)
