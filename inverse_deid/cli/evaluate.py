"""`inverse-deid evaluate`: gold documents and masks in, figures out."""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import click
import numpy as np

from inverse_deid.core.errors import OutputExistsError
from inverse_deid.core.values import BoolArray
from inverse_deid.engine.partial_file import PartialFile
from inverse_deid.evaluation.counts import WordTest
from inverse_deid.evaluation.evaluation import evaluate_masks
from inverse_deid.evaluation.harmless import read_harmless
from inverse_deid.evaluation.masked_files import masks_by_id, read_masked
from inverse_deid.evaluation.report import FORMAT_NAME, json_report, table_lines
from inverse_deid.learning.corpus import read_annotated
from inverse_deid.lexicon import Lexicon, WordFlag, load_lexicon

_FILE = click.Path(dir_okay=False, path_type=Path)
_HEAD_BYTES = 100
_CLINICAL = WordFlag.DRUG | WordFlag.MEDICAL | WordFlag.SHORTHAND | WordFlag.UNIT


@click.command()
@click.argument("gold", type=click.Path(path_type=Path))
@click.argument("masked", type=click.Path(path_type=Path))
@click.option("--json", "json_path", type=_FILE, help="Write all figures, exact and by document, as JSON.")
@click.option("--harmless", type=_FILE, help="TOML file with the tokens that the corrected recall forgives.")
@click.option("--allow-missing", is_flag=True, help="Count documents without masks as unmasked.")
@click.option("--force", is_flag=True, help="Overwrite a JSON file of an earlier evaluation.")
def evaluate(
    gold: Path, masked: Path, json_path: Path | None, harmless: Path | None, allow_missing: bool, force: bool
) -> None:
    """Say what leaked and what was kept: hold MASKED against GOLD.

    GOLD is annotated: JSON Lines with spans (also .gz), a 2014 i2b2 XML file or
    a folder of them. MASKED is what `inverse-deid mask` made of it: the JSON
    Lines, or for XML the folder of --annotations. Other systems are measured by
    JSON Lines of {"id", "masks": [[start, end], ...]}, offsets in code points of
    the original text. Documents are matched by id.

    Exit status: 0 done; 2 refused, nothing was written.
    """
    if json_path is not None:
        _check_target(json_path, force=force)
    forgiven = read_harmless(harmless)
    docs = read_annotated(gold)
    masks = masks_by_id(docs, read_masked(masked))
    clinical = _clinical_test(load_lexicon())
    evaluation = evaluate_masks(
        docs, masks, harmless=forgiven, clinical=clinical, allow_missing=allow_missing
    )
    if json_path is not None:
        _write(json_path, json_report(evaluation))
    for line in table_lines(evaluation):
        click.echo(line)


def _clinical_test(lexicon: Lexicon) -> WordTest:
    """Tells which words the packaged lists know as clinical and not as function words."""
    known: dict[str, bool] = {}

    def is_clinical(word: str) -> bool:
        flags = lexicon.flags(word)
        return bool(flags & _CLINICAL) and not flags & WordFlag.STOP_WORD

    def test(words: Sequence[str]) -> BoolArray:
        for word in words:
            if word not in known:
                known[word] = is_clinical(word)
        return np.array([known[word] for word in words], np.bool_)

    return test


def _check_target(path: Path, *, force: bool) -> None:
    """Nothing but an earlier evaluation is ever overwritten, and that only when asked.

    Raises:
        OutputExistsError: The file is there.
    """
    if not path.exists():
        return
    head = b""
    with suppress(OSError), path.open("rb") as stream:
        head = stream.read(_HEAD_BYTES)
    if FORMAT_NAME.encode() not in head:
        raise OutputExistsError(f"{path} exists and is no evaluation; choose another name with --json")
    if not force:
        raise OutputExistsError(f"{path} exists already; give --force to overwrite it")


def _write(path: Path, report: dict[str, object]) -> None:
    file = PartialFile(path)
    is_complete = False
    try:
        file.write(json.dumps(report, ensure_ascii=False, indent=1).encode("utf-8", "replace") + b"\n")
        file.sync()
        is_complete = True
    finally:
        file.commit() if is_complete else file.discard()
