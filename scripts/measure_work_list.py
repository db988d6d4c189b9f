"""Measure how quick the list of cases and the trail are in a big store.

Usage: python scripts/measure_work_list.py [--cases 100000] [--files 1000] [--entries 200000]

Makes a store of invented lines in a temporary folder: cases without text in many files, and a trail. Prints
JSON: for each order and filter of the list, and for each filter of the trail, the milliseconds of the
slowest page of the first, a middle and the last page, the median of five times each.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from inverse_deid.review.flow.work_list import MAX_PAGE_ROWS, count_matches, list_cases
from inverse_deid.review.store.creation import make_tables
from inverse_deid.review.store.database import make_engine
from inverse_deid.review.store.entries import TrailEvent
from inverse_deid.review.store.keys import ReviewKey
from inverse_deid.review.store.opening import ReviewStore, Transaction, open_store
from inverse_deid.review.store.sources import store_masking
from inverse_deid.review.store.tables import CASES, INTAKES, LAYERS, SOURCES, USERS
from inverse_deid.review.store.trail import TrailFilter, list_entries, verify_store
from inverse_deid.review.store.values import CaseState, MaskingFacts, ReviewPolicy, WorkFilter, WorkOrder

KEY = ReviewKey(b"a key for measuring, of no use")
N_TIMES = 5
SELDOM = "case-77"


def make_store(path: Path, given: argparse.Namespace) -> ReviewStore:
    """Make the store, with one user who approved every hundredth case."""
    rng = random.Random(1)
    engine = make_engine(path)
    with engine.connect() as connection, connection.begin():
        facts = MaskingFacts(fingerprint="invented")
        keys = make_tables(connection, KEY, ReviewPolicy(), facts)
        transaction = Transaction(connection, ReviewStore(engine, keys, time.time))
        user = {"id": 1, "name": "ann", "password": "none", "role": "adjudicator", "is_active": True}
        transaction.insert(USERS, user)
        names = transaction.names
        key_ids = {i: names.add_key() for i in range(1, given.files + 1)}
        sources = [
            {
                "id": i,
                "name": names.seal(key_id, f"folder {i % 7}/file-{i}.csv"),
                "name_key": key_id,
                "format": "csv",
                "sealed": b"",
            }
            for i, key_id in key_ids.items()
        ]
        transaction.insert_all(SOURCES, sources)
        intake = {
            "masking_id": store_masking(transaction, facts.as_json(), {}),
            "content_hash": "",
            "added_at": 0.0,
            "added_by": "ann",
            "sealed_facts": b"",
        }
        intakes = [{**intake, "source_id": one["id"], "export_name": one["name"]} for one in sources]
        transaction.insert_all(INTAKES, intakes)
        states = [state.value for state in CaseState]
        cases = [
            {
                "id": i,
                "source_id": 1 + i % given.files,
                "number": i,
                "name": names.seal(key_ids[1 + i % given.files], f"case-{rng.randrange(10**6)}"),
                "state": states[min(i % 9, 4)],
                "doubt": rng.randrange(400) / 10,
                "n_tokens": 100,
                "n_doubtful": i % 30,
                "is_failed": False,
                "n_approvals": i % 3,
                "assignee_id": 1 if i % 50 == 0 else None,
            }
            for i in range(1, given.cases + 1)
        ]
        transaction.insert_all(CASES, cases)
        layer = {
            "user_id": 1,
            "kind": "review",
            "is_blind": False,
            "revision": 0,
            "n_done": 0,
            "seconds": 9.0,
        }
        layers = [
            {**layer, "id": i, "case_id": i, "approval": 1, "seen_at": 0.0}
            for i in range(1, given.cases + 1, 100)
        ]
        transaction.insert_all(LAYERS, layers)
        transaction.record(TrailEvent(user="ann", event="store made"))
        transaction.finish()
    engine.dispose()
    store = open_store(path, KEY)
    for begin in range(0, given.entries, 5_000):
        numbers = range(begin, min(begin + 5_000, given.entries))
        events = [
            TrailEvent(
                user="eva" if i % 5_000 == 0 else "ann",
                event="approve" if i % 7 else "change",
                case=1 + i % given.cases,
                name=cases[i % given.cases]["name"],
            )
            for i in numbers
        ]
        with store.writing() as transaction:
            transaction.record(*events)
    return store


def take_times(does: Callable[[], object]) -> float:
    """Return the median milliseconds."""
    times = []
    for _ in range(N_TIMES):
        started = time.perf_counter()
        does()
        times.append(1000 * (time.perf_counter() - started))
    return statistics.median(times)


def measure_list(store: ReviewStore, chosen: WorkFilter, order: WorkOrder) -> dict[str, float]:
    """Return the milliseconds of the slowest of three pages, and of counting all matches."""
    keys: list[str | None] = [None]
    while True:
        page = list_cases(store, chosen, after=keys[-1], n_rows=MAX_PAGE_ROWS, order=order)
        if page.next_key is None:
            break
        keys.append(page.next_key)
    tried = {keys[0], keys[len(keys) // 2], keys[-1]}
    slowest = max(
        take_times(lambda key=key: list_cases(store, chosen, after=key, order=order)) for key in tried
    )
    return {"page": round(slowest, 1), "count": round(take_times(lambda: count_matches(store, chosen)), 1)}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--cases", type=int, default=100_000)
    parser.add_argument("--files", type=int, default=1_000)
    parser.add_argument("--entries", type=int, default=200_000)
    given = parser.parse_args()
    filters = {
        "all": WorkFilter(),
        "one state": WorkFilter(states=frozenset({CaseState.AGREED})),
        "can review now": WorkFilter(claimable_by=1),
        "my cases": WorkFilter(work_of=1),
        "approved by me": WorkFilter(approved_by=1),
        "search, many": WorkFilter(search="case"),
        "search, few": WorkFilter(search=SELDOM),
        "search, none": WorkFilter(search="nowhere"),
    }
    trail = {
        "all": TrailFilter(),
        "one user": TrailFilter(user="eva"),
        "one case": TrailFilter(case=SELDOM),
        "nobody": TrailFilter(user="nobody"),
    }
    with tempfile.TemporaryDirectory() as folder, make_store(Path(folder) / "review.db", given) as store:
        found = {
            "list_ms": {
                f"{name}, by {order}": measure_list(store, chosen, order)
                for name, chosen in filters.items()
                for order in WorkOrder
            },
            "trail_ms": {
                name: round(take_times(lambda one=one: list_entries(store, one)), 1)
                for name, one in trail.items()
            },
            "verify_s": round(take_times(lambda: verify_store(store)) / 1000, 2),
        }
    print(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
