"""The page to try the service, in a real browser; needs Playwright and Debian's chromium.

Without them the tests are skipped, unless `CI` is set. axe-core is looked for at `AXE_CORE` (a file
`axe.min.js`), and without it only that check is left out.
"""

import json
import os
from pathlib import Path

import pytest
from fake_maskers import BROKEN_STAGE, CANARY, FakeMasker
from served_apps import served_app
from word_files import paragraph, simple, zipped

from inverse_deid.choices.table import PERMITS
from inverse_deid.service.app import build_app
from inverse_deid.service.choices import Operator
from inverse_deid.service.clients import Clients
from inverse_deid.service.settings import ServiceSettings

pytestmark = [pytest.mark.browser, pytest.mark.slow]

AXE = Path(os.environ.get("AXE_CORE", "node_modules/axe-core/axe.min.js"))
SECRET = "not-a-secret-0123456789"
TEXT = f"seen by Dr. {CANARY}, 𝔘 today, then {CANARY} left\nwith a rash"
MASKED = "seen by PHI. PHI, PHI today, then PHI left\nwith a rash"
ALL = Operator(permits=frozenset(PERMITS))


class Denying(FakeMasker):
    """Masks capitals, and the deny list of the request."""

    def __init__(self, chosen):
        super().__init__(lambda word: word.islower() and word not in chosen.masking.deny)


def served(**settings):
    """Serve in this process until the block ends; yield the address."""
    return served_app(build_app(Denying, ServiceSettings(**settings)))


def visit(chromium, address, **options):
    page = chromium.new_context(**options).new_page()
    page.set_default_timeout(90_000)
    page.faults, page.asked = [], []
    page.on("pageerror", lambda error: page.faults.append(str(error)))
    page.on("console", lambda message: page.faults.append(message.text) if message.type == "error" else None)
    page.on("request", lambda request: page.asked.append(request))  # noqa: PLW0108 - it needs a Python function
    page.goto(address + "/")
    return page


def serious_faults(page):
    """Return the faults that axe-core finds, if installed; the page must not scroll sideways."""
    assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0
    if not AXE.is_file():
        return []
    page.evaluate(AXE.read_text(encoding="utf-8") + "; 0")
    return [one["id"] for one in page.evaluate("axe.run(document)")["violations"]]


def mask(page, text=TEXT):
    page.fill("#original", text)
    page.keyboard.press("Control+Enter")
    page.wait_for_selector("#masked .w")


def test_a_text_is_masked_and_a_word_tells_why_by_mouse_and_by_keyboard(chromium):
    with served(operator=ALL) as address:
        page = visit(chromium, address)
        assert page.evaluate("document.activeElement.id") == "original"
        mask(page)
        assert page.evaluate("document.getElementById('masked').textContent") == MASKED
        assert page.inner_text("#counts") == "4 of 12 words masked"
        page.hover("#masked .m >> nth=1")
        assert page.inner_text("#why .word") == f"{CANARY} → PHI"
        why = page.inner_text("#why")
        assert "follows a title" in why
        assert "Seems to be a name" in why
        page.focus("#masked")
        page.keyboard.press("Home")
        assert page.inner_text("#why .word") == "seen"
        assert "98.7 % sure that this is not an identifier" in page.inner_text("#why")
        for key, word in (
            ("n", "Dr → PHI"),
            ("n", f"{CANARY} → PHI"),
            ("ArrowRight", "𝔘 → PHI"),
            ("p", f"{CANARY} → PHI"),
            ("End", "rash"),
        ):
            page.keyboard.press(key)
            assert page.inner_text("#why .word") == word
        assert page.inner_text("#spoken").startswith("rash, kept. Kept: ")
        assert page.faults == []


def test_nothing_is_kept_by_the_browser_or_put_into_an_address(chromium):
    with served(operator=ALL) as address:
        page = visit(chromium, address)
        page.click("#choices summary")
        page.fill("#deny", CANARY)
        mask(page)
        kept = page.evaluate(
            "JSON.stringify([{...localStorage}, {...sessionStorage}, document.cookie, location.href, history.state])"
        )
        assert kept == f'[{{}},{{}},"","{address}/",null]'
        assert page.evaluate("caches.keys()") == []
        assert all(CANARY not in request.url for request in page.asked)
        assert {request.url.startswith(address) for request in page.asked} == {True}
        assert page.context.cookies() == []
        page.reload()
        assert page.input_value("#original") == ""
        mask(page)
        page.goto(address + "/docs")
        page.go_back()
        page.wait_for_selector("#original")
        assert CANARY not in page.content()
        assert page.input_value("#original") == page.input_value("#deny") == ""
        page.goto(address + "/")
        mask(page)
        page.click("#clear")
        assert CANARY not in page.inner_text("body") + page.input_value("#original")
        assert page.is_disabled("#copy")


def test_the_choices_are_sent_and_only_those_permitted_are_offered(chromium):
    with served(operator=ALL) as address:
        page = visit(chromium, address)
        page.click("#choices summary")
        for name, value in (
            ("operating_point", "lenient"),
            ("dates", "year"),
            ("ages", "10-years"),
            ("replace", "category"),
        ):
            page.check(f'[name="{name}"][value="{value}"]', force=True)
        page.uncheck('[name="categories"][value="profession"]', force=True)
        page.fill("#deny", "rash\n  Mill Lane \n")
        page.fill("#allow", "Graves")
        mask(page)
        sent = json.loads(page.asked[-1].post_data)
        assert sent["details"] == "words"
        assert sent["settings"] == {
            "operating_point": "lenient",
            "categories": ["name", "place", "date", "age", "contact", "id"],
            "dates": "year",
            "ages": "band",
            "age_bands": "10-years",
            "replace": "category",
            "deny": ["rash", "Mill Lane"],
            "allow": ["Graves"],
        }
        assert page.inner_text("#masked").endswith("with a PHI")
    with served() as address:
        page = visit(chromium, address)
        assert page.locator('[name="dates"], [name="ages"], [name="replace"], #allow').count() == 0
        points = page.locator('[name="operating_point"]').evaluate_all(
            "found => found.map((one) => one.value)"
        )
        assert points == ["strict", "balanced"]
        assert page.locator('[name="categories"]:disabled').count() == 7
        mask(page)
        assert page.faults == []


def test_a_token_is_asked_for_and_kept_in_the_page_alone(chromium):
    with served(clients=Clients.of_token(SECRET)) as address:
        page = visit(chromium, address)
        page.wait_for_selector("#token:focus")
        page.keyboard.type("wrong-token-0123456789")
        page.keyboard.press("Enter")
        page.fill("#original", TEXT)
        page.click("#mask")
        page.wait_for_selector("#token:focus")
        assert "token is missing or wrong" in page.inner_text("#trouble")
        page.keyboard.type(SECRET)
        page.keyboard.press("Enter")
        page.wait_for_selector("#masked .w")
        assert page.asked[-1].headers["authorization"] == f"Bearer {SECRET}"
        assert SECRET not in page.content()
        assert (
            page.evaluate("JSON.stringify([{...localStorage}, {...sessionStorage}, document.cookie])")
            == '[{},{},""]'
        )
        assert page.input_value("#token") == ""


def test_errors_are_said_and_no_old_result_is_left(chromium):
    with served(max_body_bytes=2000) as address:
        page = visit(chromium, address)
        page.click("#mask")
        assert "There is no text" in page.inner_text("#trouble")
        mask(page)
        page.fill("#original", "well " * 1000)
        page.click("#mask")
        page.wait_for_selector("#trouble:not([hidden])")
        assert "larger than 2000 bytes" in page.inner_text("#trouble")
        assert page.locator("#masked .w").count() == 0
        mask(page, f"{BROKEN_STAGE} fell")
        assert "It is masked completely" in page.inner_text("#trouble")


def test_an_empty_box_leaves_no_old_result(chromium):
    with served(operator=ALL) as address:
        page = visit(chromium, address)
        mask(page)
        page.fill("#original", " ")
        page.keyboard.press("Control+Enter")
        page.get_by_text("There is no text. Paste one into the box.").wait_for()
        assert page.locator("#masked .w").count() == 0
        assert page.inner_text("#counts") == ""
        assert page.locator("#copy").is_disabled()


def test_without_details_the_masked_text_alone_is_shown(chromium):
    with served(has_details=False) as address:
        page = visit(chromium, address)
        page.fill("#original", TEXT)
        page.click("#mask")
        page.wait_for_function("() => document.getElementById('masked').textContent.includes('PHI')")
        assert page.evaluate("document.getElementById('masked').textContent") == MASKED
        assert page.locator("#why").count() == 0
        assert "does not show reasons" in page.inner_text("#masked-keys")
        assert page.faults == []


@pytest.mark.parametrize(
    "payload", ["<script>alert(1)</script>", "<img src=x onerror=alert(1)>", "{{7*7}}", '"><b>x</b>']
)
def test_a_text_is_text_and_nothing_else(chromium, payload):
    with served(operator=ALL) as address:
        page = visit(chromium, address)
        mask(page, f"well {payload} done")
        assert page.locator("#masked script, #masked img, #masked b").count() == 0
        page.hover("#masked .m >> nth=0") if page.locator("#masked .m").count() else None
        assert page.locator("#why script, #why img, #why b").count() == 0
        assert page.faults == []


def test_a_file_is_masked_and_saved_under_another_name(chromium, tmp_path):
    letter = zipped(simple(paragraph("seen by ", CANARY[:3], CANARY[3:])))
    with served(operator=ALL) as address:
        page = visit(chromium, address)
        page.click("#file-box summary")
        page.click("#mask-file")
        assert "Choose a file" in page.inner_text("#trouble")
        page.set_input_files("#file", {"name": f"{CANARY}.docx", "mimeType": "x/y", "buffer": letter})
        page.click("#mask-file")
        page.wait_for_selector("#file-done a")
        assert page.inner_text("#file-done").startswith("Save masked.docx")
        with page.expect_download() as download:
            page.click("#file-done a")
        assert download.value.suggested_filename == "masked.docx"
        content = Path(download.value.path()).read_bytes()
        assert content.startswith(b"PK")
        assert CANARY.encode() not in content
        page.set_input_files(
            "#file", {"name": "x.csv", "mimeType": "x/y", "buffer": b"id,narrative\n1,Okonkwo fell\n"}
        )
        page.click("#mask-file")
        page.wait_for_selector("#trouble:not([hidden])")
        assert "It has: id, narrative" in page.inner_text("#trouble")
        page.fill("#text-columns", "narrative")
        page.click("#mask-file")
        page.wait_for_selector("#file-done a")
        assert page.faults == [
            "Failed to load resource: the server responded with a status of 422 (Unprocessable Entity)"
        ] or page.faults == [
            "Failed to load resource: the server responded with a status of 422 (Unprocessable Content)"
        ]


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
def test_axe_finds_no_fault(chromium, scheme, width):
    options = {"color_scheme": scheme, "viewport": {"width": width, "height": 800}}
    with served(operator=ALL, clients=Clients.of_token(SECRET)) as address:
        page = visit(chromium, address, **options)
        assert serious_faults(page) == []
        page.fill("#token", SECRET)
        page.click("#enter")
        mask(page, TEXT * 20)
        page.focus("#masked")
        page.keyboard.press("n")
        page.click("#choices summary")
        page.click("#file-box summary")
        assert serious_faults(page) == []
        page.goto(address + "/docs")
        assert serious_faults(page) == []
