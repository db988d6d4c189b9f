"""Mask a batch of case reports with a substitute for the masker and print memory and speed as JSON.

    python scripts/measure_case_memory.py CASES.xml [PROFILE]

The substitute returns texts of the same length, so that only reading, rewriting, checking and writing are
measured. The masked message is not stored. `make_case_reports.py` makes the batch.
"""

from __future__ import annotations

import json
import resource
import sys
import time
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

from inverse_deid.core.errors import RefusedRecordError
from inverse_deid.formats.icsr.rewriting import Replacements
from inverse_deid.formats.icsr.source import read_reports
from inverse_deid.formats.icsr.standard.profiles import builtin_profile
from inverse_deid.formats.records import ReadOptions


class Nowhere:
    """Counts what is written and forgets it."""

    n_bytes = 0

    def write(self, data: bytes) -> int:
        self.n_bytes += len(data)
        return len(data)


FIELDS = Replacements(pseudonym=lambda _element, _value: "PSEUDONYM", date_value=lambda _field: None)


def peak_mb() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024


def main(file: str, profile: str = "third-party") -> None:
    peaks: dict[int, int] = {}
    target, started = Nowhere(), time.process_time()
    with Path(file).open("rb") as stream:
        source = read_reports(stream, ReadOptions(profile=builtin_profile(profile)), Path(file).name)
        sink = source.sink(target)
        for n_parts, record in enumerate(source.records(), start=1):
            masked = [SimpleNamespace(text="word " * (len(doc.text) // 5)) for doc in record.docs]
            with suppress(RefusedRecordError):  # the sink counts it
                sink.leave_out(record) if record.problem else sink.write(
                    replace(record, fields=FIELDS), masked
                )
            if n_parts in (100, 1_000, 2_000, 5_000, 10_000):
                peaks[n_parts] = peak_mb()
        sink.finish()
    report = sink.report
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
