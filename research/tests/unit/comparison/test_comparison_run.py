"""What runs, on what, and what is refused before anything does."""

import pytest
from invented_notes import notes
from refusals import refuses
from two_documents import ALL, DOCS, SOME, Scored, write_gold, write_masks

from inverse_deid.core.errors import AnnotationError, ConfigurationError, StageError
from inverse_deid.core.values import Document
from inverse_deid.evaluation.measures.figures import Share
from inverse_deid.training.documents import corpus_sha256
from inverse_deid_research.comparison import comparison as running
from inverse_deid_research.comparison.comparison import ComparisonSettings, compare


class Spy:
    """Notes what it is given; masks everything, or gives too little back."""

    title = source = "a spy"

    def __init__(self, name, n_results=None):
        self.name, self.n_results = name, n_results
        self.fitted, self.given, self.swept = [], [], []

    def fit(self, docs, seed):
        self.fitted.append(([doc.id for doc in docs], seed, all(doc.spans for doc in docs)))

    def masks(self, docs):
        self.given.append(list(docs))
        return [[(0, len(doc.text))] for doc in docs][: self.n_results]

    def sweep(self, docs):
        self.swept += docs
        return None


@pytest.fixture
def spies(monkeypatch):
    """Every system is a spy."""
    made = {}

    def make(name, n_epochs):
        made[name] = Spy(name)
        made[name].n_epochs = n_epochs
        return made[name]

    monkeypatch.setattr(running, "make_system", make)
    return made


@pytest.fixture
def gold(tmp_path):
    return write_gold(tmp_path / "gold.jsonl")


def settings(gold, **given):
    return ComparisonSettings(test=gold, **given)


def test_systems_see_texts_alone_a_batch_at_a_time_after_a_warm_up(tmp_path, spies):
    docs = notes(150)
    found = compare(settings(write_gold(tmp_path / "g.jsonl", docs), systems=("patterns",)))
    given = spies["patterns"].given
    assert [len(batch) for batch in given] == [10, 64, 64, 22]
    assert [doc for batch in given[1:] for doc in batch] == [Document(doc.id, doc.text) for doc in docs]
    assert given[0] == given[1][:10]
    assert spies["patterns"].swept == [doc for batch in given[1:] for doc in batch]
    (result,) = found.results
    assert result.evaluation.value("recall_all") == 1.0
    assert result.tokens_per_second > 0
    assert (result.learned_from, result.learning_seconds) == (None, None)


def test_only_learners_learn_with_the_seed_and_all_spans(tmp_path, gold, spies):
    train = write_gold(tmp_path / "train.jsonl", notes(5))
    found = compare(settings(gold, train=(train,), systems=("rules", "svm", "crf"), seed=9, n_epochs=2))
    assert [result.name for result in found.results] == ["crf", "svm", "rules"]
    assert spies["rules"].fitted == []
    assert spies["crf"].fitted == [([f"note-{i}" for i in range(5)], 9, True)]
    assert [result.learned_from for result in found.results] == [5, 5, None]
    assert spies["svm"].n_epochs == 2
    assert found.hashes == {str(gold): corpus_sha256(gold), str(train): corpus_sha256(train)}


def test_the_usual_systems_run_when_none_is_named(tmp_path, gold, spies):
    compare(settings(gold))
    assert list(spies) == [
        *("patterns", "dictionary", "rules", "network"),
        *("hybrid-strict", "hybrid", "hybrid-lenient", "hybrid-fast"),
    ]
    spies.clear()
    compare(settings(gold, train=(write_gold(tmp_path / "train.jsonl", notes(2)),)))
    assert {"crf", "svm"} < set(spies)
    assert not {"bilstm", "presidio"} & set(spies)


def test_documents_to_learn_from_without_a_learner_are_noted(tmp_path, gold, spies):
    train = write_gold(tmp_path / "train.jsonl", notes(2))
    said = []
    found = compare(settings(gold, train=(train,), systems=("rules",)), said.append)
    assert found.notes == ("the documents to learn from are ignored: none of the compared systems learns",)
    assert said[0] == found.notes[0]


def test_masks_of_tools_are_measured_as_they_are(tmp_path, gold, spies):
    masks = {
        "some": write_masks(tmp_path / "some.jsonl", SOME),
        "all": write_masks(tmp_path / "all.jsonl", ALL),
    }
    found = compare(settings(gold, systems=("rules",), masks=masks, reference="some"))
    rules, some, everything = found.results
    assert (some.name, everything.name) == ("some", "all")
    assert some.evaluation.figure("recall_hipaa") == Share(4, 6)
    assert some.evaluation.figure("precision") == Share(4, 5)
    assert everything.evaluation.figure("precision") == rules.evaluation.figure("precision") == Share(6, 11)
    assert some.tokens_per_second is None
    assert found.reference_result is some


@pytest.mark.parametrize(
    ("systems", "reference", "expected"),
    [
        (("rules", "hybrid"), None, "hybrid"),
        (("rules",), None, None),
        (("rules", "hybrid"), "rules", "rules"),
    ],
)
def test_the_reference_is_the_hybrid_unless_another_is_named(gold, spies, systems, reference, expected):
    assert compare(settings(gold, systems=systems, reference=reference)).reference == expected


def recall_and_precision(found):
    return found.figure("recall_hipaa"), found.figure("precision")


@pytest.fixture
def moved(gold, monkeypatch):
    def make(name, n_epochs):
        return Scored(name) if name in ("hybrid", "network") else Spy(name)

    monkeypatch.setattr(running, "make_system", make)
    return compare(settings(gold, systems=("patterns", "network", "hybrid", "hybrid-lenient"))).moved


def test_systems_with_scores_are_moved_to_the_lowest_threshold_that_reaches_a_recall(moved):
    # own masks of the hybrid: 5 of 6 and one wrong; 6 of 6 need the next score
    for name in ("network", "hybrid"):
        assert recall_and_precision(moved[name, "hybrid"]) == (Share(5, 6), Share(5, 6))
        assert recall_and_precision(moved[name, 0.98]) == (Share(6, 6), Share(6, 7))


def test_the_reference_is_moved_to_the_recall_of_each_system_without_scores(moved):
    assert recall_and_precision(moved["hybrid", "patterns"]) == (Share(6, 6), Share(6, 7))
    assert set(moved) == {
        *((name, at) for name in ("network", "hybrid") for at in ("hybrid", 0.98, 0.99)),
        ("hybrid", "patterns"),  # and not the other operating point, which is the same system
    }


def test_nothing_is_moved_beside_a_reference_without_scores(gold, spies):
    assert compare(settings(gold, systems=("patterns", "hybrid"))).moved == {}


def test_test_documents_like_those_that_the_model_learned_from_are_left_out(
    tmp_path, gold, spies, monkeypatch
):
    train = write_gold(tmp_path / "train.jsonl", [DOCS[0], *notes(3)])
    provenance = {"data_sha256": {"some/train": corpus_sha256(train)}, "n_documents": {"some/train": [4, 0]}}
    monkeypatch.setattr(running, "read_manifest", lambda folder: {"provenance": provenance})
    masks = {"some": write_masks(tmp_path / "some.jsonl", SOME)}
    found = compare(settings(gold, train=(train,), systems=("crf", "hybrid"), masks=masks))
    assert [result.evaluation.ids for result in found.results] == [("b",)] * 3
    assert "1 of 2 test documents share id, patient or text" in found.notes[0]
    assert len(spies["crf"].fitted[0][0]) == 4
    with pytest.raises(ConfigurationError, match="all test documents share"):
        alike = write_gold(tmp_path / "alike.jsonl", [DOCS[0]])
        compare(settings(alike, train=(train,), systems=("hybrid",)))


def test_documents_of_one_patient_are_resampled_together(tmp_path, spies):
    twins = [Document(f"d{i}", DOCS[0].text, DOCS[0].spans) for i in range(2)]
    gold = write_gold(tmp_path / "g.jsonl", [*twins, DOCS[1]])
    found = compare(settings(gold, systems=("rules",)))
    assert found.clusters == (0, 0, 2)
    assert (found.results[0].intervals.unit, found.results[0].intervals.n_units) == ("patient", 2)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"systems": ("magic",)}, "no system named 'magic'"),
        (
            {"systems": ("crf", "rules")},
            "crf: needs annotated documents to learn from. Give them with --train",
        ),
        (
            {"systems": ("rules",), "reference": "hybrid"},
            "--reference: hybrid is not among the compared systems. Choose one of rules",
        ),
    ],
)
def test_what_cannot_run_is_refused_before_anything_does(gold, spies, given, message):
    with refuses(ConfigurationError, match=message):
        compare(settings(gold, **given))
    assert not spies


@pytest.mark.parametrize(
    ("masks", "error", "message"),
    [
        ({"a": []}, ConfigurationError, "without masks: document b."),
        ({**SOME, "c": []}, ConfigurationError, "not in the test file: document c."),
        ({"a": [[0, 99]], "b": []}, AnnotationError, r"tool.jsonl: document a: mask 0-99"),
    ],
)
def test_masks_that_do_not_fit_are_refused_before_anything_runs(tmp_path, gold, spies, masks, error, message):
    path = write_masks(tmp_path / "tool.jsonl", masks)
    with pytest.raises(error, match=message) as refused:
        compare(settings(gold, masks={"tool": path}))
    assert "Zorath" not in str(refused.value)
    assert not spies


def test_masks_under_the_name_of_a_system_are_refused(tmp_path, gold, spies):
    path = write_masks(tmp_path / "tool.jsonl", SOME)
    with refuses(ConfigurationError, match="--masks: a system has the name rules"):
        compare(settings(gold, masks={"rules": path}))


def test_test_documents_with_one_id_are_refused(tmp_path, spies):
    gold = write_gold(tmp_path / "g.jsonl", [DOCS[0], DOCS[0]])
    with pytest.raises(ConfigurationError, match="duplicate ids: document a"):
        compare(settings(gold, systems=("rules",)))


def test_a_system_that_loses_documents_is_found_out(gold, monkeypatch):
    monkeypatch.setattr(running, "make_system", lambda name, n_epochs: Spy(name, n_results=1))
    with pytest.raises(StageError, match="rules: 1 results for 2 documents"):
        compare(settings(gold, systems=("rules",)))


@pytest.mark.parametrize("system", ["network", "hybrid-strict", "hybrid", "hybrid-lenient"])
def test_what_the_packaged_model_was_trained_on_is_no_test_for_it(gold, spies, monkeypatch, system):
    provenance = {"data_sha256": {"some/train": corpus_sha256(gold)}, "n_documents": {"some/train": [5, 1]}}
    monkeypatch.setattr(running, "read_manifest", lambda folder: {"provenance": provenance})
    with pytest.raises(ConfigurationError, match=r"trained on it \(as some/train\)"):
        compare(settings(gold, systems=(system,)))
    assert not spies
    assert compare(settings(gold, systems=("rules",))).results


@pytest.mark.parametrize(
    ("n_documents", "is_refused"), [({}, True), ({"x": [0, 9]}, False), ({"x": [1, 0]}, True)]
)
def test_a_file_that_the_model_was_only_compared_on_is_a_test(
    gold, spies, monkeypatch, n_documents, is_refused
):
    provenance = {"data_sha256": {"x": corpus_sha256(gold)}, "n_documents": n_documents}
    monkeypatch.setattr(running, "read_manifest", lambda folder: {"provenance": provenance})
    if is_refused:
        with pytest.raises(ConfigurationError):
            compare(settings(gold, systems=("hybrid",)))
    else:
        assert compare(settings(gold, systems=("hybrid",))).results
