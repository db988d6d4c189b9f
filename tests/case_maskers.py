"""Stand-ins for the de-identifier for tests of cases: spans that the test names, and known identifiers."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Iterable, Sequence

import numpy as np

from inverse_deid.core.phi import HyperClass
from inverse_deid.core.thresholds import Thresholds
from inverse_deid.core.values import Document, MaskedDocument, RuleAnalysis, RuleVerdicts, Tokens
from inverse_deid.masking.pipeline import Deidentifier, Scores, Stages
from inverse_deid.replacement.markers import fixed_marker

SpansOf = Callable[[str], Iterable[tuple[int, int, HyperClass]]]
"""From a text to what is masked in it."""


class _NoRules:
    def analyse_many(self, tokens: Sequence[Tokens]) -> list[RuleAnalysis]:
        return [self._analysis(len(one)) for one in tokens]

    def _analysis(self, n: int) -> RuleAnalysis:
        verdicts = dataclasses.replace(RuleVerdicts.silent(n), safe=np.ones(n, np.bool_))
        return RuleAnalysis(np.zeros(n, np.int32), np.zeros((n, 1), np.float32), verdicts)


class _Spans:
    def __init__(self, spans_of: SpansOf) -> None:
        self._spans_of = spans_of

    def score(self, tokens: Sequence[Tokens], analyses: Sequence[RuleAnalysis]) -> list[Scores]:
        return [self._scores(one) for one in tokens]

    def _scores(self, tokens: Tokens) -> Scores:
        p_safe = np.ones(len(tokens), np.float32)
        categories = np.ones(len(tokens), np.uint8)
        for start, end, category in self._spans_of(tokens.text):
            chosen = (tokens.ends > start) & (tokens.starts < end)
            p_safe[chosen] = 0.6
            categories[chosen] = tuple(HyperClass).index(category)
        return Scores(p_safe, categories)


def masker_of(spans_of: SpansOf = lambda text: (), common: Iterable[str] = ()) -> Deidentifier:
    """Masks the spans that a function names and the known identifiers, and keeps everything else."""
    words = frozenset(common)
    stages = Stages(
        analyser=_NoRules(),
        scorer=_Spans(spans_of),
        thresholds=Thresholds(0.9, 0.9),
        marker_for=fixed_marker("PHI"),
        is_common_word=lambda word: word.lower() in words,
    )
    return Deidentifier(stages, "fake")


def spans_by(**patterns: str) -> SpansOf:
    """What the first group of a pattern matches, by the name of its category."""
    compiled = {HyperClass(name): re.compile(pattern, re.DOTALL) for name, pattern in patterns.items()}

    def spans(text: str) -> Iterable[tuple[int, int, HyperClass]]:
        for category, pattern in compiled.items():
            for match in pattern.finditer(text):
                yield match.start(1), match.end(1), category

    return spans


def masked_by(masker: Deidentifier, text: str) -> MaskedDocument:
    return masker.mask(Document("1", text))
