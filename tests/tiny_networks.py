"""Networks of a few hundred weights and invented examples, for tests of training."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from inverse_deid.network.batches import Example
from inverse_deid.network.config import NetworkConfig, TrainingConfig
from inverse_deid.network.encoding import WordVectors, quantise

N_FEATURES = 2
_WORDS = ("the", "rash", "went", "fever", "Velmo", "Okonkwo", "Lindero", "cough", "Zora", "mild")
_MANNER: dict[str, Any] = {
    "batch_tokens": 64,
    "learning_rate": 0.02,
    "synthetic": 0,
    "weak": 0,
    "surrogates": "none",
    "word_dropout": 0.1,
    "dictionary_dropout": 0.2,
}


def network_config(**changed: Any) -> NetworkConfig:
    """A network that trains in a second."""
    sizes: dict[str, Any] = {
        "word_dim": 6,
        "char_dim": 5,
        "char_units": 4,
        "gap_dim": 2,
        "feature_units": 3,
        "token_units": 6,
        "token_layers": 1,
        "dropout": 0.3,
        "targets": "binary",
        "max_characters": 8,
    }
    return NetworkConfig(**{**sizes, **changed})


def training_config(**changed: Any) -> TrainingConfig:
    """A training without augmentation."""
    return TrainingConfig(**{**_MANNER, **changed})


def vectors(config: NetworkConfig) -> WordVectors:
    """Vectors of the words in small letters."""
    known = [word for word in _WORDS if word.islower()]
    rng = np.random.default_rng(3)
    return quantise(known, rng.normal(size=(len(known), config.word_dim)).astype(np.float32))


def new_network(config: NetworkConfig, seed: int | None = None) -> Any:
    """A fresh network; `seed` decides its first weights."""
    import keras

    from inverse_deid.network.network import build_network

    if seed is not None:
        keras.utils.set_random_seed(seed)
    return build_network(config, N_FEATURES, vectors(config).matrix())


def examples(config: NetworkConfig, epoch: int = 0, n_documents: int = 24) -> list[Example]:
    """Documents in which the words with a capital are PHI; other ones in every epoch."""
    rng = np.random.default_rng(epoch)
    rows = vectors(config).numbers()
    return [_example(rng, rows, int(rng.integers(3, 12))) for _ in range(n_documents)]


def _example(rng: np.random.Generator, rows: dict[str, int], n_tokens: int) -> Example:
    words = [_WORDS[i] for i in rng.integers(0, len(_WORDS), n_tokens)]
    labels = np.array([not word.islower() for word in words], np.int32)
    return Example(
        words=words,
        word_rows=np.array([rows.get(word, 0) for word in words], np.int32),
        gaps=rng.integers(0, 5, (n_tokens, 3)).astype(np.int32),
        features=rng.random((n_tokens, N_FEATURES)).astype(np.float32),
        labels=labels,
        weights=np.where(labels > 0, 2.0, 1.0).astype(np.float32),
    )


def weights_of(network: Any) -> list[np.ndarray]:
    """Copies of all trainable weights."""
    return [np.asarray(variable).copy() for variable in network.trainable_variables]


def are_equal(some: Sequence[np.ndarray], others: Sequence[np.ndarray]) -> bool:
    """Whether all weights are the same to the last bit."""
    return all(np.array_equal(a, b) for a, b in zip(some, others, strict=True))
