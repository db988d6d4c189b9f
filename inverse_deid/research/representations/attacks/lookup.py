"""Attack A2: a table of known sentences and their representations, and the nearest word of the attacker.

Source: Friedrich et al. 2019, section 5 (attack A2).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np

from inverse_deid.core.values import FloatArray
from inverse_deid.research.representations.attacks.outcome import (
    Outcome,
    Scene,
    are_targets,
    blind_chance,
    outcome,
    targets,
)
from inverse_deid.research.representations.encoding import encoded
from inverse_deid.research.representations.neighbours import Neighbours
from inverse_deid.research.representations.representer import NOISE_OUT, standard_deviations_of
from inverse_deid.research.representations.sentences import Sentence

N_CANDIDATES = 10
A2 = "look-up of known sentences (A2)"


def look_up(scene: Scene, table: Neighbours, rng: np.random.Generator, n_encodings: int = 1) -> Outcome:
    """Tell a sentence from the same with another name, knowing all candidates.

    For every sentence with PHI the attacker has a list: the sentence, and others in which one
    PHI token is a neighbour. He runs the published network on each with its noise taken away
    and takes the candidate that is nearest to what was shared, each dimension in units of its
    noise. This is what the representation promises to prevent.

    Args:
        scene: What he has and attacks.
        table: Neighbours of the PHI tokens that he is after.
        rng: Draws tokens, neighbours and noise.
        n_encodings: How often the sentence was shared, each time with new noise. Rows of two
            files can be joined by casings and classes, so that he has the mean of all.
    """
    wanted = [sentence for sentence in scene.held_out if sentence.movable.any()]
    candidates = [_candidates(sentence, table, rng) for sentence in wanted]
    flat = [one for group in candidates for one in group]
    clean = _vectors(scene, flat, None)
    shared = [_vectors(scene, wanted, rng) for _ in range(n_encodings)]
    right, first = [], 0
    for number, group in enumerate(candidates):
        observed = sum(draw[number] for draw in shared) / n_encodings
        of_group = clean[first : first + len(group)]
        distances = [float(((observed - template) ** 2).sum()) for template in of_group]
        right.append(int(np.argmin(distances)) == 0)  # the sentence itself is the first candidate
        first += len(group)
    chance = float(np.mean([1 / len(group) for group in candidates])) if candidates else 0.0
    name = A2 if n_encodings == 1 else f"{A2}, encoded {n_encodings} times"
    return outcome(name, np.array(right, np.bool_), [sentence.document for sentence in wanted], chance)


def _vectors(
    scene: Scene, sentences: Sequence[Sentence], rng: np.random.Generator | None
) -> list[FloatArray]:
    """Private vectors in units of their noise: float32 (n_tokens, dim) a sentence."""
    unit = standard_deviations_of(scene.representer)[NOISE_OUT]
    return [one.vectors / unit for one in encoded(scene.representer, sentences, scene.matrix, rng)]


def _candidates(sentence: Sentence, table: Neighbours, rng: np.random.Generator) -> list[Sentence]:
    """The sentence and some with one PHI token moved, all different."""
    place = int(rng.choice(np.flatnonzero(sentence.movable)))
    others = table.of(sentence.rows[place : place + 1])[0][1:]
    found = [sentence]
    for row in rng.permutation(others)[: N_CANDIDATES - 1]:
        rows = sentence.rows.copy()
        rows[place] = row
        found.append(dataclasses.replace(sentence, rows=rows))
    return found


def nearest_token(scene: Scene, rng: np.random.Generator) -> Outcome:
    """Recover a PHI token as the word of the nearest vector among his own, of the same class.

    His own documents go through the network with its noise taken away; the class is known
    beside every vector.

    Args:
        scene: What he has and attacks.
        rng: Draws the noise of what was shared.
    """
    from sklearn.neighbors import NearestNeighbors

    known, wanted = targets(scene.known), targets(scene.held_out)
    own, shared = _of_targets(scene, scene.known, None), _of_targets(scene, scene.held_out, rng)
    right = np.zeros(len(wanted.rows), np.bool_)
    for number in np.intersect1d(known.classes, wanted.classes):
        mine, theirs = known.classes == number, wanted.classes == number
        search = NearestNeighbors(n_neighbors=1).fit(own[mine])
        nearest = search.kneighbors(shared[theirs], return_distance=False)[:, 0]
        right[theirs] = known.rows[mine][nearest] == wanted.rows[theirs]
    return outcome("nearest token", right, wanted.documents.tolist(), blind_chance(known, wanted))


def _of_targets(scene: Scene, sentences: Sequence[Sentence], rng: np.random.Generator | None) -> FloatArray:
    rows = [v[are_targets(s)] for s, v in zip(sentences, _vectors(scene, sentences, rng), strict=True)]
    return np.concatenate([np.zeros((0, scene.representer.output_shape[-1]), np.float32), *rows])
