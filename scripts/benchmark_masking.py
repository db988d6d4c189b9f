"""Mask a file with the command as users do and print speed and memory as JSON.

Usage: python scripts/benchmark_masking.py FILE [-- OPTIONS OF inverse-deid mask]

Prints documents, tokens, seconds, tokens a second (loading included), seconds
from the start to the first byte of output, seconds of CPU time, the largest
resident memory of a process of the command in MB, failures and the exit status.
"""

from __future__ import annotations

import argparse
import json
import re
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

POLL_SECONDS = 0.01


def benchmark(file: Path, options: list[str]) -> dict[str, float | int | None]:
    """Run the command once into a temporary folder."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "masked"
        command = [
            sys.executable,
            "-m",
            "inverse_deid.cli.main",
            "mask",
            str(file),
            "--out",
            str(out),
            "--verbose",
            *options,
        ]
        started = time.monotonic()
        with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
            first_output = seconds_to_first_output(process, out, started)
            _, printed = process.communicate()
        seconds = time.monotonic() - started
    counts = {name: int(n.replace(",", "")) for name, n in re.findall(r"^(\w+) +([\d,]+)$", printed, re.M)}
    n_tokens = counts.get("tokens", 0)
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return {
        "documents": counts.get("documents"),
        "tokens": n_tokens,
        "seconds": round(seconds, 2),
        "tokens_a_second": round(n_tokens / seconds),
        "seconds_to_first_output": first_output,
        "cpu_seconds": round(used.ru_utime + used.ru_stime, 2),
        "peak_memory_mb": round(used.ru_maxrss / 1024),
        "failures": counts.get("failures"),
        "exit_status": process.returncode,
    }


def seconds_to_first_output(process: subprocess.Popen[str], out: Path, started: float) -> float | None:
    """When the first byte of an output file appeared, None if the command ended without any."""
    while True:
        ended = process.poll() is not None
        if any(path.is_file() and path.stat().st_size for path in outputs(out)):
            return round(time.monotonic() - started, 2)
        if ended:
            return None
        time.sleep(POLL_SECONDS)


def outputs(out: Path) -> list[Path]:
    """Finished and half-written output files, without the files of the run itself."""
    found = (path for path in out.rglob("*") if ".inverse-deid" not in path.relative_to(out).parts)
    return [path for path in found if not path.name.endswith((".json", ".new", ".journal"))]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("file", type=Path)
    parser.add_argument("options", nargs="*")
    given = parser.parse_args()
    print(json.dumps(benchmark(given.file, given.options), indent=1))


if __name__ == "__main__":
    main()
