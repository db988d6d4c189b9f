"""A language in which every text is marked: what is not marked did not go through gettext."""

from __future__ import annotations

import re
import struct
from functools import cache
from pathlib import Path

import extract_messages

LANGUAGE = "qps"
BEGIN, END = "⟦", "⟧"
PLURAL = "nplurals=3; plural=(n==1 ? 0 : n==2 ? 1 : 2);"
"""Three forms, as English has two."""


@cache
def list_messages() -> tuple[extract_messages.Message, ...]:
    return tuple(extract_messages.find_messages())


def mark(text: str) -> str:
    """Mark a text inside the spaces around it."""
    bare = text.strip()
    return text.replace(bare, f"{BEGIN}{bare}{END}", 1) if bare else text


def write_catalogue(folder: Path, messages=None, translate=mark, language=LANGUAGE) -> None:
    """Write the compiled catalogue of a language below a folder of languages."""
    head = f"Content-Type: text/plain; charset=UTF-8\nPlural-Forms: {PLURAL}\n"
    entries = {"": head}
    for one in list_messages() if messages is None else messages:
        if one.many:
            many = translate(one.many)
            entries[f"{one.text}\0{one.many}"] = "\0".join([translate(one.text), many, many])
        else:
            entries[one.text] = translate(one.text)
    path = folder / language / "LC_MESSAGES" / "inverse_deid.mo"
    path.parent.mkdir(parents=True)
    path.write_bytes(_compile(entries))


def _compile(entries: dict[str, str]) -> bytes:
    """Return the .mo file of texts, as the manual of GNU gettext describes it."""
    keys = sorted(entries, key=str.encode)
    parts = [[one.encode() for one in keys], [entries[one].encode() for one in keys]]
    start = 28 + 16 * len(keys)
    tables, data = b"", b""
    for texts in parts:
        for text in texts:
            tables += struct.pack("<II", len(text), start + len(data))
            data += text + b"\0"
    head = struct.pack("<7I", 0x950412DE, 0, len(keys), 28, 28 + 8 * len(keys), 0, start)
    return head + tables + data


def unmarked(text: str) -> str:
    """Return what of a text is outside of all marks."""
    while True:
        shorter = re.sub(f"{BEGIN}[^{BEGIN}{END}]*{END}", "", text)
        if shorter == text:
            return text
        text = shorter
