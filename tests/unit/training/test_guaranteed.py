"""What the pipeline keeps at every threshold: equal to trying them all, and what is refused before."""

import dataclasses
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from refusals import refuses

from inverse_deid.core.errors import AnnotationError, ModelError, StageError
from inverse_deid.core.phi import HyperClass, PhiType
from inverse_deid.core.thresholds import Thresholds
from inverse_deid.core.values import Document, PhiSpan, RuleAnalysis, RuleVerdicts
from inverse_deid.masking.pipeline import Deidentifier, Scores, Stages
from inverse_deid.replacement.markers import fixed_marker
from inverse_deid.text.tokenizer import span_of_token, tokenize
from inverse_deid.training.documents import corpus_sha256
from inverse_deid.training.guaranteed import (
    CalibrationSet,
    KeptPhi,
    calibration_set,
    count_kept_phi,
    refuse_training_documents,
    threshold_sequence,
)

CANARY = "Zebulonova"
SEQUENCE = threshold_sequence()
NAME = tuple(HyperClass).index(HyperClass.NAME)
WORDS = ("Anna", "anna", "Velmo", "rash", "12", "5", "Mr")


class Rules:
    """Lower case is safe; what follows `Mr` stands with a title; 5 is a veto."""

    def analyse_many(self, tokens):
        return [self.analyse(t.words) for t in tokens]

    def analyse(self, words):
        safe = np.array([word.islower() for word in words], bool)
        veto = np.array([word == "5" for word in words], bool)
        titled = np.array([i > 0 and words[i - 1] == "Mr" for i in range(len(words))], bool)
        verdicts = dataclasses.replace(RuleVerdicts.silent(len(words)), safe=safe, veto=veto, titled=titled)
        return RuleAnalysis(np.zeros(len(words), np.int32), np.zeros((len(words), 1), np.float32), verdicts)


class Network:
    """Gives the n-th token of a text the n-th probability that was set for it; counts its calls."""

    def __init__(self, p_safe):
        self.p_safe = p_safe
        self.n_texts = 0

    def score(self, tokens, analyses):
        self.n_texts += len(tokens)
        return [
            Scores(np.array(self.p_safe[t.text], np.float32), np.full(len(t), NAME, np.uint8)) for t in tokens
        ]


def stages(p_safe, thresholds=SEQUENCE[0]):
    return Stages(
        analyser=Rules(), scorer=Network(p_safe), thresholds=thresholds, marker_for=fixed_marker("PHI")
    )


def marked(doc_id, text, *words):
    spans = [PhiSpan(text.index(word), text.index(word) + len(word), PhiType.PATIENT) for word in words]
    return Document(doc_id, text, tuple(sorted(spans)))


def tried_one_by_one(calibration, wired, sequence):
    """Kept PHI tokens a document by masking with every threshold."""
    columns = []
    for thresholds in sequence:
        masked = Deidentifier(dataclasses.replace(wired, thresholds=thresholds)).mask_many(calibration.docs)
        columns.append(
            [
                int((m.decisions.keep & (span_of_token(m.tokens, doc.spans) >= 0)).sum())
                for doc, m in zip(calibration.docs, masked, strict=True)
            ]
        )
    return np.array(columns).T


# The sequence -----------------------------------------------------------------------------------


def test_the_sequence_is_fixed_and_falls_by_a_tenth_of_a_logit():
    highs = np.array([pair.high for pair in SEQUENCE])
    lows = np.array([pair.low for pair in SEQUENCE])
    logits = np.log(highs / (1 - highs))
    assert (len(SEQUENCE), SEQUENCE) == (201, threshold_sequence())
    assert logits == pytest.approx(np.arange(140, -61, -1) / 10, abs=1e-6)
    assert logits - np.log(lows / (1 - lows)) == pytest.approx(np.ones(201), abs=1e-6)
    assert len(np.unique(highs.astype(np.float32))) == 201
    assert {pair.density_slope for pair in threshold_sequence(Thresholds(1, 1, 0.7))} == {0.7}


# What is kept -----------------------------------------------------------------------------------


def test_kept_phi_by_hand():
    # 0.5 is logit 0: step 140 is `high` = 0.5 and keeps it; the lower-case word earns one logit, step 130.
    doc = marked("a", "Velmo rash anna", "Velmo", "anna")
    kept = count_kept_phi(calibration_set([doc]), stages({doc.text: [0.49999, 0.99, 0.49999]}), SEQUENCE)
    assert kept.n_phi.tolist() == [2]
    assert kept.n_kept[0].tolist() == [0] * 131 + [1] * 10 + [2] * 60
    assert kept.leaking()[0].tolist() == [0] * 131 + [1] * 70
    assert kept.share_kept()[0].tolist() == [0] * 131 + [0.5] * 10 + [1] * 60


def test_passes_over_the_document_count():
    # Where the name is masked behind its title, it is masked everywhere; by itself it would be kept.
    text = "Mr Velmo and Velmo"
    p_safe = {text: [0.99, 0.2, 0.99, 0.9]}
    doc = Document("a", text, (PhiSpan(13, 18, PhiType.PATIENT),))
    kept = count_kept_phi(calibration_set([doc]), stages(p_safe), SEQUENCE)
    with_title = np.array([pair.high > 0.2 for pair in SEQUENCE])
    assert kept.n_kept[0].tolist() == (~with_title).astype(int).tolist()


def test_always_masked_is_never_kept_and_unmarked_documents_do_not_count():
    docs = [marked("a", "5 rash", "5"), Document("b", "12 rash")]
    kept = count_kept_phi(calibration_set(docs), stages({"5 rash": [1, 1]}), SEQUENCE)
    assert kept.n_kept.tolist() == [[0] * 201]


@st.composite
def scored_documents(draw):
    """Documents with marks on any tokens, and a probability for each token, equal ones among them."""
    docs, p_safe = [], {}
    for i in range(draw(st.integers(1, 4))):
        words = draw(st.lists(st.sampled_from(WORDS), min_size=1, max_size=6))
        text = f"{'x' * (i + 1)} " + draw(st.sampled_from([" ", "-", "/"])).join(words)
        tokens = tokenize(text)
        n = len(tokens)
        probabilities = st.sampled_from([0.0, 0.3, 0.5, 0.9, 0.999, 1.0, float("nan")]) | st.floats(0, 1)
        p_safe[text] = draw(st.lists(probabilities, min_size=n, max_size=n))
        chosen = draw(st.sets(st.integers(0, n - 1)))
        spans = [PhiSpan(int(tokens.starts[k]), int(tokens.ends[k]), PhiType.PATIENT) for k in sorted(chosen)]
        docs.append(Document(f"d{i}", text, tuple(spans)))
    return docs, p_safe


@given(scored_documents(), st.sampled_from([0.0, 1.0]))
def test_the_search_finds_what_trying_every_threshold_finds(scored, slope):
    docs, p_safe = scored
    calibration, wired = calibration_set(docs), stages(p_safe)
    sequence = threshold_sequence(Thresholds(1, 1, slope))[::8]
    kept = count_kept_phi(calibration, wired, sequence)
    expected = tried_one_by_one(calibration, wired, sequence).reshape(kept.n_kept.shape)
    assert kept.n_kept.tolist() == expected.tolist()


def test_rules_and_network_run_once():
    docs = [marked(f"d{i}", f"rash {i}00 Velmo", "Velmo") for i in range(5)]
    wired = stages({doc.text: [0.9, 0.5, i / 5] for i, doc in enumerate(docs)})
    done = []
    count_kept_phi(calibration_set(docs), wired, SEQUENCE, done.append)
    assert wired.scorer.n_texts == 5
    assert sum(done) == 5


def test_a_sequence_that_is_not_nested_is_refused():
    doc = marked("a", "Velmo rash", "Velmo")
    with pytest.raises(StageError, match="lower threshold masks what a higher one keeps"):
        count_kept_phi(calibration_set([doc]), stages({doc.text: [0.5, 0.9]}), SEQUENCE[::-1])
    with pytest.raises(StageError, match="lower threshold masks more"):
        KeptPhi(np.array([2]), np.array([[1, 0]]))


def test_a_document_that_cannot_be_analysed_is_named_without_its_text():
    doc = marked("a7", f"Mr {CANARY}", CANARY)
    with pytest.raises(StageError, match="document a7") as refused:
        count_kept_phi(calibration_set([doc]), stages({doc.text: [0.5]}), SEQUENCE)
    assert CANARY not in str(refused.value)


# Patients ---------------------------------------------------------------------------------------


def test_documents_of_one_patient_count_once():
    docs = [
        marked("a", "Velmo rash Anna", "Velmo", "Anna"),
        marked("b", "Anna well", "Anna"),
        marked("c", "Anna ill", "Anna"),
        Document("d", "well"),
    ]
    p_safe = {"Velmo rash Anna": [0, 1, 0], "Anna well": [1, 1], "Anna ill": [0, 1]}
    calibration = calibration_set(docs, ["p", "p", "q", "r"])
    assert (len(calibration.docs), calibration.n_counted) == (3, 2)
    kept = count_kept_phi(calibration, stages(p_safe), [Thresholds(0.9, 0.9)])
    assert kept.n_phi.tolist() == [3, 1]
    assert kept.leaking().tolist() == [[1], [0]]
    assert kept.share_kept().tolist() == [[1 / 3], [0]]


def test_a_set_without_phi_counts_nobody():
    assert calibration_set([Document("a", "well"), Document("b", "...", ())]).n_counted == 0
    # A mark without a letter or digit is no token.
    assert calibration_set([Document("a", "...", (PhiSpan(0, 3, PhiType.IDNUM),))]).n_counted == 0


@pytest.mark.parametrize(
    ("docs", "patients", "complaint"),
    [
        ([("a", "x"), ("a", "y")], None, r"duplicate ids in the gold: document a\. Give"),
        ([("a", "x"), ("b", "x")], None, r"same text is in documents a, b\. Leave"),
        ([("a", "x"), ("b", "x")], ["p", "q"], r"same text is in documents a, b\. Leave"),
        ([(f"d{i}\n", "x") for i in range(12)], None, r"d0\?, d1\?, .*, d9\? and 2 more\. Leave"),
    ],
)
def test_calibration_sets_that_count_twice_are_refused(docs, patients, complaint):
    with refuses(AnnotationError, match=complaint):
        calibration_set([marked(doc_id, f"{CANARY} {text}", CANARY) for doc_id, text in docs], patients)


def test_copies_of_one_patient_and_copies_without_phi_do_no_harm():
    copies = [marked("a", "Velmo", "Velmo"), marked("b", "Velmo", "Velmo")]
    assert calibration_set(copies, ["p", "p"]).n_counted == 1
    empty = [Document("a", "well"), Document("b", "well")]
    assert isinstance(calibration_set(empty), CalibrationSet)


# What the model has seen ------------------------------------------------------------------------


def test_a_file_that_the_model_was_trained_on_is_refused(tmp_path):
    gold = tmp_path / "gold.jsonl"
    gold.write_text("{}")
    refuse_training_documents(gold, {"data_sha256": {"own/other": "0" * 64}})
    refuse_training_documents(gold, {})
    with pytest.raises(ModelError, match=r"gold\.jsonl: the model was trained on it \(as own/gold\)"):
        refuse_training_documents(gold, {"data_sha256": {"own/gold": corpus_sha256(gold)}})


def test_calibration_needs_nothing_of_the_extra_train():
    code = (
        "import sys, inverse_deid.cli.calibrate; "
        "print([name for name in ('tensorflow', 'keras', 'onnx', 'nltk', 'faker') if name in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120
    )
    assert done.stdout.strip() == "[]"
