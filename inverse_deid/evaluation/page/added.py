"""The sections of reports added with `evaluate --add`, and of the provenance."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from inverse_deid.core.wording import _
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
            _("Items"): Measure.of(record.items),
            _("Items at best"): Measure.of(record.items_at_best),
            _("Words"): Measure.of(record.tokens),
            _("Narratives without loss"): Measure(
                whole.share, whole.part, whole.whole, whole.low, whole.high
            ),
            _("Narratives at best"): Measure.of(record.narratives_at_best),
        }

    sentence = _(
        "Marked facts in the narratives that an assessor needs, and how many of them masking left whole."
    )
    tables = (
        tabulate_values(_("Overall"), {_("Documents"): report.documents, _("Confidence"): report.confidence}),
        tabulate_values(_("Masking"), {plain_label(n): Measure.of(share) for n, share in report.phi.items()}),
        tabulate_grid(
            _("Kept"), {plain_label(name): grid_row(record) for name, record in report.kept.items()}
        ),
        tabulate_values(
            _("Thesis"), {_("Narratives without loss"): Measure.of(report.thesis.narratives_without_loss)}
        ),
    )
    return Section("utility", _("Facts kept for causality assessment"), (sentence,), tables)


def _show_concepts(report: ConceptReport) -> Section:
    sentences = (
        _(
            "An extractor read the original and the masked texts. F1 counts concepts with the right type "
            "and the right start and end."
        ),
        _(
            "The difference is masked less original. The p value is that of a paired permutation test "
            "over documents."
        ),
    )
    tables = []
    for name, record in report.types.items():
        values = {field: getattr(record, field) for field in record.__struct_fields__}
        tables.append(
            tabulate_values(plain_label(name), {plain_label(field): n for field, n in values.items()})
        )
    return Section("extraction", _("Effect on a search for concepts"), sentences, tuple(tables))


def _show_risk(report: RiskReport) -> Section:
    def list_estimate(record: RiskEstimate) -> dict[str, Value]:
        documents = Measure.of(record.documents)
        return {
            _("Documents at risk"): documents,
            _("Estimate"): record.point,
            _("Upper bound"): record.upper,
        }

    sentence = _(
        "An estimate from the leaks, under the assumptions below, in the form of Scaiano et al. (2016). "
        "It does not prove that the documents are anonymous."
    )
    verdict = plain_label(report.verdict.value)
    overall: dict[str, Value | str] = {
        _("Documents"): report.documents,
        _("Verdict"): verdict,
        _("Independent"): report.independent,
    }
    assumed = report.assumptions
    settings = {field: getattr(assumed, field) for field in assumed.__struct_fields__}
    types: dict[str, dict[str, Value]] = {
        leaks.type.value: {
            _("Is direct"): leaks.is_direct,
            _("Documents"): Measure.of(leaks.documents),
            _("Upper bound"): leaks.upper,
            _("Identifiers"): Measure.of(leaks.identifiers),
        }
        for leaks in report.types.values()
    }
    tables = [
        tabulate_values(_("Overall"), overall),
        tabulate_values(_("By direct identifiers"), list_estimate(report.direct)),
        tabulate_values(_("By quasi-identifiers"), list_estimate(report.quasi)),
        tabulate_values(_("By either"), list_estimate(report.overall)),
        *([tabulate_grid(_("Leaks by type"), types)] if types else []),
        tabulate_values(
            _("Assumptions"),
            {plain_label(name): value for name, value in settings.items() if not isinstance(value, tuple)},
        ),
    ]
    return Section("risk", _("Risk of re-identification"), (sentence,), tuple(tables))


def _show_grades(report: GradeReport) -> Section:
    settings = {
        _("Reviewers"): report.reviewers,
        _("Confidence"): report.confidence,
        _("Resamples"): report.resamples,
        _("Seed"): report.seed,
    }
    tables = [tabulate_values(_("Overall"), settings)]
    for name, group in report.groups.items():
        tables += _tabulate_grades(_("All leaks") if name == "ALL" else name, group, report.grades)
    sentence = _(
        "Reviewers graded every missed word as a direct identifier, an indirect identifier, or neither."
    )
    return Section("grades", _("Identifiers that the missed words reveal"), (sentence,), tuple(tables))


def _tabulate_grades(name: str, group: GroupGrades, grades: Sequence[str]) -> Iterator[NumberTable]:
    counts: dict[str, Value] = {
        _("Leaks"): group.leaks,
        _("Documents"): group.documents,
        _("Direct to any reviewer"): group.direct_to_any,
        _("Direct to all reviewers"): group.direct_to_all,
    }
    if group.agreement is None:
        counts["Agreement"] = None
    yield tabulate_values(name, counts)
    rows = {
        _("Reviewer {letter}", letter=letter): {
            _("Direct"): row.direct,
            _("Indirect"): row.indirect,
            _("None"): row.none,
            _("Ungraded"): row.ungraded,
        }
        for letter, row in zip("AB", group.by_reviewer, strict=False)
    }
    yield tabulate_grid(_("{name}: grades", name=name), rows)
    if group.agreement is not None:
        yield from _tabulate_agreement(name, group.agreement, grades)


def _tabulate_agreement(name: str, found: Agreement, grades: Sequence[str]) -> Iterator[NumberTable]:
    kappas = {_("Kappa"): found.kappa, _("Linear kappa"): found.linear_kappa}
    values = {label: Measure(kappa.value, low=kappa.low, high=kappa.high) for label, kappa in kappas.items()}
    yield tabulate_values(
        _("{name}: agreement", name=name), {_("Observed"): Measure.of(found.observed), **values}
    )
    labels = [plain_label(grade) for grade in grades]
    rows = {
        f"A: {label.lower()}": {f"B: {other.lower()}": n for other, n in zip(labels, row, strict=True)}
        for label, row in zip(labels, found.table, strict=True)
    }
    yield tabulate_grid(_("{name}: grades of both reviewers", name=name), rows)


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
        blocks.append(
            NumberTable(_("Files"), (_("Role"), _("Name"), "SHA-256"), tuple(files), frozenset({1, 2}))
        )
    if settings:
        blocks.append(
            NumberTable(_("Version and settings"), ("", _("Value")), tuple(settings), frozenset({1}))
        )
    return Section("provenance", _("How this was made"), (), tuple(blocks))


def _describe_source(source: SourceFile) -> tuple[str, str]:
    # A folder has one hash over its files, because their names may be ids.
    if isinstance(source.sha256, str):
        return source.name, source.sha256
    listed = source.files or {}
    lines = "".join(f"{listed[path]}  {path}\n" for path in sorted(listed))
    digest = hashlib.sha256(lines.encode("utf-8", "replace")).hexdigest()
    return _("{source} (folder)", source=source.name), _(
        "{digest}, of the list of its {nouns}", digest=digest, nouns=count_nouns(len(listed), "file")
    )


def _format_setting(value: str | float | None) -> str:
    if isinstance(value, float):
        return number(value)
    return DASH if value in (None, "") else str(value)
