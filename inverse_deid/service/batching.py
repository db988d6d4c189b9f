"""Texts of requests are masked a few at a time, in turn by client, in threads that a bounded queue feeds.

Texts of the same moment and settings are masked together. A request with many texts is masked in pieces, so
that nobody waits for all of it. The next piece is of the client that has had the least time of the masking
thread, and of this client the request that had the least. A text that would keep others waiting by itself is
masked in a second thread, beside all others.

Source: Goyal, Vin, Cheng (1996), Start-time fair queueing, for who is next and where a newcomer begins.
"""

from __future__ import annotations

import asyncio
import heapq
import re
import time
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
from inverse_deid.service.shares import Shares

Settings = TypeVar("Settings", bound=Hashable)
_Failure = ConfigurationError | StageError

MAX_READY = 16
"""How many maskers each thread keeps, for other settings; the one that was used longest ago is dropped."""

_WORD = re.compile(r"\w+")
_TEXT_WORK = 10
"""What a text takes beside its words, in words."""
_FIRST_SECONDS = 1e-4
"""How long one word is expected to take before any was masked."""
_MEMORY = 0.8
"""How much of the seconds per word comes from the batches before."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchingSettings:
    """How requests are gathered. The unit of work is a word."""

    wait_seconds: float = 0.002  # how long the first request of a batch waits for others, 0 = not at all
    batch_work: int = 800  # how much goes into a batch; a case with more is masked in the second thread
    piece_work: int = 200  # how much of a request does before it is the turn of another
    batch_documents: int = 64  # how many documents go into a batch
    queue_work: int = 1_000_000  # how much may wait; an empty queue takes any request
    queue_requests: int = 256  # how many requests may wait


class QueueFullError(StageError):
    """Too much is waiting for a request to be done in time; the client should try again later."""


@dataclass(slots=True, eq=False)
class _Waiting(Generic[Settings]):
    """A request, or its texts for one of the threads."""

    client: str
    number: int
    cases: Sequence[CaseTexts] = field(repr=False)
    work: Sequence[int]
    settings: Settings = field(repr=False)
    done: asyncio.Future[list[MaskedCase]] = field(repr=False)
    used: float = 0.0  # seconds
    n_taken: int = 0
    found: list[MaskedCase] = field(default_factory=list, repr=False)

    @property
    def rank(self) -> tuple[float, int]:
        return self.used, self.number


@dataclass(frozen=True, slots=True)
class _Piece(Generic[Settings]):
    """Some cases of a request, in a batch."""

    request: _Waiting[Settings]
    cases: Sequence[CaseTexts] = field(repr=False)
    work: int
    expected: float  # seconds


class _Line(Generic[Settings]):
    """The requests that wait for one thread."""

    def __init__(self, make_masker: Callable[[Settings], DocumentMasker], limits: BatchingSettings) -> None:
        self._ready: Maskers[Settings, DocumentMasker] = Maskers(make_masker, MAX_READY)
        self._limits = limits
        self._waiting: list[_Waiting[Settings]] = []
        self._used: dict[str, float] = {}  # seconds of the thread, by client
        self._floor = 0.0  # what the client had that was served last
        self._seconds_per_word = _FIRST_SECONDS
        self._has_work = asyncio.Event()

    def add(self, request: _Waiting[Settings]) -> None:
        """Let a request wait. It begins where those of its client are that had the least."""
        same = [one.used for one in self._waiting if one.client == request.client]
        request.used = min(same, default=0.0)
        if not same:
            self._used[request.client] = max(self._used.get(request.client, 0.0), self._floor)
        self._waiting.append(request)
        self._has_work.set()

    async def run(self, name: str) -> None:
        """Mask what comes, until cancelled."""
        loop = asyncio.get_running_loop()
        with ThreadPoolExecutor(1, thread_name_prefix=name) as thread:
            while True:
                await self._has_work.wait()
                if self._limits.wait_seconds and len(self._waiting) < self._limits.batch_documents:
                    await asyncio.sleep(self._limits.wait_seconds)
                batch = self._take_batch()
                if batch:
                    found, seconds = await loop.run_in_executor(thread, self._mask_batch, batch)
                    self._charge(batch, seconds)
                    _answer(batch, found)
                if not self._waiting:  # nobody has to make up for what was had while nobody waited
                    self._used.clear()
                    self._floor = 0.0

    def _take_batch(self) -> list[_Piece[Settings]]:
        """Take pieces of the requests whose turn it is, all of the same settings, from the queue."""
        self._waiting = [one for one in self._waiting if not one.done.done()]
        by_client: dict[str, list[tuple[tuple[float, int], _Waiting[Settings]]]] = {}
        for one in self._waiting:
            by_client.setdefault(one.client, []).append((one.rank, one))
        for requests in by_client.values():
            heapq.heapify(requests)
        turns = [(self._used[client], requests[0][0], client) for client, requests in by_client.items()]
        heapq.heapify(turns)
        if turns:
            self._floor = max(self._floor, turns[0][0])
        batch: list[_Piece[Settings]] = []
        n_documents = work = 0
        while turns:
            _ignored, _ignored_2, client = heapq.heappop(turns)
            requests = by_client[client]
            _ignored_3, one = heapq.heappop(requests)
            if not batch or one.settings == batch[0].request.settings:
                piece = self._cut(one, self._limits.batch_work - work, n_documents, is_first=not batch)
                if piece is None:
                    break
                batch.append(piece)
                work += piece.work
                n_documents += sum(len(case.docs) for case in piece.cases)
                one.used += piece.expected
                self._used[client] += piece.expected
                if one.n_taken < len(one.cases):
                    heapq.heappush(requests, (one.rank, one))
            if requests:
                heapq.heappush(turns, (self._used[client], requests[0][0], client))
        self._forget(by_client)
        return batch

    def _forget(self, by_client: dict[str, list[tuple[tuple[float, int], _Waiting[Settings]]]]) -> None:
        # What is all in this batch, and clients that would begin where a newcomer does.
        self._waiting = [one for one in self._waiting if one.n_taken < len(one.cases)]
        self._used = {
            client: used for client, used in self._used.items() if client in by_client or used > self._floor
        }
        if not self._waiting:
            self._has_work.clear()

    def _cut(
        self, one: _Waiting[Settings], room: int, n_documents: int, *, is_first: bool
    ) -> _Piece[Settings] | None:
        """Take the next cases of a request, None = they do not fit. The first of a batch always does."""
        begin = end = one.n_taken
        work = 0
        while end < len(one.cases):
            n_documents += len(one.cases[end].docs)
            with_next = work + one.work[end]
            is_full = with_next > room or n_documents > self._limits.batch_documents
            if (is_full or with_next > self._limits.piece_work) and end > begin:
                break
            if is_full and not is_first:
                return None
            work, end = with_next, end + 1
        one.n_taken = end
        return _Piece(one, one.cases[begin:end], work, work * self._seconds_per_word)

    def _mask_batch(self, batch: Sequence[_Piece[Settings]]) -> tuple[list[MaskedCase] | _Failure, float]:
        """Return the masked cases, or the error, and how long it took."""
        begun = time.perf_counter()
        found: list[MaskedCase] | _Failure
        try:
            masker = self._ready.get(batch[0].request.settings)
            begun = time.perf_counter()  # whoever needs another masker does not pay for it
            found = mask_texts(masker, [case for piece in batch for case in piece.cases])
        except ConfigurationError:
            found = ConfigurationError(_("these settings cannot be used with the model of this service"))
        except StageError as error:
            found = StageError(str(error))
        except Exception as error:  # noqa: BLE001 - one batch fails, the service continues
            # Its message may quote a text.
            found = StageError(_("could not be masked ({name})", name=type(error).__name__))
        return found, time.perf_counter() - begun

    def _charge(self, batch: Sequence[_Piece[Settings]], seconds: float) -> None:
        """Charge what the pieces took instead of what was expected: words in doubt take longer."""
        per_word = seconds / max(1, sum(piece.work for piece in batch))
        for piece in batch:
            more = piece.work * per_word - piece.expected
            piece.request.used += more
            if piece.request.client in self._used:
                self._used[piece.request.client] += more
        self._seconds_per_word = _MEMORY * self._seconds_per_word + (1 - _MEMORY) * per_word


class Batcher(Generic[Settings]):
    """Masks the texts of requests, several requests at once, in one thread and long texts in a second one.

    Args:
        make_masker: Returns the masker for some settings; called in the thread that masks with it.
        limits: How requests are gathered.
    """

    def __init__(self, make_masker: Callable[[Settings], DocumentMasker], limits: BatchingSettings) -> None:
        self._limits = limits
        self._usual, self._long = _Line(make_masker, limits), _Line(make_masker, limits)
        self._requests, self._work = Shares(limits.queue_requests), Shares(limits.queue_work)
        self._n_asked = 0

    @property
    def n_waiting(self) -> int:
        """Requests that are not answered yet."""
        return self._requests.n_taken

    async def mask(
        self, docs: Sequence[Document], settings: Settings, client: str = ""
    ) -> list[MaskedDocument]:
        """Mask the documents of one request, each as a case of its own; see `mask_cases`."""
        cases = [CaseTexts(id=doc.id, docs=(doc,)) for doc in docs]
        return [case.docs[0] for case in await self.mask_cases(cases, settings, client)]

    async def mask_cases(
        self, cases: Sequence[CaseTexts], settings: Settings, client: str = ""
    ) -> list[MaskedCase]:
        """Mask the cases of one request, order kept; a cancelled request is not masked any more.

        Raises:
            QueueFullError: Too much of this client is waiting.
            ConfigurationError: The settings do not fit the model.
            StageError: The masker broke its contract.
        """
        if not cases:
            return []
        work = [_measure_work(case) for case in cases]
        total = sum(work)
        if not (self._requests.admits(client) and self._work.admits(client, total)):
            raise QueueFullError(_("{n_queue} requests are waiting. Try again later", n_queue=self.n_waiting))
        self._n_asked += 1
        number, loop = self._n_asked, asyncio.get_running_loop()
        lines = [self._long if n > self._limits.batch_work else self._usual for n in work]
        parts: list[tuple[list[int], asyncio.Future[list[MaskedCase]]]] = []
        with self._requests.taken(client), self._work.taken(client, total):
            for line in dict.fromkeys(lines):
                own = [i for i, its in enumerate(lines) if its is line]
                done: asyncio.Future[list[MaskedCase]] = loop.create_future()
                line.add(
                    _Waiting(client, number, [cases[i] for i in own], [work[i] for i in own], settings, done)
                )
                parts.append((own, done))
            try:
                found = await asyncio.gather(*(done for _own, done in parts))
            finally:
                for _own, done in parts:
                    done.cancel()
        masked: dict[int, MaskedCase] = {}
        for (own, _done), some in zip(parts, found, strict=True):
            masked.update(zip(own, some, strict=True))
        return [masked[i] for i in range(len(cases))]

    async def run(self) -> None:
        """Mask what comes, until cancelled."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._usual.run("masking"))
            group.create_task(self._long.run("masking-long"))


def _measure_work(case: CaseTexts) -> int:
    return sum(_TEXT_WORK + sum(1 for _word in _WORD.finditer(doc.text)) for doc in case.docs)


def _answer(batch: Sequence[_Piece[Settings]], found: list[MaskedCase] | _Failure) -> None:
    """Hand each request its own cases, in order."""
    results = iter(found if isinstance(found, list) else ())
    for piece in batch:
        request = piece.request
        request.found += islice(results, len(piece.cases))
        if request.done.done():  # its time was over, or another piece of it failed
            continue
        if not isinstance(found, list):
            request.done.set_exception(type(found)(str(found)))
        elif len(request.found) == len(request.cases):
            request.done.set_result(request.found)
