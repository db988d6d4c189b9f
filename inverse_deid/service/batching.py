"""Requests of the same moment and settings are masked together, in one thread that a bounded queue feeds."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Hashable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import islice
from typing import Generic, TypeVar

from inverse_deid.core.errors import ConfigurationError, StageError
from inverse_deid.core.values import Document, MaskedDocument
from inverse_deid.core.wording import _
from inverse_deid.engine.masker import mask_texts
from inverse_deid.masking.case_masker import DocumentMasker
from inverse_deid.masking.maskers import Maskers
from inverse_deid.replacement.case_texts import CaseTexts
from inverse_deid.replacement.replacers import MaskedCase

Settings = TypeVar("Settings", bound=Hashable)

MAX_READY = 16
"""How many maskers are kept ready, each for other settings; the one that was used longest ago is dropped."""


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
class _Waiting(Generic[Settings]):
    cases: Sequence[CaseTexts] = field(repr=False)
    settings: Settings = field(repr=False)
    n_chars: int
    n_documents: int
    done: asyncio.Future[list[MaskedCase]] = field(repr=False)


class Batcher(Generic[Settings]):
    """Masks the texts of requests, several requests at once; all maskers are used in one thread only.

    Args:
        make_masker: Returns the masker for some settings; called in the thread that masks.
        limits: How requests are gathered.
    """

    def __init__(self, make_masker: Callable[[Settings], DocumentMasker], limits: BatchingSettings) -> None:
        self._ready: Maskers[Settings, DocumentMasker] = Maskers(make_masker, MAX_READY)
        self._limits = limits
        self._queue: deque[_Waiting[Settings]] = deque()
        self._n_chars = 0
        self._has_work = asyncio.Event()

    @property
    def n_waiting(self) -> int:
        """Requests that wait, without those that are being masked."""
        return len(self._queue)

    async def mask(self, docs: Sequence[Document], settings: Settings) -> list[MaskedDocument]:
        """Mask the documents of one request, each as a case of its own; see `mask_cases`."""
        cases = [CaseTexts(id=doc.id, docs=(doc,)) for doc in docs]
        return [case.docs[0] for case in await self.mask_cases(cases, settings)]

    async def mask_cases(self, cases: Sequence[CaseTexts], settings: Settings) -> list[MaskedCase]:
        """Mask the cases of one request, order kept; a cancelled request is not masked any more.

        Raises:
            QueueFullError: Too much is waiting.
            ConfigurationError: The settings do not fit the model.
            StageError: The masker broke its contract.
        """
        n_chars = sum(len(doc.text) for case in cases for doc in case.docs)
        n_documents = sum(len(case.docs) for case in cases)
        limits = self._limits
        is_full = len(self._queue) >= limits.queue_requests or self._n_chars + n_chars > limits.queue_chars
        if self._queue and is_full:
            raise QueueFullError(
                _("{n_queue} requests are waiting. Try again later", n_queue=len(self._queue))
            )
        done: asyncio.Future[list[MaskedCase]] = asyncio.get_running_loop().create_future()
        self._queue.append(_Waiting(cases, settings, n_chars, n_documents, done))
        self._n_chars += n_chars
        self._has_work.set()
        return await done

    async def run(self) -> None:
        """Mask what comes, until cancelled."""
        loop = asyncio.get_running_loop()
        with ThreadPoolExecutor(1, thread_name_prefix="masking") as thread:
            while True:
                await self._has_work.wait()
                if self._limits.wait_seconds and len(self._queue) < self._limits.batch_documents:
                    await asyncio.sleep(self._limits.wait_seconds)
                batch = self._next_batch()
                if batch:
                    found = await loop.run_in_executor(thread, self._mask_batch, batch)
                    _answer(batch, found)

    def _next_batch(self) -> list[_Waiting[Settings]]:
        """Take the first request that is still wanted, and others of the same settings, from the queue."""
        batch: list[_Waiting[Settings]] = []
        left: deque[_Waiting[Settings]] = deque()
        n_chars = n_documents = 0
        is_open = True
        for one in self._queue:
            if one.done.done():
                self._n_chars -= one.n_chars
                continue
            is_other = bool(batch) and one.settings != batch[0].settings
            if is_open and batch and not is_other:
                is_open = (
                    n_chars + one.n_chars <= self._limits.batch_chars
                    and n_documents + one.n_documents <= self._limits.batch_documents
                )
            if is_other or not is_open:
                left.append(one)
                continue
            batch.append(one)
            n_chars += one.n_chars
            n_documents += one.n_documents
            self._n_chars -= one.n_chars
        self._queue = left
        if not left:
            self._has_work.clear()
        return batch

    def _mask_batch(self, batch: Sequence[_Waiting[Settings]]) -> list[MaskedCase] | Exception:
        """Return the masked cases, or the error; the message of an unforeseen one may quote a text."""
        try:
            masker = self._ready.get(batch[0].settings)
            return mask_texts(masker, [case for waiting in batch for case in waiting.cases])
        except ConfigurationError:
            return ConfigurationError(_("these settings cannot be used with the model of this service"))
        except StageError as error:
            return StageError(str(error))
        except Exception as error:  # noqa: BLE001 - one batch fails, the service continues
            return StageError(_("could not be masked ({name})", name=type(error).__name__))


def _answer(batch: Sequence[_Waiting[Settings]], found: list[MaskedCase] | Exception) -> None:
    """Hand each request its own cases, in order."""
    results = iter(found if isinstance(found, list) else ())
    for waiting in batch:
        own = list(islice(results, len(waiting.cases)))
        if waiting.done.done():  # its time was over
            continue
        if isinstance(found, list):
            waiting.done.set_result(own)
        else:
            waiting.done.set_exception(type(found)(str(found)))
