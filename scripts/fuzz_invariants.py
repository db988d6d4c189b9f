"""Mask fuzzed documents with the packaged model and check what must hold of every one.

Usage: fuzz_invariants.py --documents 200000 --seed 1 --workers 2

Prints how many times each invariant was checked and broken, the indices of documents that broke it,
and how many planted identifiers leaked; never text. `--first INDEX --documents 1` makes one document
again. Ends with status 1 if an invariant is broken.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from itertools import islice
from multiprocessing import get_context
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from fuzzed_texts import CANARIES, fuzzed_text
from masking_invariants import Findings, Harness

_BATCH = 256
_SHOWN = 20
_TELL_EVERY = 40
_harness: list[Harness] = []


def check_batch(seed: int, first: int, last: int) -> Findings:
    """Check the documents from `first` until before `last`; a process loads the model once."""
    if not _harness:
        _harness.append(Harness())
    return _harness[0].check([fuzzed_text(seed, index) for index in range(first, last)])


def found_in(options: argparse.Namespace) -> Iterator[Findings]:
    """What each batch finds; the batches are the same for any number of workers."""
    last = options.first + options.documents
    bounds = [(first, min(first + _BATCH, last)) for first in range(options.first, last, _BATCH)]
    if options.workers == 1:
        yield from (check_batch(options.seed, *bound) for bound in bounds)
        return
    with ProcessPoolExecutor(options.workers, get_context("spawn")) as pool:
        yield from pool.map(check_batch, *zip(*((options.seed, *bound) for bound in bounds), strict=True))


def report(findings: Findings, seed: int) -> Iterator[str]:
    """Lines of plain text."""
    for name in sorted(findings.checked):
        indices = sorted(findings.broken.get(name, ()))
        yield f"{name:42} {findings.checked[name]:8} checked {len(indices):6} broken"
        if indices:
            more = " ..." if len(indices) > _SHOWN else ""
            yield f"    seed {seed}, index " + ", ".join(map(str, islice(indices, _SHOWN))) + more
    figures = findings.figures
    for name in ("documents", "characters", "tokens", "tokens kept"):
        yield f"{name:42} {figures[name]:8}"
    for kind in CANARIES:
        n, part, full = (
            figures[f"{what}: {kind}"] for what in ("planted", "leaked in part", "leaked in full")
        )
        yield f"planted {kind:34} {n:8}, leaked in part {part}, in full {full}"
    seconds, characters, first = findings.slowest
    yield f"slowest batch: {seconds:.1f} s for {characters} characters, from index {first}"


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--documents", type=int, default=200_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--first", type=int, default=0, help="index of the first document")
    parser.add_argument("--workers", type=int, default=2)
    options = parser.parse_args()
    began, total = time.monotonic(), Findings()
    for n_batches, findings in enumerate(found_in(options), start=1):
        total.add(findings)
        for name, indices in findings.broken.items():
            print(f"broken: {name}, seed {options.seed}, index {indices}", file=sys.stderr, flush=True)
        if n_batches % _TELL_EVERY == 0:
            n_broken = sum(map(len, total.broken.values()))
            print(f"{n_batches * _BATCH} documents, {n_broken} broken", file=sys.stderr, flush=True)
    print(*report(total, options.seed), sep="\n")
    print(f"{time.monotonic() - began:.0f} s", file=sys.stderr)
    return 1 if total.broken else 0


if __name__ == "__main__":
    sys.exit(main())
