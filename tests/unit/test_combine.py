import numpy as np
import pytest

from inverse_deid.combine import Thresholds, combine, rules_alone
from inverse_deid.core.errors import ConfigurationError
from inverse_deid.core.values import Reason, RuleVerdicts

SAFE, UNSAFE, NEVER, VETO = "safe", "unsafe", "never", "veto"


def decide(verdict, p_safe, low=0.8, high=0.95):
    flags = {name: np.array([verdict == name]) for name in (SAFE, NEVER, VETO)}
    verdicts = RuleVerdicts(flags[SAFE], flags[NEVER], flags[VETO], np.array([False]))
    p_safe = np.array([p_safe], np.float32)
    return combine(verdicts, p_safe, np.zeros(1, np.uint8), Thresholds(low, high))


@pytest.mark.parametrize(
    ("verdict", "p_safe", "keep", "reason"),
    [
        (SAFE, 0.8, True, Reason.KEPT_SAFE_WORD),
        (SAFE, 0.79, False, Reason.BELOW_THRESHOLD),
        (UNSAFE, 0.94, False, Reason.BELOW_THRESHOLD),
        (UNSAFE, 0.95, True, Reason.KEPT_BY_NETWORK),
        (NEVER, 1.0, False, Reason.NEVER_SAFE_WORD),
        (VETO, 1.0, False, Reason.VETO_PATTERN),
        (NEVER, np.inf, False, Reason.NEVER_SAFE_WORD),
        (VETO, np.inf, False, Reason.VETO_PATTERN),
        (SAFE, 2.0, False, Reason.BELOW_THRESHOLD),
        (SAFE, np.nan, False, Reason.BELOW_THRESHOLD),
        (UNSAFE, np.nan, False, Reason.BELOW_THRESHOLD),
    ],
)
def test_adaptive_threshold(verdict, p_safe, keep, reason):
    decisions = decide(verdict, p_safe)
    assert (bool(decisions.keep[0]), Reason(int(decisions.reasons[0]))) == (keep, reason)


@pytest.mark.parametrize(("low", "high"), [(-0.1, 0.5), (0.9, 0.8), (0.5, 1.1), (np.nan, 0.9)])
def test_thresholds_out_of_order_are_refused(low, high):
    with pytest.raises(ConfigurationError):
        Thresholds(low, high)


def test_rules_alone_keep_what_is_safe_and_not_vetoed():
    flags = [np.array(bits, bool) for bits in ([1, 0, 1], [0, 1, 0], [0, 0, 1], [0, 0, 0])]
    assert rules_alone(RuleVerdicts(*flags)).keep.tolist() == [True, False, False]
