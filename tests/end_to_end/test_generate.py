"""`inverse-deid generate` as a program: reproducible bytes, both formats, nothing overwritten or half written."""

import gzip
import json
import os
import resource
import subprocess
import sys
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pytest

from inverse_deid.training.corpus import read_annotated

ROOT = Path(__file__).parent.parent.parent
CANARY = "Quillfeather"
MARKS = [CANARY, "14JUL97"]
CARRIERS = [
    f"Ms. {CANARY} was seen on 3/15/2004. The patient received the vaccine and went to the hospital; better.",
    "Pt recvd vax 14JUL97 & devel rash; mom reports fever x 2 days. A 4 month old girl was seen by the doctor.",
]


@dataclass(frozen=True)
class Ended:
    status: int
    stdout: str
    stderr: str


@pytest.fixture
def generate(command):
    """Runs `inverse-deid generate` in this process."""
    return partial(command, "generate")


def generate_apart(*args, hash_seed: str = "0", limit_bytes: int | None = None) -> Ended:
    """Run `inverse-deid generate` in a process of its own."""

    def limit() -> None:
        if limit_bytes is not None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit_bytes, limit_bytes))

    path = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(
        [sys.executable, "-m", "inverse_deid.cli.main", "generate", *map(str, args)],
        env={**os.environ, "PYTHONPATH": path, "PYTHONHASHSEED": hash_seed, "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
        preexec_fn=limit,
    )
    return Ended(done.returncode, done.stdout, done.stderr)


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


@pytest.fixture
def carriers(tmp_path: Path) -> Path:
    path = tmp_path / "carriers.jsonl"
    path.write_text("\n".join(json.dumps({"text": text}) for text in CARRIERS))
    return path


@pytest.mark.slow
@pytest.mark.parametrize("name", ["a.jsonl", "a.jsonl.gz"])
def test_the_same_seed_gives_the_same_bytes(tmp_path, carriers, name):
    first, second, third = (tmp_path / folder / name for folder in "abc")
    options = ("--documents", 12, "--carriers", carriers, "--seed")
    assert generate_apart("--out", first, *options, 5, hash_seed="1").status == 0
    assert generate_apart("--out", second, *options, 5, hash_seed="77").status == 0
    assert generate_apart("--out", third, *options, 6).status == 0
    assert first.read_bytes() == second.read_bytes() != third.read_bytes()
    docs = read_annotated(first)
    assert [doc.id for doc in docs] == [f"synthetic-5-{number:06}" for number in range(1, 13)]
    assert sum(CANARY in doc.text for doc in docs) > 0
    assert all(doc.spans for doc in docs if CANARY in doc.text)


def test_both_formats_hold_the_same_documents(generate, tmp_path):
    file, folder = tmp_path / "a.jsonl", tmp_path / "xml"
    assert generate("--out", file, "--documents", 25).status == 0
    done = generate("--out", folder, "--documents", 25, "--format", "i2b2")
    assert done.status == 0, done.stderr
    docs = read_annotated(file)
    assert [(f"{doc.id}.xml", doc.text, doc.spans) for doc in docs] == [
        (doc.id, doc.text, doc.spans) for doc in read_annotated(folder)
    ]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.jsonl", "xml"]


def test_the_summary_counts(generate, tmp_path):
    done = generate("--out", tmp_path / "a.jsonl", "--documents", 20)
    docs = read_annotated(tmp_path / "a.jsonl")
    lines = {line[:16].strip(): line.split()[-1] for line in done.stdout.splitlines()}
    assert lines["documents"] == "20"
    assert lines["spans"] == f"{sum(len(doc.spans) for doc in docs):,}"
    assert lines["DATE"] == str(sum(span.type == "DATE" for doc in docs for span in doc.spans))
    assert 0 < int(lines["PHI tokens"].replace(",", "")) < int(lines["tokens"].replace(",", ""))
    assert done.stderr == ""


def test_invented_share_is_the_share_without_carrier(generate, tmp_path, carriers):
    out = tmp_path / "a.jsonl"
    options = ("--documents", 10, "--carriers", carriers, "--carriers", carriers, "--force")
    assert generate("--out", out, *options, "--invented-share", 1).status == 0
    assert not any(mark in doc.text for doc in read_annotated(out) for mark in MARKS)
    done = generate("--out", out, *options, "--invented-share", 0)
    assert all(any(mark in doc.text for mark in MARKS) for doc in read_annotated(out))
    assert "Protect them like the carriers" in done.stdout


@pytest.mark.parametrize(("name", "options"), [("a.jsonl", ()), ("xml", ("--format", "i2b2"))])
def test_an_output_is_overwritten_only_when_asked(generate, tmp_path, name, options):
    out = tmp_path / name
    assert generate("--out", out, "--documents", 3, *options).status == 0
    before = contents(out) if options else out.read_bytes()
    refused = generate("--out", out, "--documents", 2, *options)
    assert refused.status == 2
    assert "--force" in refused.stderr
    assert (contents(out) if options else out.read_bytes()) == before
    assert generate("--out", out, "--documents", 2, "--force", *options).status == 0
    assert len(read_annotated(out)) == 2
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_a_folder_of_other_things_is_never_replaced(generate, tmp_path):
    (tmp_path / "cases").mkdir()
    (tmp_path / "cases" / "mine.xml").write_text("mine")
    refused = generate("--out", tmp_path / "cases", "--format", "i2b2", "--force")
    assert (refused.status, "was not written by generate" in refused.stderr) == (2, True)
    assert contents(tmp_path / "cases") == {"mine.xml": b"mine"}


def test_a_carrier_is_never_overwritten(generate, carriers):
    before = carriers.read_bytes()
    refused = generate("--out", carriers, "--carriers", carriers, "--force")
    assert (refused.status, "contains carriers" in refused.stderr) == (2, True)
    assert carriers.read_bytes() == before


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (None, "does not exist"),
        (f'{{"text": "{CANARY}"\n', "line 1 is not valid JSON"),
        (f'{{"story": "{CANARY}"}}\n', "line 1 has no text"),
        ("", "no documents"),
    ],
)
def test_bad_carriers_are_named_in_one_line(generate, tmp_path, content, complaint):
    path = tmp_path / "carriers.jsonl"
    if content is not None:
        path.write_text(content)
    done = generate("--out", tmp_path / "out" / "a.jsonl", "--carriers", path)
    assert done.status == 2
    assert len(done.stderr.splitlines()) == 1
    assert str(path) in done.stderr and complaint in done.stderr
    assert CANARY not in done.stderr
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        (("--out", "a.csv"), "--format i2b2"),
        (("--out", "a"), "--format i2b2"),
        (("--out", "a.jsonl", "--invented-share", "0.5"), "--carriers"),
        (("--out", "", "--format", "i2b2"), "--out"),
        (("--out", "a.jsonl", "--documents", "0"), "--documents"),
    ],
)
def test_options_that_do_not_fit_are_refused(generate, options, complaint):
    done = generate(*options)
    assert done.status == 2
    assert complaint in done.stderr


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("a.jsonl", ()),
        pytest.param("a.jsonl.gz", (), marks=pytest.mark.slow),
        pytest.param("xml", ("--format", "i2b2"), marks=pytest.mark.slow),
    ],
)
def test_a_full_disk_leaves_nothing_and_says_so(tmp_path, name, options):
    done = generate_apart("--out", tmp_path / name, "--documents", 40, *options, limit_bytes=900)
    assert done.status == 2
    assert done.stderr.startswith(f"inverse-deid: {tmp_path / name} cannot be written: ")
    assert len(done.stderr.splitlines()) == 1
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_what_xml_cannot_hold_is_refused_by_the_id(generate, tmp_path):
    path = tmp_path / "carriers.jsonl.gz"
    path.write_bytes(gzip.compress(json.dumps({"text": f"{CANARY} \x0b was well."}).encode()))
    options = ("--carriers", path, "--invented-share", 0, "--documents", 2)
    done = generate("--out", tmp_path / "xml", "--format", "i2b2", *options)
    assert done.status == 2
    assert "document synthetic-1-000001:" in done.stderr and CANARY not in done.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["carriers.jsonl.gz"]
    assert generate("--out", tmp_path / "a.jsonl", *options).status == 0
