"""Words and eponyms of terminologies."""

import pytest

from inverse_deid.lexicon.licensed import eponym_phrases, medical_words

NAMES = {"parkinson", "brown", "stevens", "johnson", "bell", "will"}.__contains__


def test_names_are_no_medical_words() -> None:
    words = medical_words(["Parkinson disease", "Acute pain", "Mild Brown syndrome"], NAMES)
    assert words == {"disease", "acute", "pain", "mild", "syndrome"}


def test_a_name_in_lower_case_is_a_word() -> None:
    assert "brown" in medical_words(["Tumour of brown fat"], NAMES)


@pytest.mark.parametrize(
    ("label", "phrases"),
    [
        ("Parkinson's disease", {"parkinson s disease"}),
        ("Severe Stevens-Johnson syndrome", {"stevens johnson syndrome"}),
        ("Bell palsy, Bell phenomenon", {"bell palsy", "bell phenomenon"}),
        ("Johnson", set()),
        ("johnson syndrome", set()),
        ("Acute renal syndrome", set()),
        ("Bell likes pain in any disease", set()),
    ],
)
def test_eponyms_run_from_the_name_to_the_head(label: str, phrases: set[str]) -> None:
    assert eponym_phrases([label], NAMES) == phrases
