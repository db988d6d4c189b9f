"""`inverse-deid desk` in a real browser, from an empty folder to a zip, and after a kill; as the review's tests."""

import csv
import io
import json
import os
import re
import signal
import subprocess
import sys
import time
import zipfile
from contextlib import contextmanager
from email import message_from_bytes, policy
from email.message import EmailMessage
from pathlib import Path

import pytest
from icsr_messages import invent
from opened_files import read_texts
from rtf_files import of_text
from test_review_browser import hold

from inverse_deid.review.pages.door import OPENING

AXE = Path(os.environ.get("AXE_CORE", "node_modules/axe-core/axe.min.js"))
READY = "#reader:not([aria-busy])"
CANARY = "Zebulonova"
TEXT = f"Mrs {CANARY} had a rash two hours after the first dose of ibuprofen 400 mg. Dr {CANARY} stopped the drug."
OTHER = "The patient had nausea and vomiting after amoxicillin 500 mg and recovered after two days."

pytestmark = [pytest.mark.browser, pytest.mark.slow]


def as_csv():
    target = io.StringIO()
    writer = csv.writer(target)
    writer.writerow(["case", "reporter", "narrative", "country"])
    writer.writerows([[f"{CANARY}-{n}", f"Ann {CANARY}", TEXT, "Norway"] for n in range(3)])
    return target.getvalue().encode()


def as_word():
    docx = pytest.importorskip("docx")
    made = docx.Document()
    made.add_paragraph(TEXT)
    made.core_properties.author = CANARY
    target = io.BytesIO()
    made.save(target)
    return target.getvalue()


def as_excel():
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    book.active.append(["patient", "narrative"])
    for _ in range(3):
        book.active.append([f"Ann {CANARY}", TEXT])
    target = io.BytesIO()
    book.save(target)
    return target.getvalue()


def as_pdf():
    canvas = pytest.importorskip("reportlab.pdfgen.canvas")
    target = io.BytesIO()
    page = canvas.Canvas(target)
    page.setAuthor(CANARY)
    for number, line in enumerate(TEXT.split(". ")):
        page.drawString(72, 720 - 14 * number, line)
    page.save()
    return target.getvalue()


def as_email():
    made = EmailMessage()
    made["From"], made["To"] = f"Ann {CANARY} <a@{CANARY}.example>", "safety@example.org"
    made["Subject"] = f"Case of Mrs {CANARY}"
    made.set_content(TEXT)
    return made.as_bytes(policy=policy.SMTP)


def as_zip():
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w") as packed:
        packed.comment = CANARY.encode()
        packed.writestr("folder/narrative.txt", f"{TEXT}\n{OTHER}\n")
        packed.writestr("message.xml", invent("r3", 1, share=0.2, given={"H.1": TEXT}).data)
        packed.writestr("page.html", f"<title>{CANARY}</title><p class={CANARY}>{TEXT}</p><!-- {CANARY} -->")
    return target.getvalue()


FILES = {
    "letter.docx": as_word,
    "sheet.xlsx": as_excel,
    "form.pdf": as_pdf,
    "mail.eml": as_email,
    "cases.csv": as_csv,
    "lines.jsonl": lambda: "".join(
        json.dumps({"id": str(n), "text": TEXT}) + "\n" for n in range(3)
    ).encode(),
    "note.rtf": lambda: of_text(TEXT),
    "bundle.zip": as_zip,
}
"""Eight files of eight kinds, each with the canary."""
N_CASES = 1 + 3 + 1 + 1 + 3 + 3 + 1 + 3

NARRATIVE = "narrative.txt"


@contextmanager
def running(folder, browser=None):
    """Start the real command on a folder, with a program as browser; yield the process and its address."""
    environment = {
        **os.environ,
        "HOME": str(folder.parent / "home"),
        "XDG_CONFIG_HOME": "",
        "PYTHONUNBUFFERED": "1",
        "BROWSER": f"{browser} %s",
    }
    command = [sys.executable, "-m", "inverse_deid.cli.main", "desk", "--folder", str(folder)]
    command += [] if browser else ["--no-browser"]
    process = subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=environment,
        start_new_session=True,
    )
    try:
        yield process, read_address(process)
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGINT)
            process.wait(120)
        process.stdin.close()
        process.stdout.close()


def read_address(process):
    """Return the address that the command prints next."""
    for line in process.stdout:
        if "works once" in line:
            return line.split()[-1]
    raise AssertionError("the command ended without an address")


def open_page(chromium, address, **options):
    page = chromium.new_context(**options).new_page()
    page.set_default_timeout(180_000)
    page.faults = []
    page.on("pageerror", lambda error: page.faults.append(str(error)))
    page.on("console", lambda said: page.faults.append(said.text) if said.type == "error" else None)
    page.goto(address)
    return page


def status_of(page, address):
    """Open an address and return the first response's status; `goto` alone may miss it."""
    with page.expect_response(address) as response:
        page.goto(address)
    return response.value.status


def write_files(folder, names=tuple(FILES)):
    folder.mkdir(exist_ok=True)
    for name in names:
        data = f"{TEXT}\n{OTHER}\n".encode() if name == NARRATIVE else FILES[name]()
        (folder / name).write_bytes(data)
    return [folder / name for name in names]


def choose_files(page, paths):
    page.wait_for_selector("#drop[data-ready]")
    page.set_input_files("#file-input", [str(path) for path in paths])
    page.wait_for_selector("#next:not([hidden])")


def mask_all(page):
    """Answer with the usual choices, and wait for the end of the masking."""
    page.click("#next")
    page.get_by_role("button", name="Mask ").click()
    page.wait_for_selector("#read:not([hidden])")


def approve_case(page):
    """Approve, also if words in doubt were not looked at; return when another page is there."""
    before = page.url
    page.keyboard.press("n")  # a key of its own, so that Enter is not one held for the case before
    page.keyboard.press("Shift+Enter")
    until = time.monotonic() + 180
    while time.monotonic() < until:
        if page.url != before:
            return
        if page.locator("#anyway").is_visible():
            page.wait_for_timeout(800)  # a held key or a double click must not answer
            page.click("#anyway-yes")
        page.wait_for_timeout(100)
    raise AssertionError("the case was not approved")


def correct_by_keyboard(page):
    """Mask the last word of the case, which is not masked."""
    page.keyboard.press("End")
    page.keyboard.press("m")
    page.locator("#saved").get_by_text("stored").wait_for()


def correct_by_mouse(page):
    """Mask another word, which is not masked."""
    page.locator(".original .t").get_by_text("rash", exact=True).first.dblclick()
    page.locator("[data-do=mask]").click()
    page.wait_for_function("() => /stored · 1/.test(document.querySelector('#saved').textContent)")


def unpack(data, name=""):
    """Yield a file and all files in it, whatever it is packed in."""
    yield name, data
    if data[:2] == b"PK":
        with zipfile.ZipFile(io.BytesIO(data)) as packed:
            for one in packed.infolist():
                yield f"{name}/{one.filename}", one.filename.encode() + one.comment
                yield from unpack(packed.read(one), f"{name}/{one.filename}")
    elif name.endswith(".eml"):
        for part in message_from_bytes(data, policy=policy.default).walk():
            if not part.is_multipart():
                yield f"{name} part", part.get_payload(decode=True) or b""
    elif name.endswith(".pdf"):
        pdfium = pytest.importorskip("pypdfium2")
        document = pdfium.PdfDocument(data)
        yield f"{name} text", "".join(page.get_textpage().get_text_range() for page in document).encode()
        yield f"{name} facts", repr(document.get_metadata_dict()).encode()
        document.close()


def test_from_an_empty_folder_to_a_zip_without_a_canary(chromium, expect, tmp_path):
    paths = write_files(tmp_path / "in")
    with running(tmp_path / "desk") as (_, address):
        page = open_page(chromium, address, accept_downloads=True)
        page.wait_for_url("**/add")
        assert str(tmp_path / "desk") in page.inner_text("main")
        choose_files(page, paths)
        assert page.inner_text("#summary") == "8 files are ready"
        page.click("#next")
        expect(page.locator("fieldset.column")).to_have_count(2 + 4 + 2)
        page.get_by_label("Leave the year").check()
        page.locator("#example:not([aria-busy])", has_text="2021").wait_for()
        page.get_by_role("button", name="Mask 8 files").click()
        page.wait_for_url("**/masking")
        page.reload()
        page.wait_for_selector("#read:not([hidden])")
        assert "8 of 8 files are masked" in page.inner_text("#summary")
        page.click("#read")
        page.get_by_role("link", name="Next case").click()
        page.wait_for_url("**/cases/*")
        n_cases, corrections = 0, [correct_by_keyboard, correct_by_mouse]
        while "/cases/" in page.url:
            page.wait_for_selector(READY)
            ends_as_text = page.locator(".original .t").last.text_content() == "drug"
            if corrections and ends_as_text:  # a case report can end with another text
                corrections.pop(0)(page)
            approve_case(page)
            n_cases += 1
        assert (n_cases, corrections) == (N_CASES, [])
        page.goto(address.partition("open/")[0] + "files")
        with page.expect_download() as started:
            page.get_by_role("button", name="Download all as a zip").click()
        packed = zipfile.ZipFile(started.value.path())
        assert set(FILES) < set(packed.namelist())
        found = [
            name for name, data in unpack(Path(started.value.path()).read_bytes()) if CANARY.encode() in data
        ]
        assert found == []
        assert page.faults == []
    texts = read_texts({name: packed.read(name) for name in packed.namelist()}, tmp_path / "opened")
    assert len(texts) == len(FILES) + 2 + 2  # three files in the zip, and both reports
    assert {name for name, text in texts.items() if "ibuprofen" not in text} == {
        "run-report.json",
        "release-report.html",
    }
    shown = "\n".join(texts.values())
    assert CANARY not in shown
    # One word was masked by keyboard, another one by mouse, each in one case.
    found = shown.count("drug"), len(re.findall(r"had\s+a\s+rash", shown))
    assert found == (N_CASES - 1, N_CASES - 1)


def test_no_argument_of_the_browser_has_the_address(chromium, tmp_path):
    folder, program, given = tmp_path / "desk", tmp_path / "browser", tmp_path / "arguments"
    program.write_text(f'#!/bin/sh\necho "$@" > {given}.new && mv {given}.new {given}\n')
    program.chmod(0o700)
    with running(folder, program) as (_, address):
        until = time.monotonic() + 120
        while not given.exists() and time.monotonic() < until:
            time.sleep(0.05)
        assert given.read_text() == f"{(folder / OPENING).as_uri()}\n"
        assert (folder / OPENING).stat().st_mode & 0o777 == 0o600
        assert address in (folder / OPENING).read_text()
        page = open_page(chromium, given.read_text().strip())
        page.wait_for_selector("#drop[data-ready]")
        assert page.url.endswith("/add")
        assert not (folder / OPENING).exists()
        assert page.faults == []


def test_after_a_kill_nothing_is_lost_and_nothing_is_in_the_clear(chromium, expect, tmp_path):
    folder = tmp_path / "desk"
    lines = [json.dumps({"id": str(n), "text": f"{TEXT} {OTHER} {n}"}) for n in range(20_000)]
    (tmp_path / "big.jsonl").write_text("\n".join(lines))
    (path,) = write_files(tmp_path / "in", (NARRATIVE,))
    with running(folder) as (process, address):
        page = open_page(chromium, address)
        choose_files(page, [path])  # the files are masked in the order in which they came
        choose_files(page, [tmp_path / "big.jsonl"])
        page.locator("#summary", has_text="2 files are ready").wait_for()
        page.click("#next")
        page.get_by_role("button", name="Mask 2 files").click()
        page.locator("li", has_text="narrative.txt").get_by_text("masked").wait_for()
        page.locator("li", has_text="big.jsonl").get_by_text(" of 20,000 documents").wait_for()
        os.kill(process.pid, signal.SIGKILL)
        process.wait(120)
        page.close()
    found = list(folder.rglob("*"))
    assert found
    for file in found:
        if file.is_file():
            assert CANARY.encode() not in file.read_bytes(), file.name
    with running(folder) as (_, address):
        page = open_page(chromium, address)
        page.goto(address.partition("open/")[0] + "masking")
        big = page.locator("li", has_text="big.jsonl")
        big.get_by_text("stopped").wait_for()
        page.locator("li", has_text="narrative.txt").get_by_text("masked").wait_for()
        big.get_by_role("button", name="Go on").click()
        big.get_by_text(" of 20,000 documents").wait_for()
        big.get_by_role("button", name="Stop").click()
        big.get_by_text("stopped").wait_for()
        big.get_by_role("button", name="Remove").click()
        big.wait_for(state="detached")
        page.get_by_role("link", name="Read the documents").click()
        expect(page.locator("table.cases tbody tr")).to_have_count(1)
        assert page.faults == []


def test_a_stopped_file_goes_on_and_a_held_key_deletes_nothing(chromium, tmp_path):
    n_lines = 16_000
    lines = [json.dumps({"id": str(n), "text": f"{TEXT} {n}"}) for n in range(n_lines)]
    (tmp_path / "big.jsonl").write_text("\n".join(lines))
    with running(tmp_path / "desk") as (_, address):
        page = open_page(chromium, address)
        choose_files(page, [tmp_path / "big.jsonl"])
        page.click("#next")
        page.get_by_role("button", name="Mask the file").click()
        page.locator("li .told", has_text=" of 16,000 documents").wait_for()
        page.get_by_role("button", name="Stop big.jsonl").click()
        page.get_by_text("1 stopped").wait_for()
        page.goto(address.partition("open/")[0])
        page.get_by_text("The store has no cases yet.").wait_for()
        page.go_back()
        page.get_by_role("button", name="Go on big.jsonl").click()
        page.wait_for_selector("#read:not([hidden])", timeout=600_000)
        page.get_by_text("masked · 16,000 documents").wait_for()

        page.goto(address.partition("open/")[0] + "files")
        page.get_by_role("link", name="Delete everything").focus()
        hold(page, "Enter", "Enter", seconds=3, shift=False)
        page.get_by_text("1 file with 16,000 documents, of which 0 are approved").wait_for()
        hold(page, " ", "Space", seconds=1, shift=False)
        assert page.get_by_role("heading", name="Delete everything?").is_visible()
        page.get_by_label("Yes, delete").focus()
        page.keyboard.press("Space")
        page.keyboard.press("Tab")
        page.keyboard.press("Enter")
        page.get_by_text("This was deleted").wait_for()
        page.get_by_text("16,000 documents").wait_for()
        assert page.faults == []


def test_a_file_is_masked_again_and_keeps_the_decisions_that_fit(chromium, expect, tmp_path):
    (path,) = write_files(tmp_path / "in", (NARRATIVE,))
    with running(tmp_path / "desk") as (_, address):
        home = address.partition("open/")[0]
        page = open_page(chromium, address)
        choose_files(page, [path])
        mask_all(page)
        page.goto(home + "next")
        page.wait_for_selector(READY)
        correct_by_keyboard(page)
        approve_case(page)
        page.goto(home + "files")
        page.get_by_role("link", name=f"Mask again: {NARRATIVE}").click()
        page.get_by_text("Every approval ends (1 document is approved now)").wait_for()
        page.get_by_role("button", name="Choose again").click()
        page.get_by_label("Leave the year").check()
        page.get_by_role("button", name="Mask ").click()
        page.get_by_text("Decisions and notes on 1 document were carried over.").wait_for()
        page.get_by_text("1 document was approved and must be approved again.").wait_for()
        page.goto(home + "files")
        expect(page.locator("table.files tbody tr")).to_have_count(1)
        page.goto(home + "next")
        page.wait_for_selector(READY)
        assert page.url.endswith("/cases/2")
        approve_case(page)
        page.goto(home + "files")
        with page.expect_download() as started:
            page.get_by_role("button", name=f"Download {NARRATIVE}").click()
        text = started.value.path().read_text(encoding="utf-8")
        assert page.faults == []
    assert text.endswith("recovered after two PHI.\n")  # its last word was masked by hand before


def test_a_second_start_opens_the_running_desk_and_enter_gives_a_new_address(chromium, tmp_path):
    folder = tmp_path / "desk"
    with running(folder) as (process, address):
        page = open_page(chromium, address)
        page.wait_for_selector("#drop")
        page.context.clear_cookies()
        assert status_of(page, address) == 403
        assert "press Enter" in page.inner_text("main")
        process.stdin.write("\n")
        process.stdin.flush()
        second = read_address(process)
        assert status_of(page, second) == 200
        page.context.clear_cookies()
        with running(folder) as (other, third):
            assert other.wait(120) == 0
            assert third.partition("open/")[0] == address.partition("open/")[0]
            assert status_of(page, third) == 200


def test_dropped_files_are_added_and_hidden_ones_are_not(chromium, tmp_path):
    with running(tmp_path / "desk") as (_, address):
        page = open_page(chromium, address)
        page.wait_for_selector("#drop[data-ready]")
        dropped = page.evaluate_handle(
            "() => { const given = new DataTransfer();"
            "for (const name of ['a.txt', '.DS_Store', '~$a.docx', 'b.xyz'])"
            "  given.items.add(new File(['seen by Ann'], name)); return given; }"
        )
        page.dispatch_event("#drop", "drop", {"dataTransfer": dropped})
        page.wait_for_selector("#next:not([hidden])")
        page.get_by_text("Has a file type that is not known").wait_for()
        assert page.locator("#files .name").all_inner_texts() == ["a.txt", "b.xyz"]
        page.locator("li", has_text="b.xyz").get_by_role("button", name="Remove").click()
        page.locator("li", has_text="b.xyz").wait_for(state="detached")
        page.reload()
        page.wait_for_selector("#next:not([hidden])")
        assert page.locator("#files .name").all_inner_texts() == ["a.txt"]
        assert page.faults == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1280])
def test_axe_finds_no_fault_on_any_page(chromium, tmp_path, scheme, width):
    if not AXE.is_file():
        pytest.skip("no axe-core; npm install --no-save axe-core")

    def check(page):
        assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0
        page.evaluate(AXE.read_text(encoding="utf-8") + "; 0")
        assert [one["id"] for one in page.evaluate("axe.run(document)")["violations"]] == []

    paths = write_files(tmp_path / "in", (NARRATIVE, "cases.csv"))
    (tmp_path / "in" / "picture.png").write_bytes(b"\x89PNG")
    with running(tmp_path / "desk") as (_, address):
        page = open_page(chromium, address, color_scheme=scheme, viewport={"width": width, "height": 800})
        page.wait_for_selector("#drop[data-ready]")
        check(page)
        choose_files(page, [*paths, tmp_path / "in" / "picture.png"])
        check(page)
        with page.expect_navigation():
            page.click("#next")
        page.locator("input[value=kept]").last.check(force=True)
        page.locator("input[value='kept unchecked']").nth(1).check(force=True)
        page.wait_for_selector("#example:not([aria-busy])")
        check(page)
        page.get_by_role("button", name="Mask ").click()
        page.get_by_text("Column “reporter” would be copied unmasked").wait_for()
        page.wait_for_selector("#example:not([aria-busy])")
        check(page)
        page.get_by_label("Copy “reporter” unmasked").check()
        page.get_by_role("button", name="Mask ").click()
        page.wait_for_selector("#read:not([hidden])")
        check(page)
        with page.expect_navigation():
            page.click("#read")
        check(page)
        page.goto(address.partition("open/")[0] + "next")
        page.wait_for_selector(READY)
        approve_case(page)
        page.wait_for_selector(READY)
        check(page)
        page.get_by_role("button", name="Undo approval").click()
        page.get_by_text("Your decisions are kept.").wait_for()
        page.wait_for_selector(READY)
        approve_case(page)
        page.goto(address.partition("open/")[0] + "cases/2")
        page.locator(".row2.copied", has_text=f"Ann {CANARY}").wait_for()
        check(page)
        for path in ("files", "files/again?source=1", "files/delete"):
            page.goto(address.partition("open/")[0] + path)
            check(page)
        page.get_by_label("Yes, delete").check()
        with page.expect_navigation():  # a click waits until the button takes it
            page.get_by_role("button", name="Delete").click()
        page.get_by_text("This was deleted").wait_for()
        check(page)
        page.goto(address)
        page.context.clear_cookies()
        page.goto(address)
        check(page)
