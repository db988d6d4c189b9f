"""`inverse-deid mask --replace` and `--map`, and `reveal` of what they write, with stand-ins for the model."""

from __future__ import annotations

import csv
import errno
import gzip
import io
import json
import stat
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from case_maskers import masker_of, spans_by
from icsr_messages import invent
from icsr_trees import cases_of
from masked_folders import visible

from inverse_deid.core.extras import missing_extra
from inverse_deid.core.files import PartialFile, output_errors
from inverse_deid.formats.icsr.cases import Case
from inverse_deid.formats.icsr.messages import BrokenCase
from inverse_deid.masking import assemble
from inverse_deid.replacement.surrogates import faker_names

SPANS = spans_by(
    NAME=r"\b(Zebulonova|Amara Zebulonova|Ramipril|O\u2019Kelp)",
    DATE=r"(\d\d-[A-Z]{3}-\d{4})",
    ID=r"(\d{6})",
)
TEXT = (
    "Amara Zebulonova (MRN 458213) took Ramipril on 12-OCT-2019.\r\nZebulonova\u2019s wife is well – 3 days."
)
SECRETS = ("Zebulonova", "458213")


@pytest.fixture
def key(tmp_path: Path) -> Path:
    path = tmp_path / "key"
    path.write_text("0123456789abcdef0123456789abcdef\n")
    return path


@pytest.fixture
def maps(tmp_path: Path) -> Path:
    return tmp_path / "maps"


@pytest.fixture(autouse=True)
def masker(fake_assemble):
    """Masks two names, a drug, dates like 12-OCT-2019, numbers of six digits, and known identifiers."""
    fake_assemble[0] = masker_of(SPANS)


@pytest.fixture
def surrogate(command, out, key, maps):
    """Masks a file with surrogates and a map; more options may follow."""

    def run(*given, **_):
        return command("mask", *given, "--out", out, "--replace", "surrogate", "--map", maps, "--key", key)

    return run


@pytest.fixture
def reveal(command, out, key, maps, tmp_path):
    """Reveals a masked file; gives the command's result and the file."""

    def run(name: str, *more):
        back = tmp_path / "back"
        options = ("--map", maps / f"{name}.map", "--key", key, "--out", back)
        return command("reveal", out / name, *options, *more), back / name

    return run


def parquet(texts: list[str]) -> bytes:
    stream = io.BytesIO()
    pq.write_table(pa.table({"id": [str(n) for n in range(len(texts))], "text": texts}), stream)
    return stream.getvalue()


def csv_of(texts: list[str], encoding: str = "utf-8") -> bytes:
    stream = io.StringIO(newline="")
    csv.writer(stream, quoting=csv.QUOTE_MINIMAL, lineterminator="\r\n").writerows(
        [("id", "text", "arm"), *((n, text, "b") for n, text in enumerate(texts))]
    )
    return stream.getvalue().encode(encoding)


def lines_of(texts: list[str]) -> bytes:
    return "".join(json.dumps({"id": n, "text": text}) + "\n" for n, text in enumerate(texts)).encode()


TEXTS = [TEXT, "nobody came", "", TEXT]
I2B2 = f"<deIdi2b2><TEXT><![CDATA[{TEXT}]]></TEXT><TAGS></TAGS></deIdi2b2>".replace("\r\n", "\n").encode()


def texts_in(name: str, data: bytes) -> list[str]:
    """The narratives of a file."""
    match name.removesuffix(".gz").rpartition(".")[2]:
        case "jsonl":
            return [json.loads(line)["text"] for line in data.splitlines()]
        case "csv":
            rows = csv.reader(io.StringIO(data.decode("utf-8-sig"), newline=""))
            return [row[1] for row in rows][1:]
        case "parquet":
            return pq.read_table(io.BytesIO(data)).column("text").to_pylist()
        case _:
            return [data.decode()]


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("note.txt", TEXT.encode()),
        ("marked.txt", b"\xef\xbb\xbf" + TEXT.encode()),
        ("note.txt.gz", gzip.compress(TEXT.encode())),
        ("a.jsonl", lines_of(TEXTS)),
        ("a.jsonl.gz", gzip.compress(lines_of(TEXTS))),
        ("a.csv", csv_of(TEXTS)),
        ("a.csv.gz", gzip.compress(csv_of(TEXTS))),
        ("a.parquet", parquet(TEXTS)),
        ("a.xml", I2B2),
    ],
)
def test_what_surrogates_hide_comes_back(surrogate, reveal, given, out, maps, name, data):
    (given / name).write_bytes(data)
    result = surrogate(given)
    assert result.status == 0, result.stderr
    plain = name.removesuffix(".gz")
    assert visible(out) == [plain]
    assert visible(maps) == [f"{plain}.map"]
    assert stat.S_IMODE((maps / f"{plain}.map").stat().st_mode) == 0o600
    masked, mapped = (out / plain).read_bytes(), (maps / f"{plain}.map").read_bytes()
    assert not any(secret.encode() in masked + mapped for secret in SECRETS)
    first = texts_in(plain, masked)[0]
    assert first.count("PHI") == 2
    assert "took PHI on PHI." in first
    surname = first.lstrip("\ufeff").split(" (MRN")[0].split()[-1]
    assert f"{surname}\u2019s wife is well" in first
    shown, revealed = reveal(plain)
    assert shown.status == 0, shown.stderr
    assert stat.S_IMODE(revealed.stat().st_mode) == 0o600
    whole = gzip.decompress(data) if name.endswith(".gz") else data
    if plain == "a.xml":
        assert TEXT.replace("\r\n", "\n").encode() in revealed.read_bytes()
    else:
        assert texts_in(plain, revealed.read_bytes()) == texts_in(plain, whole)
    assert not any(secret in shown.stdout + shown.stderr for secret in SECRETS)


@pytest.mark.parametrize("encoding", ["cp1252", "utf-16"])
@pytest.mark.parametrize("name", ["a.txt", "a.csv"])
def test_other_encodings_come_back(command, given, out, key, maps, reveal, name, encoding):
    data = TEXT.encode(encoding) if name == "a.txt" else csv_of([TEXT], encoding)
    (given / name).write_bytes(data)
    options = [
        "--key",
        key,
        "--map",
        maps,
        "--replace",
        "surrogate",
        "--marker",
        "\u0416",
        "--encoding",
        encoding,
        "--keep-all-columns",
    ]
    assert command("mask", given, "--out", out, *options).status == 0
    result, back = reveal(name, "--encoding", encoding)
    assert result.status == 0, result.stderr
    assert back.read_bytes() == data


def free_texts(parts: list[Case | BrokenCase]) -> list[list[tuple[str, str]]]:
    return [[(text.path, text.text) for text in case.free_texts] for case in parts]


@pytest.mark.parametrize("replace", ["surrogate", "marker"])
@pytest.mark.parametrize("profile", ["eudravigilance", "public"])
@pytest.mark.parametrize("dialect", ["r3", "r2"])
def test_free_texts_of_several_case_reports_come_back(
    command, given, out, key, maps, reveal, dialect, profile, replace
):
    message = invent(dialect, 3, given={"H.1": TEXT.replace("\r\n", "\n"), "C.2.r.1.4": "Zebulonova"})
    (given / "a.xml.gz").write_bytes(gzip.compress(message.data))
    options = ["--key", key, "--map", maps, "--replace", replace, "--profile", profile]
    result = command("mask", given, "--out", out, *options)
    assert result.status == 0, result.stderr
    masked = (out / "a.xml").read_bytes()
    assert not any(secret.encode() in masked + (maps / "a.xml.map").read_bytes() for secret in SECRETS)
    narrative = next(text.text for text in cases_of(masked)[0].free_texts if text.element == "H.1")
    assert ("PHI" in narrative.split("took")[0]) == (replace == "marker")
    result, back = reveal("a.xml")
    assert result.status == 0, result.stderr
    assert "revealed              3" in result.stdout
    before, after = free_texts(cases_of(message.data)), free_texts(cases_of(back.read_bytes()))
    for old, new in zip(before, after, strict=True):
        assert [text for _, text in new] == [text for _, text in old if text in {t for _, t in new}]
        assert sum(TEXT[:40] in text for _, text in new) == 1
        if profile == "eudravigilance":
            assert [text for _, text in new] == [text for _, text in old]


@pytest.mark.parametrize("damage", ["key", "output", "map", "cut map", "no map", "short key", "other map"])
@pytest.mark.parametrize("name", ["a.jsonl", "a.xml", "a.txt"])
def test_what_does_not_fit_is_one_line_and_nothing_is_written(
    surrogate, reveal, given, key, maps, out, name, damage
):
    message = invent("r3", 2, given={"H.1": TEXT})
    (given / "a.jsonl").write_bytes(lines_of(TEXTS))
    (given / "a.xml").write_bytes(message.data)
    (given / "a.txt").write_bytes(TEXT.encode())
    (given / "b.txt").write_bytes(b"well")
    assert surrogate(given).status == 0
    masked, mapped = out / name, maps / f"{name}.map"
    match damage:
        case "key":
            key.write_text("fedcba9876543210")
        case "short key":
            key.write_text("short-secret")
        case "output":
            masked.write_bytes(masked.read_bytes().replace(b" took ", b" takes ", 1))
        case "map":
            data = mapped.read_bytes()
            mapped.write_bytes(data[:-9] + bytes([data[-9] ^ 1]) + data[-8:])
        case "cut map":
            mapped.write_bytes(mapped.read_bytes()[:-50])
        case "no map":
            mapped.unlink()
        case "other map":
            mapped.write_bytes((maps / "b.txt.map").read_bytes())
    result, back = reveal(name)
    assert result.status == 2
    assert result.stderr.startswith("inverse-deid: ")
    assert result.stderr.count("\n") == 1
    assert not any(secret in result.stderr for secret in (*SECRETS, "short-secret"))
    assert not back.parent.exists() or not list(back.parent.iterdir())


def test_one_case_alone_is_revealed(surrogate, reveal, given):
    (given / "a.jsonl").write_bytes(lines_of(TEXTS))
    assert surrogate(given).status == 0
    result, back = reveal("a.jsonl", "--case", "3")
    assert result.status == 0, result.stderr
    assert ["Zebulonova" in text for text in texts_in("a.jsonl", back.read_bytes())] == [
        False,
        False,
        False,
        True,
    ]


@pytest.mark.parametrize("named_by", ["own id", "pseudonym"])
def test_one_case_report_alone_is_revealed(surrogate, reveal, given, out, named_by):
    data = invent("r3", 3, given={"H.1": TEXT}).data
    (given / "a.xml").write_bytes(data)
    assert surrogate(given).status == 0
    cases = cases_of(data if named_by == "own id" else (out / "a.xml").read_bytes())
    result, back = reveal("a.xml", "--case", cases[1].case_id)
    assert result.status == 0, result.stderr
    shown = [any("458213" in text.text for text in case.free_texts) for case in cases_of(back.read_bytes())]
    assert shown == [False, True, False]


def test_a_key_repeats_its_surrogates_and_another_does_not(command, given, out, key):
    (given / "a.jsonl").write_bytes(lines_of(TEXTS))
    found = []
    for secret in ("0123456789abcdef", "0123456789abcdef", "fedcba9876543210"):
        key.write_text(secret)
        result = command("mask", given, "--out", out, "--replace", "surrogate", "--key", key, "--force")
        assert result.status == 0
        found.append((out / "a.jsonl").read_text())
    assert found[0] == found[1] != found[2]


def test_surrogates_differ_between_cases(surrogate, given, out):
    (given / "a.jsonl").write_bytes(lines_of(TEXTS))
    assert surrogate(given).status == 0
    first, *_, last = texts_in("a.jsonl", (out / "a.jsonl").read_bytes())
    assert first.split()[:2] != last.split()[:2]


def test_a_sidecar_reserves_its_values(command, given, out, key, tmp_path):
    (given / "a.jsonl").write_bytes(lines_of(["seen by Quentinia Aldous"]))
    table = tmp_path / "known.csv"
    table.write_text("id,name\n0,Quentinia Aldous\n")
    options = ["--known", table, "--replace", "surrogate", "--key", key]
    assert command("mask", given, "--out", out, *options).status == 0
    (text,) = texts_in("a.jsonl", (out / "a.jsonl").read_bytes())
    assert text.startswith("seen by ")
    assert not {"Quentinia", "Aldous", "PHI"} & set(text.split())


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (
            ["--replace", "surrogate"],
            "--replace: surrogate needs a key of at least 16 secret bytes. Give --key.",
        ),
        (["--map", "maps"], "--map needs a key: give --key FILE or set INVERSE_DEID_KEY"),
        (["--replace", "surrogate", "--key", "SHORT"], "the key has 9 bytes and needs at least 16"),
        (["--map", "OUT", "--key", "KEY"], "--map: has the original texts. Give a folder outside of --out"),
        (
            ["--map", "OUT/below", "--key", "KEY"],
            "--map: has the original texts. Give a folder outside of --out",
        ),
        (["--map", "KEY", "--key", "KEY"], "is a file. Give a folder to write into"),
    ],
)
def test_options_that_lack_something_are_refused(command, given, out, key, options, said):
    (given / "a.txt").write_text(TEXT)
    (given.parent / "short").write_text("nine byte\n")
    places = {
        "OUT": str(out),
        "OUT/below": str(out / "below"),
        "KEY": str(key),
        "SHORT": str(given.parent / "short"),
    }
    result = command("mask", given, "--out", out, *(places.get(option, option) for option in options))
    assert result.status == 2
    assert said in result.stderr
    assert result.stderr.count("\n") == 1
    assert not out.exists()


def test_a_map_cannot_come_from_standard_input(command, key, maps):
    result = command("mask", "-", "--map", maps, "--key", key)
    assert (result.status, "Leave them out with -" in result.stderr) == (2, True)


def test_missing_packages_are_said_before_anything_is_read(command, given, out, key, maps, monkeypatch):
    (given / "a.txt").write_text(TEXT)

    def missing():
        raise missing_extra("surrogates", "Faker", "surrogates")

    with monkeypatch.context() as patch:
        patch.setattr(faker_names, "load_surrogate_names", missing)
        result = command("mask", given / "nowhere", "--out", out, "--replace", "surrogate", "--key", key)
        assert (result.status, "the package Faker" in result.stderr) == (2, True)
        assert command("mask", given, "--out", out, "--force").status == 0


def test_replace_category_asks_for_category_markers(command, fake_assemble, given, out, monkeypatch):
    asked = []
    monkeypatch.setattr(
        assemble, "build_deidentifier", lambda given: asked.append(given.replace) or fake_assemble[0]
    )
    (given / "a.txt").write_text(TEXT)
    assert command("mask", given, "--out", out, "--replace", "category").status == 0
    assert command("mask", given, "--out", out, "--force").status == 0
    assert asked == ["category", "marker"]


def test_an_interrupted_run_goes_on_with_its_map(
    surrogate, command, reveal, given, out, key, maps, monkeypatch
):
    texts = [f"{TEXT} {n} {'x' * 2000}" for n in range(600)]
    (given / "a.jsonl").write_bytes(lines_of(texts))
    real, n_syncs = PartialFile.sync, 0

    def full_disk(self):
        nonlocal n_syncs
        n_syncs += 1
        if n_syncs == 6:
            raise OSError(errno.ENOSPC, "No space left on device")
        return real(self)

    def failing(self):
        with output_errors(self.target):
            return full_disk(self)

    options = ["--replace", "surrogate", "--map", maps, "--key", key]
    with monkeypatch.context() as patch:
        patch.setattr(PartialFile, "sync", failing)
        assert command("mask", given, "--out", out, *options).status == 2
    assert (maps / ".a.jsonl.map.partial").exists()
    refused = command("mask", given, "--out", out, "--resume", "--key", key, "--replace", "surrogate")
    assert "other settings" in refused.stderr
    key.write_text("another key of many bytes")
    assert "other settings" in command("mask", given, "--out", out, "--resume", *options).stderr
    key.write_text("0123456789abcdef0123456789abcdef\n")
    result = command("mask", given, "--out", out, "--resume", *options)
    assert result.status == 0, result.stderr
    result, back = reveal("a.jsonl")
    assert result.status == 0, result.stderr
    assert texts_in("a.jsonl", back.read_bytes()) == texts
    fresh = (out / "a.jsonl").read_bytes()
    assert surrogate(given, "--force").status == 0
    assert (out / "a.jsonl").read_bytes() == fresh


def test_a_case_left_out_is_not_in_the_map(command, given, out, key, maps, reveal):
    data = invent("r2", 3, given={"H.1": TEXT}).data
    deep = b"<x>" * 120 + b"</x>" * 120
    first, second, rest = data.split(b"<patient>", 2)
    (given / "a.xml").write_bytes(first + b"<patient>" + second + b"<patient>" + deep + rest)
    options = ["--key", key, "--map", maps, "--replace", "surrogate"]
    assert command("mask", given, "--out", out, *options).status == 1
    result, _ = reveal("a.xml")
    assert result.status == 0, result.stderr
    assert "revealed              2" in result.stdout


def test_a_file_that_fails_leaves_no_map(command, given, out, key, maps):
    (given / "a.jsonl").write_text("no json\n")
    (given / "b.xml").write_bytes(b"<ichicsr")
    assert command("mask", given, "--out", out, "--map", maps, "--key", key).status == 2
    assert not maps.exists() or visible(maps) == []


def test_a_document_without_an_id_is_named_as_the_reason(command, given, out, key):
    (given / "a.csv").write_text(f'id,text\n,"{TEXT}"\n')
    result = command("mask", given, "--out", out, "--replace", "surrogate", "--key", key)
    assert result.status == 2
    assert "a.csv: a case without an id cannot have surrogates" in result.stderr
    assert not any(secret in result.stderr for secret in SECRETS)


def test_the_run_report_says_surrogates_and_no_value(command, given, out, key, maps, tmp_path):
    (given / "a.txt").write_text(TEXT)
    report = tmp_path / "report.json"
    options = ["--replace", "surrogate", "--map", maps, "--key", key, "--run-report", report]
    assert command("mask", given, "--out", out, *options).status == 0
    said = json.loads(report.read_text())
    assert (said["settings"]["replace"], said["settings"]["maps"]) == ("surrogate", True)
    assert said["files"][0]["replaced_by_words"] == {"surrogate": 3}
    assert said["files"][0]["outputs"]["map"]["bytes"] == (maps / "a.txt.map").stat().st_size
    assert not any(secret in report.read_text() for secret in SECRETS)
