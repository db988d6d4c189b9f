"""The adaptive threshold: the only place where a probability is held against a threshold.

Source: thesis, section 4.3.5. If the rules say safe, a token is kept from `low`
on; if not, from `high` on; a weekday, month, street word, holiday or
written-out number that is not safe is never kept, nor is what stands in a
pattern that may only mask.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from inverse_deid.core.errors import ConfigurationError
from inverse_deid.core.values import Decisions, FloatArray, Reason, RuleVerdicts


@dataclass(frozen=True, slots=True)
class Thresholds:
    """What `p_safe` is held against.

    Args:
        low: Where the rules say safe, in [0, 1].
        high: Where they do not, in [0, 1], at least `low`.

    Raises:
        ConfigurationError: Out of range or in the wrong order.
    """

    low: float
    high: float

    def __post_init__(self) -> None:
        if not 0 <= self.low <= self.high <= 1:
            raise ConfigurationError("thresholds need 0 <= low <= high <= 1")


def combine(
    verdicts: RuleVerdicts, p_safe: FloatArray, categories: npt.NDArray[np.uint8], thresholds: Thresholds
) -> Decisions:
    """Decide on every token of a document.

    Args:
        verdicts: What the rules say.
        p_safe: float32 (n_tokens,), probability of *safe*; NaN or above 1 masks.
        categories: uint8 (n_tokens,), suspected PHI hyper-class.
        thresholds: `low` and `high`.

    Example:
        >>> flags = lambda *bits: np.array(bits, bool)
        >>> verdicts = RuleVerdicts(flags(1, 0, 0), flags(0, 0, 1), flags(0, 0, 0), flags(0, 0, 0))
        >>> p_safe = np.array([0.9, 0.9, 1.0], np.float32)
        >>> combine(verdicts, p_safe, np.zeros(3, np.uint8), Thresholds(0.8, 0.95)).keep.tolist()
        [True, False, False]
    """
    adaptive = np.where(verdicts.safe, np.float32(thresholds.low), np.float32(thresholds.high))
    limits = np.where(verdicts.never | verdicts.veto, np.float32(np.inf), adaptive).astype(np.float32)
    keep = (p_safe >= limits) & (p_safe <= 1)
    reasons = np.full(len(keep), Reason.BELOW_THRESHOLD, np.uint8)
    reasons[verdicts.never] = Reason.NEVER_SAFE_WORD
    reasons[verdicts.veto] = Reason.VETO_PATTERN
    reasons[keep] = np.where(verdicts.safe[keep], Reason.KEPT_SAFE_WORD, Reason.KEPT_BY_NETWORK)
    return Decisions(keep, reasons, np.asarray(p_safe, np.float32), limits, categories)


def rules_alone(verdicts: RuleVerdicts) -> Decisions:
    """Decide by the rules without a network: keep what they call safe."""
    keep = verdicts.safe & ~verdicts.veto
    n_tokens = len(keep)
    reasons = np.where(keep, Reason.KEPT_SAFE_WORD, Reason.RULES_ONLY_UNSAFE).astype(np.uint8)
    unknown = np.full(n_tokens, np.nan, np.float32)
    return Decisions(keep, reasons, unknown, unknown, np.zeros(n_tokens, np.uint8))
