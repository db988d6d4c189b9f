"""From scores to decisions on a corpus, and from decisions to the figures of the evaluation."""

from __future__ import annotations

import itertools

import numpy as np
import numpy.typing as npt

from inverse_deid.core.thresholds import Thresholds
from inverse_deid.core.values import BoolArray, Decisions, RuleVerdicts, Tokens
from inverse_deid.evaluation.evaluation import Evaluation, evaluate_masks
from inverse_deid.masking.combine import combine, rules_alone
from inverse_deid.masking.document_passes import mask_joined_parts, mask_names_everywhere
from inverse_deid.research.studies.analysed import AnalysedCorpus, TokenScores
from inverse_deid.text.joined import join


def decide(
    scores: TokenScores,
    thresholds: Thresholds,
    verdicts: RuleVerdicts | None = None,
    densities: npt.NDArray[np.float64] | None = None,
) -> Decisions:
    """Decide on the tokens of a corpus by the adaptive threshold.

    Args:
        scores: Of the corpus.
        thresholds: With a slope of density only where densities are given.
        verdicts: Without them `high` alone decides.
        densities: float64 (n_tokens,), as `ScoredCorpus` has them.
    """
    if verdicts is None:
        verdicts = RuleVerdicts.silent(len(scores.p_safe))
    return combine(verdicts, scores.p_safe, scores.categories, thresholds, densities)


def decide_by_rules(verdicts: RuleVerdicts) -> Decisions:
    """Decide by the rules alone."""
    return rules_alone(verdicts)


def by_argmax(scores: TokenScores) -> BoolArray:
    """Keep what is most probably safe: bool (n_tokens,)."""
    return np.asarray((scores.best == 0) & ~np.isnan(scores.p_safe))


def after_passes(corpus: AnalysedCorpus, verdicts: RuleVerdicts, decisions: Decisions) -> BoolArray:
    """What the passes over whole documents leave: bool (n_tokens,)."""
    tokens = join(corpus.tokens)
    return mask_joined_parts(tokens, mask_names_everywhere(tokens, verdicts, decisions)).keep


def evaluate(corpus: AnalysedCorpus, keep: BoolArray) -> Evaluation:
    """Evaluate the masks of a corpus.

    Args:
        corpus: The gold.
        keep: bool (n_tokens,).

    Raises:
        AnnotationError: Two documents have one id.
    """
    masks = {
        doc.id: _ranges(tokens, keep[start:end])
        for doc, tokens, (start, end) in zip(
            corpus.docs, corpus.tokens, itertools.pairwise(corpus.starts), strict=True
        )
    }
    return evaluate_masks(corpus.docs, masks)


def _ranges(tokens: Tokens, keep: BoolArray) -> list[tuple[int, int]]:
    """The characters of the masked tokens of one document."""
    masked = ~keep
    return list(zip(tokens.starts[masked].tolist(), tokens.ends[masked].tolist(), strict=True))
