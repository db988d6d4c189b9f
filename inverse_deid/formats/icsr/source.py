"""Case safety reports as a format of case narratives."""

from __future__ import annotations

from typing import BinaryIO

from inverse_deid.core.errors import FormatError
from inverse_deid.formats.icsr.prolog import is_icsr
from inverse_deid.formats.records import Format, ReadOptions, Source


def read_reports(stream: BinaryIO, options: ReadOptions, name: str) -> Source:
    """Refuse a message of case safety reports, whose texts are masked together."""
    raise FormatError("holds case safety reports, whose texts are masked together; give the file")


FORMAT = Format(
    name="icsr", open=read_reports, suffixes=(".xml",), is_head=is_icsr, holds_cases=True, can_be_piped=False
)
