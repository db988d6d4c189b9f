"""Models whose opinion a new one learns along with the labels.

Source: Hinton, Vinyals and Dean 2015 (soft targets); the mean of several
networks is better than each, and one network can learn most of it.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from inverse_deid.core.errors import ConfigurationError
from inverse_deid.core.values import FloatArray, RuleAnalysis, Tokens
from inverse_deid.masking.scorers import feature_columns
from inverse_deid.network.config import NetworkConfig, class_names
from inverse_deid.network.folder import ModelParts
from inverse_deid.network.scorer import Scorer, ScorerInput
from inverse_deid.text.interning import InternedWords


def check_teachers(models: Sequence[ModelParts], config: NetworkConfig) -> None:
    """Check that a network can learn from teachers.

    Raises:
        ConfigurationError: It is a CRF, or a teacher tells other classes apart.
    """
    if models and config.output == "crf":
        raise ConfigurationError("a CRF learns from labels alone; leave out data.teachers or use softmax")
    if any(class_names(parts.network.targets) != class_names(config.targets) for parts in models):
        raise ConfigurationError("teachers tell other classes apart than the network; see network.targets")


class Teachers:
    """Asks several models and takes the mean.

    Args:
        models: The models; none is allowed.
        config: The network that learns.
        interned: Numbers the words; shared with the rules.

    Raises:
        ConfigurationError: The network cannot learn from them.
    """

    def __init__(self, models: Sequence[ModelParts], config: NetworkConfig, interned: InternedWords) -> None:
        check_teachers(models, config)
        self._teachers = [
            (Scorer(parts, interned, n_threads=1), feature_columns(parts.feature_names)) for parts in models
        ]

    def __bool__(self) -> bool:
        return bool(self._teachers)

    def opinions(self, docs: Sequence[tuple[Tokens, RuleAnalysis]]) -> list[FloatArray]:
        """Mean class probabilities: float32 (n_tokens, n_classes) a document."""
        total: list[FloatArray] = []
        for scorer, columns in self._teachers:
            inputs = [ScorerInput(t, analysis.ids, analysis.features[:, columns]) for t, analysis in docs]
            found = scorer.score(inputs)
            total = [a + b for a, b in zip(total, found, strict=True)] if total else found
        return [(summed / len(self._teachers)).astype(np.float32) for summed in total]
