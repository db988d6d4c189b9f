"""What a store holds of the text of a case: the narrative, its tokens, and the model's decisions."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
from sqlalchemy import Connection, select

from inverse_deid.core.errors import ReviewError, UnreadableInputError
from inverse_deid.core.values import (
    BoolArray,
    Decisions,
    Document,
    FloatArray,
    IntArray,
    KnownIdentifier,
    KnownSort,
    MaskedDocument,
    Tokens,
)
from inverse_deid.review.sealing import Sealer
from inverse_deid.review.tables import CONTENTS
from inverse_deid.review.values import Part
from inverse_deid.rules.known_identifiers import KnownIdentifiers

BETWEEN_PARTS = "\n\n"

_COLUMNS: tuple[tuple[str, str], ...] = (
    ("starts", "<i4"),
    ("ends", "<i4"),
    ("keep", "u1"),
    ("reasons", "u1"),
    ("p_safe", "<f4"),
    ("thresholds", "<f4"),
    ("classes", "u1"),
    ("known", "u1"),
)


@dataclass(frozen=True, slots=True, eq=False)
class CaseContent:
    """A case as it was masked: the texts of all its parts in one.

    Args:
        text: The original.
        parts: Its texts.
        known: Known identifiers.
        tokens: Of `text`.
        decisions: The model's; categories index `HyperClass`.
        is_known: bool (n_tokens,), belongs to a known identifier.
    """

    text: str = field(repr=False)
    parts: tuple[Part, ...]
    known: tuple[str | KnownIdentifier, ...] = field(repr=False)
    tokens: Tokens = field(repr=False)
    decisions: Decisions = field(repr=False)
    is_known: BoolArray = field(repr=False)


def content_of(docs: Sequence[Document], masked: Sequence[MaskedDocument]) -> CaseContent:
    """Put the texts of a case into one.

    Args:
        docs: The originals; all share their known identifiers.
        masked: What the masker made of each.
    """
    parts: list[Part] = []
    length = 0
    for doc in docs:
        length += len(BETWEEN_PARTS) if parts else 0
        parts.append(Part(doc.id, length, length + len(doc.text)))
        length += len(doc.text)
    text = BETWEEN_PARTS.join(doc.text for doc in docs)
    known = docs[0].known if docs else ()
    finder = KnownIdentifiers(known)
    tokens = Tokens(
        text,
        [word for one in masked for word in one.tokens.words],
        _joined([one.tokens.starts + part.start for one, part in zip(masked, parts, strict=True)], np.int32),
        _joined([one.tokens.ends + part.start for one, part in zip(masked, parts, strict=True)], np.int32),
    )
    decisions = Decisions(
        keep=_joined([one.decisions.keep for one in masked], np.bool_),
        reasons=_joined([one.decisions.reasons for one in masked], np.uint8),
        p_safe=_joined([one.decisions.p_safe for one in masked], np.float32),
        thresholds=_joined([one.decisions.thresholds for one in masked], np.float32),
        categories=_joined([one.decisions.categories for one in masked], np.uint8),
    )
    return CaseContent(text, tuple(parts), known, tokens, decisions, finder.among(tokens))


def _joined(arrays: Sequence[npt.NDArray[Any]], kind: type) -> npt.NDArray[Any]:
    return np.concatenate([np.zeros(0, kind), *arrays]).astype(kind)


def sealed_content(content: CaseContent, case_id: int, sealer: Sealer) -> dict[str, object]:
    """A row of the table `contents`."""
    text = {
        "text": content.text,
        "parts": [[part.name, part.start, part.end] for part in content.parts],
        "known": [
            [one.value, str(one.sort)] if isinstance(one, KnownIdentifier) else one for one in content.known
        ],
    }
    columns = {
        "starts": content.tokens.starts,
        "ends": content.tokens.ends,
        "keep": content.decisions.keep,
        "reasons": content.decisions.reasons,
        "p_safe": content.decisions.p_safe,
        "thresholds": content.decisions.thresholds,
        "classes": content.decisions.categories,
        "known": content.is_known,
    }
    packed = b"".join(np.asarray(columns[name]).astype(kind).tobytes() for name, kind in _COLUMNS)
    encoded = json.dumps(text).encode()
    return {
        "case_id": case_id,
        "sealed_text": sealer.sealed(encoded, f"the text of case {case_id}"),
        "sealed_tokens": sealer.sealed(packed, f"the decisions on case {case_id}"),
    }


def read_content(connection: Connection, case_id: int, sealer: Sealer) -> CaseContent:
    """Decrypt a case.

    Raises:
        ReviewError: No such case.
        UnreadableInputError: It was altered.
    """
    row = connection.execute(select(CONTENTS).where(CONTENTS.c.case_id == case_id)).one_or_none()
    if row is None:
        raise ReviewError(f"there is no case {case_id} in the store")
    stored = json.loads(sealer.opened(row.sealed_text, f"the text of case {case_id}"))
    columns = _unpacked(sealer.opened(row.sealed_tokens, f"the decisions on case {case_id}"), case_id)
    text = stored["text"]
    starts: IntArray = columns["starts"].astype(np.int32)
    ends: IntArray = columns["ends"].astype(np.int32)
    words = [text[start:end] for start, end in zip(starts.tolist(), ends.tolist(), strict=True)]
    p_safe: FloatArray = columns["p_safe"].astype(np.float32)
    decisions = Decisions(
        keep=columns["keep"].astype(np.bool_),
        reasons=columns["reasons"].astype(np.uint8),
        p_safe=p_safe,
        thresholds=columns["thresholds"].astype(np.float32),
        categories=columns["classes"].astype(np.uint8),
    )
    return CaseContent(
        text,
        tuple(Part(*part) for part in stored["parts"]),
        tuple(
            one if isinstance(one, str) else KnownIdentifier(one[0], KnownSort(one[1]))
            for one in stored["known"]
        ),
        Tokens(text, words, starts, ends),
        decisions,
        columns["known"].astype(np.bool_),
    )


def _unpacked(packed: bytes, case_id: int) -> dict[str, npt.NDArray[np.generic]]:
    """The columns of a case by name."""
    n_bytes = sum(np.dtype(kind).itemsize for _, kind in _COLUMNS)
    n_tokens, rest = divmod(len(packed), n_bytes)
    if rest:
        raise UnreadableInputError(
            f"the decisions on case {case_id} are not whole; take a backup of the store"
        )
    columns: dict[str, npt.NDArray[np.generic]] = {}
    begin = 0
    for name, kind in _COLUMNS:
        columns[name] = np.frombuffer(packed, kind, n_tokens, begin)
        begin += n_tokens * np.dtype(kind).itemsize
    return columns
