"""The state of a training run after an epoch, saved so that an interrupted run can resume."""

from __future__ import annotations

import json
import zipfile
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from inverse_deid.core.errors import ConfigurationError, OutputError, Remedy
from inverse_deid.core.values import FloatArray
from inverse_deid.core.wording import N_, _

if TYPE_CHECKING:
    import keras

_NAME = "checkpoint.npz"
_REMEDY = "delete the file to train from the start"
_DAMAGES = (OSError, EOFError, KeyError, TypeError, ValueError, zipfile.BadZipFile)


@dataclass(frozen=True, slots=True, eq=False)
class State:
    """The state of a run after `epoch` epochs of `n_batches` batches, which fix its learning rates.

    The best epoch, counted from 1, is 0 before the first, `best_gain` its result of validation, and
    `best_weights` all its weights, empty without patience.
    """

    n_batches: int = 0
    epoch: int = 0
    best_epoch: int = 0
    best_gain: float = -np.inf
    best_weights: list[FloatArray] = field(default_factory=list, repr=False)


class Checkpoints:
    """Saves and restores the state of one run, as `checkpoint.npz` in a folder.

    `run` identifies configuration and data. A checkpoint of another run is refused.
    """

    def __init__(self, folder: Path, run: str) -> None:
        self._path = folder / _NAME
        self._run = run
        self._arrays: dict[str, np.ndarray] = {}

    def refuse_unfinished(self) -> None:
        """Refuse to start over if an interrupted run could be resumed.

        Raises:
            ConfigurationError: There is a checkpoint.
        """
        if self._path.exists():
            raise ConfigurationError(
                _("{path}: left by an interrupted run", path=self._path),
                remedies=[Remedy("resume", step=N_("resume it with {}")), Remedy(step=_REMEDY)],
            )

    def read(self) -> State | None:
        """Return the saved state, None if there is none.

        Raises:
            ConfigurationError: It is damaged or belongs to another run.
        """
        if not self._path.exists():
            return None
        try:
            with zipfile.ZipFile(self._path), np.load(self._path, allow_pickle=False) as arrays:
                self._arrays = dict(arrays)
            values = dict(json.loads(str(self._arrays.pop("state"))))
            run = values.pop("run")
            best = [self._arrays[f"best/{i}"] for i in range(values.pop("n_best"))]
            state = State(**values, best_weights=best)
        except _DAMAGES as error:
            raise ConfigurationError(
                _("{path}: damaged. To start again, {remedy}", path=self._path, remedy=_REMEDY)
            ) from error
        if run != self._run:
            raise ConfigurationError(
                _(
                    "{path}: made with another configuration or other data. Restore them, or {remedy}",
                    path=self._path,
                    remedy=_REMEDY,
                )
            )
        return state

    def restore(self, network: keras.Model, optimizer: keras.optimizers.Optimizer, state: State) -> None:
        """Give network and optimizer the values that were read.

        Raises:
            ConfigurationError: They are of another network.
        """
        if not state.epoch:
            return
        try:
            for kind, variables in _variables(network, optimizer).items():
                for i, variable in enumerate(variables):
                    variable.assign(self._arrays[f"{kind}/{i}"])
        except (KeyError, ValueError) as error:
            raise ConfigurationError(
                _(
                    "{path}: made for another network. Restore the configuration, or {remedy}",
                    path=self._path,
                    remedy=_REMEDY,
                )
            ) from error
        self._arrays = {}

    def save(self, network: keras.Model, optimizer: keras.optimizers.Optimizer, state: State) -> None:
        """Replace the saved state, completely or not at all.

        Raises:
            OutputError: It cannot be written.
        """
        values = {one.name: getattr(state, one.name) for one in fields(state) if one.name != "best_weights"}
        values |= {"run": self._run, "n_best": len(state.best_weights)}
        arrays = {f"best/{i}": weight for i, weight in enumerate(state.best_weights)}
        for kind, variables in _variables(network, optimizer).items():
            arrays |= {f"{kind}/{i}": np.asarray(variable) for i, variable in enumerate(variables)}
        staging = self._path.with_suffix(".new.npz")
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            np.savez(staging, state=np.array(json.dumps(values)), **arrays)  # type: ignore[arg-type]
            staging.replace(self._path)
        except OSError as error:
            staging.unlink(missing_ok=True)
            reason = error.strerror or type(error).__name__
            raise OutputError(
                _("{path}: cannot be written ({reason})", path=self._path, reason=reason),
                remedies=[Remedy("resume", step=N_("make room, then run again with {}"))],
            ) from error

    def remove(self) -> None:
        """Delete the saved state of a run that is complete."""
        self._path.unlink(missing_ok=True)


def _variables(network: keras.Model, optimizer: keras.optimizers.Optimizer) -> dict[str, list[Any]]:
    """Return all that changes in training: weights, states of random generators, moments."""
    trained = {id(variable) for variable in network.trainable_variables}
    frozen = {id(variable) for variable in network.non_trainable_weights}
    others = [v for v in network.variables if id(v) not in trained and id(v) not in frozen]
    return {
        "weight": list(network.trainable_variables),
        "other": others,
        "optimizer": list(optimizer.variables),
    }
