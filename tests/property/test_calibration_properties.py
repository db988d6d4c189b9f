"""Whatever the scores: the operating points are in order and keep what they promise."""

from __future__ import annotations

import dataclasses

import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st

from inverse_deid.core.thresholds import Thresholds
from inverse_deid.core.values import RuleVerdicts
from inverse_deid.masking.combine import combine
from inverse_deid.training.calibration import (
    ScoredCorpus,
    calibrate_precision,
    measure,
    operating_points,
    score_from_high,
)
from inverse_deid.training.config import CalibrationConfig

P_SAFE = st.sampled_from([0.0, 1e-6, 0.2, 0.5, 0.500001, 0.9, 0.9999999, 1.0]) | st.floats(0, 1, width=32)
DENSITY = st.sampled_from([0.0, -2.0, 2.0]) | st.floats(-2, 2)
RULES = st.sampled_from(["", "", "safe", "never", "veto", "name", "word", "maybe_name", "opening"])
TOKENS = st.tuples(st.booleans(), P_SAFE, RULES, DENSITY)
SLOPES = st.sampled_from([0.0, 1.0]) | st.floats(0, 1.5)
AIMS = st.floats(0.05, 1.0)


@st.composite
def corpora(draw: st.DrawFn) -> list[ScoredCorpus]:
    """One to three corpora; at least one token is PHI."""
    found = []
    for i in range(draw(st.integers(1, 3))):
        tokens = draw(st.lists(TOKENS, min_size=1, max_size=25))
        if not i:
            tokens.append((True, draw(P_SAFE), draw(st.sampled_from(["", "safe", "word"])), 0.0))
        is_phi, p_safe, rules, density = zip(*tokens, strict=True)
        flags = {name: np.array([rule == name for rule in rules]) for name in set(rules) - {""}}
        verdicts = dataclasses.replace(RuleVerdicts.silent(len(rules)), **flags)
        arrays = (np.array(is_phi), np.array(p_safe, np.float32), verdicts, np.array(density))
        found.append(ScoredCorpus(f"corpus {i}", *arrays))
    return found


def masked(corpus: ScoredCorpus, thresholds) -> np.ndarray:
    """What masking itself masks, before the passes over the document."""
    categories = np.zeros(len(corpus.is_phi), np.uint8)
    return ~combine(corpus.verdicts, corpus.p_safe, categories, thresholds, corpus.densities).keep


@given(corpora(), AIMS, AIMS, AIMS, SLOPES)
def test_points_are_in_order_and_reach_their_recall(
    scored: list[ScoredCorpus], strict: float, balanced: float, lenient: float, slope: float
) -> None:
    config = CalibrationConfig(
        strict_recall=strict, balanced_recall=balanced, lenient_precision=lenient, density_slope=slope
    )
    points = operating_points(scored, config)
    pairs = [points[name] for name in ("strict", "balanced", "lenient")]
    assert [p.high for p in pairs] == sorted((p.high for p in pairs), reverse=True)
    assert [p.low for p in pairs] == sorted((p.low for p in pairs), reverse=True)
    for corpus in scored:
        by_point = [masked(corpus, pair) for pair in pairs]
        assert not (by_point[1] & ~by_point[0]).any()
        assert not (by_point[2] & ~by_point[1]).any()
    hits = sum(int((masked(corpus, pairs[0]) & corpus.is_phi).sum()) for corpus in scored)
    reachable = sum(int((corpus.is_phi & _reachable(corpus, slope)).sum()) for corpus in scored)
    n_phi = sum(int(corpus.is_phi.sum()) for corpus in scored)
    assert hits >= min(strict * n_phi - 1e-6, reachable)


def _reachable(corpus: ScoredCorpus, slope: float) -> np.ndarray:
    """Tokens that the highest threshold masks: of a `p_safe` that is not 1 as good as."""
    return score_from_high(corpus, Thresholds(1, 1, slope)) < 1 - 1e-5


def _one_that_is_surely_safe() -> list[ScoredCorpus]:
    # No threshold masks the last token, however far it is raised.
    is_phi, p_safe = np.array([False, False, True, True]), np.array([0, 0.9999999, 0, 1], np.float32)
    verdicts = dataclasses.replace(RuleVerdicts.silent(4), maybe_name=np.array([False, False, False, True]))
    return [ScoredCorpus("corpus 0", is_phi, p_safe, verdicts, np.array([0, 0, 0, 2.0]))]


@example(_one_that_is_surely_safe(), 0.625, 1.5)
@given(corpora(), AIMS, SLOPES)
def test_every_corpus_reaches_the_precision_or_nothing_lower_is_left(
    scored: list[ScoredCorpus], precision: float, slope: float
) -> None:
    thresholds = calibrate_precision(scored, precision, Thresholds(1, 1, slope))
    found = [measure(corpus, thresholds).precision for corpus in scored if corpus.is_phi.any()]
    assert thresholds.high <= 0.01 or all(p is None or p >= precision - 1e-9 for p in found)


@given(corpora(), AIMS, SLOPES)
def test_masking_and_calibration_agree_on_what_is_masked(
    scored: list[ScoredCorpus], recall: float, slope: float
) -> None:
    config = CalibrationConfig(strict_recall=recall, density_slope=slope)
    pairs = operating_points(scored, config)
    assert pairs
    for pair in pairs.values():
        for corpus in scored:
            point, hidden = measure(corpus, pair), masked(corpus, pair)
            hits, n_phi, n_masked = (
                int((hidden & corpus.is_phi).sum()),
                int(corpus.is_phi.sum()),
                int(hidden.sum()),
            )
            assert point.recall == (hits / n_phi if n_phi else None)
            assert point.precision == (hits / n_masked if n_masked else None)
