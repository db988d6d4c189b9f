"""The steps of sharing training data as private representations: publish, encode, pool, train.

Source: Friedrich et al. 2019, section 5 (the way of the data between institutions).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from inverse_deid.core.errors import ConfigurationError
from inverse_deid.core.settings import as_plain_values
from inverse_deid.core.values import Document, FloatArray, RuleVerdicts
from inverse_deid.network.encoding import WordVectors
from inverse_deid.training.calibration import ScoredCorpus, operating_points
from inverse_deid.training.config import CalibrationConfig
from inverse_deid.training.corpus import read_annotated, read_type_mapping, split_by_group
from inverse_deid.training.documents import corpus_sha256
from inverse_deid_research.representations.attacks import describe_attack, measure_attacks
from inverse_deid_research.representations.config import SharingConfig
from inverse_deid_research.representations.folders import (
    NETWORK,
    REPRESENTATION,
    PrivateNetwork,
    Representation,
    check_vectors,
    read_representation,
    refuse_other,
    write_network,
    write_representation,
)
from inverse_deid_research.representations.networks import (
    build_networks,
    class_probabilities,
    encode_sentences,
    load_representer,
    noise_range,
    weights_by_path,
)
from inverse_deid_research.representations.pseudonyms import (
    PseudonymousCorpus,
    phi_neighbours,
    replace_words,
)
from inverse_deid_research.representations.secret_draws import SecretChoices, SecretNormal, in_secret_order
from inverse_deid_research.representations.sentences import (
    Sentence,
    VectorSentence,
    require_two,
    sentences_of,
    written_sentences,
)
from inverse_deid_research.representations.shared_file import (
    SharedSentences,
    pool_sentences,
    read_shared,
    refuse_existing,
    write_shared,
)
from inverse_deid_research.representations.training import Material, train_representation, train_tagger
from inverse_deid_research.representations.vectors import add_fallbacks
from inverse_deid_research.studies.study import Say


def split_sentences(
    docs: Sequence[Document], vectors: WordVectors, share: float, seed: int
) -> tuple[list[Sentence], list[Sentence]]:
    """Return sentences to learn from and of held-out documents; whole groups of documents are held out.

    Raises:
        ConfigurationError: A side is empty, has no PHI or no known word.
    """
    rest, held_out = split_by_group(docs, share, seed)
    if not rest or not held_out:
        raise ConfigurationError(
            f"{len(docs)} document(s) cannot be split into a training and a held-out part. Give more, or "
            "change learning.validation_share or seed"
        )

    def read(part: Sequence[Document], name: str) -> list[Sentence]:
        try:
            return sentences_of(part, vectors.numbers())
        except ConfigurationError as error:
            raise ConfigurationError(f"the {len(part)} document(s) of the {name} part: {error}") from error

    return read(rest, "training"), read(held_out, "held-out")


def publish_representation(
    corpus: Path, out: Path, config: SharingConfig, vectors: WordVectors, mapping: Path | None, say: Say
) -> None:
    """Train a representation on annotated documents and write the folder that a provider publishes.

    It contains the representation alone, neither the network nor the adversary, and the words of the
    public word vectors. `say` receives a line per epoch and attack; numbers only.

    Raises:
        InverseDeidError: The corpus, the settings or the folder cannot be used.
    """
    if config.representation.dynamic:
        raise ConfigurationError("representation.dynamic is for studies. Set it to false to publish")
    refuse_other(out, REPRESENTATION)
    check_vectors(vectors)
    docs = read_annotated(corpus, read_type_mapping(mapping))
    vectors = add_fallbacks(vectors, docs)
    require_two(sentences_of(docs, vectors.numbers()))
    learning = config.learning
    train, held_out = split_sentences(docs, vectors, learning.validation_share, learning.seed)
    matrix, n_neighbours = vectors.matrix(), config.representation.neighbours
    table = phi_neighbours(matrix, [*train, *held_out], n_neighbours)
    given = Material(train, held_out, matrix, table)
    networks = build_networks(config, vectors.dim)
    records = train_representation(networks, given, config, say)
    attacks = measure_attacks(networks, given, config, say)
    provenance = {
        "data": {corpus.name: corpus_sha256(corpus)},
        "documents": len(docs),
        "settings": as_plain_values(config),
        "epochs": [dataclasses.asdict(record) for record in records],
        "attacks": {
            one.name: {"share": one.share, "margin": one.margin, "chance": one.chance} for one in attacks
        },
        "noise": {
            name: dict(zip(("least", "median", "most"), values, strict=True))
            for name, values in noise_range(networks.representer).items()
        },
    }
    weights = weights_by_path(networks.representer)
    write_representation(Representation(config.representation, vectors, weights, provenance), out)


def pseudonymise_corpus(
    corpus: Path, vectors: WordVectors, n_neighbours: int, mapping: Path | None, *, alike: bool
) -> PseudonymousCorpus:
    """Return the sentences of a corpus as text, in random order, every annotated word replaced.

    Each word has N choices, itself included; anyone who knows the word vectors knows from which words
    each came. With `alike`, all mentions of a word in a document become the same.

    Raises:
        InverseDeidError: The corpus, the vectors or their number cannot be used.
    """
    check_vectors(vectors)
    docs = read_annotated(corpus, read_type_mapping(mapping))
    written = written_sentences(docs, vectors.numbers())
    sentences = [one.sentence for one in written]
    require_two(sentences)
    table = phi_neighbours(vectors.matrix(), sentences, n_neighbours)
    return replace_words(written, table, vectors.words, SecretChoices(), alike=alike)


def encode_corpus(
    corpus: Path, representation_folder: Path, out: Path, mapping: Path | None, say: Say, *, force: bool
) -> int:
    """Write the private sentences of a corpus and return their number.

    Noise and order are drawn again each time. `say` receives a line per attack that the provider
    measured; numbers only. `force` overwrites the file.

    Raises:
        InverseDeidError: The corpus, the representation or the file cannot be used.
    """
    refuse_existing(out, force=force)
    representation = read_representation(representation_folder)
    for name, found in representation.provenance.get("attacks", {}).items():
        line = describe_attack(name, found["share"], found["margin"], found["chance"])
        say(f"the provider measured: {line}")
    vectors = representation.word_vectors
    sentences = sentences_of(read_annotated(corpus, read_type_mapping(mapping)), vectors.numbers())
    require_two(sentences)
    representer = load_representer(representation)
    private = encode_sentences(representer, sentences, vectors.matrix(), SecretNormal())
    shared = SharedSentences(in_secret_order(private), representation.config.dim, representation.fingerprint)
    write_shared(shared, out)
    return len(sentences)


def pool_files(files: Sequence[Path], out: Path, *, force: bool) -> int:
    """Write the sentences of several institutions into one file, in random order; return their number.

    Raises:
        InverseDeidError: A file cannot be used, or was made by another representation.
    """
    refuse_existing(out, force=force)
    shared = pool_sentences([(path, read_shared(path)) for path in files])
    write_shared(shared, out)
    return len(shared.sentences)


def train_on_pool(
    pool: Path, representation_folder: Path, out: Path, config: SharingConfig, say: Say
) -> None:
    """Train a network on private sentences alone, calibrate it, and write a folder for `mask --model`.

    Sentences are held out, as documents are not known: sentences of one document may be on
    both sides, and the thresholds may be a little too good.

    The pool was written by `pool_files` or `encode_corpus`. `say` receives a line after each epoch;
    numbers only.

    Raises:
        InverseDeidError: The pool, the representation, the settings or the folder cannot be used.
    """
    refuse_other(out, NETWORK)
    representation = read_representation(representation_folder)
    shared = read_shared(pool)
    if (shared.representation, shared.dim) != (representation.fingerprint, representation.config.dim):
        raise ConfigurationError(
            f"{pool}: was made by another representation than {representation_folder}. Give the one that "
            "encoded it"
        )
    train, held_out = _split_pool(shared.sentences, config)
    tagger, records = train_tagger(train, held_out, config.tagger, config.learning, say)
    points = operating_points([scored(held_out, class_probabilities(tagger, held_out))], CalibrationConfig())
    provenance = {
        "data": {pool.name: corpus_sha256(pool)},
        "sentences": len(shared.sentences),
        "settings": {name: as_plain_values(getattr(config, name)) for name in ("tagger", "learning")},
        "epochs": [dataclasses.asdict(record) for record in records],
    }
    write_network(
        PrivateNetwork(config.tagger, weights_by_path(tagger), representation, points, provenance), out
    )


def _split_pool(
    sentences: Sequence[VectorSentence], config: SharingConfig
) -> tuple[list[VectorSentence], list[VectorSentence]]:
    # Both have PHI.
    order = np.random.default_rng(config.learning.seed).permutation(len(sentences))
    n_held_out = max(1, round(config.learning.validation_share * len(sentences)))
    sides = [sentences[i] for i in order[n_held_out:]], [sentences[i] for i in order[:n_held_out]]
    if not all(any((sentence.classes > 0).any() for sentence in side) for side in sides):
        raise ConfigurationError(
            f"{len(sentences)} sentence(s) are too few: PHI is needed among those to train on and among "
            "those held out. Pool more"
        )
    return sides


def scored(sentences: Sequence[VectorSentence], probabilities: Sequence[FloatArray]) -> ScoredCorpus:
    """Return the input of calibration, from `class_probabilities`.

    No rule has seen these tokens, because they have no text.
    """
    is_phi = np.concatenate([sentence.classes > 0 for sentence in sentences])
    p_safe = np.concatenate([rows[:, 0] for rows in probabilities])
    return ScoredCorpus(
        "held-out sentences", is_phi, p_safe, RuleVerdicts.silent(len(is_phi)), np.zeros(len(is_phi))
    )
