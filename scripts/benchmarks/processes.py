"""Run a measuring program in a process of its own, and watch the memory of all processes below it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import psutil

SCRIPTS = Path(__file__).resolve().parents[1]
SAMPLE_SECONDS = 0.5
FIRST_SAMPLE_SECONDS = 0.02
"""Shorter at first, for programs that end at once."""
MIB = 1024 * 1024


class PartError(Exception):
    """A part could not be measured; the message says why and shows no text of a document."""


class PeakMemory:
    """Samples the memory of a process and of all processes below it until it is stopped.

    Pages that processes share count once (proportional set size) where the system can tell.

    Args:
        pid: The process.
        with_root: Whether it counts itself, beside those below it.
    """

    def __init__(self, pid: int, *, with_root: bool = True) -> None:
        self._pid = pid
        self._with_root = with_root
        self._peak_bytes = 0
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()

    def stop(self) -> float:
        """The peak in MiB."""
        self._stop.set()
        self._thread.join()
        return round(self._peak_bytes / MIB, 1)

    def _watch(self) -> None:
        pause = FIRST_SAMPLE_SECONDS
        while not self._stop.wait(pause):
            pause = min(2 * pause, SAMPLE_SECONDS)
            self._peak_bytes = max(self._peak_bytes, sum(map(_memory_of, self._processes())))

    def _processes(self) -> list[psutil.Process]:
        try:
            root = psutil.Process(self._pid)
            return ([root] if self._with_root else []) + root.children(recursive=True)
        except psutil.Error:
            return []


def _memory_of(process: psutil.Process) -> int:
    """Bytes of a process, 0 if it has ended."""
    try:
        full = process.memory_full_info()
        return int(getattr(full, "pss", full.rss))
    except (psutil.Error, OSError):
        return 0


def environment(more: Mapping[str, str] | None = None) -> dict[str, str]:
    """The environment of a measuring program: this one's, without a token, and with our modules."""
    found = {name: value for name, value in os.environ.items() if name != "INVERSE_DEID_TOKEN"}
    path = [str(SCRIPTS), str(SCRIPTS.parent), found.get("PYTHONPATH", "")]
    return {**found, "PYTHONPATH": os.pathsep.join(filter(None, path)), **(more or {})}


def measured(
    command: Sequence[str | Path], *, env: Mapping[str, str] | None = None, with_root: bool = True
) -> dict[str, Any]:
    """Run a program that prints its figures as a JSON object, last and from the beginning of a line.

    Args:
        command: The program and its arguments; what it writes to standard error is thrown away.
        env: Its environment; None = `environment()`.
        with_root: Whether the memory of the program itself counts, beside that of the processes below it.

    Returns:
        The figures, and `all_processes_mb`.

    Raises:
        PartError: It failed, or printed no figures.
    """
    words = [str(word) for word in command]
    with subprocess.Popen(
        words,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=dict(environment() if env is None else env),
        text=True,
    ) as process:
        memory = PeakMemory(process.pid, with_root=with_root)
        printed, _ = process.communicate()
        peak = memory.stop()
    if process.returncode:
        raise PartError(f"ended with status {process.returncode}: {_shown(words)}")
    try:
        figures = json.loads(printed[f"\n{printed}".rindex("\n{") :])
    except ValueError:
        raise PartError(f"printed no figures: {_shown(words)}") from None
    return {**figures, "all_processes_mb": peak}


def _shown(words: Sequence[str]) -> str:
    """A command without its folders."""
    return " ".join(Path(word).name if os.sep in word else word for word in words)


def ours(program: str, *arguments: str | Path) -> list[str | Path]:
    """The command of one of our measuring programs, in this Python."""
    return [sys.executable, SCRIPTS / program, *arguments]
