"""The thresholds of a masking: their values, their ranges, and how files hold them.

`inverse_deid.masking.combine` compares probabilities with them. Everything else passes them on.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields

from inverse_deid.core.errors import ConfigurationError
from inverse_deid.core.wording import _

LEAST_LOW, LEAST_HIGH, MOST_SLOPE = 0.25, 0.5, 0.5
"""Beyond these, thresholds are low: they keep words that are more probably PHI than not.

Only words that dictionaries and rules call safe may be kept below 0.5, at odds of one to three or better.
All operating points of the packaged model are within these limits.
"""


@dataclass(frozen=True, slots=True)
class Thresholds:
    """The least `p_safe` of words that are kept.

    Args:
        low: For words that the rules call safe, in [0, 1].
        high: For all other words, in [0, 1], at least `low`.
        density_slope: By how many logits both rise when a document contains e times the
            reference density of PHI, in [0, 2]; 0 = the same in every document.

    Raises:
        ConfigurationError: Out of range or in the wrong order.
    """

    low: float
    high: float
    density_slope: float = 0.0

    def __post_init__(self) -> None:
        if not 0 <= self.low <= self.high <= 1:
            raise ConfigurationError(_("thresholds must be 0 <= low <= high <= 1"))
        if not 0 <= self.density_slope <= 2:
            raise ConfigurationError(_("density_slope must be between 0 and 2"))

    @classmethod
    def from_json(cls, stored: object) -> Thresholds:
        """Read the thresholds that `as_json` wrote.

        Raises:
            ConfigurationError: A value is missing, unknown, not a number or out of range.
        """
        return cls(**read_numbers(stored, _("thresholds"), [field.name for field in fields(cls)]))

    def as_json(self) -> dict[str, float]:
        """Return the thresholds as a dictionary that `from_json` reads."""
        return asdict(self)

    @property
    def are_low(self) -> bool:
        """Whether masking refuses them unless the user accepts low thresholds.

        Example:
            >>> Thresholds(0.25, 0.5, 0.5).are_low, Thresholds(0.9, 0.95, 0.6).are_low
            (False, True)
        """
        within = self.low >= LEAST_LOW and self.high >= LEAST_HIGH and self.density_slope <= MOST_SLOPE
        return not within


def read_numbers(stored: object, what: str, names: Sequence[str]) -> dict[str, float]:
    """Return numbers of a file by their names.

    Args:
        stored: As it was read.
        what: The numbers, for the message.
        names: All that must be there.

    Raises:
        ConfigurationError: A value is missing, unknown or not a number.

    Example:
        >>> read_numbers({"low": 0.5}, "thresholds", ["low"])
        {'low': 0.5}
    """
    if not isinstance(stored, dict) or set(stored) != set(names):
        raise ConfigurationError(_("{what} must have {names}", what=what, names=", ".join(names)))
    if not all(isinstance(value, int | float) for value in stored.values()):
        raise ConfigurationError(_("{what} must be numbers", what=what))
    return stored


EVERYTHING_MASKED = Thresholds(1.0, 1.0)
"""Only a certainly safe word reaches these thresholds."""

OperatingPoints = Mapping[str, Thresholds]
"""The thresholds of each operating point, by name: strict, balanced, lenient."""


def read_operating_points(stored: object) -> dict[str, Thresholds]:
    """Read the operating points of the manifest of a model.

    Raises:
        ConfigurationError: They are not a table of thresholds.
    """
    if not isinstance(stored, dict):
        raise ConfigurationError(_("operating points must be a table"))
    return {name: Thresholds.from_json(point) for name, point in stored.items()}


def write_operating_points(points: OperatingPoints) -> dict[str, dict[str, float]]:
    """Return operating points as `read_operating_points` reads them."""
    return {name: point.as_json() for name, point in points.items()}
