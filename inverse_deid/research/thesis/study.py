"""`inverse-deid research thesis`: the thesis's experiments on two other corpora.

Source: master's thesis of the method, sections 4.3.6 (variants, two runs, four epochs,
10 % for validation), 4.4 and chapter 5 (tables).
"""

from __future__ import annotations

import dataclasses
import functools
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from inverse_deid.core.errors import ConfigurationError
from inverse_deid.core.settings import change_settings
from inverse_deid.core.values import Document
from inverse_deid.lexicon import load_lexicon
from inverse_deid.research.studies.records import Record
from inverse_deid.research.studies.report import Report
from inverse_deid.research.studies.scoring import AnalysedCorpus, analyse_corpus
from inverse_deid.research.studies.study import Say, Study, StudyOptions
from inverse_deid.research.thesis.runs import (
    ThesisRun,
    TrainedRun,
    read_thesis_run,
    train_thesis_run,
    weights_path,
)
from inverse_deid.research.thesis.tables import (
    ACCEPTABLE_PRECISION,
    PAIRS,
    FineTuned,
    JudgedCorpus,
    find_best,
    find_best_pair,
    thesis_tables,
)
from inverse_deid.rules.analysis import Policy
from inverse_deid.training.config import RunConfig, read_run_config
from inverse_deid.training.corpus import read_annotated, read_type_mapping, split_by_group
from inverse_deid.training.documents import corpus_sha256

VARIANTS = ("a", "b", "c", "d")
VALIDATION_SHARE = 0.1


@dataclass(frozen=True, slots=True, kw_only=True)
class ThesisSettings:
    """The options of this study: four different annotated files or folders, and the trainings.

    Networks are trained on `first`, the best one is fine-tuned on `second`, and both are judged on the test
    documents of each. `mapping` maps the types of the second corpus to ours. `config_folder` contains
    `thesis-a.toml` to `thesis-d.toml`. The policy *literal* is the thesis's.
    """

    first: Path
    first_test: Path
    second: Path
    second_test: Path
    mapping: Path | None = None
    config_folder: Path = Path("configs")
    n_epochs: int = 4
    n_fine_tuning_epochs: int = 2
    policy: Policy = "literal"


@dataclass(frozen=True, slots=True, eq=False)
class _ThesisData:
    """The documents of the study."""

    first: list[Document] = field(repr=False)
    second: list[Document] = field(repr=False)
    validation: AnalysedCorpus
    first_test: AnalysedCorpus
    second_test: AnalysedCorpus

    @property
    def corpora(self) -> tuple[AnalysedCorpus, ...]:
        return self.validation, self.first_test, self.second_test


def run_thesis(settings: ThesisSettings, options: StudyOptions) -> None:
    """Train, choose, fine-tune, and write the report.

    The seeds count up from that of the first run of each variant.

    Raises:
        InputError: A corpus or a stored file cannot be read.
        ConfigurationError: Settings contradict each other or the folder.
        OutputError: A file cannot be written.
    """
    from inverse_deid.training.run import device_line

    files = sorted({settings.first, settings.first_test, settings.second, settings.second_test})
    if len({path.resolve() for path in files}) < 4:
        raise ConfigurationError(
            "--first, --first-test, --second and --second-test must be four files: "
            "documents for training cannot be test documents"
        )
    configs = {name: read_run_config(settings.config_folder / f"thesis-{name}.toml") for name in VARIANTS}
    shared = {
        "seed": options.seeds[0],
        "epochs": settings.n_epochs,
        "mapping": None if settings.mapping is None else corpus_sha256(settings.mapping),
        "dictionaries": load_lexicon().sha256,
    }
    study = Study("thesis", options, inputs=files, shared=shared)
    data = _read(settings, options.seeds[0])
    options.say(
        f"{len(data.first)} training documents, {len(data.validation.docs)} for validation, {device_line()}"
    )
    runs = _plan_runs(settings, options.seeds, configs, data)
    seconds: dict[str, float] = {}
    trained = _train(study, runs, seconds)
    validation = JudgedCorpus(data.validation, data.validation.verdicts(settings.policy))
    best, pair = _choose(trained, validation)
    options.say(f"best on validation: {best.name}, epoch {best.epoch}, thresholds {pair}")
    chosen = next(run for run in runs if run.name == best.name)
    further = dataclasses.replace(
        chosen,
        name=f"{best.name}-fine-tuned",
        training=change_settings(chosen.training, epochs=settings.n_fine_tuning_epochs),
        gold=data.second,
        start=weights_path(study.folder / "runs" / best.name, best.epoch),
    )
    (tuned,) = _train(study, [further], seconds)
    start = time.perf_counter()
    stages = dict(enumerate([best.scores, *tuned.epochs]))
    second = JudgedCorpus(data.second_test, data.second_test.verdicts(settings.policy))
    sections = thesis_tables(
        trained, FineTuned(best.name, stages), validation, data.first_test, second, settings.policy
    )
    seconds["tables"] = time.perf_counter() - start
    Report(
        title="The thesis's experiments on other data",
        provenance=study.provenance(settings=_describe(settings, configs, data), n_seconds=seconds),
        text=["", *_explain(best, pair, settings, len(options.seeds))],
        sections=sections,
    ).write(study.folder)


def _plan_runs(
    settings: ThesisSettings, seeds: Sequence[int], configs: dict[str, RunConfig], data: _ThesisData
) -> list[ThesisRun]:
    """Return every variant with every seed."""
    from inverse_deid.training.run import load_word_vectors

    load_vectors = functools.cache(load_word_vectors)
    return [
        ThesisRun(
            name=f"{name}-{number}",
            network=config.network,
            training=change_settings(config.training, seed=seed, epochs=settings.n_epochs, patience=0),
            gold=data.first,
            vectors=load_vectors(config.word_vectors),
            corpora=data.corpora,
        )
        for name, config in configs.items()
        for number, seed in enumerate(seeds, start=1)
    ]


def _read(settings: ThesisSettings, seed: int) -> _ThesisData:
    types = read_type_mapping(settings.mapping)
    train, validation = split_by_group(read_annotated(settings.first), VALIDATION_SHARE, seed)
    data = _ThesisData(
        train,
        read_annotated(settings.second, types),
        analyse_corpus("validation", validation),
        analyse_corpus("first test", read_annotated(settings.first_test)),
        analyse_corpus("second test", read_annotated(settings.second_test, types)),
    )
    for corpus in data.corpora:
        if not corpus.is_phi.any():
            raise ConfigurationError(f"the {corpus.name} documents contain no PHI. Give annotated documents")
    return data


def _train(study: Study, runs: Sequence[ThesisRun], seconds: dict[str, float]) -> list[TrainedRun]:
    """Train the runs, and add their seconds."""
    folder = study.folder / "runs"

    def work(run: ThesisRun, say: Say) -> Record:
        return train_thesis_run(run, folder / run.name, study.key_of(run), say)

    found = []
    for run, record in study.finish(runs, work):
        seconds[run.name] = float(record["seconds"])
        found.append(read_thesis_run(run, record, folder / run.name))
    return found


def _choose(trained: Sequence[TrainedRun], validation: JudgedCorpus) -> tuple[TrainedRun, str]:
    """Return the run and the pair of thresholds that validation finds best."""
    figures = {run.name: {pair: validation.figure(run.scores, pair) for pair in PAIRS} for run in trained}
    pair = find_best_pair(figures.values())
    name = find_best({name: found[pair] for name, found in figures.items()})
    return next(run for run in trained if run.name == name), pair


def _describe(settings: ThesisSettings, configs: dict[str, RunConfig], data: _ThesisData) -> dict[str, str]:
    return {
        "first corpus": f"{settings.first}, {settings.first_test}; documents: training {len(data.first)}, "
        f"validation {len(data.validation.docs)}, test {len(data.first_test.docs)}",
        "second corpus": f"{settings.second}, {settings.second_test}; documents: training "
        f"{len(data.second)}, test {len(data.second_test.docs)}",
        "rules": f"{settings.policy}",
        **{f"variant {name}": repr(config.network) for name, config in configs.items()},
        "training of every variant": repr(next(iter(configs.values())).training),
    }


def _explain(best: TrainedRun, pair: str, settings: ThesisSettings, n_runs: int) -> list[str]:
    """Say in sentences how validation chose."""
    return [
        "These are figures of open data. Those called *published* are the thesis's, of the 2014-i2b2 records "
        "and of VigiBase narratives, which are not ours to use; they are there for the form, not to compare.",
        "",
        f"Every variant was trained {n_runs} times for {settings.n_epochs} epochs. About a tenth of "
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
