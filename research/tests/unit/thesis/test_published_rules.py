"""Every list of the thesis by itself, the weights of the loss, and the characters."""

import numpy as np
import pytest

from inverse_deid.core.phi import PhiType
from inverse_deid.core.values import Document, PhiSpan
from inverse_deid.network.config import NetworkConfig
from inverse_deid.network.encoding import WordVectors
from inverse_deid.rules.analysis import FEATURE_NAMES
from inverse_deid_research.studies.scoring import analyse_corpus
from inverse_deid_research.thesis import published
from inverse_deid_research.thesis.published import encode_as_published, judge_as_published, weigh_types

# Tables 4.3.3 and 4.3.4 of the thesis, written down a second time.
SAFE = ["is-stop-word", "is-common-word", "is-drug", "is-medical-term"]
UNSAFE = ["is-possibly-city", "is-possibly-name", "contains-digit", "is-top-level-domain"]
NEVER_SAFE = ["is-weekday", "is-month", "is-street"]
MASKED_UNLESS_SAFE = ["is-holiday", "in-holiday", "is-written-out-number"]
NETWORK = NetworkConfig(feature_set="none", targets="fine", word_dim=4)
VECTORS = WordVectors((), np.zeros((0, 4), np.int8), np.ones(4, np.float32))


class Analysis:
    def __init__(self, features):
        self.features = features


def judge_lists(monkeypatch, *rows, **choices):
    """Judge tokens of which each is in some lists only."""
    features = np.zeros((len(rows), len(FEATURE_NAMES)), np.float32)
    for number, names in enumerate(rows):
        features[number, [FEATURE_NAMES.index(name) for name in names]] = 1

    class Analyser:
        def __init__(self, *given, **choices):
            assert choices == {"repairs": False}  # the thesis mends no typo

        def analyse_many(self, _tokens):
            return [Analysis(features)]

    monkeypatch.setattr(published, "RuleAnalyser", Analyser)
    return judge_as_published(analyse_corpus("a", [Document("a", " ".join("x" * len(rows)))]), **choices)


@pytest.mark.parametrize("name", SAFE)
def test_each_safe_list_makes_a_word_safe(monkeypatch, name):
    verdicts = judge_lists(monkeypatch, [name], [])
    assert verdicts.safe.tolist() == [True, False]
    assert not verdicts.never.any()


@pytest.mark.parametrize("name", UNSAFE)
def test_each_unsafe_list_overrules_every_safe_one(monkeypatch, name):
    verdicts = judge_lists(monkeypatch, [name], *([name, safe] for safe in SAFE))
    assert not verdicts.safe.any()
    assert not verdicts.never.any()


@pytest.mark.parametrize("always", [False, True])
@pytest.mark.parametrize("name", NEVER_SAFE)
def test_each_list_that_is_always_masked_overrules_every_safe_one(monkeypatch, name, always):
    verdicts = judge_lists(monkeypatch, [name], *([name, safe] for safe in SAFE), always=always)
    assert verdicts.never.all()
    assert not verdicts.safe.any()


@pytest.mark.parametrize("name", MASKED_UNLESS_SAFE)
def test_a_holiday_or_number_is_masked_only_if_no_safe_list_has_it(monkeypatch, name):
    rows = [[name, safe] for safe in SAFE]
    verdicts = judge_lists(monkeypatch, [name], *rows, [name, SAFE[1], UNSAFE[0]])
    assert verdicts.never.tolist() == [True, False, False, False, False, True]
    assert verdicts.safe.tolist() == [False, True, True, True, True, False]


@pytest.mark.parametrize("name", MASKED_UNLESS_SAFE)
def test_a_holiday_or_number_is_always_masked_on_request(monkeypatch, name):
    verdicts = judge_lists(monkeypatch, [name], *([name, safe] for safe in SAFE), always=True)
    assert verdicts.never.all()
    assert not verdicts.safe.any()


def test_a_title_is_no_street_word(monkeypatch):
    verdicts = judge_lists(monkeypatch, ["is-street", "is-salutation"])
    assert not verdicts.never.any()


def test_a_list_that_the_thesis_lacks_says_nothing(monkeypatch):
    known = {*SAFE, *UNSAFE, *NEVER_SAFE, *MASKED_UNLESS_SAFE}
    others = [name for name in FEATURE_NAMES if name not in known]
    assert "is-unit" in others
    verdicts = judge_lists(monkeypatch, *([name] for name in others))
    assert not (verdicts.safe | verdicts.never).any()


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("etc", "safe"),  # a stop word alone
        ("abode", "safe"),  # a common word alone
        ("abilify", "safe"),  # a drug alone
        ("adhd", "safe"),  # a medical term alone
        ("acre", "unsafe"),  # a common word and a name
        ("annex", "unsafe"),  # a common word and a city
        ("rec0vered", "unsafe"),
        ("okonkwo", "unsafe"),
        ("dr", "unsafe"),
        ("thursday", "masked"),
        ("february", "masked"),
        ("halloween", "masked"),
        ("fifty", "safe"),  # a written-out number and a common word
        ("blvd", "masked"),
    ],
)
def test_words_of_the_lexicon_are_judged_by_the_lists(word, expected):
    verdicts = judge_as_published(analyse_corpus("a", [Document("a", f"it {word} was")]))
    found = "masked" if verdicts.never[1] else "safe" if verdicts.safe[1] else "unsafe"
    assert found == expected


def weights_of(n_names, n_safe):
    text = " ".join(["ann"] * n_names + ["x"] * n_safe)
    spans = [PhiSpan(4 * n, 4 * n + 3, PhiType.PATIENT) for n in range(n_names)]
    (example,) = weigh_types(
        encode_as_published([Document("a", text, tuple(spans))], NETWORK, VECTORS), NETWORK
    )
    return example.weights[0].item(), example.weights[-1].item()


@pytest.mark.parametrize(
    ("n_names", "n_safe", "expected"),
    [
        (1, 999, (3.0, 1.0)),  # the decimal logarithm of how rare it is
        (10, 990, (2.0, 1.0)),
        (50, 50, (1.0, 1.0)),  # never less than a safe token
        (999, 1, (1.0, 1.0)),  # however rare safe tokens are
    ],
)
def test_the_weight_of_a_type_is_the_logarithm_of_its_rarity(n_names, n_safe, expected):
    assert weights_of(n_names, n_safe) == pytest.approx(expected)


def test_a_corpus_without_documents_is_judged():
    assert len(judge_as_published(analyse_corpus("a", [])).safe) == 0
