"""Options and inputs that `inverse-deid mask` refuses rather than guesses at."""

import io
import sys

import pytest
from fake_maskers import CANARY

from inverse_deid.core.errors import ConfigurationError
from inverse_deid.formats.encodings import normal_encoding
from inverse_deid.replacement.markers import fixed_marker


@pytest.fixture
def note(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text(f'{{"text": "{CANARY}"}}\n')
    return path


def test_the_narrative_cannot_be_the_id(command, note, tmp_path):
    result = command("mask", note, "--out", tmp_path / "out", "--id-column", "text")
    assert (result.status, "--id-column" in result.stderr) == (2, True)


@pytest.mark.parametrize(("option", "line"), [("--allow", f"Anna {CANARY}"), ("--deny", "---")])
def test_a_listed_line_that_could_never_be_found_is_refused(command, note, tmp_path, option, line):
    words = tmp_path / "words"
    words.write_text(f"# mine\nwell\n{line}\n")
    result = command("mask", note, "--out", tmp_path / "out", option, words)
    assert result.status == 2
    assert "words line 3" in result.stderr
    assert CANARY not in result.stderr


def test_empty_text_is_not_this_folder(command, tmp_path):
    result = command("mask", "", "--out", tmp_path / "out")
    assert (result.status, "INPUT is empty" in result.stderr) == (2, True)


@pytest.mark.parametrize("name", ["stdin", "stdout"])
def test_a_closed_pipe_is_one_clear_line(command, monkeypatch, name):
    monkeypatch.setattr(sys, name, None)
    result = command("mask", "-")
    assert result.status == 2
    assert "is closed" in result.stderr


@pytest.mark.parametrize("data", [b"", b"\x89PNG\x00", b"\xff\xfea\x00b"])
def test_what_is_wrong_with_standard_input_is_said_of_it(command, monkeypatch, data):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
    result = command("mask", "-", "--quiet")
    assert result.status == 2
    assert result.stderr.startswith("inverse-deid: standard input: ")


@pytest.mark.parametrize("encoding", ["idna", "punycode", "unicode_escape", "raw_unicode_escape", "UTF7"])
def test_encodings_that_cannot_write_every_masked_text_are_refused(encoding):
    with pytest.raises(ConfigurationError, match="unknown encoding"):
        normal_encoding(encoding)


@pytest.mark.parametrize("marker", ["", "a\nb", "\udcff", "\ufffe", "a\u2028b", "\x85", "P" * 41])
def test_markers_that_cannot_be_written_everywhere_are_refused(marker):
    with pytest.raises(ConfigurationError, match="printable"):
        fixed_marker(marker)
