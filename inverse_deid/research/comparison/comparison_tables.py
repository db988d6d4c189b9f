"""The tables of a comparison, in the form of chapter 5 of the thesis."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from inverse_deid.evaluation.counts import Counts
from inverse_deid.evaluation.figures import FIGURES, Share, group_figures
from inverse_deid.evaluation.groups import GROUPS, Group, GroupKind, group_number
from inverse_deid.evaluation.paired_test import paired_permutation_test
from inverse_deid.evaluation.resampling import Figure
from inverse_deid.evaluation.uncertainty import FEW_UNITS, Interval, Method
from inverse_deid.research.comparison.comparison import Comparison, Result
from inverse_deid.research.comparison.tables import Cell, Estimate, Table

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
    """All tables: the systems, methods, categories, further figures."""
    return [
        methods_table(comparison),
        categories_table(comparison),
        intervals_table(comparison),
        further_table(comparison),
        systems_table(comparison),
    ]


def methods_table(comparison: Comparison) -> Table:
    """HIPAA recall and precision of every system, as tables 5.3 and 5.8 of the thesis have them."""
    figures = {"HIPAA recall": "recall_hipaa", "precision": "precision"}
    rows: list[tuple[Cell, ...]] = []
    for result in comparison.results:
        estimates = [_overall(result, name) for name in figures.values()]
        p_values = [_p_value(comparison, result, FIGURES[name]) for name in figures.values()]
        speed = None if result.tokens_per_second is None else round(result.tokens_per_second)
        rows.append((result.name, *estimates, *p_values, speed))
    columns = ("system", *figures, *(f"p, {title}" for title in figures), "tokens per second")
    return Table(
        "methods",
        "Comparison of methods",
        columns,
        tuple(rows),
        frozenset(figures),
        tuple(_notes(comparison)),
        digits=4,
    )


def _overall(result: Result, name: str) -> Estimate:
    return _estimate(result.evaluation.figure(name), result.intervals.figures[name])


def _estimate(share: Share, interval: Interval | None) -> Estimate:
    if interval is None:
        return Estimate(share.value)
    return Estimate(share.value, interval.low, interval.high)


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
class _Row:
    """A category: the column of its group, and how it is called."""

    number: int
    title: str

    def recall(self, counts: Counts) -> Share:
        return group_figures(counts, self.number).recall

    def estimate(self, result: Result) -> Estimate:
        intervals = result.intervals
        is_all = GROUPS[self.number].kind is GroupKind.ALL
        interval = intervals.figures["recall_all"] if is_all else intervals.group(self.number, "recall")
        return _estimate(self.recall(result.evaluation.counts), interval)


def _hyper_rows(comparison: Comparison) -> Iterator[_Row]:
    """The hyper-classes with PHI, and all PHI."""
    for group in GROUPS:
        if group.kind is GroupKind.HYPER and _has_phi(comparison, group):
            yield _Row(group_number(group.kind, group.name), group.name)
    yield _Row(group_number(GroupKind.ALL), "all PHI")


def _has_phi(comparison: Comparison, group: Group) -> bool:
    counts = comparison.results[0].evaluation.counts
    return bool(counts.phi[:, group_number(group.kind, group.name)].any())


def _all_rows(comparison: Comparison) -> Iterator[_Row]:
    """Under each hyper-class its fine types, if it has several."""
    for row in _hyper_rows(comparison):
        yield row
        whole = GROUPS[row.number]
        fine = [group for group in GROUPS if group.kind is GroupKind.FINE and group.types < whole.types]
        for group in fine if whole.kind is GroupKind.HYPER else ():
            if _has_phi(comparison, group):
                yield _Row(group_number(group.kind, group.name), f"- {group.name}")


def categories_table(comparison: Comparison) -> Table:
    """Recall by category and system, as tables 5.4 and 5.11 of the thesis have it."""
    counts = comparison.results[0].evaluation.counts
    rows = tuple(
        (
            row.title,
            row.recall(counts).whole,
            *(row.recall(result.evaluation.counts).value for result in comparison.results),
        )
        for row in _all_rows(comparison)
    )
    return Table(
        "categories",
        "Recall by category",
        ("category", "tokens", *(result.name for result in comparison.results)),
        rows,
    )


def intervals_table(comparison: Comparison) -> Table:
    """The recall of each category with its interval and its test, a line a system."""
    rows = tuple(
        (
            row.title,
            result.name,
            row.estimate(result),
            _p_value(comparison, result, row.recall),
        )
        for row in _hyper_rows(comparison)
        for result in comparison.results
    )
    return Table(
        "category-intervals",
        "Recall by category, intervals and tests",
        ("category", "system", "recall", "p"),
        rows,
        frozenset({"recall"}),
        digits=4,
    )


def further_table(comparison: Comparison) -> Table:
    """The other figures of the evaluation, a line a figure."""
    rows: tuple[tuple[Cell, ...], ...] = tuple(
        (title, *(_overall(result, name) for result in comparison.results))
        for name, title in _FURTHER.items()
    )
    names = tuple(result.name for result in comparison.results)
    return Table(
        "further",
        "Further figures",
        ("figure", *names),
        rows,
        frozenset(names),
        ("precision, longer tokens right and wrong once each: as the thesis counts.",),
    )


def systems_table(comparison: Comparison) -> Table:
    """What each system is, what it learned from and how long that took."""
    rows = tuple(
        (
            result.name,
            result.title,
            result.source,
            result.learned_from,
            None if result.learning_seconds is None else round(result.learning_seconds),
        )
        for result in comparison.results
    )
    return Table(
        "systems",
        "Systems",
        ("system", "title", "source", "learned from documents", "learning seconds"),
        rows,
        notes=(
            "The packaged model learned before, from other and more documents than the systems that learn "
            "here.",
        ),
    )
