"""Grades of leaks: counted, and agreement worked by hand."""

import csv
import json

import numpy as np
import pytest
from fake_maskers import CANARY
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import astuple
from refusals import refuses
from sklearn.metrics import cohen_kappa_score

from inverse_deid.core.errors import AnnotationError
from inverse_deid.core.phi import PhiType
from inverse_deid.evaluation.grades import (
    Grade,
    Kappa,
    grade_lines,
    group_grades,
    measure_agreement,
    read_grades,
    report_grades,
)
from inverse_deid.evaluation.leaks import Leak, write_leak_list
from inverse_deid.evaluation.measures.figures import Share, encode_record
from inverse_deid.evaluation.plain_text import align


def graded(path, rows):
    """A list with (document, type, grade) a leak, as a reviewer saved it."""
    leaks = [Leak(doc, i, i + 1, PhiType(name), CANARY, CANARY) for i, (doc, name, _) in enumerate(rows)]
    lines = b"".join(write_leak_list(leaks)).decode("utf-8-sig").splitlines()
    header, *table = csv.reader(lines)
    for row, (_, _, grade) in zip(table, rows, strict=True):
        row[header.index("grade")] = grade
    with path.open("w", newline="", encoding="utf-8-sig") as stream:
        csv.writer(stream).writerows([header, *table])
    return path


def measure_kappas(table):
    """Return the plain and the linear kappa of a table of (first, second) judgements."""
    table = np.asarray(table, int)
    judgements = np.repeat(np.indices(table.shape).reshape(2, -1), table.ravel(), axis=1)
    documents = np.zeros(judgements.shape[1], int)
    found = measure_agreement(judgements, documents, n_steps=len(table), seed=0)
    return found.kappa.value, found.linear_kappa.value


@pytest.fixture
def reviewed(tmp_path):
    """The groups by name, from pairs of grades for (document, type)."""

    def groups(*leaks, **options):
        a = graded(tmp_path / "a.csv", [(doc, name, first) for doc, name, first, _ in leaks])
        b = graded(tmp_path / "b.csv", [(doc, name, second) for doc, name, _, second in leaks])
        return group_grades(read_grades(a, **options), read_grades(b, **options), seed=1)

    return groups


@pytest.mark.parametrize(
    ("table", "kappa", "linear"),
    [
        # Observed 35 of 50, by chance 25 * 30 + 25 * 20 = 1250 of 2500: (0.7 - 0.5) / (1 - 0.5).
        ([[20, 5, 0], [10, 15, 0], [0, 0, 0]], 0.4, 0.4),
        # Rows 4, 3, 3, columns 3, 3, 4 of 10. Equal 7, by chance (4*3 + 3*3 + 3*4) / 10 = 3.3.
        # Steps apart: found 1 + 1 + 2*1 = 4, by chance (12 + 9 + 12 + 9 + 2*(16 + 9)) / 10 = 9.2.
        ([[2, 1, 1], [1, 2, 0], [0, 0, 3]], 3.7 / 6.7, 1 - 4 / 9.2),
        ([[3, 0, 0], [0, 2, 0], [0, 0, 1]], 1.0, 1.0),
        ([[0, 5, 0], [5, 0, 0], [0, 0, 0]], -1.0, -1.0),
        ([[1, 1, 0], [1, 1, 0], [0, 0, 0]], 0.0, 0.0),
    ],
)
def test_kappa_by_hand(table, kappa, linear):
    assert measure_kappas(table) == pytest.approx((kappa, linear))


@pytest.mark.parametrize("table", [np.zeros((3, 3)), [[9, 0, 0], [0, 0, 0], [0, 0, 0]]])
def test_kappa_without_room_for_disagreement_is_undefined(table):
    assert measure_kappas(table) == (None, None)


@settings(deadline=None)
@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2)), min_size=2, max_size=30))
def test_kappa_is_that_of_scikit_learn(pairs):
    table = np.zeros((3, 3), int)
    np.add.at(table, tuple(np.array(pairs).T), 1)
    first, second = zip(*pairs, strict=True)
    for weights, found in zip((None, "linear"), measure_kappas(table), strict=True):
        if found is None:
            assert len({*first, *second}) == 1
        else:
            wanted = cohen_kappa_score(first, second, labels=[0, 1, 2], weights=weights)
            assert found == pytest.approx(wanted)


def test_leaks_are_counted_by_type_and_grade(reviewed):
    groups = reviewed(
        ("a", "PATIENT", "direct", "direct"),
        ("a", "DATE", "indirect", "direct"),
        ("b", "DATE", "none", "none"),
        ("b", "DATE", "indirect", "indirect"),
        ("c", "AGE", "none", "indirect"),
    )
    assert list(groups) == ["ALL", "PATIENT", "AGE", "DATE"]
    everything, dates = groups["ALL"], groups["DATE"]
    assert (everything.leaks, everything.documents) == (5, 3)
    assert list(map(astuple, everything.by_reviewer)) == [(1, 2, 2, 0), (2, 2, 1, 0)]
    assert (everything.direct_to_any, everything.direct_to_all) == (2, 1)
    assert everything.agreement.observed == Share(3, 5)
    assert everything.agreement.table == ((1, 0, 0), (1, 1, 0), (0, 1, 1))
    # By chance (1 * 2 + 2 * 2 + 2 * 1) / 5 = 1.6 equal: (3 - 1.6) / (5 - 1.6).
    assert everything.agreement.kappa.value == pytest.approx(1.4 / 3.4)
    assert (dates.leaks, dates.documents) == (3, 2)
    assert dates.agreement.table == ((0, 0, 0), (1, 1, 0), (0, 0, 1))
    assert (dates.direct_to_any, dates.direct_to_all) == (1, 0)
    assert groups["PATIENT"].agreement.kappa == Kappa(None)


def test_the_order_of_grades_is_that_of_severity():
    assert [grade.name for grade in Grade] == ["DIRECT", "INDIRECT", "NONE"]


@pytest.mark.parametrize(
    ("written", "read"), [("D", 0), ("Direct", 0), (" i ", 1), ("INDIRECT", 1), ("n", 2), ("None", 2)]
)
def test_grades_may_be_short_and_in_any_case(tmp_path, written, read):
    assert read_grades(graded(tmp_path / "a.csv", [("a", "DATE", written)])).grades.tolist() == [read]


def test_documents_are_drawn_again_not_leaks(reviewed):
    """In one document both always agree, in the other never.

    Drawn are both (kappa 0), the first twice (1) or the second twice (-1), a quarter of
    the times each: the interval is that from -1 to 1. Single leaks drawn again, of 40,
    would give about -0.3 to 0.3.
    """
    agreed = [("a", "DATE", grade, grade) for grade in ("d", "i") * 10]
    apart = [("b", "DATE", *pair) for pair in ("di", "id") * 10]
    agreement = reviewed(*agreed, *apart)["ALL"].agreement
    assert agreement.kappa == Kappa(0.0, -1.0, 1.0)
    assert agreement.linear_kappa == Kappa(0.0, -1.0, 1.0)


def test_a_single_document_or_full_agreement_has_no_interval(reviewed):
    leaks = [("a", "DATE", "d", "d"), ("a", "DATE", "i", "n"), ("a", "DATE", "n", "n")]
    kappa = reviewed(*leaks)["ALL"].agreement.kappa
    assert kappa.value is not None
    assert (kappa.low, kappa.high) == (None, None)
    same = [(doc, "DATE", grade, grade) for doc in "abc" for grade in "din"]
    assert reviewed(*same)["ALL"].agreement.kappa == Kappa(1.0)


def test_there_is_no_interval_if_many_draws_leave_kappa_undefined(reviewed):
    """A draw of one of three documents alone, 1 in 9 or more, knows a single grade."""
    leaks = [("a", "DATE", "d", "d"), ("b", "DATE", "i", "i"), ("c", "DATE", "i", "d")]
    kappa = reviewed(*leaks)["ALL"].agreement.kappa
    assert kappa.value is not None
    assert kappa.low is None


def test_the_same_seed_gives_the_same_intervals(tmp_path):
    rows = [(str(i % 7), "DATE", "din"[i % 3]) for i in range(40)]
    other = [(doc, name, "dinnidd"[i % 7 - i % 3]) for i, (doc, name, _) in enumerate(rows)]
    a, b = read_grades(graded(tmp_path / "a.csv", rows)), read_grades(graded(tmp_path / "b.csv", other))
    assert group_grades(a, b, seed=3) == group_grades(a, b, seed=3)
    assert group_grades(a, b, seed=3) != group_grades(a, b, seed=4)


def test_a_single_reviewer_has_counts_and_no_agreement(tmp_path):
    a = read_grades(graded(tmp_path / "a.csv", [("a", "DATE", "d"), ("b", "DATE", "n")]))
    groups = group_grades(a, seed=0)
    everything, dates = groups.values()
    assert list(map(astuple, everything.by_reviewer)) == [(1, 0, 1, 0)]
    assert (everything.direct_to_any, everything.direct_to_all) == (1, 1)
    assert everything.agreement is dates.agreement is None
    text = "\n".join(grade_lines(groups))
    assert "kappa" not in text
    assert "B direct" not in text


def test_leaks_without_a_grade_are_refused_or_left_out(tmp_path, reviewed):
    leaks = (("a", "DATE", "d", "d"), ("a", "DATE", "i", ""), ("b", "DATE", "", "d"), ("b", "DATE", "n", "d"))
    with refuses(
        AnnotationError, match=r"row 4: not graded\. Grade them, or leave them out with --allow-ungraded\."
    ):
        reviewed(*leaks)
    everything = reviewed(*leaks, allow_ungraded=True)["ALL"]
    assert list(map(astuple, everything.by_reviewer)) == [(1, 1, 1, 1), (3, 0, 0, 1)]
    assert (everything.direct_to_any, everything.direct_to_all) == (3, 1)
    assert everything.agreement.table == ((1, 0, 0), (0, 0, 0), (1, 0, 0))
    assert everything.agreement.observed == Share(1, 2)


def test_unknown_grades_are_named_by_row_and_never_shown(tmp_path):
    rows = [("a", "DATE", "d"), ("a", "DATE", CANARY), ("a", "DATE", "2")]
    with pytest.raises(AnnotationError, match=r"rows 3, 4: unknown grade\.") as caught:
        read_grades(graded(tmp_path / "a.csv", rows), allow_ungraded=True)
    assert CANARY not in str(caught.value)
    assert "a.csv" in str(caught.value)


def test_copies_of_different_lists_are_refused(tmp_path):
    lists = {
        "a": [("a", "DATE", "d"), ("a", "DATE", "i")],
        "longer": [("a", "DATE", "d"), ("a", "DATE", "i"), ("a", "DATE", "i")],
        "other": [("a", "DATE", "d"), ("b", "DATE", "i")],
        "type": [("a", "AGE", "d"), ("a", "DATE", "i")],
    }
    read = {name: read_grades(graded(tmp_path / f"{name}.csv", rows)) for name, rows in lists.items()}
    for name, message in (
        ("longer", "has 3 leaks, the first 2"),
        ("other", "row 3: other"),
        ("type", "row 2: other"),
    ):
        with pytest.raises(AnnotationError, match=message) as caught:
            group_grades(read["a"], read[name], seed=0)
        assert CANARY not in str(caught.value)


def test_a_list_of_no_leak_has_nothing_to_agree_on(tmp_path):
    (tmp_path / "a.csv").write_bytes(b"".join(write_leak_list([])))
    empty = read_grades(tmp_path / "a.csv")
    groups = group_grades(empty, empty, seed=0)
    (everything,) = groups.values()
    assert (everything.leaks, everything.documents) == (0, 0)
    assert everything.agreement.observed == Share(0, 0)
    assert everything.agreement.kappa == Kappa(None)
    assert any("-" in line for line in grade_lines(groups))


def test_text_and_json_tell_the_same_and_no_text_of_a_leak(reviewed):
    groups = reviewed(("a", "PATIENT", "d", "d"), ("a", "DATE", "i", "n"), ("b", "DATE", "n", "n"))
    lines = list(grade_lines(groups))
    assert lines[0] == "leaks: 3, documents with a leak: 2"
    counts = next(line for line in lines if line.startswith("ALL"))
    assert counts.split() == ["ALL", "3", "1", "1", "1", "0", "1", "0", "2", "0", "1", "1"]
    table = [line for line in lines if line.startswith("ALL")][2]
    assert table.split() == ["ALL", "1", "0", "0", "0", "0", "1", "0", "0", "1"]
    report = json.loads(json.dumps(encode_record(report_grades(groups, seed=5, provenance={}))))
    assert (report["seed"], report["reviewers"], list(report["groups"])) == (5, 2, ["ALL", "PATIENT", "DATE"])
    everything = report["groups"]["ALL"]
    assert everything["by_reviewer"][1] == {"direct": 1, "indirect": 0, "none": 2, "ungraded": 0}
    assert everything["agreement"]["observed"] == {"share": 2 / 3, "part": 2, "whole": 3}
    assert everything["agreement"]["table"] == [[1, 0, 0], [0, 0, 1], [0, 0, 1]]
    assert report["groups"]["PATIENT"]["agreement"]["kappa"] == {"value": None, "low": None, "high": None}
    assert CANARY not in json.dumps(report) + "\n".join(lines) + repr(groups)


def test_columns_are_aligned():
    assert list(align([("a", "12"), ("bcd", "3")])) == ["a    12", "bcd   3"]
