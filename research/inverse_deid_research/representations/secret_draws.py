"""Random numbers for released data: those of the system, which nobody can predict.

Anyone who knows some numbers of an ordinary generator could predict the others. Anyone who knows a
sentence knows the noise that was added to it, or the neighbours that were drawn for it.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable
from typing import TypeVar

import numpy as np
from scipy.special import ndtri

from inverse_deid.core.values import FloatArray

_T = TypeVar("_T")


class SecretNormal:
    """Normal draws."""

    def standard_normal(self, size: tuple[int, ...], dtype: type[np.float32]) -> FloatArray:
        """Return draws of that shape."""
        numbers = np.frombuffer(secrets.token_bytes(8 * int(np.prod(size))), np.uint64)
        uniform = ((numbers >> np.uint64(11)) + 0.5) * 2.0**-53  # never 0 nor 1
        drawn: FloatArray = ndtri(uniform).astype(dtype).reshape(size)
        return drawn


class SecretChoices:
    """Draws of whole numbers."""

    def integers(self, n: int) -> int:
        return secrets.randbelow(n)


Choices = np.random.Generator | SecretChoices
"""Draws whole numbers; for released data, `SecretChoices`."""


def in_secret_order(given: Iterable[_T]) -> list[_T]:
    """Return items of several documents, or of several institutions, shuffled."""
    order = list(given)
    secrets.SystemRandom().shuffle(order)
    return order
