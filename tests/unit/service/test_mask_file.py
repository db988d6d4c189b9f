"""Files over HTTP: masked in memory, whole or not at all, in the format that was sent."""

import asyncio
import csv
import hashlib
import io
import json
import multiprocessing
import sys
import tempfile
import zipfile

import psutil
import pytest
from fake_maskers import BROKEN_STAGE, CANARY, FakeMasker
from icsr_canaries import sample
from pdf_files import below, of_nested_forms, of_pages, shown
from service_client import ServiceClient, client_of
from starlette.datastructures import Headers

from inverse_deid.choices.table import PERMITS
from inverse_deid.core.errors import FormatError
from inverse_deid.masking.assemble import MaskingSettings, build_deidentifier, load_parts
from inverse_deid.masking.case_masker import CaseMasker
from inverse_deid.service.choices import Operator
from inverse_deid.service.clients import Client, Clients
from inverse_deid.service.files import read_file_form
from inverse_deid.service.settings import ServiceSettings

ALL = Operator(permits=frozenset(PERMITS))


def send(client, name, content, **fields):
    return client.post("/mask-file", files={"file": (name, content)}, data=fields)


@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        ("case.txt", f"{CANARY} fell\r\n".encode(), b"PHI fell\r\n"),
        ("CASE.TXT", f"{CANARY} fell".encode(), b"PHI fell"),
        (
            "cases.jsonl",
            json.dumps({"id": 1, "text": f"{CANARY} fell"}).encode(),
            b'{"id": 1, "text": "PHI fell"}',
        ),
        ("cases.csv", f"id,text,dob\n7,{CANARY} fell,x\n".encode(), b"id,text\n7,PHI fell\n"),
        ("cases.tsv", f"id\ttext\n7\t{CANARY} fell\n".encode(), b"id\ttext\n7\tPHI fell\n"),
    ],
)
def test_a_file_goes_back_in_its_format(name, content, expected):
    with client_of() as client:
        answer = send(client, name, content)
    assert (answer.status_code, answer.content.rstrip(b"\n")) == (200, expected.rstrip(b"\n"))
    suffix = name.lower()[-6:].partition(".")[2]
    assert answer.headers["content-disposition"] == f'attachment; filename="masked.{suffix}"'
    assert answer.headers["content-type"] == "application/octet-stream"
    assert answer.headers["cache-control"] == "no-store"
    counts = json.loads(answer.headers["inverse-deid-counts"])
    assert (counts["n_documents"], counts["failed"]) == (1, 0)


@pytest.mark.parametrize(
    "name", ["", "../../etc/passwd.txt", "..\\..\\x.txt", "a\x00b.txt", "é" * 300 + ".txt", ".txt"]
)
def test_the_name_is_a_suffix_and_nothing_else(name):
    with client_of() as client:
        answer = send(client, name, f"{CANARY} fell".encode(), format="text")
    assert answer.status_code in (200, 422)
    if answer.status_code == 200:
        assert answer.headers["content-disposition"] in (
            'attachment; filename="masked.txt"',
            'attachment; filename="masked"',
        )


def test_columns_are_chosen_and_copied_only_with_a_permit():
    content = f"case;id;narrative;more;country\nX;7;{CANARY} fell;Bad luck;SE\n".encode()
    fields = {"text_column": ["narrative", "more"], "delimiter": ";"}
    with client_of() as client:
        for own in ({}, {"id_column": "id"}):
            answer = send(client, "x.csv", content, **fields, **own)
            assert answer.content == b"id;narrative;more\n7;PHI fell;PHI luck\n"
        for copied in ({"keep_column": "country"}, {"keep_all_columns": "true"}, {"id_column": "case"}):
            refused = send(client, "x.csv", content, **fields, **copied)
            assert (refused.status_code, "permit" in refused.json()["error"]) == (403, True)
    with client_of(operator=ALL) as client:
        answer = send(client, "x.csv", content, **fields, keep_column="country", id_column="case")
        assert answer.content == b"case;narrative;more;country\nX;PHI fell;PHI luck;SE\n"


def test_a_kept_column_is_checked():
    content = f"id,text,country,seen\n7,{CANARY} fell,SE,{CANARY}\n".encode()
    with client_of(operator=ALL) as client:
        refused = send(client, "x.csv", content, keep_column=["country", "seen"])
        assert refused.status_code == 422
        assert "row 2, column 'seen': a kept column must not contain a name" in refused.json()["error"]
        assert "keep_unchecked" in refused.json()["error"]
        assert CANARY not in refused.text
        answer = send(client, "x.csv", content, keep_column="country", keep_unchecked="seen")
        assert answer.content == f"id,text,country,seen\n7,PHI fell,SE,{CANARY}\n".encode()
    with client_of() as client:
        assert send(client, "x.csv", content, keep_unchecked="seen").status_code == 403


def test_warnings_name_no_file_of_an_archive_and_fit_in_a_header():
    openpyxl = pytest.importorskip("openpyxl", reason="no openpyxl; pip install '.[office]'")
    workbook = openpyxl.Workbook()
    for row in (["case", "text"], ["7", "fell"]):
        workbook.active.append(row)
    for _ in range(30):
        sheet = workbook.create_sheet()
        for row in (["text"], ["fell"]):
            sheet.append(row)
    packed, archive = io.BytesIO(), io.BytesIO()
    workbook.save(packed)
    with zipfile.ZipFile(archive, "w") as made:
        made.writestr(f"{CANARY} (old).xlsx", packed.getvalue())
    with client_of(operator=ALL) as client:
        answer = send(client, "x.zip", archive.getvalue(), id_column="case")
    assert answer.status_code == 200
    warnings = json.loads(answer.headers["inverse-deid-counts"])["warnings"]
    assert warnings[0] == "file.zip file 1 sheet 2: has no column 'case'. The numbers of its rows are the ids"
    assert (len(warnings), warnings[-1]) == (21, "... and 10 more")
    assert CANARY not in str(answer.headers)


def test_the_encoding_is_found_out_and_said_unless_it_is_named():
    content = f"{CANARY} fällt".encode("cp1252")
    with client_of() as client:
        found = send(client, "x.txt", content)
        named = send(client, "x.txt", content, encoding="utf-8")
    assert found.content == "PHI fällt".encode()
    assert json.loads(found.headers["inverse-deid-counts"])["read_as"] == {"windows-1252": 1}
    assert (named.status_code, "is not utf-8 text" in named.text) == (422, True)


def test_a_missing_column_lists_those_there_are():
    with client_of() as client:
        answer = send(client, "x.csv", b"id,narrative,country\n1,x,y\n")
    assert answer.status_code == 422
    assert answer.json()["error"] == "no column named 'text'. It has: id, narrative, country. Use text_column"


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("x.exe", b"x", "file type that is not known"),
        ("x", b"x", "file type that is not known"),
        ("x.txt", b"", "is empty"),
        ("x.docx", CANARY.encode(), ""),
        ("x.csv", f"text,b\nx,y\n{CANARY}\n".encode(), "row 3 has 1 cells, not 2"),
        ("x.csv", f'text\n"{CANARY}\n'.encode(), "row 2"),
        ("x.jsonl", f'{{"id": 1, "text": "x"}}\n{{"{CANARY}"\n'.encode(), "line 2"),
        ("x.xml", f"<a>{CANARY}</a>".encode(), ""),
        ("x.parquet", CANARY.encode(), ""),
        ("x.txt.gz", b"\x1f\x8b", "Unpack it"),
    ],
)
def test_a_file_that_cannot_be_masked_whole_is_refused(name, content, said):
    with client_of() as client:
        answer = send(client, name, content)
    problem = answer.json()["error"]
    assert (answer.status_code, CANARY in answer.text, "\n" in problem) == (422, False, False)
    assert said in problem, problem


@pytest.mark.parametrize(
    "fields",
    [
        {CANARY: "x"},
        {"settings": CANARY},
        {"settings": f'"{CANARY}"'},
        {"settings": f'{{"{CANARY}": 1}}'},
        {"settings": '{"deny": ["a"], "deny": []}'},
        {"settings": ["{}", "{}"]},
        {"format": CANARY},
        {"delimiter": CANARY},
        {"encoding": CANARY},
        {"encoding": "unicode_escape"},
        {"keep_all_columns": CANARY},
        {"text_column": ["text", "text"]},
        {"text_column": "id", "id_column": "id"},
    ],
    ids=repr,
)
def test_fields_that_cannot_be_used(fields):
    with client_of(operator=ALL) as client:
        answer = send(client, "x.csv", b"id,text\n1,x\n", **fields)
    assert (answer.status_code, CANARY in answer.text) == (422, False)


def test_a_field_that_is_a_file_and_a_file_that_is_a_field():
    with client_of() as client:
        for parts in (
            {"settings": ("a.json", b"{}"), "file": ("x.txt", b"well")},
            {"settings": ("a.json", b"{}")},
            {"file": (None, b"well")},
        ):
            answer = client.post("/mask-file", files=parts)
            assert answer.status_code == 422, answer.text


@pytest.mark.parametrize(
    "body",
    [b"", b"x", b"--b\r\n", b"--b\r\nContent-Disposition: form-data\r\n\r\nx\r\n--b--\r\n", b"--b" * 1000],
)
def test_a_broken_form(body):
    with client_of() as client:
        for kind in ("multipart/form-data; boundary=b", "multipart/form-data"):
            answer = client.post("/mask-file", content=body, headers={"content-type": kind})
            assert answer.status_code == 422, answer.text


def test_settings_hold_for_the_records_of_a_file():
    seen = []

    class Noting(FakeMasker):
        def mask_many(self, docs):
            seen.append(len(docs))
            return super().mask_many(docs)

    content = b"".join(json.dumps({"id": n, "text": "well " * 2000}).encode() + b"\n" for n in range(20))
    with client_of(Noting(str.islower)) as client:
        answer = send(client, "x.jsonl", content, settings='{"operating_point": "strict"}')
    assert answer.status_code == 200
    assert answer.content.count(b"\n") == 20
    # A long file is masked in several batches, so that others do not wait long.
    assert sum(seen) == 20
    assert max(seen) < 20


def test_a_document_that_fails_is_masked_completely_and_counted():
    content = f"{BROKEN_STAGE} {CANARY} fell".encode()
    with client_of() as client:
        answer = send(client, "x.txt", content)
    assert answer.status_code == 200
    assert b"fell" not in answer.content
    assert json.loads(answer.headers["inverse-deid-counts"])["failed"] == 1


@pytest.mark.parametrize("dialect", ["r2", "r3"])
def test_a_case_report_is_masked_with_its_fields(dialect):
    with client_of() as client:
        answer = send(client, "x.xml", sample(dialect))
    assert answer.status_code == 200, answer.text
    assert answer.content not in (b"", sample(dialect))
    assert json.loads(answer.headers["inverse-deid-counts"])["n_documents"] >= 1


def test_the_words_of_a_file_that_is_refused_at_its_end_are_counted():
    client = Client(
        name="ward-7", sha256=hashlib.sha256(b"a-token-of-a-client").hexdigest(), words_per_minute=2
    )
    lines = b"".join(json.dumps({"id": n, "text": "well again now"}).encode() + b"\n" for n in range(9_000))
    form = {"files": {"file": ("x.jsonl", lines + b"{")}}
    with client_of(clients=Clients([client])) as service:
        answers = [
            service.post("/mask-file", **form, headers={"Authorization": "Bearer a-token-of-a-client"})
            for _ in range(2)
        ]
    assert [one.status_code for one in answers] == [422, 429]


def test_a_file_whose_time_is_over_is_not_masked_further():
    masker = FakeMasker(str.islower, 0.2)
    content = b"".join(json.dumps({"id": n, "text": "well " * 20_000}).encode() + b"\n" for n in range(20))
    with client_of(masker, seconds=0.5) as client:
        answer = send(client, "x.jsonl", content)
        assert (answer.status_code, answer.headers["retry-after"]) == (503, "1")
        client.run(asyncio.sleep(0.5))
        n_batches = len(masker.batch_sizes)
        client.run(asyncio.sleep(0.6))
    assert len(masker.batch_sizes) == n_batches < 20


@pytest.mark.slow
def test_the_process_that_reads_a_file_ends_with_the_time_of_the_request():
    lines = "\n".join(["was seen in the house"] * 60)
    with client_of() as client:  # starts both processes
        assert [send(client, "x.txt", b"well").status_code for _ in range(2)] == [200, 200]
    with client_of(seconds=3) as client:
        assert send(client, "x.pdf", of_pages(*[shown(below(lines))] * 600)).status_code == 503
        client.run(asyncio.sleep(0.5))
        readers = [psutil.Process(one.pid) for one in multiprocessing.active_children() if one.daemon]
        assert all(one.cpu_percent(0.2) < 50 for one in readers)
    with client_of() as client:
        assert send(client, "x.pdf", of_pages(shown(below("well")))).status_code == 200


@pytest.mark.skipif(sys.platform != "linux", reason="limits of Linux")
def test_a_file_that_takes_too_much_memory_is_refused():
    with client_of() as client:
        answer = send(client, "x.pdf", of_nested_forms())
    assert answer.status_code == 422
    assert answer.json()["error"].startswith("could not be read within 512 MB of memory and 30 s.")


def test_dates_and_ages_of_case_reports_are_replaced_in_the_file():
    settings = MaskingSettings()
    parts = load_parts(settings)
    chosen = json.dumps({"dates": "relative-day", "ages": "band", "age_bands": "10-years"})
    with ServiceClient(
        None,
        ServiceSettings(operator=ALL),
        lambda one: CaseMasker(build_deidentifier(one.masking, parts), one.cases),
    ) as client:
        replaced = send(client, "x.xml", sample("r3"), settings=chosen)
        masked = send(client, "x.xml", sample("r3"))
    assert (replaced.status_code, masked.status_code) == (200, 200)
    assert replaced.content != masked.content


@pytest.mark.parametrize("size", [2_000, 3_000_000])
def test_a_file_stays_in_memory(size, monkeypatch):
    def refuse(*_args, **_options):
        raise AssertionError("a file on the disk")

    monkeypatch.setattr(tempfile._TemporaryFileWrapper, "__init__", refuse)
    monkeypatch.setattr(tempfile.SpooledTemporaryFile, "rollover", refuse)
    monkeypatch.setattr(tempfile, "TemporaryFile", refuse)
    with client_of() as client:
        assert (
            send(
                client, "x.csv", b"text,other\n" + (b"well," + b"x" * 994 + b"\n") * (size // 1000)
            ).status_code
            == 200
        )


@pytest.mark.parametrize("size", [1001, 6_000_000])
def test_a_file_that_is_too_large(size):
    with client_of(max_file_bytes=1000) as client:
        answer = send(client, "x.txt", b"x" * size)
        assert (answer.status_code, answer.headers["connection"]) == (413, "close")
        assert send(client, "x.txt", b"well").status_code == 200


def test_a_text_of_a_file_that_is_longer_than_a_request_is_refused():
    with client_of(max_body_bytes=1000) as client:
        answer = send(client, "x.jsonl", json.dumps({"id": 1, "text": "well " * 201}).encode())
        assert (answer.status_code, "1,005 characters" in answer.json()["error"]) == (422, True)
        assert (
            send(client, "x.jsonl", json.dumps({"id": 1, "text": "well " * 200}).encode()).status_code == 200
        )


def test_too_many_fields():
    with client_of() as client:
        answer = send(client, "x.csv", b"text\nx\n", text_column=[f"c{n}" for n in range(70)])
        assert answer.status_code == 422


def test_a_spreadsheet_formula_stays_text():
    with client_of() as client:
        answer = send(client, "x.csv", b"text\n=1+1 was well\n")
    assert next(csv.reader(io.StringIO(answer.text.partition("\n")[2])))[0].startswith("'=")


def test_the_form_is_read_in_pieces_of_any_size():
    body = (
        b'--b\r\nContent-Disposition: form-data; name="file"; filename="x.txt"\r\n\r\nwell\r\n'
        b'--b\r\nContent-Disposition: form-data; name="text_column"\r\n\r\nnarrative\r\n--b--\r\n'
    )

    async def pieces():
        for i in range(len(body)):
            yield body[i : i + 1]

    headers = Headers({"content-type": "multipart/form-data; boundary=b"})
    given = asyncio.run(read_file_form(headers, pieces(), 100))
    assert (given.content, given.suffix, given.options.text_columns) == (b"well", ".txt", ("narrative",))
    assert "well" not in repr(given)


def test_a_cut_form_is_refused():
    async def cut():
        yield b'--b\r\nContent-Disposition: form-data; name="file"; filename="x.txt"\r\n\r\nwell'

    headers = Headers({"content-type": "multipart/form-data; boundary=b"})
    with pytest.raises(FormatError):
        asyncio.run(read_file_form(headers, cut(), 100))
