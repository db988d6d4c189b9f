"""Automatic pseudonymisation: PHI tokens move to a neighbour.

It gives no guarantee: with any N a token may stay what it is, and a neighbour may hold a
part of it. `survival` counts both.

Source: Friedrich et al. 2019, sections 4 and 9.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from inverse_deid.core.values import IntArray
from inverse_deid.research.representations.neighbours import Neighbours
from inverse_deid.research.representations.secret_draws import Choices
from inverse_deid.research.representations.sentences import Sentence

_PART = 3
"""Characters that the part of a word has at least."""


def pseudonymised(
    sentences: Sequence[Sentence], table: Neighbours, rng: Choices, *, alike: bool = False
) -> list[Sentence]:
    """Replace every PHI token that has a vector by a random one of its neighbours, itself included.

    A PHI token without a vector stays unknown (row 0), which is all that a network sees of it.

    Args:
        sentences: Any.
        table: Neighbours of all their PHI tokens; with N = 1 nothing changes.
        rng: Draws the neighbours.
        alike: All mentions of a word in a document move to the same neighbour.

    Returns:
        As many sentences, in the same order.
    """
    drawn: dict[tuple[int, int], int] = {}

    def choice(document: int, row: int) -> int:
        if not alike:
            return int(rng.integers(table.n))
        return drawn.setdefault((document, row), int(rng.integers(table.n)))

    return [
        _moved(sentence, table, [choice(sentence.document, row) for row in _rows(sentence)])
        for sentence in sentences
    ]


def _rows(sentence: Sentence) -> list[int]:
    rows: list[int] = sentence.rows[sentence.movable].tolist()
    return rows


def _moved(sentence: Sentence, table: Neighbours, choices: Sequence[int]) -> Sentence:
    rows = sentence.rows.copy()
    at = np.flatnonzero(sentence.movable)
    rows[at] = table.of(rows[at])[np.arange(len(at)), np.array(choices, np.intp)]
    return dataclasses.replace(sentence, rows=rows)


@dataclass(frozen=True, slots=True)
class Survival:
    """What is left of the PHI tokens of a corpus after pseudonymisation.

    Args:
        n_tokens: PHI tokens.
        n_unknown: Of these without a vector: nothing but their casing is seen.
        n_same: Tokens that stayed what they were.
        n_part: Tokens that moved to a word that holds the original, or that the original holds.
        neighbours_with_original: Mean number of a word's N neighbours (other than itself) that
            hold it, over distinct PHI words; None without any.
    """

    n_tokens: int
    n_unknown: int
    n_same: int
    n_part: int
    neighbours_with_original: float | None


def survival(
    before: Sequence[Sentence], after: Sequence[Sentence], table: Neighbours, words: Sequence[str]
) -> Survival:
    """Count how often an original, or a part of it, survived.

    Args:
        before: The sentences.
        after: The same sentences, pseudonymised, in the same order.
        table: What moved them.
        words: The vocabulary: row `i + 1` is `words[i]`.
    """
    is_phi = [sentence.classes > 0 for sentence in before]
    old = np.concatenate([s.rows[phi] for s, phi in zip(before, is_phi, strict=True)])
    new = np.concatenate([s.rows[phi] for s, phi in zip(after, is_phi, strict=True)])
    moved = (old > 0) & (old != new)
    parts = [_is_part(words[a - 1], words[b - 1]) for a, b in zip(old[moved], new[moved], strict=True)]
    return Survival(
        n_tokens=len(old),
        n_unknown=int((old == 0).sum()),
        n_same=int(((old > 0) & (old == new)).sum()),
        n_part=sum(parts),
        neighbours_with_original=_holding(table, old, words),
    )


def _is_part(one: str, other: str) -> bool:
    shorter, longer = sorted((one, other), key=len)
    return len(shorter) >= _PART and shorter in longer


def _holding(table: Neighbours, rows: IntArray, words: Sequence[str]) -> float | None:
    distinct = np.unique(rows[rows > 0])
    if not len(distinct):
        return None
    counts = [
        sum(words[row - 1] in words[near - 1] for near in nearest[1:])
        for row, nearest in zip(distinct, table.of(distinct), strict=True)
    ]
    return float(np.mean(counts))
