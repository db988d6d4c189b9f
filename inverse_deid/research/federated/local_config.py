"""How every site trains: one set of choices for all, since they train one network."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from inverse_deid.core.errors import ConfigurationError
from inverse_deid.network.config import TrainingConfig

Optimizer = Literal["sgd", "adam"]


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalConfig:
    """A local epoch.

    Args:
        optimizer: Plain *sgd* as in the paper, or *adam*, whose moments stay at the site.
        learning_rate: Constant.
        clip_norm: Global norm that gradients are clipped to; 0 = they are not.
        batch_tokens: Tokens of a batch, of which the mean loss counts.
        window: Tokens a training window holds at most; with the same number for
            `batch_tokens`, a step sees about one piece of text.
        phi_weight: Weight of a PHI token in the loss (a safe one weighs 1).
        word_dropout: Share of words hidden from the word embedding, doubled on PHI.
        dictionary_dropout: Share of tokens whose dictionary features are hidden.
    """

    optimizer: Optimizer = "sgd"
    learning_rate: float = 0.9
    clip_norm: float = 0.0
    batch_tokens: int = 128
    window: int = 128
    phi_weight: float = 1.0
    word_dropout: float = 0.0
    dictionary_dropout: float = 0.0

    def __post_init__(self) -> None:
        if self.optimizer not in ("sgd", "adam"):
            raise ConfigurationError("training.optimizer is one of sgd, adam")
        if min(self.batch_tokens, self.window) < 1:
            raise ConfigurationError("training.batch_tokens and window are at least 1")
        if not 0 < self.learning_rate < math.inf or not 0 < self.phi_weight < math.inf:
            raise ConfigurationError("training.learning_rate and phi_weight are above 0")
        if not 0 <= self.clip_norm < math.inf:
            raise ConfigurationError("training.clip_norm is at least 0")
        if not all(0 <= share <= 1 for share in (self.word_dropout, self.dictionary_dropout)):
            raise ConfigurationError(
                "training.word_dropout and dictionary_dropout are shares between 0 and 1"
            )

    def dropouts(self) -> TrainingConfig:
        """The same dropouts as the trainer of one site alone reads them."""
        return TrainingConfig(word_dropout=self.word_dropout, dictionary_dropout=self.dictionary_dropout)


def table_of(kind: type, values: Mapping[str, Any], section: str) -> dict[str, Any]:
    """Check the names and types of a TOML table against a dataclass with defaults.

    Args:
        kind: Its fields have defaults of the wanted types.
        values: The table.
        section: Its name, for the message.

    Raises:
        ConfigurationError: An unknown name or a value of another type.
    """
    defaults = kind()
    known = list(kind.__dataclass_fields__)  # type: ignore[attr-defined]
    unknown = sorted(set(values) - set(known))
    if unknown:
        raise ConfigurationError(
            f"[{section}] has no setting {', '.join(unknown)}; known: {', '.join(known)}"
        )
    for name, value in values.items():
        wanted = type(getattr(defaults, name))
        fits = isinstance(value, wanted) or (wanted is float and isinstance(value, int))
        if not fits or (isinstance(value, bool) and wanted is not bool):
            raise ConfigurationError(
                f"{section}.{name} is a {wanted.__name__}, given a {type(value).__name__}"
            )
    return dict(values)
