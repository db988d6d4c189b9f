"""What linear models are told of a token, and what they have to say."""

from inverse_deid.core.phi import PhiType
from inverse_deid.core.values import PhiSpan
from inverse_deid.lexicon import load_lexicon
from inverse_deid.text.tokenizer import tokenize
from inverse_deid_research.comparison.learning_systems import (
    TokenFeatures,
    bio_labels,
    hyper_labels,
    shape,
)


def test_all_features_of_one_token_are_as_written_down_here():
    found = TokenFeatures(None).of(tokenize("Mr. McKay, 40mg"))
    assert found[1] == [
        "0:word=McKay",
        "0:lower=mckay",
        "0:shape=XxXx",
        "0:full-shape=XxXxx",
        "0:length=5",
        "0:begins=m",
        "0:ends=y",
        "0:begins=mc",
        "0:ends=ay",
        "0:begins=mck",
        "0:ends=kay",
        "0:begins=mcka",
        "0:ends=ckay",
        "-2:none",
        "-1:lower=mr",
        "-1:shape=Xx",
        "1:lower=40mg",
        "1:shape=dx",
        "2:none",
        "gap-before=. ",
        "gap-after=, ",
    ]


def test_of_long_gaps_the_nearest_characters_are_told():
    first, second = TokenFeatures(None).of(tokenize("(a; \n\t- b)"))
    assert "gap-before=(" in first
    assert "gap-after=; \n" in first
    assert "gap-before=\t- " in second
    assert "gap-after=)" in second


def test_the_lexicon_tells_of_a_token_and_its_neighbours():
    rash, aspirin = TokenFeatures(load_lexicon()).of(tokenize("rash aspirin"))
    assert "0:list=MEDICAL" in rash
    assert "0:list=DRUG" in aspirin
    assert "1:list=DRUG" in rash
    assert not any("PHRASE_START" in feature for feature in rash + aspirin)
    assert "0:list=none" in TokenFeatures(load_lexicon()).of(tokenize("qzxv"))[0]


def test_a_text_without_tokens_has_no_features():
    assert TokenFeatures(None).of(tokenize(" .. ")) == []


def test_shapes_of_letters_and_digits():
    assert shape("Éa9") == "Xxd"
    assert shape("李") == "x"


def test_labels_begin_anew_with_every_span():
    text = "Ann Li Velmo 3May2019x at"
    spans = [
        PhiSpan(0, 6, PhiType.PATIENT),
        PhiSpan(7, 12, PhiType.DOCTOR),
        PhiSpan(13, 21, PhiType.DATE),
    ]
    tokens = tokenize(text)
    assert bio_labels(tokens, spans) == ["B-NAME", "I-NAME", "B-NAME", "B-DATE", "O"]
    assert hyper_labels(tokens, spans) == ["NAME", "NAME", "NAME", "DATE", "SAFE"]
    assert bio_labels(tokens, []) == ["O"] * 5
    assert bio_labels(tokenize(""), []) == []
