"""What masking costs an extractor, on concepts in offsets of the original."""

import itertools

import numpy as np
import pytest
from fake_extractors import FakeExtractor

from inverse_deid.core.errors import AnnotationError
from inverse_deid.core.values import Document
from inverse_deid.evaluation.measures.resampling import paired_ratio_test
from inverse_deid_research.extraction.concepts import ConceptDocument, ConceptSpan
from inverse_deid_research.extraction.scoring import ALL, measure_utility, render_utility

TEXT = "Ann took Velmo and had a rash and fever."
KINDS = {"Velmo": "Drug", "rash": "Effect", "fever": "Effect"}


def at(piece):
    start = TEXT.index(piece)
    return start, start + len(piece)


def document(name):
    return ConceptDocument(
        Document(name, TEXT), tuple(ConceptSpan(*at(p), kind) for p, kind in KINDS.items())
    )


def test_a_mask_before_the_concepts_costs_nothing():
    found = measure_utility([document("a")], {"a": [at("Ann")]}, FakeExtractor())
    assert found
    for row in found.values():
        assert (row.f1_original, row.f1_masked, row.touched) == (1.0, 1.0, 0)
        assert (row.difference, row.p_value) == (0.0, 1.0)


def test_a_masked_drug_is_lost_for_its_type_alone():
    rows = measure_utility([document("a"), document("b")], {"a": [at("Velmo")]}, FakeExtractor())
    assert (rows["Drug"].gold, rows["Drug"].touched, rows["Drug"].recall_masked) == (2, 1, 0.5)
    assert rows["Effect"].difference == 0.0
    assert rows[ALL].f1_masked == pytest.approx(10 / 11)
    assert rows["Drug"].difference == pytest.approx(2 / 3 - 1)
    assert rows["Drug"].p_value == 1.0


def test_a_marker_that_is_called_a_concept_is_its_whole_mask():
    extractor = FakeExtractor({"PHI": "Drug"})
    right = measure_utility([document("a")], {"a": [at("Velmo")]}, extractor)
    wider = measure_utility([document("a")], {"a": [at("took Velmo")]}, extractor)
    assert right["Drug"].f1_masked == 1.0
    assert wider["Drug"].f1_masked == 0.0


def test_a_gold_without_the_types_is_refused():
    with pytest.raises(AnnotationError, match="no concepts of the extractor's types"):
        measure_utility([ConceptDocument(Document("a", TEXT))], {}, FakeExtractor())


def test_the_table_shows_no_text():
    found = measure_utility([document("a")], {"a": [at("Velmo")]}, FakeExtractor())
    lines = "\n".join(render_utility(found))
    assert "all concepts" in lines
    assert not any(word in lines for word in (*KINDS, "Ann"))


def test_all_swaps_are_tried_where_they_are_few():
    rng = np.random.default_rng(3)
    a, b = (np.stack([rng.integers(0, 5, 9), rng.integers(5, 9, 9)], axis=1).astype(float) for _ in range(2))
    found = paired_ratio_test(a, b, most_enumerated=20)
    ratio = [a[:, 0].sum() / a[:, 1].sum(), b[:, 0].sum() / b[:, 1].sum()]
    hits = 0
    for swaps in itertools.product([False, True], repeat=9):
        one, two = (np.where(np.array(swaps)[:, None], y, x).sum(0) for x, y in ((a, b), (b, a)))
        hits += abs(one[0] / one[1] - two[0] / two[1]) >= abs(ratio[0] - ratio[1]) - 1e-12
    assert found.is_exact
    assert found.p_value == pytest.approx(hits / 512)
    sampled = paired_ratio_test(a, b, most_enumerated=0, n_permutations=20_000)
    assert not sampled.is_exact
    assert sampled.p_value == pytest.approx(found.p_value, abs=0.02)


def test_many_swaps_come_in_pieces():
    rng = np.random.default_rng(5)
    a = rng.integers(0, 3, (18, 2)) + np.array([0.0, 3.0])
    b = a.copy()
    b[:, 0] = rng.permutation(a[:, 0]) + rng.integers(0, 2, 18) + 0.5
    found = paired_ratio_test(a, b, most_enumerated=20)
    assert (found.is_exact, found.n_permutations) == (True, 2**18)
    assert found.n_differing == 18
