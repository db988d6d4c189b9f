"""Every count of the evaluation, one row per document. All figures derive from these.

A *gold token* is a run of letters and digits inside a gold span, and a span that ends
within a run cuts it. It is recalled if masks cover all of its characters, also when
a longer token was masked. A *masked token* is a token of the text with any masked
character. Masks are a set of characters, however they are cut or overlap. The harmless list
has tokens inside an identifier that identify nobody, for the corrected recall.

Source: the master's thesis of the method, section 4.4.1 (tokens, masking recall,
the rule for overlaps); Scaiano et al. 2016 (masking recall, entities).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from enum import IntEnum, StrEnum
from pathlib import Path
from types import MappingProxyType
from typing import Self

import msgspec
import numpy as np
import numpy.typing as npt

from inverse_deid.core.errors import AnnotationError, ConfigurationError, StageError
from inverse_deid.core.packaged import packaged_path
from inverse_deid.core.phi import HIPAA_TYPES, HYPER_CLASS_OF, HyperClass, PhiType
from inverse_deid.core.settings import read_settings
from inverse_deid.core.values import BoolArray, Document, Tokens
from inverse_deid.core.wording import _
from inverse_deid.text.matching import fold
from inverse_deid.text.tokenizer import tokenize

_ALL = "ALL"


@dataclass(frozen=True, slots=True)
class HarmlessTokens:
    """The folded harmless words inside identifiers of each type. A type without words is absent.

    Example:
        >>> HarmlessTokens({PhiType.AGE: frozenset({"years"})}).holds(PhiType.AGE, "Years")
        True
    """

    words: Mapping[PhiType, frozenset[str]]

    def holds(self, phi_type: PhiType, word: str) -> bool:
        """Return whether a missed token of this type reveals nothing. Case and accents do not matter."""
        return fold(word) in self.words.get(phi_type, ())


class _HarmlessFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Tokens by PHI type, group or ALL."""

    harmless: dict[str, list[str]]


def read_harmless(path: Path | None = None) -> HarmlessTokens:
    """Read a list, by default the packaged one.

    Raises:
        ConfigurationError: The file cannot be read, names an unknown category, or has an entry
            that is not one token.
    """
    path = packaged_path("harmless.toml") if path is None else path
    words: dict[PhiType, frozenset[str]] = {}
    for category, entries in read_settings(path, _HarmlessFile).harmless.items():
        types = [fine for fine in PhiType if category in (_ALL, fine.value, HYPER_CLASS_OF[fine].value)]
        if not types:
            raise ConfigurationError(
                _(
                    "{path}: unknown category {category!r}. Give a PHI type (CITY), a group (NAME) or {all}",
                    path=path,
                    category=category,
                    all=_ALL,
                )
            )
        for position, entry in enumerate(entries, start=1):
            if tokenize(entry).words != [entry]:
                raise ConfigurationError(
                    _(
                        "{path}: {category}, entry {position}: not a token. Give one run of letters and "
                        "digits",
                        path=path,
                        category=category,
                        position=position,
                    )
                )
        for fine in types:
            words[fine] = words.get(fine, frozenset()) | frozenset(map(fold, entries))
    return HarmlessTokens(MappingProxyType(words))


SHORT_NAME_CHARS = 3
"""A name token of at most this many characters is short: initials, and names that look like words."""

SHORT_NAME_TYPES = frozenset({PhiType.PATIENT, PhiType.RELATIVE, PhiType.DOCTOR})


class GroupKind(StrEnum):
    """What the types of a group share."""

    ALL = "all"
    HIPAA = "hipaa"
    SHORT_NAMES = "short_names"
    HYPER = "hyper"
    FINE = "fine"


@dataclass(frozen=True, slots=True)
class Group:
    """PHI types. The short names are only tokens of at most `SHORT_NAME_CHARS` characters."""

    kind: GroupKind
    name: str
    types: frozenset[PhiType]


def _make_groups() -> Iterator[Group]:
    yield Group(GroupKind.ALL, "ALL", frozenset(PhiType))
    yield Group(GroupKind.HIPAA, "HIPAA", HIPAA_TYPES)
    yield Group(GroupKind.SHORT_NAMES, "SHORT_NAMES", SHORT_NAME_TYPES)
    for hyper in HyperClass:
        types = frozenset(fine for fine in PhiType if HYPER_CLASS_OF[fine] is hyper)
        if types:
            yield Group(GroupKind.HYPER, hyper, types)
    for fine in PhiType:
        yield Group(GroupKind.FINE, fine, frozenset({fine}))


GROUPS: tuple[Group, ...] = tuple(_make_groups())
"""All groups, in the order of the columns of `Counts`."""

TYPE_NUMBER = {fine: number for number, fine in enumerate(PhiType)}
"""The row of each fine type in `MEMBERS`."""

MEMBERS = np.array([[fine in group.types for group in GROUPS] for fine in PhiType], np.bool_)
"""bool (n_types, n_groups): whether a type belongs to a group."""

IS_SHORT = np.array([group.kind is GroupKind.SHORT_NAMES for group in GROUPS], np.bool_)
"""bool (n_groups,): whether the group has only short tokens."""


def group_number(kind: GroupKind, name: str | None = None) -> int:
    """Return the column of a group. The name is needed where a kind has several groups.

    Raises:
        ValueError: There is no such group.
    """
    for number, group in enumerate(GROUPS):
        if group.kind is kind and name in (None, group.name):
            return number
    raise ValueError(f"no group {name} of the kind {kind}")


Int64Array = npt.NDArray[np.int64]
Range = tuple[int, int]
WordTest = Callable[[Sequence[str]], BoolArray]
"""Returns bool (n_words,), for example whether a dictionary contains them as clinical words."""


class SafeKind(IntEnum):
    """The kinds of tokens outside of all gold spans, in the order of the columns."""

    WORD = 0
    CLINICAL = 1
    NUMBER = 2
    MIXED = 3


@dataclass(frozen=True, slots=True, eq=False)
class Counts:
    """The counts of documents, one row each. All arrays are int64."""

    tokens: Int64Array = field(repr=False)  # (n_documents,), tokens of the text
    masked: Int64Array = field(repr=False)  # (n_documents,), masked tokens
    # (n_documents,), masked tokens that touch a gold span, where the masked characters are not exactly one
    # gold token (mostly a longer token).
    inexact_masks: Int64Array = field(repr=False)
    # (n_documents, n_kinds), tokens that no gold span touches, by `SafeKind`.
    safe: Int64Array = field(repr=False)
    false_masks: Int64Array = field(repr=False)  # (n_documents, n_kinds), masked ones among these
    phi: Int64Array = field(repr=False)  # (n_documents, n_groups), gold tokens. The columns are `GROUPS`
    recalled: Int64Array = field(repr=False)  # (n_documents, n_groups), recalled ones among these
    # (n_documents, n_groups), missed ones on the harmless list.
    harmless_missed: Int64Array = field(repr=False)
    # (n_documents, n_groups), 1 if the document has PHI of the group.
    documents: Int64Array = field(repr=False)
    # (n_documents, n_groups), 1 if a gold token of the group was missed.
    leaking: Int64Array = field(repr=False)
    # (n_documents, n_groups), distinct identifiers (same type and words in one document), always 0 for short
    # names.
    entities: Int64Array = field(repr=False)
    entities_masked: Int64Array = field(repr=False)  # (n_documents, n_groups), those with all mentions masked

    def __post_init__(self) -> None:
        if len({len(column) for column in self._columns().values()}) != 1:
            raise StageError(_("counts of unequal length. Give one row per document in every array"))

    def __len__(self) -> int:
        return len(self.tokens)

    def _columns(self) -> dict[str, Int64Array]:
        return {entry.name: getattr(self, entry.name) for entry in fields(self)}

    def total(self) -> Self:
        """Return the sum over all documents as a single row."""
        return type(self)(**{name: column.sum(0, keepdims=True) for name, column in self._columns().items()})

    def take(self, rows: npt.ArrayLike) -> Self:
        """Return the documents of these row numbers in this order. Rows may repeat (a resample)."""
        numbers = np.asarray(rows, np.int64)
        return type(self)(**{name: column[numbers] for name, column in self._columns().items()})

    @classmethod
    def stack(cls, parts: Sequence[Counts]) -> Self:
        n_columns: dict[str, tuple[int, ...]] = {"tokens": (), "masked": (), "inexact_masks": ()}
        n_columns |= dict.fromkeys(("safe", "false_masks"), (len(SafeKind),))
        columns = {}
        for entry in fields(cls):
            empty = np.zeros((0, *n_columns.get(entry.name, (len(GROUPS),))), np.int64)
            columns[entry.name] = np.concatenate([empty, *(getattr(part, entry.name) for part in parts)])
        return cls(**columns)


@dataclass(frozen=True, slots=True, eq=False)
class GoldTokens:
    """The gold tokens of a document in text order, as int64 arrays (n_gold_tokens,)."""

    starts: Int64Array
    ends: Int64Array  # after the last character
    types: Int64Array  # numbers of `TYPE_NUMBER`
    spans: Int64Array  # numbers of gold spans
    tokens: Int64Array  # numbers of the tokens of the text that contain them
    n_tokens: int  # of the text

    def mark(self, which: BoolArray | slice) -> BoolArray:
        """Return bool (n_tokens,): which tokens of the text contain one of these gold tokens."""
        marked = np.zeros(self.n_tokens, np.bool_)
        marked[self.tokens[which]] = True
        return marked


def find_gold_tokens(doc: Document, tokens: Tokens) -> GoldTokens:
    """Return every piece that a gold span cuts out of a token.

    Example:
        >>> from inverse_deid.core.phi import PhiType
        >>> from inverse_deid.core.values import PhiSpan
        >>> from inverse_deid.text.tokenizer import tokenize
        >>> doc = Document("a", "on 3May2019x", (PhiSpan(3, 11, PhiType.DATE),))
        >>> found = find_gold_tokens(doc, tokenize(doc.text))
        >>> found.starts.tolist(), found.ends.tolist(), found.tokens.tolist()
        ([3], [11], [1])
    """
    bounds = np.array([(span.start, span.end) for span in doc.spans], np.int64).reshape(-1, 2)
    types = np.array([TYPE_NUMBER[span.type] for span in doc.spans], np.int64)
    firsts = np.searchsorted(tokens.ends, bounds[:, 0], side="right")
    n_touched = np.searchsorted(tokens.starts, bounds[:, 1], side="left") - firsts
    spans = np.repeat(np.arange(len(doc.spans)), n_touched)
    skipped = np.cumsum(n_touched) - n_touched
    touched = np.arange(len(spans)) + np.repeat(firsts - skipped, n_touched)
    return GoldTokens(
        np.maximum(tokens.starts[touched], bounds[spans, 0]),
        np.minimum(tokens.ends[touched], bounds[spans, 1]),
        types[spans],
        spans,
        touched,
        len(tokens),
    )


def check_masks(doc: Document, masks: Sequence[Range]) -> None:
    """Refuse masks that do not fit the text.

    Raises:
        AnnotationError: A mask is empty, reversed or outside the text.
    """
    for start, end in masks:
        if not 0 <= start < end <= len(doc.text):
            raise AnnotationError(
                _(
                    "document {id}: mask {start}-{end} is empty or outside the text ({n_doc} "
                    "characters). Masks are half-open and count code points of the original text",
                    id=doc.id,
                    start=start,
                    end=end,
                    n_doc=len(doc.text),
                )
            )


def count_document(
    doc: Document, masks: Sequence[Range], harmless: HarmlessTokens, clinical: WordTest | None = None
) -> Counts:
    """Count one document as one row: the one place where anything is counted.

    `clinical` recognises clinical words. None leaves them among the other words. Raises as `check_masks`.
    """
    check_masks(doc, masks)
    tokens = tokenize(doc.text)
    gold = find_gold_tokens(doc, tokens)
    before = count_masked_before(len(doc.text), masks)
    masked_chars = before[tokens.ends] - before[tokens.starts]
    n_chars = gold.ends - gold.starts
    recalled = before[gold.ends] - before[gold.starts] == n_chars
    is_masked, is_phi = masked_chars > 0, gold.mark(slice(None))
    is_exact = gold.mark(recalled & (masked_chars[gold.tokens] == n_chars))
    kinds = _classify_safe([tokens.words[i] for i in np.flatnonzero(~is_phi)], clinical)
    in_group = MEMBERS[gold.types] & (~IS_SHORT | (n_chars <= SHORT_NAME_CHARS)[:, None])
    phi, hits = in_group.sum(0), in_group[recalled].sum(0)
    forgiven = _find_forgiven(doc, gold, recalled, harmless)
    has_group = MEMBERS[[TYPE_NUMBER[span.type] for span in doc.spans]].any(0)
    entities, entities_masked = _count_entities(doc, gold, recalled)
    row = {
        "tokens": len(tokens),
        "masked": is_masked.sum(),
        "inexact_masks": (is_masked & is_phi & ~is_exact).sum(),
        "safe": np.bincount(kinds, minlength=len(SafeKind)),
        "false_masks": np.bincount(kinds[is_masked[~is_phi]], minlength=len(SafeKind)),
        "phi": phi,
        "recalled": hits,
        "harmless_missed": in_group[forgiven].sum(0),
        "documents": np.where(IS_SHORT, phi > 0, has_group),
        "leaking": phi > hits,
        "entities": entities,
        "entities_masked": entities_masked,
    }
    return Counts(**{name: np.asarray(value, np.int64)[None] for name, value in row.items()})


def count_masked_before(n_chars: int, masks: Sequence[Range]) -> Int64Array:
    """Return how many characters before each offset are masked: int64 (n_chars + 1,).

    Example:
        >>> count_masked_before(4, [(1, 3), (2, 3)]).tolist()
        [0, 0, 1, 2, 2]
    """
    depth = np.zeros(n_chars + 1, np.int64)
    bounds = np.array(masks, np.int64).reshape(-1, 2)
    np.add.at(depth, bounds[:, 0], 1)
    np.add.at(depth, bounds[:, 1], -1)
    return np.concatenate(([0], np.cumsum(np.cumsum(depth[:-1]) > 0)))


def _find_forgiven(
    doc: Document, gold: GoldTokens, recalled: BoolArray, harmless: HarmlessTokens
) -> BoolArray:
    """Return bool (n_gold_tokens,): which were missed and are on the harmless list."""
    forgiven = np.zeros(len(recalled), np.bool_)
    for i in np.flatnonzero(~recalled):
        phi_type = doc.spans[gold.spans[i]].type
        forgiven[i] = harmless.holds(phi_type, doc.text[gold.starts[i] : gold.ends[i]])
    return forgiven


def _count_entities(doc: Document, gold: GoldTokens, recalled: BoolArray) -> tuple[Int64Array, Int64Array]:
    """Return int64 (n_groups,) twice: distinct identifiers, and those without a missed token."""
    words: dict[int, list[str]] = {}
    for i, span in enumerate(gold.spans.tolist()):
        words.setdefault(span, []).append(fold(doc.text[gold.starts[i] : gold.ends[i]]))
    leaking_spans = set(gold.spans[~recalled].tolist())
    leaks: dict[tuple[int, tuple[str, ...]], bool] = {}
    for span, spoken in words.items():
        entity = (TYPE_NUMBER[doc.spans[span].type], tuple(spoken))
        leaks[entity] = leaks.get(entity, False) or span in leaking_spans
    groups = MEMBERS[[number for number, _ in leaks]] & ~IS_SHORT
    is_masked = np.array([not leak for leak in leaks.values()], np.bool_)
    return groups.sum(0), groups[is_masked].sum(0)


def _classify_safe(words: Sequence[str], clinical: WordTest | None) -> Int64Array:
    """Return int64 (n_words,): the `SafeKind` of each word."""
    has_letter = np.array([any(map(str.isalpha, word)) for word in words], np.bool_)
    is_word = np.array([word.isalpha() for word in words], np.bool_)
    is_clinical = is_word & (False if clinical is None else np.asarray(clinical(words), np.bool_))
    return np.select(
        [is_clinical, is_word, ~has_letter],
        [SafeKind.CLINICAL, SafeKind.WORD, SafeKind.NUMBER],
        SafeKind.MIXED,
    ).astype(np.int64)
