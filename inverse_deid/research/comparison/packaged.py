"""The packaged masker and its parts: the rules alone, the network alone, both together."""

from __future__ import annotations

from collections.abc import Sequence

from inverse_deid.core.errors import StageError
from inverse_deid.core.values import Document
from inverse_deid.evaluation.counts import Range
from inverse_deid.evaluation.evaluation import name_documents
from inverse_deid.masking.assemble import MaskingSettings, build_deidentifier, packaged_model
from inverse_deid.network.folder import read_model
from inverse_deid.research.comparison.most_probable import MostProbableClass


class Packaged:
    """A masker as the command `mask` builds it; it was trained before.

    Args:
        name: Of the system.
        title: Of the system.
        source: Of the system.
        settings: What to build.

    Raises:
        LexiconError: The packaged lexicon is damaged.
        ModelError: The packaged model is damaged.
    """

    def __init__(self, name: str, title: str, source: str, settings: MaskingSettings) -> None:
        self.name, self.title, self.source = name, title, source
        self._deidentifier = build_deidentifier(settings)

    def fit(self, docs: Sequence[Document], seed: int) -> None:
        """Do nothing."""

    def masks(self, docs: Sequence[Document]) -> list[list[Range]]:
        """The masks as `mask` writes them.

        Raises:
            StageError: Documents came back masked whole because a stage failed; as figures
                they would look like perfect recall.
        """
        masked = self._deidentifier.mask_many(docs)
        if failed := [one.id for one in masked if one.failed]:
            raise StageError(f"{self.name}: a stage failed on {name_documents(failed)}; mask them to see how")
        return [list(one.masks) for one in masked]


def rules() -> Packaged:
    """The rules alone."""
    return Packaged(
        "rules", "Rules alone", "dictionaries and patterns of this package", MaskingSettings(rules_only=True)
    )


def hybrid(name: str, operating_point: str) -> Packaged:
    """Rules and network together, as `mask` does by default.

    Args:
        name: Of the system.
        operating_point: strict, balanced or lenient.
    """
    return Packaged(
        name,
        f"Hybrid, {operating_point}",
        f"the packaged model at its operating point {operating_point}, with rules and document passes",
        MaskingSettings(operating_point=operating_point),
    )


class Network:
    """The packaged network alone: what is most probably safe is kept; it was trained before.

    Raises:
        ModelError: The packaged model is damaged.
    """

    name = "network"
    title = "Network alone"
    source = "the packaged network, most probable class; it reads features of the rules, not their verdicts"

    def __init__(self) -> None:
        self._network = MostProbableClass(read_model(packaged_model()))

    def fit(self, docs: Sequence[Document], seed: int) -> None:
        """Do nothing."""

    def masks(self, docs: Sequence[Document]) -> list[list[Range]]:
        """One range a masked token."""
        return self._network.masks(docs)
