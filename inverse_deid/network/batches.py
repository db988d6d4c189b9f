"""Training windows of similar length, gathered into padded batches."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from inverse_deid.core.values import FloatArray, IntArray
from inverse_deid.network.config import TrainingConfig
from inverse_deid.network.encoding import N_GAP_CHARACTERS, character_codes


@dataclass(frozen=True, slots=True, eq=False)
class Example:
    """One document, or a window of one, as the network reads it.

    Args:
        words: The tokens as written, `n_tokens` strings.
        word_rows: int32 (n_tokens,), rows of the word matrix.
        gaps: int32 (n_tokens, 3).
        features: float32 (n_tokens, n_features).
        labels: int32 (n_tokens,), 0 = safe.
        weights: float32 (n_tokens,), weight of each token in the loss.
        opinion: Teachers' class probabilities times their share in the target:
            float16 (n_tokens, n_classes); the label has the rest. None = no teachers.
    """

    words: list[str] = field(repr=False)
    word_rows: IntArray = field(repr=False)
    gaps: IntArray = field(repr=False)
    features: FloatArray = field(repr=False)
    labels: IntArray = field(repr=False)
    weights: FloatArray = field(repr=False)
    opinion: npt.NDArray[np.float16] | None = field(default=None, repr=False)

    def __len__(self) -> int:
        return len(self.words)

    def window(self, start: int, end: int) -> Example:
        """Return the tokens from `start` up to `end`."""
        part = slice(start, end)
        return Example(
            self.words[part],
            self.word_rows[part],
            self.gaps[part],
            self.features[part],
            self.labels[part],
            self.weights[part],
            None if self.opinion is None else self.opinion[part],
        )


@dataclass(frozen=True, slots=True, eq=False)
class Batch:
    """Padded examples: the inputs that `build_network` describes by name, labels and weights.

    Labels are int32 and weights, 0 on padding, float32, both (batch, time). `opinion`, float16
    (batch, time, n_classes), is as in `Example`, or (batch, time, 0) without teachers. `members` are the
    numbers of the given examples that are in the batch.
    """

    inputs: dict[str, np.ndarray] = field(repr=False)
    labels: IntArray = field(repr=False)
    weights: FloatArray = field(repr=False)
    opinion: npt.NDArray[np.float16] = field(repr=False)
    members: tuple[int, ...] = field(default=(), repr=False)

    def targets(self, n_classes: int) -> FloatArray:
        """Return the target of every token, 0 on padding: float32 (batch, time, n_classes)."""
        valid = self.inputs["valid"][..., None]
        targets: FloatArray = blend_targets(self.labels, self.opinion, n_classes) * valid
        return targets


def blend_targets(labels: IntArray, opinion: npt.NDArray[np.float16], n_classes: int) -> FloatArray:
    """Return the target of tokens: teachers' opinion, and the label for the rest.

    Args:
        labels: int32 (..., ), any number of axes.
        opinion: float16 (..., n_classes), with the share of the teachers in it; (..., 0) = no teachers.
        n_classes: The number of classes.

    Returns:
        float32 (..., n_classes).

    Example:
        >>> blend_targets(np.array([1]), np.array([[0.25, 0.25]], np.float16), 2).tolist()
        [[0.25, 0.75]]
    """
    targets = np.eye(n_classes, dtype=np.float32)[labels]
    if opinion.shape[-1]:
        of_label = 1 - opinion.sum(axis=-1, keepdims=True, dtype=np.float32)
        targets = targets * of_label + opinion
    return targets


def windows(examples: Sequence[Example], size: int, rng: np.random.Generator | None) -> list[Example]:
    """Cut long examples into windows of at most `size` tokens.

    `rng` draws the end of the first one each time; without it the cuts start at 0.
    """
    cut: list[Example] = []
    for example in examples:
        n_tokens = len(example)
        if n_tokens <= size:
            cut += [example] if n_tokens else []
            continue
        first = int(rng.integers(max(1, size // 2), size + 1)) if rng is not None else size
        bounds = [0, *range(first, n_tokens, size), n_tokens]
        cut += [example.window(a, b) for a, b in itertools.pairwise(bounds)]
    return cut


def group_by_length(lengths: Sequence[int] | IntArray, most: int) -> list[list[int]]:
    """Group numbers of windows of similar length, each group at most `most` long with padding, by length."""
    groups: list[list[int]] = []
    longest = 0
    for i in np.argsort(lengths, kind="stable").tolist():
        longest = max(longest, int(lengths[i]))
        if not groups or longest * (len(groups[-1]) + 1) > most:
            groups.append([])
            longest = int(lengths[i])
        groups[-1].append(i)
    return groups


def group_evenly(
    lengths: Sequence[int] | IntArray, n_groups: int, jitter: int, rng: np.random.Generator
) -> list[list[int]]:
    """Group numbers of windows of similar length in groups of about the same size, in random order.

    There are `n_groups`. `jitter` is the greatest difference in length that chance may add. If there are
    fewer windows than groups, some come twice.

    Example:
        >>> sorted(map(sorted, group_evenly([4, 9, 5, 4, 6], 3, 0, np.random.default_rng(0))))
        [[0, 3], [1, 4], [2]]
    """
    padded = np.asarray(lengths) + rng.uniform(0, jitter, len(lengths))
    order = np.argsort(padded, kind="stable")
    if len(order) < n_groups:
        order = np.sort(np.resize(order, n_groups))
        groups = [[int(i)] for i in order]
    else:
        ends = np.cumsum(padded[order])
        cuts = np.searchsorted(ends, np.arange(1, n_groups) * (ends[-1] / n_groups))
        first = np.arange(1, n_groups)
        cuts = np.maximum.accumulate(np.maximum(cuts - first, 0)) + first  # none is empty
        cuts = np.minimum(cuts, len(order) - n_groups + first)
        groups = [part.tolist() for part in np.split(order, cuts)]
    return [groups[g] for g in rng.permutation(n_groups)]


def batches(examples: Sequence[Example], batch_tokens: int, max_characters: int) -> Iterator[Batch]:
    """Gather windows of similar length into batches of about `batch_tokens` padded tokens, by length.

    A window that is longer is a batch of its own. Of a word at most `max_characters` are read.
    """
    for group in group_by_length([len(e) for e in examples], batch_tokens):
        batch = pad_examples([examples[i] for i in group], max_characters)
        yield dataclasses.replace(batch, members=tuple(group))


def pad_examples(examples: Sequence[Example], max_characters: int, n_more: int = 0) -> Batch:
    """Pad examples to one length, of the longest and `n_more`, and number their distinct words."""
    longest = max(map(len, examples)) + n_more
    distinct: dict[str, int] = {}
    rows = [np.array([distinct.setdefault(w, len(distinct)) for w in e.words], np.int32) for e in examples]
    codes, _ = character_codes(list(distinct), max_characters)
    lengths = np.array([len(e) for e in examples])

    def stack(parts: Sequence[np.ndarray], shape: tuple[int, ...], dtype: npt.DTypeLike) -> np.ndarray:
        full = np.zeros((len(parts), longest, *shape), dtype)
        for i, part in enumerate(parts):
            full[i, : len(part)] = part
        return full

    inputs = {
        "characters": codes,
        "distinct": stack(rows, (), np.int32),
        "words": stack([e.word_rows for e in examples], (), np.int32),
        "gaps": stack([e.gaps for e in examples], (N_GAP_CHARACTERS,), np.int32),
        "features": stack([e.features for e in examples], (examples[0].features.shape[1],), np.float32),
        "valid": np.arange(longest) < lengths[:, None],
    }
    labels = stack([e.labels for e in examples], (), np.int32)
    n_classes = max(0 if e.opinion is None else e.opinion.shape[1] for e in examples)
    none = np.zeros((0, n_classes), np.float16)
    opinions = [none if e.opinion is None else e.opinion for e in examples]
    opinion = stack(opinions, (n_classes,), np.float16)
    return Batch(inputs, labels, stack([e.weights for e in examples], (), np.float32), opinion)


def with_dropouts(
    example: Example, config: TrainingConfig, columns: Sequence[int], rng: np.random.Generator
) -> Example:
    """Hide some words from the word embedding and some dictionary features, as `config` says."""
    n_tokens = len(example)
    share = config.word_dropout * np.where(example.labels > 0, 2, 1)
    word_rows = np.where(rng.random(n_tokens) < share, 0, example.word_rows).astype(np.int32)
    features = example.features
    if len(columns):
        features = features.copy()
        hidden = np.flatnonzero(rng.random(n_tokens) < config.dictionary_dropout)
        features[np.ix_(hidden, np.asarray(columns))] = 0
    return dataclasses.replace(example, word_rows=word_rows, features=features)
