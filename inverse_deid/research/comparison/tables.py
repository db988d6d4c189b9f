"""The tables of a comparison, in the form of chapter 5 of the thesis."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from inverse_deid.evaluation.counts import GROUPS, Counts, GroupKind, group_number
from inverse_deid.evaluation.figures import FIGURES, Share, group_figures
from inverse_deid.evaluation.resampling import Figure, paired_permutation_test
from inverse_deid.evaluation.uncertainty import FEW_UNITS, Interval, Method
from inverse_deid.research.comparison.comparison import Comparison, Result
from inverse_deid.research.studies.tables import Cell, Table, frame_of

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
    """Return all tables: methods, categories, their intervals, further figures, systems."""
    return [
        _methods_table(comparison),
        _categories_table(comparison),
        _intervals_table(comparison),
        _further_table(comparison),
        _systems_table(comparison),
    ]


def _with_bounds(title: str) -> tuple[str, str, str]:
    """Return the columns of a share with its interval."""
    return title, f"{title} low", f"{title} high"


def _estimate(share: Share, interval: Interval | None) -> tuple[float | None, float | None, float | None]:
    """Return a share and the bounds of its interval."""
    return (share.value, None, None) if interval is None else (share.value, interval.low, interval.high)


def _methods_table(comparison: Comparison) -> Table:
    """HIPAA recall and precision of every system, in the form of tables 5.3 and 5.8 of the thesis."""
    figures = {"HIPAA recall": "recall_hipaa", "precision": "precision"}
    rows: list[tuple[Cell, ...]] = []
    for result in comparison.results:
        cells: list[Cell] = [result.name]
        for name in figures.values():
            cells += _estimate(result.evaluation.figure(name), result.intervals.figures[name])
        cells += [_p_value(comparison, result, FIGURES[name]) for name in figures.values()]
        speed = None if result.tokens_per_second is None else round(result.tokens_per_second)
        rows.append((*cells, speed))
    shares = [column for title in figures for column in _with_bounds(title)]
    columns = ("system", *shares, *(f"p, {title}" for title in figures), "tokens per second")
    return Table(
        "methods",
        "Comparison of methods",
        frame_of(columns, rows),
        tuple(_notes(comparison)),
        digits=4,
        intervals=frozenset(figures),
        exact_ends=True,
    )


def _p_value(comparison: Comparison, result: Result, figure: Figure) -> float | None:
    """Of the paired test against the reference; None for the reference itself or without one."""
    reference = comparison.reference_result
    if reference is None or reference is result:
        return None
    test = paired_permutation_test(
        result.evaluation.counts,
        reference.evaluation.counts,
        figure,
        comparison.clusters,
        seed=comparison.settings.seed,
    )
    return None if test is None else test.p_value


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


@dataclass(frozen=True, slots=True)
class _Category:
    """A row of categories: the column of its group, and its title."""

    number: int
    title: str

    def recall(self, counts: Counts) -> Share:
        return group_figures(counts, self.number).recall

    def estimate(self, result: Result) -> tuple[float | None, float | None, float | None]:
        intervals = result.intervals
        is_all = GROUPS[self.number].kind is GroupKind.ALL
        interval = intervals.figures["recall_all"] if is_all else intervals.group(self.number, "recall")
        return _estimate(self.recall(result.evaluation.counts), interval)


def _categories(comparison: Comparison, *, has_fine: bool) -> Iterator[_Category]:
    """Yield the hyper-classes with PHI, under each its fine types if it has several, and all PHI."""
    phi = comparison.results[0].evaluation.counts.phi
    present = [group for group in GROUPS if phi[:, group_number(group.kind, group.name)].any()]
    for whole in present:
        if whole.kind is not GroupKind.HYPER:
            continue
        yield _Category(group_number(whole.kind, whole.name), whole.name)
        for group in present if has_fine else ():
            if group.kind is GroupKind.FINE and group.types < whole.types:
                yield _Category(group_number(group.kind, group.name), f"- {group.name}")
    yield _Category(group_number(GroupKind.ALL), "all PHI")


def _categories_table(comparison: Comparison) -> Table:
    """Recall by category and system, in the form of tables 5.4 and 5.11 of the thesis."""
    counts = [result.evaluation.counts for result in comparison.results]
    rows = [
        (row.title, row.recall(counts[0]).whole, *(row.recall(one).value for one in counts))
        for row in _categories(comparison, has_fine=True)
    ]
    columns = ("category", "tokens", *(result.name for result in comparison.results))
    return Table("categories", "Recall by category", frame_of(columns, rows), exact_ends=True)


def _intervals_table(comparison: Comparison) -> Table:
    """The recall of each category with its interval and its test, a row per system."""
    rows = [
        (row.title, result.name, *row.estimate(result), _p_value(comparison, result, row.recall))
        for row in _categories(comparison, has_fine=False)
        for result in comparison.results
    ]
    return Table(
        "category-intervals",
        "Recall by category, intervals and tests",
        frame_of(("category", "system", *_with_bounds("recall"), "p"), rows),
        digits=4,
        intervals=frozenset({"recall"}),
        exact_ends=True,
    )


def _further_table(comparison: Comparison) -> Table:
    """The other figures of the evaluation, a row per figure."""
    rows: list[tuple[Cell, ...]] = []
    for name, title in _FURTHER.items():
        estimates = [
            _estimate(result.evaluation.figure(name), result.intervals.figures[name])
            for result in comparison.results
        ]
        rows.append((title, *(cell for estimate in estimates for cell in estimate)))
    names = [result.name for result in comparison.results]
    return Table(
        "further",
        "Further figures",
        frame_of(("figure", *(column for name in names for column in _with_bounds(name))), rows),
        ("precision, longer tokens right and wrong once each: as the thesis counts.",),
        intervals=frozenset(names),
        exact_ends=True,
    )


def _systems_table(comparison: Comparison) -> Table:
    """Title and source of each system, number of training documents, and time of learning."""
    rows = [
        (
            result.name,
            result.title,
            result.source,
            result.learned_from,
            None if result.learning_seconds is None else round(result.learning_seconds),
        )
        for result in comparison.results
    ]
    note = (
        "The packaged model learned before, from other and more documents than the systems that learn here."
    )
    columns = ("system", "title", "source", "learned from documents", "learning seconds")
    return Table("systems", "Systems", frame_of(columns, rows), (note,))
