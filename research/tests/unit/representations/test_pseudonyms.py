"""Pseudonymisation: who moves where, and what is left of the originals."""

import numpy as np
import pytest
import tiny_representations as tiny

pytest.importorskip("sklearn")
pytest.importorskip("nltk")

from inverse_deid.core.errors import ConfigurationError
from inverse_deid_research.representations.pseudonyms import (
    Neighbours,
    find_neighbours,
    measure_survival,
    phi_neighbours,
    pseudonymise,
)
from inverse_deid_research.representations.sentences import sentences_of

VECTORS = tiny.vectors()
MATRIX = VECTORS.matrix()
NUMBERS = VECTORS.numbers()


def rows_of(sentences):
    return [sentence.rows.tolist() for sentence in sentences]


def test_neighbours_are_those_of_an_exhaustive_search():
    rows = np.arange(1, len(MATRIX), dtype=np.int32)
    unit = MATRIX[1:] / np.linalg.norm(MATRIX[1:], axis=1, keepdims=True)
    expected = np.argsort(-(unit @ unit.T), axis=1, kind="stable")[:, :5] + 1
    assert np.array_equal(find_neighbours(MATRIX, rows, 5).nearest, expected)


def test_words_of_one_direction_come_after_the_word_itself():
    same = np.array([[0, 0], [1, 1], [2, 2], [3, 3], [1, 0]], np.float32)
    found = find_neighbours(same, np.array([1, 2, 3], np.int32), 2)
    assert found.nearest[:, 0].tolist() == [1, 2, 3]
    assert (found.nearest[:, 1] != found.rows).all()
    assert set(found.nearest[:, 1].tolist()) <= {1, 2, 3}


@pytest.mark.parametrize("n", [0, 19])
def test_a_number_of_neighbours_out_of_range_is_refused(n):
    with pytest.raises(ConfigurationError, match="neighbours"):
        find_neighbours(MATRIX, np.array([1], np.int32), n)


def test_one_neighbour_changes_nothing():
    before = tiny.sentences()
    after = pseudonymise(before, phi_neighbours(MATRIX, before, 1), np.random.default_rng(1))
    assert rows_of(after) == rows_of(before)


def test_phi_moves_among_its_neighbours_and_the_rest_stays():
    before = tiny.sentences(n_documents=30)
    table = phi_neighbours(MATRIX, before, 4)
    after = pseudonymise(before, table, np.random.default_rng(1))
    reached = set()
    for old, new in zip(before, after, strict=True):
        assert np.array_equal(old.rows[~old.movable], new.rows[~old.movable])
        assert np.array_equal(old.casings, new.casings) and np.array_equal(old.classes, new.classes)
        for a, b in zip(old.rows[old.movable], new.rows[old.movable], strict=True):
            near = table.of(np.array([a]))[0].tolist()
            reached.add(near.index(int(b)))
    assert reached == {0, 1, 2, 3}


def test_a_name_without_a_vector_stays_unknown():
    before = sentences_of([tiny.annotated("[Mbeki] had [Zora]")], NUMBERS)
    after = pseudonymise(before, phi_neighbours(MATRIX, before, 3), np.random.default_rng(1))
    assert after[0].rows[0] == 0


def test_all_mentions_in_a_document_move_alike_and_others_do_not():
    text = " ".join(["[Zora] had a rash."] * 8)
    before = sentences_of([tiny.annotated(text, str(i)) for i in range(12)], NUMBERS)
    table = phi_neighbours(MATRIX, before, 6)
    after = pseudonymise(before, table, np.random.default_rng(1), alike=True)
    chosen = [{s.rows[0].item() for s in after if s.document == i} for i in range(12)]
    assert all(len(names) == 1 for names in chosen)
    assert len(set.union(*chosen)) > 1
    free = pseudonymise(before, table, np.random.default_rng(1))
    assert len({s.rows[0].item() for s in free if s.document == 0}) > 1


def test_survival_is_counted():
    words = ["ann", "annabel", "leo", "miles", "rash"]
    table = Neighbours(np.array([1, 2, 3], np.int32), np.array([[1, 2], [2, 1], [3, 4]], np.int32))
    numbers = {word: i for i, word in enumerate(words, start=1)}
    before = sentences_of([tiny.annotated("[Ann] [Annabel] [Leo] [Leo] [Nobody] rash")], numbers)
    after = sentences_of([tiny.annotated("[Annabel] [Ann] [Leo] [Miles] [Nobody] rash")], numbers)
    found = measure_survival(before, after, table, words)
    assert (found.n_tokens, found.n_unknown, found.n_same, found.n_part) == (5, 1, 1, 2)
    assert found.neighbours_with_original == pytest.approx(1 / 3)  # annabel holds ann; nothing else
