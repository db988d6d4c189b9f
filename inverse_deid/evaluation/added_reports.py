"""Reports of other measurements that are added to an evaluation."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from inverse_deid.core.errors import AnnotationError, FormatError, Remedy
from inverse_deid.core.phi import PhiType
from inverse_deid.core.wording import N_, _
from inverse_deid.evaluation.evaluation import Evaluation
from inverse_deid.evaluation.grades import GradeReport
from inverse_deid.evaluation.measures.counts import GroupKind
from inverse_deid.evaluation.measures.figures import ReportPart, decode_share, encode_record
from inverse_deid.evaluation.provenance import Provenance, name_files
from inverse_deid.evaluation.risk import RiskReport
from inverse_deid.evaluation.utility import UtilityReport
from inverse_deid.formats.registry import input_errors

CONCEPT_FORMAT_NAME = "inverse-deid concept utility"
_KINDS = N_("`risk`, `utility`, `leaks grade` or `research extraction cost`")


class ConceptRecord(ReportPart, frozen=True):
    """The extraction of one type of concepts from original and masked texts. None is undefined.

    The difference is F1 on masked less F1 on original texts, and a mask covers a character of `touched`.
    """

    gold: int
    touched: int
    f1_original: float | None
    f1_masked: float | None
    recall_original: float | None
    recall_masked: float | None
    precision_original: float | None
    precision_masked: float | None
    difference: float | None
    p_value: float | None


class ConceptReport(ReportPart, frozen=True, kw_only=True, tag_field="format", tag=CONCEPT_FORMAT_NAME):
    """What masking costs an extractor of concepts, as `research extraction cost` writes it."""

    provenance: Provenance
    types: dict[str, ConceptRecord]


AddedReport = RiskReport | UtilityReport | GradeReport | ConceptReport

_KEYS: dict[type, str] = {
    RiskReport: "risk",
    UtilityReport: "utility",
    GradeReport: "grades",
    ConceptReport: "extraction",
}
"""The keys of added reports in the JSON report."""


def read_added(paths: Sequence[Path]) -> list[AddedReport]:
    """Read reports of other measurements, at most one of each kind.

    Raises:
        UnreadableInputError: A file cannot be read.
        FormatError: It is not such a report, or the second of its kind.
    """
    found: dict[str, AddedReport] = {}
    for path in paths:
        with name_files(path), input_errors():
            data = path.read_bytes()
        try:
            report: AddedReport = msgspec.json.decode(data, type=AddedReport, dec_hook=decode_share)
        except (ValueError, RecursionError) as error:
            # The message may quote the file, but the place consists of names of our own.
            place = str(error).partition(" - at `")[2].rstrip("`")
            raise FormatError(
                (
                    _("{path}: not a report that can be added, see {place}", path=path, place=place)
                    if place
                    else _("{path}: not a report that can be added", path=path)
                ),
                remedies=[Remedy("json", step=_("give a file that {kinds} wrote with {{}}", kinds=_KINDS))],
            ) from None
        name = _KEYS[type(report)]
        if name in found:
            raise FormatError(
                _("{path}: the second report of {name}. Give one of each kind", path=path, name=name)
            )
        found[name] = report
    return list(found.values())


def list_plain_added(added: Sequence[AddedReport]) -> dict[str, Any]:
    """Return added reports as JSON values, by their key in the JSON report."""
    plain = {_KEYS[type(report)]: encode_record(report) for report in added}
    return {key: values["types"] if key == "extraction" else values for key, values in plain.items()}


def refuse_foreign(added: Sequence[AddedReport], evaluation: Evaluation) -> None:
    """Refuse a risk, or grades, of other documents or masks. Utility has a gold set of its own.

    Raises:
        AnnotationError: A report counted other documents or other leaks.
    """
    for report in added:
        is_foreign = (isinstance(report, RiskReport) and not _is_risk_of(report, evaluation)) or (
            isinstance(report, GradeReport) and not _are_grades_of(report, evaluation)
        )
        if is_foreign:
            raise AnnotationError(
                _(
                    "the {key} report is of other documents or other masks. Make it again from the same "
                    "GOLD and MASKED",
                    key=_KEYS[type(report)],
                ),
                choice="add",
            )


def _is_risk_of(report: RiskReport, evaluation: Evaluation) -> bool:
    def fits(fine: PhiType) -> bool:
        expected = evaluation.group(GroupKind.FINE, fine).documents_without_leak
        found = report.types[fine].documents
        return (found.whole - found.part, found.whole) == (expected.part, expected.whole)

    return set(report.by_document) == set(evaluation.ids) and all(map(fits, report.types))


def _are_grades_of(report: GradeReport, evaluation: Evaluation) -> bool:
    leaks = {fine.value: _count_missed(evaluation, GroupKind.FINE, fine) for fine in PhiType}
    expected = {
        "ALL": _count_missed(evaluation, GroupKind.ALL),
        **{name: n for name, n in leaks.items() if n},
    }
    return {name: group.leaks for name, group in report.groups.items()} == expected


def _count_missed(evaluation: Evaluation, kind: GroupKind, name: str | None = None) -> int:
    recall = evaluation.group(kind, name).recall
    return recall.whole - recall.part
