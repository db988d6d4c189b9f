"""The risk of re-identification, every number worked by hand."""

import dataclasses
import json
import tomllib
from pathlib import Path

import numpy as np
import pytest
from annotated_documents import masked_corpora, masks_of
from fake_maskers import CANARY
from hypothesis import given
from hypothesis import strategies as st

import inverse_deid.evaluation.risk
from inverse_deid.core.errors import ConfigurationError
from inverse_deid.core.phi import PhiType
from inverse_deid.core.settings import change_settings
from inverse_deid.core.values import Document, PhiSpan
from inverse_deid.evaluation.evaluation import evaluate_masks
from inverse_deid.evaluation.measures.counts import Counts
from inverse_deid.evaluation.measures.figures import Share, encode_record
from inverse_deid.evaluation.risk import (
    Verdict,
    estimate_risk,
    read_assumptions,
    report_risk,
)

PACKAGED = Path(inverse_deid.evaluation.risk.__file__).with_name("risk.toml")


def case(doc_id, text, *pieces):
    """A document with (piece, type, masked part) marked, and its masks."""
    spans, masks = [], []
    for piece, name, masked in pieces:
        start = text.index(piece)
        spans.append(PhiSpan(start, start + len(piece), PhiType(name)))
        if masked:
            first = start + piece.index(masked)
            masks.append((first, first + len(masked)))
    return Document(doc_id, text, tuple(sorted(spans))), masks


# A direct identifier leaks.
ANN = case(
    "ann",
    "Ann Li of Velmo, 40, seen 3 May",
    ("Ann Li", "PATIENT", "Ann"),
    ("Velmo", "CITY", "Velmo"),
    ("40", "AGE", "40"),
    ("3 May", "DATE", "3 May"),
)
# Two quasi-identifiers leak, three tokens of them.
SIXTY = case(
    "sixty",
    "From Velmo, 61, seen 5 June",
    ("Velmo", "CITY", "Velmo"),
    ("61", "AGE", ""),
    ("5 June", "DATE", ""),
)
# One quasi-identifier leaks: not enough.
BO = case("bo", "Bo Ek, 62 years", ("Bo Ek", "PATIENT", "Bo Ek"), ("62", "AGE", ""))
WELL = case("well", "No complaint.")
CASES = (ANN, SIXTY, BO, WELL)


def counted(*cases):
    return evaluate_masks([doc for doc, _ in cases], {doc.id: masks for doc, masks in cases})


def assumed(**values):
    return change_settings(read_assumptions(), **values)


def risk_of(*cases, **values):
    return estimate_risk(counted(*cases).counts, assumed(**values))


ONE_OF_FOUR = 0.8058796
"""Upper end of the exact 95 % interval of 1 of 4: x with P(at most 1 of 4) = (1-x)^4 + 4x(1-x)^3 = 0.025."""


def test_the_bound_of_one_in_four():
    x = ONE_OF_FOUR
    assert (1 - x) ** 4 + 4 * x * (1 - x) ** 3 == pytest.approx(0.025, rel=1e-5)


def test_the_risk_under_the_packaged_assumptions():
    """A caught direct identifier leads to the patient, two quasi-identifiers to one of five."""
    risk = risk_of(*CASES)
    assert risk.by_document.tolist() == pytest.approx([1, 0.2, 0, 0])
    assert risk.direct.documents == risk.quasi.documents == Share(1, 4)
    assert risk.overall.documents == Share(2, 4)
    assert risk.direct.point == pytest.approx(1 / 4)
    assert risk.quasi.point == pytest.approx(0.2 / 4)
    assert risk.overall.point == pytest.approx(1.2 / 4)
    assert risk.direct.upper == pytest.approx(ONE_OF_FOUR)
    assert risk.quasi.upper == pytest.approx(0.2 * ONE_OF_FOUR)
    assert risk.overall.upper == pytest.approx(1.2 * ONE_OF_FOUR)


def test_the_risk_if_identifiers_leaked_independently():
    """Leak rates: PATIENT 1 of 2, CITY 0 of 2, AGE 2 of 3, DATE 1 of 2.

    ann: direct 1/2; age and date both 1/3, one of five 1/15; either 1 - 1/2 * 14/15 = 8/15.
    sixty: 1/15. bo: direct 1/2, its age alone is not enough. well: 0.
    """
    assert risk_of(*CASES).independent == pytest.approx((8 / 15 + 1 / 15 + 1 / 2 + 0) / 4)


def test_every_assumption_weighs_in():
    """An attack with 0.4, caught with 0.5, a name leads on with 0.8, quasi-identifiers to one of two.

    ann: 0.4 * 0.5 * 0.8 = 0.16. sixty: both caught 0.25, one of two: 0.4 * 0.25 / 2 = 0.05.
    Bound: the fullest document has one direct identifier, caught with 0.5, and three
    quasi-identifiers, two or more caught with 3/8 + 1/8 = 0.5.
    """
    risk = risk_of(*CASES, deliberate=0.4, breach=0.1, caught=0.5, direct_identifies=0.8, persons_alike=2)
    assert risk.by_document.tolist() == pytest.approx([0.16, 0.05, 0, 0])
    assert risk.overall.point == pytest.approx(0.21 / 4)
    assert risk.direct.upper == pytest.approx(0.4 * 0.5 * 0.8 * ONE_OF_FOUR)
    assert risk.quasi.upper == pytest.approx(0.4 * 0.5 / 2 * ONE_OF_FOUR)
    assert risk.overall.upper == pytest.approx((0.16 + 0.1) * ONE_OF_FOUR)
    # Rates as above, halved by catching: ann direct 1/4, quasi 1/3 * 1/4 = 1/12.
    ann, sixty, bo = 1 - (1 - 0.8 / 4) * (1 - 1 / 24), 1 / 24, 0.8 / 4
    assert risk.independent == pytest.approx(0.4 * (ann + sixty + bo) / 4)


def test_both_ways_in_one_document_are_joined_and_not_added():
    """A name caught with 0.5 and two quasi-identifiers, one of five: 1 - 0.5 * (1 - 0.25 * 0.2) = 0.525."""
    both = case(
        "both", "Bo, 61, seen 5 June", ("Bo", "PATIENT", ""), ("61", "AGE", ""), ("5 June", "DATE", "")
    )
    assert risk_of(both, caught=0.5).by_document.tolist() == pytest.approx([0.525])
    assert risk_of(both, caught=0.5).overall.documents == Share(1, 1)


def test_more_leaked_identifiers_are_caught_more_easily():
    """One of two names caught: 1 - 0.9^2; two or more of three ages: 3 * 0.1^2 * 0.9 + 0.1^3."""
    names = case("n", "Bo and Al", ("Bo", "PATIENT", ""), ("Al", "RELATIVE", ""))
    ages = case("a", "61, 62, 63", ("61", "AGE", ""), ("62", "AGE", ""), ("63", "AGE", ""))
    risk = risk_of(names, ages, caught=0.1, persons_alike=1)
    assert risk.by_document.tolist() == pytest.approx([0.19, 0.028])


@pytest.mark.parametrize(("needed", "at_risk"), [(1, 2), (2, 1), (3, 0), (100, 0)])
def test_so_many_quasi_identifiers_are_needed(needed, at_risk):
    assert risk_of(*CASES, quasi_needed=needed).quasi.documents == Share(at_risk, 4)


def test_the_same_words_are_one_identifier():
    twice = case("t", "Aged 61 (61), Velmo", ("61", "AGE", ""))
    doc = dataclasses.replace(twice[0], spans=(PhiSpan(5, 7, PhiType.AGE), PhiSpan(9, 11, PhiType.AGE)))
    assert risk_of((doc, [])).quasi.documents == Share(0, 1)


def test_the_most_probable_attack_counts():
    quiet = {"deliberate": 0.1, "breach": 0.12}
    # One of 150 acquaintances with 0.001 each: 1 - 0.999^150.
    assert read_assumptions().inadvertent == pytest.approx(0.139357, rel=1e-4)
    assert assumed(**quiet).attack == pytest.approx(0.139357, rel=1e-4)
    assert assumed(**quiet, acquaintances=0).attack == 0.12
    assert assumed(deliberate=0.3, breach=0.12).attack == 0.3
    assert risk_of(*CASES, **quiet, prevalence=0).overall.point == pytest.approx(0.12 * 0.3)


def test_a_type_may_be_moved_to_another_list():
    packaged = read_assumptions()
    direct = tuple(fine for fine in packaged.direct if fine != PhiType.PATIENT)
    moved = {"direct": direct, "quasi": (*packaged.quasi, PhiType.PATIENT)}
    assert risk_of(*CASES, **moved).overall.documents == Share(1, 4)
    quasi = tuple(fine for fine in packaged.quasi if fine != PhiType.AGE)
    gone = {"quasi": quasi, "neither": (PhiType.AGE,)}
    risk = risk_of(*CASES, **gone)
    assert risk.quasi.documents == Share(0, 4)
    assert PhiType.AGE not in {leaks.type for leaks in risk.types}


def masked_copies(n):
    doc, _ = ANN
    everything = [(span.start, span.end) for span in doc.spans]
    return [(dataclasses.replace(doc, id=f"d{i}"), everything) for i in range(n)]


@pytest.mark.parametrize(
    ("n_documents", "verdict"),
    [(40, Verdict.UNDECIDED), (60, Verdict.BELOW)],
)
def test_no_leak_seen_is_no_risk_of_0(n_documents, verdict):
    """None of n: upper end 1 - 0.025^(1/n), 0.0881 of 40 and 0.0596 of 60; both ways 1.2 times that."""
    risk = risk_of(*masked_copies(n_documents))
    assert risk.overall.point == 0
    assert risk.direct.upper == pytest.approx(1 - 0.025 ** (1 / n_documents))
    assert risk.overall.upper == pytest.approx(1.2 * (1 - 0.025 ** (1 / n_documents)))
    assert risk.verdict is verdict


def test_above_is_what_the_estimate_says():
    assert risk_of(*CASES).verdict is Verdict.ABOVE
    assert risk_of(*CASES, threshold=0.31).verdict is Verdict.UNDECIDED
    assert risk_of(*CASES, threshold=1.0).verdict is Verdict.BELOW
    assert risk_of(*masked_copies(3), threshold=0.0).verdict is Verdict.ABOVE


def test_without_documents_nothing_is_defined():
    risk = risk_of()
    assert (risk.overall.point, risk.overall.upper, risk.independent) == (None, None, None)
    assert risk.verdict is Verdict.UNDEFINED
    assert risk.types == ()


def test_leaks_are_told_by_type():
    types = {leaks.type.value: leaks for leaks in risk_of(*CASES).types}
    assert list(types) == ["PATIENT", "CITY", "AGE", "DATE"]
    assert types["PATIENT"].is_direct
    assert not types["AGE"].is_direct
    assert types["AGE"].documents == types["AGE"].identifiers == Share(2, 3)
    assert types["CITY"].documents == Share(0, 2)
    # None of 2: 1 - 0.025^(1/2).
    assert types["CITY"].upper == pytest.approx(1 - 0.025**0.5)


def test_json_is_exact_and_shows_no_text():
    evaluation = counted(*CASES, case("c", f"{CANARY} left", (CANARY, "PATIENT", "")))
    risk = estimate_risk(evaluation.counts, read_assumptions())
    report = json.loads(json.dumps(encode_record(report_risk(evaluation, risk, {})), allow_nan=False))
    assert report["overall"]["point"] == risk.overall.point
    assert report["direct"]["documents"] == {"share": 0.4, "part": 2, "whole": 5}
    assert report["by_document"] == {"ann": 1, "sixty": pytest.approx(0.2), "bo": 0, "well": 0, "c": 1}
    assert report["types"]["CITY"]["identifiers"] == {"share": 0.0, "part": 0, "whole": 2}
    assert report["assumptions"]["attack"] == 1
    assert "PATIENT" in report["assumptions"]["direct"]
    assert "not a proof" in report["note"]
    assert CANARY not in json.dumps(report) + repr(risk)


def test_the_bound_holds():
    """In at most 5 % of samples the risk of the documents that they are drawn from is above the bound."""
    rng = np.random.default_rng(7)
    counts = Counts.stack([counted(*CASES).counts.take([0, 1, 1, 2] + 36 * [3])])
    values = read_assumptions()
    truth = estimate_risk(counts, values).overall.point
    assert truth == pytest.approx(1.4 / 40)
    draws = [counts.take(rng.integers(40, size=50)) for _ in range(400)]
    n_missed = sum(estimate_risk(draw, values).overall.upper < truth for draw in draws)
    assert n_missed <= 0.05 * 400


@given(masked_corpora(), st.data())
def test_more_masks_never_raise_the_risk(corpus, data):
    docs, masks = corpus
    more = {doc.id: [*masks[doc.id], *data.draw(masks_of(doc.text))] for doc in docs}
    before, after = (
        estimate_risk(evaluate_masks(docs, each).counts, assumed(caught=0.7)) for each in (masks, more)
    )
    assert (after.by_document <= before.by_document + 1e-12).all()
    if docs:
        assert after.overall.upper <= before.overall.upper + 1e-12
        assert 0 <= after.overall.point <= after.overall.upper <= 1


@given(masked_corpora())
def test_documents_twice_change_no_estimate_and_raise_no_bound(corpus):
    docs, masks = corpus
    counts = evaluate_masks(docs, masks).counts
    once, twice = (
        estimate_risk(each, assumed(caught=0.7)) for each in (counts, Counts.stack([counts, counts]))
    )
    if docs:
        assert twice.overall.point == pytest.approx(once.overall.point)
        assert twice.independent == pytest.approx(once.independent)
        assert twice.overall.upper <= once.overall.upper + 1e-12
        assert once.overall.point >= max(once.direct.point, once.quasi.point) - 1e-12


def test_every_packaged_assumption_is_a_field_and_has_a_reason():
    values = tomllib.loads(PACKAGED.read_text())
    assert set(values) == set(read_assumptions().__struct_fields__)
    lines = PACKAGED.read_text().splitlines()
    starts = [i for i, line in enumerate(lines) if line.split(" =")[0] in values]
    assert len(starts) == len(values)
    commented = [i for i in starts if lines[i - 1].startswith("#")]
    assert [lines[i].split(" =")[0] for i in starts if i not in commented] == ["prevalence"]


def test_what_a_file_leaves_out_keeps_its_value(tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text("persons_alike = 20\ncaught = 0.5\n")
    mine = read_assumptions(path)
    assert mine == assumed(persons_alike=20, caught=0.5)
    assert mine.quasi_identifies == 0.05


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("luck = 1", "no setting 'luck'. It has: direct, quasi"),
        ("[attack]\ndeliberate = 1", "no setting 'attack'"),
        ("caught = 1.1", "caught: .*<= 1"),
        ("deliberate = -0.1\nthreshold = nan", "deliberate: .*>= 0"),
        ("threshold = nan", "threshold: "),
        ("prevalence = inf", "prevalence: .*<= 1"),
        ("caught = true", "caught: expected `int . float`, got `bool`"),
        ("caught = 'always'", "caught: expected `int . float`, got `str`"),
        ("quasi_needed = 1.5", "quasi_needed: expected `int`"),
        ("quasi_needed = 0", "quasi_needed: .*>= 1"),
        ("quasi_needed = 101", "quasi_needed: .*<= 100"),
        ("persons_alike = 0.5", "persons_alike: .*>= 1"),
        ("persons_alike = inf", "persons_alike is not finite"),
        ("persons_alike = nan", "persons_alike"),
        ("acquaintances = -1", "acquaintances: .*>= 0"),
        ("confidence = 1", "confidence: .*< 1"),
        ("neither = ['AGE']", "AGE: in none or several of the lists"),
        ("direct = ['PATIENT']", "RELATIVE, USERNAME, .*: in none or several"),
        ("neither = 'AGE'", "neither: expected `array`, got `str`"),
        ("neither = ['PLANET']", r"neither.*: invalid enum value 'PLANET'"),
        ("neither = [7]", r"neither.*: expected `str`, got `int`"),
        ("direct = ['PATIENT', 'PATIENT']", "PATIENT, RELATIVE, .*: in none or several"),
        ("caught", "not valid TOML"),
    ],
)
def test_assumptions_that_cannot_be_used_are_refused(tmp_path, text, message):
    path = tmp_path / "mine.toml"
    path.write_text(text)
    with pytest.raises(ConfigurationError, match=message) as caught:
        read_assumptions(path)
    assert str(path) in str(caught.value)


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(ConfigurationError, match=r"none\.toml"):
        read_assumptions(tmp_path / "none.toml")
