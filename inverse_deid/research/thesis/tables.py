"""The tables of the thesis's experiments, in its form, beside the published figures."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from inverse_deid.core.thresholds import Thresholds
from inverse_deid.core.values import RuleVerdicts
from inverse_deid.evaluation.counts import GROUPS, GroupKind
from inverse_deid.evaluation.evaluation import Evaluation
from inverse_deid.evaluation.figures import GroupFigures
from inverse_deid.masking.combine import decide_without_network
from inverse_deid.research.studies.report import read_published
from inverse_deid.research.studies.scoring import AnalysedCorpus, TokenScores
from inverse_deid.research.studies.tables import Cell, Table, frame_of
from inverse_deid.research.thesis.runs import TrainedRun, measure_accuracy
from inverse_deid.rules.analysis import POLICIES, Policy

PAIRS: Mapping[str, Thresholds] = {"low": Thresholds(0.8, 0.9), "high": Thresholds(0.9, 0.95)}
"""The published pairs."""
_TITLES = {"low": "(0.8, 0.9)", "high": "(0.9, 0.95)"}
ALONE = (0.8, 0.9, 0.95)
"""The thresholds of the network alone."""
ACCEPTABLE_PRECISION = 0.5
"""Below it the thesis calls a precision not acceptable."""
_PRECISION = "precision_overlap"
"""The thesis's rule: a token that is longer than the identifier in it counts as right and as wrong."""
_BESIDE_PUBLISHED = ("run", "HIPAA recall", "PHI precision", "published recall", "published precision")


class Figure(NamedTuple):
    """HIPAA recall and PHI precision by the thesis's rule for overlaps; None = undefined."""

    recall: float | None
    precision: float | None


def figure_of(evaluation: Evaluation) -> Figure:
    """Return what the tables of the thesis show of an evaluation."""
    return Figure(evaluation.value("recall_hipaa"), evaluation.value(_PRECISION))


@dataclass(frozen=True, slots=True, eq=False)
class JudgedCorpus:
    """A corpus with the verdicts of the rules by the policy of the study."""

    corpus: AnalysedCorpus
    verdicts: RuleVerdicts = field(repr=False)

    def evaluate_pair(self, scores: Mapping[str, TokenScores], pair: str) -> Evaluation:
        """Evaluate the adaptive threshold; scores by corpus."""
        return self.corpus.evaluate(scores[self.corpus.name].decide(PAIRS[pair], self.verdicts).keep)

    def evaluate_alone(self, scores: Mapping[str, TokenScores], threshold: float) -> Evaluation:
        """Evaluate the network alone; scores by corpus."""
        return self.corpus.evaluate(scores[self.corpus.name].decide(Thresholds(threshold, threshold)).keep)

    def figure(self, scores: Mapping[str, TokenScores], pair: str = "high") -> Figure:
        """Return the figure of the adaptive threshold."""
        return figure_of(self.evaluate_pair(scores, pair))


@dataclass(frozen=True, slots=True, eq=False)
class FineTuned:
    """The scores of the best run on every corpus, by epochs of fine-tuning on the second one; 0 = none."""

    name: str
    scores: Mapping[int, Mapping[str, TokenScores]] = field(repr=False)

    def evaluate(self, test: JudgedCorpus) -> list[tuple[int, str, Evaluation]]:
        """Evaluate every number of epochs, most first, with both pairs of thresholds."""
        return [
            (epochs, pair, test.evaluate_pair(scores, pair))
            for epochs, scores in sorted(self.scores.items(), reverse=True)
            for pair in PAIRS
        ]


def find_best(figures: Mapping[str, Figure]) -> str:
    """Return the key of the best figure: the highest recall among those of acceptable precision.

    The thesis asks for the "highest HIPAA-recall combined with acceptable precision". If
    no precision is acceptable, the highest one decides; of equals the first.

    Example:
        >>> find_best({"a": Figure(0.99, 0.4), "b": Figure(0.98, 0.6), "c": Figure(0.97, 0.9)})
        'b'
    """

    def rank(key: str) -> tuple[bool, float, float]:
        recall, precision = (value or 0.0 for value in figures[key])
        is_acceptable = precision >= ACCEPTABLE_PRECISION
        return (True, recall, precision) if is_acceptable else (False, precision, recall)

    return max(figures, key=rank)


def find_best_pair(figures: Iterable[Mapping[str, Figure]]) -> str:
    """Return the pair of thresholds that is best for most runs, the higher one of equals."""
    votes = [find_best(one) for one in figures]
    return "low" if votes.count("low") > votes.count("high") else "high"


def thesis_tables(
    runs: Sequence[TrainedRun],
    tuned: FineTuned,
    validation: JudgedCorpus,
    first_test: AnalysedCorpus,
    second: JudgedCorpus,
    policy: Policy,
) -> dict[str, list[Table]]:
    """Return all tables by heading.

    Validation chooses in the comparison. The policy is that of the rules in all tables but the comparison,
    which shows every policy.
    """
    verdicts = {one: first_test.verdicts(one) for one in POLICIES}
    test = JudgedCorpus(first_test, verdicts[policy])
    adaptive = {run.name: test.evaluate_pair(run.scores, "high") for run in runs}
    return {
        "First corpus": [
            _adaptive_table(adaptive),
            _alone_table(runs, test),
            _comparison_table(runs, validation, test, verdicts),
            *_category_tables(adaptive),
        ],
        "Second corpus": [
            _fine_tuning_table(tuned, second),
            *_fine_tuning_category_tables(tuned, second),
            _forgetting_table(tuned, test),
        ],
        "Curves": [_curve_table(runs, validation, test)],
    }


def _note(corpus: str) -> str:
    thesis = read_published()["thesis"]
    return f"*published* is of other data, the {thesis[corpus]}, and not comparable: {thesis['source']}."


def _adaptive_table(adaptive: Mapping[str, Evaluation]) -> Table:
    """The form of table 5.1."""
    theirs = read_published()["thesis"]["adaptive"]
    rows = [(name, *figure_of(one), *theirs.get(name, (None, None))) for name, one in adaptive.items()]
    title = f"Adaptive threshold {_TITLES['high']}, test set of the first corpus (thesis, table 5.1)"
    return Table("adaptive", title, frame_of(_BESIDE_PUBLISHED, rows), (_note("i2b2"),))


def _alone_table(runs: Sequence[TrainedRun], test: JudgedCorpus) -> Table:
    """The form of table 5.2."""
    theirs = read_published()["thesis"]["alone"]
    rows = [
        (
            f"only deep, th = {threshold:g}, {run.name}",
            *figure_of(test.evaluate_alone(run.scores, threshold)),
            *theirs[f"{threshold:g}"].get(run.name, (None, None)),
        )
        for threshold in ALONE
        for run in runs
    ]
    title = "Network alone, test set of the first corpus (thesis, table 5.2)"
    notes = (_note("i2b2"), "As printed there, some published lines of th = 0.95 repeat those of 0.9.")
    return Table("network-alone", title, frame_of(_BESIDE_PUBLISHED, rows), notes)


def _comparison_table(
    runs: Sequence[TrainedRun],
    validation: JudgedCorpus,
    test: JudgedCorpus,
    verdicts: Mapping[Policy, RuleVerdicts],
) -> Table:
    """The form of table 5.3: what validation finds best of each kind, on the test set."""
    best = find_best({run.name: validation.figure(run.scores) for run in runs})
    scores = next(run.scores for run in runs if run.name == best)
    alone = {f"{run.name} at {threshold:g}": (run, threshold) for run in runs for threshold in ALONE}
    best_alone = find_best(
        {key: figure_of(validation.evaluate_alone(run.scores, at)) for key, (run, at) in alone.items()}
    )
    run, threshold = alone[best_alone]
    adaptive = f"adaptive threshold {_TITLES['high']}, {best}"
    found = {
        adaptive: test.evaluate_pair(scores, "high"),
        f"network alone, {best_alone}": test.evaluate_alone(run.scores, threshold),
    }
    for policy, of_policy in verdicts.items():
        found[f"rules alone, {policy}"] = test.corpus.evaluate(decide_without_network(of_policy).keep)
        if of_policy is not test.verdicts:
            other = JudgedCorpus(test.corpus, of_policy)
            found[f"{adaptive}, {policy} rules"] = other.evaluate_pair(scores, "high")
    rows: list[tuple[Cell, ...]] = [
        (title, *figure_of(one), one.value("recall_all"), one.value("documents_without_hipaa_leak"))
        for title, one in found.items()
    ]
    rows += [
        (f"published: {line['method']}", line["recall"], line["precision"], None, None)
        for line in read_published()["thesis"]["comparison"]
    ]
    columns = ("method", "HIPAA recall", "PHI precision", "PHI recall", "documents without a HIPAA leak")
    return Table("comparison", "Comparison (thesis, table 5.3)", frame_of(columns, rows), (_note("i2b2"),))


def _figures_by_type(evaluation: Evaluation) -> dict[str, GroupFigures]:
    """Return the figures of every fine type that has gold tokens."""
    fine = [group for group in GROUPS if group.kind is GroupKind.FINE]
    found = {group.name: evaluation.group(group.kind, group.name) for group in fine}
    return {name: figures for name, figures in found.items() if figures.recall.whole}


def _category_tables(adaptive: Mapping[str, Evaluation]) -> Iterator[Table]:
    """The form of table 5.4."""
    by_run = {name: _figures_by_type(evaluation) for name, evaluation in adaptive.items()}
    rows = [
        (name, figures.recall.whole, *(found[name].recall.value for found in by_run.values()))
        for name, figures in next(iter(by_run.values())).items()
    ]
    title = f"Recall by category, adaptive threshold {_TITLES['high']}, first corpus (thesis, table 5.4)"
    yield Table("categories", title, frame_of(("category", "tokens", *by_run), rows))
    theirs = read_published()["thesis"]
    frame = frame_of(
        ("category", *theirs["adaptive"]),
        [(name, *values) for name, values in theirs["categories"].items()],
    )
    yield Table("categories-published", "The same as published", frame, (_note("i2b2"),))


def _fine_tuning_table(tuned: FineTuned, test: JudgedCorpus) -> Table:
    """The form of table 5.8."""
    facts = read_published()["thesis"]
    figures = ("recall_all", "recall_all_corrected", "recall_hipaa", _PRECISION)
    rows: list[tuple[Cell, ...]] = [
        (
            f"{tuned.name} {_tuning_title(epochs)}, {_TITLES[pair]}",
            *(evaluation.value(figure) for figure in figures),
            *facts["fine_tuned"].get(f"{epochs}-{pair}", (None, None)),
        )
        for epochs, pair, evaluation in tuned.evaluate(test)
    ]
    rows += [
        (line["method"], None, None, None, None, line["recall"], line["precision"])
        for line in facts["earlier"]
    ]
    columns = ("method", "PHI recall", "corrected", "HIPAA recall", "precision", *_BESIDE_PUBLISHED[3:])
    title = "Fine-tuned and not, test set of the second corpus (thesis, table 5.8)"
    return Table("fine-tuned", title, frame_of(columns, rows), (_note("vigibase"),))


def _tuning_title(epochs: int) -> str:
    return f"fine-tuned, {_count_epochs(epochs)}" if epochs else "not fine-tuned"


def _count_epochs(number: int) -> str:
    return f"{number} epoch{'s' * (number != 1)}"


def _recall_columns(choices: Iterable[tuple[int, str]]) -> list[str]:
    """Return two columns of recall per choice of epochs and thresholds."""
    heads = [f"{_count_epochs(epochs)} {_TITLES[pair]}" for epochs, pair in choices]
    return [f"{head} {kind}" for head in heads for kind in ("R", "R new")]


def _fine_tuning_category_tables(tuned: FineTuned, test: JudgedCorpus) -> Iterator[Table]:
    """The form of tables 5.9, 5.10 and 5.11: recall (R) and corrected recall (R new) by category."""
    facts = read_published()["thesis"]
    found = tuned.evaluate(test)
    by_type = [_figures_by_type(evaluation) for *_, evaluation in found]
    rows: list[tuple[Cell, ...]] = []
    for name, figures in by_type[0].items():
        shares = [(one[name].recall.value, one[name].corrected_recall.value) for one in by_type]
        rows.append((name, figures.recall.whole, *(value for pair in shares for value in pair)))
    for name in ("hipaa", "all"):
        kinds = (f"recall_{name}", f"recall_{name}_corrected")
        whole = found[0][2].figure(kinds[0]).whole
        rows.append((name.upper(), whole, *(e.value(kind) for *_, e in found for kind in kinds)))
    columns = ("category", "tokens", *_recall_columns((epochs, pair) for epochs, pair, _ in found))
    title = f"Recall by category, {tuned.name}, second corpus (thesis, tables 5.9 and 5.10)"
    note = "R new counts a missed token of the harmless list of the evaluation as masked."
    yield Table("fine-tuned-categories", title, frame_of(columns, rows), (note,))
    theirs: Mapping[str, Any] = facts["fine_tuned_categories"]
    choices = [(int(epochs), pair) for epochs, _, pair in (key.partition("-") for key in theirs)]
    rows = [
        (name, *(value for table in theirs.values() for value in table[name]))
        for name in next(iter(theirs.values()))
    ]
    frame = frame_of(("category", *_recall_columns(choices)), rows)
    notes = (_note("vigibase"),)
    yield Table("fine-tuned-categories-published", "The same as published", frame, notes)
    columns = ("category", "fine-tuned (0.8, 0.9)", "not fine-tuned (0.9, 0.95)", "RegEx", "CRF", "SVM")
    rows = [(name, *values) for name, values in facts["earlier_categories"].items()]
    title = "Published beside earlier methods (thesis, table 5.11)"
    yield Table("earlier-methods-published", title, frame_of(columns, rows), notes)


def _forgetting_table(tuned: FineTuned, test: JudgedCorpus) -> Table:
    """What fine-tuning on the second corpus does to the first; not in the thesis."""
    rows = [
        (_tuning_title(epochs), _TITLES[pair], one.value("recall_all"), *figure_of(one))
        for epochs, pair, one in tuned.evaluate(test)
    ]
    columns = (tuned.name, "thresholds", "PHI recall", "HIPAA recall", "precision")
    title = "The same networks on the test set of the first corpus"
    return Table("forgetting", title, frame_of(columns, rows))


def _curve_table(runs: Sequence[TrainedRun], validation: JudgedCorpus, test: JudgedCorpus) -> Table:
    """Every run after every epoch."""
    corpus = validation.corpus
    rows = [
        (
            run.name,
            epoch,
            "chosen" if epoch == run.epoch else "",
            run.losses[epoch - 1],
            measure_accuracy(corpus, scores[corpus.name], run.targets),
            *validation.figure(scores),
            *test.figure(scores),
        )
        for run in runs
        for epoch, scores in enumerate(run.epochs, start=1)
    ]
    shares = [
        f"{part} {figure}" for part in ("validation", "test") for figure in ("HIPAA recall", "precision")
    ]
    columns = ("run", "epoch", "validation chose", "loss", "validation accuracy", *shares)
    title = f"After each epoch, adaptive threshold {_TITLES['high']}"
    return Table("epochs", title, frame_of(columns, rows), digits=4)
