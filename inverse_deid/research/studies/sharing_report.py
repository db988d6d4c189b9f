"""The tables of the study of shared representations, beside the published figures."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from inverse_deid.evaluation.resampling import bootstrap_share
from inverse_deid.research.representations.attacks.distinguishing import DISTINGUISHING
from inverse_deid.research.representations.procedures import PRE_TRAINING_ADVERSARY
from inverse_deid.research.representations.representer import NOISE_IN, NOISE_OUT
from inverse_deid.research.studies.report import read_published
from inverse_deid.research.studies.sharing_config import StudyConfig, StudyRun, runs_of
from inverse_deid.research.studies.sharing_figures import ACCURACY_AIM, sharing_figures
from inverse_deid.research.studies.sharing_runs import CALIBRATED_RECALL
from inverse_deid.research.studies.tables import Cell, Table, frame_of, mean, spread

Records = Mapping[StudyRun, Mapping[str, Any]]

PROTECTION = (
    "What is protected: neither text nor ids nor the order of sentences is written, and words are "
    "replaced by noisy vectors, drawn anew at each encoding; how much the attackers below recover from them "
    "is in the tables. What is not: casing, class and number of the tokens of each sentence are written as "
    "they are, so that an unusual sentence may be known by its shape, and two files of one corpus can be "
    "joined by it, which takes noise away: no corpus should be shared twice. Of words without a vector only "
    "casing and class are seen; others are hidden only so far as the attacks show. This is a practical "
    "criterion, measured with these attackers on these documents; it is no proof, and a better attacker may "
    "do better."
)


def sections(
    config: StudyConfig, records: Records, seeds: Sequence[int]
) -> tuple[list[str], dict[str, list[Table]]]:
    """Head and tables of the report.

    Args:
        config: The study.
        records: Of the runs that are done.
        seeds: That were asked for.
    """
    n_missing = len(runs_of(config, tuple(seeds))) - len(records)
    head = [PROTECTION]
    if config.study.note:
        head += ["", config.study.note]
    if n_missing:
        head += [
            "",
            f"{n_missing} runs are not done yet: empty cells, means over fewer seeds, aims not judged.",
        ]
    made_at = sorted({str(record["revision"]) for record in records.values()})
    if made_at:
        head += ["", f"Revision of the program that made the runs: {', '.join(made_at)}."]
    tables = {
        "De-identification": [_table_2(config, records)],
        "Pseudonymisation": [_figure_4(config, records), _survival(config, records)],
        "Representation": [
            _figure_5(config, records),
            _readings(config, records),
            _noise(config, records),
            _aims(config, records, seeds),
        ],
        "Attacks": [_attacks(config, records)],
    }
    return head, tables


def figures_of(config: StudyConfig, records: Records) -> dict[str, str]:
    """Figures 4 and 5 by the names of their files."""
    plain = {corpus.name: mean(_f1(_of(records, corpus.name, "non-private"))) for corpus in config.corpora}
    return sharing_figures(_figure_4(config, records), _figure_5(config, records), plain)


def _of(records: Records, corpus: str, kind: str, n: int | None = None) -> list[Mapping[str, Any]]:
    return [
        record
        for run, record in records.items()
        if run.corpus.name == corpus and run.kind == kind and n in (None, run.neighbours)
    ]


def _f1(found: Sequence[Mapping[str, Any]]) -> list[float | None]:
    return [float(record["f1"]) for record in found]


def _accuracies(found: Sequence[Mapping[str, Any]]) -> list[float | None]:
    return [float(record["attacks"][DISTINGUISHING]["share"]) for record in found]


def _pre_trained(found: Sequence[Mapping[str, Any]]) -> list[float | None]:
    """Of the adversary before the representation learned to deceive it; the epoch that was kept."""
    own = [[one for one in record["phases"] if one["phase"] == PRE_TRAINING_ADVERSARY] for record in found]
    kept = [min(epochs, key=lambda one: float(one["validation"])) for epochs in own if epochs]
    return [float(one["adversary_accuracy"]) for one in kept]


def _table_2(config: StudyConfig, records: Records) -> Table:
    facts, n = read_published()["representations"], config.study.attacked
    plan = (
        ("non-private", "non-private", 1),
        ("non-private, no casing", "non-private, no casing", 1),
        ("pseudonymised", f"pseudonymised, N = {n}", n),
        ("noise alone", "noise alone, before adversarial training", n),
        ("adversarial", f"adversarial, N = {n}", n),
        ("reversal", f"adversarial by gradient reversal, N = {n}", n),
    )
    rows: list[tuple[Cell, ...]] = []
    for kind, title, neighbours in plan:
        cells: list[Cell] = [title]
        for corpus in config.corpora:
            values = _f1(_of(records, corpus.name, kind, neighbours))
            cells += [mean(values), spread(values)]
        rows.append((*cells, facts["fasttext"].get(kind), facts["glove"].get(kind)))
    names = [name for corpus in config.corpora for name in (corpus.name, f"{corpus.name}, spread")]
    return Table(
        "table-2",
        "F1 of PHI tokens (table 2), mean over seeds",
        frame_of(("network", *names, "published, FastText", "published, GloVe"), tuple(rows)),
        notes=(
            f"Published: {facts['source']}, on other data ({facts['data']}), N = 100, HIPAA types. Ours "
            "counts all types. Networks over a representation learn from vectors that were drawn once and "
            "read test documents without noise. Spread is the largest minus the smallest of the seeds.",
        ),
        digits=4,
    )


def _by_neighbours(config: StudyConfig) -> list[tuple[str, int]]:
    return [(corpus.name, n) for corpus in config.corpora for n in config.study.neighbours]


def _range(values: list[float | None]) -> tuple[Cell, Cell, Cell]:
    known = [value for value in values if value is not None]
    return mean(values), min(known, default=None), max(known, default=None)


def _figure_4(config: StudyConfig, records: Records) -> Table:
    rows = [
        (corpus, n, *_range(_f1(_of(records, corpus, "pseudonymised", n))))
        for corpus, n in _by_neighbours(config)
    ]
    return Table(
        "figure-4",
        "F1 after pseudonymisation with N neighbours (figure 4)",
        frame_of(("corpus", "N", "F1", "lowest", "highest"), tuple(rows)),
        notes=(
            "![figure 4](figure-4.svg)",
            "Published, read off the text: about 95 % at N = 500, about 90 % at N = 1000, no significant "
            "loss up to N = 200.",
        ),
        digits=4,
    )


def _survival(config: StudyConfig, records: Records) -> Table:
    rows: list[tuple[Cell, ...]] = []
    for corpus, n in _by_neighbours(config):
        counts: list[Mapping[str, Any]] = [
            record["survival"] for record in _of(records, corpus, "pseudonymised", n)
        ]
        shares = [
            mean([count[name] / count["n_tokens"] for count in counts])
            for name in ("n_unknown", "n_same", "n_part")
        ]
        rows.append((corpus, n, *shares, mean([count["neighbours_with_original"] for count in counts])))
    return Table(
        "survival",
        "What is left of PHI tokens after pseudonymisation",
        frame_of(
            ("corpus", "N", "no vector", "the same", "a part", "neighbours that hold the original"),
            tuple(rows),
        ),
        notes=(
            "Shares of all PHI tokens of the training documents. Published for N = 100: 7.37 neighbours hold "
            "the original with FastText, 0.44 with GloVe.",
        ),
        digits=4,
    )


def _figure_5(config: StudyConfig, records: Records) -> Table:
    rows: list[tuple[Cell, ...]] = []
    for corpus, n in _by_neighbours(config):
        found = _of(records, corpus, "adversarial", n)
        before = mean(_pre_trained(found))
        rows.append((corpus, n, *_range(_f1(found)), before, *_range(_accuracies(found))))
    return Table(
        "figure-5",
        "F1 with the representation, and accuracy of the adversary after continued training (figure 5)",
        frame_of(
            (
                "corpus",
                "N",
                "F1",
                "lowest",
                "highest",
                "adversary before",
                "adversary",
                "lowest ",
                "highest ",
            ),
            tuple(rows),
        ),
        notes=(
            "![figure 5](figure-5.svg)",
            "Before: right answers on the documents that decide when to stop, when the adversary had been "
            "pre-trained and the representation had not yet learned to deceive it.",
            "A guess is right in half of the pairs. Published: above 95 % up to N = 1000; the adversary "
            "at chance up to N = 500, above it at N = 1000.",
        ),
        digits=4,
    )


def _readings(config: StudyConfig, records: Records) -> Table:
    """What the noise costs whoever masks, if he kept it."""
    figures = ("f1", "recall at threshold", "precision at threshold")
    rows: list[tuple[Cell, ...]] = []
    for corpus, n in _by_neighbours(config):
        found = [record["readings"] for record in _of(records, corpus, "adversarial", n)]
        cells = [
            mean([one[reading][figure] for one in found])
            for reading in ("without noise", "with noise")
            for figure in figures
        ]
        rows.append((corpus, n, *cells))
    return Table(
        "readings",
        "The same networks, reading documents without noise and with it",
        frame_of(
            ("corpus", "N", "F1", "recall", "precision", "F1, noise", "recall, noise", "precision, noise"),
            tuple(rows),
        ),
        notes=(
            "Recall and precision of PHI tokens at the threshold that reaches a recall of "
            f"{CALIBRATED_RECALL} on held-out private vectors, which have noise. `mask` reads without it. "
            "Means over seeds.",
        ),
        digits=4,
    )


def _noise(config: StudyConfig, records: Records) -> Table:
    """What came of the standard deviations."""
    rows: list[tuple[Cell, ...]] = []
    for corpus, n in _by_neighbours(config):
        found = _of(records, corpus, "adversarial", n)
        cells = [
            mean([float(record["noise"][layer][i]) for record in found])
            for layer in (NOISE_IN, NOISE_OUT)
            for i in range(3)
        ]
        rows.append((corpus, n, *cells))
    part = config.sharing.representation
    return Table(
        "noise",
        "Standard deviation of the noise after training, over dimensions",
        frame_of(
            ("corpus", "N", "words, least", "median", "most", "vectors, least", "median ", "most "),
            tuple(rows),
        ),
        notes=(
            f"It began at {part.noise_in} on words and {part.noise_out} on private vectors, which are in "
            "(-1, 1) without it. Means over seeds.",
        ),
        digits=3,
    )


def _aims(config: StudyConfig, records: Records, seeds: Sequence[int]) -> Table:
    """The project's aims, met or missed; judged when all seeds are there."""
    rows: list[tuple[Cell, ...]] = []
    n = config.study.attacked
    for corpus in (corpus.name for corpus in config.corpora):
        plain, found = _f1(_of(records, corpus, "non-private")), _of(records, corpus, "adversarial", n)
        moved, ours = (_f1(_of(records, corpus, kind, 500)) for kind in ("pseudonymised", "adversarial"))
        aims: tuple[
            tuple[str, Sequence[list[float | None]], Callable[..., float], Callable[..., bool]], ...
        ] = (
            (
                f"loss against non-private, N = {n}: at most 0.01",
                (plain, _f1(found)),
                lambda one, other: one - other,
                lambda loss: loss <= 0.01,
            ),
            (
                f"adversary, N = {n}: at most {ACCURACY_AIM}",
                (_accuracies(found),),
                lambda accuracy: accuracy,
                lambda accuracy: accuracy <= ACCURACY_AIM,
            ),
            (
                "gain against pseudonymised, N = 500: above 0",
                (ours, moved),
                lambda one, other: one - other,
                lambda gain: gain > 0,
            ),
        )
        for title, sides, value_of, is_met in aims:
            if any(len(side) < len(seeds) for side in sides):
                rows.append((corpus, title, None, "not judged yet"))
                continue
            value = value_of(*map(mean, sides))
            rows.append((corpus, title, value, "met" if is_met(value) else "missed"))
    return Table("aims", "Aims", frame_of(("corpus", "aim", "value", "result"), tuple(rows)), digits=4)


def _attacks(config: StudyConfig, records: Records) -> Table:
    n = config.study.attacked
    rows: list[tuple[Cell, ...]] = []
    for run, record in records.items():
        if run.neighbours != n or "attacks" not in record:
            continue
        for name, found in record["attacks"].items():
            interval = bootstrap_share(found["hits"], found["trials"])
            bounds = (None, None) if interval is None else (interval.low, interval.high)
            n_trials = int(np.sum(found["trials"]))
            label = f"{run.corpus.name}, {run.kind}, seed {run.seed}"
            rows.append((label, name, float(found["share"]), *bounds, float(found["chance"]), n_trials))
    return Table(
        "attacks",
        f"Attacks on held-out documents, N = {n}",
        frame_of(("representation", "attack", "right", "low", "high", "chance", "trials"), tuple(rows)),
        notes=(
            "95 % intervals from drawing whole documents again. Chance is what is right without "
            "looking at a representation. PHI tokens with a vector are attacked, of one line safe words.",
            "New adversary: trained from the start on the frozen representation, where the first was trained "
            "further; without noise: on the same network with its noise taken away, to see what the noise "
            "hides. Before adversarial training: what the noise that it begins with hides by itself.",
            "Gradient reversal trains all networks once an epoch, so that its adversary had as many passes "
            "as it had epochs.",
        ),
        digits=4,
    )
