"""`inverse-deid mask CASES.xml` in this process, with stand-ins for the model."""

from __future__ import annotations

import gzip
import json
import random
import unicodedata
from pathlib import Path

import pytest
from case_maskers import masker_of, spans_by
from icsr_messages import Invention, invent, r2_batch, r2_case, r3_batch, r3_case
from icsr_trees import cases_of, only_case
from masked_folders import visible

from inverse_deid.formats.icsr.standard.profiles import FieldAction, builtin_profile

FDA = Path(__file__).parents[3] / "shared" / "data" / "icsr" / "fda"
CANARY = "Zebulonova"
DATES = spans_by(DATE=r"(\d\d-[A-Z]{3}-\d{4})", AGE=r"(\d+)(?=-year)")
DIALECTS = ["r3", "r2"]


@pytest.fixture
def real_cases(fake_assemble):
    """The command keeps all words but known identifiers and dates like 12-OCT-2019."""
    fake_assemble[0] = masker_of(DATES)
    return fake_assemble


def written(folder: Path, name: str, data: bytes) -> Path:
    path = folder / name
    path.write_bytes(data)
    return path


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_message_is_masked_by_its_content_not_its_suffix(command, real_cases, given, out, dialect):
    message = invent(
        dialect, 3, given={"H.1": f"Dr {CANARY} on 12-OCT-2019.", "C.2.r.1.4": CANARY, "D.1": "QX"}
    )
    written(given, "a.xml", message.data)
    (given / "b.xml.gz").write_bytes(gzip.compress(message.data))
    (given / "c.xml").write_text("<deIdi2b2><TEXT>all well</TEXT></deIdi2b2>")
    result = command("mask", given, "--out", out)
    assert result.status == 0, result.stderr
    assert visible(out) == ["a.xml", "b.xml", "c.xml"]
    assert "Masked 7 documents." in result.stderr
    masked = cases_of((out / "a.xml").read_bytes())
    assert [text.text for case in masked for text in case.free_texts if text.element == "H.1"] == [
        "Dr PHI on PHI."
    ] * 3
    assert CANARY.encode() not in (out / "a.xml").read_bytes() + (out / "b.xml").read_bytes()


@pytest.mark.parametrize("dialect", DIALECTS)
def test_eudravigilance_touches_its_elements_and_no_other(command, real_cases, given, out, dialect):
    data = invent(dialect).data
    written(given, "a.xml", data)
    assert command("mask", given, "--out", out, "--profile", "eudravigilance").status == 0
    actions = builtin_profile("eudravigilance").actions
    treated = {
        name
        for name, action in actions.items()
        if action not in (FieldAction.KEEP, FieldAction.TEXT, FieldAction.DROP)
    }
    assert len(treated) == 13 + 11
    case, after = only_case(data), only_case((out / "a.xml").read_bytes())
    values = {
        v.element_id: v.text
        for v in after.values
        if v.element and v.sort in ("identifier", "date", "product")
    }
    assert case.values
    for value in case.values:
        if value.sort in ("identifier", "date", "product") and value.element:
            is_same = values.get(value.element_id) is not None and any(
                v.text == value.text for v in after.values if v.element_id == value.element_id
            )
            assert is_same == (value.element_id not in treated), value.element_id


@pytest.mark.skipif(not FDA.exists(), reason="the FDA instances are not at hand")
@pytest.mark.parametrize("name", ["FAERS2022Scenario1.xml", "FAERS2022Scenario5-1.xml"])
def test_fda_instances_are_masked(command, real_cases, out, name):
    result = command("mask", FDA / name, "--out", out, "--profile", "eudravigilance")
    assert result.status == 0, result.stderr
    before, after = (FDA / name).read_bytes(), (out / name).read_bytes()
    assert len(cases_of(before)) == len(cases_of(after))


def spellings(given_name: str, surname: str, rng: random.Random) -> list[str]:
    """Eight ways to write a surname."""
    i = rng.randrange(1, len(surname) - 2)
    swapped = surname[:i] + surname[i + 1] + surname[i] + surname[i + 2 :]
    plain = "".join(c for c in unicodedata.normalize("NFKD", surname) if not unicodedata.combining(c))
    dropped = surname[:i] + surname[i + 1 :]
    return [
        surname.upper(),
        surname.lower(),
        plain,
        f"{surname}'s",
        f"{surname}, {given_name}",
        swapped,
        dropped,
        f"{surname[:i]}-{surname[i:]}",
    ]


def surname_of(rng: random.Random) -> str:
    parts = ["bra", "dö", "kel", "lin", "mó", "nak", "per", "quis", "ros", "sté", "tar", "vun", "wex", "zol"]
    return "".join(rng.sample(parts, 3)).capitalize()


PLACES = ["H.1", "H.2", "H.4", "D.7.2", "F.r.6", "C.4.r.1"]


@pytest.mark.parametrize("n_cases", [20, pytest.param(200, marks=pytest.mark.slow)])
def test_a_reporters_surname_is_gone_in_eight_spellings(command, real_cases, given, out, n_cases):
    rng = random.Random(5)
    cases, planted = [], []
    for _ in range(n_cases):
        surname = surname_of(rng)
        forms = spellings("Amara", surname, rng)
        texts = {
            place: f"seen by {form} then" for place, form in zip(PLACES, rng.sample(forms, 6), strict=True)
        }
        texts["H.1"] = "; ".join(f"seen by {form} then" for form in forms)
        values = {"C.2.r.1.2": "Amara", "C.2.r.1.4": surname, "C.1.6.1.r.2": None, "C.4.r.2": None, **texts}
        cases.append(r3_case(Invention(rng, 0.2, values)))
        planted.append((surname, forms))
    written(given, "a.xml", r3_batch(cases, Invention(rng, 1.0)).encode())
    result = command("mask", given, "--out", out)
    assert result.status == 0, result.stderr
    text = (out / "a.xml").read_text()
    folded = "".join(
        c for c in unicodedata.normalize("NFKD", text) if not unicodedata.combining(c)
    ).casefold()
    after = cases_of((out / "a.xml").read_bytes())
    for case, (surname, forms) in zip(after, planted, strict=True):
        own = "\n".join(t.text for t in case.free_texts)
        for form in forms:
            assert form.removesuffix("'s") not in own
        assert (
            "".join(c for c in unicodedata.normalize("NFKD", surname) if c.isascii()).casefold() not in folded
        )
        places = {t.element: t.text for t in case.free_texts}
        assert all(places[place].startswith("seen by PHI") for place in PLACES)


def broken_messages(folder: Path) -> None:
    """None of them can be used at all."""
    whole = invent("r2", 1, given={"H.1": CANARY}).data
    bomb = b'<!DOCTYPE ichicsr [<!ENTITY a "Zebulonova"><!ENTITY b "&a;&a;">]><ichicsr>&b;</ichicsr>'
    written(folder, "bomb.xml", bomb)
    external = b'<!DOCTYPE ichicsr [<!ENTITY x SYSTEM "file:///etc/passwd">]><ichicsr>&x;</ichicsr>'
    written(folder, "external.xml", external)
    written(
        folder, "parameter.xml", b'<!DOCTYPE ichicsr [<!ENTITY % p SYSTEM "http://x.invalid/">%p;]><ichicsr/>'
    )
    written(folder, "declared.xml", b'<?xml version="1.0" encoding="UTF-16"?>' + whole.split(b"?>", 1)[1])
    written(folder, "cut.xml", whole[: whole.index(CANARY.encode()) + 5])
    written(
        folder, "deep.xml", b"<ichicsr>" + b"<safetyreport>" * 150 + b"</safetyreport>" * 150 + b"</ichicsr>"
    )
    written(folder, "empty.xml", b"<ichicsr")


def test_malicious_and_broken_messages_leave_no_output(command, real_cases, given, out):
    broken_messages(given)
    names = [path.name for path in given.iterdir()]
    written(given, "good.xml", invent("r2", 2).data)
    result = command("mask", given, "--out", out)
    assert result.status == 1
    assert [name for name in visible(out) if not name.startswith(".")] == ["good.xml"]
    for name in names:
        assert [line for line in result.stderr.splitlines() if f"/{name}" in line], name
    assert CANARY not in result.stderr
    assert "root:" not in result.stderr


@pytest.mark.parametrize("encoding", ["utf-16", "iso-8859-1"])
def test_other_encodings_are_read_and_kept(command, real_cases, given, out, encoding):
    text = invent("r2", 2).xml.replace("ö", "o")
    data = f'<?xml version="1.0" encoding="{encoding}"?>\n{text}'.encode(encoding, "xmlcharrefreplace")
    written(given, "a.xml", data)
    assert command("mask", given, "--out", out).status == 0
    assert (out / "a.xml").read_bytes().decode(encoding)
    assert len(cases_of((out / "a.xml").read_bytes())) == 2


def test_a_broken_case_is_listed_and_the_others_are_written(command, real_cases, given, out):
    rng = random.Random(1)
    cases = [r2_case(Invention(rng, 0.3)) for _ in range(3)]
    deep = "<x>" * 120 + CANARY + "</x>" * 120
    cases[1] = cases[1].replace("<patient>", f"<patient>{deep}", 1)
    written(given, "a.xml", r2_batch(cases, Invention(rng)).encode())
    result = command("mask", given, "--out", out)
    assert result.status == 1
    assert "a.xml case 2: is nested deeper than 100 elements" in result.stderr
    assert len(cases_of((out / "a.xml").read_bytes())) == 2
    assert CANARY not in result.stderr + (out / "a.xml").read_text()


def test_a_failing_stage_masks_the_texts_of_the_case(command, fake_assemble, given, out):
    from fake_maskers import BROKEN_STAGE

    written(given, "a.xml", invent("r2", 1, given={"H.1": f"{BROKEN_STAGE} {CANARY}"}).data)
    result = command("mask", given, "--out", out, "--force")
    assert result.status == 2
    assert "case 1: could not be analysed and was masked completely" in result.stderr
    assert CANARY not in (out / "a.xml").read_text()


def test_ids_are_pseudonyms_that_the_key_repeats(command, real_cases, given, out, tmp_path):
    written(given, "a.xml", invent("r3", 2).data)
    key = tmp_path / "key"
    key.write_text("0123456789abcdef0123456789abcdef\n")
    found = []
    for options in (["--key", key], ["--key", key], []):
        assert command("mask", given, "--out", out, "--force", *options).status == 0
        found.append([case.case_id for case in cases_of((out / "a.xml").read_bytes())])
    assert found[0] == found[1] != found[2]
    assert not set(found[0]) & {case.case_id for case in cases_of((given / "a.xml").read_bytes())}


def test_keys_are_checked_and_never_shown(command, real_cases, given, out, tmp_path, monkeypatch):
    written(given, "a.xml", invent("r2").data)
    key = tmp_path / "key"
    key.write_text("short-secret")
    for options, said in (
        (["--dates", "shift"], "--key"),
        (["--dates", "shift", "--key", key], "12 bytes"),
        (["--key", tmp_path / "nowhere"], "does not exist"),
        (["--ages", "band"], "--age-bands"),
        (["--profile", "nobody"], "third-party"),
    ):
        result = command("mask", given, "--out", out, *options)
        assert result.status == 2, options
        assert said in result.stderr
        assert "short-secret" not in result.stderr
    monkeypatch.setenv("INVERSE_DEID_KEY", "0123456789abcdef")
    assert command("mask", given, "--out", out, "--dates", "shift").status == 0
    assert command("mask", given, "--out", out, "--key", key, "--force").status == 2


@pytest.mark.parametrize("profile", ["eudravigilance", "third-party", "public"])
def test_structured_dates_move_with_those_of_the_texts(command, real_cases, given, out, profile, monkeypatch):
    monkeypatch.setenv("INVERSE_DEID_KEY", "0123456789abcdef")
    dates = {"E.i.4": "20191015", "G.k.4.r.4": "20191012", "C.1.2": "20200116", "C.1.5": "20200115"}
    text = "dose 12-OCT-2019, onset 15-OCT-2019"
    written(given, "a.xml", invent("r3", 1, share=0.0, given={**dates, "H.1": text}).data)
    assert command("mask", given, "--out", out, "--dates", "shift", "--profile", profile).status == 0
    after = only_case((out / "a.xml").read_bytes())
    dose, onset = after.dates.first_dose.first_day, after.dates.onset.first_day
    assert (onset - dose).days == 3
    narrative = next(text.text for text in after.free_texts if text.element == "H.1")
    assert narrative == f"dose {dose:%d-%b-%Y}, onset {onset:%d-%b-%Y}".upper().replace(
        "DOSE", "dose"
    ).replace("ONSET", "onset")
    assert not any(day.encode() in (out / "a.xml").read_bytes() for day in dates.values())


def test_the_run_report_says_what_was_done_and_no_value(command, real_cases, given, out, tmp_path):
    values = {"C.2.r.1.4": CANARY, "H.1": f"{CANARY} on 12-OCT-2019, a 43-year-old"}
    written(given, "a.xml", invent("r3", 2, given=values).data)
    (given / "b.txt").write_text("well on 12-OCT-2019")
    report = tmp_path / "report.json"
    options = ["--dates", "relative-day", "--ages", "band", "--age-bands", "e2b", "--run-report", report]
    assert command("mask", given, "--out", out, *options).status == 0
    said = json.loads(report.read_text())
    assert CANARY not in report.read_text()
    assert (said["settings"]["dates"], said["settings"]["age_bands"]) == ("relative-day", "e2b")
    assert said["settings"]["profile"]["elements"]["C.2.r.1.4"] == "mask"
    first, second = said["files"]
    assert first["case_reports"]["n_cases"] == 2
    rows = {(row["element"], row["done"]): row["n"] for row in first["case_reports"]["elements"]}
    assert rows["C.2.r.1.4", "masked"] == 2
    assert first["replaced_by_words"]["age"] == 2
    assert second["replaced_by_words"] == {"date": 1}
    assert first["input_hmac_sha256"] is None
    assert len(first["outputs"]["masked"]["sha256"]) == 64
    assert command("mask", given, "--out", out, *options).status == 2


def test_known_identifiers_of_a_sidecar(command, real_cases, given, out, tmp_path):
    (given / "a.jsonl").write_text(
        f'{{"id": 7, "text": "by {CANARY.upper()}"}}\n{{"id": 8, "text": "{CANARY}"}}\n'
    )
    table = tmp_path / "known.csv"
    table.write_text(f"id,name\n7,{CANARY}\n")
    assert command("mask", given, "--out", out, "--known", table).status == 0
    texts = [json.loads(line)["text"] for line in (out / "a.jsonl").read_text().splitlines()]
    assert texts == ["by PHI", CANARY]
    lines = tmp_path / "known.jsonl"
    lines.write_text(f'{{"id": 8, "name": ["{CANARY}"], "date": "1980-05-12"}}\n')
    assert command("mask", given, "--out", out, "--known", lines, "--force").status == 0


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ("id,name\n9,Lindero\n", "1 ids belong to no document (9)"),
        ("id,name\n7,Lindero\n7,Bo\n", "row 3 has the id of another row"),
        ("id,name\n7\n", "row 2 has 1 cells"),
        ("id,name\n7,\n", "row 2 (id 7) has no value"),
        ("id,name\n,Lindero\n", "row 2 has no id"),
        ("id,shoe size\n7,Lindero\n", "row 2 (id 7) has an unknown column"),
        ("id,date\n7,12 May\n", "row 2 (id 7) has a date"),
        ("name\nLindero\n", "one column id"),
        ("id,name\n", "has no rows"),
    ],
)
def test_a_sidecar_that_cannot_be_used_is_refused(command, real_cases, given, out, tmp_path, rows, said):
    (given / "a.jsonl").write_text('{"id": 7, "text": "well"}\n')
    table = tmp_path / "known.csv"
    table.write_text(rows)
    result = command("mask", given, "--out", out, "--known", table)
    assert result.status == 2
    assert said in result.stderr
    assert "Lindero" not in result.stderr
    assert not out.exists() or not visible(out)


def test_a_finished_file_is_not_masked_again_on_resume(command, real_cases, given, out):
    written(given, "a.xml", invent("r2", 2).data)
    broken_messages(given)
    assert command("mask", given, "--out", out).status == 1
    before = (out / "a.xml").stat().st_mtime_ns
    assert command("mask", given, "--out", out, "--resume").status == 1
    assert (out / "a.xml").stat().st_mtime_ns == before
    other = command("mask", given, "--out", out, "--resume", "--profile", "public")
    assert other.status == 2
    assert "other settings" in other.stderr


def test_explanations_name_case_and_place(command, real_cases, given, out):
    written(given, "a.xml", invent("r2", 1, given={"H.1": "well on 12-OCT-2019"}).data)
    assert command("mask", given, "--out", out, "--explain").status == 0
    lines = [json.loads(line) for line in (out / "a.xml.explain.jsonl").read_text().splitlines()]
    ids = [line["id"] for line in lines]
    assert "case 1 patient/summary/narrativeincludeclinical" in ids


AGES = ("D.2.2a", "D.10.2.2a", "D.2.2.1a", "G.k.6a", "D.2.3")


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("profile", ["third-party", "public"])
@pytest.mark.parametrize(
    ("options", "shown"),
    [
        ([], {}),
        (["--ages", "keep-under-90"], {"D.10.2.2a": "61", "D.2.2.1a": "10", "G.k.6a": "10", "D.2.3": "5"}),
        (["--ages", "band", "--age-bands", "10-years"], {"D.10.2.2a": "6", "D.2.3": "5"}),
        (["--ages", "band", "--age-bands", "e2b"], {"D.2.3": "5"}),
    ],
)
def test_ages_in_fields_go_the_way_of_the_texts(
    command, real_cases, given, out, dialect, profile, options, shown
):
    data = invent(dialect, given={"D.2.2a": "94", "D.10.2.2a": "61", "H.1": "A 94-year-old."}).data
    written(given, "a.xml", data)
    assert command("mask", given, "--out", out, "--profile", profile, *options).status == 0
    case = only_case((out / "a.xml").read_bytes())
    assert {v.element_id: v.text for v in case.values if v.element_id in AGES} == shown
    units = case.node.xpath("//parentageunit/text() | //*[@value='6']/@unit")
    assert not ("band" in options and "10-years" in options) or set(units) <= {"800", "10.a"}


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_kept_age_goes_with_those_of_the_texts_if_they_change(command, real_cases, given, out, dialect):
    written(given, "a.xml", invent(dialect, given={"D.2.2a": "94"}).data)
    for options, is_kept in (([], True), (["--ages", "keep-under-90"], False)):
        arguments = ("--profile", "eudravigilance", "--force", *options)
        assert command("mask", given, "--out", out, *arguments).status == 0
        case = only_case((out / "a.xml").read_bytes())
        assert ("D.2.2a" in [value.element_id for value in case.values]) == is_kept


def test_a_raw_key_keeps_all_but_one_line_break_at_its_end(tmp_path):
    from inverse_deid.cli.parts.secret_files import read_secret

    path = tmp_path / "key"
    for raw, key in (
        (b" 0123456789abcdef\t\n\n", b" 0123456789abcdef\t\n"),
        (b"0" * 16 + b"\r\n", b"0" * 16),
    ):
        path.write_bytes(raw)
        assert read_secret(path) == key
