"""Other packages add commands by entry points; the research is one of them."""

import importlib.metadata
import os
import subprocess
import sys

import pytest
from click.testing import CliRunner

from inverse_deid.cli.main import ADDED_COMMANDS, main
from inverse_deid.core.extras import research_hint


@pytest.fixture
def alone(monkeypatch):
    """No other package is installed."""
    monkeypatch.setattr(importlib.metadata, "entry_points", lambda **_: ())


@pytest.fixture
def greeting(tmp_path):
    """A package with a command `greet`, and one that would take the place of `mask`: what a program prints beside it."""
    meta = tmp_path / "greeting-1.dist-info"
    meta.mkdir()
    (meta / "METADATA").write_text("Metadata-Version: 2.1\nName: greeting\nVersion: 1\n")
    (meta / "entry_points.txt").write_text(
        f"[{ADDED_COMMANDS}]\ngreet = greeting:greet\nmask = greeting:greet\n"
    )
    (tmp_path / "greeting.py").write_text(
        'import click\n@click.command()\ndef greet():\n    """Say hello. And more."""\n    click.echo("hello")\n'
    )

    def run(*words):
        path = os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])
        command = [sys.executable, "-m", "inverse_deid.cli.main", *words]
        return subprocess.run(
            command,
            check=False,
            capture_output=True,
            text=True,
            timeout=120,
            env=os.environ | {"PYTHONPATH": path},
        ).stdout

    return run


def test_a_package_adds_a_command(greeting):
    assert greeting("greet") == "hello\n"
    assert "Other packages" in greeting("--help")
    assert " greet " in greeting("--help")
    assert "Say hello." in greeting("--help")


def test_no_package_replaces_a_command(greeting):
    assert greeting("--help").count(" mask ") == 1
    assert "Say hello" not in greeting("mask", "--help")


@pytest.mark.parametrize(
    "words", [["research"], ["research", "--help"], ["research", "thesis", "--out", "x"]]
)
def test_without_the_research_the_command_says_how_to_install_it(alone, words):
    result = CliRunner().invoke(main, words)
    assert result.exit_code == 2
    assert result.output == (
        "inverse-deid: the research is a package of its own: "
        "in the folder of your copy of inverse-deid, run `pip install . ./research`.\n"
    )


def test_without_the_research_the_help_does_not_list_it(alone):
    assert "research" not in CliRunner().invoke(main, ["--help"]).output


def test_an_unknown_command_is_still_unknown(alone):
    assert "No such command" in CliRunner().invoke(main, ["reserch"]).output


@pytest.mark.parametrize(
    ("mark", "command"),
    [
        ("pyvenv.cfg", "pip install . ./research"),
        ("pipx_metadata.json", "pipx inject inverse-deid ./research"),
        ("uv-receipt.toml", "uv tool install . -w ./research`, with the extras that you have"),
    ],
)
def test_the_hint_is_the_command_of_the_tool_that_installed_the_program(mark, command, tmp_path):
    (tmp_path / mark).touch()
    assert f"inverse-deid, run `{command}" in research_hint(environment=tmp_path)
