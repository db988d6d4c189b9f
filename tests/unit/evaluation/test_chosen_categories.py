"""Marks of kept categories are not PHI, except ages over 89."""

import pytest

from inverse_deid.choices.categories import parse_categories
from inverse_deid.core.phi import PhiType
from inverse_deid.core.values import Document, PhiSpan
from inverse_deid.evaluation.chosen_categories import measure_kept, split_spans
from inverse_deid.evaluation.measures.figures import Share

TEXT = "Okonkwo 43 94 nurse ninety-four"
DOC = Document(
    "a",
    TEXT,
    (
        PhiSpan(0, 7, PhiType.PATIENT),
        PhiSpan(8, 10, PhiType.AGE),
        PhiSpan(11, 13, PhiType.AGE),
        PhiSpan(14, 19, PhiType.PROFESSION),
        PhiSpan(20, 31, PhiType.AGE),
    ),
)


@pytest.mark.parametrize(
    ("categories", "masked"),
    [
        ("all", ["Okonkwo", "43", "94", "nurse", "ninety-four"]),
        ("hipaa", ["Okonkwo", "94", "ninety-four"]),
        ("all,-profession", ["Okonkwo", "43", "94", "ninety-four"]),
        ("all,-name,origin", ["43", "94", "nurse", "ninety-four"]),
    ],
)
def test_marks_are_split_by_what_must_be_masked(categories, masked):
    (must,), (may,) = split_spans([DOC], parse_categories(categories))
    assert [TEXT[span.start : span.end] for span in must.spans] == masked
    assert sorted((*must.spans, *may.spans)) == list(DOC.spans)


def test_a_token_of_a_kept_category_is_kept_unless_it_is_wholly_masked():
    chosen = parse_categories("hipaa")
    assert measure_kept([DOC], {"a": [(8, 10)]}, chosen) == Share(1, 2)
    assert measure_kept([DOC], {}, chosen) == Share(2, 2)
    assert measure_kept([DOC], {}, parse_categories("all")).value is None


@pytest.mark.parametrize(("categories", "masked"), [("all", 4), ("hipaa", 3), ("all,-age", 4)])
def test_with_hipaa_a_year_alone_is_not_phi(categories, masked):
    text = "since 2015, 3/2019, in 1931, born 1961"
    spans = tuple(PhiSpan(*one, PhiType.DATE) for one in ((6, 10), (12, 18), (23, 27), (34, 38)))
    (must,), (may,) = split_spans([Document("a", text, spans)], parse_categories(categories))
    assert (len(must.spans), len(may.spans)) == (masked, 4 - masked)
    assert all(text[one.start : one.end] == "2015" for one in may.spans)
