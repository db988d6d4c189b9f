"""What a new representation gives away to two attackers, measured before it is published."""

from __future__ import annotations

import numpy as np

from inverse_deid.representations.attacks.distinguishing import continued_adversary
from inverse_deid.representations.attacks.lookup import look_up
from inverse_deid.representations.attacks.outcome import Outcome, Scene
from inverse_deid.representations.config import SharingConfig
from inverse_deid.representations.losses import Networks
from inverse_deid.representations.procedures import Material
from inverse_deid.representations.steps import Say


def measure(networks: Networks, given: Material, config: SharingConfig, say: Say) -> list[Outcome]:
    """Train the adversary further, and look known sentences up, on the held-out documents.

    These documents also decided when training stopped, so the figures may be a little too good.

    Args:
        networks: Trained; the adversary changes.
        given: What they were trained on, and the held-out documents.
        config: How.
        say: Gets a line now and then, and one an attack; numbers only.
    """
    learning = config.learning
    further = continued_adversary(networks, given, learning, say, n_epochs=config.adversary.epochs)
    scene = Scene(networks.representer, given.train, given.validation, given.matrix)
    found = [further, look_up(scene, given.table, np.random.default_rng(learning.seed))]
    for one in found:
        say(told(one.name, one.share, int(one.trials.sum()), one.chance))
    return found


def told(name: str, share: float, n_trials: int, chance: float) -> str:
    """A line on an attack.

    Args:
        name: Of the attack.
        share: That was right.
        n_trials: How often it was tried.
        chance: Share that is right without the representation.

    Example:
        >>> told("guess", 0.513, 80, 0.5)
        'attack "guess": right in 51.3 % of 80, chance 50.0 %'
    """
    return f'attack "{name}": right in {100 * share:.1f} % of {n_trials}, chance {100 * chance:.1f} %'
