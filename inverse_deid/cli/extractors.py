"""Loading an extractor for a command; Keras is imported only then."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from inverse_deid.core.errors import ConfigurationError

if TYPE_CHECKING:
    from inverse_deid.extraction.tagger import Tagger


def need_training() -> None:
    """Make sure that the extra `train` is there.

    Raises:
        ConfigurationError: It is not; the line says how to install it.
    """
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
    missing = ""
    try:
        import keras  # noqa: F401
        import tensorflow  # noqa: F401
    except ImportError as error:
        missing = error.name or "tensorflow"
    if missing:
        raise ConfigurationError(f"extraction needs the package {missing}; install 'inverse-deid[train]'")


def load_extractor(folder: Path) -> Tagger:
    """Read the folder of an extractor.

    Raises:
        ModelError: It is no extractor, or damaged.
        ConfigurationError: The extra `train` is missing.
    """
    need_training()
    from inverse_deid.extraction.folder import read_tagger

    return read_tagger(folder)
