"""Write the public narratives with the names that were planted in 60 of them, one by one.

Usage: build_planted_names.py NARRATIVES.jsonl OUT.jsonl

NARRATIVES.jsonl has lines of {"id", "text"}: at least the 2,500 narratives of VAERS that
`held_out_sets/planted_names.tsv` lists by id and hash. OUT.jsonl is gold for `inverse-deid evaluate`.
It is for measuring only: never train or calibrate on it, and never put it into a repository.
"""

from __future__ import annotations

import sys
from pathlib import Path

from held_out_names import build_documents, read_narratives

from inverse_deid.formats.tables.json_lines import gold_json_line


def main(narratives: Path, out: Path) -> None:
    docs = build_documents(read_narratives(narratives))
    out.write_bytes(b"".join(map(gold_json_line, docs)))


if __name__ == "__main__":
    if len(sys.argv) != 3:
        raise SystemExit(__doc__)
    main(Path(sys.argv[1]), Path(sys.argv[2]))
