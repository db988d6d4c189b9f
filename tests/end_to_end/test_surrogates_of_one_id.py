"""One person under one id has one made-up name, in whatever row, file, order and number of processes."""

import csv
import json
import re

import pytest
from click.testing import CliRunner

from inverse_deid.cli.main import main

ROWS = [
    ("P7", "Mrs Ottoline Achterberg had a rash."),
    ("P9", "Mr Tobias Vandermolen had hives."),
    ("P7", "Ottoline Achterberg recovered."),
    ("P7", '"Achterberg, Ottoline" called. Dr Ingrid Sandqvist agreed.'),
    ("P9", "Vandermolen recovered. Dr Sandqvist saw Tobias."),
    ("P7", "Dr. Sandqvist saw Mrs Achterberg."),
    ("P7", "ACHTERBERG, OTTOLINE: see the letter of Dr SANDQVIST"),
    ("P7", "Ottoline was well. Achterberg's husband called Sandqvist."),
]
ORIGINALS = ("Ottoline", "Achterberg", "Tobias", "Vandermolen", "Ingrid", "Sandqvist")


@pytest.fixture
def key(tmp_path):
    path = tmp_path / "key"
    path.write_text("0123456789abcdef0123456789abcdef\n")
    return path


def mask(given, out, key, *options):
    arguments = ["mask", given, "--out", out, "-q", "--replace", "surrogate", "--key", key, *options]
    result = CliRunner().invoke(main, [str(one) for one in arguments])
    assert result.exit_code == 0, result.output


def write_table(path, rows):
    with path.open("w", newline="") as stream:
        csv.writer(stream).writerows([("id", "text"), *rows])
    return path


def read_table(path):
    with path.open(newline="") as stream:
        return [(row["id"], row["text"]) for row in csv.DictReader(stream)]


def names_in(rows, masked):
    """Return the made-up words of each original word under each id, folded."""
    found = {}
    for (case, text), (_, shown) in zip(rows, masked, strict=True):
        words, made = re.findall(r"\w+", text), re.findall(r"\w+", shown)
        assert len(words) == len(made), "each word is replaced by one word"
        for word, other in zip(words, made, strict=True):
            if word.title() in ORIGINALS:
                found.setdefault((case, word.title()), set()).add(other.title())
    return found


def test_rows_with_one_id_have_one_name_for_each_person(given, out, key):
    table = write_table(given / "table.csv", ROWS)
    mask(table, out, key, "--text-column", "text")
    found = names_in(ROWS, read_table(out / "table.csv"))
    assert {name: len(made) for name, made in found.items()} == dict.fromkeys(found, 1)
    made = {name: next(iter(some)) for name, some in found.items()}
    assert made["P7", "Sandqvist"] != made["P9", "Sandqvist"], "another id is another case"
    assert not set(made.values()) & {*ORIGINALS, "Phi"}


@pytest.mark.parametrize("options", [(), pytest.param(("--workers", "2"), marks=pytest.mark.slow)])
def test_order_file_and_processes_do_not_matter(given, out, tmp_path, key, options):
    table = write_table(given / "table.csv", ROWS)
    mask(table, out, key, "--text-column", "text")
    expected = names_in(ROWS, read_table(out / "table.csv"))
    parts = tmp_path / "parts"
    parts.mkdir()
    write_table(parts / "a.csv", ROWS[::-2])
    write_table(parts / "b.csv", ROWS[-2::-2])
    lines = (json.dumps({"id": case, "text": text}) for case, text in ROWS)
    (parts / "c.jsonl").write_text("\n".join(lines) + "\n")
    again = tmp_path / "again"
    mask(parts, again, key, "--text-column", "text", *options)
    lines = map(json.loads, (again / "c.jsonl").read_text().splitlines())
    for rows, masked in (
        (ROWS[::-2], read_table(again / "a.csv")),
        (ROWS[-2::-2], read_table(again / "b.csv")),
        (ROWS, [(line["id"], line["text"]) for line in lines]),
    ):
        found = names_in(rows, masked)
        assert found == {name: expected[name] for name in found}
