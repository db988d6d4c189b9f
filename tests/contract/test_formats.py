"""Every format keeps what is kept, leaks nothing that is masked, and never quotes a narrative."""

import io
import json
import logging
import re

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from excel_files import workbook_of
from fake_maskers import CANARY, keep_all, mask_all
from pdf_files import of_text as as_pdf
from rtf_files import of_text as as_rtf
from word_files import paragraph, simple, zipped

from inverse_deid.cli.parts.messages import describe_error
from inverse_deid.core.errors import InputError
from inverse_deid.engine.masker import mask_records
from inverse_deid.formats.records import Format, ReadOptions
from inverse_deid.formats.registry import FORMATS

TEXTS = [
    f"Ms. {CANARY} had a rash on day 3.",
    'Café, naïve; «fièvre» 38.5 °C\n\n"quoted", it\'s <b>&amp; ]]> 100 %\ttab',
    "",
    "  leading and trailing  ",
    "𝔘nicode 日本 e\u0301",
]


def as_text(text: str) -> bytes:
    return text.encode()


def as_i2b2(text: str) -> bytes:
    escaped = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    tag = f'<NAME id="P0" start="0" end="2" text="{CANARY}" TYPE="PATIENT" comment="{CANARY}" />'
    return f"<deIdi2b2><TEXT>{escaped}</TEXT><TAGS>{tag}</TAGS></deIdi2b2>".encode()


def as_jsonl(*texts: str) -> bytes:
    lines = [
        json.dumps({"id": f"d{i}", "text": t, "meta": {"patient": CANARY}, "spans": []})
        for i, t in enumerate(texts)
    ]
    return "\n".join(lines).encode()


def as_csv(*texts: str) -> bytes:
    rows = ['"' + t.replace('"', '""') + f'",{i}' for i, t in enumerate(texts)]
    return "\n".join(["text,age", *rows, ""]).encode()


def as_parquet(*texts: str) -> bytes:
    target = io.BytesIO()
    pq.write_table(pa.table({"age": list(range(len(texts))), "text": list(texts)}), target)
    return target.getvalue()


def as_xlsx(*texts: str) -> bytes:
    return workbook_of(["text", "age"], *([text, number] for number, text in enumerate(texts)))


def as_docx(text: str) -> bytes:
    return zipped(simple(paragraph(text)))


def as_html(text: str) -> bytes:
    escaped = text.replace("&", "&amp;").replace("<", "&lt;")
    return f"<!-- {CANARY} --><title>{CANARY}</title><pre title='{CANARY}'>{escaped}</pre>".encode()


def texts_of(data: bytes, kind: Format) -> list[str]:
    source = kind.open(io.BytesIO(data), ReadOptions(), "name")
    return [record.doc.text for record in source.records() if record.doc is not None]


def through(data: bytes, kind: Format, masker) -> bytes:
    source = kind.open(io.BytesIO(data), ReadOptions(), "name")
    target = io.BytesIO()
    target.close, closed = lambda: None, target.close
    sink = source.sink(target)
    records = list(source.records())
    for record, masked in zip(records, mask_records(masker, records), strict=True):
        sink.write(record, masked)
    sink.finish()
    written = target.getvalue()
    closed()
    return written


TABLES = {
    FORMATS["jsonl"]: as_jsonl,
    FORMATS["csv"]: as_csv,
    FORMATS["parquet"]: as_parquet,
    FORMATS["xlsx"]: as_xlsx,
}
CASES = (
    [(name, write(*TEXTS), TEXTS) for name, write in TABLES.items()]
    + [(FORMATS["text"], as_text(t), [t]) for t in TEXTS if t]
    + [(FORMATS["i2b2"], as_i2b2(t), [t]) for t in TEXTS]
    + [(FORMATS["docx"], as_docx(t), [t]) for t in TEXTS]
    + [(FORMATS["html"], as_html(t), [t]) for t in TEXTS if t]
    + [(FORMATS["rtf"], as_rtf(t), [t]) for t in TEXTS if t and t == t.strip()]
    + [
        (FORMATS["pdf"], as_pdf(t), [t])
        for t in (TEXTS[0], 'Café, naïve; «fièvre» 38.5 °C.\n"Quoted", it\'s <b>&amp; ]]> 100 %')
    ]
)


@pytest.mark.parametrize(("kind", "data", "texts"), CASES)
def test_reader_yields_the_texts_exactly(kind, data, texts):
    assert texts_of(data, kind) == texts


@pytest.mark.parametrize(("kind", "data", "texts"), CASES)
def test_keeping_everything_gives_the_same_texts_back(kind, data, texts):
    safe = [t.replace("e\u0301", "e\u25a1") for t in texts]
    assert texts_of(through(data, kind, keep_all()), kind) == safe


@pytest.mark.parametrize(("kind", "data", "texts"), CASES)
def test_masking_everything_leaves_no_word_in_the_file(kind, data, texts):
    written = through(data, kind, mask_all())
    assert CANARY.encode() not in written
    assert all(word not in written.decode("utf-8", "replace") for word in ("rash", "fièvre", "日本"))
    assert all(set("PHI") >= set(filter(str.isalnum, text)) for text in texts_of(written, kind))


DAMAGED = f"{CANARY} café naïve fièvre".encode() + b"\xe9"
"""UTF-8, apart from one byte."""

BROKEN = [
    (FORMATS["text"], DAMAGED),
    (FORMATS["text"], f"{CANARY}\0".encode()),
    (FORMATS["text"], CANARY.encode("utf-16") + b"x"),
    (FORMATS["text"], b""),
    (FORMATS["i2b2"], f"<deIdi2b2><TEXT>{CANARY}</{CANARY}>".encode()),
    (FORMATS["i2b2"], f"<a><{CANARY}/></a>".encode()),
    (FORMATS["i2b2"], f"<a><TEXT>{CANARY}<b/></TEXT></a>".encode()),
    (FORMATS["i2b2"], f'<!DOCTYPE a [<!ENTITY x "{CANARY}">]><a><TEXT>&x;</TEXT></a>'.encode()),
    (FORMATS["i2b2"], f"{CANARY}".encode()),
    (FORMATS["csv"], f"a,b\n{CANARY},x\n".encode()),
    (FORMATS["csv"], f'text\n"{CANARY}'.encode()),
    (FORMATS["csv"], f'text\n"{CANARY}"x,\n'.encode()),
    (FORMATS["csv"], b"text\n" + DAMAGED + b"\n"),
    (FORMATS["csv"], b""),
    (FORMATS["parquet"], CANARY.encode()),
    (FORMATS["parquet"], as_parquet(CANARY)[:-9]),
    (FORMATS["parquet"], as_parquet(CANARY).replace(b"text", b"tex_")),
    (FORMATS["jsonl"], CANARY.encode("utf-16") + b"x"),
    (FORMATS["json"], b'{"text": "' + DAMAGED + b'"}'),
    (FORMATS["json"], f'{{"text": "{CANARY}"}}'.encode("utf-16") + b"x"),
    (FORMATS["xlsx"], CANARY.encode()),
    (FORMATS["xlsx"], as_xlsx(CANARY)[:-30]),
    (FORMATS["xlsx"], as_xlsx(CANARY).replace(b"sheet1.xml", b"sheet2.xml")),
    (FORMATS["xlsx"], as_docx(CANARY)),
    (FORMATS["docx"], as_xlsx(CANARY)),
    (FORMATS["docx"], CANARY.encode()),
    (FORMATS["docx"], as_docx(CANARY)[:-30]),
    (FORMATS["docx"], as_docx(CANARY).replace(b"word/document", b"word/documen_")),
    (FORMATS["pdf"], CANARY.encode()),
    (FORMATS["pdf"], as_pdf(CANARY)[:-30]),
    (FORMATS["pdf"], as_pdf(CANARY, "")[:200] + b"%%EOF"),
    (FORMATS["rtf"], CANARY.encode()),
    (FORMATS["rtf"], as_rtf(CANARY)[:-1]),
    (FORMATS["html"], b"<p>" + DAMAGED),
    (FORMATS["html"], f"<script>{CANARY}</script>".encode()),
]


@pytest.mark.parametrize(("kind", "data"), BROKEN)
def test_a_broken_file_is_an_error_with_a_remedy_and_without_text(kind, data, caplog):
    caplog.set_level(logging.DEBUG)
    with pytest.raises(InputError) as caught:
        texts_of(data, kind)
    message = describe_error(caught.value)
    assert re.search("[;.] ", message)
    assert CANARY not in message + repr(caught.value) + caplog.text
    assert caught.value.__context__ is None


BROKEN_LINES = [
    f"{CANARY}".encode(),
    f'["{CANARY}"]'.encode(),
    f'{{"id": "{CANARY}"}}'.encode(),
    f'{{"id": 1, "text": ["{CANARY}"]}}'.encode(),
    f'{{"id": {{"name": "{CANARY}"}}, "text": "x"}}'.encode(),
    f'{{"id": true, "text": "{CANARY}"}}'.encode(),
    f'{{"text": "{CANARY} \\ud800"}}'.encode(),
    b'{"text": "' + DAMAGED + b'"}',
    b"[" * 100_000,
]


@pytest.mark.parametrize("line", BROKEN_LINES)
def test_a_broken_line_is_reported_by_number_and_the_others_are_read(line):
    data = b'{"text": "first"}\n' + line + b'\n{"text": "third"}\n'
    source = FORMATS["jsonl"].open(io.BytesIO(data), ReadOptions(), "name")
    first, second, third = source.records()
    assert (first.doc.text, third.doc.text) == ("first", "third")
    assert second.number == 2
    assert second.doc is None
    assert second.problem
    assert CANARY not in repr(second)
    assert CANARY not in second.problem


@pytest.mark.parametrize(("kind", "data", "texts"), CASES)
def test_no_repr_shows_a_narrative(kind, data, texts):
    source = kind.open(io.BytesIO(data), ReadOptions(), "name")
    records = list(source.records())
    masked = mask_records(keep_all(), records)
    assert CANARY not in repr(source) + repr(records) + repr(masked) + repr(source.sink(io.BytesIO()))


def test_every_suffix_has_one_usual_format():
    usual = [suffix for one in FORMATS.values() if one.is_head is None for suffix in one.suffixes]
    assert len(usual) == len(set(usual))
    assert {suffix for one in FORMATS.values() for suffix in one.suffixes} == set(usual)


@pytest.mark.parametrize("kind", FORMATS.values(), ids=str)
def test_what_a_format_can_do_fits_together(kind):
    assert FORMATS[kind.name] is kind
    assert not (kind.is_single_document and kind.can_be_split)
    assert not (kind.is_split_by_row_group and not kind.can_be_split)
    assert repr(kind) == kind.name
