"""`inverse-deid key new`."""

import stat
from pathlib import Path

from inverse_deid.cli.secret_files import read_secret
from inverse_deid.replacement.keys import check_key


def test_a_new_key_can_be_used_and_only_its_owner_can_read_it(command, tmp_path):
    file = tmp_path / "my.key"
    result = command("key", "new", file)
    assert result.status == 0
    secret = read_secret(file)
    check_key(secret)
    assert len(secret) >= 43
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert str(file) in result.stderr
    assert secret.decode() not in result.stderr + result.stdout


def test_two_keys_differ(command, tmp_path):
    for name in "ab":
        command("key", "new", tmp_path / name)
    assert (tmp_path / "a").read_bytes() != (tmp_path / "b").read_bytes()


def test_a_file_that_exists_is_never_overwritten(command, tmp_path):
    file = tmp_path / "my.key"
    file.write_text("precious")
    result = command("key", "new", file)
    assert result.status == 2
    assert f"{file} exists. A key is never overwritten" in result.stderr
    assert file.read_text() == "precious"


def test_a_link_is_not_followed(command, tmp_path):
    link = tmp_path / "link"
    link.symlink_to(tmp_path / "target")
    assert command("key", "new", link).status == 2
    assert not (tmp_path / "target").exists()


def test_a_place_that_cannot_be_written_is_named(command, tmp_path):
    result = command("key", "new", tmp_path / "nowhere" / "my.key")
    assert result.status == 2
    assert "cannot be written (No such file or directory). Choose another place" in result.stderr


def test_the_new_key_moves_dates(command, tmp_path):
    given, file = tmp_path / "a.txt", tmp_path / "my.key"
    given.write_text("Seen on 12-OCT-2019, well.")
    command("key", "new", file)
    out: Path = tmp_path / "out"
    assert command("mask", given, "--out", out, "--dates", "shift", "--key", file).status == 0
    assert (out / "a.txt").exists()
