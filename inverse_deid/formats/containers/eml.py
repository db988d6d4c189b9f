"""E-mails as files (.eml): what is text, what is an attachment, and what is left out.

Source: RFC 5322 (messages), RFC 2045 to 2047 (MIME), RFC 2183 (dispositions)
"""

from __future__ import annotations

import io
import re
from contextlib import suppress
from dataclasses import dataclass
from email.errors import InvalidBase64CharactersDefect, InvalidBase64LengthDefect, MessageError
from email.header import decode_header, make_header
from email.message import Message
from email.parser import BytesParser
from email.policy import compat32
from typing import BinaryIO, cast

from inverse_deid.core.errors import ConfigurationError, FormatError
from inverse_deid.formats.containers import MESSAGE_SUFFIX
from inverse_deid.formats.containers.mail import (
    ENCRYPTED,
    Attachment,
    Mail,
    find_removed_kind,
    open_mail,
)
from inverse_deid.formats.containers.parts import Container
from inverse_deid.formats.encodings import normal_encoding
from inverse_deid.formats.html import read_html
from inverse_deid.formats.plain_text import read_whole
from inverse_deid.formats.records import ReadOptions

MAX_LEVELS = 30
"""So many parts may be in each other."""

_BROKEN = (ValueError, LookupError, TypeError, AttributeError, AssertionError, RecursionError, MessageError)
"""What the library raises for malformed headers and parts."""

_LOSSES = (InvalidBase64LengthDefect, InvalidBase64CharactersDefect)
"""Defects of an encoding with which the library drops what it does not understand."""

_HEADERS = ("from", "to", "subject", "date", "received", "message-id", "mime-version", "return-path")
_SIMPLE_ENCODINGS = ("", "7bit", "8bit", "binary")
_REPORTS = frozenset(
    {"message/delivery-status", "message/disposition-notification", "message/feedback-report"}
)
_PACKED = "is encoded in a way that is not read. Save it from the e-mail program"
_ENCRYPTED_TYPES = frozenset(
    {
        "application/pkcs7-mime",
        "application/x-pkcs7-mime",
        "application/pgp-encrypted",
        "multipart/encrypted",
    }
)
_SUFFIX_OF_TYPE = {
    "text/plain": ".txt",
    "text/html": ".html",
    "text/csv": ".csv",
    "text/rtf": ".rtf",
    "application/rtf": ".rtf",
    "application/pdf": ".pdf",
    "application/json": ".json",
    "application/zip": ".zip",
    "application/vnd.ms-outlook": ".msg",
    "application/vnd.openxmlformats-officedocument.wordprocessingml.document": ".docx",
    "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet": ".xlsx",
}
_PGP_ENCRYPTED = "-----BEGIN PGP MESSAGE-----"
_PGP_SIGNATURE = re.compile(
    r"-----BEGIN PGP (SIGNATURE|PUBLIC KEY BLOCK)-----.*?-----END PGP \1-----", re.DOTALL
)
_UUENCODED = re.compile(
    r"^begin [0-7]{3,4} [^\n]+\n(?:[!-M][ -`]{1,90}\n)+(?:`?\n)?(?:end[ \t]*(?:\n|\Z))?", re.MULTILINE
)
"""Lines of a file in the text: the name of the file, then lines without small letters."""


def read_eml(stream: BinaryIO, options: ReadOptions, name: str) -> Container:
    """Open an e-mail.

    Raises:
        FormatError: Not an e-mail, encrypted, too deeply nested, or damaged.
        UnreadableInputError: Empty or too large.
    """
    data = read_whole(stream).removeprefix(b"\xef\xbb\xbf")
    mail = None
    with suppress(*_BROKEN):
        mail = _read(data)
    if mail is None:
        raise FormatError("has a structure that is damaged or nested too deeply. Save it again")
    return open_mail(mail, options, name)


def _read(data: bytes) -> Mail:
    message = BytesParser(policy=compat32).parsebytes(data)
    if not any(name in message for name in _HEADERS):
        raise FormatError("is not an e-mail or is damaged. Save it again in the e-mail program")
    if _kind(message) in _ENCRYPTED_TYPES:
        raise FormatError(ENCRYPTED)
    return _Reader(Mail()).read(message)


@dataclass(slots=True)
class _Reader:
    """Sorts the parts of one message."""

    mail: Mail

    def read(self, message: Message[str, str], level: int = 0) -> Mail:
        """Read a message and all that is in it."""
        self.mail.subject = decode_words(message.get("subject", ""))
        n_headers = len(message) - bool(self.mail.subject)
        self._remove("header", n_headers)
        if message.preamble or message.epilogue:
            self._remove("text around the parts")
        self._take(message, level, is_text=True)
        return self.mail

    def _remove(self, kind: str, n: int = 1) -> None:
        if n > 0:
            self.mail.removed[kind] += n

    def _leave_out(self, problem: str) -> None:
        self.mail.attachments.append(Attachment(problem=problem))

    def _take(self, part: Message[str, str], level: int, *, is_text: bool) -> None:
        """Sort a part. If not `is_text`, what it shows is shown by another part already."""
        if level > MAX_LEVELS:
            raise FormatError("has parts that are nested too deeply. Save it again")
        kind = _kind(part)
        sort = part.get_content_maintype()
        if kind in _ENCRYPTED_TYPES:
            self._leave_out(ENCRYPTED)
        elif removed := find_removed_kind(kind, ""):
            self._remove(removed)
        elif sort == "multipart":
            self._take_parts(part, kind, level, is_text=is_text)
        elif kind == "message/rfc822":
            self._take_message(part, level)
        elif kind in _REPORTS:
            self._remove("delivery report")
        elif sort == "message":
            self._leave_out("is a part of an e-mail or an e-mail of another kind. Save it as .eml")
        elif kind in ("text/plain", "text/html") and not _is_attached(part):
            self._take_text(part, kind, is_text=is_text)
        else:
            self._attach(part, kind)

    def _take_parts(self, part: Message[str, str], kind: str, level: int, *, is_text: bool) -> None:
        children = part.get_payload()
        if not isinstance(children, list):
            self._leave_out("has parts that cannot be told apart. Save it again")
            return
        parts = cast("list[Message[str, str]]", children)
        chosen = _choose_alternative(parts) if kind == "multipart/alternative" else None
        for child in parts:
            shows = is_text and (chosen is None or child is chosen)
            self._take(child, level + 1, is_text=shows)

    def _take_message(self, part: Message[str, str], level: int) -> None:
        """Read an e-mail that is attached as such."""
        inner = part.get_payload()
        if not isinstance(inner, list) or len(inner) != 1 or _encoding(part) not in _SIMPLE_ENCODINGS:
            self._leave_out(_PACKED)
            return
        message = cast("Message[str, str]", inner[0])
        self.mail.attachments.append(
            Attachment(suffix=MESSAGE_SUFFIX, mail=_Reader(Mail()).read(message, level + 1))
        )

    def _take_text(self, part: Message[str, str], kind: str, *, is_text: bool) -> None:
        if not is_text:
            self._remove("other form of the text")
            return
        data = _decode(part)
        if data is None:
            self._leave_out(_PACKED)
            return
        text = _decode_text(data, part)
        problem = ENCRYPTED if _PGP_ENCRYPTED in text else ""
        if 4 * text.count("\0") > len(text):  # UTF-16: letters by themselves would look safe
            problem = "is not text in the encoding that the e-mail names. Save it as .txt"
        try:
            text = read_page(text) if kind == "text/html" else text.replace("\r\n", "\n")
        except FormatError as error:
            problem = str(error)
        if problem:
            self._leave_out(problem)
            return
        text, n_signatures = _PGP_SIGNATURE.subn("", text)
        self._remove("signature", n_signatures)
        text, n_files = _UUENCODED.subn("", text)
        for _ in range(n_files):
            self._leave_out(_PACKED)
        self.mail.texts.append(text)

    def _attach(self, part: Message[str, str], kind: str) -> None:
        data = _decode(part)
        if data is None:
            self._leave_out(_PACKED)
            return
        _, dot, suffix = decode_words(part.get_filename() or "").rpartition(".")
        suffix = f".{suffix.strip().lower()}" if dot else _SUFFIX_OF_TYPE.get(kind, "")
        if removed := find_removed_kind("", suffix):
            self._remove(removed)
            return
        charset = ""
        if part.get_content_maintype() == "text":
            with suppress(ConfigurationError):
                charset = normal_encoding(_charset(part))
        self.mail.attachments.append(Attachment(suffix=suffix, data=data, charset=charset))


def _kind(part: Message[str, str]) -> str:
    return part.get_content_type()


def _encoding(part: Message[str, str]) -> str:
    return str(part.get("content-transfer-encoding", "")).strip().lower()


def _is_attached(part: Message[str, str]) -> bool:
    return part.get_content_disposition() == "attachment" or bool(part.get_filename())


def _choose_alternative(children: list[Message[str, str]]) -> Message[str, str] | None:
    """Return the part whose text is taken: plain text, else the last page or group of parts."""
    for child in children:
        if _kind(child) == "text/plain" and not _is_attached(child) and (_decode(child) or b"").strip():
            return child
    shown = [child for child in children if _kind(child) == "text/html" or child.is_multipart()]
    return shown[-1] if shown else None


def _decode(part: Message[str, str]) -> bytes | None:
    """Return the bytes of a part without its transfer encoding, None = it cannot be undone."""
    encoding = _encoding(part)
    if encoding not in (*_SIMPLE_ENCODINGS, "quoted-printable", "base64") or part.is_multipart():
        return None
    if "content-transfer-encoding" in part:
        part.replace_header("content-transfer-encoding", encoding)
    data = part.get_payload(decode=True)
    is_undone = not any(isinstance(defect, _LOSSES) for defect in part.defects)
    return data if isinstance(data, bytes) and is_undone else None


def _charset(part: Message[str, str]) -> str:
    return str(part.get_content_charset("") or "")


def _decode_text(data: bytes, part: Message[str, str]) -> str:
    """Return the text of bytes; what no encoding explains becomes a sign that is masked."""
    for name in (_charset(part) or "utf-8", "utf-8"):
        with suppress(LookupError, ValueError, ConfigurationError):
            return data.decode(name if name == "utf-7" else normal_encoding(name))
    return data.decode("cp1252", "replace")


def read_page(page: str) -> str:
    """Return the text that a page (HTML) shows.

    Raises:
        FormatError: It cannot be read, or shows no text.

    Example:
        >>> read_page("<p title='Ann'>Pt <b>well</b>.</p><!-- Ann -->")
        'Pt well.'
    """
    if not page.strip():
        return ""
    # It may still name the encoding that it had.
    data = io.BytesIO(b"\xef\xbb\xbf" + page.replace("\0", "").encode("utf-8", "replace"))
    return read_html(data, ReadOptions(), "").doc.text


def decode_words(value: object) -> str:
    """Return the text of a header; encoded words that cannot be decoded are left out.

    Example:
        >>> decode_words("=?utf-8?q?Caf=C3=A9?= visit =?utf-8?b?broken")
        'Café visit '
    """
    text = ""
    with suppress(ValueError, LookupError, TypeError, AttributeError, MessageError):
        text = str(make_header(decode_header(value)))  # type: ignore[arg-type]
    text = text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    return re.sub(r"=\?\S*", "", text)
