"""A desk as a process of its own with large files: its memory stays small, and the page shows how far it is."""

import contextlib
import io
import re
import sys
import threading
import time
from urllib.parse import quote

import httpx
import psutil
import pytest
from pdf_files import of_text
from test_desk_browser import running

openpyxl = pytest.importorskip("openpyxl", reason="no openpyxl; pip install '.[office]'")
pytestmark = pytest.mark.slow

MAX_MB = {"cases.xlsx": 600, "report.pdf": 700}
"""What a desk and the children that read and write files may take, with both readings.

The pages of the report are one document of 200,000 words, of which all windows wait at once: about 630 MB."""
N_ROWS, N_PAGES = 10_000, 300
STORY = "The patient had a rash after the second dose, was given cetirizine 10 mg and recovered well."


def as_excel():
    workbook = openpyxl.Workbook(write_only=True)
    sheet = workbook.create_sheet()
    sheet.append(["id", "narrative"])
    for number in range(N_ROWS):
        sheet.append([number, f"Case {number}: {STORY} {STORY} {STORY}"])
    target = io.BytesIO()
    workbook.save(target)
    return target.getvalue()


def as_pdf():
    return of_text(*("\n".join(f"{STORY} {page} {n}" for n in range(35)) for page in range(N_PAGES)))


@contextlib.contextmanager
def watching(process, seen):
    """Note the most memory that a process and its children have (PSS, bytes), until the block ends."""
    is_over, watched = threading.Event(), psutil.Process(process.pid)
    seen.append(0)

    def watch():
        while not is_over.wait(0.05):
            with contextlib.suppress(psutil.Error):
                together = [watched, *watched.children(recursive=True)]
                seen[0] = max(seen[0], sum(one.memory_full_info().pss for one in together))

    thread = threading.Thread(target=watch)
    thread.start()
    try:
        yield
    finally:
        is_over.set()
        thread.join()


@pytest.mark.parametrize(
    ("name", "make", "n_documents"), [("cases.xlsx", as_excel, N_ROWS), ("report.pdf", as_pdf, 1)]
)
def test_large_files_take_little_memory_and_show_progress(tmp_path, capsys, name, make, n_documents):
    data, seen = make(), []
    with running(tmp_path / "desk") as (process, address), watching(process, seen):
        base = address.partition("/open/")[0]
        with httpx.Client(base_url=base, timeout=600) as client:
            assert "Refresh" in client.get(address).headers
            token = re.search(r'name="csrf_token" value="([0-9a-f]+)"', client.get("/files").text).group(1)
            headers = {"X-CSRF-Token": token, "X-File-Name": quote(name)}
            added = client.post("/add/file", content=data, headers=headers).json()
            assert (added["state"], added["n_expected"]) == ("ready", n_documents)
            columns = {f"column {added['id']} 0": "id", f"column {added['id']} 1": "masked"}
            (key,) = re.findall(r'name="file" value="(\d+)"', client.get("/choices").text)
            form = {"csrf_token": token, "file": key, **columns}
            assert client.post("/choices", data=form).headers["location"] == "/masking"
            steps = set()
            while (file := client.get("/add/list").json()["files"][0])["state"] in ("queued", "masking"):
                if file["n_done"] and file["seconds_left"] is not None:
                    steps.add(file["n_done"])
                time.sleep(0.2)
            assert (file["state"], file["n_done"]) == ("done", n_documents)
            assert "Next case" in client.get("/").text
    with capsys.disabled():
        sys.stdout.write(f"\n{name}: {seen[0] / 1e6:.0f} MB, {len(steps)} steps of progress\n")
    assert 0 < seen[0] < MAX_MB[name] * 1e6
    assert n_documents == 1 or len(steps) > 5
