"""Attacks on the pages: other users of the computer, forged proofs and searches, numbers without end, names."""

import base64
import json
import os
import subprocess
import sys
import threading

import pytest
from desk_visitors import desk_of
from fake_maskers import CANARY
from review_servers import running
from review_stores import store_of
from review_visitors import visitor
from served_apps import served_app

from inverse_deid.core.errors import Remedy, ReviewError
from inverse_deid.review.files.waiting import UploadState, begin_upload, remove_upload
from inverse_deid.review.flow.oversight import disclose_files
from inverse_deid.review.pages import list_pages
from inverse_deid.review.pages.application import DECISION_THREADS, make_application
from inverse_deid.review.pages.door import is_neighbour
from inverse_deid.review.people.accounts import add_user
from inverse_deid.review.store.trail import TrailFilter, list_entries
from inverse_deid.review.store.values import UserRole

ASK = """
import encodings.idna, http.client, os, sys
os.setuid(int(sys.argv[2]))
connection = http.client.HTTPConnection("127.0.0.1", int(sys.argv[1]))
connection.request("GET", "/add")
print(connection.getresponse().status)
"""
HEAD = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n"


def connection(owner, state="01", port=50000):
    return (
        f"   0: 0100007F:{port:04X} 0100007F:1F52 {state} 00000000:00000000 00:00000000 00000000 "
        f"{owner:5d}        0 12345 1 0000000000000000 20 4 30 10 -1\n"
    )


@pytest.mark.skipif(os.name != "posix", reason="users of Linux")
@pytest.mark.parametrize(
    ("lines", "is_other"),
    [
        ((), True),  # nobody knows whose it is
        ((connection(os.geteuid()),), False),
        ((connection(0),), False),
        ((connection(4242),), True),
        ((connection(4242, port=50001), connection(os.geteuid())), False),
        ((connection(os.geteuid()), connection(4242)), True),
        ((connection(0, state="05"),), True),  # closed by its program
    ],
)
def test_connections_of_other_users_are_told_apart(tmp_path, lines, is_other):
    table = tmp_path / "tcp"
    table.write_text(HEAD + "".join(lines))
    assert is_neighbour(("127.0.0.1", 50000), 8018, [tmp_path / "missing", table]) is is_other
    assert is_neighbour(None, 8018, [table])


@pytest.mark.skipif(
    sys.platform != "linux" or os.geteuid() != 0, reason="needs the rights to be another user"
)
def test_another_user_of_the_computer_does_not_reach_the_desk(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    with running("desk", "--folder", tmp_path / "desk", "--no-browser") as port:
        command = [sys.executable, "-c", ASK, str(port)]
        statuses = [subprocess.check_output([*command, str(user)], text=True).strip() for user in (65534, 0)]
    assert statuses == ["403", "303"]


def test_a_forged_proof_that_is_not_ascii_is_refused(tmp_path):
    with desk_of(tmp_path, starts=False) as desk:
        assert desk.client.post("/again", content=b"0" * 32 + b" \xff\xfe").status_code == 403


@pytest.mark.parametrize("n_digits", [19, 6000])
def test_a_number_without_end_is_a_page_that_does_not_exist(tmp_path, n_digits):
    with desk_of(tmp_path, starts=False) as desk:
        for address in ("/cases/{}", "/cases/{}/finished", "/sample/{}"):
            answer = desk.client.get(address.format("9" * n_digits))
            assert answer.status_code == 404
            assert "default-src 'none'" in answer.headers["content-security-policy"]
        assert desk.ask(f"/add/{'9' * n_digits}", what="resume").status_code == 404


def test_a_page_says_what_mends_an_error_if_the_pages_offer_it(tmp_path, monkeypatch):
    def fail(_visit):
        found = [Remedy("encoding"), Remedy(step="add the file again"), Remedy("dates", "shift")]
        raise ReviewError("the file is damaged", remedies=found)

    monkeypatch.setattr(list_pages, "find_cases", fail)
    monkeypatch.setattr(list_pages, "go_next", fail)
    said = "The file is damaged. Add the file again, or choose what should happen to dates."
    with store_of(tmp_path) as store:
        ann = visitor(store, "ann")
        assert said in ann.get("/next").text
        assert ann.ask("/find").json() == {"error": said}


def test_an_error_outside_of_the_handlers_shows_and_logs_no_text(tmp_path, monkeypatch, caplog):
    with desk_of(tmp_path, starts=False) as desk:

        def fail(_request, _message, **_more):
            raise ValueError(CANARY)

        monkeypatch.setattr("inverse_deid.review.pages.door._render_door", fail)
        answer = desk.client.get("/log-in")
    assert answer.status_code == 500
    assert "default-src 'none'" in answer.headers["content-security-policy"]
    assert CANARY not in answer.text + caplog.text
    assert "ValueError" in caplog.text


def test_an_address_with_a_search_tells_another_user_nothing(tmp_path):
    with store_of(tmp_path) as store:
        ann, ben = visitor(store, "ann"), visitor(store, "ben")
        address = ann.send("/find", search="c1 Okonkwo").headers["location"]
        assert "okonkwo" not in address.lower()
        words = base64.urlsafe_b64encode(b"c1 Okonkwo").decode().rstrip("=")
        assert words not in address and address != ann.send("/find", search="c1 Okonkwo").headers["location"]
        assert 'value="c1 Okonkwo"' in ann.get(address).text
        assert "Okonkwo" not in ben.get(address).text


@pytest.mark.parametrize("name", ["command", "Command"])
def test_nobody_has_the_name_of_a_program_in_the_trail(tmp_path, name):
    with store_of(tmp_path) as store, pytest.raises(ReviewError, match="calls a program"):
        add_user(store, name, "a long enough sentence", UserRole.ADMIN)


def test_a_desk_can_leave_many_cases_open(tmp_path):
    lines = b"".join(json.dumps({"id": f"c{n}", "text": "seen today"}).encode() + b"\n" for n in range(22))
    with desk_of(tmp_path) as desk:
        number = desk.add("cases.jsonl", lines).json()["id"]
        desk.choose({f"column {number} 0": "id", f"column {number} 1": "masked"})
        desk.wait(UploadState.DONE)
        assert {desk.ask(f"/cases/{n}/open").status_code for n in range(1, 23)} == {200}


def test_slow_requests_of_others_do_not_hold_up_decisions(tmp_path, monkeypatch):
    begun, is_over, ended = threading.Semaphore(0), threading.Event(), []

    def find_slowly(visit):
        begun.release()
        ended.append(is_over.wait(60))
        return list_pages.show_work_list(visit)

    monkeypatch.setattr(list_pages, "find_cases", find_slowly)
    with store_of(tmp_path) as store, served_app(make_application(store)) as address:
        ann, eve = (visitor(store, name, address=address) for name in ("ann", "eve"))
        threads = [threading.Thread(target=eve.ask, args=["/find"]) for _ in range(DECISION_THREADS)]
        for one in threads:
            one.start()
        assert all(begun.acquire(timeout=60) for _ in threads)
        opened = ann.ask("/cases/1/open")
        assert (
            opened.status_code == ann.act(1, opened.json()["revision"], "unmask", (0, 1)).status_code == 200
        )
        is_over.set()
        for one in threads:
            one.join()
        for one in (ann, eve):
            one.client.close()
    assert ended == [True] * DECISION_THREADS  # after the decision


def test_a_file_with_the_number_of_an_earlier_one_is_recorded_again(tmp_path):
    with store_of(tmp_path) as store:
        for name in ("a.csv", "b.csv"):
            upload = begin_upload(store, name, 10, by="ann")
            disclose_files(store, "ann", {upload.id: (upload.name_key, name)}, "columns")
            remove_upload(store, upload.id)
        shown, _ = list_entries(store, TrailFilter(events=("original of a file shown",)))
    assert len(shown) == 2  # their names went with them
