"""Microsoft Presidio as a system: how a foreign tool becomes one."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from typing import Any

from inverse_deid.core.errors import ConfigurationError
from inverse_deid.core.values import Document
from inverse_deid.evaluation.counts import Range
from inverse_deid.research.comparison.systems import System

LANGUAGE = "en"
_SIZES = ("lg", "md", "sm")
_REMEDY = "pip install presidio-analyzer && python -m spacy download en_core_web_lg"


class Presidio(System):
    """Masks all that Presidio's analyzer finds with its default recognisers and threshold.

    Presidio is not a dependency of this package. It runs with the largest English spaCy
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
        module = _import_presidio() if analyzer is None else analyzer
        if models is None:
            models = importlib.import_module("spacy").util.get_installed_models()
        model = _find_largest(models)
        configuration = {
            "nlp_engine_name": "spacy",
            "models": [{"lang_code": LANGUAGE, "model_name": model}],
        }
        engine = module.nlp_engine.NlpEngineProvider(nlp_configuration=configuration).create_engine()
        self._analyzer = module.AnalyzerEngine(nlp_engine=engine, supported_languages=[LANGUAGE])
        self.source = f"Microsoft Presidio with the spaCy model {model}, default recognisers and threshold"

    def masks(self, docs: Sequence[Document]) -> list[list[Range]]:
        """Return one range per finding; they may overlap."""
        texts = (doc.text for doc in docs)
        found = (self._analyzer.analyze(text=text, language=LANGUAGE) if text else [] for text in texts)
        return [sorted({(result.start, result.end) for result in results}) for results in found]


def _import_presidio() -> Any:  # noqa: ANN401 - a package without types
    try:
        import presidio_analyzer
    except ImportError as error:
        raise ConfigurationError(
            f"the system presidio needs the package presidio-analyzer and a spaCy model: {_REMEDY}"
        ) from error
    return presidio_analyzer


def _find_largest(models: Sequence[str]) -> str:
    """Return the English model with the largest size in its name; of equal ones the first by name.

    Raises:
        ConfigurationError: None is English.

    Example:
        >>> _find_largest(["de_core_news_lg", "en_core_web_sm", "en_core_web_md"])
        'en_core_web_md'
    """
    english = sorted(model for model in models if model.startswith(f"{LANGUAGE}_"))
    if not english:
        raise ConfigurationError(
            f"presidio is installed, but no English spaCy model is: {_REMEDY.partition(' && ')[2]}"
        )

    def place(model: str) -> int:
        return min((_SIZES.index(part) for part in model.split("_") if part in _SIZES), default=len(_SIZES))

    return min(english, key=place)
