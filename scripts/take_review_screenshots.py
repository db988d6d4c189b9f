"""Take screenshots of all pages of the review, and let axe-core look for faults in them.

Usage: python scripts/take_review_screenshots.py OUT [--axe node_modules/axe-core/axe.min.js]

Needs Playwright and Debian's chromium. Masks the examples with the default model into a store in a temporary
folder, lets invented users work on them, and writes OUT/PAGE-WIDTH-SCHEME.png for widths of 1280 and 390
pixels, light and dark. Prints the faults that axe-core finds, of any impact. The exit status is 1 if there is
one, or if a page scrolls sideways. docs/images/review.png is OUT/case-1280-light.png.
"""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import uvicorn
from playwright.sync_api import Browser, Page, sync_playwright

from inverse_deid.review.flow.approval import approve, release
from inverse_deid.review.flow.editing import act
from inverse_deid.review.flow.quality import draw_sample
from inverse_deid.review.flow.reading import open_case
from inverse_deid.review.flow.work_list import assign
from inverse_deid.review.pages.application import make_application
from inverse_deid.review.people.accounts import add_user, find_user
from inverse_deid.review.store.keys import make_key_file
from inverse_deid.review.store.opening import ReviewStore, open_store
from inverse_deid.review.store.values import ActionKind, LayerRevision, ReviewAction, TokenRange, UserRole

ROOT = Path(__file__).parents[1]
PASSWORD = "a sentence that is long enough"
READY = "#reader:not([aria-busy])"
WIDTHS = (1280, 390)
USERS = {
    "ann": UserRole.REVIEWER,
    "bea": UserRole.REVIEWER,
    "carl": UserRole.ADJUDICATOR,
    "dora": UserRole.ADMIN,
}
PAGES: dict[str, tuple[str, str, tuple[str, ...]]] = {
    "log-in": ("", "/log-in", ()),
    "list-reviewer": ("ann", "/", ()),
    "list-admin": ("dora", "/", ()),
    "list-sorted": ("dora", "/?state=new&state=in+review&show=free&sort=file", ()),
    "list-empty": ("ann", "/?state=agreed&show=done", ()),
    "case": ("ann", "/cases/3", ("n",)),
    "case-masked": ("ann", "/cases/3", ("Home", "ArrowRight", "ArrowRight", "ArrowRight", "ArrowRight")),
    "case-category": ("ann", "/cases/3", ("n", "c")),
    "case-keys": ("ann", "/cases/3", ("?",)),
    "dispute": ("carl", "/disputes/2", ("n",)),
    "print": ("ann", "/cases/3/print", ()),
    "finished": ("carl", "/cases/1/finished", ()),
    "form": ("carl", "/cases/1/form", ()),
    "summary": ("carl", "/summary?agreement=1", ()),
    "sample": ("carl", "/sample", ()),
    "sample-case": ("carl", "/sample/1", ()),
    "files": ("carl", "/files", ()),
    "files-admin": ("dora", "/files", ()),
    "accounts": ("dora", "/accounts", ()),
    "trail": ("dora", "/trail", ()),
    "trail-words": ("dora", "/trail?group=words&user=bea", ()),
    "password": ("ann", "/password", ()),
    "first-password": ("eva", "/password", ()),
    "problem": ("ann", "/cases/99", ()),
}
"""Name: user ("" = nobody), address, keys pressed once it is shown."""


def make_store(folder: Path) -> ReviewStore:
    """Mask the examples, and let the users work on some of them."""
    address, key_file = str(folder / "review.db"), folder / "key"
    key = make_key_file(key_file)
    command = [sys.executable, "-m", "inverse_deid.cli.main", "review", "init", str(ROOT / "examples")]
    options = ["--store", address, "--key", str(key_file), "--release-by-hand"]
    subprocess.run([*command, *options], check=True, stdout=subprocess.DEVNULL)
    store = open_store(address, key)
    for name, role in USERS.items():
        add_user(store, name, PASSWORD, role)
    add_user(store, "eva", PASSWORD, UserRole.REVIEWER, by="dora", must_change=True)
    for name, case_id, masked in (
        ("ann", 1, ()),
        ("bea", 1, ()),
        ("ann", 2, (1,)),
        ("bea", 2, (4, 5)),
        ("bea", 3, ()),
    ):
        user = find_user(store, name)
        at = LayerRevision(user.id, case_id, open_case(store, user, case_id).revision)
        for token in masked:
            action = ReviewAction(ActionKind.MASK, (TokenRange(token, token + 1),))
            at = LayerRevision(user.id, case_id, act(store, at, action).revision)
        approve(store, at)
    release(store, find_user(store, "carl"), 1)
    draw_sample(store, 1, by="carl")
    assign(store, find_user(store, "dora"), (4,), find_user(store, "bea").id)
    return store


@contextmanager
def serve(store: ReviewStore) -> Iterator[str]:
    """Serve in this process; yield the address."""
    server = uvicorn.Server(
        uvicorn.Config(make_application(store), port=0, log_level="error", access_log=False)
    )
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.05)
    try:
        yield f"http://localhost:{server.servers[0].sockets[0].getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join(30)


def log_in(page: Page, address: str, name: str) -> None:
    """Log in."""
    page.goto(address + "/log-in")
    page.fill("[name=name]", name)
    page.fill("[name=password]", PASSWORD)
    page.keyboard.press("Enter")
    page.wait_for_url(re.compile(r"/(password)?$"))


def find_faults(page: Page, axe: str | None) -> list[str]:
    """Return what axe-core finds, and whether the page scrolls sideways."""
    faults = []
    if page.evaluate("document.documentElement.scrollWidth - innerWidth") > 0:
        faults.append("scrolls sideways")
    if axe is not None:
        page.evaluate(axe + "; 0")
        found: list[dict[str, Any]] = page.evaluate("axe.run(document)")["violations"]
        faults += [
            f"{one['id']} ({one['impact']}): {node['html'][:160]}" for one in found for node in one["nodes"]
        ]
    return faults


def take_all(browser: Browser, address: str, given: argparse.Namespace) -> int:
    """Take all pictures; return the number of faults."""
    axe = given.axe.read_text(encoding="utf-8") if given.axe else None
    n_faults = 0
    for width in WIDTHS:
        for scheme in ("light", "dark"):
            pages: dict[str, Page] = {}
            for picture, (name, path, keys) in PAGES.items():
                if given.only and picture not in given.only:
                    continue
                if name not in pages:
                    size = {"width": width, "height": 820}
                    context = browser.new_context(viewport=size, color_scheme=scheme)  # type: ignore[arg-type]
                    pages[name] = context.new_page()
                    if name:
                        log_in(pages[name], address, name)
                page = pages[name]
                page.goto(address + path)
                if path.startswith(("/cases/3", "/disputes")) and not path.endswith("print"):
                    page.wait_for_selector(READY)
                for key in keys:
                    page.keyboard.press(key)
                page.wait_for_timeout(400)
                page.screenshot(path=given.out / f"{picture}-{width}-{scheme}.png")
                for fault in find_faults(page, axe):
                    sys.stdout.write(f"{picture} {width} {scheme}: {fault}\n")
                    n_faults += 1
    return n_faults


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("out", type=Path)
    parser.add_argument("--axe", type=Path, help="axe.min.js of axe-core")
    parser.add_argument("--only", nargs="*", choices=list(PAGES), help="pages to take, default all")
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    with (
        tempfile.TemporaryDirectory() as folder,
        make_store(Path(folder)) as store,
        serve(store) as address,
        sync_playwright() as playwright,
    ):
        chromium = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        n_faults = take_all(chromium, address, given)
        chromium.close()
    sys.stdout.write(f"{n_faults} faults\n")
    sys.exit(n_faults > 0)


if __name__ == "__main__":
    main()
