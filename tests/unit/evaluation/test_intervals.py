import dataclasses

import pytest
from fake_maskers import CANARY

from inverse_deid.core.errors import InputError
from inverse_deid.core.phi import PhiType
from inverse_deid.core.values import Document, PhiSpan
from inverse_deid.evaluation.evaluation import evaluate_masks, intervals_of, read_patients
from inverse_deid.evaluation.measures.counts import GroupKind, group_number
from inverse_deid.evaluation.measures.figures import FIGURES
from inverse_deid.evaluation.measures.resampling import bootstrap_all
from inverse_deid.evaluation.measures.uncertainty import Method, clopper_pearson


def bootstrap(counts, figure, clusters=None, **options):
    """Return the interval of a single figure."""
    found = bootstrap_all(counts, lambda rows: {"": figure(rows)}, clusters, **options)
    return found[""]


@pytest.fixture
def evaluation():
    """12 documents with a name and a date, of which each third name is missed, and one without PHI."""
    text = "Li came on 3"
    spans = (PhiSpan(0, 2, PhiType.PATIENT), PhiSpan(11, 12, PhiType.DATE))
    docs = [Document(f"d{i}", text, spans) for i in range(12)]
    masks = {doc.id: [(11, 12), (0, 2)][: 1 + (i % 3 > 0)] for i, doc in enumerate(docs)}
    return evaluate_masks([*docs, Document("well", "Well.")], {**masks, "well": []})


def test_tokens_are_drawn_and_documents_have_clopper_pearson(evaluation):
    found = intervals_of(evaluation)
    assert list(found.figures) == list(FIGURES)
    assert found.figures["recall_all"] == bootstrap(evaluation.counts, FIGURES["recall_all"])
    assert found.figures["recall_all"].method is Method.BOOTSTRAP
    assert found.figures["documents_without_leak"] == clopper_pearson(8, 12)
    assert (found.unit, found.n_units, found.n_units_with_phi) == ("document", 13, 12)
    assert (found.confidence, found.n_resamples, found.seed) == (0.95, 2000, 1)


def test_groups_have_intervals_too(evaluation):
    found = intervals_of(evaluation)
    name = group_number(GroupKind.HYPER, "NAME")
    assert found.group(name, "recall") == bootstrap(
        evaluation.counts, lambda counts: evaluation_recall(counts, name)
    )
    assert found.group(name, "documents_without_leak") == clopper_pearson(8, 12)
    assert found.group(group_number(GroupKind.FINE, "DATE"), "recall").method is Method.ALIKE
    assert found.group(group_number(GroupKind.FINE, "PHONE"), "recall") is None


def evaluation_recall(counts, column):
    from inverse_deid.evaluation.measures.figures import group_figures

    return group_figures(counts, column).recall


def test_with_patients_documents_are_drawn_too_and_intervals_are_wider(evaluation):
    patients = [*(f"p{min(i % 3, 1)}{i // 6}" for i in range(12)), "healthy"]
    alone, together = intervals_of(evaluation), intervals_of(evaluation, patients)
    assert (together.unit, together.n_units, together.n_units_with_phi) == ("patient", 5, 4)
    name = "documents_without_leak"
    assert together.figures[name].method is Method.BOOTSTRAP
    assert width(together.figures[name]) > width(alone.figures[name])


def width(interval):
    return interval.high - interval.low


def test_settings_are_passed_on(evaluation):
    found = intervals_of(evaluation, n_resamples=100, confidence=0.5, seed=3)
    expected = bootstrap(evaluation.counts, FIGURES["recall_all"], n_resamples=100, confidence=0.5, seed=3)
    assert found.figures["recall_all"] == expected
    assert width(found.figures["recall_all"]) < width(intervals_of(evaluation).figures["recall_all"])
    assert dataclasses.asdict(found)["confidence"] == 0.5


def test_patients_are_read_in_the_order_of_the_documents(tmp_path):
    path = tmp_path / "patients.csv"
    path.write_bytes(b'\xef\xbb\xbfsite,id,patient\r\nx,b,2\r\nx,a,"1, old"\r\nx,unused,3\r\n')
    assert read_patients(path, ["a", "b"]) == ["1, old", "2"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "the columns id and patient"),
        ("id;patient\na;1\n", "the columns id and patient"),
        (f"id,{CANARY}\na,1\n", "the columns id and patient"),
        (f'id,patient\na,"{CANARY}', "the columns id and patient"),
        (f"id,patient\na,{CANARY}\nb\n", "row 3 lacks"),
        (f"id,patient\na,{CANARY}\n,2\n", "row 3 lacks"),
        (f"id,patient\na,{CANARY}\na,{CANARY}\n", "repeated: document a."),
        (f"id,patient\na,{CANARY}\n", "without a patient: document b."),
    ],
)
def test_a_list_of_patients_that_is_not_whole_is_refused_by_name(tmp_path, text, message):
    path = tmp_path / "patients.csv"
    path.write_text(text)
    with pytest.raises(InputError, match=message) as caught:
        read_patients(path, ["a", "b"])
    assert str(caught.value).startswith(f"{path}: ")
    assert CANARY not in str(caught.value)


def test_patients_that_are_no_text_or_missing_are_refused(tmp_path):
    path = tmp_path / "patients.csv"
    with pytest.raises(InputError, match="does not exist"):
        read_patients(path, ["a"])
    path.write_bytes(b"id,patient\na,\xff\n")
    with pytest.raises(InputError, match="UTF-8"):
        read_patients(path, ["a"])
