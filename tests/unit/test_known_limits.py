"""More or longer known values than can be looked for: refused, never passed over."""

from __future__ import annotations

import io
import json

import pytest
from case_maskers import masker_of

from inverse_deid.core.errors import FormatError
from inverse_deid.core.values import Document, KnownIdentifier, KnownSort, find_known_problem
from inverse_deid.formats.beside.known_values import read_known_values
from inverse_deid.formats.icsr.source import read_reports
from inverse_deid.formats.records import ReadOptions
from inverse_deid.masking.case_reports import texts_of
from inverse_deid.rules.known_identifiers import KnownIdentifiers
from inverse_deid.service.documents import read_request
from inverse_deid.text.tokenizer import tokenize

TOO_MUCH = {
    "96,000 characters": ["x" * 96_000],
    "1,001 characters": ["x" * 1001],
    "101 words": ["a " * 101],
    "2,001 known values": [f"A{n}" for n in range(2001)],
    "together": [f"{n:03} " + "x" * 900 for n in range(23)],
}
AT_THE_LIMITS = [["x" * 1000], ["a " * 100], [f"A{n}" for n in range(2000)], ["x" * 1000] * 20]


@pytest.mark.parametrize(("said", "known"), TOO_MUCH.items())
def test_each_limit_is_named_with_what_was_given(said: str, known: list[str]) -> None:
    problem = find_known_problem(known)
    assert said in problem
    assert "limit is" in problem
    assert not any(value in problem for value in known)
    with pytest.raises(FormatError, match=said):
        KnownIdentifiers(known)


@pytest.mark.parametrize("known", AT_THE_LIMITS)
def test_what_is_within_the_limits_is_looked_for(known: list[str]) -> None:
    assert find_known_problem(known) == ""
    found = KnownIdentifiers(known).among(tokenize(known[-1]))
    assert found.size
    assert found.all()


@pytest.mark.parametrize(("said", "known"), TOO_MUCH.items())
def test_a_document_beyond_them_comes_back_masked_alone(said: str, known: list[str]) -> None:
    docs = [Document("1", "fever and rash", known=tuple(known)), Document("2", "fever and rash")]
    masked = masker_of().mask_many(docs)
    assert [doc.failed for doc in masked] == [True, False]
    assert [doc.text for doc in masked] == ["PHI", "fever and rash"]


@pytest.mark.parametrize(("said", "known"), TOO_MUCH.items())
@pytest.mark.parametrize("is_json", [True, False])
def test_a_sidecar_beyond_them_is_refused_with_its_row(tmp_path, said: str, known: list[str], is_json: bool):
    path = tmp_path / ("known.jsonl" if is_json else "known.csv")
    if is_json:
        path.write_text(json.dumps({"id": 7, "known": known}))
    else:
        columns = ",".join(f"name {i}" for i in range(len(known)))
        path.write_text(f"id,{columns}\n7,{','.join(known)}\n")
    with pytest.raises(FormatError, match=rf"row \d \(id 7\) .*{said}"):
        read_known_values(path)


@pytest.mark.parametrize("said", [said for said in TOO_MUCH if "2,001" not in said])
def test_a_request_beyond_them_is_refused(said: str) -> None:
    body = json.dumps({"id": 1, "text": "x", "known": TOO_MUCH[said]}).encode()
    with pytest.raises(FormatError, match=f"document 1: known .*{said}"):
        read_request(body, 10)


def _report(persons: str) -> bytes:
    return (
        f'<ichicsr lang="en"><safetyreport><safetyreportid>SE-X-1</safetyreportid>{persons}<patient><summary>'
        "<narrativeincludeclinical>Well.</narrativeincludeclinical></summary></patient></safetyreport></ichicsr>"
    ).encode()


def _texts(data: bytes):
    source = read_reports(io.BytesIO(data), ReadOptions(), "cases.xml")
    (record,) = (record for record in source.records() if not record.is_frame)
    return texts_of(record)


def test_many_reporters_are_not_paired_with_each_other() -> None:
    """Of 40 reporters 40 whole names, not 1,600."""
    people = "".join(
        f"<primarysource><reportergivename>Amara{n}</reportergivename>"
        f"<reporterfamilyname>Okonkwo{n}</reporterfamilyname></primarysource>"
        for n in range(40)
    )
    texts = _texts(_report(people))
    known = {value.value for value in texts.docs[0].known if " " in value.value}
    assert known == {f"Amara{n} Okonkwo{n}" for n in range(40)}
    assert texts.docs[0].known[-1] == KnownIdentifier("Amara39 Okonkwo39", KnownSort.NAME)
    assert texts.problem == ""


def test_a_case_report_with_a_value_beyond_them_has_a_problem() -> None:
    person = f"<primarysource><reporterfamilyname>{'x' * 1001}</reporterfamilyname></primarysource>"
    assert "1,001 characters" in _texts(_report(person)).problem
