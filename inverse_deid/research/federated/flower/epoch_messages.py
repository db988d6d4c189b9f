"""Epochs of sites in Flower's messages: weights and numbers, never documents.

Weights are an `ArrayRecord`, which keeps every bit. The variables of an optimizer are in no message:
a node of Flower has a state that stays with it.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from flwr.app import ArrayRecord, ConfigRecord, RecordDict

from inverse_deid.research.federated.local_training import LocalEpoch, OptimizerState
from inverse_deid.research.federated.site_training import SiteTask

_WEIGHTS, _OPTIMIZER, _NUMBERS = "weights", "optimizer", "numbers"


@dataclass(frozen=True, slots=True, eq=False)
class Question:
    """What a node is asked for.

    Args:
        task: An epoch of its site.
        run: Number of the study's run; another one than before begins with a fresh optimizer.
        proximal: mu of FedProx; 0 = none.
    """

    task: SiteTask = field(repr=False)
    run: int
    proximal: float

    def record(self) -> RecordDict:
        """The content of a message."""
        numbers = {
            "place": self.task.place,
            "randomness": list(self.task.randomness),
            "run": self.run,
            "proximal": self.proximal,
        }
        weights = ArrayRecord(list(self.task.weights))
        return RecordDict({_WEIGHTS: weights, _NUMBERS: ConfigRecord(numbers)})

    @classmethod
    def of(cls, content: RecordDict) -> Question:
        """The question in a message."""
        numbers, weights = content[_NUMBERS], content[_WEIGHTS].to_numpy_ndarrays()
        task = SiteTask(numbers["place"], weights, tuple(numbers["randomness"]))
        return cls(task, numbers["run"], numbers["proximal"])


@dataclass(frozen=True, slots=True, eq=False)
class Answer:
    """What a node says.

    Args:
        epoch: Without the optimizer; None if it failed.
        problem: Why it failed, in one line without text of documents.
    """

    epoch: LocalEpoch | None = field(default=None, repr=False)
    problem: str = ""

    def record(self) -> RecordDict:
        """The content of a message."""
        if self.epoch is None:
            return RecordDict({_NUMBERS: ConfigRecord({"problem": self.problem})})
        numbers = {name: getattr(self.epoch, name) for name in ("loss", "n_tokens", "seconds")}
        weights = ArrayRecord(list(self.epoch.weights))
        return RecordDict({_WEIGHTS: weights, _NUMBERS: ConfigRecord(numbers)})

    @classmethod
    def of(cls, content: RecordDict) -> Answer:
        """The answer in a message."""
        numbers = content[_NUMBERS]
        if "problem" in numbers:
            return cls(problem=numbers["problem"])
        return cls(LocalEpoch(content[_WEIGHTS].to_numpy_ndarrays(), [], **numbers))


def kept_optimizer(state: RecordDict, run: int) -> OptimizerState | None:
    """The variables that a node kept in this run; None if this is its first epoch."""
    if _OPTIMIZER not in state or state[_NUMBERS]["run"] != run:
        return None
    variables: OptimizerState = state[_OPTIMIZER].to_numpy_ndarrays()
    return variables


def keep_optimizer(state: RecordDict, run: int, variables: OptimizerState) -> None:
    """Have a node keep the variables of its optimizer."""
    state[_OPTIMIZER], state[_NUMBERS] = ArrayRecord(list(variables)), ConfigRecord({"run": run})
