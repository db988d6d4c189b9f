"""The bar on a terminal, and the lines in a log file."""

import io
import re
import sys

import pytest

from inverse_deid.cli.parts.progress_display import ProgressDisplay


class Terminal(io.StringIO):
    def isatty(self):
        return True


class Clock:
    def __init__(self):
        self.now = 0.0

    def __call__(self):
        return self.now


@pytest.fixture
def clock():
    return Clock()


def test_a_terminal_shows_percent_documents_and_the_time_left(monkeypatch, clock):
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    with ProgressDisplay(1000, clock=clock) as display:
        display._bar.mininterval = 0.0
        clock.now = 60.0
        display.add(1234, 5000)
        display.advance(250, False)
        shown = terminal.getvalue().split("\r")[-1]
    assert re.match(r" *25 %\|.*\| 1,234 documents, about 3 min left", shown), shown


def test_without_a_total_a_terminal_shows_documents_and_time(monkeypatch, clock):
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    with ProgressDisplay(clock=clock) as display:
        display._bar.mininterval = 0.0
        clock.now = 5.0
        display.add(1, 20)
        assert terminal.getvalue().split("\r")[-1].startswith("1 document, after 5 s")


def test_a_total_that_is_known_later_is_shown(monkeypatch, clock):
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    with ProgressDisplay(clock=clock) as display:
        display._bar.mininterval = 0.0
        display.expect(4)
        clock.now = 5.0
        display.advance(1, False)
        assert " 25 %|" in terminal.getvalue().split("\r")[-1]


def test_the_bar_is_gone_at_the_end(monkeypatch, clock):
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    with ProgressDisplay(10, clock=clock) as display:
        display.advance(10, False)
    assert terminal.getvalue().split("\r")[-2].strip() == ""


@pytest.mark.parametrize("options", [{}, {"is_quiet": True, "with_lines": True}])
def test_a_log_file_shows_nothing_unless_asked_for(capsys, clock, options):
    with ProgressDisplay(1000, clock=clock, **options) as display:
        clock.now = 600.0
        display.add(10, 50)
        display.advance(500, False)
    assert capsys.readouterr().err == ""


def test_a_quiet_terminal_shows_nothing(monkeypatch, clock):
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    with ProgressDisplay(1000, is_quiet=True, with_lines=True, clock=clock) as display:
        clock.now = 600.0
        display.advance(500, False)
    assert terminal.getvalue() == ""


def test_a_log_file_gets_a_line_every_30_seconds(capsys, clock):
    with ProgressDisplay(1000, with_lines=True, clock=clock) as display:
        for clock.now in range(0, 91, 10):
            display.add(2, 50)
            display.advance(50, False)
    said = capsys.readouterr().err.splitlines()
    assert said == [
        "20 % done, 8 documents, about 2 min left",
        "35 % done, 14 documents, about 2 min left",
        "50 % done, 20 documents, about 2 min left",
    ]


def test_standard_error_that_is_closed_is_no_error(monkeypatch, clock):
    monkeypatch.setattr(sys, "stderr", None)
    with ProgressDisplay(1000, clock=clock) as display:
        display.advance(500, False)
