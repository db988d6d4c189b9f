"""The class that Ray runs: loads the model once, masks partitions, and never lets an error out.

Ray pickles what an actor raises, with its text, into logs and object store. So nothing is
raised: a partition that fails comes back as one line without text.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from inverse_deid import __version__
from inverse_deid.core.errors import ConfigurationError, InverseDeidError, describe_error
from inverse_deid.engine.masker import Masker
from inverse_deid.network.scorer import Device
from inverse_deid.scale.masking import Work, mask_partition
from inverse_deid.scale.partitions import Partition
from inverse_deid.scale.receipts import Receipt

PARTITION = "partition"
OUTCOME = "outcome"


class FingerprintedMasker(Masker, Protocol):
    """Masks documents, and says what it is made of."""

    @property
    def fingerprint(self) -> str:
        """Changes with anything that can change the output."""
        ...


class MaskerMaker(Protocol):
    """Makes the masker inside a worker; it is pickled, so it holds paths and options, no secret."""

    def __call__(self, *, n_threads: int, device: Device) -> FingerprintedMasker:
        """Load lexicon and model from this machine's disk."""
        ...


@dataclass(frozen=True, slots=True)
class ActorJob:
    """What an actor is given.

    Args:
        work: What is the same for all partitions.
        make_masker: Makes the masker.
        fingerprint: What the masker's fingerprint must be.
        n_threads: Threads of the network.
        device: Where the network runs.
        version: Of this package.
    """

    work: Work
    make_masker: MaskerMaker
    fingerprint: str
    n_threads: int = 1
    device: Device = "cpu"
    version: str = __version__


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a partition.

    Args:
        target: Its output.
        receipt: None = it failed.
        problem: Why it failed, "" if it did not; without text of narratives.
        is_fatal: The worker cannot mask anything; the run must stop.
    """

    target: str
    receipt: Receipt | None = None
    problem: str = ""
    is_fatal: bool = False

    def as_json(self) -> str:
        """A text that `from_json` takes back."""
        receipt = None if self.receipt is None else self.receipt.as_json()
        return json.dumps([self.target, receipt, self.problem, self.is_fatal])

    @classmethod
    def from_json(cls, stored: str) -> Outcome:
        """The outcome that `as_json` described."""
        target, receipt, problem, is_fatal = json.loads(stored)
        return cls(target, None if receipt is None else Receipt.from_json(receipt), problem, is_fatal)


class PartitionActor:
    """Masks partitions, one after another.

    Args:
        job: What it needs. What goes wrong here is told with the first partition.
    """

    def __init__(self, job: ActorJob) -> None:
        self._work = job.work
        self._masker: Masker | None = None
        self._problem = ""
        try:
            self._masker = _checked_masker(job)
        except InverseDeidError as error:
            self._problem = str(error)
        except Exception as error:  # noqa: BLE001 - Ray would write it down
            self._problem = f"{describe_error(error)} while the model was loaded"

    def __call__(self, batch: Mapping[str, Sequence[Any]]) -> dict[str, list[str]]:
        """Mask the partitions of a batch.

        Args:
            batch: Under `PARTITION`, partitions as JSON.

        Returns:
            Under `OUTCOME`, one outcome a partition as JSON.
        """
        partitions = [Partition.from_json(str(stored)) for stored in batch[PARTITION]]
        return {OUTCOME: [self._outcome(partition).as_json() for partition in partitions]}

    def _outcome(self, partition: Partition) -> Outcome:
        if self._masker is None:
            return Outcome(partition.target, problem=self._problem, is_fatal=True)
        try:
            return Outcome(partition.target, mask_partition(partition, self._masker, self._work))
        except InverseDeidError as error:
            return Outcome(partition.target, problem=str(error))
        except Exception as error:  # noqa: BLE001 - Ray would write it down
            return Outcome(partition.target, problem=f"an unforeseen error ({type(error).__name__})")


def _checked_masker(job: ActorJob) -> Masker:
    """The masker, if this machine has the same program, model and files as the one that started the run."""
    if job.version != __version__:
        raise ConfigurationError(
            f"a machine of the cluster has inverse-deid {__version__}, the one that started the run has "
            f"{job.version}; install the same on all"
        )
    masker = job.make_masker(n_threads=job.n_threads, device=job.device)
    if masker.fingerprint != job.fingerprint:
        raise ConfigurationError(
            "a machine of the cluster has another model, lexicon, key or word list than the one that "
            "started the run; put the same files on all"
        )
    return masker
