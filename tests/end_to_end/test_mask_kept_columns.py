"""A kept column never gives the secret of the text away, whatever the format and the way in."""

import io
import json
from datetime import date, datetime
from types import SimpleNamespace

import openpyxl
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from excel_files import workbook_of

from inverse_deid.cli.main import main

NOTE = "Aged 43, she had her first dose on 12-OCT-2019."
REPLACED = ("--dates", "shift", "--ages", "band", "--age-bands", "10-years")
FORMATS = ("csv", "tsv", "jsonl", "json", "xlsx", "parquet")
KEPT = ("--keep-column", "onset", "--keep-column", "age")


def write(path, rows):
    match path.suffix:
        case ".jsonl":
            path.write_text("".join(json.dumps(row) + "\n" for row in rows))
        case ".json":
            path.write_text(json.dumps(rows))
        case ".xlsx":
            pd.DataFrame(rows).to_excel(path, index=False)
        case ".parquet":
            pd.DataFrame(rows).to_parquet(path, index=False)
        case suffix:
            pd.DataFrame(rows).to_csv(path, index=False, sep="\t" if suffix == ".tsv" else ",")
    return path


def read(path):
    match path.suffix:
        case ".jsonl":
            return [json.loads(line) for line in path.read_text().splitlines()]
        case ".json":
            return json.loads(path.read_text())
        case ".xlsx":
            header, *rows = openpyxl.load_workbook(path).active.iter_rows(values_only=True)
            return [dict(zip(header, row, strict=True)) for row in rows]
        case ".parquet":
            return pq.read_table(path).to_pylist()
        case suffix:
            return pd.read_csv(path, dtype=str, sep="\t" if suffix == ".tsv" else ",").to_dict("records")


@pytest.fixture
def command(capsys, monkeypatch):
    """Runs the command with the real masker."""

    def run(*args, given=b""):
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(given)))
        with pytest.raises(SystemExit) as stopped:
            main([str(arg) for arg in args])
        printed = capsys.readouterr()
        return SimpleNamespace(status=int(stopped.value.code or 0), stdout=printed.out, stderr=printed.err)

    return run


@pytest.fixture
def key(tmp_path):
    path = tmp_path / "key"
    path.write_bytes(b"an invented key of 27 bytes")
    return path


def row(**more):
    return {"id": "P7", "text": NOTE, **more}


@pytest.mark.parametrize("kind", FORMATS)
def test_dates_and_ages_follow_the_text_in_every_format(command, given, out, key, kind):
    rows = [row(onset="2019-10-12", age=43, sex="F"), row(onset="2019-11-12", age=None, sex="M")]
    write(given / f"a.{kind}", rows)
    done = command("mask", given, "--out", out, *REPLACED, "--key", key, *KEPT, "--keep-column", "sex")
    assert done.status == 0, done.stderr
    first, second = read(out / f"a.{kind}")
    day = date.fromisoformat(first["onset"])
    assert day != date(2019, 10, 12)
    assert f"{day:%d-%b-%Y}".upper() in first["text"].upper()
    assert (date.fromisoformat(second["onset"]) - day).days == 31
    assert (first["age"], first["sex"], second["sex"]) == ("40-49", "F", "M")
    assert second["age"] in (None, "") or pd.isna(second["age"])


def test_typed_dates_keep_their_type_and_time(command, given, out, key):
    moment = datetime(2019, 10, 12, 14, 5)
    frame = {
        "id": ["1", "2"],
        "text": [NOTE, "well"],
        "d": [moment, None],
        "age": pa.array([43, None], pa.int16()),
    }
    table = pa.table(frame).append_column("day", pa.array([date(2019, 10, 12), None], pa.date32()))
    pq.write_table(table, given / "a.parquet")
    row = ["1", NOTE, moment, date(2019, 10, 12), 43]
    (given / "a.xlsx").write_bytes(workbook_of(["id", "text", "d", "day", "age"], row))
    kept = [part for name in ("d", "day", "age") for part in ("--keep-column", name)]
    options = ("--dates", "shift", "--ages", "keep-under-90", "--key", key, *kept)
    done = command("mask", given, "--out", out, *options)
    assert done.status == 0, done.stderr
    written = pq.read_table(out / "a.parquet")
    assert written.schema.field("d").type == table.schema.field("d").type
    assert written.schema.field("day").type == pa.date32()
    assert written.schema.field("age").type == pa.int16()
    first, second = written.to_pylist()
    assert first["d"].time() == moment.time()
    assert first["d"].date() == first["day"] != date(2019, 10, 12)
    assert (first["age"], second["d"], second["day"], second["age"]) == (43, None, None, None)
    excel = read(out / "a.xlsx")[0]
    assert (excel["d"], excel["day"].date(), excel["age"]) == (first["d"], first["day"], 43)


def test_typed_dates_become_years_or_days_as_text(command, given, tmp_path):
    table = pa.table({"text": [NOTE], "d": [date(2019, 10, 19)]})
    pq.write_table(table, given / "a.parquet")
    for mode, expected in (("year", "2019"), ("relative-day", "Day +7")):
        done = command("mask", given, "--out", tmp_path / mode, "--dates", mode, "--keep-column", "d")
        assert done.status == 0, done.stderr
        assert read(tmp_path / mode / "a.parquet")[0]["d"] == expected


@pytest.mark.parametrize(
    ("kind", "name", "value", "found"),
    [
        *((kind, "seen", "Ada Okonkwo", "a name") for kind in ("csv", "jsonl", "xlsx", "parquet")),
        ("csv", "phone", "020 7946 0958", "an identifier"),
        ("csv", "ref", "MRN 4471922", "an identifier"),
        ("csv", "note", "she lives with her sister in a caravan", "free text"),
        *((kind, "onset", "2019-10-12", "--dates") for kind in ("json", "tsv")),
        ("csv", "age", "43", "--ages"),
    ],
)
def test_what_identifies_is_refused_in_every_format(command, given, out, kind, name, value, found):
    write(given / f"a.{kind}", [row(**{name: value}), row(**{name: value})])
    for options in (("--keep-column", name), ("--keep-all-columns",)):
        done = command("mask", given, "--out", out, *options)
        assert (done.status, list(out.glob(f"a.{kind}*"))) == (2, [])
        assert found in done.stderr
        assert f"column '{name}'" in done.stderr
        assert "--keep-unchecked" in done.stderr
        assert value not in done.stderr
    report = out.parent / "report.json"
    done = command("mask", given, "--out", out, "--keep-unchecked", name, "--run-report", report)
    assert done.status == 0, done.stderr
    assert str(read(out / f"a.{kind}")[0][name]) == value
    found = json.loads(report.read_text())
    assert found["settings"]["keep_unchecked"] == [name]
    assert found["total"]["columns"]["kept unchecked"] == [name]


@pytest.mark.parametrize("kind", ["csv", "jsonl", "parquet", "xlsx"])
def test_the_last_row_costs_the_file_and_no_other(command, given, out, kind):
    rows = [{"id": str(n), "text": "well", "arm": "placebo"} for n in range(600)]
    write(given / f"a.{kind}", [*rows, {"id": "x", "text": "well", "arm": "Ada Okonkwo"}])
    write(given / f"b.{kind}", rows)
    done = command("mask", given, "--out", out, "--keep-column", "arm")
    assert done.status == 1
    assert not (out / f"a.{kind}").exists()
    assert (out / f"b.{kind}").exists()
    assert not [path for path in out.iterdir() if "Okonkwo" in path.read_bytes().decode("latin-1")]
    number = {"csv": "row 602", "jsonl": "line 601", "parquet": "row 601", "xlsx": "row 602"}[kind]
    assert f"{number}, column 'arm': a kept column must not contain a name" in done.stderr


def test_nested_fields_and_keys_are_checked(command, given, out, key):
    case = {
        "text": NOTE,
        "report": {"onset": "2019-10-12", "doses": [{"drug": "Humira", "mg": 40}], "age": 43},
    }
    (given / "a.json").write_text(json.dumps(case))
    (given / "b.jsonl").write_text(json.dumps(case) + "\n")
    done = command("mask", given, "--out", out, *REPLACED, "--key", key, "--keep-column", "report")
    assert done.status == 0, done.stderr
    for found in (json.loads((out / "a.json").read_text()), json.loads((out / "b.jsonl").read_text())):
        assert found["report"]["doses"] == [{"drug": "Humira", "mg": 40}]
        assert found["report"]["age"] == "40-49"
        assert found["report"]["onset"][:4] in found["text"]
        assert found["report"]["onset"] != "2019-10-12"
    for deep in ({"2019-10-12": 1}, {"x": {"2019-10-12": 1}}):
        (given / "a.json").write_text(json.dumps({"text": "well", "report": deep}))
        done = command(
            "mask", given / "a.json", "--out", out, *REPLACED, "--key", key, "--force", *KEPT[:1], "report"
        )
        assert (done.status, "a date or age in a key" in done.stderr) == (2, True)
    for deep in ({"Ada Okonkwo": 1}, {"ada_okonkwo": 1}, {"a": [{"b": "Ada Okonkwo"}]}):
        (given / "a.json").write_text(json.dumps({"text": "well", "report": deep}))
        done = command("mask", given / "a.json", "--out", out, "--force", "--keep-column", "report")
        assert (done.status, "a name" in done.stderr) == (2, True)


def test_kept_cells_of_a_form_are_checked(command, given, out, key):
    row = [NOTE, date(2019, 10, 12), "Ada Okonkwo"]
    (given / "a.xlsx").write_bytes(workbook_of(["note", "onset", "seen"], row))
    options = ("--all-cells", "--dates", "shift", "--key", key)
    done = command("mask", given, "--out", out, *options, "--keep-column", "seen")
    assert (done.status, "a name" in done.stderr) == (2, True)
    done = command("mask", given, "--out", out, *options, "--keep-column", "onset")
    assert done.status == 0, done.stderr
    shown = openpyxl.load_workbook(out / "a.xlsx").active["B2"].value
    assert f"{shown:%d-%b-%Y}".upper() in openpyxl.load_workbook(out / "a.xlsx").active["A2"].value


def test_standard_input_stops_before_the_row(command):
    rows = "".join(f"{n},well,placebo\n" for n in range(600))
    data = f"id,text,arm\n{rows}x,well,Ada Okonkwo\n"
    done = command("mask", "-", "--format", "csv", "--keep-column", "arm", given=data.encode())
    assert done.status != 0
    assert "Okonkwo" not in done.stdout
    assert "a name" in done.stderr


@pytest.mark.slow
@pytest.mark.ray
def test_a_cluster_moves_dates_and_refuses_names(command, given, out, key):
    pytest.importorskip("ray")
    write(given / "a.csv", [row(onset="2019-10-12", age=43)])
    options = (
        "--engine",
        "ray",
        "--fast",
        *REPLACED,
        "--key",
        key,
    )  # as the tests read, which other processes do not know
    done = command("mask", given, "--out", out, *options, *KEPT)
    assert done.status == 0, done.stderr
    (first,) = read(next(out.glob("a.part-*.csv")))
    assert f"{date.fromisoformat(first['onset']):%d-%b-%Y}".upper() in first["text"].upper()
    assert (first["onset"] != "2019-10-12", first["age"]) == (True, "40-49")
    write(given / "a.csv", [row(seen="Ada Okonkwo")])
    done = command("mask", given, "--out", out, *options, "--force", "--keep-column", "seen")
    assert (done.status, list(out.glob("a.part-*.csv"))) == (2, [])
    assert "row 2, column 'seen': a kept column must not contain a name" in done.stderr
