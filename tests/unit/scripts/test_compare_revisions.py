"""Two revisions are compared by what they write."""

import gzip
import itertools
import json
import os
import random
import subprocess
import sys
from collections import Counter
from pathlib import Path

import compare_revisions as comparing
import pytest
from every_format import UNTRIED, write_formats

from inverse_deid.choices.records import Surface, list_choices
from inverse_deid.choices.table import CHOICES
from inverse_deid.formats.registry import FORMATS, sniff_format

TEXT = "Ms Orvik had a rash"
SERVER = Path(comparing.__file__).with_name("command_server.py")


class FakeRevision:
    """Returns what it was given, and notes the options."""

    def __init__(self, status=0, **files):
        self.reply = status, {name: data.encode() for name, data in files.items()}
        self.options = []

    def mask(self, given, options, out):
        self.options.append(tuple(options))
        return self.reply


def compare(old, new, options=()):
    comparison = comparing.Comparison(old, new, Counter())
    return comparison.compare(Path("cases.jsonl"), options)


@pytest.mark.parametrize(
    ("old", "new", "outcome"),
    [
        (FakeRevision(a="PHI"), FakeRevision(a="PHI"), "same"),
        (FakeRevision(1, a="PHI"), FakeRevision(1, a="PHI"), "same"),
        (FakeRevision(2), FakeRevision(2), "refused by both"),
        (FakeRevision(2), FakeRevision(a="PHI"), "refused by the old one"),
        (FakeRevision(a="PHI"), FakeRevision(2), "differs"),
        (FakeRevision(a=TEXT), FakeRevision(a="Ms PHI had a rash"), "differs"),
        (FakeRevision(a="PHI"), FakeRevision(1, a="PHI"), "differs"),
        (FakeRevision(a="PHI"), FakeRevision(a="PHI", b=""), "differs"),
    ],
)
def test_runs_are_the_same_if_status_and_bytes_are(old, new, outcome, capsys):
    assert compare(old, new) == outcome
    printed = capsys.readouterr().out
    assert (outcome in printed) == (outcome != "same" or old.reply[0] != 0)
    assert "Orvik" not in printed


def test_a_run_that_writes_nothing_proves_nothing():
    with pytest.raises(RuntimeError, match="nothing was written"):
        compare(FakeRevision(), FakeRevision())


def test_both_get_the_same_options_and_one_day(capsys):
    old, new = FakeRevision(a="1"), FakeRevision(a="1")
    compare(old, new, ("--dates", "year"))
    assert old.options == new.options
    assert set(old.options[0]) >= {"--dates", "--offsets", "--threads", "--today", "--fast"}
    compare(old, new, ("--careful",))
    assert "--fast" not in old.options[-1]


def test_each_value_of_each_choice_is_tried_once():
    tried = {(name, value) for one in comparing.list_singles() for name, value in one.items()}
    choices = list(list_choices(CHOICES, Surface.MASK))
    named = [one for one in choices if one.kind != "flag"]
    values = {(one.name, value) for one in named for value in one.names_on(Surface.MASK)}
    assert values <= tried
    assert {name for name, _ in tried} == {one.name for one in choices}


def test_what_a_value_needs_is_added():
    made = comparing.complete({"date_span_years": "5"}, random.Random(1))
    assert made["dates"] in ("relative-day", "shift")
    assert ("key" in made) == (made["dates"] == "shift")
    assert comparing.complete({"age_bands": "e2b"}, random.Random(1))["ages"] == "band"
    assert comparing.complete({"low": "0.5"}, random.Random(1)) == {"low": "0.5"}


def test_a_seed_gives_the_same_combinations_none_twice():
    first, again = (list(itertools.islice(comparing.draw_combinations(), 300)) for _ in range(2))
    assert first == again
    assert len(set(map(comparing.options_of, first))) == 300
    drawn = {name for one in first for name in one}
    assert drawn == {one.name for one in list_choices(CHOICES, Surface.MASK) if one.shapes_output}


def test_documents_are_drawn_from_each_input_in_turn(tmp_path):
    folder = tmp_path / "folder"
    folder.mkdir()
    for number in range(2):
        lines = [json.dumps({"id": f"f{number}{n}", "text": TEXT, "spans": []}) + "\n" for n in range(9)]
        (folder / f"{number}.jsonl.gz").write_bytes(gzip.compress("".join(lines).encode()))
    few = tmp_path / "few.jsonl"
    few.write_text(json.dumps({"id": "few", "text": TEXT}))
    docs = comparing.draw_documents([folder, few], 10)
    assert docs == comparing.draw_documents([folder, few], 10)
    assert docs[1] == {"id": "few", "text": TEXT}
    assert len({one["id"] for one in docs}) == 10
    assert {one["id"][:2] for one in docs} == {"f0", "f1", "fe"}
    assert len(comparing.draw_documents([folder, few], 1000)) == 19


def test_there_is_a_file_of_every_format(tmp_path):
    pytest.importorskip("openpyxl", reason="no openpyxl; pip install '.[office]'")
    write_formats(tmp_path / "files", [f"{TEXT} {n}" for n in range(12)])
    found = {sniff_format(one, one).name for one in (tmp_path / "files").iterdir()}
    assert found == set(FORMATS) - UNTRIED


@pytest.fixture
def revision(tmp_path):
    """A revision whose command ends with a status, after it printed something."""
    package = tmp_path / "code" / "inverse_deid" / "cli"
    package.mkdir(parents=True)
    (package.parent / "__init__.py").touch()
    (package / "__init__.py").touch()
    (package / "main.py").write_text(
        "import sys\ndef main(words):\n    print(words)\n    sys.exit(int(words[0]))\n"
    )
    return tmp_path / "code"


def serve(folder, package, lines):
    environment = {**os.environ, "PYTHONPATH": str(package)}
    command = [sys.executable, str(SERVER), str(folder)]
    return subprocess.run(command, input=lines, env=environment, capture_output=True, text=True, check=False)


def test_commands_are_run_one_after_the_other(revision):
    done = serve(revision, revision, '["0", "x"]\n["2"]\n')
    assert (done.stdout, done.returncode) == ("0\n2\n", 0), done.stderr


def test_another_revision_than_that_of_the_folder_is_refused(revision, tmp_path):
    done = serve(tmp_path / "other", revision, '["0"]\n')
    assert done.stdout == ""
    assert "is not that of" in done.stderr
