"""The pictures of the pages that were read as scans, drawn again for a reader: work of a child.

A picture of a stranger is decoded in the child process alone, and comes out as a new JPEG file.
"""

from __future__ import annotations

import io
from dataclasses import dataclass, field

from inverse_deid.core.errors import FormatError
from inverse_deid.core.wording import _
from inverse_deid.formats.containers.parts import Container
from inverse_deid.formats.records import Format, ReadOptions
from inverse_deid.formats.registry import FORMATS, input_errors

MAX_PICTURE_BYTES = 16 * 1024 * 1024
_JPEG = b"\xff\xd8\xff"


@dataclass(frozen=True, slots=True)
class ScanFile:
    """A file with a document that may have been read from pictures.

    Args:
        format: The name of its format.
        name: Its place below what was given.
        document: The id of the document, which says where in an e-mail or archive it is.
        data: Its bytes, unpacked.
    """

    format: str
    name: str = field(repr=False)
    document: str = field(repr=False)
    data: bytes = field(repr=False)


def may_have_scans(format_name: str, name: str, document: str) -> bool:
    """Whether a document may have pages that were read as scans.

    Example:
        >>> may_have_scans("scan", "a.png", "a.png"), may_have_scans("zip", "a.zip", "a.zip/b.csv")
        (True, False)
    """
    kind = FORMATS[format_name]
    if not kind.is_container:
        return kind.list_scans is not None
    suffixes = tuple(one for kind in FORMATS.values() if kind.list_scans for one in kind.suffixes)
    return document.startswith(f"{name}/") and document.lower().endswith(suffixes)


def list_scans(file: ScanFile) -> list[int]:
    """Return the numbers of the pages that were read as scans.

    Raises:
        InputError: The file cannot be read.
        ConfigurationError: A package that the format needs is missing.
    """
    kind, data = _find(file)
    with input_errors():
        return [] if kind.list_scans is None else kind.list_scans(data)


def draw_scan(file: ScanFile, page: int) -> bytes:
    """Return the picture of such a page as a new JPEG file; raises as `list_scans`."""
    kind, data = _find(file)
    if kind.draw_scan is None:
        raise FormatError(_("has no pictures of pages"))
    with input_errors():
        return kind.draw_scan(data, page)


def check_picture(data: bytes) -> bytes:
    """Return what a child process drew, if it is a JPEG file.

    Raises:
        FormatError: It is not.
    """
    if not data.startswith(_JPEG) or len(data) > MAX_PICTURE_BYTES:
        raise FormatError(_("has a page whose picture cannot be shown"))
    return data


def _find(file: ScanFile) -> tuple[Format, bytes]:
    kind = FORMATS[file.format]
    if not kind.is_container:
        return kind, file.data
    with input_errors():
        source = kind.open(io.BytesIO(file.data), ReadOptions(), file.name)
        found = source.find(file.document) if isinstance(source, Container) else None
    if found is None:
        raise FormatError(_("does not have this document"))
    return found
