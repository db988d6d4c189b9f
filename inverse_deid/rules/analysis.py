"""The rules as one stage: tokens in, features and verdicts out."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from inverse_deid.core.values import FloatArray, IntArray, RuleVerdicts, Tokens
from inverse_deid.lexicon import Lexicon
from inverse_deid.rules.allowlist import POLICIES, Policy, judge
from inverse_deid.rules.context import CONTEXT_FEATURE_NAMES, describe_context
from inverse_deid.rules.words import WORD_FEATURE_NAMES, WordKnowledge
from inverse_deid.text.interning import InternedWords

FEATURE_NAMES: tuple[str, ...] = (*WORD_FEATURE_NAMES, *CONTEXT_FEATURE_NAMES)
"""Names of the columns of `RuleAnalysis.features`: the fifteen of the thesis and more."""


@dataclass(frozen=True, slots=True, eq=False)
class RuleAnalysis:
    """What the rules found in one document.

    Args:
        ids: int32 (n_tokens,), the number of each token's word in `InternedWords`.
        features: float32 (n_tokens, len(FEATURE_NAMES)), in [0, 1].
        verdicts: Safe, never, veto and titled, one a token.
    """

    ids: IntArray = field(repr=False)
    features: FloatArray = field(repr=False)
    verdicts: RuleVerdicts = field(repr=False)


class RuleAnalyser:
    """Analyses documents by dictionaries, shape and context.

    Args:
        lexicon: The dictionaries.
        interned: Numbers the words; share it with the scorer.
        policy: How ambiguous words are judged.

    Raises:
        ValueError: Unknown policy.
    """

    def __init__(self, lexicon: Lexicon, interned: InternedWords, policy: Policy = "case-aware") -> None:
        if policy not in POLICIES:
            raise ValueError(f"policy is one of {', '.join(POLICIES)}")
        self._lexicon = lexicon
        self._interned = interned
        self._knowledge = WordKnowledge(lexicon, interned)
        self._policy = policy

    def analyse(self, tokens: Tokens) -> RuleAnalysis:
        """Compute features and verdicts of every token of one document."""
        ids = self._interned.ids(tokens.words)
        rows = self._knowledge.rows()
        context = describe_context(tokens, ids, rows, self._lexicon)
        features = np.concatenate([rows.features[ids], context.features], axis=1)
        return RuleAnalysis(ids, features, judge(ids, rows, context, self._policy))
