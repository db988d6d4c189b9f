"""The text of a case in the store, its tokens and the model's decisions, and how doubtful these are.

The doubt of a token falls with the distance of `p_safe` from its threshold, in logits: 1 at the
threshold, 1/e one logit off. Decisions made by rules alone are not doubtful.

The doubt of a case says how likely it still holds an identifier: the expected number of identifying tokens
among those that are kept, the sum of their `1 - p_safe`. It is not encrypted, since the database orders the
work list by it, and from the sum itself anyone with the model could work out the name under a marker. So it
is a power of two, and doubtful tokens, which are counted in the clear anyway, order the cases within it.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
from sqlalchemy import RowMapping, select

from inverse_deid.core.errors import ReviewError, UnreadableInputError
from inverse_deid.core.phi import HyperClass, PhiType
from inverse_deid.core.values import (
    BoolArray,
    Decisions,
    Document,
    FloatArray,
    KnownIdentifier,
    KnownSort,
    MaskedDocument,
    Tokens,
)
from inverse_deid.core.wording import _
from inverse_deid.masking.combine import limit_of_safe_words
from inverse_deid.masking.document_passes import PhraseList
from inverse_deid.review.store.keys import Sealer
from inverse_deid.review.store.opening import Transaction
from inverse_deid.review.store.rows import check_content, hash_content
from inverse_deid.review.store.tables import CONTENTS, place_of
from inverse_deid.review.store.values import (
    CATEGORIES,
    NO_CATEGORY,
    CasePart,
    CopiedValue,
    MaskingFacts,
    ModelTokens,
)
from inverse_deid.rules.known_identifiers import KnownIdentifiers

BETWEEN_PARTS = "\n\n"

DOUBTFUL_FROM = 0.2
"""A reviewer should look at tokens of at least this doubt: 1.6 logits from the threshold."""

FAILED_CASE = 1e6
"""Added to the doubt of a case that the model failed on."""

LEAST_LEAKS = 6
"""Fewer than two to the power of minus this expected leaks make no difference to the doubt of a case."""

_EPSILON = 1e-7
_APOSTROPHES = "'\u2019"

_COLUMNS = {
    "starts": "<i4",
    "ends": "<i4",
    "keep": "u1",
    "reasons": "u1",
    "p_safe": "<f4",
    "thresholds": "<f4",
    "categories": "u1",
    "known": "u1",
    "listed": "u1",
}
"""Stored columns of tokens, in order, with their types in the store."""

_DECISIONS = {
    "keep": np.bool_,
    "reasons": np.uint8,
    "p_safe": np.float32,
    "thresholds": np.float32,
    "categories": np.uint8,
}

_TYPE_OF_CLASS = {
    HyperClass.NAME: PhiType.PATIENT,
    HyperClass.PLACE: PhiType.LOCATION_OTHER,
    HyperClass.DATE: PhiType.DATE,
    HyperClass.AGE: PhiType.AGE,
    HyperClass.CONTACT: PhiType.PHONE,
    HyperClass.ID: PhiType.IDNUM,
    HyperClass.PROFESSION: PhiType.PROFESSION,
}
"""The model knows only the class; the type is its most frequent one."""

_CODE_OF_CLASS = np.array(
    [CATEGORIES.index(_TYPE_OF_CLASS[h]) if h in _TYPE_OF_CLASS else NO_CATEGORY for h in HyperClass],
    np.uint8,
)


@dataclass(frozen=True, slots=True, eq=False)
class CaseContent:
    """A case as it was masked, with the texts of all its parts in one."""

    text: str = field(repr=False)
    parts: tuple[CasePart, ...]
    known: tuple[str | KnownIdentifier, ...] = field(repr=False)
    tokens: Tokens = field(repr=False)
    decisions: Decisions = field(repr=False)  # of the model, with categories that index `HyperClass`
    is_known: BoolArray = field(repr=False)  # bool (n_tokens,), tokens of the known identifiers
    is_listed: BoolArray = field(repr=False)  # bool (n_tokens,), as a list says that they must be
    # What is released beside the texts, None = an earlier version did not store it.
    copied: tuple[CopiedValue, ...] | None = field(default=(), repr=False)
    other_language: bool = False  # a text of it seems not to be English


class Listed:
    """The words that a user lists to be masked and to be kept; where they are so, nobody is in doubt.

    Args:
        deny: Words and phrases to mask.
        allow: Words to keep.
    """

    def __init__(self, deny: Iterable[str] = (), allow: Iterable[str] = ()) -> None:
        self._deny, self._allow = PhraseList(deny), PhraseList(allow)

    def among(self, tokens: Tokens, keep: BoolArray) -> BoolArray:
        """Return which tokens are decided as listed: bool (n_tokens,)."""
        found = np.zeros(len(tokens), np.bool_)
        if self._deny:
            found |= self._deny.among(tokens) & ~keep
        if self._allow:
            found |= self._allow.among(tokens) & keep
        return found


def join_texts(
    docs: Sequence[Document],
    masked: Sequence[MaskedDocument],
    copied: tuple[CopiedValue, ...] = (),
    listed: Listed | None = None,
) -> CaseContent:
    """Put the texts of a case, which share their known identifiers, and their masked documents into one."""

    def join(arrays: Sequence[npt.NDArray[Any]], kind: type) -> npt.NDArray[Any]:
        return np.concatenate([np.zeros(0, kind), *arrays]).astype(kind)

    parts: list[CasePart] = []
    length = 0
    for doc in docs:
        length += len(BETWEEN_PARTS) if parts else 0
        parts.append(CasePart(doc.id, length, length + len(doc.text)))
        length += len(doc.text)
    text = BETWEEN_PARTS.join(doc.text for doc in docs)
    known = docs[0].known if docs else ()
    tokens = Tokens(
        text,
        [word for one in masked for word in one.tokens.words],
        join([one.tokens.starts + part.start for one, part in zip(masked, parts, strict=True)], np.int32),
        join([one.tokens.ends + part.start for one, part in zip(masked, parts, strict=True)], np.int32),
    )
    columns = {
        name: join([getattr(one.decisions, name) for one in masked], kind)
        for name, kind in _DECISIONS.items()
    }
    is_known = KnownIdentifiers(known).among(tokens)
    is_listed = (listed or Listed()).among(tokens, columns["keep"])
    return CaseContent(
        text,
        tuple(parts),
        known,
        tokens,
        Decisions(**columns),
        is_known,
        is_listed,
        copied,
        other_language=any(one.other_language for one in masked),
    )


def pack_content(content: CaseContent) -> tuple[bytes, bytes]:
    text = {
        "text": content.text,
        "parts": [[part.name, part.start, part.end] for part in content.parts],
        "known": [
            [one.value, str(one.sort)] if isinstance(one, KnownIdentifier) else one for one in content.known
        ],
        "copied": [[one.column, one.value, one.replaced] for one in content.copied or ()],
        "other_language": content.other_language,
    }
    columns: dict[str, npt.NDArray[Any]] = {
        "starts": content.tokens.starts,
        "ends": content.tokens.ends,
        **{name: getattr(content.decisions, name) for name in _DECISIONS},
        "known": content.is_known,
        "listed": content.is_listed,
    }
    packed = b"".join(columns[name].astype(kind).tobytes() for name, kind in _COLUMNS.items())
    return json.dumps(text).encode(), packed


def seal_packed(text: bytes, decisions: bytes, case_id: int, sealer: Sealer) -> dict[str, object]:
    key = {"case_id": case_id}
    sealed_text = sealer.seal(text, place_of(CONTENTS.c.sealed_text, key))
    sealed_tokens = sealer.seal(decisions, place_of(CONTENTS.c.sealed_tokens, key))
    hashed = hash_content(sealed_text, sealed_tokens)
    return {**key, "sealed_text": sealed_text, "sealed_tokens": sealed_tokens, "content_hash": hashed}


def read_content(transaction: Transaction, case_id: int) -> CaseContent:
    """Decrypt a case.

    Raises:
        ReviewError: The case does not exist.
        UnreadableInputError: It was altered.
    """
    found = read_contents(transaction, [case_id])
    if not found:
        raise ReviewError(_("the store has no case {case_id}", case_id=case_id))
    return found[case_id]


def read_contents(transaction: Transaction, case_ids: Sequence[int]) -> dict[int, CaseContent]:
    """Decrypt those of some cases that exist; fails as `read_content` if one was altered."""
    rows = transaction.read(select(CONTENTS).where(CONTENTS.c.case_id.in_(case_ids)), CONTENTS)
    found = {row.case_id: _open_content(transaction, row._mapping) for row in rows}
    return {case_id: found[case_id] for case_id in case_ids if case_id in found}


def _open_content(transaction: Transaction, row: RowMapping) -> CaseContent:
    check_content(row)
    case_id = row[CONTENTS.c.case_id]
    opened = {
        column: transaction.sealer.open(row[column.name], place_of(column, row))
        for column in (CONTENTS.c.sealed_text, CONTENTS.c.sealed_tokens)
    }
    stored = json.loads(opened[CONTENTS.c.sealed_text])
    columns = _unpack(opened[CONTENTS.c.sealed_tokens], case_id)
    text = stored["text"]
    starts, ends = columns["starts"].astype(np.int32), columns["ends"].astype(np.int32)
    words = [text[start:end] for start, end in zip(starts.tolist(), ends.tolist(), strict=True)]
    return CaseContent(
        text,
        tuple(CasePart(*part) for part in stored["parts"]),
        tuple(
            one if isinstance(one, str) else KnownIdentifier(one[0], KnownSort(one[1]))
            for one in stored["known"]
        ),
        Tokens(text, words, starts, ends),
        Decisions(**{name: columns[name].astype(kind) for name, kind in _DECISIONS.items()}),
        columns["known"].astype(np.bool_),
        columns["listed"].astype(np.bool_),
        tuple(CopiedValue(*one) for one in stored["copied"]) if "copied" in stored else None,
        other_language=stored["other_language"],
    )


def _unpack(packed: bytes, case_id: int) -> dict[str, npt.NDArray[np.generic]]:
    n_tokens, rest = divmod(len(packed), sum(np.dtype(kind).itemsize for kind in _COLUMNS.values()))
    if rest:
        raise UnreadableInputError(
            _(
                "the decisions on case {case_id} are incomplete. Restore a backup of the store",
                case_id=case_id,
            )
        )
    columns: dict[str, npt.NDArray[np.generic]] = {}
    begin = 0
    for name, kind in _COLUMNS.items():
        columns[name] = np.frombuffer(packed, kind, n_tokens, begin)
        begin += n_tokens * np.dtype(kind).itemsize
    return columns


def measure_doubt(p_safe: FloatArray, thresholds: FloatArray) -> FloatArray:
    """Return the doubt of each token: float32 (n_tokens,), in [0, 1].

    Of the arguments, float32 (n_tokens,), an unknown `p_safe` is NaN, and inf is never kept.

    Example:
        >>> measure_doubt(np.float32([0.9, 0.5, np.nan]), np.float32([0.9, np.inf, 0.9])).tolist()
        [1.0, 0.0, 0.0]
    """
    defined = np.isfinite(p_safe) & np.isfinite(thresholds)
    distance = np.abs(_logit(np.where(defined, p_safe, 0.5)) - _logit(np.where(defined, thresholds, 0.5)))
    return np.where(defined, np.exp(-distance), 0.0).astype(np.float32)


def _logit(p: npt.ArrayLike) -> npt.NDArray[np.float64]:
    clipped = np.clip(np.asarray(p, np.float64), _EPSILON, 1 - _EPSILON)
    return np.asarray(np.log(clipped) - np.log1p(-clipped), np.float64)


def read_doubts(content: CaseContent) -> FloatArray:
    """Return the doubt of each token: float32 (n_tokens,), in [0, 1], 0 = none, as a list decides it."""
    decisions = content.decisions
    doubt = measure_doubt(decisions.p_safe, decisions.thresholds)
    return np.where(content.is_listed, np.float32(0), doubt)


def find_doubtful(content: CaseContent) -> BoolArray:
    """Return which tokens a reviewer should look at: bool (n_tokens,)."""
    doubtful: BoolArray = read_doubts(content) >= DOUBTFUL_FROM
    return doubtful


def rank_case(content: CaseContent, *, is_failed: bool) -> tuple[float, int]:
    """Return the doubt of a case and the number of its doubtful tokens.

    The whole part of the doubt counts how often two to the power of -6 doubles up to the expected leaks, and
    the rest grows with the doubtful tokens. A case that failed has more.
    """
    n_doubtful = int(find_doubtful(content).sum())
    p_safe = content.decisions.p_safe
    may_leak = content.decisions.keep & ~content.is_listed & np.isfinite(p_safe)
    n_leaks = float(np.sum(1 - p_safe[may_leak], dtype=np.float64))
    level = math.floor(math.log2(max(n_leaks, 2.0**-LEAST_LEAKS))) + LEAST_LEAKS
    return level + 1 - 1 / (1 + n_doubtful) + (FAILED_CASE if is_failed else 0.0), n_doubtful


def read_model(content: CaseContent, facts: MaskingFacts) -> ModelTokens:
    decisions = content.decisions
    doubt = read_doubts(content)
    return ModelTokens(
        decisions=decisions,
        categories=encode_categories(decisions),
        doubt=doubt,
        is_doubtful=doubt >= DOUBTFUL_FROM,
        rules_safe=_find_rules_safe(content, facts),
        known=content.is_known,
    )


def encode_categories(decisions: Decisions) -> npt.NDArray[np.uint8]:
    """Return the model's categories as codes of `CATEGORIES`: uint8 (n_tokens,)."""
    return _CODE_OF_CLASS[decisions.categories]


def _find_rules_safe(content: CaseContent, facts: MaskingFacts) -> BoolArray:
    # The threshold moves with the density of each part.
    safe = np.zeros(len(content.tokens), np.bool_)
    decisions = content.decisions
    thresholds = facts.thresholds
    if thresholds is None:
        return decisions.keep.copy()
    if thresholds.low == thresholds.high:
        return safe
    for part in content.parts:
        first, stop = np.searchsorted(content.tokens.starts, [part.start, part.end]).tolist()
        low = limit_of_safe_words(thresholds, decisions.p_safe[first:stop])
        safe[first:stop] = decisions.thresholds[first:stop] == low
    return safe & ~_find_endings(content)


def _find_endings(content: CaseContent) -> BoolArray:
    # Letters behind an apostrophe of a masked word, as in "Okonkwo's": unmasked alone they say nothing.
    tokens, keep = content.tokens, content.decisions.keep
    found = np.zeros(len(tokens), np.bool_)
    starts, ends = tokens.starts, tokens.ends
    letters = (ends[1:] - starts[1:] == 1) & (starts[1:] - ends[:-1] == 1) & ~keep[:-1]
    for i in np.flatnonzero(letters).tolist():
        found[i + 1] = tokens.text[ends[i]] in _APOSTROPHES
    return found
