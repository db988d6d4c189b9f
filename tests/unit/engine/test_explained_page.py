"""The page of originals beside masked texts: both whole, escaped, self-contained, and bounded."""

import base64
import hashlib
import re
from html import unescape
from pathlib import Path

import pytest
from fake_maskers import BROKEN_STAGE, CANARY, FakeMasker, mask_capitals

from inverse_deid.core.values import Document
from inverse_deid.engine.explained_page import PAGE_MARK
from inverse_deid.engine.explained_page.page import (
    MAX_CHARS,
    MAX_DOCUMENTS,
    ExplainedRun,
    explain_both,
    render_explained,
)
from inverse_deid.engine.jobs.planning import Job
from inverse_deid.engine.tally import Tally
from inverse_deid.formats.records import Record
from inverse_deid.formats.registry import FORMATS

TEXTS = [
    f"seen by Dr. {CANARY} today; then {CANARY}-{CANARY} left\r\n\twell",
    f"{CANARY}",
    "well",
    "",
    " \n ",
    "\u202ewell\u202c done \ud800",
    f"<script>alert('{CANARY}')</script> & \"quoted\" {{{{ 7*7 }}}}",
    f"{BROKEN_STAGE} fell",
    "𝔘 well 𝔘𝔘 done",
]


def mask(text, masker=None):
    return (masker or mask_capitals()).mask_many([Document("1", text)])[0]


def page_of(*texts, place="a.txt"):
    found = [(place, mask(text)) for text in texts]
    return "".join(render_explained(found, Tally(n_documents=len(found))))


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize(
    "masker", [mask_capitals(), FakeMasker(lambda word: True), FakeMasker(lambda word: False)]
)
def test_the_pieces_of_both_sides_are_the_texts(text, masker):
    masked = mask(text, masker)
    shown = explain_both("a", masked)
    assert "".join(piece.text for piece in shown.original) == text
    assert "".join(piece.text for piece in shown.masked) == masked.text
    assert [piece.number for piece in shown.original if piece.number] == list(range(1, len(masked.masks) + 1))
    assert [(one.text, one.other) for one in shown.masks] == [
        (masked.text[a:b], text[c:d]) for (c, d), (a, b) in zip(masked.masks, masked.replaced, strict=True)
    ]
    assert all(piece.why for piece in shown.masks)


def test_everything_of_a_text_is_escaped_and_nothing_runs():
    html = page_of(TEXTS[6], place="<b>a</b>\n.txt")
    assert "<script" not in html
    assert "49" not in re.sub(r"sha256-\S+", "", html).replace("0.49", "")
    assert "&lt;b&gt;a&lt;/b&gt;?.txt" in html
    assert not re.search(r"https?://|\son[a-z]+=|\sstyle=|javascript:|<link|<img|@import|url\(", html)
    policy = unescape(re.search(r'Content-Security-Policy" content="([^"]*)"', html)[1])
    assert policy.startswith("default-src 'none'; style-src 'sha256-")
    style = re.search(r"<style>(.*?)</style>", html, re.DOTALL)[1]
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    assert f"'sha256-{digest}'" in policy
    assert PAGE_MARK in html[:400]
    assert html.count("CONFIDENTIAL") >= 2


def test_the_page_has_both_texts_and_the_reasons():
    html = page_of(TEXTS[0])
    assert CANARY in html
    assert "Masked: may identify a person, follows a title. Seems to be a name." in html
    assert "Kept: is in the lists of ordinary and medical words. 98.7 % sure" in html


def job_of(name, kind="jsonl"):
    return Job(Path(name), name, name, FORMATS[kind], 1, (0, hash(name)), ())


def records(run, job, texts):
    sink = run.watch(job)
    for number, text in enumerate(texts, start=1):
        sink.write(Record(number, columns=("note",)), [mask(text)])
    sink.finish()


def write(run, tmp_path, n_documents):
    path = tmp_path / "page.html"
    run.write(path, Tally(n_documents=n_documents))
    assert path.stat().st_mode & 0o777 == 0o600
    return path.read_text(encoding="utf-8")


def test_files_are_shown_in_the_order_in_which_they_are_complete(tmp_path):
    run = ExplainedRun()
    first, second, third = job_of("a.jsonl"), job_of("b.jsonl"), job_of("c.txt", "text")
    records(run, second, ["well"])
    records(run, first, ["done"])
    records(run, third, ["fine"])
    run.add(first)
    run.add(second)
    run.add(job_of("complete-before.jsonl"))
    html = write(run, tmp_path, 2)
    assert re.findall(r"<h2[^>]*>(\S+ ?\S*) ", html)[:2] == ["a.jsonl, 1,", "b.jsonl, 1,"]
    assert "fine" not in re.sub(r"<style>.*?</style>", "", html, flags=re.DOTALL)  # never completed
    assert "The page shows all 2 documents" in html


@pytest.mark.parametrize(
    "texts", [["well"] * (MAX_DOCUMENTS + 50), ["well " * 2000] * 60, ["x" * (MAX_CHARS + 1), "well"]]
)
def test_a_large_run_is_shown_in_part_and_says_so(tmp_path, texts):
    run = ExplainedRun()
    for half in (texts[: len(texts) // 2], texts[len(texts) // 2 :]):
        job = job_of(f"{len(half)}-{id(half)}.jsonl")
        records(run, job, half)
        run.add(job)
    html = write(run, tmp_path, len(texts))
    n_shown = html.count("<article")
    assert n_shown < len(texts)
    assert n_shown <= MAX_DOCUMENTS
    assert f"<strong>The page shows {n_shown} texts of {len(texts)} documents.</strong>" in html
    assert len(html) < 10_000_000


def test_nothing_of_a_text_is_in_a_repr():
    shown = explain_both("a", mask(TEXTS[0]))
    assert CANARY not in repr(shown) + repr(shown.masks) + repr(ExplainedRun())
