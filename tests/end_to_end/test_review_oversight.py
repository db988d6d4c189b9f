"""Who sees an original leaves a trace, and nobody sees more than their part: against a running server."""

import json
import os
import pwd
import re
import threading
import time

import httpx
import pytest
from review_servers import serving
from review_stores import change, json_lines, place, read_entries, review, store_of, write_key
from review_visitors import Visitor, account
from sqlalchemy import select

from inverse_deid.core.errors import NotAllowedError
from inverse_deid.review.flow.causality import Topic
from inverse_deid.review.flow.editing import act, add_note
from inverse_deid.review.flow.oversight import list_activity, set_limits
from inverse_deid.review.flow.quality import draw_sample, list_unread, record_reading
from inverse_deid.review.flow.reading import open_case, view_case
from inverse_deid.review.flow.work_list import count_cases, next_case
from inverse_deid.review.people.accounts import find_user
from inverse_deid.review.store.entries import TrailEvent
from inverse_deid.review.store.tables import INTAKES, TRAIL
from inverse_deid.review.store.trail import TrailFilter, list_entries, verify_store
from inverse_deid.review.store.values import (
    ActionKind,
    CaseState,
    LayerRevision,
    ReviewAction,
    ReviewLimits,
    TokenRange,
    UserRole,
)

CANARY = "Zebulonova"
ROLES = {
    **dict.fromkeys(("ann", "bea", "cid"), UserRole.REVIEWER),
    **dict.fromkeys(("carl", "eve"), UserRole.ADJUDICATOR),
    "root": UserRole.ADMIN,
}
RELEASED, DISPUTED, FIRST_NEW, N_CASES = 1, 2, 3, 40


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    """Return an open store with a released case, a disputed one and new ones; its key is next to it."""
    folder = tmp_path_factory.mktemp("oversight")
    write_key(folder)
    with store_of(folder, [f"seen by {CANARY} today"] * N_CASES, clock=time.time) as made:
        for name, role in ROLES.items():
            account(made, name, role)
        people = {name: find_user(made, name) for name in ROLES}
        for name in ("bea", "cid"):
            review(made, people[name], RELEASED)
        add_note(made, place(made, people["bea"], DISPUTED), "a rare name")
        review(made, people["bea"], DISPUTED, keep=[2])
        review(made, people["cid"], DISPUTED)
        made.folder = folder
        yield made


@pytest.fixture(scope="module")
def enter(store):
    """Return what logs a user in at the server, in a browser that others have not used."""
    with serving(store.folder / "review.db") as port:
        clients = []

        class Guest(Visitor):
            def __init__(self, name):
                self.client, self.token = httpx.Client(base_url=f"http://localhost:{port}", timeout=60), ""
                clients.append(self.client)
                assert self.log_in(name).status_code == 303

        yield Guest
        for client in clients:
            client.close()


fresh = iter(range(FIRST_NEW, N_CASES + 1))


@pytest.fixture
def case_id():
    """Return a case that no other test uses."""
    return next(fresh)


def shown(store, case_id, user):
    """Return the ways in which a user was shown the original of a case."""
    entries = read_entries(store, case_id)
    return [one["new"] for one in entries if one["event"] == "original shown" and one["user"] == user]


def find(store, case_id, event):
    return [one for one in read_entries(store, case_id) if one["event"] == event]


def masked_shown(store, case_id, user):
    """Return the ways in which a user was shown the masked text of a case."""
    return [one["new"] for one in find(store, case_id, "masked text shown") if one["user"] == user]


MISSING = {f"preserved {one.value}": "no" for one in Topic}
"""Answers of the first step of the causality form."""


class TestTrace:
    def test_each_case_read_is_one_entry(self, store, enter, case_id):
        ann = enter("ann")
        for _ in range(3):
            assert CANARY in ann.ask(f"/cases/{case_id}/open").text
        assert ann.get(f"/cases/{case_id}/print").status_code == 200
        assert shown(store, case_id, "ann") == ["reading page", "print view"]
        ann.ask(f"/cases/{case_id}/close")

    def test_ten_minutes_later_it_is_a_new_entry(self, tmp_path):
        now = [1_700_000_000.0]
        with store_of(tmp_path, clock=lambda: now[0]) as store:
            account(store, "ann")
            for minutes in (0, 9, 11, 12):
                now[0] = 1_700_000_000.0 + 60 * minutes
                open_case(store, find_user(store, "ann"), 1)
            assert len(shown(store, 1, "ann")) == 2

    def test_first_values_of_columns(self, store, enter):
        carl = enter("carl")
        headers = {"X-CSRF-Token": carl.token, "X-File-Name": "new.csv"}
        table = f"id,narrative\n1,Seen by {CANARY} at home in the evening\n".encode()
        assert carl.client.post("/add/file", headers=headers, content=table).status_code == 200
        assert all(CANARY in carl.get("/choices").text for _ in range(2))
        chosen = TrailFilter(user="carl", events=("original of a file shown",))
        assert [one.event.name for one in list_entries(store, chosen)[0]] == ["new.csv"]

    def test_exports_of_originals_name_each_case(self, store, command):
        out, file = store.folder / "gold", store.folder / "review.db"
        assert command("review", "export", "--store", file, "--as", "brat", "--out", out).status == 0
        assert shown(store, RELEASED, "command") == ["export brat"]
        assert shown(store, DISPUTED, "command") == []
        event = f"command export brat, run by system user {pwd.getpwuid(os.getuid()).pw_name}"
        assert list_entries(store, TrailFilter(events=(event,)))[0]

    def test_a_masked_text_for_a_sample(self, store, enter):
        eve = enter("eve")
        n_released = count_cases(store)[CaseState.RELEASED]  # other tests may have released more
        eve.send("/sample", n_cases=str(n_released))
        assert CANARY not in eve.get(f"/sample/{RELEASED}").text
        assert masked_shown(store, RELEASED, "eve") == ["sample"]

    def test_the_masked_text_of_a_finished_case(self, store, enter):
        cid = enter("cid")
        for page in ("finished", "form", "finished"):
            assert CANARY not in cid.get(f"/cases/{RELEASED}/{page}").text
        assert masked_shown(store, RELEASED, "cid") == ["finished case", "causality form"]

    def test_the_trail_has_no_word_and_is_intact(self, store):
        with store.reading() as transaction:
            assert CANARY not in " ".join(transaction.execute(select(TRAIL.c.line)).scalars())
        assert verify_store(store).is_intact


class TestDeletion:
    def test_an_admin_deletes_one_case_and_types_its_number(self, store, enter, case_id):
        root, form = enter("root"), {"case": str(case_id), "typed": str(case_id)}
        assert f'href="/files/delete?case={case_id}"' in root.get("/").text
        assert f"Delete case {case_id}?" in root.get(f"/files/delete?case={case_id}").text
        assert root.send("/files/delete", **form | {"typed": "1"}, sure="yes").status_code == 400
        assert root.client.post("/files/delete", data=form).status_code == 403
        assert enter("eve").send("/files/delete", **form).status_code == 403
        assert not find(store, case_id, "case deleted")
        assert f"case {case_id}, c{case_id}" in root.send("/files/delete", **form).text
        assert [one["user"] for one in find(store, case_id, "case deleted")] == ["root"]
        assert root.get(f"/files/delete?case={case_id}").status_code == 400
        assert verify_store(store).is_intact


class TestWhoSees:
    @pytest.mark.parametrize("name", ["ann", "eve"])
    def test_no_released_original_of_others_by_its_number(self, store, enter, name):
        guest = enter(name)
        answers = [
            guest.send(f"/cases/{RELEASED}/form/original", **MISSING),
            guest.ask(f"/cases/{RELEASED}/open"),
            guest.get(f"/cases/{RELEASED}/print"),
        ]
        assert [one.status_code for one in answers] == [403] * 3
        assert not any(CANARY in one.text for one in answers)
        assert shown(store, RELEASED, name) == []

    def test_who_approved_it_sees_it_and_is_recorded(self, store, enter):
        page = enter("bea").send(f"/cases/{RELEASED}/form/original", **MISSING)
        assert CANARY in page.text
        assert "causality form" in shown(store, RELEASED, "bea")

    def test_an_assignment_opens_it(self, store, enter):
        number = str(find_user(store, "ann").id)
        enter("root").send("/assign", case=[str(RELEASED)], assignee=number)
        page = enter("ann").send(f"/cases/{RELEASED}/form/original", **MISSING)
        assert CANARY in page.text
        enter("root").send("/assign", case=[str(RELEASED)], assignee="")

    def test_admins_see_no_text(self, store, enter, case_id):
        root = enter("root")
        pages = ("", "/print", "/finished", "/form")
        answers = [root.get(f"/cases/{one}{page}") for one in (RELEASED, case_id) for page in pages]
        posts = ("open", "act", "undo", "note", "approve", "keep", "form/original")
        answers += [root.ask(f"/cases/{one}/{post}") for one in (RELEASED, case_id) for post in posts]
        answers += [root.get(one) for one in ("/next", "/sample", "/choices", f"/sample/{RELEASED}")]
        answers += [root.ask(f"/disputes/{DISPUTED}/open"), root.send("/files/download")]
        assert {one.status_code for one in answers} == {403}
        assert not any(CANARY in one.text or "PHI" in one.text for one in answers)
        work = ("/", "/files", "/accounts", "/trail", "/activity", "/summary")
        assert [root.get(page).status_code for page in work] == [200] * len(work)

    def test_people_take_only_assigned_cases_if_the_limit_says_so(self, store, enter, case_id):
        set_limits(store, ReviewLimits(only_assigned=True), by="command")
        try:
            ann = enter("ann")
            assert ann.ask(f"/cases/{case_id}/open").status_code == 403
            assert ann.get("/next").headers["location"] == "/"
        finally:
            set_limits(store, ReviewLimits(), by="command")

    def test_a_dispute_names_nobody(self, store, enter):
        eve = enter("eve")
        opened = eve.ask(f"/disputes/{DISPUTED}/open")
        assert [one["text"] for one in opened.json()["notes"]] == ["a rare name"]
        for text in (opened.text, eve.get(f"/disputes/{DISPUTED}").text, eve.get("/").text):
            assert not re.search(r"\b(bea|cid)\b", text)
        assert eve.get("/trail").status_code == 403
        assert shown(store, DISPUTED, "eve") == ["dispute"]
        eve.ask(f"/cases/{DISPUTED}/close")


class TestDuties:
    def test_who_changed_a_case_does_not_settle_it(self, store, enter, case_id):
        carl = enter("carl")
        revision = carl.ask(f"/cases/{case_id}/open").json()["revision"]
        assert carl.act(case_id, revision, "mask", (0, 1)).status_code == 200
        carl.ask(f"/cases/{case_id}/close")
        review(store, find_user(store, "ann"), case_id, keep=[2])
        review(store, find_user(store, "bea"), case_id)
        refused = carl.ask(f"/disputes/{case_id}/open")
        assert refused.status_code == 403 and "you changed or approved" in refused.json()["error"].lower()
        assert CANARY not in refused.text

    def test_who_added_the_file_stays_out_if_the_limit_says_so(self, tmp_path):
        with store_of(tmp_path, approvals=1) as store:
            account(store, "eve", UserRole.ADJUDICATOR)
            account(store, "carl", UserRole.ADJUDICATOR)
            eve, carl = find_user(store, "eve"), find_user(store, "carl")
            with store.writing() as transaction:
                transaction.update(INTAKES, INTAKES.c.source_id == 1, added_by="eve")
                transaction.record(TrailEvent(user="command", event="file 1 is of eve"))
            assert next_case(store, eve) == 1
            set_limits(store, ReviewLimits(adders_stay_out=True), by="command")
            assert (next_case(store, eve), next_case(store, carl)) == (None, 1)
            with pytest.raises(NotAllowedError, match="you added the file"):
                open_case(store, eve, 1)
            review(store, carl)
            draw_sample(store, 1)
            assert list_unread(store, eve) == ()
            with pytest.raises(NotAllowedError, match="you added the file"):
                record_reading(store, eve, 1, leaks=False)

    def test_nobody_changes_their_own_role(self, store, enter):
        refused = enter("root").send("/accounts", what="role", name="root", role="adjudicator")
        assert refused.status_code == 400 and find_user(store, "root").role is UserRole.ADMIN

    @pytest.mark.parametrize(
        ("words", "name"), [(("sample", "--clean", RELEASED), "ann"), (("import", "gold"), "root")]
    )
    def test_commands_refuse_an_account_that_may_not(self, store, command, tmp_path, words, name):
        gold = json_lines(tmp_path / "gold.jsonl", ["x"])
        given = [gold if word == "gold" else str(word) for word in words]
        done = command("review", *given, "--user", name, "--store", store.folder / "review.db")
        assert done.status == 2 and "needs an open account with the role" in done.stderr

    def test_an_import_says_who_ran_it(self, store, command, case_id):
        gold = store.folder / "import.jsonl"
        document = {"id": f"c{case_id}", "text": f"seen by {CANARY} today", "spans": []}
        gold.write_text(json.dumps(document) + "\n")
        done = command("review", "import", gold, "--user", "cid", "--store", store.folder / "review.db")
        assert done.status == 0, done.stderr
        event = f"command import for cid, run by system user {pwd.getpwuid(os.getuid()).pw_name}"
        assert list_entries(store, TrailFilter(events=(event,)))[0]
        assert shown(store, case_id, "cid") == ["import"]


class TestLocks:
    def test_a_reassigned_case_refuses_its_old_holder_and_keeps_their_work(self, store, enter, case_id):
        ann, root = enter("ann"), enter("root")
        revision = ann.ask(f"/cases/{case_id}/open").json()["revision"]
        revision = ann.act(case_id, revision, "mask", (0, 1)).json()["revision"]
        number = str(find_user(store, "bea").id)
        root.send("/assign", case=[str(case_id)], assignee=number)
        for answer in (
            ann.act(case_id, revision, "mask", (1, 2)),
            ann.ask(f"/cases/{case_id}/approve", revision=revision),
            ann.ask(f"/cases/{case_id}/keep"),
            ann.ask(f"/cases/{case_id}/note", revision=revision, text="mine"),
            ann.ask(f"/cases/{case_id}/open"),
            ann.get(f"/cases/{case_id}/print"),
        ):
            assert answer.status_code == 423
            assert "assigned to another user" in answer.text and "are kept" in answer.text
        assert [one["old"] for one in find(store, case_id, "lock broken")] == ["ann"]
        assert enter("bea").ask(f"/cases/{case_id}/open").status_code == 200
        root.send("/assign", case=[str(case_id)], assignee=str(find_user(store, "ann").id))
        assert ann.ask(f"/cases/{case_id}/open").json()["layer"]["keep"][0] == "0"
        ann.ask(f"/cases/{case_id}/close")

    def test_one_person_cannot_lock_every_case(self, store, enter, case_id):
        set_limits(store, ReviewLimits(max_locks=2), by="command")
        try:
            ann, cases = enter("ann"), [case_id, next(fresh), next(fresh)]
            answers = [ann.ask(f"/cases/{one}/open") for one in cases]
            assert [one.status_code for one in answers] == [200, 200, 423]
            assert CANARY not in answers[-1].text and shown(store, cases[-1], "ann") == []
            assert enter("bea").send("/locks", case=[str(case_id)]).status_code == 403
            assert enter("root").send("/locks", case=[str(one) for one in cases]).status_code == 303
            assert [one["old"] for one in find(store, case_id, "lock broken")] == ["ann"]
            assert ann.ask(f"/cases/{case_id}/keep").status_code == 423
            assert ann.ask(f"/cases/{cases[-1]}/open").status_code == 200
            ann.ask(f"/cases/{cases[-1]}/close")
        finally:
            set_limits(store, ReviewLimits(), by="command")


def test_unusual_volume_is_shown_to_admins(store, enter, command):
    eve = enter("eve")
    for _ in range(4):
        number = next(fresh)
        eve.ask(f"/cases/{number}/open")
        eve.ask(f"/cases/{number}/close")
    root, address = enter("root"), store.folder / "review.db"
    root.send("/activity", max_locks="20", cases_per_hour="3")
    row = re.search(r"<b>eve</b>.*?</tr>", root.get("/activity").text, re.DOTALL).group()
    assert "unusual" in row
    told = command("review", "status", "--store", address).stdout
    assert re.search(r"^eve .*UNUSUAL$", told, re.MULTILINE)
    assert command("review", "limits", "--store", address, "--cases-per-hour", "60").status == 0
    assert not re.search(r"^eve .*UNUSUAL$", command("review", "status", "--store", address).stdout, re.M)
    assert eve.get("/activity").status_code == 403


def test_five_times_ones_own_usual_is_unusual(tmp_path):
    now = [1_700_000_000.0]
    with store_of(tmp_path, ["seen by Li"] * 26, clock=lambda: now[0], approvals=1) as store:
        account(store, "ann")
        ann = find_user(store, "ann")
        days = [[1, 2], [3, 4], [5, 6], range(7, 17)]
        for cases in days:
            now[0] += 86_400
            for number in cases:
                review(store, ann, number)
        found = list_activity(store)[0]
        assert (found.n_read, found.usual_cases, found.is_unusual) == (10, 2.0, True)


@pytest.mark.slow
def test_a_long_range_everywhere_in_a_long_case_lets_others_write(tmp_path):
    """200,000 words, every second one the same: this took the write lock for more than a minute."""
    text = " ".join(f"was word{i % 99_000}" for i in range(100_000))
    with store_of(tmp_path, [text, "seen by Okonkwo today"], clock=time.time) as store:
        for name in ("ann", "bea"):
            account(store, name)
        ann, bea = find_user(store, "ann"), find_user(store, "bea")
        revision = open_case(store, ann, 1).revision
        at, waits, ended = place(store, bea, 2), [], threading.Event()

        def work():
            nonlocal at
            while not ended.is_set():
                began = time.perf_counter()
                at, _ = change(store, at, ActionKind.UNMASK if len(waits) % 2 == 0 else ActionKind.MASK, 2)
                waits.append(time.perf_counter() - began)

        other = threading.Thread(target=work)
        other.start()
        begun = time.perf_counter()
        try:
            ranges = tuple(TokenRange(2 * i, 2 * i + 20_000) for i in range(40))
            action = ReviewAction(ActionKind.MASK, ranges, all_mentions=True)
            revision = act(store, LayerRevision(ann.id, 1, revision), action).revision
        finally:
            seconds = time.perf_counter() - begun
            ended.set()
            other.join()
        assert revision == 1 and not view_case(store, ann, 1).layer.keep[:20_078].any()
        assert len(waits) > 3 and max(waits) < max(1.0, seconds / 2), (seconds, waits)
