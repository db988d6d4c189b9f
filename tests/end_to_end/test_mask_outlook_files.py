"""`inverse-deid mask` on e-mails of Outlook (.msg)."""

import json
import random
import re
import struct

import pytest
from fake_maskers import CANARY
from outlook_files import attachment, compound, message, recipient, stream, text
from test_mask_emails import Canaries, attachments_of, body_of, read_back, shown
from word_files import paragraph, simple, zipped

pytest.importorskip("oxmsg")

NOTE = f"{CANARY} had urticaria on 12 May."
MASKED = "PHI had urticaria on PHI."
CLASS, SUBJECT, BODY, HTML, RTF = 0x001A, 0x0037, 0x1000, 0x1013, 0x1009
DATA, NAME, TYPE = 0x3701, 0x3707, 0x370E


def hostile_message(c: Canaries, *, is_deep: bool = True) -> bytes:
    """A message with a canary in every property, recipient, and attachment."""
    inner = message(
        text(SUBJECT, f"inner {c()}"), text(BODY, f"inner text {c()}"), text(0x0C1A, c()), is_inner=True
    )
    others = [
        text(number, c()) for number in (0x0C1A, 0x0C1F, 0x0042, 0x0070, 0x007D, 0x0E04, 0x1035, 0x8001)
    ]
    tree = message(
        text(CLASS, "IPM.Note"),
        text(SUBJECT, f"rash of {c()} =?utf-8?q?{c()}?="),
        text(BODY, f"{c()} had a rash.\r\nbye {c()}"),
        (stream(HTML, 0x0102), f"<p>{c()}</p>".encode()),
        (stream(RTF, 0x0102), c().encode() * 400),
        *others,
        (f"__nameid_{c()}", {"__properties_version1.0": c().encode()}),
        recipient(0, text(0x3001, c()), text(0x3003, f"{c()}@x.invalid")),
        attachment(
            0,
            (stream(DATA, 0x0102), zipped(simple(paragraph(c())))),
            text(NAME, f"{c()}.DOCX"),
            text(0x3704, c()),
        ),
        attachment(
            1, (stream(DATA, 0x0102), c().encode()), text(NAME, f"{c()}.png"), text(TYPE, "image/png")
        ),
        attachment(2, (stream(DATA, 0x0102), c().encode()), text(NAME, f"{c()}.{c()}")),
        attachment(3, (stream(DATA, 0x000D), inner), text(NAME, c()), method=5),
        attachment(4, text(NAME, f"{c()}.txt"), text(0x3708, f"file://{c()}"), method=2),
        attachment(5, (stream(DATA, 0x000D), {f"Package{c()}": c().encode()}), method=6),
        attachment(6, (stream(DATA, 0x0102), f"last {c()}".encode()), text(NAME, "x.txt")),
    )
    return compound(tree)


def test_no_canary_of_a_hostile_message_stays(command, given, out, tmp_path):
    canaries = Canaries()
    (given / "a.msg").write_bytes(hostile_message(canaries))
    report = tmp_path / "report.json"
    result = command("mask", given, "--out", out, "--explain", "--run-report", report)
    assert canaries.n > 30
    assert result.status == 1
    data = (out / "a.msg.eml").read_bytes()
    mail = read_back(data)
    everything = shown(data) + (out / "a.msg.eml.explain.jsonl").read_bytes() + report.read_bytes()
    assert re.findall(rb"(?i)qx[0-9]{3}", everything + result.stderr.encode()) == []
    assert mail["Subject"] == "rash of PHI = ?utf-PHI?q?PHI?="
    assert body_of(mail).splitlines()[:2] == ["PHI had a rash.", "bye PHI"]
    assert list(attachments_of(mail)) == ["attachment-01.docx", "attachment-03.eml", "attachment-05.txt"]
    inner = attachments_of(mail)["attachment-03.eml"]
    assert (inner["Subject"], body_of(inner).strip()) == ("inner PHI", "inner text PHI")
    assert "embedded object (1)" in result.stderr
    assert "attachment 2" in result.stderr
    assert "attachment 4 is only a link" in result.stderr.replace(":", "")


def test_a_message_of_outlook_becomes_an_eml_file(command, given, out, tmp_path):
    tree = message(
        text(SUBJECT, f"rash of {CANARY}"),
        (stream(BODY, 0x001E), f"{NOTE} naïve".encode("cp1252")),
        attachment(0, (stream(DATA, 0x0102), f"id,text\n7,{NOTE}\n".encode()), text(NAME, "t.csv")),
    )
    (given / f"{CANARY}.msg").write_bytes(compound(tree))
    options = ("--rename", tmp_path / "names.csv", "--explain")
    result = command("mask", given, "--out", out, *options)
    assert result.status == 0, result.stderr
    assert not [path.name for path in out.iterdir() if CANARY in path.name]
    mail = read_back((out / "document-0001.msg.eml").read_bytes())
    assert body_of(mail).strip() == f"{MASKED} naïve"
    assert mail["Subject"] == "rash of PHI"
    lines = (out / "document-0001.msg.eml.explain.jsonl").read_text().splitlines()
    assert [json.loads(line)["id"] for line in lines] == ["document-0001.msg.eml", "case-0001"]


def test_a_page_alone_becomes_text(command, given, out):
    tree = message(text(SUBJECT, "x"), (stream(HTML, 0x0102), f"<p title='{CANARY}'>{NOTE}</p>".encode()))
    (given / "a.msg").write_bytes(compound(tree))
    assert command("mask", given, "--out", out).status == 0
    assert body_of(read_back((out / "a.msg.eml").read_bytes())).strip() == MASKED


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (compound(message(text(CLASS, "IPM.Note.SMIME"), text(BODY, NOTE))), "encrypted"),
        (compound(message(text(CLASS, "IPM.Contact"), text(BODY, NOTE))), "contact"),
        (compound({"WordDocument": NOTE.encode()}), "not an Outlook e-mail"),
        (compound(message()), "no text"),
        (NOTE.encode() * 100, "not an Outlook e-mail"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + NOTE.encode() * 100, "not an Outlook e-mail"),
    ],
)
def test_other_files_are_refused(command, given, out, data, words):
    (given / "a.msg").write_bytes(data)
    result = command("mask", given, "--out", out)
    assert result.status == 2
    assert words in result.stderr
    assert CANARY not in result.stderr
    assert not (out / "a.msg.eml").exists()


def test_a_text_that_is_only_rtf_is_listed(command, given, out):
    tree = message(text(SUBJECT, "rash"), (stream(RTF, 0x0102), NOTE.encode()))
    (given / "a.msg").write_bytes(compound(tree))
    result = command("mask", given, "--out", out)
    assert result.status == 1
    assert "RTF" in result.stderr
    assert CANARY.encode() not in shown((out / "a.msg.eml").read_bytes())


def test_entries_that_share_their_bytes_do_not_fill_the_memory(command, given, out):
    """A directory may say of many entries that they are the same long stream."""
    tree = message(text(SUBJECT, "x"), *(text(0x8000 + n, "y" * 9000) for n in range(40)))
    data = bytearray(compound(tree))
    data = data.replace(struct.pack("<Q", 18_000), struct.pack("<Q", len(data)))
    (given / "a.msg").write_bytes(data)
    result = command("mask", given, "--out", out)
    assert result.status == 2
    assert "damaged" in result.stderr


@pytest.mark.parametrize("seed", range(40))
def test_damaged_messages_give_a_clear_error_or_masked_text(command, given, out, seed):
    rng = random.Random(seed)
    data = bytearray(hostile_message(Canaries()))
    for _ in range(rng.randrange(1, 20)):
        place = rng.randrange(len(data))
        data[place] = rng.randrange(256)
    (given / "a.msg").write_bytes(data[: rng.choice([len(data), rng.randrange(len(data))])])
    result = command("mask", given, "--out", out)
    assert result.status in (0, 1, 2)
    assert "Traceback" not in result.stderr
    assert re.findall(r"(?i)qx[0-9]{3}", result.stderr) == []
    if (out / "a.msg.eml").exists():
        written = (out / "a.msg.eml").read_bytes()
        read_back(written)
        assert re.findall(rb"Qx[0-9]{3}", shown(written)) == []
