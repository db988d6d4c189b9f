"""The report of a comparison: tables in the form of chapter 5 of the thesis, and the folder of all files.

::

    report.md            provenance and tables
    NAME.csv             each table, nothing rounded
    comparison.json      all figures, for programs
    masks/SYSTEM.jsonl   {"id", "masks": [[start, end], ...]}: offsets, no text
"""

from __future__ import annotations

import functools
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from inverse_deid import __version__
from inverse_deid.core.errors import OutputExistsError, Remedy
from inverse_deid.core.files import output_errors, printable, write_folder
from inverse_deid.core.revision import require_clean_revision, revision
from inverse_deid.evaluation.evaluation import Evaluation
from inverse_deid.evaluation.measures.counts import GROUPS, Counts, GroupKind, group_number
from inverse_deid.evaluation.measures.figures import FIGURES, Share, encode_record, group_figures
from inverse_deid.evaluation.measures.resampling import Figure, paired_difference, paired_permutation_test
from inverse_deid.evaluation.measures.uncertainty import FEW_UNITS, Interval, Method
from inverse_deid.evaluation.report import build_report
from inverse_deid.lexicon import load_lexicon
from inverse_deid.masking.assemble import packaged_model
from inverse_deid.network.folder import model_fingerprint
from inverse_deid_research.comparison.comparison import RECALLS, Comparison, Result
from inverse_deid_research.studies.records import read_json
from inverse_deid_research.studies.report import Provenance, Report
from inverse_deid_research.studies.tables import Cell, Table, read_forms

Rows = Iterator[tuple[Cell, ...]]

FORMAT_NAME = "inverse-deid comparison"
FORMAT_VERSION = 1
_MANIFEST = "comparison.json"


def check_folder(folder: Path, *, force: bool) -> None:
    """Refuse a folder that contains something, before a long run; `force` allows an earlier comparison.

    Raises:
        ConfigurationError: See `require_clean_revision`.
        OutputExistsError: It may not be written.
    """
    require_clean_revision(folder)
    if not folder.exists() and not folder.is_symlink():
        return
    name = printable(folder)
    other = Remedy("out", step="choose another one with {}")
    if not folder.is_dir():
        raise OutputExistsError(f"{name}: exists and is not a folder", remedies=[other])
    with output_errors(folder):
        is_empty = not any(folder.iterdir())
    if is_empty:
        return
    if read_json(folder / _MANIFEST).get("format") != FORMAT_NAME:
        raise OutputExistsError(f"{name}: not empty, and not the folder of a comparison", remedies=[other])
    if not force:
        raise OutputExistsError(
            f"{name}: contains a comparison", remedies=[Remedy("force", step="use {} to replace it")]
        )


def write_comparison(
    folder: Path, comparison: Comparison, *, command: str, device: str, n_seconds: float
) -> list[Table]:
    """Write a folder that passed `check_folder`, and return the tables of the report.

    An earlier comparison there is removed only when the new one is complete.

    Raises:
        OutputError: It cannot be written.
    """
    model, lexicon = model_fingerprint(packaged_model()), load_lexicon().sha256
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
        provenance=Provenance(
            command=command,
            device=device,
            seeds=[comparison.settings.seed],
            hashes=comparison.hashes,
            settings={"packaged model": f"sha256 `{model}`", "packaged lexicon": f"sha256 `{lexicon}`"},
            n_seconds={"comparing": n_seconds},
        ),
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
    """Return the comparison with nothing rounded, without the counts of each document."""
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
        "at_equal_recall": [
            {
                "system": name,
                "recall_of": recall,
                **{figure: found and found.value(figure) for figure in ("recall_hipaa", "precision")},
            }
            for (name, recall), found in comparison.moved.items()
        ],
    }


_FORMS = read_forms("inverse_deid_research.comparison")
_MAIN = ("recall_hipaa", "precision")
"""The figures that systems are compared by."""
_FURTHER = {
    "recall_all": "recall, all PHI",
    "recall_all_corrected": "corrected for harmless tokens",
    "recall_short_names": "names of at most 3 characters",
    "precision_overlap": "precision, longer tokens right and wrong once each",
    "safe_kept": "safe tokens kept",
    "documents_without_leak": "documents without a leak",
    "documents_without_hipaa_leak": "documents without a HIPAA leak",
    "entities_masked": "identifiers with all mentions masked",
}


def comparison_tables(comparison: Comparison) -> list[Table]:
    """Return all tables; those at equal recall only where systems were moved to one."""
    rows = {
        "methods": _list_methods(comparison),
        "categories": _list_categories(comparison),
        "category-intervals": _list_category_intervals(comparison),
        "further": _list_further(comparison),
        "systems": _list_systems(comparison),
    }
    if comparison.moved:
        rows["differences"] = _list_differences(comparison)
        rows["equal-recall"] = _list_equal_recall(comparison)
        rows["own-recall"] = _list_own_recall(comparison)
    values = {
        "about": list(_notes(comparison)),
        "paired": _PAIRED,
        "picked": _PICKED,
        "reference": comparison.reference,
        "systems": [result.name for result in comparison.results],
    }
    return [form.fill(rows[name], **values) for name, form in _FORMS.items() if name in rows]


def _estimate(share: Share, interval: Interval | None) -> tuple[float | None, float | None, float | None]:
    return (share.value, None, None) if interval is None else (share.value, interval.low, interval.high)


def _list_methods(comparison: Comparison) -> Rows:
    for result in comparison.results:
        shares = [
            cell
            for name in _MAIN
            for cell in _estimate(result.evaluation.figure(name), result.intervals.figures[name])
        ]
        tests = (_p_value(comparison, result, FIGURES[name]) for name in _MAIN)
        speed = None if result.tokens_per_second is None else round(result.tokens_per_second)
        yield (result.name, *shares, *tests, speed)


def _p_value(comparison: Comparison, result: Result, figure: Figure) -> float | None:
    # None for the reference itself or without one.
    reference = comparison.reference_result
    if reference is None or reference is result:
        return None
    mine, theirs = result.evaluation.counts, reference.evaluation.counts
    seed = comparison.settings.seed
    test = paired_permutation_test(mine, theirs, figure, comparison.clusters, seed=seed)
    return None if test is None else test.p_value


def _difference(comparison: Comparison, mine: Evaluation, other: Evaluation, figure: str) -> list[Cell]:
    """Return how far a figure is above that of another system, the bounds, and on which side it surely is."""
    seed = comparison.settings.seed
    found = paired_difference(mine.counts, other.counts, FIGURES[figure], comparison.clusters, seed=seed)
    return [None] * 4 if found is None else [found.value, found.low, found.high, found.judge()]


_PAIRED = (
    "In brackets 95 % intervals of paired differences: the documents are drawn as above, the same for both "
    "systems. Undecided: the interval includes 0."
)
_PICKED = (
    "The thresholds are picked on the test documents, for all systems alike: the lowest that reaches the "
    "recall. It may be passed where many tokens have one score, and where rules mask at every threshold. So "
    "the table compares how systems order the tokens, not what a user can expect. The thresholds stay the "
    "same when documents are drawn."
)


def _list_differences(comparison: Comparison) -> Rows:
    reference = comparison.reference_result
    for result in comparison.results:
        if reference is not None and result is not reference:
            pairs = (_difference(comparison, result.evaluation, reference.evaluation, name) for name in _MAIN)
            yield (result.name, *(cell for cells in pairs for cell in cells))


def _list_equal_recall(comparison: Comparison) -> Rows:
    reference = str(comparison.reference)
    for recall in (reference, *RECALLS):
        other = comparison.moved[reference, recall]
        title = f"that of {recall}" if isinstance(recall, str) else f"{recall:g}"
        for (name, at), found in comparison.moved.items():
            if at == recall:
                cells: list[Cell] = [None] * 6
                if found is not None:
                    cells[:2] = found.value("recall_hipaa"), found.value("precision")
                if found is not None and other is not None and name != reference:
                    cells[2:] = _difference(comparison, found, other, "precision")
                yield (title, name, *cells)


def _list_own_recall(comparison: Comparison) -> Rows:
    reference = str(comparison.reference)
    for result in comparison.results:
        if (reference, result.name) in comparison.moved and result.name != reference:
            mine, other = result.evaluation, comparison.moved[reference, result.name]
            cells: list[Cell] = [None] * 6
            if other is not None:
                cells = [other.value("recall_hipaa"), other.value("precision")]
                cells += _difference(comparison, mine, other, "precision")
            yield (result.name, mine.value("recall_hipaa"), mine.value("precision"), *cells)


def _notes(comparison: Comparison) -> Iterator[str]:
    first = comparison.results[0].intervals
    is_single = first.unit == "document"
    grouped = "" if is_single else ", or documents that share a patient or text,"
    unit = "documents" if is_single else "groups of documents"
    of_documents = "and for shares of documents, " if is_single else ""
    yield (
        f"In brackets {100 * first.confidence:g} % intervals. Tokens of one document{grouped} are not "
        f"independent: {first.n_units:,} {unit} ({first.n_units_with_phi:,} with PHI) are drawn "
        f"{first.n_resamples:,} times; where all draws are alike, {of_documents}the interval is that of "
        f"{Method.CLOPPER_PEARSON}."
    )
    if first.n_units_with_phi < FEW_UNITS:
        yield (
            f"Only {first.n_units_with_phi} {unit} with PHI: intervals by drawing fewer than {FEW_UNITS} are "
            "too narrow."
        )
    yield (
        "Tokens per second: masking alone, the test documents once after a warm-up, on as many threads as "
        "the system takes by itself."
    )
    if comparison.reference is None:
        yield "No reference is compared: there are no tests."
        return
    yield (
        f"p: two-sided paired permutation test against {comparison.reference}, whole {unit} swapped. It is "
        "not corrected for the number of comparisons."
    )


def _recall_of(group: int, counts: Counts) -> Share:
    return group_figures(counts, group).recall


def _categories(comparison: Comparison, *, has_fine: bool) -> Iterator[tuple[str, int]]:
    phi = comparison.results[0].evaluation.counts.phi
    numbers = {group: group_number(group.kind, group.name) for group in GROUPS}
    present = [group for group in GROUPS if phi[:, numbers[group]].any()]
    for whole in (group for group in present if group.kind is GroupKind.HYPER):
        yield whole.name, numbers[whole]
        for group in present if has_fine else ():
            if group.kind is GroupKind.FINE and group.types < whole.types:
                yield f"- {group.name}", numbers[group]
    yield "all PHI", group_number(GroupKind.ALL)


def _list_categories(comparison: Comparison) -> Rows:
    for title, group in _categories(comparison, has_fine=True):
        shares = [_recall_of(group, result.evaluation.counts) for result in comparison.results]
        yield (title, shares[0].whole, *(share.value for share in shares))


def _list_category_intervals(comparison: Comparison) -> Rows:
    for title, group in _categories(comparison, has_fine=False):
        recall = functools.partial(_recall_of, group)
        for result in comparison.results:
            is_all = GROUPS[group].kind is GroupKind.ALL
            figures = result.intervals
            interval = figures.figures["recall_all"] if is_all else figures.group(group, "recall")
            cells = _estimate(recall(result.evaluation.counts), interval)
            yield (title, result.name, *cells, _p_value(comparison, result, recall))


def _list_further(comparison: Comparison) -> Rows:
    for figure, title in _FURTHER.items():
        cells: list[Cell] = [title]
        for result in comparison.results:
            cells += _estimate(result.evaluation.figure(figure), result.intervals.figures[figure])
        yield tuple(cells)


def _list_systems(comparison: Comparison) -> Rows:
    for one in comparison.results:
        seconds = None if one.learning_seconds is None else round(one.learning_seconds)
        yield (one.name, one.title, one.source, one.learned_from, seconds)
