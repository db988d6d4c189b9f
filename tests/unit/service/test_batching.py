import asyncio
import threading
import time

import pytest
from fake_maskers import CANARY, FakeMasker, keep_all

from inverse_deid.core.errors import ConfigurationError, StageError
from inverse_deid.core.values import Document
from inverse_deid.service.batching import MAX_READY, Batcher, BatchingSettings, QueueFullError

PATIENT = BatchingSettings(wait_seconds=0.05)


class Gate(FakeMasker):
    """Keeps every word; its first batch waits until `goes_on`."""

    def __init__(self):
        super().__init__(lambda word: True)
        self.order, self.goes_on, self._begun = [], threading.Event(), threading.Event()

    def mask_many(self, docs):
        self.order.extend(doc.text for doc in docs)
        self._begun.set()
        assert self.goes_on.wait(60)
        return super().mask_many(docs)

    async def begun(self):
        """Return when the first batch is being masked."""
        assert await asyncio.to_thread(self._begun.wait, 60)


def run(masker, settings, use):
    """Use a batcher while it runs."""

    async def main():
        batcher = Batcher(lambda chosen: masker, settings)
        masking = asyncio.create_task(batcher.run())
        try:
            return await use(batcher)
        finally:
            masking.cancel()
            await asyncio.gather(masking, return_exceptions=True)

    return asyncio.run(main())


def docs(*texts):
    return [Document(str(i), text) for i, text in enumerate(texts, start=1)]


async def together(batcher, *requests):
    return await asyncio.gather(*(batcher.mask(one, "own") for one in requests), return_exceptions=True)


def test_requests_that_come_together_are_one_batch_and_each_gets_its_own():
    masker = keep_all()
    requests = [docs(*(f"text {i} {j}" for j in range(i))) for i in range(1, 6)]
    found = run(masker, PATIENT, lambda batcher: together(batcher, *requests))
    assert masker.batch_sizes == [15]
    assert [[one.text for one in own] for own in found] == [[d.text for d in own] for own in requests]


def test_a_batch_is_bounded():
    masker = keep_all()
    settings = BatchingSettings(wait_seconds=0.05, batch_documents=4, batch_work=40)
    requests = [docs("a"), docs("b", "c"), docs("d", "e"), docs("x " * 29), docs(*"123456"), docs("y")]
    run(masker, settings, lambda batcher: together(batcher, *requests))
    assert max(masker.batch_sizes) <= 3
    assert sum(masker.batch_sizes) == 13


def test_masking_is_done_in_one_thread_beside_the_event_loop():
    names = set()

    class Noting(FakeMasker):
        def mask_many(self, docs):
            names.add(threading.current_thread().name)
            return super().mask_many(docs)

    async def use(batcher):
        for _ in range(5):
            await together(batcher, docs("a"), docs("b"))

    run(Noting(lambda word: True), BatchingSettings(), use)
    assert len(names) == 1
    assert threading.current_thread().name not in names


@pytest.mark.parametrize(
    "settings",
    [BatchingSettings(queue_requests=2), BatchingSettings(queue_work=25)],
    ids=["requests", "work"],
)
def test_a_full_queue_refuses_and_takes_again_when_it_is_empty(settings):
    masker = Gate()

    async def use(batcher):
        first = asyncio.create_task(batcher.mask(docs("a"), "own"))
        await masker.begun()
        rest = asyncio.create_task(together(batcher, *[docs("12345")] * 4))
        await asyncio.sleep(0.1)  # all of them have asked
        masker.goes_on.set()
        await first
        return await rest, await batcher.mask(docs("x" * 100), "own")

    rest, later = run(masker, settings, use)
    assert [isinstance(one, QueueFullError) for one in rest] == [False, True, True, True]
    assert later[0].text == "x" * 100


def test_others_get_their_share_of_a_queue_that_one_client_fills():
    async def use(batcher):
        asked = [asyncio.create_task(batcher.mask(docs("1"), "own", "a")) for _ in range(6)]
        asked += [asyncio.create_task(batcher.mask(docs("2"), "own", "b")) for _ in range(3)]
        return await asyncio.gather(*asked, return_exceptions=True)

    found = run(FakeMasker(lambda word: True, 0.1), BatchingSettings(queue_requests=4), use)
    assert [isinstance(one, QueueFullError) for one in found] == [False] * 4 + [True] * 2 + [False] * 2 + [
        True
    ]


def test_a_piece_of_a_large_request_is_masked_between_those_of_others():
    masker = Gate()

    async def use(batcher):
        large = asyncio.create_task(batcher.mask(docs(*["x " * 19] * 40), "own", "a"))
        await masker.begun()
        small = asyncio.create_task(batcher.mask(docs("small"), "own", "b"))
        await asyncio.sleep(0.1)  # it has asked
        masker.goes_on.set()
        return (await small)[0].text, [one.text for one in await large]

    limits = BatchingSettings(wait_seconds=0.0, batch_work=100, piece_work=50)
    assert run(masker, limits, use) == ("small", ["x " * 19] * 40)
    assert masker.order.index("small") < 15


def test_a_request_whose_time_is_over_is_not_masked_and_harms_no_other():
    masker = Gate()

    async def use(batcher):
        first = asyncio.create_task(batcher.mask(docs("a"), "own"))
        await masker.begun()
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(batcher.mask(docs("b", "c"), "own"), 0.05)
        masker.goes_on.set()
        last = await batcher.mask(docs("d"), "own")
        return (await first)[0].text, last[0].text, batcher.n_waiting

    assert run(masker, BatchingSettings(), use) == ("a", "d", 0)
    assert masker.batch_sizes == [1, 1]


class Broken(FakeMasker):
    def mask_many(self, docs):
        raise KeyError(docs[0].text)


class Fewer(FakeMasker):
    def mask_many(self, docs):
        return super().mask_many(docs[1:])


@pytest.mark.parametrize("broken", [Broken, Fewer])
def test_an_error_of_the_masker_reaches_every_request_without_text(broken):
    found = run(
        broken(lambda word: True), PATIENT, lambda batcher: together(batcher, docs(CANARY), docs(CANARY))
    )
    assert all(isinstance(one, StageError) for one in found)
    assert CANARY not in "".join(str(one) + repr(one.__context__) + repr(one.__cause__) for one in found)


def test_a_lonely_request_waits_no_longer_than_it_was_told():
    async def use(batcher):
        await batcher.mask(docs("a"), "own")
        started = time.monotonic()
        await batcher.mask(docs("a"), "own")
        return time.monotonic() - started

    assert run(keep_all(), BatchingSettings(wait_seconds=0.0), use) < 5


class Named(FakeMasker):
    """Masks nothing, and notes which batches it masked."""

    def __init__(self, name, batches):
        super().__init__(lambda word: True)
        self.name, self.batches = name, batches

    def mask_many(self, docs):
        self.batches.append((self.name, [doc.text for doc in docs]))
        return super().mask_many(docs)


def run_named(settings, use):
    batches, made = [], []

    def make(name):
        made.append(name)
        return Named(name, batches)

    async def main():
        batcher = Batcher(make, settings)
        masking = asyncio.create_task(batcher.run())
        try:
            await use(batcher)
        finally:
            masking.cancel()
            await asyncio.gather(masking, return_exceptions=True)

    asyncio.run(main())
    return batches, made


def test_requests_of_other_settings_are_masked_apart_and_each_with_its_own():
    async def use(batcher):
        asked = [("x", "1"), ("y", "2"), ("x", "3"), ("y", "4"), ("z", "5")]
        found = await asyncio.gather(*(batcher.mask(docs(text), name) for name, text in asked))
        assert [one[0].text for one in found] == ["1", "2", "3", "4", "5"]

    batches, made = run_named(PATIENT, use)
    assert batches == [("x", ["1", "3"]), ("y", ["2", "4"]), ("z", ["5"])]
    assert made == ["x", "y", "z"]


def test_requests_of_other_settings_do_not_starve():
    async def use(batcher):
        first = asyncio.create_task(batcher.mask(docs("rare"), "rare"))
        many = [asyncio.create_task(batcher.mask(docs(str(i)), "usual")) for i in range(40)]
        await asyncio.gather(first, *many)

    batches, _ = run_named(BatchingSettings(wait_seconds=0.05, batch_documents=4), use)
    assert batches[0] == ("rare", ["rare"])


def test_few_maskers_are_kept_ready():
    async def use(batcher):
        for name in [*range(MAX_READY), 0, MAX_READY, 0, 1]:
            await batcher.mask(docs("a"), name)
        assert len(batcher._usual._ready) == MAX_READY

    _, made = run_named(BatchingSettings(wait_seconds=0.0), use)
    # 0 was used again and stays; 1 was used longest ago and is made again.
    assert made == [*range(MAX_READY), MAX_READY, 1]


def test_settings_that_no_masker_can_be_made_of_are_an_error_of_the_request_alone():
    def make(name):
        if name == "bad":
            raise ConfigurationError(f"/home/{CANARY}/model")
        return keep_all()

    async def main():
        batcher = Batcher(make, PATIENT)
        masking = asyncio.create_task(batcher.run())
        found = await asyncio.gather(
            batcher.mask(docs("a"), "good"), batcher.mask(docs("b"), "bad"), return_exceptions=True
        )
        masking.cancel()
        await asyncio.gather(masking, return_exceptions=True)
        return found

    good, bad = asyncio.run(main())
    assert good[0].text == "a"
    assert isinstance(bad, ConfigurationError)
    assert CANARY not in str(bad) + repr(bad.__context__)
