"""`inverse-deid utility`: measure the facts for causality assessment that masking keeps."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from inverse_deid.choices.records import Surface
from inverse_deid.cli.parts.choice_options import choice_options, take_choices
from inverse_deid.cli.parts.messages import name_choice
from inverse_deid.cli.parts.report_files import check_target, write_json
from inverse_deid.core.errors import ConfigurationError, name_documents
from inverse_deid.core.wording import N_, _
from inverse_deid.evaluation.causality_set import (
    CausalityDocument,
    packaged_causality_set,
    read_causality_set,
)
from inverse_deid.evaluation.masked_files import MaskedOutput, read_masked
from inverse_deid.evaluation.measures.figures import encode_record
from inverse_deid.evaluation.measures.uncertainty import clopper_pearson
from inverse_deid.evaluation.plain_text import align, format_interval, format_share, share_cells
from inverse_deid.evaluation.provenance import trace_sources
from inverse_deid.evaluation.utility import (
    ALL,
    FORMAT_NAME,
    NOTES,
    UtilityResult,
    measure_utility,
    report_utility,
)

if TYPE_CHECKING:
    from inverse_deid.masking.choices import Chosen

SOME_FAILED = 1

_PATH = click.Path(path_type=Path)
_FILE = click.Path(dir_okay=False, path_type=Path)
_PHI_TITLES = {
    "recall_all": N_("identifying words masked (recall)"),
    "recall_hipaa": N_("  HIPAA categories"),
    "precision": N_("of what is masked, identifying (precision)"),
    "documents_without_leak": N_("narratives without a leak, of those with identifiers"),
}
_TITLES = {
    ALL: N_("everything"),
    "DRUG": N_("drugs"),
    "SUSPECT": N_("  suspected"),
    "CONCOMITANT": N_("  taken as well"),
    "DOSE": N_("doses"),
    "REACTION": N_("reactions"),
    "ONSET": N_("time to onset"),
    "DECHALLENGE": N_("dechallenge"),
    "RECHALLENGE": N_("rechallenge"),
    "LAB": N_("tests and measurements"),
    "SERIOUSNESS": N_("seriousness"),
    "TREATMENT": N_("treatment of the reaction"),
    "OUTCOME": N_("outcome"),
    "HISTORY": N_("history"),
}


@click.command()
@click.argument("masked", type=_PATH, required=False)
@click.option(
    "--gold", type=_FILE, help=_("JSON Lines with both kinds of marks.  [default: an invented set]")
)
@click.option("--json", "json_path", type=_FILE, help=_("Write all figures as JSON, exact and by narrative."))
@choice_options(Surface.UTILITY)
@click.option("--force", is_flag=True, help=_("Overwrite the JSON file of an earlier run."))
def utility(
    masked: Path | None,
    gold: Path | None,
    json_path: Path | None,
    force: bool,
    **given: Any,  # noqa: ANN401 - choices of masking
) -> int:
    """Measure the facts for causality assessment that masking keeps, and the identifiers that it leaks.

    Without MASKED, the packaged model masks the gold set. With MASKED, the masks of
    any system are measured: JSON Lines of {"id", "masks": [[start, end], ...]}. Add
    "text" if dates are replaced instead of lost, and give no choices of masking.
    docs/utility.md describes the marks and the packaged gold set.

    Exit status: 0 done. 1 some documents failed and count as masked whole. 2
    refused, nothing was written.
    """
    choices = take_choices(given)
    if masked is not None and choices:
        chosen = _(" and ").join(map(name_choice, choices, choices.values()))
        raise ConfigurationError(
            _("{chosen} would mask the gold set. Leave it out, or MASKED", chosen=chosen)
        )
    if json_path is not None:
        check_target(json_path, FORMAT_NAME, force=force)
    docs = read_causality_set(gold)
    failed: Sequence[str] = ()
    if masked is None:
        outputs, failed = _mask_gold(docs, choices)
    else:
        outputs = read_masked(masked)
    result = measure_utility(docs, outputs)
    if json_path is not None:
        read = trace_sources(
            gold=gold or packaged_causality_set(),
            masked=masked,
            **({} if masked is not None else _find_readers(choices)),
        )
        write_json(json_path, encode_record(report_utility(result, read)))
    for line in utility_lines(result):
        click.echo(line)
    if failed:
        click.echo(
            _("inverse-deid: failed and masked whole: {documents}", documents=name_documents(failed)),
            err=True,
        )
    return SOME_FAILED if failed else 0


def _choose(choices: Mapping[str, Any]) -> Chosen:
    from inverse_deid.masking.assemble import MaskingSettings
    from inverse_deid.masking.choices import choose_settings

    # Only figures are written, so low thresholds release no text.
    base = MaskingSettings(allow_low_thresholds=True)
    return choose_settings(base, choices, date.min, surface=Surface.UTILITY)


def _find_readers(choices: Mapping[str, Any]) -> dict[str, Path]:
    """Return the folders that mask the gold set, by role."""
    from inverse_deid.masking.assemble import find_reading, packaged_model, packaged_second_reader

    settings = _choose(choices).masking
    second = {"second_reader": packaged_second_reader()} if find_reading(settings) == "careful" else {}
    return {"model": settings.model or packaged_model(), **second}


def _mask_gold(
    docs: Sequence[CausalityDocument], choices: Mapping[str, Any]
) -> tuple[list[MaskedOutput], list[str]]:
    from inverse_deid.masking.assemble import build_deidentifier

    chosen = _choose(choices)
    for note in chosen.notes:
        click.echo(_("WARNING: {note}.", note=note), err=True)
    found = build_deidentifier(chosen.masking).mask_many([doc.doc for doc in docs])
    outputs = [MaskedOutput(result.id, result.masks, result.text) for result in found]
    return outputs, [result.id for result in found if result.failed]


def utility_lines(result: UtilityResult) -> Iterator[str]:
    yield from align([(_("narratives"), f"{len(result.kept.ids):,}")])
    yield ""
    rows = [(_(title), result.phi.figure(name)) for name, title in _PHI_TITLES.items()]
    yield from align(
        [
            (_("masking"), _("share"), _("part"), _("of")),
            *((title, *share_cells(share)) for title, share in rows),
        ]
    )
    yield ""
    yield from align(list(_item_rows(result)))
    yield ""
    yield from align(list(_narrative_rows(result)))
    yield ""
    yield from map(_, NOTES)


def _item_rows(result: UtilityResult) -> Iterator[tuple[str, ...]]:
    yield _("for causality assessment"), _("items kept"), _("part"), _("of"), _("at best"), _("words kept")
    for column, title in _TITLES.items():
        kept, best = result.kept.figures(column), result.at_best.figures(column)
        if kept.items.whole:
            yield _(title), *share_cells(kept.items), format_share(best.items), format_share(kept.tokens)


def _narrative_rows(result: UtilityResult) -> Iterator[tuple[str, ...]]:
    yield _("narratives that lost none"), _("share"), _("part"), _("of"), _("95 % interval"), _("at best")
    for column, title in _TITLES.items():
        share = result.kept.figures(column).narratives
        if share.whole:
            interval = format_interval(clopper_pearson(share.part, share.whole))
            yield (
                _(title),
                *share_cells(share),
                interval,
                format_share(result.at_best.figures(column).narratives),
            )
