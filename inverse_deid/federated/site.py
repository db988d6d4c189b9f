"""`inverse-deid federated site`: declare, train when asked, calibrate at the end."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable

import numpy as np

from inverse_deid.core.errors import ConfigurationError, UpdateError
from inverse_deid.core.values import Document, FloatArray
from inverse_deid.deep.batches import Example
from inverse_deid.deep.folder import refuse_other_folder, write_model
from inverse_deid.federated.common_network import CommonNetwork
from inverse_deid.federated.deployment_config import SiteConfig
from inverse_deid.federated.file_exchange import FileExchange, read_key
from inverse_deid.federated.leaving import LeavingLog, description
from inverse_deid.federated.messages import Envelope
from inverse_deid.federated.rounds import SharedWay, State, reply_envelope, state_of
from inverse_deid.federated.server import DECLARATION, reply_name
from inverse_deid.federated.site_agent import SiteAgent
from inverse_deid.federated.splitting import hold_out
from inverse_deid.learning.calibration import operating_points
from inverse_deid.learning.config import CalibrationConfig
from inverse_deid.learning.corpus import read_annotated, read_type_mapping
from inverse_deid.learning.examples import ExampleMaker, Weights
from inverse_deid.learning.run import model_parts, score_corpus
from inverse_deid.lexicon import load_lexicon

Say = Callable[[str], None]

_STEP_S = 0.2
_SERVER = "the server"


class SiteRun:
    """One site in a common training.

    Args:
        config: The site's.
        say: Gets lines of progress; counts only.

    Raises:
        InputError: Documents or key cannot be read.
        ConfigurationError: There is no document to train on or to calibrate on.
    """

    def __init__(self, config: SiteConfig, say: Say) -> None:
        refuse_other_folder(config.model)
        self._config, self._say = config, say
        self._exchange = FileExchange(config.folder, {config.name: read_key(config.key)})
        self._log = LeavingLog(config.private / "leaving.log")
        train, self._held_out = self._documents()
        self._common = CommonNetwork(config.plan)
        maker = ExampleMaker(config.plan.network, load_lexicon(), self._common.vectors)
        weights = Weights(phi=config.plan.training.phi_weight)
        made = maker.make_many([(doc, weights) for doc in train])
        self._examples: list[Example] = [example for example in made if len(example)]
        self._agent = SiteAgent(
            config.name,
            self._common.trainer,
            self._examples,
            config.selective,
            config.private / "memory.npz",
        )

    def dry_run(self, way: SharedWay) -> None:
        """Say what would leave the site, after an epoch from fresh weights; nothing is sent.

        Args:
            way: The method that the centres agreed upon.
        """
        layout = self._common.trainer.layout
        counts = np.zeros(layout.n_numbers if way == "selective" else 0, np.int64)
        weights = layout.flat(self._common.start(1))
        name = self._config.name
        state = State(
            "dry-run", 0, way, 0, (name,), (name,), 1, finished=False, weights=weights, counts=counts
        )
        scratch = self._config.private / "dry-run.npz"
        agent = SiteAgent(name, self._common.trainer, self._examples, self._config.selective, scratch)
        try:
            reply = agent.answer(state)
        finally:
            scratch.unlink(missing_ok=True)
        self._say("nothing was sent; a run would send")
        for envelope in (self._declaration(), reply_envelope(reply)):
            size = len(self._exchange.bytes_of(name, envelope))
            self._say(f"- {description(envelope)}; {size} bytes")
        self._say("in the arrays of weights:")
        for path, shape in zip(layout.names, layout.shapes, strict=True):
            self._say(f"  {path} {'x'.join(map(str, shape))}")
        self._say("no formal guarantee: what these numbers tell of the documents is not bounded")

    def run(self) -> None:
        """Take part until the training is finished.

        Raises:
            UpdateError: The server was silent too long, or sent what does not fit.
            OutputError: The log, a message or the model cannot be written.
        """
        name = self._config.name
        self._leave(DECLARATION, self._declaration())
        self._say(f"site {name}: declared, waits for the server")
        heard, answered = time.monotonic(), ""
        while True:
            latest = self._exchange.latest(name)
            if latest is not None and latest != answered:
                state = state_of(self._exchange.read("to", name, latest))
                heard, answered = time.monotonic(), latest
                if state.finished:
                    break
                self._answer(state)
            elif time.monotonic() - heard > self._config.patience_s:
                raise UpdateError(
                    f"the server was silent for {self._config.patience_s:g} s; start the site again"
                )
            else:
                time.sleep(_STEP_S)
        self._finish(self._agent.result(state))

    def _answer(self, state: State) -> None:
        if self._exchange.has("from", self._config.name, reply_name(state.number)):
            return  # answered before this site was stopped
        envelope = reply_envelope(self._agent.answer(state))
        self._leave(reply_name(state.number), envelope)
        self._say(f"site {self._config.name}: answered round {state.number}")

    def _leave(self, message: str, envelope: Envelope) -> None:
        """The one way out: noted first, then sent."""
        data = self._exchange.bytes_of(self._config.name, envelope)
        self._log.write(envelope, data, _SERVER)
        self._exchange.send("from", self._config.name, message, data)

    def _declaration(self) -> Envelope:
        declaration = self._common.declaration(self._config.name, sum(map(len, self._examples)))
        return Envelope({"kind": "declaration", **dataclasses.asdict(declaration)})

    def _documents(self) -> tuple[list[Document], list[Document]]:
        config = self._config
        types = read_type_mapping(config.mapping)
        docs = [doc for path in config.documents for doc in read_annotated(path, types)]
        train, held_out = hold_out(docs, config.held_out, config.seed)
        if not any(doc.spans for doc in train) or not any(doc.spans for doc in held_out):
            raise ConfigurationError(
                f"site {config.name}: has no document with PHI to train on, or none to calibrate on; give "
                "more documents, or change site.seed or site.held_out"
            )
        return train, held_out

    def _finish(self, vector: FloatArray) -> None:
        """Calibrate on the site's own held-out documents and write the model."""
        common = self._common
        weights = common.trainer.layout.arrays(vector)
        for variable, value in zip(common.network.trainable_variables, weights, strict=True):
            variable.assign(value)
        parts = model_parts(common.network, self._config.plan.network, common.vectors)
        scored = score_corpus(parts, self._config.name, self._held_out)
        points = operating_points([scored], CalibrationConfig())
        pairs = {name: dataclasses.asdict(pair) for name, pair in points.items()}
        provenance = {
            "trained": "together with other sites (inverse-deid federated)",
            "calibrated_on": {"site": self._config.name, "documents": len(self._held_out)},
            "lexicon_sha256": load_lexicon().sha256,
        }
        done = dataclasses.replace(parts, operating_points=pairs, provenance=provenance)
        write_model(done, self._config.model)
        self._say(f"site {self._config.name}: model written to {self._config.model}")
