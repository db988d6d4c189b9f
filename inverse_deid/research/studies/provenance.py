"""Where an experiment's figures come from, and the folder that takes them."""

from __future__ import annotations

import hashlib
import json
import os
import platform
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from inverse_deid import __version__
from inverse_deid.core.errors import ConfigurationError, OutputExistsError
from inverse_deid.core.revision import revision
from inverse_deid.research.studies.tables import write_text

MANIFEST = "experiment.json"
_OURS = ("runs", "epochs", "models")
"""Folders inside an experiment's folder that `--force` deletes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Provenance:
    """What made a report.

    Args:
        command: The command line.
        device: What trained.
        seeds: Of the trainings.
        hashes: SHA-256 of each data and configuration file, by its path.
        settings: Other choices worth a line, by name.
        n_seconds: Time of each step, by name.
    """

    command: str
    device: str
    seeds: Sequence[int]
    hashes: Mapping[str, str]
    settings: Mapping[str, str]
    n_seconds: Mapping[str, float]

    def lines(self) -> list[str]:
        """The lines that a report begins with."""
        total = sum(self.n_seconds.values())
        lines = [
            "Made by",
            "",
            "```",
            self.command,
            "```",
            "",
            f"- revision {revision() or 'unknown'}, inverse-deid {__version__}, Python "
            f"{platform.python_version()}, numpy {np.__version__}",
            f"- device: {self.device}; {os.cpu_count() or 1} CPU cores ({platform.machine()})",
            f"- seeds: {', '.join(map(str, self.seeds))}",
            *(f"- {name}: {value}" for name, value in self.settings.items()),
            *(f"- data `{_from_here(name)}` sha256 `{digest}`" for name, digest in self.hashes.items()),
            f"- duration: {_duration(total)} in all"
            + "".join(f"; {name} {_duration(seconds)}" for name, seconds in self.n_seconds.items()),
        ]
        return lines


def _from_here(path: str) -> str:
    """The path as one would write it in the folder where the command runs."""
    try:
        return Path(os.path.relpath(path)).as_posix()
    except ValueError:  # on another drive
        return path


def _duration(n_seconds: float) -> str:
    minutes, seconds = divmod(round(n_seconds), 60)
    return f"{minutes} min {seconds:02} s" if minutes else f"{n_seconds:.1f} s"


def fingerprint(*values: object) -> str:
    """A hash of values that have a telling `repr`."""
    return hashlib.sha256(repr(values).encode()).hexdigest()


def prepare_folder(folder: Path, kind: str, key: Mapping[str, Any], *, force: bool) -> None:
    """Make the folder of an experiment, or check that it holds the same one, to go on with it.

    Args:
        folder: The folder.
        kind: Which experiment.
        key: What all of its runs share, as JSON values; another key is another experiment.
        force: Delete what an earlier experiment left there.

    Raises:
        OutputExistsError: The folder holds something else.
        ConfigurationError: It holds an experiment with other data or settings.
        OutputError: It cannot be written.
    """
    manifest = folder / MANIFEST
    wanted = {"experiment": kind, **key}
    if manifest.is_file():
        if force:
            for name in _OURS:
                shutil.rmtree(folder / name, ignore_errors=True)
        elif (found := _read_json(manifest)) != json.loads(json.dumps(wanted)):
            differing = sorted(name for name in {*found, *wanted} if found.get(name) != wanted.get(name))
            raise ConfigurationError(
                f"{folder}: holds an experiment of another {', '.join(differing)}; "
                "choose another folder, or start anew with --force"
            )
    elif folder.exists() and any(folder.iterdir()):
        raise OutputExistsError(f"{folder}: is not empty and holds no experiment; choose another folder")
    write_text(manifest, json.dumps(wanted, indent=1) + "\n")


def _read_json(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        found = None
    return found if isinstance(found, dict) else {}


def read_record(path: Path, key: str) -> dict[str, Any] | None:
    """The record of a finished run, None if there is none or it is of another key."""
    found = _read_json(path)
    return found if found.get("key") == key else None


def write_record(path: Path, key: str, values: Mapping[str, Any]) -> None:
    """Write the record of a finished run: the last file of a run, so that it stands for all.

    Raises:
        OutputError: It cannot be written.
    """
    write_text(path, json.dumps({"key": key, **values}, indent=1) + "\n")
