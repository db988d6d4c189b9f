"""The pages of the review over HTTP: access, content, changes."""

import re
from copy import copy
from dataclasses import dataclass
from html import unescape

import numpy as np
import pytest
from fake_maskers import near_the_threshold
from refusals import refuses
from review_stores import PASSWORD, read_entries, store_of
from review_visitors import Visitor, account, visitor

from inverse_deid.choices.names import TYPE_NAMES
from inverse_deid.choices.reasons import REASONS
from inverse_deid.core.errors import ConfigurationError
from inverse_deid.core.phi import PhiType
from inverse_deid.core.values import Reason
from inverse_deid.review.flow.quality import bound_leaks
from inverse_deid.review.flow.reading import open_case
from inverse_deid.review.flow.work_list import count_cases
from inverse_deid.review.pages.application import ServeSettings, _list_routes
from inverse_deid.review.pages.case_page import (
    CATEGORY_CODES,
    CATEGORY_TAGS,
    encode_case,
)
from inverse_deid.review.pages.visits import MAX_POST_BYTES, PAGES
from inverse_deid.review.store.trail import verify_store
from inverse_deid.review.store.values import CaseState, UserRole

PAYLOADS = [
    "<script>alert(1)</script>",
    "]]><img src=x onerror=alert(1)>",
    "{{7*7}} {% raw %}",
    '"><svg onload=x>',
]
TEXT = "seen by Okonkwo today, then okonkwo left"
STATIC = PAGES.address


STORE = {"texts": [TEXT, TEXT, "nothing to hide"]}
ALONE = {"texts": [TEXT]}


@pytest.fixture
def doubtful(tmp_path, clock):
    """Make a store of one case whose six kept words are all near the threshold."""
    with store_of(tmp_path, clock=clock, masker=near_the_threshold(), approvals=1) as store:
        yield store


@dataclass(frozen=True)
class Closed:
    """A store that is asked only for what it refuses, so that its tests can share it."""

    stranger: Visitor
    reviewer: Visitor
    admin: Visitor


@pytest.fixture(scope="module")
def closed(tmp_path_factory):
    with store_of(tmp_path_factory.mktemp("closed"), [TEXT]) as store:
        yield Closed(Visitor(store), visitor(store, "ann"), visitor(store, "dora", UserRole.ADMIN))


def every_address():
    """Return all pages and posts except log-in and static files."""
    for route in _list_routes():
        if getattr(route, "methods", None) and route.path != "/log-in":
            method = "POST" if "POST" in route.methods else "GET"
            yield method, re.sub(r"\{\w+:int\}", "1", route.path)


class TestWhoGetsIn:
    @pytest.mark.parametrize(("method", "address"), list(every_address()))
    def test_no_page_without_log_in(self, closed, method, address):
        client = closed.stranger.client
        assert client.request(method, address).headers["location"] == "/log-in"
        as_script = client.request(method, address, headers={"Content-Type": "application/json"})
        assert as_script.status_code == 401

    @pytest.mark.parametrize(("method", "address"), [one for one in every_address() if one[0] == "POST"])
    @pytest.mark.parametrize("token", ["", "0" * 64])
    def test_no_post_without_its_token(self, closed, method, address, token):
        dora = copy(closed.admin)
        dora.token = token
        assert dora.send(address).status_code == 403
        assert dora.ask(address).status_code == 403

    def test_token_of_another_session_does_not_count(self, store):
        ann, bea = visitor(store, "ann"), visitor(store, "bea")
        ann.token = bea.token
        assert ann.ask("/cases/1/open").status_code == 403

    def test_log_in_form_has_a_token(self, store):
        account(store, "ann")
        form = {"name": "ann", "password": PASSWORD, "csrf_token": "0" * 64}
        assert Visitor(store).client.post("/log-in", data=form).status_code == 403

    def test_wrong_password_and_wrong_name_look_alike(self, store):
        account(store, "ann")
        answers = [Visitor(store).log_in(name, "not the right words") for name in ("ann", "nobody")]
        assert [one.status_code for one in answers] == [401, 401]
        faults = [re.search(r'role="alert">([^<]*)', one.text).group(1) for one in answers]
        assert faults[0] == faults[1]

    def test_tries_run_out(self, store, clock):
        account(store, "ann")
        guesser = Visitor(store)
        for _ in range(5):
            guesser.log_in("ann", "not the right words")
        assert guesser.log_in("ann").status_code == 429
        clock.seconds += 16 * 60
        assert guesser.log_in("ann").status_code == 303

    def test_session_of_before_the_log_in_is_not_taken_over(self, store):
        account(store, "ann")
        victim = Visitor(store)
        victim.client.cookies.set("session", "planted")
        assert victim.log_in("ann").status_code == 303
        assert "planted" not in victim.client.cookies.get("session", domain="localhost.local")
        attacker = Visitor(store)
        attacker.client.cookies.set("session", "planted")
        assert attacker.get("/").status_code == 303

    def test_old_session_ends_at_a_new_log_in(self, store):
        ann = visitor(store, "ann")
        old = ann.client.cookies["session"]
        ann.log_in("ann")
        thief = Visitor(store)
        thief.client.cookies.set("session", old)
        assert thief.get("/").status_code == 303

    def test_log_out_ends_the_session(self, store):
        ann = visitor(store, "ann")
        old = ann.client.cookies["session"]
        assert ann.send("/log-out").headers["location"] == "/log-in"
        ann.client.cookies.set("session", old)
        assert ann.get("/").headers["location"] == "/log-in"

    @pytest.mark.parametrize("secure", [False, True])
    def test_cookie(self, store, secure):
        account(store, "ann")
        cookie = Visitor(store, secure=secure).log_in("ann").headers["set-cookie"]
        assert "HttpOnly" in cookie
        assert "SameSite=strict" in cookie
        assert ("Secure" in cookie) is secure
        assert cookie.startswith("__Host-session=") is secure

    @pytest.mark.parametrize("address", ["/accounts", "/disputes/1", "/sample", "/sample/1"])
    def test_roles(self, closed, address):
        assert closed.reviewer.get(address).status_code == 403

    @pytest.mark.parametrize(
        "address", ["/assign", "/accounts", "/cases/1/release", "/cases/1/withdraw", "/sample", "/sample/1"]
    )
    def test_roles_of_posts(self, closed, address):
        assert closed.reviewer.send(address).status_code == 403


class TestWhatIsServed:
    def test_headers_of_every_answer(self, store):
        ann = visitor(store, "ann")
        for address in (
            "/",
            "/cases/1",
            "/log-in",
            "/nothing",
            "/static/pages.css",
            f"{STATIC}/x",
            f"{STATIC}/pages.css",
        ):
            headers = ann.get(address).headers
            assert "default-src 'none'" in headers["content-security-policy"]
            assert "unsafe" not in headers["content-security-policy"]
            assert headers["x-content-type-options"] == "nosniff"
            assert headers["referrer-policy"] == "no-referrer"
            is_kept = "immutable" in headers["cache-control"]
            assert is_kept == (address == f"{STATIC}/pages.css")
            assert is_kept or headers["cache-control"] == "no-store"

    def test_no_external_address_and_nothing_inline(self, alone):
        ann, dora = visitor(alone, "ann", UserRole.ADJUDICATOR), visitor(alone, "dora", UserRole.ADMIN)
        pages = ["/", "/cases/1", "/disputes/1", "/summary?agreement=1", "/log-in", "/nothing"]
        revision = ann.ask("/cases/1/open").json()["revision"]
        ann.ask("/cases/1/approve", revision=revision)
        pages += ["/cases/1/print", "/cases/1/finished", "/cases/1/form", "/sample"]
        served = [ann.get(page).text for page in pages]
        served += [dora.get(page).text for page in ("/", "/accounts", "/activity", "/trail")]
        fixed = sorted(set(re.findall(r'(?:src|href)="(/static/[^"]+)"', " ".join(served))))
        fixed += [f"{STATIC}/{name}.js" for name in ("case_state", "reader", "requests", "why", "dialogs")]
        served += [ann.get(one).text for one in fixed if not one.endswith(".png")]
        assert all(ann.get(one).status_code == 200 for one in fixed)
        for text in served:
            assert not re.search(r"https?://|//[a-z]+\.[a-z]", text)
            assert not re.search(r"<script(?![^>]*src=)|<style|\sstyle=|\son[a-z]+=|javascript:", text)
            assert not re.search(r"innerHTML|insertAdjacentHTML|document\.write|localStorage|eval\(", text)

    @pytest.mark.parametrize("payload", PAYLOADS)
    def test_narrative_is_text_and_nothing_else(self, tmp_path, payload):
        with store_of(tmp_path, [f"seen by {payload} today"], approvals=1) as store:
            ann = visitor(store, "ann")
            opened = ann.ask("/cases/1/open")
            assert opened.headers["content-type"] == "application/json"
            data = opened.json()
            text = data["gaps"][0] + "".join(
                a + b for a, b in zip(data["words"], data["gaps"][1:], strict=True)
            )
            assert text == f"seen by {payload} today"
            n = len(data["words"])
            revision = ann.act(1, data["revision"], "unmask", (0, n)).json()["revision"]
            note = ann.ask("/cases/1/note", text=payload, revision=revision)
            assert note.json()["notes"][0]["text"] == payload
            printed = [ann.get("/cases/1/print").text]
            asked = ann.ask("/cases/1/approve", revision=revision)
            if asked.status_code == 428:
                ann.ask("/cases/1/approve", revision=revision, uncovered=asked.json()["n_uncovered"])
            printed += [ann.get(f"/cases/1/{page}").text for page in ("finished", "form")]
            for html in printed:
                sheet = re.search(r"<article[^>]*>(.*?)</article>", html, re.DOTALL).group(1)
                assert "<" not in sheet
                assert unescape(sheet).startswith("seen by ")
                assert "49" not in sheet

    @pytest.mark.parametrize(
        "address",
        [
            f"{STATIC}/../application.py",
            f"{STATIC}/%2e%2e/application.py",
            f"{STATIC}/..%2fapplication.py",
            f"{STATIC}//etc/passwd",
            f"{STATIC}/",
            "/static/pages.css",
            "/cases/..%2f1",
            "/cases/-1",
            "/cases/1e3",
        ],
    )
    def test_paths_outside_the_folder_are_refused(self, closed, address):
        answer = closed.reviewer.get(address)
        assert answer.status_code == 404
        assert "import" not in answer.text

    def test_no_narrative_in_addresses_or_problems(self, store):
        ann = visitor(store, "ann")
        for answer in (ann.get("/"), ann.get("/cases/1"), ann.get("/cases/99"), ann.get("/cases/99/print")):
            assert "konkwo" not in answer.text

    def test_other_host_names_are_refused(self, store):
        from starlette.testclient import TestClient

        from inverse_deid.review.pages.application import make_application

        application = make_application(store, hosts=ServeSettings().hosts)
        assert TestClient(application, base_url="http://localhost:8017").get("/log-in").status_code == 200
        assert TestClient(application, base_url="http://evil.example").get("/log-in").status_code == 421

    def test_unforeseen_errors_show_no_text(self, store, monkeypatch, caplog):
        def broken(*_):
            raise ValueError("Okonkwo")

        monkeypatch.setattr("inverse_deid.review.pages.case_page.open_case", broken)
        answer = visitor(store, "ann").ask("/cases/1/open")
        assert answer.status_code == 500
        assert "konkwo" not in answer.text + caplog.text
        assert "ValueError" in caplog.text


class TestPosts:
    def test_too_large(self, store):
        ann = visitor(store, "ann")
        assert ann.ask("/cases/1/note", text="x" * MAX_POST_BYTES, revision=0).status_code == 413

    def test_too_large_without_a_length(self, store):
        ann = visitor(store, "ann")
        pieces = (b"x" * 65_536 for _ in range(6))
        headers = {"X-CSRF-Token": ann.token, "Content-Type": "application/json"}
        assert ann.client.post("/cases/1/act", content=pieces, headers=headers).status_code == 413

    def test_log_in_too_large(self, store):
        assert Visitor(store).client.post("/log-in", data={"name": "x" * MAX_POST_BYTES}).status_code == 413

    @pytest.mark.parametrize(
        "change",
        [
            {"kind": "burn"},
            {"kind": 3},
            {"ranges": []},
            {"ranges": [[1, 0]]},
            {"ranges": [[0, 10**9]]},
            {"ranges": [["0", "1"]]},
            {"ranges": [[True, 2]]},
            {"ranges": "all"},
            {"category": "NOBODY"},
            {"category": {"a": 1}},
            {"revision": "0"},
            {"revision": None},
        ],
    )
    def test_malformed_requests_are_refused(self, closed, change):
        ann = closed.reviewer
        revision = ann.ask("/cases/1/open").json()["revision"]
        payload = {"kind": "mask", "ranges": [[0, 1]], "revision": revision, **change}
        assert ann.ask("/cases/1/act", **payload).status_code == 400
        assert ann.ask("/cases/1/open").json()["revision"] == revision

    @pytest.mark.parametrize("body", [b"{", b"[]", b"\xff", b"[" * 100_000])
    def test_broken_json(self, closed, body):
        ann = closed.reviewer
        headers = {"X-CSRF-Token": ann.token, "Content-Type": "application/json"}
        assert ann.client.post("/cases/1/open", content=body, headers=headers).status_code == 400


class TestReviewing:
    def test_locked_case_of_another(self, store):
        ann, bea = visitor(store, "ann"), visitor(store, "bea")
        assert ann.ask("/cases/1/open").status_code == 200
        refused = bea.ask("/cases/1/open")
        assert refused.status_code == 423
        assert set(refused.json()) == {"error"}
        assert bea.act(1, 0, "mask", (0, 1)).status_code == 403
        assert bea.get("/cases/1/print").status_code == 403
        assert "another user" in bea.get("/").text and "ann" not in bea.get("/").text

    def test_a_get_request_locks_nothing(self, store):
        visitor(store, "ann").get("/cases/1")
        assert count_cases(store)[CaseState.IN_REVIEW] == 0

    def test_stale_revision_is_a_conflict_and_stores_nothing(self, store):
        ann = visitor(store, "ann")
        revision = ann.ask("/cases/1/open").json()["revision"]
        assert ann.act(1, revision, "mask", (0, 1)).json()["revision"] == revision + 1
        assert ann.act(1, revision, "mask", (3, 4)).status_code == 409
        keep = ann.ask("/cases/1/open").json()["layer"]["keep"]
        assert (keep[0], keep[3]) == ("0", "1")

    def test_all_mentions_undo_redo(self, store):
        ann = visitor(store, "ann")
        revision = ann.ask("/cases/1/open").json()["revision"]
        done = ann.act(1, revision, "mask", (2, 3), all_mentions=True, category="DOCTOR").json()
        assert [one[:3] for one in done["changed"]] == [[2, 3, False], [5, 6, False]]
        undone = ann.ask("/cases/1/undo", revision=done["revision"]).json()
        assert [one[:3] for one in undone["changed"]] == [[2, 3, False], [5, 6, True]]
        redone = ann.ask("/cases/1/redo", revision=undone["revision"]).json()
        assert redone["can_redo"] is False

    def test_second_reviewer_sees_nothing_of_the_first(self, store):
        ann, bea = visitor(store, "ann"), visitor(store, "bea")
        revision = ann.ask("/cases/1/open").json()["revision"]
        ann.ask("/cases/1/note", text="a remark of the first", revision=revision)
        revision = ann.act(1, revision, "mask", (0, 2)).json()["revision"]
        ann.ask("/cases/1/approve", revision=revision)
        seen = bea.ask("/cases/1/open").json()
        assert seen["layer"]["keep"] == seen["model"]["keep"]
        assert (seen["notes"], seen["reviewers"], seen["disputed"]) == ([], [], "")
        assert bea.ask("/disputes/1/open").status_code == 403

    def test_blind_to_the_model(self, tmp_path):
        with store_of(tmp_path, blind_to_model=True) as store:
            ann, bea = visitor(store, "ann"), visitor(store, "bea")
            ann.ask("/cases/1/approve", revision=ann.ask("/cases/1/open").json()["revision"])
            seen = bea.ask("/cases/1/open").json()
            assert seen["model"] is None
            assert set(seen["layer"]["keep"]) == {"1"}

    def test_disagreement_to_release(self, store):
        ann, bea = visitor(store, "ann"), visitor(store, "bea")
        carl = visitor(store, "carl", UserRole.ADJUDICATOR)
        for one, masked in ((ann, (0, 1)), (bea, (5, 6))):
            revision = one.ask("/cases/1/open").json()["revision"]
            revision = one.act(1, revision, "mask", masked).json()["revision"]
            approved = one.ask("/cases/1/approve", revision=revision).json()
        assert approved["state"] == "disagreed"
        seen = carl.ask("/disputes/1/open").json()
        assert seen["disputed"] == "1000010"
        assert ann.get("/").text.count("/disputes/") == 0
        looked = {"seen": [[0, 1], [5, 6]], "is_dispute": True}
        assert carl.ask("/cases/1/approve", revision=seen["revision"], **looked).status_code == 400
        settled = carl.act(1, seen["revision"], "unmask", (0, 1)).json()
        assert settled["n_undecided"] == 1
        settled = carl.act(1, settled["revision"], "mask", (5, 6)).json()
        asked = carl.ask("/cases/1/approve", revision=settled["revision"], seen=[[0, 1]], is_dispute=True)
        assert asked.json()["error"] == "You have not looked at 1 word in dispute. Settle anyway?"
        done = carl.ask("/cases/1/approve", revision=settled["revision"], **looked).json()
        assert done == {"state": "released", "next": "/cases/2"}
        assert "seen by PHI today, then PHI left" in carl.get("/cases/1/finished").text
        assert verify_store(store).is_intact

    @pytest.mark.parametrize(
        "said",
        [{}, {"seen": [[0, 3]]}, {"anyway": True}, {"anyway": 5}, {"seen": [[0, 3]], "anyway": 6}],
    )
    def test_doubtful_words_that_nobody_looked_at_are_asked_about(self, doubtful, said):
        ann = visitor(doubtful, "ann")
        revision = ann.ask("/cases/1/open").json()["revision"]
        asked = ann.ask("/cases/1/approve", revision=revision, **said)
        n_unseen = 4 if "seen" in said else 6
        question = f"You have not looked at {n_unseen} doubtful words. Approve anyway?"
        assert (asked.status_code, asked.json()) == (
            428,
            {"error": question, "n_unseen": n_unseen, "n_uncovered": 0},
        )
        assert not ann.ask("/cases/1/open").json()["is_approved"]

    @pytest.mark.parametrize("said", [{"anyway": 6}, {"seen": [[0, 7]]}, {"seen": [[0, 3]], "anyway": 4}])
    def test_approval_needs_a_look_or_the_number_of_words(self, doubtful, said):
        ann = visitor(doubtful, "ann")
        revision = ann.ask("/cases/1/open").json()["revision"]
        assert ann.ask("/cases/1/approve", revision=revision, **said).json()["state"] == "released"

    def test_an_approval_counts_masks_that_may_be_needless(self, doubtful, monkeypatch):
        def call_all_safe(content, _facts):
            return np.ones(len(content.tokens), np.bool_)

        monkeypatch.setattr("inverse_deid.review.flow.contents._find_rules_safe", call_all_safe)
        ann = visitor(doubtful, "ann")
        revision = ann.ask("/cases/1/open").json()["revision"]
        question = ann.ask("/cases/1/approve", revision=revision).json()["error"]
        said = "You have not looked at 6 doubtful words. Approve anyway? 1 mask may be needless."
        assert question == said
        ann.ask("/cases/1/approve", revision=revision, anyway=6)
        assert "1 mask may be needless." in ann.get("/").text

    @pytest.mark.parametrize("said", [{}, {"uncovered": True}, {"uncovered": 2}, {"anyway": 1}])
    def test_an_approval_lists_the_words_that_were_unmasked(self, store, said):
        ann = visitor(store, "ann")
        revision = ann.ask("/cases/1/open").json()["revision"]
        revision = ann.act(1, revision, "unmask", (2, 3)).json()["revision"]
        asked = ann.ask("/cases/1/approve", revision=revision, **said)
        question = "You uncovered 1 word. The tool was sure that it must be masked. Approve?"
        assert asked.status_code == 428
        assert asked.json() == {"error": question, "n_unseen": 0, "n_uncovered": 1}
        assert not ann.ask("/cases/1/open").json()["is_approved"]
        done = ann.ask("/cases/1/approve", revision=revision, uncovered=1)
        assert done.json()["state"] == "in review"
        assert "You uncovered 1 word." in unescape(ann.get("/").text)

    def test_a_form_without_a_script_approves_nothing(self, doubtful):
        ann = visitor(doubtful, "ann")
        revision = ann.ask("/cases/1/open").json()["revision"]
        assert ann.send("/cases/1/approve", revision=revision, anyway=6).status_code == 400
        assert not ann.ask("/cases/1/open").json()["is_approved"]

    @pytest.mark.parametrize("seen", [5, [[1]], [[2, 1]], [["a", "b"]]])
    def test_seen_must_be_a_list_of_ranges(self, doubtful, seen):
        ann = visitor(doubtful, "ann")
        revision = ann.ask("/cases/1/open").json()["revision"]
        assert ann.ask("/cases/1/approve", revision=revision, seen=seen).status_code == 400

    def test_approve_leads_to_the_next_case(self, store):
        ann = visitor(store, "ann")
        revision = ann.ask("/cases/1/open").json()["revision"]
        assert ann.ask("/cases/1/approve", revision=revision).json()["next"] == "/cases/2"

    def test_causality_form_shows_the_original_in_the_second_step_only(self, alone):
        ann = visitor(alone, "ann")
        ann.ask("/cases/1/approve", revision=ann.ask("/cases/1/open").json()["revision"])
        topics = [
            "reaction",
            "seriousness",
            "outcome",
            "drug names",
            "history",
            "doses",
            "lab results",
            "time course",
        ]
        said = {f"preserved {topic}": "yes" for topic in topics} | {"preserved doses": "partly"}
        assert "by Okonkwo" not in ann.get("/cases/1/form").text
        assert "by Okonkwo" in ann.send("/cases/1/form/original", **said).text
        assert ann.send("/cases/1/form", **said).status_code == 400
        saved = ann.send("/cases/1/form", **said, **{"needed doses": "no"}, remark="<b>fine</b>")
        assert saved.headers["location"] == "/cases/1/finished"
        assert "0 %" in ann.get("/summary").text

    def test_withdraw(self, alone):
        carl = visitor(alone, "carl", UserRole.ADJUDICATOR)
        carl.ask("/cases/1/approve", revision=carl.ask("/cases/1/open").json()["revision"])
        assert "All approvals of this case will be withdrawn" in carl.get("/cases/1/finished").text
        assert carl.send("/cases/1/withdraw").status_code == 303
        assert carl.get("/cases/1/finished").status_code == 400

    def test_only_agreed_cases_can_be_released(self, tmp_path, clock):
        with store_of(tmp_path, [TEXT], clock=clock, approvals=1, automatic_release=False) as store:
            carl = visitor(store, "carl", UserRole.ADJUDICATOR)
            carl.ask("/cases/1/approve", revision=carl.ask("/cases/1/open").json()["revision"])
            assert "/cases/1/release" in carl.get("/cases/1/finished").text
            assert carl.send("/cases/1/release").status_code == 403
            visitor(store, "eve", UserRole.ADJUDICATOR).send("/cases/1/release")
            released = carl.get("/cases/1/finished").text
            assert "released" in released
            assert "/cases/1/release" not in released

    def test_admin_assigns_and_keeps_accounts(self, store):
        dora = visitor(store, "dora", UserRole.ADMIN)
        made = dora.send(
            "/accounts", what="add", name="Eva", role="reviewer", password="a sentence of many words"
        )
        assert made.status_code == 303
        number = re.search(r'<option value="(\d+)">eva', dora.get("/").text).group(1)
        assert dora.send("/assign", case=["1", "2"], assignee=number).status_code == 303
        assert visitor(store, "ann").ask("/cases/1/open").status_code == 423
        assert dora.send("/accounts", what="close", name="eva").status_code == 303
        assert dora.send("/accounts", what="close", name="dora").status_code == 400
        assert (
            dora.send("/accounts", what="add", name="fay", role="reviewer", password="short").status_code
            == 400
        )

    def test_filters_and_pages(self, tmp_path):
        with store_of(tmp_path, [TEXT] * 120) as store:
            ann = visitor(store, "ann")
            first = ann.get("/").text
            more = unescape(re.search(r'href="([^"]*after=[^"]*)"', first).group(1))
            second = ann.get(more).text
            cases = [set(re.findall(r'href="(/cases/\d+)"', page)) for page in (first, second)]
            assert [len(one) for one in cases] == [50, 50]
            assert not cases[0] & cases[1]
            assert "No case matches" in ann.get("/?state=released").text
            assert ann.get("/?after=nonsense").status_code == 400
            assert ann.get("/?state=x&show=y&doubt=z").status_code == 200


class TestSample:
    @pytest.fixture
    def released(self, tmp_path, clock):
        with store_of(tmp_path, [TEXT] * 4, clock=clock, approvals=1) as store:
            ann = visitor(store, "ann")
            for case_id in range(1, 5):
                revision = ann.ask(f"/cases/{case_id}/open").json()["revision"]
                ann.ask(f"/cases/{case_id}/approve", revision=revision)
            yield store

    def test_drawn_read_and_bounded(self, released):
        carl = visitor(released, "carl", UserRole.ADJUDICATOR)
        assert "No case has been released" not in carl.get("/sample").text
        assert carl.send("/sample", n_cases="4").headers["location"] == "/sample"
        assert "proves nothing" in carl.get("/sample").text
        shown = carl.get("/sample/1").text
        assert "seen by PHI today" in shown
        assert "Okonkwo" not in shown
        for case_id in range(1, 4):
            gone_on = carl.send(f"/sample/{case_id}", said="none")
            assert gone_on.headers["location"] == f"/sample/{case_id + 1}"
        assert carl.send("/sample/4", said="none").headers["location"] == "/sample"
        percent = bound_leaks(released).bound_percent
        assert percent == 52.72
        assert f"at most {percent:.2f} %" in carl.get("/sample").text
        said = [one["event"] for one in read_entries(released, 1)]
        assert said[-1] == "read for sample 1: no leak"
        assert verify_store(released).is_intact

    def test_a_leak_takes_the_case_back(self, released):
        carl = visitor(released, "carl", UserRole.ADJUDICATOR)
        carl.send("/sample", n_cases="4")
        carl.send("/sample/2", said="leak")
        assert count_cases(released)[CaseState.IN_REVIEW] == 1
        assert read_entries(released, 2)[-1]["event"] == "read for sample 1: leaks"
        assert carl.send("/sample/2", said="none").status_code == 400

    def test_approvers_cannot_read_their_cases(self, released):
        carl = visitor(released, "carl", UserRole.ADJUDICATOR)
        bea = visitor(released, "bea", UserRole.ADJUDICATOR)
        bea.send("/cases/1/withdraw")
        bea.ask("/cases/1/approve", revision=bea.ask("/cases/1/open").json()["revision"])
        bea.send("/sample", n_cases="4")
        assert bea.get("/sample/1").status_code == 403
        assert bea.send("/sample/1", said="none").status_code == 403
        assert bea.get("/sample/2").status_code == 200
        assert carl.get("/sample/1").status_code == 200

    @pytest.mark.parametrize("n_cases", ["0", "5", "-1", "x", "", "1" * 30, "\u00b2"])
    def test_no_such_sample(self, released, n_cases):
        carl = visitor(released, "carl", UserRole.ADJUDICATOR)
        assert carl.send("/sample", n_cases=n_cases).status_code == 400
        assert carl.get("/sample/1").status_code == 400

    def test_unreadable_cases(self, released):
        carl = visitor(released, "carl", UserRole.ADJUDICATOR)
        carl.send("/sample", n_cases="4")
        assert carl.get("/sample/99").status_code == 403
        assert carl.send("/sample/1", said="perhaps").status_code == 400
        carl.send("/cases/3/withdraw")
        assert carl.get("/sample/3").status_code == 403


class TestCaseData:
    @pytest.mark.parametrize("text", [TEXT, "a\r\nb é 🙂 Ann", "", " . ", "Ann\u200bLi \x07 B"])
    def test_words_and_gaps_are_the_text(self, tmp_path, text):
        with store_of(tmp_path, [text]) as store:
            account(store, "ann")
            from inverse_deid.review.people.accounts import find_user

            data = encode_case(open_case(store, find_user(store, "ann"), 1), store.facts)
            words, gaps = data["words"], data["gaps"]
            assert gaps[0] + "".join(a + b for a, b in zip(words, gaps[1:], strict=True)) == text

    def test_letters_names_and_reasons_are_distinct(self):
        for names in (CATEGORY_CODES, TYPE_NAMES, CATEGORY_TAGS):
            assert set(names) == set(PhiType)
            assert len(set(names.values())) == len(names)
        assert set(REASONS) == set(Reason)
        assert len(set(REASONS.values())) == len(REASONS)


class TestServeSettings:
    def test_loopback_by_default(self):
        assert ServeSettings().is_loopback
        assert not ServeSettings().is_secure

    @pytest.mark.parametrize("address", ["0.0.0.0", "192.168.1.2", "::", "somewhere"])
    def test_other_addresses_need_tls(self, address):
        with pytest.raises(ConfigurationError):
            ServeSettings(address=address)

    def test_proxy_or_certificate(self, tmp_path):
        file = tmp_path / "x.pem"
        file.write_text("x")
        assert ServeSettings(address="0.0.0.0", proxy="10.0.0.1").is_secure
        assert ServeSettings(address="0.0.0.0", certificate=file, private_key=file).is_secure
        with refuses(ConfigurationError, match="both"):
            ServeSettings(certificate=file)
