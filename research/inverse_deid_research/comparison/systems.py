"""The protocol of a system, and all systems by name. A system is loaded when it is made."""

from __future__ import annotations

import pkgutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Protocol, cast

import numpy as np

from inverse_deid.core.errors import ConfigurationError, StageError
from inverse_deid.core.values import BoolArray, Document, Tokens
from inverse_deid.evaluation.measures.counts import Range
from inverse_deid.evaluation.measures.uncertainty import Float64Array

REFERENCE = "hybrid"
"""The system that the others are tested against by default."""


@dataclass(frozen=True, slots=True, eq=False)
class Sweep:
    """The masks of some documents at every threshold of a system."""

    thresholds: Float64Array = field(repr=False)  # rising
    # The masks of each document at one of them; a higher one never masks less.
    masks_at: Callable[[float], list[list[Range]]] = field(repr=False)


class System(Protocol):
    """A way to mask documents; `source` names its authors or its parts."""

    name: str
    title: str
    source: str

    def fit(self, docs: Sequence[Document], seed: int) -> None:
        """Learn from annotated documents, some PHI and some safe tokens among them.

        A system that does not learn inherits this. The seed is that of every random choice.
        """
        return

    def masks(self, docs: Sequence[Document]) -> list[list[Range]]:
        """Mask documents by their text alone.

        Returns:
            For each document half-open ranges of its text, in any order; they may overlap.

        Raises:
            StageError: It learns, and `fit` was not called.
        """

    def sweep(self, docs: Sequence[Document]) -> Sweep | None:
        """Return the masks at every threshold; a system without scores inherits None."""
        return None


def ranges_of(tokens: Tokens, is_masked: BoolArray) -> list[Range]:
    """Return the characters of the masked tokens of a text, one range per token.

    Example:
        >>> import numpy as np
        >>> from inverse_deid.text.tokenizer import tokenize
        >>> ranges_of(tokenize("Mr Li-Wu left"), np.array([False, True, True, False]))
        [(3, 5), (6, 8)]
    """
    return list(zip(tokens.starts[is_masked].tolist(), tokens.ends[is_masked].tolist(), strict=True))


def sweep_tokens(tokens: Sequence[Tokens], scores: Sequence[Float64Array]) -> Sweep:
    """Return the sweep of a system that masks every token whose score is below a threshold.

    `scores`, (n_tokens,) of each document, are on any scale; the higher, the safer. NaN is always masked.

    Example:
        >>> from inverse_deid.text.tokenizer import tokenize
        >>> sweep = sweep_tokens([tokenize("Mr Li left")], [np.array([0.9, 0.2, 0.9])])
        >>> [sweep.masks_at(threshold) for threshold in sweep.thresholds[:2]]
        [[[]], [[(3, 5)]]]
    """
    values = np.unique(np.concatenate([np.zeros(0), *scores]))
    return Sweep(
        np.append(values[~np.isnan(values)], np.inf),
        lambda threshold: [
            ranges_of(one, ~(found >= threshold)) for one, found in zip(tokens, scores, strict=True)
        ],
    )


def not_fitted(name: str) -> StageError:
    """Return the error of a system that is asked to mask before it has learned."""
    return StageError(f"the system {name} has not learned anything yet. Call fit with annotated documents")


@dataclass(frozen=True, slots=True)
class SystemEntry:
    """A system before it is made by `maker`, a `module:name` in this folder.

    A usual system runs when the user names none.
    """

    maker: str
    arguments: tuple[str, ...] = ()
    learns: bool = False
    is_usual: bool = True
    has_epochs: bool = False


_BILSTM = SystemEntry("learning_systems:BiLstm", learns=True, is_usual=False, has_epochs=True)

SYSTEMS: Mapping[str, SystemEntry] = MappingProxyType(
    {
        "patterns": SystemEntry("ready_systems:Patterns"),
        "dictionary": SystemEntry("ready_systems:ConceptMatch"),
        "crf": SystemEntry("learning_systems:ConditionalRandomField", learns=True),
        "svm": SystemEntry("learning_systems:SupportVectorMachine", learns=True),
        "bilstm": replace(_BILSTM, arguments=("softmax",)),
        "bilstm-crf": replace(_BILSTM, arguments=("crf",)),
        "presidio": SystemEntry("ready_systems:Presidio", is_usual=False),
        "rules": SystemEntry("ready_systems:rules"),
        "network": SystemEntry("ready_systems:Network"),
        "hybrid-strict": SystemEntry("ready_systems:hybrid", ("hybrid-strict", "strict")),
        "hybrid": SystemEntry("ready_systems:hybrid", ("hybrid", "balanced")),
        "hybrid-lenient": SystemEntry("ready_systems:hybrid", ("hybrid-lenient", "lenient")),
        "hybrid-fast": SystemEntry("ready_systems:hybrid", ("hybrid-fast", "balanced", "fast")),
    }
)


def usual_systems(*, may_learn: bool) -> list[str]:
    """Return what is compared when the user names nothing: the light systems that can run."""
    return [name for name, entry in SYSTEMS.items() if entry.is_usual and (may_learn or not entry.learns)]


def make_system(name: str, n_epochs: int | None = None) -> System:
    """Make a system that has learned nothing yet; `n_epochs` replaces the own number of a network.

    Raises:
        ConfigurationError: There is none of this name, or a package that it needs is not installed.
    """
    if name not in SYSTEMS:
        raise ConfigurationError(f"no system named {name!r}. Choose one of {', '.join(SYSTEMS)}")
    entry = SYSTEMS[name]
    make = pkgutil.resolve_name(f"inverse_deid_research.comparison.{entry.maker}")
    epochs = {"n_epochs": n_epochs} if entry.has_epochs and n_epochs is not None else {}
    return cast(System, make(*entry.arguments, **epochs))
