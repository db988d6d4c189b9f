"""What a system is: it may learn from annotated documents, and it masks others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from inverse_deid.core.errors import StageError
from inverse_deid.core.values import BoolArray, Document, Tokens
from inverse_deid.evaluation.counts import Range


class System(Protocol):
    """A way to mask documents."""

    @property
    def name(self) -> str:
        """As the command line and the file of its masks call it."""
        ...

    @property
    def title(self) -> str:
        """What it is, in a few words."""
        ...

    @property
    def source(self) -> str:
        """Who described it, or what it is made of."""
        ...

    def fit(self, docs: Sequence[Document], seed: int) -> None:
        """Learn from annotated documents; a system that learns nothing does nothing.

        Args:
            docs: With their spans, some PHI and some safe tokens among them.
            seed: Of every random choice.
        """
        ...

    def masks(self, docs: Sequence[Document]) -> list[list[Range]]:
        """Mask documents by their text alone.

        Returns:
            For each document half-open ranges of its text, in any order; they may overlap.

        Raises:
            StageError: It learns, and `fit` was not called.
        """
        ...


def ranges_of(tokens: Tokens, is_masked: BoolArray) -> list[Range]:
    """The characters of the masked tokens, one range a token.

    Args:
        tokens: Of one text.
        is_masked: bool (n_tokens,).

    Example:
        >>> import numpy as np
        >>> from inverse_deid.text.tokenizer import tokenize
        >>> ranges_of(tokenize("Mr Li-Wu left"), np.array([False, True, True, False]))
        [(3, 5), (6, 8)]
    """
    return list(zip(tokens.starts[is_masked].tolist(), tokens.ends[is_masked].tolist(), strict=True))


def not_fitted(name: str) -> StageError:
    """The error of a system that is asked to mask before it has learned."""
    return StageError(f"the system {name} has learned nothing yet; call fit with annotated documents first")
