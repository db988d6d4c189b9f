"""Refuse locked versions that were withdrawn from the package index or have a known flaw.

Usage: python scripts/check_dependencies.py [LOCK_FILE ...]

Checks scripts/requirements/*.txt. The index is asked which versions were withdrawn ("yanked", PEP 592);
`scripts/known_flaws.toml` lists versions with flaws. Exit status: 0 nothing found, 1 something found,
2 the index could not be asked, and no version is in the list of flaws.
"""

from __future__ import annotations

import json
import re
import sys
import tomllib
import urllib.error
import urllib.request
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from packaging.specifiers import SpecifierSet
from packaging.utils import (
    InvalidSdistFilename,
    InvalidWheelFilename,
    canonicalize_name,
    parse_sdist_filename,
    parse_wheel_filename,
)
from packaging.version import Version

ROOT = Path(__file__).resolve().parent
INDEX = "https://pypi.org/simple/"
_JSON = "application/vnd.pypi.simple.v1+json"
_PIN = re.compile(r"^([A-Za-z0-9._-]+)==([^\s;\\]+)", re.MULTILINE)

Pins = Mapping[str, set[str]]
"""The locked versions of each package."""


def main(arguments: Sequence[str]) -> int:
    """Check the lock files and print what was found."""
    files = [Path(name) for name in arguments] or sorted((ROOT / "requirements").glob("*.txt"))
    pins = read_pins(files)
    found = list(list_flaws(pins, read_flaws(ROOT / "known_flaws.toml")))
    pages = None
    try:
        with ThreadPoolExecutor(16) as threads:
            pages = dict(zip(pins, threads.map(ask_index, pins), strict=True))
        found += list_yanked(pins, pages)
    except (urllib.error.URLError, TimeoutError, json.JSONDecodeError) as error:
        print(
            f"the package index could not be asked ({type(error).__name__}). Try again later", file=sys.stderr
        )
    for line in found:
        print(line)
    print(f"{sum(map(len, pins.values()))} locked versions checked, {len(found)} to replace")
    if found:
        return 1
    return 0 if pages is not None else 2


def read_pins(files: Iterable[Path]) -> Pins:
    """Return all versions that lock files name."""
    pins: dict[str, set[str]] = {}
    for file in files:
        for name, version in _PIN.findall(file.read_text("utf-8")):
            pins.setdefault(canonicalize_name(name), set()).add(version)
    return pins


def read_flaws(file: Path) -> list[dict[str, str]]:
    """Return the list of known flaws: package, versions (a specifier), advisory and what is wrong."""
    flaws: list[dict[str, str]] = tomllib.loads(file.read_text("utf-8"))["flaw"]
    return flaws


def list_flaws(pins: Pins, flaws: Iterable[Mapping[str, str]]) -> Iterator[str]:
    """Yield one line for each locked version with a known flaw."""
    for flaw in flaws:
        for version in sorted(pins.get(canonicalize_name(flaw["package"]), ())):
            if SpecifierSet(flaw["versions"]).contains(version, prereleases=True):
                yield f"{flaw['package']} {version}: {flaw['advisory']}, {flaw['what']}"


def list_yanked(pins: Pins, pages: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    """Yield one line for each locked version that the index has withdrawn or does not have."""
    for name, versions in pins.items():
        for version in sorted(versions):
            own = [one for one in pages[name]["files"] if _version_of(one["filename"]) == Version(version)]
            if not own:
                yield f"{name} {version}: the index has no file of it"
            elif all(one.get("yanked") for one in own):
                yield f"{name} {version}: withdrawn from the index"


def _version_of(filename: str) -> Version | None:
    try:
        if filename.endswith(".whl"):
            return parse_wheel_filename(filename)[1]
        return parse_sdist_filename(filename)[1]
    except (InvalidWheelFilename, InvalidSdistFilename):
        return None


def ask_index(name: str) -> Mapping[str, Any]:
    """Return the page of a package in the index (PEP 691); without files if the index does not have it."""
    request = urllib.request.Request(f"{INDEX}{name}/", headers={"Accept": _JSON})
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            page: dict[str, Any] = json.load(answer)
    except urllib.error.HTTPError as error:
        if error.code != 404:
            raise
        return {"files": []}
    return page


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
