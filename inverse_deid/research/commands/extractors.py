"""Loading an extractor for a command; Keras is imported only then."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from inverse_deid.research.commands.training_extra import need_training

if TYPE_CHECKING:
    from inverse_deid.research.extraction.tagger import Tagger


def load_extractor(folder: Path) -> Tagger:
    """Read the folder of an extractor.

    Raises:
        ModelError: It is no extractor, or damaged.
        ConfigurationError: The extra `train` is missing.
    """
    need_training("extraction", "train")
    from inverse_deid.research.extraction.folder import read_tagger

    return read_tagger(folder)
