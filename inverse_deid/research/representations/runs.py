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
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import keras
import numpy as np

from inverse_deid.core.errors import ConfigurationError
from inverse_deid.core.settings import change_settings
from inverse_deid.core.values import Document, FloatArray
from inverse_deid.network.encoding import WordVectors, quantise
from inverse_deid.research.representations.attacks import (
    N_ENCODINGS,
    AttackOutcome,
    Scene,
    continue_adversary,
    find_nearest_tokens,
    invert,
    look_up,
)
from inverse_deid.research.representations.config import SharingConfig, StudiedCorpus, StudyConfig
from inverse_deid.research.representations.networks import (
    Networks,
    build_networks,
    class_probabilities,
    encode_sentences,
    noise_range,
    remove_noise,
)
from inverse_deid.research.representations.pseudonyms import measure_survival, phi_neighbours, pseudonymise
from inverse_deid.research.representations.sentences import (
    Sentence,
    VectorSentence,
    sentences_of,
    with_vectors,
)
from inverse_deid.research.representations.sharing import scored, split_sentences
from inverse_deid.research.representations.training import (
    EpochRecord,
    Material,
    is_pre_trained,
    pre_train,
    train_against_adversaries,
    train_tagger,
)
from inverse_deid.research.studies.records import (
    Record,
    fingerprint,
    read_arrays,
    read_record,
    write_arrays,
    write_record,
)
from inverse_deid.research.studies.study import Say
from inverse_deid.research.studies.training import assign_weights, weights_of
from inverse_deid.text.tokenizer import tokenize
from inverse_deid.training.calibration import calibrate, measure
from inverse_deid.training.corpus import read_annotated, read_type_mapping, without_near_duplicates
from inverse_deid.training.run import load_word_vectors

Kind = Literal[
    "non-private", "non-private, no casing", "pseudonymised", "noise alone", "adversarial", "reversal"
]
CALIBRATED_RECALL = 0.99
"""Recall of PHI tokens that thresholds reach on held-out private vectors."""
MIN_COUNT = 2
WINDOW = 4
"""Tokens on either side that a word is seen with."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SharingRun:
    """One training of the study."""

    corpus: StudiedCorpus
    kind: Kind
    neighbours: int
    seed: int

    @property
    def name(self) -> str:
        """For file names."""
        kind = self.kind.replace(", ", "-").replace(" ", "-")
        return f"{self.corpus.name}-{kind}-{self.neighbours}-{self.seed}"

    @property
    def pre_training(self) -> str:
        """The name of the training that all runs of a corpus and seed begin with."""
        return f"{self.corpus.name}-pre-training-{self.seed}"

    @property
    def depends_on(self) -> tuple[object, ...]:
        """The name contains all choices; the key of the study contains the settings."""
        return (self.name,)

    def settings(self, config: StudyConfig) -> SharingConfig:
        """Return the settings of the study, changed as the run says."""
        return SharingConfig(
            representation=change_settings(
                config.representation,
                neighbours=max(2, self.neighbours),
                procedure="reversal" if self.kind == "reversal" else "three-phase",
            ),
            adversary=config.adversary,
            tagger=change_settings(config.tagger, casing=self.kind != "non-private, no casing"),
            learning=change_settings(config.learning, seed=self.seed),
        )


def list_runs(config: StudyConfig, seeds: Sequence[int]) -> list[SharingRun]:
    """Return all runs in order; those without neighbours have 1."""
    plan: list[tuple[Kind, int]] = [("non-private", 1), ("non-private, no casing", 1)]
    plan += [("pseudonymised", n) for n in config.study.neighbours]
    plan.append(("noise alone", config.study.attacked))
    plan += [("adversarial", n) for n in config.study.neighbours]
    plan.append(("reversal", config.study.attacked))
    return [
        SharingRun(corpus=corpus, kind=kind, neighbours=n, seed=seed)
        for corpus in config.corpora
        for kind, n in plan
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
    """Read a corpus; no training document is a near duplicate of a test document.

    The split into training and held-out documents is the same for all seeds.

    Raises:
        InverseDeidError: It cannot be read or used.
    """
    types = read_type_mapping(corpus.mapping)
    test = read_annotated(corpus.test, types)
    docs = without_near_duplicates(read_annotated(corpus.train, types), test)
    learning = config.learning
    if corpus.learned:
        vectors = learn_vectors(docs, config.study.learned_dim, learning.seed)
    else:
        vectors = load_word_vectors(corpus.word_vectors)
    train, held_out = split_sentences(docs, vectors, learning.validation_share, learning.seed)
    return StudyData(train, held_out, sentences_of(test, vectors.numbers()), vectors, vectors.matrix())


def learn_vectors(docs: Sequence[Document], dim: int, seed: int) -> WordVectors:
    """Learn word vectors from running text, for a language without any at hand.

    The vocabulary is that of the corpus, names included: good for a study, never to be published.
    Annotations are not read. The seed is of the decomposition.

    Raises:
        ConfigurationError: Fewer words occur twice than a vector is long.

    Source: Levy and Goldberg 2014 (truncated SVD of positive pointwise mutual information).
    """
    from scipy.sparse import csr_matrix
    from sklearn.decomposition import TruncatedSVD

    texts = [tokenize(doc.text.lower()).words for doc in docs]
    counts = Counter(word for words in texts for word in words)
    vocabulary = sorted(word for word, count in counts.items() if count >= MIN_COUNT)
    if len(vocabulary) <= dim:
        raise ConfigurationError(
            f"{len(vocabulary)} words occur {MIN_COUNT} times. Vectors of length {dim} need more text"
        )
    number = {word: i for i, word in enumerate(vocabulary)}
    together: Counter[tuple[int, int]] = Counter()
    for words in texts:
        rows = [number[word] for word in words if word in number]
        for distance in range(1, WINDOW + 1):
            together.update(zip(rows, rows[distance:], strict=False))
    pairs = np.array(list(together), np.int64).reshape(-1, 2)
    values = np.fromiter(together.values(), np.float64, len(together))
    size = (len(vocabulary), len(vocabulary))
    seen = csr_matrix((values, (pairs[:, 0], pairs[:, 1])), size)
    seen = (seen + seen.T).tocoo()
    sums = np.asarray(seen.sum(axis=1)).ravel()
    information = np.log(seen.data * sums.sum() / (sums[seen.row] * sums[seen.col]))
    positive = csr_matrix((np.maximum(information, 0), (seen.row, seen.col)), size)
    vectors = TruncatedSVD(dim, random_state=seed).fit_transform(positive)
    return quantise(vocabulary, vectors.astype(np.float32))


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
    if run.kind not in ("adversarial", "reversal", "noise alone"):
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
            return _join_stages({"network": stages.record("network", stage.train_on_encodings)})
        if attacked:
            done["pre-trained"] = stages.record("pre-trained", stage.attack_pre_trained)

    def train() -> Record:
        found = stage.train(train_against_adversaries)["phases"]
        return {"phases": [*phases, *found], "noise": noise_range(networks.representer)}

    kept = {"representer": networks.representer, "adversary": networks.adversary}
    done["representation"] = stages.train("representation", kept, train)
    plan = {"network": stage.train_on_encodings, "adversary": stage.attack_further}
    if attacked:
        plan["new-adversaries"] = stage.attack_anew
        plan |= {"inverse": stage.attack_inversely, "look-ups": stage.attack_by_look_up}
    return _join_stages(done | {name: stages.record(name, make) for name, make in plan.items()})


def _join_stages(done: Mapping[str, Record]) -> Record:
    """Return the record of a run, with the time of all stages and what each took of the processor."""
    found = {name: value for name, value in done["network"].items() if not name.endswith("seconds")}
    if "representation" in done:
        found |= {name: done["representation"][name] for name in ("phases", "noise")}
        attacks = [record.get("attacks", {}) for record in done.values()]
        found["attacks"] = {name: told for one in attacks for name, told in one.items()}
    found["seconds"] = sum(record["seconds"] for record in done.values())
    return {**found, "cpu_seconds": {stage: record["cpu_seconds"] for stage, record in done.items()}}


class _RunStages:
    """The stages of a run; each draws its noise from its own generator."""

    networks: Networks

    def __init__(self, run: SharingRun, data: StudyData, config: StudyConfig, say: Say) -> None:
        self._run, self._data, self._study, self._say = run, data, config.study, say
        self.settings = run.settings(config)

    def train_on_words(self) -> Record:
        """Train a network on word vectors; pseudonymised once, as what is shared is shared once."""
        train, matrix, survived = self._data.train, self._data.matrix, {}
        if self._run.kind == "pseudonymised":
            table = phi_neighbours(matrix, train, self._run.neighbours)
            moved = pseudonymise(train, table, np.random.default_rng(self._run.seed))
            left = measure_survival(train, moved, table, self._data.vectors.words)
            train, survived = moved, {"survival": dataclasses.asdict(left)}
        sides = (train, self._data.held_out, self._data.test)
        known, held_out, test = (with_vectors(side, matrix) for side in sides)
        tagger, records = self._train_tagger(known, held_out)
        return {**binary_f1(test, class_probabilities(tagger, test)), "epochs": len(records), **survived}

    def _train_tagger(
        self, train: list[VectorSentence], held_out: list[VectorSentence]
    ) -> tuple[keras.Model, list[EpochRecord]]:
        settings = self.settings
        return train_tagger(train, held_out, settings.tagger, settings.learning, self._say)

    def make_networks(self) -> Networks:
        """Make the networks of all other stages, and find the neighbours of all PHI tokens."""
        data = self._data
        sentences = [*data.train, *data.held_out, *data.test]
        self._table = phi_neighbours(data.matrix, sentences, self._run.neighbours)
        self.networks = build_networks(self.settings, data.matrix.shape[1])
        return self.networks

    def train(self, train: Callable[..., list[EpochRecord]]) -> Record:
        """Train some phases; runs of every N share the task alone."""
        given = self._material(self._data.held_out)
        records = train(self.networks, given, self.settings, self._say)
        return {"phases": [dataclasses.asdict(one) for one in records]}

    def train_on_encodings(self) -> Record:
        """Encode training documents and train a new network on them; tests need no noise."""
        rng, data = self._draws(1), self._data
        sides = (data.train, data.held_out, data.test)
        train, held_out, noisy = (self._encode(side, rng) for side in sides)
        tagger, records = self._train_tagger(train, held_out)
        thresholds = calibrate([scored(held_out, class_probabilities(tagger, held_out))], CALIBRATED_RECALL)
        readings = {}
        for reading, side in (("without noise", self._encode(data.test, None)), ("with noise", noisy)):
            probabilities = class_probabilities(tagger, side)
            point = measure(scored(side, probabilities), thresholds)
            readings[reading] = {
                **binary_f1(side, probabilities),
                "recall at threshold": point.recall,
                "precision at threshold": point.precision,
            }
        found = {name: readings["without noise"][name] for name in ("precision", "recall", "f1")}
        return {**found, "epochs": len(records), "readings": readings}

    def _encode(self, side: Sequence[Sentence], rng: np.random.Generator | None) -> list[VectorSentence]:
        return encode_sentences(self.networks.representer, side, self._data.matrix, rng)

    def attack_further(self) -> Record:
        """Train the adversary further."""
        return _record_attacks([self._continue_adversary(self.networks)])

    def _continue_adversary(self, networks: Networks) -> AttackOutcome:
        given, n_epochs = self._material(self._data.test), self._study.adversary_epochs
        return continue_adversary(networks, given, self.settings.learning, self._say, n_epochs=n_epochs)

    def attack_pre_trained(self) -> Record:
        """Attack before the representation learns to deceive: what the noise hides by itself."""
        found = [self._continue_adversary(self._renew_adversary()), *self._look_up()]
        return _record_attacks(found, ", before adversarial training")

    def attack_anew(self) -> Record:
        """Train adversaries from the start: one as it is, and one on the representation without noise.

        The one that is trained further may have been led astray. One that finds much without
        noise shows that adversaries of this kind can learn the task, and what the noise hides.
        """
        bare = self._renew_adversary()
        remove_noise(bare.representer)
        attacked = {", new adversary": self._renew_adversary(), ", new adversary, without noise": bare}
        attacks: Record = {}
        for title, networks in attacked.items():
            attacks |= _record_attacks([self._continue_adversary(networks)], title)["attacks"]
        return {"attacks": attacks}

    def _renew_adversary(self) -> Networks:
        new = build_networks(self.settings, self._data.matrix.shape[1])
        new.representer.set_weights(self.networks.representer.get_weights())
        return new

    def attack_inversely(self) -> Record:
        """Learn the way back to the words."""
        n_epochs = self._study.inverse_epochs
        found = invert(self._scene(), self.settings.learning, self._say, n_epochs=n_epochs)
        return _record_attacks(found)

    def attack_by_look_up(self) -> Record:
        """Attack without training."""
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
