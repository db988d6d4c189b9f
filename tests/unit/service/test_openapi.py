"""The description is made from types and the table of choices; what the service really does is held against it."""

import hashlib

import jsonschema
import pytest
from fake_maskers import BROKEN_STAGE, CANARY, FakeMasker, mask_capitals
from service_client import client_of
from starlette.routing import Route

from inverse_deid.formats.beside.known_values import values_of
from inverse_deid.service.app import build_app
from inverse_deid.service.clients import Client, Clients
from inverse_deid.service.interface import describe_api
from inverse_deid.service.settings import ServiceSettings

API = describe_api()
SECRET = "not-a-secret-0123456789"
BEARER = {"Authorization": f"Bearer {SECRET}"}
KNOWN = {"name": [CANARY], "date 2": "1980-05-12", "number": "12"}
DOCUMENT = {"id": 7, "text": f"{CANARY} fell", "known": KNOWN}
GOOD = [
    DOCUMENT,
    {**DOCUMENT, "details": "words", "settings": {"operating_point": "strict", "deny": ["Mill Lane"]}},
    {"documents": [DOCUMENT], "details": "masks", "settings": None},
    {"documents": [DOCUMENT, {"id": "b", "text": BROKEN_STAGE, "known": [CANARY]}]},
]
BAD = [
    [],
    {},
    {"id": 7},
    {"id": True, "text": "x"},
    {"id": 1.5, "text": "x"},
    {"id": "", "text": "x"},
    {"id": "x" * 201, "text": "x"},
    {"id": 1, "text": None},
    {"id": 1, "text": "x", "more": 1},
    {"id": 1, "text": "x", "known": 1},
    {"id": 1, "text": "x", "known": {"shoe": "x"}},
    {"documents": []},
    {"documents": [{"id": 1}]},
    {"documents": [DOCUMENT], "more": 1},
    {"documents": [{**DOCUMENT, "settings": {}}]},
    {**DOCUMENT, "details": True},
    {**DOCUMENT, "settings": []},
    {**DOCUMENT, "settings": {"more": 1}},
    {**DOCUMENT, "settings": {"operating_point": "lax"}},
    {**DOCUMENT, "settings": {"dates": "shift"}},
    {**DOCUMENT, "settings": {"deny": [1]}},
    {**DOCUMENT, "settings": {"deny": ["x"] * 1001}},
    {**DOCUMENT, "settings": {"marker": ""}},
    {**DOCUMENT, "settings": {"date_span_years": 18}},
    {**DOCUMENT, "settings": {"today": "tomorrow"}},
    {**DOCUMENT, "settings": {"day_first": 1}},
]


def seldom():
    """Return a client that may ask once a minute."""
    sha256 = hashlib.sha256(SECRET.encode()).hexdigest()
    return Clients([Client(name="seldom", sha256=sha256, requests_per_minute=1)])


def schema(found):
    """A schema of the description that stands alone."""
    return {**found, "components": API["components"]}


def body_schema(path, method, status=None):
    operation = API["paths"][path][method]
    part = operation["requestBody"] if status is None else operation["responses"][str(status)]
    return schema(part["content"]["application/json"]["schema"])


def test_every_route_is_described_and_no_other():
    routes = build_app(lambda chosen: mask_capitals(), ServiceSettings()).routes
    real = {(one.path, m.lower()) for one in routes if isinstance(one, Route) for m in one.methods - {"HEAD"}}
    assert real == {(path, method) for path, methods in API["paths"].items() for method in methods}


def test_it_is_openapi_3_1_with_schemas_of_json_schema():
    assert API["openapi"] == "3.1.0"
    for found in API["components"]["schemas"].values():
        jsonschema.Draft202012Validator.check_schema(found)


@pytest.mark.parametrize("given", GOOD, ids=range(len(GOOD)))
def test_what_is_described_is_taken_and_what_comes_back_is_described(given):
    jsonschema.validate(given, body_schema("/mask", "post"), jsonschema.Draft202012Validator)
    with client_of() as client:
        answer = client.post("/mask", json=given)
        assert answer.status_code == 200
        jsonschema.validate(answer.json(), body_schema("/mask", "post", 200), jsonschema.Draft202012Validator)
        health = client.get("/health").json()
        jsonschema.validate(health, body_schema("/health", "get", 200), jsonschema.Draft202012Validator)


@pytest.mark.parametrize("given", BAD, ids=range(len(BAD)))
def test_what_is_not_described_is_refused(given):
    validator = jsonschema.Draft202012Validator(body_schema("/mask", "post"))
    assert not validator.is_valid(given)
    with client_of() as client:
        answer = client.post("/mask", json=given)
    assert answer.status_code == 422
    jsonschema.validate(answer.json(), body_schema("/mask", "post", 422))


def test_every_refusal_is_described():
    class Broken(FakeMasker):
        def mask_many(self, docs):
            raise KeyError

    answers = []
    with client_of(clients=Clients.of_token(SECRET)) as client:
        answers.append(client.post("/mask", json=DOCUMENT))
    with client_of(clients=seldom()) as client:
        answers += [client.post("/mask", json=DOCUMENT, headers=BEARER) for _ in range(2)][1:]
    with client_of(has_details=False) as client:
        answers.append(client.post("/mask", json={**DOCUMENT, "details": "masks"}))
    with client_of(max_body_bytes=5) as client:
        answers.append(client.post("/mask", json=DOCUMENT))
    with client_of() as client:
        answers.append(client.post("/mask", content="x"))
        answers.append(client.post("/mask", json=[]))
    with client_of(Broken(str.islower)) as client:
        answers.append(client.post("/mask", json=DOCUMENT))
    with client_of(FakeMasker(str.islower, 0.3), seconds=0.05) as client:
        answers.append(client.post("/mask", json=DOCUMENT))
    described = API["paths"]["/mask"]["post"]["responses"]
    assert {str(one.status_code) for one in answers} == set(described) - {"200"}
    for one in answers:
        jsonschema.validate(one.json(), body_schema("/mask", "post", one.status_code))
        named = described[str(one.status_code)].get("headers", {})
        assert {name.lower() for name in named} <= set(one.headers)


def test_the_names_of_known_values_are_those_that_are_read():
    known = API["components"]["schemas"]["Document"]["properties"]["known"]["anyOf"]
    names = known[2]["propertyNames"]["pattern"].removeprefix("^(").split(")")[0].split("|")
    assert all(values_of([(name, "1980-05-12")])[1] == "" for name in names)
    assert all(name in values_of([("shoe", "x")])[1] or name == "other" for name in names)


def test_every_refusal_of_a_file_is_described():
    class Broken(FakeMasker):
        def mask_many(self, docs):
            raise KeyError

    good = {"file": ("x.txt", b"well")}
    answers = []
    with client_of(clients=Clients.of_token(SECRET)) as client:
        answers.append(client.post("/mask-file", files=good))
    with client_of(clients=seldom()) as client:
        answers += [client.post("/mask-file", files=good, headers=BEARER) for _ in range(2)][1:]
    with client_of(max_file_bytes=3) as client:
        answers.append(client.post("/mask-file", files=good))
    with client_of() as client:
        answers.append(client.post("/mask-file", files=good, data={"keep_column": "id"}))
        answers.append(client.post("/mask-file", content="x"))
        answers.append(client.post("/mask-file", files={"file": ("x.exe", b"well")}))
    with client_of(Broken(str.islower)) as client:
        answers.append(client.post("/mask-file", files=good))
    with client_of(FakeMasker(str.islower, 0.3), seconds=0.05) as client:
        answers.append(client.post("/mask-file", files=good))
    described = API["paths"]["/mask-file"]["post"]["responses"]
    assert {str(one.status_code) for one in answers} == set(described) - {"200"}
    for one in answers:
        jsonschema.validate(one.json(), body_schema("/mask-file", "post", one.status_code))


def test_the_fields_of_a_form_are_those_that_are_read():
    schema = API["paths"]["/mask-file"]["post"]["requestBody"]["content"]["multipart/form-data"]["schema"]
    with client_of() as client:
        problem = client.post("/mask-file", files={"file": ("x.txt", b"x")}, data={"more": "1"}).json()[
            "error"
        ]
    assert set(problem.partition("The fields are ")[2].split(", ")) == set(schema["properties"])


def test_the_settings_and_their_values_are_those_that_are_read():
    settings = API["components"]["schemas"]["Settings"]["properties"]
    with client_of() as client:
        problem = client.post("/mask", json={**DOCUMENT, "settings": {"more": 1}}).json()["error"]
        assert set(problem.partition("the settings are ")[2].split(", ")) == set(settings)
        for name in ("operating_point", "dates", "ages", "age_bands", "replace"):
            for value in settings[name]["anyOf"][0]["enum"]:
                problem = client.post("/mask", json={**DOCUMENT, "settings": {name: value}}).text
                assert "must be one of" not in problem, (name, value)


def test_every_operation_is_on_the_page():
    with client_of() as client:
        page = client.get("/docs").text
    for path, methods in API["paths"].items():
        for method in methods:
            assert f"<code>{method.upper()} {path}</code>" in page
    for name in API["components"]["schemas"]["Settings"]["properties"]:
        assert f"<code>{name}</code>" in page
