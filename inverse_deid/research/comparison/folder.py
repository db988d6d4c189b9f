"""The folder of a comparison: masks, tables and report, written whole or not at all.

::

    report.md            provenance and tables
    NAME.csv             each table, nothing rounded
    comparison.json      all figures, for programs
    masks/SYSTEM.jsonl   {"id", "masks": [[start, end], ...]}: offsets, no text
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from inverse_deid import __version__
from inverse_deid.core.errors import OutputExistsError
from inverse_deid.core.files import output_errors, printable, write_folder
from inverse_deid.core.revision import revision
from inverse_deid.evaluation.figures import encode_record
from inverse_deid.evaluation.report import build_report
from inverse_deid.lexicon import load_lexicon
from inverse_deid.masking.assemble import packaged_model
from inverse_deid.network.folder import model_fingerprint
from inverse_deid.research.comparison.comparison import Comparison, Result
from inverse_deid.research.comparison.tables import comparison_tables
from inverse_deid.research.studies.records import read_json
from inverse_deid.research.studies.report import Provenance, Report
from inverse_deid.research.studies.tables import Table

FORMAT_NAME = "inverse-deid comparison"
FORMAT_VERSION = 1
_MANIFEST = "comparison.json"


def check_folder(folder: Path, *, force: bool) -> None:
    """Refuse a folder that contains something; ask before a long run.

    Args:
        folder: Where the comparison goes.
        force: Whether an earlier comparison may be replaced; nothing else ever is.

    Raises:
        OutputExistsError: It may not be written.
    """
    if not folder.exists() and not folder.is_symlink():
        return
    name = printable(folder)
    if not folder.is_dir():
        raise OutputExistsError(f"{name}: exists and is not a folder. Choose another one with --out")
    with output_errors(folder):
        is_empty = not any(folder.iterdir())
    if is_empty:
        return
    if read_json(folder / _MANIFEST).get("format") != FORMAT_NAME:
        raise OutputExistsError(
            f"{name}: not empty, and not the folder of a comparison. Choose another one with --out"
        )
    if not force:
        raise OutputExistsError(f"{name}: contains a comparison. Use --force to replace it")


def write_comparison(
    folder: Path, comparison: Comparison, *, command: str, device: str, n_seconds: float
) -> list[Table]:
    """Write the folder; an earlier comparison there is removed only when the new one is complete.

    Args:
        folder: Passed `check_folder`.
        comparison: What the systems did.
        command: The command line.
        device: What it ran on.
        n_seconds: How long it took.

    Returns:
        The tables of the report.

    Raises:
        OutputError: It cannot be written.
    """
    model, lexicon = model_fingerprint(packaged_model()), load_lexicon().sha256
    made = Provenance(
        command=command,
        device=device,
        seeds=[comparison.settings.seed],
        hashes=comparison.hashes,
        settings={"packaged model": f"sha256 `{model}`", "packaged lexicon": f"sha256 `{lexicon}`"},
        n_seconds={"comparing": n_seconds},
    )
    values = {
        "command": command,
        "version": __version__,
        "revision": revision(),
        "machine": device,
        "seed": comparison.settings.seed,
        "data_sha256": dict(comparison.hashes),
        "model_sha256": model,
        "lexicon_sha256": lexicon,
    }
    tables = comparison_tables(comparison)
    report = Report(
        title="Comparison of systems",
        provenance=made,
        text=[f"- {line}" for line in comparison.notes],
        sections={"": tables},
    )

    def fill(staging: Path) -> None:
        (staging / "masks").mkdir()
        for result in comparison.results:
            masks = staging / "masks" / f"{result.name}.jsonl"
            masks.touch(mode=0o600)  # they tell the length of every masked word
            _write(masks, masks_text(result))
        for name, text in report.files().items():
            _write(staging / name, text)
        _write(staging / _MANIFEST, json.dumps(as_json(comparison, values), indent=1) + "\n")

    write_folder(folder, fill)
    return tables


def _write(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8", newline="\n")


def masks_text(result: Result) -> str:
    """Return the masks of a system as JSON Lines, sorted within each document."""
    return "".join(
        json.dumps({"id": doc_id, "masks": sorted(masks)}) + "\n" for doc_id, masks in result.masks.items()
    )


def as_json(comparison: Comparison, provenance: dict[str, Any]) -> dict[str, Any]:
    """Return the comparison with nothing rounded, without the counts of each document.

    Args:
        comparison: What the systems did.
        provenance: What made it, as JSON values.
    """
    systems = []
    for result in comparison.results:
        report = encode_record(build_report(result.evaluation, result.intervals))
        systems.append(
            {
                **{name: getattr(result, name) for name in ("name", "title", "source", "learned_from")},
                "learning_seconds": result.learning_seconds,
                "tokens_per_second": result.tokens_per_second,
                "evaluation": {key: value for key, value in report.items() if key != "by_document"},
            }
        )
    return {
        "format": FORMAT_NAME,
        "version": FORMAT_VERSION,
        "provenance": provenance,
        "notes": list(comparison.notes),
        "reference": comparison.reference,
        "systems": systems,
    }
