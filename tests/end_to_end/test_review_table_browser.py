"""A listing read as a table in a real browser, by keyboard alone; as the tests of the review's pages."""

import logging
import os
import time
from pathlib import Path
from statistics import median

import pytest
from listing_of_leaks import (
    DOUBTFUL_KEPT,
    DOUBTFUL_LEAKS,
    LEAKS,
    NEEDLESS,
    SINGLE_DOUBTS,
    SURE_NEEDLESS,
    ForgetfulMasker,
    mask_listing,
    write_listing,
)
from review_stores import read_entries, store_of
from review_visitors import account
from test_review_browser import person, served

from inverse_deid.review.files.exporting import export_released
from inverse_deid.review.flow.work_list import count_cases
from inverse_deid.review.store.trail import verify_store
from inverse_deid.review.store.values import CaseState, UserRole

AXE = Path(os.environ.get("AXE_CORE", "node_modules/axe-core/axe.min.js"))
READY = "#rows:not([aria-busy])"
MAX_KEYS = 250
LOG = logging.getLogger(__name__)
"""Says what was measured, with `--log-cli-level=info`."""

pytestmark = [pytest.mark.browser, pytest.mark.slow]


@pytest.fixture
def listing(tmp_path):
    with store_of(tmp_path, write_listing(), masker=ForgetfulMasker(), clock=time.time, approvals=1) as store:
        account(store, "ann", UserRole.ADJUDICATOR)
        yield store


class Keyboard:
    """Presses keys, counts them, and waits until the page has done what they say."""

    def __init__(self, page):
        self.page, self.n_keys = page, 0

    def press(self, *keys):
        for key in keys:
            self.page.keyboard.press(key)
            self.n_keys += len(key.split("+"))
        self.page.evaluate("() => new Promise((done) => setTimeout(done, 30))")

    def type(self, text):
        self.page.keyboard.type(text)
        self.n_keys += len(text)

    def word(self):
        """Return the selected words, and whether the page asks to check them."""
        here = self.page.locator("#rows .t.here")
        marked = here.evaluate_all("all => all.some((one) => one.classList.contains('due'))")
        return " ".join(here.all_inner_texts()), marked


def open_table(chromium, address, *, stops_clock=False, **options):
    page = person(chromium, address, "ann", **options)
    if stops_clock:
        page.clock.install()
        page.clock.pause_at(time.time() + 3600)
    page.get_by_role("link", name="Read as a table").click()
    page.wait_for_selector(READY)
    return page


def shown_rows(page):
    """Return the rows on the screen, as an expert reads them: number of the row and text."""
    return page.evaluate(
        "() => { const frame = document.querySelector('#rows').getBoundingClientRect();"
        "return [...document.querySelectorAll('.case')].filter((one) => {"
        " const place = one.getBoundingClientRect();"
        " return place.bottom > frame.top + 4 && place.bottom <= frame.bottom + 1; })"
        ".map((one) => [...one.querySelectorAll('.t')].map((word) =>"
        " [word.textContent, word.className.includes(' g'), word.classList.contains('due')])); }"
    )


WHOLE_ROWS = (
    "() => { const frame = document.querySelector('#rows').getBoundingClientRect();"
    "return [...document.querySelectorAll('.case')].filter((one) => {"
    " const place = one.getBoundingClientRect();"
    " return place.top >= frame.top - 1 && place.bottom <= frame.bottom + 1; }).map((one) => one.dataset.id); }"
)
"""The rows that are on the screen from begin to end."""


def wait_until_read(page):
    """Wait until the server was told of every row that is whole on the screen; a reader needs longer."""
    page.wait_for_function(
        f"() => ({WHOLE_ROWS})().every((id) => {{ const {{ row }} = document.querySelector(`[data-id='${{id}}']`);"
        " return row.isRead || row.isApproved || !row.state; })"
    )


PLACE = (
    "() => { const here = document.querySelector('#rows .t.here');"
    "return [document.querySelector('#rows').scrollTop, here?.closest('.case').dataset.id, here?.token].join(); }"
)


def go_on(keyboard):
    """Go to the next word to check, and wait until the page is there or has said that there is none."""
    page = keyboard.page
    before = page.evaluate(PLACE)
    page.evaluate("document.querySelector('#saved').textContent = ''")
    keyboard.press("n")
    page.wait_for_function(
        f"(before) => ({PLACE})() !== before || document.querySelector('#saved').textContent", arg=before
    )


def decide_here(keyboard, done):
    """Decide the marked word that is selected, as the expert's scan says, in the whole file."""
    word, _marked = keyboard.word()
    keyboard.page.evaluate("document.querySelector('#saved').textContent = ''")
    if word in LEAKS:
        keyboard.press("m")
    elif word in NEEDLESS:
        keyboard.press("Shift+U")
        keyboard.page.wait_for_selector("#uncover[open]")
        keyboard.press("Tab", "Enter")
    elif word in DOUBTFUL_KEPT:
        keyboard.press("Shift+K")
    else:
        assert word in SINGLE_DOUBTS
        keyboard.press("k")
    done.add(word)
    keyboard.page.wait_for_function(
        "() => /^(?!storing)./.test(document.querySelector('#saved').textContent)"
    )


def decide_unmarked(keyboard, done):
    """Decide what nothing marks: a name that is kept, a drug that is masked, as the expert reads them."""
    for words in shown_rows(keyboard.page):
        for word, is_masked, is_due in words:
            wrong = (word in LEAKS and not is_masked) or (word in NEEDLESS and is_masked)
            if not wrong or is_due or word in done:
                continue
            keyboard.press("/")
            keyboard.type(word[:3])
            keyboard.press("Enter")
            keyboard.page.wait_for_function(
                "(word) => document.querySelector('#rows .t.here')?.textContent === word", arg=word
            )
            decide_here(keyboard, done)


def test_300_rows_in_under_250_keys_and_all_leaks_are_mended(chromium, listing, tmp_path):
    began = time.monotonic()
    with served(listing) as address:
        page = open_table(chromium, address, viewport={"width": 1280, "height": 800})
        keyboard, done = Keyboard(page), set()
        for _ in range(400):
            wait_until_read(page)
            decide_unmarked(keyboard, done)
            while keyboard.word()[1]:
                decide_here(keyboard, done)
            if page.locator(".case").count() == 300 and page.locator("#saved").inner_text().startswith(
                ("nothing to check", "this is the last row")
            ):
                break
            before = page.locator("#rows").evaluate("one => one.scrollTop")
            go_on(keyboard)
            assert page.locator("#rows").evaluate("one => one.scrollTop") >= before
        wait_until_read(page)
        keyboard.press("Shift+Enter")
        page.wait_for_selector("#approving[open]")
        assert page.locator("#approving-staying li").all_inner_texts() == []
        assert "300 rows" in page.inner_text("#approving-text")
        keyboard.press("Tab", "Enter")
        page.get_by_text("300 rows approved.").wait_for(timeout=180_000)
        assert page.get_by_role("link", name="Download").get_attribute("href") == "/files"
        seconds = time.monotonic() - began
    LOG.info("%d keys, %d s", keyboard.n_keys, seconds)
    assert keyboard.n_keys < MAX_KEYS
    assert count_cases(listing)[CaseState.RELEASED] == 300
    export_released(listing, tmp_path / "out", by="ann")
    released = (tmp_path / "out" / "cases.jsonl").read_text()
    assert not [name for name in LEAKS if name in released]
    assert {word: released.count(word) for word in NEEDLESS} == NEEDLESS
    assert mask_listing(write_listing()) == [
        line.split('"text": "')[1].split('"')[0] for line in released.splitlines()
    ]
    assert not verify_store(listing).problems


def test_rows_that_flew_past_are_not_approved(chromium, listing):
    with served(listing) as address:
        page = open_table(chromium, address, stops_clock=True, viewport={"width": 1280, "height": 800})

        def read():
            for _ in range(4):
                page.clock.run_for(250)
                time.sleep(0.5)  # the server has a clock of its own
            wait_until_read(page)
            whole.update(page.evaluate(WHOLE_ROWS))

        whole = set()

        def press(*keys):
            for key in (*keys, "z"):  # keys are obeyed one after the other
                page.evaluate("document.querySelector('#saved').textContent = ''")
                page.keyboard.press(key)
            page.locator("#saved", has_text="nothing to undo").wait_for()

        read()
        press(*["PageDown"] * 6)
        time.sleep(0.5)  # the server takes no row as shown before
        page.clock.run_for(250)  # they are on the screen at one tick alone
        press(*["PageDown"] * 6, "End")
        read()
        n_read = len(whole)
        page.keyboard.press("Shift+Enter")
        page.wait_for_selector("#approving[open]")
        said = page.inner_text("#approving-staying")
        n_stay = int(said.split(" rows were not shown")[0].split()[-1])
        assert n_stay > 270
        assert n_stay == 300 - n_read
        page.keyboard.press("Tab")
        page.keyboard.press("Enter")
        page.get_by_text("rows approved.").wait_for()
        released = count_cases(listing)[CaseState.RELEASED]
        assert 5 < released <= 300 - n_stay
        entries = [one for one in read_entries(listing, 1) if one["event"] == "approve"]
        assert "after this reader was shown it" in entries[0]["new"]
        with page.expect_navigation():
            page.get_by_role("button", name="Undo approval").click()
        assert count_cases(listing)[CaseState.RELEASED] == 0


def test_unmasking_a_sure_word_asks_first_and_undo_brings_the_mask_back(chromium, listing):
    with served(listing) as address:
        page = open_table(chromium, address)
        mask = page.locator(".case .t", has_text="Okonkwo").first
        mask.click()
        page.keyboard.press("u")
        page.wait_for_selector("#uncover[open]")
        page.keyboard.press("Escape")
        page.get_by_text("left masked").first.wait_for()
        assert " g" in mask.get_attribute("class")
        page.keyboard.press("u")
        page.wait_for_selector("#uncover[open]")
        page.keyboard.press("Tab")
        page.keyboard.press("Enter")
        page.wait_for_function("() => /stored/.test(document.querySelector('#saved').textContent)")
        page.keyboard.press("z")
        page.get_by_text("undone in 1 row").first.wait_for()
        assert " g" in page.locator(".case .t", has_text="Okonkwo").first.get_attribute("class")


@pytest.mark.parametrize("choice", ["Go on", "Leave it"])
def test_a_decision_for_the_file_that_a_reload_cut_off_is_named_and_goes_on(chromium, listing, choice):
    with served(listing) as address:
        page = open_table(chromium, address, viewport={"width": 1280, "height": 800})
        first = page.locator(".case .t").first
        word = first.inner_text()
        first.click()
        page.route("**/sweep", lambda route: route.continue_() if "-1" in route.request.post_data else None)
        with page.expect_request(lambda asked: asked.url.endswith("sweep") and "-1" not in asked.post_data):
            page.keyboard.press("Shift+M")
        page.unroute("**/sweep")
        page.reload()
        page.wait_for_selector(READY)
        page.get_by_text(f"Your decision about “{word}” in the whole file is not in all rows yet.").wait_for()
        page.keyboard.press("Shift+Enter")
        page.get_by_text("A decision for the whole file is not in all rows yet.").wait_for()
        assert not page.locator("#approving-yes").is_visible()
        page.keyboard.press("Escape")
        page.get_by_role("button", name=choice).click()
        page.wait_for_function("() => /changed|stored/.test(document.querySelector('#saved').textContent)")
        assert not page.locator("#trouble").is_visible()
        page.keyboard.press("Shift+Enter")
        page.wait_for_selector("#approving[open]")
        assert "not in all rows" not in page.inner_text("#approving")
        assert page.faults == []


def test_words_in_doubt_are_decided_once_for_the_file(chromium, listing):
    with served(listing) as address:
        page = open_table(chromium, address, viewport={"width": 1280, "height": 800})
        page.keyboard.press("g")
        words = page.locator("#groups li b")
        words.first.wait_for()
        n_words = words.count()
        assert n_words == len({*DOUBTFUL_KEPT, *DOUBTFUL_LEAKS, *SINGLE_DOUBTS, *NEEDLESS} - {*SURE_NEEDLESS})
        assert page.evaluate("document.activeElement.dataset.act") == "confirm"
        for left in range(n_words - 1, -1, -1):
            word = page.evaluate("document.activeElement.closest('li').one.word")
            page.keyboard.press("u" if word in NEEDLESS else "m" if word in LEAKS else "k")
            if word in NEEDLESS:
                page.wait_for_selector("#uncover[open]")
                page.keyboard.press("Tab")
                page.keyboard.press("Enter")
            page.wait_for_function("(n) => document.querySelectorAll('#groups li').length === n", arg=left)
            page.wait_for_function("() => document.querySelector('#group-box').open")
        page.keyboard.press("Escape")
        page.wait_for_function("() => document.activeElement.id === 'rows'")
        assert page.locator(".case .t.due").count() == 0
        assert page.faults == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1280])
def test_axe_finds_no_fault_in_the_table(chromium, listing, scheme, width):
    if not AXE.is_file():
        pytest.skip("no axe-core; npm install --no-save axe-core")

    def check(page):
        assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0
        page.evaluate(AXE.read_text(encoding="utf-8") + "; 0")
        assert [one["id"] for one in page.evaluate("axe.run(document)")["violations"]] == []

    with served(listing) as address:
        page = open_table(chromium, address, color_scheme=scheme, viewport={"width": width, "height": 800})
        page.wait_for_timeout(900)
        page.keyboard.press("n")
        check(page)
        page.keyboard.press("v")
        check(page)
        page.keyboard.press("/")
        page.keyboard.type("he")
        check(page)
        page.keyboard.press("Escape")
        page.keyboard.press("g")
        page.locator("#groups li").first.wait_for()
        check(page)
        page.keyboard.press("Escape")
        page.keyboard.press("Shift+Enter")
        page.wait_for_selector("#approving[open]")
        check(page)
        page.keyboard.press("Tab")
        page.keyboard.press("Enter")
        page.get_by_text("approved.").first.wait_for()
        check(page)
        assert page.faults == []


@pytest.fixture
def long_listing(tmp_path):
    with store_of(
        tmp_path, write_listing(10_000), masker=ForgetfulMasker(), clock=time.time, approvals=1
    ) as store:
        account(store, "ann", UserRole.ADJUDICATOR)
        yield store


def test_rows_far_from_the_screen_keep_no_words(chromium, long_listing):
    with served(long_listing) as address:
        page = open_table(chromium, address, viewport={"width": 1280, "height": 800})
        while page.locator(".case").count() <= 500:
            page.keyboard.press("PageDown")
            page.wait_for_timeout(100)
        page.wait_for_function("() => document.querySelectorAll('.case .t').length < 5_000")
        assert page.locator(".case .t").count() > 0


@pytest.mark.timed
def test_pages_of_10_000_rows_are_quick(chromium, long_listing):
    with served(long_listing) as address:
        page = open_table(chromium, address, viewport={"width": 1280, "height": 800})
        seconds = []

        def note(request):
            if request.url.endswith(("/rows", "/read", "/act")):
                seconds.append(request.timing["responseEnd"] / 1000)

        page.on("requestfinished", note)
        for _ in range(60):
            page.keyboard.press("PageDown")
            page.wait_for_timeout(300)
        LOG.info("median %d ms", 1000 * median(seconds))
        assert median(seconds) < 0.2
