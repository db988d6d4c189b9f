import pytest

from inverse_deid.core.phi import HyperClass
from inverse_deid.lexicon import load_lexicon
from inverse_deid.rules.medical_words import MedicalWords

NAME, PLACE, ID, JOB = HyperClass.NAME, HyperClass.PLACE, HyperClass.ID, HyperClass.PROFESSION


@pytest.fixture(scope="module")
def words():
    return MedicalWords(load_lexicon())


@pytest.mark.parametrize(
    ("text", "category"),
    [
        ("Benadryl", NAME),
        ("Dr Benadryl", NAME),
        ("ZOSTAVAX", PLACE),
        ("aspirin", JOB),
        ("Shingles", NAME),
        ("Fever", PLACE),
        ("Fever", HyperClass.SAFE),
        ("ALT 4512", ID),
        ("ASA", NAME),
        ("DM", NAME),
    ],
)
def test_drugs_and_medical_terms(words, text, category):
    assert words.among(text.split(), category)


@pytest.mark.parametrize(
    ("text", "category"),
    [
        ("Margaret Smith", NAME),
        ("Charles", NAME),
        ("Zebulonova", NAME),
        ("T O", NAME),
        ("Northmoor Clinic", PLACE),
        ("12 Mill Lane", PLACE),
        ("Boston MA", PLACE),
        ("MRN 458213", ID),
        ("Study 4711", ID),
        ("teacher", JOB),
        ("", NAME),
    ],
)
def test_names_labels_and_occupations(words, text, category):
    assert not words.among(text.split(), category)
