"""The adversary, trained further on the frozen representation.

Source: Friedrich et al. 2019, section 7.3 and figure 5, right (50 further epochs); Elazar
and Goldberg 2018 (why the training has to go on).
"""

from __future__ import annotations

import keras
import numpy as np

from inverse_deid.research.representations.attacks.outcome import Outcome, outcome
from inverse_deid.research.representations.config import LearningConfig
from inverse_deid.research.representations.losses import Losses, Networks
from inverse_deid.research.representations.pairs import movable_sentences, pair_batches, pairs
from inverse_deid.research.representations.procedures import Material
from inverse_deid.research.representations.steps import Say, compiled, epoch_loss, tensors, training_step

EPOCHS = 50
DISTINGUISHING = "same sentence or moved twin"


def continued_adversary(
    networks: Networks, given: Material, config: LearningConfig, say: Say, n_epochs: int = EPOCHS
) -> Outcome:
    """Train the adversary of some networks further, in place, and count its right answers.

    Args:
        networks: Representation and adversary; the representation stays as it is.
        given: The attacker trains on its training sentences and is judged on its validation
            sentences, which must be of documents that the representation was not trained on.
        config: Rates and batches.
        say: Gets a line now and then; numbers only.
        n_epochs: All are run; the last one counts.

    Returns:
        Right answers by document; a guess is right in one of two.
    """
    keras.utils.set_random_seed(config.seed)
    rng = np.random.default_rng(config.seed)
    losses = Losses(networks, 1.0)
    step = training_step(losses.adversary, [networks.adversary], config)
    sentences = movable_sentences(given.train)
    for epoch in range(1, n_epochs + 1):
        made = pairs(sentences, given.table, rng)
        loss = epoch_loss(step, ((tensors(b),) for b in pair_batches(made, given.matrix, config.batch, rng)))
        if epoch % 10 == 0 or epoch == n_epochs:
            say(f"adversary, further epoch {epoch}: loss {loss:.4f}")
    held_out = pairs(movable_sentences(given.validation), given.table, rng)
    held_out = sorted(held_out, key=lambda pair: len(pair.first))
    guess = compiled(losses.answers)
    answers, same = [np.zeros(0, np.float32)], [np.zeros(0, np.float32)]
    for batch in pair_batches(held_out, given.matrix, config.batch):
        answers.append(np.asarray(guess(tensors(batch))))
        same.append(batch.same)
    right = (np.concatenate(answers) > 0.5) == (np.concatenate(same) > 0.5)
    return outcome(DISTINGUISHING, right, [pair.first.document for pair in held_out], 0.5)
