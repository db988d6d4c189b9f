"""The help of commands with many options: every option under exactly one heading, basics first."""

import os
import re

import click
import pytest

from inverse_deid.cli.main import main
from inverse_deid.cli.parts.grouped_command import GroupedCommand, with_groups


def commands(group, path=()):
    """Yield the path and the command of every command below a group."""
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if isinstance(command, click.Group):
            yield from commands(command, (*path, name))
        else:
            yield (*path, name), command


ALL = dict(commands(main))
GROUPED = {path: command for path, command in ALL.items() if isinstance(command, GroupedCommand)}
MANY_OPTIONS = 10


def sections(command):
    """Return the options by heading, as the help shows them."""
    context = click.Context(command, info_name="it", max_content_width=200, terminal_width=200)
    found, heading = {}, ""
    for line in command.get_help(context).splitlines():
        if re.fullmatch(r"\S.*:", line):
            heading = line.removesuffix(":")
            assert heading not in found, f"{heading} appears twice"
            found[heading] = []
        elif re.match(r" {2}-", line):
            found[heading].append(re.match(r"  ((?:-{1,2}[\w-]+(?:, | / )?)+)", line).group(1))
    return found


@pytest.mark.parametrize("path", GROUPED, ids=" ".join)
def test_every_option_is_under_exactly_one_heading(path):
    command = GROUPED[path]
    shown = [name for names in sections(command).values() for name in names]
    options = [one for one in command.params if isinstance(one, click.Option) and not one.hidden]
    expected = [[*one.opts, *one.secondary_opts] for one in options] + [["--help"]]
    shown_names = sorted(part for name in shown for part in re.findall(r"-{1,2}[\w-]+", name) if part != "-h")
    assert shown_names == sorted(part for names in expected for part in names)
    assert sections(command)["Other options"][-1].endswith("--help")
    assert len(sections(command)["Other options"]) == 1
    assert set(command.headings) == {one.name for one in options}


@pytest.mark.parametrize("path", [("mask",), ("serve",), ("review", "init"), ("review", "add")], ids=" ".join)
def test_no_option_is_left_over(path):
    assert "Further options" not in sections(GROUPED[path])


@pytest.mark.parametrize("path", ALL, ids=" ".join)
def test_a_command_with_many_options_has_headings_and_examples(path):
    command = ALL[path]
    n_options = sum(isinstance(one, click.Option) for one in command.params)
    if n_options > MANY_OPTIONS:
        assert isinstance(command, GroupedCommand), f"{n_options} options"
        assert command.examples


@pytest.mark.parametrize("path", GROUPED, ids=" ".join)
def test_examples_are_commands_that_click_can_parse(path):
    for line in GROUPED[path].examples.values():
        program, *words = line.split()
        assert program == "inverse-deid"
        called = next(one for one in (tuple(words[:n]) for n in (1, 2, 3)) if one in ALL)
        command = ALL[called]
        command.make_parser(click.Context(command)).parse_args(
            words[len(called) :]
        )  # refuses unknown options
    assert any(line.startswith(f"inverse-deid {' '.join(path)} ") for line in GROUPED[path].examples.values())


def test_basics_of_mask_come_first():
    found = sections(GROUPED[("mask",)])
    assert list(found)[:5] == [
        "Examples",
        "Input and output",
        "Tables and JSON Lines",
        "What is masked",
        "What replaces it",
    ]
    assert found["Input and output"][0] == "-o, --out"


def test_options_of_decorators_and_of_groups_have_their_headings():
    @with_groups({"More": (click.option("--b"),)})
    @click.command(cls=GroupedCommand, heading="Basics")
    @click.option("--a")
    def it():
        """Do it."""

    assert sections(it) == {"Basics": ["--a"], "More": ["--b"], "Other options": ["--help"]}


@pytest.mark.parametrize(("command", "expected"), [("mask", "1"), ("serve", "1"), ("evaluate", None)])
def test_commands_that_mask_leave_numpy_one_thread(monkeypatch, command, expected):
    monkeypatch.setattr(os, "environ", {})
    main.get_command(click.Context(main), command)
    assert os.environ.get("OPENBLAS_NUM_THREADS") == expected


def test_a_number_of_threads_that_a_user_set_is_kept(monkeypatch):
    monkeypatch.setattr(os, "environ", {"OPENBLAS_NUM_THREADS": "4"})
    main.get_command(click.Context(main), "mask")
    assert os.environ["OPENBLAS_NUM_THREADS"] == "4"
