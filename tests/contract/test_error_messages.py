"""What errors say: facts without options or final stops, and remedies in the words of each surface."""

import ast
import re
from pathlib import Path

import click
import pytest

import inverse_deid
from inverse_deid.choices.records import Surface
from inverse_deid.choices.table import CHOICES
from inverse_deid.cli.main import main
from inverse_deid.cli.parts.messages import describe_error, name_option
from inverse_deid.core import errors
from inverse_deid.masking.choices import keyword_errors
from inverse_deid.review.files.service import explain_problem
from inverse_deid.service.choices import describe_problem

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
            if isinstance(message, ast.Call) and getattr(message.func, "id", "") in ("_", "ngettext"):
                message = message.args[0]
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


def list_choices(source):
    """Return the choices that a module names in errors and remedies."""
    choices = []
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.Call) or getattr(node.func, "id", "") not in {"Remedy", *KINDS}:
            continue
        named = [one.value for one in node.keywords if one.arg == "choice"]
        named += [
            one for also in node.keywords if also.arg == "also" for one in getattr(also.value, "elts", ())
        ]
        if node.func.id == "Remedy":
            named += node.args[:1]
        choices += [one.value for one in named if isinstance(one, ast.Constant) and one.value]
    return choices


def list_command_options(command, context):
    """Return the options of a command and of all below it."""
    options = {option for one in command.params for option in (*one.opts, *one.secondary_opts)}
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            options |= list_command_options(command.get_command(context, name), context)
    return options


def test_every_choice_that_an_error_names_is_an_option():
    options = list_command_options(main, click.Context(main))
    values = {one.name: one.names_on(Surface.MASK) for one in CHOICES if one.are_options}
    named = {path.name: list_choices(path.read_text("utf-8")) for path in PRODUCT.rglob("*.py")}
    assert sum(map(len, named.values())) > 70
    unknown = {
        (path, one, value)
        for path, some in named.items()
        for one in some
        for value in values.get(one, ("",))
        if name_option(one, value) not in options
    }
    assert unknown == set()


def test_one_error_is_told_in_the_words_of_each_surface():
    error = errors.KeptColumnError(
        "has dates",
        remedies=[errors.Remedy("dates", "shift"), errors.Remedy("keep_unchecked"), errors.Remedy("force")],
    )
    assert describe_error(error) == "has dates. Use --dates shift, use --keep-unchecked, or use --force."
    with pytest.raises(errors.KeptColumnError, match=r'^has dates\. Use dates="shift"$'), keyword_errors():
        raise error
    assert describe_problem(error) == "has dates. Use dates shift"
    assert describe_problem(error, {"keep_unchecked"}).endswith("Use dates shift, or use keep_unchecked")
    assert explain_problem(str(error), error.remedies) == (
        "has dates. Choose what should happen to dates, or choose Keep unchecked"
    )
