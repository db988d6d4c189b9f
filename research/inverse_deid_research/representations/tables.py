"""The tables and figures of the study, with the published values next to ours."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from inverse_deid.core.values import FloatArray
from inverse_deid.evaluation.measures.resampling import bootstrap_share, n_drawn
from inverse_deid_research.representations.attacks import A2, DISTINGUISHING, Int64Array
from inverse_deid_research.representations.config import StudyConfig
from inverse_deid_research.representations.networks import NOISE_IN, NOISE_OUT
from inverse_deid_research.representations.runs import (
    CALIBRATED_RECALL,
    NEW_ADVERSARY,
    ON_WORDS,
    Kind,
    SharingRun,
)
from inverse_deid_research.representations.training import PRE_TRAINING_ADVERSARY
from inverse_deid_research.studies.figures import Panel, curve_of, logarithmic_chart, panels
from inverse_deid_research.studies.report import read_published
from inverse_deid_research.studies.tables import (
    NO_VERDICT,
    Cell,
    Table,
    TableForm,
    by_section,
    mean,
    read_forms,
    spread,
)

_FORMS = read_forms("inverse_deid_research.representations")
Records = Mapping[SharingRun, Mapping[str, Any]]
Measures = pd.DataFrame
"""One row per run: `corpus`, `kind`, `N`, and what the tables show of it; NaN = not measured."""

ACCURACY_AIM = 0.55
"""Largest acceptable accuracy of the adversary after continued training."""

_PSEUDONYMISED, _ADVERSARIAL, _ADVERSARY = "#8e5a00", "#1565c0", "#b71c1c"
_NEIGHBOURS = "neighbours N"
_LEFT = ("n_unknown", "n_same", "n_part")
_RESAMPLES = 2000
_SURE = 0.975
"""The least share of draws in which an attack succeeds more often on adversarial training than on noise."""
_RIVALS = {"new adversary": DISTINGUISHING + NEW_ADVERSARY, "look-up": A2}
"""The attacks that both rivals, adversarial training and noise alone, are measured with."""
_READ = ("f1", "recall at threshold", "precision at threshold")

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


def make_head(config: StudyConfig, records: Records, n_missing: int) -> list[str]:
    head = [PROTECTION]
    if config.study.note:
        head += ["", config.study.note]
    if n_missing:
        head += [
            "",
            f"{n_missing} runs are not done yet: empty cells, means over fewer seeds, "
            "aims of missing runs not judged.",
        ]
    return head


def make_sections(config: StudyConfig, records: Records, seeds: Sequence[int]) -> dict[str, list[Table]]:
    measures = _collect(records)
    corpora = [corpus.name for corpus in config.corpora]
    rows: dict[str, Iterable[Sequence[Cell]]] = {
        "table-2": _table_2(config, measures),
        "differences": _differences(config, records, seeds),
        "aims": _aims(config, records, seeds),
        "strengths": _strengths(config, measures),
        "equal-attack": _compare(config, records, seeds),
        "attacks": _list_attacks(config, records),
    }
    if len(config.study.neighbours) > 1:
        rows["neighbours"] = _compare_neighbours(config, records, seeds)
    values = {
        **read_published()["representations"],
        "with_spread": [column for name in corpora for column in (name, f"{name}, spread")],
        "drawn": "seeds and documents" if len(seeds) > 1 else "documents",
        "calibrated_recall": CALIBRATED_RECALL,
        "began_in": config.representation.noise_in,
        "began_out": config.representation.noise_out,
        "n": config.study.attacked,
        "rivals": list(_RIVALS),
    }
    return by_section(
        form.fill(rows[name] if name in rows else _by_neighbours(config, measures, form), **values)
        for name, form in _FORMS.items()
        if name in rows or form.of
    )


def draw_figures(config: StudyConfig, records: Records) -> dict[str, str]:
    """Draw figures 4 and 5, a row of charts per corpus; return the SVG texts by file name."""
    measures = _collect(records)
    attack = "adversary" if config.study.controls else "new adversary"
    by_words, by_vectors = (
        _FORMS[name].fill(_by_neighbours(config, measures, _FORMS[name])).frame
        for name in ("figure-4", "figure-5")
    )
    simple: list[Panel] = []
    private: list[Panel] = []
    for corpus in (corpus.name for corpus in config.corpora):
        words, vectors = (frame[frame["corpus"] == corpus] for frame in (by_words, by_vectors))
        columns = ("N", "F1", "lowest", "highest")
        curves = [curve_of("pseudonymised", _PSEUDONYMISED, words, columns)]
        plain = mean(_select(measures, corpus, "non-private")["f1"])
        guide = None if plain is None else (plain, f"non-private {plain:.3f}")
        for charts in (simple, private):
            if charts is private:
                curves = [*curves, curve_of("adversarial", _ADVERSARIAL, vectors, columns)]
            lows = [low for curve in curves for low in curve.low] + ([] if plain is None else [plain])
            lowest = math.floor(10 * min(lows, default=0.9) - 0.2) / 10
            charts.append(logarithmic_chart(f"{corpus}: F1", _NEIGHBOURS, curves, lowest, guide))
        found = _select(measures, corpus, "adversarial").groupby("N", as_index=False)[attack]
        accuracy = curve_of(
            attack, _ADVERSARY, found.agg(["mean", "min", "max"]), ("N", "mean", "min", "max")
        )
        aim = (ACCURACY_AIM, f"aim: at most {ACCURACY_AIM:.3f}")
        private.append(logarithmic_chart(f"{corpus}: accuracy", _NEIGHBOURS, [accuracy], 0.5, aim))
    return {
        "figure-4.svg": panels("F1 after pseudonymisation with N neighbours", simple),
        "figure-5.svg": panels("F1 with the representation, and accuracy of the adversary", private),
    }


def _collect(records: Records) -> Measures:
    rows = []
    for run, record in records.items():
        row = {"corpus": run.corpus.name, "kind": run.kind, "N": run.neighbours, "f1": float(record["f1"])}
        row["strength"] = run.strength
        if left := record.get("survival"):
            row |= {name: left[name] / left["n_tokens"] for name in _LEFT}
            row["neighbours"] = left["neighbours_with_original"]
        if DISTINGUISHING in (attacks := record.get("attacks", {})):
            row["adversary"] = float(attacks[DISTINGUISHING]["share"])
        for name, attack in _RIVALS.items():
            if attack in attacks:
                row[name] = float(attacks[attack]["share"])
        epochs = [one for one in record.get("phases", ()) if one["phase"] == PRE_TRAINING_ADVERSARY]
        if epochs:  # the epoch that was kept, before the representation learned to deceive
            kept = min(epochs, key=lambda one: float(one["validation"]))
            row["before"] = float(kept["adversary_accuracy"])
        for reading, figures in record.get("readings", {}).items():
            row |= {f"{reading} {name}": figures[name] for name in _READ}
        for layer, values in record.get("noise", {}).items():
            row |= {f"{layer} {i}": float(value) for i, value in enumerate(values)}
        rows.append(row)
    names = ("corpus", "kind", "N", "strength", "f1", *_LEFT, "neighbours", "adversary", "before", *_RIVALS)
    read = [f"{reading} {name}" for reading in ("without noise", "with noise") for name in _READ]
    noise = [f"{layer} {i}" for layer in (NOISE_IN, NOISE_OUT) for i in range(3)]
    return pd.DataFrame(rows, columns=[*names, *read, *noise])


def _select(measures: Measures, corpus: str, kind: str, n: int | None = None) -> Measures:
    found = measures[(measures["corpus"] == corpus) & (measures["kind"] == kind)]
    return found if n is None else found[found["N"] == n]


_SUMMARIES: Mapping[str, Callable[[pd.Series], float | None]] = {
    "mean": mean,
    "min": lambda values: min(values.dropna(), default=None),
    "max": lambda values: max(values.dropna(), default=None),
}


def _by_neighbours(config: StudyConfig, measures: Measures, form: TableForm) -> Iterator[tuple[Cell, ...]]:
    plan = [cell.split(" ", 1) for cell in form.cells]
    for corpus in config.corpora:
        for n in config.study.neighbours:
            found = _select(measures, corpus.name, form.of, n)
            yield (corpus.name, n, *(_SUMMARIES[summary](found[name]) for summary, name in plan))


def _table_2(config: StudyConfig, measures: Measures) -> Iterator[tuple[Cell, ...]]:
    facts, n = read_published()["representations"], config.study.attacked
    plan: tuple[tuple[Kind, str, int], ...] = (
        ("non-private", "non-private", 1),
        ("non-private, no casing", "non-private, no casing", 1),
        ("augmented", f"non-private, with pseudonyms as augmentation, N = {n}", n),
        ("pseudonymised", f"pseudonymised, N = {n}", n),
        ("adversarial", f"adversarial, N = {n}", n),
        ("dynamic noise", f"adversarial, dynamic noise, N = {n}", n),
        ("reversal", f"adversarial by gradient reversal, N = {n}", n),
    )
    for kind, title, neighbours in plan:
        cells: list[Cell] = [title]
        for corpus in config.corpora:
            values = _select(measures, corpus.name, kind, neighbours)["f1"]
            cells += [mean(values), spread(values)]
        yield (*cells, facts["fasttext"].get(kind), facts["glove"].get(kind))


def _by_corpus(config: StudyConfig, records: Records) -> dict[str, Records]:
    return {
        corpus.name: {run: record for run, record in records.items() if run.corpus.name == corpus.name}
        for corpus in config.corpora
    }


def _differences(config: StudyConfig, records: Records, seeds: Sequence[int]) -> list[tuple[Cell, ...]]:
    """Pairs of rows of table 2, compared in F1 and, if both have a representation, in a new adversary.

    Corpora of the same files, with other word vectors, are compared with the first of them in F1.
    """
    rows: list[tuple[Cell, ...]] = []

    def add_row(*names: str, counts: Sequence[FloatArray | None]) -> None:
        if (judged := _judge(*counts)) is not None:
            value, low, high = judged
            verdict = "more" if low > 0 else "less" if high < 0 else "undecided"
            rows.append((*names, value, low, high, _withhold(verdict, config, seeds)))

    n = config.study.attacked
    plan: tuple[tuple[Kind, int, Kind, int], ...] = (
        ("adversarial", n, "non-private", 1),
        ("pseudonymised", n, "non-private", 1),
        ("augmented", n, "non-private", 1),
        ("non-private, no casing", 1, "non-private", 1),
        ("adversarial", n, "pseudonymised", n),
        ("dynamic noise", n, "adversarial", n),
        ("reversal", n, "adversarial", n),
    )
    attack = DISTINGUISHING + NEW_ADVERSARY
    of = _by_corpus(config, records)
    for name, own in of.items():
        for one, n_one, other, n_other in plan:
            both = ((one, n_one), (other, n_other))
            add_row(name, one, other, "F1", counts=[_f1_counts(own, *side, seeds) for side in both])
            if not {one, other} & ON_WORDS:
                told = [_attack_counts(own, n, attack, seeds, kind) for kind in (one, other)]
                add_row(name, one, other, "new adversary right", counts=told)
    of_other_vectors: tuple[tuple[Kind, int], ...] = (("non-private", 1), ("adversarial", n))
    firsts: dict[tuple[Path, Path], str] = {}
    for corpus in config.corpora:
        first = firsts.setdefault((corpus.train, corpus.test), corpus.name)
        if first == corpus.name:
            continue
        for kind, n_kind in of_other_vectors:
            counts = [_f1_counts(of[name], kind, n_kind, seeds) for name in (corpus.name, first)]
            add_row(corpus.name, kind, f"{kind}, {first}", "F1", counts=counts)
    return rows


def _compare_neighbours(
    config: StudyConfig, records: Records, seeds: Sequence[int]
) -> Iterator[tuple[Cell, ...]]:
    """Yield what each N costs and how often attacks of its own neighbours succeed.

    Nothing is judged: a few seeds say little about how much training runs differ.
    """
    least = min(config.study.neighbours)
    for corpus, own in _by_corpus(config, records).items():
        plain = _f1_counts(own, "non-private", 1, seeds)
        of_least: dict[str, FloatArray | None] = {}
        for n in sorted(config.study.neighbours):
            moved, ours = (_f1_counts(own, kind, n, seeds) for kind in ("pseudonymised", "adversarial"))
            told = {
                f"{name} right": _attack_counts(own, n, attack, seeds) for name, attack in _RIVALS.items()
            }
            compared = {"F1, pseudonymised": moved, "F1, adversarial": ours, **told}
            plan: list[tuple[str, str | None, tuple[FloatArray | None, ...]]] = [
                ("F1, pseudonymised", "non-private", (moved, plain)),
                ("F1, adversarial", "non-private", (ours, plain)),
                ("F1, adversarial", "pseudonymised", (ours, moved)),
                *((name, None, (counts,)) for name, counts in told.items()),
            ]
            if n == least:
                of_least = compared
            else:
                plan += [(name, f"N = {least}", (compared[name], of_least[name])) for name in compared]
            for measure, against, counts in plan:
                if (judged := _judge(*counts)) is not None:
                    yield (corpus, n, measure, against, *judged)


def _aims(config: StudyConfig, records: Records, seeds: Sequence[int]) -> list[tuple[Cell, ...]]:
    rows: list[tuple[Cell, ...]] = []
    n, neighbours = config.study.attacked, config.study.neighbours
    attack = DISTINGUISHING if config.study.controls else DISTINGUISHING + NEW_ADVERSARY
    for corpus, own in _by_corpus(config, records).items():
        plain, ours = _f1_counts(own, "non-private", 1, seeds), _f1_counts(own, "adversarial", n, seeds)
        told = _attack_counts(own, n, attack, seeds)
        aims = [
            (f"loss against non-private, N = {n}: at most 0.01", (plain, ours), "lower", 0.01),
            (f"adversary, N = {n}: at most {ACCURACY_AIM}", (told,), "lower", ACCURACY_AIM),
        ]
        if 500 in neighbours:
            pair = _f1_counts(own, "adversarial", 500, seeds), _f1_counts(own, "pseudonymised", 500, seeds)
            aims.append(("gain against pseudonymised, N = 500: above 0", pair, "higher", 0.0))
        for title, counts, good, aim in aims:
            judged = _judge(*counts)
            if judged is None:
                rows.append((corpus, title, None, None, None, "not judged yet"))
                continue
            value, low, high = judged
            side = "lower" if high <= aim else "higher" if low > aim else "undecided"
            verdict = side if side == "undecided" else "met" if side == good else "missed"
            rows.append((corpus, title, value, low, high, _withhold(verdict, config, seeds)))
    return rows


def _withhold(verdict: str, config: StudyConfig, seeds: Sequence[int]) -> str:
    return verdict if set(config.seeds) <= set(seeds) else NO_VERDICT


def _f1_counts(records: Records, kind: Kind, n: int, seeds: Sequence[int]) -> FloatArray | None:
    """Return right, found and PHI tokens: (n_seeds, 3, n_documents), or None if a run is not done."""
    done = {run.seed: record for run, record in records.items() if (run.kind, run.neighbours) == (kind, n)}
    if not set(seeds) <= set(done):
        return None
    return np.array([done[seed]["documents"] for seed in seeds], np.float32)


def _attack_counts(
    records: Records, n: int, attack: str, seeds: Sequence[int], kind: Kind = "adversarial"
) -> FloatArray | None:
    """Return successes and trials of an attack on a representation: (n_seeds, 2, n_documents).

    None if a run is not done.
    """
    told = {
        run.seed: record["attacks"][attack]
        for run, record in records.items()
        if (run.kind, run.neighbours) == (kind, n) and attack in record.get("attacks", {})
    }
    if not set(seeds) <= set(told):
        return None
    return np.array([[told[seed]["hits"], told[seed]["trials"]] for seed in seeds], np.float32)


def _judge(one: FloatArray | None, *others: FloatArray | None) -> tuple[float, float, float] | None:
    # None = one is not known. The arrays are those of `_f1_counts` or `_attack_counts`.
    known = [counts for counts in (one, *others) if counts is not None]
    if len(known) < 1 + len(others):
        return None

    def measure(of_seeds: Int64Array, weights: Int64Array) -> float:
        means = []
        for counts in known:
            sums = counts[of_seeds] @ weights.astype(np.float32)  # (n_seeds, 2 or 3)
            ratios = (
                sums[:, 0] / sums[:, 1] if sums.shape[1] == 2 else 2 * sums[:, 0] / sums[:, 1:].sum(axis=1)
            )
            means.append(float(ratios.mean()))
        return means[0] - sum(means[1:])

    n_seeds, n_documents = len(known[0]), known[0].shape[-1]
    drawn = [measure(*draw) for draw in _draw(n_seeds, n_documents, _RESAMPLES)]
    low, high = np.quantile(drawn, (0.025, 0.975)).tolist()
    return measure(np.arange(n_seeds), np.ones(n_documents, np.int64)), low, high


def _strengths(config: StudyConfig, measures: Measures) -> Iterator[tuple[Cell, ...]]:
    n = config.study.attacked
    for corpus in (corpus.name for corpus in config.corpora):
        alone = _select(measures, corpus, "noise alone", n)
        plan = [(f"noise alone, {s}", alone[alone["strength"] == s]) for s in config.study.strengths]
        kinds = ("adversarial", "dynamic noise", "reversal")
        for title, found in [*plan, *((kind, _select(measures, corpus, kind, n)) for kind in kinds)]:
            yield (corpus, title, mean(found["f1"]), *(mean(found[name]) for name in _RIVALS))


def _compare(config: StudyConfig, records: Records, seeds: Sequence[int]) -> Iterator[tuple[Cell, ...]]:
    for corpus, own in _by_corpus(config, records).items():
        for name, attack in _RIVALS.items():
            found = compare_at_equal_attack(own, config.study.attacked, attack)
            if found is None:
                yield (corpus, name, None, None, None, None, "cannot be compared")
            else:
                yield (corpus, name, *found[:-1], _withhold(found[-1], config, seeds))


def compare_at_equal_attack(
    records: Records, n: int, attack: str, n_resamples: int = _RESAMPLES
) -> tuple[float, float, float, float, str] | None:
    """Compare adversarial training with noise alone of the strength at which an attack succeeds as often.

    Returns:
        Success of the attack, difference of F1, both ends of its paired interval, and the verdict. None
        where runs are missing, or where noise of any strength is attacked more often. Where all noise is
        attacked less often, the difference is that to the noise attacked most often, and only noise can
        be called better.
    """
    rivals: dict[float, dict[int, Mapping[str, Any]]] = defaultdict(dict)
    for run, record in records.items():
        is_rival = run.kind in ("adversarial", "noise alone") and run.neighbours == n
        if is_rival and attack in record.get("attacks", {}):
            rivals[run.strength][run.seed] = record  # adversarial training has strength 0
    seeds = sorted(set.intersection(*(set(by_seed) for by_seed in rivals.values()))) if rivals else []
    if len(rivals) < 3 or 0 not in rivals or not seeds:
        return None
    counts = np.array([[_count(rivals[s][seed], attack) for seed in seeds] for s in sorted(rivals)])

    def compare(of_seeds: Int64Array, weights: Int64Array) -> tuple[float, float, int]:
        drawn = counts[:, of_seeds] @ weights  # (n_rivals, n_seeds, 5)
        f1 = (2 * drawn[..., 0] / (drawn[..., 1] + drawn[..., 2])).mean(axis=1)
        success = (drawn[..., 3] / drawn[..., 4]).mean(axis=1)
        order = 1 + np.argsort(success[1:])
        side = int(success[0] > success[1:].max()) - int(success[0] < success[1:].min())
        return success[0], f1[0] - np.interp(success[0], success[order], f1[order]), side

    n_documents = counts.shape[-1]
    success, difference, side = compare(np.arange(len(seeds)), np.ones(n_documents, np.int64))
    if side < 0:
        return None
    drawn = [compare(*draw) for draw in _draw(len(seeds), n_documents, n_resamples)]
    low, high = np.nanquantile([one[1] for one in drawn], (0.025, 0.975)).tolist()
    verdict = "adversarial is better" if low > 0 else "noise alone is better" if high < 0 else "undecided"
    is_worse_in_both = high < 0 and np.mean([one[2] > 0 for one in drawn]) >= _SURE
    if side and not is_worse_in_both:
        verdict = "cannot be compared"
    return float(success), float(difference), low, high, verdict


def _draw(n_seeds: int, n_documents: int, n_resamples: int) -> Iterator[tuple[Int64Array, Int64Array]]:
    # Numbers of seeds, and how often each document was drawn.
    rng = np.random.default_rng(1)
    for _ in range(n_resamples):
        of_seeds = rng.integers(n_seeds, size=n_drawn(n_seeds))
        documents = rng.integers(n_documents, size=n_documents)
        yield of_seeds, np.bincount(documents, minlength=n_documents)


def _count(record: Mapping[str, Any], attack: str) -> FloatArray:
    """Return (5, n_documents): hits, found and PHI tokens, then successes and trials of the attack."""
    of_f1, told = np.array(record["documents"], np.float32), record["attacks"][attack]
    of_attack = np.zeros((2, of_f1.shape[1]), np.float32)
    of_attack[:, told["documents"]] = told["hits"], told["trials"]
    return np.concatenate([of_f1, of_attack])


def _list_attacks(config: StudyConfig, records: Records) -> Iterator[tuple[Cell, ...]]:
    for run, record in records.items():
        attacks = record.get("attacks", {}) if run.neighbours == config.study.attacked else {}
        for name, found in attacks.items():
            interval = bootstrap_share(found["hits"], found["trials"])
            bounds = (None, None) if interval is None else (interval.low, interval.high)
            n_trials = int(np.sum(found["trials"]))
            strength = f" {run.strength}" if run.strength else ""
            label = f"{run.corpus.name}, {run.kind}{strength}, seed {run.seed}"
            yield (label, name, float(found["share"]), *bounds, float(found["chance"]), n_trials)
