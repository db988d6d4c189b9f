"""Pseudonymisation as text: what is replaced, what stays, and that the spans still fit."""

from itertools import chain

import numpy as np
import pytest
import tiny_representations as tiny

pytest.importorskip("sklearn")
pytest.importorskip("nltk")

from inverse_deid.core.phi import PhiType
from inverse_deid.core.values import Document, PhiSpan
from inverse_deid_research.representations.pseudonyms import other_characters, phi_neighbours, replace_words
from inverse_deid_research.representations.secret_draws import SecretChoices, in_secret_order
from inverse_deid_research.representations.sentences import written_sentences

VECTORS = tiny.vectors()
MATRIX = VECTORS.matrix()


def made(docs, n=4, rng=None, *, alike=False):
    written = written_sentences(docs, VECTORS.numbers())
    table = phi_neighbours(MATRIX, [one.sentence for one in written], n)
    return replace_words(written, table, VECTORS.words, rng or SecretChoices(), alike=alike)


def surfaces(doc):
    return [doc.text[span.start : span.end] for span in doc.spans]


def test_with_one_neighbour_the_sentences_are_those_of_the_corpus():
    docs = tiny.documents()
    found = made(docs, n=1).docs
    sentences = [f"{line}." for doc in docs for line in doc.text.removesuffix(".").split(". ")]
    assert sorted(doc.text for doc in found) == sorted(sentences)
    assert sorted(chain(*map(surfaces, found))) == sorted(chain(*map(surfaces, docs)))


def test_names_become_neighbours_in_their_casing_and_all_else_stays():
    doc = tiny.annotated("The rash [ZORA] had, [Brask-Tamsin]; was [okonkwo].")
    seen = set()
    for _ in range(60):
        (found,) = made([doc], n=4).docs
        one, two, three = surfaces(found)
        assert found.text == f"The rash {one} had, {two}; was {three}."
        assert one.isupper() and three.islower() and all(part.istitle() for part in two.split("-"))
        seen.add(one.lower())
    table = phi_neighbours(MATRIX, [w.sentence for w in written_sentences([doc], VECTORS.numbers())], 4)
    near = table.of(np.array([VECTORS.numbers()["zora"]]))[0]
    assert seen == {VECTORS.words[row - 1] for row in near}


def test_what_has_no_vector_becomes_other_characters_of_the_same_kind():
    doc = Document(
        "d",
        "the rash of M\u00fcller7 on 03/11",
        (PhiSpan(12, 19, PhiType.PATIENT), PhiSpan(23, 28, PhiType.DATE)),
    )
    for _ in range(20):
        (found,) = made([doc]).docs
        name, day = surfaces(found)
        assert found.text == f"the rash of {name} on {day}"
        assert [span.type for span in found.spans] == [PhiType.PATIENT, PhiType.DATE]
        assert name != "M\u00fcller7" and len(name) == 7 and name[:6].istitle() and name.isascii()
        assert name[6].isdigit() and day[2] == "/"
        assert day[:2] != "03" and day[3:] != "11" and (day[:2] + day[3:]).isdigit()


@pytest.mark.parametrize("word", ["7", "x", "Q", "\u0667", "9f"])
def test_no_word_stays_by_chance(word):
    rng = np.random.default_rng(1)
    assert all(other_characters(word, rng) != word for _ in range(300))


def test_all_mentions_of_a_document_become_alike_if_asked():
    docs = [
        tiny.annotated("[Zora] had a rash. [Zora] and [Xavea]. [Xavea] was mild.", f"d{i}") for i in range(8)
    ]
    found = made(docs, n=4, alike=True)
    names = [name for doc in found.docs for name in surfaces(doc)]
    drawn = {name for name in names if name.lower() in VECTORS.words}
    others = [name for name in names if name not in drawn]
    assert all(others.count(name) == 2 for name in set(others)) and len(set(others)) == 8
    assert 1 < len(drawn) <= 4
    free = [name for doc in made(docs, n=4).docs for name in surfaces(doc)]
    assert len({name for name in free if name.lower() not in VECTORS.words}) == 16


def test_an_identifier_that_nobody_annotated_elsewhere_is_counted():
    docs = [
        tiny.annotated("[Zora] had a rash. zora was mild. The fever.", "one"),
        tiny.annotated("Zora had a rash. [Li] had the fever. Li was mild.", "two"),
        Document("three", "In May a rash; may be mild.", (PhiSpan(3, 6, PhiType.DATE),)),
        Document("four", "No 4711: a rash. 4711 was mild.", (PhiSpan(3, 7, PhiType.MEDICALRECORD),)),
        Document("five", "At 43 a rash of 43 cm.", (PhiSpan(3, 5, PhiType.AGE),)),
    ]
    found = made(docs)
    assert found.n_overlooked == 3
    assert found.summary()[1].startswith("3 words were left as they are")
    assert found.summary()[1].endswith("Check the annotations")
    assert "Check" not in made(tiny.documents()).summary()[1]


@pytest.mark.parametrize(
    ("name", "tail"),
    [("Zoe\u0308", ""), ("Xavea \U0001f98a", " "), ("\u0e01\u0e34\u0e19", "")],
    ids=["accent apart", "picture", "vowel sign"],
)
def test_of_an_annotation_only_blanks_and_punctuation_are_left_between_words(name, tail):
    text = f"The rash {name} had."
    (found,) = made([Document("d", text, (PhiSpan(9, 9 + len(name), PhiType.PATIENT),))]).docs
    assert found.text.isascii()
    assert found.text.startswith("The rash ") and found.text.endswith(f"{tail} had.")


def test_an_accent_just_behind_an_annotation_belongs_to_it():
    (found,) = made([Document("d", "The rash Zoe\u0308 had.", (PhiSpan(9, 12, PhiType.PATIENT),))]).docs
    assert found.text.isascii()


def test_an_annotation_without_a_word_leaves_nothing():
    spans = (PhiSpan(9, 10, PhiType.PATIENT), PhiSpan(11, 15, PhiType.PATIENT))
    (found,) = made([Document("d", "The rash \U0001f98a Zora had.", spans)], n=1).docs
    assert (found.text, surfaces(found)) == ("The rash  Zora had.", ["Zora"])


def test_signs_stay_with_their_sentence():
    doc = tiny.annotated('("The [Zora] rash.") (And the fever.) It was mild')
    found = {one.text for one in made([doc], n=1).docs}
    assert found == {'("The Zora rash.")', "(And the fever.)", "It was mild"}


def test_a_long_sentence_is_cut_and_so_is_an_annotation_in_it():
    name = " ".join(["Zora"] * 3)
    doc = Document("d", f"{'mild ' * 98}{name} had", (PhiSpan(490, 504, PhiType.PATIENT),))
    found = sorted(made([doc], n=1).docs, key=lambda one: len(one.text))
    assert [surfaces(one) for one in found] == [["Zora"], ["Zora Zora"]]
    assert " ".join(one.text for one in reversed(found)) == doc.text


def test_mentions_alike_keep_their_own_casing():
    found = made([tiny.annotated("[Xavea] had [XAVEA] and [xavea].")], alike=True).docs
    one, two, three = surfaces(found[0])
    assert (one.istitle(), two.isupper(), three.islower()) == (True, True, True)
    assert one.lower() == two.lower() == three


def test_no_text_is_shown():
    (one,) = written_sentences([tiny.annotated("[Zora] had a rash.")], VECTORS.numbers())
    assert not [
        word for word in (*one.words, "PATIENT") if f" {word}" in repr(one) or f"'{word}'" in repr(one)
    ]
    assert not [name for name in tiny.NAMES if name in repr(made(tiny.documents())).lower()]


def test_the_order_of_sentences_is_forgotten():
    docs = tiny.documents(20)
    found = made(docs, n=1).docs
    assert [doc.id for doc in found] == [str(i) for i in range(1, len(found) + 1)]
    assert " ".join(doc.text for doc in found) != " ".join(doc.text for doc in docs)
    assert sorted(in_secret_order(range(50))) == list(range(50))
