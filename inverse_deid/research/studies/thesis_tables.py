"""The tables of the thesis's experiments, in its form, beside the published figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from inverse_deid.core.values import RuleVerdicts
from inverse_deid.evaluation.evaluation import Evaluation
from inverse_deid.research.studies.analysed import TokenScores
from inverse_deid.research.studies.decided import decide_by_rules, evaluate
from inverse_deid.research.studies.published import published
from inverse_deid.research.studies.tables import Cell, Table
from inverse_deid.research.studies.thesis_figures import (
    ALONE,
    PRECISION,
    Figure,
    Judged,
    best_of,
    figure_of,
    recall_by_type,
)
from inverse_deid.research.studies.thesis_training import TrainedRun, accuracy
from inverse_deid.rules.allowlist import Policy

_TITLES = {"low": "(0.8, 0.9)", "high": "(0.9, 0.95)"}


@dataclass(frozen=True, slots=True, eq=False)
class Chosen:
    """A run at the epoch that validation chose.

    Args:
        run: The training.
        epoch: From 1.
    """

    run: TrainedRun
    epoch: int

    @property
    def name(self) -> str:
        """As `a-1`."""
        return self.run.name

    @property
    def scores(self) -> Mapping[str, TokenScores]:
        """Of every corpus."""
        return self.run.epochs[self.epoch - 1]


@dataclass(frozen=True, slots=True, eq=False)
class FineTuned:
    """The best run on the second corpus.

    Args:
        name: The best run.
        scores: By epochs of fine-tuning, 0 = none; of every corpus.
    """

    name: str
    scores: Mapping[int, Mapping[str, TokenScores]] = field(repr=False)


def _note(corpus: str) -> str:
    thesis = published()["thesis"]
    return f"*published* is of other data, the {thesis[corpus]}, and not comparable: {thesis['source']}."


def curve_table(runs: Sequence[Chosen], validation: Judged, test: Judged) -> Table:
    """Every run after every epoch."""
    rows: list[tuple[Cell, ...]] = []
    for one in runs:
        for epoch, scores in enumerate(one.run.epochs, start=1):
            found = [figure_of(judged.adaptive(scores, "high")) for judged in (validation, test)]
            name = validation.corpus.name
            rows.append((
                one.name,
                epoch,
                "chosen" if epoch == one.epoch else "",
                one.run.losses[epoch - 1],
                accuracy(validation.corpus, scores[name], one.run.targets),
                *(value for figure in found for value in (figure.recall, figure.precision)),
            ))  # fmt: skip
    columns = (
        "run",
        "epoch",
        "validation chose",
        "loss",
        "validation accuracy",
        "validation HIPAA recall",
        "validation precision",
        "test HIPAA recall",
        "test precision",
    )
    title = f"After each epoch, adaptive threshold {_TITLES['high']}"
    return Table("epochs", title, columns, tuple(rows), digits=4)


def adaptive_table(figures: Mapping[str, Figure]) -> Table:
    """The form of table 5.1; figures by run."""
    theirs = published()["thesis"]["adaptive"]
    rows = tuple((name, *_cells(figure), *_pair(theirs.get(name))) for name, figure in figures.items())
    title = f"Adaptive threshold {_TITLES['high']}, test set of the first corpus (thesis, table 5.1)"
    return Table("adaptive", title, _COLUMNS, rows, (_note("i2b2"),))


_COLUMNS = (
    "run",
    "HIPAA recall",
    "PHI precision",
    "published recall",
    "published precision",
)


def alone_table(figures: Mapping[tuple[str, float], Figure]) -> Table:
    """The form of table 5.2; figures by run and threshold."""
    theirs = published()["thesis"]["alone"]
    rows = tuple(
        (
            f"only deep, th = {threshold:g}, {name}",
            *_cells(figure),
            *_pair(theirs[f"{threshold:g}"].get(name)),
        )
        for (name, threshold), figure in sorted(figures.items(), key=lambda item: item[0][1])
    )
    title = "Network alone, test set of the first corpus (thesis, table 5.2)"
    notes = (_note("i2b2"), "As printed there, some published lines of th = 0.95 repeat those of 0.9.")
    return Table("network-alone", title, _COLUMNS, rows, notes)


def _cells(figure: Figure) -> tuple[float | None, float | None]:
    return figure.recall, figure.precision


def _pair(values: Sequence[float] | None) -> tuple[float | None, float | None]:
    return (None, None) if values is None else (values[0], values[1])


def comparison_table(
    runs: Sequence[Chosen], validation: Judged, test: Judged, other_rules: Mapping[Policy, RuleVerdicts]
) -> Table:
    """The form of table 5.3: what validation finds best of each kind, on the test set.

    Args:
        runs: At their chosen epochs.
        validation: Chooses.
        test: Is reported.
        other_rules: Verdicts on the test set, by policy.
    """
    by_name = {one.name: one for one in runs}
    adaptive = best_of({one.name: figure_of(validation.adaptive(one.scores, "high")) for one in runs})
    deep = {
        f"{one.name} at {threshold:g}": (one, threshold, figure_of(validation.alone(one.scores, threshold)))
        for one in runs
        for threshold in ALONE
    }
    best_deep = best_of({key: figure for key, (_, _, figure) in deep.items()})
    one, threshold, _ = deep[best_deep]
    scores = by_name[adaptive].scores
    found = {
        f"adaptive threshold {_TITLES['high']}, {adaptive}": test.adaptive(scores, "high"),
        f"network alone, {best_deep}": test.alone(one.scores, threshold),
    }
    for policy, verdicts in other_rules.items():
        found[f"rules alone, {policy}"] = evaluate(test.corpus, decide_by_rules(verdicts).keep)
        if verdicts is not test.verdicts:
            title = f"adaptive threshold {_TITLES['high']}, {adaptive}, {policy} rules"
            found[title] = Judged(test.corpus, verdicts).adaptive(scores, "high")
    rows: list[tuple[Cell, ...]] = [
        (title, *_cells(figure_of(e)), e.value("recall_all"), e.value("documents_without_hipaa_leak"))
        for title, e in found.items()
    ]
    rows += [
        (f"published: {line['method']}", line["recall"], line["precision"], None, None)
        for line in published()["thesis"]["comparison"]
    ]
    columns = (
        "method",
        "HIPAA recall",
        "PHI precision",
        "PHI recall",
        "documents without a HIPAA leak",
    )
    return Table("comparison", "Comparison (thesis, table 5.3)", columns, tuple(rows), (_note("i2b2"),))


def category_tables(evaluations: Mapping[str, Evaluation]) -> list[Table]:
    """The form of table 5.4; evaluations by run."""
    by_run = {name: recall_by_type(evaluation) for name, evaluation in evaluations.items()}
    first = next(iter(by_run.values()))
    rows = tuple(
        (name, figures.recall.whole, *(found[name].recall.value for found in by_run.values()))
        for name, figures in first.items()
    )
    title = f"Recall by category, adaptive threshold {_TITLES['high']}, first corpus (thesis, table 5.4)"
    theirs = published()["thesis"]["categories"]
    runs = tuple(published()["thesis"]["adaptive"])
    return [
        Table("categories", title, ("category", "tokens", *by_run), rows),
        Table(
            "categories-published",
            "The same as published",
            ("category", *runs),
            tuple((name, *values) for name, values in theirs.items()),
            (_note("i2b2"),),
        ),
    ]


def fine_tuning_table(tuned: FineTuned, test: Judged) -> Table:
    """The form of table 5.8."""
    facts = published()["thesis"]
    rows: list[tuple[Cell, ...]] = []
    for epochs, pair, evaluation in _fine_tuned(tuned, test):
        rows.append((
            f"{tuned.name} {_tuning(epochs)}, {_TITLES[pair]}",
            evaluation.value("recall_all"),
            evaluation.value("recall_all_corrected"),
            evaluation.value("recall_hipaa"),
            evaluation.value(PRECISION),
            *_pair(facts["fine_tuned"].get(f"{epochs}-{pair}")),
        ))  # fmt: skip
    rows += [
        (line["method"], None, None, None, None, line["recall"], line["precision"])
        for line in facts["earlier"]
    ]
    columns = (
        "method",
        "PHI recall",
        "corrected",
        "HIPAA recall",
        "precision",
        "published recall",
        "published precision",
    )
    title = "Fine-tuned and not, test set of the second corpus (thesis, table 5.8)"
    return Table("fine-tuned", title, columns, tuple(rows), (_note("vigibase"),))


def _tuning(epochs: int) -> str:
    return f"fine-tuned, {_epochs(epochs)}" if epochs else "not fine-tuned"


def _epochs(number: int) -> str:
    return f"{number} epoch{'s' * (number != 1)}"


def _fine_tuned(tuned: FineTuned, test: Judged) -> list[tuple[int, str, Evaluation]]:
    """Every number of epochs, most first, with both pairs."""
    return [
        (epochs, pair, test.adaptive(scores, pair))
        for epochs, scores in sorted(tuned.scores.items(), reverse=True)
        for pair in ("low", "high")
    ]


def fine_tuning_category_tables(tuned: FineTuned, test: Judged) -> list[Table]:
    """The form of tables 5.9 and 5.10: recall (R) and corrected recall (R new) by category."""
    found = _fine_tuned(tuned, test)
    names = recall_by_type(found[0][2])
    rows: list[tuple[Cell, ...]] = []
    for name, figures in names.items():
        by_choice = [recall_by_type(evaluation)[name] for *_, evaluation in found]
        shares = [(one.recall.value, one.corrected_recall.value) for one in by_choice]
        rows.append((name, figures.recall.whole, *(value for pair in shares for value in pair)))
    for name in ("hipaa", "all"):
        kinds = (f"recall_{name}", f"recall_{name}_corrected")
        whole = found[0][2].figure(kinds[0]).whole
        rows.append((name.upper(), whole, *(e.value(kind) for *_, e in found for kind in kinds)))
    heads = [f"{_epochs(epochs)} {_TITLES[pair]}" for epochs, pair, _ in found]
    columns = tuple(f"{head} {kind}" for head in heads for kind in ("R", "R new"))
    title = f"Recall by category, {tuned.name}, second corpus (thesis, tables 5.9 and 5.10)"
    note = "R new counts a missed token of the harmless list of the evaluation as masked."
    mine = Table("fine-tuned-categories", title, ("category", "tokens", *columns), tuple(rows), (note,))
    return [mine, _published_categories(), _earlier_categories()]


def _published_categories() -> Table:
    theirs: Mapping[str, Any] = published()["thesis"]["fine_tuned_categories"]
    columns = tuple(
        f"{_epochs(int(key.split('-')[0]))} {_TITLES[key.split('-')[1]]} {kind}"
        for key in theirs
        for kind in ("R", "R new")
    )
    names = list(next(iter(theirs.values())))
    rows = tuple((name, *(value for table in theirs.values() for value in table[name])) for name in names)
    title = "The same as published"
    return Table("fine-tuned-categories-published", title, ("category", *columns), rows, (_note("vigibase"),))


def _earlier_categories() -> Table:
    theirs = published()["thesis"]["earlier_categories"]
    columns = ("category", "fine-tuned (0.8, 0.9)", "not fine-tuned (0.9, 0.95)", "RegEx", "CRF", "SVM")
    rows = tuple((name, *values) for name, values in theirs.items())
    title = "Published beside earlier methods (thesis, table 5.11)"
    return Table("earlier-methods-published", title, columns, rows, (_note("vigibase"),))


def forgetting_table(tuned: FineTuned, test: Judged) -> Table:
    """What fine-tuning on the second corpus does to the first; not in the thesis."""
    rows = tuple(
        (_tuning(epochs), _TITLES[pair], e.value("recall_all"), *_cells(figure_of(e)))
        for epochs, pair, e in _fine_tuned(tuned, test)
    )
    columns = (tuned.name, "thresholds", "PHI recall", "HIPAA recall", "precision")
    return Table("forgetting", "The same networks on the test set of the first corpus", columns, rows)
