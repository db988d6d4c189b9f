"""Metamorphic properties of all figures, of groups too, and of their intervals."""

import dataclasses
import random
import re

import msgspec
import pytest
from annotated_documents import masked_corpora, masks_of
from hypothesis import given
from hypothesis import strategies as st

from inverse_deid.core.phi import PhiType
from inverse_deid.core.values import Document, PhiSpan
from inverse_deid.evaluation.evaluation import evaluate_masks, intervals_of
from inverse_deid.evaluation.measures.counts import GROUPS, Counts
from inverse_deid.evaluation.measures.figures import FIGURES, Share, group_figures, measure_over_masking

N_RESAMPLES = 200
NEVER_FALL = ("recall", "corrected_recall", "documents", "entities")


def every(counts: Counts) -> dict[str, Share]:
    """All figures that a report has, also those of groups."""
    found = {name: figure(counts) for name, figure in FIGURES.items()}
    found |= {f"over_masking {kind.name}": share for kind, share in measure_over_masking(counts).items()}
    for number, group in enumerate(GROUPS):
        figures = group_figures(counts, number)
        for entry in msgspec.structs.fields(figures):
            found[f"{entry.name} {group.kind} {group.name}"] = getattr(figures, entry.name)
    return found


def figures(docs, masks):
    return every(evaluate_masks(docs, masks).counts)


def intervals(docs, masks):
    found = intervals_of(evaluate_masks(docs, masks), n_resamples=N_RESAMPLES)
    return {
        **found.figures,
        **{(column, name): i for column, of in found.groups.items() for name, i in of.items()},
    }


def copies(docs, masks, n):
    """The documents n times, under ids of their own."""
    twins = [dataclasses.replace(doc, id=f"{doc.id} {i}") for i in range(n) for doc in docs]
    return twins, {f"{doc.id} {i}": masks[doc.id] for i in range(n) for doc in docs}


@given(masked_corpora(), st.randoms(use_true_random=False))
def test_permuting_documents_changes_no_figure_and_no_interval(corpus, rng):
    docs, masks = corpus
    shuffled = rng.sample(docs, len(docs))
    assert figures(shuffled, masks) == figures(docs, masks)
    assert intervals(shuffled, masks) == intervals(docs, masks)


@given(masked_corpora(), st.integers(2, 4))
def test_documents_several_times_change_no_share(corpus, n):
    once, often = figures(*corpus), figures(*copies(*corpus, n))
    assert {name: share.value for name, share in often.items()} == {k: s.value for k, s in once.items()}
    assert {name: share.whole for name, share in often.items()} == {k: n * s.whole for k, s in once.items()}


@given(masked_corpora())
def test_documents_twice_narrow_what_is_exact(corpus):
    once, twice = intervals(*corpus), intervals(*copies(*corpus, 2))
    assert once.keys() == twice.keys()
    assert once
    for name, interval in once.items():
        assert (interval is None) == (twice[name] is None)
        if interval is not None and interval.method.startswith("Clopper-Pearson"):
            assert twice[name].method == interval.method
            assert width(twice[name]) < width(interval)


def width(interval):
    return interval.high - interval.low


def test_documents_four_times_narrow_every_interval_to_about_half():
    docs, masks = seeded_corpus(40)
    once, often = intervals(docs, masks), intervals(*copies(docs, masks, 4))
    assert all(once[name] is not None for name in FIGURES)
    for name, interval in once.items():
        if interval is not None and width(interval) > 0.05:
            assert 0.3 < width(often[name]) / width(interval) < 0.75, name


def seeded_corpus(n_docs):
    """Documents of many kinds of PHI, of which a part leaks and a part is masked too much."""
    rng = random.Random(4)
    docs, masks = [], {}
    kinds = [
        ("Li", "PATIENT"),
        ("Okonkwo", "DOCTOR"),
        ("3 May", "DATE"),
        ("Velmo", "CITY"),
        ("41 years", "AGE"),
    ]
    for i in range(n_docs):
        text, spans, hidden = "", [], []
        for _ in range(rng.randint(2, 9)):
            word, name = rng.choice([*kinds, ("rash", None), ("40mg", None)])
            place = (len(text), len(text) + len(word))
            if name:
                spans.append(PhiSpan(*place, PhiType(name)))
            if rng.random() < (0.75 if name else 0.3):
                hidden.append(place)
            text += f"{word} and " if rng.random() < 0.5 else f"{word} - "
        docs.append(Document(f"d{i}", text, tuple(spans)))
        masks[f"d{i}"] = hidden
    return docs, masks


@given(masked_corpora(), st.integers(0, 4))
def test_the_counts_of_two_parts_add_up_to_the_whole(corpus, cut):
    docs, masks = corpus
    parts = [
        evaluate_masks(part, {doc.id: masks[doc.id] for doc in part}).counts
        for part in (docs[:cut], docs[cut:])
    ]
    whole = evaluate_masks(docs, masks).counts
    first, second = map(every, parts)
    added = {
        name: Share(first[name].part + s.part, first[name].whole + s.whole) for name, s in second.items()
    }
    assert added == every(whole) == every(Counts.stack(parts))


@given(masked_corpora(), st.data())
def test_more_masks_never_lower_and_fewer_masks_never_raise_what_is_hidden(corpus, data):
    docs, masks = corpus
    more = {doc.id: [*masks[doc.id], *data.draw(masks_of(doc.text))] for doc in docs}
    fewer = {
        doc.id: data.draw(st.lists(st.sampled_from(m), max_size=4)) if (m := masks[doc.id]) else []
        for doc in docs
    }
    now, after, before = figures(docs, masks), figures(docs, more), figures(docs, fewer)
    names = [name for name in now if name.startswith(NEVER_FALL)]
    assert len(names) == len(FIGURES) - 3 + 4 * len(GROUPS)
    for name in names:
        assert before[name].part <= now[name].part <= after[name].part, name
        assert before[name].whole == now[name].whole == after[name].whole, name
    assert before["safe_kept"].part >= now["safe_kept"].part >= after["safe_kept"].part


@pytest.mark.slow
@given(masked_corpora(), st.data())
def test_precision_of_what_is_left_is_that_of_its_tokens(corpus, data):
    docs, masks = corpus
    left = {
        doc.id: data.draw(st.lists(st.sampled_from(m), max_size=4)) if (m := masks[doc.id]) else []
        for doc in docs
    }
    masked, right = 0, 0
    for doc in docs:
        hidden = {i for start, end in left[doc.id] for i in range(start, end)}
        phi = {i for span in doc.spans for i in range(span.start, span.end)}
        for token in re.finditer(r"[^\W_]+", doc.text):
            places = set(range(*token.span()))
            masked += bool(places & hidden)
            right += bool(places & hidden) and bool(places & phi)
    assert figures(docs, left)["precision"] == Share(right, masked)


@pytest.mark.slow
@given(masked_corpora())
def test_an_interval_is_there_where_the_figure_is_and_lies_between_0_and_1(corpus):
    found, shares = intervals(*corpus), figures(*corpus)
    for name in FIGURES:
        assert (found[name] is None) == (shares[name].value is None)
        if found[name] is not None:
            assert 0 <= found[name].low < found[name].high <= 1


def halves(doc, masks, cut):
    """A document as two, cut behind an offset, with the masks of each."""
    parts = []
    for name, start, end in (("left", 0, cut), ("right", cut, len(doc.text))):
        spans = tuple(
            dataclasses.replace(span, start=span.start - start, end=span.end - start)
            for span in doc.spans
            if start <= span.start and span.end <= end
        )
        inside = [(max(a, start) - start, min(b, end) - start) for a, b in masks if a < end and start < b]
        parts.append((Document(f"{doc.id} {name}", doc.text[start:end], spans), inside))
    return parts


@given(masked_corpora(), st.data())
def test_documents_cut_in_two_between_tokens_have_the_same_tokens(corpus, data):
    docs, masks = corpus
    parts = []
    for doc in docs:
        in_tokens = {
            i for token in re.finditer(r"[^\W_]+", doc.text) for i in range(token.start() + 1, token.end())
        }
        in_spans = {i for span in doc.spans for i in range(span.start + 1, span.end)}
        places = sorted(set(range(len(doc.text) + 1)) - in_tokens - in_spans)
        parts += halves(doc, masks[doc.id], data.draw(st.sampled_from(places)))
    whole = figures(docs, masks)
    cut = figures([doc for doc, _ in parts], {doc.id: found for doc, found in parts})
    of_tokens = [name for name in whole if not name.startswith(("documents", "entities"))]
    assert {name: cut[name] for name in of_tokens} == {name: whole[name] for name in of_tokens}
    found = list(set(whole) - set(of_tokens))
    assert found
    for name in found:
        missed, were_missed = (s.whole - s.part for s in (cut[name], whole[name]))
        assert were_missed <= missed <= 2 * were_missed, name
        assert whole[name].whole <= cut[name].whole <= 2 * whole[name].whole, name
