"""Narratives with marks on the facts that causality assessment needs: drugs, doses, reactions, onset.

A gold document has *items*: facts that an assessor needs, and the words that state them.
`docs/utility.md` is the marking scheme.

Source: the kinds follow the WHO-UMC categories and the questions of Naranjo et al. (1981),
and what the master's thesis of the method looks for (sections 2.1.1, 4.4.2 and 5.2.4).
"""

from __future__ import annotations

import importlib.resources
import io
import json
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

import msgspec
from msgspec import UNSET, UnsetType

from inverse_deid.core.errors import AnnotationError, name_documents
from inverse_deid.core.values import Document
from inverse_deid.core.wording import _
from inverse_deid.evaluation.evaluation import find_repeated
from inverse_deid.evaluation.provenance import name_files
from inverse_deid.formats.registry import input_errors, open_input
from inverse_deid.formats.tables.json_lines import number_lines, read_gold_json_lines
from inverse_deid.text.tokenizer import tokenize


class ItemKind(StrEnum):
    DRUG = "DRUG"
    DOSE = "DOSE"
    REACTION = "REACTION"
    ONSET = "ONSET"
    DECHALLENGE = "DECHALLENGE"
    RECHALLENGE = "RECHALLENGE"
    LAB = "LAB"
    SERIOUSNESS = "SERIOUSNESS"
    TREATMENT = "TREATMENT"
    OUTCOME = "OUTCOME"
    HISTORY = "HISTORY"


class DrugRole(StrEnum):
    SUSPECT = "suspect"
    CONCOMITANT = "concomitant"


class OnsetPart(StrEnum):
    """The part of the time to onset that a span states."""

    DURATION = "duration"
    START = "start"
    REACTION = "reaction"


@dataclass(frozen=True, slots=True)
class UtilitySpan:
    """Words of an item (half-open offsets in code points). Only spans of ONSET have a part."""

    start: int
    end: int
    part: OnsetPart | None = None


@dataclass(frozen=True, slots=True)
class Item:
    """One fact. Only drugs have a role. The days are between the dates of `start` and `reaction`.

    Raises:
        AnnotationError: Role, parts or days do not fit the kind.
    """

    kind: ItemKind
    spans: tuple[UtilitySpan, ...] = field(repr=False)
    role: DrugRole | None = None
    days: int | None = None

    def __post_init__(self) -> None:
        parts = [span.part for span in self.spans]
        n_dates = parts.count(OnsetPart.START), parts.count(OnsetPart.REACTION)
        if (self.role is not None) != (self.kind is ItemKind.DRUG):
            raise AnnotationError(_("DRUG needs a role, and only DRUG may have one"))
        if {part is None for part in parts} != {self.kind is not ItemKind.ONSET}:
            raise AnnotationError(_("spans of ONSET need a part, and only these may have one"))
        if n_dates not in ((0, 0), (1, 1)):
            raise AnnotationError(_("ONSET needs both dates or neither: one start and one reaction"))
        if type(self.days) is not (int if any(n_dates) else type(None)):
            raise AnnotationError(
                _("the two dates of ONSET need days, a whole number, and only these may have days")
            )


@dataclass(frozen=True, slots=True)
class CausalityDocument:
    """A narrative with its identifiers and the items for causality assessment.

    Raises:
        AnnotationError: A span is outside the text or has no letter or digit.
    """

    doc: Document
    items: tuple[Item, ...] = field(repr=False)

    def __post_init__(self) -> None:
        for span in (span for item in self.items for span in item.spans):
            inside = 0 <= span.start < span.end <= len(self.doc.text)
            if not inside or not len(tokenize(self.doc.text[span.start : span.end])):
                problem = _("is outside the text or has no letter or digit. Offsets count code points.")
                raise AnnotationError(
                    _(
                        "document {id}: span {start}-{end} {problem}",
                        id=self.doc.id,
                        start=span.start,
                        end=span.end,
                        problem=problem,
                    )
                )


def packaged_causality_set() -> Path:
    return Path(str(importlib.resources.files("inverse_deid.evaluation") / "causality.jsonl"))


def read_causality_set(path: Path | None = None) -> list[CausalityDocument]:
    """Read narratives with both kinds of marks, by default the packaged ones.

    Args:
        path: JSON Lines, also gzipped, of `{"id", "text", "spans", "utility"}`. `utility` is a
            list of `{"start", "end", "kind", "item"}`, with `"role"`, `"part"`, `"days"` as needed.

    Raises:
        InputError: Names the file, the line or document and the remedy.
    """
    path = packaged_causality_set() if path is None else path
    with name_files(path):
        with input_errors(), open_input(path) as stream:
            data = stream.read()
        docs = list(read_gold_json_lines(io.BytesIO(data)))
        marks = [json.loads(line).get("utility", []) for _, line in number_lines(io.BytesIO(data))]
        read = [
            CausalityDocument(doc, _read_items(doc, listed)) for doc, listed in zip(docs, marks, strict=True)
        ]
        if twice := find_repeated(doc.id for doc in docs):
            raise AnnotationError(
                _("repeated: {documents}. Give every document its own id", documents=name_documents(twice))
            )
        if not any(doc.items for doc in read):
            raise AnnotationError(_('no utility marks found. Add "utility", see docs/utility.md'))
    return read


class _UtilityMark(msgspec.Struct, frozen=True):
    """Any span of an item may give its days."""

    start: int
    end: int
    item: int
    kind: ItemKind
    role: DrugRole | None = None
    part: OnsetPart | UnsetType = UNSET
    days: int | None = None


def _read_items(doc: Document, listed: object) -> tuple[Item, ...]:
    marks: dict[int, list[_UtilityMark]] = {}
    for number, row in enumerate(listed if isinstance(listed, list) else [None], start=1):
        mark: _UtilityMark | None = None
        with suppress(msgspec.ValidationError):
            mark = msgspec.convert(row, _UtilityMark)
        if mark is None:
            raise AnnotationError(
                _(
                    'document {id}: utility span {number} is not {{"start", "end", "kind", "item"}} with '
                    "whole numbers and a known kind, role and part. See docs/utility.md",
                    id=doc.id,
                    number=number,
                )
            )
        marks.setdefault(mark.item, []).append(mark)
    return tuple(
        _join_marks(_("document {id}, item {number}", id=doc.id, number=number), spans)
        for number, spans in marks.items()
    )


def _join_marks(where: str, marks: Sequence[_UtilityMark]) -> Item:
    kind, role = marks[0].kind, marks[0].role
    if any((mark.kind, mark.role) != (kind, role) for mark in marks):
        raise AnnotationError(
            _("{where}: its spans differ in kind or role. See docs/utility.md", where=where)
        )
    try:
        spans = [
            UtilitySpan(mark.start, mark.end, None if isinstance(mark.part, UnsetType) else mark.part)
            for mark in marks
        ]
        days = next((mark.days for mark in marks if mark.days is not None), None)
        return Item(kind, tuple(spans), role, days)
    except AnnotationError as error:
        raise AnnotationError(_("{where}: {error}. See docs/utility.md", where=where, error=error)) from error
