"""The protocol of a system, and all systems by name. A system is loaded when it is made."""

from __future__ import annotations

import importlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Protocol, cast

from inverse_deid.core.errors import ConfigurationError, StageError
from inverse_deid.core.values import BoolArray, Document, Tokens
from inverse_deid.evaluation.counts import Range

REFERENCE = "hybrid"
"""The system that the others are tested against by default."""


class System(Protocol):
    """A way to mask documents.

    Args:
        name: On the command line, and of the file of its masks.
        title: A few words on it.
        source: Its authors, or its parts.
    """

    name: str
    title: str
    source: str

    def fit(self, docs: Sequence[Document], seed: int) -> None:
        """Learn from annotated documents; a system that does not learn inherits this.

        Args:
            docs: With their spans, some PHI and some safe tokens among them.
            seed: Of every random choice.
        """
        return

    def masks(self, docs: Sequence[Document]) -> list[list[Range]]:
        """Mask documents by their text alone.

        Returns:
            For each document half-open ranges of its text, in any order; they may overlap.

        Raises:
            StageError: It learns, and `fit` was not called.
        """
        ...


def ranges_of(tokens: Tokens, is_masked: BoolArray) -> list[Range]:
    """Return the characters of the masked tokens, one range per token.

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
    """Return the error of a system that is asked to mask before it has learned."""
    return StageError(f"the system {name} has not learned anything yet. Call fit with annotated documents")


@dataclass(frozen=True, slots=True)
class SystemEntry:
    """A system before it is made.

    Args:
        module: In this folder.
        make: The class or function of the module that makes it.
        arguments: Of the call.
        learns: Whether it has to learn from annotated documents first.
        is_usual: Whether it runs when the user names none.
        has_epochs: Whether it takes `n_epochs`.
    """

    module: str
    make: str
    arguments: Mapping[str, str] = field(default_factory=dict)
    learns: bool = False
    is_usual: bool = True
    has_epochs: bool = False


def _bilstm(output: str) -> SystemEntry:
    return SystemEntry("bilstm", "BiLstm", {"output": output}, learns=True, is_usual=False, has_epochs=True)


def _hybrid(name: str, operating_point: str) -> SystemEntry:
    return SystemEntry("packaged", "hybrid", {"name": name, "operating_point": operating_point})


SYSTEMS: Mapping[str, SystemEntry] = MappingProxyType(
    {
        "patterns": SystemEntry("word_lists", "Patterns"),
        "dictionary": SystemEntry("word_lists", "ConceptMatch"),
        "crf": SystemEntry("linear", "ConditionalRandomField", learns=True),
        "svm": SystemEntry("linear", "SupportVectorMachine", learns=True),
        "bilstm": _bilstm("softmax"),
        "bilstm-crf": _bilstm("crf"),
        "presidio": SystemEntry("presidio", "Presidio", is_usual=False),
        "rules": SystemEntry("packaged", "rules"),
        "network": SystemEntry("packaged", "Network"),
        "hybrid-strict": _hybrid("hybrid-strict", "strict"),
        "hybrid": _hybrid("hybrid", "balanced"),
        "hybrid-lenient": _hybrid("hybrid-lenient", "lenient"),
    }
)
"""All systems, in the order of the tables."""


def usual_systems(*, may_learn: bool) -> list[str]:
    """Return what is compared when the user names nothing: the light systems that can run.

    Args:
        may_learn: Whether there are documents to learn from.

    Example:
        >>> usual_systems(may_learn=False)[:3]
        ['patterns', 'dictionary', 'rules']
    """
    return [name for name, entry in SYSTEMS.items() if entry.is_usual and (may_learn or not entry.learns)]


def make_system(name: str, n_epochs: int | None = None) -> System:
    """Make a system; it has learned nothing yet.

    Args:
        name: One of `SYSTEMS`.
        n_epochs: Of the systems that train a network; None = their own number.

    Raises:
        ConfigurationError: There is none of this name, or a package that it needs is not installed.

    Example:
        >>> make_system("patterns").title
        'Regular expressions'
    """
    if name not in SYSTEMS:
        raise ConfigurationError(f"no system named {name!r}. Choose one of {', '.join(SYSTEMS)}")
    entry = SYSTEMS[name]
    make = getattr(importlib.import_module(f"inverse_deid.research.comparison.{entry.module}"), entry.make)
    epochs = {"n_epochs": n_epochs} if entry.has_epochs and n_epochs is not None else {}
    return cast(System, make(**entry.arguments, **epochs))
