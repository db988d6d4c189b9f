"""The adaptive threshold: the only place where a probability is compared with a threshold.

Source: thesis, section 4.3.5. If the rules say safe, or see a clinical fact, a token is kept from
`low` on; if not, from `high` on. Three kinds are never kept: a weekday, month, street word, holiday or
written-out number that is not safe, words in a pattern that may only mask, and a capitalised word that
only lists of names know.
A category that the user keeps counts as safe: its probability is added to `p_safe` before the comparison,
which is then with a stricter threshold than `high`, since the rules and a low density say nothing about
which category a word is of. Rules that only mask words of kept categories give way to it: where the network
is sure that a word is safe or of a kept category, and, if it may be a name, sure of the category.

Beyond the thesis, both thresholds rise in documents that are crowded with protected health information
(PHI) and fall in those with little of it, but never for a word that the rules do not call safe
(docs/decisions/0005); and a capitalised word that may be a name needs more. So does a safe word of a name
list at the beginning of a sentence, since its capital tells nothing (docs/decisions/0012).
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from inverse_deid.core.thresholds import Thresholds
from inverse_deid.core.values import Decisions, FloatArray, Reason, RuleVerdicts

REFERENCE_DENSITY = 0.1
"""The share of PHI at which the thresholds apply unchanged; about that of hospital records."""

_REFERENCE_TOKENS = 20
"""A document counts as if it had this many more tokens of that density: a short one says little."""
_NAME_LOGITS = 1.25
"""How far the threshold of a word that may be a name is above `high`."""
_CERTAIN_LOGITS = 12.0
"""How far the threshold of a closed clinical expression is below `low`."""
_SURE_OF_KEPT = 0.5
"""The least probability of the kept categories at which a word that may be a name is kept, although their
rules forbid it."""
_CATEGORY_LOGITS = 1.25
"""How far the threshold of a word that is kept because of its category is above `high`."""
_LEAST_OF_CATEGORY = 0.95
"""The least threshold of such a word, however low `high` is: an unsure network mixes categories up."""
_BELOW_ONE = np.nextafter(np.float32(1), np.float32(0))
"""A sum of probabilities is never certain, so that thresholds of 1 mask it."""
_ROUNDING = 1e-4
"""How far a sum of probabilities may be above 1; one further above masks."""
_AT_ONCE = 65_536
"""Tokens that are decided at once, to save memory in long documents. Each is decided by itself."""
_FARTHEST = 2.0
"""Bounds the logarithm of density over reference: no document moves a threshold farther."""


def log_density(p_safe: FloatArray) -> float:
    """Return how much PHI the network expects in a document, compared with the reference.

    Args:
        p_safe: float32 (n_tokens,); values that are not probabilities count as PHI.

    Returns:
        Logarithm of expected share of PHI over `REFERENCE_DENSITY`, in [-2, 2].
    """
    return float(log_densities(p_safe, [0, len(p_safe)])[0])


def log_densities(p_safe: FloatArray, bounds: Sequence[int]) -> npt.NDArray[np.float64]:
    """Return `log_density` of consecutive documents: float64 (n_docs,).

    Args:
        p_safe: float32 (n_tokens,), of all documents.
        bounds: The first token of each document, and the number of tokens.
    """
    p = np.asarray(p_safe, np.float64)
    phi = np.where((p >= 0) & (p <= 1), 1 - p, 1.0)
    n_phi = np.array([phi[first:last].sum() for first, last in pairwise(bounds)], np.float64)
    density = (n_phi + _REFERENCE_TOKENS * REFERENCE_DENSITY) / (np.diff(bounds) + _REFERENCE_TOKENS)
    return np.clip(np.log(density / REFERENCE_DENSITY), -_FARTHEST, _FARTHEST)


def shift_threshold(threshold: float, logits: npt.ArrayLike) -> FloatArray:
    """Return a threshold raised by `logits`, in their shape as float32; 0 and 1 stay 0 and 1."""
    with np.errstate(divide="ignore", over="ignore"):
        odds = np.log(threshold) - np.log1p(-threshold) + np.asarray(logits, np.float64)
        return np.asarray(1 / (1 + np.exp(-odds)), np.float32)


def combine(
    verdicts: RuleVerdicts,
    p_safe: FloatArray,
    categories: npt.NDArray[np.uint8],
    thresholds: Thresholds,
    densities: npt.NDArray[np.float64] | None = None,
    p_kept: FloatArray | None = None,
) -> Decisions:
    """Decide on every token of a document.

    Args:
        verdicts: What the rules say.
        p_safe: float32 (n_tokens,), probability of *safe*; NaN or above 1 masks.
        categories: uint8 (n_tokens,), suspected PHI hyper-class.
        thresholds: `low` and `high`.
        densities: float64 (n_tokens,), `log_density` of the document of each token; None = all
            tokens are of one document.
        p_kept: float32 (n_tokens,), probability of the categories that the user keeps, NaN masks;
            None = all are masked. They count as PHI for the densities.

    Example:
        >>> import dataclasses
        >>> flags = lambda *bits: np.array(bits, bool)
        >>> silent = RuleVerdicts.silent(3)
        >>> verdicts = dataclasses.replace(silent, safe=flags(1, 0, 0), never=flags(0, 0, 1))
        >>> p_safe = np.array([0.9, 0.9, 1.0], np.float32)
        >>> combine(verdicts, p_safe, np.zeros(3, np.uint8), Thresholds(0.8, 0.95)).keep.tolist()
        [True, False, False]
    """
    if len(p_safe) > _AT_ONCE:
        density = np.broadcast_to(log_density(p_safe) if densities is None else densities, p_safe.shape)
        slices = [slice(at, at + _AT_ONCE) for at in range(0, len(p_safe), _AT_ONCE)]
        return join_decisions(
            [
                combine(
                    verdicts.of(one),
                    p_safe[one],
                    categories[one],
                    thresholds,
                    density[one],
                    None if p_kept is None else p_kept[one],
                )
                for one in slices
            ]
        )
    adaptive = _limits(verdicts, thresholds, p_safe, densities)
    limits = np.where(verdicts.always_masked, np.float32(np.inf), adaptive).astype(np.float32)
    keep = (p_safe >= limits) & (p_safe <= 1)
    by_category = np.zeros(len(keep), np.bool_)
    if p_kept is not None:
        of_category = _limits_of_kept(verdicts, thresholds, p_safe, p_kept, densities)
        total = p_safe + p_kept
        is_probability = (p_safe >= 0) & (p_kept >= 0) & (total <= 1 + _ROUNDING)
        by_category = is_probability & (np.minimum(total, _BELOW_ONE) >= of_category) & ~keep
        limits = np.where(by_category, of_category, limits).astype(np.float32)
        keep = keep | by_category
    reasons = np.full(len(keep), Reason.BELOW_THRESHOLD, np.uint8)
    reasons[verdicts.name] = Reason.NAME_ONLY_WORD
    reasons[verdicts.never] = Reason.NEVER_SAFE_WORD
    reasons[verdicts.veto] = Reason.VETO_PATTERN
    reasons[keep] = np.where(verdicts.safe[keep], Reason.KEPT_SAFE_WORD, Reason.KEPT_BY_NETWORK)
    reasons[keep & verdicts.certain & ~verdicts.safe] = Reason.KEPT_CLINICAL_FACT
    reasons[by_category] = Reason.KEPT_CATEGORY
    return Decisions(keep, reasons, np.asarray(p_safe, np.float32), limits, categories)


def join_decisions(parts: Sequence[Decisions]) -> Decisions:
    """Put decisions on consecutive tokens in one row."""
    return Decisions(*(np.concatenate([getattr(one, name) for one in parts]) for name in Decisions.__slots__))


def _limits_of_kept(
    verdicts: RuleVerdicts,
    thresholds: Thresholds,
    p_safe: FloatArray,
    p_kept: FloatArray,
    densities: npt.NDArray[np.float64] | None,
) -> FloatArray:
    """Return the least `p_safe + p_kept` of tokens that are kept for their category: float32 (n_tokens,)."""
    density = np.asarray(log_density(p_safe) if densities is None else densities)
    logits = compute_shifts(verdicts, np.maximum(density, 0), thresholds) + _CATEGORY_LOGITS
    limits = np.maximum(shift_threshold(thresholds.high, logits), np.float32(_LEAST_OF_CATEGORY))
    given_way = verdicts.lifted & (~verdicts.maybe_name | (p_kept >= _SURE_OF_KEPT))
    return np.where(verdicts.always_masked & ~given_way, np.float32(np.inf), limits).astype(np.float32)


def _limits(
    verdicts: RuleVerdicts,
    thresholds: Thresholds,
    p_safe: FloatArray,
    densities: npt.NDArray[np.float64] | None,
) -> FloatArray:
    """Return `low` or `high` of every token, moved by name and density: float32 (n_tokens,)."""
    density = np.zeros(len(p_safe))
    if thresholds.density_slope:
        density = np.asarray(log_density(p_safe) if densities is None else densities)
    logits = compute_shifts(verdicts, density, thresholds)
    low, high = (
        np.where(logits == 0, np.float32(one), shift_threshold(one, logits))
        for one in (thresholds.low, thresholds.high)
    )
    return np.where(verdicts.earns_low, low, high)


def compute_shifts(
    verdicts: RuleVerdicts, densities: npt.NDArray[np.float64], thresholds: Thresholds
) -> npt.NDArray[np.float64]:
    """Return by how many logits the threshold of each token is moved: float64 (n_tokens,).

    In a document that seems to have little PHI, a lone surname is easily missed. So a low density
    lowers the thresholds of safe words, numbers and shorthand only, and not that of a word of a name list
    that begins a sentence.

    Args:
        verdicts: What the rules say.
        densities: float64 () or (n_tokens,), `log_density` of the document of each token.
        thresholds: Only their slope matters.
    """
    is_doubtful = verdicts.word | verdicts.opening
    moved = thresholds.density_slope * np.where(is_doubtful, np.maximum(densities, 0), densities)
    moved = moved + np.where(verdicts.maybe_name | verdicts.opening, _NAME_LOGITS, 0.0)
    return np.where(verdicts.certain, np.minimum(moved, 0) - _CERTAIN_LOGITS, moved)


def limit_of_safe_words(thresholds: Thresholds, p_safe: FloatArray) -> FloatArray:
    """Return the threshold of the words of one document that the rules call safe: float32 ().

    Args:
        thresholds: `low` and the slope.
        p_safe: float32 (n_tokens,), of the document.
    """
    if not thresholds.density_slope:
        return np.asarray(thresholds.low, np.float32)
    return shift_threshold(thresholds.low, thresholds.density_slope * log_density(p_safe))


def decide_without_network(verdicts: RuleVerdicts) -> Decisions:
    """Decide by the rules without a network: keep the words that they call safe."""
    keep = verdicts.safe & ~verdicts.veto & ~verdicts.name
    n_tokens = len(keep)
    reasons = np.where(keep, Reason.KEPT_SAFE_WORD, Reason.RULES_ONLY_UNSAFE).astype(np.uint8)
    unknown = np.full(n_tokens, np.nan, np.float32)
    return Decisions(keep, reasons, unknown, unknown, np.zeros(n_tokens, np.uint8))
