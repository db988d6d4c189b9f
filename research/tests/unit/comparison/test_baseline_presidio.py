"""The adapter for Presidio, on a stand-in for its module."""

import sys
from types import SimpleNamespace

import pytest

from inverse_deid.core.errors import ConfigurationError
from inverse_deid.core.values import Document
from inverse_deid_research.comparison.ready_systems import Presidio

MODELS = {name: name for name in ("de_core_news_lg", "en_core_web_sm", "en_core_web_lg")}


class StandIn:
    """Finds every `Zorath` twice, as two recognisers would, and notes what it was given."""

    def __init__(self):
        self.configurations = []
        self.asked = []
        self.nlp_engine = SimpleNamespace(NlpEngineProvider=self._provider)

    def _provider(self, nlp_configuration):
        self.configurations.append(nlp_configuration)
        return SimpleNamespace(create_engine=lambda: "engine")

    def AnalyzerEngine(self, nlp_engine, supported_languages):
        assert (nlp_engine, supported_languages) == ("engine", ["en"])
        return SimpleNamespace(analyze=self._analyze)

    def _analyze(self, text, language):
        self.asked.append((text, language))
        start = text.find("Zorath")
        found = [SimpleNamespace(start=start, end=start + 6, score=score) for score in (0.85, 0.4)]
        return [*found, SimpleNamespace(start=0, end=2, score=0.1)] if start >= 0 else []


def test_findings_are_masks_whatever_their_score():
    module = StandIn()
    system = Presidio(module, MODELS)
    docs = [Document("a", "Mr Zorath left"), Document("b", "nobody"), Document("c", "")]
    assert system.masks(docs) == [[(0, 2), (3, 9)], [], []]
    assert module.asked == [("Mr Zorath left", "en"), ("nobody", "en")]


def test_the_largest_english_model_runs_and_is_named():
    module = StandIn()
    system = Presidio(module, MODELS)
    assert module.configurations == [
        {
            "nlp_engine_name": "spacy",
            "models": [{"lang_code": "en", "model_name": "en_core_web_lg"}],
        }
    ]
    assert "en_core_web_lg" in system.source
    assert "en_web_trf" in Presidio(StandIn(), {"en_web_trf": "en_web_trf"}).source


def test_a_model_in_a_folder_is_loaded_from_there_and_named():
    module = StandIn()
    system = Presidio(module, {"en_core_web_md": "some/folder"})
    assert module.configurations[0]["models"][0]["model_name"] == "some/folder"
    assert "en_core_web_md" in system.source


def test_without_an_english_model_the_message_says_what_to_get():
    with pytest.raises(ConfigurationError, match="no English spaCy model is: python -m spacy download"):
        Presidio(StandIn(), {"de_core_news_lg": "de_core_news_lg"})


def test_without_presidio_the_message_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "presidio_analyzer", None)
    with pytest.raises(ConfigurationError, match="presidio-analyzer and a spaCy model: pip install"):
        Presidio()
