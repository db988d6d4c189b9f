"""Change annotated documents as other systems hand them over. The spans move with their characters.

    python scripts/change.py lower|upper|hyphens|mojibake|ocr1 GOLD.jsonl OUT.jsonl

lower, upper: one letter case throughout. hyphens: lines of 60 columns, where words are broken with a hyphen.
mojibake: typographic quotes, then UTF-8 read as Windows-1252. ocr1: 3 % of the characters that look like
another one are taken for it, about 1 % of all characters. The same documents give the same copies.
"""

from __future__ import annotations

import json
import random
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

COLUMNS = 60
CONFUSED_SHARE = 0.03
LOOKS_LIKE = {
    **{"o": "0", "0": "O", "l": "1", "1": "1", "I": "l", "S": "5", "5": "S", "B": "8", "8": "B"},
    **{"a": "a", "c": "e", "e": "c", "n": "u", "u": "n", "m": "r", "t": "v"},
}
"""`a` and `1` keep their form, but count among the characters of which a share is drawn."""


def keep_length(char: str, changed: str) -> str:
    """Return the changed letter, or the letter itself if the other case has several characters."""
    return changed if len(changed) == 1 else char


def misread(char: str, rng: random.Random) -> str:
    """Return what a scanner may take a character for."""
    return LOOKS_LIKE[char] if char in LOOKS_LIKE and rng.random() < CONFUSED_SHARE else char


def garble(char: str) -> str:
    """Return a character as UTF-8 read as Windows-1252, with straight quotes made typographic first."""
    typographic = {"'": "\N{RIGHT SINGLE QUOTATION MARK}", '"': "\N{RIGHT DOUBLE QUOTATION MARK}"}.get(
        char, char
    )
    return typographic.encode().decode("cp1252", "replace")


CHANGES: Mapping[str, Callable[[str, random.Random], str]] = {
    "lower": lambda char, _: keep_length(char, char.lower()),
    "upper": lambda char, _: keep_length(char, char.upper()),
    "hyphens": lambda char, _: char,
    "mojibake": lambda char, _: garble(char),
    "ocr1": misread,
}


def change_document(doc: Mapping[str, Any], name: str, rng: random.Random) -> dict[str, Any]:
    """Return a changed copy. A span ends after its last character, before a hyphen that follows it."""
    pieces: list[str] = []
    ranges: list[tuple[int, int]] = []  # of each old character in the new text
    length = column = 0
    for char in doc["text"]:
        piece = CHANGES[name](char, rng)
        column = 0 if char == "\n" else column + 1
        ends_line = name == "hyphens" and column >= COLUMNS and char.islower()
        pieces.append(piece + "-\n" if ends_line else piece)
        ranges.append((length, length + len(piece)))
        length += len(pieces[-1])
        column = 0 if ends_line else column
    spans = [
        {**span, "start": ranges[span["start"]][0], "end": ranges[span["end"] - 1][1]}
        for span in doc["spans"]
    ]
    return {**doc, "text": "".join(pieces), "spans": spans}


def change_documents(docs: Iterable[Mapping[str, Any]], name: str) -> Iterator[dict[str, Any]]:
    """Change documents in order, with one seeded stream of random numbers for all."""
    rng = random.Random(7)
    for doc in docs:
        yield change_document(doc, name, rng)


def write_changed(gold: Path, name: str, out: Path) -> None:
    """Write changed copies of the documents of a file."""
    with gold.open(encoding="utf-8") as lines, out.open("w", encoding="utf-8") as changed:
        for doc in change_documents(map(json.loads, lines), name):
            changed.write(json.dumps(doc, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    if len(sys.argv) != 4 or sys.argv[1] not in CHANGES:
        raise SystemExit(__doc__)
    write_changed(Path(sys.argv[2]), sys.argv[1], Path(sys.argv[3]))
