import pytest

from inverse_deid.core.errors import AnnotationError
from inverse_deid.core.phi import HIPAA_TYPES, HYPER_CLASS_OF, PhiType
from inverse_deid.core.values import Document, PhiSpan, Reason

CANARY = "Zebulonova"


@pytest.mark.parametrize(("start", "end"), [(3, 3), (-1, 2), (5, 4)])
def test_a_span_must_cover_something(start, end):
    with pytest.raises(AnnotationError):
        PhiSpan(start, end, PhiType.CITY)


@pytest.mark.parametrize("spans", [[(0, 4), (3, 6)], [(4, 6), (0, 2)], [(0, 99)]])
def test_spans_must_be_sorted_disjoint_and_inside(spans):
    with pytest.raises(AnnotationError, match="document d1"):
        Document("d1", f"{CANARY} had a rash", tuple(PhiSpan(a, b, PhiType.CITY) for a, b in spans))


def test_repr_shows_no_text():
    doc = Document("d1", f"{CANARY} had a rash", known=(CANARY,), meta={"name": CANARY})
    assert CANARY not in repr(doc)


def test_every_type_has_a_hyper_class():
    assert set(HYPER_CLASS_OF) == set(PhiType)


def test_hipaa_leaves_out_what_the_rule_does_not_name():
    assert {PhiType.DOCTOR, PhiType.PROFESSION, PhiType.STATE}.isdisjoint(HIPAA_TYPES)


def test_only_keeping_reasons_keep():
    assert [reason.name for reason in Reason if reason.keeps] == [
        "KEPT_SAFE_WORD",
        "KEPT_BY_NETWORK",
        "KEPT_ALLOW_LIST",
        "KEPT_CATEGORY",
        "KEPT_CLINICAL_FACT",
    ]
