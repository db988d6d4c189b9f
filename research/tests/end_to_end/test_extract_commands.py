"""`inverse-deid research extraction find`, `extraction` and `extraction cost`."""

import json

import pytest
from fake_extractors import FakeExtractor
from fake_maskers import CANARY

from inverse_deid_research.commands import extraction as commands

TEXT = f"Mr {CANARY} took Velmo and had a rash."


def span(piece, kind):
    start = TEXT.index(piece)
    return {"start": start, "end": start + len(piece), "type": kind}


def gold_line(name):
    concepts = [span("Velmo", "Drug"), span("rash", "Effect")]
    return json.dumps({"id": name, "text": TEXT, "spans": [span(CANARY, "PATIENT")], "concepts": concepts})


@pytest.fixture(autouse=True)
def extractor(monkeypatch):
    monkeypatch.setattr(commands, "load_extractor", lambda folder: FakeExtractor())


@pytest.fixture
def masked_folder(tmp_path):
    folder = tmp_path / "masked"
    (folder / "sub").mkdir(parents=True)
    (folder / "a.txt").write_text("PHI took Velmo.")
    (folder / "sub" / "b.jsonl").write_text('{"id": 7, "text": "had a\\nrash", "masks": []}\n')
    (folder / "sub" / "b.explain.jsonl").write_text("{}\n")
    return folder


def test_concepts_of_a_folder_as_json_lines(command, masked_folder):
    done = command("research", "extraction", "find", masked_folder, "--model", "m")
    assert done.status == 0
    assert [json.loads(line) for line in done.stdout.splitlines()] == [
        {"id": "a.txt", "concepts": [{"start": 9, "end": 14, "type": "Drug", "text": "Velmo"}]},
        {"id": "7", "concepts": [{"start": 6, "end": 10, "type": "Effect", "text": "rash"}]},
    ]


def test_concepts_of_a_folder_for_brat(command, masked_folder, tmp_path):
    done = command(
        "research",
        "extraction",
        "find",
        masked_folder,
        "--model",
        "m",
        "--brat",
        tmp_path / "brat",
        "-o",
        tmp_path / "o.jsonl",
    )
    assert (done.status, done.stdout) == (0, "")
    assert (tmp_path / "brat" / "a.ann").read_text() == "T1\tDrug 9 14\tVelmo\n"
    assert (tmp_path / "brat" / "a.txt").read_text() == "PHI took Velmo."
    assert (tmp_path / "brat" / "000002.ann").read_text() == "T1\tEffect 6 10\trash\n"
    assert len((tmp_path / "o.jsonl").read_text().splitlines()) == 2
    again = command(
        "research", "extraction", "find", masked_folder, "--model", "m", "--brat", tmp_path / "brat"
    )
    assert (again.status, "--force" in again.stderr) == (2, True)
    assert (
        command(
            "research",
            "extraction",
            "find",
            masked_folder,
            "--model",
            "m",
            "--brat",
            tmp_path / "brat",
            "--force",
        ).status
        == 0
    )


@pytest.mark.parametrize(
    ("name", "content", "told"),
    [
        ("a.jsonl", f"{CANARY}\n", "line 1 is not valid JSON"),
        ("a.txt", b"\xff\xfe\xff", "a.txt"),
        ("a.pdf", "x", "contains no .txt or .jsonl"),
        ("b/c.jsonl", f'{{"text": "ok"}}\n{{"body": "{CANARY}"}}', "line 2 has no column named"),
    ],
)
def test_bad_input_is_named_in_one_line(command, tmp_path, name, content, told):
    path = tmp_path / "in" / name
    path.parent.mkdir(parents=True)
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    done = command(
        "research",
        "extraction",
        "find",
        tmp_path / "in",
        "--model",
        "m",
        "--brat",
        tmp_path / "out",
        "-o",
        tmp_path / "o",
    )
    assert (done.status, done.stdout) == (2, "")
    assert told in done.stderr
    assert done.stderr.count("\n") == 1
    assert CANARY not in done.stderr
    assert [p.name for p in tmp_path.iterdir()] == ["in"]


def test_other_files_are_not_overwritten(command, masked_folder, tmp_path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "notes.doc").write_text("x")
    done = command(
        "research",
        "extraction",
        "find",
        masked_folder,
        "--model",
        "m",
        "--brat",
        tmp_path / "mine",
        "--force",
    )
    assert (done.status, "other files" in done.stderr) == (2, True)


def test_what_is_read_is_never_overwritten(command, masked_folder):
    texts, path = masked_folder / "sub" / "b.jsonl", masked_folder / "sub" / ".." / "sub" / "b.jsonl"
    before = texts.read_bytes()
    for arguments in (
        ("research", "extraction", "find", texts, "--model", "m", "-o", path, "--force"),
        ("research", "extraction", "find", masked_folder, "--model", "m", "--brat", masked_folder, "--force"),
        ("research", "extraction", "find", texts, "--model", "m", "--brat", masked_folder, "--force"),
        ("research", "extraction", "find", masked_folder, "--model", "m", "-o", texts, "--force"),
        ("research", "extraction", "inject", texts, "--layout", "phee", "-o", path, "--force"),
    ):
        done = command(*arguments)
        assert (done.status, "is the input, or contains it" in done.stderr) == (2, True)
    assert texts.read_bytes() == before


@pytest.fixture
def evaluated(tmp_path):
    (tmp_path / "gold.jsonl").write_text(gold_line("a") + "\n" + gold_line("b") + "\n")
    masks = {"a": [CANARY], "b": [CANARY, "Velmo"]}
    lines = [
        json.dumps({"id": name, "masks": [[TEXT.index(p), TEXT.index(p) + len(p)] for p in pieces]})
        for name, pieces in masks.items()
    ]
    (tmp_path / "masked.jsonl").write_text("\n".join(lines))
    return tmp_path / "gold.jsonl", tmp_path / "masked.jsonl"


def test_evaluation_says_what_masking_costs_extraction(command, evaluated, tmp_path):
    (tmp_path / "model").mkdir()
    cost = tmp_path / "cost.json"
    done = command(
        "research", "extraction", "cost", *evaluated, "--model", tmp_path / "model", "--json", cost
    )
    assert done.status == 0, done.stderr
    assert "F1 masked" in done.stdout
    both = command(
        "evaluate", *evaluated, "--add", cost, "--json", tmp_path / "r.json", "--html", tmp_path / "r.html"
    )
    assert both.status == 0, both.stderr
    found = json.loads((tmp_path / "r.json").read_text())["extraction"]
    assert (found["Drug"]["f1_original"], found["Drug"]["recall_masked"], found["Drug"]["touched"]) == (
        1.0,
        0.5,
        1,
    )
    assert found["Effect"]["f1_masked"] == 1.0
    page = (tmp_path / "r.html").read_text()
    assert "Effect on a search for concepts" in page
    assert CANARY not in page + done.stdout


def test_gold_without_concepts_is_refused(command, evaluated, tmp_path):
    gold, masked = evaluated
    lines = [json.loads(line) for line in gold.read_text().splitlines()]
    gold.write_text(
        "\n".join(json.dumps({k: v for k, v in line.items() if k != "concepts"}) for line in lines)
    )
    done = command("research", "extraction", "cost", gold, masked, "--model", tmp_path)
    assert done.status == 2
    assert 'line 1 has no "concepts"' in done.stderr


def test_injected_documents_have_both_kinds_of_gold(command, tmp_path):
    line = {
        "id": "1",
        "text": "The patient was admitted with a rash after the patient took Velmo.",
        "spans": [],
    }
    start = line["text"].index("Velmo")
    line["spans"].append({"start": start, "end": start + 5, "type": "Drug"})
    (tmp_path / "phee.jsonl").write_text("".join(json.dumps(line | {"id": str(i)}) + "\n" for i in range(9)))
    out = tmp_path / "both.jsonl"
    done = command("research", "extraction", "inject", tmp_path / "phee.jsonl", "--layout", "phee", "-o", out)
    assert done.status == 0, done.stderr
    docs = [json.loads(text) for text in out.read_text().splitlines()]
    assert all(doc["text"][c["start"] : c["end"]] == "Velmo" for doc in docs for c in doc["concepts"])
    assert sum(len(doc["spans"]) for doc in docs) >= 9
    assert (
        command(
            "research", "extraction", "inject", tmp_path / "phee.jsonl", "--layout", "phee", "-o", out
        ).status
        == 2
    )


@pytest.mark.slow
@pytest.mark.parametrize("view", ["gold", "relative-dates"])
def test_an_extractor_is_trained_from_the_command_line(command, tmp_path, view):
    for name, numbers in (("train", range(6)), ("dev", range(6, 9))):
        lines = [json.loads(gold_line(f"d{i}")) for i in numbers]
        for i, line in zip(numbers, lines, strict=True):
            line["text"] += f" Day {i}."
        (tmp_path / f"{name}.jsonl").write_text("\n".join(map(json.dumps, lines)))
    (tmp_path / "c.toml").write_text(
        "[extractor]\nchar_dim = 3\nchar_units = 3\ntoken_units = 3\n[training]\nepochs = 1\nbatch = 3\n"
    )
    given = [
        "--train",
        tmp_path / "train.jsonl",
        "--dev",
        tmp_path / "dev.jsonl",
        "--config",
        tmp_path / "c.toml",
    ]
    done = command("research", "extraction", "train", *given, "-o", tmp_path / "model", "--view", view)
    assert done.status == 0, done.stderr
    manifest = json.loads((tmp_path / "model" / "manifest.json").read_text())
    assert (manifest["format"], manifest["provenance"]["view"]) == (
        "inverse-deid research extraction 3",
        view,
    )
    refused = command(
        "research",
        "extraction",
        "train",
        *given,
        "-o",
        tmp_path / "m2",
        "--view",
        "gold",
        "--kind",
        "stacked",
    )
    assert (refused.status, "Leave out --view" in refused.stderr) == (2, True)
    same = command(
        "research", "extraction", "train", "--train", given[1], "--dev", given[1], "-o", tmp_path / "m2", "-q"
    )
    assert (same.status, "texts are in train and in dev" in same.stderr) == (2, True)
