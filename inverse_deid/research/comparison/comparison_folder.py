"""The folder of a comparison: masks, tables and report, written whole or not at all.

::

    report.md            head and tables
    NAME.csv             each table, nothing rounded
    comparison.json      all figures, for programs
    masks/SYSTEM.jsonl   {"id", "masks": [[start, end], ...]}: offsets, no text
"""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from inverse_deid.core.errors import OutputExistsError
from inverse_deid.core.files import output_errors, printable, replace_folder
from inverse_deid.evaluation.figures import encode_record
from inverse_deid.evaluation.report import build_report
from inverse_deid.research.comparison.comparison import Comparison, Result
from inverse_deid.research.comparison.tables import Table, csv_text, markdown

FORMAT_NAME = "inverse-deid comparison"
FORMAT_VERSION = 1
_MANIFEST = "comparison.json"
_TITLE = "Comparison of systems"


def check_folder(folder: Path, *, force: bool) -> None:
    """Refuse a folder that holds something; ask before a long run.

    Args:
        folder: Where the comparison goes.
        force: Whether an earlier comparison may be replaced; nothing else ever is.

    Raises:
        OutputExistsError: It may not be written.
    """
    if not folder.exists() and not folder.is_symlink():
        return
    if not folder.is_dir():
        raise OutputExistsError(f"{printable(folder)} exists and is no folder; choose another one with --out")
    with output_errors(folder):
        is_empty = not any(folder.iterdir())
    if is_empty:
        return
    if not _is_comparison(folder):
        raise OutputExistsError(
            f"{printable(folder)} is not empty and holds no comparison; choose another folder with --out"
        )
    if not force:
        raise OutputExistsError(f"{printable(folder)} holds a comparison; give --force to replace it")


def _is_comparison(folder: Path) -> bool:
    try:
        found = json.loads((folder / _MANIFEST).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    return isinstance(found, dict) and found.get("format") == FORMAT_NAME


def write_comparison(
    folder: Path,
    comparison: Comparison,
    tables: Sequence[Table],
    head: Sequence[str],
    provenance: Mapping[str, Any],
) -> None:
    """Write the folder; an earlier comparison there goes only when the new one is complete.

    Args:
        folder: Passed `check_folder`.
        comparison: What the systems did.
        tables: Of the report.
        head: Lines that come first in the report.
        provenance: The same for programs, as JSON values.

    Raises:
        OutputError: It cannot be written.
    """
    with output_errors(folder):
        folder.parent.mkdir(parents=True, exist_ok=True)
        staging = Path(tempfile.mkdtemp(prefix=f".{folder.name}-", dir=folder.parent))
        try:
            _fill(staging, comparison, tables, head, provenance)
            staging.chmod(0o755)
            replace_folder(folder, staging)
        finally:
            shutil.rmtree(staging, ignore_errors=True)


def _fill(
    folder: Path,
    comparison: Comparison,
    tables: Sequence[Table],
    head: Sequence[str],
    provenance: Mapping[str, Any],
) -> None:
    (folder / "masks").mkdir()
    for result in comparison.results:
        masks = folder / "masks" / f"{result.name}.jsonl"
        masks.touch(mode=0o600)  # they tell the length of every masked word
        _write(masks, masks_text(result))
    for table in tables:
        _write(folder / f"{table.name}.csv", csv_text(table))
    report = [f"# {_TITLE}", "", *head, "", *map(markdown, tables)]
    _write(folder / "report.md", "\n".join(report).rstrip() + "\n")
    _write(folder / _MANIFEST, json.dumps(as_json(comparison, provenance), indent=1) + "\n")


def _write(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8", newline="\n")


def masks_text(result: Result) -> str:
    """The masks of a system as JSON Lines, sorted within each document."""
    return "".join(
        json.dumps({"id": doc_id, "masks": sorted(masks)}) + "\n" for doc_id, masks in result.masks.items()
    )


def as_json(comparison: Comparison, provenance: Mapping[str, Any]) -> dict[str, Any]:
    """The comparison with nothing rounded; counts by document can be had from the masks."""
    return {
        "format": FORMAT_NAME,
        "version": FORMAT_VERSION,
        "provenance": dict(provenance),
        "notes": list(comparison.notes),
        "reference": comparison.reference,
        "systems": [_json_system(result) for result in comparison.results],
    }


def _json_system(result: Result) -> dict[str, Any]:
    report = encode_record(build_report(result.evaluation, result.intervals))
    return {
        "name": result.name,
        "title": result.title,
        "source": result.source,
        "learned_from": result.learned_from,
        "learning_seconds": result.learning_seconds,
        "tokens_per_second": result.tokens_per_second,
        "evaluation": {key: value for key, value in report.items() if key != "by_document"},
    }
