"""The steps of sharing training data as private representations: publish, encode, pool, train.

Source: Friedrich et al. 2019, section 5 (the way of the data between institutions).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from inverse_deid.core.errors import ConfigurationError
from inverse_deid.core.values import Document, FloatArray, RuleVerdicts
from inverse_deid.network.encoding import WordVectors
from inverse_deid.research.representations.attacks.measure import measure, told
from inverse_deid.research.representations.batches import VectorSentence
from inverse_deid.research.representations.config import SharingConfig
from inverse_deid.research.representations.encoding import encoded
from inverse_deid.research.representations.folders import (
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
from inverse_deid.research.representations.neighbours import phi_neighbours
from inverse_deid.research.representations.procedures import material, new_networks, train_representation
from inverse_deid.research.representations.pseudonymous_text import Pseudonymous, pseudonymous
from inverse_deid.research.representations.representer import noise_range
from inverse_deid.research.representations.secret_draws import SecretChoices, SecretNormal, in_secret_order
from inverse_deid.research.representations.sentences import (
    Sentence,
    require_two,
    sentences_of,
    written_sentences,
)
from inverse_deid.research.representations.shared_file import (
    SharedSentences,
    pooled,
    read_shared,
    refuse_existing,
    write_shared,
)
from inverse_deid.research.representations.steps import Say
from inverse_deid.research.representations.tagger import class_probabilities
from inverse_deid.research.representations.tagger_training import train_tagger
from inverse_deid.research.representations.weights import load_representer, weights_by_path
from inverse_deid.training.calibration import ScoredCorpus, operating_points
from inverse_deid.training.config import CalibrationConfig
from inverse_deid.training.corpus import read_annotated, read_type_mapping, split_by_group
from inverse_deid.training.documents import corpus_sha256


@dataclass(frozen=True, slots=True, eq=False)
class SplitSentences:
    """The sentences of a corpus, those of held-out documents apart."""

    train: list[Sentence] = field(repr=False)
    held_out: list[Sentence] = field(repr=False)


def split_sentences(
    docs: Sequence[Document], vectors: WordVectors, share: float, seed: int
) -> SplitSentences:
    """Hold out whole groups of documents.

    Raises:
        ConfigurationError: A side is empty, has no PHI or no known word.
    """
    rest, held_out = split_by_group(docs, share, seed)
    if not rest or not held_out:
        raise ConfigurationError(
            f"{len(docs)} document(s) cannot be split into a training and a held-out part. Give more, or "
            "change learning.validation_share or seed"
        )
    numbers = vectors.numbers()
    return SplitSentences(_of_part(rest, "training", numbers), _of_part(held_out, "held-out", numbers))


def _of_part(docs: Sequence[Document], part: str, numbers: Mapping[str, int]) -> list[Sentence]:
    try:
        return sentences_of(docs, numbers)
    except ConfigurationError as error:
        raise ConfigurationError(f"of the {len(docs)} document(s) of the {part} part: {error}") from error


def publish_representation(
    corpus: Path, out: Path, config: SharingConfig, vectors: WordVectors, mapping: Path | None, say: Say
) -> None:
    """Train a representation and write the folder that a provider publishes.

    Args:
        corpus: Annotated documents.
        out: Takes the representation alone: neither the network nor the adversary.
        config: Networks, procedure, rates, seed.
        vectors: Public word vectors; their words are published.
        mapping: As `read_type_mapping`.
        say: Gets a line after each epoch and on each attack; numbers only.

    Raises:
        InverseDeidError: The corpus, the settings or the folder cannot be used.
    """
    refuse_other(out, REPRESENTATION)
    check_vectors(vectors)
    docs = read_annotated(corpus, read_type_mapping(mapping))
    numbers = vectors.numbers()
    require_two(sentences_of(docs, numbers))
    learning = config.learning
    split = split_sentences(docs, vectors, learning.validation_share, learning.seed)
    given = material(split.train, split.held_out, vectors.matrix(), config.representation.neighbours)
    networks = new_networks(config, vectors.dim)
    records = train_representation(networks, given, config, say)
    attacks = measure(networks, given, config, say)
    provenance = {
        "data": {corpus.name: corpus_sha256(corpus)},
        "documents": len(docs),
        "settings": dataclasses.asdict(config),
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
) -> Pseudonymous:
    """The sentences of a corpus as text, in random order, every annotated word replaced.

    Args:
        corpus: Annotated documents.
        vectors: Word vectors; who knows them knows from which words each came.
        n_neighbours: N, the choices for each word, itself included.
        mapping: As `read_type_mapping`.
        alike: All mentions of a word in a document become the same.

    Raises:
        InverseDeidError: The corpus, the vectors or their number cannot be used.
    """
    check_vectors(vectors)
    docs = read_annotated(corpus, read_type_mapping(mapping))
    written = written_sentences(docs, vectors.numbers())
    sentences = [one.sentence for one in written]
    require_two(sentences)
    table = phi_neighbours(vectors.matrix(), sentences, n_neighbours)
    return pseudonymous(written, table, vectors.words, SecretChoices(), alike=alike)


def encode_corpus(
    corpus: Path, representation_folder: Path, out: Path, mapping: Path | None, say: Say, *, force: bool
) -> int:
    """Write the private sentences of a corpus; noise and order are drawn again each time.

    Args:
        corpus: Annotated documents.
        representation_folder: What writes them.
        out: The file.
        mapping: As `read_type_mapping`.
        say: Gets a line on each attack that the provider measured; numbers only.
        force: Overwrite the file.

    Returns:
        How many sentences were written.

    Raises:
        InverseDeidError: The corpus, the representation or the file cannot be used.
    """
    refuse_existing(out, force=force)
    representation = read_representation(representation_folder)
    for name, found in representation.provenance.get("attacks", {}).items():
        say(f"the provider measured: {told(name, found['share'], found['margin'], found['chance'])}")
    vectors = representation.word_vectors
    sentences = sentences_of(read_annotated(corpus, read_type_mapping(mapping)), vectors.numbers())
    require_two(sentences)
    private = encoded(load_representer(representation), sentences, vectors.matrix(), SecretNormal())
    shared = SharedSentences(in_secret_order(private), representation.config.dim, representation.fingerprint)
    write_shared(shared, out)
    return len(sentences)


def pool_files(files: Sequence[Path], out: Path, *, force: bool) -> int:
    """Write the sentences of several institutions into one file, in random order.

    Returns:
        How many sentences were written.

    Raises:
        InverseDeidError: A file cannot be used, or was made by another representation.
    """
    refuse_existing(out, force=force)
    shared = pooled([(path, read_shared(path)) for path in files])
    write_shared(shared, out)
    return len(shared.sentences)


def train_on_pool(
    pool: Path, representation_folder: Path, out: Path, config: SharingConfig, say: Say
) -> None:
    """Train a network on private sentences alone, calibrate it, and write a folder for `mask --model`.

    Sentences are held out, as documents are not known: sentences of one document may be on
    both sides, and the thresholds may be a little too good.

    Args:
        pool: What `pool_files` or `encode_corpus` wrote.
        representation_folder: What made the vectors.
        out: The folder.
        config: Network, rates, seed.
        say: Gets a line after each epoch; numbers only.

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
    train, held_out = _split(shared.sentences, config)
    tagger, records = train_tagger(lambda _: train, held_out, config.tagger, config.learning, say)
    points = operating_points([scored(held_out, class_probabilities(tagger, held_out))], CalibrationConfig())
    provenance = {
        "data": {pool.name: corpus_sha256(pool)},
        "sentences": len(shared.sentences),
        "settings": {name: dataclasses.asdict(getattr(config, name)) for name in ("tagger", "learning")},
        "epochs": [dataclasses.asdict(record) for record in records],
    }
    write_network(
        PrivateNetwork(config.tagger, weights_by_path(tagger), representation, points, provenance), out
    )


def _split(
    sentences: Sequence[VectorSentence], config: SharingConfig
) -> tuple[list[VectorSentence], list[VectorSentence]]:
    """Sentences to learn from and others to calibrate on; both hold PHI."""
    order = np.random.default_rng(config.learning.seed).permutation(len(sentences))
    n_held_out = max(1, round(config.learning.validation_share * len(sentences)))
    sides = [sentences[i] for i in order[n_held_out:]], [sentences[i] for i in order[:n_held_out]]
    if not all(any((sentence.classes > 0).any() for sentence in side) for side in sides):
        raise ConfigurationError(
            f"{len(sentences)} sentence(s) give no training and held-out part with PHI in both. Pool more"
        )
    return sides


def scored(sentences: Sequence[VectorSentence], probabilities: Sequence[FloatArray]) -> ScoredCorpus:
    """Return the input of calibration. No rule has seen these tokens, as they have no text.

    Args:
        sentences: With their classes.
        probabilities: Of the classes of each token, from `class_probabilities`.
    """
    is_phi = np.concatenate([sentence.classes > 0 for sentence in sentences])
    p_safe = np.concatenate([rows[:, 0] for rows in probabilities])
    return ScoredCorpus(
        "held-out sentences", is_phi, p_safe, RuleVerdicts.silent(len(is_phi)), np.zeros(len(is_phi))
    )
