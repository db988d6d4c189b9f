"""What a new representation gives away to some attackers, measured before it is published."""

from __future__ import annotations

import numpy as np

from inverse_deid.research.representations.attacks.distinguishing import EPOCHS, continued_adversary
from inverse_deid.research.representations.attacks.lookup import look_up
from inverse_deid.research.representations.attacks.outcome import Outcome, Scene
from inverse_deid.research.representations.config import SharingConfig
from inverse_deid.research.representations.losses import Networks
from inverse_deid.research.representations.procedures import Material
from inverse_deid.research.representations.steps import Say

N_ENCODINGS = (1, 4)
"""How often the sentences that are looked up were shared."""


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
    scene = Scene(networks.representer, given.train, given.validation, given.matrix)
    found = [continued_adversary(networks, given, learning, say, n_epochs=EPOCHS)]
    for n_encodings in N_ENCODINGS:
        found.append(look_up(scene, given.table, np.random.default_rng(learning.seed), n_encodings))
    for one in found:
        say(told(one.name, one.share, one.margin, one.chance))
    return found


def told(name: str, share: float, margin: float, chance: float) -> str:
    """A line on an attack.

    Args:
        name: Of the attack.
        share: That was right.
        margin: Half the width of its 95 % interval.
        chance: Share that is right without the representation.

    Example:
        >>> told("guess", 0.513, 0.04, 0.5)
        'attack "guess": right in 51.3 % (± 4.0), chance 50.0 %'
    """
    return (
        f'attack "{name}": right in {100 * share:.1f} % (± {100 * margin:.1f}), chance {100 * chance:.1f} %'
    )
