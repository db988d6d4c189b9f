"""An evaluation as a table for people: numbers, no narrative text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from inverse_deid.evaluation.counts import SafeKind
from inverse_deid.evaluation.curves import ReliabilityBin, ScoreFigures
from inverse_deid.evaluation.evaluation import Evaluation, Intervals, intervals_of
from inverse_deid.evaluation.figures import GroupFigures, Share, group_figures, over_masking
from inverse_deid.evaluation.groups import GROUPS, GroupKind, group_number
from inverse_deid.evaluation.plain_text import aligned, interval_text, percent
from inverse_deid.evaluation.uncertainty import FEW_UNITS, Interval, Method

_TITLES = {
    "recall_hipaa": "PHI masked, HIPAA categories (recall)",
    "recall_hipaa_corrected": "  corrected for harmless tokens",
    "recall_all": "PHI masked, all categories (recall)",
    "recall_all_corrected": "  corrected for harmless tokens",
    "recall_short_names": "names of at most 3 characters",
    "precision": "of what is masked, PHI (precision)",
    "precision_overlap": "  longer tokens right and wrong once each",
    "safe_kept": "safe tokens kept",
    "documents_without_leak": "documents without a leak, of those with PHI",
    "documents_without_hipaa_leak": "  HIPAA categories",
    "entities_masked": "identifiers with all mentions masked",
}
_KIND_TITLES = {
    SafeKind.WORD: "other words",
    SafeKind.CLINICAL: "clinical words",
    SafeKind.NUMBER: "numbers",
    SafeKind.MIXED: "letters and digits",
}


def table_lines(
    evaluation: Evaluation, intervals: Intervals | None = None, scores: ScoreFigures | None = None
) -> Iterator[str]:
    """The evaluation as plain, aligned text.

    Args:
        evaluation: What was counted.
        intervals: Of this evaluation; None: by documents, with the settings that are usual.
        scores: What `p_safe` alone is worth, if it is known.
    """
    intervals = intervals_of(evaluation) if intervals is None else intervals
    yield from _head_lines(evaluation)
    yield ""
    head = ("", "share", _interval_head(intervals), "part", "of")
    yield from aligned([head, *_figure_rows(evaluation, intervals)])
    yield ""
    yield from aligned(list(_category_rows(evaluation, intervals)))
    yield ""
    yield from aligned(list(_over_masking_rows(evaluation)))
    if scores is not None:
        yield ""
        yield from _score_lines(scores, _interval_head(intervals))
    yield ""
    yield from note_lines(intervals, scores)


def note_lines(intervals: Intervals, scores: ScoreFigures | None = None) -> Iterator[str]:
    """What a reader must know of the figures, a sentence a line."""
    yield "Figures count tokens: runs of letters and digits, of PHI only what lies inside the marks."
    drawn = f"drawn {intervals.n_resamples:,} times (seed {intervals.seed})"
    if intervals.unit == "document":
        yield (
            f"Tokens of one document are not independent: intervals are by documents, {drawn}; for shares of "
            f"documents they are {Method.CLOPPER_PEARSON}'s."
        )
    else:
        yield (
            "Tokens of one document, and documents of one patient, are not independent: intervals are by "
            f"patients, {drawn}."
        )
    every = [*intervals.figures.values(), *(i for named in intervals.groups.values() for i in named.values())]
    if any(interval is not None and interval.method is Method.ALIKE for interval in every):
        yield (
            f"* Draws were alike: {Method.CLOPPER_PEARSON}'s interval, with each {intervals.unit} that has "
            "something to count as one trial."
        )
    if intervals.n_units_with_phi < FEW_UNITS:
        yield (
            f"{intervals.unit.capitalize()}s with PHI: only {intervals.n_units_with_phi}. Intervals by "
            f"drawing fewer than {FEW_UNITS} are too narrow."
        )
    elif few := _few(intervals):
        yield (
            f"Fewer than {FEW_UNITS} {intervals.unit}s hold {', '.join(few)}: intervals by drawing so few "
            "are too narrow."
        )
    if scores is not None:
        yield (
            "p_safe alone: held against one threshold, without the rules. Its intervals take tokens as "
            "independent and are too narrow."
        )


def _few(intervals: Intervals) -> list[str]:
    """Names of the categories with an interval that was drawn from too few units."""
    drawn = {
        number
        for number, named in intervals.groups.items()
        if any(interval is not None and interval.method is Method.BOOTSTRAP for interval in named.values())
    }
    few = [number for number, n in intervals.n_units_of_group.items() if n < FEW_UNITS and number in drawn]
    return list(dict.fromkeys(GROUPS[number].name for number in few))


def _interval_head(intervals: Intervals) -> str:
    return f"{100 * intervals.confidence:g} % interval"


def _figure_rows(evaluation: Evaluation, intervals: Intervals) -> Iterator[tuple[str, ...]]:
    for name, title in _TITLES.items():
        named, shown, part, whole = _share_row(title, evaluation.figure(name))
        yield named, shown, interval_text(intervals.figures[name]), part, whole


def _head_lines(evaluation: Evaluation) -> Iterator[str]:
    counts = evaluation.counts
    in_all = group_figures(counts, group_number(GroupKind.ALL))
    rows: list[tuple[str, ...]] = [
        ("documents", f"{len(counts):,}"),
        ("  with PHI", f"{in_all.documents_without_leak.whole:,}"),
        ("tokens", f"{int(counts.tokens.sum()):,}"),
        ("  masked", f"{int(counts.masked.sum()):,}"),
        ("PHI tokens", f"{in_all.recall.whole:,}"),
    ]
    if evaluation.missing:
        rows.insert(1, ("  missing", f"{len(evaluation.missing):,}"))
    yield from aligned(rows)
    if evaluation.missing:
        yield "Missing documents are counted as unmasked."


def _share_row(title: str, share: Share) -> tuple[str, ...]:
    return title, percent(share), f"{share.part:,}", f"{share.whole:,}"


def _category_rows(evaluation: Evaluation, intervals: Intervals) -> Iterator[tuple[str, ...]]:
    """A hyper-class and, under it, its fine types; those without PHI are left out."""
    head = _interval_head(intervals)
    yield (
        "category",
        "recall",
        head,
        "corrected",
        "tokens",
        "missed",
        "documents",
        "without leak",
        head,
        "identifiers",
    )
    for hyper in GROUPS:
        if hyper.kind is GroupKind.HYPER:
            fine = [g for g in GROUPS if g.kind is GroupKind.FINE and g.types <= hyper.types]
            rows = [hyper, *(fine if len(fine) > 1 else ())]
            for group in rows:
                figures = evaluation.group(group.kind, group.name)
                if figures.documents_without_leak.whole:
                    of_group = intervals.groups.get(group_number(group.kind, group.name), {})
                    yield _category_row("  " * (group is not hyper) + group.name, figures, of_group)


def _category_row(
    title: str, figures: GroupFigures, intervals: Mapping[str, Interval | None]
) -> tuple[str, ...]:
    recall, documents = figures.recall, figures.documents_without_leak
    return (
        title,
        percent(recall),
        interval_text(intervals.get("recall")),
        percent(figures.corrected_recall),
        f"{recall.whole:,}",
        f"{recall.whole - recall.part:,}",
        f"{documents.whole:,}",
        percent(documents),
        interval_text(intervals.get("documents_without_leak")),
        percent(figures.entities_masked),
    )


def _over_masking_rows(evaluation: Evaluation) -> Iterator[tuple[str, ...]]:
    yield "masked though safe", "share", "part", "of"
    shares = over_masking(evaluation.counts)
    for kind, share in shares.items():
        if kind is not SafeKind.CLINICAL or evaluation.has_clinical:
            yield _share_row(_KIND_TITLES[kind], share)
    parts = [share.part for share in shares.values()]
    yield _share_row("all", Share(sum(parts), sum(share.whole for share in shares.values())))


def _score_lines(scores: ScoreFigures, interval_head: str) -> Iterator[str]:
    """Average precision and reliability of `p_safe`, without the bins that are empty."""
    found = scores.reliability
    precision = "-" if scores.curve is None else f"{scores.curve.average_precision:.4f}"
    error = found.expected_calibration_error
    yield from aligned(
        [
            ("p_safe alone: average precision", precision),
            ("  expected calibration error", "-" if error is None else f"{error:.4f}"),
            ("  tokens without p_safe", f"{found.n_unknown:,}"),
        ]
    )
    yield ""
    yield from aligned(
        [
            ("p_safe", "mean", "really safe", interval_head, "part", "of"),
            *(_bin_row(row) for row in found.bins if row.safe.whole),
        ]
    )


def _bin_row(row: ReliabilityBin) -> tuple[str, ...]:
    title, shown, part, whole = _share_row(f"{row.low:.2f} to {row.high:.2f}", row.safe)
    return title, f"{row.mean_p_safe:.4f}", shown, interval_text(row.interval), part, whole
