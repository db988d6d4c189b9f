"""Microsoft Presidio as a system: how a foreign tool becomes one."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from typing import Any

from inverse_deid.core.errors import ConfigurationError
from inverse_deid.core.values import Document
from inverse_deid.evaluation.counts import Range

LANGUAGE = "en"
_SIZES = ("lg", "md", "sm")
_REMEDY = "pip install presidio-analyzer && python -m spacy download en_core_web_lg"


class Presidio:
    """Masks all that Presidio's analyzer finds, with the recognisers and the threshold it has by default.

    Presidio is no dependency of this package. It runs with the largest English spaCy
    model that is installed; no model is downloaded.

    Args:
        analyzer: The module `presidio_analyzer`; None imports it.
        models: Names of the installed spaCy models; None asks spaCy.

    Raises:
        ConfigurationError: Presidio or an English model is not installed.

    Source:
        https://microsoft.github.io/presidio
    """

    name = "presidio"
    title = "Presidio"

    def __init__(self, analyzer: Any = None, models: Sequence[str] | None = None) -> None:  # noqa: ANN401
        module = _presidio() if analyzer is None else analyzer
        model = _largest(_installed_models() if models is None else models)
        configuration = {
            "nlp_engine_name": "spacy",
            "models": [{"lang_code": LANGUAGE, "model_name": model}],
        }
        engine = module.nlp_engine.NlpEngineProvider(nlp_configuration=configuration).create_engine()
        self._analyzer = module.AnalyzerEngine(nlp_engine=engine, supported_languages=[LANGUAGE])
        self.source = f"Microsoft Presidio with the spaCy model {model}, default recognisers and threshold"

    def fit(self, docs: Sequence[Document], seed: int) -> None:
        """Do nothing."""

    def masks(self, docs: Sequence[Document]) -> list[list[Range]]:
        """One range a finding; they may overlap."""
        return [self._masks(doc.text) for doc in docs]

    def _masks(self, text: str) -> list[Range]:
        found = self._analyzer.analyze(text=text, language=LANGUAGE) if text else []
        return sorted({(result.start, result.end) for result in found})


def _presidio() -> Any:  # noqa: ANN401 - a package without types
    try:
        import presidio_analyzer
    except ImportError as error:
        raise ConfigurationError(
            f"the system presidio needs the package presidio-analyzer and a spaCy model; {_REMEDY}"
        ) from error
    return presidio_analyzer


def _installed_models() -> list[str]:
    return list(importlib.import_module("spacy").util.get_installed_models())


def _largest(models: Sequence[str]) -> str:
    """The English model with the largest size in its name; of equal ones the first by name.

    Raises:
        ConfigurationError: None is English.

    Example:
        >>> _largest(["de_core_news_lg", "en_core_web_sm", "en_core_web_md"])
        'en_core_web_md'
    """
    english = sorted(model for model in models if model.startswith(f"{LANGUAGE}_"))
    if not english:
        raise ConfigurationError(
            f"presidio is installed, but no English spaCy model is; {_REMEDY.partition(' && ')[2]}"
        )
    return min(english, key=_size)


def _size(model: str) -> int:
    """The place of a model's size among `_SIZES`, the last if it names none."""
    parts = model.split("_")
    return next((place for place, size in enumerate(_SIZES) if size in parts), len(_SIZES))
