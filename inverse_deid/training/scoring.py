"""Score annotated documents as masking would, to calibrate on them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from inverse_deid.core.values import Document
from inverse_deid.lexicon import load_lexicon
from inverse_deid.masking.pipeline import TokenScorer, join_verdicts
from inverse_deid.rules.analysis import RuleAnalyser
from inverse_deid.text.interning import InternedWords
from inverse_deid.text.tokenizer import span_of_token, tokenize
from inverse_deid.training.calibration import ScoredCorpus, densities


def score_documents(
    scorer: TokenScorer, interned: InternedWords, name: str, docs: Sequence[Document]
) -> ScoredCorpus:
    """Score annotated documents with a scorer that shares `interned`."""
    tokens = [tokenize(doc.text) for doc in docs]
    analyses = RuleAnalyser(load_lexicon(), interned).analyse_many(tokens)
    p_safe = [scores.p_safe for scores in scorer.score(tokens, analyses)]
    owners = [span_of_token(t, doc.spans) for t, doc in zip(tokens, docs, strict=True)]
    return ScoredCorpus(
        name=name,
        is_phi=np.concatenate(owners) >= 0,
        p_safe=np.concatenate(p_safe),
        verdicts=join_verdicts(tokens, [analysis.verdicts for analysis in analyses]),
        densities=densities(p_safe),
    )
