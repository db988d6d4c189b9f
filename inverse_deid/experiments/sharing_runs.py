"""One run of the study of shared representations: train, measure, attack."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from inverse_deid.core.values import FloatArray
from inverse_deid.deep.encoding import WordVectors
from inverse_deid.experiments.corpus_vectors import learned_vectors
from inverse_deid.experiments.sharing_config import StudiedCorpus, StudyConfig, StudyRun
from inverse_deid.learning.corpus import read_annotated, read_type_mapping, without_near_duplicates
from inverse_deid.learning.run import load_word_vectors
from inverse_deid.learning.sharing import SplitSentences, split_sentences
from inverse_deid.representations.attacks.distinguishing import continued_adversary
from inverse_deid.representations.attacks.inverse import inverse_model
from inverse_deid.representations.attacks.lookup import look_up, nearest_token
from inverse_deid.representations.attacks.outcome import Outcome, Scene
from inverse_deid.representations.batches import VectorSentence, with_vectors
from inverse_deid.representations.config import SharingConfig
from inverse_deid.representations.encoding import encoded
from inverse_deid.representations.neighbours import phi_neighbours
from inverse_deid.representations.procedures import Material, train_representation
from inverse_deid.representations.pseudonyms import pseudonymised, survival
from inverse_deid.representations.sentences import Sentence, sentences_of
from inverse_deid.representations.tagger import class_probabilities
from inverse_deid.representations.tagger_training import train_tagger

Say = Callable[[str], None]


@dataclass(frozen=True, slots=True, eq=False)
class StudyData:
    """A corpus, read.

    Args:
        split: Training documents, and those that decide when to stop.
        test: Of other documents.
        vectors: Of its words.
        matrix: Their matrix.
    """

    split: SplitSentences = field(repr=False)
    test: list[Sentence] = field(repr=False)
    vectors: WordVectors = field(repr=False)
    matrix: FloatArray = field(repr=False)


def read_study_data(corpus: StudiedCorpus, config: StudyConfig) -> StudyData:
    """Read a corpus; no training document is a near duplicate of a test document.

    The split into training and held-out documents is the same for all seeds.

    Raises:
        InverseDeidError: It cannot be read or used.
    """
    types = read_type_mapping(corpus.mapping)
    test = read_annotated(corpus.test, types)
    docs = without_near_duplicates(read_annotated(corpus.train, types), test)
    learning = config.sharing.learning
    if corpus.learned:
        vectors = learned_vectors(docs, config.study.learned_dim, learning.seed)
    else:
        vectors = load_word_vectors(corpus.word_vectors)
    split = split_sentences(docs, vectors, learning.validation_share, learning.seed)
    return StudyData(split, sentences_of(test, vectors.numbers()), vectors, vectors.matrix())


def execute(run: StudyRun, data: StudyData, config: StudyConfig, say: Say) -> dict[str, Any]:
    """Do a run; the record holds numbers alone.

    Args:
        run: Which.
        data: Of its corpus.
        config: Of the study.
        say: Gets lines of progress.
    """
    start = time.perf_counter()
    learning = dataclasses.replace(config.sharing.learning, seed=run.seed)
    representation = dataclasses.replace(
        config.sharing.representation,
        neighbours=max(2, run.neighbours),
        procedure="reversal" if run.kind == "reversal" else "three-phase",
    )
    tagger = dataclasses.replace(config.sharing.tagger, casing=run.kind != "non-private, no casing")
    sharing = SharingConfig(representation=representation, tagger=tagger, learning=learning)
    if run.kind in ("adversarial", "reversal"):
        record = _represented(run, data, sharing, config, say)
    else:
        record = _on_words(run, data, sharing, say)
    return {**record, "seconds": time.perf_counter() - start}


def _on_words(run: StudyRun, data: StudyData, sharing: SharingConfig, say: Say) -> dict[str, Any]:
    """A network on word vectors; pseudonymised once, as what is shared is shared once."""
    train, survived = data.split.train, {}
    if run.kind == "pseudonymised":
        table = phi_neighbours(data.matrix, train, run.neighbours)
        moved = pseudonymised(train, table, np.random.default_rng(run.seed))
        survived = {"survival": dataclasses.asdict(survival(train, moved, table, data.vectors.words))}
        train = moved
    sides = [with_vectors(part, data.matrix) for part in (train, data.split.held_out, data.test)]
    return {**_trained(sides, sharing, say), **survived}


def _trained(sides: Sequence[Sequence[VectorSentence]], sharing: SharingConfig, say: Say) -> dict[str, Any]:
    """Train on the first part, stop by the second, measure on the third."""
    train, held_out, test = sides
    tagger, records = train_tagger(lambda _: train, held_out, sharing.tagger, sharing.learning, say)
    return {**binary_f1(test, class_probabilities(tagger, test)), "epochs": len(records)}


def _represented(
    run: StudyRun, data: StudyData, sharing: SharingConfig, config: StudyConfig, say: Say
) -> dict[str, Any]:
    """The representation; a new network on what it encodes; the attacks."""
    everything = [*data.split.train, *data.split.held_out, *data.test]
    table = phi_neighbours(data.matrix, everything, run.neighbours)
    given = Material(data.split.train, data.split.held_out, data.matrix, table)
    networks, records = train_representation(given, sharing, say)
    rng = np.random.default_rng([run.seed, run.neighbours])
    shared = [
        encoded(networks.representer, part, data.matrix, draws)
        for part, draws in ((data.split.train, rng), (data.split.held_out, rng), (data.test, None))
    ]
    record = _trained(shared, sharing, say)
    attacked = Material(data.split.train, data.test, data.matrix, table)
    adversary = continued_adversary(
        networks, attacked, sharing.learning, say, n_epochs=config.study.adversary_epochs
    )
    outcomes = [adversary]
    if run.neighbours == config.study.attacked:
        scene = Scene(networks.representer, data.split.train, data.test, data.matrix)
        outcomes += [
            inverse_model(scene, sharing.learning, say, n_epochs=config.study.inverse_epochs),
            look_up(scene, table, rng),
            nearest_token(scene, rng),
        ]
    return {
        **record,
        "phases": [dataclasses.asdict(one) for one in records],
        "attacks": {one.name: _told(one) for one in outcomes},
    }


def _told(found: Outcome) -> dict[str, Any]:
    return {
        "hits": found.hits.tolist(),
        "trials": found.trials.tolist(),
        "chance": found.chance,
        "share": found.share,
    }


def binary_f1(sentences: Sequence[VectorSentence], probabilities: Sequence[FloatArray]) -> dict[str, float]:
    """Precision, recall and F1 of PHI against safe, token by token; the most probable class counts.

    Returns:
        0 where nothing was found.

    Example:
        >>> one = VectorSentence(np.zeros((3, 1)), np.zeros(3), np.array([1, 1, 0]))
        >>> binary_f1([one], [np.array([[0, 1], [1, 0], [1, 0]])])
        {'precision': 1.0, 'recall': 0.5, 'f1': 0.6666666666666666}
    """
    is_phi = np.concatenate([sentence.classes > 0 for sentence in sentences])
    found = np.concatenate([rows.argmax(axis=1) > 0 for rows in probabilities])
    hits, n_found, n_phi = int((is_phi & found).sum()), int(found.sum()), int(is_phi.sum())
    return {
        "precision": hits / max(1, n_found),
        "recall": hits / max(1, n_phi),
        "f1": 2 * hits / max(1, n_found + n_phi),
    }
