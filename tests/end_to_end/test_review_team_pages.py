"""The pages for a team over HTTP: search and selection, accounts, trail, downloads, messages."""

import io
import json
import re
import zipfile
from html import unescape
from urllib.parse import quote, unquote

import pytest
from fake_maskers import near_the_threshold
from review_stores import PASSWORD, change_rows, json_lines, read_entries, store_of
from review_visitors import Visitor, account, is_sealed_search, visitor
from sqlalchemy import update

from inverse_deid.choices.reasons import REASONS
from inverse_deid.core.values import Reason
from inverse_deid.review.flow.work_list import count_cases
from inverse_deid.review.pages.trail_page import GROUPS, describe_event
from inverse_deid.review.pages.visits import PAGES
from inverse_deid.review.people.accounts import find_session, find_user
from inverse_deid.review.store.entries import TrailEvent
from inverse_deid.review.store.tables import CASES, TRAIL
from inverse_deid.review.store.trail import TrailFilter, list_entries, verify_export, verify_store
from inverse_deid.review.store.values import CaseState, UserRole

TEXT = "seen by Okonkwo today, then okonkwo left"
FIRST = "a first sentence of many words"
OWN = "an own sentence of many words"


STORE = {"texts": [TEXT] * 4}
ALONE = {"texts": [TEXT] * 3}


def approve(who, case_id):
    revision = who.ask(f"/cases/{case_id}/open").json()["revision"]
    return who.ask(f"/cases/{case_id}/approve", revision=revision).json()


def notice(page):
    """Return the message of a page."""
    found = re.search(r'id="notice" role="status">([^<]*)<', page.text)
    return unescape(found.group(1)) if found else ""


def names(page):
    """Return the cases of the list, in order."""
    return re.findall(r'<td class="name">(?:<a [^>]*>)?(c\d+)<', page.text)


class TestList:
    def test_a_search_is_found_and_its_text_is_in_no_address(self, store):
        ann = visitor(store, "ann")
        found = ann.send("/find", search="C3", show="all", sort="name")
        address = found.headers["location"]
        assert found.status_code == 303 and is_sealed_search(address, "C3")
        page = ann.get(address)
        assert names(page) == ["c3"]
        assert 'value="C3"' in page.text and "1 case matches" in page.text
        assert names(ann.get(ann.send("/find", search="cases.json").headers["location"])) == [
            "c1",
            "c2",
            "c3",
            "c4",
        ]
        assert "No case matches" in ann.get(ann.send("/find", search="zzz").headers["location"]).text

    @pytest.mark.parametrize("sealed", ["x", "A" * 80, "%00", "é"])
    def test_a_search_that_was_not_sealed_here_finds_everything(self, store, sealed):
        page = visitor(store, "ann").get("/?q=" + quote(sealed))
        assert page.status_code == 200 and len(names(page)) == 4

    def test_orders_and_paging_keep_the_filters(self, tmp_path):
        with store_of(tmp_path, [TEXT] * 60) as store:
            ann = visitor(store, "ann")
            address = ann.send("/find", search="c", sort="newest", state=["new", "in review"]).headers[
                "location"
            ]
            first = ann.get(address)
            assert names(first) == [f"c{i}" for i in range(60, 10, -1)]
            more = unescape(re.search(r'href="([^"]*after=[^"]*)" rel="next"', first.text).group(1))
            second = ann.get(more)
            assert names(second) == [f"c{i}" for i in range(10, 0, -1)]
            assert second.text.count(" checked>") == 2
            by_name = ann.get("/?sort=name")
            assert names(by_name)[:3] == ["c1", "c10", "c11"]
            assert 'aria-sort="ascending"' in by_name.text

    def test_my_cases(self, store):
        ann, bea = visitor(store, "ann"), visitor(store, "bea")
        ann.ask("/cases/2/open")
        approve(ann, 3)
        assert names(ann.get("/?show=mine")) == ["c2"]
        assert names(ann.get("/?show=done")) == ["c3"]
        assert names(bea.get("/?show=mine")) == []
        assert names(bea.get("/?show=free")) == ["c1", "c3", "c4"]

    def test_several_are_assigned_and_the_list_comes_back_as_it_was(self, store):
        dora = visitor(store, "dora", UserRole.ADMIN)
        account(store, "ann")
        number = find_user(store, "ann").id
        here = unescape(re.search(r'name="here" value="([^"]*)"', dora.get("/?sort=name").text).group(1))
        done = dora.send("/assign", case=["1", "3"], assignee=str(number), here=here)
        assert done.headers["location"] == "/?sort=name"
        assert notice(dora.get("/?sort=name")) == "2 cases assigned to ann."
        assert notice(dora.get("/?sort=name")) == ""
        assert [one["event"] for one in read_entries(store, 3)] == ["assign"]
        assert "Select cases first" in notice(dora.get(dora.send("/assign", assignee="").headers["location"]))

    @pytest.mark.parametrize(
        "here", ["//evil.example", "https://evil.example", "a\r\nSet-Cookie: x=1", "\\\\x"]
    )
    def test_the_way_back_never_leads_elsewhere(self, store, here):
        dora = visitor(store, "dora", UserRole.ADMIN)
        done = dora.send("/assign", case=["1"], assignee="", here=here)
        assert re.fullmatch(r"/(\?[\x21-\x7e]*)?", done.headers["location"])
        assert "x" not in done.cookies

    def test_several_are_released_and_the_rest_is_left(self, tmp_path, clock):
        with store_of(tmp_path, [TEXT] * 3, clock=clock, approvals=1, automatic_release=False) as store:
            carl = visitor(store, "carl", UserRole.ADJUDICATOR)
            for case_id in (1, 2):
                approve(carl, case_id)
            eve = visitor(store, "eve", UserRole.ADJUDICATOR)
            done = eve.send("/release", case=["1", "2", "3", "99"])
            said = notice(eve.get(done.headers["location"]))
            assert said == "2 cases released. 2 cases not agreed, so left as before."
            assert count_cases(store)[CaseState.RELEASED] == 2
            assert verify_store(store).is_intact

    def test_reviewers_select_nothing(self, store):
        ann = visitor(store, "ann")
        assert 'name="case"' not in ann.get("/").text
        for address in ("/assign", "/release", "/files/selected"):
            assert ann.send(address, case=["1"], source="1").status_code == 403

    @pytest.mark.parametrize("case", ["x", "-1", "1" * 40, "\u00b2", ""])
    def test_a_malformed_selection_is_refused(self, store, case):
        dora = visitor(store, "dora", UserRole.ADMIN)
        carl = visitor(store, "carl", UserRole.ADJUDICATOR)
        for address in ("/assign", "/locks"):
            assert dora.send(address, case=[case]).status_code == 400
        for address in ("/release", "/files/selected"):
            assert carl.send(address, case=[case]).status_code == 400


class TestMessages:
    def test_after_an_approval_the_next_page_says_so_once(self, store):
        ann, bea = visitor(store, "ann"), visitor(store, "bea")
        following = approve(ann, 1)["next"]
        assert following == "/cases/2"
        assert notice(ann.get(following)) == "c1: approved. It is waiting for the second reviewer."
        assert notice(ann.get(following)) == ""
        assert notice(bea.get(approve(bea, 1)["next"])) == "c1: approved. Released."

    def test_the_message_after_an_approval_undoes_it_before_others_work_on_the_case(self, store):
        ann, bea = visitor(store, "ann"), visitor(store, "bea")
        page = ann.get(approve(ann, 1)["next"]).text
        assert 'action="/cases/1/undo-approval"' in page and 'id="undo-approval"' in page
        done = ann.send("/cases/1/undo-approval")
        assert done.headers["location"] == "/cases/1"
        assert notice(ann.get("/cases/1")) == "Your approval of case c1 is undone. Your decisions are kept."
        assert not ann.ask("/cases/1/open").json()["is_approved"]
        approve(ann, 1)
        assert ann.ask("/cases/1/open").json()["can_reopen"]
        assert bea.send("/cases/1/undo-approval").status_code == 403
        assert 'id="undo-approval"' not in bea.get(approve(bea, 1)["next"]).text
        assert ann.send("/cases/1/undo-approval").status_code == 403
        assert not ann.ask("/cases/1/open").json()["can_reopen"]

    def test_disagreement_and_its_settlement(self, store):
        ann, bea = visitor(store, "ann"), visitor(store, "bea")
        carl = visitor(store, "carl", UserRole.ADJUDICATOR)
        for one, word in ((ann, 0), (bea, 6)):
            revision = one.ask("/cases/1/open").json()["revision"]
            revision = one.act(1, revision, "mask", (word, word + 1)).json()["revision"]
            done = one.ask("/cases/1/approve", revision=revision).json()
        assert notice(bea.get(done["next"])) == (
            "c1: approved. The two reviewers differ, so an adjudicator decides."
        )
        assert carl.get("/next").headers["location"] == "/disputes/1"
        revision = carl.ask("/disputes/1/open").json()["revision"]
        revision = carl.act(1, revision, "mask", (0, 1), (6, 7)).json()["revision"]
        looked = {"seen": [[0, 7]], "is_dispute": True}
        done = carl.ask("/cases/1/approve", revision=revision, **looked).json()
        assert notice(carl.get(done["next"])) == "c1: settled. Released."

    def test_agreed_cases_wait_for_their_release(self, tmp_path, clock):
        with store_of(tmp_path, [TEXT], clock=clock, approvals=1, automatic_release=False) as store:
            ann = visitor(store, "ann")
            assert notice(ann.get(approve(ann, 1)["next"])) == "c1: approved. It is waiting for its release."
            assert notice(ann.get(ann.get("/next").headers["location"])).startswith("Nothing is left")

    def test_a_message_is_encrypted_and_bound_to_the_session(self, store):
        ann, bea = visitor(store, "ann"), visitor(store, "bea")
        revision = ann.ask("/cases/1/open").json()["revision"]
        cookie = ann.ask("/cases/1/approve", revision=revision).headers["set-cookie"]
        assert "HttpOnly" in cookie and "SameSite=strict" in cookie and "Max-Age=60" in cookie
        assert "c1: approved" not in unquote(cookie.partition(";")[0])
        bea.client.cookies.set("notice", ann.client.cookies["notice"])
        assert notice(bea.get("/")) == ""
        ann.client.cookies.set("notice", "forged")
        assert notice(ann.get("/")) == ""

    def test_names_instead_of_numbers(self, alone):
        carl = visitor(alone, "carl", UserRole.ADJUDICATOR)
        ann = visitor(alone, "ann")
        approve(ann, 1)
        carl.send("/sample", n_cases="1")
        pages = ["/cases/2", "/cases/1/finished", "/cases/1/form", "/sample/1"]
        for address in pages:
            page = carl.get(address).text
            assert re.search(r"<title>[^<]*\bc\d\b", page), address
            assert re.search(r"<h1[^>]*>[^/]*\bc\d\b", page), address
            assert not re.search(r"[Cc]ase \d", page), address
        assert carl.get("/cases/99").status_code == 400


class TestAccounts:
    @pytest.fixture
    def dora(self, store):
        return visitor(store, "dora", UserRole.ADMIN)

    def add(self, dora, name="eva", role="reviewer", password=FIRST):
        return dora.send("/accounts", what="add", name=name, role=role, password=password)

    def test_a_first_password_opens_nothing_but_its_change(self, store, dora):
        assert notice(dora.get(self.add(dora).headers["location"])).startswith("Account of eva added.")
        eva = Visitor(store)
        eva.log_in("eva", FIRST)
        eva.token = eva.token_of("/password")
        assert "Choose your own password" in eva.get("/password").text
        for address in ("/", "/next", "/cases/1", "/summary", "/nothing", "/cases/1/print"):
            answer = eva.get(address)
            assert answer.status_code == (404 if address == "/nothing" else 303)
            assert answer.headers.get("location", "/password") == "/password"
        refused = eva.ask("/cases/1/open")
        assert (refused.status_code, refused.json()["error"]) == (403, "Choose your own password first.")
        assert eva.send("/find", search="c").headers["location"] == "/password"
        assert count_cases(store)[CaseState.IN_REVIEW] == 0
        for old, new, again, status in (
            ("wrong", OWN, OWN, 403),
            (FIRST, OWN, "other", 400),
            (FIRST, FIRST, FIRST, 400),
            (FIRST, "short", "short", 400),
        ):
            answer = eva.send("/password", old=old, new=new, again=again)
            assert answer.status_code == status and 'role="alert"' in answer.text
            assert not any(one in answer.text for one in (OWN, FIRST))
        assert eva.send("/password", old=FIRST, new=OWN, again=OWN).headers["location"] == "/"
        assert notice(eva.get("/")) == "Password changed. You are logged out everywhere else."
        assert Visitor(store).log_in("eva", FIRST).status_code == 401

    def test_an_admin_sets_a_new_first_password(self, store, dora):
        ann = visitor(store, "ann")
        dora.send("/accounts", what="password", name="ann", password=FIRST)
        assert ann.get("/").headers["location"] == "/log-in"
        again = Visitor(store)
        again.log_in("ann", FIRST)
        assert again.get("/").headers["location"] == "/password"
        assert "first password" in dora.get("/accounts").text

    def test_roles_change_at_once(self, store, dora):
        ann = visitor(store, "ann")
        assert ann.get("/sample").status_code == 403
        assert dora.send("/accounts", what="role", name="ann", role="adjudicator").status_code == 303
        assert notice(dora.get("/accounts")) == "ann is now an adjudicator."
        assert ann.get("/sample").headers["location"] == "/log-in"
        ann.log_in("ann")
        assert ann.get("/sample").status_code == 200
        assert dora.send("/accounts", what="role", name="ann", role="emperor").status_code == 400

    def test_the_last_admin_stays(self, store, dora):
        refused = dora.send("/accounts", what="role", name="dora", role="reviewer")
        assert refused.status_code == 400 and "your own role" in refused.text
        assert dora.send("/accounts", what="close", name="DORA").status_code == 400
        fay = visitor(store, "fay", UserRole.ADMIN)
        assert fay.send("/accounts", what="role", name="dora", role="reviewer").status_code == 303
        assert dora.get("/accounts").headers["location"] == "/log-in"  # a new role ends the sessions
        dora.log_in("dora")
        assert dora.get("/accounts").status_code == 403

    def test_an_admin_needs_the_old_password_for_their_own(self, store, dora):
        assert dora.send("/accounts", what="password", name="Dora", password=FIRST).status_code == 400
        assert Visitor(store).log_in("dora").status_code == 303

    def test_everything_is_in_the_trail(self, store, dora):
        self.add(dora)
        dora.send("/accounts", what="role", name="eva", role="admin")
        dora.send("/accounts", what="password", name="eva", password=FIRST + "!")
        dora.send("/accounts", what="close", name="eva")
        dora.send("/accounts", what="open", name="eva")
        entries, _ = list_entries(store, TrailFilter(events=GROUPS["accounts"][1], user="dora"))
        assert [describe_event(one.event) for one in reversed(entries)][1:] == [
            "Account of eva added: reviewer",
            "Role of eva changed: reviewer to admin",
            "Password of eva changed",
            "Account of eva closed",
            "Account of eva opened",
        ]

    def test_a_script_may_not_change_accounts_for_a_reviewer(self, store):
        ann = visitor(store, "ann")
        for what in ("add", "role", "password", "close"):
            assert (
                ann.send("/accounts", what=what, name="ann", role="admin", password=FIRST).status_code == 403
            )
        assert find_user(store, "ann").role is UserRole.REVIEWER

    def test_the_session_goes_on_after_a_change(self, store):
        ann, elsewhere = visitor(store, "ann"), Visitor(store)
        elsewhere.log_in("ann")
        session = ann.client.cookies["session"]
        assert ann.send("/password", old=PASSWORD, new=OWN, again=OWN).status_code == 303
        assert find_session(store, session).user.name == "ann"
        assert elsewhere.get("/").headers["location"] == "/log-in"


class TestTrailPage:
    def test_entries_in_plain_words_and_filters(self, store):
        dora, ann = visitor(store, "dora", UserRole.ADMIN), visitor(store, "ann")
        revision = ann.ask("/cases/2/open").json()["revision"]
        ann.act(2, revision, "mask", (0, 1), category="CITY")
        approve(ann, 2)
        page = dora.get("/trail").text
        assert "Masked as city, was kept (characters 1 to 4)" in page
        assert "State changed from new to in review" in page
        assert "Approved the case" in page and "Logged in" in page
        assert "Intact" in page and 'datetime="2023-11-14T' in page and "UTC</time>" in page
        address = dora.send("/trail/find", search="C2", user="ann", group="states").headers["location"]
        assert is_sealed_search(address, "C2")
        found = dora.get(address).text
        assert found.count("<time") == 3 and "Masked as" not in found and "Logged in" not in found
        assert "No entry matches" in dora.get("/trail?user=nobody").text
        assert dora.get("/trail?before=x").status_code == 400
        assert ann.get("/trail").status_code == 403
        assert ann.send("/trail/export").status_code == 403

    def test_pages(self, store):
        dora = visitor(store, "dora", UserRole.ADMIN)
        account(store, "ann")
        for number in range(120):
            dora.send("/assign", case=[str(number % 4 + 1)], assignee="")
        first = dora.get("/trail?group=assign").text
        older = unescape(re.search(r'href="([^"]*before=[^"]*)" rel="next"', first).group(1))
        second = dora.get(older).text
        assert (first.count("<time"), second.count("<time")) == (100, 20)
        assert 'rel="next"' not in second

    def test_an_altered_trail_is_reported(self, store):
        dora = visitor(store, "dora", UserRole.ADMIN)
        with store.writing() as transaction:
            transaction.execute(update(TRAIL).where(TRAIL.c.number == 1).values(line='{"user":"<b>"}'))
        page = dora.get("/trail").text
        assert "Not intact" in page and "Intact<" not in page.replace("Not intact", "")
        assert "entry 1 was changed after it was written" in page
        assert "<b>&lt;" not in page and "cannot be read" in page

    def test_a_long_trail_is_checked_on_request(self, store, monkeypatch):
        monkeypatch.setattr("inverse_deid.review.pages.trail_page.MAX_CHECKED_AT_ONCE", 0)
        dora = visitor(store, "dora", UserRole.ADMIN)
        page = dora.get("/trail").text
        assert "Not checked yet" in page and "Intact" not in page
        address = unescape(re.search(r'href="(/trail[^"]*check=1)"', page).group(1))
        assert "Intact" in dora.get(address).text

    def test_the_export_verifies_and_is_recorded(self, store, tmp_path):
        dora = visitor(store, "dora", UserRole.ADMIN)
        answer = dora.send("/trail/export")
        assert 'attachment; filename="trail.jsonl"' in answer.headers["content-disposition"]
        assert answer.headers["cache-control"] == "no-store"
        (tmp_path / "trail.jsonl").write_bytes(answer.content)
        assert verify_export(tmp_path / "trail.jsonl", None).is_intact
        last = json.loads(answer.content.splitlines()[-2])["entry"]
        assert (last["user"], last["event"]) == ("dora", "trail exported")
        assert dora.get("/trail/export").status_code == 405

    @pytest.mark.parametrize(
        ("event", "said"),
        [
            (
                {"event": "undo", "old": "mask DATE", "new": "keep", "start": 0, "end": 2},
                "Undone: kept, was masked as date",
            ),
            ({"event": "change"}, "Changed no word"),
            ({"event": "assign", "new": "bea"}, "Assigned the case to bea"),
            ({"event": "assign"}, "Assigned the case to anybody"),
            ({"event": "file 3 added: 2 cases", "new": "settings abc"}, "File 3 added: 2 cases"),
            ({"event": "something new"}, "Something new"),
            ({"event": "change", "new": "mask NOTHING", "start": 1, "end": 2}, "Masked as nothing"),
        ],
    )
    def test_words_of_events(self, event, said):
        assert describe_event(TrailEvent(user="ann", **event)).startswith(said)


class TestReleased:
    def test_one_file_in_its_format(self, alone):
        carl = visitor(alone, "carl", UserRole.ADJUDICATOR)
        page = carl.get("/files").text
        assert "3 of 3 documents are not released yet" in page and "Download" not in page
        assert carl.send("/files/download", source="1").status_code == 400
        approve(carl, 2)
        page = carl.get("/files").text
        assert "1 of 3 released" in page and "cases.jsonl" in page and "/files/delete" not in page
        answer = carl.send("/files/download", source="1")
        assert (
            answer.headers["content-disposition"]
            == "attachment; filename*=UTF-8''cases%20%281%20of%203%29.jsonl"
        )
        assert [json.loads(line)["id"] for line in answer.text.splitlines()] == ["c2"]
        assert "konkwo" not in answer.text.replace("then okonkwo", "")
        assert carl.send("/files/download", source="99").status_code == 400
        assert carl.get("/files/download").status_code == 405

    def test_all_or_chosen_cases_as_a_zip(self, alone):
        carl = visitor(alone, "carl", UserRole.ADJUDICATOR)
        for case_id in (1, 2):
            approve(carl, case_id)

        def ids(answer, n_cases):
            name = f"cases ({n_cases} of 3).jsonl"
            assert f"released%20%28{n_cases}%20of%203%29.zip" in answer.headers["content-disposition"]
            with zipfile.ZipFile(io.BytesIO(answer.content)) as packed:
                assert set(packed.namelist()) == {name, "run-report.json", "release-report.html"}
                return [json.loads(line)["id"] for line in packed.read(name).splitlines()]

        assert ids(carl.send("/files/download"), 2) == ["c1", "c2"]
        assert ids(carl.send("/files/selected", case=["2", "3"]), 1) == ["c2"]
        assert carl.send("/files/selected", case=["3"]).status_code == 400
        nothing = carl.send("/files/selected")
        assert nothing.status_code == 303 and "Select cases first" in notice(carl.get("/"))
        entries, _ = list_entries(alone, TrailFilter(user="carl", events=("released text",)))
        assert len(entries) == 2
        assert "/files/selected" in carl.get("/cases/1/finished").text

    @pytest.mark.parametrize("address", ["/files/download", "/files/selected"])
    def test_reviewers_get_nothing(self, alone, address):
        ann = visitor(alone, "ann")
        approve(ann, 1)
        assert ann.get("/files").status_code == 403
        assert ann.send(address, case=["1"], source="1").status_code == 403
        assert "/files" not in ann.get("/cases/1/finished").text

    def test_a_case_that_cannot_be_written_is_named_on_the_next_page(self, alone):
        carl = visitor(alone, "carl", UserRole.ADJUDICATOR)
        approve(carl, 1)
        change_rows(alone, CASES, CASES.c.id == 2, state="released", n_approvals=1)
        answer = carl.send("/files/download")
        assert answer.status_code == 200
        said = notice(carl.get("/files"))
        assert said.startswith("1 case downloaded, but 1 could not be written. c2")

    def test_a_file_with_a_strange_name_is_only_a_name(self, tmp_path, clock):
        folder = tmp_path / "in"
        folder.mkdir()
        name = 'a"; filename=x\u00e4.jsonl'
        with store_of(
            tmp_path, inputs=[json_lines(folder / name, [TEXT])], clock=clock, approvals=1
        ) as store:
            carl = visitor(store, "carl", UserRole.ADJUDICATOR)
            approve(carl, 1)
            header = carl.send("/files/download", source="1").headers["content-disposition"]
            assert header == "attachment; filename*=UTF-8''a%22%3B%20filename%3Dx%C3%A4.jsonl"


class TestLegend:
    def test_open_until_it_is_closed(self, store):
        ann = visitor(store, "ann")
        assert '<details id="legend" open>' in ann.get("/cases/1").text
        assert ann.send("/legend", legend="closed").status_code == 204
        assert '<details id="legend">' in ann.get("/cases/1").text
        ann.send("/legend", legend="open")
        assert '<details id="legend" open>' in ann.get("/cases/1").text


WORDS = re.compile(
    r"\b(p[ _]safe|p_safe|bioid|tokens?|models?|logits?|threshold|neural|network|phi_?type)\b", re.I
)


class TestPlainWords:
    def test_pages_use_no_word_of_machine_learning(self, tmp_path, clock):
        with store_of(tmp_path, clock=clock, masker=near_the_threshold(), approvals=1) as store:
            dora, ann = visitor(store, "dora", UserRole.ADMIN), visitor(store, "ann", UserRole.ADJUDICATOR)
            pages = [
                "/",
                "/cases/1",
                "/disputes/1",
                "/summary?agreement=1",
                "/accounts",
                "/trail",
                "/password",
            ]
            pages += ["/files", "/sample", "/activity"]
            for address in pages:
                page = dora.get(address).text + ann.get(address).text
                shown = re.sub(r"<[^>]*>", " ", page)
                labels = " ".join(re.findall(r'(?:aria-label|title|placeholder|alt)="([^"]*)"', page))
                assert WORDS.findall(shown + labels) == [], address
            legend = ann.ask("/cases/1/open").json()["legend"]
            said = [one[key] for one in legend["categories"] for key in ("title", "tag")]
            said += [*legend["reasons"], *(one["title"] for one in legend["groups"])]
            assert len(legend["reasons"]) == len(Reason) == len(REASONS)
            assert WORDS.findall(" ".join(said)) == []

    def test_scripts_show_none_either(self):
        for file in ("why", "reader", "case", "dialogs", "pages"):
            code = (PAGES.folder / f"{file}.js").read_text(encoding="utf-8")
            shown = re.findall(r'"[^"\n]*"|`[^`]*`', code)
            words = [re.sub(r"\$\{[^}]*\}", "", one) for one in shown if " " in one]
            assert WORDS.findall(" ".join(words)) == [], file
