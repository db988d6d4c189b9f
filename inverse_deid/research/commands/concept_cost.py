"""`inverse-deid research extraction cost`: what masking costs a search for concepts."""

from __future__ import annotations

from pathlib import Path

import click

from inverse_deid.cli.report_files import check_target, write_json
from inverse_deid.evaluation.added_reports import CONCEPT_FORMAT_NAME, ConceptReport
from inverse_deid.evaluation.figures import encode_record
from inverse_deid.evaluation.masked_files import masks_by_id, read_masked
from inverse_deid.evaluation.provenance import name_files, trace_sources
from inverse_deid.research.commands.extractors import load_extractor
from inverse_deid.research.extraction.concept_utility import (
    concept_lines,
    concept_utility,
    record_concepts,
)
from inverse_deid.research.extraction.reading import read_concepts

_PATH = click.Path(path_type=Path)


@click.command()
@click.argument("gold", type=_PATH)
@click.argument("masked", type=_PATH)
@click.option("--model", required=True, type=_PATH, help="Folder of `research extraction train`.")
@click.option(
    "--json",
    "json_path",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write the figures as JSON, for `evaluate --add`.",
)
@click.option("--force", is_flag=True, help="Overwrite the file of an earlier run.")
def cost(gold: Path, masked: Path, model: Path, json_path: Path | None, force: bool) -> None:
    """Measure what the masks of MASKED cost an extractor that reads GOLD.

    GOLD is JSON Lines with concepts. MASKED is as for `inverse-deid evaluate`.
    """
    if json_path is not None:
        check_target(json_path, CONCEPT_FORMAT_NAME, force=force)
    with name_files(gold):
        docs = read_concepts(gold)
    with name_files(masked):
        masks = masks_by_id([doc.doc for doc in docs], read_masked(masked))
    with name_files(gold):
        found = concept_utility(docs, masks, load_extractor(model))
    if json_path is not None:
        read = trace_sources(gold=gold, masked=masked, model=model)
        report = ConceptReport(provenance=read, types=record_concepts(found))
        write_json(json_path, encode_record(report))
    for line in concept_lines(found):
        click.echo(line)
