"""Guarantees: worked by hand, held against SciPy, and shown to hold in a simulation."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest

from inverse_deid.core.errors import ConfigurationError
from inverse_deid.evaluation.guarantees import (
    Aim,
    GuaranteeMethod,
    Unit,
    are_proven,
    binomial_p_values,
    choose_step,
    count_needed,
    describe_guarantee,
    hoeffding_bentkus_p_values,
    list_conditions,
    percent,
    provable_target,
)

ONE_PERCENT = Aim(target=0.01, confidence=0.95)
SHARES = st.floats(0.005, 0.6)


def aim(target=0.1, confidence=0.9, **more):
    return Aim(target=target, confidence=confidence, **more)


def crc(target, **more):
    return Aim(target=target, confidence=None, method=GuaranteeMethod.CRC, **more)


@pytest.mark.parametrize(
    ("target", "confidence", "needed"),
    [
        (0.01, 0.95, 299),
        (0.05, 0.95, 59),
        (0.1, 0.9, 22),
        (0.5, 0.75, 2),
        (0.9, 0.5, 1),
        (0.01, None, 99),
        (0.05, None, 19),
        (0.07, None, 14),
        (0.9, None, 1),
    ],
)
def test_how_many_documents_are_needed(target, confidence, needed):
    assert count_needed(target, confidence) == needed


@given(SHARES, st.floats(0.5, 0.999))
def test_one_document_less_than_needed_proves_nothing(target, confidence):
    n = count_needed(target, confidence)
    assert (1 - target) ** n <= (1 - confidence) * (1 + 1e-9)
    assert n == 1 or (1 - target) ** (n - 1) > (1 - confidence) * (1 - 1e-9)


@pytest.mark.parametrize("unit", Unit)
def test_298_documents_without_a_leak_are_refused_and_299_accepted(unit):
    one_percent = aim(0.01, 0.95, unit=unit)
    none = np.zeros(201)
    with pytest.raises(ConfigurationError) as refused:
        choose_step(none, 298, one_percent)
    assert str(refused.value).startswith(
        "298 documents with PHI cannot show a leak rate of at most 1 % with 95 % confidence, even if none "
        "leaks. 299 are needed"
    )
    assert choose_step(none, 299, one_percent) == 200
    assert choose_step(np.append(none, 1), 299, one_percent) == 200


def test_conformal_risk_control_needs_99():
    with pytest.raises(ConfigurationError, match=r"^98 patients .* at most 1 %, even .* 99 are needed"):
        choose_step(np.zeros(3), 98, crc(0.01, counted="patients"))
    assert choose_step(np.zeros(3), 99, crc(0.01)) == 2


def test_binomial_by_hand():
    # At most one head in three fair throws: (1 + 3) / 8.
    assert binomial_p_values([0, 1, 3], 3, 0.5) == pytest.approx([1 / 8, 4 / 8, 1])


@given(st.integers(1, 400), SHARES, st.floats(0.5, 0.999), st.data())
def test_a_binomial_is_proven_where_clopper_and_pearson_say_so(n, target, confidence, data):
    k = data.draw(st.integers(0, n))
    bound = binomtest(k, n, alternative="less").proportion_ci(confidence, "exact").high
    if abs(bound - target) > 1e-9:
        (proven,) = are_proven(np.array([float(k)]), n, aim(target, confidence))
        assert proven == (bound <= target)


def test_hoeffding_bentkus_by_hand():
    # No loss in two: relative entropy log 2, so 1/4; Bentkus' e/4 is larger.
    # One in four: 1/4 log(1/2) + 3/4 log(3/2) = 0.13081, exp(-4 * 0.13081) = 0.5926; Bentkus: 5e/16.
    assert hoeffding_bentkus_p_values(0, 2, 0.5) == pytest.approx(0.25)
    assert hoeffding_bentkus_p_values(1, 4, 0.5) == pytest.approx(0.5926, abs=1e-4)
    # Above the target nothing is shown.
    assert hoeffding_bentkus_p_values([3, 4], 4, 0.5) == pytest.approx([1, 1])
    # 10 of 100 at 20 %: Bentkus' e * 0.00570 = 0.0155 is below exp(-100 * 0.03669) = 0.0255.
    assert hoeffding_bentkus_p_values(10, 100, 0.2) == pytest.approx(0.0155, abs=1e-4)


@given(st.integers(1, 400), SHARES, st.data())
def test_the_general_test_is_never_bolder_than_the_exact_one(n, target, data):
    k = data.draw(st.integers(0, n))
    assert hoeffding_bentkus_p_values(k, n, target) >= binomial_p_values(k, n, target) * (1 - 1e-9)


def test_the_sequence_stops_at_the_first_threshold_that_is_not_proven():
    # 2 of 50 at 10 %: P(at most 2) = 0.112 > 0.1; 1 of 50: 0.034.
    totals = np.array([0.0, 1, 1, 2, 0, 0])
    assert choose_step(totals, 50, aim()) == 2


def test_conformal_risk_control_by_hand():
    # (total + 1) / 20 is at most 10 % up to a total of 1.
    totals = np.array([0.0, 0.5, 1.0, 1.001, 5.0])
    assert choose_step(totals, 19, crc(0.1, unit=Unit.TOKEN)) == 2


def test_leaks_at_the_safest_threshold_are_refused_with_what_could_be_guaranteed():
    with pytest.raises(ConfigurationError) as refused:
        choose_step(np.array([3.0, 5.0]), 400, ONE_PERCENT)
    # Clopper-Pearson: 3 of 400 are at most 1.9270 %, shown rounded up.
    assert "even at the safest 3 of 400 documents with PHI leak" in str(refused.value)
    assert "1.93 % could be guaranteed with 95 % confidence" in str(refused.value)
    with pytest.raises(ConfigurationError, match=r"1\.00 % of the PHI tokens are kept on average over 400"):
        choose_step(np.array([4.0, 5.0]), 400, aim(0.01, 0.95, unit=Unit.TOKEN))
    with pytest.raises(ConfigurationError, match=r"safest 4 of 400 .* 1\.25 % could be guaranteed\."):
        choose_step(np.array([4.0, 5.0]), 400, crc(0.01))
    with pytest.raises(ConfigurationError, match="No target can be guaranteed"):
        choose_step(np.array([400.0]), 400, ONE_PERCENT)


@pytest.mark.parametrize("unit", Unit)
@pytest.mark.parametrize("confidence", [0.9, 0.95, None])
@pytest.mark.parametrize(("total", "n"), [(0, 299), (3, 400), (17, 60), (59, 60), (1, 1)])
def test_the_provable_target_is_the_smallest_that_is_proven(unit, confidence, total, n):
    method = GuaranteeMethod.CRC if confidence is None else GuaranteeMethod.EXACT
    found = provable_target(total, n, Aim(target=0.5, confidence=confidence, unit=unit, method=method))
    for factor, expected in ((1 + 1e-6, True), (1 - 1e-6, False)):
        target = found * factor
        if target < 1:
            tried = Aim(target=target, confidence=confidence, unit=unit, method=method)
            assert are_proven(np.array([float(total)]), n, tried).tolist() == [expected]


@pytest.mark.parametrize(
    ("given", "complaint"),
    [
        ({"target": 0.0}, "above 0 and below 1"),
        ({"target": 1.0}, "above 0 and below 1"),
        ({"target": math.nan}, "above 0 and below 1"),
        ({"confidence": 1.0}, "above 0 and below 1"),
        ({"confidence": 0.0}, "above 0 and below 1"),
        ({"confidence": None}, "needs a confidence"),
        ({"method": GuaranteeMethod.CRC}, "has no confidence"),
    ],
)
def test_an_aim_that_says_nothing_is_refused(given, complaint):
    with pytest.raises(ConfigurationError, match=complaint):
        Aim(**{"target": 0.1, "confidence": 0.9, **given})


@pytest.mark.parametrize("unit", Unit)
@pytest.mark.parametrize("counted", ["documents", "patients"])
def test_the_sentence_says_what_is_guaranteed_and_how_surely(unit, counted):
    said = describe_guarantee(aim(0.015, 0.995, unit=unit, counted=counted))
    assert said.startswith("With 99.5 % confidence: ")
    assert "at most 1.5 %" in said
    assert counted in said
    said = describe_guarantee(crc(0.015, unit=unit, counted=counted))
    assert "no confidence" in said
    assert "average" in said
    assert len(list_conditions(aim(counted=counted))) == 4
    assert counted in list_conditions(aim(counted=counted))[0]


def test_percent_of_a_chosen_share():
    assert [percent(share) for share in (0.07, 0.29, 0.001)] == ["7 %", "29 %", "0.1 %"]


# Simulation -------------------------------------------------------------------------------------

N_RESAMPLES = 1000
N_POPULATION = 5000
LOGITS = np.linspace(14, -6, 81)


def losses_of_a_population(seed):
    """Losses of documents whose tokens lean the same way, by threshold: leaks, and shares kept."""
    rng = np.random.default_rng(seed)
    n_phi = 1 + rng.geometric(0.2, N_POPULATION)
    owners = np.repeat(np.arange(N_POPULATION), n_phi)
    leaning = rng.normal(-5, 2.5, N_POPULATION)
    scores = leaning[owners] + rng.normal(0, 1.5, len(owners))
    first_kept_at = np.searchsorted(-LOGITS, -scores)
    kept = np.zeros((N_POPULATION, len(LOGITS) + 1), np.int64)
    np.add.at(kept, (owners, first_kept_at), 1)
    kept = kept.cumsum(axis=1)[:, :-1]
    return {Unit.DOCUMENT: (kept > 0).astype(float), Unit.TOKEN: kept / n_phi[:, None]}


LOSSES = losses_of_a_population(seed=11)
RISKS = {unit: losses.mean(axis=0) for unit, losses in LOSSES.items()}


def resampled_totals(unit, n):
    """The summed losses of so many calibration sets of n documents."""
    rng = np.random.default_rng(7)
    losses = LOSSES[unit]
    return [losses[rng.integers(0, N_POPULATION, n)].sum(axis=0) for _ in range(N_RESAMPLES)]


def true_risk(totals, n, aimed):
    """The population's loss at what is chosen; 0 where it is refused, since nothing leaves."""
    try:
        return RISKS[aimed.unit][choose_step(totals, n, aimed)]
    except ConfigurationError:
        return 0.0


def risk_by_eye(totals, n, aimed):
    """The population's loss at the last threshold that keeps to the target on the calibration set."""
    return RISKS[aimed.unit][max(0, int(np.searchsorted(totals / n, aimed.target, side="right")) - 1)]


@pytest.mark.parametrize("unit", Unit)
@pytest.mark.parametrize(("confidence", "n"), [(0.9, 300), (0.95, 80)])
def test_exact_exceeds_the_target_no_more_often_than_promised(unit, confidence, n):
    # The hardest target: a threshold of the sequence has a risk just above it.
    target = 0.999 * RISKS[unit][RISKS[unit] > 0.05].min()
    aimed = aim(target, confidence, unit=unit)
    resamples = resampled_totals(unit, n)
    exceeded = np.mean([true_risk(totals, n, aimed) > target for totals in resamples])
    allowed = 1 - confidence
    assert exceeded <= allowed + 3 * math.sqrt(allowed * confidence / N_RESAMPLES)
    # The simulation can tell: the choice by eye breaks the promise, and the exact test does not waste it.
    assert np.mean([risk_by_eye(totals, n, aimed) > target for totals in resamples]) > 2 * allowed
    assert unit is Unit.TOKEN or exceeded > allowed / 3


@pytest.mark.parametrize("unit", Unit)
@pytest.mark.parametrize(("target", "n"), [(0.05, 300), (0.1, 20)])
def test_conformal_risk_control_keeps_to_the_target_on_average(unit, target, n):
    aimed = crc(target, unit=unit)
    risks = np.array([true_risk(totals, n, aimed) for totals in resampled_totals(unit, n)])
    assert risks.mean() <= target + 3 * risks.std() / math.sqrt(N_RESAMPLES)
    assert risks.mean() > target / 2
    # On average, and not more: single calibrations exceed it.
    assert np.mean(risks > target) > 0.1
