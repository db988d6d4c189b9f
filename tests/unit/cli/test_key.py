"""`inverse-deid key new`."""

import stat
import sys
import time
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from inverse_deid.cli.parts import secret_files
from inverse_deid.cli.parts.secret_files import KEY_COMMAND_OPTION, read_secret
from inverse_deid.core.errors import ConfigurationError
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


def mask_shifted(command, tmp_path, *options):
    """Return the masked text of a case with moved dates, or the message of a refusal."""
    given = tmp_path / "a.txt"
    given.write_text("Seen on 12-OCT-2019, well.")
    out = tmp_path / f"out{len(list(tmp_path.iterdir()))}"
    result = command("mask", given, "--out", out, "--dates", "shift", *options)
    return (out / "a.txt").read_text() if result.status == 0 else result.stderr


def test_a_command_gives_the_key_that_a_file_gives(command, tmp_path):
    file = tmp_path / "my.key"
    command("key", "new", file)
    program = f"{sys.executable} -c \"print('  ' + open('{file}').read())\""
    by_command = mask_shifted(command, tmp_path, "--key-command", program)
    assert by_command == mask_shifted(command, tmp_path, "--key", file) != "Seen on PHI, well."


@pytest.mark.parametrize(
    ("program", "told"),
    [
        ("no-such-program-here", "cannot be started. Check its name"),
        ("unclosed 'quote", "cannot be started. Check its name"),
        ("echo", "printed nothing. Run it by itself"),
        (
            "sh -c 'echo secret-of-the-hospital; echo secret-of-the-hospital >&2; exit 3'",
            "with status 3. Run",
        ),
    ],
)
def test_a_command_that_gives_no_key_is_refused_without_its_output(command, tmp_path, program, told):
    message = mask_shifted(command, tmp_path, "--key-command", program)
    assert told in message and "secret-of" not in message


def test_a_command_and_a_file_are_refused(command, tmp_path):
    file = tmp_path / "my.key"
    command("key", "new", file)
    told = mask_shifted(command, tmp_path, "--key", file, "--key-command", "echo key")
    assert "--key-command and --key are both given" in told


def test_a_command_that_hangs_is_killed_with_its_children(monkeypatch):
    @click.command()
    @KEY_COMMAND_OPTION
    def show():
        read_secret(None)

    monkeypatch.setattr(secret_files, "_COMMAND_SECONDS", 0.3)
    started = time.monotonic()
    result = CliRunner().invoke(show, ["--key-command", "sh -c 'sleep 60 & sleep 60'"])
    assert "took longer than 0.3 seconds" in str(result.exception)
    assert time.monotonic() - started < 10


def test_a_command_that_prints_without_end_is_killed_at_once(monkeypatch):
    monkeypatch.setattr(secret_files, "_COMMAND_SECONDS", 3.0)
    started = time.monotonic()
    with pytest.raises(ConfigurationError, match="printed more than 4096 bytes"):
        secret_files.run_key_command("yes secret-of-the-hospital")
    assert time.monotonic() - started < 2


@pytest.mark.parametrize("child", ["sleep 4", "setsid sleep 4"])
def test_a_child_that_keeps_the_output_open_delays_nothing(monkeypatch, child):
    monkeypatch.setattr(secret_files, "_COMMAND_SECONDS", 0.3)
    started = time.monotonic()
    with pytest.raises(ConfigurationError, match=r"took longer than 0\.3 seconds"):
        secret_files.run_key_command(f"sh -c 'echo a-key-of-the-hospital; {child} &'")
    assert time.monotonic() - started < 3
