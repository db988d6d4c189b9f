"""`inverse-deid mask --rename`: numbered names and ids, and a list that is kept apart."""

import csv
import io
import json
import stat
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from fake_maskers import CANARY

NOTE = "Okonkwo had urticaria on 12 May."


@pytest.fixture
def listed(tmp_path) -> Path:
    return tmp_path / "kept apart" / "names.csv"


def fill(folder: Path) -> None:
    """Files of every kind that has names or ids; every name and id holds the canary."""
    deep = folder / f"ward {CANARY}"
    deep.mkdir()
    (deep / f"{CANARY}.txt").write_text(NOTE)
    rows = [f"{CANARY}-{number}" for number in (1, 2, 1)]
    lines = [json.dumps({"id": one, "text": NOTE}) for one in [*rows, 17]]
    (deep / "b.jsonl").write_text("\n".join([*lines, json.dumps({"text": NOTE})]))
    table = "".join(f"{one},{NOTE}\n" for one in [*rows, f"{CANARY}-3"])
    (folder / f"c {CANARY}.csv").write_text("id,text\n" + table)
    pq.write_table(pa.table({"id": rows, "text": [NOTE] * 3}), folder / "d.parquet")


def read_rows(path: Path) -> dict[str, str]:
    rows = list(csv.DictReader(io.StringIO(path.read_text())))
    assert {row["kind"] for row in rows} <= {"file", "part", "id"}
    assert len({row["new"] for row in rows}) == len(rows)
    return {row["old"]: row["new"] for row in rows}


def read_tree(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_names_and_ids_are_numbers_everywhere(command, given, out, listed, tmp_path):
    fill(given)
    report = tmp_path / "report.json"
    result = command("mask", given, "--out", out, "--rename", listed, "--explain", "--run-report", report)
    assert result.status == 0
    assert "CONFIDENTIAL" in next(line for line in result.stderr.splitlines() if "names.csv" in line)
    tree = read_tree(out)
    written = {"document-0001.csv", "document-0002.parquet", "document-0003.txt", "document-0004.jsonl"}
    assert {name for name in tree if not name.startswith(".")} == written | {
        f"{name}.explain.jsonl" for name in written
    }
    for name, data in (*tree.items(), ("report", report.read_bytes())):
        assert CANARY.encode() not in data, name
    assert pq.read_table(out / "document-0002.parquet")["id"].to_pylist() == [
        "case-0001",
        "case-0002",
        "case-0001",
    ]
    cells = list(csv.DictReader(io.StringIO(tree["document-0001.csv"].decode())))
    assert [cell["id"] for cell in cells] == ["case-0001", "case-0002", "case-0001", "case-0003"]
    ids = [json.loads(line)["id"] for line in tree["document-0004.jsonl"].splitlines()]
    assert ids == ["case-0001", "case-0002", "case-0001", "case-0004", "5"]  # a position is no name
    explained = tree["document-0004.jsonl.explain.jsonl"].splitlines()
    assert [json.loads(line)["id"] for line in explained] == ids
    assert json.loads(tree["document-0003.txt.explain.jsonl"])["id"] == "document-0003.txt"


def test_the_list_says_which_was_which_and_is_for_its_owner_alone(command, given, out, listed):
    fill(given)
    assert command("mask", given, "--out", out, "--rename", listed).status == 0
    assert stat.S_IMODE(listed.stat().st_mode) == 0o600
    names = read_rows(listed)
    assert names[f"{CANARY}-2"] == "case-0002"
    assert names["17"] == "case-0004"
    path = given / f"ward {CANARY}" / f"{CANARY}.txt"
    assert names[str(path.resolve())] == "document-0003"


def test_a_second_run_gives_the_same_names(command, given, out, listed, tmp_path):
    fill(given)
    assert command("mask", given, "--out", out, "--rename", listed).status == 0
    first, before = read_tree(out), listed.read_bytes()
    again = tmp_path / "again"
    assert command("mask", given, "--out", again, "--rename", listed).status == 0
    kept = {name: data for name, data in first.items() if not name.startswith(".")}
    assert {name: data for name, data in read_tree(again).items() if not name.startswith(".")} == kept
    assert listed.read_bytes() == before


def test_a_list_is_continued(command, given, out, listed):
    (given / "m.csv").write_text(f"id,text\nb,{NOTE}\n")
    assert command("mask", given, "--out", out, "--rename", listed).status == 0
    (given / "a.csv").write_text(f"id,text\na,{NOTE}\nb,{NOTE}\n")
    result = command("mask", given, "--out", out, "--rename", listed, "--force")
    assert result.status == 0
    assert (out / "document-0001.csv").read_text() == "id,text\ncase-0001,PHI had urticaria on PHI.\n"
    assert (out / "document-0002.csv").read_text().splitlines()[1:] == [
        "case-0002,PHI had urticaria on PHI.",
        "case-0001,PHI had urticaria on PHI.",
    ]


def test_a_resumed_run_keeps_the_numbers(command, given, out, listed):
    (given / "m.txt").write_text(NOTE)
    (given / "n.txt").write_bytes(b"\xff")
    assert command("mask", given, "--out", out, "--rename", listed).status == 1
    stamp = (out / "document-0001.txt").stat().st_mtime_ns
    (given / "n.txt").write_text("well")
    (given / "a.txt").write_text("better")
    assert command("mask", given, "--out", out, "--rename", listed, "--resume").status == 0
    assert (out / "document-0001.txt").stat().st_mtime_ns == stamp
    assert (out / "document-0002.txt").read_text() == "well"
    assert (out / "document-0003.txt").read_text() == "better"


def test_the_original_id_still_counts_for_what_replaces_words(command, given, out, listed, tmp_path):
    """Shifts and known identifiers belong to the original id, whatever the new one is."""
    (given / "a.csv").write_text(f"id,text\n7,{NOTE.lower()}\n")
    (given / "b.txt").write_text(NOTE.lower())
    known = tmp_path / "known.jsonl"
    known.write_text("".join(json.dumps({"id": one, "known": ["okonkwo"]}) + "\n" for one in ("7", "b.txt")))
    result = command("mask", given, "--out", out, "--rename", listed, "--known", known)
    assert result.status == 0, result.stderr


def test_names_of_failed_files_stay_out_of_the_report(command, given, out, listed, tmp_path):
    (given / f"{CANARY} a.jsonl").write_text('{"id": "x", "text": "well"}\nno JSON\n')
    (given / f"{CANARY} b.txt").write_bytes(b"\xff\xff")
    (given / f"{CANARY}.strange").write_bytes(b"x")
    report = tmp_path / "report.json"
    result = command("mask", given, "--out", out, "--rename", listed, "--run-report", report)
    assert result.status == 1
    assert f"{CANARY} a.jsonl line 2" in result.stderr  # the user must find the file
    assert CANARY not in report.read_text()
    where = [one["where"] for one in json.loads(report.read_text())["total"]["failures"]]
    assert sorted(where) == ["an input", "document-0001.jsonl line 2", "document-0002.txt"]
    found = read_tree(out)
    assert found
    for name, data in found.items():
        assert CANARY.encode() not in data, name


@pytest.mark.parametrize("place", ["out/names.csv", "in/names.csv", "in/a.txt", "maps/deep/names.csv"])
def test_a_list_is_never_where_it_would_be_shared_or_masked(command, given, out, tmp_path, place):
    (given / "a.txt").write_text(NOTE)
    key = tmp_path / "key"
    key.write_bytes(b"sixteen bytes or more")
    options = ("--map", tmp_path / "maps", "--key", key)
    result = command("mask", given, "--out", out, "--rename", tmp_path / place, *options)
    assert result.status == 2
    assert "--rename" in result.stderr
    assert not (tmp_path / "out").exists()
    assert (given / "a.txt").read_text() == NOTE


@pytest.mark.parametrize(
    "content",
    [
        "id,text\n1,well\n",
        "kind,old,new\nid,a\n",
        "kind,old,new\nid,a,case-1\n",
        "kind,old,new\nid,a,case-0001\nid,b,case-0001\n",
        "kind,old,new\nid,a,case-0001\nid,a,case-0002\n",
        'kind,old,new\nid,"a',
        b"kind,old,new\nid,\xff,case-0001\n",
    ],
)
def test_another_file_is_not_taken_for_a_list(command, given, out, listed, content):
    (given / "a.txt").write_text(NOTE)
    listed.parent.mkdir()
    data = content if isinstance(content, bytes) else content.encode()
    listed.write_bytes(data)
    result = command("mask", given, "--out", out, "--rename", listed, "--force")
    assert result.status == 2
    assert "names.csv" in result.stderr
    assert listed.read_bytes() == data
    assert not out.exists()


def test_a_formula_in_a_name_is_not_run_by_a_spreadsheet(command, given, out, listed):
    (given / "a.csv").write_text(f"id,text\n=1+1,{NOTE}\n'=1+1,{NOTE}\n")
    for _ in range(2):
        assert command("mask", given, "--out", out, "--rename", listed, "--force").status == 0
        assert [row[1:] for row in csv.reader(io.StringIO(listed.read_text()))][2:] == [
            ["'=1+1", "case-0001"],
            ["''=1+1", "case-0002"],
        ]


def test_a_cluster_and_a_pipe_cannot_rename(command, given, out, listed):
    for options in ((given, "--out", out, "--engine", "ray"), ("-",)):
        result = command("mask", *options, "--rename", listed)
        assert result.status == 2
        assert "--rename" in result.stderr
