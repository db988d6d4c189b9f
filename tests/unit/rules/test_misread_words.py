"""Words with characters that optical recognition mistook; names and codes are never taken for one."""

import pytest

from inverse_deid.core.values import Document
from inverse_deid.lexicon import load_lexicon
from inverse_deid.masking.assemble import MaskingSettings, build_deidentifier
from inverse_deid.rules.misread_words import MisreadWords


@pytest.fixture(scope="module")
def words():
    return MisreadWords(load_lexicon())


@pytest.fixture(scope="module")
def deidentifier():
    return build_deidentifier(MaskingSettings())


@pytest.mark.parametrize(
    ("word", "meant"),
    [("rec0vered", "recovered"), ("Hosp1tal", ""), ("hospita1", "hospital"), ("patieut", "patient"), ("vaecine", "vaccine"),
     ("HYPERTEN5ION", "HYPERTENSION"), ("5ystemic", "systemic"), ("evaluavi0n", "evaluation"), ("vhe", "the")],
)  # fmt: skip
def test_a_misread_word_means_the_only_safe_word_near_it(words, word, meant):
    assert words.meant(word) == meant


@pytest.mark.parametrize(
    "word",
    ["A1B2C3", "tablet5", "visit1", "5days", "0k0nkw0", "Ok0nkwo", "P3tel", "sm1th", "m1ller", "W1lliams", "suite5",
     "B10073", "1179K", "patient", "Whitfield", "20O5", "", "日本語日本語"],
)  # fmt: skip
def test_names_codes_and_numbers_mean_what_is_written(words, word):
    assert words.meant(word) == ""


def kept(deidentifier, text):
    masked = deidentifier.mask(Document("1", text))
    return {word for word, keep in zip(masked.tokens.words, masked.decisions.keep, strict=True) if keep}


def test_misread_words_are_kept_where_they_are_words(deidentifier):
    text = "The patieut had a headaehe after the vaccinati0n and rec0vered vhe next morning."
    assert {"patieut", "headaehe", "vaccinati0n", "rec0vered", "vhe"} <= kept(deidentifier, text)


@pytest.mark.parametrize(
    "text",
    ["The rash was noted by Patieut in the ward.", "Seen by Mr. Patieut today.", "Write to patieut@clinic.example today.",
     "See www.rec0vered.example/patieut for it.", "The code is 77-patieut-12 there."],
)  # fmt: skip
def test_misread_words_stay_masked_where_a_name_or_a_code_may_stand(deidentifier, text):
    assert not {"Patieut", "patieut", "rec0vered"} & kept(deidentifier, text)


def test_a_short_misread_word_needs_a_sure_one_beside_it(deidentifier):
    assert "vhe" not in kept(deidentifier, "She was in vhe ward.")
    assert "vhe" in kept(deidentifier, "She was in vhe ward with severe headaehe.")
