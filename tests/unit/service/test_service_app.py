import hashlib
import json
import logging
import re

import pytest
from fake_maskers import BROKEN_STAGE, CANARY, FakeMasker
from service_client import client_of

from inverse_deid.service.clients import Client, Clients
from inverse_deid.service.interface import describe_api

SECRET = "not-a-secret-0123456789"
DOCUMENT = {"id": "a", "text": f"{CANARY} fell"}


@pytest.fixture
def client():
    with client_of() as client:
        yield client


def test_one_document(client):
    answer = client.post("/mask", json=DOCUMENT)
    assert answer.status_code == 200
    assert (answer.json()["id"], answer.json()["text"]) == ("a", "PHI fell")
    assert answer.headers["cache-control"] == "no-store"
    assert CANARY not in answer.text


def test_many_documents(client):
    answer = client.post("/mask", json={"documents": [DOCUMENT, {"id": 2, "text": "well 𝔘"}]})
    assert [one["text"] for one in answer.json()["documents"]] == ["PHI fell", "well PHI"]


def test_half_a_character_is_no_error(client):
    answer = client.post(
        "/mask", content=b'{"id": 1, "text": "well \\ud800"}', headers={"content-type": "application/json"}
    )
    assert answer.status_code == 200


def test_a_document_that_fails_is_masked_completely_and_said_so(client):
    answer = client.post("/mask", json={"id": 1, "text": f"{BROKEN_STAGE} {CANARY} fell"}).json()
    assert (answer["failed"], answer["n_masked"], "fell" in answer["text"]) == (True, 3, False)


def test_health_and_description_need_no_document(client):
    assert client.get("/health").json()["status"] == "ok"
    assert client.get("/openapi.json").json() == describe_api()


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [("GET", "/mask", 405), ("POST", "/health", 405), ("GET", f"/{CANARY}", 404), ("GET", "/mask/", 404)],
)
def test_other_routes_are_refused_without_an_echo(client, method, path, status):
    answer = client.request(method, path, follow_redirects=False)
    assert answer.status_code == status
    assert CANARY not in answer.text
    assert answer.json()["error"]


def test_wrong_types_are_named_in_one_line(client):
    answer = client.post("/mask", json={"documents": [DOCUMENT, {"id": 1, "text": [CANARY]}]})
    assert (answer.status_code, answer.json()) == (422, {"error": "document 2: text must be a string"})


def test_a_known_value_that_is_too_long_is_refused_at_once(client):
    answer = client.post("/mask", json=DOCUMENT | {"known": [CANARY * 10_000]})
    assert answer.status_code == 422
    assert "document 1: known has a known value of 100,000 characters; the limit is 1,000" in answer.text
    assert CANARY not in answer.text


def test_another_content_type_is_refused(client):
    answer = client.post("/mask", content=json.dumps(DOCUMENT), headers={"content-type": "text/plain"})
    assert answer.status_code == 415


async def in_parts(data):
    for i in range(0, len(data), 100):
        yield data[i : i + 100]


@pytest.mark.parametrize("is_announced", [True, False])
def test_a_large_request_is_refused(is_announced):
    data = json.dumps({"id": 1, "text": CANARY * 200}).encode()
    with client_of(max_body_bytes=1000) as client:
        content = data if is_announced else in_parts(data)
        answer = client.post("/mask", content=content, headers={"content-type": "application/json"})
        assert answer.status_code == 413
        assert CANARY not in answer.text
        assert client.post("/mask", json=DOCUMENT).status_code == 200


def test_a_request_that_takes_too_long_is_refused_and_the_service_goes_on():
    with client_of(FakeMasker(str.islower, 0.5), seconds=0.1) as client:
        answer = client.post("/mask", json=DOCUMENT)
        assert (answer.status_code, answer.headers["retry-after"]) == (503, "1")
        assert client.get("/health").status_code == 200


def test_the_words_of_a_request_whose_time_is_over_are_counted():
    client = Client(name="ward-7", sha256=hashlib.sha256(SECRET.encode()).hexdigest(), words_per_minute=1)
    with client_of(FakeMasker(str.islower, 0.5), seconds=0.1, clients=Clients([client])) as service:
        headers = {"Authorization": f"Bearer {SECRET}"}
        answers = [service.post("/mask", json=DOCUMENT, headers=headers) for _ in range(2)]
    assert [one.status_code for one in answers] == [503, 429]


class Broken(FakeMasker):
    def mask_many(self, docs):
        raise KeyError(docs[0].text)


def test_an_error_of_the_masker_shows_no_text(caplog):
    with client_of(Broken(str.islower)) as client:
        answer = client.post("/mask", json=DOCUMENT)
    assert answer.status_code == 500
    assert CANARY not in answer.text + caplog.text


def test_an_unforeseen_error_shows_no_text(caplog, monkeypatch):
    def broken(*_):
        raise KeyError(CANARY)

    monkeypatch.setattr("inverse_deid.service.app.answer_of", broken)
    with client_of() as client:
        answer = client.post("/mask", json=DOCUMENT)
    assert (answer.status_code, answer.json()) == (500, {"error": "an unforeseen error"})
    assert "KeyError at test_service_app.py" in caplog.text
    assert CANARY not in caplog.text


def test_a_request_leaves_one_line_without_text_or_query(caplog):
    caplog.set_level(logging.INFO, "inverse_deid.service")
    with client_of() as client:
        client.post(f"/mask?name={CANARY}", json=DOCUMENT, headers={"x-name": CANARY})
        client.request(CANARY.upper(), f"/{CANARY}")
    own = [record.getMessage() for record in caplog.records if record.name == "inverse_deid.service"]
    assert len(own) == 2
    assert re.fullmatch(r"POST /mask 200 \d+\.\d ms -", own[0])
    assert re.fullmatch(r"\(other\) \(no such path\) 40\d \d+\.\d ms -", own[1])
    assert CANARY not in "".join(own)


@pytest.mark.parametrize(
    ("header", "status"),
    [
        (f"Bearer {SECRET}", 200),
        (f"bearer {SECRET}", 200),
        (f"Bearer {SECRET}x", 401),
        (f"Bearer {SECRET[:-1]}", 401),
        (f"Basic {SECRET}", 401),
        (SECRET, 401),
        ("Bearer", 401),
        (b"Bearer \xff\xfe", 401),
        (None, 401),
    ],
)
def test_the_token_opens_all_that_takes_a_text(header, status):
    with client_of(clients=Clients.of_token(SECRET)) as client:
        headers = {} if header is None else {"authorization": header}
        answer = client.post("/mask", json=DOCUMENT, headers=headers)
        assert answer.status_code == status
        form = {"file": ("x.txt", b"well")}
        assert client.post("/mask-file", files=form, headers=headers).status_code == status
        for path in ("/health", "/openapi.json", "/", "/docs"):
            assert client.get(path, headers=headers).status_code == 200
        if status == 401:
            assert answer.headers["www-authenticate"] == "Bearer"
            assert SECRET not in answer.text


def test_two_tokens_are_none():
    with client_of(clients=Clients.of_token(SECRET)) as client:
        headers = [("authorization", f"Bearer {SECRET}"), ("authorization", "Bearer x")]
        assert client.post("/mask", json=DOCUMENT, headers=headers).status_code == 401
