"""One training run: configuration file in, model folder out."""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import keras
import numpy as np

from inverse_deid.assemble import feature_columns, feature_names, packaged_model
from inverse_deid.core.errors import ConfigurationError, UnreadableInputError
from inverse_deid.core.values import Document
from inverse_deid.deep import export
from inverse_deid.deep.config import (
    NetworkConfig,
    TrainingConfig,
    network_config,
    read_config,
    training_config,
)
from inverse_deid.deep.encoding import WordVectors
from inverse_deid.deep.folder import ModelParts, read_model, write_model
from inverse_deid.deep.network import build_network
from inverse_deid.deep.scorer import Scorer, ScorerInput
from inverse_deid.deep.training import EpochReport, fit
from inverse_deid.learning.augmentation import EpochRecipe, EpochsAhead
from inverse_deid.learning.calibration import ScoredCorpus, calibrate, measure
from inverse_deid.learning.corpus import read_annotated, split_by_group
from inverse_deid.lexicon import load_lexicon
from inverse_deid.rules.analysis import RuleAnalyser
from inverse_deid.rules.words import DICTIONARY_FEATURE_NAMES
from inverse_deid.text.alignment import span_of_token
from inverse_deid.text.interning import InternedWords
from inverse_deid.text.tokenizer import tokenize

Say = Callable[[str], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunConfig:
    """A training run as its TOML file describes it.

    Args:
        gold: Annotated corpora; the validation part of each is calibrated on.
        carriers: Unannotated narratives to plant PHI in.
        word_vectors: File of `WordVectors` (npz), None = those of the packaged model.
        recall: Recall that the thresholds are calibrated to, on the held-out parts together.
        network: The network.
        training: The training.
    """

    gold: tuple[Path, ...]
    carriers: tuple[Path, ...] = ()
    word_vectors: Path | None = None
    recall: float = 0.99
    network: NetworkConfig = field(default_factory=NetworkConfig)
    training: TrainingConfig = field(default_factory=TrainingConfig)


def read_run_config(path: Path) -> RunConfig:
    """Read a training configuration; paths in it count from the file's own folder.

    Raises:
        ConfigurationError: Missing, not TOML, unknown or unfit settings.
    """
    values = read_config(path)
    data = dict(values.get("data", {}))
    unknown = set(values) - {"data", "network", "training"} | set(data) - {
        "gold",
        "carriers",
        "word_vectors",
        "recall",
    }
    if unknown:
        raise ConfigurationError(f"{path}: unknown settings {', '.join(sorted(unknown))}")
    if not data.get("gold"):
        raise ConfigurationError(f"{path}: [data] gold names no annotated corpus")

    def resolved(name: str) -> Path:
        return (path.parent / name).resolve()

    vectors = data.get("word_vectors")
    return RunConfig(
        gold=tuple(map(resolved, data["gold"])),
        carriers=tuple(map(resolved, data.get("carriers", ()))),
        word_vectors=resolved(vectors) if vectors else None,
        recall=float(data.get("recall", 0.99)),
        network=network_config(values.get("network", {})),
        training=training_config(values.get("training", {})),
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Corpus:
    """One gold file, split."""

    name: str
    train: list[Document] = field(repr=False)
    held_out: list[Document] = field(repr=False)


def train(
    config: RunConfig, folder: Path, *, say: Say = lambda line: None, revision: str = ""
) -> Mapping[str, Any]:
    """Train, calibrate and write a model folder.

    Args:
        config: The run.
        folder: Where the model goes; an older model there is replaced at the end.
        say: Gets a line of progress now and then; numbers only.
        revision: Of the code, for the manifest.

    Returns:
        The provenance that was written to the manifest.

    Raises:
        InputError: A corpus cannot be read.
        ConfigurationError: Settings contradict each other or the data.
    """
    corpora = [_split(path, config.training) for path in config.gold]
    gold = [doc for corpus in corpora for doc in corpus.train]
    if not any(doc.spans for doc in gold):
        raise ConfigurationError("the training documents hold no PHI span; give annotated documents")
    carriers = [doc for path in config.carriers for doc in read_annotated(path)]
    vectors = load_word_vectors(config.word_vectors)
    say(f"{len(gold)} training documents, {len(carriers)} carriers, {len(vectors.words)} word vectors")
    say(device_line())
    network = _fit(config, gold, carriers, vectors, say)
    parts = _parts(network, config.network, vectors)
    scored = [score_corpus(parts, corpus.name, corpus.held_out) for corpus in corpora if corpus.held_out]
    thresholds = calibrate(scored, config.recall)
    figures = {corpus.name: dataclasses.asdict(measure(corpus, thresholds)) for corpus in scored}
    for name, figure in figures.items():
        say(f"{name}, held out: recall {figure['recall']:.4f} precision {figure['precision']:.4f}")
    provenance = {
        "revision": revision,
        "training": dataclasses.asdict(config.training),
        "data_sha256": {path.name: _sha256(path) for path in (*config.gold, *config.carriers)},
        "n_documents": {corpus.name: [len(corpus.train), len(corpus.held_out)] for corpus in corpora},
        "lexicon_sha256": load_lexicon().sha256,
        "calibrated_to_recall": config.recall,
        "held_out": figures,
        "keras": keras.__version__,
    }
    pair = {"low": thresholds.low, "high": thresholds.high}
    write_model(dataclasses.replace(parts, thresholds=pair, provenance=provenance), folder)
    return provenance


def _split(path: Path, training: TrainingConfig) -> _Corpus:
    rest, held_out = split_by_group(read_annotated(path), training.validation_share, training.seed)
    return _Corpus("/".join((path.parent.name, path.stem)), rest, held_out)


def _fit(
    config: RunConfig, gold: list[Document], carriers: list[Document], vectors: WordVectors, say: Say
) -> keras.Model:
    names = feature_names(config.network.feature_set)
    network = build_network(config.network, len(names), vectors.matrix())
    recipe = EpochRecipe(
        gold=gold, carriers=carriers, network=config.network, training=config.training, vectors=vectors
    )
    columns = [i for i, name in enumerate(names) if name in DICTIONARY_FEATURE_NAMES]

    def report(epoch: EpochReport) -> None:
        speed = epoch.n_tokens / epoch.seconds
        say(
            f"epoch {epoch.epoch}/{config.training.epochs}: loss {epoch.loss:.4f}, "
            f"{epoch.n_tokens} tokens, {speed:.0f} tokens/s"
        )

    with EpochsAhead(recipe) as data:
        fit(network, data, config.training, dictionary_columns=columns, on_epoch=report)
    return network


def _parts(network: keras.Model, config: NetworkConfig, vectors: WordVectors) -> ModelParts:
    names = feature_names(config.feature_set)
    return ModelParts(
        network=config,
        feature_names=names,
        word_vectors=vectors,
        characters=export.export_characters(network),
        tokens=export.export_tokens(network, config, len(names)),
        weights=export.trainable_weights(network),
        thresholds={"low": 1.0, "high": 1.0},
    )


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


def _sha256(path: Path) -> str:
    files = sorted(path.rglob("*.xml")) if path.is_dir() else [path]
    digest = hashlib.sha256()
    for file in files:
        digest.update(file.read_bytes())
    return digest.hexdigest()
