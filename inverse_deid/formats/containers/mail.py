"""E-mails as containers: the text of the message, and each attachment by its format.

A new e-mail is written. It has the masked subject, the masked text, and the masked attachments under numbered
names. No other header and no other part of the old one is in it. Subject and text are masked as one text, so
that a name found in one is also masked in the other.
"""

from __future__ import annotations

import io
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from email import message_from_bytes
from email.charset import QP, Charset
from email.encoders import encode_base64
from email.generator import BytesGenerator
from email.header import Header
from email.message import Message
from email.mime.base import MIMEBase
from email.mime.message import MIMEMessage
from email.mime.multipart import MIMEMultipart
from email.mime.text import MIMEText
from email.policy import compat32
from functools import partial
from pathlib import PurePosixPath
from typing import BinaryIO

from inverse_deid.core.errors import FormatError, InputError
from inverse_deid.core.values import Document, MaskedDocument
from inverse_deid.core.wording import N_, _
from inverse_deid.formats.containers import MESSAGE_SUFFIX
from inverse_deid.formats.containers.parts import (
    IF_UNKNOWN,
    Container,
    Part,
    PartFile,
    inside,
    open_part,
    refuse,
    rename_document,
)
from inverse_deid.formats.masked_slots import fill_slots, list_pieces
from inverse_deid.formats.nesting import Nesting
from inverse_deid.formats.rebuilt_file import RebuiltFile
from inverse_deid.formats.records import Format, ReadOptions, Source, Writable

ENCRYPTED = N_("is encrypted, or signed as a whole (S/MIME or PGP). Save it without in the e-mail program")

_REMOVED_SORTS = {"image": "image", "audio": "sound", "video": "video", "font": "font"}
_REMOVED_TYPES = {
    "text/calendar": N_("calendar entry"),
    "application/ics": N_("calendar entry"),
    "text/vcard": "contact",
    "text/x-vcard": "contact",
    "text/directory": "contact",
    "application/pkcs7-signature": "signature",
    "application/x-pkcs7-signature": "signature",
    "application/pgp-signature": "signature",
    "application/pgp-keys": "signature",
}
_REMOVED_SUFFIXES = {
    **dict.fromkeys(
        (".png", ".jpg", ".jpeg", ".gif", ".bmp", ".tif", ".tiff", ".svg", ".emf", ".wmf"), "image"
    ),
    **dict.fromkeys((".webp", ".heic", ".ico"), "image"),
    **dict.fromkeys((".mp3", ".wav", ".m4a"), "sound"),
    **dict.fromkeys((".mp4", ".mov", ".avi"), "video"),
    ".ics": N_("calendar entry"),
    ".vcf": "contact",
    ".p7s": "signature",
}
"""Attachments without text that could be masked. They are removed and counted, which is no failure."""

_BETWEEN = "\n\n"
_LINE_END = re.compile(r"\r\n?|[\v\f\x1c-\x1e\x85\u2028\u2029]")
_NO_TEXT = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")


@dataclass(slots=True)
class Attachment:
    """A file attached to an e-mail."""

    suffix: str = field(default="", repr=False)  # of its name, in lower case; "" = none
    data: bytes = field(default=b"", repr=False)  # its bytes
    charset: str = field(default="", repr=False)  # of a text, as the e-mail says; "" = it does not
    mail: Mail | None = field(default=None, repr=False)  # the message, if an e-mail is attached as such
    problem: str = ""  # why it is left out; "" = it is not


@dataclass(slots=True)
class Mail:
    """What is read of an e-mail."""

    subject: str = field(default="", repr=False)  # in one line
    texts: list[str] = field(default_factory=list, repr=False)  # of the message, in order
    attachments: list[Attachment] = field(default_factory=list, repr=False)  # in order
    # What is not written, by kind; kinds never come from the file.
    removed: Counter[str] = field(default_factory=Counter)
    # The number of its texts by the encoding that was found.
    read_as: Counter[str] = field(default_factory=Counter)


def find_removed_kind(mime_type: str, suffix: str) -> str:
    """Return what an attachment is called that is removed without a failure, "" = it is not removed.

    Example:
        >>> find_removed_kind("image/png", ".png"), find_removed_kind("text/plain", ".txt")
        ('image', '')
    """
    by_type = _REMOVED_TYPES.get(mime_type) or _REMOVED_SORTS.get(mime_type.partition("/")[0])
    return by_type or _REMOVED_SUFFIXES.get(suffix, "")


def open_mail(mail: Mail, options: ReadOptions, name: str, case_id: str = "") -> Container:
    """Return an e-mail as a container. Its text and its attachments are one case: `case_id`, "" = its name.

    Raises:
        FormatError: It has neither text nor attachments, or is too deep in other files.
    """
    nesting = options.nesting or Nesting()
    options = replace(options, nesting=nesting.enter())
    subject = " ".join(clean_text(mail.subject).split()).replace("=?", "= ?")  # no encoded word
    body = _BETWEEN.join(text for text in map(clean_text, mail.texts) if text.strip())
    nesting.take(len(mail.attachments), sum(len(one.data) for one in mail.attachments))
    if not subject and not body and not mail.attachments:
        raise FormatError(_("has no text and no attachment. Give an e-mail with text"))
    parts = _list_parts(mail, subject, body, options, name, case_id or name)
    return Container(parts, partial(MailWriter, depth=nesting.depth), mail.removed, mail.read_as)


def clean_text(text: str) -> str:
    r"""Return a text with line feeds as its only line ends, and without control characters."""
    return _NO_TEXT.sub("\ufffd", _LINE_END.sub("\n", text))


def _list_parts(
    mail: Mail, subject: str, body: str, options: ReadOptions, name: str, case_id: str
) -> Iterator[Part]:
    if subject or body:
        opener = partial(_open_message, subject, body, name, options.new_name)
        yield Part(0, "", _("the message"), opener, case_id)
    for number, attachment in enumerate(mail.attachments, start=1):
        label, new_name, kind = _("attachment {number}", number=number), "", None
        problem: InputError = FormatError(attachment.problem)
        try:
            kind = None if attachment.problem else _choose_format(attachment)
        except InputError as error:
            problem = error.add_prefix("")
        if kind is None:
            yield Part(number, "", label, partial(refuse, problem))
            continue
        suffix = kind.suffix_of(PurePosixPath(f"a{attachment.suffix}"))
        old = f"attachment-{number:02d}{suffix}"
        new_name = str(kind.written_name(PurePosixPath(old)))
        inner = inside(options, new_name, number)
        if attachment.charset:
            inner = replace(inner, encoding=attachment.charset)
        unpack = None if attachment.mail is not None else partial(io.BytesIO, attachment.data)
        file = PartFile(kind, f"{name}/{old}", inner, unpack)
        opener = partial(_open_attachment, attachment, file, case_id)
        yield Part(number, new_name, f"{label} ({suffix})", opener, case_id, file)


def _choose_format(attachment: Attachment) -> Format:
    from inverse_deid.formats.registry import FORMATS, MAX_HEAD_BYTES, choose_format

    if attachment.mail is not None:
        return FORMATS["eml"]
    if not attachment.suffix:
        raise FormatError(_("has a name without a suffix, so its format is unknown"))
    return choose_format(PurePosixPath(f"a{attachment.suffix}"), attachment.data[:MAX_HEAD_BYTES], IF_UNKNOWN)


def _open_attachment(attachment: Attachment, file: PartFile, case_id: str) -> Source:
    if attachment.mail is not None:
        return open_mail(attachment.mail, file.options, file.name, case_id)
    return open_part(file)


def _open_message(subject: str, body: str, name: str, new_name: str) -> Source:
    text = f"{subject}{_BETWEEN}{body}"

    def build(masked: MaskedDocument) -> bytes:
        slots = [(0, subject), (len(subject) + len(_BETWEEN), body)]
        new_subject, new_body = fill_slots(slots, list_pieces(text, masked))
        return f"{' '.join(new_subject.split())}\n{new_body}".encode("utf-8", "replace")

    return rename_document(RebuiltFile(Document(name, text), build, {}), new_name)


class MailWriter:
    """Writes an e-mail that depends on nothing but the masked parts (a `PartWriter`)."""

    def __init__(self, target: Writable, *, depth: int = 0) -> None:
        self._target = target
        # A line that begins with this is neither in quoted-printable nor in base64, and no e-mail inside
        # has the same.
        self._boundary = f"=_masked_{depth:02d}"
        self._subject = self._body = ""
        self._attached: list[Message] = []

    def add(self, part: Part, data: BinaryIO) -> None:
        content = data.read()
        if part.number == 0:
            self._subject, _, self._body = content.decode().partition("\n")
            return
        attached: Message
        if part.name.endswith(MESSAGE_SUFFIX):
            attached = MIMEMessage(message_from_bytes(content, policy=compat32))
        else:
            attached = MIMEBase("application", "octet-stream")
            attached.set_payload(content)
            encode_base64(attached)
        attached.add_header("Content-Disposition", "attachment", filename=part.name)
        self._attached.append(attached)

    def finish(self) -> None:
        charset = Charset("utf-8")
        charset.body_encoding = QP
        message: Message = MIMEText(self._body, "plain", charset)  # type: ignore[arg-type]
        if self._attached:
            text, message = message, MIMEMultipart("mixed", boundary=self._boundary)
            for one in (text, *self._attached):
                message.attach(one)
        if self._subject:
            charset_name = "us-ascii" if self._subject.isascii() else "utf-8"
            message["Subject"] = Header(self._subject, charset_name).encode()
        packed = io.BytesIO()
        policy = compat32.clone(linesep="\r\n")
        BytesGenerator(packed, mangle_from_=False, policy=policy).flatten(message)
        self._target.write(packed.getvalue())
