"""Work on files that may be hostile, in a child process with limits of memory and time.

A child does one call after the other. It is killed when a call takes too long, needs too much memory or is no
longer wanted. The next call starts another one. Windows has no limit of memory.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from inverse_deid.core.errors import FormatError, InverseDeidError, StageError, describe_error

MAX_MEMORY_BYTES = 512 * 1024 * 1024
"""What a file may take. Allocations fail at twice as much.

A library may continue without what it could not allocate. So a file that came near to that is refused.
"""
MAX_SECONDS = 60.0

_NAME = "inverse-deid reader"
_POLL_SECONDS = 0.1

Answer = Callable[[Any], Any]
"""Answers a question that the child has during a call."""


class LimitedProcess:
    """A child process for one call at a time. It is started when it is needed."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process: multiprocessing.process.BaseProcess | None = None
        self._pipe: Connection[Any, Any]

    def call(
        self,
        work: Callable[..., Any],
        *given: object,
        answer: Answer | None = None,
        is_stopped: Callable[[], bool] = lambda: False,
        max_seconds: float = MAX_SECONDS,
    ) -> Any:  # noqa: ANN401 - what it returns
        """Call a function in the child. In the child itself, call it directly.

        Args:
            work: A function of a module.
            given: Its arguments. They and its result can be pickled.
            answer: Answers its questions. If given, `work` has a last argument: a function that asks.
            is_stopped: Tells whether nobody waits for the result any more.
            max_seconds: How long it may take, without the time for answers.

        Raises:
            InverseDeidError: The function raised it.
            FormatError: It took too much memory or time, or the child died.
            StageError: Nobody waits any more, or an unforeseen error of the function, without its message.
        """
        if multiprocessing.current_process().name == _NAME:
            return work(*given)
        while not self._lock.acquire(timeout=_POLL_SECONDS):
            if is_stopped():
                raise StageError("the time of the request is over")
        try:
            found = self._call((work, given, answer is not None), answer, is_stopped, max_seconds)
        except BaseException:
            self.end()
            raise
        finally:
            self._lock.release()
        if isinstance(found, InverseDeidError):
            raise found
        return found

    def _call(
        self, task: object, answer: Answer | None, is_stopped: Callable[[], bool], max_seconds: float
    ) -> Any:  # noqa: ANN401
        is_late, found, peak_bytes = True, None, 0
        with suppress(EOFError, OSError):  # it died
            if self._process is None or not self._process.is_alive():
                self._start()
                self._wait(time.monotonic() + MAX_SECONDS, is_stopped)
                self._pipe.recv()
            self._pipe.send(task)
            deadline = time.monotonic() + max_seconds
            while self._wait(deadline, is_stopped):
                is_question, found, peak_bytes = self._pipe.recv()
                if not is_question:
                    is_late = False
                    break
                asked = time.monotonic()
                self._pipe.send(None if answer is None else _try(answer, found))
                deadline += time.monotonic() - asked
        if is_late or peak_bytes > MAX_MEMORY_BYTES:
            memory = f"{MAX_MEMORY_BYTES >> 20} MB of memory and " if os.name == "posix" else ""
            raise FormatError(
                f"could not be read within {memory}{max_seconds:g} s. Split it or save it again"
            )
        if peak_bytes > MAX_MEMORY_BYTES // 2:
            self.end()  # memory is not always given back, and the next file has a right to all of it
        return found

    def _wait(self, deadline: float, is_stopped: Callable[[], bool]) -> bool:
        while not self._pipe.poll(_POLL_SECONDS):
            if is_stopped():
                raise StageError("the time of the request is over")
            if time.monotonic() > deadline:
                return False
        return True

    def _start(self) -> None:
        self.end()
        context = multiprocessing.get_context("spawn")
        self._pipe, other = context.Pipe()
        self._process = context.Process(target=_work, args=(other,), name=_NAME, daemon=True)
        with no_keyboard_signals():
            self._process.start()
        other.close()

    def end(self) -> None:
        """Kill the child, whatever it does."""
        process, self._process = self._process, None
        if process is not None:
            self._pipe.close()
            process.kill()
            process.join()


def _try(answer: Answer, question: object) -> Any:  # noqa: ANN401
    try:
        return answer(question)
    except InverseDeidError as error:
        return strip_error(error)


def _work(pipe: Connection[Any, Any]) -> None:
    """Do what the parent asks for, one call after the other."""
    threading.Thread(target=end_with_parent, daemon=True).start()
    _set_limits()

    def ask(question: object) -> Any:  # noqa: ANN401
        pipe.send((True, question, 0))
        reply = pipe.recv()
        if isinstance(reply, InverseDeidError):
            raise reply
        return reply

    with suppress(Exception):  # no message of an error shows a text: the call fails because this process ends
        pipe.send(None)
        while True:
            work, given, asks = pipe.recv()
            n_bytes = 0
            try:
                found = work(*given, ask) if asks else work(*given)
            except MemoryError:
                found, n_bytes = None, MAX_MEMORY_BYTES + 1
            except Exception as error:  # noqa: BLE001 - its message may quote a file
                found = strip_error(error)
            pipe.send((False, found, max(n_bytes, _measure_peak())))
            del found, work, given


def _set_limits() -> None:
    """Limit the memory of this process where the system can, and write no memory to a disk if it crashes."""
    try:
        import resource
    except ImportError:  # Windows
        return
    for kind, limit in ((resource.RLIMIT_DATA, 2 * MAX_MEMORY_BYTES), (resource.RLIMIT_CORE, 0)):
        hard = resource.getrlimit(kind)[1]
        limit = limit if hard == resource.RLIM_INFINITY else min(limit, hard)  # noqa: PLW2901
        resource.setrlimit(kind, (limit, limit))


def _measure_peak() -> int:
    """Return how many bytes this process had at most, 0 = unknown."""
    with suppress(OSError):
        for line in Path("/proc/self/status").read_text("ascii", "replace").splitlines():
            if line.startswith("VmHWM:"):
                return 1024 * int(line.split()[1])
    return 0


def strip_error(error: Exception) -> InverseDeidError:
    """Return an error without its cause and traceback; an unforeseen one without its message."""
    if isinstance(error, InverseDeidError):
        return error.add_prefix("")
    return StageError(f"a worker process met {describe_error(error)}")


def end_with_parent() -> None:
    """End this process when its parent ends: a killed program leaves no process behind."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


@contextmanager
def no_keyboard_signals() -> Iterator[None]:
    """Let processes that are started here ignore signals from the keyboard (where they exist)."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
