"""The tables of the thesis's experiments, in its form, beside the published figures, and those it lacks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np

from inverse_deid.core.phi import PhiType
from inverse_deid.core.values import BoolArray, FloatArray
from inverse_deid.evaluation.evaluation import Evaluation
from inverse_deid.evaluation.measures.counts import GROUPS, TYPE_NUMBER, GroupKind, read_harmless
from inverse_deid.evaluation.measures.figures import GroupFigures
from inverse_deid.masking.combine import decide_without_network
from inverse_deid_research.studies.report import read_published
from inverse_deid_research.studies.scoring import Float64Array, TokenScores
from inverse_deid_research.studies.tables import Cell, Table, by_section, mean, read_forms
from inverse_deid_research.thesis.judging import (
    ALONE,
    COMBINERS,
    OURS,
    PAIRS,
    PUBLISHED,
    Curve,
    Draws,
    Figure,
    JudgedCorpus,
    compare_at_recall,
    draw,
    draw_figures,
    find_best,
    summarise,
)
from inverse_deid_research.thesis.published import PERSON_TYPES
from inverse_deid_research.thesis.runs import TrainedRun, measure_accuracy

_TITLES = {"low": "(0.8, 0.9)", "high": "(0.9, 0.95)"}
_ALONE = (0.8, 0.9, 0.95)
RECALLS = (0.95, 0.98, 0.99)
"""The HIPAA recalls that combiners are compared at."""
_ONE_RECALL = 0.98
"""That of the tables by variant and by category."""
_LEAST_TOKENS = 20
"""Types with fewer test tokens have no trade-off."""
_TUNED_VARIANT = "d"
"""The variant that the thesis fine-tuned."""
_PRECISION = "precision_overlap"
"""The thesis's rule: a token that is longer than the identifier in it counts as right and as wrong."""
_AT_RECALL = "Recall is of HIPAA tokens. Precision is the share of masked tokens that touch PHI."
_FORMS = read_forms("inverse_deid_research.thesis")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Findings:
    """The runs and corpora that the tables show; `tuned` are the `runs` in their order after fine-tuning."""

    runs: Sequence[TrainedRun]
    tuned: Sequence[TrainedRun]
    named: Sequence[TrainedRun]  # the runs of one variant in their order, trained after learning names
    validation: JudgedCorpus
    first: JudgedCorpus
    second: JudgedCorpus
    samples: JudgedCorpus
    # `p_safe` on the second test documents, float32 (n_tokens,), by system.
    rivals: Mapping[str, FloatArray] = field(repr=False)

    @property
    def variants(self) -> list[str]:
        return [run.name[0] for run in self.runs]

    def of_variant(self, variant: str, n_epochs: int) -> list[Mapping[str, TokenScores]]:
        """Return the scores of each run of a variant after some epochs of fine-tuning; 0 = none."""
        pairs = zip(self.runs, self.tuned, strict=True)
        return [
            tuned.epochs[n_epochs - 1] if n_epochs else run.scores
            for run, tuned in pairs
            if run.name.startswith(variant)
        ]


def thesis_tables(found: Findings) -> dict[str, list[Table]]:
    draws = draw(found.first.clusters, found.variants)
    adaptive = {run.name: found.first.evaluate_pair(run.scores, "high") for run in found.runs}
    first = [run.scores for run in found.runs]
    last = [run.scores for run in found.tuned]
    second_draws = draw(found.second.clusters, found.variants)
    theirs = read_published()["thesis"]["adaptive"]
    rows = [(name, *_figure_of(one), *theirs.get(name, (None, None))) for name, one in adaptive.items()]
    tables = (
        _equal_recall_table("first", found.first, first, draws),
        _equal_recall_table("second", found.second, last, second_draws),
        _variant_recall_table(found),
        _trade_off_table(found.first, first, draws),
        _names_table(found),
        _variant_table(found, adaptive),
        _fill("adaptive", rows),
        _alone_table(found),
        _comparison_table(found),
        *_category_tables(adaptive),
        *_sample_tables(found),
        _fine_tuning_table(found),
        *_fine_tuning_category_tables(found),
        _leak_table(found),
        *_rival_tables(found),
        _forgetting_table(found),
        _curve_table(found),
    )
    return by_section(tables)


def _fill(name: str, rows: Iterable[Sequence[Cell]], **values: object) -> Table:
    thesis = read_published()["thesis"]
    note = "*published* is of other data, the {}, and not comparable: {}."
    others = {f"not_{name}": note.format(thesis[name], thesis["source"]) for name in ("i2b2", "vigibase")}
    common = {**_TITLES, **others, "at_recall": _AT_RECALL, "recall": _ONE_RECALL, "tuned": _TUNED_VARIANT}
    return _FORMS[name].fill(rows, **common, **values)


def _equal_recall_table(
    which: str, judged: JudgedCorpus, scores: Sequence[Mapping[str, TokenScores]], draws: Draws
) -> Table:
    target = judged.is_hipaa
    curves = {c: [judged.trace(judged.margins(c, one), target) for one in scores] for c in COMBINERS}
    compared = compare_at_recall(curves, RECALLS, draws)
    rows: list[tuple[Cell, ...]] = []
    for (recall, combiner), (precision, gain) in compared.items():
        shown = (None, None, None, "-") if combiner == ALONE else (*gain, gain.verdict)
        rows.append((combiner, recall, *precision, *shown))
    state = "fine-tuned networks" if which == "second" else "networks"
    return _fill("equal-recall", rows, which=which, n_runs=len(scores), state=state)


def _variant_recall_table(found: Findings) -> Table:
    # Runs are paired by seed.
    judged, curves = found.first, dict[str, list[Curve]]()
    for run in found.runs:
        margins = judged.margins(PUBLISHED, run.scores)
        curves.setdefault(run.name[0], []).append(judged.trace(margins, judged.is_hipaa))
    n_runs = min(map(len, curves.values()))
    compared = compare_at_recall(curves, [_ONE_RECALL], draw(judged.clusters, ["any"] * n_runs))
    rows = [
        (name, *precision, *((None, None, None, "-") if name == "a" else (*gain, gain.verdict)))
        for (_, name), (precision, gain) in compared.items()
    ]
    return _fill("equal-recall-variants", rows, published=PUBLISHED)


def _names_table(found: Findings) -> Table:
    # Not in the thesis. Runs are paired by seed.
    judged = found.first
    is_name = np.isin(judged.corpus.types, [TYPE_NUMBER[one] for one in PERSON_TYPES])
    kinds = {
        "letters alone": [run for run in found.runs if run.name.startswith(_TUNED_VARIANT)],
        "names first": found.named,
    }
    curves: dict[str, list[Curve]] = {}
    recalls: dict[str, Float64Array] = {}
    draws = draw(judged.clusters, ["any"] * len(found.named))
    for kind, of_runs in kinds.items():
        margins = [judged.margins(PUBLISHED, run.scores) for run in of_runs]
        curves[kind] = [judged.trace(one, judged.is_hipaa) for one in margins]
        shares = [_draw_recall(judged, one, is_name, draws) for one in margins]
        recalls[kind] = (np.stack(shares, axis=-1) * draws.runs).sum(axis=-1)
    compared = compare_at_recall(curves, [_ONE_RECALL], draws)
    first = next(iter(recalls.values()))
    rows: list[tuple[Cell, ...]] = []
    for (_, kind), (precision, gain) in compared.items():
        of_names = summarise(recalls[kind] - first)
        gains = (*gain, gain.verdict, *of_names, of_names.verdict)
        shown = (None, None, None, "-") * 2 if recalls[kind] is first else gains
        rows.append((kind, *precision, *summarise(recalls[kind]), *shown))
    return _fill("names-first", rows, published=PUBLISHED)


def _draw_recall(
    judged: JudgedCorpus, margins: Float64Array, target: BoolArray, draws: Draws
) -> Float64Array:
    """Return the recall of some tokens where HIPAA recall is `_ONE_RECALL`: float64 (n_draws,)."""
    is_found = target & (margins <= _limit(margins[judged.is_hipaa]))
    clusters = judged.clusters[judged.corpus.documents]
    n = draws.clusters.shape[1]
    part, whole = (np.bincount(clusters[one], minlength=n) for one in (is_found, target))
    with np.errstate(invalid="ignore"):
        return np.asarray((draws.clusters @ part) / (draws.clusters @ whole))


def _trade_off_table(
    judged: JudgedCorpus, scores: Sequence[Mapping[str, TokenScores]], draws: Draws
) -> Table:
    # Recall at one HIPAA recall of all, and precision where the type itself has that recall.
    combiners = (ALONE, PUBLISHED, OURS)
    margins = {name: [judged.margins(name, one) for one in scores] for name in combiners}
    limits = {name: [_limit(one[judged.is_hipaa]) for one in of_runs] for name, of_runs in margins.items()}
    rows: list[tuple[Cell, ...]] = []
    for fine in PhiType:
        target = judged.corpus.types == TYPE_NUMBER[fine]
        if (n_tokens := int(target.sum())) < _LEAST_TOKENS:
            continue
        recalls = [
            mean(
                float((one[target] <= limit).mean())
                for one, limit in zip(margins[name], limits[name], strict=True)
            )
            for name in combiners
        ]
        curves = {name: [judged.trace(one, target) for one in of_runs] for name, of_runs in margins.items()}
        compared = compare_at_recall(curves, [_ONE_RECALL], draws)
        (alone, _), (_, published), (_, ours) = (compared[_ONE_RECALL, name] for name in combiners)
        shown = (*alone, *published, published.verdict, *ours, ours.verdict)
        rows.append((fine.value, n_tokens, *recalls, *shown))
    return _fill("trade-offs", rows, n_runs=len(scores), combiners=combiners, alone=ALONE)


def _limit(margins: np.ndarray) -> float:
    return float(np.sort(margins)[int(np.ceil(_ONE_RECALL * len(margins) - 1e-9)) - 1])


def _variant_table(found: Findings, adaptive: Mapping[str, Evaluation]) -> Table:
    # The form of table 5.1 by variant, with intervals.
    theirs = read_published()["thesis"]["adaptive"]
    rows: list[tuple[Cell, ...]] = []
    for variant in dict.fromkeys(found.variants):
        of_runs = [one for name, one in adaptive.items() if name.startswith(variant)]
        draws = draw(found.first.clusters, [variant] * len(of_runs))
        drawn = draw_figures(of_runs, ("recall_hipaa", _PRECISION), found.first.clusters, draws)
        estimates = [value for one in drawn.values() for value in draws.estimate(one)]
        published = zip(*(theirs[f"{variant}-{i}"] for i in (1, 2)), strict=True)
        rows.append((variant, len(of_runs), *estimates, *map(mean, published)))
    return _fill("variants", rows)


def _figure_of(evaluation: Evaluation) -> Figure:
    return Figure(evaluation.value("recall_hipaa"), evaluation.value(_PRECISION))


def _alone_table(found: Findings) -> Table:
    # The form of table 5.2.
    theirs = read_published()["thesis"]["alone"]
    rows = [
        (
            f"only deep, th = {threshold:g}, {run.name}",
            *_figure_of(found.first.evaluate_alone(run.scores, threshold)),
            *theirs[f"{threshold:g}"].get(run.name, (None, None)),
        )
        for threshold in _ALONE
        for run in found.runs
    ]
    return _fill("network-alone", rows)


def _comparison_table(found: Findings) -> Table:
    # The form of table 5.3: what validation finds best of each kind, on the test set.
    test, validation = found.first, found.validation
    best = find_best({run: validation.measure_pair(run.scores, "high") for run in found.runs})
    run, threshold = find_best(
        {
            (run, at): _figure_of(validation.evaluate_alone(run.scores, at))
            for run in found.runs
            for at in _ALONE
        }
    )
    ours = best.scores[test.corpus.name].decide(PAIRS["high"], test.ours)
    evaluations = {
        f"adaptive threshold {_TITLES['high']}, {best.name}": test.evaluate_pair(best.scores, "high"),
        f"{OURS} {_TITLES['high']}, {best.name}": test.corpus.evaluate(ours.keep),
        f"network alone, {run.name} at {threshold:g}": test.evaluate_alone(run.scores, threshold),
        "rules alone, published": test.corpus.evaluate(decide_without_network(test.published).keep),
        "rules alone, ours": test.corpus.evaluate(decide_without_network(test.ours).keep),
        "independent CRF alone": test.corpus.evaluate(test.crf >= 0.5),
    }
    rows: list[tuple[Cell, ...]] = [
        (title, *_figure_of(one), one.value("recall_all"), one.value("documents_without_hipaa_leak"))
        for title, one in evaluations.items()
    ]
    rows += [
        (f"published: {line['method']}", line["recall"], line["precision"], None, None)
        for line in read_published()["thesis"]["comparison"]
    ]
    return _fill("comparison", rows)


def _figures_by_type(evaluation: Evaluation) -> dict[str, GroupFigures]:
    fine = [group for group in GROUPS if group.kind is GroupKind.FINE]
    found = {group.name: evaluation.group(group.kind, group.name) for group in fine}
    return {name: figures for name, figures in found.items() if figures.recall.whole}


def _category_tables(adaptive: Mapping[str, Evaluation]) -> Iterator[Table]:
    # The form of table 5.4, as means over the runs of a variant.
    by_run = {name: _figures_by_type(evaluation) for name, evaluation in adaptive.items()}
    variants = list(dict.fromkeys(name[0] for name in by_run))
    rows = [
        (
            name,
            figures.recall.whole,
            *(mean(by_run[run][name].recall.value for run in by_run if run[0] == v) for v in variants),
        )
        for name, figures in next(iter(by_run.values())).items()
    ]
    yield _fill("categories", rows, variants=variants)
    theirs = read_published()["thesis"]
    published = [(name, *values) for name, values in theirs["categories"].items()]
    yield _fill("categories-published", published, their_runs=list(theirs["adaptive"]))


def _sample_tables(found: Findings) -> Iterator[Table]:
    # The form of tables 5.5 to 5.7, with records invented for this project.
    run = find_best({run: found.validation.measure_pair(run.scores, "high") for run in found.runs})
    corpus = found.samples.corpus
    keep = run.scores[corpus.name].decide(PAIRS["high"], found.samples.published).keep
    parts = zip(corpus.docs, corpus.tokens, pairwise(corpus.starts), strict=True)
    for number, (doc, tokens, (start, end)) in enumerate(parts, start=1):
        lines = [["", ""] for _ in doc.text.split("\n")]
        place, line = 0, 0
        ends = zip(tokens.starts.tolist(), tokens.ends.tolist(), strict=True)
        verdicts = zip(keep[start:end].tolist(), corpus.is_phi[start:end].tolist(), strict=True)
        for (first, last), (is_kept, is_phi) in zip(ends, verdicts, strict=True):
            line = _add_gap(lines, line, doc.text[place:first])
            word = doc.text[first:last]
            mark = "**" if is_kept and is_phi else "*" if not is_kept and not is_phi else ""
            lines[line][0] += f"{mark}{word}{mark}"
            lines[line][1] += word if is_kept else "PHI"
            place = last
        _add_gap(lines, line, doc.text[place:])
        rows = [one for one in lines if one[0].strip()]
        yield _fill("sample", rows, number=number, run=run.name, theirs=4 + number)


def _add_gap(lines: list[list[str]], line: int, gap: str) -> int:
    for i, part in enumerate(gap.split("\n")):
        line += i > 0
        for column in range(2):
            lines[line][column] += part
    return line


def _stages(most: int) -> list[tuple[int, str]]:
    """Return numbers of epochs of fine-tuning with a pair of thresholds, in the order of table 5.8."""
    return [(epochs, pair) for epochs in range(most, -1, -1) for pair in PAIRS]


def _tuning_title(epochs: int) -> str:
    return f"fine-tuned, {_count_epochs(epochs)}" if epochs else "not fine-tuned"


def _count_epochs(number: int) -> str:
    return f"{number} epoch{'s' * (number != 1)}"


def _evaluate_stage(
    found: Findings, judged: JudgedCorpus, stage: tuple[int, str], variant: str = _TUNED_VARIANT
) -> list[Evaluation]:
    epochs, pair = stage
    return [judged.evaluate_pair(scores, pair) for scores in found.of_variant(variant, epochs)]


def _mean_row(
    evaluations: Sequence[Evaluation], judged: JudgedCorpus, names: Sequence[str]
) -> list[float | None]:
    draws = draw(judged.clusters, ["one"] * len(evaluations))
    drawn = draw_figures(evaluations, names, judged.clusters, draws)
    return [value for one in drawn.values() for value in draws.estimate(one)]


def _fine_tuning_table(found: Findings) -> Table:
    # The form of table 5.8, for the runs of every variant.
    facts = read_published()["thesis"]
    figures = ("recall_all", "recall_all_corrected", "recall_hipaa", _PRECISION)
    rows: list[tuple[Cell, ...]] = []
    for variant in dict.fromkeys(found.variants):
        for epochs, pair in _stages(len(found.tuned[0].epochs)):
            evaluations = _evaluate_stage(found, found.second, (epochs, pair), variant)
            published = facts["fine_tuned"].get(f"{epochs}-{pair}") if variant == _TUNED_VARIANT else None
            title = f"{variant} {_tuning_title(epochs)}, {_TITLES[pair]}"
            rows.append((title, *_mean_row(evaluations, found.second, figures), *(published or (None, None))))
    n_figures = 3 * len(figures)
    rows += [
        (line["method"], *[None] * n_figures, line["recall"], line["precision"]) for line in facts["earlier"]
    ]
    return _fill("fine-tuned", rows)


def _leak_table(found: Findings) -> Table:
    # Section 5.2.3 of the thesis lists leaked words. Here they are counted by kind.
    judged, harmless = found.second, read_harmless()
    words = [word for tokens in judged.corpus.tokens for word in tokens.words]
    of_type = {number: fine for fine, number in TYPE_NUMBER.items()}
    runs = found.of_variant(_TUNED_VARIANT, found.tuned[0].epoch)
    kept = [scores[judged.corpus.name].decide(PAIRS["low"], judged.published).keep for scores in runs]
    n_kept = np.sum(kept, axis=0)
    whole: Counter[tuple[str, str]] = Counter()
    leaked: Counter[tuple[str, str]] = Counter()
    for token in np.flatnonzero(judged.corpus.is_phi).tolist():
        fine = of_type[int(judged.corpus.types[token])]
        if not harmless.holds(fine, words[token]):
            key = fine.value, _kind_of(words[token], bool(judged.published.safe[token]))
            whole[key] += 1
            leaked[key] += int(n_kept[token])
    rows = [
        (*key, n, leaked[key] / len(runs), leaked[key] / len(runs) / n) for key, n in sorted(whole.items())
    ]
    return _fill("leaks", rows, n_runs=len(runs), epochs=_count_epochs(found.tuned[0].epoch))


def _kind_of(word: str, is_safe: bool) -> str:
    """Return the kind of a token, never the token."""
    if word.isdecimal():
        return "one digit" if len(word) == 1 else "number of more digits"
    if any(character.isdigit() for character in word):
        return "letters and digits"
    if len(word) == 1:
        return "single letter"
    return "word of a safe list" if is_safe else "other word"


def _recall_columns(choices: Iterable[tuple[int, str]]) -> list[str]:
    heads = [f"{_count_epochs(epochs)} {_TITLES[pair]}" for epochs, pair in choices]
    return [f"{head} {kind}" for head in heads for kind in ("R", "R new")]


def _fine_tuning_category_tables(found: Findings) -> Iterator[Table]:
    # The form of tables 5.9 and 5.10: recall (R) and corrected recall (R new) by category.
    stages = _stages(found.tuned[0].epoch)
    evaluated = [_evaluate_stage(found, found.second, stage) for stage in stages]
    by_type = [[_figures_by_type(one) for one in of_runs] for of_runs in evaluated]
    rows: list[tuple[Cell, ...]] = []
    for name, figures in by_type[0][0].items():
        shares: list[float | None] = []
        for of_runs in by_type:
            shares.append(mean(one[name].recall.value for one in of_runs))
            shares.append(mean(one[name].corrected_recall.value for one in of_runs))
        rows.append((name, figures.recall.whole, *shares))
    for name in ("hipaa", "all"):
        kinds = (f"recall_{name}", f"recall_{name}_corrected")
        whole = evaluated[0][0].figure(kinds[0]).whole
        values = [mean(one.value(kind) for one in of_runs) for of_runs in evaluated for kind in kinds]
        rows.append((name.upper(), whole, *values))
    yield _fill("fine-tuned-categories", rows, stages=_recall_columns(stages))
    theirs: Mapping[str, Any] = read_published()["thesis"]["fine_tuned_categories"]
    choices = [(int(epochs), pair) for epochs, _, pair in (key.partition("-") for key in theirs)]
    rows = [
        (name, *(value for table in theirs.values() for value in table[name]))
        for name in next(iter(theirs.values()))
    ]
    yield _fill("fine-tuned-categories-published", rows, their_stages=_recall_columns(choices))


def _rival_tables(found: Findings) -> Iterator[Table]:
    # The form of table 5.11 with our rivals, what was published, and the gain over each rival.
    most = found.tuned[0].epoch
    ours = {
        f"fine-tuned {_TITLES['low']}": _evaluate_stage(found, found.second, (most, "low")),
        f"not fine-tuned {_TITLES['high']}": _evaluate_stage(found, found.second, (0, "high")),
    }
    evaluated = ours | {
        name: [found.second.corpus.evaluate(p_safe >= 0.5)] for name, p_safe in found.rivals.items()
    }
    by_type = {name: [_figures_by_type(one) for one in of_runs] for name, of_runs in evaluated.items()}
    first = next(iter(by_type.values()))[0]
    rows: list[tuple[Cell, ...]] = [
        (
            category,
            figures.recall.whole,
            *(mean(one[category].corrected_recall.value for one in of_runs) for of_runs in by_type.values()),
        )
        for category, figures in first.items()
    ]
    whole = next(iter(evaluated.values()))[0].figure("recall_all").whole
    for title, figure in (("ALL", "recall_all_corrected"), ("precision", _PRECISION)):
        values = [mean(one.value(figure) for one in of_runs) for of_runs in evaluated.values()]
        rows.append((title, whole if title == "ALL" else None, *values))
    yield _fill("rivals", rows, rivals=list(evaluated))
    earlier = read_published()["thesis"]["earlier_categories"]
    yield _fill("earlier-methods-published", [(name, *values) for name, values in earlier.items()])
    yield _rival_gain_table(found, evaluated)


def _rival_gain_table(found: Findings, evaluated: Mapping[str, Sequence[Evaluation]]) -> Table:
    names = ("recall_all_corrected", _PRECISION)
    first, *others = evaluated.items()
    n_runs = len(first[1])
    clusters = found.second.clusters
    draws = draw(clusters, ["one"] * n_runs)
    own = draw_figures(first[1], names, clusters, draws)
    rows: list[tuple[Cell, ...]] = []
    for name, of_runs in others:
        of_rival = draw_figures([*of_runs] * (n_runs // len(of_runs)), names, clusters, draws)
        gains = [summarise(((own[one] - of_rival[one]) * draws.runs).sum(axis=1)) for one in names]
        rows.append((name, *(cell for gain in gains for cell in (*gain, gain.verdict))))
    return _fill("rival-gains", rows, first=first[0])


def _forgetting_table(found: Findings) -> Table:
    # Not in the thesis.
    names = ("recall_all", "recall_hipaa", _PRECISION)
    rows = [
        (
            _tuning_title(epochs),
            _TITLES[pair],
            *_mean_row(_evaluate_stage(found, found.first, (epochs, pair)), found.first, names),
        )
        for epochs, pair in _stages(len(found.tuned[0].epochs))
    ]
    return _fill("forgetting", rows)


def _curve_table(found: Findings) -> Table:
    corpus = found.validation.corpus
    rows = [
        (
            run.name,
            epoch,
            "chosen" if epoch == run.epoch else "",
            run.losses[epoch - 1],
            measure_accuracy(corpus, scores[corpus.name], run.targets),
            *found.validation.measure_pair(scores, "low"),
            *found.first.measure_pair(scores, "low"),
        )
        for run in found.runs
        for epoch, scores in enumerate(run.epochs, start=1)
    ]
    return _fill("epochs", rows)
