from __future__ import annotations

import math
from collections import Counter

import pytest
from scipy import stats

from inverse_deid.core.errors import ConfigurationError
from inverse_deid.replacement.keys import (
    MAX_SHIFT_DAYS,
    MIN_SHIFT_DAYS,
    secret_shift_days,
    uniform_below,
)

KEY = b"an example key, not a secret"
OTHER_KEY = b"an example key, not a secreT"
N_CASES = 40_000


def test_the_same_key_and_case_give_the_same_days() -> None:
    assert secret_shift_days(KEY, "case-1") == secret_shift_days(KEY, "case-1")


def test_days_are_uniform_over_their_range() -> None:
    counts = Counter(secret_shift_days(KEY, f"case-{i}") for i in range(N_CASES))
    assert set(counts) == set(range(MIN_SHIFT_DAYS, MAX_SHIFT_DAYS + 1))
    assert stats.chisquare(list(counts.values())).pvalue > 0.001


def test_two_keys_give_unrelated_days() -> None:
    ours = [secret_shift_days(KEY, f"case-{i}") for i in range(N_CASES)]
    theirs = [secret_shift_days(OTHER_KEY, f"case-{i}") for i in range(N_CASES)]
    expected_equal = N_CASES / (MAX_SHIFT_DAYS - MIN_SHIFT_DAYS + 1)
    equal = sum(a == b for a, b in zip(ours, theirs, strict=True))
    assert abs(equal - expected_equal) < 4 * math.sqrt(expected_equal)
    assert stats.pearsonr(ours, theirs).pvalue > 0.001


def test_neighbouring_cases_give_unrelated_days() -> None:
    days = [secret_shift_days(KEY, f"case-{i}") for i in range(N_CASES)]
    assert stats.pearsonr(days[:-1], days[1:]).pvalue > 0.001


def test_a_surplus_word_is_passed_over() -> None:
    """2**64 is a multiple of 366 and 16 more: the last 16 words would favour the results below 16."""
    surplus = 16
    assert surplus == 2**64 % 366
    assert uniform_below(366, [2**64 - 1, 2**64 - surplus, 2**64 - surplus - 1]) == 365
    with pytest.raises(ValueError, match="unbiased"):
        uniform_below(366, [2**64 - 1])


@pytest.mark.parametrize("key", [b"", b"fifteen bytes.."])
def test_a_short_key_is_refused(key: bytes) -> None:
    with pytest.raises(ConfigurationError, match="at least 16"):
        secret_shift_days(key, "case-1")


def test_a_case_needs_an_id() -> None:
    with pytest.raises(ConfigurationError, match="give every case an id"):
        secret_shift_days(KEY, "")
