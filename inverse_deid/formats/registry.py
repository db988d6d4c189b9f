"""Which format a file has, and opening it."""

from __future__ import annotations

import gzip
import stat
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from enum import StrEnum
from pathlib import Path, PurePath
from typing import BinaryIO, cast

from inverse_deid.core.errors import FormatError, UnreadableInputError
from inverse_deid.formats.csv_table import read_csv
from inverse_deid.formats.i2b2_xml import read_i2b2_xml
from inverse_deid.formats.icsr.prolog import is_icsr
from inverse_deid.formats.json_lines import read_json_lines
from inverse_deid.formats.parquet_table import read_parquet
from inverse_deid.formats.plain_text import read_plain_text
from inverse_deid.formats.records import ReadOptions, Source


class FormatName(StrEnum):
    """The formats of case narratives that can be masked."""

    TEXT = "text"
    I2B2 = "i2b2"
    JSONL = "jsonl"
    CSV = "csv"
    PARQUET = "parquet"
    ICSR = "icsr"


_OF_SUFFIX = {
    ".txt": FormatName.TEXT,
    ".text": FormatName.TEXT,
    ".xml": FormatName.I2B2,
    ".jsonl": FormatName.JSONL,
    ".ndjson": FormatName.JSONL,
    ".csv": FormatName.CSV,
    ".tsv": FormatName.CSV,
    ".parquet": FormatName.PARQUET,
}

_MAX_HEAD_BYTES = 64 * 1024

SINGLE_DOCUMENT_FORMATS = frozenset({FormatName.TEXT, FormatName.I2B2})
"""Formats in which a file is one document."""


def without_gz(path: PurePath) -> PurePath:
    """The path without `.gz`: what a compressed file is called once it is masked.

    Example:
        >>> without_gz(PurePath("a/cases.jsonl.gz")).name
        'cases.jsonl'
    """
    return path.with_suffix("") if path.suffix.lower() == ".gz" else path


def format_of(path: PurePath) -> FormatName:
    """The format that the suffix stands for.

    Raises:
        FormatError: An unknown suffix.
    """
    name = _OF_SUFFIX.get(without_gz(path).suffix.lower())
    if name is None:
        known = ", ".join(_OF_SUFFIX)
        raise FormatError(f"has an unknown suffix; known are {known} (each also with .gz); or give --format")
    return name


def sniffed_format(path: Path, suffix_format: FormatName) -> FormatName:
    """The format of a file: XML that begins like an E2B message holds case safety reports.

    Args:
        path: The file; one that cannot be read is reported when it is masked.
        suffix_format: What its suffix stands for.
    """
    if suffix_format is not FormatName.I2B2:
        return suffix_format
    head = b""
    with suppress(OSError, EOFError, zlib.error, UnreadableInputError), open_input(path) as stream:
        head = stream.read(_MAX_HEAD_BYTES)
    return FormatName.ICSR if is_icsr(head) else suffix_format


def open_input(path: Path) -> BinaryIO:
    """Open a regular file for reading; `.gz` is unpacked on the way.

    Raises:
        UnreadableInputError: Missing, not a file, or not readable.
    """
    with input_errors():
        if not stat.S_ISREG(path.stat().st_mode):
            raise UnreadableInputError("is not a file; give a file or folder, or - for standard input")
        if path.suffix.lower() == ".gz":
            return cast(BinaryIO, gzip.open(path, "rb"))
        return path.open("rb")


@contextmanager
def input_errors() -> Iterator[None]:
    """Turn what the operating system and gzip raise into one line with a remedy."""
    problem = ""
    try:
        yield
    except FileNotFoundError:
        problem = "does not exist; check the spelling"
    except PermissionError:
        problem = "cannot be read (no permission); ask its owner for the right to read it"
    except (gzip.BadGzipFile, EOFError, zlib.error):
        problem = "is not a whole gzip file; unpack it or copy it again"
    except OSError as error:
        problem = f"cannot be read ({error.strerror or type(error).__name__}); copy it to a local disk"
    if problem:
        raise UnreadableInputError(problem)


def open_source(stream: BinaryIO, name: str, format_name: FormatName, options: ReadOptions) -> Source:
    """Open a file of a known format.

    Args:
        stream: The bytes, unpacked.
        name: The id of a document that has none of its own.
        format_name: The format.
        options: How to read it.

    Raises:
        InputError: The file cannot be used at all.
    """
    match format_name:
        case FormatName.TEXT:
            return read_plain_text(stream, name, options)
        case FormatName.I2B2:
            return read_i2b2_xml(stream, name)
        case FormatName.JSONL:
            return read_json_lines(stream, options)
        case FormatName.CSV:
            delimiter = "\t" if name.lower().endswith(".tsv") else ","
            return read_csv(stream, options, default_delimiter=delimiter)
        case FormatName.PARQUET:
            return read_parquet(stream, options)
        case FormatName.ICSR:
            raise FormatError("holds case safety reports, whose texts are masked together; give the file")
