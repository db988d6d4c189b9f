"""Word lists in a real browser, by keyboard; as the tests of the review's pages."""

import os
import time
from pathlib import Path

import pytest
from fake_maskers import near_the_threshold
from review_stores import store_of
from review_visitors import account
from test_review_browser import person, served

from inverse_deid.review.flow.reading import open_case, view_case
from inverse_deid.review.people.accounts import find_user
from inverse_deid.review.store.trail import verify_store
from inverse_deid.review.store.values import UserRole

AXE = Path(os.environ.get("AXE_CORE", "node_modules/axe-core/axe.min.js"))
TEXTS = ["seen by Okonkwo, took Zelvoran, mrn unknown", "then ZELVORAN again", "no drug, no mrn"]

pytestmark = [pytest.mark.browser, pytest.mark.slow]


@pytest.fixture
def cases(tmp_path):
    with store_of(tmp_path, TEXTS, clock=time.time, approvals=1) as store:
        account(store, "ann", UserRole.ADJUDICATOR)
        yield store


def kept(store, case_id):
    ann = find_user(store, "ann")
    open_case(store, ann, case_id)
    view = view_case(store, ann, case_id)
    return [word for word, keep in zip(view.tokens.words, view.layer.keep, strict=True) if keep]


def press(page, *keys):
    for key in keys:
        page.keyboard.press(key)


def press_button(page, name):
    """Press a button that leads to another page, and wait for the page."""
    with page.expect_navigation():
        page.get_by_role("button", name=name).click()


def go_to(page, name):
    """Move by Tab alone to a control of this name."""
    for _ in range(60):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.textContent.trim()").startswith(name):
            return
    raise AssertionError(f"no way by Tab to {name}")


def test_words_of_a_case_and_of_the_table_are_listed_and_taken_back_by_keyboard(chromium, cases):
    with served(cases) as address:
        page = person(chromium, address, "ann")
        page.goto(address + "/cases/1")
        page.wait_for_selector("#reader:not([aria-busy])")
        while page.locator(
            "#reader .here, #reader [aria-current]"
        ).count() and "Zelvoran" not in page.inner_text("#why-body"):
            press(page, "ArrowRight")
        with page.expect_navigation():
            press(page, "l")
        assert page.inner_text("h1") == "“Zelvoran” in all cases"
        assert "Masked now in 2 places. In 2 of them the tool was sure." in page.inner_text("main")
        go_to(page, "Never mask it")
        with page.expect_navigation():
            press(page, "Enter")
        assert "In 2 places the tool was sure that this must be masked." in page.inner_text("[role=alert]")
        page.focus("[name=sure]")
        press(page, " ")
        go_to(page, "Never mask it")
        with page.expect_navigation():
            press(page, "Enter")
        page.get_by_text("“Zelvoran” is now never masked. 2 cases changed.").wait_for()
        assert page.url == address + "/cases/1"

        page.goto(address + "/table/1")
        page.wait_for_selector("#rows:not([aria-busy])")
        page.locator(".case .t", has_text="mrn").last.click()
        with page.expect_navigation():
            press(page, "l")
        assert "Kept now in 2 places." in page.inner_text("main")
        go_to(page, "Always mask it")
        with page.expect_navigation():
            press(page, "Enter")
        assert page.url == address + "/table/1"
        assert kept(cases, 1) == ["seen", "by", "took", "Zelvoran", "unknown"]
        assert kept(cases, 2) == ["then", "ZELVORAN", "again"]
        assert kept(cases, 3) == ["no", "drug", "no"]

        page.goto(address + "/lists")
        assert page.locator(".upload").count() == 2
        go_to(page, "Use for new files")
        with page.expect_navigation():
            press(page, "Enter")
        page.get_by_text("New files follow it.").wait_for()
        page.get_by_role("button", name="Remove").last.focus()
        with page.expect_navigation():
            press(page, "Enter")
        page.get_by_text("Removed. 2 cases changed.").wait_for()
        assert kept(cases, 2) == ["then", "again"]
        assert page.faults == []
    assert verify_store(cases).is_intact


@pytest.fixture
def check(tmp_path, scheme, width):
    """Look at a page with axe-core, and keep a picture of it."""
    if not AXE.is_file():
        pytest.skip("no axe-core; npm install --no-save axe-core")

    def look(page, name):
        page.screenshot(path=tmp_path / f"{name}-{scheme}-{width}.png", full_page=True)
        assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0
        page.evaluate(AXE.read_text(encoding="utf-8") + "; 0")
        assert [one["id"] for one in page.evaluate("axe.run(document)")["violations"]] == []

    return look


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1280])
def test_axe_finds_no_fault_in_the_pages_of_word_lists(chromium, cases, scheme, width, check):
    with served(cases) as address:
        page = person(chromium, address, "ann", color_scheme=scheme, viewport={"width": width, "height": 800})
        page.goto(address + "/lists")
        check(page, "empty")
        page.fill("[name=words]", "Zelvoran")
        press_button(page, "Look for it")
        check(page, "question")
        page.check("[name=for_new_files]")
        press_button(page, "Never mask it")
        check(page, "again")
        page.check("[name=sure]")
        press_button(page, "Never mask it")
        page.fill("[name=words]", "a long phrase of " + "Pneumonoultramicroscopicsilicovolcanoconiosis" * 4)
        press_button(page, "Look for it")
        press_button(page, "Always mask it")
        check(page, "lists")
        page.goto(address + "/table/1")
        page.wait_for_selector("#rows:not([aria-busy])")
        check(page, "table")
        page.goto(address + "/cases/1")
        page.wait_for_selector("#reader:not([aria-busy])")
        check(page, "case")
        assert page.faults == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1280])
def test_axe_finds_no_fault_in_the_page_of_doubtful_words(chromium, in_doubt, scheme, width, check):
    with served(in_doubt) as address:
        page = person(chromium, address, "ann", color_scheme=scheme, viewport={"width": width, "height": 800})
        page.goto(address + "/lists/doubts")
        word_in_focus(page)
        check(page, "doubts")
        with page.expect_navigation():
            press(page, "m")
        page.wait_for_selector("#undo-last")
        word_in_focus(page)
        check(page, "undo")
        with page.expect_navigation():
            press(page, "u")
        page.wait_for_selector("[name=told]", state="attached")
        check(page, "unmask")
        assert page.faults == []


@pytest.fixture
def in_doubt(tmp_path):
    """Three cases in whose small letters the tool is in doubt, and which are read in several steps."""
    masker = near_the_threshold()
    with store_of(tmp_path, TEXTS, masker=masker, clock=time.time, approvals=1) as store:
        account(store, "ann", UserRole.ADJUDICATOR)
        yield store


def word_in_focus(page):
    """Wait until all cases are read, and return the word that the keys decide."""
    return page.locator("#groups li:focus-within b").inner_text()


def test_the_doubtful_words_of_all_cases_are_decided_once_by_keyboard(chromium, in_doubt, monkeypatch):
    monkeypatch.setattr("inverse_deid.review.pages.form_pages.PAGE_SECONDS", -1)
    monkeypatch.setattr("inverse_deid.review.flow.doubts._CASES_AT_ONCE", 1)
    with served(in_doubt) as address:
        page = person(chromium, address, "ann")
        page.goto(address + "/lists")
        go_to(page, "Words in doubt in all cases")
        press(page, "Enter")
        assert word_in_focus(page) == "mrn"
        words = page.locator("#groups b").all_inner_texts()
        assert words[:2] == ["mrn", "no"] and set(words) >= {"seen", "took", "unknown"}

        with page.expect_navigation():
            press(page, "m")
        page.get_by_text("“mrn” is now always masked. 2 cases changed.").wait_for()
        assert word_in_focus(page) == "no"
        with page.expect_navigation():
            press(page, "k")
        page.get_by_text("“no” is now left as it is. 1 case changed.").wait_for()
        word_in_focus(page)
        press(page, "ArrowDown")
        second = word_in_focus(page)
        with page.expect_navigation():
            press(page, "u")
        assert page.inner_text("h1") == f"“{second}” in all cases"
        with page.expect_navigation():
            press(page, "Enter")  # its button has the focus
        page.get_by_text(f"“{second}” is now never masked.").wait_for()
        assert word_in_focus(page) != second
        assert second not in page.locator("#groups b").all_inner_texts()
        with page.expect_navigation():
            press(page, "z")
        page.get_by_text("Removed. 1 case changed.").wait_for()
        assert word_in_focus(page) == second
        assert "mrn" not in kept(in_doubt, 1) + kept(in_doubt, 3)
        assert "no" in kept(in_doubt, 3)
        assert page.faults == []
    assert verify_store(in_doubt).is_intact


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1280])
def test_a_long_change_goes_on_by_itself_also_after_back_and_reload(
    chromium, cases, scheme, width, check, monkeypatch
):
    monkeypatch.setattr("inverse_deid.review.flow.word_lists.MOST_SECONDS", -1)
    with served(cases) as address:
        page = person(chromium, address, "ann", color_scheme=scheme, viewport={"width": width, "height": 800})
        page.goto(address + "/lists")
        page.fill("[name=words]", "then")
        page.get_by_role("button", name="Look for it").click()
        page.get_by_role("button", name="Always mask it").click()
        page.wait_for_url("**/lists/work?*")
        page.get_by_text("0 of 1 cases are done.").wait_for()
        check(page, "work")
        page.reload()
        page.get_by_text("0 of 1 cases are done.").wait_for()
        page.goto(address + "/lists")
        page.get_by_text("It is not changed in all cases yet.").wait_for()
        check(page, "unfinished")
        page.get_by_role("link", name="Go on").click()
        page.get_by_text("0 of 1 cases are done.").wait_for()
        monkeypatch.setattr("inverse_deid.review.flow.word_lists.MOST_SECONDS", 60)
        page.get_by_text("“then” is now always masked. 1 case changed.").wait_for()
        page.go_back()
        page.wait_for_timeout(300)
        assert "not changed in all cases" not in page.content()
        assert page.faults == []
    assert kept(cases, 2) == ["again"]
    assert verify_store(cases).is_intact
