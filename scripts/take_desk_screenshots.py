"""Take screenshots of all pages of the desk and of the service, and let axe-core look for faults in them.

Usage: python scripts/take_desk_screenshots.py OUT [--axe node_modules/axe-core/axe.min.js]

Needs Playwright and Debian's chromium. Starts `inverse-deid desk` on a temporary folder, adds invented files,
and writes OUT/PAGE-WIDTH-SCHEME.png for widths of 1280 and 390 pixels, light and dark. The same follows for
`inverse-deid serve` and the page of `mask --html`. Prints the faults that axe-core finds, of any impact. The
exit status is 1 if there is one, or if a page scrolls sideways.
"""

from __future__ import annotations

import argparse
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Browser, Page, sync_playwright
from take_review_screenshots import READY, ROOT, WIDTHS, find_faults

SCHEMES = ("light", "dark")
TABLE_READY = "#rows:not([aria-busy])"
ROWS = (
    (
        "Ann Kowalski",
        "A 67-year-old woman from Millbrook had a rash on 12 March 2021 after ibuprofen 400 mg.",
    ),
    ("Bo Okonkwo", "Mr. Okonkwo had nausea and vomiting two hours after amoxicillin 500 mg, and recovered."),
    (
        "Di Petrescu",
        "Ms Petrescu was seen on ward Rose. MRN 208841. Zelvoran was stopped, and the erythema resolved.",
    ),
    ("Cy Lindqvist", "Dr. Amara Lindqvist stopped the drug. The headache resolved within 3 days."),
)
TABLE = "reporter,narrative,country\n" + "".join(f'{name},"{text}",Norway\n' for name, text in ROWS)
LETTER = "\n\n".join(
    (*(text for _, text in ROWS), (ROOT / "examples" / "letters" / "clinic_letter.txt").read_text())
)


class Camera:
    """Takes pictures of a page, and counts the faults in them."""

    def __init__(self, out: Path, axe: str | None) -> None:
        self._out = out
        self.axe = axe
        self.n_faults = 0

    def take(self, page: Page, name: str) -> None:
        """Take all sizes and schemes of what is shown."""
        for width in WIDTHS:
            page.set_viewport_size({"width": width, "height": 820})
            for scheme in SCHEMES:
                page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
                page.wait_for_timeout(150)
                page.screenshot(path=self._out / f"{name}-{width}-{scheme}.png")
                for fault in find_faults(page, self.axe):
                    sys.stdout.write(f"{name} {width} {scheme}: {fault}\n")
                    self.n_faults += 1
        page.set_viewport_size({"width": WIDTHS[0], "height": 820})


@contextmanager
def run_command(*words: str) -> Iterator[subprocess.Popen[str]]:
    """Run a command of `inverse-deid` until the block ends."""
    command = [sys.executable, "-m", "inverse_deid.cli.main", *words]
    with subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
    ) as process:
        try:
            yield process
        finally:
            process.send_signal(signal.SIGINT)


def take_desk(browser: Browser, camera: Camera, folder: Path) -> None:
    """Take the pages of the desk, from the empty first one to the one after the deletion."""
    given = folder / "in"
    given.mkdir()
    (given / "letter.txt").write_text(LETTER)
    (given / "cases.csv").write_text(TABLE)
    (given / "picture.png").write_bytes(b"\x89PNG")
    words = ("desk", "--folder", str(folder / "desk"), "--no-browser")
    with run_command(*words) as process:
        lines = iter(process.stdout or ())
        address = next(line for line in lines if "works once" in line).split()[-1]
        base = address.partition("open/")[0]
        page = browser.new_context(accept_downloads=True).new_page()
        page.set_default_timeout(120_000)
        page.goto(address)
        page.wait_for_selector("#drop[data-ready]")
        camera.take(page, "desk-empty")
        page.set_input_files("#file-input", [str(path) for path in sorted(given.iterdir())])
        page.wait_for_selector("#next:not([hidden])")
        page.locator("li", has_text="picture.png").locator(".told.fault").wait_for()
        camera.take(page, "desk-add")
        page.click("#next")
        page.get_by_label("Leave the year").check()
        page.locator("input[value=kept]").first.check(force=True)
        page.wait_for_selector("#example:not([aria-busy])")
        camera.take(page, "desk-choices")
        page.locator("input[value=dropped]").first.check(force=True)
        page.get_by_role("button", name="Mask ").click()
        page.wait_for_selector("#read:not([hidden])")
        camera.take(page, "desk-masking")
        page.click("#read")
        camera.take(page, "desk-list")
        take_table(page, camera)
        take_words(page, camera, base)
        take_reading(page, camera)
        for name, path in (("desk-files", "files"), ("desk-delete", "files/delete")):
            page.goto(base + path)
            camera.take(page, name)
        page.get_by_label("Yes, delete").check()
        page.wait_for_timeout(900)
        page.get_by_role("button", name="Delete").click()
        page.get_by_text("This was deleted").wait_for()
        camera.take(page, "desk-deleted")
        page.goto(base + "open/used")
        camera.take(page, "desk-closed")


def take_table(page: Page, camera: Camera) -> None:
    """Take a listing as a table, its question, and its words in doubt."""
    page.get_by_role("link", name="Read as a table").click()
    page.wait_for_selector(TABLE_READY)
    camera.take(page, "desk-table")
    for key, dialog, name in (("g", "#group-box", "words"), ("Shift+Enter", "#approving", "question")):
        page.keyboard.press("n")
        page.keyboard.press(key)
        page.wait_for_selector(f"{dialog}[open]")
        camera.take(page, f"desk-table-{name}")
        page.keyboard.press("Escape")
        page.wait_for_selector(f"{dialog}:not([open])", state="attached")
    page.get_by_role("link", name="Cases").first.click()


def take_words(page: Page, camera: Camera, base: str) -> None:
    """Take the words in doubt of all cases, and the word lists with their question."""
    page.goto(base + "lists/doubts")
    page.wait_for_selector("#groups, .empty")
    camera.take(page, "desk-doubts")
    page.goto(base + "lists")
    camera.take(page, "desk-lists")
    page.fill("input[name=words]", "ibuprofen")
    page.get_by_role("button", name="Look for it").click()
    camera.take(page, "desk-lists-question")
    page.goto(base)


def take_reading(page: Page, camera: Camera) -> None:
    """Take the reading page, its question, and the page right after the theme was switched."""
    page.get_by_role("link", name="Next case").click()
    page.wait_for_selector(READY)
    camera.take(page, "desk-reading")
    page.keyboard.press("n")
    camera.take(page, "desk-reading-word")
    page.keyboard.press("Shift+Enter")
    page.wait_for_timeout(500)
    if page.locator("#anyway").is_visible():
        camera.take(page, "desk-question")
        page.keyboard.press("Escape")
    page.emulate_media(color_scheme="light")
    page.get_by_role("button", name="Dark", exact=True).click()
    for fault in find_faults(page, camera.axe):
        sys.stdout.write(f"desk-reading right after the theme was switched: {fault}\n")
        camera.n_faults += 1
    page.get_by_role("button", name="Same as the system").click()
    page.goto(page.url.partition("cases/")[0])
    page.locator("table.cases a", has_text="cases.csv row 2").click()
    page.wait_for_selector(READY)
    before = page.url
    page.keyboard.press("n")
    page.keyboard.press("Shift+Enter")
    while page.url == before:
        if page.locator("#anyway").is_visible():
            page.wait_for_timeout(800)
            page.click("#anyway-yes")
        page.wait_for_timeout(100)
    page.wait_for_selector(READY)
    camera.take(page, "desk-next")


def take_service(browser: Browser, camera: Camera) -> None:
    """Take the page to try the service, and its description."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with run_command("serve", "--port", str(port)):
        page = browser.new_context().new_page()
        visit(page, f"http://127.0.0.1:{port}/")
        camera.take(page, "service-empty")
        page.fill("#original", LETTER)
        page.click("#mask")
        page.locator("#masked .m").first.wait_for()
        page.focus("#masked")
        page.keyboard.press("n")
        camera.take(page, "service-masked")
        page.goto(f"http://127.0.0.1:{port}/docs")
        camera.take(page, "service-docs")


def visit(page: Page, address: str, *, wait: Callable[[float], None] = time.sleep) -> None:
    """Open a page as soon as its server answers."""
    for attempt in range(240):
        try:
            page.goto(address)
        except Exception:
            if attempt == 239:
                raise
            wait(0.5)
        else:
            return


def take_explained(browser: Browser, camera: Camera, folder: Path) -> None:
    """Take the page of `mask --html`."""
    words = ("mask", str(folder / "in" / "letter.txt"), "--out", str(folder / "out"))
    command = [sys.executable, "-m", "inverse_deid.cli.main", *words, "--html", str(folder / "page.html")]
    subprocess.run(command, check=True, capture_output=True)
    page = browser.new_context().new_page()
    page.goto((folder / "page.html").as_uri())
    camera.take(page, "mask-html")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("out", type=Path)
    parser.add_argument("--axe", type=Path, help="axe.min.js of axe-core")
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    os.chdir(ROOT)
    camera = Camera(given.out, given.axe.read_text(encoding="utf-8") if given.axe else None)
    with tempfile.TemporaryDirectory() as name, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        take_desk(browser, camera, Path(name))
        take_service(browser, camera)
        take_explained(browser, camera, Path(name))
        browser.close()
    sys.stdout.write(f"{camera.n_faults} faults\n")
    sys.exit(camera.n_faults > 0)


if __name__ == "__main__":
    main()
