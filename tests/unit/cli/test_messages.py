"""What commands say about a store, a file or an option that does not fit."""

import pytest


@pytest.mark.parametrize("words", [("serve",), ("summary",), ("user", "list"), ("verify",)], ids=" ".join)
def test_a_store_that_does_not_exist_is_named(command, tmp_path, words):
    store = tmp_path / "wrong.db"
    result = command("review", *words, "--store", store)
    assert result.status == 2
    assert f"{store} does not exist, nor does its key. Check --store" in result.stderr


def test_a_store_without_its_key_asks_for_the_key(command, tmp_path):
    store = tmp_path / "review.db"
    command("review", "init", "--store", store)
    (tmp_path / "review.db.key").unlink()
    result = command("review", "summary", "--store", store)
    assert result.status == 2
    assert "the key of the store is missing. Use --key FILE" in result.stderr


def test_a_file_without_the_column_is_named_with_a_colon(command, tmp_path):
    given = tmp_path / "cases.csv"
    given.write_text("case_id,narrative\n1,The patient had a rash.\n")
    result = command("review", "init", given, "--store", tmp_path / "review.db")
    assert result.status == 2
    assert "cases.csv: no column named 'text'. It has: case_id, narrative." in result.stderr
    assert not (tmp_path / "review.db").exists()


def test_offsets_that_were_not_written_are_not_called_confidential(command, tmp_path):
    (tmp_path / "a.txt").write_text("The patient had a rash.")
    result = command("mask", tmp_path / "a.txt", "--offsets", "--out", tmp_path / "masked")
    assert result.status == 2
    assert "is not JSON Lines" in result.stderr
    assert "CONFIDENTIAL" not in result.stderr
