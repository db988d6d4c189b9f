"""Kills this process at a chosen step of its work on files, as a power cut or `kill -9` would."""

from __future__ import annotations

import atexit
import os
import signal
from collections.abc import Callable
from typing import Any

STEPS = ("open", "fsync", "replace", "unlink", "mkdir")
AT_EXIT = "exit"


def kill_at(point: str) -> None:
    """Arrange a SIGKILL.

    Args:
        point: `exit`: when Python ends. `7`: before the seventh step that changes files.
    """
    if point == AT_EXIT:
        atexit.register(os.kill, os.getpid(), signal.SIGKILL)
        return
    left = int(point)

    def counted(real: Callable[..., Any]) -> Callable[..., Any]:
        def step(*args: Any, **options: Any) -> Any:
            nonlocal left
            if real is opened and not (len(args) > 1 and args[1] & (os.O_WRONLY | os.O_RDWR)):
                return real(*args, **options)
            left -= 1
            if left == 0:
                os.kill(os.getpid(), signal.SIGKILL)
            return real(*args, **options)

        return step

    opened = os.open
    for name in STEPS:
        setattr(os, name, counted(getattr(os, name)))
