"""The threshold that a calibration set can guarantee: pure statistics of its losses.

Thresholds are a sequence that was fixed beforehand, the safest first. Each document
(or patient) with PHI has a loss in [0, 1] at each of them: 1 if it leaks, or the share of
its PHI tokens that is kept. Documents are assumed to be drawn independently from one
population. Tokens are not, so no test here counts tokens.

*Exact*: each threshold in turn is tested for "the mean loss of the population is above the
target", until one test does not reject. The last rejected one is chosen. A threshold with a
mean loss above the target is chosen with probability at most 1 - C. The number of tests needs
no correction: for an error, the first such threshold of the sequence would have to pass. *Conformal risk
control*: bounds the mean loss on average over calibration sets, without a confidence.

Source: Angelopoulos et al. 2021, Learn then Test, arXiv:2110.01052 (fixed sequence testing,
Hoeffding-Bentkus p-values); Clopper and Pearson 1934; Bates et al. 2021, Distribution-free,
risk-controlling prediction sets, arXiv:2101.02703; Angelopoulos et al. 2022, Conformal risk
control, arXiv:2208.02814, theorem 1.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum
from typing import Literal

import numpy as np
import numpy.typing as npt

from inverse_deid.core.errors import ConfigurationError
from inverse_deid.core.values import BoolArray
from inverse_deid.core.wording import _
from inverse_deid.evaluation.measures.uncertainty import Float64Array

_ROUNDING = 1 + 1e-12
"""Rounding must not decide where both sides are equal, as for 2 documents at 50 % and 75 %."""


class Unit(StrEnum):
    """The unit of the loss of a document (or patient)."""

    DOCUMENT = "document"
    TOKEN = "token"  # noqa: S105 - a word, no secret


class GuaranteeMethod(StrEnum):
    """The way a threshold is chosen."""

    EXACT = "exact"
    CRC = "crc"


@dataclass(frozen=True, slots=True, kw_only=True)
class Aim:
    """The guarantee to be proven: an allowed mean loss, in (0, 1), of documents or patients.

    The confidence is in (0, 1), None for conformal risk control. The loss by `DOCUMENT` is 1 if any PHI
    token is kept, by `TOKEN` the share that is kept.

    Raises:
        ConfigurationError: Out of range, or method and confidence do not go together.
    """

    target: float
    confidence: float | None
    unit: Unit = Unit.DOCUMENT
    method: GuaranteeMethod = GuaranteeMethod.EXACT
    counted: Literal["documents", "patients"] = "documents"

    def __post_init__(self) -> None:
        if not 0 < self.target < 1:
            raise ConfigurationError(_("the target leak rate must be above 0 and below 1, such as 0.01"))
        if self.method is GuaranteeMethod.CRC and self.confidence is not None:
            raise ConfigurationError(
                _("conformal risk control has no confidence. Leave it out, or choose the method exact")
            )
        if self.method is GuaranteeMethod.EXACT and self.confidence is None:
            raise ConfigurationError(_("the method exact needs a confidence, such as 0.95"))
        if self.confidence is not None and not 0 < self.confidence < 1:
            raise ConfigurationError(_("the confidence must be above 0 and below 1, such as 0.95"))


def count_needed(target: float, confidence: float | None) -> int:
    """Return how many documents with PHI can prove a target if no document leaks.

    This is the smallest n with (1 - target)^n <= 1 - confidence, or with 1 / (n + 1) <= target.

    Source: Hanley and Lippman-Hand 1983, If nothing goes wrong, is everything all right?

    Example:
        >>> count_needed(0.01, 0.95), count_needed(0.01, None)
        (299, 99)
    """
    if confidence is None:
        return max(1, math.ceil(1 / (target * _ROUNDING)) - 1)
    limit = math.log((1 - confidence) * _ROUNDING)
    return max(1, math.ceil(limit / math.log1p(-target)))


def binomial_p_values(n_leaking: npt.ArrayLike, n: int, target: float) -> Float64Array:
    """Return exact p-values of "more than `target` of all documents leak".

    They are at most 1 - C exactly where the one-sided Clopper-Pearson bound of confidence C is at
    most `target`.

    Example:
        >>> round(float(binomial_p_values(0, 299, 0.01)), 4)
        0.0495
    """
    return _binomial_cdf(n_leaking, n, target)


def hoeffding_bentkus_p_values(total_losses: npt.ArrayLike, n: int, target: float) -> Float64Array:
    """Return valid p-values of "the mean loss is above `target`" for any losses in [0, 1].

    Source: Bates et al. 2021, Angelopoulos et al. 2021: the smaller of Hoeffding's bound
    (1963) in its relative-entropy form and e times the binomial tail of Bentkus (2004).
    """
    from scipy.special import rel_entr  # as in _binomial_cdf

    total = np.asarray(total_losses, np.float64)
    below = np.minimum(total / n, target)
    entropy = rel_entr(below, target) + rel_entr(1 - below, 1 - target)
    bentkus = np.e * _binomial_cdf(np.ceil(total), n, target)
    return np.asarray(np.minimum(np.minimum(np.exp(-n * entropy), bentkus), 1), np.float64)


def _binomial_cdf(k: npt.ArrayLike, n: int, p: float) -> Float64Array:
    from scipy.stats import binom  # takes a second to load, and a server asks only for its quality page

    return np.asarray(binom.cdf(k, n, p), np.float64)


def are_proven(total_losses: Float64Array, n: int, aim: Aim) -> BoolArray:
    """Return whether each threshold alone proves the aim, by its summed losses over n documents."""
    if aim.confidence is None:
        return np.asarray((total_losses + 1) / (n + 1) <= aim.target * _ROUNDING)
    p_values = binomial_p_values if aim.unit is Unit.DOCUMENT else hoeffding_bentkus_p_values
    return np.asarray(p_values(total_losses, n, aim.target) <= (1 - aim.confidence) * _ROUNDING)


def refuse_too_few(n: int, aim: Aim) -> None:
    """Refuse a calibration set that could not prove the aim even without a leak.

    Raises:
        ConfigurationError: There are too few documents. Says how many are needed.
    """
    needed = count_needed(aim.target, aim.confidence)
    if n < needed:
        raise ConfigurationError(
            _(
                "{n:,} {counted} with PHI cannot show {aim}, even if none leaks. {needed:,} are needed. "
                "Give more, or a higher target",
                n=n,
                counted=aim.counted,
                aim=_describe_aim(aim),
                needed=needed,
            )
        )


def choose_step(total_losses: Float64Array, n: int, aim: Aim) -> int:
    """Choose the lowest threshold that is guaranteed: the last one before the first that is not proven.

    Arguments are as for `are_proven`, the safest threshold first.

    Raises:
        ConfigurationError: There are too few documents, or not even the safest threshold is
            proven. Says what can be done.

    Example:
        >>> aim = Aim(target=0.01, confidence=0.95)
        >>> choose_step(np.array([0.0, 0.0, 1.0, 0.0]), 299, aim)
        1
    """
    refuse_too_few(n, aim)
    proven = are_proven(total_losses, n, aim)
    n_proven = len(proven) if proven.all() else int(np.argmin(proven))
    if not n_proven:
        raise ConfigurationError(_describe_failure(float(total_losses[0]), n, aim))
    return n_proven - 1


def provable_target(total_loss: float, n: int, aim: Aim) -> float:
    """Return the smallest target that the summed loss at one threshold proves, in (0, 1]. 1 means none.

    Example:
        >>> round(provable_target(0, 299, Aim(target=0.5, confidence=0.95)), 4)
        0.01
    """
    if aim.confidence is None:
        return min(1.0, (total_loss + 1) / (n + 1))
    if total_loss >= n:
        return 1.0
    level = 1 - aim.confidence
    if aim.unit is Unit.DOCUMENT:
        from scipy.special import betaincinv

        return float(betaincinv(total_loss + 1, n - total_loss, aim.confidence))
    from scipy.optimize import brentq  # as in _binomial_cdf

    lowest = max(total_loss / n, 1e-12)
    excess = lambda target: float(hoeffding_bentkus_p_values(total_loss, n, target)) - level  # noqa: E731
    return float(brentq(excess, lowest, 1 - 1e-12))


def _describe_failure(total_loss: float, n: int, aim: Aim) -> str:
    found = (
        _(
            "{total_loss:,.0f} of {n:,} {counted} with PHI leak",
            total_loss=total_loss,
            n=n,
            counted=aim.counted,
        )
        if aim.unit is Unit.DOCUMENT
        else _(
            "{up} of the PHI tokens are kept on average over {n:,} {counted}",
            up=_round_up(total_loss / n),
            n=n,
            counted=aim.counted,
        )
    )
    provable = provable_target(total_loss, n, aim)
    with_confidence = (
        "" if aim.confidence is None else _(" with {percent} confidence", percent=percent(aim.confidence))
    )
    remedy = (
        _(
            "{up} could be guaranteed{with_confidence}. Use a better model, or a target that you fix "
            "before you calibrate on other documents.",
            up=_round_up(provable),
            with_confidence=with_confidence,
        )
        if provable < 1
        else _("No target can be guaranteed. Use a better model.")
    )
    return _(
        "no threshold shows {aim}: even at the safest {found}. {remedy}",
        aim=_describe_aim(aim),
        found=found,
        remedy=remedy,
    )


def _describe_aim(aim: Aim) -> str:
    with_confidence = (
        "" if aim.confidence is None else _(" with {percent} confidence", percent=percent(aim.confidence))
    )
    return _(
        "a leak rate of at most {percent}{with_confidence}",
        percent=percent(aim.target),
        with_confidence=with_confidence,
    )


def percent(share: float) -> str:
    """Return a chosen share as people write it.

    Example:
        >>> percent(0.01), percent(0.995), percent(0.0005)
        ('1 %', '99.5 %', '0.05 %')
    """
    return f"{100 * share:.10g} %"


def _round_up(share: float) -> str:
    # Rounded up, so that it can be guaranteed.
    return f"{math.ceil(10_000 * share) / 100:.2f} %"


def describe_guarantee(aim: Aim) -> str:
    """Return the guarantee in sentences for people who do not know statistics."""
    promise = {
        (Unit.DOCUMENT, "documents"): _(
            "of the documents that hold identifiers, at most {} leave masking with any word or "
            "number of an identifier unmasked"
        ),
        (Unit.DOCUMENT, "patients"): _(
            "of the patients whose documents hold identifiers, at most {} have a document that "
            "leaves masking with any word or number of an identifier unmasked"
        ),
        (Unit.TOKEN, "documents"): _(
            "of the words and numbers that identify, at most {} stay unmasked in a document, on "
            "average over all documents that hold identifiers"
        ),
        (Unit.TOKEN, "patients"): _(
            "of the words and numbers that identify, at most {} stay unmasked in the documents of a "
            "patient, on average over all patients whose documents hold identifiers"
        ),
    }[aim.unit, aim.counted].format(percent(aim.target))
    if aim.confidence is not None:
        return _("With {percent} confidence: {promise}.", percent=percent(aim.confidence), promise=promise)
    return _(
        "On average over many calibrations like this one: {promise}. This one alone may have turned out "
        "worse; no confidence goes with it.",
        promise=promise,
    )


def list_conditions(aim: Aim) -> tuple[str, ...]:
    return (
        _(
            "The {counted} to be masked and those of the calibration set are of the same kind, as if "
            "drawn at random from one pile, each independent of the others (exchangeable).",
            counted=aim.counted,
        ),
        _(
            "No document of the calibration set, and none of the same patients, was used to train the "
            "model or to choose anything else: settings, dictionary, target."
        ),
        _("The marks of the calibration set are the truth: an identifier that nobody marked is not counted."),
        _(
            "Masking uses this certificate, with the same version, model and dictionary; the certificate "
            "is the first from this calibration set, not the best of several."
        ),
    )
