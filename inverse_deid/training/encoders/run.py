"""One training of an encoder: configuration in, encoder folder out."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import keras

from inverse_deid.core.errors import ConfigurationError
from inverse_deid.core.files import sha256_if_readable, write_folder
from inverse_deid.core.settings import as_plain_values
from inverse_deid.core.wording import _
from inverse_deid.lexicon import load_lexicon
from inverse_deid.masking.assemble import packaged_model
from inverse_deid.masking.scorers import feature_names
from inverse_deid.network.checkpoints import Checkpoints
from inverse_deid.network.config import class_names
from inverse_deid.network.folder import model_fingerprint, read_model, refuse_other_folder
from inverse_deid.network.pieces import MOST_PIECES_OF_WINDOW, Vocabulary
from inverse_deid.network.second_reader import EncoderParts, is_encoder, read_encoder
from inverse_deid.training.augmentation import EpochRecipe
from inverse_deid.training.config import RunConfig
from inverse_deid.training.documents import RunDocuments, Say, read_documents
from inverse_deid.training.encoders.encoder import (
    READING_ERRORS,
    build_encoder,
    heads_of,
    read_heads,
    read_pretrained,
    write_pretrained,
)
from inverse_deid.training.encoders.export import export_encoder, round_weights
from inverse_deid.training.encoders.passes import PassesAhead, PassMaker, text_pass
from inverse_deid.training.encoders.training import EncoderTraining, StoredOpinions, read_texts
from inverse_deid.training.encoders.weights import read_tensors, write_tensors
from inverse_deid.training.logs import Events, TrainingLog

_HEADS = "heads.safetensors"
_READ = "read.json"
"""Beside the weights of an encoder that has read texts: what, and from which weights it began."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EncoderSurroundings:
    """The surroundings of a training of an encoder.

    Args:
        say: Receives lines of progress, numbers only.
        revision: Of the code, for the manifest.
        show: Draw a progress bar on standard error.
        workers: Processes that prepare passes.
        passes: Folder in which passes are kept for other trainings of the same data; None = they are kept
            beside the model until it is trained. They contain the words of the documents.
        teacher: Trained encoder (`TrainedEncoder`) to learn from.
    """

    say: Say = lambda line: None
    revision: str = ""
    show: bool = False
    workers: int = 1
    passes: Path | None = None
    teacher: Path | None = None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TrainedEncoder:
    """A trained encoder with weights in single precision. Its folder can be a teacher, and is exported.

    The folder has `body/` (as `write_pretrained`), `heads.safetensors` and `about.json`.
    """

    network: keras.Model = field(repr=False)
    pieces: tuple[str, ...] = field(repr=False)
    class_names: tuple[str, ...]
    feature_names: tuple[str, ...] = field(repr=False)
    provenance: dict[str, Any]

    def write(self, folder: Path) -> None:
        """Write the folder; an older one of that name is replaced only when the new one is complete."""

        def write_files(staging: Path) -> None:
            write_pretrained(self.network.get_layer("body"), self.pieces, staging / "body")
            write_tensors(heads_of(self.network), staging / _HEADS)
            about = {
                "class_names": self.class_names,
                "feature_names": self.feature_names,
                "provenance": self.provenance,
            }
            (staging / "about.json").write_text(json.dumps(about, indent=1) + "\n", encoding="utf-8")

        write_folder(folder, write_files)

    @staticmethod
    def read(folder: Path) -> TrainedEncoder:
        """Read what `write` wrote.

        Raises:
            ConfigurationError: The folder lacks a file or is damaged.
        """
        body, pieces = read_pretrained(folder / "body")
        try:
            about = json.loads((folder / "about.json").read_text(encoding="utf-8"))
            classes, names = tuple(about["class_names"]), tuple(about["feature_names"])
            network = build_encoder(body, len(names), len(classes))
            read_heads(network, read_tensors(folder / _HEADS))
            provenance = dict(about["provenance"])
        except READING_ERRORS as error:
            raise ConfigurationError(
                _("{folder}: not a trained encoder. Train it again", folder=folder)
            ) from error
        return TrainedEncoder(
            network=network,
            pieces=pieces,
            class_names=classes,
            feature_names=names,
            provenance=provenance,
        )

    @staticmethod
    def hash_of(folder: Path) -> str:
        """Return a hash of the weights in a folder."""
        files = (_HEADS, "body/model.safetensors")
        return hashlib.sha256(
            ":".join(sha256_if_readable(folder / f) or "" for f in files).encode()
        ).hexdigest()

    def parts(self) -> EncoderParts:
        """Return the content of an encoder folder, with weights of 8 bits and without thresholds."""
        return EncoderParts(
            class_names=self.class_names,
            feature_names=self.feature_names,
            pieces=self.pieces,
            graph=round_weights(export_encoder(self.network)),
            provenance=self.provenance,
        )


def train_encoder(
    config: RunConfig, weights: Path, folder: Path, around: EncoderSurroundings | None = None
) -> TrainedEncoder:
    """Fine-tune an encoder, and write it into `FOLDER.training/trained`.

    `weights` are those of a pre-trained encoder, or of a trained one (`TrainedEncoder`).

    An interrupted training resumes from the checkpoint in `FOLDER.training`.

    Raises:
        InputError: A corpus cannot be read.
        ConfigurationError: Settings contradict each other or the data, or the weights cannot be read.
        ModelError: The folder exists and is not a model folder, or the teacher has other word pieces.
    """
    around = around or EncoderSurroundings()
    refuse_other_folder(folder)
    if config.training.window > MOST_PIECES_OF_WINDOW - 2:
        raise ConfigurationError(
            _(
                "training.window: an encoder reads at most {most_pieces_of_window} tokens",
                most_pieces_of_window=MOST_PIECES_OF_WINDOW - 2,
            )
        )
    data = read_documents(config, around.say)
    keras.utils.set_random_seed(config.training.seed)
    is_trained = (weights / _HEADS).exists()
    first = weights / "body" if is_trained else weights
    body, pieces = read_pretrained(first, config.encoder, _policy(config))
    names, classes = feature_names(config.network.feature_set), class_names(config.network.targets)
    vocabulary = Vocabulary(pieces)
    own = folder.with_name(folder.name + ".training")
    own.mkdir(parents=True, exist_ok=True)
    provenance = {
        **_describe(config, data, around.revision),
        "encoder": {
            **{k: v for k, v in as_plain_values(config.encoder).items() if not k.startswith("reading")},
            "weights": TrainedEncoder.hash_of(weights)
            if is_trained
            else sha256_if_readable(weights / "model.safetensors"),
            "read": json.loads((weights / _READ).read_text("utf-8")) if (weights / _READ).exists() else None,
            "teacher": around.teacher and TrainedEncoder.hash_of(around.teacher),
        },
    }
    maker = PassMaker(
        recipe=_recipe(config, data),
        pieces=pieces,
        hidden_words=config.encoder.hidden_words,
        folder=around.passes or own / "passes",
        data=data.hashes,
        teachers=tuple(model_fingerprint(path) for path in config.teachers),
    )
    checkpoints = Checkpoints(own, _key(provenance, maker.key))
    n_passes = -(-config.training.epochs // config.training.repeats)
    with PassesAhead(maker, n_passes, around.workers) as passes:
        network = build_encoder(body, len(names), len(classes))
        if is_trained:
            _begin_with_heads(network, weights, names, classes)
        EncoderTraining(
            network=network,
            vocabulary=vocabulary,
            passes=passes,
            config=config.training,
            encoder=config.encoder,
            checkpoints=checkpoints,
            callbacks=_logs(own, checkpoints, config.training.epochs, around),
            opinions=_opinions(around, vocabulary, config, maker.folder),
        ).run()
    trained = TrainedEncoder(
        network=network, pieces=pieces, class_names=classes, feature_names=names, provenance=provenance
    )
    trained.write(own / "trained")
    trained = TrainedEncoder.read(own / "trained")  # in single precision
    if around.passes is None:
        shutil.rmtree(own / "passes")
    return trained


def _begin_with_heads(
    network: keras.Model, folder: Path, names: tuple[str, ...], classes: tuple[str, ...]
) -> None:
    """Give a network the heads of a trained encoder.

    Raises:
        ConfigurationError: It reads other features or tells other classes apart, or is damaged.
    """
    try:
        about = json.loads((folder / "about.json").read_text(encoding="utf-8"))
        if (tuple(about["feature_names"]), tuple(about["class_names"])) != (names, classes):
            raise ConfigurationError(
                _(
                    "{folder}: reads other features or tells other classes apart. Train it again",
                    folder=folder,
                )
            )
        read_heads(network, read_tensors(folder / _HEADS))
    except READING_ERRORS as error:
        raise ConfigurationError(
            _("{folder}: not a trained encoder. Train it again", folder=folder)
        ) from error


def _key(provenance: Mapping[str, Any], passes: str) -> str:
    """Return a hash of all that decides the weights. The revision does not: it may change within a run."""
    deciding = {name: value for name, value in provenance.items() if name not in {"revision", "keras"}}
    return hashlib.sha256(repr((sorted(deciding.items()), passes)).encode()).hexdigest()


def read_further(config: RunConfig, weights: Path, folder: Path, around: EncoderSurroundings) -> None:
    """Let a pre-trained encoder read the texts of a configuration, and write it in the form it was read in.

    Raises:
        InputError: A corpus cannot be read.
        ConfigurationError: Settings contradict each other or the data, the weights cannot be read, or the
            folder exists and is not one that was written so.
    """
    if config.encoder.reading_passes == 0:
        raise ConfigurationError(_("encoder.reading_passes is 0, so nothing would be read. Raise it"))
    if folder.exists() and not (folder / _READ).exists():
        raise ConfigurationError(
            _(
                "{folder}: exists, and is not an encoder that has read texts. Name another folder",
                folder=folder,
            )
        )
    data = read_documents(config, around.say)
    keras.utils.set_random_seed(config.training.seed)
    body, pieces = read_pretrained(weights, dtype=_policy(config))
    texts = text_pass([*data.carriers, *data.gold], pieces, config.training.window, around.workers)
    about = {
        "weights": sha256_if_readable(weights / "model.safetensors"),
        "passes": config.encoder.reading_passes,
        "rate": config.encoder.reading_rate,
        "data_sha256": dict(data.hashes),
    }
    own = folder.with_name(folder.name + ".training")
    deciding = (sorted(about.items()), as_plain_values(config.encoder), config.training.seed)
    checkpoints = Checkpoints(own, hashlib.sha256(repr(deciding).encode()).hexdigest())
    read_texts(
        body,
        texts,
        Vocabulary(pieces),
        config.encoder,
        config.training.seed,
        checkpoints=checkpoints,
        callbacks=_logs(own, checkpoints, config.encoder.reading_passes, around),
    )

    def write_files(staging: Path) -> None:
        write_pretrained(body, pieces, staging)
        (staging / _READ).write_text(json.dumps(about, indent=1) + "\n", encoding="utf-8")

    write_folder(folder, write_files)
    checkpoints.remove()


def _policy(config: RunConfig) -> str:
    """Return the dtype policy of Keras."""
    return "mixed_bfloat16" if config.encoder.bfloat16 else "float32"


def _logs(
    own: Path, checkpoints: Checkpoints, n_passes: int, around: EncoderSurroundings
) -> list[keras.callbacks.Callback]:
    state = checkpoints.read()
    n_done = state.epoch if state else 0
    if n_done:
        around.say(_("resuming after pass {n_done} of {n_passes}", n_done=n_done, n_passes=n_passes))
    return [TrainingLog(own, around.say, n_done=n_done, show=around.show), Events(own)]


def _opinions(
    around: EncoderSurroundings, vocabulary: Vocabulary, config: RunConfig, folder: Path
) -> StoredOpinions | None:
    if around.teacher is None:
        return None
    teacher = TrainedEncoder.read(around.teacher)
    _check_classes(teacher, config)
    numbers = vocabulary.numbers_in(Vocabulary(teacher.pieces))
    key = TrainedEncoder.hash_of(around.teacher)
    return StoredOpinions(teacher.network, numbers, vocabulary.pad, folder, key)


def _check_classes(teacher: TrainedEncoder, config: RunConfig) -> None:
    if teacher.class_names != class_names(config.network.targets):
        raise ConfigurationError(_("teacher and network have different classes. Correct network.targets"))
    if teacher.feature_names != feature_names(config.network.feature_set):
        raise ConfigurationError(
            _("teacher and network read different features. Correct network.feature_set")
        )


def _recipe(config: RunConfig, data: RunDocuments) -> EpochRecipe:
    return EpochRecipe(
        gold=data.gold,
        carriers=data.carriers,
        network=config.network,
        training=config.training,
        vectors=read_model(packaged_model()).word_vectors,
        teachers=[read_encoder(path) if is_encoder(path) else read_model(path) for path in config.teachers],
    )


def _describe(config: RunConfig, data: RunDocuments, revision: str) -> dict[str, Any]:
    """Return what decided the weights: revision, settings, hashes of data and lexicon."""
    return {
        "revision": revision,
        "training": as_plain_values(config.training),
        "teachers": [model_fingerprint(path) for path in config.teachers],
        "data_sha256": dict(data.hashes),
        "n_documents": {corpus.name: [len(corpus.train), len(corpus.held_out)] for corpus in data.corpora},
        "lexicon_sha256": load_lexicon().sha256,
        "keras": keras.__version__,
    }
