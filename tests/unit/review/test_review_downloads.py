"""Released files for download: a zip with a run report, or one file; checked by reading them back."""

import dataclasses
import gzip
import hashlib
import io
import json
import os
import sqlite3
import zipfile
from datetime import date

import lxml.html
import pandas as pd
import pytest
from fake_maskers import mask_capitals
from review_stores import FACTS, KEY, TEXT, change_rows, json_lines, review, store_of, user
from sqlalchemy import select

from inverse_deid.core.errors import ReviewError
from inverse_deid.formats.records import ReadOptions
from inverse_deid.replacement.settings import CaseSettings
from inverse_deid.review.files.exporting import export_released, released_file, released_zip, write_old_names
from inverse_deid.review.files.intake import LoadSettings, add_cases, plan_cases
from inverse_deid.review.store.sources import list_sources
from inverse_deid.review.store.tables import INTAKES, SOURCES
from inverse_deid.review.store.trail import export_trail, verify_store
from inverse_deid.review.store.values import CaseState, ReviewPolicy

CANARY = "Zebulonova"


KEPT = ReadOptions(keep_columns=("country",), keep_unchecked=("visit",))


def settings_of(facts=FACTS, **more):
    cases = CaseSettings(today=date(2024, 1, 1), key=KEY.secret)
    return LoadSettings(policy=ReviewPolicy(approvals=1), facts=facts, cases=cases, **more)


@pytest.fixture
def store(tmp_path):
    """Three files: two of one name, of which all cases are released, and a table with one of two released."""
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "cases.jsonl").write_text(json.dumps({"id": "x1", "text": f"by {CANARY}"}) + "\n")
    (tmp_path / "t.csv").write_text(
        f"id,text,dob,visit,country\n7,Seen by Li,1980,a,FI\n8,{CANARY} well,1981,b,SE\n"
    )
    made = store_of(
        tmp_path, inputs=[json_lines(tmp_path / "cases.jsonl", [TEXT, "by Bo"])], settings=settings_of()
    )
    with made as store:
        facts = dataclasses.replace(FACTS, marker="XXX", fingerprint="fingerprint of the second")
        options = settings_of(facts=facts, read_options=KEPT)
        for path, settings in ((tmp_path / "b", settings_of()), (tmp_path / "t.csv", options)):
            assert not add_cases(store, plan_cases([path])[0], mask_capitals(), settings, by="eve").failures
        ann = user(store, "ann")
        for case_id in (1, 2, 3, 4):
            assert review(store, ann, case_id) is CaseState.RELEASED
        yield store


def unpack(data):
    with zipfile.ZipFile(io.BytesIO(data)) as packed:
        assert packed.testzip() is None
        return {name: packed.read(name) for name in packed.namelist()}


def pack(store, **more):
    stream = io.BytesIO()
    exported = released_zip(store, stream, **more)
    return exported, unpack(stream.getvalue())


def test_the_zip_has_the_same_files_as_an_export(store, tmp_path):
    exported, files = pack(store)
    assert (exported.n_cases, exported.n_left_out, exported.problems) == (4, 1, ())
    assert [path.name for path in exported.files] == ["cases.jsonl", "cases (2).jsonl", "t (1 of 2).csv"]
    del files["run-report.json"], files["release-report.html"]
    export_released(store, tmp_path / "out")
    files["t.csv"] = files.pop("t (1 of 2).csv")
    assert files == {path.name: path.read_bytes() for path in (tmp_path / "out").iterdir()}
    assert files["t.csv"] == b"id,text,visit,country\n7,XXX by XXX,a,FI\n"
    assert exported.columns["dob"] == "dropped"


NUMBERED = {
    "document-0001.jsonl": ["case-0001", "case-0002"],
    "document-0002.jsonl": ["case-0003"],
    "document-0003 (1 of 2).csv": ["case-0004"],
}


def ids_of(files):
    """Return the ids in downloaded files, by name."""
    name = next(name for name in files if name.startswith("document-0003"))
    table = files[name].decode().splitlines()[1:]
    lines = {name: data.splitlines() for name, data in files.items() if name.endswith(".jsonl")}
    found = {name: [json.loads(line)["id"] for line in rows] for name, rows in lines.items()}
    return found | {name: [row.split(",")[0] for row in table]}


def old_names(store):
    stream = io.BytesIO()
    write_old_names(store, stream, by="carl")
    return stream.getvalue().decode()


def page_of(files):
    """Return the text of the report for people, without its style."""
    page = lxml.html.fromstring(files["release-report.html"])
    for style in page.findall(".//style"):
        style.drop_tree()
    return " ".join(page.text_content().split())


def test_the_report_for_people_says_what_when_by_whom_and_how(store):
    _, files = pack(store, by="carl")
    page = page_of(files)
    report = json.loads(files["run-report.json"])
    assert "4 documents were released to these files on " in page and " UTC by carl." in page
    assert "1 document was left out" in page
    assert "ann: 4 documents" in page
    assert "What should happen to dates? Hide them" in page
    assert "Which columns were copied without a check? visit" in page
    assert "Columns dropped: dob" in page
    n_words, n_masked = (sum(one[name] for one in report["files"]) for name in ("n_words", "n_masked"))
    assert f"They have {n_words} words, of which {n_masked} are hidden." in page
    assert n_masked == sum(
        data.count(b"PHI") + data.count(b"XXX") for name, data in files.items() if "report" not in name
    )
    for name, data in files.items():
        if "report" not in name:
            assert f"{name}: {hashlib.sha256(data).hexdigest()}" in page
    assert CANARY not in page and b"<script" not in files["release-report.html"]


def test_numbers_replace_names_and_ids_in_a_zip_and_its_report(store):
    _, files = pack(store, renames=True)
    assert not any(old in files["release-report.html"] for old in (b"cases.jsonl", b"t.csv"))
    assert ids_of(files) == NUMBERED
    report = json.loads(files["run-report.json"])
    assert [one["file"] for one in report["files"]] == list(NUMBERED)
    assert not any(old in files["run-report.json"] for old in (b"cases.jsonl", b"t.csv"))


def test_the_list_of_old_names_has_all_files_and_ids_and_is_apart(store):
    assert old_names(store).splitlines() == [
        "kind,old,new",
        "file,cases.jsonl,document-0001",
        "file,cases (2).jsonl,document-0002",
        "file,t.csv,document-0003",
        *(f"id,{old},case-000{n}" for n, old in enumerate(("c1", "c2", "x1", "7", "8"), 1)),
    ]


def test_part_of_the_cases_has_the_numbers_of_the_list(store, tmp_path):
    before = old_names(store)
    (tmp_path / "later.jsonl").write_text('{"id": "a0", "text": "by Li"}\n')
    add_cases(store, plan_cases([tmp_path / "later.jsonl"])[0], mask_capitals(), settings_of(), by="eve")
    stream = io.BytesIO()
    exported = released_file(store, 2, stream, renames=True)
    assert [str(path) for path in exported.files] == ["document-0002.jsonl"]
    assert json.loads(stream.getvalue())["id"] == "case-0003"
    assert set(before.splitlines()) < set(old_names(store).splitlines())


def test_an_export_with_numbers_continues_its_list(store, tmp_path):
    listed = tmp_path / "apart" / "names.csv"
    listed.parent.mkdir()
    listed.write_text("kind,old,new\nid,x1,case-0041\n")
    exported = export_released(store, tmp_path / "out", rename=listed)
    assert exported.problems == ()
    found = ids_of({path.name: path.read_bytes() for path in sorted((tmp_path / "out").iterdir())})
    assert list(found) == [name.replace(" (1 of 2)", "") for name in NUMBERED]
    assert list(found.values()) == [["case-0042", "case-0043"], ["case-0041"], ["case-0044"]]
    assert "file,t.csv,document-0003" in listed.read_text()
    if os.name == "posix":
        assert listed.stat().st_mode & 0o777 == 0o600


def test_the_report_has_counts_settings_and_hashes_and_no_text(store):
    _, files = pack(store)
    assert CANARY.encode() not in b"".join(files.values()) and b"Okonkwo" not in files["run-report.json"]
    report = json.loads(files["run-report.json"])
    assert (report["n_cases"], report["n_cases_left_out"], report["n_problems"]) == (4, 1, 0)
    assert report["policy"]["approvals"] == 1
    listed = {one["file"]: one for one in report["files"]}
    assert {name: one["n_cases"] for name, one in listed.items()} == {
        "cases.jsonl": 2,
        "cases (2).jsonl": 1,
        "t (1 of 2).csv": 1,
    }
    for name, one in listed.items():
        assert one["sha256"] == hashlib.sha256(files[name]).hexdigest()
        assert one["bytes"] == len(files[name])
    assert [listed[name]["settings"] for name in files if name in listed] == [1, 1, 2]
    first, second = report["settings"]
    assert (first["masking"]["marker"], second["masking"]["marker"]) == ("PHI", "XXX")
    assert (second["keep_columns"], second["keep_unchecked"]) == (["country"], ["visit"])
    assert second["profile"]["name"] == "third-party"
    assert second["cases"]["dates"] == "mask" and "key" not in second["cases"]


def test_hashes_of_originals_and_words_cannot_be_guessed(store, tmp_path):
    _, files = pack(store)
    report = files["run-report.json"].decode()
    for path in (tmp_path / "cases.jsonl", tmp_path / "b" / "cases.jsonl", tmp_path / "t.csv"):
        assert hashlib.sha256(path.read_bytes()).hexdigest() not in report
    assert "fingerprint of the second" not in report and KEY.secret.decode() not in report


def test_the_name_of_a_part_says_how_many_cases_are_in_it(tmp_path):
    data = "".join(json.dumps({"id": f"c{n}", "text": "well"}) + "\n" for n in range(3)).encode()
    (tmp_path / "a.b.jsonl.gz").write_bytes(gzip.compress(data))
    with store_of(tmp_path, inputs=[tmp_path / "a.b.jsonl.gz"], settings=settings_of()) as store:
        ann = user(store, "ann")
        review(store, ann, 1)
        review(store, ann, 2)
        exported = released_file(store, 1, io.BytesIO(), by="ann")
    assert [str(path) for path in exported.files] == ["a.b (2 of 3).jsonl"]


def test_cases_can_be_chosen(store):
    exported, files = pack(store, case_ids=[2, 4, 5, 99])
    assert exported.n_cases == 2 and set(files) == {
        "cases (1 of 2).jsonl",
        "t (1 of 2).csv",
        "run-report.json",
        "release-report.html",
    }
    assert [json.loads(line)["id"] for line in files["cases (1 of 2).jsonl"].splitlines()] == ["c2"]


@pytest.mark.parametrize("case_ids", [(), (5,), (99,)])
def test_a_zip_without_a_released_case_is_refused(store, case_ids):
    with pytest.raises(ReviewError, match="no case is released"):
        released_zip(store, io.BytesIO(), case_ids=case_ids)


def test_a_target_that_cannot_seek_is_enough(store):
    class Pipe(io.RawIOBase):
        data = b""

        def writable(self):
            return True

        def write(self, data):
            self.data += bytes(data)
            return len(data)

    pipe = Pipe()
    released_zip(store, pipe)
    assert "run-report.json" in unpack(pipe.data)


def test_one_file_is_written_as_the_export_writes_it(store, tmp_path):
    export_released(store, tmp_path / "out")
    assert len(list_sources(store)) == 3
    for source in list_sources(store):
        stream = io.BytesIO()
        exported = released_file(store, source.id, stream, by="ann")
        assert stream.getvalue() == (tmp_path / "out" / source.name).read_bytes()
        assert [str(path) for path in exported.files] == [source.name.replace("t.csv", "t (1 of 2).csv")]
        assert exported.n_cases == source.n_released


def test_one_file_without_a_released_case_writes_nothing(tmp_path):
    with store_of(tmp_path) as store:
        for source_id in (1, 7):
            stream = io.BytesIO()
            with pytest.raises(ReviewError, match=f"file {source_id} has no released case"):
                released_file(store, source_id, stream)
            assert not stream.getvalue()


def test_downloads_are_in_the_trail(store, tmp_path):
    pack(store, by="carl")
    released_file(store, 2, io.BytesIO(), by="dora")
    old_names(store)
    export_trail(store, tmp_path / "trail.jsonl")
    entries = [json.loads(line)["entry"] for line in (tmp_path / "trail.jsonl").read_text().splitlines()[:-1]]
    assert [(one["user"], one["event"]) for one in entries[-3:]] == [
        ("carl", "released text downloaded: 4 cases"),
        ("dora", "released text of file 2 downloaded: 1 cases"),
        ("carl", "list of old names downloaded"),
    ]
    assert verify_store(store).is_intact


def test_a_forged_state_is_not_in_the_zip(tmp_path):
    with store_of(tmp_path, ["by Li"]) as store:
        raw = sqlite3.connect(tmp_path / "review.db")
        raw.execute("update cases set state = 'released'")
        raw.commit()
        raw.close()
        with pytest.raises(ReviewError, match="cases 1 was altered"):
            released_zip(store, io.BytesIO())


def test_a_name_that_leads_out_of_the_zip_is_refused(store, tmp_path):
    raw = sqlite3.connect(tmp_path / "review.db")
    raw.execute("update intakes set export_name = '../../x.csv' where source_id = 3")
    raw.commit()
    raw.close()
    exported, files = pack(store)
    assert exported.problems == ("intakes 3 was altered outside the program",)
    assert not any("x.csv" in name for name in files)
    with pytest.raises(ReviewError, match="has no released case"):
        released_file(store, 3, io.BytesIO())


def test_a_source_called_like_the_report_keeps_both(tmp_path):
    path = tmp_path / "run-report.json.txt"
    path.write_text("by Li")
    with store_of(tmp_path, inputs=[path], approvals=1) as store:
        with store.reading() as transaction:
            source = transaction.execute(select(SOURCES)).one()
            name = transaction.names.seal(source.name_key, "Run-Report.json")
        change_rows(store, INTAKES, INTAKES.c.source_id == 1, export_name=name)
        review(store, user(store, "ann"))
        _, files = pack(store)
    assert set(files) == {"run-report.json", "release-report.html", "Run-Report (2).json"}
    assert json.loads(files["run-report.json"])["n_cases"] == 1


def test_a_parquet_file_needs_all_rows(tmp_path):
    path = tmp_path / "t.parquet"
    pd.DataFrame([{"id": str(i), "text": "by Li"} for i in range(2)]).to_parquet(path)
    with store_of(tmp_path, inputs=[path], approvals=1) as store:
        ann = user(store, "ann")
        review(store, ann, 1)
        with pytest.raises(ReviewError, match="1 rows are not released"):
            released_zip(store, io.BytesIO())
        review(store, ann, 2)
        _, files = pack(store)
        stream = io.BytesIO()
        released_file(store, 1, stream)
    assert files["t.parquet"] == stream.getvalue()
    assert pd.read_parquet(io.BytesIO(files["t.parquet"]))["text"].tolist() == ["by PHI"] * 2


def test_the_reports_count_records_with_faults_and_do_not_name_them(tmp_path):
    (tmp_path / "cases.jsonl").write_text('{"id": "c1", "text": "by Li"}\n{"id": "c2"}\n')
    with store_of(tmp_path, inputs=[tmp_path / "cases.jsonl"], approvals=1) as store:
        review(store, user(store, "ann"))
        _, files = pack(store)
    found = json.loads(files["run-report.json"])["files"][0]["found"]
    assert "1 record, attachment or other part was left out or masked completely" in found
    assert "1 record, attachment or other part was left out or masked completely." in page_of(files)
