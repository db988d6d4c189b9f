"""One run of the study of shared representations: train, measure, attack."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from inverse_deid.core.values import FloatArray
from inverse_deid.network.encoding import WordVectors
from inverse_deid.research.representations.attacks.distinguishing import continued_adversary
from inverse_deid.research.representations.attacks.inverse import inverse_model
from inverse_deid.research.representations.attacks.lookup import look_up, nearest_token
from inverse_deid.research.representations.attacks.measure import N_ENCODINGS
from inverse_deid.research.representations.attacks.outcome import Outcome, Scene
from inverse_deid.research.representations.batches import VectorSentence, with_vectors
from inverse_deid.research.representations.config import SharingConfig
from inverse_deid.research.representations.encoding import encoded
from inverse_deid.research.representations.losses import Networks
from inverse_deid.research.representations.neighbours import phi_neighbours
from inverse_deid.research.representations.procedures import (
    Material,
    is_pre_trained,
    new_networks,
    pre_train,
    train_against_adversaries,
)
from inverse_deid.research.representations.pseudonyms import pseudonymised, survival
from inverse_deid.research.representations.representer import noise_range, remove_noise
from inverse_deid.research.representations.sentences import Sentence, sentences_of
from inverse_deid.research.representations.sharing import SplitSentences, scored, split_sentences
from inverse_deid.research.representations.steps import EpochRecord
from inverse_deid.research.representations.tagger import class_probabilities
from inverse_deid.research.representations.tagger_training import train_tagger
from inverse_deid.research.studies.corpus_vectors import learned_vectors
from inverse_deid.research.studies.sharing_config import StudiedCorpus, StudyConfig, StudyRun, StudyTable
from inverse_deid.research.studies.stages import Record, Stages, seconds_of
from inverse_deid.training.calibration import calibrate, measure
from inverse_deid.training.corpus import read_annotated, read_type_mapping, without_near_duplicates
from inverse_deid.training.run import load_word_vectors

Say = Callable[[str], None]

CALIBRATED_RECALL = 0.99
"""Of PHI tokens, that thresholds are chosen for on held-out private vectors."""


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


def execute(run: StudyRun, data: StudyData, config: StudyConfig, stages: Stages, say: Say) -> Record:
    """Do a run, one stage after the other; the record holds numbers alone.

    Args:
        run: Which.
        data: Of its corpus.
        config: Of the study.
        stages: Keeps what each stage measured; what is there is not done again.
        say: Gets lines of progress.
    """
    sharing = _settings(run, config)
    if run.kind in ("adversarial", "reversal"):
        return _represented(run, data, (sharing, config), stages, say)
    if run.kind == "noise alone":
        return _noise_alone(run, data, (sharing, config), stages, say)
    found = stages.record("network", lambda: _on_words(run, data, sharing, say))
    return {**found, **seconds_of({"network": found})}


def _settings(run: StudyRun, config: StudyConfig) -> SharingConfig:
    """Those of the study, changed as the run says."""
    given = config.sharing
    representation = dataclasses.replace(
        given.representation,
        neighbours=max(2, run.neighbours),
        procedure="reversal" if run.kind == "reversal" else "three-phase",
    )
    return SharingConfig(
        representation=representation,
        adversary=given.adversary,
        tagger=dataclasses.replace(given.tagger, casing=run.kind != "non-private, no casing"),
        learning=dataclasses.replace(given.learning, seed=run.seed),
    )


def _on_words(run: StudyRun, data: StudyData, sharing: SharingConfig, say: Say) -> Record:
    """A network on word vectors; pseudonymised once, as what is shared is shared once."""
    train, survived = data.split.train, {}
    if run.kind == "pseudonymised":
        table = phi_neighbours(data.matrix, train, run.neighbours)
        moved = pseudonymised(train, table, np.random.default_rng(run.seed))
        survived = {"survival": dataclasses.asdict(survival(train, moved, table, data.vectors.words))}
        train = moved
    sides = [with_vectors(part, data.matrix) for part in (train, data.split.held_out, data.test)]
    return {**_trained(sides, sharing, say), **survived}


def _trained(sides: Sequence[Sequence[VectorSentence]], sharing: SharingConfig, say: Say) -> Record:
    """Train on the first part, stop by the second, measure on the third."""
    train, held_out, test = sides
    tagger, records = train_tagger(lambda _: train, held_out, sharing.tagger, sharing.learning, say)
    return {**binary_f1(test, class_probabilities(tagger, test)), "epochs": len(records)}


def _represented(
    run: StudyRun, data: StudyData, settings: tuple[SharingConfig, StudyConfig], stages: Stages, say: Say
) -> Record:
    """The representation; a new network on what it encodes; the attacks."""
    sharing, config = settings
    own = _Represented(run, data, sharing, config.study, say)
    networks = own.networks
    kept = {"representer": networks.representer, "adversary": networks.adversary}

    attacked = run.neighbours == config.study.attacked
    alone: Record = {"phases": []}
    done: dict[str, Record] = {}
    if is_pre_trained(sharing):
        alone = own.pre_training(stages)
        if attacked:
            done["pre-trained"] = stages.record("pre-trained", own.pre_trained)

    def representation() -> Record:
        found = own.representation()
        return {**found, "phases": [*alone["phases"], *found["phases"]]}

    done["representation"] = stages.trained("representation", kept, representation)
    plan = {"network": own.network, "adversary": own.adversary}
    if attacked:
        plan |= {"new-adversaries": own.new_adversaries, "inverse": own.inverse, "look-ups": own.look_ups}
    done |= {name: stages.record(name, stage) for name, stage in plan.items()}
    attacks = {name: told for record in done.values() for name, told in record.get("attacks", {}).items()}
    made = {name: done["representation"][name] for name in ("phases", "noise")}
    return {**done["network"], **made, "attacks": attacks, **seconds_of(done)}


def _noise_alone(
    run: StudyRun, data: StudyData, settings: tuple[SharingConfig, StudyConfig], stages: Stages, say: Say
) -> Record:
    """A network on the representation that no adversary has changed yet; attacks: `pre_trained`."""
    sharing, config = settings
    own = _Represented(run, data, sharing, config.study, say)
    own.pre_training(stages)
    found = stages.record("network", own.network)
    return {**found, **seconds_of({"network": found})}


class _Represented:
    """The stages of a run with a representation; each draws its noise from a generator of its own."""

    def __init__(
        self, run: StudyRun, data: StudyData, sharing: SharingConfig, study: StudyTable, say: Say
    ) -> None:
        self._run, self._data, self._sharing, self._study, self._say = run, data, sharing, study, say
        split = data.split
        self._table = phi_neighbours(data.matrix, [*split.train, *split.held_out, *data.test], run.neighbours)
        self.networks = new_networks(sharing, data.matrix.shape[1])

    def pre_training(self, stages: Stages) -> Record:
        """Train the task alone: a stage that the runs of every N share."""
        task = {"representer": self.networks.representer, "tagger": self.networks.tagger}
        shared = stages.of_run(self._run.pre_training)
        return shared.trained("pre-training", task, lambda: self._phases(pre_train))

    def representation(self) -> Record:
        """Train the representation against the adversaries; what came of its noise."""
        found = self._phases(train_against_adversaries)
        return {**found, "noise": noise_range(self.networks.representer)}

    def _phases(self, train: Callable[..., list[EpochRecord]]) -> Record:
        given = self._material(self._data.split.held_out)
        records = train(self.networks, given, self._sharing, self._say)
        return {"phases": [dataclasses.asdict(one) for one in records]}

    def network(self) -> Record:
        """Encode what is learned from and train a new network on that; who tests it needs no noise."""
        rng, split, test = self._draws(1), self._data.split, self._data.test
        train, held_out, noisy = (self._encoded(side, rng) for side in (split.train, split.held_out, test))
        sharing = self._sharing
        tagger, records = train_tagger(lambda _: train, held_out, sharing.tagger, sharing.learning, self._say)
        thresholds = calibrate([scored(held_out, class_probabilities(tagger, held_out))], CALIBRATED_RECALL)
        readings = {}
        for reading, side in (("without noise", self._encoded(test, None)), ("with noise", noisy)):
            probabilities = class_probabilities(tagger, side)
            point = measure(scored(side, probabilities), thresholds)
            readings[reading] = {
                **binary_f1(side, probabilities),
                "recall at threshold": point.recall,
                "precision at threshold": point.precision,
            }
        found = {name: readings["without noise"][name] for name in ("precision", "recall", "f1")}
        return {**found, "epochs": len(records), "readings": readings}

    def _encoded(self, side: Sequence[Sentence], rng: np.random.Generator | None) -> list[VectorSentence]:
        return encoded(self.networks.representer, side, self._data.matrix, rng)

    def adversary(self) -> Record:
        """Train the adversary further."""
        return _told([self._adversary_on(self.networks)])

    def _adversary_on(self, networks: Networks) -> Outcome:
        return continued_adversary(
            networks,
            self._material(self._data.test),
            self._sharing.learning,
            self._say,
            n_epochs=self._study.adversary_epochs,
        )

    def pre_trained(self) -> Record:
        """What the noise hides by itself: attacks before the representation learns to deceive."""
        scene, found = self._scene(), [self._adversary_on(self._with_new_adversary())]
        found += [look_up(scene, self._table, self._draws(2), n) for n in N_ENCODINGS]
        return _told(found, ", before adversarial training")

    def new_adversaries(self) -> Record:
        """Adversaries from the start: one as it is, and one on the representation without its noise.

        The one that is trained further may have been led astray; and one that finds much without
        noise shows that adversaries of this kind can learn the task, and what the noise hides.
        """
        bare = self._with_new_adversary()
        remove_noise(bare.representer)
        attacked = {", new adversary": self._with_new_adversary(), ", new adversary, without noise": bare}
        told = [_told([self._adversary_on(networks)], title) for title, networks in attacked.items()]
        return {"attacks": {name: found for one in told for name, found in one["attacks"].items()}}

    def _with_new_adversary(self) -> Networks:
        new = new_networks(self._sharing, self._data.matrix.shape[1])
        new.representer.set_weights(self.networks.representer.get_weights())
        return new

    def inverse(self) -> Record:
        """Learn the way back to the words."""
        n_epochs = self._study.inverse_epochs
        return _told(inverse_model(self._scene(), self._sharing.learning, self._say, n_epochs=n_epochs))

    def look_ups(self) -> Record:
        """The attacks that train nothing."""
        scene = self._scene()
        found = [look_up(scene, self._table, self._draws(2), n) for n in N_ENCODINGS]
        return _told([*found, nearest_token(scene, self._draws(3))])

    def _material(self, held_out: Sequence[Sentence]) -> Material:
        return Material(self._data.split.train, held_out, self._data.matrix, self._table)

    def _scene(self) -> Scene:
        data = self._data
        return Scene(self.networks.representer, data.split.train, data.test, data.matrix)

    def _draws(self, stage: int) -> np.random.Generator:
        return np.random.default_rng([self._run.seed, self._run.neighbours, stage])


def _told(found: Sequence[Outcome], title: str = "") -> Record:
    return {
        "attacks": {
            f"{one.name}{title}": {
                "hits": one.hits.tolist(),
                "trials": one.trials.tolist(),
                "chance": one.chance,
                "share": one.share,
            }
            for one in found
        }
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
