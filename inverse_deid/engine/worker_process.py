"""One worker process: started, asked, and started again when it died."""

from __future__ import annotations

import multiprocessing
import signal
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from threading import Event, Lock

from inverse_deid.core.errors import ConfigurationError, InverseDeidError, StageError, describe_error
from inverse_deid.core.values import Document, MaskedDocument
from inverse_deid.engine import worker
from inverse_deid.engine.worker import Load, Loaded

MAX_STARTS = 3
MAX_DEATHS_IN_A_ROW = 10


class WorkerDiedError(StageError):
    """The process ended before it answered; another one is being started."""


class WorkerProcess:
    """A process with a masker of its own, for one thread at a time.

    Started with `spawn`: it inherits neither memory nor open files. A signal from the keyboard does not
    reach it; who started it ends it.

    Args:
        build: Loads the masker, in the process.
        is_closed: Set when no process may be started any more.
        starting: Held while a process is started; the same for all processes of a pool.

    Raises:
        KeyboardInterrupt: No process may be started any more.
    """

    def __init__(self, build: Load, is_closed: Event, starting: Lock) -> None:
        self._build = build
        self._is_closed = is_closed
        self._starting = starting
        self._n_deaths = 0
        self._start()

    def _start(self) -> None:
        with self._starting, _no_keyboard_signals():
            if self._is_closed.is_set():
                raise KeyboardInterrupt
            self._executor = ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn"))
            self._loading: Future[Loaded | InverseDeidError]
            others = set(multiprocessing.active_children())
            self._loading = self._executor.submit(worker.load, self._build)
            self._processes = set(multiprocessing.active_children()) - others

    def loaded(self) -> Loaded:
        """What the process loaded; waits for it.

        Raises:
            InverseDeidError: It could not be loaded, or the process died `MAX_STARTS` times meanwhile.
        """
        for _ in range(MAX_STARTS):
            try:
                found = self._loading.result()
            except BrokenProcessPool:
                self._replace()
                continue
            if isinstance(found, InverseDeidError):
                raise worker.plain(found)  # a new one: it may be raised again
            return found
        raise StageError(
            f"a worker process ended {MAX_STARTS} times while it loaded the model; "
            "is there memory for so many --workers?"
        )

    def mask(self, docs: Sequence[Document], fingerprint: str) -> list[MaskedDocument]:
        """Mask a batch in the process.

        Args:
            docs: The batch.
            fingerprint: What the masker must have.

        Raises:
            WorkerDiedError: The process ended before it answered.
            ConfigurationError: The masker that was loaded last is another one.
            StageError: The process ended `MAX_DEATHS_IN_A_ROW` times without an answer in between, or
                the masker broke its contract.
        """
        if self.loaded().fingerprint != fingerprint:
            raise ConfigurationError("model or lexicon changed while they were used; mask again")
        found: list[MaskedDocument] | InverseDeidError
        try:
            found = self._executor.submit(worker.mask, docs).result()
        except BrokenProcessPool:
            found = self._death()
        except Exception as error:  # noqa: BLE001 - what cannot be sent; its message may quote a narrative
            found = StageError(f"a worker process met {describe_error(error)}")
        if isinstance(found, InverseDeidError):
            raise found
        self._n_deaths = 0
        return found

    def _death(self) -> InverseDeidError:
        """Replace the process; what to tell."""
        self._replace()
        self._n_deaths += 1
        if self._n_deaths < MAX_DEATHS_IN_A_ROW:
            return WorkerDiedError("a worker process ended before it answered")
        self._n_deaths = 0
        return StageError(
            f"a worker process ended {MAX_DEATHS_IN_A_ROW} times in a row; "
            "is there memory for so many --workers?"
        )

    def _replace(self) -> None:
        self._executor.shutdown(wait=True)  # its thread must not be closing pipes when Python ends
        self._start()

    def kill(self) -> None:
        """End the process at once, whatever it does."""
        with self._starting:
            for process in self._processes:
                process.kill()

    def close(self) -> None:
        """Let the process end, and wait for it; nobody may be waiting for its answer."""
        self._executor.shutdown(wait=True, cancel_futures=True)


@contextmanager
def _no_keyboard_signals() -> Iterator[None]:
    """What is started here inherits that signals from the keyboard wait for ever (where there are such)."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
