"""Measure how scans are masked: the identifying words that are masked, the drugs and reactions that are kept.

    python scripts/make_scans.py FOLDER
    inverse-deid mask FOLDER/*.png FOLDER/*.jpg FOLDER/*.tif --out MASKED
    python scripts/measure_scans.py FOLDER MASKED

Words are counted as often as they are printed. An identifying word leaked if the masked text has it more
often than the page has it in other meanings (`5` may be a house and a dose), or has a word that resembles it.
A drug or reaction is kept as often as the masked text has it. A refused file keeps nothing and leaks nothing.
"""

from __future__ import annotations

import json
import re
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rapidfuzz import fuzz

_WORD = re.compile(r"\w+")
_ALIKE = 80
_MIN_FUZZY_CHARS = 5


def count_words(text: str) -> Counter[str]:
    return Counter(_WORD.findall(text.casefold()))


def measure(truth: Mapping[str, Any], masked: str) -> tuple[int, list[str], int, int]:
    """Return how many identifying words a page has, those that leaked, and the clinical words: all, kept."""
    printed = " ".join(truth["text"].split())
    others = printed
    for one in truth["identifying"]:
        others = others.replace(one, " ")
    all_words, other_words, shown = count_words(printed), count_words(others), count_words(masked)
    identifying = all_words - other_words
    leaked = [word for word in identifying.elements() if shown[word] > other_words[word]]
    leaked += list(_find_alike(identifying, all_words, shown))
    clinical = {word: all_words[word] for text in truth["clinical"] for word in count_words(text)}
    kept = sum(min(n, shown[word]) for word, n in clinical.items())
    return identifying.total(), leaked, sum(clinical.values()), kept


def _find_alike(identifying: Counter[str], printed: Counter[str], shown: Counter[str]) -> Sequence[str]:
    names = [word for word in identifying if len(word) >= _MIN_FUZZY_CHARS]
    return [
        f"{word} for {name}"
        for word in shown
        for name in names
        if len(word) >= _MIN_FUZZY_CHARS and word not in printed and fuzz.ratio(word, name) >= _ALIKE
    ]


def main(folder: Path, masked: Path) -> None:
    """Print a line for each scan, and the shares of all."""
    totals = Counter[str]()
    for truth in json.loads((folder / "truth.json").read_text("utf-8")):
        path = masked / f"{truth['file']}.txt"
        text = path.read_text("utf-8") if path.exists() else ""
        n_identifying, leaked, n_clinical, n_kept = measure(truth, text)
        totals += Counter(identifying=n_identifying, leaked=len(leaked), clinical=n_clinical, kept=n_kept)
        note = "" if path.exists() else "  REFUSED"
        n_masked = n_identifying - len(leaked)
        print(f"{truth['file']}  masked {n_masked}/{n_identifying}  kept {n_kept}/{n_clinical}{note}")
        print(*(f"    leaked: {word}" for word in leaked), sep="\n", end="\n" if leaked else "")
    masked_share = 1 - totals["leaked"] / totals["identifying"]
    print(f"identifying words masked: {masked_share:.3f} of {totals['identifying']}")
    print(f"drugs and reactions kept: {totals['kept'] / totals['clinical']:.3f} of {totals['clinical']}")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
