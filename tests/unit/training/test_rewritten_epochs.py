"""The shares of an epoch's documents that are written in another case or as a bad scan."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from inverse_deid.core.errors import ConfigurationError
from inverse_deid.core.settings import make_settings
from inverse_deid.core.values import Document
from inverse_deid.network.config import NetworkConfig, TrainingConfig
from inverse_deid.network.encoding import WordVectors
from inverse_deid.training.augmentation import EpochMaker, EpochRecipe

GOLD = [Document(f"g{i}", f"Note {i}: The Patient slept Well, and went Home again. " * 6) for i in range(200)]
CARRIERS = [Document("c1", "The patient received vaccine and was seen in the clinic. Rash resolved. " * 3)]


def _documents(**settings: float) -> list[Document]:
    recipe = EpochRecipe(
        gold=GOLD,
        carriers=CARRIERS,
        network=NetworkConfig(),
        training=TrainingConfig(synthetic=60, weak=20, **settings),
        vectors=WordVectors(("rash",), np.zeros((1, 100), np.int8), np.ones(100, np.float32)),
    )
    return [doc for doc, _ in EpochMaker(recipe).documents(3)]


def test_the_same_seed_makes_the_same_documents() -> None:
    assert _documents(recased=0.3, noisy=0.2) == _documents(recased=0.3, noisy=0.2)


def test_shares_are_kept_and_other_documents_stay() -> None:
    usual, recased = _documents(), _documents(recased=0.3)
    assert usual[: len(GOLD)] == GOLD
    changed = [a.text != b.text for a, b in zip(usual, recased, strict=True)]
    assert 0.2 < np.mean(changed[:200]) < 0.4
    assert 0.1 < np.mean(changed[200:260]) < 0.5
    assert not any(changed[260:])  # weakly labelled carriers stay
    assert [dataclasses.replace(doc, text="", spans=()) for doc in usual] == [
        dataclasses.replace(doc, text="", spans=()) for doc in recased
    ]


def test_noise_has_its_own_share() -> None:
    pairs = zip(_documents(), _documents(noisy=0.2), strict=True)
    assert 0.12 < np.mean([a.text != b.text for a, b in pairs][:200]) < 0.28


@pytest.mark.parametrize("share", [-0.1, 1.1])
@pytest.mark.parametrize("name", ["recased", "noisy"])
def test_a_share_is_between_zero_and_one(name: str, share: float) -> None:
    with pytest.raises(ConfigurationError):
        make_settings({name: share}, TrainingConfig)
