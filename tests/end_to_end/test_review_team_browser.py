"""The pages for a team in a real browser, with and without scripts."""

import io
import re
import time
import zipfile

import pyotp
import pytest
from fake_maskers import mask_capitals, near_the_threshold
from review_stores import PASSWORD, store_of
from review_visitors import account, is_sealed_search
from test_review_browser import (
    AXE,
    READY,
    TEXTS,
    approve,
    person,
    press,
    serious_faults,
    served,
    unmask_sure,
)

from inverse_deid.review.flow.approval import approve as approve_case
from inverse_deid.review.flow.reading import open_case
from inverse_deid.review.flow.work_list import count_cases
from inverse_deid.review.people.accounts import add_user, find_user
from inverse_deid.review.store.trail import verify_store
from inverse_deid.review.store.values import CaseState, LayerRevision, UserRole

pytestmark = [pytest.mark.browser, pytest.mark.slow]

PEOPLE = {"ann": "reviewer", "bea": "reviewer", "carl": "adjudicator", "dora": "admin"}
FIRST = "a first sentence of many words"
OWN = "an own sentence of many words"


STORE = {"texts": TEXTS, "clock": time.time, "approvals": 1}


@pytest.fixture
def store(store):
    for name, role in PEOPLE.items():
        account(store, name, UserRole(role))
    return store


@pytest.fixture
def address(store):
    with served(store) as address:
        yield address


def approve_as(store, name, *case_ids):
    user = find_user(store, name)
    for case_id in case_ids:
        approve_case(store, LayerRevision(user.id, case_id, open_case(store, user, case_id).revision))


def test_the_page_after_an_approval_announces_it(chromium, expect, address):
    ann = person(chromium, address, "ann")
    ann.goto(address + "/cases/1")
    ann.wait_for_selector(READY)
    assert ann.title().startswith("c1 ")
    ann.add_init_script(
        "addEventListener('DOMContentLoaded', () => { const box = document.getElementById('notice');"
        " globalThis.said = []; if (box) new MutationObserver(() => globalThis.said.push(box.textContent.trim()))"
        ".observe(box, { childList: true, characterData: true, subtree: true }); });"
    )
    press(ann, "Home")
    approve(ann)
    ann.wait_for_selector(READY)
    expect(ann.get_by_role("status").first).to_have_text("c1: approved. Released.")
    # A screen reader reads out what appears in a region that it knows.
    assert ann.evaluate("globalThis.said.at(-1)") == "c1: approved. Released."
    ann.reload()
    ann.wait_for_selector(READY)
    assert ann.locator("#notice").count() == 0
    assert ann.faults == []


def test_the_legend_is_open_until_it_is_closed(chromium, address):
    ann = person(chromium, address, "ann")
    ann.goto(address + "/cases/1")
    ann.wait_for_selector(READY)
    assert "please check" in ann.inner_text("#legend-body")
    with ann.expect_response("**/legend"):
        ann.click("#legend summary")
    ann.goto(address + "/cases/1")
    ann.wait_for_selector(READY)
    assert not ann.evaluate("document.getElementById('legend').open")
    with ann.expect_response("**/legend"):
        ann.click("#legend summary")
    assert "please check" in ann.inner_text("#legend-body")
    assert ann.evaluate("[localStorage.length, sessionStorage.length, document.cookie]") == [0, 0, ""]
    assert ann.faults == []


def test_how_sure_the_tool_is_and_why_in_words(chromium, tmp_path):
    with store_of(tmp_path, TEXTS[:1], clock=time.time, masker=near_the_threshold(), approvals=1) as store:
        account(store, "ann")
        with served(store) as address:
            ann = person(chromium, address, "ann")
            ann.goto(address + "/cases/1")
            ann.wait_for_selector(READY)
            press(ann, "Home")
            said = ann.inner_text("#why").replace("\u00a0", " ")
            assert re.search(
                r"\d+(\.\d+)? % sure that this is not an identifier\. Such words are kept from", said
            )
            assert "may identify somebody" in said
            ann.wait_for_function(
                "() => document.getElementById('spoken').textContent.includes('please check')"
            )
            spoken = ann.text_content("#spoken").replace("\u00a0", " ")
            assert "% sure that this is not an identifier" in spoken
            press(ann, "m")
            ann.wait_for_function(
                "() => document.querySelector('#why-body').textContent.includes('The tool kept it.')"
            )
            press(ann, "c")
            assert "body feature, such as a fingerprint" in ann.inner_text("#palette-list")
            ann.keyboard.type("ci")
            ann.wait_for_function(
                "() => document.querySelector('#why-body').textContent.includes('masked as city')"
            )
            assert ann.locator(".original .t").first.get_attribute("data-c") == "city · you ?"
            shown = ann.inner_text("body") + ann.inner_text("#palette-list")
            assert not re.search(r"p.safe|bioid|logit|threshold|\bmodel\b|token", shown, re.IGNORECASE)
            assert ann.faults == []


def test_a_first_password_must_be_changed(chromium, address, store):
    add_user(store, "eva", FIRST, UserRole.REVIEWER, by="dora", must_change=True)
    page = chromium.new_context().new_page()
    page.goto(address + "/log-in")
    page.fill("[name=name]", "eva")
    page.fill("[name=password]", FIRST)
    page.keyboard.press("Enter")
    page.wait_for_url(address + "/password")
    page.get_by_role("heading", name="Choose your own password").wait_for()
    assert page.get_by_role("navigation").count() == 0
    page.goto(address + "/cases/1")
    assert page.url == address + "/password"
    page.get_by_label("Old password").fill(FIRST)
    page.get_by_label("New password, at least 12 characters").fill(OWN)
    page.get_by_label("New password again").fill(OWN)
    page.keyboard.press("Enter")
    page.wait_for_url(address + "/")
    page.get_by_text("Password changed. You are logged out everywhere else.").wait_for()


def test_accounts_by_keyboard(chromium, address, store):
    dora = person(chromium, address, "dora")
    dora.get_by_role("link", name="Accounts").press("Enter")
    dora.get_by_label("Name", exact=True).fill("eva")
    dora.get_by_label("First password, at least 12 characters").fill(FIRST)
    dora.keyboard.press("Enter")
    dora.get_by_text("Account of eva added.").wait_for()
    dora.get_by_label("Role of eva").select_option("admin")
    dora.get_by_role("button", name="Change the role of eva").press("Enter")
    dora.get_by_text("eva is now an admin.").wait_for()
    dora.get_by_role("button", name="Close the account of eva").press("Enter")
    dora.get_by_text("Account of eva closed.").wait_for()
    dora.get_by_text("Set a new password for ann").press("Enter")
    dora.get_by_label("First password for ann").fill(FIRST)
    dora.keyboard.press("Enter")
    dora.get_by_text("Password of ann set.").wait_for()
    dora.get_by_role("link", name="Trail").press("Enter")
    dora.get_by_text("Role of eva changed: reviewer to admin").wait_for()
    assert find_user(store, "ann").must_change_password
    assert dora.faults == []


def test_times_are_those_of_the_browser(chromium, address):
    dora = person(chromium, address, "dora", timezone_id="Asia/Tokyo", locale="de-DE")
    dora.goto(address + "/trail")
    shown, utc = dora.evaluate(
        "(() => { const t = document.querySelector('time'); return [t.textContent, t.title]; })()"
    )
    hour = int(re.search(r", (\d\d):", utc).group(1))
    assert f", {(hour + 9) % 24:02}:" in shown
    assert dora.faults == []


def test_one_box_selects_the_whole_page(chromium, address, store):
    dora = person(chromium, address, "dora")
    dora.get_by_label("Select all cases on this page").check()
    dora.get_by_label("Select case c3").uncheck()
    assert dora.get_by_label("Select all cases on this page").evaluate("box => box.indeterminate")
    dora.get_by_label("assign to").select_option("bea")
    dora.get_by_role("button", name="Assign", exact=True).click()
    dora.get_by_text("9 cases assigned to bea.").wait_for()
    assert dora.locator("td", has_text=re.compile("^bea$")).count() == 9
    assert dora.faults == []


def test_without_scripts_a_team_works_as_well(chromium, expect, address, store):
    approve_as(store, "ann", 1, 2)
    dora = person(chromium, address, "dora", java_script_enabled=False, accept_downloads=True)
    assert not dora.get_by_label("Select all cases on this page").is_visible()
    dora.get_by_label("Find").fill("C1")
    dora.get_by_label("Sort by").select_option("newest")
    with dora.expect_navigation():
        dora.get_by_role("button", name="Show", exact=True).click()
    assert re.findall(r">(c\d+)</td>", dora.content()) == ["c10", "c1"]
    with dora.expect_navigation():
        dora.get_by_role("link", name="Case", exact=True).click()
    assert re.findall(r">(c\d+)</td>", dora.content()) == ["c1", "c10"]
    assert is_sealed_search(dora.url, "C1")
    dora.get_by_label("Select case c10").check()
    dora.get_by_label("assign to").select_option("bea")
    with dora.expect_navigation():
        dora.get_by_role("button", name="Assign", exact=True).click()
    expect(dora.locator("#notice")).to_have_text("1 case assigned to bea.")
    assert re.findall(r">(c\d+)</td>", dora.content()) == ["c1", "c10"]
    carl = person(chromium, address, "carl", java_script_enabled=False, accept_downloads=True)
    carl.get_by_role("link", name="Files").click()
    with carl.expect_download() as download:
        carl.get_by_role("button", name="Download all as a zip").click()
    with zipfile.ZipFile(io.BytesIO(download.value.path().read_bytes())) as packed:
        assert packed.read("cases (2 of 10).jsonl").count(b"\n") == 2
    dora.get_by_role("link", name="Trail").click()
    expect(dora.locator("main")).to_contain_text("Released text downloaded: 2 cases")
    with dora.expect_download() as download:
        dora.get_by_role("button", name="Download as JSON Lines").click()
    assert download.value.suggested_filename == "trail.jsonl"
    assert verify_store(store).is_intact


def test_the_next_button_leads_an_adjudicator_through_her_disputes(chromium, tmp_path):
    with store_of(tmp_path, TEXTS[:3], clock=time.time, masker=mask_capitals()) as store:
        for name, role in PEOPLE.items():
            account(store, name, UserRole(role))
        with served(store) as address:
            for name, key in (("ann", "Home"), ("bea", "End")):
                page = person(chromium, address, name)
                for number in (1, 2):
                    page.goto(f"{address}/cases/{number}")
                    page.wait_for_selector(READY)
                    press(page, key)
                    if key == "End":
                        unmask_sure(page)
                    else:
                        press(page, "m")
                    page.get_by_text("stored · 1", exact=True).wait_for()
                    approve(page, uncovered=key == "End")
            assert count_cases(store)[CaseState.DISAGREED] == 2
            carl = person(chromium, address, "carl")
            for number in (1, 2):
                if number == 1:
                    carl.get_by_role("link", name="Next case").click()
                carl.wait_for_url(f"{address}/disputes/{number}")
                carl.wait_for_selector(READY)
                assert carl.inner_text("#name") == f"c{number}"
                for revision in (1, 2):
                    press(carl, "m")
                    carl.get_by_text(f"stored · {revision}", exact=True).wait_for()
                    press(carl, "n")  # after the last one its message takes the place of "stored"
                approve(carl)
                carl.get_by_text(f"c{number}: settled. Released.").wait_for()
            assert carl.url == address + "/"  # the others hold the third case


def test_a_second_factor_by_scanning_and_a_recovery_code(chromium, address):
    ann = person(chromium, address, "ann")
    ann.get_by_title("Your account").click()
    ann.get_by_role("link", name="Set up a second factor").click()
    ann.wait_for_selector("svg.segno")
    assert ann.locator("svg.segno").bounding_box()["width"] > 150
    for check in range(2):
        secret = ann.inner_text("main code")
        ann.get_by_label("Code that the app shows").fill(pyotp.TOTP(secret).now())
        ann.get_by_label("Your password").fill(PASSWORD if check else "a wrong long sentence")
        with ann.expect_navigation():
            ann.get_by_role("button", name="Turn on").click()
        if not check:
            ann.get_by_text("The old password is wrong.").wait_for()
            assert ann.inner_text("main code") == secret
    codes = ann.locator("#recovery-codes code").all_inner_texts()
    assert len(codes) == 10
    assert serious_faults(ann) == []
    with ann.expect_navigation():
        ann.get_by_role("link", name="I have kept them").click()
    ann.get_by_role("button", name="Log out").click()
    ann.fill("[name=name]", "ann")
    ann.fill("[name=password]", PASSWORD)
    ann.get_by_role("button", name="Log in").click()
    ann.wait_for_url(address + "/code")
    assert serious_faults(ann) == []
    ann.keyboard.type(codes[0])
    ann.keyboard.press("Enter")
    ann.wait_for_url(address + "/")
    assert ann.faults == []


def test_an_open_page_keeps_the_lock_only_for_a_person(chromium, address):
    ann = person(chromium, address, "ann")
    asked = []
    ann.on("request", lambda request: asked.append(request.url) if request.url.endswith("/keep") else None)
    ann.clock.install()
    ann.goto(address + "/cases/1")
    ann.wait_for_selector(READY)
    ann.clock.run_for(30 * 60_000)
    assert len(asked) == 1  # for the opening itself
    ann.mouse.move(200, 200)
    ann.clock.run_for(30 * 60_000)
    assert len(asked) == 2


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1280])
def test_no_serious_fault_on_the_pages_of_a_team(chromium, address, store, scheme, width):
    if not AXE.is_file():
        pytest.skip("no axe-core; npm install --no-save axe-core")
    approve_as(store, "ann", 1)
    add_user(store, "eva", FIRST, UserRole.REVIEWER, must_change=True)
    page = person(chromium, address, "dora", color_scheme=scheme, viewport={"width": width, "height": 800})
    for path in (
        "/?show=mine&sort=name",
        "/trail",
        "/files",
        "/accounts",
        "/account",
        "/password",
        "/second-factor",
        "/activity",
        "/files/delete?case=2",
    ):
        page.goto(address + path)
        assert serious_faults(page) == [], path
    page.goto(address + "/accounts")
    page.get_by_text("Set a new password for ann").click()
    assert serious_faults(page) == []
    assert PASSWORD not in page.content()
    page = person(chromium, address, "carl", color_scheme=scheme, viewport={"width": width, "height": 800})
    for path in ("/files", "/cases/1/finished"):
        page.goto(address + path)
        assert serious_faults(page) == [], path
    page.goto(address + "/cases/2")
    page.wait_for_selector(READY)
    assert serious_faults(page) == []
