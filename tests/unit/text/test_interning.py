"""Distinct words are numbered; beyond the capacity the rarer ones are forgotten."""

import numpy as np

from inverse_deid.lexicon import load_lexicon
from inverse_deid.rules.words import WordKnowledge
from inverse_deid.text.interning import GrowingArray, InternedWords


def test_the_frequent_words_stay_and_are_numbered_anew():
    words = InternedWords(capacity=3)
    words.ids(["a", "b", "c", "b", "c", "d"])
    words.trim()
    assert words.words_from(0) == ["b", "c"]
    assert words.ids(["d", "c", "b"]).tolist() == [2, 1, 0]
    assert words.generation == 1


def test_within_the_capacity_nothing_is_forgotten():
    words = InternedWords(capacity=3)
    words.ids(["a", "b", "c"])
    words.trim()
    assert (len(words), words.generation) == (3, 0)


def test_what_was_frequent_long_ago_makes_way():
    words = InternedWords(capacity=3)
    words.ids(["old"] * 8 + ["b", "c", "d"])
    words.trim()
    for _ in range(4):
        words.ids(["new", "newer"] * 4 + ["x", "y", "z"])
        words.trim()
    assert words.words_from(0) == ["new", "newer"]


def test_survivors_of_a_cache():
    words = InternedWords(capacity=3)
    words.ids(["a", "b", "c", "b", "c", "d", "d", "d"])
    assert words.survivors(0, 2).tolist() == [0, 1]
    words.trim()  # c and d would do as well: of equally frequent words the earlier one stays
    assert words.words_from(0) == ["b", "d"]
    assert words.survivors(0, 4).tolist() == [1, 3]
    assert words.survivors(0, 2).tolist() == [1]
    words.ids(["e", "f"])
    words.trim()
    assert words.survivors(0, 4).tolist() == []


def test_an_array_keeps_rows_and_grows_on():
    array = GrowingArray(np.arange(5))
    seen = array.rows
    array.keep(np.array([1, 4]))
    array.append(np.array([9]))
    assert array.rows.tolist() == [1, 4, 9]
    assert seen.tolist() == [0, 1, 2, 3, 4]


def test_knowledge_of_words_stays_in_step():
    rng = np.random.default_rng(3)
    vocabulary = [
        "Okonkwo",
        "rash",
        "RASH",
        "Paris",
        "12",
        "mg",
        "tuesday",
        "Velmo",
        "\u0436",
        "dose",
        "Dose",
    ]
    lexicon, interned = load_lexicon(), InternedWords(capacity=6)
    knowledge = WordKnowledge(lexicon, interned)
    for turn in range(30):
        words = rng.choice(vocabulary, 8).tolist()
        ids = interned.ids(words)
        if turn % 4 != 3:  # now and then the cache misses a generation
            found = knowledge.rows()
            fresh = InternedWords()
            wanted_ids = fresh.ids(words)
            wanted = WordKnowledge(lexicon, fresh).rows()
            for name in ("flags", "features", "lower_ratio", "foreign", "anchors"):
                np.testing.assert_array_equal(getattr(found, name)[ids], getattr(wanted, name)[wanted_ids])
            same = [one.casefold() == other.casefold() for one in words for other in words]
            keys = found.keys[ids]
            assert (keys[:, None] == keys).ravel().tolist() == same
        interned.trim()
    assert interned.generation > 5
