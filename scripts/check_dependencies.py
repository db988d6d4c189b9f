"""Refuse locked versions that were withdrawn from the package index or have a known flaw.

Usage: python scripts/check_dependencies.py [--auditor PYTHON] [LOCK_FILE ...]

Checks scripts/requirements/*.txt. The index is asked which versions were withdrawn ("yanked", PEP 592), and
pip-audit, in the environment of the interpreter PYTHON, for advisories. `scripts/known_flaws.toml` is the
snapshot of what is known, with its date: if pip-audit answers for every locked version, it is written again
with today's date and what was found. Otherwise the snapshot counts.

Exit status:
    0  nothing found
    1  something found
    2  nothing found, and the index could not be asked
    3  nothing found, but pip-audit did not answer and the snapshot is older than 90 days
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tomllib
import urllib.error
import urllib.request
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, date, datetime
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
MAX_AGE_DAYS = 90
AUDIT_SECONDS = 300.0
INDEX = "https://pypi.org/simple/"
_JSON = "application/vnd.pypi.simple.v1+json"
_PIN = re.compile(r"^([A-Za-z0-9._-]+)==([^\s;\\]+)", re.MULTILINE)

Pins = Mapping[str, set[str]]
"""The locked versions of each package."""


Advisories = list[dict[str, str]]
"""What the snapshot lists: package, versions (a specifier), advisory and what is wrong."""


def main(arguments: Sequence[str]) -> int:
    """Check the lock files and print what was found."""
    parser = argparse.ArgumentParser(description="Refuse locked versions with flaws.")
    parser.add_argument("--auditor", type=Path, help="the interpreter of an environment that has pip-audit")
    parser.add_argument("files", nargs="*", type=Path)
    given = parser.parse_args(arguments)
    files = given.files or sorted((ROOT / "requirements").glob("*.txt"))
    pins = read_pins(files)
    snapshot = ROOT / "known_flaws.toml"
    taken, flaws = read_flaws(snapshot)
    advisories = None if given.auditor is None else audit(given.auditor, files, pins)
    if advisories is not None:
        taken, flaws = today(), merge_flaws(flaws, advisories)
        write_flaws(snapshot, taken, flaws)
    found = list(list_flaws(pins, flaws))
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
    age_days = (today() - taken).days
    print(f"advisories of {taken}, {age_days} days old")
    if found:
        return 1
    if age_days > MAX_AGE_DAYS:
        print(
            f"the advisories are older than {MAX_AGE_DAYS} days: newer flaws are not known. Run this where "
            "pip-audit reaches its service",
            file=sys.stderr,
        )
        return 3
    return 0 if pages is not None else 2


def today() -> date:
    """Return the date in UTC."""
    return datetime.now(UTC).date()


def audit(python: Path, files: Sequence[Path], pins: Pins) -> Advisories | None:
    """Ask pip-audit for advisories on all locked versions, None = it did not answer for each of them."""
    command = [python, "-m", "pip_audit", "--disable-pip", "--no-deps", "--format", "json"]
    asked: set[tuple[str, str]] = set()
    found: Advisories = []
    for file in files:
        try:
            done = subprocess.run(
                [*command, "--progress-spinner", "off", "--requirement", file],
                capture_output=True,
                text=True,
                timeout=AUDIT_SECONDS,
                check=False,
            )
            answered = json.loads(done.stdout)["dependencies"]
        except (OSError, subprocess.TimeoutExpired, json.JSONDecodeError, KeyError):
            answered = []
        for one in answered:
            if "vulns" in one:
                asked.add((canonicalize_name(one["name"]), one["version"]))
                found += [describe_advisory(one, vuln) for vuln in one["vulns"]]
    locked = {(name, version) for name, versions in pins.items() for version in versions}
    if missing := locked - asked:
        print(
            f"pip-audit did not answer for {len(missing)} of {len(locked)} locked versions", file=sys.stderr
        )
        return None
    return found


def describe_advisory(package: Mapping[str, Any], vuln: Mapping[str, Any]) -> dict[str, str]:
    """Return the line of the snapshot for an advisory of pip-audit on a version."""
    names = [vuln["id"], *vuln.get("aliases", ())]
    advisory = next((one for one in names if one.startswith("CVE-")), names[0])
    what = re.split(r"(?<=[.!?])\s|\n", vuln.get("description", "").strip(), maxsplit=1)[0][:200]
    return {
        "package": canonicalize_name(package["name"]),
        "versions": f"=={package['version']}",
        "advisory": advisory,
        "what": what or "see the advisory",
    }


def merge_flaws(known: Advisories, found: Advisories) -> Advisories:
    """Return known advisories and those that were found, without those that the known ones cover."""
    merged = list(known)
    for one in found:
        version = one["versions"].removeprefix("==")
        is_known = any(
            canonicalize_name(other["package"]) == one["package"]
            and other["advisory"] == one["advisory"]
            and SpecifierSet(other["versions"]).contains(version, prereleases=True)
            for other in merged
        )
        merged += [] if is_known else [one]
    return merged


def read_pins(files: Iterable[Path]) -> Pins:
    """Return all versions that lock files name."""
    pins: dict[str, set[str]] = {}
    for file in files:
        for name, version in _PIN.findall(file.read_text("utf-8")):
            pins.setdefault(canonicalize_name(name), set()).add(version)
    return pins


def read_flaws(file: Path) -> tuple[date, Advisories]:
    """Return the date of the snapshot and its advisories."""
    stored = tomllib.loads(file.read_text("utf-8"))
    return stored["taken"], stored.get("flaw", [])


def write_flaws(file: Path, taken: date, flaws: Advisories) -> None:
    """Write the snapshot, ordered by package, under the comment that it begins with."""
    comment = "".join(
        line for line in file.read_text("utf-8").splitlines(keepends=True) if line.startswith("#")
    )
    parts = [f"{comment}\ntaken = {taken}\n"]
    for flaw in sorted(flaws, key=lambda one: (one["package"].lower(), one["advisory"], one["versions"])):
        lines = [f"{name} = {json.dumps(flaw[name])}" for name in ("package", "versions", "advisory", "what")]
        parts.append("\n".join(["[[flaw]]", *lines]) + "\n")
    file.write_text("\n".join(parts), "utf-8")


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
