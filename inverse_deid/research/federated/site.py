"""A site of a common training: what it says of itself, answers and ends with.

Nothing here waits or carries anything; that is `taking_part`.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import numpy as np

from inverse_deid.core.errors import ConfigurationError
from inverse_deid.core.values import Document
from inverse_deid.lexicon import load_lexicon
from inverse_deid.network.batches import Example
from inverse_deid.network.folder import refuse_other_folder, write_model
from inverse_deid.research.federated.common_network import CommonNetwork
from inverse_deid.research.federated.deployment_config import SiteConfig
from inverse_deid.research.federated.file_exchange import read_key
from inverse_deid.research.federated.leaving import LeavingLog, description
from inverse_deid.research.federated.messages import Envelope, opened, sealed
from inverse_deid.research.federated.rounds import SharedWay, State, reply_envelope
from inverse_deid.research.federated.site_agent import SiteAgent
from inverse_deid.training.calibration import operating_points
from inverse_deid.training.config import CalibrationConfig
from inverse_deid.training.corpus import hold_out_patients, read_annotated, read_type_mapping
from inverse_deid.training.examples import ExampleMaker, Weights
from inverse_deid.training.run import model_parts, score_corpus

Say = Callable[[str], None]

_SERVER = "the server"


class SiteRun:
    """One site in a common training.

    Everything that leaves it goes through `declared` and `answered`, which note it first.

    Args:
        config: The site's.
        say: Gets lines of progress; counts only.

    Raises:
        InputError: Documents or key cannot be read.
        ConfigurationError: There is no document to train on or to calibrate on.
    """

    def __init__(self, config: SiteConfig, say: Say) -> None:
        refuse_other_folder(config.model)
        self.config, self.say = config, say
        self._key = read_key(config.key)
        self._log = LeavingLog(config.private / "leaving.log")
        train, self._held_out = self._documents()
        self.common = CommonNetwork(config.plan)
        maker = ExampleMaker(config.plan.network, load_lexicon(), self.common.vectors)
        weights = Weights(phi=config.plan.training.phi_weight)
        made = maker.make_many([(doc, weights) for doc in train])
        self._examples: list[Example] = [example for example in made if len(example)]
        self._agent = SiteAgent(
            config.name,
            self.common.trainer,
            self._examples,
            config.selective,
            config.private / "memory.npz",
        )

    def dry_run(self, way: SharedWay) -> None:
        """Say what would leave the site, after an epoch from fresh weights; nothing is sent.

        Args:
            way: The method that the centres agreed upon.
        """
        layout = self.common.trainer.layout
        counts = np.zeros(layout.n_numbers if way == "selective" else 0, np.int64)
        weights = layout.flat(self.common.start(1))
        name = self.config.name
        state = State(
            "dry-run", 0, way, 0, (name,), (name,), 1, finished=False, weights=weights, counts=counts
        )
        scratch = self.config.private / "dry-run.npz"
        agent = SiteAgent(name, self.common.trainer, self._examples, self.config.selective, scratch)
        try:
            reply = agent.answer(state)
        finally:
            scratch.unlink(missing_ok=True)
        self.say("nothing was sent; a run would send")
        for envelope in (self._declaration(), reply_envelope(reply)):
            size = len(sealed(envelope, self._key))
            self.say(f"- {description(envelope)}; {size} bytes")
        self.say("in the arrays of weights:")
        for path, shape in zip(layout.names, layout.shapes, strict=True):
            self.say(f"  {path} {'x'.join(map(str, shape))}")
        self.say("no formal guarantee: what these numbers tell of the documents is not bounded")

    def understood(self, data: bytes) -> Envelope:
        """Open a message of the server.

        Raises:
            UpdateError: It is damaged, or sealed with another key.
        """
        return opened(data, self._key)

    def declared(self) -> bytes:
        """What the site says of itself, noted and sealed."""
        return self._noted(self._declaration())

    def answered(self, state: State) -> bytes:
        """What leaves the site after an epoch, noted and sealed.

        Raises:
            UpdateError: The state does not fit.
            OutputError: It cannot be noted.
        """
        return self._noted(reply_envelope(self._agent.answer(state)))

    def _noted(self, envelope: Envelope) -> bytes:
        """The one way out."""
        data = sealed(envelope, self._key)
        self._log.write(envelope, data, _SERVER)
        return data

    def _declaration(self) -> Envelope:
        declaration = self.common.declaration(self.config.name, sum(map(len, self._examples)))
        return Envelope({"kind": "declaration", **dataclasses.asdict(declaration)})

    def _documents(self) -> tuple[list[Document], list[Document]]:
        config = self.config
        types = read_type_mapping(config.mapping)
        docs = [doc for path in config.documents for doc in read_annotated(path, types)]
        train, held_out = hold_out_patients(docs, config.held_out, config.seed)
        if not any(doc.spans for doc in train) or not any(doc.spans for doc in held_out):
            raise ConfigurationError(
                f"site {config.name}: has no document with PHI to train on, or none to calibrate on; give "
                "more documents, or change site.seed or site.held_out"
            )
        return train, held_out

    def finish(self, state: State) -> None:
        """Calibrate on the site's own held-out documents and write the model.

        Raises:
            OutputError: The model cannot be written.
        """
        common = self.common
        weights = common.trainer.layout.arrays(self._agent.result(state))
        for variable, value in zip(common.network.trainable_variables, weights, strict=True):
            variable.assign(value)
        parts = model_parts(common.network, self.config.plan.network, common.vectors)
        scored = score_corpus(parts, self.config.name, self._held_out)
        points = operating_points([scored], CalibrationConfig())
        provenance = {
            "trained": "together with other sites (inverse-deid federated)",
            "calibrated_on": {"site": self.config.name, "documents": len(self._held_out)},
            "lexicon_sha256": load_lexicon().sha256,
        }
        done = dataclasses.replace(parts, operating_points=points, provenance=provenance)
        write_model(done, self.config.model)
        self.say(f"site {self.config.name}: model written to {self.config.model}")
