"""Train the de-identification network alone: on word vectors, or on private ones.

Source: Friedrich et al. 2019, section 3.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import keras
import numpy as np

from inverse_deid.research.representations.batches import VectorSentence, batches
from inverse_deid.research.representations.config import LearningConfig, TaggerConfig
from inverse_deid.research.representations.steps import (
    EpochRecord,
    Say,
    compiled,
    epoch_loss,
    run_phase,
    tensors,
    training_step,
)
from inverse_deid.research.representations.tagger import TaggerLoss, build_tagger

EpochSentences = Callable[[int], Sequence[VectorSentence]]
"""Gives the sentences of an epoch, counted from 1."""


def train_tagger(
    sentences: EpochSentences,
    held_out: Sequence[VectorSentence],
    tagger_config: TaggerConfig,
    config: LearningConfig,
    say: Say,
) -> tuple[keras.Model, list[EpochRecord]]:
    """Train a new network until the held-out loss falls no more.

    Args:
        sentences: What to learn from.
        held_out: Decide when to stop.
        tagger_config: Its shape.
        config: Epochs, rates, seed.
        say: Gets a line after each epoch; numbers only.

    Returns:
        The network with the weights of its best epoch, and what each epoch did.

    Raises:
        StageError: The loss is not a number.
    """
    keras.utils.set_random_seed(config.seed)
    rng = np.random.default_rng(config.seed)
    tagger = build_tagger(tagger_config, held_out[0].vectors.shape[1])
    loss = TaggerLoss(tagger)
    step = training_step(lambda batch: loss(batch["vectors"], batch, training=True), [tagger], config)
    held_out_loss = compiled(lambda batch: loss(batch["vectors"], batch, training=False))
    fixed = [tensors(batch) for batch in batches(held_out, config.batch)]

    def train(epoch: int) -> float:
        return epoch_loss(step, ((tensors(batch),) for batch in batches(sentences(epoch), config.batch, rng)))

    def validate() -> tuple[float, None]:
        return float(np.mean([float(held_out_loss(batch)) for batch in fixed])), None

    def record(epoch: int, value: float, validation: float, _: float | None) -> EpochRecord:
        say(f"epoch {epoch}: loss {value:.4f}, held out {validation:.4f}")
        return EpochRecord("network", epoch, value, validation)

    return tagger, run_phase(train, validate, [tagger], config, record)
