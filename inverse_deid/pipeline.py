"""The `Deidentifier`: runs the stages and owns the one fail-closed rule.

Everything starts masked. A stage that fails, or breaks its contract, costs the
document its text, never its privacy: it comes back with every token masked and
`failed` set.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Protocol

import numpy as np
import numpy.typing as npt

from inverse_deid.combine import Thresholds, combine, rules_alone
from inverse_deid.core.errors import StageError
from inverse_deid.core.values import (
    Decisions,
    Document,
    FloatArray,
    KnownIdentifier,
    MaskedDocument,
    Reason,
    RuleAnalysis,
    Tokens,
)
from inverse_deid.document_passes import (
    PhraseList,
    apply_allow_list,
    mask_joined_parts,
    mask_more,
    mask_names_everywhere,
    mask_phrases,
)
from inverse_deid.replacement.markers import MarkerFor
from inverse_deid.rules.known_identifiers import KnownIdentifiers
from inverse_deid.rules.medical_words import HoldsMedicalWord
from inverse_deid.text.rendering import render
from inverse_deid.text.tokenizer import tokenize


class Analyser(Protocol):
    """The rules."""

    def analyse_many(self, tokens: Sequence[Tokens]) -> list[RuleAnalysis]:
        """Features and verdicts of every token of every document."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class Scores:
    """What the network says of the tokens of one document.

    Args:
        p_safe: float32 (n_tokens,), probability of *safe*.
        categories: uint8 (n_tokens,), most probable PHI hyper-class (index into `HyperClass`).
    """

    p_safe: FloatArray = field(repr=False)
    categories: npt.NDArray[np.uint8] = field(repr=False)


class TokenScorer(Protocol):
    """The network."""

    def score(self, tokens: Sequence[Tokens], analyses: Sequence[RuleAnalysis]) -> list[Scores]:
        """Scores of every token of every document."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Stages:
    """What a `Deidentifier` runs.

    Args:
        analyser: The rules.
        scorer: The network; None decides by the rules alone.
        thresholds: Of the adaptive threshold.
        marker_for: Gives the marker of each mask.
        allow: Words that the user keeps.
        deny: Words and phrases that the user masks.
        is_common_word: Says of a word, in any case, whether it is a common one; it is then not
            masked for its likeness to a known identifier alone.
        holds_medical_word: Says of the words of a mask, and what they are taken for, whether one is a
            drug or a medical term; no surrogate stands for it then.
        between_batches: Called after every batch; keeps caches within bounds.
    """

    analyser: Analyser
    scorer: TokenScorer | None
    thresholds: Thresholds
    marker_for: MarkerFor
    allow: PhraseList = field(default_factory=lambda: PhraseList(()))
    deny: PhraseList = field(default_factory=lambda: PhraseList(()))
    is_common_word: Callable[[str], bool] = lambda word: False
    holds_medical_word: HoldsMedicalWord = lambda words, category: False
    between_batches: Callable[[], None] = lambda: None


class Deidentifier:
    """Masks documents.

    Args:
        stages: Rules, network, thresholds and replacement.
        fingerprint: Changes with anything that can change a decision.
        made_of: What it was made of, for reports: hashes and thresholds.

    Example:
        >>> from inverse_deid.assemble import MaskingSettings, build_deidentifier
        >>> deidentifier = build_deidentifier(MaskingSettings())
        >>> deidentifier.mask(Document("1", "Mr. Okonkwo had a rash.")).text
        'Mr. PHI had a rash.'
    """

    def __init__(
        self, stages: Stages, fingerprint: str = "", made_of: Mapping[str, object] = MappingProxyType({})
    ) -> None:
        self._stages = stages
        self.fingerprint = fingerprint
        self.made_of = dict(made_of)
        self.holds_medical_word = stages.holds_medical_word

    def mask(self, doc: Document) -> MaskedDocument:
        """Mask one document; see `mask_many`."""
        return self.mask_many([doc])[0]

    def mask_many(self, docs: Sequence[Document]) -> list[MaskedDocument]:
        """Mask a batch of documents, in order.

        Never raises for a document: one that fails comes back fully masked,
        with `failed` set, and does not harm the others.
        """
        try:
            masked = self._mask_batch(docs)
        except Exception:  # noqa: BLE001 - fail closed, whatever went wrong
            masked = [self._mask_alone(doc) for doc in docs]
        self._stages.between_batches()
        return masked

    def _mask_alone(self, doc: Document) -> MaskedDocument:
        try:
            return self._mask_batch([doc])[0]
        except Exception:  # noqa: BLE001 - fail closed, whatever went wrong
            return mask_everything(doc, self._stages.marker_for)

    def _mask_batch(self, docs: Sequence[Document]) -> list[MaskedDocument]:
        tokens = [tokenize(doc.text) for doc in docs]
        analyses = self._stages.analyser.analyse_many(tokens)
        decided = self._decide(tokens, analyses)
        known = {values: KnownIdentifiers(values, self._stages.is_common_word) for values in _known(docs)}
        return [
            self._finish(doc, analysis, decisions, (t, known.get(doc.known)))
            for doc, t, analysis, decisions in zip(docs, tokens, analyses, decided, strict=True)
        ]

    def _decide(self, tokens: Sequence[Tokens], analyses: Sequence[RuleAnalysis]) -> list[Decisions]:
        scorer = self._stages.scorer
        if scorer is None:
            return [rules_alone(analysis.verdicts) for analysis in analyses]
        return [
            combine(analysis.verdicts, scores.p_safe, scores.categories, self._stages.thresholds)
            for analysis, scores in zip(analyses, scorer.score(tokens, analyses), strict=True)
        ]

    def _finish(
        self,
        doc: Document,
        analysis: RuleAnalysis,
        decisions: Decisions,
        found: tuple[Tokens, KnownIdentifiers | None],
    ) -> MaskedDocument:
        """Allow list, passes that only mask more, rendering."""
        tokens, known = found
        if len(decisions) != len(tokens):
            raise StageError(f"document {doc.id}: {len(decisions)} decisions for {len(tokens)} tokens")
        if self._stages.scorer is not None:
            decisions = mask_names_everywhere(tokens, analysis.verdicts, decisions)
            decisions = mask_joined_parts(tokens, decisions)
        decisions = apply_allow_list(tokens, self._stages.allow, analysis.verdicts, decisions)
        if known is not None:
            decisions = mask_more(decisions, known.among(tokens), Reason.KNOWN_IDENTIFIER)
        decisions = mask_phrases(tokens, self._stages.deny, Reason.DENY_LIST, decisions)
        rendering = render(tokens, decisions.keep, self._stages.marker_for(decisions))
        return MaskedDocument(doc.id, rendering.text, rendering.masks, rendering.replaced, tokens, decisions)


def _known(docs: Sequence[Document]) -> set[tuple[str | KnownIdentifier, ...]]:
    """The known values of documents, those of one case once."""
    return {doc.known for doc in docs if doc.known}


def mask_everything(doc: Document, marker_for: MarkerFor) -> MaskedDocument:
    """Mask every token of a document that a stage failed on."""
    tokens = tokenize(doc.text)
    n_tokens = len(tokens)
    decisions = Decisions(
        keep=np.zeros(n_tokens, np.bool_),
        reasons=np.full(n_tokens, Reason.FAILED_CLOSED, np.uint8),
        p_safe=np.full(n_tokens, np.nan, np.float32),
        thresholds=np.full(n_tokens, np.inf, np.float32),
        categories=np.zeros(n_tokens, np.uint8),
    )
    try:
        rendering = render(tokens, decisions.keep, marker_for(decisions))
    except Exception:  # noqa: BLE001 - even the marker may be what failed
        rendering = render(tokens, decisions.keep, lambda first, last: "PHI")
    return MaskedDocument(
        doc.id, rendering.text, rendering.masks, rendering.replaced, tokens, decisions, failed=True
    )
