"""A study's folder: which study it contains, its finished runs, and how the others are done.

::

    experiment.json      kind and key: what all runs share
    runs/NAME.json       the record of a finished run, with its own key
    report.md, *.csv     written from all finished runs
"""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import Any, Protocol, TypeVar

from inverse_deid.core.errors import ConfigurationError, OutputExistsError, Remedy
from inverse_deid.core.revision import require_clean_revision, revision
from inverse_deid.training.documents import corpus_sha256
from inverse_deid_research.studies.records import (
    Record,
    fingerprint,
    read_json,
    read_record,
    write_record,
    write_text,
)
from inverse_deid_research.studies.report import Provenance

Say = Callable[[str], None]
"""Receives lines of progress; numbers and names only."""

_MANIFEST = "experiment.json"
_OURS = ("runs", "epochs", "models")
"""Folders of a study that are deleted when it starts over."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StudyOptions:
    """The options that the command of every study has."""

    folder: Path
    seeds: tuple[int, ...]
    say: Say  # receives lines of progress
    only: tuple[str, ...] = ()  # kinds of runs to do now, none = all; the report leaves out the others
    n_processes: int = 1  # runs done at the same time
    command: str = ""  # for the report
    force: bool = False  # start over


def check_seeds(given: Sequence[int], planned: Sequence[int], config: Path) -> None:
    """Refuse seeds that a configuration does not have, if it fixes some.

    Raises:
        ConfigurationError: There is one.
    """
    if planned and (others := sorted(set(given) - set(planned))):
        raise ConfigurationError(
            f"seeds {', '.join(map(str, others))} are not in {config.name}, which fixes the seeds "
            f"beforehand. It has: {', '.join(map(str, planned))}",
            choice="seeds",
        )


class Run(Protocol):
    """One run of a study: hashable (a dataclass with `eq=False`), and picklable for several processes."""

    @property
    def name(self) -> str:
        """Name of its record."""

    @property
    def kind(self) -> str:
        """Its name in `--only`."""

    @property
    def depends_on(self) -> tuple[object, ...]:
        """Values that can change its result, apart from the key of the study; with a telling `repr`."""


R = TypeVar("R", bound=Run)


class Study:
    """A study that is under way in a folder.

    Every run depends on the data files `inputs` and the settings `shared` (JSON values). `kinds` are what
    `--only` may name, `config` is a file of settings that the report names.

    Raises:
        InputError: A file cannot be read.
        ConfigurationError: `--only` names an unknown kind. See also `require_clean_revision` and
            `prepare_folder`.
    """

    def __init__(
        self,
        kind: str,
        options: StudyOptions,
        *,
        kinds: Sequence[str] = (),
        inputs: Sequence[Path],
        shared: Mapping[str, Any],
        config: Path | None = None,
    ) -> None:
        self.options, self.folder, self.say = options, options.folder, options.say
        require_clean_revision(self.folder)
        if unknown := sorted(set(options.only) - set(kinds)):
            raise ConfigurationError(
                f"the study has no runs named {', '.join(unknown)}. It has: {', '.join(kinds)}", choice="only"
            )
        self.hashes = {str(path): corpus_sha256(path) for path in inputs}
        self._revision = revision()  # of the code that is loaded: the checkout may change during long runs
        self._made_at: dict[str, str] = {}
        key = {"data": sorted(self.hashes.values()), **shared}
        prepare_folder(self.folder, kind, key, force=options.force)
        self.key = fingerprint(sorted(key.items()))
        if config is not None:
            self.hashes[str(config)] = corpus_sha256(config)

    def record(self, run: Run) -> Record | None:
        """Return the record of a run; None if it is not finished, or a file that it names is gone."""
        found = read_record(self._path(run.name), self.key_of(run))
        names = found.get("files", ()) if found else ()
        return found if all((self.folder / "runs" / name).exists() for name in names) else None

    def key_of(self, run: Run) -> str:
        """Return the key of a run: it changes with everything that can change its result."""
        return fingerprint(self.key, *run.depends_on)

    def missing(self, runs: Sequence[R], is_due: Callable[[R], bool] = lambda run: True) -> list[R]:
        only = self.options.only
        wanted = [run for run in runs if (not only or run.kind in only) and is_due(run)]
        return [run for run in wanted if self.record(run) is None]

    def finish(
        self,
        runs: Sequence[R],
        work: Callable[[R, Say], Record],
        *,
        is_due: Callable[[R], bool] = lambda run: True,
    ) -> Iterator[tuple[R, Record]]:
        """Do the runs that are missing and due now, then yield all finished ones in order.

        `work` does one run and returns its record: tidy `rows`, or what the study needs. `files` are paths
        in the folder `runs` without which the run counts as unfinished. `seconds` and the `revision` of the
        code are added. Several processes need a picklable function.

        Raises:
            OutputError: A record cannot be written.
        """
        missing = self.missing(runs, is_due)
        done = do_jobs(work, missing, self.options.n_processes, self.say)
        for number, (run, record) in enumerate(done, start=1):
            write_record(self._path(run.name), self.key_of(run), {"revision": self._revision, **record})
            self.say(f"{run.name}: done in {record['seconds']:.0f} s, {number} of {len(missing)} runs")
        for run in runs:
            if (found := self.record(run)) is not None:
                self._made_at[run.name] = found.get("revision", "")
                yield run, found

    def provenance(
        self,
        *,
        settings: Mapping[str, str],
        n_seconds: Mapping[str, float],
        seeds: Sequence[int] | None = None,
        device: str = "",
    ) -> Provenance:
        """Return where the figures come from, by default with the seeds of the options.

        The device is what trained, by default that of TensorFlow. See `Provenance` for the others.
        """
        from inverse_deid.training.backend import prepare_backend

        return Provenance(
            command=self.options.command,
            device=device or prepare_backend(),
            seeds=self.options.seeds if seeds is None else seeds,
            hashes=self.hashes,
            settings=settings,
            n_seconds=n_seconds,
            made_at=tuple(self._made_at.values()),
        )

    def _path(self, name: str) -> Path:
        return self.folder / "runs" / f"{name}.json"


def prepare_folder(folder: Path, kind: str, key: Mapping[str, Any], *, force: bool) -> None:
    """Make the folder of a study, or check that it contains the same one, to resume it.

    `key` is what all of its runs share, as JSON values: another key is another study. `force` deletes
    what an earlier study left there.

    Raises:
        OutputExistsError: The folder contains something else.
        ConfigurationError: It contains a study with other data or settings.
        OutputError: It cannot be written.
    """
    manifest = folder / _MANIFEST
    wanted = {"experiment": kind, **key}
    if manifest.is_file():
        if force:
            for name in _OURS:
                shutil.rmtree(folder / name, ignore_errors=True)
        elif (found := read_json(manifest)) != json.loads(json.dumps(wanted)):
            differing = sorted(name for name in {*found, *wanted} if found.get(name) != wanted.get(name))
            raise ConfigurationError(
                f"{folder}: contains a study with other {', '.join(differing)}",
                remedies=[
                    Remedy("out", step="choose another folder with {}"),
                    Remedy("force", step="start over with {}"),
                ],
            )
    elif folder.exists() and any(folder.iterdir()):
        raise OutputExistsError(f"{folder}: not empty, and not the folder of a study. Choose another folder")
    write_text(manifest, json.dumps(wanted, indent=1) + "\n")


T = TypeVar("T")


def do_jobs(
    work: Callable[[T, Say], Record], jobs: Sequence[T], n_processes: int, say: Say
) -> Iterator[tuple[T, Record]]:
    """Do hashable jobs and yield each with its record, and the `seconds` it took, as soon as it is done.

    One process works here; more processes need picklable work, and have one TensorFlow thread each.
    """
    if n_processes == 1 or len(jobs) < 2:
        for job in jobs:
            yield job, _do_job(work, job, say)
        return
    with ProcessPoolExecutor(n_processes, get_context("spawn"), _start_worker, (work,)) as pool:
        running = {pool.submit(_do_in_worker, job): job for job in jobs}
        try:
            for done in as_completed(running):
                yield running[done], done.result()
        finally:
            pool.shutdown(wait=True, cancel_futures=True)


def _do_job(work: Callable[[T, Say], Record], job: T, say: Say) -> Record:
    begun = time.perf_counter()
    record = work(job, say)
    return {"seconds": time.perf_counter() - begun, **record}


_work: Callable[[Any, Say], Record] | None = None


def _start_worker(work: Callable[[Any, Say], Record]) -> None:
    global _work  # noqa: PLW0603 - a worker process serves one study
    from inverse_deid.training.backend import prepare_backend

    prepare_backend(n_threads=1)
    _work = work


def _do_in_worker(job: Any) -> Record:  # noqa: ANN401 - any job
    if _work is None:
        raise RuntimeError("the worker was not started")
    return _do_job(_work, job, lambda line: None)
