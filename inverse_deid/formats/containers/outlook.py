"""E-mails as Outlook saves them (.msg). The masked e-mail is an .eml file.

Only subject, text and attachments are read: the streams of all other properties (senders, recipients, times,
headers, conversations, categories) are never looked at.

Source: MS-OXMSG (files), MS-OXPROPS (numbers of properties), MS-OXCMSG (attachments)
"""

from __future__ import annotations

import io
import struct
from collections import Counter
from contextlib import suppress
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, BinaryIO

from inverse_deid.core.errors import FormatError
from inverse_deid.core.extras import need_modules
from inverse_deid.core.wording import N_, _
from inverse_deid.formats.containers import MESSAGE_SUFFIX
from inverse_deid.formats.containers.eml import choose_forms, read_page
from inverse_deid.formats.containers.mail import (
    ENCRYPTED,
    Attachment,
    Mail,
    find_removed_kind,
    open_mail,
)
from inverse_deid.formats.containers.parts import Container
from inverse_deid.formats.nesting import MAX_DEPTH
from inverse_deid.formats.plain_text import read_whole
from inverse_deid.formats.records import ReadOptions

if TYPE_CHECKING:
    from oxmsg.storage import Storage

_DAMAGED = N_("is not an Outlook e-mail (.msg) or is damaged. Save it again in Outlook")
_BROKEN = (ValueError, LookupError, TypeError, AttributeError, OSError, RecursionError, struct.error)
"""What the library raises for malformed files."""
_MAX_TIMES_ITS_SIZE = 2
"""More cannot be in the streams of a file, unless several of them are the same bytes."""

_CLASS, _SUBJECT, _BODY, _HTML, _RTF = 0x001A, 0x0037, 0x1000, 0x1013, 0x1009
_DATA, _LONG_NAME, _SHORT_NAME, _TYPE = 0x3701, 0x3707, 0x3704, 0x370E
_UNICODE, _BYTES_8, _BINARY, _OBJECT = 0x001F, 0x001E, 0x0102, 0x000D
_PROPERTIES = "__properties_version1.0"
_HEADER_BYTES, _EMBEDDED_HEADER_BYTES = 32, 24


def read_msg(stream: BinaryIO, options: ReadOptions, name: str) -> Container:
    """Open an e-mail of Outlook.

    Raises:
        FormatError: Not an e-mail, encrypted, without text, or damaged.
        UnreadableInputError: Empty or too large.
        ConfigurationError: python-oxmsg is not installed.
    """
    need_modules(_("reading .msg files"), "office", "oxmsg", "olefile")
    data = read_whole(stream)
    mail = None
    with suppress(*_BROKEN):
        mail = _read(_open(data), 0)
    if mail is None:
        raise FormatError(_DAMAGED)
    return open_mail(mail, options, name)


def _open(data: bytes) -> Storage:
    from olefile import OleFileIO
    from oxmsg.storage import Storage

    with OleFileIO(io.BytesIO(data)) as file:
        sizes = [entry.size for entry in file.direntries if entry is not None]
        if sum(sizes) > _MAX_TIMES_ITS_SIZE * len(data):
            raise FormatError(_DAMAGED)
        return Storage.from_ole(file)


def _read(storage: Storage, depth: int) -> Mail:
    # A message in another is at least one deep.
    if depth > MAX_DEPTH:
        raise FormatError(_("has e-mails that are nested too deeply. Save them by themselves"))
    streams = {stream.name: stream.bytes_ for stream in storage.streams}
    if _PROPERTIES not in streams:
        raise FormatError(_DAMAGED)
    encoding = _find_encoding(storage, _EMBEDDED_HEADER_BYTES if depth else _HEADER_BYTES)
    kind = _read_text(streams, _CLASS, encoding).lower()
    if "smime" in kind:
        raise FormatError(ENCRYPTED)
    if kind.startswith(("ipm.appointment", "ipm.contact", "ipm.distlist")):
        raise FormatError(_("is an appointment or a contact, not an e-mail. Leave it out"))
    mail = Mail(subject=_read_text(streams, _SUBJECT, encoding))
    _read_body(mail, streams, encoding)
    mail.removed["property"] = len(streams)
    mail.removed["recipient"] = sum(1 for _ in storage.iter_recipient_storages())
    mail.removed = +mail.removed
    for attached in storage.iter_attachment_storages():
        _attach(mail, attached, encoding, depth)
    return mail


def _read_body(mail: Mail, streams: dict[str, bytes], encoding: str) -> None:
    # As plain text, as a page, or both if each has words that the other has not.
    page = _stream(streams, _HTML, _BINARY).decode(encoding, "replace")
    shown, removed = "", Counter[str]()
    try:
        shown, counts = read_page(page or _read_text(streams, _HTML, encoding))
        removed.update(counts)
    except FormatError as error:
        mail.attachments.append(Attachment(problem=str(error)))
    forms = [_read_text(streams, _BODY, encoding), shown]
    kept = choose_forms(forms)
    mail.texts += [form for number, form in enumerate(forms) if number in kept]
    mail.removed += removed
    mail.removed["other form of the text"] += sum(bool(form.strip()) for form in forms) - len(kept)
    if not mail.texts and _stream(streams, _RTF, _BINARY):
        mail.attachments.append(Attachment(problem=_("is the text of the e-mail as RTF. Save it as .txt")))


def _attach(mail: Mail, storage: Storage, encoding: str, depth: int) -> None:
    streams = {stream.name: stream.bytes_ for stream in storage.streams}
    object_name = f"__substg1.0_{_DATA:04X}{_OBJECT:04X}"
    inner = next((one for one in storage.storages if one.name == object_name), None)
    if inner is not None:
        if all(stream.name != _PROPERTIES for stream in inner.streams):
            mail.removed["embedded object"] += 1
            return
        try:
            mail.attachments.append(Attachment(suffix=MESSAGE_SUFFIX, mail=_read(inner, depth + 1)))
        except FormatError as error:
            mail.attachments.append(Attachment(problem=str(error)))
        return
    name = _read_text(streams, _LONG_NAME, encoding) or _read_text(streams, _SHORT_NAME, encoding)
    mail.removed["name of an attachment"] += bool(name)
    suffix = PurePosixPath(name.strip("\0 ")).suffix.lower()
    removed = find_removed_kind(_read_text(streams, _TYPE, encoding).lower(), suffix)
    if removed:
        mail.removed[removed] += 1
    elif f"__substg1.0_{_DATA:04X}{_BINARY:04X}" not in streams:
        mail.attachments.append(Attachment(problem=_("is only a link to a file. Attach the file itself")))
    else:
        mail.attachments.append(Attachment(suffix=suffix, data=_stream(streams, _DATA, _BINARY)))


def _stream(streams: dict[str, bytes], number: int, kind: int) -> bytes:
    return streams.get(f"__substg1.0_{number:04X}{kind:04X}", b"")


def _read_text(streams: dict[str, bytes], number: int, encoding: str) -> str:
    # "" = it is not there.
    text = _stream(streams, number, _UNICODE).decode("utf-16-le", "replace")
    return (text or _stream(streams, number, _BYTES_8).decode(encoding, "replace")).rstrip("\0")


def _find_encoding(storage: Storage, n_header_bytes: int) -> str:
    from oxmsg.properties import Properties

    with suppress(*_BROKEN):
        encoding = Properties(storage, properties_header_offset=n_header_bytes).body_encoding
        "a".encode(encoding)
        return encoding
    return "cp1252"
