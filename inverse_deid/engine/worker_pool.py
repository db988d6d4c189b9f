"""Worker processes behind the one thing an engine needs of a de-identifier."""

from __future__ import annotations

import os
from collections.abc import Sequence
from queue import SimpleQueue
from threading import Event, Lock
from types import TracebackType

from inverse_deid.core.values import Document, MaskedDocument
from inverse_deid.engine.worker import Load
from inverse_deid.engine.worker_process import WorkerDiedError, WorkerProcess
from inverse_deid.masking.pipeline import mask_everything
from inverse_deid.replacement.markers import MarkerFor

MAX_TRIES = 2
"""How many processes one batch, and then one of its documents, may cost."""


class WorkerPool:
    """Masks batches in several processes; as many threads as there are processes may ask at once.

    A process that dies is replaced and its batch is done again. A batch that costs `MAX_TRIES` processes
    is done document by document, and a document that costs as many comes back fully masked with `failed`
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
        self._is_closed = Event()
        self._idle: SimpleQueue[WorkerProcess] = SimpleQueue()
        starting = Lock()
        self._workers = [WorkerProcess(build, self._is_closed, starting) for _ in range(n_workers)]
        for worker in self._workers:
            self._idle.put(worker)
        try:
            loaded = self._workers[0].loaded()
        except BaseException:
            self._end(kill=True)
            raise
        self.fingerprint = loaded.fingerprint
        self.made_of = dict(loaded.made_of)

    def mask_many(self, docs: Sequence[Document]) -> list[MaskedDocument]:
        """Mask one batch, order kept, in the next process that is free.

        Raises:
            InverseDeidError: The processes cannot mask: the model changed, or they all die.
            KeyboardInterrupt: The pool was closed meanwhile.
        """
        worker = self._idle.get()
        try:
            return self._masked(worker, docs)
        finally:
            self._idle.put(worker)

    def _masked(self, worker: WorkerProcess, docs: Sequence[Document]) -> list[MaskedDocument]:
        for _ in range(MAX_TRIES):
            if self._is_closed.is_set():
                raise KeyboardInterrupt
            try:
                return worker.mask(docs, self.fingerprint)
            except WorkerDiedError:
                continue
        if len(docs) == 1:
            return [mask_everything(docs[0], self._marker_for)]
        return [masked for doc in docs for masked in self._masked(worker, [doc])]

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
        for _ in self._workers:
            self._idle.get().close()  # each comes back from the thread that used it


def n_threads_each(n_workers: int) -> int:
    """Threads of the network in each of several processes, so that all together use every core once.

    Example:
        >>> n_threads_each(1_000_000)
        1
    """
    try:
        n_cores = len(os.sched_getaffinity(0))
    except AttributeError:  # not on every system
        n_cores = os.cpu_count() or 1
    return max(1, n_cores // n_workers)
