"""E-mails as files (.eml): what is text, what is an attachment, and what is left out.

Source: RFC 5322 (messages), RFC 2045 to 2047 (MIME), RFC 2183 (dispositions)
"""

from __future__ import annotations

import io
import re
import unicodedata
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from email.errors import InvalidBase64CharactersDefect, InvalidBase64LengthDefect, MessageError
from email.header import decode_header, make_header
from email.message import Message
from email.parser import BytesParser
from email.policy import Policy, compat32
from typing import BinaryIO, cast

from inverse_deid.core.errors import ConfigurationError, FormatError, UnreadableInputError
from inverse_deid.core.wording import N_, _
from inverse_deid.formats.containers import MESSAGE_SUFFIX
from inverse_deid.formats.containers.mail import (
    ENCRYPTED,
    Attachment,
    Mail,
    find_removed_kind,
    open_mail,
)
from inverse_deid.formats.containers.parts import Container
from inverse_deid.formats.encodings import decode, find_codec, read_label
from inverse_deid.formats.html import find_page_codec, read_html
from inverse_deid.formats.plain_text import read_whole
from inverse_deid.formats.records import ReadOptions

MAX_LEVELS = 30
"""So many parts may be in each other."""
MAX_PARTS = 10_000

_BROKEN = (ValueError, LookupError, TypeError, AttributeError, AssertionError, RecursionError, MessageError)
"""What the library raises for malformed headers and parts."""

_LOSSES = (InvalidBase64LengthDefect, InvalidBase64CharactersDefect)
"""Defects of an encoding with which the library drops what it does not understand."""

_HEADERS = ("from", "to", "subject", "date", "received", "message-id", "mime-version", "return-path")
_PLAIN_HEADERS = frozenset(
    {"content-type", "content-transfer-encoding", "content-disposition", "content-id", "mime-version"}
)
"""Headers of a part that say how it is written."""
_SIMPLE_ENCODINGS = ("", "7bit", "8bit", "binary")
_REPORTS = frozenset(
    {"message/delivery-status", "message/disposition-notification", "message/feedback-report"}
)
_PAGES = frozenset({"text/html", "text/x-amp-html", "text/watch-html"})
_OUTLOOK_TYPE = "application/ms-tnef"
_OUTLOOK = N_(
    "is text or files that only Outlook reads (winmail.dat). Ask for the e-mail as HTML, or save it as .msg"
)
_NOT_TEXT = N_("is not text in the encoding that the e-mail names. Save it as .txt")
_PACKED = N_("is encoded in a way that is not read. Save it from the e-mail program")
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
_FILE_TYPES = frozenset(_SUFFIX_OF_TYPE) - {"text/plain", "text/html"}
_WORD = re.compile(r"[^\W_]+")
_UNSEEN = re.compile("[\u00ad\u034f\u200b-\u200f\u2060\ufeff]")
_ENCODED_WORD = re.compile(r"=\?\S*")
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
        raise FormatError(_("has a structure that is damaged or nested too deeply. Save it again"))
    return open_mail(mail, options, name)


def _read(data: bytes) -> Mail:
    message = BytesParser(_Parts().make, policy=compat32).parsebytes(data)
    if not any(name in message for name in _HEADERS):
        raise FormatError(_("is not an e-mail or is damaged. Save it again in the e-mail program"))
    if _kind(message) in _ENCRYPTED_TYPES:
        raise FormatError(ENCRYPTED)
    return _Reader(Mail()).read(message)


class _Parts:
    """Makes the parts of an e-mail for its parser, and stops it when there are too many."""

    def __init__(self) -> None:
        self._n_parts = 0

    def make(self, policy: Policy[Message[str, str]] = compat32) -> Message[str, str]:
        self._n_parts += 1
        if self._n_parts > MAX_PARTS:
            raise FormatError(_("has more than {max_parts:,} parts. Split it", max_parts=MAX_PARTS))
        return Message(policy)


@dataclass(slots=True)
class _Reader:
    mail: Mail

    def read(self, message: Message[str, str], level: int = 0) -> Mail:
        self.mail.subject, n_lost = decode_words(
            next((value for name, value in message.raw_items() if name.lower() == "subject"), "")
        )
        self._remove(N_("unreadable word of a subject"), n_lost)
        self._remove("header", len(message) - bool(self.mail.subject))
        self._take(message, level, is_outermost=True)
        return self.mail

    def _remove(self, kind: str, n: int = 1) -> None:
        if n > 0:
            self.mail.removed[kind] += n

    def _leave_out(self, problem: str) -> None:
        self.mail.attachments.append(Attachment(problem=problem))

    def _take(self, part: Message[str, str], level: int, *, is_outermost: bool = False) -> None:
        if level > MAX_LEVELS:
            raise FormatError(_("has parts that are nested too deeply. Save it again"))
        self._remove(N_("text around the parts"), any(map(_has_words, (part.preamble, part.epilogue))))
        self._remove(N_("name of an attachment"), bool(part.get_filename()))
        names = () if is_outermost else part.keys()
        self._remove("header", sum(name.lower() not in _PLAIN_HEADERS for name in names))
        kind = _kind(part)
        sort = part.get_content_maintype()
        if kind in _ENCRYPTED_TYPES:
            self._leave_out(ENCRYPTED)
        elif removed := find_removed_kind(kind, ""):
            self._remove(removed)
        elif sort == "multipart":
            self._take_parts(part, kind, level)
        elif kind == "message/rfc822":
            self._take_message(part, level)
        elif kind in _REPORTS:
            self._remove(N_("delivery report"))
        elif sort == "message":
            self._leave_out(_("is a part of an e-mail or an e-mail of another kind. Save it as .eml"))
        elif kind == _OUTLOOK_TYPE or str(part.get_filename() or "").lower() == "winmail.dat":
            self._leave_out(_OUTLOOK)
        elif sort == "text" and kind not in _FILE_TYPES and not _is_attached(part):
            self._take_text(part, is_page=kind in _PAGES)
        else:
            self._attach(part, kind)

    def _take_parts(self, part: Message[str, str], kind: str, level: int) -> None:
        children = part.get_payload()
        if not isinstance(children, list):
            self._leave_out(_("has parts that cannot be told apart. Save it again"))
            return
        parts = cast("list[Message[str, str]]", children)
        if kind != "multipart/alternative":
            for child in parts:
                self._take(child, level + 1)
            return
        forms = [_Reader(Mail()) for _ in parts]
        for form, child in zip(forms, parts, strict=True):
            form._take(child, level + 1)
        kept = choose_forms(["\n".join(form.mail.texts) for form in forms])
        for number, form in enumerate(forms):
            self.mail.attachments += form.mail.attachments
            self.mail.removed += form.mail.removed
            self.mail.read_as += form.mail.read_as
            if number in kept:
                self.mail.texts += form.mail.texts
            else:
                self._remove(N_("other form of the text"), bool("".join(form.mail.texts).strip()))

    def _take_message(self, part: Message[str, str], level: int) -> None:
        inner = part.get_payload()
        if not isinstance(inner, list) or len(inner) != 1 or _encoding(part) not in _SIMPLE_ENCODINGS:
            self._leave_out(_PACKED)
            return
        message = cast("Message[str, str]", inner[0])
        self.mail.attachments.append(
            Attachment(suffix=MESSAGE_SUFFIX, mail=_Reader(Mail()).read(message, level + 1))
        )

    def _take_text(self, part: Message[str, str], *, is_page: bool) -> None:
        data = _decode(part)
        if data is None:
            self._leave_out(_PACKED)
            return
        text, found, problem = _decode_text(data, part, is_page=is_page)
        if _PGP_ENCRYPTED in text:
            problem = ENCRYPTED
        if not problem and is_page:
            text, problem = self._read_page(text)
        if problem:
            self._leave_out(problem)
            return
        if found:
            self.mail.read_as[found] += 1
        if not is_page:
            text = text.replace("\r\n", "\n")
            if str(part.get_param("format", "")).lower() == "flowed":
                text = join_flowed(text, is_space_deleted=str(part.get_param("delsp", "")).lower() == "yes")
        text, n_signatures = _PGP_SIGNATURE.subn("", text)
        self._remove("signature", n_signatures)
        text, n_files = _UUENCODED.subn("", text)
        for _ignored in range(n_files):
            self._leave_out(_PACKED)
        self.mail.texts.append(text)

    def _read_page(self, page: str) -> tuple[str, str]:
        # What is not read of it is counted.
        try:
            text, removed = read_page(page)
        except FormatError as error:
            return "", str(error)
        self.mail.removed.update(removed)
        return text, ""

    def _attach(self, part: Message[str, str], kind: str) -> None:
        data = _decode(part)
        if data is None:
            self._leave_out(_PACKED)
            return
        suffix = _suffix_of(part, kind)
        if removed := find_removed_kind("", suffix):
            self._remove(removed)
            return
        charset = ""
        if part.get_content_maintype() == "text":
            with suppress(ConfigurationError, LookupError, ValueError):
                named = read_label(_charset(part))
                data.decode(named)  # else it is found out
                charset = named
        self.mail.attachments.append(Attachment(suffix=suffix, data=data, charset=charset))


def _kind(part: Message[str, str]) -> str:
    return part.get_content_type()


def _encoding(part: Message[str, str]) -> str:
    return str(part.get("content-transfer-encoding", "")).strip().lower()


def _suffix_of(part: Message[str, str], kind: str) -> str:
    # "" = none.
    _, dot, suffix = decode_words(part.get_filename() or "")[0].rpartition(".")
    return f".{suffix.strip().lower()}" if dot else _SUFFIX_OF_TYPE.get(kind, "")


def _is_attached(part: Message[str, str]) -> bool:
    return part.get_content_disposition() == "attachment" or bool(part.get_filename())


def choose_forms(forms: Sequence[str]) -> set[int]:
    """Return which forms of one text are kept: all that have words that no other form has.

    Of forms with the same words, the first is kept. A form without words is not.

    Example:
        >>> choose_forms(["Pt well.", "<Pt> well"]), choose_forms(["Use a page.", "Pt well.", "well"])
        ({0}, {0, 1})
    """
    words = [Counter(_WORD.findall(_shown(form))) for form in forms]
    kept: set[int] = set()
    for i, one in enumerate(words):
        others = [other for j, other in enumerate(words) if j != i and (one != other or j < i)]
        if one and not any(one <= other for other in others):
            kept.add(i)
    return kept


def _shown(form: str) -> str:
    # Texts are compared without signs that are not seen, in small letters.
    return unicodedata.normalize("NFKC", _UNSEEN.sub("", form)).casefold()


def join_flowed(text: str, *, is_space_deleted: bool = False) -> str:
    r"""Return a text with whole paragraphs: a line that ends with a space goes on in the next (RFC 3676).

    Args:
        text: With line feeds.
        is_space_deleted: The space at the end of a line was added, also within words.

    Example:
        >>> join_flowed("She took \n10 mg.\n> an \n> answer\n-- \nAnn")
        'She took 10 mg.\n> an answer\n-- \nAnn'
    """
    joined: list[str] = []
    open_depth = -1  # of the paragraph that goes on, -1 = none
    for line in text.split("\n"):
        content = line.lstrip(">")
        depth = len(line) - len(content)
        content = content.removeprefix(" ")
        is_open = content.endswith(" ") and content != "-- "
        if is_open and is_space_deleted:
            content = content[:-1]
        if depth == open_depth and content.strip() and content != "-- ":
            joined[-1] += content
        else:
            joined.append(f"{'>' * depth}{' ' * bool(depth)}{content}")
        open_depth = depth if is_open else -1
    return "\n".join(joined)


def _decode(part: Message[str, str]) -> bytes | None:
    # None = it cannot be undone.
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


def _has_words(text: str | None) -> bool:
    return text is not None and _WORD.search(text) is not None


def _decode_text(data: bytes, part: Message[str, str], *, is_page: bool) -> tuple[str, str, str]:
    # "" = none.
    name = _charset(part)
    for said in (name,) if is_page and not name else (name, "utf-8"):  # a page may say it as well
        with suppress(LookupError, ValueError, ConfigurationError):
            text = data.decode(said if said == "utf-7" else read_label(said))
            # UTF-16: letters by themselves would look safe
            return (text, "", "") if 4 * text.count("\0") <= len(text) else (text, "", _NOT_TEXT)
    with suppress(UnreadableInputError):
        codec, found = find_page_codec(data, ReadOptions()) if is_page else find_codec(data)
        return decode(data[len(codec.mark) :], codec), found, ""
    return "", "", _NOT_TEXT


def read_page(page: str) -> tuple[str, Mapping[str, int]]:
    """Return the text that a page (HTML) shows, and what is not read of it, by kind.

    Raises:
        FormatError: It cannot be read.

    Example:
        >>> read_page("<p>Pt <b>well</b>.</p><!-- Ann -->")
        ('Pt well.', {'comment': 1})
    """
    if not page.strip():
        return "", {}
    # It may still name the encoding that it had.
    data = io.BytesIO(b"\xef\xbb\xbf" + page.replace("\0", "").encode("utf-8", "replace"))
    source = read_html(data, ReadOptions(), "", may_be_empty=True)
    return source.doc.text, source.removed


def decode_words(value: object) -> tuple[str, int]:
    """Return the text of a header, and how many encoded words are left out because nothing can read them.

    Example:
        >>> decode_words("=?utf-8?q?Caf=C3=A9?= visit =?utf-8?b?broken")
        ('Café visit ', 1)
    """
    text = ""
    with suppress(ValueError, LookupError, TypeError, AttributeError, MessageError):
        text = str(make_header(decode_header(value)))  # type: ignore[arg-type]
    data = (text or str(value)).encode("utf-8", "surrogateescape")
    text = data.decode("utf-8", "replace")
    with suppress(UnreadableInputError):
        text = decode(data, find_codec(data)[0])
    return _ENCODED_WORD.subn("", text)
