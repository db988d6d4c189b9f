"""Attempts to learn about documents from weights and their changes, measured whether or not they succeed.

*Membership*: was a document trained on? The attempt asks a network for its loss on the document. An
attacker with a network and a document guesses that it was trained on if the loss is low. No threshold
is chosen. The measure is how often, in a pair of a training document and another document of the same
site, the training document has the lower loss.

*Gradient inversion*: what a change of weights tells of the documents that it was learned from, in two
readings that are exact where they apply. Characters: the weights of a character that does not occur do
not change. Words: the change of a token LSTM's kernel is a sum over tokens of the token's input times an
error, so its rows for the word vectors span at most the vectors of the words that occur. The vocabulary
is public: a word whose vector is in that span did occur. With as many different words as dimensions the
span is the whole space and tells nothing.

Source: Yeom et al. 2018, "Privacy Risk in Machine Learning", section 3 (loss threshold); Petrov et al.
2024, "DAGER: Exact Gradient Inversion for Large Language Models" (the span check), here for an LSTM.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from inverse_deid.core.values import FloatArray
from inverse_deid.network.batches import Example, windows
from inverse_deid.network.config import NetworkConfig
from inverse_deid.network.encoding import PAD, character_codes, one_hot_characters
from inverse_deid_research.federated.documents import EncodedSite, EncodedStudy
from inverse_deid_research.federated.network import CommonNetwork, LocalTrainer
from inverse_deid_research.federated.settings import FederatedStudySettings, SelectiveSettings
from inverse_deid_research.federated.weights import WeightLayout, Weights, select_changes
from inverse_deid_research.studies.records import Record

Losses = npt.NDArray[np.float64]

_N_SAMPLES = 1000
_SMALLEST = 1e-12
_MEMBERS_PER_OTHER = 3
_OWN = 4
"""Keeps the random stream of the attempts apart."""
_WINDOWS_PER_SITE = 4
_FAINTEST = 1e-5
"""Directions of the span that are weaker than this share of the strongest one are rounding errors."""
_FARTHEST = 0.05
"""A vector farther than this share of its length from the span is not in it."""


def measure_losses(
    examples: Sequence[Example], probabilities: Sequence[FloatArray], *, phi_only: bool = False
) -> Losses:
    """Return the mean loss of each document: float64 (n_documents,), in nats per token.

    `probabilities` are float32 (n_tokens, n_classes) per document. With `phi_only`, only tokens of
    protected health information (PHI) count, and documents without any are left out.
    """
    found = []
    for example, rows in zip(examples, probabilities, strict=True):
        counted = example.labels > 0 if phi_only else np.ones(len(example), np.bool_)
        if counted.any():
            right = rows[np.arange(len(example)), example.labels][counted].astype(np.float64)
            found.append(-np.log(np.maximum(right, _SMALLEST)).mean())
    return np.array(found, np.float64)


def measure_membership(
    groups: Sequence[tuple[Losses, Losses]], rng: np.random.Generator
) -> dict[str, float | int] | None:
    """Measure how well losses separate training documents from others, only within a site.

    Returns:
        `auc`, the share of pairs in which the training document has the lower loss (equal losses count
        half; 0.5 = losses tell nothing, 1 = everything), its 95 % interval from `low` to `high`,
        `n_members` and `n_others`. None if no site has both kinds of documents.

    Example:
        >>> low, high = np.array([0.1, 0.2]), np.array([0.15, 0.9])
        >>> measure_membership([(low, high)], np.random.default_rng(1))["auc"]
        0.75
    """
    wins = [  # (members, others): 1 where the training document has the lower loss, 0.5 for equal losses
        (np.sign(others[None, :] - members[:, None]) + 1) / 2
        for members, others in groups
        if len(members) and len(others)
    ]
    if not wins:
        return None

    def average(shares: Sequence[Losses]) -> float:
        return float(sum(one.sum() for one in shares) / sum(one.size for one in shares))

    def resample(one: Losses) -> Losses:
        rows, columns = (rng.integers(n, size=n) for n in one.shape)
        return one[np.ix_(rows, columns)]

    drawn = [average([resample(one) for one in wins]) for _ in range(_N_SAMPLES)]
    low, high = np.quantile(drawn, (0.025, 0.975))
    n_members, n_others = (sum(one.shape[axis] for one in wins) for axis in (0, 1))
    return {
        "auc": average(wins),
        "low": float(low),
        "high": float(high),
        "n_members": n_members,
        "n_others": n_others,
    }


def attempt_membership(
    trainer: LocalTrainer, sites: Sequence[EncodedSite], networks: Mapping[str, Weights], seed: int
) -> Record:
    """Measure membership on the networks that a method ended with, for all tokens and for those of PHI.

    Members are training documents of the sites, three for each held-out document, which are the others.
    """
    groups: dict[str, list[tuple[Losses, Losses]]] = {"all tokens": [], "tokens of PHI": []}
    for number, site in enumerate(sites):
        members = draw_examples(site.train, _MEMBERS_PER_OTHER * len(site.held_out), [seed, number, _OWN])
        asked = [(docs, trainer.predict(networks[site.name], docs)) for docs in (members, site.held_out)]
        for name, rows in groups.items():
            low, high = (measure_losses(*pair, phi_only=name != "all tokens") for pair in asked)
            rows.append((low, high))
    return {
        name: measure_membership(rows, np.random.default_rng([seed, _OWN])) for name, rows in groups.items()
    }


def draw_examples(examples: Sequence[Example], n_wanted: int, seed: Sequence[int]) -> list[Example]:
    """Draw some examples, in their order."""
    drawn = np.random.default_rng(list(seed)).permutation(len(examples))[:n_wanted]
    return [examples[i] for i in sorted(drawn.tolist())]


def name_characters(change: Sequence[FloatArray], layout: WeightLayout, config: NetworkConfig) -> set[int]:
    """Return the numbers of the characters that a change of weights gives away.

    Learned characters are numbered by their code, one-hot characters by their dimension.
    """
    part = "character_embedding/" if config.characters == "learned" else "character_lstm/"
    moved = np.any([np.any(array != 0, axis=1) for array in _select_inputs(change, layout, part)], axis=0)
    return set(np.flatnonzero(moved).tolist())


def find_characters(examples: Sequence[Example], config: NetworkConfig) -> set[int]:
    words = sorted({word for example in examples for word in example.words})
    codes, _ = character_codes(words, config.max_characters)
    there = np.unique(codes[codes != PAD])
    if config.characters == "one-hot":
        there = np.unique(one_hot_characters(config.char_dim)[there].argmax(axis=1))
    return set(there.tolist())


def name_words(
    change: Sequence[FloatArray], layout: WeightLayout, config: NetworkConfig, matrix: FloatArray
) -> set[int]:
    """Return the rows of the public word matrix that a change of weights gives away.

    The matrix is float32 (n_words + 1, word_dim); row 0 = unknown words.
    """
    start = 2 * config.char_units
    part = slice(start, start + config.word_dim)
    kernels = [array[part] for array in _select_inputs(change, layout, "token_lstm_0/")]
    rows = np.concatenate(kernels, axis=1).astype(np.float64)
    left, strengths, _ = np.linalg.svd(rows, full_matrices=False)
    span = left[:, strengths > _FAINTEST * strengths[0]]  # (word_dim, rank), orthonormal
    if span.shape[1] in (0, config.word_dim):
        return set()
    vectors = matrix[1:].astype(np.float64)
    lengths = np.linalg.norm(vectors, axis=1)
    away = np.sqrt(np.maximum(lengths**2 - ((vectors @ span) ** 2).sum(axis=1), 0))
    near = (away <= _FARTHEST * lengths) & (lengths > 0)
    return set((np.flatnonzero(near) + 1).tolist())


def _select_inputs(change: Sequence[FloatArray], layout: WeightLayout, part: str) -> list[FloatArray]:
    named = zip(layout.names, change, strict=True)
    return [
        array for name, array in named if part in name and not name.endswith(("recurrent_kernel", "bias"))
    ]


@dataclass(frozen=True, slots=True, eq=False)
class InversionAttack:
    """Attempts on changes of weights; all sites know the first ones, `start`."""

    config: NetworkConfig
    matrix: FloatArray
    start: Weights
    sites: Sequence[EncodedSite]
    seed: int
    window: int

    def attack_steps(self, trainer: LocalTrainer) -> Record:
        """Attack single steps, each on one window, for some windows of each site."""
        chosen = [
            [part]
            for site in self.sites
            for part in draw_examples(
                windows(site.train, self.window, None), _WINDOWS_PER_SITE, [self.seed, _OWN]
            )
        ]
        return self._measure(trainer, chosen, [self._change(trainer, parts) for parts in chosen])

    def attack_epochs(self, trainer: LocalTrainer, selective: SelectiveSettings) -> list[Record]:
        """Attack the first epoch of each site: all weights (B, FedAvg) and the selected changes (C)."""
        learned = [site.train for site in self.sites]
        changes = [self._change(trainer, examples) for examples in learned]
        rng = np.random.default_rng([self.seed, _OWN])
        chosen = []
        for change in changes:
            given = select_changes(change, selective, rng)
            chosen.append(np.zeros_like(change))
            chosen[-1][given.indices] = given.values
        return [self._measure(trainer, learned, given) for given in (changes, chosen)]

    def _change(self, trainer: LocalTrainer, examples: Sequence[Example]) -> FloatArray:
        done = trainer.train_epoch(examples, self.start, (self.seed, _OWN))
        return trainer.layout.flatten(done.weights) - trainer.layout.flatten(self.start)

    def _measure(
        self, trainer: LocalTrainer, learned: Sequence[Sequence[Example]], changes: Sequence[FloatArray]
    ) -> Record:
        layout, characters, words = trainer.layout, [], []
        for examples, vector in zip(learned, changes, strict=True):
            change = layout.split(vector)
            named = name_characters(change, layout, self.config)
            characters.append((named, find_characters(examples, self.config)))
            named = name_words(change, layout, self.config, self.matrix)
            occurred = {int(row) for example in examples for row in example.word_rows} - {0}
            words.append((named, occurred))
        return {"n": len(learned), "characters": _summarise(characters), "words": _summarise(words)}


def attempt_inversion(settings: FederatedStudySettings, study: EncodedStudy, common: CommonNetwork) -> Record:
    """Make all attempts on changes of weights, and return figures by what the attacker sees."""
    seed = settings.study.seeds[0]
    attack = InversionAttack(
        settings.network, common.matrix, common.start(seed), study.sites, seed, settings.training.window
    )
    chosen = [method.selection() for method in settings.methods.values() if method.way == "selective"]
    whole, selected = attack.attack_epochs(common.trainer, chosen[0] if chosen else SelectiveSettings())
    return {
        "one step on one window, plain SGD, no dropout": attack.attack_steps(common.bare_trainer()),
        "one step on one window, as configured": attack.attack_steps(common.trainer),
        "first epoch of a site, all weights (B, FedAvg)": whole,
        "first epoch of a site, selected changes (C)": selected,
    }


def _summarise(found: Sequence[tuple[set[int], set[int]]]) -> dict[str, float | None]:
    # None where nothing was.
    n_named, n_there = (sum(len(pair[side]) for pair in found) for side in (0, 1))
    n_right = sum(len(named & there) for named, there in found)
    return {
        "precision": n_right / n_named if n_named else None,
        "recall": n_right / n_there if n_there else None,
        "there": n_there / max(len(found), 1),
    }
