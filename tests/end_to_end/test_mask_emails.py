"""`inverse-deid mask` on e-mails: subject, text and attachments masked, and nothing else of them."""

import base64
import binascii
import io
import json
import quopri
import random
import re
import zipfile
from email import message_from_bytes, policy
from email.message import EmailMessage

import pytest
from fake_maskers import CANARY
from word_files import paragraph, simple, zipped

NOTE = f"{CANARY} had urticaria on 12 May."
MASKED = "PHI had urticaria on PHI."


class Canaries:
    """Words of one beginning, each used once, so that a word in the output says where it came from."""

    def __init__(self) -> None:
        self.n = 0

    def __call__(self) -> str:
        self.n += 1
        return f"Qx{self.n:03d}canary"


def read_back(data: bytes) -> EmailMessage:
    """Parse a masked e-mail strictly; it must be well-formed, also every message in it."""
    message = message_from_bytes(data, policy=policy.default.clone(raise_on_defect=True))
    assert data.isascii()
    assert all(len(line) <= 998 for line in data.split(b"\r\n"))
    assert b"\n" not in data.replace(b"\r\n", b"")
    for part in message.walk():
        assert not part.defects
        if not part.is_multipart():
            part.get_content()
    return message


def shown(data: bytes) -> bytes:
    """All bytes of an e-mail, encoded, decoded, and unpacked."""
    found = [data]
    message = message_from_bytes(data, policy=policy.default)
    for part in message.walk():
        found += [f"{name}: {value}".encode("utf-8", "replace") for name, value in part.items()]
        content = part.get_payload(decode=True)
        if isinstance(content, bytes):
            found.append(content)
            if content.startswith(b"PK"):
                with zipfile.ZipFile(io.BytesIO(content)) as archive:
                    found += [archive.read(name) + name.encode() for name in archive.namelist()]
    return b"\n".join(found)


def body_of(message: EmailMessage) -> str:
    return message.get_body(("plain",)).get_content()


def attachments_of(message: EmailMessage) -> dict[str, object]:
    return {part.get_filename(): part.get_content() for part in message.iter_attachments()}


def write_mail(folder, raw: bytes | EmailMessage, name: str = "a.eml"):
    data = raw if isinstance(raw, bytes) else raw.as_bytes(policy=policy.SMTP)
    (folder / name).write_bytes(data)
    return data


# ---- what stays


def test_subject_text_and_attachments_are_masked(command, given, out):
    mail = EmailMessage()
    mail["Subject"] = f"Rash of {CANARY}"
    mail["From"] = f"{CANARY} <a@b.invalid>"
    mail["Date"] = "Tue, 12 May 2020 09:30:00 +0200"
    mail.set_content(f"{NOTE}\n\nRegards,\n{CANARY}\n")
    mail.add_alternative(f"<p>{NOTE}</p>", subtype="html")
    mail.add_attachment(f"id,text\n7,{NOTE}\n", subtype="csv", filename=f"{CANARY}.CSV")
    mail.add_attachment(
        zipped(simple(paragraph(NOTE))), maintype="application", subtype="x", filename="b.docx"
    )
    mail.add_attachment("naïve " + NOTE, subtype="plain", charset="iso-8859-1", filename="c.txt")
    mail.add_attachment(b"\x89PNG", maintype="image", subtype="png", filename="d.png")
    write_mail(given, mail)
    result = command("mask", given, "--out", out, "--explain")
    assert result.status == 0, result.stderr
    removed = r"header \(\d+\), image \(1\), name of an attachment \(4\), other form of the text \(1\)"
    assert re.search(removed, result.stderr)
    data = (out / "a.eml").read_bytes()
    message = read_back(data)
    assert message["Subject"] == "PHI of PHI"
    assert body_of(message).splitlines() == [MASKED, "", "PHI,", "PHI"]
    found = attachments_of(message)
    assert list(found) == ["attachment-01.csv", "attachment-02.docx", "attachment-03.txt"]
    assert found["attachment-01.csv"].split() == f"id,text\n7,{MASKED}\n".encode().split()
    assert found["attachment-03.txt"].decode("iso-8859-1").strip() == "naïve " + MASKED
    assert CANARY.encode() not in shown(data)
    assert set(message.keys()) == {"Subject", "MIME-Version", "Content-Type"}
    ids = [json.loads(line)["id"] for line in (out / "a.eml.explain.jsonl").read_text().splitlines()]
    assert ids == ["a.eml", "7", "a.eml/attachment-02.docx", "a.eml/attachment-03.txt"]


def test_an_attachment_of_an_unknown_type_is_listed_with_what_helps(command, given, out):
    mail = EmailMessage()
    mail["Subject"] = "rash"
    mail.set_content(NOTE)
    mail.add_attachment(b"x", maintype="application", subtype="x", filename="a.xyz")
    write_mail(given, mail)
    result = command("mask", given, "--out", out)
    assert result.status == 1
    said = "attachment 1: has a file type that is not known. It was left out. Save it as a file of its own and mask"
    assert said + " that, or use .txt" in result.stderr
    assert "--format" not in result.stderr


def test_a_page_alone_becomes_text(command, given, out):
    mail = EmailMessage()
    mail["Subject"] = "rash"
    page = f"<html><head><title>{CANARY}</title></head><body><p title='{CANARY}'>{NOTE}<br>second line</p></body></html>"
    mail.set_content(page, subtype="html")
    write_mail(given, mail)
    assert command("mask", given, "--out", out).status == 0
    data = (out / "a.eml").read_bytes()
    assert body_of(read_back(data)).splitlines()[:2] == [MASKED, "second line"]
    assert CANARY.encode() not in shown(data)


PAGE = "<html><body><p>Mr. {name} took <b>amoxicillin 500 mg</b> and had urticaria.</p></body></html>"


def alternative(*parts: tuple[str, str], **headers: str) -> bytes:
    """Return an e-mail whose parts are alternatives, each with its type."""
    shown = "".join(f"--b\r\nContent-Type: {kind}\r\n\r\n{text}\r\n" for kind, text in parts)
    head = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    kind = "Content-Type: multipart/alternative; boundary=b"
    return f"Subject: rash\r\nMIME-Version: 1.0\r\n{head}{kind}\r\n\r\n{shown}--b--\r\n".encode()


STUBS = {
    "a stub": "This message is in HTML. Please use an HTML reader to view it.",
    "a link": "View this message in your browser: <https://example.org/view?id=7>",
    "empty": "",
    "white space": " \r\n\r\n",
    "its beginning": f"Mr. {CANARY} took amoxicillin 500 mg",
    "a disclaimer": "CONFIDENTIAL. If you are not the recipient, delete this message and tell the sender.",
    "the same words, fewer times": "amoxicillin took urticaria had and mg",
}


@pytest.mark.parametrize("stub", STUBS.values(), ids=STUBS)
@pytest.mark.parametrize("wrapped", [False, True])
def test_a_page_with_words_that_the_plain_text_has_not_is_masked_and_kept(command, given, out, stub, wrapped):
    page = PAGE.format(name=CANARY)
    kind = "text/html"
    if wrapped:
        kind, page = (
            "multipart/related; boundary=c",
            f"--c\r\nContent-Type: text/html\r\n\r\n{page}\r\n--c\r\nContent-Type: image/png\r\n\r\nx\r\n--c--",
        )
    write_mail(given, alternative(("text/plain; charset=utf-8", stub), (kind, page)))
    result = command("mask", given, "--out", out)
    assert result.status == 0, result.stderr
    shown_text = body_of(read_back((out / "a.eml").read_bytes()))
    assert "took amoxicillin PHI mg and had urticaria." in shown_text
    assert CANARY not in shown_text


SAME = {
    "as a program writes it": (
        f"Mr. {CANARY} took *amoxicillin\r\n500 mg* and had urticaria.\r\n[cid:image001.png@01D7]",
        PAGE.format(name=CANARY),
    ),
    "entities": (
        "Fever of 38.9 °C – “mild”, café",
        "<p>Fever of 38.9&nbsp;&deg;C &ndash; &ldquo;mild&rdquo;, caf&eacute;",
    ),
    "soft hyphens": ("She had palpitations", "<p>She had palpi&shy;tations</p>"),
    "a divided word": ("She had palpitations", "<p>She had palpi<b>tations</b></p>"),
}


@pytest.mark.parametrize(("plain", "page"), SAME.values(), ids=SAME)
def test_a_page_without_words_of_its_own_is_the_other_form_of_the_text(command, given, out, plain, page):
    write_mail(given, alternative(("text/plain; charset=utf-8", plain), ("text/html; charset=utf-8", page)))
    result = command("mask", given, "--out", out)
    assert result.status == 0, result.stderr
    assert "other form of the text (1)" in result.stderr
    shown_text = body_of(read_back((out / "a.eml").read_bytes()))
    assert len(shown_text.split("urticaria")) <= 2
    assert len(shown_text.split("Fever")) <= 2


def test_other_forms_are_texts_as_well(command, given, out):
    page = "<p>She took amoxicillin.</p>"
    forms = [
        ("text/plain", "See below"),
        ("text/x-amp-html", page),
        ("text/enriched", "<bold>urticaria</bold>"),
        ("text/calendar", "BEGIN:VCALENDAR"),
    ]
    write_mail(given, alternative(*forms))
    result = command("mask", given, "--out", out)
    assert result.status == 0, result.stderr
    shown_text = body_of(read_back((out / "a.eml").read_bytes()))
    assert "amoxicillin" in shown_text
    assert "urticaria" in shown_text
    assert "calendar entry (1)" in result.stderr


def test_what_a_page_in_an_email_does_not_keep_is_counted(command, given, out):
    mail = EmailMessage()
    mail["Subject"] = "x"
    mail.set_content("<p>well <img src=a alt=b><script>x</script><!-- c --></p>", subtype="html")
    write_mail(given, mail)
    result = command("mask", given, "--out", out)
    assert result.status == 0, result.stderr
    for kind in ("comment (1)", "image (1)", "script (1)"):
        assert kind in result.stderr


def test_flowed_paragraphs_are_whole_again(command, given, out):
    head = "Subject: x\r\nContent-Type: text/plain; charset=utf-8; format=flowed"
    write_mail(
        given,
        f"{head}\r\n\r\nShe took amoxicillin \r\nand had a rash. \r\n\r\n> an \r\n> answer\r\n".encode(),
    )
    write_mail(
        given, f"{head}; delsp=yes\r\n\r\nShe took amoxi \r\ncillin and had a rash.\r\n".encode(), "b.eml"
    )
    assert command("mask", given, "--out", out).status == 0
    first, second = (body_of(read_back((out / name).read_bytes())) for name in ("a.eml", "b.eml"))
    assert first.splitlines() == ["PHI took amoxicillin and had a rash. ", "", "> an answer"]
    assert second.splitlines() == ["PHI took amoxicillin and had a rash."]


def test_text_that_only_outlook_reads_is_listed(command, given, out):
    mail = EmailMessage()
    mail["Subject"] = "x"
    mail.set_content("well")
    mail.add_attachment(b"x\x9f>\x22", maintype="application", subtype="ms-tnef", filename="winmail.dat")
    write_mail(given, mail)
    result = command("mask", given, "--out", out)
    assert result.status == 1
    assert "attachment 1: is text or files that only Outlook reads (winmail.dat)" in result.stderr


@pytest.mark.parametrize("charset", ["utf-8", "us-ascii", "x-unknown", "iso-2022-zz", ""])
def test_a_text_in_another_encoding_than_the_email_names_is_found_out(command, given, out, charset):
    named = f"; charset={charset}" if charset else ""
    head = f"Subject: x\r\nContent-Type: text/plain{named}\r\nContent-Transfer-Encoding: 8bit\r\n\r\n"
    write_mail(given, head.encode() + "Fever of 38.9 °C, café – “mild”.\r\n".encode("cp1252"))
    result = command("mask", given, "--out", out)
    assert result.status == 0, result.stderr
    assert "Read as: windows-1252 (1 file)" in result.stderr
    assert "– “mild”." in body_of(read_back((out / "a.eml").read_bytes()))


@pytest.mark.parametrize("kind", ["text/plain", "text/html"])
def test_latin_1_of_an_email_is_that_of_windows(command, given, out, kind):
    head = (
        f"Subject: x\r\nContent-Type: {kind}; charset=ISO-8859-1\r\nContent-Transfer-Encoding: 8bit\r\n\r\n"
    )
    write_mail(given, head.encode() + "Fever of 38.9 °C – “mild” … patient’s rash".encode("cp1252"))
    assert command("mask", given, "--out", out).status == 0
    assert body_of(read_back((out / "a.eml").read_bytes())).endswith(" – “mild” … patient’s rash")


def test_latin_1_of_an_attached_text_is_that_of_windows(command, given, out):
    mail = EmailMessage()
    mail["Subject"] = "rash"
    mail.add_attachment(
        "“mild” rash".encode("cp1252"),
        maintype="text",
        subtype="plain",
        params={"charset": "iso-8859-1"},
        filename="a.txt",
    )
    write_mail(given, mail)
    assert command("mask", given, "--out", out).status == 0
    found = attachments_of(read_back((out / "a.eml").read_bytes()))
    assert found["attachment-01.txt"].decode("cp1252") == "“mild” rash"


def test_a_page_says_its_encoding_if_the_email_does_not(command, given, out):
    page = "<meta charset=windows-1251><p>38.9 °C, легкая сыпь"
    write_mail(given, b"Subject: x\r\nContent-Type: text/html\r\n\r\n" + page.encode("cp1251"))
    result = command("mask", given, "--out", out, "--explain", "--with-text")
    assert result.status == 0
    assert "Read as" not in result.stderr
    assert "легкая" in (out / "a.eml.explain.jsonl").read_text()


def test_the_encodings_of_all_forms_of_a_text_are_said(command, given, out):
    forms = [(f"{kind}; charset=utf-8", "Fever of 38.9 °C – mild") for kind in ("text/plain", "text/html")]
    write_mail(given, alternative(*forms).decode().encode("cp1252"))
    result = command("mask", given, "--out", out)
    assert result.status == 0, result.stderr
    assert "Read as: windows-1252 (2 files)" in result.stderr


@pytest.mark.parametrize("kind", ["mixed", "related", "alternative", "signed"])
@pytest.mark.parametrize("place", ["before", "after"])
def test_text_around_parts_that_are_in_other_parts_is_counted(command, given, out, kind, place):
    before, after = ("", CANARY) if place == "after" else (f"{CANARY}\r\n", "")
    inner = f"{before}--c\r\n\r\nwell\r\n--c--\r\n{after}\r\n"
    outer = f"--b\r\nContent-Type: multipart/{kind}; boundary=c\r\n\r\n{inner}--b--\r\n"
    write_mail(given, f"Subject: x\r\nContent-Type: multipart/mixed; boundary=b\r\n\r\n{outer}".encode())
    result = command("mask", given, "--out", out)
    assert "text around the parts (1)" in result.stderr
    assert CANARY.encode() not in shown((out / "a.eml").read_bytes())


def test_headers_and_names_of_parts_are_counted(command, given, out):
    headers = f"Content-Description: {CANARY}\r\nComments: {CANARY}\r\nContent-Disposition: inline\r\n"
    named = f'Content-Type: image/png; name="{CANARY}.png"\r\n'
    body = f"--b\r\n{headers}\r\nwell\r\n--b\r\n{named}\r\nx\r\n--b--\r\n"
    write_mail(given, f"Subject: x\r\nContent-Type: multipart/mixed; boundary=b\r\n\r\n{body}".encode())
    result = command("mask", given, "--out", out)
    assert "header (3), image (1), name of an attachment (1)" in result.stderr
    assert CANARY.encode() not in shown((out / "a.eml").read_bytes())


def test_a_subject_that_is_not_encoded_is_read(command, given, out):
    write_mail(given, "Subject: rash – 38.9 °C\r\n\r\nwell\r\n".encode("cp1252"))
    assert command("mask", given, "--out", out).status == 0
    assert read_back((out / "a.eml").read_bytes())["Subject"] == "rash – PHI °PHI"


def test_a_word_of_the_subject_that_cannot_be_read_is_counted(command, given, out):
    write_mail(given, b"Subject: rash =?utf-8?b?broken\r\n\r\nwell\r\n")
    result = command("mask", given, "--out", out)
    assert "unreadable word of a subject (1)" in result.stderr


def test_attached_emails_are_masked_in_their_turn(command, given, out):
    inner = EmailMessage()
    inner["Subject"] = f"Inner {CANARY}"
    inner["To"] = f"{CANARY} <c@d.invalid>"
    inner.set_content(NOTE)
    inner.add_attachment(NOTE, filename="x.txt")
    mail = EmailMessage()
    mail["Subject"] = "fwd"
    mail.set_content("see below")
    mail.add_attachment(inner)
    mail.add_attachment(inner.as_bytes(), maintype="application", subtype="octet-stream", filename="y.eml")
    write_mail(given, mail)
    result = command("mask", given, "--out", out)
    assert result.status == 0, result.stderr
    data = (out / "a.eml").read_bytes()
    found = attachments_of(read_back(data))
    assert list(found) == ["attachment-01.eml", "attachment-02.eml"]
    for message in found.values():
        assert message["Subject"] == "PHI"
        assert body_of(message).strip() == MASKED
        assert attachments_of(message)["attachment-01.txt"].strip() == MASKED.encode()
    assert CANARY.encode() not in shown(data)


def test_a_name_in_the_text_is_a_name_in_the_subject(command, given, out, fake_assemble):
    """Subject and text are one text for the masker."""
    seen = []
    masker = fake_assemble[0]
    mask_many = masker.mask_many
    masker.mask_many = lambda docs: seen.extend(docs) or mask_many(docs)
    mail = EmailMessage()
    mail["Subject"] = "Rash"
    mail.set_content(NOTE)
    write_mail(given, mail)
    assert command("mask", given, "--out", out).status == 0
    assert [doc.text.strip() for doc in seen] == [f"Rash\n\n{NOTE}"]


def test_an_email_with_its_attachments_is_one_case(command, given, out):
    """Dates of all its parts move by the same number of days."""
    from inverse_deid.formats.records import ReadOptions
    from inverse_deid.formats.registry import FORMATS
    from inverse_deid.masking.case_reports import texts_of

    inner = EmailMessage()
    inner["Subject"] = "inner"
    mail = EmailMessage()
    mail["Subject"] = "x"
    mail.set_content(NOTE)
    mail.add_attachment(NOTE, filename="a.txt")
    mail.add_attachment(inner)
    mail.add_attachment("id,text\n7,well\n8,well\n", subtype="csv", filename="b.csv")
    source = FORMATS["eml"].open(io.BytesIO(mail.as_bytes()), ReadOptions(), "m.eml")
    assert [texts_of(record).id for record in source.records()] == ["m.eml", "m.eml", "m.eml", "7", "8"]


@pytest.mark.parametrize("encoding", ["quoted-printable", "base64", "8bit"])
@pytest.mark.parametrize(
    "charset", ["utf-8", "utf-7", "iso-8859-2", "cp1252", "utf-16", "koi8-r", "gb2312", "no-such", ""]
)
def test_encodings_are_undone_before_masking(command, given, out, encoding, charset):

    codec = charset if charset not in ("no-such", "") else "utf-8"
    raw = f"{NOTE} done.\r\n".encode(codec)
    packed = {"base64": base64.encodebytes, "quoted-printable": quopri.encodestring, "8bit": bytes}[encoding](
        raw
    )
    if encoding == "8bit" and charset == "utf-16":
        pytest.skip("cannot be sent so")
    named = f'; charset="{charset}"' if charset else ""
    head = f"Subject: x\r\nContent-Type: text/plain{named}\r\nContent-Transfer-Encoding: {encoding} \r\n\r\n"
    write_mail(given, head.encode() + packed)
    result = command("mask", given, "--out", out)
    assert result.status == 0, result.stderr
    assert body_of(read_back((out / "a.eml").read_bytes())).strip() == f"{MASKED} done."


# ---- what does not


def hostile_mail(canary: Canaries) -> bytes:
    """An e-mail with a canary wherever text can be."""
    c = canary
    headers = "\r\n".join(
        f"{name}: {c()} <{c()}@{c()}.invalid>"
        for name in [
            "From",
            "Sender",
            "Reply-To",
            "To",
            "Cc",
            "Bcc",
            "Return-Path",
            "Delivered-To",
            "X-Original-To",
            "Received",
            "Message-ID",
            "References",
            "In-Reply-To",
            "Date",
            "Organization",
            "User-Agent",
            "List-Id",
            "X-Mailer",
            "Thread-Topic",
            "Thread-Index",
            "DKIM-Signature",
            "Authentication-Results",
            "Comments",
            "Keywords",
            "X-MS-Has-Attach",
            "Resent-From",
            "Importance",
        ]
    )
    word = zipped(simple(paragraph(c())))
    packed = base64.encodebytes(word).decode()
    return build(headers, packed, c)


def uuencoded(word: str) -> str:
    return "\n".join(binascii.b2a_uu(f"{word} and {word}".encode()).decode().split("\n")[:1])


def build(headers: str, packed: str, c: Canaries) -> bytes:
    outer, inner, deep = f"b{c()}", f"i{c()}", f"d{c()}"

    def encoded(text: str) -> str:
        return base64.b64encode(text.encode()).decode()

    lines = f"""Subject: about {c()} =?utf-8?q?and_{c()}?= =?utf-8?b?{encoded(c())}?= =?x-none?q?{c()}?= =?utf-8?b?{c()}
Subject: again {c()}
MIME-Version: 1.0 ({c()})
Content-Type: multipart/mixed; boundary="{outer}"; x-param="{c()}"; name*0="{c()}"; name*1="{c()}"
Content-Description: {c()}

preamble {c()}
--{outer}
Content-Type: multipart/alternative; boundary="{inner}"
X-Part: {c()}

--{inner}
Content-Type: text/plain; charset="utf-8"; format="{c()}"
Content-ID: <{c()}@x>
Content-Language: {c()}

{c()} had a rash. {c()}
-----BEGIN PGP SIGNATURE-----
Comment: {c()}
{c()}
-----END PGP SIGNATURE-----
begin 644 {c()}.txt
{uuencoded(c())}
`
end
begin 500 mg twice a day, said {c()}
bye

--{inner}
Content-Type: text/html

<html><!-- {c()} --><p title="{c()}">{c()}</p></html>

--{inner}
Content-Type: text/calendar; method="{c()}"

SUMMARY:{c()}

--{inner}--
epilogue {c()}
--{outer}
Content-Type: application/octet-stream; name="{c()}.docx"
Content-Disposition: attachment; filename*=utf-8''{c()}.docx; x="{c()}"
Content-Transfer-Encoding: base64
Content-Location: http://{c()}.invalid

{packed}
--{outer}
Content-Type: text/plain; name="{c()}.txt"

attached {c()}
--{outer}
Content-Type: application/{c()}; name="{c()}.{c()}"

{c()}
--{outer}
Content-Type: image/png; name="{c()}.png"
Content-Transfer-Encoding: base64

{encoded(c())}
--{outer}
Content-Type: text/x-vcard

FN:{c()}
--{outer}
Content-Type: application/pkcs7-mime; name="{c()}"

{c()}
--{outer}
Content-Type: text/plain
Content-Transfer-Encoding: x-{c()}

{c()}
--{outer}
Content-Type: message/delivery-status

Reporting-MTA: dns; {c()}
--{outer}
Content-Type: message/rfc822

From: {c()} <{c()}@x>
Subject: inner {c()}
Content-Type: multipart/related; boundary="{deep}"

--{deep}
Content-Type: text/html; charset=iso-8859-1

<p>inner page {c()}</p><img src="cid:{c()}" alt="{c()}">
--{deep}
Content-Type: application/json; name="{c()}.weird"

{{"{c()}": "{c()}"}}
--{deep}--
--{outer}--
epilogue {c()}
"""
    return (headers + "\r\n" + lines.replace("\n", "\r\n")).encode()


def test_no_canary_of_a_hostile_email_stays(command, given, out, tmp_path):
    canaries = Canaries()
    write_mail(given, hostile_mail(canaries))
    report = tmp_path / "report.json"
    result = command("mask", given, "--out", out, "--explain", "--run-report", report)
    assert canaries.n > 90
    assert result.status == 1  # of its attachments, several could not be masked
    data = (out / "a.eml").read_bytes()
    message = read_back(data)
    everything = shown(data) + (out / "a.eml.explain.jsonl").read_bytes() + report.read_bytes()
    everything += result.stderr.encode()
    assert re.findall(rb"(?i)qx[0-9]{3}", everything) == []
    for number in range(canaries.n):
        assert base64.b64encode(f"Qx{number:03d}".encode())[:6] not in data
    assert "PHI had a rash. PHI" in body_of(message)
    assert "begin PHI mg twice a day, said PHI\r\nbye\r\n" in body_of(message)
    assert list(attachments_of(message)) == ["attachment-02.docx", "attachment-03.txt", "attachment-07.eml"]


ENCRYPTED = (
    "Content-Type: application/pkcs7-mime; smime-type=enveloped-data\r\nContent-Transfer-Encoding: base64\r\n"
)


@pytest.mark.parametrize(
    ("raw", "words"),
    [
        (f"Subject: {CANARY}\r\n{ENCRYPTED}\r\nTUlJ\r\n", "encrypted"),
        (
            f"Subject: {CANARY}\r\nContent-Type: multipart/encrypted; boundary=b\r\n\r\n--b\r\n\r\n{CANARY}\r\n--b--\r\n",
            "encrypted",
        ),
        ("\r\n", "not an e-mail"),
        (f"{CANARY} no header at all\r\n\r\n{CANARY}", "not an e-mail"),
        ("From: a@b\r\n\r\n", "no text"),
        ("", "empty"),
        ("\0\1\2" * 1000, "not an e-mail"),
    ],
)
def test_other_files_and_encrypted_emails_are_refused(command, given, out, raw, words):
    write_mail(given, raw.encode())
    result = command("mask", given, "--out", out)
    assert result.status == 2
    assert words in result.stderr
    assert CANARY not in result.stderr
    assert not (out / "a.eml").exists()


def test_a_signed_email_loses_its_signature(command, given, out):
    raw = (
        f"Subject: x\r\nContent-Type: multipart/signed; boundary=b; protocol={CANARY}\r\n\r\n--b\r\n\r\n{NOTE}\r\n"
        f"--b\r\nContent-Type: application/pkcs7-signature; name=smime.p7s\r\n\r\n{CANARY}\r\n--b--\r\n"
    )
    write_mail(given, raw.encode())
    result = command("mask", given, "--out", out)
    assert result.status == 0
    assert "signature (1)" in result.stderr
    data = (out / "a.eml").read_bytes()
    assert body_of(read_back(data)).strip() == MASKED
    assert CANARY.encode() not in shown(data)


def test_text_encrypted_in_the_body_is_left_out(command, given, out):
    raw = f"Subject: x\r\n\r\n-----BEGIN PGP MESSAGE-----\r\n{CANARY}\r\n-----END PGP MESSAGE-----\r\n"
    write_mail(given, raw.encode())
    result = command("mask", given, "--out", out)
    assert result.status == 1
    assert "encrypted" in result.stderr
    assert CANARY.encode() not in shown((out / "a.eml").read_bytes())


def test_attachments_in_an_alternative_are_kept(command, given, out):
    """Some programs put them beside the page that is another form of the text."""
    raw = (
        "Subject: x\r\nContent-Type: multipart/alternative; boundary=a\r\n\r\n--a\r\n\r\nthe text\r\n"
        "--a\r\nContent-Type: multipart/mixed; boundary=m\r\n\r\n"
        "--m\r\nContent-Type: text/html\r\n\r\n<p>the text</p>\r\n"
        f"--m\r\nContent-Type: text/plain; name=n.txt\r\n\r\n{NOTE}\r\n--m--\r\n--a--\r\n"
    )
    write_mail(given, raw.encode())
    assert command("mask", given, "--out", out).status == 0
    message = read_back((out / "a.eml").read_bytes())
    assert body_of(message).strip() == "the text"
    assert list(attachments_of(message)) == ["attachment-01.txt"]


def test_parts_that_are_nested_without_end_are_refused(command, given, out):
    head, tail = b"Subject: x\r\n", b""
    for n in range(2000):
        head += f"Content-Type: multipart/mixed; boundary=b{n}\r\n\r\n--b{n}\r\n".encode()
    write_mail(given, head + f"\r\n{CANARY}".encode() + tail, "deep.eml")
    mail = EmailMessage()
    mail.set_content("well")
    for _ in range(9):
        outer = EmailMessage()
        outer["Subject"] = "fwd"
        outer.set_content("see")
        outer.add_attachment(mail)
        mail = outer
    write_mail(given, mail, "forwarded.eml")
    result = command("mask", given, "--out", out)
    assert result.status == 1
    assert "nested too deeply" in result.stderr
    assert "inside more than 4" in result.stderr
    assert "Traceback" not in result.stderr
    assert not (out / "deep.eml").exists()


def test_emails_are_masked_with_numbered_names(command, given, out, tmp_path):
    mail = EmailMessage()
    mail["Subject"] = "x"
    mail.set_content(NOTE)
    mail.add_attachment(NOTE, filename=f"{CANARY}.txt")
    mail.add_attachment(f"id,text\n{CANARY},{NOTE}\n", filename="t.csv")
    write_mail(given, mail, f"{CANARY}.eml")
    options = ("--rename", tmp_path / "names.csv", "--explain")
    assert command("mask", given, "--out", out, *options).status == 0
    lines = (out / "document-0001.eml.explain.jsonl").read_text().splitlines()
    assert [json.loads(line)["id"] for line in lines] == [
        "document-0001.eml",
        "document-0001.eml/attachment-01.txt",
        "case-0001",
    ]
    assert CANARY.encode() not in shown((out / "document-0001.eml").read_bytes())


def test_masking_is_the_same_each_time(command, given, out, tmp_path):
    write_mail(given, hostile_mail(Canaries()))
    for folder in (out, tmp_path / "again"):
        assert command("mask", given, "--out", folder).status == 1
    assert (out / "a.eml").read_bytes() == (tmp_path / "again" / "a.eml").read_bytes()


@pytest.mark.parametrize("seed", range(60))
def test_damaged_emails_give_a_clear_error_or_masked_text(command, given, out, seed):
    rng = random.Random(seed)
    data = bytearray(hostile_mail(Canaries()))
    for _ in range(rng.randrange(1, 30)):
        place = rng.randrange(len(data))
        data[place : place + rng.randrange(3)] = rng.choice(
            [b"", b"\r\n", b"\0", b"=", b"--", b'"', b"\xff", b"?="]
        )
    write_mail(given, bytes(data[: rng.randrange(len(data) // 2, len(data))]))
    result = command("mask", given, "--out", out)
    assert result.status in (0, 1, 2)
    assert "Traceback" not in result.stderr
    assert re.findall(r"(?i)qx[0-9]{3}", result.stderr) == []
    if (out / "a.eml").exists():
        written = (out / "a.eml").read_bytes()
        read_back(written)
        assert re.findall(rb"Qx[0-9]{3}", shown(written)) == []


LOSSES = {
    "text after base64": (
        "text/plain\nContent-Transfer-Encoding: base64",
        base64.b64encode(NOTE.encode()) + f"\n_____\n{NOTE}".encode(),
    ),
    "no base64": ("text/plain\nContent-Transfer-Encoding: base64", NOTE.encode()),
    "UTF-16 that says it is UTF-8": ("text/plain; charset=utf-8", NOTE.encode("utf-16-le")),
    "a part of an e-mail": ("message/partial; number=1", f"Subject: x\n\n{NOTE}".encode()),
    "an e-mail of another kind": ("message/global", f"Subject: x\n\n{NOTE}".encode()),
}


@pytest.mark.parametrize(("kind", "body"), LOSSES.values(), ids=LOSSES)
def test_text_that_cannot_be_read_whole_is_left_out_and_listed(command, given, out, kind, body):
    write_mail(given, f"Subject: rash\nContent-Type: {kind}\n\n".encode() + body)
    result = command("mask", given, "--out", out)
    assert result.status == 1
    assert "a.eml attachment 1: " in result.stderr
    assert CANARY not in result.stderr
    assert CANARY.encode() not in shown((out / "a.eml").read_bytes())


@pytest.mark.parametrize("charset", ["punycode", "unicode_escape", "utf-7", "us-ascii"])
def test_text_in_an_unusual_encoding_is_read(command, given, out, charset):
    write_mail(given, f"Subject: rash\nContent-Type: text/plain; charset={charset}\n\n{NOTE}".encode())
    assert command("mask", given, "--out", out).status == 0
    assert body_of(read_back((out / "a.eml").read_bytes())) == MASKED


def test_text_after_a_signature_without_end_stays(command, given, out):
    write_mail(given, f"Subject: rash\n\n-----BEGIN PGP SIGNATURE-----\n\n{NOTE}".encode())
    assert command("mask", given, "--out", out).status == 0
    assert MASKED in body_of(read_back((out / "a.eml").read_bytes()))
