"""`inverse-deid research thesis`: the thesis's experiments on two corpora of one's own.

Source: master's thesis of the method, sections 4.3.6 (variants, two runs, four epochs,
10 % for validation), 4.4 and chapter 5 (tables).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from inverse_deid.core.errors import ConfigurationError
from inverse_deid.core.settings import change_settings
from inverse_deid.core.values import Document
from inverse_deid.lexicon import load_lexicon
from inverse_deid.research.studies.analysed import AnalysedCorpus, TokenScores, analysed, verdicts_of
from inverse_deid.research.studies.provenance import Provenance, fingerprint, prepare_folder
from inverse_deid.research.studies.tables import Table, write_report
from inverse_deid.research.studies.thesis_figures import (
    ACCEPTABLE_PRECISION,
    ALONE,
    PAIRS,
    Judged,
    best_of,
    best_pair,
    chosen_epoch,
    figure_of,
)
from inverse_deid.research.studies.thesis_tables import (
    Chosen,
    FineTuned,
    adaptive_table,
    alone_table,
    category_tables,
    comparison_table,
    curve_table,
    fine_tuning_category_tables,
    fine_tuning_table,
    forgetting_table,
)
from inverse_deid.research.studies.thesis_training import ThesisRun, TrainedRun, trained
from inverse_deid.rules.allowlist import POLICIES, Policy
from inverse_deid.training.config import RunConfig, read_run_config
from inverse_deid.training.corpus import read_annotated, read_type_mapping, split_by_group
from inverse_deid.training.documents import corpus_sha256

Say = Callable[[str], None]

VARIANTS = ("a", "b", "c", "d")
VALIDATION_SHARE = 0.1


@dataclass(frozen=True, slots=True, kw_only=True)
class ThesisSettings:
    """What the command is told.

    Args:
        first: Annotated; networks are trained on it.
        first_test: Annotated; they are judged on it.
        second: Annotated; the best one is fine-tuned on it.
        second_test: Annotated; it is judged on it then.
        mapping: TOML file that gives our types for those of the second corpus.
        folder: Takes runs and report.
        config_folder: Holds `thesis-a.toml` to `thesis-d.toml`.
        n_runs: Trainings of each variant.
        n_epochs: Of each training.
        n_fine_tuning_epochs: Of the fine-tuning.
        seed: Of the first runs and the split.
        policy: How the rules judge ambiguous words; *literal* is the thesis's.
        command: For the report.
        force: Start anew.
    """

    first: Path
    first_test: Path
    second: Path
    second_test: Path
    folder: Path
    config_folder: Path = Path("configs")
    mapping: Path | None = None
    n_runs: int = 2
    n_epochs: int = 4
    n_fine_tuning_epochs: int = 2
    seed: int = 1
    policy: Policy = "literal"
    command: str = ""
    force: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class _Data:
    """The documents of the experiment."""

    first: list[Document] = field(repr=False)
    second: list[Document] = field(repr=False)
    validation: AnalysedCorpus
    first_test: AnalysedCorpus
    second_test: AnalysedCorpus

    @property
    def corpora(self) -> tuple[AnalysedCorpus, ...]:
        return self.validation, self.first_test, self.second_test


def run_thesis(settings: ThesisSettings, say: Say) -> None:
    """Train, choose, fine-tune, and write the report.

    Raises:
        InputError: A corpus or a stored file cannot be read.
        ConfigurationError: Settings contradict each other or the folder.
        OutputError: A file cannot be written.
    """
    from inverse_deid.training.run import device_line

    files = {settings.first, settings.first_test, settings.second, settings.second_test}
    if len({path.resolve() for path in files}) < 4:
        raise ConfigurationError("give four different files: nothing is trained on may be tested on")
    configs = {name: read_run_config(settings.config_folder / f"thesis-{name}.toml") for name in VARIANTS}
    hashes = {str(path): corpus_sha256(path) for path in sorted(files)}
    key = _key(settings, list(hashes.values()))
    prepare_folder(settings.folder, "thesis", key, force=settings.force)
    data = _read(settings)
    say(f"{len(data.first)} training documents, {len(data.validation.docs)} for validation; {device_line()}")
    runs = _train(settings, configs, data, fingerprint(sorted(key.items())), say)
    chosen = [Chosen(run, chosen_epoch(run, data.validation)) for run in runs]
    validation = Judged(data.validation, verdicts_of(data.validation, settings.policy))
    best, pair = _best(chosen, validation)
    say(f"best on validation: {best.name}, epoch {best.epoch}, thresholds {pair}")
    tuned = _fine_tune(settings, configs, data, best, fingerprint(sorted(key.items())), say)
    start = time.perf_counter()
    sections = _sections(settings, data, chosen, validation, FineTuned(best.name, _stages(best, tuned)))
    seconds = {run.name: run.seconds for run in (*runs, tuned)} | {"tables": time.perf_counter() - start}
    provenance = Provenance(
        command=settings.command,
        device=device_line(),
        seeds=[settings.seed + run for run in range(settings.n_runs)],
        hashes=hashes,
        settings=_described(settings, configs, data),
        n_seconds=seconds,
    )
    head = [*provenance.lines(), "", *_choices(best, pair, settings)]
    write_report(settings.folder, "The thesis's experiments on other data", head, sections)


def _key(settings: ThesisSettings, hashes: list[str]) -> dict[str, object]:
    return {
        "data": sorted(hashes),
        "seed": settings.seed,
        "epochs": settings.n_epochs,
        "mapping": None if settings.mapping is None else corpus_sha256(settings.mapping),
        "dictionaries": load_lexicon().sha256,
    }


def _read(settings: ThesisSettings) -> _Data:
    types = read_type_mapping(settings.mapping)
    train, validation = split_by_group(read_annotated(settings.first), VALIDATION_SHARE, settings.seed)
    data = _Data(
        train,
        read_annotated(settings.second, types),
        analysed("validation", validation),
        analysed("first test", read_annotated(settings.first_test)),
        analysed("second test", read_annotated(settings.second_test, types)),
    )
    for corpus in data.corpora:
        if not corpus.is_phi.any():
            raise ConfigurationError(f"the {corpus.name} documents hold no PHI; give annotated documents")
    return data


def _train(
    settings: ThesisSettings, configs: dict[str, RunConfig], data: _Data, key: str, say: Say
) -> list[TrainedRun]:
    """Every variant in every run."""
    from inverse_deid.training.run import load_word_vectors

    found = []
    for name, config in configs.items():
        for run in range(settings.n_runs):
            training = change_settings(
                config.training, seed=settings.seed + run, epochs=settings.n_epochs, patience=0
            )
            one = ThesisRun(
                name=f"{name}-{run + 1}",
                network=config.network,
                training=training,
                gold=data.first,
                vectors=load_word_vectors(config.word_vectors),
                corpora=data.corpora,
                key=key,
            )
            found.append(trained(one, settings.folder, say))
    return found


def _best(chosen: Sequence[Chosen], validation: Judged) -> tuple[Chosen, str]:
    """The run and the pair of thresholds that validation finds best."""
    figures = [{pair: figure_of(validation.adaptive(one.scores, pair)) for pair in PAIRS} for one in chosen]
    pair = best_pair(figures)
    by_name = {one.name: one for one in chosen}
    name = best_of({one.name: found[pair] for one, found in zip(chosen, figures, strict=True)})
    return by_name[name], pair


def _fine_tune(
    settings: ThesisSettings, configs: dict[str, RunConfig], data: _Data, best: Chosen, key: str, say: Say
) -> TrainedRun:
    """The best run trained further on the second corpus."""
    from inverse_deid.training.run import load_word_vectors

    variant, _, run = best.name.partition("-")
    config = configs[variant]
    training = change_settings(
        config.training,
        seed=settings.seed + int(run) - 1,
        epochs=settings.n_fine_tuning_epochs,
        patience=0,
    )
    one = ThesisRun(
        name=f"{best.name}-fine-tuned",
        network=config.network,
        training=training,
        gold=data.second,
        vectors=load_word_vectors(config.word_vectors),
        corpora=data.corpora,
        start=best.run.weights[best.epoch - 1],
        key=key,
    )
    return trained(one, settings.folder, say)


def _stages(best: Chosen, tuned: TrainedRun) -> dict[int, dict[str, TokenScores]]:
    """Scores by epochs of fine-tuning."""
    return {0: dict(best.scores)} | {i: dict(scores) for i, scores in enumerate(tuned.epochs, start=1)}


def _sections(
    settings: ThesisSettings, data: _Data, chosen: Sequence[Chosen], validation: Judged, tuned: FineTuned
) -> dict[str, list[Table]]:
    verdicts = {policy: verdicts_of(data.first_test, policy) for policy in POLICIES}
    test = Judged(data.first_test, verdicts[settings.policy])
    second = Judged(data.second_test, verdicts_of(data.second_test, settings.policy))
    adaptive = {one.name: test.adaptive(one.scores, "high") for one in chosen}
    alone = {(one.name, th): figure_of(test.alone(one.scores, th)) for one in chosen for th in ALONE}
    return {
        "First corpus": [
            adaptive_table({name: figure_of(evaluation) for name, evaluation in adaptive.items()}),
            alone_table(alone),
            comparison_table(chosen, validation, test, verdicts),
            *category_tables(adaptive),
        ],
        "Second corpus": [
            fine_tuning_table(tuned, second),
            *fine_tuning_category_tables(tuned, second),
            forgetting_table(tuned, test),
        ],
        "Curves": [curve_table(chosen, validation, test)],
    }


def _described(settings: ThesisSettings, configs: dict[str, RunConfig], data: _Data) -> dict[str, str]:
    numbers = {
        "training": len(data.first),
        "validation": len(data.validation.docs),
        "test": len(data.first_test.docs),
    }
    first = ", ".join(f"{name} {number}" for name, number in numbers.items())
    lines = {
        "first corpus": f"{settings.first}, {settings.first_test}; documents: {first}",
        "second corpus": f"{settings.second}, {settings.second_test}; documents: training "
        f"{len(data.second)}, test {len(data.second_test.docs)}",
        "rules": f"{settings.policy}",
    }
    for name, config in configs.items():
        lines[f"variant {name}"] = repr(config.network)
    lines["training of every variant"] = repr(next(iter(configs.values())).training)
    return lines


def _choices(best: Chosen, pair: str, settings: ThesisSettings) -> list[str]:
    """How validation chose, in sentences."""
    return [
        "These are figures of open data. Those called *published* are the thesis's, of the 2014-i2b2 records "
        "and of VigiBase narratives, which are not ours to use; they are there for the form, not to compare.",
        "",
        f"Every variant was trained {settings.n_runs} times for {settings.n_epochs} epochs. About a tenth of "
        "the first corpus, whole groups of related documents, was kept from training for validation. Of each "
        "run the epoch counts whose validation accuracy (most probable class of each token, all classes) is "
        "highest, the first of equals. The test sets chose nothing. "
        "Precision follows the thesis: a masked token longer than the identifier in it counts "
        "as right and as wrong.",
        "",
        "Best run, best pair of thresholds and best of each kind in the comparison are chosen on validation: "
        f"the highest HIPAA recall among those with a precision of at least {ACCEPTABLE_PRECISION:g}, or, if "
        f"there is none, the highest precision. So {best.name} after epoch {best.epoch} was fine-tuned; for "
        f"most runs validation prefers the pair {PAIRS[pair].low:g}/{PAIRS[pair].high:g}. The tables show "
        "the pairs of the thesis all the same. Fine-tuning is one training, scored after each of its epochs.",
    ]
