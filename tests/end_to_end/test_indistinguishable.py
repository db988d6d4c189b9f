"""Whoever has all that masking wrote cannot tell documents apart that differ in a masked surname only.

One surname has two letters, the other seventeen; a model that leaks gives them different probabilities. Whatever
holds more than the masked text is asked for, has mode 600 and is called confidential.
"""

from __future__ import annotations

import hashlib
import io
import json
import stat
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet
import pytest
from fake_maskers import FakeMasker
from icsr_messages import invent
from masked_folders import visible
from review_stores import review, store_of, user
from service_client import client_of
from sqlalchemy import select
from word_files import paragraph, simple, zipped

from inverse_deid.core.values import Document, MaskedDocument
from inverse_deid.review.files.exporting import export_released
from inverse_deid.review.store.tables import CASES

NAMES = ("Wu", "Featherstonehaugh")
NARRATIVE = "seen by {} on the ward, a rash after aspirin; {} was told and went home"
KEY = "0123456789abcdef0123456789abcdef"


class Leaky(FakeMasker):
    """Masks capitals; probability and threshold of every word depend on the whole document."""

    def mask_many(self, docs: list[Document]) -> list[MaskedDocument]:
        masked = super().mask_many(docs)
        for doc, one in zip(docs, masked, strict=True):
            share = hashlib.sha256(doc.text.encode()).digest()[0] / 256
            one.decisions.p_safe[:] = 0.5 + share / 5
            one.decisions.thresholds[:] = 0.5 + share / 4
        return masked


def parquet(text: str) -> bytes:
    target = io.BytesIO()
    pyarrow.parquet.write_table(pa.table({"id": ["7"], "text": [text]}), target)
    return target.getvalue()


FORMATS = {
    "a.txt": lambda text: text.encode(),
    "b.jsonl": lambda text: (json.dumps({"id": 7, "text": text}) + "\n").encode(),
    "c.csv": lambda text: f'id,text\n7,"{text}"\n'.encode(),
    "d.parquet": parquet,
    "g.docx": lambda text: zipped(simple(paragraph(*text.partition(" ")))),
    "e.xml": lambda text: f"<deIdi2b2><TEXT><![CDATA[{text}]]></TEXT></deIdi2b2>".encode(),
}
PLAIN = ("--explain", "--run-report", "report.json")
OPTIONS = [
    PLAIN,
    (*PLAIN, "--replace", "category"),
    (*PLAIN, "--dates", "relative-day", "--ages", "band", "--age-bands", "e2b"),
    (*PLAIN, "--known", "known.csv"),
    (*PLAIN, "--deny", "deny.txt"),
]


@pytest.fixture
def run(command, fake_assemble, tmp_path, monkeypatch):
    """Masks files with the name in them; all that was written, and what was said."""
    fake_assemble[0] = Leaky(str.islower)

    def run(name: str, files, *options) -> tuple[dict[str, bytes], str]:
        folder = tmp_path / name
        (folder / "in").mkdir(parents=True)
        (folder / "known.csv").write_text(f"id,name\n7,{name}\n")
        (folder / "deny.txt").write_text(f"{name}\n")
        for file, data in files.items():
            (folder / "in" / file).write_bytes(data)
        monkeypatch.chdir(folder)
        result = command("mask", "in", "--out", "out", *options)
        assert result.status == 0, result.stderr
        # The journal keeps one hash, of times in nanoseconds and numbers of files too (docs/threat-model.md).
        written = [Path("out") / name for name in visible(Path("out"))] + [*Path().glob("report.json")]
        return {str(path): path.read_bytes() for path in written}, result.stderr

    return run


@pytest.mark.parametrize("options", OPTIONS, ids=lambda options: " ".join(options[3:]) or "plain")
def test_all_files_of_a_run_are_the_same_bytes(run, options):
    found = [run(name, files_with(name), *options)[0] for name in NAMES]
    assert len(found[0]) == 2 * len(FORMATS) + 1
    assert found[0] == found[1]


def test_case_safety_reports_are_the_same_bytes(run, tmp_path):
    (tmp_path / "key").write_text(KEY)
    written = []
    for name in NAMES:
        files = {"f.xml": invent("r3", given={"H.1": NARRATIVE.replace("{}", name)}).data}
        written.append(run(name, files, "--explain", "--key", tmp_path / "key")[0])
    assert set(written[0]) == {"out/f.xml", "out/f.xml.explain.jsonl"}
    assert written[0] == written[1]


def files_with(name: str) -> dict[str, bytes]:
    return {file: write(NARRATIVE.replace("{}", name)) for file, write in FORMATS.items()}


def test_a_safe_explanation_has_no_probability_and_places_of_the_masked_text_alone(run):
    written, _ = run(NAMES[1], files_with(NAMES[1]), "--explain")
    line = json.loads(written["out/b.jsonl.explain.jsonl"])
    text = json.loads(written["out/b.jsonl"])["text"]
    assert set(line) == {"id", "failed", "words"}
    assert {frozenset(word) for word in line["words"]} == {
        frozenset({"start", "end", "decision", "category"})
    }
    shown = [(text[word["start"] : word["end"]], word["decision"]) for word in line["words"]]
    assert [word for word, _ in shown] == NARRATIVE.replace("{}", "PHI").replace(",", "").replace(
        ";", ""
    ).split()
    assert {word for word, decision in shown if decision == "mask"} == {"PHI"}


def test_the_run_report_has_no_hash_of_an_original_without_a_key(run, tmp_path):
    options = (*PLAIN, "--with-text", "--known", "known.csv", "--deny", "deny.txt")
    files = files_with(NAMES[0])
    secrets = [
        *files.values(),
        f"{NAMES[0]}\n".encode(),
        NAMES[0].lower().encode(),
        NAMES[0].encode(),
    ]
    written, _ = run(NAMES[0], files, *options)
    secrets += [data for path, data in written.items() if path.endswith(".explain.jsonl")]
    report = json.loads(written["report.json"])
    assert not any(hashlib.sha256(secret).hexdigest() in json.dumps(report) for secret in secrets)
    assert {file["input_hmac_sha256"] for file in report["files"]} == {None}
    assert report["settings"]["known_hmac_sha256"] is None
    assert report["settings"]["deny"] == {"n": 1, "hmac_sha256": None}
    (tmp_path / "key").write_text(KEY)
    keyed = json.loads(run("Okonkwo", files, *options, "--key", tmp_path / "key")[0]["report.json"])
    assert {len(file["input_hmac_sha256"]) for file in keyed["files"]} == {64}
    assert not any(hashlib.sha256(secret).hexdigest() in json.dumps(keyed) for secret in secrets)


@pytest.mark.parametrize(
    ("options", "confidential"),
    [
        (("--explain", "--with-text"), ["out/b.jsonl.explain.jsonl"]),
        (("--offsets",), ["out/b.jsonl"]),
        (("--run-report", "report.json"), ["report.json"]),
        (("--explain", "--replace", "surrogate"), ["out/b.jsonl.explain.jsonl"]),
    ],
    ids=" ".join,
)
def test_what_holds_more_has_mode_600_and_is_called_confidential(run, tmp_path, options, confidential):
    (tmp_path / "key").write_text(KEY)
    files = {"b.jsonl": files_with(NAMES[0])["b.jsonl"]}
    given = (*options, "--key", tmp_path / "key")
    written, said = run(NAMES[0], files, *given)
    assert "CONFIDENTIAL" in said
    private = [path for path in written if stat.S_IMODE(Path(path).stat().st_mode) == 0o600]
    assert private == confidential


def test_answers_of_the_service_are_the_same_bytes():
    with client_of(Leaky(str.islower)) as client:
        answers = [
            client.post(
                "/mask", json={"id": 7, "text": NARRATIVE.replace("{}", name), "known": [name]}
            ).content
            for name in NAMES
        ]
    assert answers[0] == answers[1]


def test_released_text_is_the_same_bytes_and_the_work_list_does_not_tell_cases_apart(tmp_path):
    found = []
    for name in NAMES:
        folder = tmp_path / name
        source = folder / "in"
        source.mkdir(parents=True)
        for file, data in files_with(name).items():
            (source / file).write_bytes(data)
        with store_of(folder, inputs=[source], masker=Leaky(str.islower), approvals=1) as store:
            ann = user(store, "ann")
            with store.reading() as connection:
                # Seals are random; a sealed name is as long as the name.
                shown = [column for column in CASES.c if column.name not in ("seal", "name")]
                rows = [tuple(row) for row in connection.execute(select(*shown))]
                names = [connection.names.open(row.name) for row in connection.execute(select(CASES.c.name))]
            for row in rows:
                review(store, ann, row[0])
            export_released(store, folder / "out")
        out = folder / "out"
        files = {path.name: path.read_bytes() for path in out.rglob("*") if path.is_file()}
        found.append((rows, files, names))
    assert set(found[0][1]) == set(FORMATS)
    assert found[0] == found[1]
