"""Measure whether the order of the review puts the cases that leak first.

Usage: python scripts/measure_order.py GOLD.jsonl [GOLD.jsonl ...] [--careful]

Masks each document as a case, read once, with the usual thresholds. A case leaks if it keeps a word of an
identifier. Prints the area under the curve (how often a case that leaks comes before one that does not, ties
counting half) of the doubt by which the list is ordered, and of the number of doubtful words alone.
"""

from __future__ import annotations

import argparse
import dataclasses
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from inverse_deid.evaluation.leaks import find_leaks
from inverse_deid.formats.tables.json_lines import read_gold_json_lines
from inverse_deid.masking.assemble import MaskingSettings, build_deidentifier
from inverse_deid.review.flow.contents import join_texts, rank_case


def area_under_curve(doubts: Sequence[float], leaks: Sequence[bool]) -> float | None:
    """Return the area under the curve, None = no case leaks, or all do.

    Example:
        >>> area_under_curve([3, 1, 1], [True, True, False])
        0.75
    """
    values, leaking = np.array(doubts, np.float64), np.array(leaks, np.bool_)
    if leaking.all() or not leaking.any():
        return None
    first, second = values[leaking][:, None], values[~leaking]
    return float(((first > second) + 0.5 * (first == second)).mean())


def main() -> None:
    """Measure the files of the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("gold", nargs="+", type=Path)
    parser.add_argument("--careful", action="store_true", help="read words in doubt twice, as the desk does")
    given = parser.parse_args()
    masker = build_deidentifier(MaskingSettings(reading="careful" if given.careful else "fast"))
    found: list[tuple[float, int, bool]] = []

    def report(name: str, rows: Sequence[tuple[float, int, bool]]) -> None:
        doubts, counts, leaks = zip(*rows, strict=True)
        areas = [area_under_curve(one, leaks) for one in (doubts, counts)]
        said = ["not defined" if one is None else f"{one:.3f}" for one in areas]
        print(f"{name}: {len(rows)} cases, {sum(leaks)} leak. Doubt {said[0]}, doubtful words {said[1]}")

    for path in given.gold:
        with path.open("rb") as stream:
            docs = list(read_gold_json_lines(stream))
        masked = masker.mask_many([dataclasses.replace(doc, spans=()) for doc in docs])
        rows = []
        for doc, one in zip(docs, masked, strict=True):
            doubt, n_doubtful = rank_case(join_texts([doc], [one]), is_failed=one.failed)
            rows.append((doubt, n_doubtful, any(True for _leak in find_leaks(doc, one.masks))))
        report(path.name, rows)
        found += rows
    report("together", found)


if __name__ == "__main__":
    main()
