"""What every system has to do, whichever it is."""

from itertools import pairwise

import numpy as np
import pytest
from invented_notes import NAMES, notes

from inverse_deid.core.errors import ConfigurationError, StageError
from inverse_deid.core.values import Document
from inverse_deid.evaluation.evaluation import evaluate_masks
from inverse_deid.evaluation.measures.counts import check_masks
from inverse_deid.text.tokenizer import tokenize
from inverse_deid_research.comparison.learning_systems import ConditionalRandomField, SupportVectorMachine
from inverse_deid_research.comparison.ready_systems import ConceptMatch, Network, Patterns, hybrid, rules
from inverse_deid_research.comparison.systems import SYSTEMS, make_system, usual_systems

LIGHT = {
    "patterns": Patterns,
    "dictionary": ConceptMatch,
    "crf": ConditionalRandomField,
    "svm": SupportVectorMachine,
    "rules": rules,
    "network": Network,
    "hybrid": lambda: hybrid("hybrid", "balanced"),
}
ODD_TEXTS = ("", " ", "\n.,;", "x", "Ann\u200bMarie 李 3May2019x", "9" * 300)


@pytest.fixture(scope="module", params=LIGHT)
def system(request):
    made = LIGHT[request.param]()
    made.fit(notes(16), 1)
    return made


def test_masks_are_ranges_of_the_text_also_of_odd_ones(system):
    docs = [Document(str(i), text) for i, text in enumerate(ODD_TEXTS)]
    found = system.masks(docs)
    assert len(found) == len(docs)
    for doc, masks in zip(docs, found, strict=True):
        check_masks(doc, masks)
        assert all(type(offset) is int for pair in masks for offset in pair)


def test_the_spans_of_a_document_change_nothing(system):
    docs = notes(4, first=20)
    bare = [Document(doc.id, doc.text) for doc in docs]
    assert system.masks(docs) == system.masks(bare)


def test_documents_do_not_change_one_another(system):
    docs = notes(3, first=20)
    together = system.masks(docs)
    assert together == [system.masks([doc])[0] for doc in docs]
    assert system.masks(docs[::-1]) == together[::-1]


def test_a_system_says_what_it_is(system):
    assert system.name in SYSTEMS
    assert system.title
    assert system.source


def test_no_document_is_no_masks(system):
    assert system.masks([]) == []


@pytest.mark.parametrize("name", ["crf", "svm"])
def test_what_learns_finds_what_it_has_seen_and_the_same_again(name):
    first, second = LIGHT[name](), LIGHT[name]()
    for one in (first, second):
        one.fit(notes(24), 7)
    unseen = notes(4, first=30)
    masks = first.masks(unseen)
    assert masks == second.masks(unseen)
    evaluation = evaluate_masks(unseen, {d.id: m for d, m in zip(unseen, masks, strict=True)})
    assert evaluation.value("recall_all") == 1.0
    assert evaluation.value("precision") == 1.0


@pytest.mark.parametrize("name", ["crf", "svm"])
def test_what_learns_finds_a_name_that_it_has_never_seen_by_its_place(name):
    system = LIGHT[name]()
    system.fit(notes(24), 1)
    text = "Mr. Whitby of the ward had a mild rash on 8/4/2021 and took aspirin."
    assert "Whitby" not in NAMES
    assert (4, 10) in system.masks([Document("new", text)])[0]


@pytest.mark.parametrize("name", ["crf", "svm"])
def test_what_learns_refuses_to_mask_before(name):
    with pytest.raises(StageError, match=f"{name} has not learned anything"):
        LIGHT[name]().masks(notes(1))
    with pytest.raises(StageError, match=f"{name} has not learned anything"):
        LIGHT[name]().sweep(notes(1))


def characters(masks):
    return {i for start, end in masks for i in range(start, end)}


def test_a_higher_threshold_never_masks_less_and_the_highest_masks_all(system):
    docs = [*notes(3, first=20), Document("nothing", "")]
    sweep = system.sweep(docs)
    if system.name in ("patterns", "dictionary", "rules"):
        assert sweep is None
        return
    assert (np.diff(sweep.thresholds) > 0).all()
    chosen = sweep.thresholds[np.linspace(0, len(sweep.thresholds) - 1, 6).astype(int)]
    masks = [sweep.masks_at(float(threshold)) for threshold in chosen]
    for low, high in pairwise([[characters(one) for one in found] for found in masks]):
        assert all(less <= more for less, more in zip(low, high, strict=True))
    if system.name != "hybrid":  # what is surely safe passes every threshold below 1
        assert [len(one) for one in masks[-1]] == [len(tokenize(doc.text)) for doc in docs]


def test_the_hybrid_at_its_own_threshold_is_the_hybrid(monkeypatch):
    made, docs = hybrid("hybrid", "balanced"), notes(6)
    assert made.sweep(docs).masks_at(made._stages.thresholds.high) == made.masks(docs)
    assert hybrid("hybrid-strict", "strict").sweep(docs) is None


def test_rules_and_hybrid_are_what_the_command_masks_with():
    from inverse_deid.masking.assemble import MaskingSettings, build_deidentifier

    docs = notes(3)
    for system, settings in (
        (rules(), MaskingSettings(rules_only=True)),
        (hybrid("hybrid-strict", "strict"), MaskingSettings(operating_point="strict")),
    ):
        masked = build_deidentifier(settings).mask_many(docs)
        assert system.masks(docs) == [list(one.masks) for one in masked]


def test_the_hybrid_by_operating_point_masks_less_and_less():
    docs = notes(8)
    n_masked = [
        sum(end - start for masks in hybrid("h", point).masks(docs) for start, end in masks)
        for point in ("strict", "balanced", "lenient")
    ]
    assert n_masked == sorted(n_masked, reverse=True)


def test_a_document_that_failed_is_no_perfect_recall(monkeypatch):
    system = rules()

    def fail(*_):
        raise ValueError

    monkeypatch.setattr(system._deidentifier._stages.analyser, "analyse_many", fail)
    with pytest.raises(StageError, match="rules: a stage failed on documents note-0, note-1"):
        system.masks(notes(2))


def test_the_registry_makes_what_it_names():
    for name in LIGHT:
        assert make_system(name).name == name
    for name in ("hybrid-strict", "hybrid-lenient"):
        assert make_system(name).name == name
    with pytest.raises(
        ConfigurationError, match=r"no system named 'magic'\. Choose one of patterns, dictionary"
    ):
        make_system("magic")


def test_without_documents_to_learn_from_only_what_is_ready_runs():
    hybrids = ["hybrid-strict", "hybrid", "hybrid-lenient", "hybrid-fast"]
    ready = ["patterns", "dictionary", "rules", "network", *hybrids]
    assert usual_systems(may_learn=False) == ready
    assert usual_systems(may_learn=True) == [*ready[:2], "crf", "svm", *ready[2:]]
