"""One training run: configuration in, model folder out; from the start or from another model."""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import keras
import numpy as np

from inverse_deid.core.errors import ConfigurationError, ModelError, UnreadableInputError
from inverse_deid.core.thresholds import EVERYTHING_MASKED, Thresholds
from inverse_deid.core.values import Document
from inverse_deid.lexicon import load_lexicon
from inverse_deid.masking.assemble import packaged_model
from inverse_deid.masking.pipeline import joined_verdicts
from inverse_deid.masking.scorers import feature_columns, feature_names
from inverse_deid.network import export
from inverse_deid.network.checkpoints import Checkpoints
from inverse_deid.network.config import NetworkConfig
from inverse_deid.network.encoding import WordVectors, quantised
from inverse_deid.network.folder import (
    ModelParts,
    model_fingerprint,
    read_model,
    refuse_other_folder,
    write_model,
)
from inverse_deid.network.network import build_network
from inverse_deid.network.scorer import Scorer, ScorerInput
from inverse_deid.network.training import Watch, enough_memory, fit
from inverse_deid.rules.analysis import RuleAnalyser
from inverse_deid.rules.words import DICTIONARY_FEATURE_NAMES
from inverse_deid.text.interning import InternedWords
from inverse_deid.text.tokenizer import span_of_token, tokenize
from inverse_deid.training.augmentation import EpochRecipe, EpochsAhead
from inverse_deid.training.calibration import (
    OperatingPoint,
    ScoredCorpus,
    densities,
    floor_lines,
    measure,
    operating_points,
)
from inverse_deid.training.config import RunConfig
from inverse_deid.training.corpus import read_type_mapping
from inverse_deid.training.documents import Corpus, RunDocuments, Say, read_documents
from inverse_deid.training.examples import ExampleMaker
from inverse_deid.training.forgetting import AtOneRecall, at_one_recall
from inverse_deid.training.logs import TrainingLog
from inverse_deid.training.validation import validator

PARTS: Mapping[str, tuple[str, ...]] = {
    "characters": ("character_encoder",),
    "words": ("unknown_word", "word_embedding"),
    "gaps": ("gap_embedding",),
    "features": ("feature_dense",),
    "tokens": ("token_lstm_",),
    "classes": ("hidden_dense", "classes", "crf"),
}
"""Parts of the network that fine-tuning can freeze, and how their layers' names begin."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """What a run is told besides its configuration.

    Args:
        say: Gets a line of progress now and then; numbers only.
        show: Draw a progress bar on standard error.
        revision: Of the code, for the manifest.
        resume: Go on from the checkpoint of an interrupted run.
        start: Model folder to start from, None = random weights.
        freeze: Names out of `PARTS` that stay as they are.
    """

    say: Say = lambda line: None
    show: bool = False
    revision: str = ""
    resume: bool = False
    start: Path | None = None
    freeze: tuple[str, ...] = ()


def train(config: RunConfig, folder: Path, around: Surroundings | None = None) -> Mapping[str, Any]:
    """Train, calibrate and write a model folder.

    While it runs, `FOLDER.training` beside it takes the checkpoint, `log.csv` and
    the TensorBoard events; the checkpoint goes when the model is complete.

    Args:
        config: The run.
        folder: Where the model goes; an older model there is replaced at the end.
        around: Progress, resuming, the model to start from.

    Returns:
        The provenance that was written to the manifest.

    Raises:
        InputError: A corpus cannot be read.
        ConfigurationError: Settings contradict each other or the data.
        ModelError: The model to start from does not fit.
        OutputError: The logs or the checkpoint cannot be written.
    """
    around = around or Surroundings()
    refuse_other_folder(folder)
    if not around.resume:
        _checkpoints(folder, "").refuse_unfinished()
    check_parts(around.freeze)
    data = read_documents(config, around.say)
    start = read_model(around.start) if around.start else None
    network_config = start.network if start else config.network
    vectors = start.word_vectors if start else _vectors(config, data.gold)
    say = around.say
    n_words = len(vectors.words)
    say(f"{len(data.gold)} training documents, {len(data.carriers)} carriers, {n_words} word vectors")
    say(device_line())
    if network_config.output == "crf":
        say("the CRF learns whole sequences: phi_weight, class_weights and weak_weight do not act")
    scored_before = score_all(start, data.measured) if start else []
    keras.utils.set_random_seed(config.training.seed)
    names = feature_names(network_config.feature_set)
    with enough_memory("while the network was built"):
        network = build_network(network_config, len(names), vectors.matrix())
    if start:
        if start.feature_names != names:
            raise ModelError(f"{around.start}: reads other rule features than this version has; train anew")
        export.load_weights(network, start.weights)
        freeze(network, around.freeze)
    _fit(network, dataclasses.replace(config, network=network_config), data, vectors, folder, around)
    parts = model_parts(network, network_config, vectors)
    scored = score_all(parts, data.measured)
    own = [corpus for corpus in scored if corpus.name in {c.name for c in data.corpora}]
    points = operating_points(own, config.calibration)
    for line in floor_lines(own, points["lenient"], config.calibration.lenient_precision):
        say(line)
    figures = _figures(scored, points)
    before = _figures(scored_before, start.operating_points) if start else {}
    alike = at_one_recall(scored_before, scored, start.operating_points, points) if start else {}
    for line in _lines("before", before) + _lines("held out", figures) + _lines_at_one_recall(alike):
        say(line)
    provenance = {
        "revision": around.revision,
        "started_from": model_fingerprint(around.start) if around.start else None,
        "frozen": list(around.freeze),
        "teachers": [model_fingerprint(path) for path in config.teachers],
        "training": dataclasses.asdict(config.training),
        "data_sha256": data.hashes,
        "type_mapping": {} if config.mapping is None else dict(read_type_mapping(config.mapping)),
        "n_documents": {c.name: [len(c.train), len(c.held_out)] for c in (*data.corpora, *data.compare)},
        "lexicon_sha256": load_lexicon().sha256,
        "calibration": dataclasses.asdict(config.calibration),
        "held_out": figures,
        "held_out_before": before,
        "at_one_recall": {name: one and dataclasses.asdict(one) for name, one in alike.items()},
        "keras": keras.__version__,
    }
    write_model(dataclasses.replace(parts, operating_points=points, provenance=provenance), folder)
    _checkpoints(folder, "").remove()
    return provenance


def _vectors(config: RunConfig, gold: Sequence[Document]) -> WordVectors:
    if not config.network.learn_words:
        vectors = load_word_vectors(config.word_vectors)
        if vectors.dim != config.network.word_dim:
            raise ConfigurationError(f"network.word_dim must be {vectors.dim}, as of the word vectors")
        return vectors
    counts: dict[str, int] = {}
    for doc in gold:
        for word in tokenize(doc.text).words:
            counts[word.lower()] = counts.get(word.lower(), 0) + 1
    words = sorted(word for word, count in counts.items() if count > 1 and word.isalpha())
    rng = np.random.default_rng(config.training.seed)
    drawn = rng.normal(scale=0.1, size=(len(words), config.network.word_dim)).astype(np.float32)
    return quantised(words, drawn)


def check_parts(parts: Iterable[str]) -> None:
    """Check names of parts before anything is read.

    Raises:
        ConfigurationError: An unknown part.
    """
    unknown = sorted(set(parts) - set(PARTS))
    if unknown:
        raise ConfigurationError(f"cannot freeze {', '.join(unknown)}; parts are {', '.join(PARTS)}")


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
        raise ConfigurationError("all parts are frozen; leave one to learn")


def _fit(
    network: keras.Model,
    config: RunConfig,
    data: RunDocuments,
    vectors: WordVectors,
    folder: Path,
    around: Surroundings,
) -> None:
    names = feature_names(config.network.feature_set)
    recipe = EpochRecipe(
        gold=data.gold,
        carriers=data.carriers,
        network=config.network,
        training=config.training,
        vectors=vectors,
        teachers=[read_model(path) for path in config.teachers],
    )
    validate = validator(
        [corpus.held_out for corpus in data.corpora],
        ExampleMaker(config.network, load_lexicon(), vectors),
        config.network,
        config.training.stop_precision,
    )
    if config.training.patience and validate is None:
        raise ConfigurationError("training.patience needs held-out PHI; raise training.validation_share")
    checkpoints = _checkpoints(folder, _run_key(config, data, vectors, around))
    n_done = checkpoints.n_epochs()
    if n_done:
        around.say(f"goes on after epoch {n_done} of {config.training.epochs}")
    columns = [i for i, name in enumerate(names) if name in DICTIONARY_FEATURE_NAMES]
    log = TrainingLog(
        training_folder(folder), config.training.epochs, around.say, n_done=n_done, show=around.show
    )
    with log, EpochsAhead(recipe) as epochs:
        watch = Watch(
            on_batch=log.on_batch, on_epoch=log.on_epoch, validate=validate, checkpoints=checkpoints
        )
        fit(network, epochs, config.training, dictionary_columns=columns, watch=watch)


def _run_key(config: RunConfig, data: RunDocuments, vectors: WordVectors, around: Surroundings) -> str:
    """Changes with everything that decides what the weights become, so that no other run is gone on with."""
    words = hashlib.sha256("\n".join(vectors.words).encode() + vectors.codes.tobytes()).hexdigest()
    mapping = sorted(read_type_mapping(config.mapping).items())
    models = [
        model_fingerprint(path) for path in (*config.teachers, *([around.start] if around.start else []))
    ]
    key = (config.network, config.training, data.hashes, mapping, words, models, sorted(around.freeze))
    return hashlib.sha256(repr((*key, load_lexicon().sha256)).encode()).hexdigest()


def training_folder(folder: Path) -> Path:
    """Where a run for this model folder keeps checkpoint and logs."""
    return folder.with_name(folder.name + ".training")


def _checkpoints(folder: Path, run: str) -> Checkpoints:
    return Checkpoints(training_folder(folder), run)


def model_parts(network: keras.Model, config: NetworkConfig, vectors: WordVectors) -> ModelParts:
    """Export a trained network; the operating points are still to be calibrated."""
    names = feature_names(config.feature_set)
    if config.learn_words:
        vectors = quantised(vectors.words, export.learned_word_matrix(network))
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
    """Score the documents of each corpus that nobody trains on."""
    return [score_corpus(parts, corpus.name, corpus.held_out) for corpus in corpora]


def _figures(
    corpora: Sequence[ScoredCorpus], points: Mapping[str, Thresholds]
) -> dict[str, dict[str, Mapping[str, float | None]]]:
    """Recall and precision by corpus and operating point."""
    return {
        corpus.name: {name: dataclasses.asdict(measure(corpus, pair)) for name, pair in points.items()}
        for corpus in corpora
    }


def _lines(title: str, figures: Mapping[str, Mapping[str, Mapping[str, float | None]]]) -> list[str]:
    lines = []
    for corpus, points in figures.items():
        shown = "; ".join(f"{name} {_shown(OperatingPoint(**point))}" for name, point in points.items())
        lines.append(f"{corpus}, {title}: recall/precision {shown}")
    return lines


def _lines_at_one_recall(figures: Mapping[str, AtOneRecall | None]) -> list[str]:
    return [
        f"{corpus}: precision at recall {one.recall:.4f}: {one.before:.4f} before, {one.after:.4f} now"
        for corpus, one in figures.items()
        if one
    ]


def _shown(point: OperatingPoint) -> str:
    values = (point.recall, point.precision)
    return "/".join("-" if value is None else f"{value:.4f}" for value in values)


def score_corpus(parts: ModelParts, name: str, docs: Sequence[Document]) -> ScoredCorpus:
    """Score annotated documents with an exported model, as masking would."""
    interned = InternedWords()
    scorer, analyser = Scorer(parts, interned), RuleAnalyser(load_lexicon(), interned)
    tokens = [tokenize(doc.text) for doc in docs]
    analyses = analyser.analyse_many(tokens)
    columns = feature_columns(parts.feature_names)
    inputs = [ScorerInput(t, a.ids, a.features[:, columns]) for t, a in zip(tokens, analyses, strict=True)]
    scores = scorer.score(inputs)
    verdicts = joined_verdicts(tokens, [analysis.verdicts for analysis in analyses])
    owners = [span_of_token(t, doc.spans) for t, doc in zip(tokens, docs, strict=True)]
    return ScoredCorpus(
        name=name,
        is_phi=np.concatenate(owners) >= 0,
        p_safe=np.concatenate([s[:, 0] for s in scores]),
        verdicts=verdicts,
        densities=densities([s[:, 0] for s in scores]),
    )


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
            f"{path}: no word vectors; make them with scripts/build_word_vectors.py"
        ) from error


def device_line() -> str:
    """Which device trains, in a sentence."""
    import tensorflow as tf

    names = [device.name for device in tf.config.list_physical_devices("GPU")]
    return f"training on {', '.join(names)}" if names else "training on the CPU (no GPU was found)"
