"""A store on a real PostgreSQL server; if there is none, tests are skipped unless `CI` is set."""

import json
import threading

import pytest
from postgres_cluster import postgres_address
from review_stores import KEY, TEXT, change, place, review, store_of, user

from inverse_deid.core.errors import OutputExistsError, StaleRevisionError
from inverse_deid.review.approval import approve
from inverse_deid.review.exporting import export_released
from inverse_deid.review.reading import open_dispute, view_case
from inverse_deid.review.store import open_store
from inverse_deid.review.trail import verify_store
from inverse_deid.review.values import ActionKind, CaseState, LayerRevision, UserRole

pytestmark = pytest.mark.slow

N_AT_ONCE = 8
N_DECISIONS = 10


@pytest.fixture
def address():
    with postgres_address() as address:
        yield address


def test_from_a_disagreement_to_released_text(address, tmp_path):
    with store_of(tmp_path, address=address) as store:
        ann, bea = user(store, "ann"), user(store, "bea")
        carl = user(store, "carl", UserRole.ADJUDICATOR)
        review(store, ann)
        assert review(store, bea, mask=[5]) is CaseState.DISAGREED
        dispute = open_dispute(store, carl, 1)
        at, _ = change(store, LayerRevision(carl.id, 1, dispute.case.revision), ActionKind.MASK, 5)
        assert approve(store, at) is CaseState.RELEASED
        export_released(store, tmp_path / "released")
    with pytest.raises(OutputExistsError):
        store_of(tmp_path, address=address)
    with open_store(address, KEY) as again:
        assert verify_store(again).is_intact
    released = json.loads((tmp_path / "released" / "cases.jsonl").read_text())
    assert released["text"] == "seen by PHI today, then PHI left"


def test_concurrent_users_lose_no_decision(address, tmp_path):
    with store_of(tmp_path, [TEXT] * N_AT_ONCE, address=address) as store:
        people = [user(store, f"user{i}") for i in range(N_AT_ONCE)]
        faults = []

        def work(number):
            try:
                at = place(store, people[number], number + 1)
                for i in range(N_DECISIONS):
                    at, _ = change(store, at, ActionKind.UNMASK if i % 2 else ActionKind.MASK, i % 7)
                with pytest.raises(StaleRevisionError):
                    change(store, LayerRevision(at.user_id, at.case_id, at.revision - 1), ActionKind.MASK, 0)
            except BaseException as fault:  # noqa: BLE001 - told by the assertion below
                faults.append(fault)

        threads = [threading.Thread(target=work, args=(number,)) for number in range(N_AT_ONCE)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
        assert not faults
        for number, person in enumerate(people):
            view = view_case(store, person, number + 1)
            assert view.revision == N_DECISIONS
            assert view.layer.keep.tolist() == [True, False, True, True, False, True, False]
        assert verify_store(store).is_intact
