"""What holds of every figure, whatever the documents and masks."""

import dataclasses

from annotated_documents import masked_corpora, masks_of
from hypothesis import given
from hypothesis import strategies as st

from inverse_deid.evaluation.evaluation import evaluate_masks
from inverse_deid.evaluation.measures.counts import GROUPS
from inverse_deid.evaluation.measures.figures import FIGURES, group_figures

NEVER_FALL = [name for name in FIGURES if name.startswith(("recall", "documents", "entities"))]


def figures(docs, masks):
    evaluation = evaluate_masks(docs, masks)
    return {name: evaluation.figure(name) for name in FIGURES}


@given(masked_corpora())
def test_figures_lie_between_0_and_1_and_nothing_is_undefined_but_a_share_of_nothing(corpus):
    found = figures(*corpus)
    assert found
    for share in found.values():
        assert 0 <= share.part <= share.whole
        assert (share.value is None) == (share.whole == 0)


@given(masked_corpora())
def test_masking_everything_recalls_everything(corpus):
    docs, _ = corpus
    everything = {doc.id: [(0, len(doc.text))] if doc.text else [] for doc in docs}
    found = figures(docs, everything)
    assert {found[name].value for name in NEVER_FALL} <= {1.0, None}
    assert found["safe_kept"].value in (0.0, None)


@given(masked_corpora())
def test_masking_nothing_recalls_nothing_and_keeps_all(corpus):
    docs, _ = corpus
    found = figures(docs, {doc.id: [] for doc in docs})
    assert found["recall_all"].value in (0.0, None)
    assert found["safe_kept"].value in (1.0, None)
    assert found["precision"].value is None


@given(masked_corpora(), st.data())
def test_more_masks_never_lower_recall_and_never_keep_more(corpus, data):
    docs, masks = corpus
    more = {doc.id: [*masks[doc.id], *data.draw(masks_of(doc.text))] for doc in docs}
    before, after = figures(docs, masks), figures(docs, more)
    for name in NEVER_FALL:
        assert after[name].part >= before[name].part
        assert after[name].whole == before[name].whole
    assert after["safe_kept"].part <= before["safe_kept"].part


@given(masked_corpora())
def test_corrected_recall_is_never_lower(corpus):
    found = figures(*corpus)
    for name in ("recall_hipaa", "recall_all"):
        assert found[f"{name}_corrected"].part >= found[name].part


@given(masked_corpora())
def test_a_longer_token_never_raises_precision(corpus):
    found = figures(*corpus)
    assert (found["precision_overlap"].value is None) <= (found["precision"].value is None)


@given(masked_corpora(), st.randoms(use_true_random=False))
def test_the_order_of_documents_and_masks_does_not_matter(corpus, rng):
    docs, masks = corpus
    shuffled = rng.sample(docs, len(docs))
    assert figures(shuffled, {i: rng.sample(m, len(m)) for i, m in masks.items()}) == figures(docs, masks)


@given(masked_corpora())
def test_documents_twice_change_no_figure(corpus):
    docs, masks = corpus
    twins = [dataclasses.replace(doc, id=f"twin-{doc.id}") for doc in docs]
    both = figures([*docs, *twins], {**masks, **{f"twin-{i}": m for i, m in masks.items()}})
    once = figures(docs, masks)
    assert {name: share.value for name, share in both.items()} == {n: s.value for n, s in once.items()}
    assert all(both[name].whole == 2 * once[name].whole for name in FIGURES)


@given(masked_corpora())
def test_the_total_has_the_figures_of_its_documents(corpus):
    counts = evaluate_masks(*corpus).counts
    assert {n: f(counts) for n, f in FIGURES.items()} == {n: f(counts.total()) for n, f in FIGURES.items()}


@given(masked_corpora())
def test_fine_types_add_up(corpus):
    counts = evaluate_masks(*corpus).counts
    shares = {
        kind: [group_figures(counts, i).recall for i, group in enumerate(GROUPS) if group.kind == kind]
        for kind in ("all", "hyper", "fine")
    }
    sums = {kind: (sum(s.part for s in of), sum(s.whole for s in of)) for kind, of in shares.items()}
    assert sums["all"] == sums["hyper"] == sums["fine"]
