"""The stages of one run, each kept on disk as soon as it is done: an interrupted run resumes after it.

::

    runs/RUN/STAGE.json     what a stage measured
    models/RUN/STAGE.npz    the weights that a stage trained, until the whole run is done
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from inverse_deid.research.studies.records import (
    fingerprint,
    read_arrays,
    read_record,
    write_arrays,
    write_record,
)

if TYPE_CHECKING:
    import keras

Record = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Stages:
    """What is done of one run.

    Args:
        folder: Of the experiment.
        run: Name of the run.
        key: Of everything that all runs depend on; other results do not count.
    """

    folder: Path
    run: str
    key: str

    def of_run(self, run: str) -> Stages:
        """Those of another run of the experiment: stages that several runs share."""
        return Stages(self.folder, run, self.key)

    def record(self, stage: str, make: Callable[[], Record]) -> Record:
        """What a stage measured, and its `seconds` and `cpu_seconds`; made unless that is done.

        Raises:
            OutputError: It cannot be written.
        """
        path, key = self._record_path(stage), fingerprint(self.key, self.run)
        found = read_record(path, key)
        if found is None:
            begun, begun_cpu = time.perf_counter(), time.process_time()
            made = make()
            spent = {"seconds": time.perf_counter() - begun, "cpu_seconds": time.process_time() - begun_cpu}
            found = {**made, **spent}
            write_record(path, key, found)
        return found

    def trained(self, stage: str, networks: Mapping[str, keras.Model], train: Callable[[], Record]) -> Record:
        """As `record`, of a stage that trains networks in place: they end with the weights of that stage.

        Args:
            stage: Its name.
            networks: By name; those whose weights the next stages need.
            train: Trains them, unless that is done.

        Raises:
            OutputError: It cannot be written.
        """
        path = self.folder / "models" / self.run / f"{stage}.npz"

        def made() -> Record:
            record = train()
            _write_weights(path, networks)
            return record

        if not path.is_file():
            self._record_path(stage).unlink(missing_ok=True)
        found = self.record(stage, made)
        _read_weights(path, networks)
        return found

    def _record_path(self, stage: str) -> Path:
        return self.folder / "runs" / self.run / f"{stage}.json"

    def forget_weights(self) -> None:
        """Delete the weights; the whole run is done. Those of other runs, perhaps going on, stay."""
        shutil.rmtree(self.folder / "models" / self.run, ignore_errors=True)
        with suppress(OSError):  # not empty
            (self.folder / "models").rmdir()


def seconds_of(records: Mapping[str, Record]) -> Record:
    """The time of all stages of a run together, and what each took of the processor."""
    return {
        "seconds": sum(record["seconds"] for record in records.values()),
        "cpu_seconds": {stage: record["cpu_seconds"] for stage, record in records.items()},
    }


def _write_weights(path: Path, networks: Mapping[str, keras.Model]) -> None:
    arrays = {
        f"{name} {i}": np.asarray(weight)
        for name, network in networks.items()
        for i, weight in enumerate(network.get_weights())
    }
    write_arrays(path, arrays)


def _read_weights(path: Path, networks: Mapping[str, keras.Model]) -> None:
    arrays = read_arrays(path)
    for name, network in networks.items():
        n_weights = len(network.get_weights())
        network.set_weights([arrays[f"{name} {i}"] for i in range(n_weights)])
