"""The figures behind the thesis's tables: what each run does on a corpus at each choice of thresholds."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from inverse_deid.core.thresholds import Thresholds
from inverse_deid.core.values import RuleVerdicts
from inverse_deid.evaluation.evaluation import Evaluation
from inverse_deid.evaluation.figures import GroupFigures
from inverse_deid.evaluation.groups import GROUPS, GroupKind
from inverse_deid.research.studies.analysed import AnalysedCorpus, TokenScores
from inverse_deid.research.studies.decided import decide, evaluate
from inverse_deid.research.studies.thesis_training import TrainedRun, accuracy

PAIRS: Mapping[str, Thresholds] = {"low": Thresholds(0.8, 0.9), "high": Thresholds(0.9, 0.95)}
"""The published pairs."""
ALONE = (0.8, 0.9, 0.95)
"""The thresholds of the network alone."""
PRECISION = "precision_overlap"
"""The thesis's rule: a token that is longer than the identifier in it counts as right and as wrong."""
ACCEPTABLE_PRECISION = 0.5
"""Below it the thesis calls a precision not acceptable."""


@dataclass(frozen=True, slots=True, eq=False)
class Judged:
    """A corpus with the verdicts of the rules.

    Args:
        corpus: The gold.
        verdicts: By the policy of the experiment.
    """

    corpus: AnalysedCorpus
    verdicts: RuleVerdicts = field(repr=False)

    def adaptive(self, scores: Mapping[str, TokenScores], pair: str) -> Evaluation:
        """By the adaptive threshold; scores by corpus."""
        decisions = decide(scores[self.corpus.name], PAIRS[pair], self.verdicts)
        return evaluate(self.corpus, decisions.keep)

    def alone(self, scores: Mapping[str, TokenScores], threshold: float) -> Evaluation:
        """By the network alone; scores by corpus."""
        decisions = decide(scores[self.corpus.name], Thresholds(threshold, threshold))
        return evaluate(self.corpus, decisions.keep)


@dataclass(frozen=True, slots=True)
class Figure:
    """HIPAA recall and PHI precision; None = undefined."""

    recall: float | None
    precision: float | None


def figure_of(evaluation: Evaluation) -> Figure:
    """What the tables of the thesis show of an evaluation, precision by its rule for overlaps."""
    return Figure(evaluation.value("recall_hipaa"), evaluation.value(PRECISION))


def chosen_epoch(run: TrainedRun, validation: AnalysedCorpus) -> int:
    """The epoch (from 1) of the highest accuracy on the validation part, the first of equals."""
    found = [accuracy(validation, scores[validation.name], run.targets) for scores in run.epochs]
    return found.index(max(found)) + 1


def best_of(figures: Mapping[str, Figure]) -> str:
    """The key of the best figure: the highest recall among those of acceptable precision.

    The thesis asks for the "highest HIPAA-recall combined with acceptable precision". If
    no precision is acceptable, the highest one decides; of equals the first.

    Example:
        >>> best_of({"a": Figure(0.99, 0.4), "b": Figure(0.98, 0.6), "c": Figure(0.97, 0.9)})
        'b'
    """
    return max(figures, key=lambda key: _rank(figures[key]))


def _rank(figure: Figure) -> tuple[bool, float, float]:
    recall, precision = figure.recall or 0.0, figure.precision or 0.0
    acceptable = precision >= ACCEPTABLE_PRECISION
    return (True, recall, precision) if acceptable else (False, precision, recall)


def best_pair(figures: Iterable[Mapping[str, Figure]]) -> str:
    """The pair of thresholds that is best for most runs, the higher one of equals."""
    votes = [best_of(one) for one in figures]
    return "low" if votes.count("low") > votes.count("high") else "high"


def recall_by_type(evaluation: Evaluation) -> dict[str, GroupFigures]:
    """The figures of every fine type that has gold tokens."""
    found = {
        group.name: evaluation.group(group.kind, group.name)
        for group in GROUPS
        if group.kind is GroupKind.FINE
    }
    return {name: figures for name, figures in found.items() if figures.recall.whole}
