"""A team in three browsers over a real store and server: cases are added through the pages while they work."""

import subprocess
import sys
import zipfile

import pytest
from opened_files import read_texts
from review_servers import serving
from review_stores import PASSWORD
from test_desk_browser import (
    CANARY,
    READY,
    TEXT,
    approve_case,
    choose_files,
    mask_all,
    open_page,
    unpack,
    write_files,
)

pytestmark = [pytest.mark.browser, pytest.mark.slow]

PEOPLE = {"ann": "reviewer", "bea": "reviewer", "carl": "adjudicator"}
FIRST = {"one.txt": TEXT, "two.txt": TEXT, "three.txt": TEXT}
ADDED = ("letter.docx", "sheet.xlsx", "note.rtf")
N_CASES = len(FIRST) + 1 + 3 + 1


def run_command(*words, given=""):
    command = [sys.executable, "-m", "inverse_deid.cli.main", *map(str, words)]
    subprocess.run(command, input=given, text=True, check=True, capture_output=True)


def enter(chromium, address, name):
    page = open_page(chromium, f"{address}/log-in", accept_downloads=True)
    page.get_by_label("Name").fill(name)
    page.get_by_label("Password").fill(PASSWORD)
    page.keyboard.press("Enter")
    page.wait_for_url(f"{address}/")
    return page


def begin_next(page, address):
    """Open what is to be done next; return whether there is something."""
    page.goto(f"{address}/next")
    if page.url == f"{address}/":
        page.get_by_text("Nothing is left for you to do at the moment.").wait_for()
        return False
    page.wait_for_selector(READY)
    return True


def review_case(page, address, *, masks_last):
    """Review the next case, and mask its last word or not; return its name, None = there is no case."""
    if not begin_next(page, address):
        return None
    name = page.inner_text("#name")
    if masks_last:
        page.keyboard.press("End")
        page.keyboard.press("m")
        page.locator("#saved").get_by_text("stored").wait_for()
    approve_case(page)
    leave(page)
    return name


def leave(page):
    """Close the case that was opened after an approval, so that others can have it."""
    if "/cases/" in page.url:
        page.wait_for_selector(READY)
        page.click("#leave")
        page.wait_for_selector("table.cases")


def settle_all(page, address):
    """Decide each dispute for the mask; return the names of the cases."""
    settled = []
    while begin_next(page, address) and "/disputes/" in page.url:
        page.keyboard.press("n")
        page.keyboard.press("m")
        page.get_by_text("stored · 1", exact=True).wait_for()
        settled.append(page.inner_text("#name"))
        approve_case(page)
    return settled


def test_two_reviewers_and_an_adjudicator_while_cases_are_added(chromium, expect, tmp_path):
    store = tmp_path / "review.db"
    (tmp_path / "first").mkdir()
    for name, text in FIRST.items():
        (tmp_path / "first" / name).write_text(text)
    run_command("review", "init", tmp_path / "first", "--store", store)
    for name, role in PEOPLE.items():
        run_command("review", "user", "add", name, "--store", store, "--role", role, given=PASSWORD + "\n")
    with serving(store) as port:
        address = f"http://127.0.0.1:{port}"
        ann, bea, carl = (enter(chromium, address, name) for name in PEOPLE)
        assert ann.get_by_role("link", name="Add files").count() == 0
        disputed = {review_case(ann, address, masks_last=True)}
        assert review_case(bea, address, masks_last=False) in FIRST

        carl.get_by_role("link", name="Add files").click()
        choose_files(carl, write_files(tmp_path / "in", ADDED))
        assert begin_next(bea, address)  # she is in the middle of a case while the others are masked
        mask_all(carl)
        approve_case(bea)
        leave(bea)

        carl.click("#read")
        expect(carl.locator("td.name", has_text="sheet.xlsx row 2")).to_have_count(1)
        reviewed = []
        while (name := review_case(ann, address, masks_last=len(reviewed) % 2 == 1)) is not None:
            reviewed.append(name)
            disputed |= {name} if len(reviewed) % 2 == 0 else set()
            review_case(bea, address, masks_last=False)
        assert len(reviewed) == N_CASES - 1
        while review_case(bea, address, masks_last=False) is not None:
            pass
        assert set(settle_all(carl, address)) == disputed

        carl.goto(f"{address}/files")
        carl.get_by_text(f"All documents ({N_CASES}) are released.").wait_for()
        with carl.expect_download() as started:
            carl.get_by_role("button", name="Download all as a zip").click()
        check_zip(started.value.path(), len(disputed), tmp_path)
        with carl.expect_download() as started:
            carl.get_by_role("button", name="Download letter.docx").click()
        assert CANARY.encode() not in b"".join(data for _, data in unpack(started.value.path().read_bytes()))
        assert [page.faults for page in (ann, bea, carl)] == [[], [], []]
    run_command("review", "verify", "--store", store)


def check_zip(path, n_disputed, folder):
    """All files are in it and open, without the canary; the last word of each dispute is masked."""
    assert [name for name, data in unpack(path.read_bytes()) if CANARY.encode() in data] == []
    with zipfile.ZipFile(path) as packed:
        files = {name: packed.read(name) for name in packed.namelist()}
    assert set(files) == {*FIRST, *ADDED, "run-report.json", "release-report.html"}
    shown = "\n".join(read_texts(files, folder / "opened").values())
    assert CANARY not in shown
    assert (shown.count("ibuprofen"), shown.count("drug")) == (N_CASES, N_CASES - n_disputed)
