"""Train a second reader, and pair it with a network: thresholds for both together.

The encoder learns from the documents of a training run as the network does. Since the network may learn
from the encoder, the two are trained one after the other, and paired at the end.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch

from inverse_deid.core.errors import ModelError
from inverse_deid.core.settings import as_plain_values
from inverse_deid.core.thresholds import OperatingPoints
from inverse_deid.lexicon import load_lexicon
from inverse_deid.masking.assemble import packaged_model
from inverse_deid.masking.scorers import CarefulScorer, NetworkScorer, feature_names
from inverse_deid.network.config import class_names
from inverse_deid.network.folder import model_fingerprint, read_model, refuse_other_folder
from inverse_deid.network.pieces import Vocabulary
from inverse_deid.network.second_reader import EncoderParts, read_encoder, write_encoder
from inverse_deid.rules.words import DICTIONARY_FEATURE_NAMES
from inverse_deid.text.interning import InternedWords
from inverse_deid.training.augmentation import EpochRecipe, EpochsAhead
from inverse_deid.training.calibration import ScoredCorpus, measure, operating_points
from inverse_deid.training.config import RunConfig
from inverse_deid.training.documents import RunDocuments, Say, read_documents
from inverse_deid.training.encoder import (
    EncoderConfig,
    EncoderNetwork,
    EncoderTraining,
    export_encoder,
    read_pretrained,
    round_weights,
)
from inverse_deid.training.scoring import score_documents


def train_encoder(
    config: RunConfig, encoder: EncoderConfig, folder: Path, say: Say = lambda line: None, revision: str = ""
) -> None:
    """Fine-tune an encoder and write its folder, without thresholds: nothing is masked with it yet.

    An interrupted training resumes from the checkpoint in `FOLDER.training`.

    Raises:
        InputError: A corpus cannot be read.
        ConfigurationError: Settings contradict each other or the data, or the weights cannot be read.
        ModelError: The folder exists and is not a model folder.
    """
    refuse_other_folder(folder)
    data = read_documents(config, say)
    torch.manual_seed(config.training.seed)
    bert, pieces = read_pretrained(encoder.weights)
    names, classes = feature_names("all"), class_names(config.network.targets)
    network, vocabulary = EncoderNetwork(bert, len(names), len(classes)), Vocabulary(pieces)
    checkpoint = folder.with_name(folder.name + ".training") / "checkpoint.pt"
    checkpoint.parent.mkdir(parents=True, exist_ok=True)
    recipe = EpochRecipe(
        gold=data.gold,
        carriers=data.carriers,
        network=config.network,
        training=config.training,
        vectors=read_model(packaged_model()).word_vectors,
    )
    with EpochsAhead(recipe) as epochs:
        EncoderTraining(
            network=network,
            vocabulary=vocabulary,
            epochs=epochs,
            config=config.training,
            encoder=encoder,
            dictionary_columns=[i for i, name in enumerate(names) if name in DICTIONARY_FEATURE_NAMES],
            checkpoint=checkpoint,
            say=say,
        ).run()
    parts = EncoderParts(
        class_names=classes,
        feature_names=names,
        pieces=pieces,
        graph=round_weights(export_encoder(network, vocabulary)),
        provenance={**_describe(config, data, revision), "encoder": as_plain_values(encoder)},
    )
    write_encoder(parts, folder)


def _describe(config: RunConfig, data: RunDocuments, revision: str) -> dict[str, Any]:
    """Return what decided the weights: revision, settings, hashes of data and lexicon."""
    return {
        "revision": revision,
        "training": as_plain_values(config.training),
        "data_sha256": dict(data.hashes),
        "n_documents": {corpus.name: [len(corpus.train), len(corpus.held_out)] for corpus in data.corpora},
        "lexicon_sha256": load_lexicon().sha256,
        "torch": torch.__version__,
    }


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """A network and an encoder that read together.

    Args:
        model: Folder of the network.
        encoder: Folder of the encoder.
        doubtful: Lowest and highest `p_safe` of the tokens that are read again.
    """

    model: Path
    encoder: Path
    doubtful: tuple[float, float] = (0.3, 0.99)


def pair_readers(pair: Pair, config: RunConfig, folder: Path, say: Say = lambda line: None) -> None:
    """Calibrate the thresholds of both readers on the held-out documents, and write the encoder with them.

    Raises:
        InputError: A corpus cannot be read.
        ModelError: A folder is damaged, or the encoder was trained on documents that are held out here.
    """
    refuse_other_folder(folder)
    parts = dataclasses.replace(read_encoder(pair.encoder), doubtful=pair.doubtful)
    data = read_documents(config, say)
    learned = parts.provenance.get("training", {})
    if [learned.get(name) for name in ("split_seed", "validation_share")] != [
        config.training.split_seed,
        config.training.validation_share,
    ] or parts.provenance.get("data_sha256") != data.hashes:
        raise ModelError(f"{pair.encoder}: trained on other documents than are held out here. Train it again")
    interned = InternedWords()
    scorer = CarefulScorer(NetworkScorer(read_model(pair.model), interned), parts)
    scored = [score_documents(scorer, interned, corpus.name, corpus.held_out) for corpus in data.measured]
    points = operating_points(scored, config.calibration)
    figures = _figures(scored, points)
    for name, of_corpus in figures.items():
        say(f"{name}, held out: {of_corpus}")
    write_encoder(
        dataclasses.replace(
            parts,
            first_reader=model_fingerprint(pair.model),
            operating_points=points,
            provenance={
                **parts.provenance,
                "calibration": as_plain_values(config.calibration),
                "held_out": figures,
            },
        ),
        folder,
    )


def _figures(
    corpora: Sequence[ScoredCorpus], points: OperatingPoints
) -> dict[str, dict[str, Mapping[str, float | None]]]:
    """Return the recall and precision by corpus and operating point."""
    return {
        corpus.name: {name: dataclasses.asdict(measure(corpus, point)) for name, point in points.items()}
        for corpus in corpora
    }
