"""Progress on standard error: a bar on a terminal, a line now and then elsewhere if it is asked for."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable
from typing import TextIO

import click
from tqdm import tqdm

from inverse_deid.cli.masking.summary import count_documents
from inverse_deid.core.wording import _
from inverse_deid.engine.progress import RunProgress, format_seconds

SECONDS_A_LINE = 30.0

_BAR = "{percentage:3.0f} %|{bar}| {desc}"


class ProgressDisplay:
    """Shows how far a run is, how many documents are done, and the time that is left.

    `add`, `advance` and `expect` are those of `RunProgress`; they may be called from several threads. No
    name of a file is shown.

    Args:
        total: Size of all inputs, 0 = unknown.
        is_quiet: Show nothing.
        with_lines: If standard error is not a terminal, print a line every `SECONDS_A_LINE`.
        clock: Seconds that only increase.
    """

    def __init__(
        self,
        total: int = 0,
        *,
        is_quiet: bool = False,
        with_lines: bool = False,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        stream: TextIO | None = sys.stderr
        is_terminal = stream is not None and stream.isatty()
        self._progress = RunProgress(total, clock)
        self._has_lines = with_lines and not is_terminal and not is_quiet
        self._next_line_at = SECONDS_A_LINE
        self._showing = threading.Lock()
        self._bar = tqdm(
            total=total or None,
            bar_format=_BAR if total else "{desc}",
            file=stream,
            disable=is_quiet or not is_terminal,
            leave=False,
            miniters=0,  # batches and files are of very different sizes
            dynamic_ncols=True,
        )

    def __enter__(self) -> ProgressDisplay:
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.close()

    def expect(self, total: int) -> None:
        """Note the size of all inputs, once it is known."""
        self._progress.expect(total)
        self._bar.total, self._bar.bar_format = total, _BAR

    def add(self, n_documents: int, n_tokens: int) -> None:
        """Count a batch; with a total, it is shown with the part of the inputs that it was."""
        self._progress.add(n_documents, n_tokens)
        if not self._progress.total:
            self._show(0)

    def advance(self, amount: int, was_done: bool) -> None:
        self._progress.advance(amount, was_done)
        self._show(amount)

    def _show(self, amount: int) -> None:
        if self._bar.disable and not self._has_lines:
            return
        with self._showing:
            self._bar.set_description_str(self._describe(), refresh=False)
            self._bar.update(amount)
            if self._has_lines and self._progress.seconds_spent >= self._next_line_at:
                self._next_line_at = self._progress.seconds_spent + SECONDS_A_LINE
                share = self._progress.share
                percent = "" if share is None else _("{share} % done, ", share=int(100 * share))
                click.echo(f"{percent}{self._describe()}", err=True)

    def _describe(self) -> str:
        left = self._progress.estimate_seconds_left()
        seconds = self._progress.seconds_spent
        spent = _("after {seconds}", seconds=format_seconds(seconds))
        when = spent if left is None else _("about {seconds} left", seconds=format_seconds(left))
        return f"{count_documents(self._progress.n_documents)}, {when}"
