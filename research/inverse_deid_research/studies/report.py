"""The report of a study: where the figures come from, sentences, tables and charts.

`report.md` contains everything. Each table is also `NAME.csv`, each chart an SVG file.
"""

from __future__ import annotations

import importlib.resources
import os
import platform
import tomllib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from inverse_deid import __version__
from inverse_deid.core.revision import require_clean_revision, revision
from inverse_deid_research.studies.records import write_text
from inverse_deid_research.studies.tables import Table


@dataclass(frozen=True, slots=True, kw_only=True)
class Provenance:
    """What made a report."""

    command: str
    device: str  # what trained
    seeds: Sequence[int]
    hashes: Mapping[str, str]  # SHA-256 by the path of each data or configuration file
    settings: Mapping[str, str]  # other choices that deserve a line
    n_seconds: Mapping[str, float]  # of each step
    # Revision of the code for each run that the report shows, "" where it is not known.
    made_at: Sequence[str] = ()

    def title(self, title: str) -> str:
        """Return the title, which says so if the report is not of one clean revision."""
        made_at = {one or "unknown" for one in (revision(), *self.made_at)}
        clean = len(made_at) == 1 and not any(one == "unknown" or one.endswith("+") for one in made_at)
        return title if clean else f"{title}, not of one clean revision"

    def lines(self) -> list[str]:
        total = sum(self.n_seconds.values())
        made_at = Counter(one or "unknown" for one in self.made_at)
        return [
            "Made by",
            "",
            "```",
            self.command,
            "```",
            "",
            f"- revision {revision() or 'unknown'}, inverse-deid {__version__}, Python "
            f"{platform.python_version()}, numpy {np.__version__}",
            *(f"- runs made at revision {one}: {n}" for one, n in sorted(made_at.items())),
            f"- device: {self.device}; {os.cpu_count() or 1} CPU cores ({platform.machine()})",
            f"- seeds: {', '.join(map(str, self.seeds))}",
            *(f"- {name}: {value}" for name, value in self.settings.items()),
            *(f"- data `{_relative_path(name)}` sha256 `{digest}`" for name, digest in self.hashes.items()),
            f"- duration: {_duration(total)} in all"
            + "".join(f"; {name} {_duration(seconds)}" for name, seconds in self.n_seconds.items()),
        ]


def _relative_path(path: str) -> str:
    try:
        return Path(os.path.relpath(path)).as_posix()
    except ValueError:  # on another drive
        return path


def _duration(n_seconds: float) -> str:
    minutes, seconds = divmod(round(n_seconds), 60)
    return f"{minutes} min {seconds:02} s" if minutes else f"{n_seconds:.1f} s"


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """A report that is ready to be written."""

    title: str
    provenance: Provenance
    text: Sequence[str]  # lines between provenance and tables; an empty one separates paragraphs
    sections: Mapping[str, Sequence[Table]]  # by heading; tables under "" come without one
    charts: Mapping[str, str] = field(default_factory=dict)  # texts of SVG files by file name

    def files(self) -> dict[str, str]:
        """Return the texts of all files by name; `report.md` is the last one."""
        parts = [f"# {self.provenance.title(self.title)}", "", *self.provenance.lines(), *self.text, ""]
        found = dict(self.charts)
        for heading, tables in self.sections.items():
            parts += [f"## {heading}", ""] if heading else []
            for table in tables:
                parts.append(table.markdown())
                found[f"{table.name}.csv"] = table.csv()
        return found | {"report.md": "\n".join(parts).rstrip() + "\n"}

    def write(self, folder: Path) -> None:
        """Write all files.

        Raises:
            ConfigurationError: See `require_clean_revision`.
            OutputError: A file cannot be written.
        """
        require_clean_revision(folder)
        for name, text in self.files().items():
            write_text(folder / name, text)


def read_published() -> dict[str, Any]:
    """Return what others published, with its source, as the tables of `published.toml`."""
    source = importlib.resources.files("inverse_deid_research.studies") / "published.toml"
    return tomllib.loads(source.read_text(encoding="utf-8"))
