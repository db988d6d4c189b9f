"""Narratives marked with what causality assessment needs: drugs, doses, reactions, time to onset.

A gold document has *items*: a fact that an assessor needs, and the words that tell it.
`docs/utility.md` is the marking scheme.

Source: the kinds follow the WHO-UMC categories and the questions of Naranjo et al. (1981),
and what the master's thesis of the method looks for (sections 2.1.1, 4.4.2 and 5.2.4).
"""

from __future__ import annotations

import importlib.resources
import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any

from inverse_deid.core.errors import AnnotationError, InputError
from inverse_deid.core.values import Document
from inverse_deid.evaluation.evaluation import named, repeated
from inverse_deid.formats.json_lines import number_lines, read_gold_json_lines
from inverse_deid.formats.registry import input_errors, open_input
from inverse_deid.text.tokenizer import tokenize


class Kind(StrEnum):
    """What an item tells."""

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


class Role(StrEnum):
    """What a drug is in the case."""

    SUSPECT = "suspect"
    CONCOMITANT = "concomitant"


class Part(StrEnum):
    """What a span says of the time to onset."""

    DURATION = "duration"
    START = "start"
    REACTION = "reaction"


@dataclass(frozen=True, slots=True)
class UtilitySpan:
    """Words of an item (half-open offsets in code points); only those of ONSET have a part."""

    start: int
    end: int
    part: Part | None = None


@dataclass(frozen=True, slots=True)
class Item:
    """One fact.

    Args:
        kind: What it tells.
        spans: Its words.
        role: Of a drug; None for other kinds.
        days: From the date of the part `start` to that of the part `reaction`.

    Raises:
        AnnotationError: Role, parts or days do not go with the kind.
    """

    kind: Kind
    spans: tuple[UtilitySpan, ...] = field(repr=False)
    role: Role | None = None
    days: int | None = None

    def __post_init__(self) -> None:
        parts = [span.part for span in self.spans]
        n_dates = parts.count(Part.START), parts.count(Part.REACTION)
        if (self.role is not None) != (self.kind is Kind.DRUG):
            raise AnnotationError("a role goes with DRUG and with no other kind")
        if {part is None for part in parts} != {self.kind is not Kind.ONSET}:
            raise AnnotationError("parts go with ONSET and with no other kind")
        if n_dates not in ((0, 0), (1, 1)):
            raise AnnotationError("two dates tell the time to onset: one start and one reaction")
        if type(self.days) is not (int if any(n_dates) else type(None)):
            raise AnnotationError("days, a whole number, go with the two dates of ONSET alone")


@dataclass(frozen=True, slots=True)
class CausalityDocument:
    """A narrative with its identifiers and what causality assessment needs.

    Raises:
        AnnotationError: A span leaves the text or holds no letter or digit.
    """

    doc: Document
    items: tuple[Item, ...] = field(repr=False)

    def __post_init__(self) -> None:
        for span in (span for item in self.items for span in item.spans):
            inside = 0 <= span.start < span.end <= len(self.doc.text)
            if not inside or not len(tokenize(self.doc.text[span.start : span.end])):
                problem = "leaves the text or holds no letter or digit; offsets count code points"
                raise AnnotationError(f"document {self.doc.id}: span {span.start}-{span.end} {problem}")


def packaged_causality_set() -> Path:
    """Where the invented gold set lies."""
    return Path(str(importlib.resources.files("inverse_deid") / "evaluation" / "causality.jsonl"))


def read_causality_set(path: Path | None = None) -> list[CausalityDocument]:
    """Read narratives with both kinds of marks, by default the packaged ones.

    Args:
        path: JSON Lines, also gzipped, of `{"id", "text", "spans", "utility"}`, where utility is
            a list of `{"start", "end", "kind", "item"}` and, as the kind needs, `"role"`, `"part"`, `"days"`.

    Raises:
        InputError: Names the file, the line or document and the remedy.

    Example:
        >>> len(read_causality_set())
        60
    """
    path = packaged_causality_set() if path is None else path
    try:
        with input_errors(), open_input(path) as stream:
            data = stream.read()
        docs = list(read_gold_json_lines(io.BytesIO(data)))
        marks = [json.loads(line).get("utility", []) for _, line in number_lines(io.BytesIO(data))]
        read = [CausalityDocument(doc, _items(doc, listed)) for doc, listed in zip(docs, marks, strict=True)]
        if twice := repeated(doc.id for doc in docs):
            raise AnnotationError(f"more than once: {named(twice)}; give every document its own id")
        if not any(doc.items for doc in read):
            raise AnnotationError('holds no utility marks; add "utility" as docs/utility.md says')
    except InputError as error:
        raise type(error)(f"{path}: {error}") from error
    return read


def _items(doc: Document, listed: object) -> tuple[Item, ...]:
    """The items of one document."""
    rows: dict[int, list[Mapping[str, Any]]] = {}
    for number, row in enumerate(listed if isinstance(listed, list) else [None], start=1):
        if not isinstance(row, dict) or {type(row.get(key)) for key in ("start", "end", "item")} != {int}:
            raise AnnotationError(
                f"document {doc.id}: utility span {number} cannot be read; it is "
                '{"start", "end", "kind", "item"} with whole numbers and the name of a kind'
            )
        rows.setdefault(row["item"], []).append(row)
    return tuple(_item(f"document {doc.id}, item {number}", spans) for number, spans in rows.items())


def _item(where: str, rows: Sequence[Mapping[str, Any]]) -> Item:
    """The item that these spans make up; days stand at any of them."""
    kind, role = rows[0].get("kind"), rows[0].get("role")
    problem = "its spans differ in kind or role"
    if all((row.get("kind"), row.get("role")) == (kind, role) for row in rows):
        try:
            parts = [Part(row["part"]) if "part" in row else None for row in rows]
            spans = tuple(UtilitySpan(r["start"], r["end"], p) for r, p in zip(rows, parts, strict=True))
            days = next((row["days"] for row in rows if "days" in row), None)
            return Item(Kind(str(kind)), spans, None if role is None else Role(role), days)
        except AnnotationError as error:
            problem = str(error)
        except ValueError:
            problem = "its kind, role or part is unknown"
    raise AnnotationError(f"{where}: {problem}; see docs/utility.md")
