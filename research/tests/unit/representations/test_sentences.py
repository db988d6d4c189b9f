"""Documents as sentences: every token once, classes and casings beside the words."""

import numpy as np
import pytest
import tiny_representations as tiny

pytest.importorskip("nltk")

from inverse_deid.core.errors import ConfigurationError
from inverse_deid_research.representations.sentences import Casing, casings_of, require_two, sentences_of

NUMBERS = tiny.vectors().numbers()


def test_a_sentence_holds_rows_casings_and_classes():
    (sentence,) = sentences_of([tiny.annotated("[Okonkwo] had unheard FEVER")], NUMBERS)
    assert sentence.rows.tolist() == [NUMBERS["okonkwo"], NUMBERS["had"], 0, NUMBERS["fever"]]
    assert sentence.classes.tolist() == [1, 0, 0, 0]
    written = [Casing.INITIAL_UPPER, Casing.ALL_LOWER, Casing.ALL_LOWER, Casing.ALL_UPPER]
    assert sentence.casings.tolist() == written
    assert sentence.movable.tolist() == [True, False, False, False]
    assert "okonkwo" not in repr(sentence).lower()


def test_casings_of_other_letters():
    assert casings_of(["Ärzte", "élan", "pH", "1b2c3", "٣", "ß7"]).tolist() == [4, 2, 6, 1, 0, 5]
    assert casings_of([]).dtype == np.uint8


def test_documents_without_phi_are_refused():
    with pytest.raises(ConfigurationError, match="no PHI"):
        sentences_of([tiny.annotated("The rash was mild.")], NUMBERS)


def test_unknown_words_alone_are_refused():
    with pytest.raises(ConfigurationError, match="no word of the documents has a vector"):
        sentences_of([tiny.annotated("[Mbeki] besuchte Wien.")], NUMBERS)


def test_one_sentence_is_refused():
    with pytest.raises(ConfigurationError, match="at least two"):
        require_two(sentences_of([tiny.annotated("[Zora] had a rash.")], NUMBERS))
