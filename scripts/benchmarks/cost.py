"""What many narratives would cost: core-hours from the measured speed, and a price of one."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Prices:
    """What the cost on paper assumes.

    Args:
        n_narratives: To mask.
        tokens_a_narrative: Their mean length; None = that of the documents that were measured.
        price: Of an hour of one core.
        currency: Of the price.
    """

    n_narratives: int = 40_000_000
    tokens_a_narrative: float | None = None
    price: float = 0.05
    currency: str = "USD"


def core_hours(n_narratives: float, tokens_a_narrative: float, tokens_a_core_second: float) -> float:
    """Hours of one core: `n_narratives * tokens_a_narrative / tokens_a_core_second / 3600`.

    Example:
        >>> core_hours(3_600, 100, 1_000)
        0.1
    """
    return n_narratives * tokens_a_narrative / tokens_a_core_second / 3600
