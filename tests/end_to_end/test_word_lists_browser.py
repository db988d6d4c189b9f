"""Word lists in a real browser, by keyboard; as the tests of the review's pages."""

import os
import time
from pathlib import Path

import pytest
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


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1280])
def test_axe_finds_no_fault_in_the_pages_of_word_lists(chromium, cases, scheme, width, tmp_path):
    if not AXE.is_file():
        pytest.skip("no axe-core; npm install --no-save axe-core")

    def check(page, name):
        page.screenshot(path=tmp_path / f"{name}-{scheme}-{width}.png", full_page=True)
        assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0
        page.evaluate(AXE.read_text(encoding="utf-8") + "; 0")
        assert [one["id"] for one in page.evaluate("axe.run(document)")["violations"]] == []

    with served(cases) as address:
        page = person(chromium, address, "ann", color_scheme=scheme, viewport={"width": width, "height": 800})
        page.goto(address + "/lists")
        check(page, "empty")
        page.fill("[name=words]", "Zelvoran")
        page.get_by_role("button", name="Look for it").click()
        check(page, "question")
        page.check("[name=for_new_files]")
        page.get_by_role("button", name="Never mask it").click()
        check(page, "again")
        page.check("[name=sure]")
        page.get_by_role("button", name="Never mask it").click()
        page.fill("[name=words]", "a long phrase of " + "Pneumonoultramicroscopicsilicovolcanoconiosis" * 4)
        page.get_by_role("button", name="Look for it").click()
        page.get_by_role("button", name="Always mask it").click()
        check(page, "lists")
        page.goto(address + "/table/1")
        page.wait_for_selector("#rows:not([aria-busy])")
        check(page, "table")
        page.goto(address + "/cases/1")
        page.wait_for_selector("#reader:not([aria-busy])")
        check(page, "case")
        assert page.faults == []
