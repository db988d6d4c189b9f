"""Mask a batch of case reports with a stand-in for the masker and print memory and speed as JSON.

    python scripts/measure_case_memory.py CASES.xml [PROFILE]

The stand-in gives back as many letters as each text has, so that reading, rewriting, checking and
writing are measured and nothing else; the masked message is thrown away. `make_case_reports.py`
makes the batch.
"""

from __future__ import annotations

import json
import resource
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from inverse_deid.formats.icsr.cases import Case
from inverse_deid.formats.icsr.masking import TreatedCase, mask_message
from inverse_deid.formats.icsr.profiles import builtin_profile
from inverse_deid.formats.icsr.rewriting import Replacements


class Nowhere:
    """Counts what is written and forgets it."""

    n_bytes = 0

    def write(self, data: bytes) -> int:
        self.n_bytes += len(data)
        return len(data)


def treated(cases: Sequence[Case]) -> list[TreatedCase]:
    given = Replacements(pseudonym=lambda _element, _value: "PSEUDONYM", date_value=lambda _field: None)
    return [
        TreatedCase(["word " * (len(text.text) // 5) for text in case.free_texts], given) for case in cases
    ]


def peak_mb() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024


def main(file: str, profile: str = "third-party") -> None:
    peaks: dict[int, int] = {}
    n_cases = 0

    def count(*_: object) -> None:
        nonlocal n_cases
        n_cases += 1
        if n_cases in (100, 1_000, 2_000, 5_000, 10_000):
            peaks[n_cases] = peak_mb()

    target, started = Nowhere(), time.process_time()
    with Path(file).open("rb") as stream:
        report = mask_message((stream, target), treated, builtin_profile(profile), on_part=count)
    figures = {
        "cases": report.n_cases,
        "problems": report.n_problems,
        "mb_read": Path(file).stat().st_size // 10**6,
        "mb_written": target.n_bytes // 10**6,
        "cpu_seconds": round(time.process_time() - started),
        "peak_memory_mb": peak_mb(),
        "peak_memory_mb_after_parts": peaks,
    }
    print(json.dumps(figures, indent=1))


if __name__ == "__main__":
    main(*sys.argv[1:])
