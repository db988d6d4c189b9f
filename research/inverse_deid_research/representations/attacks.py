"""Attacks on a representation, each by an attacker who has the published network and own documents.

A1 learns the way back to the words, A2 looks up known sentences, and the adversary of the training is
trained further. Each is measured on documents that the representation was not trained on.

Source: Friedrich et al. 2019, sections 5 (attacks A1 and A2) and 7.3 and figure 5, right (50 further
epochs); Elazar and Goldberg 2018 (why the training has to continue).
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import NormalDist
from typing import Any

import keras
import numpy as np
import numpy.typing as npt
import tensorflow as tf
from keras import layers

from inverse_deid.core.errors import ConfigurationError
from inverse_deid.core.phi import HyperClass
from inverse_deid.core.values import BoolArray, FloatArray, IntArray
from inverse_deid.network.lstm import PackedLSTM
from inverse_deid_research.representations.config import LearningConfig, SharingConfig
from inverse_deid_research.representations.networks import (
    NOISE_OUT,
    Losses,
    Networks,
    encode_sentences,
    standard_deviations_of,
)
from inverse_deid_research.representations.pseudonyms import Neighbours
from inverse_deid_research.representations.sentences import (
    N_CASINGS,
    Sentence,
    VectorSentence,
    batch_numbers,
    pad_rows,
    predict_sentences,
)
from inverse_deid_research.representations.training import (
    Material,
    compile_function,
    draw_pairs,
    epoch_loss,
    movable_sentences,
    pair_batches,
    training_step,
)
from inverse_deid_research.studies.study import Say

Int64Array = npt.NDArray[np.int64]
DISTINGUISHING = "same sentence or moved twin"
A2 = "look-up of known sentences (A2)"
ADVERSARY_EPOCHS = 50
INVERSE_UNITS = 64
N_CANDIDATES = 10
N_ENCODINGS = (1, 4)
"""How often the sentences that are looked up were shared."""
_Z = NormalDist().inv_cdf(0.975)


@dataclass(frozen=True, slots=True, eq=False)
class Scene:
    """The means of an attacker, and the attacked documents."""

    representer: keras.Model = field(repr=False)  # the frozen representation, which is published
    known: Sequence[Sentence] = field(repr=False)  # sentences of the attacker's documents
    # Sentences of other documents, which the representation was not trained on; their tokens that have a
    # vector are attacked.
    held_out: Sequence[Sentence] = field(repr=False)
    matrix: FloatArray = field(repr=False)  # float32 (n_words + 1, word_dim), row 0 is zero

    def encode(self, sentences: Sequence[Sentence], rng: np.random.Generator | None) -> list[VectorSentence]:
        """Represent sentences; without a generator without noise."""
        return encode_sentences(self.representer, sentences, self.matrix, rng)


@dataclass(frozen=True, slots=True, eq=False)
class AttackOutcome:
    """An attack on held-out documents."""

    name: str  # what was tried, in a few words
    hits: Int64Array = field(repr=False)  # int64 (n_documents,), how often it was right in each document
    trials: Int64Array = field(repr=False)  # int64 (n_documents,), how often it was tried
    chance: float  # share that is right without the representation
    documents: Int64Array = field(repr=False)  # int64 (n_documents,), the number of each

    @property
    def share(self) -> float:
        """Share that was right, over all documents."""
        return float(self.hits.sum() / self.trials.sum())

    @property
    def margin(self) -> float:
        """Half the width of a 95 % interval of the share: linearised, documents drawn as wholes."""
        n_documents = len(self.trials)
        if n_documents < 2:
            return 1.0
        residuals = self.hits - self.share * self.trials
        variance = n_documents / (n_documents - 1) * float((residuals**2).sum())
        return min(1.0, float(_Z * math.sqrt(variance) / self.trials.sum()))


def count_outcome(name: str, right: BoolArray, documents: Sequence[int], chance: float) -> AttackOutcome:
    """Count trials by document: `right` is bool (n_trials,), `documents` names the document of each.

    Raises:
        ConfigurationError: Nothing was tried.

    Example:
        >>> count_outcome("guess", np.array([True, False, True]), [0, 0, 4], 0.5).hits.tolist()
        [1, 1]
    """
    if not len(right):
        raise ConfigurationError(
            "no PHI token of the held-out documents has a word vector. Nothing to attack"
        )
    distinct, numbers = np.unique(np.asarray(documents, np.int64), return_inverse=True)
    hits, trials = np.bincount(numbers, right), np.bincount(numbers)
    return AttackOutcome(name, hits.astype(np.int64), trials.astype(np.int64), chance, distinct)


@dataclass(frozen=True, slots=True, eq=False)
class Targets:
    """The attacked tokens, sentence after sentence."""

    rows: IntArray = field(repr=False)  # int32 (n_tokens,), their words
    # int32 (n_tokens,), index into `HyperClass`, which every encoded file contains.
    classes: IntArray = field(repr=False)
    documents: IntArray = field(repr=False)  # int (n_tokens,), the document of each


def are_targets(sentence: Sentence, *, safe: bool = False) -> BoolArray:
    """Whether each token is attacked: PHI with a vector, or else safe tokens with a vector."""
    return (sentence.rows > 0) & (sentence.classes == 0) if safe else sentence.movable


def find_targets(sentences: Sequence[Sentence], *, safe: bool = False) -> Targets:
    chosen = [are_targets(sentence, safe=safe) for sentence in sentences]
    none = np.zeros(0, np.int32)
    return Targets(
        np.concatenate([none, *(s.rows[of] for s, of in zip(sentences, chosen, strict=True))]),
        np.concatenate([none, *(s.classes[of] for s, of in zip(sentences, chosen, strict=True))]),
        np.repeat([s.document for s in sentences], [int(of.sum()) for of in chosen]),
    )


def blind_chance(known: Targets, wanted: Targets) -> float:
    """Return the share of tokens that are the attacker's most frequent word of their class.

    An attacker gets them right without looking at a vector.
    """
    right = 0
    for number in np.unique(wanted.classes):
        own = known.rows[known.classes == number]
        if len(own):
            right += int((wanted.rows[wanted.classes == number] == np.bincount(own).argmax()).sum())
    return right / max(1, len(wanted.rows))


def measure_attacks(
    networks: Networks, given: Material, config: SharingConfig, say: Say
) -> list[AttackOutcome]:
    """Train the adversary further, and look known sentences up, on the held-out documents.

    These documents also decided when training stopped, so the figures may be a little too good.
    The adversary changes. `say` receives lines of progress and one per attack; numbers only.
    """
    learning = config.learning
    scene = Scene(networks.representer, given.train, given.validation, given.matrix)
    found = [continue_adversary(networks, given, learning, say)]
    for n_encodings in N_ENCODINGS:
        found.append(look_up(scene, given.table, np.random.default_rng(learning.seed), n_encodings))
    for one in found:
        say(describe_attack(one.name, one.share, one.margin, one.chance))
    return found


def describe_attack(name: str, share: float, margin: float, chance: float) -> str:
    """Return a line on an attack; see `AttackOutcome`.

    Example:
        >>> describe_attack("guess", 0.513, 0.04, 0.5)
        'attack "guess": right in 51.3 % (± 4.0), chance 50.0 %'
    """
    return (
        f'attack "{name}": right in {100 * share:.1f} % (± {100 * margin:.1f}), chance {100 * chance:.1f} %'
    )


def continue_adversary(
    networks: Networks, given: Material, config: LearningConfig, say: Say, n_epochs: int = ADVERSARY_EPOCHS
) -> AttackOutcome:
    """Train the adversary of some networks further, in place, and count its right answers.

    The representation stays as it is. The attacker trains on the training sentences and is judged on
    the validation sentences, which must be of documents that the representation was not trained on.
    All epochs are run; the last one counts. `say` receives lines of progress; numbers only.
    """
    keras.utils.set_random_seed(config.seed)
    rng = np.random.default_rng(config.seed)
    losses = Losses(networks, 1.0)
    step = training_step(losses.adversary, [networks.adversary], config)
    sentences = movable_sentences(given.train)
    for epoch in range(1, n_epochs + 1):
        made = draw_pairs(sentences, given.table, rng)
        loss = epoch_loss(step, pair_batches(made, given.matrix, config.batch, rng))
        if epoch % 10 == 0 or epoch == n_epochs:
            say(f"adversary, further epoch {epoch}: loss {loss:.4f}")
    held_out = draw_pairs(movable_sentences(given.validation), given.table, rng)
    held_out = sorted(held_out, key=lambda pair: len(pair.first))
    guess = compile_function(losses.answers)
    answers, same = [np.zeros(0, np.float32)], [np.zeros(0, np.float32)]
    for batch in pair_batches(held_out, given.matrix, config.batch):
        answers.append(np.asarray(guess(batch)))
        same.append(np.asarray(batch["same"]))
    right = (np.concatenate(answers) > 0.5) == (np.concatenate(same) > 0.5)
    return count_outcome(DISTINGUISHING, right, [pair.first.document for pair in held_out], 0.5)


def invert(scene: Scene, config: LearningConfig, say: Say, n_epochs: int = 20) -> list[AttackOutcome]:
    """Learn the way back to the words from the attacker's documents, and try it on those of others.

    The attacker has the published representation and encodes their documents again in every
    epoch. The model reads vectors, casings and classes, as a file has them. A token counts as
    recovered if its word is the nearest to the model's answer. Returns that of PHI, then of safe tokens.
    """
    keras.utils.set_random_seed(config.seed)
    rng = np.random.default_rng(config.seed)
    word_dim = scene.matrix.shape[1]
    vectors = layers.Input((None, scene.representer.output_shape[-1] + N_CASINGS + len(HyperClass)))
    valid = layers.Input((None,), dtype="bool")
    lstm = layers.Bidirectional(PackedLSTM(INVERSE_UNITS, return_sequences=True))
    inverse = keras.Model([vectors, valid], layers.Dense(word_dim)(lstm(vectors, mask=valid)), name="inverse")
    unit = scene.matrix / np.maximum(np.linalg.norm(scene.matrix, axis=1, keepdims=True), 1e-9)

    def loss(given: dict[str, Any]) -> Any:  # noqa: ANN401 - a scalar tensor
        answers = tf.math.l2_normalize(inverse([given["vectors"], given["valid"]], training=True), axis=-1)
        cosines = tf.reduce_sum(answers * given["words"], axis=-1) * given["weights"]
        return 1.0 - tf.reduce_sum(cosines) / tf.maximum(tf.reduce_sum(given["weights"]), 1.0)

    def make_batch(numbers: Sequence[int]) -> dict[str, Any]:
        chosen = [scene.known[i] for i in numbers]
        lengths = np.array([len(one) for one in chosen])
        longest = int(lengths.max())
        return {
            "vectors": tf.constant(pad_rows([private[i].vectors for i in numbers], longest, np.float32)),
            "words": tf.constant(pad_rows([unit[one.rows] for one in chosen], longest, np.float32)),
            "weights": tf.constant(pad_rows([one.rows > 0 for one in chosen], longest, np.float32)),
            "valid": tf.constant(np.arange(longest) < lengths[:, None]),
        }

    step = training_step(loss, [inverse], config)
    for _ in range(n_epochs):
        private = _join_features(scene.encode(scene.known, rng))
        numbers = batch_numbers([len(one) for one in private], config.batch, rng)
        last = epoch_loss(step, map(make_batch, numbers))
    say(f"inverse model: loss {last:.4f}")
    answers = predict_sentences(
        _join_features(scene.encode(scene.held_out, rng)),
        lambda batch: inverse.predict_on_batch([batch.vectors, batch.valid]),
    )
    return [_count_recovered(scene, answers, unit, safe=safe) for safe in (False, True)]


def _join_features(sentences: Sequence[VectorSentence]) -> list[VectorSentence]:
    """Append casings and classes to the vectors: (n_tokens, dim + n_casings + n_classes) per sentence."""
    casings, classes = np.eye(N_CASINGS, dtype=np.float32), np.eye(len(HyperClass), dtype=np.float32)
    return [
        dataclasses.replace(
            one, vectors=np.concatenate([one.vectors, casings[one.casings], classes[one.classes]], axis=1)
        )
        for one in sentences
    ]


def _count_recovered(
    scene: Scene, answers: Sequence[FloatArray], unit: FloatArray, *, safe: bool
) -> AttackOutcome:
    known, wanted = find_targets(scene.known, safe=safe), find_targets(scene.held_out, safe=safe)
    found = [np.zeros(0, np.int32)]
    for sentence, answer in zip(scene.held_out, answers, strict=True):
        attacked = answer[are_targets(sentence, safe=safe)]
        if len(attacked):
            found.append((attacked @ unit[1:].T).argmax(axis=1).astype(np.int32) + 1)
    chance = max(blind_chance(known, wanted), 1 / (len(unit) - 1))
    name = "inverse model (A1)" + (", safe words" if safe else "")
    return count_outcome(name, np.concatenate(found) == wanted.rows, wanted.documents.tolist(), chance)


def look_up(scene: Scene, table: Neighbours, rng: np.random.Generator, n_encodings: int = 1) -> AttackOutcome:
    """Tell a sentence from the same with another name, knowing all candidates.

    For every sentence with PHI the attacker has a list: the sentence, and others in which one
    PHI token is a neighbour. They run the published network on each without its noise
    and take the candidate that is nearest to what was shared, each dimension in units of its
    noise. This is what the representation promises to prevent.

    Args:
        scene: What the attacker has and attacks.
        table: Neighbours of the attacked PHI tokens.
        rng: Draws tokens, neighbours and noise.
        n_encodings: How often the sentence was shared, each time with new noise. Rows of two
            files can be joined by casings and classes, so that the attacker has the mean of all.
    """
    wanted = [sentence for sentence in scene.held_out if sentence.movable.any()]
    candidates = [_draw_candidates(sentence, table, rng) for sentence in wanted]
    clean = iter(_scale_vectors(scene, [one for group in candidates for one in group], None))
    shared = [_scale_vectors(scene, wanted, rng) for _ in range(n_encodings)]
    right = []
    for number, group in enumerate(candidates):
        observed = sum(draw[number] for draw in shared) / n_encodings
        distances = [float(((observed - next(clean)) ** 2).sum()) for _ in group]
        right.append(int(np.argmin(distances)) == 0)  # the sentence itself is the first candidate
    chance = float(np.mean([1 / len(group) for group in candidates])) if candidates else 0.0
    name = A2 if n_encodings == 1 else f"{A2}, encoded {n_encodings} times"
    return count_outcome(name, np.array(right, np.bool_), [one.document for one in wanted], chance)


def _scale_vectors(
    scene: Scene, sentences: Sequence[Sentence], rng: np.random.Generator | None
) -> list[FloatArray]:
    """Return private vectors in units of their noise: float32 (n_tokens, dim) per sentence."""
    unit = standard_deviations_of(scene.representer)[NOISE_OUT]
    return [one.vectors / unit for one in scene.encode(sentences, rng)]


def _draw_candidates(sentence: Sentence, table: Neighbours, rng: np.random.Generator) -> list[Sentence]:
    place = int(rng.choice(np.flatnonzero(sentence.movable)))
    others = table.of(sentence.rows[place : place + 1])[0][1:]
    found = [sentence]
    for row in rng.permutation(others)[: N_CANDIDATES - 1]:
        rows = sentence.rows.copy()
        rows[place] = row
        found.append(dataclasses.replace(sentence, rows=rows))
    return found


def find_nearest_tokens(scene: Scene, rng: np.random.Generator) -> AttackOutcome:
    """Recover a PHI token as the word of the attacker's nearest vector of the same class.

    The attacker's documents go through the network without noise, and the file contains the
    class of every vector. `rng` draws the noise of what was shared.
    """
    from sklearn.neighbors import NearestNeighbors

    def attacked(sentences: Sequence[Sentence], rng: np.random.Generator | None) -> FloatArray:
        pairs = zip(sentences, _scale_vectors(scene, sentences, rng), strict=True)
        none = np.zeros((0, scene.representer.output_shape[-1]), np.float32)
        return np.concatenate([none, *(vectors[are_targets(one)] for one, vectors in pairs)])

    known, wanted = find_targets(scene.known), find_targets(scene.held_out)
    own, shared = attacked(scene.known, None), attacked(scene.held_out, rng)
    right = np.zeros(len(wanted.rows), np.bool_)
    for number in np.intersect1d(known.classes, wanted.classes):
        mine, theirs = known.classes == number, wanted.classes == number
        search = NearestNeighbors(n_neighbors=1).fit(own[mine])
        nearest = search.kneighbors(shared[theirs], return_distance=False)[:, 0]
        right[theirs] = known.rows[mine][nearest] == wanted.rows[theirs]
    return count_outcome("nearest token", right, wanted.documents.tolist(), blind_chance(known, wanted))
