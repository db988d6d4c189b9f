"""The three figures by characters, worked out by hand."""

import ast
import inspect

import pytest

from inverse_deid_research.benchmarks import scorer
from inverse_deid_research.benchmarks.scorer import (
    COMPLETE,
    IDENTIFYING,
    OTHER,
    MarkedText,
    count_characters,
    score,
    wilson,
)

TEXT = "Mr Li-Wu left on 3/4."
#       012345678901234567890
DOC = MarkedText("a", TEXT, ((3, 8, "NAME"), (17, 20, "DATE")))


def test_the_scorer_imports_nothing_of_the_product():
    tree = ast.parse(inspect.getsource(scorer))
    imported = {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    imported |= {name.name for node in ast.walk(tree) if isinstance(node, ast.Import) for name in node.names}
    assert not [name for name in imported if name and name.startswith("inverse_deid")]


@pytest.mark.parametrize(
    ("masks", "expected"),
    [
        ([], (0, 6, 0, 8)),
        ([(3, 5), (6, 8), (17, 18), (19, 20)], (6, 6, 0, 8)),
        ([(3, 5), (9, 13)], (2, 6, 4, 8)),
        ([(0, 21)], (6, 6, 8, 8)),
        ([(3, 5), (4, 8)], (4, 6, 0, 8)),  # overlapping masks count once
    ],
)
def test_letters_and_digits_are_counted(masks, expected):
    found = count_characters(DOC, masks)
    assert (found.n_masked, found.n_identifying, found.n_removed, found.n_other) == expected


def test_all_characters_are_counted_on_request():
    found = count_characters(DOC, [(3, 5), (17, 18)], every=True)
    assert (found.n_masked, found.n_identifying, found.n_removed, found.n_other) == (3, 8, 0, 13)


def test_signs_between_two_masks_count_as_masked_and_words_do_not():
    joined = count_characters(DOC, [(3, 5), (6, 8), (17, 18), (19, 20)], every=True)
    assert (joined.n_masked, joined.n_identifying, joined.n_removed) == (8, 8, 0)
    apart = count_characters(DOC, [(0, 2), (6, 8)], every=True)
    assert (apart.n_masked, apart.n_removed) == (2, 2)


def test_a_character_in_two_marks_counts_once_and_in_each_type():
    doc = MarkedText("a", "Ann Lee", ((0, 3, "FIRST"), (0, 7, "NAME"), (4, 7, "NAME")))
    found = count_characters(doc, [(0, 3)])
    assert (found.n_masked, found.n_identifying) == (3, 6)
    assert found.by_type == {"FIRST": (3, 3), "NAME": (3, 6)}


@pytest.mark.parametrize("mask", [(-1, 2), (3, 3), (5, 22)])
def test_a_mask_outside_the_text_is_refused_without_its_text(mask):
    with pytest.raises(ValueError, match="document a: mask") as error:
        count_characters(DOC, [mask])
    assert "Li" not in str(error.value)


def test_a_span_outside_the_text_is_refused():
    with pytest.raises(ValueError, match="document b: span 3-9 is not in a text of 4 characters"):
        MarkedText("b", "abcd", ((3, 9, "NAME"),))


def test_titles_are_not_counted_at_all_on_request():
    doc = MarkedText("a", "Dr Ohm slept", ((0, 6, "NAME"),), ((0, 2),))
    marked = count_characters(doc, [(3, 6)])
    assert (marked.n_masked, marked.n_identifying) == (3, 5)
    found = count_characters(doc, [(0, 6)], titles=False)
    assert (found.n_masked, found.n_identifying, found.n_removed, found.n_other) == (3, 3, 0, 5)
    assert found.by_type == {"NAME": (3, 3)}


def test_the_figures_add_up_over_documents():
    clean = MarkedText("b", "no rash", ())
    leaky = MarkedText("c", "Ann was well", ((0, 3, "NAME"),))
    counts = [
        count_characters(DOC, [(3, 5), (6, 8), (17, 20)]),
        count_characters(clean, [(3, 7)]),
        count_characters(leaky, [(0, 1)]),
    ]
    figures = score(counts, seed=1)
    assert (figures[IDENTIFYING].part, figures[IDENTIFYING].whole) == (7, 9)
    assert (figures[OTHER].part, figures[OTHER].whole) == (4, 8 + 6 + 7)
    assert (figures[COMPLETE].part, figures[COMPLETE].whole) == (1, 2)
    assert (figures["NAME"].part, figures["NAME"].whole) == (5, 7)
    assert (figures[COMPLETE].low, figures[COMPLETE].high) == wilson(1, 2)


def test_intervals_resample_documents_and_repeat_with_the_seed():
    names = ["Ann" + n % 7 * "a" for n in range(40)]
    docs = [MarkedText(str(n), name, ((0, len(name), "NAME"),)) for n, name in enumerate(names)]
    counts = [count_characters(doc, [(0, 3)] if n % 4 else []) for n, doc in enumerate(docs)]
    first, again, other = (score(counts, seed)[IDENTIFYING] for seed in (1, 1, 2))
    assert first == again != other
    assert (first.part, first.whole) == (90, sum(map(len, names)))
    # Documents are the units: wider than the interval of as many independent characters.
    low, high = wilson(first.part, first.whole)
    assert first.low < low - 0.01 < first.share < high + 0.01 < first.high


def test_an_interval_of_everything_is_that_of_the_documents():
    counts = [count_characters(MarkedText(str(n), "Ann", ((0, 3, "N"),)), [(0, 3)]) for n in range(10)]
    figure = score(counts, seed=1)[IDENTIFYING]
    assert (figure.low, figure.high) == wilson(10, 10)
    assert figure.low == pytest.approx(0.7225, abs=1e-4)


def test_without_documents_nothing_is_defined():
    figure = score([], seed=1)[IDENTIFYING]
    assert (figure.share, figure.low, figure.high) == (None, None, None)


def test_neither_text_nor_marks_show_in_a_repr():
    assert "Li" not in repr(DOC)
