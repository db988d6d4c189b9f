"""Join marks kept without text with the narratives that they belong to.

`narratives/vaers-marks.jsonl` says where public narratives contain identifiers
that are not part of this project: id, hash of the text, spans. This script looks
the narratives up in the files given and writes annotated documents.

    python scripts/join_marks.py narratives/vaers-marks.jsonl OUT.jsonl NARRATIVES.jsonl.gz...
    python scripts/join_marks.py --strip ANNOTATED.jsonl narratives/vaers-marks.jsonl

The second form takes the texts out again.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    unzip = gzip.open if path.suffix == ".gz" else open
    with unzip(path, "rt", encoding="utf-8") as file:
        yield from map(json.loads, file)


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _write(path: Path, lines: Iterator[dict[str, Any]]) -> int:
    n_lines = 0
    with path.open("w", encoding="utf-8") as file:
        for line in lines:
            file.write(json.dumps(line, ensure_ascii=False) + "\n")
            n_lines += 1
    return n_lines


def join(marks: Path, sources: list[Path]) -> Iterator[dict[str, Any]]:
    """Annotated documents; those whose narrative is missing or has changed are left out and counted."""
    wanted = {line["id"]: line for line in _lines(marks)}
    found = 0
    for source in sources:
        for line in _lines(source):
            mark = wanted.get(line["id"])
            if mark and mark["sha256"] == _hash(line["text"]):
                found += 1
                yield {"id": line["id"], "text": line["text"], "spans": mark["spans"]}
                del wanted[line["id"]]
    if wanted:
        print(f"{len(wanted)} of {found + len(wanted)} narratives were not found", file=sys.stderr)


def strip(annotated: Path) -> Iterator[dict[str, Any]]:
    """The marks without the texts."""
    for line in _lines(annotated):
        spans = [{key: span[key] for key in ("start", "end", "type")} for span in line["spans"]]
        yield {"id": line["id"], "sha256": _hash(line["text"]), "spans": spans}


def main(arguments: list[str]) -> int:
    """Run one of the two forms."""
    if arguments[:1] == ["--strip"] and len(arguments) == 3:
        print(_write(Path(arguments[2]), strip(Path(arguments[1]))), "documents")
        return 0
    if len(arguments) < 3:
        print(__doc__, file=sys.stderr)
        return 2
    n_joined = _write(Path(arguments[1]), join(Path(arguments[0]), list(map(Path, arguments[2:]))))
    print(n_joined, "documents")
    return 0 if n_joined else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
