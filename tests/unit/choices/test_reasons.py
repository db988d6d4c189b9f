import pytest
from fake_maskers import BROKEN_STAGE, CANARY, mask_capitals

from inverse_deid.choices.names import CLASS_NAMES
from inverse_deid.choices.reasons import (
    describe_reason,
    describe_sureness,
    explain_document,
)
from inverse_deid.core.phi import HyperClass
from inverse_deid.core.values import Document, Reason

JARGON = ("p_safe", "threshold", "token", "network", "model", "logit", "probab", "veto", "class", "PHI")


@pytest.mark.parametrize("reason", Reason)
@pytest.mark.parametrize("category", [None, *CLASS_NAMES])
def test_every_reason_is_a_sentence_without_jargon(reason, category):
    said = describe_reason(reason, 0.5, category, follows_title=not reason.keeps)
    assert said.startswith("Kept: " if reason.keeps else "Masked: ")
    assert said.endswith("sure that this is not an identifier.")
    assert not [word for word in JARGON if word in said.replace("A profession", "")]


def test_every_category_has_a_name():
    assert set(CLASS_NAMES) == set(HyperClass) - {HyperClass.SAFE}


@pytest.mark.parametrize(
    ("p_safe", "said"),
    [
        (0.0, "less than 1 %"),
        (0.00999, "less than 1 %"),
        (0.01, "1 %"),
        (0.9, "90 %"),
        (0.94999, "94 %"),
        (0.95, "95.0 %"),
        (0.9994, "99.9 %"),
        (0.9996, "more than 99.9 %"),
        (1.0, "more than 99.9 %"),
    ],
)
def test_a_percentage_never_rounds_up_to_certainty(p_safe, said):
    assert describe_sureness(p_safe) == said


def test_the_words_of_a_document_in_order():
    text = f"seen by Dr. {CANARY} and Mr. {CANARY}, not Drs-\n{CANARY}"
    found = list(explain_document(mask_capitals().mask_many([Document("1", text)])[0]))
    assert [text[one.start : one.end] for one in found] == text.replace(",", "").replace(".", "").replace(
        "-\n", " "
    ).split()
    said = {(text[one.start : one.end], "follows a title" in one.why) for one in found}
    assert (CANARY, True) in said
    assert ("seen", False) in said
    assert all(CANARY not in one.why and CANARY not in repr(one) for one in found)
    assert {one.category for one in found if one.keep} == {None}
    assert {one.p_safe for one in found if not one.keep} == {None}


def test_a_document_that_failed():
    masked = mask_capitals().mask_many([Document("1", f"{BROKEN_STAGE} fell")])[0]
    assert all(not one.keep for one in explain_document(masked))
