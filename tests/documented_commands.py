"""The commands that README and docs print, and whether each exists with all its options."""

import re
import shlex
from pathlib import Path

import pytest
from click import Context

from inverse_deid.cli.main import main

ROOT = Path(__file__).parents[1]


def list_commands(*, of_research):
    """Yield each command in a block of code, with the lines that continue it, as a case with its words.

    Args:
        of_research: Whether those of `inverse-deid research` are wanted, or all others.
    """
    for page in (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))):
        text = page.read_text(encoding="utf-8")
        for block in re.finditer(r"^```[a-z]*\n(.*?)^```", text, re.DOTALL | re.MULTILINE):
            for line in block[1].replace("\\\n", " ").splitlines():
                # shlex ends a word at these signs only where the shell would.
                found = re.match(r"(?:\$ |sudo -u \S+ )?(?:\S*/)?inverse-deid (.*)", line)
                if found:
                    words = shlex.split(re.split(r"\s[|<>&;]", found[1])[0], comments=True)
                    if (words[0] == "research") == of_research:
                        yield pytest.param(words, id=f"{page.name}: {' '.join(words)}")


def list_unknown_options(words):
    """Return the options of a command line that its command does not have; the command exists."""
    words, command = list(words), main
    while hasattr(command, "get_command"):
        name = words.pop(0)
        command = command.get_command(Context(command), name)
        assert command is not None, name
    known = {option for one in command.params for option in (*one.opts, *one.secondary_opts)}
    known |= {"--help", "-h"}
    given = {word.partition("=")[0] for word in words if re.match(r"--?[a-z]", word)}
    return given - known
