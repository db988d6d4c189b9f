"""`inverse-deid utility`: what a masking leaves of what causality assessment needs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from inverse_deid.cli.provenance import provenance
from inverse_deid.cli.report_files import check_target, write_json
from inverse_deid.core.errors import ConfigurationError
from inverse_deid.evaluation.causality_set import (
    CausalityDocument,
    packaged_causality_set,
    read_causality_set,
)
from inverse_deid.evaluation.evaluation import Evaluation, evaluate_masks, named
from inverse_deid.evaluation.figures import Share
from inverse_deid.evaluation.masked_files import MaskedOutput, read_masked
from inverse_deid.evaluation.plain_text import aligned, interval_text, percent
from inverse_deid.evaluation.uncertainty import CONFIDENCE, clopper_pearson
from inverse_deid.evaluation.utility import (
    ALL,
    COLUMNS,
    Utility,
    best_case,
)
from inverse_deid.evaluation.utility import utility as utility_of

FORMAT_NAME = "inverse-deid utility"
FORMAT_VERSION = 1
SOME_FAILED = 1

_PATH = click.Path(path_type=Path)
_FILE = click.Path(dir_okay=False, path_type=Path)
_THESIS = Share(52, 100)
_PHI_TITLES = {
    "recall_all": "identifying words masked (recall)",
    "recall_hipaa": "  HIPAA categories",
    "precision": "of what is masked, identifying (precision)",
    "documents_without_leak": "narratives without a leak, of those with identifiers",
}
_TITLES = {
    ALL: "everything",
    "DRUG": "drugs",
    "SUSPECT": "  suspected",
    "CONCOMITANT": "  taken besides",
    "DOSE": "doses",
    "REACTION": "reactions",
    "ONSET": "time to onset",
    "DECHALLENGE": "dechallenge",
    "RECHALLENGE": "rechallenge",
    "LAB": "tests and measurements",
    "SERIOUSNESS": "seriousness",
    "TREATMENT": "treatment of the reaction",
    "OUTCOME": "outcome",
    "HISTORY": "history",
}
_NOTES = (
    "An item is one fact. It is kept if all of its words are; time to onset also if it can still be",
    "computed from the output: from a duration, both dates, day numbers, or dates shifted alike.",
    "At best: if just the marked identifiers were masked, among them the dates of onset.",
    "Items of one narrative are not independent, so intervals (Clopper-Pearson) are of narratives,",
    "without those that have no such items.",
    "In the thesis (section 5.2.4) a pharmacist found that 52 % of 100 VigiBase narratives missed",
    "nothing valuable. That is another thing: other narratives, other masks, and a judgement that",
    "weighs what is missing, where here the loss of any marked word counts.",
)


@dataclass(frozen=True, slots=True)
class UtilityResult:
    """What one masking of one gold set leaks and keeps.

    Args:
        phi: How well identifiers are masked.
        kept: What is kept.
        at_best: What would be kept if just the marked identifiers were masked.
    """

    phi: Evaluation
    kept: Utility
    at_best: Utility


@click.command()
@click.argument("masked", type=_PATH, required=False)
@click.option("--gold", type=_FILE, help="JSON Lines with marks of both kinds.  [default: an invented set]")
@click.option("--json", "json_path", type=_FILE, help="Write all figures, exact and by narrative, as JSON.")
@click.option("--model", type=_PATH, help="Folder of another model; without MASKED.")
@click.option(
    "--operating-point",
    type=click.Choice(["strict", "balanced", "lenient"]),
    help="As for `mask`; without MASKED.  [default: balanced]",
)
@click.option("--force", is_flag=True, help="Overwrite a JSON file of an earlier run.")
def utility(
    masked: Path | None,
    gold: Path | None,
    json_path: Path | None,
    model: Path | None,
    operating_point: str | None,
    force: bool,
) -> int:
    """Say what a masking leaves of what causality assessment needs, and what it leaks.

    Without MASKED the gold set is masked with the packaged model. With it, the
    masks of any system are measured: JSON Lines of {"id", "masks": [[start, end],
    ...]} and, so that dates may be replaced instead of lost, "text". docs/utility.md
    says what is marked and where the packaged gold set lies.

    Exit status: 0 done; 1 some documents failed and count as masked whole; 2
    refused, nothing was written.
    """
    if masked is not None and (model is not None or operating_point is not None):
        raise ConfigurationError("--model and --operating-point mask the gold set; leave them or MASKED out")
    if json_path is not None:
        check_target(json_path, FORMAT_NAME, force=force)
    docs = read_causality_set(gold)
    failed: Sequence[str] = ()
    if masked is None:
        outputs, failed = _masked_now(docs, model, operating_point)
    else:
        outputs = read_masked(masked)
    result = measured(docs, outputs)
    if json_path is not None:
        read = provenance(
            gold=gold or packaged_causality_set(), masked=masked, model=_masking_model(masked, model)
        )
        write_json(json_path, {**json_utility(result), "provenance": read})
    for line in utility_lines(result):
        click.echo(line)
    if failed:
        click.echo(f"inverse-deid: failed and masked whole: {named(failed)}", err=True)
    return SOME_FAILED if failed else 0


def _masking_model(masked: Path | None, model: Path | None) -> Path | None:
    """The model that masks the gold; None if it is masked already."""
    if masked is not None:
        return None
    from inverse_deid.masking.assemble import packaged_model

    return model or packaged_model()


def _masked_now(
    docs: Sequence[CausalityDocument], model: Path | None, operating_point: str | None
) -> tuple[list[MaskedOutput], list[str]]:
    """What the model makes of the gold, and the ids of documents that failed."""
    from inverse_deid.masking.assemble import MaskingSettings, build_deidentifier

    # Only figures are written, so low thresholds let no text out.
    settings = MaskingSettings(
        model=model, operating_point=operating_point or "balanced", allow_low_thresholds=True
    )
    found = build_deidentifier(settings).mask_many([doc.doc for doc in docs])
    outputs = [MaskedOutput(result.id, result.masks, result.text) for result in found]
    return outputs, [result.id for result in found if result.failed]


def measured(docs: Sequence[CausalityDocument], outputs: Sequence[MaskedOutput]) -> UtilityResult:
    """Hold masks against both kinds of marks.

    Raises:
        AnnotationError: Masks and gold do not belong together.
    """
    kept = utility_of(docs, outputs)
    phi = evaluate_masks([doc.doc for doc in docs], {output.id: output.masks for output in outputs})
    return UtilityResult(phi, kept, best_case(docs))


def utility_lines(result: UtilityResult) -> Iterator[str]:
    """The figures as plain, aligned text."""
    yield from aligned([("narratives", f"{len(result.kept.ids):,}")])
    yield ""
    rows = [(title, result.phi.figure(name)) for name, title in _PHI_TITLES.items()]
    yield from aligned(
        [("masking", "share", "part", "of"), *((title, *_share_cells(share)) for title, share in rows)]
    )
    yield ""
    yield from aligned(list(_item_rows(result)))
    yield ""
    yield from aligned(list(_narrative_rows(result)))
    yield ""
    yield from _NOTES


def _item_rows(result: UtilityResult) -> Iterator[tuple[str, ...]]:
    """One row a kind; kinds without items are left out."""
    yield "for causality assessment", "items kept", "part", "of", "at best", "words kept"
    for column, title in _TITLES.items():
        kept, best = result.kept.figures(column), result.at_best.figures(column)
        if kept.items.whole:
            yield title, *_share_cells(kept.items), percent(best.items), percent(kept.tokens)


def _narrative_rows(result: UtilityResult) -> Iterator[tuple[str, ...]]:
    """As `_item_rows`, for narratives."""
    yield "narratives that lost none", "share", "part", "of", "95 % interval", "at best"
    for column, title in _TITLES.items():
        share = result.kept.figures(column).narratives
        if share.whole:
            interval = interval_text(clopper_pearson(share.part, share.whole))
            yield title, *_share_cells(share), interval, percent(result.at_best.figures(column).narratives)


def _share_cells(share: Share) -> tuple[str, str, str]:
    return percent(share), f"{share.part:,}", f"{share.whole:,}"


def json_utility(result: UtilityResult) -> dict[str, Any]:
    """The figures with nothing rounded; an undefined share is None. No text of narratives."""
    kept = result.kept
    return {
        "format": FORMAT_NAME,
        "version": FORMAT_VERSION,
        "documents": len(kept.ids),
        "confidence": CONFIDENCE,
        "phi": {name: _json_share(result.phi.figure(name)) for name in _PHI_TITLES},
        "kept": {column: _json_kind(result, column) for column in COLUMNS},
        "thesis": {"narratives_without_loss": _json_share(_THESIS)},
        "notes": list(_NOTES),
        "by_document": [
            {"id": doc_id, "kept": _by_column(kept.items_kept[row]), "items": _by_column(kept.items[row])}
            for row, doc_id in enumerate(kept.ids)
        ],
    }


def _json_kind(result: UtilityResult, column: str) -> dict[str, Any]:
    figures, best = result.kept.figures(column), result.at_best.figures(column)
    interval = clopper_pearson(figures.narratives.part, figures.narratives.whole)
    bounds = {name: None if interval is None else getattr(interval, name) for name in ("low", "high")}
    return {
        "items": _json_share(figures.items),
        "items_at_best": _json_share(best.items),
        "tokens": _json_share(figures.tokens),
        "narratives_without_loss": {**_json_share(figures.narratives), **bounds},
        "narratives_at_best": _json_share(best.narratives),
    }


def _json_share(share: Share) -> dict[str, float | int | None]:
    return {"share": share.value, "part": share.part, "whole": share.whole}


def _by_column(row: Sequence[int]) -> dict[str, int]:
    return {column: int(n) for column, n in zip(COLUMNS, row, strict=True)}
