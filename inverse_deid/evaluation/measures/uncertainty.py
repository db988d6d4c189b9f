"""Confidence intervals of shares.

Tokens of one document are not independent: a name that occurs once often occurs again, and a
form is filled in the same way on every page. So a trial is never a token, but a document or
another independent unit. `resampling` draws whole units.

Source: Clopper and Pearson 1934 (exact binomial interval); Korn and Graubard 1998 (the
same with a number of independent units instead of trials).
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

import numpy as np
import numpy.typing as npt

from inverse_deid.core.errors import ConfigurationError, StageError
from inverse_deid.core.wording import _

Float64Array = npt.NDArray[np.float64]

CONFIDENCE = 0.95
FEW_UNITS = 20
"""Percentiles of fewer resampled units are too close to each other."""


class Method(StrEnum):
    """How an interval was found."""

    CLOPPER_PEARSON = "Clopper-Pearson"
    BOOTSTRAP = "cluster bootstrap, percentiles"
    ALIKE = "Clopper-Pearson over clusters, as resamples are alike"


@dataclass(frozen=True, slots=True)
class Interval:
    """A confidence interval of a share, with bounds in [0, 1]. Both tails outside are equally probable.

    Raises:
        StageError: The bounds are out of order or out of range.
    """

    low: float
    high: float
    confidence: float
    method: Method

    def __post_init__(self) -> None:
        if not 0 <= self.low <= self.high <= 1:
            raise StageError(
                _(
                    "an interval from {low} to {high}. Give ordered bounds in [0, 1]",
                    low=self.low,
                    high=self.high,
                )
            )


def clopper_pearson(part: int, whole: int, confidence: float = CONFIDENCE) -> Interval | None:
    """Return the exact interval of a share of independent units such as documents, None for no units.

    Raises:
        ConfigurationError: An argument is out of range.

    Example:
        >>> none_missed = clopper_pearson(299, 299, confidence=0.9)
        >>> round(none_missed.low, 4), none_missed.high
        (0.99, 1.0)
    """
    check_confidence(confidence)
    if not 0 <= part <= whole:
        raise ConfigurationError(
            _("{part} of {whole} is not a share. Give a part between 0 and the whole", part=part, whole=whole)
        )
    return (
        Interval(*beta_bounds(part, whole, confidence), confidence, Method.CLOPPER_PEARSON) if whole else None
    )


def beta_bounds(part: float, whole: int, confidence: float) -> tuple[float, float]:
    """Return Clopper and Pearson's bounds. After Korn and Graubard, the part may be fractional."""
    from scipy.special import betaincinv  # takes half a second to load, and a server may never be asked

    tail = (1 - confidence) / 2
    low = float(betaincinv(part, whole - part + 1, tail)) if part > 0 else 0.0
    high = float(betaincinv(part + 1, whole - part, 1 - tail)) if part < whole else 1.0
    return low, high


def check_confidence(confidence: float) -> None:
    """Refuse a confidence outside (0, 1).

    Raises:
        ConfigurationError: It is outside.
    """
    if not 0 < confidence < 1:
        raise ConfigurationError(
            _("a confidence of {confidence}. Give one between 0 and 1, such as 0.95", confidence=confidence)
        )
