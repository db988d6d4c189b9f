"""Stand-ins for the de-identifier, made of the real tokenizer and renderer."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

import numpy as np

from inverse_deid.core.values import Decisions, Document, MaskedDocument, Reason, Tokens
from inverse_deid.text.rendering import render
from inverse_deid.text.tokenizer import tokenize

CANARY = "Zebulonova"
BROKEN_STAGE = "BROKENSTAGE"
"""A document with this word comes back fully masked as failed."""


class FakeMasker:
    """Keeps the tokens that `keeps` says; a document that holds `BROKEN_STAGE` fails."""

    fingerprint = "fake"

    def __init__(self, keeps: Callable[[str], bool], seconds_a_batch: float = 0.0) -> None:
        self._keeps = keeps
        self._seconds = seconds_a_batch
        self.batch_sizes: list[int] = []

    def mask_many(self, docs: Sequence[Document]) -> list[MaskedDocument]:
        time.sleep(self._seconds)
        self.batch_sizes.append(len(docs))
        return [self._mask(doc) for doc in docs]

    def _mask(self, doc: Document) -> MaskedDocument:
        tokens = tokenize(doc.text)
        failed = BROKEN_STAGE in tokens.words
        keep = np.array([not failed and self._keeps(word) for word in tokens.words], np.bool_)
        decisions = _decisions(tokens, keep)
        rendering = render(tokens, keep, lambda first, last: "PHI")
        return MaskedDocument(
            doc.id, rendering.text, rendering.masks, rendering.replaced, tokens, decisions, failed
        )


def _decisions(tokens: Tokens, keep: np.ndarray) -> Decisions:
    n = len(tokens)
    return Decisions(
        keep=keep,
        reasons=np.where(keep, Reason.KEPT_SAFE_WORD, Reason.BELOW_THRESHOLD).astype(np.uint8),
        p_safe=np.where(keep, 0.987654, np.nan).astype(np.float32),
        thresholds=np.where(keep, 0.9, np.inf).astype(np.float32),
        categories=np.ones(n, np.uint8),
    )


class NearTheThreshold(FakeMasker):
    """Keeps what it keeps with a probability just above the threshold."""

    def _mask(self, doc: Document) -> MaskedDocument:
        masked = super()._mask(doc)
        masked.decisions.p_safe[masked.decisions.keep] = 0.9001
        return masked


def near_the_threshold() -> FakeMasker:
    """Like `mask_capitals`, but in doubt about every word that is kept."""
    return NearTheThreshold(str.islower)


class MasksInDoubt(FakeMasker):
    """Masks what it masks with a probability just below the threshold."""

    def _mask(self, doc: Document) -> MaskedDocument:
        masked = super()._mask(doc)
        masked.decisions.p_safe[~masked.decisions.keep] = 0.8999
        masked.decisions.thresholds[~masked.decisions.keep] = 0.9
        return masked


def masks_in_doubt() -> FakeMasker:
    """Like `mask_capitals`, but in doubt about every word that is masked."""
    return MasksInDoubt(str.islower)


def keep_all() -> FakeMasker:
    return FakeMasker(lambda word: True)


def mask_all() -> FakeMasker:
    return FakeMasker(lambda word: False)


def mask_capitals(seconds_a_batch: float = 0.0) -> FakeMasker:
    """Masks words that begin with a capital or a digit."""
    return FakeMasker(str.islower, seconds_a_batch)
