"""Reading list folders."""

import lzma
from pathlib import Path

import pytest

from inverse_deid.core.errors import LexiconError
from inverse_deid.lexicon.entries import WordFlag, list_folders, read_list

SOURCE = """
name = "few"
title = "A few words"
origin = "written for the test"
licence = "ours"
retrieved = 2026-01-01
count = 2
flag = "DRUG"
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    path = tmp_path / "few"
    path.mkdir()
    (path / "SOURCE.toml").write_text(SOURCE, "utf-8")
    (path / "words.txt").write_text("aspirin\nzzz\t12\n", "utf-8")
    return path


def test_a_list_is_read(folder: Path) -> None:
    word_list = read_list(folder)
    assert word_list.entries == {"aspirin": 0, "zzz": 12}
    assert word_list.flag is WordFlag.DRUG
    assert word_list.phrase_kind is None


def test_a_packed_list_is_read(folder: Path) -> None:
    data = (folder / "words.txt").read_bytes()
    (folder / "words.txt").unlink()
    (folder / "words.txt.xz").write_bytes(lzma.compress(data))
    assert len(read_list(folder).entries) == 2


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("count = 2", "count = 3"),
        ('licence = "ours"', ""),
        ('"DRUG"', '"POISON"'),
        ("count = 2", "count ="),
    ],
)
def test_a_wrong_source_file_is_refused(folder: Path, old: str, new: str) -> None:
    (folder / "SOURCE.toml").write_text(SOURCE.replace(old, new), "utf-8")
    with pytest.raises(LexiconError, match="few"):
        read_list(folder)


@pytest.mark.parametrize("content", [b"a\tmany\nb\n", b"\xff\xfe\n"])
def test_a_broken_list_is_refused(folder: Path, content: bytes) -> None:
    (folder / "words.txt").write_bytes(content)
    with pytest.raises(LexiconError, match="few"):
        read_list(folder)


def test_a_missing_list_is_refused(folder: Path) -> None:
    (folder / "words.txt").unlink()
    with pytest.raises(LexiconError, match="few"):
        read_list(folder)


def test_a_folder_without_lists_is_refused(tmp_path: Path) -> None:
    with pytest.raises(LexiconError):
        list_folders(tmp_path)
