"""One training run: configuration in, model folder out; from the start or from another model."""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import keras
import numpy as np

from inverse_deid.assemble import feature_columns, feature_names, packaged_model
from inverse_deid.combine import Thresholds
from inverse_deid.core.errors import ConfigurationError, UnreadableInputError
from inverse_deid.core.values import Document
from inverse_deid.deep import export
from inverse_deid.deep.checkpoints import Checkpoints
from inverse_deid.deep.config import NetworkConfig
from inverse_deid.deep.encoding import WordVectors, quantised
from inverse_deid.deep.folder import (
    ModelParts,
    model_fingerprint,
    read_model,
    refuse_other_folder,
    write_model,
)
from inverse_deid.deep.network import build_network
from inverse_deid.deep.scorer import Scorer, ScorerInput
from inverse_deid.deep.training import Watch, fit
from inverse_deid.learning.augmentation import EpochRecipe, EpochsAhead
from inverse_deid.learning.calibration import OperatingPoint, ScoredCorpus, measure, operating_points
from inverse_deid.learning.config import RunConfig
from inverse_deid.learning.corpus import (
    OFFICIAL_SIZES,
    official_split,
    read_annotated,
    read_type_mapping,
    split_by_group,
)
from inverse_deid.learning.examples import ExampleMaker
from inverse_deid.learning.logs import TrainingLog
from inverse_deid.learning.validation import validator
from inverse_deid.lexicon import load_lexicon
from inverse_deid.rules.analysis import RuleAnalyser
from inverse_deid.rules.words import DICTIONARY_FEATURE_NAMES
from inverse_deid.text.alignment import span_of_token
from inverse_deid.text.interning import InternedWords
from inverse_deid.text.tokenizer import tokenize

Say = Callable[[str], None]

PARTS: Mapping[str, str] = {
    "characters": "character_encoder",
    "words": "unknown_word",
    "gaps": "gap_embedding",
    "features": "feature_dense",
    "tokens": "token_lstm_",
    "classes": "classes",
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


@dataclass(frozen=True, slots=True, eq=False)
class _Corpus:
    """One gold file, split."""

    name: str
    train: list[Document] = field(repr=False)
    held_out: list[Document] = field(repr=False)


@dataclass(frozen=True, slots=True, eq=False)
class _Data:
    """All documents of a run."""

    corpora: list[_Corpus]
    compare: list[_Corpus]
    carriers: list[Document] = field(repr=False)
    hashes: Mapping[str, str]

    @property
    def gold(self) -> list[Document]:
        return [doc for corpus in self.corpora for doc in corpus.train]

    @property
    def measured(self) -> list[_Corpus]:
        """The corpora that hold documents nobody trains on."""
        return [corpus for corpus in (*self.corpora, *self.compare) if corpus.held_out]


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
    data = _read(config, around.say)
    start = read_model(around.start) if around.start else None
    network_config = start.network if start else config.network
    vectors = start.word_vectors if start else _vectors(config, data.gold)
    say = around.say
    n_words = len(vectors.words)
    say(f"{len(data.gold)} training documents, {len(data.carriers)} carriers, {n_words} word vectors")
    say(device_line())
    scored_before = score_all(start, data.measured) if start else []
    network = build_network(network_config, len(feature_names(network_config.feature_set)), vectors.matrix())
    if start:
        export.load_weights(network, start.weights)
        freeze(network, around.freeze)
    _fit(network, dataclasses.replace(config, network=network_config), data, vectors, folder, around)
    parts = model_parts(network, network_config, vectors)
    scored = score_all(parts, data.measured)
    own = [corpus for corpus in scored if corpus.name in {c.name for c in data.corpora}]
    points = operating_points(own, config.calibration)
    figures = _figures(scored, points)
    before = _figures(scored_before, points_of(start)) if start else {}
    for line in _lines("before", before) + _lines("held out", figures):
        say(line)
    provenance = {
        "revision": around.revision,
        "started_from": model_fingerprint(around.start) if around.start else None,
        "training": dataclasses.asdict(config.training),
        "data_sha256": data.hashes,
        "n_documents": {c.name: [len(c.train), len(c.held_out)] for c in (*data.corpora, *data.compare)},
        "lexicon_sha256": load_lexicon().sha256,
        "calibration": dataclasses.asdict(config.calibration),
        "held_out": figures,
        "held_out_before": before,
        "keras": keras.__version__,
    }
    pairs = {name: {"low": pair.low, "high": pair.high} for name, pair in points.items()}
    write_model(dataclasses.replace(parts, operating_points=pairs, provenance=provenance), folder)
    _checkpoints(folder, "").remove()
    return provenance


def _read(config: RunConfig, say: Say) -> _Data:
    types = read_type_mapping(config.mapping)
    gold, held_back = _with_official_parts(config, say)
    config = dataclasses.replace(config, gold=gold, compare=held_back)
    corpora = []
    for path in config.gold:
        docs, held_out = split_by_group(
            read_annotated(path, types), config.training.validation_share, config.training.split_seed
        )
        corpora.append(_Corpus(_name(path), docs, held_out))
    compare = [_Corpus(_name(path), [], read_annotated(path, types)) for path in config.compare]
    carriers = [doc for path in config.carriers for doc in read_annotated(path, types)]
    data = _Data(corpora, compare, carriers, _hashes((*config.gold, *config.compare, *config.carriers)))
    if not any(doc.spans for doc in data.gold):
        raise ConfigurationError(
            "the training documents hold no PHI span, and a network cannot learn from one class only; "
            "give annotated documents"
        )
    if all(span_length(doc) == len(doc.text.strip()) for doc in data.gold):
        raise ConfigurationError(
            "the training documents hold nothing but PHI, and a network cannot learn from one class only; "
            "give whole narratives"
        )
    return data


def _with_official_parts(config: RunConfig, say: Say) -> tuple[tuple[Path, ...], tuple[Path, ...]]:
    """Replace a folder of the 2014 i2b2 release by its official parts: train on one, compare on the other."""
    gold: list[Path] = []
    compare = list(config.compare)
    for path in config.gold:
        split = official_split(path)
        if split is None:
            gold.append(path)
            continue
        gold += split.training
        compare += split.test
        sizes = tuple(sum(1 for part in parts for _ in part.rglob("*.xml")) for parts in split)
        usual = "as in the task" if sizes == OFFICIAL_SIZES else "unlike the task's 790 and 514"
        say(f"official split: {sizes[0]} training and {sizes[1]} test records, {usual}")
    return tuple(gold), tuple(compare)


def span_length(doc: Document) -> int:
    """Characters of a document that are marked."""
    return sum(span.end - span.start for span in doc.spans)


def _name(path: Path) -> str:
    return "/".join((path.parent.name, path.stem))


def _vectors(config: RunConfig, gold: Sequence[Document]) -> WordVectors:
    if not config.network.learn_words:
        return load_word_vectors(config.word_vectors)
    counts: dict[str, int] = {}
    for doc in gold:
        for word in tokenize(doc.text).words:
            counts[word.lower()] = counts.get(word.lower(), 0) + 1
    words = sorted(word for word, count in counts.items() if count > 1 and word.isalpha())
    rng = np.random.default_rng(config.training.seed)
    drawn = rng.normal(scale=0.1, size=(len(words), config.network.word_dim)).astype(np.float32)
    return quantised(words, drawn)


def freeze(network: keras.Model, parts: Iterable[str]) -> None:
    """Keep parts of a network from learning.

    Raises:
        ConfigurationError: An unknown part, or nothing is left to learn.
    """
    unknown = sorted(set(parts) - set(PARTS))
    if unknown:
        raise ConfigurationError(f"cannot freeze {', '.join(unknown)}; parts are {', '.join(PARTS)}")
    for layer in network.layers:
        if any(layer.name.startswith(PARTS[part]) for part in parts):
            layer.trainable = False
    if not network.trainable_variables:
        raise ConfigurationError("all parts are frozen; leave one to learn")


def _fit(
    network: keras.Model,
    config: RunConfig,
    data: _Data,
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
    key = repr(
        (config.network, config.training, data.hashes, around.start and model_fingerprint(around.start))
    )
    checkpoints = _checkpoints(folder, hashlib.sha256(key.encode()).hexdigest())
    if not around.resume:
        checkpoints.remove()
    columns = [i for i, name in enumerate(names) if name in DICTIONARY_FEATURE_NAMES]
    log = TrainingLog(training_folder(folder), config.training.epochs, around.say, show=around.show)
    with log, EpochsAhead(recipe) as epochs:
        watch = Watch(
            on_batch=log.on_batch, on_epoch=log.on_epoch, validate=validate, checkpoints=checkpoints
        )
        fit(network, epochs, config.training, dictionary_columns=columns, watch=watch)


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
        operating_points={name: {"low": 1.0, "high": 1.0} for name in ("strict", "balanced", "lenient")},
    )


def points_of(parts: ModelParts) -> dict[str, Thresholds]:
    """The operating points of a model."""
    return {name: Thresholds(pair["low"], pair["high"]) for name, pair in parts.operating_points.items()}


def score_all(parts: ModelParts, corpora: Iterable[_Corpus]) -> list[ScoredCorpus]:
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
    owners = [span_of_token(t, doc.spans) for t, doc in zip(tokens, docs, strict=True)]
    return ScoredCorpus(
        name=name,
        is_phi=np.concatenate(owners) >= 0,
        p_safe=np.concatenate([s[:, 0] for s in scores]),
        rule_safe=np.concatenate([a.verdicts.safe for a in analyses]),
        always_masked=np.concatenate([a.verdicts.never | a.verdicts.veto for a in analyses]),
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


def _hashes(paths: Iterable[Path]) -> dict[str, str]:
    return {_name(path): _sha256(path) for path in paths}


def _sha256(path: Path) -> str:
    files = sorted(path.rglob("*.xml")) if path.is_dir() else [path]
    digest = hashlib.sha256()
    for file in files:
        digest.update(file.read_bytes())
    return digest.hexdigest()
