"""What errors say: no module below the command line names an option, and messages have no final stop."""

import ast
import re
from pathlib import Path

import pytest

import inverse_deid
from inverse_deid.core import errors

PRODUCT = Path(inverse_deid.__file__).parent
RESEARCH = PRODUCT.parent / "research" / "inverse_deid_research"
OPTION = re.compile(r"(?<![\w!-])--[a-z][a-z0-9-]*")
COMMAND_LINES = (PRODUCT / "cli", RESEARCH / "commands")
OF_OTHER_PROGRAMS = ("core/extras.py", "core/revision.py")  # pipx, uv and git
KINDS = {name for name, one in vars(errors).items() if isinstance(one, type) and issubclass(one, Exception)}


def list_modules():
    modules = [path for root in (PRODUCT, RESEARCH) for path in sorted(root.rglob("*.py"))]
    assert len(modules) > 300
    return modules


def find_strings(tree):
    """Yield the strings of a module, parts of f-strings among them, but not those that stand alone."""
    alone = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in alone:
            yield node


def list_options(source):
    return [found for one in find_strings(ast.parse(source)) for found in OPTION.findall(one.value)]


def list_ends(source):
    """Return how each message of an error of the project ends that is written where it is made."""
    ends = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") in KINDS and node.args:
            message = node.args[0]
            last = message.values[-1] if isinstance(message, ast.JoinedStr) else message
            if isinstance(last, ast.Constant):
                ends.append(str(last.value)[-1:])
    return ends


def test_no_option_is_named_below_the_command_line():
    named = {}
    for path in list_modules():
        is_command = any(path.is_relative_to(folder) for folder in COMMAND_LINES)
        if not is_command and not path.as_posix().endswith(OF_OTHER_PROGRAMS):
            named[path.as_posix()] = list_options(path.read_text("utf-8"))
    assert {path: options for path, options in named.items() if options} == {}


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ('say(f"use --{name}, or --text-column")', ["--text-column"]),
        ('"""Say what --force does."""\nX = 1\n"""As --force does."""', []),
        ('run("a--b", "<!--c-->")', []),
    ],
)
def test_options_are_found_in_all_strings_but_docstrings(source, found):
    assert list_options(source) == found


def test_messages_have_no_final_stop():
    ends = {path: list_ends(path.read_text("utf-8")) for path in list_modules()}
    assert sum(map(len, ends.values())) > 500
    assert [path.name for path, found in ends.items() if "." in found] == []
