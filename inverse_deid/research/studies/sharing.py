"""`inverse-deid research share study`: table 2 and figures 4 and 5 of Friedrich et al. on other data."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from inverse_deid.core.errors import ConfigurationError
from inverse_deid.core.revision import revision
from inverse_deid.research.representations.config import TABLES
from inverse_deid.research.studies.records import fingerprint, read_record, write_record
from inverse_deid.research.studies.report import Provenance, Report
from inverse_deid.research.studies.sharing_config import StudyConfig, StudyRun, files_of, runs_of
from inverse_deid.research.studies.sharing_report import figures_of, sections
from inverse_deid.research.studies.sharing_runs import StudyData, execute, read_study_data
from inverse_deid.research.studies.stages import Stages
from inverse_deid.research.studies.study import prepare_folder
from inverse_deid.training.documents import corpus_sha256

Say = Callable[[str], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class SharingSettings:
    """The options of the command.

    Args:
        config: The study.
        config_path: Its file.
        folder: Takes runs and report.
        seeds: Of each run.
        only: Kinds of runs to do now; none = all. The report leaves out the others.
        command: For the report.
        force: Start over.
    """

    config: StudyConfig
    config_path: Path
    folder: Path
    seeds: tuple[int, ...] = (1, 2, 3)
    only: tuple[str, ...] = ()
    command: str = ""
    force: bool = False


def run_sharing(settings: SharingSettings, say: Say) -> None:
    """Do the runs that are not done yet and write the report of all that are.

    Raises:
        InputError: A corpus cannot be read.
        ConfigurationError: Settings contradict each other or the folder.
        OutputError: A file cannot be written.
    """
    from inverse_deid.training.run import device_line

    config = settings.config
    _refuse_shared_files(config)
    hashes = {
        str(path): corpus_sha256(path) for corpus in config.corpora for path in files_of(corpus).values()
    }
    corpora = {
        corpus.name: {name: hashes[str(path)] for name, path in files_of(corpus).items()}
        | {"learned": corpus.learned}
        for corpus in config.corpora
    }
    sharing = config.sharing
    key = {
        "data": corpora,
        "settings": fingerprint(config.study, *(getattr(sharing, name) for name in TABLES)),
    }
    prepare_folder(settings.folder, "sharing", key, force=settings.force)
    records = _records(settings, fingerprint(sorted(key.items())), say)
    provenance = Provenance(
        command=settings.command,
        device=device_line(),
        seeds=settings.seeds,
        hashes=hashes | {str(settings.config_path): corpus_sha256(settings.config_path)},
        settings={name: repr(getattr(config.sharing, name)) for name in TABLES}
        | {"study": repr(config.study)},
        n_seconds=_seconds(records),
    )
    head, tables = sections(config, records, settings.seeds)
    Report(
        title="Private representations",
        provenance=provenance,
        text=["", *head],
        sections=tables,
        charts=figures_of(config, records),
    ).write(settings.folder)


def _refuse_shared_files(config: StudyConfig) -> None:
    for corpus in config.corpora:
        if corpus.train == corpus.test:
            raise ConfigurationError(f"{corpus.test}: is trained on and cannot be the test file")


def _records(settings: SharingSettings, key: str, say: Say) -> dict[StudyRun, dict[str, Any]]:
    """The records of all runs that were done, now or earlier."""
    found: dict[StudyRun, dict[str, Any]] = {}
    data: dict[str, StudyData] = {}
    plan = runs_of(settings.config, settings.seeds)
    if unknown := sorted(set(settings.only) - {run.kind for run in plan}):
        known = ", ".join(dict.fromkeys(run.kind for run in plan))
        raise ConfigurationError(f"no runs {', '.join(unknown)}. Known: {known}")
    for number, run in enumerate(plan, start=1):
        path = settings.folder / "runs" / f"{run.name}.json"
        record = read_record(path, fingerprint(key, run.name))
        if record is None and (not settings.only or run.kind in settings.only):
            import keras

            keras.utils.clear_session()
            if run.corpus.name not in data:
                data = {run.corpus.name: read_study_data(run.corpus, settings.config)}
            say(f"run {number} of {len(plan)}: {run.name}")
            stages = Stages(settings.folder, run.name, key)
            made = execute(run, data[run.corpus.name], settings.config, stages, say)
            record = {**made, "revision": revision()}
            write_record(path, fingerprint(key, run.name), record)
            stages.forget_weights()
        if record is not None:
            found[run] = record
    if len(found) == len(plan):
        for name in {run.pre_training for run in plan}:
            Stages(settings.folder, name, key).forget_weights()
    return found


def _seconds(records: dict[StudyRun, dict[str, Any]]) -> dict[str, float]:
    """Time of each kind of run."""
    sums: dict[str, float] = {}
    for run, record in records.items():
        sums[run.kind] = sums.get(run.kind, 0.0) + float(record["seconds"])
    return sums
