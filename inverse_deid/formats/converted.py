"""Files that LibreOffice converts before they are read: .doc, .xls, .ppt, .odt and .ods.

LibreOffice runs in a new profile, with the settings below: no macro runs and nothing is fetched. The child
process that reads the file starts it, with its own limit of memory. The file and its conversion are in a
folder that only the user can read, in memory where the system has such a folder (`/dev/shm`), and are deleted
at once.

Source: LibreOffice, officecfg: Common.xcs (Security/Scripting), Inet.xcs (Settings).
"""

from __future__ import annotations

import io
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cache, partial
from pathlib import Path
from typing import BinaryIO

from inverse_deid.core.child_process import (
    MAX_SECONDS,
    MEMORY_FOLDER,
    LimitedProcess,
    ask_for_time,
    ask_helper,
)
from inverse_deid.core.errors import FormatError
from inverse_deid.core.wording import _
from inverse_deid.formats import docx, pptx, xlsx
from inverse_deid.formats.plain_text import read_whole
from inverse_deid.formats.records import Format, ReadOptions, Source, TableHead

_PLACES = (
    r"C:\Program Files\LibreOffice\program\soffice.exe",
    "/Applications/LibreOffice.app/Contents/MacOS/soffice",
)
"""Where it is on Windows and macOS, which do not have it in the path."""
_MAX_SECONDS = 0.8 * MAX_SECONDS
"""The child must still be able to stop it and delete the folder."""
_MAX_BYTES = 256 * 1024 * 1024
"""The most that a converted file may have."""
_OLE, _ZIP = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", b"PK\x03\x04"
_TARGETS: Mapping[str, tuple[Format, bytes, str]] = {
    "doc": (docx.FORMAT, _OLE, "MS Word 2007 XML"),
    "odt": (docx.FORMAT, _ZIP, "MS Word 2007 XML"),
    "xls": (xlsx.FORMAT, _OLE, "Calc MS Excel 2007 XML"),
    "ppt": (pptx.FORMAT, _OLE, "Impress MS PowerPoint 2007 XML"),
    "ods": (xlsx.FORMAT, _ZIP, "Calc MS Excel 2007 XML"),
}
"""The format of the conversion, the first bytes of the file, and the filter of LibreOffice, by format."""
_SETTINGS = """<?xml version="1.0" encoding="UTF-8"?>
<oor:items xmlns:oor="http://openoffice.org/2001/registry">
{items}
</oor:items>
"""
_ITEM = (
    '<item oor:path="/org.openoffice.{path}"><prop oor:name="{name}" oor:op="fuse">'
    "<value>{value}</value></prop></item>"
)
_ITEMS = (
    ("Office.Common/Security/Scripting", "MacroSecurityLevel", "3"),
    ("Office.Common/Security/Scripting", "DisableMacrosExecution", "true"),
    ("Office.Common/Security/Scripting", "DisableActiveContent", "true"),
    ("Office.Common/Security/Scripting", "BlockUntrustedRefererLinks", "true"),
    ("Office.Calc/Content/Update", "Link", "1"),  # never
    ("Office.Writer/Content/Update", "Link", "1"),
    ("Inet/Settings", "ooInetProxyType", "2"),  # a proxy that nobody runs: nothing can be fetched
    ("Inet/Settings", "ooInetHTTPProxyName", "127.0.0.1"),
    ("Inet/Settings", "ooInetHTTPProxyPort", "9"),
    ("Inet/Settings", "ooInetHTTPSProxyName", "127.0.0.1"),
    ("Inet/Settings", "ooInetHTTPSProxyPort", "9"),
)


def read_converted(name_of_format: str, stream: BinaryIO, options: ReadOptions, name: str) -> Source:
    """Convert a file and open the conversion.

    Raises:
        FormatError: LibreOffice is not installed, or cannot convert it, or the conversion cannot be read.
        UnreadableInputError: Empty or too large.
        ConfigurationError: The extra `office` is not installed.
    """
    target = _TARGETS[name_of_format][0]
    return target.open(io.BytesIO(_convert_in_child(name_of_format, stream)), options, name)


def look_at_converted(name_of_format: str, stream: BinaryIO, options: ReadOptions, name: str) -> TableHead:
    """Convert a table and return its columns; raises as `read_converted`."""
    look = _TARGETS[name_of_format][0].look
    if look is None:
        raise FormatError(_("has no columns"))
    return look(io.BytesIO(_convert_in_child(name_of_format, stream)), options, name)


def _convert_in_child(name_of_format: str, stream: BinaryIO) -> bytes:
    data = read_whole(stream)
    return _reader().call(_let_convert, name_of_format, data, n_bytes=len(data))


def _let_convert(name_of_format: str, data: bytes) -> bytes:
    ask_for_time()
    return ask_helper(convert, name_of_format, data)


@cache
def _reader() -> LimitedProcess:
    return LimitedProcess(convert)


def convert(name_of_format: str, data: bytes) -> bytes:
    """Return a file as LibreOffice converts it.

    Raises:
        FormatError: LibreOffice is not installed, or cannot convert it.
    """
    target, head, filter_name = _TARGETS[name_of_format]
    suffix = target.suffixes[0]
    if not data.startswith(head):
        raise FormatError(
            _(
                "is not a .{kind} file or is damaged. Open it, and save it as {suffix}",
                kind=name_of_format,
                suffix=suffix,
            )
        )
    program = find_office()
    if program is None:
        raise FormatError(
            _(
                "is a .{kind} file, which LibreOffice converts, and that is not installed. Install it, or "
                "save the file as {suffix}",
                kind=name_of_format,
                suffix=suffix,
            )
        )
    parent = MEMORY_FOLDER if os.access(MEMORY_FOLDER, os.W_OK) else None
    with tempfile.TemporaryDirectory(prefix="inverse-deid-", dir=parent, ignore_cleanup_errors=True) as made:
        folder = Path(made)
        given, written = folder / f"given.{name_of_format}", folder / f"given{suffix}"
        given.write_bytes(data)
        profile = folder / "profile"
        _write_settings(profile)
        words = ("headless", "norestore", "nolockcheck", "nodefault", "convert-to")
        command = [program, f"-env:UserInstallation={profile.as_uri()}", *(f"--{word}" for word in words)]
        command += [f"{suffix[1:]}:{filter_name}", given.name]  # written into the folder that it runs in
        _run(command, folder)
        with suppress(OSError):
            if written.is_file() and 0 < written.stat().st_size <= _MAX_BYTES:
                return written.read_bytes()
    raise FormatError(
        _(
            "could not be converted: it is damaged, has a password, or is too large. Open it, and save it as "
            "{suffix}",
            suffix=suffix,
        )
    )


def find_office() -> str | None:
    """Return the path of LibreOffice, None = it is not installed."""
    found = shutil.which("soffice") or shutil.which("libreoffice")
    return found or next((place for place in _PLACES if Path(place).is_file()), None)


def _write_settings(profile: Path) -> None:
    items = "\n".join(_ITEM.format(path=path, name=name, value=value) for path, name, value in _ITEMS)
    (profile / "user").mkdir(parents=True)
    (profile / "user" / "registrymodifications.xcu").write_text(_SETTINGS.format(items=items), "utf-8")


def _run(command: Sequence[str], folder: Path) -> None:
    # All of its processes end with it.
    kept = {name: os.environ[name] for name in ("PATH", "SYSTEMROOT", "TEMP", "TMP") if name in os.environ}
    process = subprocess.Popen(  # noqa: S603 - a program of the user, with fixed words
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        cwd=folder,
        env={**kept, "HOME": str(folder), "TMPDIR": str(folder), "LC_ALL": "C.UTF-8"},
        start_new_session=True,
    )
    try:
        with suppress(subprocess.TimeoutExpired):
            process.wait(_MAX_SECONDS)
    finally:
        if sys.platform == "win32":
            process.kill()
        else:
            import signal

            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def _make(name: str) -> Format:
    target = _TARGETS[name][0]
    return Format(
        name=name,
        open=partial(read_converted, name),
        suffixes=(f".{name}",),
        is_single_document=target.is_single_document,
        can_be_piped=False,
        added_suffix=target.added_suffix or target.suffixes[0],
        look=None if target.look is None else partial(look_at_converted, name),
    )


FORMATS = tuple(map(_make, _TARGETS))
"""Each is written as a file of the format that it is converted to."""
