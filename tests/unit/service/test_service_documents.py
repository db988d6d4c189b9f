import dataclasses
import json

import pytest
from fake_maskers import CANARY, mask_capitals

from inverse_deid.core.errors import FormatError
from inverse_deid.core.values import KnownIdentifier, KnownSort
from inverse_deid.service.documents import answer_of, read_request


def read(given, max_documents=10):
    return read_request(json.dumps(given).encode(), max_documents)


def test_one_document_goes_back_as_one():
    request = read({"id": "a", "text": f"{CANARY} fell"})
    answer = answer_of(request, mask_capitals().mask_many(request.docs), "strict")
    assert answer == {
        "id": "a",
        "text": "PHI fell",
        "operating_point": "strict",
        "n_tokens": 2,
        "n_masked": 1,
        "failed": False,
    }


def test_many_go_back_in_their_order_with_their_ids():
    request = read({"documents": [{"id": 7, "text": "well"}, {"id": 7, "text": "Bad"}]})
    answer = answer_of(request, mask_capitals().mask_many(request.docs), "balanced")
    assert [(one["id"], one["text"]) for one in answer["documents"]] == [(7, "well"), (7, "PHI")]


@pytest.mark.parametrize(
    ("known", "expected"),
    [
        (None, ()),
        (CANARY, (KnownIdentifier(CANARY, KnownSort.OTHER),)),
        ([CANARY], (KnownIdentifier(CANARY, KnownSort.OTHER),)),
        (
            {"name": [CANARY], "date": "1980-05-12"},
            (KnownIdentifier(CANARY, KnownSort.NAME), KnownIdentifier("19800512", KnownSort.DATE)),
        ),
    ],
)
def test_known_identifiers(known, expected):
    assert read({"id": 1, "text": "x", "known": known}).docs[0].known == expected


BAD = [
    ([], "must be an object"),
    (CANARY, "must be an object"),
    ({"documents": {CANARY: 1}}, "documents must be a list"),
    ({"documents": []}, "1 to 10. The request has 0"),
    ({"documents": [{"id": 1, "text": CANARY}] * 11}, "1 to 10. The request has 11"),
    ({"documents": [{"id": 1, "text": "x"}], CANARY: 1}, "only settings and details"),
    (
        {"documents": [{"id": 1, "text": "x"}, {"id": 2, "text": [CANARY]}]},
        "^document 2: text must be a string$",
    ),
    ({"id": CANARY, "text": None}, "text must be a string"),
    ({"id": CANARY}, "text must be a string"),
    ({"text": CANARY}, "id must be"),
    ({"id": True, "text": CANARY}, "id must be"),
    ({"id": 1.5, "text": CANARY}, "id must be"),
    ({"id": "", "text": CANARY}, "id must be"),
    ({"id": CANARY * 30, "text": CANARY}, "id must be"),
    ({"id": 2**70, "text": CANARY}, "id must be"),
    ({"id": None, "text": 5}, "id must be .*; text must be"),
    ({"id": 1, "text": "x", CANARY: 1}, "the fields are details, id, known, settings, text"),
    ({"id": 1, "text": "x", "known": 5}, "known must be a list"),
    ({"id": 1, "text": "x", "known": [CANARY, 5]}, "known must be a list"),
    ({"id": 1, "text": "x", "known": {"name": {CANARY: 1}}}, "known must be a list"),
    ({"id": 1, "text": "x", "known": {CANARY: "x"}}, "known has an unknown column"),
    ({"id": 1, "text": "x", "known": {"date": CANARY}}, "known has a date"),
    ({"id": 1, "text": "x", "known": [CANARY] * 1001}, "at most 1000"),
]


@pytest.mark.parametrize(("given", "said"), BAD, ids=range(len(BAD)))
def test_what_is_wrong_is_said_in_one_line_without_a_value(given, said):
    with pytest.raises(FormatError, match=said) as caught:
        read(given)
    assert CANARY not in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("body", [b"", b"{", b"\xff", b"[" * 100_000, b'{"id": NaN1}', f'"{CANARY}'.encode()])
def test_a_body_that_is_no_json(body):
    with pytest.raises(FormatError) as caught:
        read_request(body, 10)
    assert "is not JSON" in str(caught.value)
    assert caught.value.__context__ is None


def answer(text, details, masker=None):
    request = read({"id": 1, "text": text, "details": details})
    return answer_of(request, (masker or mask_capitals()).mask_many(request.docs), "balanced")


def test_details_are_left_out_unless_asked_for():
    assert answer(f"{CANARY} fell", None).keys() == answer("well", None).keys()
    assert not {"masks", "words"} & answer(f"{CANARY} fell", None).keys()
    assert "words" not in answer(f"{CANARY} fell", "masks")


@pytest.mark.parametrize(
    "text",
    [
        f"seen by {CANARY} today, then \U0001d518 and {CANARY}-{CANARY}\r\nwell",
        "\u202ewell\u202c done \ud800",
        "",
        " ",
        CANARY,
    ],
)
def test_details_name_the_places_of_both_texts(text):
    found = answer(text, "words")
    assert json.dumps(found)
    for mask in found["masks"]:
        assert found["text"][mask["shown_start"] : mask["shown_end"]] in (
            "PHI",
            "□",
            "",
        )  # an unseen sign is left out
        assert mask["why"]
        assert all(CANARY not in line for line in mask["why"])
    for word in found["words"]:
        shown = text[word["start"] : word["end"]]
        inside = any(mask["start"] <= word["start"] < mask["end"] for mask in found["masks"])
        assert (word["decision"] == "mask") is inside is not shown.islower()
    assert CANARY not in json.dumps(found)


def test_warnings_say_what_cannot_be_seen():
    request = read({"id": 1, "text": "well"})
    masked = mask_capitals().mask_many(request.docs)
    assert "warnings" not in answer_of(request, masked, "balanced")
    odd = [dataclasses.replace(masked[0], other_language=True, is_plain=True)]
    assert answer_of(request, odd, "balanced")["warnings"] == ["not-english", "markers-only"]
