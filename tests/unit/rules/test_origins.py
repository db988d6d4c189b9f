"""Words of nationality, ethnicity, religion and language: found, and not found in clinical terms."""

import pytest

from inverse_deid.core.errors import ConfigurationError
from inverse_deid.rules.origins import OriginWords, load_origins
from inverse_deid.text.tokenizer import tokenize


def found(text):
    tokens = tokenize(text)
    return [
        word for word, is_origin in zip(tokens.words, load_origins().among(tokens), strict=True) if is_origin
    ]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a practising Catholic", ["Catholic"]),
        ("a practising Zogist", ["Zogist"]),
        ("a nurse of Punjabi origin", ["Punjabi"]),
        ("a man of Zogian descent", ["Zogian"]),
        ("of mixed Zogian and Ruritanian heritage", ["Zogian", "and", "Ruritanian"]),
        ("she is a Jehovah's Witness", ["Jehovah", "s", "Witness"]),
        ("two Jehovah\u2019s Witnesses", ["Jehovah", "s", "Witnesses"]),
        ("a M\u0101ori woman, a maori man", ["M\u0101ori", "maori"]),
        ("speaks Urdu", ["Urdu"]),
        ("speaks only Zogese", ["Zogese"]),
        ("needs a Russian interpreter", ["Russian"]),
        ("a Zogese-speaking man", ["Zogese"]),
        ("60 yo CAUCASIAN male", ["CAUCASIAN"]),
        ("African-American", ["African", "American"]),
        ("a black female", ["black"]),
        ("Ethnicity: Zog", ["Zog"]),
        ("race: black", ["black"]),
        ("Religion is zogism", ["zogism"]),
        ("Nigerians and Hindus", ["Nigerians", "Hindus"]),
        ("a Polish plumber", ["Polish"]),
        ("a French tourist", ["French"]),
    ],
)
def test_an_origin_is_found(text, words):
    assert found(text) == words


@pytest.mark.parametrize(
    "text",
    [
        "Spanish flu in 1918",
        "Japanese encephalitis vaccine",
        "Indian childhood cirrhosis",
        "German measles",
        "a 14 French catheter and an 8-French sheath",
        "nail polish and black stool",
        "white count 12, brown urine",
        "familial Mediterranean fever",
        "American Heart Association",
        "Syrian hamster ovary",
        "pain of cardiac origin",
        "fever of unknown origin",
        "Race: unknown",
        "she spoke with Grace",
        "a race against time",
        "first language-impaired",
        "Chinese hamster",
        "",
    ],
)
def test_clinical_terms_are_no_origin(text):
    assert found(text) == []


def test_a_list_with_an_unknown_table_is_refused(tmp_path):
    path = tmp_path / "origins.toml"
    path.write_text("[other]\nwords = 'a'\n")
    with pytest.raises(ConfigurationError, match=r"origins\.toml"):
        OriginWords(path)
