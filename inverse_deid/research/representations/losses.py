"""The losses of the three networks, and the one of the representation that joins them.

Source: Friedrich et al. 2019, section 5.4, equation 2; Feutry et al. 2018.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import keras
import tensorflow as tf

from inverse_deid.research.representations.adversary import GradientReversal, build_adversary
from inverse_deid.research.representations.config import SharingConfig
from inverse_deid.research.representations.representer import build_representer, represented
from inverse_deid.research.representations.tagger import TaggerLoss, build_tagger

RANDOM_LOSS = -math.log(0.5)
"""Cross-entropy of an adversary that guesses."""


@dataclass(frozen=True, slots=True, eq=False)
class Networks:
    """The three networks that are trained together.

    Args:
        representer: From `build_representer`.
        tagger: From `build_tagger`, over private vectors.
        adversary: From `build_adversary`.
    """

    representer: keras.Model = field(repr=False)
    tagger: keras.Model = field(repr=False)
    adversary: keras.Model = field(repr=False)


def build_networks(config: SharingConfig, word_dim: int) -> Networks:
    """New networks; `keras.utils.set_random_seed` decides their first weights."""
    part = config.representation
    return Networks(
        representer=build_representer(part, word_dim),
        tagger=build_tagger(config.tagger, part.dim),
        adversary=build_adversary(word_dim, part.dim, config.adversary.units),
    )


def representation_loss(task: Any, adversary: Any, privacy_weight: float) -> Any:  # noqa: ANN401 - scalars
    """The task's loss plus the distance of the adversary's loss from that of guessing.

    An adversary that is wrong more often than one that guesses also knows the answer. Hence
    the distance.

    Args:
        task: Loss of the de-identification network.
        adversary: Mean cross-entropy of the adversary.
        privacy_weight: Lambda.

    Example:
        >>> round(representation_loss(0.25, 0.5, 2.0), 4)
        0.6363
    """
    return task + privacy_weight * abs(adversary - RANDOM_LOSS)


class Losses:
    """The losses of a set of networks on batches, given as dictionaries of tensors.

    Args:
        networks: All three.
        privacy_weight: Lambda.
    """

    def __init__(self, networks: Networks, privacy_weight: float) -> None:
        self._networks = networks
        self._privacy_weight = privacy_weight
        self._tagger_loss = TaggerLoss(networks.tagger)
        self._reversal = GradientReversal()

    def task(self, batch: dict[str, Any], *, training: bool) -> Any:  # noqa: ANN401 - a scalar tensor
        """Of the de-identification network on represented sentences."""
        private = represented(self._networks.representer, batch["vectors"], batch["valid"])
        return self._tagger_loss(private, batch, training=training)

    def answers(self, pairs: dict[str, Any], *, reverse: bool = False) -> Any:  # noqa: ANN401 - a tensor
        """The adversary's probabilities of "same sentence": float32 (batch,)."""
        networks, valid = self._networks, pairs["valid"]
        sides = tf.concat([pairs["first"], pairs["second"]], axis=0)
        private = represented(networks.representer, sides, tf.concat([valid, valid], axis=0))
        first, second = tf.split(self._reversal(private) if reverse else private, 2)
        return networks.adversary([first, pairs["second"], second, valid], training=True)

    def adversary(self, pairs: dict[str, Any], *, reverse: bool = False) -> Any:  # noqa: ANN401 - a scalar
        """Mean cross-entropy of the adversary's answers."""
        answers = self.answers(pairs, reverse=reverse)
        return tf.reduce_mean(keras.losses.binary_crossentropy(pairs["same"][:, None], answers[:, None]))

    def representation(self, batch: dict[str, Any], pairs: dict[str, Any], *, training: bool) -> Any:  # noqa: ANN401
        """`representation_loss` of both."""
        return self.combined(self.task(batch, training=training), self.adversary(pairs))

    def combined(self, task: Any, adversary: Any) -> Any:  # noqa: ANN401 - scalars
        """`representation_loss` with the lambda of these networks."""
        return representation_loss(task, adversary, self._privacy_weight)
