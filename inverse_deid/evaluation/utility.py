"""What a masking leaves of what causality assessment needs: drugs, doses, reactions, time to onset.

A gold document has *items*: a fact that an assessor needs, and the words that tell it. An
item is kept if all of its words are. Time to onset may be told twice, by a duration and
by two dates, and is kept as long as it can still be computed from the output.
`docs/utility.md` is the marking scheme.

Source: the kinds follow the WHO-UMC categories and the questions of Naranjo et al. (1981),
and what the master's thesis of the method looks for (sections 2.1.1, 4.4.2 and 5.2.4).
"""

from __future__ import annotations

import importlib.resources
import io
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from pathlib import Path
from typing import Any

import numpy as np

from inverse_deid.core.errors import AnnotationError, InputError
from inverse_deid.core.values import Document
from inverse_deid.evaluation.counts import Range
from inverse_deid.evaluation.evaluation import named, repeated
from inverse_deid.evaluation.figures import Share
from inverse_deid.evaluation.gold_tokens import Int64Array
from inverse_deid.evaluation.masked_files import MaskedOutput, masks_by_id
from inverse_deid.formats.json_lines import numbered_lines, read_gold_json_lines
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


ALL = "ALL"
COLUMNS: tuple[str, ...] = (ALL, Kind.DRUG.value, *(role.name for role in Role), *list(Kind)[1:])
"""What is counted apart: everything, each kind, and the drugs by role."""


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
        marks = [json.loads(line).get("utility", []) for _, line in numbered_lines(io.BytesIO(data))]
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


@dataclass(frozen=True, slots=True)
class UtilityFigures:
    """Items that are kept, their tokens that are, and narratives that have items and lost none."""

    items: Share
    tokens: Share
    narratives: Share


@dataclass(frozen=True, slots=True, eq=False)
class Utility:
    """What was kept, one row a document; arrays are int64 (n_documents, n_columns), as `COLUMNS`.

    Args:
        ids: The documents.
        items: How many there are.
        items_kept: How many of them are kept.
        tokens: Of the spans of the items; one in two items counts twice.
        tokens_kept: Those without a masked character.
    """

    ids: tuple[str, ...]
    items: Int64Array = field(repr=False)
    items_kept: Int64Array = field(repr=False)
    tokens: Int64Array = field(repr=False)
    tokens_kept: Int64Array = field(repr=False)

    def figures(self, column: str = ALL) -> UtilityFigures:
        """The figures of one of `COLUMNS`."""
        i = COLUMNS.index(column)
        there = self.items[:, i] > 0
        whole = there & (self.items[:, i] == self.items_kept[:, i])
        return UtilityFigures(
            Share(int(self.items_kept[:, i].sum()), int(self.items[:, i].sum())),
            Share(int(self.tokens_kept[:, i].sum()), int(self.tokens[:, i].sum())),
            Share(int(whole.sum()), int(there.sum())),
        )


def utility(docs: Sequence[CausalityDocument], masked: Sequence[MaskedOutput]) -> Utility:
    """Count what is kept.

    Args:
        docs: The gold, with distinct ids.
        masked: The masks of each and, where there is one, the masked text: a masked date counts
            as kept if what stands for it still tells the time to onset.

    Raises:
        AnnotationError: An id is there twice, without masks or without gold, or masks and text
            do not fit the gold.

    Example:
        >>> docs = read_causality_set()
        >>> nothing_masked = [MaskedOutput(doc.doc.id, ()) for doc in docs]
        >>> utility(docs, nothing_masked).figures("DRUG").items.value
        1.0
    """
    ids = tuple(doc.doc.id for doc in docs)
    masks_by_id([doc.doc for doc in docs], masked)
    outputs = {output.id: output for output in masked}
    if other := sorted(set(ids) ^ set(outputs)):
        raise AnnotationError(
            f"only in the gold or only in the masks: {named(other)}; mask just the documents of the gold"
        )
    counted = [_count(doc, outputs[doc.doc.id]) for doc in docs]
    columns = np.array(counted, np.int64).reshape(len(docs), 4, len(COLUMNS))
    return Utility(ids, *(columns[:, i] for i in range(4)))


def best_case(docs: Sequence[CausalityDocument]) -> Utility:
    """What would be kept if just the marked identifiers were masked."""
    return utility(docs, [MaskedOutput(d.doc.id, tuple((s.start, s.end) for s in d.doc.spans)) for d in docs])


def _count(doc: CausalityDocument, output: MaskedOutput) -> Int64Array:
    """int64 (4, n_columns): items, items kept, tokens, tokens kept."""
    found = np.zeros((4, len(COLUMNS)), np.int64)
    reader = _OutputReader(doc.doc.text, output)
    for item in doc.items:
        columns = [COLUMNS.index(name) for name in (ALL, item.kind, *([item.role.name] if item.role else []))]
        pieces = [reader.tokens_kept(span) for span in item.spans]
        n_tokens, n_kept = (sum(numbers) for numbers in zip(*pieces, strict=True))
        found[:, columns] += np.array([1, reader.is_kept(item), n_tokens, n_kept], np.int64)[:, None]
    return found


class _OutputReader:
    """Says what stands in an output at the spans of its original."""

    def __init__(self, text: str, output: MaskedOutput) -> None:
        is_masked = np.zeros(len(text), np.bool_)
        for start, end in output.masks:
            is_masked[start:end] = True
        self._text = text
        self._output = output
        self._masked_before = np.concatenate(([0], np.cumsum(is_masked)))
        self._tokens = tokenize(text)

    def tokens_kept(self, span: UtilitySpan) -> tuple[int, int]:
        """How many tokens a span cuts out, and how many of these have no masked character."""
        first = int(np.searchsorted(self._tokens.ends, span.start, side="right"))
        behind = int(np.searchsorted(self._tokens.starts, span.end, side="left"))
        starts = np.maximum(self._tokens.starts[first:behind], span.start)
        ends = np.minimum(self._tokens.ends[first:behind], span.end)
        return behind - first, int((self._masked_before[starts] == self._masked_before[ends]).sum())

    def is_kept(self, item: Item) -> bool:
        """Whether the output still tells it."""
        if item.kind is not Kind.ONSET:
            return self._are_kept(item.spans)
        durations = [span for span in item.spans if span.part is Part.DURATION]
        dates = sorted(set(item.spans) - set(durations), key=lambda span: span.part is Part.REACTION)
        if any(spans and self._are_kept(spans) for spans in (durations, dates)):
            return True
        return bool(dates) and item.days in days_between(*map(self._written, dates))

    def _are_kept(self, spans: Sequence[UtilitySpan]) -> bool:
        return all(n_tokens == n_kept for n_tokens, n_kept in map(self.tokens_kept, spans))

    def _written(self, span: UtilitySpan) -> str:
        """What stands in the output for a span."""
        pieces, position = [], span.start
        for start, end, stand_in in _stand_ins(self._text, self._output):
            if start < span.end and span.start < end:
                pieces += [self._text[position : max(position, start)], stand_in]
                position = end
        return "".join(pieces) + self._text[position : span.end]


def _stand_ins(text: str, output: MaskedOutput) -> Iterator[tuple[int, int, str]]:
    """Start and end of each mask and what stands for it, as far as the output tells."""
    runs: list[Range] = []
    for start, end in sorted(output.masks):
        if runs and start <= runs[-1][1]:
            runs[-1] = (runs[-1][0], max(end, runs[-1][1]))
        else:
            runs.append((start, end))
    masked = "" if output.text in (None, text) else str(output.text)
    is_told, position = bool(masked), runs[0][0] if runs else 0
    for (start, end), (following, _) in zip(runs, [*runs[1:], (len(text), 0)], strict=bool(runs)):
        kept = text[end:following]
        is_last = following == len(text)
        behind = len(masked) - len(kept) if is_last else _end_of_stand_in(masked, position, kept)
        is_told = is_told and behind >= position
        yield start, end, masked[position:behind] if is_told else _UNREADABLE
        position = behind + len(kept)


def _end_of_stand_in(masked: str, position: int, kept: str) -> int:
    """Where the kept text begins again: behind a whole date if there is one, else as soon as it can."""
    ends = [i for i in range(position, position + _MAX_TIME_CHARS) if masked.startswith(kept, i)]
    times = (end for end in reversed(ends[1:]) if days_between(*[masked[position:end]] * 2))
    return next(times, masked.find(kept, position))


_UNREADABLE = "PHI"
_MAX_TIME_CHARS = 40
_DAY_NUMBER = re.compile(r"day\s*([+-]?\d{1,5})", re.IGNORECASE)
_NO_DATE_WORD = re.compile(r"(?<=\d)(?:st|nd|rd|th)\b|\bof\b|(?<=\bsep)t\b", re.IGNORECASE)
_DATE_WORD = re.compile(r"[^\W\d_]+|\d+|[^\s.,/'-]")
_ORDERS = ("%d %m", "%m %d")  # how two numbers may be read
_ANY_YEARS = (2023, 2024, 2025)  # for unknown years; one of them is a leap year


def days_between(start: str, reaction: str) -> frozenset[int]:
    """How many days lie between two dates, or two day numbers, as they are written.

    Returns:
        All numbers that are possible: the order of day and month may be open; where a year is,
        the reaction comes within a year after the start.

    Example:
        >>> days_between("Day 1", "Day +8"), days_between("12-OCT-2019", "Oct 15, 2019")
        (frozenset({7}), frozenset({3}))
        >>> days_between("PHI", "15 Oct")
        frozenset()
    """
    numbers = [int(found[1]) for text in (start, reaction) if (found := _DAY_NUMBER.fullmatch(text.strip()))]
    if len(numbers) == 2:
        return frozenset({numbers[1] - numbers[0]})
    days: set[int] = set()
    for order in _ORDERS:
        told = [_dates(text, order) for text in (start, reaction)]
        near = {day.year + step for day in told[0] | told[1] for step in (-1, 0, 1)} or _ANY_YEARS
        first, second = told[0] or _dates(start, order, near), told[1] or _dates(reaction, order, near)
        gaps = {(b - a).days for a in first for b in second}
        days |= gaps if all(told) else gaps.intersection(range(365))
    return frozenset(days)


def _dates(text: str, order: str, years: Iterable[int] = ()) -> set[datetime]:
    """The date that is written; years are for one without a year of its own."""
    words = " ".join(_DATE_WORD.findall(_NO_DATE_WORD.sub("", text)))
    forms = [f"{day} {year}" for day in (order, "%d %b", "%d %B", "%b %d", "%B %d") for year in ("%Y", "%y")]
    found: set[datetime] = set()
    for written in [f"{words} {year}" for year in years] or [words]:
        for form in (*forms, "%Y %m %d", "%Y%m%d"):
            with suppress(ValueError):
                found.add(datetime.strptime(written, form))
    return found
