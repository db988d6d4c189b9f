"""Cases of two corpora: one text with both kinds of gold, or two texts, and never in two parts."""

import pytest

from inverse_deid.core.errors import ConfigurationError
from inverse_deid.core.phi import PhiType
from inverse_deid.core.values import Document, PhiSpan
from inverse_deid_research.extraction.cases import (
    join_cases,
    join_gold,
    keep_cases_apart,
    locate_text,
)
from inverse_deid_research.extraction.concepts import CONCEPTS, PHI, ConceptDocument, ConceptSpan

HEAD = "Nombre: Lucía Peñalba.\nEdad: 44 años.\n"
STORY = "Mujer tratada con velmicina por tos."


def with_concept(name, text, word="velmicina", kind="NORMALIZABLES"):
    start = text.index(word)
    return ConceptDocument(Document(name, text), (ConceptSpan(start, start + len(word), kind),))


def with_name(name, text, word="Lucía Peñalba"):
    start = text.index(word)
    return Document(name, text, (PhiSpan(start, start + len(word), PhiType.PATIENT),))


def test_a_text_that_stands_in_the_other_one_carries_both_kinds_of_gold():
    joined = join_gold(with_concept("c", STORY), with_name("c", HEAD + STORY.replace(" con ", "\ncon  ")))
    (concept,) = joined.concepts
    assert joined.doc.text[concept.start : concept.end] == "velmicina"
    assert [joined.doc.text[span.start : span.end] for span in joined.doc.spans] == ["Lucía Peñalba"]
    assert joined.gold == (PHI, CONCEPTS)


@pytest.mark.parametrize(
    "within",
    [
        HEAD + "Mujer tratada con otra cosa por tos.",
        HEAD + STORY + "\n" + STORY,  # at two places
        "",
    ],
)
def test_a_text_that_does_not_stand_there_once_is_not_joined(within):
    assert locate_text(STORY, within) is None


@pytest.mark.parametrize("text", ["", " \n"])
def test_an_empty_text_is_nowhere(text):
    assert locate_text(text, "abc") is None


def test_each_case_is_one_document_or_one_per_corpus():
    texts = {
        "train": [with_concept("one", STORY), with_concept("two", STORY + " Mejor.")],
        "dev": [with_concept("alone", "Niño con velmicina.")],
        "test": [],
    }
    cases = join_cases(
        [with_name("one", HEAD + STORY), with_name("two", HEAD + "Toma velmicina.")],
        texts,
        {"NORMALIZABLES"},
    )
    one, two = cases["train"]
    assert one.has_both and one.docs == (one.read,)
    assert not two.has_both and [doc.gold for doc in two.docs] == [(CONCEPTS,), (PHI,)]
    (alone,) = cases["dev"]
    assert alone.docs == (alone.read,) and alone.read.gold == (CONCEPTS,)


def test_concepts_that_do_not_count_are_left_out():
    texts = {"train": [with_concept("a", STORY, kind="UNCLEAR")], "dev": [], "test": []}
    (case,) = join_cases([], texts, {"NORMALIZABLES"})["train"]
    assert case.read.concepts == ()


@pytest.mark.parametrize(
    ("identified", "train", "dev", "told"),
    [
        ([], [with_concept("a", STORY)], [with_concept("a", STORY)], "1 ids are of several documents"),
        ([with_name("a", HEAD)] * 2, [with_concept("a", STORY)], [], "1 ids are of several documents"),
        ([with_name("b", HEAD)], [with_concept("a", STORY)], [], "1 cases with identifiers are in no part"),
    ],
)
def test_a_case_in_two_parts_or_in_none_is_refused(identified, train, dev, told):
    with pytest.raises(ConfigurationError, match=told) as refused:
        join_cases(identified, {"train": train, "dev": dev, "test": []}, {"NORMALIZABLES"})
    assert "velmicina" not in str(refused.value)


def test_a_case_that_shares_ten_words_with_a_later_part_is_left_out_in_both_corpora():
    told = "Ingresa por tos seca desde hace unos nueve días sin ninguna fiebre y con velmicina"
    texts = {
        "train": [with_concept("copy", f"{told} ayer."), with_concept("own", STORY)],
        "dev": [],
        "test": [with_concept("test", f"Antes: {told}.")],
    }
    cases = join_cases([with_name("copy", HEAD)], texts, {"NORMALIZABLES"})
    kept = keep_cases_apart(cases, texts)
    assert {part: [case.id for case in found] for part, found in kept.items()} == {
        "train": ["own"],
        "dev": [],
        "test": ["test"],
    }
