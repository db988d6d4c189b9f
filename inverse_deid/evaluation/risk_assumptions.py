"""What the estimate of the re-identification risk assumes; `risk.toml` gives values and reasons."""

from __future__ import annotations

import importlib.resources
import math
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from inverse_deid.core.errors import ConfigurationError
from inverse_deid.core.phi import PhiType
from inverse_deid.core.settings import read_toml

TYPE_LISTS = ("direct", "quasi", "neither")
"""The assumptions that are lists of types."""

_WHOLE_NUMBERS = ("quasi_needed", "acquaintances")
_MOST_NEEDED = 100
_PROBABILITIES = ("caught", "direct_identifies", "deliberate", "breach", "prevalence", "threshold")


@dataclass(frozen=True, slots=True, kw_only=True)
class Assumptions:
    """What the estimate assumes; `risk.toml` gives the reasons. Probabilities are in [0, 1].

    Args:
        direct: Types of which one leaked identifier is enough.
        quasi: Types of which it takes several.
        neither: Types that do not count.
        quasi_needed: How many leaked quasi-identifiers put a document at risk, from 1 to 100.
        caught: Probability that a leaked identifier is taken for real.
        direct_identifies: Probability that a caught direct identifier leads to the patient.
        persons_alike: Persons who share the leaked quasi-identifiers, at least 1.
        deliberate: Probability of an attack on purpose.
        breach: Probability that the documents get lost to an attacker.
        acquaintances: How many people a reader knows.
        prevalence: Share of people with such a case.
        threshold: Risk that is accepted.
        confidence: Of the upper bound, in (0, 1).

    Raises:
        ConfigurationError: A value is out of range, or a type is not in exactly one list.
    """

    direct: frozenset[PhiType]
    quasi: frozenset[PhiType]
    neither: frozenset[PhiType]
    quasi_needed: int
    caught: float
    direct_identifies: float
    persons_alike: float
    deliberate: float
    breach: float
    acquaintances: int
    prevalence: float
    threshold: float
    confidence: float

    def __post_init__(self) -> None:
        lists = [getattr(self, name) for name in TYPE_LISTS]
        if wrong := [fine.value for fine in PhiType if sum(fine in listed for listed in lists) != 1]:
            raise ConfigurationError(
                f"{', '.join(wrong)}: in none or several of the lists {', '.join(TYPE_LISTS)}; "
                "give every PHI type in exactly one"
            )
        if wrong := [name for name in _PROBABILITIES if not 0 <= getattr(self, name) <= 1]:
            raise ConfigurationError(f"{', '.join(wrong)}: give a probability between 0 and 1")
        if not 1 <= self.quasi_needed <= _MOST_NEEDED or not 1 <= self.persons_alike < math.inf:
            raise ConfigurationError(f"quasi_needed is 1 to {_MOST_NEEDED}, persons_alike at least 1")
        if self.acquaintances < 0 or not 0 < self.confidence < 1:
            raise ConfigurationError("acquaintances are at least 0, confidence is between 0 and 1")

    @property
    def quasi_identifies(self) -> float:
        """Probability that enough caught quasi-identifiers lead to the patient."""
        return 1 / self.persons_alike

    @property
    def inadvertent(self) -> float:
        """Probability that a reader knows someone with such a case."""
        return float(1 - (1 - self.prevalence) ** self.acquaintances)

    @property
    def attack(self) -> float:
        """Probability of the most probable way of attack."""
        return max(self.deliberate, self.breach, self.inadvertent)


def read_assumptions(path: Path | None = None) -> Assumptions:
    """Read assumptions: the packaged ones, changed where a file says so.

    Raises:
        ConfigurationError: The file cannot be read, names an unknown setting or type, or a
            value is of the wrong kind or out of range.

    Example:
        >>> read_assumptions().quasi_identifies
        0.2
    """
    packaged = importlib.resources.files("inverse_deid.evaluation") / "risk.toml"
    values = _values(tomllib.loads(packaged.read_text(encoding="utf-8")))
    if path is None:
        return Assumptions(**values)
    own = read_toml(path)
    try:
        return Assumptions(**{**values, **_values(own)})
    except ConfigurationError as error:
        raise ConfigurationError(f"{path}: {error}") from error


def _values(settings: Mapping[str, object]) -> dict[str, Any]:
    """The settings of a file as the fields want them."""
    known = [entry.name for entry in fields(Assumptions)]
    if unknown := [name for name in settings if name not in known]:
        raise ConfigurationError(f"unknown: {', '.join(unknown)}; the assumptions are {', '.join(known)}")
    return {name: _value(name, value) for name, value in settings.items()}


def _value(name: str, value: object) -> object:
    if name in TYPE_LISTS:
        types = frozenset(fine for fine in PhiType if isinstance(value, list) and fine.value in value)
        if not isinstance(value, list) or len(types) != len(value):
            raise ConfigurationError(f"{name}: give a list of PHI types; known are {', '.join(PhiType)}")
        return types
    wanted = int if name in _WHOLE_NUMBERS else (int, float)
    if isinstance(value, bool) or not isinstance(value, wanted):
        raise ConfigurationError(f"{name}: give a {'whole ' if wanted is int else ''}number")
    return value
