"""The sections of reports added with `evaluate --add`, and of the provenance."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from inverse_deid.evaluation.added_reports import AddedReport, ConceptReport
from inverse_deid.evaluation.grades import Agreement, GradeReport, GroupGrades
from inverse_deid.evaluation.page.blocks import (
    NumberTable,
    Section,
    TableRow,
    Value,
    tabulate_grid,
    tabulate_values,
)
from inverse_deid.evaluation.page.measures import (
    DASH,
    SETTING_LABELS,
    Measure,
    count_nouns,
    number,
    plain_label,
)
from inverse_deid.evaluation.provenance import Provenance, SourceFile
from inverse_deid.evaluation.risk import RiskEstimate, RiskReport
from inverse_deid.evaluation.utility import KeptRecord, UtilityReport


def show_added(added: Sequence[AddedReport]) -> Iterator[Section]:
    for kind, show in _SECTIONS.items():
        yield from (show(report) for report in added if isinstance(report, kind))


def _show_utility(report: UtilityReport) -> Section:
    def grid_row(record: KeptRecord) -> dict[str, Measure]:
        whole = record.narratives_without_loss
        return {
            "Items": Measure.of(record.items),
            "Items at best": Measure.of(record.items_at_best),
            "Words": Measure.of(record.tokens),
            "Narratives without loss": Measure(whole.share, whole.part, whole.whole, whole.low, whole.high),
            "Narratives at best": Measure.of(record.narratives_at_best),
        }

    sentence = (
        "Marked facts in the narratives that an assessor needs, and how many of them masking left whole."
    )
    tables = (
        tabulate_values("Overall", {"Documents": report.documents, "Confidence": report.confidence}),
        tabulate_values("Masking", {plain_label(n): Measure.of(share) for n, share in report.phi.items()}),
        tabulate_grid("Kept", {plain_label(name): grid_row(record) for name, record in report.kept.items()}),
        tabulate_values(
            "Thesis", {"Narratives without loss": Measure.of(report.thesis.narratives_without_loss)}
        ),
    )
    return Section("utility", "Facts kept for causality assessment", (sentence,), tables)


def _show_concepts(report: ConceptReport) -> Section:
    sentences = (
        "An extractor read the original and the masked texts. F1 counts concepts with the right type and "
        "the right start and end.",
        "The difference is masked less original. The p value is that of a paired permutation test over "
        "documents.",
    )
    tables = []
    for name, record in report.types.items():
        values = {field: getattr(record, field) for field in record.__struct_fields__}
        tables.append(
            tabulate_values(plain_label(name), {plain_label(field): n for field, n in values.items()})
        )
    return Section("extraction", "Effect on a search for concepts", sentences, tuple(tables))


def _show_risk(report: RiskReport) -> Section:
    def list_estimate(record: RiskEstimate) -> dict[str, Value]:
        documents = Measure.of(record.documents)
        return {"Documents at risk": documents, "Estimate": record.point, "Upper bound": record.upper}

    sentence = (
        "An estimate from the leaks, under the assumptions below, in the form of Scaiano et al. (2016). It "
        "does not prove that the documents are anonymous."
    )
    verdict = plain_label(report.verdict.value)
    overall: dict[str, Value | str] = {
        "Documents": report.documents,
        "Verdict": verdict,
        "Independent": report.independent,
    }
    assumed = report.assumptions
    settings = {field: getattr(assumed, field) for field in assumed.__struct_fields__}
    types: dict[str, dict[str, Value]] = {
        leaks.type.value: {
            "Is direct": leaks.is_direct,
            "Documents": Measure.of(leaks.documents),
            "Upper bound": leaks.upper,
            "Identifiers": Measure.of(leaks.identifiers),
        }
        for leaks in report.types.values()
    }
    tables = [
        tabulate_values("Overall", overall),
        tabulate_values("By direct identifiers", list_estimate(report.direct)),
        tabulate_values("By quasi-identifiers", list_estimate(report.quasi)),
        tabulate_values("By either", list_estimate(report.overall)),
        *([tabulate_grid("Leaks by type", types)] if types else []),
        tabulate_values(
            "Assumptions",
            {plain_label(name): value for name, value in settings.items() if not isinstance(value, tuple)},
        ),
    ]
    return Section("risk", "Risk of re-identification", (sentence,), tuple(tables))


def _show_grades(report: GradeReport) -> Section:
    settings = {
        "Reviewers": report.reviewers,
        "Confidence": report.confidence,
        "Resamples": report.resamples,
        "Seed": report.seed,
    }
    tables = [tabulate_values("Overall", settings)]
    for name, group in report.groups.items():
        tables += _tabulate_grades("All leaks" if name == "ALL" else name, group, report.grades)
    sentence = (
        "Reviewers graded every missed word as a direct identifier, an indirect identifier, or neither."
    )
    return Section("grades", "Identifiers that the missed words reveal", (sentence,), tuple(tables))


def _tabulate_grades(name: str, group: GroupGrades, grades: Sequence[str]) -> Iterator[NumberTable]:
    counts: dict[str, Value] = {
        "Leaks": group.leaks,
        "Documents": group.documents,
        "Direct to any reviewer": group.direct_to_any,
        "Direct to all reviewers": group.direct_to_all,
    }
    if group.agreement is None:
        counts["Agreement"] = None
    yield tabulate_values(name, counts)
    rows = {
        f"Reviewer {letter}": {
            "Direct": row.direct,
            "Indirect": row.indirect,
            "None": row.none,
            "Ungraded": row.ungraded,
        }
        for letter, row in zip("AB", group.by_reviewer, strict=False)
    }
    yield tabulate_grid(f"{name}: grades", rows)
    if group.agreement is not None:
        yield from _tabulate_agreement(name, group.agreement, grades)


def _tabulate_agreement(name: str, found: Agreement, grades: Sequence[str]) -> Iterator[NumberTable]:
    kappas = {"Kappa": found.kappa, "Linear kappa": found.linear_kappa}
    values = {label: Measure(kappa.value, low=kappa.low, high=kappa.high) for label, kappa in kappas.items()}
    yield tabulate_values(f"{name}: agreement", {"Observed": Measure.of(found.observed), **values})
    labels = [plain_label(grade) for grade in grades]
    rows = {
        f"A: {label.lower()}": {f"B: {other.lower()}": n for other, n in zip(labels, row, strict=True)}
        for label, row in zip(labels, found.table, strict=True)
    }
    yield tabulate_grid(f"{name}: grades of both reviewers", rows)


_SECTIONS: Mapping[type, Callable[[Any], Section]] = {
    UtilityReport: _show_utility,
    ConceptReport: _show_concepts,
    RiskReport: _show_risk,
    GradeReport: _show_grades,
}


def show_provenance(provenance: Provenance) -> Section:
    files = [
        TableRow((plain_label(role), *_describe_source(source)))
        for role, source in provenance.items()
        if isinstance(source, SourceFile)
    ]
    settings = [
        TableRow((_(SETTING_LABELS.get(name, plain_label(name))), _format_setting(value)))
        for name, value in provenance.items()
        if not isinstance(value, SourceFile)
    ]
    blocks = []
    if files:
        blocks.append(NumberTable("Files", ("Role", "Name", "SHA-256"), tuple(files), frozenset({1, 2})))
    if settings:
        blocks.append(NumberTable("Version and settings", ("", "Value"), tuple(settings), frozenset({1})))
    return Section("provenance", "How this was made", (), tuple(blocks))


def _describe_source(source: SourceFile) -> tuple[str, str]:
    # A folder has one hash over its files, because their names may be ids.
    if isinstance(source.sha256, str):
        return source.name, source.sha256
    listed = source.files or {}
    lines = "".join(f"{listed[path]}  {path}\n" for path in sorted(listed))
    digest = hashlib.sha256(lines.encode("utf-8", "replace")).hexdigest()
    return f"{source.name} (folder)", f"{digest}, of the list of its {count_nouns(len(listed), 'file')}"


def _format_setting(value: str | float | None) -> str:
    if isinstance(value, float):
        return number(value)
    return DASH if value in (None, "") else str(value)
