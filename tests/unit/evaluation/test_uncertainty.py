import dataclasses
import itertools

import numpy as np
import pytest
from scipy.stats import binomtest

from inverse_deid.core.errors import ConfigurationError, StageError
from inverse_deid.core.values import Document
from inverse_deid.evaluation.evaluation import evaluate_masks
from inverse_deid.evaluation.measures import resampling
from inverse_deid.evaluation.measures.counts import Counts, GroupKind, group_number
from inverse_deid.evaluation.measures.figures import FIGURES, Share
from inverse_deid.evaluation.measures.resampling import (
    bootstrap_all,
    bootstrap_difference,
    paired_difference,
    paired_permutation_test,
)
from inverse_deid.evaluation.measures.uncertainty import (
    Interval,
    Method,
    clopper_pearson,
)

ALL = group_number(GroupKind.ALL)
RECALL = FIGURES["recall_all"]
PRECISION = FIGURES["precision"]


def bootstrap(counts, figure, clusters=None, **options):
    """Return the interval of a single figure."""
    found = bootstrap_all(counts, lambda rows: {"": figure(rows)}, clusters, **options)
    return found[""]


def counts_of(*documents):
    """Counts of documents given as (recalled, PHI tokens) or (recalled, PHI tokens, wrongly masked)."""
    ids = [str(i) for i in range(len(documents))]
    empty = evaluate_masks([Document(i, "") for i in ids], {i: [] for i in ids}).counts
    rows = np.array([(*doc, 0)[:3] for doc in documents], np.int64).reshape(-1, 3)
    phi, recalled, false = np.zeros_like(empty.phi), np.zeros_like(empty.phi), np.zeros_like(empty.safe)
    recalled[:, ALL], phi[:, ALL], false[:, 0] = rows.T
    return dataclasses.replace(
        empty, phi=phi, recalled=recalled, false_masks=false, masked=recalled[:, ALL] + false[:, 0]
    )


def figures(counts):
    return {name: figure(counts) for name, figure in FIGURES.items()}


@pytest.mark.parametrize("confidence", [0.5, 0.95, 0.999])
@pytest.mark.parametrize(("part", "whole"), [(0, 1), (1, 1), (0, 299), (299, 299), (3, 7), (64, 65)])
def test_clopper_pearson_is_that_of_scipy(part, whole, confidence):
    found = clopper_pearson(part, whole, confidence)
    expected = binomtest(part, whole).proportion_ci(confidence, method="exact")
    assert (found.low, found.high) == pytest.approx((expected.low, expected.high), abs=1e-9)
    assert (found.confidence, found.method) == (confidence, Method.CLOPPER_PEARSON)


def test_none_missed_in_299_documents_are_1_percent_at_95_percent_one_sided():
    assert clopper_pearson(299, 299, 0.9).low > 0.99 > clopper_pearson(298, 298, 0.9).low


def test_a_share_of_nothing_has_no_interval():
    assert clopper_pearson(0, 0) is None
    assert bootstrap(counts_of(), RECALL) is None
    assert bootstrap(counts_of((0, 0), (0, 0)), RECALL) is None


@pytest.mark.parametrize(("part", "whole", "confidence"), [(3, 2, 0.95), (-1, 2, 0.95), (1, 2, 0), (1, 2, 1)])
def test_what_is_no_share_and_no_confidence_is_refused(part, whole, confidence):
    with pytest.raises(ConfigurationError):
        clopper_pearson(part, whole, confidence)


@pytest.mark.parametrize(("low", "high"), [(0.6, 0.5), (-0.1, 0.5), (0.5, 1.1)])
def test_an_interval_lies_between_0_and_1(low, high):
    with pytest.raises(StageError):
        Interval(low, high, 0.95, Method.BOOTSTRAP)


def test_two_documents_by_hand():
    # Four equally probable draws: 0/2, 1/2, 1/2 and 2/2; 25 % lie at each end.
    counts = counts_of((1, 1), (0, 1))
    assert bootstrap(counts, RECALL) == Interval(0.0, 1.0, 0.95, Method.BOOTSTRAP)


@pytest.mark.parametrize("confidence", [0.5, 0.75, 0.9])
def test_percentiles_are_those_of_all_draws(confidence):
    documents = [(2, 2), (1, 3), (0, 1), (4, 5)]
    ratios = sorted(
        sum(part for part, _ in draw) / sum(whole for _, whole in draw)
        for draw in itertools.product(documents, repeat=4)
    )
    tail = (1 - confidence) / 2
    low, high = np.quantile(ratios, [tail, 1 - tail], method="inverted_cdf")
    found = bootstrap(counts_of(*documents), RECALL, n_resamples=20_000, confidence=confidence)
    steps = np.unique(ratios)
    for bound, expected in ((found.low, low), (found.high, high)):
        near = abs(np.searchsorted(steps, bound) - np.searchsorted(steps, expected))
        assert near <= 1, "at most one step of the exact distribution away"


@pytest.mark.parametrize(("missed", "part"), [(0, 30), (3, 0)])
def test_where_all_draws_are_alike_each_cluster_counts_as_a_trial(missed, part):
    counts = counts_of(*[(3 - missed, 3)] * 30, *[(0, 0)] * 70)
    expected = clopper_pearson(part, 30)
    assert bootstrap(counts, RECALL) == Interval(expected.low, expected.high, 0.95, Method.ALIKE)


def test_one_document_says_next_to_nothing():
    found = bootstrap(counts_of((50, 100)), RECALL)
    assert found.method is Method.ALIKE
    assert found.low < 0.05
    assert found.high > 0.95


def test_documents_of_a_patient_are_drawn_together():
    documents = [(1, 1)] * 40 + [(0, 1)] * 20
    counts = counts_of(*documents)
    alone = bootstrap(counts, RECALL)
    fours = bootstrap(counts, RECALL, clusters=np.arange(60) // 4)
    assert fours.high - fours.low > 1.5 * (alone.high - alone.low)
    names = [f"patient {(i // 4 * 7) % 15}" for i in range(60)]
    assert bootstrap(counts, RECALL, clusters=names) == fours
    assert bootstrap(counts, RECALL, clusters=np.arange(60)) == alone


def test_the_order_of_documents_changes_nothing():
    counts = counts_of((1, 2, 3), (5, 5, 0), (0, 2, 2), (2, 2, 0), (7, 9, 1))
    rows = [3, 1, 4, 0, 2]
    patients = np.array([0, 0, 1, 1, 2])
    assert bootstrap_all(counts.take(rows), figures) == bootstrap_all(counts, figures)
    assert bootstrap_all(counts.take(rows), figures, patients[rows]) == bootstrap_all(
        counts, figures, patients
    )


def test_draws_depend_on_the_seed_alone(monkeypatch):
    counts = counts_of(*[(i % 5, 7) for i in range(50)])
    found = bootstrap(counts, RECALL)
    assert bootstrap(counts, RECALL, seed=2) != found
    monkeypatch.setattr(resampling, "_MAX_CELLS", 333)
    assert bootstrap(counts, RECALL) == found


def test_one_figure_has_the_interval_that_it_has_among_all():
    counts = counts_of((1, 2, 3), (5, 5, 0), (0, 2, 2))
    together = bootstrap_all(counts, figures)
    assert list(together) == list(FIGURES)
    assert {name: bootstrap(counts, figure) for name, figure in FIGURES.items()} == together
    assert together["recall_short_names"] is None


def test_draws_without_anything_to_measure_are_left_out():
    counts = counts_of((1, 1), (0, 1), *[(0, 0)] * 8)
    assert bootstrap(counts, RECALL, n_resamples=200) == Interval(0.0, 1.0, 0.95, Method.BOOTSTRAP)


def test_what_cannot_be_resampled_is_refused():
    counts = counts_of((1, 2), (2, 2))

    def largest(rows: Counts) -> Share:
        return Share(int(rows.masked.max()), int(rows.masked.sum()))

    with pytest.raises(StageError, match="must be a ratio of sums"):
        bootstrap(counts, largest)
    with pytest.raises(StageError, match="for 2 documents"):
        bootstrap(counts, RECALL, clusters=[1, 2, 3])
    with pytest.raises(ConfigurationError, match="resamples"):
        bootstrap(counts, RECALL, n_resamples=0)


@pytest.mark.slow
def test_intervals_hold_the_truth_as_often_as_they_say_where_tokens_depend_on_each_other():
    """Documents differ in how well they are masked; intervals that take tokens as independent fail."""
    rng = np.random.default_rng(5)
    hits, naive_hits, n_corpora = 0, 0, 150
    for _ in range(n_corpora):
        quality = rng.beta(4, 1, 80)  # mean 0.8
        n_tokens = rng.integers(1, 30, 80)
        recalled = rng.binomial(n_tokens, quality)
        found = bootstrap(counts_of(*zip(recalled, n_tokens, strict=True)), RECALL, n_resamples=300)
        naive = clopper_pearson(int(recalled.sum()), int(n_tokens.sum()))
        hits += found.low <= 0.8 <= found.high
        naive_hits += naive.low <= 0.8 <= naive.high
    assert 0.88 <= hits / n_corpora <= 1
    assert naive_hits / n_corpora < 0.8


def test_three_documents_by_hand_where_one_system_is_always_better():
    # Of 8 swaps, just none and all leave a difference of 1.
    a, b = counts_of(*[(1, 1)] * 3), counts_of(*[(0, 1)] * 3)
    found = paired_permutation_test(a, b, RECALL)
    assert (found.difference, found.p_value) == (1.0, 2 / 8)
    assert (found.n_permutations, found.is_exact, found.n_differing) == (8, True, 3)
    assert paired_permutation_test(b, a, RECALL).difference == -1.0


def test_equal_systems_do_not_differ():
    counts = counts_of((1, 2), (2, 2), (0, 3))
    found = paired_permutation_test(counts, counts, RECALL)
    assert (found.difference, found.p_value, found.n_differing) == (0.0, 1.0, 0)


def test_all_swaps_are_those_of_a_plain_loop():
    rng = np.random.default_rng(3)
    wholes = rng.integers(1, 6, 7)
    systems = [
        list(zip(rng.binomial(wholes, q), wholes, rng.integers(0, 4, 7), strict=True)) for q in (0.9, 0.5)
    ]

    def precision(rows):
        right, false = sum(row[0] for row in rows), sum(row[2] for row in rows)
        return right / (right + false)

    observed = abs(precision(systems[0]) - precision(systems[1]))
    hits = 0
    for swaps in itertools.product([0, 1], repeat=7):
        first = [systems[swap][i] for i, swap in enumerate(swaps)]
        second = [systems[1 - swap][i] for i, swap in enumerate(swaps)]
        hits += abs(precision(first) - precision(second)) >= observed - 1e-12
    found = paired_permutation_test(counts_of(*systems[0]), counts_of(*systems[1]), PRECISION)
    assert found.p_value == hits / 2**7
    assert found.n_differing == 6, "one document is alike in both and decides nothing"


def test_many_documents_are_swapped_at_random():
    a, b = counts_of(*[(1, 1)] * 13), counts_of(*[(0, 1)] * 13)
    found = paired_permutation_test(a, b, RECALL, n_permutations=999)
    assert not found.is_exact
    assert found.n_permutations == 999
    assert 1 / 1000 <= found.p_value <= 4 / 1000
    half = counts_of(*[(1, 1), (0, 1)] * 20), counts_of(*[(0, 1), (1, 1)] * 20)
    assert paired_permutation_test(*half, RECALL, n_permutations=999).p_value == 1.0


def test_random_swaps_come_near_to_all_swaps(monkeypatch):
    a = counts_of(*[(i % 3, 3) for i in range(12)])
    b = counts_of(*[(3 - i % 4, 3) for i in range(12)])
    exact = paired_permutation_test(a, b, RECALL)
    monkeypatch.setattr(resampling, "_MAX_ENUMERATED", 0)
    drawn = paired_permutation_test(a, b, RECALL, n_permutations=20_000)
    assert exact.is_exact
    assert not drawn.is_exact
    assert drawn.p_value == pytest.approx(exact.p_value, abs=0.015)


def test_patients_are_swapped_as_wholes():
    a, b = counts_of(*[(1, 1)] * 4), counts_of(*[(0, 1)] * 4)
    found = paired_permutation_test(a, b, RECALL, clusters=["p", "p", "q", "q"])
    assert (found.n_differing, found.p_value) == (2, 2 / 4)


def test_swaps_that_leave_nothing_to_measure_count_against_a_difference():
    # Each system masks one token, in another document: swapping one document leaves one without masks.
    a, b = counts_of((1, 1, 0), (0, 1, 0)), counts_of((0, 1, 0), (0, 1, 1))
    found = paired_permutation_test(a, b, PRECISION)
    assert (found.difference, found.p_value) == (1.0, 1.0)
    assert paired_permutation_test(a, counts_of((0, 1), (0, 1)), PRECISION) is None


def test_systems_on_other_documents_are_not_compared():
    with pytest.raises(StageError, match="phi"):
        paired_permutation_test(counts_of((1, 1)), counts_of((1, 2)), RECALL)
    with pytest.raises(StageError, match="same order"):
        paired_permutation_test(counts_of((1, 1)), counts_of((1, 1), (0, 0)), RECALL)
    with pytest.raises(ConfigurationError, match="permutations"):
        paired_permutation_test(counts_of((1, 1)), counts_of((1, 1)), RECALL, n_permutations=0)


def test_a_system_that_is_better_in_every_document_is_surely_higher():
    worse, better = counts_of(*[(8, 10)] * 20, (5, 10)), counts_of(*[(9, 10)] * 20, (9, 10))
    found = paired_difference(better, worse, RECALL)
    assert found.value == pytest.approx(0.9 - 165 / 210)
    assert 0.1 - 1e-9 <= found.low <= found.value <= found.high
    assert (found.judge(), paired_difference(worse, better, RECALL).judge()) == ("higher", "lower")


def test_systems_that_win_some_documents_each_are_undecided():
    found = paired_difference(counts_of((9, 10), (5, 10)), counts_of((5, 10), (9, 10)), RECALL)
    assert (found.value, found.judge(), found.judge(-0.5)) == (0.0, "undecided", "higher")


def test_documents_of_one_cluster_are_drawn_together_for_a_difference():
    a, b = counts_of((9, 10), (5, 10)), counts_of((5, 10), (9, 10))
    found = paired_difference(a, b, RECALL, ["one", "one"])
    assert (found.low, found.high) == (0.0, 0.0)


def test_the_difference_of_several_runs_is_that_of_their_means():
    runs, other = [[[1, 2], [1, 2]], [[2, 2], [2, 2]]], [[[1, 4], [1, 4]]]
    assert bootstrap_difference(np.array(runs), np.array(other)).value == pytest.approx(0.75 - 0.25)


def test_runs_that_differ_widen_the_interval_of_a_difference():
    alike, apart = np.array([[[3, 4]] * 9] * 3), np.array([[[k, 4]] * 9 for k in (2, 3, 4)])
    other = np.array([[[1, 4]] * 9])
    steady, shaky = (bootstrap_difference(runs, other) for runs in (alike, apart))
    assert (steady.value, steady.low, steady.high) == (0.5, 0.5, 0.5)
    assert (shaky.value, shaky.low, shaky.high) == (0.5, 0.25, 0.75)


def test_the_interval_of_few_runs_is_as_wide_as_their_standard_error_says():
    rng = np.random.default_rng(1)
    covered = []
    for _ in range(300):
        runs = np.broadcast_to(np.stack([rng.normal(0.5, 0.1, 4), np.ones(4)], axis=1)[:, None], (4, 9, 2))
        found = bootstrap_difference(runs, np.array([[[0, 1]] * 9]), confidence=0.68)
        covered.append(found.low <= 0.5 <= found.high)
    assert 0.63 < np.mean(covered) < 0.73


def test_runs_of_one_seed_are_drawn_together():
    runs = np.array([[[k, 8]] * 9 for k in (2, 4, 6)])
    better = np.array([[[k + 1, 8]] * 9 for k in (2, 4, 6)])
    found = bootstrap_difference(better, runs)
    assert (found.value, found.low, found.high) == pytest.approx((0.125, 0.125, 0.125))


def test_networks_of_one_run_are_drawn_together():
    runs = np.array([[[[k, 4]] * 9 for k in (1, 3)]] * 2)
    found = bootstrap_difference(runs, np.array([[[0, 1]] * 9]))
    assert (found.value, found.low, found.high) == (0.5, 0.5, 0.5)


def test_a_difference_of_nothing_is_undefined():
    assert paired_difference(counts_of((0, 0)), counts_of((0, 0)), RECALL) is None
