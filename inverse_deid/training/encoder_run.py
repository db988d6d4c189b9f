"""One training of an encoder: configuration in, encoder folder out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch

from inverse_deid.core.files import sha256_if_readable
from inverse_deid.core.settings import as_plain_values
from inverse_deid.lexicon import load_lexicon
from inverse_deid.masking.assemble import packaged_model
from inverse_deid.masking.scorers import feature_names
from inverse_deid.network.config import class_names
from inverse_deid.network.folder import read_model, refuse_other_folder
from inverse_deid.network.pieces import Vocabulary
from inverse_deid.network.second_reader import EncoderParts, write_encoder
from inverse_deid.rules.words import DICTIONARY_FEATURE_NAMES
from inverse_deid.training.augmentation import EpochRecipe, EpochsAhead
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
        provenance={
            **_describe(config, data, revision),
            "encoder": {
                **as_plain_values(encoder),
                "weights": sha256_if_readable(encoder.weights / "model.safetensors"),
            },
        },
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
