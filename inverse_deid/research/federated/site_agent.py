"""A site's part of a common training, whatever carries the messages."""

from __future__ import annotations

import zipfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from inverse_deid.core.errors import UnreadableInputError, UpdateError
from inverse_deid.core.values import FloatArray
from inverse_deid.network.batches import Example
from inverse_deid.research.federated.local_training import LocalTrainer, OptimizerState
from inverse_deid.research.federated.rounds import Reply, State
from inverse_deid.research.federated.selection import SelectiveSettings, most_updated, selected_changes
from inverse_deid.research.studies.records import write_arrays

_TAKEN, _GIVEN = 1, 2
"""Keep the random streams of a round apart; 0 is that of training."""


class SiteAgent:
    """Answers states; what it must remember between rounds it keeps in a file of its own.

    Args:
        name: Of the site.
        trainer: Of the common network.
        examples: The site's training documents.
        settings: Of distributed selective SGD; known to nobody else.
        memory: File for optimizer and own weights; made when first needed. The site
            goes on with it after it was stopped, even in the middle of an epoch.
    """

    def __init__(
        self,
        name: str,
        trainer: LocalTrainer,
        examples: Sequence[Example],
        settings: SelectiveSettings,
        memory: Path,
    ) -> None:
        self.name = name
        self._trainer, self._examples, self._settings, self._memory = trainer, examples, settings, memory

    def answer(self, state: State) -> Reply:
        """Train one epoch and say what leaves.

        The same state and memory give the same reply, so that an answer that was lost is
        made again.

        Raises:
            UpdateError: The state does not fit the network, or this site was not asked.
            UnreadableInputError: The memory is damaged.
            StageError: The loss is not a number.
        """
        layout, place = self._trainer.layout, self._place(state)
        local, optimizer = self._remembered(state)
        if state.way == "selective":
            start = state.weights.copy() if local is None else local
            rng = np.random.default_rng([state.seed, state.epoch, place, _TAKEN])
            taken = most_updated(state.counts, self._settings.download, rng)
            start[taken] = state.weights[taken]
        else:
            start = state.weights
        randomness = (state.seed, state.epoch, place, 0)
        done = self._trainer.epoch(self._examples, layout.arrays(start), randomness, optimizer)
        after = layout.flat(done.weights)
        self._remember(state, after, done.optimizer)
        if state.way != "selective":
            return Reply(self.name, state.run, state.number, done.n_tokens, weights=after)
        rng = np.random.default_rng([state.seed, state.epoch, place, _GIVEN])
        changes = selected_changes(after - start, self._settings, rng)
        return Reply(self.name, state.run, state.number, 0, changes=changes)

    def result(self, state: State) -> FloatArray:
        """The weights that the site ends with: its own in *selective*, else the common ones."""
        local, _ = self._remembered(state)
        return local if state.way == "selective" and local is not None else state.weights

    def _place(self, state: State) -> int:
        if state.weights.shape != (self._trainer.layout.n_numbers,):
            raise UpdateError("the server's weights are of another network than this site's")
        if state.way == "selective" and state.counts.shape != state.weights.shape:
            raise UpdateError("the server sent no count for each weight")
        if self.name not in state.asked:
            raise UpdateError(f"site {self.name} was not asked in round {state.number}")
        return state.order.index(self.name)

    def _remembered(self, state: State) -> tuple[FloatArray | None, OptimizerState | None]:
        """What an earlier round of this run left: own weights and optimizer."""
        found = None
        for name in (self._memory, _earlier(self._memory)):
            arrays = _read(name)
            if arrays and str(arrays["run"]) == state.run and int(arrays["number"]) < state.number:
                found = arrays
                break
        if found is None:
            return None, None
        n_variables = sum(name.startswith("optimizer/") for name in found)
        return found["weights"].astype(np.float32), [found[f"optimizer/{i}"] for i in range(n_variables)]

    def _remember(self, state: State, weights: FloatArray, optimizer: OptimizerState) -> None:
        """Keep this round and the one before it, should this one have to be answered again."""
        now = _read(self._memory)
        if now and (str(now["run"]), int(now["number"])) != (state.run, state.number):
            self._memory.replace(_earlier(self._memory))
        arrays = {f"optimizer/{i}": variable for i, variable in enumerate(optimizer)}
        arrays |= {"run": np.array(state.run), "number": np.array(state.number), "weights": weights}
        write_arrays(self._memory, arrays)


def _earlier(path: Path) -> Path:
    return path.with_name(f"earlier-{path.name}")


def _read(path: Path) -> dict[str, np.ndarray]:
    if not path.exists():
        return {}
    try:
        with path.open("rb") as stream, np.load(stream, allow_pickle=False) as arrays:
            return dict(arrays)
    except (OSError, ValueError, EOFError, zipfile.BadZipFile) as error:
        raise UnreadableInputError(f"{path}: damaged; delete it to go on without it") from error
