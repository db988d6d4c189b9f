"""The rules as one stage: tokens in, features and verdicts out."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from inverse_deid.core.values import RuleAnalysis, Tokens
from inverse_deid.lexicon import Lexicon
from inverse_deid.rules.allowlist import POLICIES, Policy, judge
from inverse_deid.rules.context import CONTEXT_FEATURE_NAMES, describe_context
from inverse_deid.rules.words import WORD_FEATURE_NAMES, WordKnowledge
from inverse_deid.text.interning import InternedWords
from inverse_deid.text.joined import join

FEATURE_NAMES: tuple[str, ...] = (*WORD_FEATURE_NAMES, *CONTEXT_FEATURE_NAMES)
"""Names of the columns of `RuleAnalysis.features`: the fifteen of the thesis and more."""


class RuleAnalyser:
    """Analyses documents by dictionaries, shape and context.

    Args:
        lexicon: The dictionaries.
        interned: Numbers the words; shared with the scorer.
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
        return self.analyse_many([tokens])[0]

    def analyse_many(self, tokens: Sequence[Tokens]) -> list[RuleAnalysis]:
        """Analyse documents, looking up the distinct words of all of them together."""
        joined = join(tokens)
        ids = self._interned.ids(joined.words)
        rows = self._knowledge.rows()
        context = describe_context(joined, ids, rows, self._lexicon)
        features = np.concatenate([rows.features[ids], context.features], axis=1)
        verdicts = judge(ids, rows, context, self._policy)
        return [RuleAnalysis(ids[of], features[of], verdicts.of(of)) for of in joined.slices()]
