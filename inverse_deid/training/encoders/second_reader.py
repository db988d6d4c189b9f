"""Pair an encoder with a network: thresholds for both together.

The encoder learns from the documents of a training run as the network does. Since the network may learn
from the encoder, the two are trained one after the other, and paired at the end.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any

from inverse_deid.core.errors import ConfigurationError, ModelError
from inverse_deid.core.settings import as_plain_values
from inverse_deid.core.thresholds import Thresholds
from inverse_deid.core.wording import _
from inverse_deid.masking.scorers import CarefulScorer, NetworkScorer
from inverse_deid.network.doubt import Doubt, Doubts
from inverse_deid.network.folder import model_fingerprint, read_model, refuse_other_folder
from inverse_deid.network.second_reader import EncoderParts, read_encoder, write_encoder
from inverse_deid.text.interning import InternedWords
from inverse_deid.training.calibration import ScoredCorpus, measure_all, operating_points
from inverse_deid.training.config import CalibrationConfig, RunConfig
from inverse_deid.training.documents import Say, read_documents
from inverse_deid.training.scoring import score_documents

LIMITS: Doubts = MappingProxyType(
    {
        "strict": Doubt(0.02, 0.9995, 0.9995, 0.9998),
        "balanced": Doubt(0.05, 0.997, 0.999, 0.9998),
        "lenient": Doubt(0.05, 0.997, 0.999, 0.9998),
    }
)
"""Which tokens are read again at each operating point; decisions 27 and 30 say how they were chosen."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Readers:
    """A network and an encoder that read together.

    Args:
        model: Folder of the network.
        encoder: Folder of the encoder.
        doubtful: Which tokens are read again at each operating point.
        weight: Weight of the encoder in the geometric mean of both, in [0, 1].

    Raises:
        ConfigurationError: An operating point has no limits.
    """

    model: Path
    encoder: Path
    doubtful: Doubts = field(default_factory=lambda: dict(LIMITS))
    weight: float = 0.8

    def __post_init__(self) -> None:
        if missing := [name for name in LIMITS if name not in self.doubtful]:
            raise ConfigurationError(_("no limits of doubt for {missing}", missing=", ".join(missing)))


def pair_readers(readers: Readers, config: RunConfig, folder: Path, say: Say = lambda line: None) -> None:
    """Calibrate the thresholds of both readers on the held-out documents, and write the encoder with them.

    Raises:
        InputError: A corpus cannot be read.
        ModelError: A folder is damaged, or the encoder was trained on documents that are held out here.
    """
    refuse_other_folder(folder)
    parts = dataclasses.replace(
        read_encoder(readers.encoder), doubtful=readers.doubtful, weight=readers.weight
    )
    data = read_documents(config, say)
    if not _has_this_split(parts, config):
        raise ModelError(
            _(
                "{encoder}: trained with another split, so it may have seen what is held out here. Train "
                "it again",
                encoder=readers.encoder,
            )
        )
    interned = InternedWords()
    scorer = CarefulScorer(NetworkScorer(read_model(readers.model), interned), parts)
    by_limits = {
        doubt: [
            score_documents(scorer.reading_at(name), interned, corpus.name, corpus.held_out)
            for corpus in data.measured
        ]
        for doubt, name in {doubt: name for name, doubt in parts.doubtful.items()}.items()
    }
    scored = {name: by_limits[doubt] for name, doubt in parts.doubtful.items()}
    points = find_points(scored, config.calibration)
    figures: dict[str, dict[str, Any]] = {one.name: {} for one in data.measured}
    for name, pair in points.items():
        for corpus, measured in measure_all(scored[name], {name: pair}).items():
            figures[corpus] |= measured
    for name, of_corpus in figures.items():
        say(_("{name}, held out: {of_corpus}", name=name, of_corpus=of_corpus))
    write_encoder(
        dataclasses.replace(
            parts,
            first_reader=model_fingerprint(readers.model),
            operating_points=points,
            provenance={
                **parts.provenance,
                "calibration": as_plain_values(config.calibration),
                "held_out": figures,
            },
        ),
        folder,
    )


def find_points(
    scored: Mapping[str, Sequence[ScoredCorpus]], config: CalibrationConfig
) -> dict[str, Thresholds]:
    """Return the operating points, each for what is read again at it.

    Args:
        scored: The held-out corpora by operating point.
        config: What each of them aims at.
    """
    found: dict[str, Thresholds] = {}
    for name, corpora in scored.items():
        pair = operating_points(corpora, config)[name]
        stricter = min(found.values(), key=lambda one: one.high, default=pair)
        found[name] = min(pair, stricter, key=lambda one: one.high)
    return found


def _has_this_split(parts: EncoderParts, config: RunConfig) -> bool:
    """Tell whether an encoder was trained with the same split as a configuration.

    Whether a document is held out follows from the seed, the share and the ids of its group. So documents
    may be added, and marks corrected, between the two trainings.
    """
    training = parts.provenance.get("training", {})
    wanted = config.training
    return (training.get("split_seed"), training.get("validation_share")) == (
        wanted.split_seed,
        wanted.validation_share,
    )
