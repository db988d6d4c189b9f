"""An evaluation as a table for people and as JSON for programs: numbers, ids, no narrative text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import fields
from typing import Any

from inverse_deid.evaluation.counts import SafeKind
from inverse_deid.evaluation.evaluation import Evaluation
from inverse_deid.evaluation.figures import FIGURES, GroupFigures, Share, group_figures, over_masking
from inverse_deid.evaluation.groups import GROUPS, GroupKind, group_number

FORMAT_NAME = "inverse-deid evaluation"
FORMAT_VERSION = 1

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
_NOTES = (
    "Figures count tokens: runs of letters and digits, of PHI only what lies inside the marks.",
    "Tokens of one document are not independent: a few documents move every figure.",
)


def percent(share: Share) -> str:
    """A share in percent; 100 and 0 only if they are exact, - if it is undefined.

    Example:
        >>> percent(Share(1, 3)), percent(Share(99_999, 100_000)), percent(Share(0, 0))
        ('33.33 %', '99.99 %', '-')
    """
    if share.value is None:
        return "-"
    shown = round(100 * share.value, 2)
    if 0 < share.part < share.whole:
        shown = min(max(shown, 0.01), 99.99)
    return f"{shown:.2f} %"


def table_lines(evaluation: Evaluation) -> Iterator[str]:
    """The evaluation as plain, aligned text."""
    yield from _head_lines(evaluation)
    yield ""
    figures = [(title, evaluation.figure(name)) for name, title in _TITLES.items()]
    yield from _aligned(
        [("", "share", "part", "of"), *(_share_row(title, share) for title, share in figures)]
    )
    yield ""
    yield from _aligned(list(_category_rows(evaluation)))
    yield ""
    yield from _aligned(list(_over_masking_rows(evaluation)))
    yield ""
    yield from _NOTES


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
    yield from _aligned(rows)
    if evaluation.missing:
        yield "Missing documents are counted as unmasked."


def _share_row(title: str, share: Share) -> tuple[str, ...]:
    return title, percent(share), f"{share.part:,}", f"{share.whole:,}"


def _category_rows(evaluation: Evaluation) -> Iterator[tuple[str, ...]]:
    """A hyper-class and, under it, its fine types; those without PHI are left out."""
    yield "category", "recall", "corrected", "tokens", "missed", "documents", "without leak", "identifiers"
    for hyper in GROUPS:
        if hyper.kind is GroupKind.HYPER:
            fine = [g for g in GROUPS if g.kind is GroupKind.FINE and g.types <= hyper.types]
            rows = [hyper, *(fine if len(fine) > 1 else ())]
            for group in rows:
                figures = evaluation.group(group.kind, group.name)
                if figures.documents_without_leak.whole:
                    yield _category_row("  " * (group is not hyper) + group.name, figures)


def _category_row(title: str, figures: GroupFigures) -> tuple[str, ...]:
    recall, documents = figures.recall, figures.documents_without_leak
    return (
        title,
        percent(recall),
        percent(figures.corrected_recall),
        f"{recall.whole:,}",
        f"{recall.whole - recall.part:,}",
        f"{documents.whole:,}",
        percent(documents),
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


def _aligned(rows: Sequence[tuple[str, ...]]) -> Iterator[str]:
    """The first column to the left, the others to the right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = [row[0].ljust(widths[0]), *(c.rjust(w) for c, w in zip(row[1:], widths[1:], strict=True))]
        yield "  ".join(cells).rstrip()


def json_report(evaluation: Evaluation) -> dict[str, Any]:
    """The evaluation with nothing rounded; an undefined share is None.

    Example:
        >>> from inverse_deid.evaluation.evaluation import evaluate_masks
        >>> json_report(evaluate_masks([], {}))["figures"]["recall_all"]
        {'share': None, 'part': 0, 'whole': 0}
    """
    counts = evaluation.counts
    return {
        "format": FORMAT_NAME,
        "version": FORMAT_VERSION,
        "documents": len(counts),
        "missing": list(evaluation.missing),
        "tokens": int(counts.tokens.sum()),
        "masked_tokens": int(counts.masked.sum()),
        "inexact_masks": int(counts.inexact_masks.sum()),
        "harmless": {fine.value: sorted(words) for fine, words in evaluation.harmless.words.items()},
        "figures": {name: _json_share(evaluation.figure(name)) for name in FIGURES},
        "over_masking": {
            kind.name.lower(): _json_share(share)
            for kind, share in over_masking(counts).items()
            if kind is not SafeKind.CLINICAL or evaluation.has_clinical
        },
        "categories": {
            kind.value: _json_groups(evaluation, kind) for kind in (GroupKind.HYPER, GroupKind.FINE)
        },
        "by_document": _json_documents(evaluation),
    }


def _json_share(share: Share) -> dict[str, float | int | None]:
    return {"share": share.value, "part": share.part, "whole": share.whole}


def _json_groups(evaluation: Evaluation, kind: GroupKind) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for group in GROUPS:
        if group.kind is kind:
            figures = evaluation.group(kind, group.name)
            found[group.name] = {
                entry.name: _json_share(getattr(figures, entry.name)) for entry in fields(figures)
            }
    return found


def _json_documents(evaluation: Evaluation) -> list[dict[str, Any]]:
    """One object a document: what a paired comparison or a resampling needs."""
    counts = evaluation.counts
    in_all, hipaa = group_number(GroupKind.ALL), group_number(GroupKind.HIPAA)
    columns = {
        "tokens": counts.tokens,
        "masked": counts.masked,
        "inexact_masks": counts.inexact_masks,
        "safe": counts.safe.sum(1),
        "false_masks": counts.false_masks.sum(1),
        "phi": counts.phi[:, in_all],
        "recalled": counts.recalled[:, in_all],
        "phi_hipaa": counts.phi[:, hipaa],
        "recalled_hipaa": counts.recalled[:, hipaa],
    }
    rows = zip(*(column.tolist() for column in columns.values()), strict=True)
    return [
        {"id": doc_id, **dict(zip(columns, row, strict=True))}
        for doc_id, row in zip(evaluation.ids, rows, strict=True)
    ]
