"""`inverse-deid research share study`: table 2 and figures 4 and 5 of Friedrich et al. on other data."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import keras

from inverse_deid.core.settings import change_settings
from inverse_deid.training.documents import corpus_sha256
from inverse_deid_research.representations.config import TABLES, StudyConfig, StudyTable
from inverse_deid_research.representations.runs import (
    FinishedStages,
    SharingRun,
    StudyData,
    do_run,
    list_runs,
    read_study_data,
)
from inverse_deid_research.representations.tables import draw_figures, make_head, make_sections
from inverse_deid_research.studies.records import Record, fingerprint
from inverse_deid_research.studies.report import Report
from inverse_deid_research.studies.study import Say, Study, StudyOptions, check_seeds


def run_sharing(config: StudyConfig, path: Path, options: StudyOptions) -> None:
    """Do the runs that are not finished, and write the report of all that are; `path` is of the settings.

    Without seeds in the options, all seeds of the settings are run.

    Raises:
        InputError: A corpus cannot be read.
        ConfigurationError: Settings contradict each other or the folder, or a seed is not among theirs.
        OutputError: A file cannot be written.
    """
    check_seeds(options.seeds, config.seeds, path)
    options = replace(options, seeds=options.seeds or config.seeds)
    runs = list_runs(config, options.seeds)
    hashes = {
        corpus.name: {
            **{name: corpus_sha256(file) for name, file in corpus.files.items()},
            "learned": corpus.learned,
        }
        for corpus in config.corpora
    }
    settings = {name: getattr(config, name) for name in (*TABLES, "study")}
    study = Study(
        "sharing",
        options,
        kinds=list(dict.fromkeys(run.kind for run in runs)),
        inputs=[file for corpus in config.corpora for file in corpus.files.values()],
        shared={
            "data": hashes,
            "settings": fingerprint(_settings_of_runs(config.study), *(settings[name] for name in TABLES)),
        },
        config=path,
    )
    data: dict[str, StudyData] = {}

    def work(run: SharingRun, say: Say) -> Record:
        _forget_weights(study, runs)
        keras.utils.clear_session()
        name = run.corpus.name
        if name not in data:
            data.clear()
            data[name] = read_study_data(run.corpus, config)
        return do_run(run, data[name], config, FinishedStages(study.folder, run.name, study.key), say)

    records = dict(study.finish(runs, work))
    _forget_weights(study, runs)
    n_seconds: dict[str, float] = defaultdict(float)
    for run, record in records.items():
        n_seconds[run.kind] += float(record["seconds"])
    Report(
        title="Private representations",
        provenance=study.provenance(
            settings={name: repr(table) for name, table in settings.items()}, n_seconds=n_seconds
        ),
        text=["", *make_head(config, records, len(runs) - len(records))],
        sections=make_sections(config, records, options.seeds),
        charts=draw_figures(config, records),
    ).write(study.folder)


def _settings_of_runs(table: StudyTable) -> StudyTable:
    return change_settings(table, neighbours=(table.attacked,), strengths=(1.0,), note="")


def _forget_weights(study: Study, runs: Sequence[SharingRun]) -> None:
    finished = [run.name for run in runs if study.record(run)]
    if len(finished) == len(runs):
        finished += {run.pre_training for run in runs}
    for name in finished:
        FinishedStages(study.folder, name, study.key).forget_weights()
