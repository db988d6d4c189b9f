"""`inverse-deid research thesis`: the thesis's experiments on two other corpora.

Source: master's thesis of the method, sections 4.3.6 (variants, runs, four epochs, choice of the
epoch), 4.4 and chapter 5 (tables), chapter 6 (an independent CRF, trade-offs by category).
"""

from __future__ import annotations

import dataclasses
import functools
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from inverse_deid.core.errors import ConfigurationError
from inverse_deid.core.settings import change_settings
from inverse_deid.core.values import Document, FloatArray
from inverse_deid.lexicon import load_lexicon
from inverse_deid.training.config import RunConfig, read_run_config
from inverse_deid.training.corpus import (
    read_annotated,
    read_type_mapping,
    split_by_group,
    without_near_duplicates,
)
from inverse_deid.training.documents import corpus_sha256
from inverse_deid_research.studies.records import Record, read_arrays
from inverse_deid_research.studies.report import Report
from inverse_deid_research.studies.scoring import AnalysedCorpus, TokenScores, analyse_corpus
from inverse_deid_research.studies.study import Say, Study, StudyOptions
from inverse_deid_research.thesis.judging import (
    ACCEPTABLE_PRECISION,
    N_DRAWS,
    PAIRS,
    find_best,
    find_best_pair,
    judge_corpus,
)
from inverse_deid_research.thesis.published import invent_names, sample_records
from inverse_deid_research.thesis.runs import (
    RivalRun,
    ThesisRun,
    TrainedRun,
    read_thesis_run,
    train_rival,
    train_thesis_run,
    weights_path,
)
from inverse_deid_research.thesis.tables import Findings, thesis_tables

VARIANTS = ("a", "b", "c", "d")
TUNED_EPOCHS = 2
"""The epochs of fine-tuning that count, as in the thesis. Later ones are shown."""
NAMES_VARIANT = "d"
"""Its networks are trained once more after learning names."""
N_NAME_DOCUMENTS, NAME_EPOCHS = 1_000, 2
RIVALS = ("patterns", "crf", "svm")
"""Those of table 5.11, as systems of the comparison."""
VALIDATION_SHARE = 0.1
_CRF = "crf-first"


@dataclass(frozen=True, slots=True, kw_only=True)
class ThesisSettings:
    """The options of this study: four different annotated files or folders, and the trainings."""

    first: Path  # networks are trained on it
    first_test: Path
    second: Path  # each network is fine-tuned on it
    second_test: Path
    mapping: Path | None = None  # from the types of the second corpus to ours
    config_folder: Path = Path("research/configs")  # contains `thesis-a.toml` to `thesis-d.toml`
    n_epochs: int = 4
    n_fine_tuning_epochs: int = 4


@dataclass(frozen=True, slots=True, eq=False)
class _ThesisData:
    """The documents of the study; `n_left_out` by corpus were too close to test documents."""

    first: list[Document] = field(repr=False)
    second: list[Document] = field(repr=False)
    validation: AnalysedCorpus
    first_test: AnalysedCorpus
    second_test: AnalysedCorpus
    samples: AnalysedCorpus
    n_left_out: tuple[int, int]

    @property
    def corpora(self) -> tuple[AnalysedCorpus, ...]:
        return self.validation, self.first_test, self.second_test, self.samples


def run_thesis(settings: ThesisSettings, options: StudyOptions) -> None:
    """Train, fine-tune, and write the report.

    The seeds count up from that of the first run of each variant.

    Raises:
        InputError: A corpus or a stored file cannot be read.
        ConfigurationError: Settings contradict each other or the folder.
        OutputError: A file cannot be written.
    """
    from inverse_deid.training.backend import prepare_backend

    files = sorted({settings.first, settings.first_test, settings.second, settings.second_test})
    if len({path.resolve() for path in files}) < 4:
        raise ConfigurationError(
            "the training and test documents of the first and second corpus must be four files: "
            "documents for training cannot be test documents"
        )
    configs = {name: read_run_config(settings.config_folder / f"thesis-{name}.toml") for name in VARIANTS}
    shared = {
        "seed": options.seeds[0],
        "epochs": settings.n_epochs,
        "mapping": None if settings.mapping is None else corpus_sha256(settings.mapping),
        "dictionaries": load_lexicon().sha256,
        "method": "as published",
    }
    study = Study("thesis", options, inputs=files, shared=shared)
    data = _read(settings, options.seeds[0])
    options.say(
        f"{len(data.first)} training documents, {len(data.validation.docs)} for validation, "
        f"{prepare_backend()}"
    )
    seconds: dict[str, float] = {}
    rivals = _train_rivals(study, data, seconds)
    crf = rivals.pop(_CRF)
    judged = {corpus.name: judge_corpus(corpus, crf[corpus.name]) for corpus in data.corpora}
    validation = judged[data.validation.name]

    def choose(epochs: Sequence[Mapping[str, TokenScores]]) -> int:
        return find_best({i: validation.measure_pair(scores, "low") for i, scores in enumerate(epochs)})

    runs = _plan_runs(settings, options.seeds, configs, data)
    trained = _train(study, runs, choose, seconds)
    further = [
        dataclasses.replace(
            run,
            name=f"{run.name}-tuned",
            training=change_settings(run.training, epochs=settings.n_fine_tuning_epochs),
            gold=data.second,
            start=weights_path(study.folder / "runs" / run.name, one.epoch),
        )
        for run, one in zip(runs, trained, strict=True)
    ]
    tuned = _train(study, further, lambda epochs: min(TUNED_EPOCHS, len(epochs)) - 1, seconds)
    named = _train_after_names(study, [run for run in runs if run.name[0] == NAMES_VARIANT], choose, seconds)
    start = time.perf_counter()
    findings = Findings(
        runs=trained,
        tuned=tuned,
        named=named,
        validation=validation,
        first=judged[data.first_test.name],
        second=judged[data.second_test.name],
        samples=judged[data.samples.name],
        rivals={name: found[data.second_test.name] for name, found in rivals.items()},
    )
    sections = thesis_tables(findings)
    seconds = {**_sum_by_kind(seconds), "tables": time.perf_counter() - start}
    Report(
        title="The thesis's experiments on other data",
        provenance=study.provenance(settings=_describe(settings, configs, data), n_seconds=seconds),
        text=["", *_explain(findings, settings, len(options.seeds))],
        sections=sections,
    ).write(study.folder)


def _plan_runs(
    settings: ThesisSettings, seeds: Sequence[int], configs: dict[str, RunConfig], data: _ThesisData
) -> list[ThesisRun]:
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
    first_test = read_annotated(settings.first_test)
    second_test = read_annotated(settings.second_test, types)
    all_first, all_second = read_annotated(settings.first), read_annotated(settings.second, types)
    first, second = (
        without_near_duplicates(docs, [*first_test, *second_test]) for docs in (all_first, all_second)
    )
    train, validation = split_by_group(first, VALIDATION_SHARE, seed)
    data = _ThesisData(
        train,
        second,
        analyse_corpus("validation", validation),
        analyse_corpus("first test", first_test),
        analyse_corpus("second test", second_test),
        analyse_corpus("samples", sample_records()),
        (len(all_first) - len(first), len(all_second) - len(second)),
    )
    for corpus in data.corpora:
        if not corpus.is_phi.any():
            raise ConfigurationError(f"the {corpus.name} documents contain no PHI. Give annotated documents")
    if not (data.first and data.second):
        raise ConfigurationError("no training document is left: all belong together with test documents")
    return data


def _train(
    study: Study,
    runs: Sequence[ThesisRun],
    choose: Callable[[Sequence[Mapping[str, TokenScores]]], int],
    seconds: dict[str, float],
) -> list[TrainedRun]:
    folder = study.folder / "runs"

    def work(run: ThesisRun, say: Say) -> Record:
        return train_thesis_run(run, folder / run.name, study.key_of(run), say)

    records = dict(study.finish(runs, work))
    seconds |= {run.name: float(record["seconds"]) for run, record in records.items()}
    return [read_thesis_run(run, record, folder / run.name, choose) for run, record in records.items()]


def _train_after_names(
    study: Study,
    runs: Sequence[ThesisRun],
    choose: Callable[[Sequence[Mapping[str, TokenScores]]], int],
    seconds: dict[str, float],
) -> list[TrainedRun]:
    # Not in the thesis, which proposes to learn recognising named entities first.
    names = [
        dataclasses.replace(
            run,
            name=f"names-{run.name}",
            training=change_settings(run.training, epochs=NAME_EPOCHS),
            gold=invent_names(N_NAME_DOCUMENTS, run.training.seed),
        )
        for run in runs
    ]
    _train(study, names, lambda epochs: len(epochs) - 1, seconds)
    after = [
        dataclasses.replace(
            run,
            name=f"after-names-{run.name}",
            start=weights_path(study.folder / "runs" / first.name, NAME_EPOCHS),
        )
        for run, first in zip(runs, names, strict=True)
    ]
    return _train(study, after, choose, seconds)


def _train_rivals(
    study: Study, data: _ThesisData, seconds: dict[str, float]
) -> dict[str, dict[str, FloatArray]]:
    # A CRF of the first corpus, and the rivals of the second.
    folder, seed = study.folder / "runs", study.options.seeds[0]
    runs = [
        RivalRun(name=_CRF, system="crf", seed=seed, gold=data.first, corpora=data.corpora),
        *(
            RivalRun(name=name, system=name, seed=seed, gold=data.second, corpora=(data.second_test,))
            for name in RIVALS
        ),
    ]
    records = dict(study.finish(runs, lambda run, say: train_rival(run, folder / run.name)))
    seconds |= {f"rival {run.name}": float(record["seconds"]) for run, record in records.items()}
    found = {run.name: read_arrays(folder / run.name / "safe.npz") for run in runs}
    return {
        rival: {corpus: p_safe.astype(np.float32) for corpus, p_safe in of_rival.items()}
        for rival, of_rival in found.items()
    }


def _sum_by_kind(seconds: Mapping[str, float]) -> dict[str, float]:
    found: dict[str, float] = {}
    for name, one in seconds.items():
        kind = "names" if "names" in name else "rivals" if " " in name else f"variant {name[0]}"
        kind = "fine-tuning" if name.endswith("-tuned") else kind
        found[kind] = found.get(kind, 0.0) + one
    return found


def _describe(settings: ThesisSettings, configs: dict[str, RunConfig], data: _ThesisData) -> dict[str, str]:
    return {
        "first corpus": f"{settings.first}, {settings.first_test}; documents: training {len(data.first)}, "
        f"validation {len(data.validation.docs)}, test {len(data.first_test.docs)}, left out as too close to "
        f"test documents {data.n_left_out[0]}",
        "second corpus": f"{settings.second}, {settings.second_test}; documents: training "
        f"{len(data.second)}, test {len(data.second_test.docs)}, left out {data.n_left_out[1]}",
        **{f"variant {name}": repr(config.network) for name, config in configs.items()},
        "training of every variant": repr(next(iter(configs.values())).training),
    }


def _explain(findings: Findings, settings: ThesisSettings, n_runs: int) -> list[str]:
    figures = [
        {pair: findings.validation.measure_pair(run.scores, pair) for pair in PAIRS} for run in findings.runs
    ]
    pair = PAIRS[find_best_pair(figures)]
    return [
        "These are figures of open data. Those called *published* are the thesis's, of the 2014-i2b2 records "
        "and of VigiBase narratives, which are not ours to use; they are there for the form, not to compare.",
        "",
        f"Every variant was trained {n_runs} times for {settings.n_epochs} epochs, and each of these "
        f"networks was fine-tuned on the second corpus for {settings.n_fine_tuning_epochs}, of which "
        f"{min(TUNED_EPOCHS, settings.n_fine_tuning_epochs)} count where no number is given. About a tenth "
        "of the first corpus, whole groups of related documents, was kept for validation. Training documents "
        "that share a person, an id or ten tokens in a row with a test document were left out.",
        "",
        "Of each run the epoch counts that has the highest HIPAA recall on validation with the thresholds "
        f"(0.8, 0.9) among those with a precision of at least {ACCEPTABLE_PRECISION:g}, or, if there is "
        "none, the highest precision. The test sets chose nothing. For most runs validation prefers the pair "
        f"{pair.low:g}/{pair.high:g}. The tables show the pairs of the thesis all the same. The loss weighs "
        "a type by the decimal logarithm of how rare it is.",
        "",
        f"Means over runs have 95 % intervals. In each of {N_DRAWS:,} draws, groups of related test "
        "documents are drawn with replacement, and so are runs of each variant, one fewer than there are. "
        "Differences are paired: both systems have the same documents and runs in a draw. The aim of a "
        "*gain* is above 0. It is *reached* or *missed* only if its whole interval is above or below 0, and "
        "*undecided* otherwise.",
    ]
