"""All formats, and which of them a file has. Another format is one more module and one line in `_ALL`."""

from __future__ import annotations

import gzip
import stat
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path, PurePath
from types import MappingProxyType
from typing import BinaryIO, cast

from inverse_deid.core.errors import FormatError, Remedy, UnreadableInputError
from inverse_deid.core.wording import N_, _
from inverse_deid.formats import (
    containers,
    converted,
    docx,
    html,
    i2b2_xml,
    pdf,
    plain_text,
    pptx,
    rtf,
    scans,
    xlsx,
)
from inverse_deid.formats.icsr import format as icsr
from inverse_deid.formats.records import Format
from inverse_deid.formats.tables import csv_table, json_file, json_lines, parquet_table

_ALL = (
    plain_text.FORMAT,
    i2b2_xml.FORMAT,
    json_lines.FORMAT,
    json_file.FORMAT,
    csv_table.FORMAT,
    parquet_table.FORMAT,
    icsr.FORMAT,
    docx.FORMAT,
    pdf.FORMAT,
    rtf.FORMAT,
    html.FORMAT,
    containers.ZIP,
    containers.EML,
    containers.MSG,
    xlsx.FORMAT,
    pptx.FORMAT,
    scans.FORMAT,
    *converted.FORMATS,
)

FORMATS: Mapping[str, Format] = MappingProxyType({one.name: one for one in _ALL})
"""The formats of case narratives that can be masked, by name."""

_WORD_SUFFIXES = frozenset({".docm", ".dot", ".dotx", ".dotm"})
"""Of files that are not read, but that Word or LibreOffice saves as `.docx`."""

_EXCEL_SUFFIXES = frozenset({".xlsm", ".xlsb", ".xlt", ".xltx", ".xltm", ".xlam", ".numbers"})
"""Of files that are not read, but that Excel, LibreOffice or Numbers saves as `.xlsx`."""

NAME_FORMAT = Remedy("format", step=N_("give {}"))

MAX_HEAD_BYTES = 64 * 1024
"""The beginning of a file that tells formats of one suffix apart."""


def without_gz(path: PurePath) -> PurePath:
    """Return the path without `.gz`: the name of a compressed file after masking.

    Example:
        >>> without_gz(PurePath("a/cases.jsonl.gz")).name
        'cases.jsonl'
    """
    return path.with_suffix("") if path.suffix.lower() == ".gz" else path


def format_of(path: PurePath, otherwise: Remedy | None = None) -> Format:
    """Return the format of a suffix.

    Args:
        path: The name of the file.
        otherwise: What else to do if the suffix is unknown. None = name the format, and the file can be
            compressed.

    Raises:
        FormatError: The suffix is unknown.
    """
    suffix = without_gz(path).suffix.lower()
    by_suffix = {suffix: one for one in _ALL if one.is_head is None for suffix in one.suffixes}
    if suffix in _WORD_SUFFIXES:
        raise FormatError(
            _("is a {suffix} file, which is not read. Save it as .docx in Word or LibreOffice", suffix=suffix)
        )
    if suffix in _EXCEL_SUFFIXES:
        raise FormatError(
            _(
                "is a {suffix} file, which is not read. Save it as .xlsx in Excel or LibreOffice",
                suffix=suffix,
            )
        )
    if suffix not in by_suffix:
        known = ", ".join(by_suffix)
        packed = _(" (each also with .gz)") if otherwise is None else ""
        other = otherwise or NAME_FORMAT
        raise FormatError(
            _("has a file type that is not known"),
            remedies=[other, Remedy(step=_("use {known}{packed}", known=known, packed=packed))],
        )
    return by_suffix[suffix]


def sniff_format(file: Path, place: PurePath) -> Format:
    """Return the format of a file by its suffix and, where formats share a suffix, by its first bytes.

    A file that cannot be read has the usual format of its suffix.

    Raises:
        FormatError: The suffix is unknown.
    """
    head = b""
    if _list_others(format_of(place)):
        with suppress(OSError, EOFError, zlib.error, UnreadableInputError), open_input(file) as stream:
            head = stream.read(MAX_HEAD_BYTES)
    return choose_format(place, head)


def choose_format(place: PurePath, head: bytes, otherwise: Remedy | None = None) -> Format:
    """Return the format of a file by its suffix and, where formats share a suffix, by its first bytes.

    Raises:
        FormatError: The suffix is unknown (see `format_of`).
    """
    usual = format_of(place, otherwise)
    others = _list_others(usual)
    return next((one for one in others if one.is_head is not None and one.is_head(head)), usual)


def _list_others(usual: Format) -> list[Format]:
    return [one for one in _ALL if one.is_head is not None and set(one.suffixes) & set(usual.suffixes)]


def open_input(path: Path) -> BinaryIO:
    """Open a regular file for reading; `.gz` is unpacked on the way.

    Raises:
        UnreadableInputError: Missing, not a file, or not readable.
    """
    with input_errors():
        if not stat.S_ISREG(path.stat().st_mode):
            raise UnreadableInputError(_("is not a file. Give a file or folder, or - for standard input"))
        if path.suffix.lower() == ".gz":
            return cast(BinaryIO, gzip.open(path, "rb"))
        return path.open("rb")


@contextmanager
def input_errors() -> Iterator[None]:
    """Turn errors of the operating system and gzip into one line with a remedy."""
    problem = ""
    try:
        yield
    except FileNotFoundError:
        problem = _("does not exist. Check the spelling")
    except PermissionError:
        problem = _("cannot be read (no permission). Ask its owner for read permission")
    except (gzip.BadGzipFile, EOFError, zlib.error):
        problem = _("is not a complete gzip file. Unpack it or copy it again")
    except OSError as error:
        problem = _(
            "cannot be read ({strerror}). Copy it to a local disk",
            strerror=error.strerror or type(error).__name__,
        )
    if problem:
        raise UnreadableInputError(problem)
