"""Work on files that may be hostile, in a child process with limits of memory and time.

A child does one piece of work after the other. It is killed when that takes too long, needs too much memory
or is no longer wanted, and the next work starts another child. Windows has no limit of memory.

A hostile file could take over the child. So it gives up what rights it can: on Linux it changes no file, runs
no program, uses no TCP and has no rights of an administrator (see `_drop_rights`). Work that needs a program
is done by a helper of the child, which does one kind of work and nothing else (see `ask_helper`), and changes
files in folders for temporary files alone. And what a child sends is data (msgspec), checked against the
types that the work declares, and never a pickle, which could run code here.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import struct
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager, suppress
from multiprocessing.connection import Connection
from pathlib import Path
from types import GeneratorType
from typing import Any, Literal, Protocol, TypeVar, cast, get_args, get_type_hints

import msgspec

from inverse_deid.core import errors
from inverse_deid.core.errors import FormatError, InverseDeidError, Remedy, StageError, describe_error
from inverse_deid.core.wording import _, current_language, speak_always

MAX_MEMORY_BYTES = 512 * 1024 * 1024
"""What a file may take, and `MEMORY_PER_BYTE` for each of its bytes. Allocations fail at twice as much.

A library may continue without what it could not allocate. So a file that came near to that is refused.
"""
MEMORY_PER_BYTE = 6
MAX_SECONDS = 60.0
SECONDS_PER_MIB = 0.5
"""What a file may take in addition."""
MAX_MORE_TIMES = 1_000
"""So often a piece of work may ask for `MAX_SECONDS` more, see `ask_for_time`."""

_NAME = "inverse-deid reader"
_GOES_FIRST = "1000"
_POLL_SECONDS = 0.1

Found = TypeVar("Found")
Question = TypeVar("Question")
Reply = TypeVar("Reply")


class Worker(Protocol):
    """Where files are worked on: in a child process, or here."""

    def call(self, work: Callable[..., Found], *given: object, n_bytes: int = 0) -> Found:
        """Call a function, see `LimitedProcess.call`."""
        ...

    def talk(
        self, work: Callable[..., Generator[Question, Reply, Found]], *given: object, n_bytes: int = 0
    ) -> Generator[Question, Reply, Found]:
        """Let a generator ask, see `LimitedProcess.talk`."""
        ...


class InThisProcess:
    """Works here, without limits: for files of the person who runs the program."""

    def call(self, work: Callable[..., Found], *given: object, n_bytes: int = 0) -> Found:
        """Call a function."""
        return work(*given)

    def talk(
        self,
        work: Callable[..., Generator[Question, Reply, Found]],
        *given: object,
        n_bytes: int = 0,
    ) -> Generator[Question, Reply, Found]:
        """Let a generator ask."""
        return (yield from work(*given))


def answer_all(talk: Generator[Question, Reply, Found], answer: Callable[[Question], Reply]) -> Found:
    """Answer all questions of a talk, and return its result.

    Example:
        >>> def count(n):
        ...     return (yield n) + (yield n + 1)
        >>> answer_all(count(1), lambda number: 10 * number)
        30
    """
    try:
        question = next(talk)
        while True:
            question = talk.send(answer(question))
    except StopIteration as stop:
        return cast(Found, stop.value)
    finally:
        talk.close()


_Kind = Literal["began", "question", "result", "error", "extend"]


class _Said(msgspec.Struct, frozen=True):
    """What the child sends: that it has begun, that it needs more time, a question, a result, or an error."""

    kind: _Kind
    content: bytes = b""
    peak_bytes: int = 0


class _SaidError(msgspec.Struct, frozen=True):
    """An error of the child: its class by name, and what it says."""

    kind: str
    message: str
    remedies: tuple[Remedy, ...]


Helper = Callable[..., bytes]
"""Work for which a child has no rights. Its arguments are strings and bytes."""


class LimitedProcess:
    """A child process for one piece of work at a time. It is started when it is needed.

    Args:
        helper: What the helper of the child can do, a function of a module. None = it has no helper.
    """

    def __init__(self, helper: Helper | None = None) -> None:
        self._helper = helper
        self._lock = threading.Lock()
        self._process: multiprocessing.process.BaseProcess | None = None
        self._pipe: Connection[Any, Any]
        self._max_bytes = 0  # what the child may take at most
        self._owner = 0  # the process that started it; one that was forked since has no child

    def call(
        self,
        work: Callable[..., Found],
        *given: object,
        is_stopped: Callable[[], bool] = lambda: False,
        max_seconds: float = MAX_SECONDS,
        n_bytes: int = 0,
    ) -> Found:
        """Call a function in the child. In the child itself, call it directly.

        Args:
            work: A function of a module. Its annotations say what it returns.
            given: Its arguments, which can be pickled.
            is_stopped: Tells whether nobody waits for the result any more.
            max_seconds: How long it may take.
            n_bytes: The size of the file: a large one may take more.

        Raises:
            InverseDeidError: The function raised it.
            FormatError: It took too much memory or time, or the child died.
            StageError: Nobody waits any more, or an unforeseen error of the function, without its message.
        """
        if multiprocessing.current_process().name == _NAME:
            return work(*given)
        talk = self.talk(work, *given, is_stopped=is_stopped, max_seconds=max_seconds, n_bytes=n_bytes)  # type: ignore[arg-type,var-annotated]
        return cast(Found, answer_all(talk, _refuse_question))

    def talk(
        self,
        work: Callable[..., Generator[Question, Reply, Found]],
        *given: object,
        is_stopped: Callable[[], bool] = lambda: False,
        max_seconds: float = MAX_SECONDS,
        n_bytes: int = 0,
    ) -> Generator[Question, Reply, Found]:
        """Let a generator of the child ask; each question waits for its answer, whose time does not count.

        Args:
            work: Yields questions and is sent the answers, which can be pickled. Its annotation,
                `Generator[Question, Reply, Found]`, says what it asks and returns.
            given: As in `call`, as are the errors.
            is_stopped: As in `call`.
            max_seconds: As in `call`.
            n_bytes: As in `call`.
        """
        asks, returns = _find_types(work)
        n_mib = n_bytes / (1024 * 1024)
        max_bytes = MAX_MEMORY_BYTES + MEMORY_PER_BYTE * n_bytes
        task = _Talk(is_stopped, max_seconds + SECONDS_PER_MIB * n_mib, max_bytes)
        while not self._lock.acquire(timeout=_POLL_SECONDS):
            task.check()
        is_over = False
        try:
            self._begin(task, (current_language(), work, given, max_bytes))
            while (said := self._hear(task)).kind == "question":
                asked = time.monotonic()
                reply = yield _decode(said.content, asks)
                task.deadline += time.monotonic() - asked
                self._send(reply)
            # Memory is not always given back, and the next file has a right to all of it.
            is_over = said.peak_bytes <= MAX_MEMORY_BYTES // 2
            if said.kind == "error":
                raise _restore_error(_decode(said.content, _SaidError))
            return cast(Found, _decode(said.content, returns))
        finally:
            try:
                if (
                    not is_over
                ):  # also when whoever asked had an error: what the child says next would be of this talk
                    self.end()
            finally:
                self._lock.release()

    def _begin(self, task: _Talk, work: object) -> None:
        is_ours = self._process is not None and self._owner == os.getpid()
        is_alive = is_ours and self._process is not None and self._process.is_alive()
        if not is_alive or self._max_bytes < task.max_bytes:
            self._start(task.max_bytes)
            deadline, task.deadline = task.deadline, time.monotonic() + MAX_SECONDS
            began = time.monotonic()
            self._hear(task)
            task.deadline = deadline + time.monotonic() - began
        if not self._send(work):
            raise task.refuse()

    def _send(self, what: object) -> bool:
        """Send something to the child; return whether it lives. The next `_hear` notices if not."""
        try:
            self._pipe.send(what)
        except OSError:
            return False
        return True

    def _hear(self, task: _Talk) -> _Said:
        """Wait for what the child says, and give it time as often as it asks."""
        while (said := self._receive(task)).kind == "extend":
            task.give_time()
            task.check()
            if time.monotonic() > task.deadline:
                raise task.refuse()
        return said

    def _receive(self, task: _Talk) -> _Said:
        is_there = False
        data = b""
        with suppress(EOFError, OSError):  # it died
            while not (is_there := self._pipe.poll(_POLL_SECONDS)):
                task.check()
                if time.monotonic() > task.deadline:
                    break
            if is_there:
                data = self._pipe.recv_bytes(task.max_bytes)
        if not data:
            raise task.refuse()
        said = cast(_Said, _decode(data, _Said))
        if said.peak_bytes > task.max_bytes:
            raise task.refuse()
        return said

    def _start(self, max_bytes: int) -> None:
        self.end()
        context = multiprocessing.get_context("spawn")
        pipe, other = context.Pipe()
        process = context.Process(
            target=_work, args=(other, max_bytes, self._helper), name=_NAME, daemon=True
        )
        problem = ""
        try:
            with no_terminal_signals():
                process.start()
            self._process, self._pipe, self._max_bytes = process, pipe, max_bytes
            self._owner = os.getpid()
        except OSError as error:
            problem = error.strerror or type(error).__name__
        finally:
            other.close()
        if problem:
            pipe.close()
            raise StageError(
                _("a child process cannot be started ({problem}). Try again later", problem=problem)
            )

    def end(self) -> None:
        """Kill the child, whatever it does."""
        process, self._process = self._process, None
        if process is not None:
            self._pipe.close()
            if self._owner == os.getpid():
                process.kill()
                process.join()


class _Talk:
    """How long a piece of work may take, and how much memory."""

    def __init__(self, is_stopped: Callable[[], bool], max_seconds: float, max_bytes: int) -> None:
        self._is_stopped = is_stopped
        self._max_seconds = max_seconds
        self.max_bytes = max_bytes
        self.deadline = time.monotonic() + max_seconds
        self._n_more = 0

    def give_time(self) -> None:
        """Let the work take `MAX_SECONDS` from now on, `MAX_MORE_TIMES` at most."""
        self._n_more += 1
        if self._n_more <= MAX_MORE_TIMES:
            self.deadline = max(self.deadline, time.monotonic() + MAX_SECONDS)

    def check(self) -> None:
        """Raise a `StageError` if nobody waits any more."""
        if self._is_stopped():
            raise StageError(_("the time of the request is over"))

    def refuse(self) -> FormatError:
        """Return the error of a file that takes too much."""
        memory = (
            _("{max_bytes} MB of memory and ", max_bytes=self.max_bytes >> 20) if os.name == "posix" else ""
        )
        return FormatError(
            _(
                "could not be read within {memory}{max_seconds:g} s. Split it or save it again",
                memory=memory,
                max_seconds=round(self._max_seconds, 1),
            )
        )


def _refuse_question(_question: object) -> None:
    raise StageError(_("a child process asked, and nobody answers"))


def _find_types(work: Callable[..., Any]) -> tuple[Any, Any]:
    """Return what a function asks and returns; without annotations it is anything."""
    with suppress(TypeError):  # a function of C
        found = get_type_hints(work).get("return", Any)
        given = get_args(found)
        return (given[0], given[2]) if len(given) == len(("ask", "reply", "return")) else (Any, found)
    return Any, Any


def _decode(data: bytes, kind: Any) -> Any:  # noqa: ANN401
    problem = ""
    try:
        return msgspec.msgpack.decode(data, type=kind)
    except (msgspec.MsgspecError, ValueError, TypeError) as error:
        problem = describe_error(error)
    raise StageError(_("a child process sent {problem}", problem=problem))


def _restore_error(said: _SaidError) -> InverseDeidError:
    kind = getattr(errors, said.kind, None)
    if not (isinstance(kind, type) and issubclass(kind, InverseDeidError)):
        kind = StageError
    return kind(said.message, remedies=said.remedies)


_more_time: list[Callable[[], None]] = []
"""In a child, what asks for more time."""


def ask_for_time() -> None:
    """Let the work of this child take `MAX_SECONDS` more: a file of many slow pages has a limit per page.

    Elsewhere nothing happens.
    """
    for ask in _more_time:
        ask()


_helpers: dict[Helper, Connection[Any, Any]] = {}
"""In a child, where its helper is asked."""


def ask_helper(helper: Helper, *given: str | bytes) -> bytes:
    """Let the helper of this child work. Where there is none, such as outside of a child, work here.

    The helper receives and sends data, never a pickle: a child that was taken over can ask it
    for its one kind of work alone. If the helper died, the child ends as well: the work took too much, and
    the next work has another child with another helper.

    Raises:
        InverseDeidError: The function raised it.
    """
    pipe = _helpers.get(helper)
    if pipe is None:
        return helper(*given)
    try:
        pipe.send_bytes(msgspec.msgpack.encode(given))
        said = cast(_Said, _decode(pipe.recv_bytes(), _Said))
    except (EOFError, OSError):
        os._exit(1)
    if said.kind == "error":
        raise _restore_error(_decode(said.content, _SaidError))
    return said.content


def _start_helper(helper: Helper, pipe: Connection[Any, Any], most_bytes: int) -> None:
    """Start the helper of this child, which ends with it (Linux alone, where children drop their rights)."""
    if sys.platform != "linux":
        return
    ours, theirs = multiprocessing.Pipe()
    parent = os.getpid()
    if os.fork():
        theirs.close()
        _helpers[helper] = ours
        return
    try:
        pipe.close()
        ours.close()
        _end_with(parent)
        _drop_rights(is_helper=True)
        _limit(most_bytes, is_final=True)
        _serve(helper, theirs)
    finally:
        os._exit(0)


def _serve(helper: Helper, pipe: Connection[Any, Any]) -> None:
    # Ends with the child, which closes the pipe.
    with suppress(EOFError, OSError, SystemExit, MemoryError):
        while True:
            given = msgspec.msgpack.decode(pipe.recv_bytes())
            try:
                said = _Said("result", helper(*given))
            except MemoryError:  # what it took may not be given back
                return
            except Exception as error:  # noqa: BLE001 - its message may quote a file
                plain = strip_error(error)
                told = _SaidError(type(plain).__name__, str(plain), plain.remedies)
                said = _Said("error", msgspec.msgpack.encode(told))
            pipe.send_bytes(msgspec.msgpack.encode(said))


def _end_with(parent: int) -> None:
    """Let this process end when another one does, and what it runs with it: a signal raises `SystemExit`.

    Each thread of the other one can send a signal when it ends. The first is enough, and what is cleaned up
    after it is not cut short by the next.
    """
    import ctypes

    def stop(number: int, _frame: object) -> None:
        signal.signal(number, signal.SIG_IGN)
        sys.exit(1)

    signal.signal(signal.SIGTERM, stop)
    ctypes.CDLL(None).prctl(1, ctypes.c_ulong(signal.SIGTERM))  # PR_SET_PDEATHSIG
    if os.getppid() != parent:
        sys.exit(1)


def _work(pipe: Connection[Any, Any], most_bytes: int, helper: Helper | None = None) -> None:
    """Do what the parent asks for, one piece of work after the other."""
    _go_first()
    if helper is not None:
        _start_helper(helper, pipe, most_bytes)
    _drop_rights()  # before there are other threads
    threading.Thread(target=end_with_parent, daemon=True).start()
    _limit(most_bytes, is_final=True)

    def say(kind: _Kind, what: object, n_bytes: int = 0) -> None:
        content = msgspec.msgpack.encode(what)
        peak_bytes = max(n_bytes, _measure_peak())
        pipe.send_bytes(msgspec.msgpack.encode(_Said(kind, content, peak_bytes)))

    _more_time.append(lambda: say("extend", None))
    with suppress(Exception):  # no message of an error shows a text: the work fails because this process ends
        say("began", None)
        while True:
            language, work, given, max_bytes = pipe.recv()
            speak_always(language)
            _limit(max_bytes)
            try:
                found = work(*given)
                if isinstance(found, GeneratorType):
                    found = _ask_all(found, say, pipe)
                say("result", found)
            except MemoryError:
                say("result", None, 1 << 62)
            except Exception as error:  # noqa: BLE001 - its message may quote a file
                plain = strip_error(error)
                say("error", _SaidError(type(plain).__name__, str(plain), plain.remedies))
            found = work = given = None


def _ask_all(talk: Generator[Any, Any, Any], say: Callable[..., None], pipe: Connection[Any, Any]) -> Any:  # noqa: ANN401
    reply: object = None
    while True:
        try:
            question = talk.send(reply)
        except StopIteration as stop:
            return stop.value
        say("question", question)
        reply = pipe.recv()


def _limit(max_bytes: int, *, is_final: bool = False) -> None:
    """Limit the memory of this process where the system can, and write no memory to a disk if it crashes.

    A final limit cannot be raised again.
    """
    try:
        import resource
    except ImportError:  # Windows
        return
    for kind, limit in ((resource.RLIMIT_DATA, 2 * max_bytes), (resource.RLIMIT_CORE, 0)):
        hard = resource.getrlimit(kind)[1]
        limit = limit if hard == resource.RLIM_INFINITY else min(limit, hard)  # noqa: PLW2901
        resource.setrlimit(kind, (limit, limit if is_final else hard))


def _go_first() -> None:
    """Let Linux end this process, and what it starts, before others when memory runs out."""
    with suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text(_GOES_FIRST, "ascii")


MEMORY_FOLDER = Path("/dev/shm")  # noqa: S108 - of this system, not shared: what is made in it is private
"""A folder in memory, where the system has one."""
_PROGRAMS = 1
"""The right of Landlock to run a program."""
_CHANGES = sum(1 << bit for bit in (1, *range(4, 15)))
"""Rights of Landlock to write, remove, make, move and truncate files."""
_CHANGES_OF_A_FILE = (1 << 1) | (1 << 14)
"""Those that are not about a folder."""
_TCP = 0b11
"""Rights of Landlock to listen on a port, and to connect to one."""
_SIGNALS = 0b10
"""What Landlock can keep to processes with the same rights: signals."""


def _drop_rights(*, is_helper: bool = False) -> None:
    """Give up what this process and its threads do not need, as far as the system permits (Linux alone).

    It gains no rights from a program that has more, has no capabilities, runs no program and changes no
    file. With Linux 6.7 and newer it uses no TCP. It can still read what the server can read. A helper may
    run programs, and change files in folders for temporary files. From Linux 6.12 on it sends no signal to
    other processes: that of a child that ends must reach its helper.

    Source: capset(2), prctl(2), landlock(7). The numbers are the same on all architectures.
    """
    if sys.platform != "linux":
        return
    import ctypes

    libc = ctypes.CDLL(None, use_errno=True)
    nothing = ctypes.c_ulong(0)
    libc.prctl(38, ctypes.c_ulong(1), nothing, nothing, nothing)  # PR_SET_NO_NEW_PRIVS
    version = libc.syscall(444, None, nothing, ctypes.c_ulong(1))  # landlock_create_ruleset
    if version > 0:
        # Older kernels know fewer rights, and only their part of the structure.
        changes = _CHANGES & ((1 << {1: 13, 2: 14}.get(version, 15)) - 1)
        files = changes if is_helper else changes | _PROGRAMS
        handled = (ctypes.c_uint64 * 3)(files, _TCP, _SIGNALS if is_helper else 0)
        n_known = 3 if version >= 6 else 2 if version >= 4 else 1
        rules = libc.syscall(444, handled, ctypes.c_ulong(8 * n_known), nothing)
        if rules >= 0:
            for path in (MEMORY_FOLDER, Path(tempfile.gettempdir()), Path(os.devnull)) if is_helper else ():
                with suppress(OSError):  # it does not exist
                    place = os.open(path, os.O_PATH)
                    permitted = changes if path.is_dir() else changes & _CHANGES_OF_A_FILE
                    rule = struct.pack("=Qi", permitted, place)
                    libc.syscall(445, rules, ctypes.c_ulong(1), rule, nothing)  # landlock_add_rule
                    os.close(place)
            libc.syscall(446, rules, nothing)  # landlock_restrict_self: nothing else is permitted
            os.close(rules)
    # _LINUX_CAPABILITY_VERSION_3, of this process; effective, permitted and inheritable: none.
    libc.capset((ctypes.c_uint32 * 2)(0x20080522, 0), (ctypes.c_uint32 * 6)())


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
    return StageError(_("a worker process met {error}", error=describe_error(error)))


def end_with_parent() -> None:
    """End this process when its parent ends: a killed program leaves no process behind."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


@contextmanager
def no_terminal_signals() -> Iterator[None]:
    """Let processes that are started here ignore Ctrl+C and a closed terminal: their parent ends them."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGHUP})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
