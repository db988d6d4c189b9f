"""What the thesis does otherwise than the product: characters, weights, rules."""

import numpy as np
import pytest

from inverse_deid.core.phi import PhiType
from inverse_deid.core.values import Document, PhiSpan
from inverse_deid.masking.combine import combine
from inverse_deid.network.config import NetworkConfig
from inverse_deid.network.encoding import WordVectors
from inverse_deid.training.corpora.synthetic import generate_documents
from inverse_deid_research.studies.scoring import analyse_corpus
from inverse_deid_research.thesis.judging import PAIRS
from inverse_deid_research.thesis.published import (
    PERSON_TYPES,
    encode_as_published,
    invent_names,
    judge_as_published,
    sample_records,
    weigh_types,
)

VECTORS = WordVectors((), np.zeros((0, 4), np.int8), np.ones(4, np.float32))


def variant(**given):
    return NetworkConfig(**{"feature_set": "none", "targets": "fine", "word_dim": 4, **given})


def words_of(text, **given):
    return encode_as_published([Document("a", text)], variant(**given), VECTORS)[0].words


def test_characters_have_no_case_in_every_variant():
    for features in ("none", "casing"):
        assert words_of("Dr SMITH", post_space=False, feature_set=features) == ["dr", "smith"]


def test_up_to_three_characters_after_a_token_end_its_sequence():
    assert words_of("Born 3/4,  ... now", post_space=True) == ["born ", "3/", "4,  ", "now"]


def test_a_rarer_type_weighs_more():
    doc = Document("a", " ".join(["ann"] + ["x"] * 999), (PhiSpan(0, 3, PhiType.PATIENT),))
    (example,) = weigh_types(encode_as_published([doc], variant(), VECTORS), variant())
    assert example.weights[:2].tolist() == [3.0, 1.0]


def test_published_rules_have_no_veto():
    corpus = analyse_corpus("a", [Document("a", "Call 555-010-7788 about nausea on Monday, Dr. Okonkwo")])
    verdicts = judge_as_published(corpus)
    words = corpus.tokens[0].words
    assert not (verdicts.veto | verdicts.name | verdicts.maybe_name | verdicts.fact).any()
    assert [word for word, never in zip(words, verdicts.never, strict=True) if never] == ["Monday"]
    assert "nausea" in [word for word, safe in zip(words, verdicts.safe, strict=True) if safe]


@pytest.mark.parametrize(
    ("text", "is_kept", "is_kept_in_the_other_reading"),
    [
        ("She took four tablets", {"She", "took", "four", "tablets"}, {"She", "took", "tablets"}),
        ("at Thanksgiving", {"at", "Thanksgiving"}, {"at"}),
        ("on Monday", {"on"}, {"on"}),
        ("in March", {"in"}, {"in"}),
        ("a street", {"a"}, {"a"}),
    ],
)
def test_a_number_word_or_holiday_of_a_safe_list_can_be_kept_to_the_letter(
    text, is_kept, is_kept_in_the_other_reading
):
    corpus = analyse_corpus("a", [Document("a", text)])
    p_safe, nothing = np.ones(len(corpus.types), np.float32), np.zeros(len(corpus.types), np.uint8)
    for always, expected in ((False, is_kept), (True, is_kept_in_the_other_reading)):
        keep = combine(judge_as_published(corpus, always=always), p_safe, nothing, PAIRS["low"]).keep
        assert {word for word, kept in zip(corpus.tokens[0].words, keep, strict=True) if kept} == expected


def test_a_holiday_in_no_safe_list_and_a_number_that_may_be_a_name_are_never_kept():
    corpus = analyse_corpus("a", [Document("a", "seven since Halloween")])
    verdicts = judge_as_published(corpus)
    assert verdicts.never.tolist() == [True, False, True]
    assert not verdicts.safe[[0, 2]].any()


def test_names_alone_are_annotated_in_invented_names():
    docs = invent_names(40, 3)
    assert {span.type for doc in docs for span in doc.spans} == set(PERSON_TYPES)
    assert [doc.text for doc in docs] == [doc.text for doc in generate_documents(40, 3)]


def test_the_published_combiner_keeps_a_number_the_network_is_sure_of():
    corpus = analyse_corpus("a", [Document("a", "Call 555-010-7788 now")])
    p_safe = np.full(len(corpus.types), 0.96, np.float32)
    nothing = np.zeros(len(p_safe), np.uint8)
    assert combine(judge_as_published(corpus), p_safe, nothing, PAIRS["high"]).keep.all()
    assert not combine(corpus.verdicts("literal"), p_safe, nothing, PAIRS["high"]).keep.all()


def test_sample_records_are_annotated_where_their_marks_were():
    docs = sample_records()
    found = [doc.text[span.start : span.end] for doc in docs for span in doc.spans]
    assert len(docs) == 3
    assert {"OKAFOR, JUNE", "Castellano, Rufus T", "baker"} < set(found)
    assert not any("[" in doc.text for doc in docs)
