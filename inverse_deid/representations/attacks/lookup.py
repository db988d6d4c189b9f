"""Attack A2: a table of known sentences and their representations, and the nearest word of one's own.

Source: Friedrich et al. 2019, section 5 (attack A2).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np

from inverse_deid.core.values import FloatArray
from inverse_deid.representations.attacks.outcome import (
    Outcome,
    Scene,
    blind_chance,
    outcome,
    phi_documents,
    phi_rows,
)
from inverse_deid.representations.encoding import encoded
from inverse_deid.representations.neighbours import Neighbours
from inverse_deid.representations.sentences import Sentence

N_CANDIDATES = 10
N_DRAWS = 8
"""Encodings of each candidate that the attacker averages, to take the noise out of his table."""


def look_up(scene: Scene, table: Neighbours, rng: np.random.Generator) -> Outcome:
    """Tell a sentence from the same with another name, knowing all candidates.

    For every sentence with PHI the attacker has a list: the sentence, and others in which one
    PHI token is a neighbour. He encodes each several times and takes the candidate whose mean
    is nearest to what was shared. This is what the representation promises to prevent.

    Args:
        scene: What he has and attacks.
        table: Neighbours of the PHI tokens that he is after.
        rng: Draws tokens, neighbours and noise.
    """
    targets = [sentence for sentence in scene.held_out if sentence.movable.any()]
    candidates = [_candidates(sentence, table, rng) for sentence in targets]
    flat = [one for group in candidates for one in group]
    means = [np.zeros(())] * len(flat)
    for _ in range(N_DRAWS):
        drawn = encoded(scene.representer, flat, scene.matrix, rng)
        means = [mean + one.vectors / N_DRAWS for mean, one in zip(means, drawn, strict=True)]
    shared = encoded(scene.representer, targets, scene.matrix, rng)
    right, first = [], 0
    for group, observed in zip(candidates, shared, strict=True):
        of_group = means[first : first + len(group)]
        distances = [float(((observed.vectors - mean) ** 2).sum()) for mean in of_group]
        right.append(int(np.argmin(distances)) == 0)  # the sentence itself is the first candidate
        first += len(group)
    chance = float(np.mean([1 / len(group) for group in candidates])) if candidates else 0.0
    documents = [sentence.document for sentence in targets]
    return outcome("look-up of known sentences (A2)", np.array(right, np.bool_), documents, chance)


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
    """Recover a PHI token as the word of the nearest vector in the attacker's own encoded documents.

    Args:
        scene: What he has and attacks.
        rng: Draws the noise.
    """
    from sklearn.neighbors import NearestNeighbors

    own, shared = (_phi_vectors(scene, side, rng) for side in (scene.known, scene.held_out))
    words, wanted = phi_rows(scene.known), phi_rows(scene.held_out)
    right = np.zeros(len(wanted), np.bool_)
    if len(words) and len(wanted):
        nearest = NearestNeighbors(n_neighbors=1).fit(own).kneighbors(shared, return_distance=False)[:, 0]
        right = words[nearest] == wanted
    return outcome(
        "nearest token", right, phi_documents(scene.held_out), blind_chance(scene.known, scene.held_out)
    )


def _phi_vectors(scene: Scene, sentences: Sequence[Sentence], rng: np.random.Generator) -> FloatArray:
    private = encoded(scene.representer, sentences, scene.matrix, rng)
    rows = [one.vectors[sentence.movable] for sentence, one in zip(sentences, private, strict=True)]
    return np.concatenate([np.zeros((0, scene.representer.output_shape[-1]), np.float32), *rows])
