"""Reports of other commands that go into that of an evaluation."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from inverse_deid.core.errors import AnnotationError, FormatError, InputError
from inverse_deid.core.phi import PhiType
from inverse_deid.evaluation.evaluation import Evaluation
from inverse_deid.evaluation.groups import GroupKind
from inverse_deid.formats.registry import input_errors

_SECTIONS = {
    "inverse-deid risk": "risk",
    "inverse-deid utility": "utility",
    "inverse-deid leak grades": "grades",
    "inverse-deid concept utility": "extraction",
}


def read_added(paths: Sequence[Path]) -> dict[str, Any]:
    """Reports by the name of their section: risk, utility, grades.

    Raises:
        UnreadableInputError: A file cannot be read.
        FormatError: It is no such report, or the second of its kind.
    """
    found: dict[str, Any] = {}
    for path in paths:
        try:
            with input_errors():
                data = path.read_bytes()
        except InputError as error:
            raise type(error)(f"{path}: {error}") from error
        try:
            report = json.loads(data)
        except (ValueError, RecursionError):
            report = None
        name = _SECTIONS.get(str(report.get("format"))) if isinstance(report, dict) else None
        if name is None:
            kinds = (
                "`risk --json`, `utility --json`, `leaks grade --json` or `research extraction cost --json`"
            )
            raise FormatError(f"{path}: no report that can be added; give a file that {kinds} wrote")
        if name in found:
            raise FormatError(f"{path}: is the second report of {name}; give one of each kind")
        found[name] = report.get("types", {}) if name == "extraction" else report
    return found


def refuse_foreign(added: Mapping[str, Any], evaluation: Evaluation) -> None:
    """Refuse a risk, or grades, of other documents or masks; utility has a gold set of its own.

    Args:
        added: As `read_added` gives it.
        evaluation: What they are to be added to.

    Raises:
        AnnotationError: One counted other documents or other leaks.
    """
    for name, belongs in (("risk", _is_risk_of), ("grades", _are_grades_of)):
        if name in added and not belongs(added[name], evaluation):
            raise AnnotationError(
                f"--add: the {name} is that of other documents or other masks; make it anew from the same "
                "GOLD and MASKED"
            )


def _is_risk_of(report: Mapping[str, Any], evaluation: Evaluation) -> bool:
    documents, types = report.get("by_document"), report.get("types")
    if not (isinstance(documents, dict) and isinstance(types, dict)):
        return False
    expected = {}
    for fine in PhiType:
        safe = evaluation.group(GroupKind.FINE, fine).documents_without_leak
        expected[fine.value] = (safe.whole - safe.part, safe.whole)
    told = {name: _share(found, "documents") for name, found in types.items()}
    return set(documents) == set(evaluation.ids) and all(expected.get(name) == told[name] for name in told)


def _share(found: object, name: str) -> tuple[object, object] | None:
    """Part and whole of a share of a report."""
    share = found.get(name) if isinstance(found, dict) else None
    return (share.get("part"), share.get("whole")) if isinstance(share, dict) else None


def _are_grades_of(report: Mapping[str, Any], evaluation: Evaluation) -> bool:
    groups = report.get("groups")
    if not isinstance(groups, dict):
        return False
    told = {name: found.get("leaks") if isinstance(found, dict) else None for name, found in groups.items()}
    leaks = {fine.value: _n_missed(evaluation, GroupKind.FINE, fine) for fine in PhiType}
    expected = {name: n for name, n in leaks.items() if n}
    return told == {"ALL": _n_missed(evaluation, GroupKind.ALL), **expected}


def _n_missed(evaluation: Evaluation, kind: GroupKind, name: str | None = None) -> int:
    recall = evaluation.group(kind, name).recall
    return recall.whole - recall.part
