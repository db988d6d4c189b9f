"""One training run: configuration in, model folder out; from the start or from another model."""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from inverse_deid.choices.table import Device
from inverse_deid.core.errors import ConfigurationError, ModelError, UnreadableInputError
from inverse_deid.core.settings import as_plain_values, change_settings
from inverse_deid.core.thresholds import EVERYTHING_MASKED
from inverse_deid.core.values import Document
from inverse_deid.core.wording import _
from inverse_deid.lexicon import load_lexicon
from inverse_deid.masking.assemble import packaged_model
from inverse_deid.masking.scorers import NetworkScorer, feature_names
from inverse_deid.network.checkpoints import Checkpoints
from inverse_deid.network.config import NetworkConfig
from inverse_deid.network.encoding import WordVectors, quantise
from inverse_deid.network.folder import (
    ModelParts,
    model_fingerprint,
    read_model,
    refuse_other_folder,
    write_model,
)
from inverse_deid.network.second_reader import is_encoder, read_encoder
from inverse_deid.rules.words import DICTIONARY_FEATURE_NAMES
from inverse_deid.text.interning import InternedWords
from inverse_deid.text.tokenizer import tokenize
from inverse_deid.training.augmentation import EpochRecipe, EpochsAhead
from inverse_deid.training.backend import prepare_backend
from inverse_deid.training.calibration import (
    AtOneRecall,
    ScoredCorpus,
    at_one_recall,
    floor_lines,
    measure_all,
    operating_points,
    recall_at_precision,
)
from inverse_deid.training.config import CalibrationConfig, RunConfig, calibration_of
from inverse_deid.training.corpus import read_type_mapping
from inverse_deid.training.documents import Corpus, RunDocuments, Say, read_documents
from inverse_deid.training.evidence import Evidence, evidence_lines, keep_margin
from inverse_deid.training.examples import ExampleMaker, Weights
from inverse_deid.training.scoring import score_documents

if TYPE_CHECKING:
    import keras

PARTS: Mapping[str, tuple[str, ...]] = {
    "characters": ("character_encoder",),
    "words": ("unknown_word", "word_embedding"),
    "gaps": ("gap_embedding",),
    "features": ("feature_dense",),
    "tokens": ("narrow_dense", "token_lstm_"),
    "classes": ("hidden_dense", "classes", "crf"),
}
"""Parts of the network that fine-tuning can freeze, and how their layers' names begin."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """The surroundings of a run.

    `say` receives lines of progress (numbers only), and `show` draws a bar on standard error. `revision`, of
    the code, is for the manifest. `resume` continues an interrupted run from its checkpoint. `start` is the
    model folder to start from, None = random weights. `freeze` names `PARTS` that do not learn. `device` is
    where the network learns; auto = on a GPU if there is one.
    """

    say: Say = lambda line: None
    show: bool = False
    revision: str = ""
    resume: bool = False
    start: Path | None = None
    freeze: tuple[str, ...] = ()
    device: Device = "auto"


def train(config: RunConfig, folder: Path, around: Surroundings | None = None) -> Mapping[str, Any]:
    """Train, calibrate and write a model folder; return the provenance in its manifest.

    During the run, checkpoint, `log.csv` and TensorBoard events are written to
    `FOLDER.training`. The checkpoint is removed when the model is complete. An older model is then replaced.

    Raises:
        InputError: A corpus cannot be read.
        ConfigurationError: Settings contradict each other or the data.
        ModelError: The model to start from does not fit.
        OutputError: The logs or the checkpoint cannot be written.
    """
    around = around or Surroundings()
    refuse_other_folder(folder)
    if not around.resume:
        Checkpoints(training_folder(folder), "").refuse_unfinished()
    check_parts(around.freeze)
    data = read_documents(config, around.say)
    start = read_model(around.start) if around.start else None
    if start:
        config = change_settings(config, network=start.network)
    vectors = start.word_vectors if start else _vectors(config, data.gold)
    say = around.say
    n_words = len(vectors.words)
    say(
        _(
            "{n_gold} training documents, {n_carriers} carriers, {n_words} word vectors",
            n_gold=len(data.gold),
            n_carriers=len(data.carriers),
            n_words=n_words,
        )
    )
    say(prepare_backend(around.device))  # after all that can be refused: it takes seconds
    if config.network.output == "crf":
        say(_("the CRF learns whole sequences: phi_weight, class_weights and weak_weight have no effect"))
    scored_before = score_all(start, data.measured) if start else []
    network = _build(config, start, vectors, around)
    _fit(network, config, data, vectors, folder, around)
    parts = model_parts(network, config.network, vectors)
    scored = score_all(parts, data.measured)
    own = [corpus for corpus in scored if corpus.name in {c.name for c in data.corpora}]
    points, evidence = operating_points(own, config.calibration), Evidence.of(own)
    if start:
        points = keep_margin(points, start.operating_points, evidence, config.calibration)
    known = start.operating_points if start else None
    for line in evidence_lines(points, known, evidence, config.calibration):
        say(line)
    for line in floor_lines(own, points["lenient"], config.calibration.lenient_precision):
        say(line)
    figures = measure_all(scored, points)
    before = measure_all(scored_before, start.operating_points) if start else {}
    alike = at_one_recall(scored_before, scored, start.operating_points, points) if start else {}
    for line in _lines("before", before) + _lines("held out", figures) + _lines_at_one_recall(alike):
        say(line)
    provenance = {
        **_provenance(config, data, around),
        "calibrated_on": {"documents": evidence.n_documents, "identifiers": evidence.n_identifiers},
        "held_out": figures,
        "held_out_before": before,
        "at_one_recall": {name: one and dataclasses.asdict(one) for name, one in alike.items()},
    }
    write_model(dataclasses.replace(parts, operating_points=points, provenance=provenance), folder)
    Checkpoints(training_folder(folder), "").remove()
    return provenance


def read_calibration(folder: Path) -> CalibrationConfig:
    """Return the aims and the slope of a model, the defaults of a run that starts from it.

    Raises:
        ModelError: Missing, damaged, altered or of another format version.
    """
    parts = read_model(folder)
    return calibration_of(parts.operating_points, parts.provenance)


def _build(
    config: RunConfig, start: ModelParts | None, vectors: WordVectors, around: Surroundings
) -> keras.Model:
    import keras

    from inverse_deid.network.export import load_weights
    from inverse_deid.network.network import build_network
    from inverse_deid.network.training import enough_memory

    keras.utils.set_random_seed(config.training.seed)
    names = feature_names(config.network.feature_set)
    with enough_memory("while the network was built"):
        network = build_network(config.network, len(names), vectors.matrix())
    if start:
        if start.feature_names != names:
            raise ModelError(
                _(
                    "{start}: made for other rule features than this version has. Train it again",
                    start=around.start,
                )
            )
        load_weights(network, start.weights)
        freeze(network, around.freeze)
    return network


def _provenance(config: RunConfig, data: RunDocuments, around: Surroundings) -> dict[str, Any]:
    """Return what decided the weights: revision, settings, hashes of data, models and lexicon."""
    import keras

    return {
        "revision": around.revision,
        "started_from": model_fingerprint(around.start) if around.start else None,
        "frozen": list(around.freeze),
        "teachers": [model_fingerprint(path) for path in config.teachers],
        "training": as_plain_values(config.training),
        "data_sha256": data.hashes,
        "type_mapping": {} if config.mapping is None else dict(read_type_mapping(config.mapping)),
        "n_documents": {c.name: [len(c.train), len(c.held_out)] for c in (*data.corpora, *data.compare)},
        "lexicon_sha256": load_lexicon().sha256,
        "calibration": as_plain_values(config.calibration),
        "keras": keras.__version__,
    }


def _vectors(config: RunConfig, gold: Sequence[Document]) -> WordVectors:
    if not config.network.learn_words:
        vectors = load_word_vectors(config.word_vectors)
        if vectors.dim != config.network.word_dim:
            raise ConfigurationError(
                _("network.word_dim must be {dim}, the size of the word vectors", dim=vectors.dim)
            )
        return vectors
    counts: dict[str, int] = {}
    for doc in gold:
        for word in tokenize(doc.text).words:
            counts[word.lower()] = counts.get(word.lower(), 0) + 1
    words = sorted(word for word, count in counts.items() if count > 1 and word.isalpha())
    rng = np.random.default_rng(config.training.seed)
    drawn = rng.normal(scale=0.1, size=(len(words), config.network.word_dim)).astype(np.float32)
    return quantise(words, drawn)


def check_parts(parts: Iterable[str]) -> None:
    """Check names of parts before anything is read.

    Raises:
        ConfigurationError: An unknown part.
    """
    unknown = sorted(set(parts) - set(PARTS))
    if unknown:
        raise ConfigurationError(
            _(
                "cannot freeze {unknown}. Choose from {parts}",
                unknown=", ".join(unknown),
                parts=", ".join(PARTS),
            )
        )


def freeze(network: keras.Model, parts: Iterable[str]) -> None:
    """Keep parts of a network from learning.

    Raises:
        ConfigurationError: An unknown part, or nothing is left to learn.
    """
    parts = tuple(parts)
    check_parts(parts)
    for layer in network.layers:
        if any(layer.name.startswith(PARTS[part]) for part in parts):
            layer.trainable = False
    if not network.trainable_variables:
        raise ConfigurationError(_("all parts are frozen. Leave at least one to learn"))


def _fit(
    network: keras.Model,
    config: RunConfig,
    data: RunDocuments,
    vectors: WordVectors,
    folder: Path,
    around: Surroundings,
) -> None:
    from inverse_deid.network.training import fit
    from inverse_deid.training.logs import Events, TrainingLog

    recipe = EpochRecipe(
        gold=data.gold,
        carriers=data.carriers,
        network=config.network,
        training=config.training,
        vectors=vectors,
        teachers=[read_encoder(path) if is_encoder(path) else read_model(path) for path in config.teachers],
    )
    validate = validator(
        [corpus.held_out for corpus in data.corpora],
        ExampleMaker(config.network, load_lexicon(), vectors),
        config.network,
        config.training.stop_precision,
    )
    if config.training.patience and validate is None:
        raise ConfigurationError(_("training.patience needs held-out PHI. Raise training.validation_share"))
    checkpoints = Checkpoints(training_folder(folder), _run_key(config, data, vectors, around))
    state = checkpoints.read()
    n_done = state.epoch if state else 0
    if n_done:
        around.say(
            _("resuming after epoch {n_done} of {epochs}", n_done=n_done, epochs=config.training.epochs)
        )
    names = enumerate(feature_names(config.network.feature_set))
    columns = [i for i, name in names if name in DICTIONARY_FEATURE_NAMES]
    watched = training_folder(folder)
    log = TrainingLog(watched, around.say, n_done=n_done, show=around.show)
    with EpochsAhead(recipe) as epochs:
        fit(
            network,
            epochs,
            config.training,
            dictionary_columns=columns,
            validate=validate,
            checkpoints=checkpoints,
            callbacks=[log, Events(watched)],
        )


def validator(
    corpora: Sequence[Sequence[Document]], maker: ExampleMaker, config: NetworkConfig, precision: float
) -> Callable[[keras.Model], float] | None:
    """Return a function that measures a network: the mean over the corpora of recall at the precision.

    None if no corpus has a held-out document with PHI.
    """
    examples = [[maker.make(doc, Weights()) for doc in docs] for docs in corpora]
    examples = [some for some in examples if any((e.labels > 0).any() for e in some)]
    if not examples:
        return None

    def measure(network: keras.Model) -> float:
        from inverse_deid.network.training import probabilities

        recalls = []
        for some in examples:
            p_safe = np.concatenate([rows[:, 0] for rows in probabilities(network, some, config)])
            is_phi = np.concatenate([e.labels > 0 for e in some])
            recalls.append(recall_at_precision(is_phi, p_safe, precision))
        return float(np.mean(recalls))

    return measure


def _run_key(config: RunConfig, data: RunDocuments, vectors: WordVectors, around: Surroundings) -> str:
    """Return a hash of all that decides the weights, so that no other run is resumed."""
    words = hashlib.sha256("\n".join(vectors.words).encode() + vectors.codes.tobytes()).hexdigest()
    mapping = sorted(read_type_mapping(config.mapping).items())
    models = [model_fingerprint(path) for path in (*config.teachers, around.start) if path]
    key = (config.network, config.training, data.hashes, mapping, words, models, sorted(around.freeze))
    return hashlib.sha256(repr((*key, load_lexicon().sha256)).encode()).hexdigest()


def training_folder(folder: Path) -> Path:
    """Return where a run for this model folder keeps checkpoint and logs."""
    return folder.with_name(folder.name + ".training")


def model_parts(network: keras.Model, config: NetworkConfig, vectors: WordVectors) -> ModelParts:
    """Export a trained network; its operating points are not calibrated yet."""
    from inverse_deid.network import export

    names = feature_names(config.feature_set)
    if config.learn_words:
        vectors = quantise(vectors.words, export.read_word_matrix(network))
    return ModelParts(
        network=config,
        feature_names=names,
        word_vectors=vectors,
        characters=export.export_characters(network),
        tokens=export.export_tokens(network, config, len(names)),
        weights=export.all_weights(network),
        operating_points=dict.fromkeys(("strict", "balanced", "lenient"), EVERYTHING_MASKED),
    )


def score_all(parts: ModelParts, corpora: Iterable[Corpus]) -> list[ScoredCorpus]:
    """Score the held-out documents of each corpus."""
    return [score_corpus(parts, corpus.name, corpus.held_out) for corpus in corpora]


def _lines(title: str, figures: Mapping[str, Mapping[str, Mapping[str, float | None]]]) -> list[str]:
    lines = []
    for corpus, points in figures.items():
        pairs = []
        for name, point in points.items():
            values = (point["recall"], point["precision"])
            pairs.append(f"{name} " + "/".join("-" if v is None else f"{v:.4f}" for v in values))
        lines.append(f"{corpus}, {title}: recall/precision {'; '.join(pairs)}")
    return lines


def _lines_at_one_recall(figures: Mapping[str, AtOneRecall | None]) -> list[str]:
    return [
        f"{corpus}: precision at recall {one.recall:.4f}: {one.before:.4f} before, {one.after:.4f} now"
        for corpus, one in figures.items()
        if one
    ]


def score_corpus(parts: ModelParts, name: str, docs: Sequence[Document]) -> ScoredCorpus:
    """Score annotated documents with an exported model, as masking would."""
    interned = InternedWords()
    return score_documents(NetworkScorer(parts, interned), interned, name, docs)


def load_word_vectors(path: Path | None) -> WordVectors:
    """Read word vectors from a file, or take those of the packaged model.

    Raises:
        UnreadableInputError: The file is missing or has another structure.
    """
    if path is None:
        return read_model(packaged_model()).word_vectors
    try:
        with np.load(path, allow_pickle=False) as arrays:
            return WordVectors(tuple(arrays["words"].tolist()), arrays["codes"], arrays["scale"])
    except (OSError, KeyError, ValueError) as error:
        raise UnreadableInputError(
            _("{path}: not a file of word vectors. Make one with scripts/build_word_vectors.py", path=path)
        ) from error
