"""The systems by name. Nothing is loaded before it is asked for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING

from inverse_deid.core.errors import ConfigurationError

if TYPE_CHECKING:
    from inverse_deid.network.config import Output
    from inverse_deid.research.comparison.systems import System

REFERENCE = "hybrid"
"""What the others are held against, if the user says nothing else."""

Maker = Callable[["SystemOptions"], "System"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SystemOptions:
    """What the user can choose.

    Args:
        n_epochs: Of the systems that train a network; None = their own number.
    """

    n_epochs: int | None = None


@dataclass(frozen=True, slots=True)
class Entry:
    """A system before it is made.

    Args:
        make: Makes it.
        learns: Whether it has to learn from annotated documents first.
        is_usual: Whether it runs when the user names none.
    """

    make: Maker
    learns: bool = False
    is_usual: bool = True


def _patterns(options: SystemOptions) -> System:
    from inverse_deid.research.comparison.patterns import Patterns

    return Patterns()


def _dictionary(options: SystemOptions) -> System:
    from inverse_deid.research.comparison.dictionary import ConceptMatch

    return ConceptMatch()


def _crf(options: SystemOptions) -> System:
    from inverse_deid.research.comparison.crf import ConditionalRandomField

    return ConditionalRandomField()


def _svm(options: SystemOptions) -> System:
    from inverse_deid.research.comparison.svm import SupportVectorMachine

    return SupportVectorMachine()


def _bilstm(output: Output) -> Maker:
    def make(options: SystemOptions) -> System:
        from inverse_deid.core.settings import change_settings
        from inverse_deid.research.comparison.bilstm import TRAINING, BiLstm

        n_epochs = TRAINING.epochs if options.n_epochs is None else options.n_epochs
        return BiLstm(output, training=change_settings(TRAINING, epochs=n_epochs))

    return make


def _rules(options: SystemOptions) -> System:
    from inverse_deid.research.comparison.packaged import rules

    return rules()


def _network(options: SystemOptions) -> System:
    from inverse_deid.research.comparison.packaged import Network

    return Network()


def _hybrid(name: str, operating_point: str) -> Maker:
    def make(options: SystemOptions) -> System:
        from inverse_deid.research.comparison.packaged import hybrid

        return hybrid(name, operating_point)

    return make


def _presidio(options: SystemOptions) -> System:
    from inverse_deid.research.comparison.presidio import Presidio

    return Presidio()


SYSTEMS: Mapping[str, Entry] = MappingProxyType(
    {
        "patterns": Entry(_patterns),
        "dictionary": Entry(_dictionary),
        "crf": Entry(_crf, learns=True),
        "svm": Entry(_svm, learns=True),
        "bilstm": Entry(_bilstm("softmax"), learns=True, is_usual=False),
        "bilstm-crf": Entry(_bilstm("crf"), learns=True, is_usual=False),
        "presidio": Entry(_presidio, is_usual=False),
        "rules": Entry(_rules),
        "network": Entry(_network),
        "hybrid-strict": Entry(_hybrid("hybrid-strict", "strict")),
        "hybrid": Entry(_hybrid("hybrid", "balanced")),
        "hybrid-lenient": Entry(_hybrid("hybrid-lenient", "lenient")),
    }
)
"""All systems, in the order of the tables."""


def usual_systems(*, may_learn: bool) -> list[str]:
    """What is compared when the user names nothing: the light ones, and of these only those that can run.

    Args:
        may_learn: Whether there are documents to learn from.

    Example:
        >>> usual_systems(may_learn=False)[:3]
        ['patterns', 'dictionary', 'rules']
    """
    return [name for name, entry in SYSTEMS.items() if entry.is_usual and (may_learn or not entry.learns)]


def make_system(name: str, options: SystemOptions | None = None) -> System:
    """Make a system; it has learned nothing yet.

    Raises:
        ConfigurationError: There is none of this name, or a package that it needs is not installed.

    Example:
        >>> make_system("patterns").title
        'Regular expressions'
    """
    if name not in SYSTEMS:
        raise ConfigurationError(f"there is no system {name}; there are {', '.join(SYSTEMS)}")
    return SYSTEMS[name].make(options or SystemOptions())
