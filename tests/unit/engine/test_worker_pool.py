"""Worker processes with stand-ins for the model: they die, are replaced, and show nothing."""

import multiprocessing
import pickle
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from multiprocessing.process import BaseProcess

import psutil
import pytest
from fake_maskers import CANARY, mask_capitals
from worker_maskers import KILLS, KILLS_ONCE, RAISES, SLOW, changing, failing, plain, unloadable

from inverse_deid.core.errors import ConfigurationError, ModelError, StageError
from inverse_deid.core.values import Document, Reason
from inverse_deid.engine import worker_pool
from inverse_deid.engine.worker_pool import WorkerPool, n_threads_each
from inverse_deid.replacement.markers import fixed_marker

MARKER = fixed_marker("PHI")


def docs(*texts: str) -> list[Document]:
    return [Document(str(number), text) for number, text in enumerate(texts)]


def children() -> list[psutil.Process]:
    """The processes of pools, without those of semaphores and readers of files."""
    readers = {child.pid for child in multiprocessing.active_children() if child.daemon}
    found = [child for child in psutil.Process().children() if child.pid not in readers]
    return [child for child in found if "spawn_main" in " ".join(child.cmdline())]


@pytest.fixture
def pool(tmp_path):
    with WorkerPool(failing(tmp_path), 1, MARKER) as pool:
        yield pool
    assert children() == []


def test_several_processes_mask_as_one_does():
    batches = [docs(*(f"{CANARY} had rash {i}{j} é 𝔘 \udc80" for j in range(5))) for i in range(12)]
    alone = [[one.text for one in mask_capitals().mask_many(batch)] for batch in batches]
    with WorkerPool(plain, 2, MARKER) as pool, ThreadPoolExecutor(2) as threads:
        found = list(threads.map(pool.mask_many, batches))
        assert len(children()) == 2
        assert pool.fingerprint == "fake"
    assert [[one.text for one in batch] for batch in found] == alone
    assert [[one.id for one in batch] for batch in found] == [[doc.id for doc in b] for b in batches]


def test_a_batch_whose_process_was_killed_is_done_again(pool):
    masked = pool.mask_many(docs("all well", f"{KILLS_ONCE} {CANARY} fell"))
    assert [one.text for one in masked] == ["all well", "PHI fell"]
    assert not any(one.failed for one in masked)


def test_a_document_that_kills_every_process_costs_itself_alone(pool):
    masked = pool.mask_many(docs("all well", f"{KILLS} {CANARY} fell ill", "a rash"))
    assert [one.failed for one in masked] == [False, True, False]
    assert [one.text for one in masked] == ["all well", "PHI", "a rash"]
    assert set(masked[1].decisions.reasons.tolist()) == {Reason.FAILED_CLOSED}
    assert pool.mask_many(docs("still there"))[0].text == "still there"


def test_a_pool_that_is_stopped_while_it_works_leaves_no_thread(tmp_path, monkeypatch):
    """A thread that still closed its pipes would make Python's own end print an error, now and then."""

    def join_slowly(process, timeout=None):
        time.sleep(0.3)
        join(process, timeout)

    with ThreadPoolExecutor(1) as threads:
        with pytest.raises(KeyboardInterrupt), WorkerPool(failing(tmp_path), 1, MARKER) as pool:
            join = BaseProcess.join
            monkeypatch.setattr(BaseProcess, "join", join_slowly)
            asked = threads.submit(pool.mask_many, docs(f"{SLOW} {CANARY}"))
            while not list(tmp_path.glob("pid-*")):
                time.sleep(0.01)
            raise KeyboardInterrupt
        with pytest.raises(KeyboardInterrupt):
            asked.result()
        pool_threads = [one for one in threading.enumerate() if "Executor" in type(one).__name__]
    assert pool_threads == []


def test_processes_that_all_die_end_in_an_error_and_not_in_hours(pool, monkeypatch):
    monkeypatch.setattr(worker_pool, "MAX_DEATHS_IN_A_ROW", 3)
    with pytest.raises(StageError, match="3 times in a row"):
        pool.mask_many(docs(*[f"{KILLS} {CANARY}"] * 5))


def test_an_error_in_a_process_shows_no_text(pool, capfd):
    with pytest.raises(StageError) as caught:
        pool.mask_many(docs(f"{CANARY} {RAISES}"))
    error = caught.value
    assert "KeyError at worker_maskers.py" in str(error)
    shown = repr(error) + str(error.__cause__) + str(error.__context__) + "".join(capfd.readouterr())
    assert CANARY not in shown
    assert "Traceback" not in shown


def test_what_is_sent_back_for_an_error_holds_no_text(monkeypatch):
    monkeypatch.setattr(worker_pool, "_loaded", [failing(None)()])
    assert CANARY.encode() not in pickle.dumps(worker_pool.mask_in_worker(docs(f"{CANARY} {RAISES}")))


def test_a_masker_that_cannot_be_loaded_is_its_own_error():
    with pytest.raises(ModelError, match=r"^the model is missing$"):
        WorkerPool(unloadable, 2, MARKER)
    assert children() == []


def test_another_model_in_a_later_process_is_refused(tmp_path):
    with WorkerPool(changing(tmp_path), 1, MARKER) as pool:
        assert pool.mask_many(docs("all well"))[0].text == "all well"
        with pytest.raises(ConfigurationError, match="changed"):
            pool.mask_many(docs(KILLS_ONCE))


def test_a_closed_pool_takes_nothing_any_more():
    with WorkerPool(plain, 1, MARKER) as pool:
        pass
    with pytest.raises(KeyboardInterrupt):
        _asked(pool)


def _asked(pool):
    with ThreadPoolExecutor(1) as threads:
        threads.submit(pool._mask, pool._workers[0], docs("late")).result(60)


@pytest.mark.parametrize("n_workers", [1, 2, 1000])
def test_threads_share_the_cores(n_workers):
    assert 1 <= n_threads_each(n_workers) <= max(1, n_threads_each(1) // n_workers)
