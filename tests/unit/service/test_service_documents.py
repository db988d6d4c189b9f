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
