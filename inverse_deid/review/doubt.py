"""How doubtful each decision of the model is, and which cases to look at first.

The doubt of a token falls with the distance of `p_safe` from its threshold, in logits: 1 at the
threshold, 1/e one logit off. What rules alone decide is not doubtful.

The doubt of a case is not encrypted, since the database orders the work list by it. It therefore only counts
doubtful tokens: a sum of their doubts would tell whoever has the model which name stands behind a marker.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from inverse_deid.core.phi import HyperClass, PhiType
from inverse_deid.core.values import BoolArray, Decisions, FloatArray
from inverse_deid.masking.combine import limit_of_safe_words
from inverse_deid.review.contents import CaseContent
from inverse_deid.review.store import MaskingFacts
from inverse_deid.review.values import CATEGORIES, NO_CATEGORY, ModelTokens

DOUBTFUL_FROM = 0.2
"""A reviewer should look at tokens of at least this doubt: 1.6 logits from the threshold."""

FAILED_CASE = 1e6
"""Is added to the doubt of a case that the model failed on."""

_EPSILON = 1e-7

_TYPE_OF_CLASS = {
    HyperClass.NAME: PhiType.PATIENT,
    HyperClass.PLACE: PhiType.LOCATION_OTHER,
    HyperClass.DATE: PhiType.DATE,
    HyperClass.AGE: PhiType.AGE,
    HyperClass.CONTACT: PhiType.PHONE,
    HyperClass.ID: PhiType.IDNUM,
    HyperClass.PROFESSION: PhiType.PROFESSION,
}
"""Only the class is known to the model; the type is its most frequent one."""

_CODE_OF_CLASS = np.array(
    [CATEGORIES.index(_TYPE_OF_CLASS[h]) if h in _TYPE_OF_CLASS else NO_CATEGORY for h in HyperClass],
    np.uint8,
)


def token_doubt(p_safe: FloatArray, thresholds: FloatArray) -> FloatArray:
    """The doubt of each token: float32 (n_tokens,), in [0, 1].

    Args:
        p_safe: float32 (n_tokens,), NaN = unknown.
        thresholds: float32 (n_tokens,), inf = never kept.

    Example:
        >>> token_doubt(np.float32([0.9, 0.5, np.nan]), np.float32([0.9, np.inf, 0.9])).tolist()
        [1.0, 0.0, 0.0]
    """
    defined = np.isfinite(p_safe) & np.isfinite(thresholds)
    distance = np.abs(_logit(np.where(defined, p_safe, 0.5)) - _logit(np.where(defined, thresholds, 0.5)))
    return np.where(defined, np.exp(-distance), 0.0).astype(np.float32)


def _logit(p: npt.ArrayLike) -> npt.NDArray[np.float64]:
    clipped = np.clip(np.asarray(p, np.float64), _EPSILON, 1 - _EPSILON)
    return np.asarray(np.log(clipped) - np.log1p(-clipped), np.float64)


def case_doubt(decisions: Decisions, *, is_failed: bool) -> tuple[float, int]:
    """The doubt of a case (how many tokens are doubtful, more if it failed) and how many they are."""
    doubt = token_doubt(decisions.p_safe, decisions.thresholds)
    n_doubtful = int((doubt >= DOUBTFUL_FROM).sum())
    return n_doubtful + (FAILED_CASE if is_failed else 0.0), n_doubtful


def model_tokens(content: CaseContent, facts: MaskingFacts) -> ModelTokens:
    """All that the model says of a case."""
    decisions = content.decisions
    doubt = token_doubt(decisions.p_safe, decisions.thresholds)
    return ModelTokens(
        keep=decisions.keep,
        reasons=decisions.reasons,
        p_safe=decisions.p_safe,
        thresholds=decisions.thresholds,
        categories=category_codes(decisions),
        doubt=doubt,
        is_doubtful=doubt >= DOUBTFUL_FROM,
        rules_safe=_rules_safe(content, facts),
        known=content.is_known,
    )


def category_codes(decisions: Decisions) -> npt.NDArray[np.uint8]:
    """The model's categories as codes of `CATEGORIES`: uint8 (n_tokens,)."""
    return _CODE_OF_CLASS[decisions.categories]


def _rules_safe(content: CaseContent, facts: MaskingFacts) -> BoolArray:
    """Where the low threshold was used; it moves with the density of each part."""
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
    return safe
