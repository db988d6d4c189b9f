"""What can be made of trained networks without training another: averages and learned combiners."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from inverse_deid.core.values import FloatArray, RuleVerdicts
from inverse_deid.research.studies.analysed import AnalysedCorpus, TokenScores

Learner = Literal["logistic", "trees"]
LEARNERS: tuple[Learner, ...] = ("logistic", "trees")
_FOLDS = 5

Scores = Mapping[str, TokenScores]
"""By the name of the corpus."""


def averaged(networks: Sequence[Scores]) -> dict[str, TokenScores]:
    """The mean of `p_safe` over networks."""
    return _pooled(networks, lambda rows: rows.mean(axis=0))


def least(networks: Sequence[Scores]) -> dict[str, TokenScores]:
    """The minimum of `p_safe` over networks: all must call a token safe."""
    return _pooled(networks, lambda rows: rows.min(axis=0))


def _pooled(networks: Sequence[Scores], pool: Callable[[FloatArray], FloatArray]) -> dict[str, TokenScores]:
    first, *_ = networks
    return {
        name: dataclasses.replace(one, p_safe=pool(np.stack([scores[name].p_safe for scores in networks])))
        for name, one in first.items()
    }


def without_safe(verdicts: RuleVerdicts) -> RuleVerdicts:
    """Verdicts that call nothing safe: one threshold for all, but what always masks still does."""
    return dataclasses.replace(verdicts, safe=np.zeros_like(verdicts.safe))


def learned(
    learner: Learner,
    scores: Scores,
    verdicts: Mapping[str, RuleVerdicts],
    held_out: Sequence[AnalysedCorpus],
    compared: Sequence[AnalysedCorpus],
) -> dict[str, TokenScores] | None:
    """`p_safe` by a model over logit, verdicts and features, learned on held-out documents.

    Args:
        learner: Logistic regression or boosted trees.
        scores: Of a network, for every corpus.
        verdicts: For every corpus.
        held_out: Learned on; each fold of documents is judged by a model of the others.
        compared: Judged by a model of all held-out documents.

    Returns:
        Scores for every corpus; None if a fold leaves one class only.

    Raises:
        ImportError: scikit-learn is not installed.
    """
    from threadpoolctl import threadpool_limits

    # More threads than free cores wait for each other: one alone is many times faster then.
    with threadpool_limits(1):
        return _learned(learner, scores, verdicts, held_out, compared)


def _learned(
    learner: Learner,
    scores: Scores,
    verdicts: Mapping[str, RuleVerdicts],
    held_out: Sequence[AnalysedCorpus],
    compared: Sequence[AnalysedCorpus],
) -> dict[str, TokenScores] | None:
    inputs = {c.name: _inputs(c, scores[c.name], verdicts[c.name]) for c in (*held_out, *compared)}
    x = np.concatenate([inputs[corpus.name] for corpus in held_out])
    is_safe = np.concatenate([~corpus.is_phi for corpus in held_out])
    folds = np.concatenate([corpus.documents % _FOLDS for corpus in held_out])
    crossed = np.zeros(len(x), np.float32)
    for fold in np.unique(folds):
        mine = folds == fold
        if len(np.unique(is_safe[~mine])) < 2:
            return None
        crossed[mine] = _fitted(learner, x[~mine], is_safe[~mine])(x[mine])
    judge = _fitted(learner, x, is_safe)
    ends = np.cumsum([len(corpus.types) for corpus in held_out])[:-1]
    found = dict(zip((corpus.name for corpus in held_out), np.split(crossed, ends), strict=True))
    found |= {corpus.name: judge(inputs[corpus.name]) for corpus in compared}
    return {name: dataclasses.replace(scores[name], p_safe=p) for name, p in found.items()}


def _inputs(corpus: AnalysedCorpus, scores: TokenScores, verdicts: RuleVerdicts) -> FloatArray:
    """float32 (n_tokens, 4 + n_features)."""
    p = np.clip(np.nan_to_num(scores.p_safe.astype(np.float64)), 1e-7, 1 - 1e-7)
    flags = [np.log(p / (1 - p)), verdicts.safe, verdicts.never, verdicts.veto]
    features = np.concatenate([analysis.features for analysis in corpus.analyses])
    return np.concatenate([np.stack(flags, axis=1), features], axis=1).astype(np.float32)


def _fitted(
    learner: Learner, x: FloatArray, is_safe: npt.NDArray[np.bool_]
) -> Callable[[FloatArray], FloatArray]:
    model = _model(learner).fit(x, is_safe)

    def judge(rows: FloatArray) -> FloatArray:
        return np.asarray(model.predict_proba(rows)[:, 1], np.float32)

    return judge


def _model(learner: Learner) -> Any:  # noqa: ANN401 - scikit-learn is imported only here
    if learner == "logistic":
        from sklearn.linear_model import LogisticRegression
        from sklearn.pipeline import make_pipeline
        from sklearn.preprocessing import StandardScaler

        return make_pipeline(StandardScaler(), LogisticRegression(max_iter=2000))
    from sklearn.ensemble import HistGradientBoostingClassifier

    return HistGradientBoostingClassifier(
        learning_rate=0.1, max_iter=100, max_leaf_nodes=15, min_samples_leaf=30, random_state=0
    )
