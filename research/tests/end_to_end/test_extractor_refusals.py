"""`extract` and `extraction cost` refuse what is no extractor, and gold that is none, in one line."""

import json

import pytest
from fake_extractors import FakeExtractor
from fake_maskers import CANARY

from inverse_deid.masking.assemble import packaged_model
from inverse_deid_research.commands import extraction as commands
from inverse_deid_research.extraction.concepts import PHI

TEXT = f"Mr {CANARY} took Velmo."
TOLD = {
    "missing": "no readable manifest.json",
    "masking model": "not of model format inverse-deid research extraction 3",
    "damaged": "manifest.json: damaged",
}


@pytest.fixture
def corpus(tmp_path):
    """A masked text, the gold of an evaluation, and its masks."""
    start = TEXT.index(CANARY)
    spans = [{"start": start, "end": start + len(CANARY), "type": "PATIENT"}]
    gold = {"id": "a", "text": TEXT, "spans": spans, "concepts": [{"start": 0, "end": 2, "type": "Dosage"}]}
    (tmp_path / "gold.jsonl").write_text(json.dumps(gold) + "\n")
    (tmp_path / "masked.jsonl").write_text(json.dumps({"id": "a", "masks": [[start, start + len(CANARY)]]}))
    (tmp_path / "a.txt").write_text(TEXT)
    return tmp_path


def folder_of(kind, tmp_path):
    if kind == "masking model":
        return packaged_model()
    folder = tmp_path / "model"
    if kind == "damaged":
        folder.mkdir()
        (folder / "manifest.json").write_text("{")
    return folder


def refused(done, folder):
    """The complaint; nothing was written and no text is shown."""
    assert (done.status, done.stdout) == (2, "")
    assert done.stderr.count("\n") == 1
    assert CANARY not in done.stderr
    assert not [path for path in folder.iterdir() if path.name.startswith("out")]
    return done.stderr


@pytest.mark.parametrize("kind", TOLD)
def test_extract_refuses_what_is_no_extractor(command, corpus, kind):
    model = folder_of(kind, corpus)
    out = corpus / "out.jsonl"
    assert TOLD[kind] in refused(
        command("research", "extraction", "find", corpus / "a.txt", "--model", model, "-o", out), corpus
    )


@pytest.mark.parametrize("kind", TOLD)
def test_evaluate_refuses_what_is_no_extractor(command, corpus, kind):
    given = [corpus / "gold.jsonl", corpus / "masked.jsonl", "--json", corpus / "out.json"]
    done = command("research", "extraction", "cost", *given, "--model", folder_of(kind, corpus))
    assert TOLD[kind] in refused(done, corpus)


def test_extract_refuses_a_missing_text(command, corpus, monkeypatch):
    monkeypatch.setattr(commands, "load_extractor", lambda folder: FakeExtractor())
    done = command(
        "research", "extraction", "find", corpus / "b.txt", "--model", "m", "-o", corpus / "out.jsonl"
    )
    assert "b.txt" in refused(done, corpus)


def test_extract_refuses_a_model_of_identifiers_alone(command, corpus, monkeypatch):
    other = FakeExtractor()
    monkeypatch.setattr(other, "types", {PHI: ("PATIENT",)}, raising=False)
    monkeypatch.setattr(commands, "load_extractor", lambda folder: other)
    done = command(
        "research", "extraction", "find", corpus / "a.txt", "--model", "m", "-o", corpus / "out.jsonl"
    )
    assert "not concepts. Give an extractor" in refused(done, corpus)


def test_evaluate_refuses_gold_of_other_types(command, corpus, monkeypatch):
    monkeypatch.setattr(commands, "load_extractor", lambda folder: FakeExtractor())
    given = [corpus / "gold.jsonl", corpus / "masked.jsonl", "--json", corpus / "out.json"]
    done = command("research", "extraction", "cost", *given, "--model", "m")
    assert "no concepts of the extractor's types" in refused(done, corpus)
