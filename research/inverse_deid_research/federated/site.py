"""A site of a common training: it declares itself, answers states and ends with a model.

Everything that leaves it is first written to a log for the data-protection officer.
"""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

import numpy as np

from inverse_deid.core.errors import ConfigurationError, OutputError, UnreadableInputError, UpdateError
from inverse_deid.core.values import Document, FloatArray
from inverse_deid.lexicon import load_lexicon
from inverse_deid.network.batches import Example
from inverse_deid.network.folder import refuse_other_folder, write_model
from inverse_deid.training.calibration import operating_points
from inverse_deid.training.config import CalibrationConfig
from inverse_deid.training.corpus import hold_out_patients, read_annotated, read_type_mapping
from inverse_deid.training.run import model_parts, score_corpus
from inverse_deid_research.federated.messages import (
    Envelope,
    FileExchange,
    Reply,
    TrainingState,
    open_sealed,
    pack,
    read_key,
    seal,
)
from inverse_deid_research.federated.network import CommonNetwork, LocalTrainer, OptimizerState
from inverse_deid_research.federated.server import begin_training
from inverse_deid_research.federated.settings import (
    CommonTraining,
    SelectiveSettings,
    SharedWay,
    SiteSettings,
)
from inverse_deid_research.federated.weights import choose_most_updated, select_changes
from inverse_deid_research.studies.records import read_arrays, write_arrays

_TAKEN, _GIVEN = 1, 2
"""Keep the random streams of a round apart; 0 is that of training."""


def take_part(site: SiteRun) -> None:
    """Take part until the training is finished.

    Raises:
        UpdateError: The server was silent too long, or sent a state that does not fit.
        OutputError: The log, a message or the model cannot be written.
    """
    site.finish(FileExchange(site.settings.exchange.folder).answer(site))


class SiteRun:
    """One site in a common training.

    Everything that leaves it goes through `declare` and `answer`, which log it first.

    Raises:
        InputError: Documents or key cannot be read.
        ConfigurationError: There is no document to train on or to calibrate on.
    """

    def __init__(self, settings: SiteSettings, say: Callable[[str], None]) -> None:
        site = settings.site
        refuse_other_folder(site.model)
        self.settings, self.say = settings, say
        self.name, self.patience_s = site.name, settings.exchange.patience_s
        self._key = read_key(settings.exchange.key)
        self._log = LeavingLog(site.private / "leaving.log")
        train, self._held_out = self._read_documents()
        self.common = CommonNetwork(settings.network, settings.training, site.word_vectors)
        self._examples = self.common.encode(train, to_train_on=True)
        self._declaration = pack(self.common.declare(self.name, sum(map(len, self._examples))))
        self._agent = self._make_agent(site.private / "memory.npz")

    def _make_agent(self, memory: Path) -> SiteAgent:
        return SiteAgent(self.name, self.common.trainer, self._examples, self.settings.selective, memory)

    def rehearse(self, way: SharedWay) -> None:
        """Say what would leave the site after an epoch from fresh weights by a method; send nothing."""
        layout = self.common.trainer.layout
        training = CommonTraining(sites=(self.name,), way=way)
        state = begin_training(training, "dry-run", layout, self.common.start(training.seed))
        scratch = self.settings.site.private / "dry-run.npz"
        try:
            reply = self._make_agent(scratch).answer(state)
        finally:
            scratch.unlink(missing_ok=True)
        self.say("nothing was sent. A run would send")
        for envelope in (self._declaration, pack(reply)):
            size = len(seal(envelope, self._key))
            self.say(f"- {describe_envelope(envelope)}, {size} bytes")
        self.say("in the arrays of weights:")
        for path, shape in zip(layout.names, layout.shapes, strict=True):
            self.say(f"  {path} {'x'.join(map(str, shape))}")
        self.say("no formal guarantee: what these numbers tell of the documents is not bounded")

    def open(self, data: bytes) -> Envelope:
        """Open a message of the server, or raise `UpdateError` if it is damaged or of another key."""
        return open_sealed(data, self._key)

    def declare(self) -> bytes:
        """Return the site's declaration, logged and sealed."""
        return self._let_out(self._declaration)

    def answer(self, state: TrainingState) -> bytes:
        """Train an epoch and return what leaves the site, logged and sealed; errors as in `SiteAgent`."""
        return self._let_out(pack(self._agent.answer(state)))

    def _let_out(self, envelope: Envelope) -> bytes:
        # The one way out.
        data = seal(envelope, self._key)
        self._log.write(envelope, data, "the server")
        return data

    def _read_documents(self) -> tuple[list[Document], list[Document]]:
        site = self.settings.site
        types = read_type_mapping(site.mapping)
        docs = [doc for path in site.documents for doc in read_annotated(path, types)]
        train, held_out = hold_out_patients(docs, site.held_out, site.seed)
        if not any(doc.spans for doc in train) or not any(doc.spans for doc in held_out):
            raise ConfigurationError(
                f"site {site.name}: no document with protected health information to train on, or none to "
                "calibrate on. Give more documents, or change site.seed or site.held_out"
            )
        return train, held_out

    def finish(self, state: TrainingState) -> None:
        """Calibrate on the site's own held-out documents and write the model, or raise `OutputError`."""
        trainer, folder = self.common.trainer, self.settings.site.model
        trainer.assign(trainer.layout.split(self._agent.end(state)))
        parts = model_parts(trainer.network, self.settings.network, self.common.vectors)
        scored = score_corpus(parts, self.name, self._held_out)
        points = operating_points([scored], CalibrationConfig())
        provenance = {
            "trained": "together with other sites (inverse-deid research federated)",
            "calibrated_on": {"site": self.name, "documents": len(self._held_out)},
            "lexicon_sha256": load_lexicon().sha256,
        }
        write_model(dataclasses.replace(parts, operating_points=points, provenance=provenance), folder)
        self.say(f"site {self.name}: model written to {folder}")


@dataclass(frozen=True, slots=True, eq=False)
class SiteAgent:
    """Answers states, and remembers between rounds in a file of its own."""

    name: str
    trainer: LocalTrainer = field(repr=False)
    examples: Sequence[Example] = field(repr=False)
    settings: SelectiveSettings = field(repr=False)  # of distributed selective SGD; known to nobody else
    # File for optimizer and own weights, made when first needed. With it the site resumes after a stop, even
    # in the middle of an epoch.
    memory: Path

    def answer(self, state: TrainingState) -> Reply:
        """Train one epoch and return what leaves the site.

        The same state and memory give the same reply, so that a lost answer can be made again.

        Raises:
            UpdateError: The state does not fit the network, or this site was not asked.
            UnreadableInputError: The memory is damaged.
            StageError: The loss is not a number.
        """
        layout, place = self.trainer.layout, self._find_place(state)
        local, optimizer = self._recall(state)
        if state.way == "selective":
            start = state.weights.copy() if local is None else local
            rng = np.random.default_rng([state.seed, state.epoch, place, _TAKEN])
            taken = choose_most_updated(state.counts, self.settings.download, rng)
            start[taken] = state.weights[taken]
        else:
            start = state.weights
        randomness = (state.seed, state.epoch, place, 0)
        done = self.trainer.train_epoch(self.examples, layout.split(start), randomness, optimizer)
        after = layout.flatten(done.weights)
        self._remember(state, after, done.optimizer)
        if state.way != "selective":
            return Reply(self.name, state.run, state.number, done.n_tokens, weights=after)
        rng = np.random.default_rng([state.seed, state.epoch, place, _GIVEN])
        changes = select_changes(after - start, self.settings, rng)
        return Reply(self.name, state.run, state.number, 0, indices=changes.indices, values=changes.values)

    def end(self, state: TrainingState) -> FloatArray:
        """Return the weights that the site ends with: its own in *selective*, else the common ones."""
        local, _ = self._recall(state)
        return local if state.way == "selective" and local is not None else state.weights

    def _find_place(self, state: TrainingState) -> int:
        if state.weights.shape != (self.trainer.layout.n_numbers,):
            raise UpdateError("the server's weights are of another network than this site's")
        if state.way == "selective" and state.counts.shape != state.weights.shape:
            raise UpdateError("the server did not send a count for each weight")
        if self.name not in state.asked:
            raise UpdateError(f"site {self.name} was not asked in round {state.number}")
        return state.order.index(self.name)

    def _recall(self, state: TrainingState) -> tuple[FloatArray | None, OptimizerState | None]:
        for path in (self.memory, self._earlier):
            found = _read_memory(path)
            if found and str(found["run"]) == state.run and int(found["number"]) < state.number:
                n_variables = sum(name.startswith("optimizer/") for name in found)
                optimizer = [found[f"optimizer/{i}"] for i in range(n_variables)]
                return found["weights"].astype(np.float32), optimizer
        return None, None

    def _remember(self, state: TrainingState, weights: FloatArray, optimizer: OptimizerState) -> None:
        # This round and the one before it, in case this one must be answered again.
        now = _read_memory(self.memory)
        if now and (str(now["run"]), int(now["number"])) != (state.run, state.number):
            self.memory.replace(self._earlier)
        arrays = {f"optimizer/{i}": variable for i, variable in enumerate(optimizer)}
        arrays |= {"run": np.array(state.run), "number": np.array(state.number), "weights": weights}
        write_arrays(self.memory, arrays)

    @property
    def _earlier(self) -> Path:
        return self.memory.with_name(f"earlier-{self.memory.name}")


def _read_memory(path: Path) -> dict[str, np.ndarray]:
    try:
        return read_arrays(path) if path.exists() else {}
    except UnreadableInputError as error:
        raise UnreadableInputError(f"{path}: damaged. Delete it to resume without it") from error


def describe_envelope(envelope: Envelope) -> str:
    """Describe a message for a data-protection officer: kinds, counts and sizes of its numbers.

    Example:
        >>> arrays = {"weights": np.array([3, -4], np.float32)}
        >>> describe_envelope(Envelope({"kind": "reply", "number": 2, "n_tokens": 80}, arrays))
        'reply for round 2; says: n_tokens 80; weights: 2 numbers, norm 5, largest 4'
    """
    header = dict(envelope.header)
    kind, number = header.pop("kind", "message"), header.pop("number", None)
    said = ", ".join(f"{name} {value}" for name, value in sorted(header.items()))
    parts = [f"{kind} for round {number}" if number is not None else str(kind), f"says: {said or 'nothing'}"]
    for name, array in envelope.arrays.items():
        part = f"{name}: {array.size} numbers"
        if array.size and name != "indices":
            values = array.astype(np.float64)
            part += f", norm {np.linalg.norm(values):.4g}, largest {np.abs(values).max():.4g}"
        parts.append(part)
    return "; ".join(parts)


class LeavingLog:
    """A text file with one line for each message that leaves a site; lines are only ever added."""

    def __init__(self, path: Path, clock: Callable[[], datetime] = lambda: datetime.now(UTC)) -> None:
        self._path, self._clock = path, clock

    def write(self, envelope: Envelope, data: bytes, to: str) -> None:
        """Log a message before it leaves, or raise `OutputError`; then the message must not leave."""
        digest = hashlib.sha256(data).hexdigest()
        when = self._clock().isoformat(timespec="seconds")
        line = f"{when} to {to}: {describe_envelope(envelope)}; {len(data)} bytes, sha256 {digest}\n"
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            with self._path.open("a", encoding="utf-8") as file:
                file.write(line)
        except OSError as error:
            raise OutputError(
                f"{self._path}: cannot be written ({error.strerror}). Nothing was sent"
            ) from error
