"""The runs of the study, each in stages: an interrupted run resumes after its last stage.

::

    runs/RUN.json           the record of a finished run
    runs/RUN/STAGE.json     what a stage measured
    models/RUN/STAGE.npz    the weights that a stage trained, until the whole run is done
"""

from __future__ import annotations

import dataclasses
import shutil
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import keras
import numpy as np

from inverse_deid.core.settings import change_settings
from inverse_deid.core.values import FloatArray
from inverse_deid.network.encoding import WordVectors
from inverse_deid.training.calibration import calibrate, measure
from inverse_deid.training.corpus import read_annotated, read_type_mapping, without_shared_passages
from inverse_deid.training.run import load_word_vectors
from inverse_deid_research.representations.attacks import (
    N_ENCODINGS,
    AttackOutcome,
    Scene,
    continue_adversary,
    find_nearest_tokens,
    invert,
    look_up,
)
from inverse_deid_research.representations.config import SharingConfig, StudiedCorpus, StudyConfig
from inverse_deid_research.representations.networks import (
    Networks,
    build_networks,
    class_probabilities,
    encode_sentences,
    noise_range,
    remove_noise,
)
from inverse_deid_research.representations.pseudonyms import measure_survival, phi_neighbours, pseudonymise
from inverse_deid_research.representations.sentences import (
    Sentence,
    VectorSentence,
    sentences_of,
    with_vectors,
)
from inverse_deid_research.representations.sharing import scored, split_sentences
from inverse_deid_research.representations.training import (
    EpochRecord,
    Material,
    is_pre_trained,
    pre_train,
    train_against_adversaries,
    train_tagger,
)
from inverse_deid_research.representations.vectors import add_fallbacks, add_subwords, learn_vectors
from inverse_deid_research.studies.records import (
    Record,
    fingerprint,
    read_arrays,
    read_record,
    write_arrays,
    write_record,
)
from inverse_deid_research.studies.study import Say
from inverse_deid_research.studies.training import assign_weights, weights_of

Kind = Literal[
    "non-private",
    "non-private, no casing",
    "augmented",
    "pseudonymised",
    "noise alone",
    "adversarial",
    "dynamic noise",
    "reversal",
]
ON_WORDS = frozenset({"non-private", "non-private, no casing", "augmented", "pseudonymised"})
"""The kinds whose network reads words; the others read a representation."""
NEW_ADVERSARY = ", new adversary"
CALIBRATED_RECALL = 0.99
"""Recall of PHI tokens that thresholds reach on held-out private vectors."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SharingRun:
    """One training of the study; `strength` is that of noise alone."""

    corpus: StudiedCorpus
    kind: Kind
    neighbours: int
    seed: int
    strength: float = 0.0

    @property
    def name(self) -> str:
        kind = self.kind.replace(", ", "-").replace(" ", "-")
        strength = f"{self.strength}-" if self.strength else ""
        return f"{self.corpus.name}-{kind}-{strength}{self.neighbours}-{self.seed}"

    @property
    def pre_training(self) -> str:
        """The name of the training that runs of several N begin with."""
        if self.kind != "adversarial":
            return self.name
        return f"{self.corpus.name}-pre-training-{self.seed}"

    @property
    def depends_on(self) -> tuple[object, ...]:
        """The name contains all choices; the key of the study contains the settings."""
        return (self.name,)

    def settings(self, config: StudyConfig) -> SharingConfig:
        """Return the settings of the study, changed as the run says.

        Noise alone is held where it is, and no weight may outgrow it.
        """
        part = change_settings(
            config.representation,
            neighbours=max(2, self.neighbours),
            procedure="reversal" if self.kind == "reversal" else "three-phase",
            dynamic=self.kind == "dynamic noise" or config.representation.dynamic,
        )
        if self.kind == "noise alone":
            bounded = "never" if part.normalise == "never" and not part.units else "around noise"
            part = change_settings(part, noise_out=self.strength, hold_noise=True, normalise=bounded)
        return SharingConfig(
            representation=part,
            adversary=config.adversary,
            tagger=change_settings(config.tagger, casing=self.kind != "non-private, no casing"),
            learning=change_settings(config.learning, seed=self.seed),
        )


def list_runs(config: StudyConfig, seeds: Sequence[int]) -> list[SharingRun]:
    """Return all runs, those that answer the question first; those without neighbours have 1."""
    study, n = config.study, config.study.attacked
    others = [other for other in study.neighbours if other != n]
    plan: list[tuple[Kind, int, float]] = [("non-private", 1, 0), ("adversarial", n, 0)]
    plan += [("noise alone", n, strength) for strength in study.strengths]
    plan += [("pseudonymised", n, 0), ("augmented", n, 0), ("dynamic noise", n, 0)]
    plan += [("reversal", n, 0), ("non-private, no casing", 1, 0)]
    plan += [("pseudonymised", other, 0) for other in others] + [
        ("adversarial", other, 0) for other in others
    ]
    return [
        SharingRun(corpus=corpus, kind=kind, neighbours=n, seed=seed, strength=strength)
        for corpus in config.corpora
        for kind, n, strength in plan
        for seed in seeds
    ]


@dataclass(frozen=True, slots=True, eq=False)
class StudyData:
    """A corpus, with the vectors of its words and their matrix."""

    train: list[Sentence] = field(repr=False)
    held_out: list[Sentence] = field(repr=False)
    test: list[Sentence] = field(repr=False)
    vectors: WordVectors = field(repr=False)
    matrix: FloatArray = field(repr=False)


def read_study_data(corpus: StudiedCorpus, config: StudyConfig) -> StudyData:
    """Read a corpus; training and test documents share neither a person nor a passage.

    The split into training and held-out documents is the same for all seeds.

    Raises:
        InverseDeidError: It cannot be read or used.
    """
    types = read_type_mapping(corpus.mapping)
    test = read_annotated(corpus.test, types)
    docs = without_shared_passages(read_annotated(corpus.train, types), test)
    learning = config.learning
    if corpus.learned:
        vectors = learn_vectors(docs, config.study.learned_dim, learning.seed)
    else:
        vectors = load_word_vectors(corpus.word_vectors)
    if corpus.subwords:
        vectors = add_subwords(vectors, [*docs, *test])
    vectors = add_fallbacks(vectors, docs)
    train, held_out = split_sentences(docs, vectors, learning.validation_share, learning.seed)
    return StudyData(train, held_out, sentences_of(test, vectors.numbers()), vectors, vectors.matrix())


@dataclass(frozen=True, slots=True)
class FinishedStages:
    """The finished stages of one run of the study in `folder`; results with another key do not count."""

    folder: Path
    run: str
    key: str

    def record(self, stage: str, make: Callable[[], Record]) -> Record:
        """Return what a stage measured, its `seconds` and `cpu_seconds`; do the stage if necessary.

        Raises:
            OutputError: The record cannot be written.
        """
        path, key = self._record_path(stage), fingerprint(self.key, self.run)
        found = read_record(path, key)
        if found is None:
            begun, begun_cpu = time.perf_counter(), time.process_time()
            made = make()
            spent = {"seconds": time.perf_counter() - begun, "cpu_seconds": time.process_time() - begun_cpu}
            found = {**made, **spent}
            write_record(path, key, found)
        return found

    def train(self, stage: str, networks: Mapping[str, keras.Model], train: Callable[[], Record]) -> Record:
        """Do a stage that trains networks in place, as `record`; a finished one gives them its weights.

        Raises:
            OutputError: Record or weights cannot be written.
        """
        path = self.folder / "models" / self.run / f"{stage}.npz"

        def make() -> Record:
            record = train()
            arrays = {
                f"{name} {place}": weight
                for name, network in networks.items()
                for place, weight in weights_of(network).items()
            }
            write_arrays(path, arrays)
            return record

        if not path.is_file():
            self._record_path(stage).unlink(missing_ok=True)
        found, arrays = self.record(stage, make), read_arrays(path)
        for name, network in networks.items():
            own = {place: weight for place, weight in arrays.items() if place.startswith(f"{name} ")}
            assign_weights(network, own)
        return found

    def _record_path(self, stage: str) -> Path:
        return self.folder / "runs" / self.run / f"{stage}.json"

    def forget_weights(self) -> None:
        """Delete the weights of this run, not those of others that may be under way."""
        shutil.rmtree(self.folder / "models" / self.run, ignore_errors=True)
        with suppress(OSError):  # not empty
            (self.folder / "models").rmdir()


def do_run(run: SharingRun, data: StudyData, config: StudyConfig, stages: FinishedStages, say: Say) -> Record:
    """Do the stages of a run that are missing; the record contains only numbers."""
    stage = _RunStages(run, data, config, say)
    if run.kind in ON_WORDS:
        return _join_stages({"network": stages.record("network", stage.train_on_words)})
    networks = stage.make_networks()
    done: dict[str, Record] = {}
    phases = []
    attacked = run.neighbours == config.study.attacked
    if is_pre_trained(stage.settings):
        task = {"representer": networks.representer, "tagger": networks.tagger}
        shared = dataclasses.replace(stages, run=run.pre_training)
        phases += shared.train("pre-training", task, lambda: stage.train(pre_train))["phases"]
        if run.kind == "noise alone":
            plan = {"network": stage.train_on_encodings, "attacks": stage.attack_by_rivals}
            return _join_stages({name: stages.record(name, make) for name, make in plan.items()})
        if attacked and config.study.controls:
            done["pre-trained"] = stages.record("pre-trained", stage.attack_pre_trained)

    def train() -> Record:
        found = stage.train(train_against_adversaries)["phases"]
        return {"phases": [*phases, *found], "noise": noise_range(networks.representer)}

    kept = {"representer": networks.representer, "adversary": networks.adversary}
    done["representation"] = stages.train("representation", kept, train)
    plan = {"network": stage.train_on_encodings}
    if not config.study.controls:
        plan["attacks"] = stage.attack_by_rivals
        return _join_stages(done | {name: stages.record(name, make) for name, make in plan.items()})
    plan["adversary"] = stage.attack_further
    if attacked:
        plan["new-adversaries"] = stage.attack_anew
        plan |= {"inverse": stage.attack_inversely, "look-ups": stage.attack_by_look_up}
    return _join_stages(done | {name: stages.record(name, make) for name, make in plan.items()})


def _join_stages(done: Mapping[str, Record]) -> Record:
    found = {name: value for name, value in done["network"].items() if not name.endswith("seconds")}
    if "representation" in done:
        found |= {name: done["representation"][name] for name in ("phases", "noise")}
    attacks = {name: told for one in done.values() for name, told in one.get("attacks", {}).items()}
    if attacks:
        found["attacks"] = attacks
    found["seconds"] = sum(record["seconds"] for record in done.values())
    return {**found, "cpu_seconds": {stage: record["cpu_seconds"] for stage, record in done.items()}}


class _RunStages:
    """The stages of a run; each draws its noise from its own generator."""

    networks: Networks

    def __init__(self, run: SharingRun, data: StudyData, config: StudyConfig, say: Say) -> None:
        self._run, self._data, self._study, self._say = run, data, config.study, say
        self.settings = run.settings(config)

    def train_on_words(self) -> Record:
        # Pseudonymised once, as what is shared is shared once.
        # An augmented one learns from the sentences as they are and with pseudonyms.
        train, matrix, survived = self._data.train, self._data.matrix, {}
        if self._run.kind in ("pseudonymised", "augmented"):
            table = phi_neighbours(matrix, train, self._run.neighbours)
            moved = pseudonymise(train, table, np.random.default_rng(self._run.seed))
            left = measure_survival(train, moved, table, self._data.vectors.words)
            train = moved if self._run.kind == "pseudonymised" else [*train, *moved]
            survived = {"survival": dataclasses.asdict(left)}
        sides = (train, self._data.held_out, self._data.test)
        known, held_out, test = (with_vectors(side, matrix) for side in sides)
        tagger, records = self._train_tagger(known, held_out)
        probabilities = class_probabilities(tagger, test)
        counts = self._count_documents(test, probabilities)
        return {**binary_f1(test, probabilities), **counts, "epochs": len(records), **survived}

    def _count_documents(self, test: list[VectorSentence], probabilities: list[FloatArray]) -> Record:
        n_documents = 1 + max(sentence.document for sentence in self._data.test)
        counts = np.zeros((3, n_documents), np.int64)
        for own, sentence, rows in zip(self._data.test, test, probabilities, strict=True):
            is_phi, found = sentence.classes > 0, rows.argmax(axis=1) > 0
            counts[:, own.document] += (is_phi & found).sum(), found.sum(), is_phi.sum()
        return {"documents": counts.tolist()}

    def _train_tagger(
        self, train: list[VectorSentence], held_out: list[VectorSentence]
    ) -> tuple[keras.Model, list[EpochRecord]]:
        settings = self.settings
        return train_tagger(train, held_out, settings.tagger, settings.learning, self._say)

    def make_networks(self) -> Networks:
        data = self._data
        sentences = [*data.train, *data.held_out, *data.test]
        self._table = phi_neighbours(data.matrix, sentences, self._run.neighbours)
        self.networks = build_networks(self.settings, data.matrix.shape[1])
        return self.networks

    def train(self, train: Callable[..., list[EpochRecord]]) -> Record:
        # Runs of every N share the task alone.
        given = self._material(self._data.held_out)
        records = train(self.networks, given, self.settings, self._say)
        return {"phases": [dataclasses.asdict(one) for one in records]}

    def train_on_encodings(self) -> Record:
        # Tests need no noise.
        rng, data = self._draws(1), self._data
        sides = (data.train, data.held_out, data.test)
        train, held_out, noisy = (self._encode(side, rng) for side in sides)
        tagger, records = self._train_tagger(train, held_out)
        thresholds = calibrate([scored(held_out, class_probabilities(tagger, held_out))], CALIBRATED_RECALL)
        readings: Record = {}
        counts: Record = {}
        for reading, side in (("without noise", self._encode(data.test, None)), ("with noise", noisy)):
            probabilities = class_probabilities(tagger, side)
            point = measure(scored(side, probabilities), thresholds)
            readings[reading] = {
                **binary_f1(side, probabilities),
                "recall at threshold": point.recall,
                "precision at threshold": point.precision,
            }
            counts = counts or self._count_documents(side, probabilities)
        found = {name: readings["without noise"][name] for name in ("precision", "recall", "f1")}
        return {**found, **counts, "epochs": len(records), "readings": readings}

    def _encode(self, side: Sequence[Sentence], rng: np.random.Generator | None) -> list[VectorSentence]:
        return encode_sentences(self.networks.representer, side, self._data.matrix, rng)

    def attack_further(self) -> Record:
        return _record_attacks([self._continue_adversary(self.networks)])

    def _continue_adversary(self, networks: Networks) -> AttackOutcome:
        given, n_epochs = self._material(self._data.test), self._study.adversary_epochs
        return continue_adversary(networks, given, self.settings.learning, self._say, n_epochs=n_epochs)

    def attack_pre_trained(self) -> Record:
        # What the noise hides by itself.
        found = [self._continue_adversary(self._renew_adversary()), *self._look_up()]
        return _record_attacks(found, ", before adversarial training")

    def attack_by_rivals(self) -> Record:
        # What noise alone is compared by.
        attacks = _record_attacks([self._continue_adversary(self._renew_adversary())], NEW_ADVERSARY)
        return {"attacks": {**attacks["attacks"], **_record_attacks(self._look_up())["attacks"]}}

    def attack_anew(self) -> Record:
        # One as it is, and one on the representation without noise.
        # The one that is trained further may have been led astray. One that finds much without noise shows
        # that adversaries of this kind can learn the task, and what the noise hides.
        bare = self._renew_adversary()
        remove_noise(bare.representer)
        attacked = {NEW_ADVERSARY: self._renew_adversary(), f"{NEW_ADVERSARY}, without noise": bare}
        attacks: Record = {}
        for title, networks in attacked.items():
            attacks |= _record_attacks([self._continue_adversary(networks)], title)["attacks"]
        return {"attacks": attacks}

    def _renew_adversary(self) -> Networks:
        new = build_networks(self.settings, self._data.matrix.shape[1])
        new.representer.set_weights(self.networks.representer.get_weights())
        return new

    def attack_inversely(self) -> Record:
        n_epochs = self._study.inverse_epochs
        found = invert(self._scene(), self.settings.learning, self._say, n_epochs=n_epochs)
        return _record_attacks(found)

    def attack_by_look_up(self) -> Record:
        return _record_attacks([*self._look_up(), find_nearest_tokens(self._scene(), self._draws(3))])

    def _look_up(self) -> list[AttackOutcome]:
        return [look_up(self._scene(), self._table, self._draws(2), n) for n in N_ENCODINGS]

    def _material(self, held_out: Sequence[Sentence]) -> Material:
        return Material(self._data.train, held_out, self._data.matrix, self._table)

    def _scene(self) -> Scene:
        data = self._data
        return Scene(self.networks.representer, data.train, data.test, data.matrix)

    def _draws(self, stage: int) -> np.random.Generator:
        return np.random.default_rng([self._run.seed, self._run.neighbours, stage])


def _record_attacks(found: Sequence[AttackOutcome], title: str = "") -> Record:
    return {
        "attacks": {
            f"{one.name}{title}": {
                "hits": one.hits.tolist(),
                "trials": one.trials.tolist(),
                "chance": one.chance,
                "share": one.share,
                "documents": one.documents.tolist(),
            }
            for one in found
        }
    }


def binary_f1(sentences: Sequence[VectorSentence], probabilities: Sequence[FloatArray]) -> dict[str, float]:
    """Return precision, recall and F1 of PHI against safe, per token; 0 where nothing was found.

    The most probable class counts.

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
