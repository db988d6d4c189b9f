"""Requests of the same moment are masked together, in one thread that a bounded queue feeds."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

from inverse_deid.core.errors import StageError
from inverse_deid.core.values import Document, MaskedDocument
from inverse_deid.engine.masker import Masker


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchingSettings:
    """How requests are gathered."""

    wait_seconds: float = 0.002  # how long the first request of a batch waits for others, 0 = not at all
    batch_chars: int = 50_000  # how much text goes into a batch; a single larger request is one batch
    batch_documents: int = 64  # how many documents do
    queue_chars: int = 4_000_000  # how much text may wait; an empty queue takes any request
    queue_requests: int = 256  # how many requests may wait


class QueueFullError(StageError):
    """Too much is waiting for a request to be done in time; the client should try again later."""


@dataclass(frozen=True, slots=True, eq=False)
class _Waiting:
    docs: Sequence[Document] = field(repr=False)
    n_chars: int
    done: asyncio.Future[list[MaskedDocument]] = field(repr=False)


class Batcher:
    """Masks the documents of requests, several requests at once; the masker is called in one thread only."""

    def __init__(self, masker: Masker, settings: BatchingSettings) -> None:
        self._masker = masker
        self._settings = settings
        self._queue: deque[_Waiting] = deque()
        self._n_chars = 0
        self._has_work = asyncio.Event()

    @property
    def n_waiting(self) -> int:
        """Requests that wait, without those that are being masked."""
        return len(self._queue)

    async def mask(self, docs: Sequence[Document]) -> list[MaskedDocument]:
        """Mask the documents of one request, order kept; a cancelled request is not masked any more.

        Raises:
            QueueFullError: Too much is waiting.
            StageError: The masker broke its contract.
        """
        n_chars = sum(len(doc.text) for doc in docs)
        limits = self._settings
        is_full = len(self._queue) >= limits.queue_requests or self._n_chars + n_chars > limits.queue_chars
        if self._queue and is_full:
            raise QueueFullError(f"{len(self._queue)} requests are waiting. Try again later")
        waiting = _Waiting(docs, n_chars, asyncio.get_running_loop().create_future())
        self._queue.append(waiting)
        self._n_chars += n_chars
        self._has_work.set()
        return await waiting.done

    async def run(self) -> None:
        """Mask what comes, until cancelled."""
        loop = asyncio.get_running_loop()
        with ThreadPoolExecutor(1, thread_name_prefix="masking") as thread:
            while True:
                await self._has_work.wait()
                if self._settings.wait_seconds and len(self._queue) < self._settings.batch_documents:
                    await asyncio.sleep(self._settings.wait_seconds)
                batch = self._next_batch()
                if batch:
                    docs = [doc for waiting in batch for doc in waiting.docs]
                    found = await loop.run_in_executor(thread, self._mask_batch, docs)
                    _answer(batch, found)

    def _next_batch(self) -> list[_Waiting]:
        """The first requests of the queue that are still wanted."""
        batch: list[_Waiting] = []
        n_chars = n_documents = 0
        while self._queue:
            head = self._queue[0]
            n_chars += head.n_chars
            n_documents += len(head.docs)
            if batch and (
                n_chars > self._settings.batch_chars or n_documents > self._settings.batch_documents
            ):
                break
            self._queue.popleft()
            self._n_chars -= head.n_chars
            if head.done.done():
                n_chars, n_documents = n_chars - head.n_chars, n_documents - len(head.docs)
            else:
                batch.append(head)
        if not self._queue:
            self._has_work.clear()
        return batch

    def _mask_batch(self, docs: Sequence[Document]) -> list[MaskedDocument] | StageError:
        """Return the masked documents, or the error; the message of an unforeseen one may quote a text."""
        try:
            masked = self._masker.mask_many(docs)
        except Exception as error:  # noqa: BLE001 - one batch fails, the service continues
            return StageError(f"could not be masked ({type(error).__name__})")
        if [one.id for one in masked] != [doc.id for doc in docs]:
            return StageError(f"{len(docs)} documents went into the masker and others came out")
        return masked


def _answer(batch: Sequence[_Waiting], found: list[MaskedDocument] | StageError) -> None:
    """Hand each request its own documents, in order."""
    first = 0
    for waiting in batch:
        last = first + len(waiting.docs)
        if waiting.done.done():  # its time was over
            pass
        elif isinstance(found, StageError):
            waiting.done.set_exception(StageError(str(found)))
        else:
            waiting.done.set_result(found[first:last])
        first = last
