"""The picture of a scanned page beside its text, and columns to confirm, in a real browser."""

import time
from datetime import date

import pytest
from fake_maskers import mask_capitals
from review_stores import store_of
from review_visitors import account
from scan_files import HAS_READER, picture_of, scanned_pdf
from served_apps import served_app
from test_review_browser import READY, person, press, serious_faults

from inverse_deid.review.files.service import IntakeService
from inverse_deid.review.files.waiting import UploadState, list_uploads
from inverse_deid.review.pages.application import make_application
from inverse_deid.review.store.values import UserRole

pytestmark = [pytest.mark.browser, pytest.mark.slow]

SIZES = [(1280, 800, "light"), (390, 844, "dark")]
PAGES = [
    picture_of("seen by Okonkwo today", "with a rash"),
    picture_of("page two of it", "she was well since"),
]


@pytest.fixture
def store(tmp_path):
    (tmp_path / "fax.pdf").write_bytes(scanned_pdf([PAGES[0], None, PAGES[1]]))
    with store_of(tmp_path, inputs=[tmp_path / "fax.pdf"], clock=time.time) as store:
        for name, role in {"ann": "reviewer", "carl": "adjudicator", "cleo": "adjudicator"}.items():
            account(store, name, UserRole(role))
        yield store


@pytest.fixture
def address(store):
    with served_app(make_application(store), "localhost") as address:
        yield address


def wait_for_picture(page):
    image = "document.getElementById('picture-image')"
    for _ in range(2_000):
        if page.evaluate(f"{image}.complete && {image}.naturalWidth > 0") and not page.inner_text(
            "#picture-told"
        ):
            return
        page.wait_for_timeout(50)
    raise AssertionError(page.inner_text("#picture"))


@pytest.mark.skipif(not HAS_READER, reason="no rapidocr; pip install '.[scans]'")
@pytest.mark.parametrize(("width", "height", "scheme"), SIZES)
def test_the_picture_of_a_page_is_beside_its_text_and_follows_the_word(
    chromium, address, width, height, scheme
):
    viewport = {"width": width, "height": height}
    ann = person(chromium, address, "ann", viewport=viewport, color_scheme=scheme)
    ann.goto(address + "/cases/1")
    ann.wait_for_selector(READY)
    ann.wait_for_selector("#picture:not([hidden])")
    wait_for_picture(ann)
    image = ann.locator("#picture-image")
    alone = "Page {} of fax.pdf as it was scanned. The text next to it was read from it."
    ann.locator("#reader").focus()
    press(ann, "Home")
    assert image.get_attribute("alt") == alone.format(1)
    assert ann.inner_text("#picture-page") == "Picture of page 1"
    assert not ann.is_enabled("#picture-previous")
    press(ann, "End")
    assert image.get_attribute("alt") == alone.format(3)  # page 2 has text
    wait_for_picture(ann)
    assert not ann.is_enabled("#picture-next")
    assert serious_faults(ann) == []
    reader, box = ann.locator("#reader").bounding_box(), ann.locator("#picture-box").bounding_box()
    assert min(reader["height"], box["height"]) > 90
    if width > 900:
        assert box["x"] + box["width"] <= reader["x"] + 1
    else:
        assert box["y"] + box["height"] <= reader["y"] + 1
    narrow = image.bounding_box()["width"]
    ann.click("#picture-size")
    assert image.bounding_box()["width"] > 2 * narrow
    assert ann.get_attribute("#picture-size", "aria-pressed") == "true"
    assert serious_faults(ann) == []
    ann.click("#picture-previous")
    assert image.get_attribute("alt") == alone.format(1)
    ann.click("#picture-hide")
    assert not ann.locator("#picture-box").is_visible()
    ann.click("#picture-hide")
    assert ann.locator("#picture-box").is_visible()
    ann.emulate_media(media="print")
    assert not ann.locator("#picture").is_visible()
    assert ann.faults == []


@pytest.mark.parametrize(("width", "height", "scheme"), SIZES)
def test_two_adjudicators_answer_for_a_column_in_their_browsers(
    chromium, expect, tmp_path, store, width, height, scheme
):
    table = tmp_path / "cases.csv"
    table.write_bytes(
        b"text,seen_by\nthe patient had a rash two hours after the first dose of it and"
        b" was well again,Ann Li\nwell,Bob Okafor\n"
    )
    intake = IntakeService(store, lambda _settings: mask_capitals(), lambda: date(2024, 1, 1))
    intake.start()
    options = {"viewport": {"width": width, "height": height}, "color_scheme": scheme}
    try:
        with served_app(make_application(store, intake=intake), "localhost") as address:
            carl = person(chromium, address, "carl", **options)
            carl.goto(address + "/add")
            carl.wait_for_selector("#drop[data-ready]")
            carl.set_input_files("#file-input", str(table))
            carl.click("#next")
            carl.get_by_role("group", name="seen_by").get_by_label("Keep unchecked").check()
            with carl.expect_navigation():
                carl.click("button.main:has-text('Mask the file')")
            carl.get_by_label("Copy “seen_by” unmasked").wait_for()
            assert serious_faults(carl) == []
            carl.get_by_label("Copy “seen_by” unmasked").check()
            carl.click("button.main:has-text('Mask the file')")
            carl.get_by_text(
                "waits for the confirmation of column seen_by by a second adjudicator"
            ).wait_for()
            carl.click("#confirm")
            carl.wait_for_url("**/confirm")
            expect(carl.locator("button[name=answer]")).to_have_count(0)
            cleo = person(chromium, address, "cleo", **options)
            with cleo.expect_navigation():
                cleo.click("text=Columns to confirm")
            expect(cleo.locator("main")).to_contain_text("2 of 2 values look like names")
            assert serious_faults(cleo) == []
            cleo.click("text=Copy “seen_by” unmasked")
            expect(cleo.locator("#notice")).to_have_text("Confirmed: the column is copied.")
            until = time.monotonic() + 180
            while list_uploads(store)[0].state is not UploadState.DONE and time.monotonic() < until:
                time.sleep(0.05)
            assert list_uploads(store)[0].state is UploadState.DONE
            assert carl.faults == cleo.faults == []
    finally:
        intake.close()
