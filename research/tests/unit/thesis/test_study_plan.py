"""What the study trains on, tunes on, chooses by and reports, with invented documents and no training.

The trainings are replaced by functions that note what they were given and leave invented scores.
"""

import json
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from inverse_deid.core.phi import PhiType
from inverse_deid.training.config import read_run_config
from inverse_deid.training.corpus import split_by_group
from inverse_deid_research.studies.records import write_arrays
from inverse_deid_research.studies.scoring import TokenScores, write_scores
from inverse_deid_research.studies.study import StudyOptions
from inverse_deid_research.thesis import study
from inverse_deid_research.thesis.published import PERSON_TYPES
from inverse_deid_research.thesis.runs import weights_path
from inverse_deid_research.thesis.study import (
    NAME_EPOCHS,
    TUNED_EPOCHS,
    VALIDATION_SHARE,
    ThesisSettings,
    run_thesis,
)

CONFIGS = Path(__file__).parents[3] / "configs"
SEEDS = (3, 4)
N_EPOCHS, N_FINE_TUNING = 4, 3
CHOSEN = 3
"""The epoch that the invented scores make the best on validation with the lower pair of thresholds."""
DATE = "2 May 2071"


def document(name, number, kind="DATE", shared=None):
    """Write a document whose words occur in no other one, but for those of another (`shared`)."""
    words = " ".join(f"q{name}{number}z{one}" for one in range(12))
    text = f"{words} {DATE} {shared or ''}".strip()
    start = text.index(DATE)
    span = {"start": start, "end": start + len(DATE), "type": kind}
    return {"id": f"{name}-{number}", "text": text, "spans": [span]}


def words_of(row):
    return row["text"].partition(f" {DATE}")[0]


@pytest.fixture(scope="module")
def corpora():
    first_test = [document("ft", n) for n in range(3)]
    second_test = [document("st", n, "When") for n in range(3)]
    first = [document("f", n) for n in range(80)]
    first += [document("f", 90, shared=words_of(first_test[0]))]
    first += [document("f", 91, shared=words_of(second_test[0]))]
    second = [document("s", n, "When") for n in range(8)]
    second += [document("s", 90, "When", words_of(first_test[1]))]
    second += [document("s", 91, "When", words_of(second_test[1]))]
    return {"first": first, "first-test": first_test, "second": second, "second-test": second_test}


# The probability of *safe* after each epoch: of PHI tokens, and of others. Every word has a digit, so the
# higher threshold of a pair decides: 0.9 or 0.95.
VALIDATION = [(0.92, 0.99), (0.92, 0.99), (0.5, 0.93), (0.99, 0.99)]
"""At 0.9 the third one is the best, at 0.95 the first."""
ELSEWHERE = [(0.99, 0.99), (0.99, 0.99), (0.99, 0.99), (0.1, 0.99)]
"""The fourth one is the best."""


def scores_of(corpus, epoch):
    p_phi, p_safe = (VALIDATION if corpus.name == "validation" else ELSEWHERE)[epoch]
    p = np.where(corpus.is_phi, p_phi, p_safe).astype(np.float32)
    nothing = np.zeros(len(p), np.uint8)
    return TokenScores(p, nothing, nothing)


@pytest.fixture(scope="module")
def done(corpora, tmp_path_factory):
    folder = tmp_path_factory.mktemp("study")
    for name, rows in corpora.items():
        text = "".join(json.dumps(row) + "\n" for row in rows)
        (folder / f"{name}.jsonl").write_text(text, encoding="utf-8")
    (folder / "types.toml").write_text('[types]\nWhen = "DATE"\n', encoding="utf-8")
    noted = SimpleNamespace(runs={}, rivals={}, findings=None, corpora=corpora, folder=folder / "out")

    def train(run, place, _key, _say):
        noted.runs[run.name] = run
        for epoch in range(run.training.epochs):
            found = {corpus.name: scores_of(corpus, epoch) for corpus in run.corpora}
            write_scores(place / f"epoch-{epoch + 1}.npz", found)
        return {"losses": [None] * run.training.epochs, "seconds": 1.0, "files": []}

    def train_rival(run, place):
        noted.rivals[run.name] = run
        found = {corpus.name: np.full(len(corpus.types), 0.25, np.float32) for corpus in run.corpora}
        write_arrays(place / "safe.npz", found)
        return {"files": []}

    def note(findings):
        noted.findings = findings
        return {}

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(study, "train_thesis_run", train)
        patch.setattr(study, "train_rival", train_rival)
        patch.setattr(study, "thesis_tables", note)
        patch.setattr(study, "N_NAME_DOCUMENTS", 5)
        patch.setattr("inverse_deid.training.backend.prepare_backend", lambda: "nothing trains")
        run_thesis(
            ThesisSettings(
                first=folder / "first.jsonl",
                first_test=folder / "first-test.jsonl",
                second=folder / "second.jsonl",
                second_test=folder / "second-test.jsonl",
                mapping=folder / "types.toml",
                config_folder=CONFIGS,
                n_epochs=N_EPOCHS,
                n_fine_tuning_epochs=N_FINE_TUNING,
            ),
            StudyOptions(folder=noted.folder, seeds=SEEDS, say=lambda line: None),
        )
    return noted


@pytest.fixture(scope="module")
def first_runs(done):
    return {name: run for name, run in done.runs.items() if len(name) == len("a-1")}


@pytest.fixture(scope="module")
def tuned_runs(done):
    return {name: run for name, run in done.runs.items() if name.endswith("-tuned")}


def ids(docs):
    return {doc.id for doc in docs}


def validation_of(done):
    return done.findings.validation.corpus.docs


def test_networks_learn_from_what_is_neither_validation_nor_close_to_a_test_document(done, first_runs):
    apart = {f"f-{n}" for n in range(80)}
    held_out = ids(validation_of(done))
    assert held_out < apart
    assert all(ids(run.gold) == apart - held_out for run in first_runs.values())


def test_fine_tuning_learns_from_the_second_corpus_without_what_is_close_to_a_test_document(tuned_runs):
    assert all(ids(run.gold) == {f"s-{n}" for n in range(8)} for run in tuned_runs.values())


def test_about_a_tenth_of_the_first_corpus_validates(done):
    assert VALIDATION_SHARE == 0.1
    docs = [*validation_of(done), *done.runs["a-1"].gold]
    expected = split_by_group(docs, 0.1, SEEDS[0])[1]
    assert ids(validation_of(done)) == ids(expected)
    assert 3 <= len(expected) <= 15


def test_no_training_sees_a_test_document_or_its_words(done):
    test = done.corpora["first-test"] + done.corpora["second-test"]
    words = {word for row in test for word in words_of(row).split()}
    for run in (*done.runs.values(), *done.rivals.values()):
        assert not words & {word for doc in run.gold for word in doc.text.split()}


def test_no_training_sees_a_document_of_validation(done):
    held_out = ids(validation_of(done))
    for run in (*done.runs.values(), *done.rivals.values()):
        assert not held_out & ids(run.gold)


def test_every_variant_is_trained_once_per_seed_with_its_own_network(first_runs):
    names = [f"{variant}-{number}" for variant in "abcd" for number in (1, 2)]
    assert sorted(first_runs) == names
    for name, run in first_runs.items():
        config = read_run_config(CONFIGS / f"thesis-{name[0]}.toml")
        assert run.network == config.network
        assert run.training.seed == SEEDS[int(name[2]) - 1]
        assert run.training.epochs == N_EPOCHS
        assert run.training.patience == 0  # the study chooses the epoch itself
        assert run.start is None


def test_accuracy_is_noted_on_validation(done):
    assert {run.corpora[0].name for run in done.runs.values()} == {"validation"}


def test_the_epoch_is_chosen_on_validation_at_the_lower_pair(done):
    assert {run.epoch for run in done.findings.runs} == {CHOSEN}


def test_each_chosen_network_is_fine_tuned_and_the_second_epoch_counts(done, tuned_runs):
    assert len(tuned_runs) == len(done.findings.runs) == 8
    for name, run in tuned_runs.items():
        place = done.folder / "runs" / name.removesuffix("-tuned")
        assert run.start == weights_path(place, CHOSEN)
        assert run.training.epochs == N_FINE_TUNING
        assert run.network == done.runs[name.removesuffix("-tuned")].network
        assert run.training.seed == done.runs[name.removesuffix("-tuned")].training.seed
    assert TUNED_EPOCHS == 2
    assert {run.epoch for run in done.findings.tuned} == {TUNED_EPOCHS}


def test_some_networks_learn_invented_names_first(done):
    for number, seed in enumerate(SEEDS, start=1):
        names = done.runs[f"names-d-{number}"]
        assert len(names.gold) == 5
        assert {span.type for doc in names.gold for span in doc.spans} <= set(PERSON_TYPES)
        assert (names.training.epochs, names.training.seed, names.start) == (NAME_EPOCHS, seed, None)
        after, usual = done.runs[f"after-names-d-{number}"], done.runs[f"d-{number}"]
        assert after.start == weights_path(done.folder / "runs" / names.name, NAME_EPOCHS)
        assert ids(after.gold) == ids(usual.gold)
        assert (after.network, after.training) == (usual.network, usual.training)
    assert [(run.name, run.epoch) for run in done.findings.named] == [
        (f"after-names-d-{number}", CHOSEN) for number in (1, 2)
    ]


def test_rivals_learn_from_the_second_corpus_and_the_independent_crf_from_the_first(done):
    assert sorted(done.rivals) == ["crf", "crf-first", "patterns", "svm"]
    assert ids(done.rivals["crf-first"].gold) == ids(done.runs["a-1"].gold)
    for name in ("crf", "patterns", "svm"):
        assert ids(done.rivals[name].gold) == {f"s-{n}" for n in range(8)}
        assert [corpus.name for corpus in done.rivals[name].corpora] == ["second test"]


def test_the_tables_get_the_corpora_under_their_names(done):
    found = done.findings
    assert ids(found.first.corpus.docs) == {f"ft-{n}" for n in range(3)}
    assert ids(found.second.corpus.docs) == {f"st-{n}" for n in range(3)}
    assert len(found.samples.corpus.docs) == 3
    assert [run.name for run in found.tuned] == [f"{run.name}-tuned" for run in found.runs]
    assert set(found.rivals) == {"crf", "patterns", "svm"}


def test_types_of_the_second_corpus_are_mapped(done):
    docs = (*done.findings.second.corpus.docs, *done.runs["a-1-tuned"].gold)
    assert {span.type for doc in docs for span in doc.spans} == {PhiType.DATE}


def test_the_report_counts_what_was_left_out(done):
    report = (done.folder / "report.md").read_text(encoding="utf-8")
    n_held_out = len(validation_of(done))
    assert f"training {80 - n_held_out}, validation {n_held_out}, test 3" in report
    assert "left out as too close to test documents 2" in report
    assert "training 8, test 3, left out 2" in report
