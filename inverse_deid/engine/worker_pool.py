"""Worker processes: each loads one masker and masks one batch after the other.

Workers return and print no text of narratives. An unforeseen error is reported by its kind and place
alone, because its message and its traceback could quote a narrative.
"""

from __future__ import annotations

import multiprocessing
import os
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field
from queue import SimpleQueue
from types import TracebackType

from inverse_deid.core.child_process import end_with_parent, no_terminal_signals, strip_error
from inverse_deid.core.errors import ConfigurationError, InverseDeidError, Remedy, StageError, describe_error
from inverse_deid.core.values import Document, MaskedDocument
from inverse_deid.core.wording import N_, _, current_language, speak_always
from inverse_deid.masking.case_masker import DocumentMasker
from inverse_deid.masking.pipeline import mask_everything
from inverse_deid.replacement.markers import MarkerFor

MAX_TRIES = 2
"""How many processes one batch, and then one of its documents, may cost."""
MAX_STARTS = 3
MAX_DEATHS_IN_A_ROW = 10

_FEWER = Remedy("workers", step=N_("give fewer {} if memory is short"))

Load = Callable[[], DocumentMasker]
"""Loads the masker; can be sent to another process."""


@dataclass(frozen=True, slots=True)
class Loaded:
    """The process and the masker of a worker; `made_of` has hashes and thresholds for reports."""

    pid: int
    fingerprint: str
    made_of: Mapping[str, object] = field(repr=False)


_loaded: list[DocumentMasker] = []
"""The one masker of a worker process; calls in a process share only what is global."""


def load_in_worker(build: Load) -> Loaded | InverseDeidError:
    """Load the masker of this process, or return the error; end with the process that started it."""
    threading.Thread(target=end_with_parent, daemon=True).start()
    try:
        masker = build()
    except Exception as error:  # noqa: BLE001 - its message may quote a file
        return strip_error(error)
    _loaded[:] = [masker]
    return Loaded(os.getpid(), masker.fingerprint, dict(getattr(masker, "made_of", {})))


def mask_in_worker(docs: Sequence[Document]) -> list[MaskedDocument] | InverseDeidError:
    """Mask one batch, order kept, or return the error."""
    try:
        return _loaded[0].mask_many(docs)
    except Exception as error:  # noqa: BLE001 - its message may quote a narrative
        return strip_error(error)


class WorkerDiedError(StageError):
    """The process ended before it answered; another one is being started."""


class WorkerProcess:
    """A process with its own masker, for one thread at a time; it is started again when it dies.

    Started with `spawn`: it inherits neither memory nor open files. A signal from the keyboard does not
    reach it; whoever started it ends it.

    Args:
        build: Loads the masker, in the process.
        is_closed: Set when no process may be started any more.
        starting: Held while a process is started; the same for all processes of a pool.

    Raises:
        KeyboardInterrupt: No process may be started any more.
    """

    def __init__(self, build: Load, is_closed: threading.Event, starting: threading.Lock) -> None:
        self._build = build
        self._is_closed = is_closed
        self._starting = starting
        self._n_deaths = 0
        self._start()

    def _start(self) -> None:
        with self._starting, no_terminal_signals():
            if self._is_closed.is_set():
                raise KeyboardInterrupt
            self._executor = ProcessPoolExecutor(
                1, multiprocessing.get_context("spawn"), speak_always, (current_language(),)
            )
            self._loading: Future[Loaded | InverseDeidError]
            others = set(multiprocessing.active_children())
            self._loading = self._executor.submit(load_in_worker, self._build)
            self._processes = set(multiprocessing.active_children()) - others

    def wait_until_loaded(self) -> Loaded:
        """Wait for the process, and return what it loaded.

        Raises:
            InverseDeidError: It could not be loaded, or the process died `MAX_STARTS` times before.
        """
        for _ignored in range(MAX_STARTS):
            try:
                found = self._loading.result()
            except BrokenProcessPool:
                self._replace()
                continue
            if isinstance(found, InverseDeidError):
                raise strip_error(found)  # a new one: it may be raised again
            return found
        raise StageError(
            _("a worker process ended {max_starts} times while it loaded the model", max_starts=MAX_STARTS),
            remedies=[_FEWER],
        )

    def mask(self, docs: Sequence[Document], fingerprint: str) -> list[MaskedDocument]:
        """Mask a batch in the process.

        Raises:
            WorkerDiedError: The process ended before it answered.
            ConfigurationError: The masker that was loaded last has another fingerprint.
            StageError: The process ended `MAX_DEATHS_IN_A_ROW` times without an answer in between, or
                the masker broke its contract.
        """
        if self.wait_until_loaded().fingerprint != fingerprint:
            raise ConfigurationError(_("model or lexicon changed while they were used. Mask again"))
        found: list[MaskedDocument] | InverseDeidError
        try:
            found = self._executor.submit(mask_in_worker, docs).result()
        except BrokenProcessPool:
            found = self._count_death()
        except Exception as error:  # noqa: BLE001 - what cannot be sent; its message may quote a narrative
            found = StageError(_("a worker process met {error}", error=describe_error(error)))
        if isinstance(found, InverseDeidError):
            raise found
        self._n_deaths = 0
        return found

    def _count_death(self) -> InverseDeidError:
        self._replace()
        self._n_deaths += 1
        if self._n_deaths < MAX_DEATHS_IN_A_ROW:
            return WorkerDiedError(_("a worker process ended before it answered"))
        self._n_deaths = 0
        return StageError(
            _(
                "a worker process ended {max_deaths_in_a_row} times in a row",
                max_deaths_in_a_row=MAX_DEATHS_IN_A_ROW,
            ),
            remedies=[_FEWER],
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
        """Let the process end, and wait for it; no thread may be waiting for its answer."""
        self._executor.shutdown(wait=True, cancel_futures=True)


class WorkerPool:
    """Masks batches in several processes; as many threads as there are processes may ask at once.

    A process that dies is replaced and its batch is done again. A batch that costs `MAX_TRIES` processes
    is done document by document, and a document that costs as many is returned fully masked with `failed`
    set: it does not harm the others, as in one process.

    Args:
        build: Loads the masker; called in each process.
        n_workers: Number of processes, 1 or more.
        marker_for: Gives the markers of a document that no process could mask.

    Raises:
        InverseDeidError: The masker cannot be loaded.
    """

    def __init__(self, build: Load, n_workers: int, marker_for: MarkerFor) -> None:
        self._marker_for = marker_for
        self._is_closed = threading.Event()
        self._idle: SimpleQueue[WorkerProcess] = SimpleQueue()
        starting = threading.Lock()
        self._workers = [WorkerProcess(build, self._is_closed, starting) for _ in range(n_workers)]
        for worker in self._workers:
            self._idle.put(worker)
        try:
            loaded = self._workers[0].wait_until_loaded()
        except BaseException:
            self._end(kill=True)
            raise
        self.fingerprint = loaded.fingerprint
        self.made_of = dict(loaded.made_of)

    def mask_many(self, docs: Sequence[Document]) -> list[MaskedDocument]:
        """Mask one batch, order kept, in the next process that is free.

        Raises:
            InverseDeidError: The processes cannot mask: the model changed, or they all die.
            KeyboardInterrupt: The pool was closed.
        """
        worker = self._idle.get()
        try:
            return self._mask(worker, docs)
        finally:
            self._idle.put(worker)

    def _mask(self, worker: WorkerProcess, docs: Sequence[Document]) -> list[MaskedDocument]:
        for _ignored in range(MAX_TRIES):
            if self._is_closed.is_set():
                raise KeyboardInterrupt
            try:
                return worker.mask(docs, self.fingerprint)
            except WorkerDiedError:
                continue
        if len(docs) == 1:
            return [mask_everything(docs[0], self._marker_for)]
        return [masked for doc in docs for masked in self._mask(worker, [doc])]

    def __enter__(self) -> WorkerPool:
        return self

    def __exit__(
        self, error: type[BaseException] | None, _value: BaseException | None, _frames: TracebackType | None
    ) -> None:
        self._end(kill=error is not None)

    def _end(self, *, kill: bool) -> None:
        """End all processes; with `kill`, whatever they do."""
        self._is_closed.set()
        for worker in self._workers if kill else ():
            worker.kill()
        for _ignored in self._workers:
            self._idle.get().close()  # the thread that used it returns each


def n_threads_each(n_workers: int) -> int:
    """Return the threads of the network in each of several processes, so that all together use every core.

    Example:
        >>> n_threads_each(1_000_000)
        1
    """
    try:
        n_cores = len(os.sched_getaffinity(0))
    except AttributeError:  # not on every system
        n_cores = os.cpu_count() or 1
    return max(1, n_cores // n_workers)
