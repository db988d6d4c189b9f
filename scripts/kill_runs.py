"""Kill `inverse-deid mask` again and again, resume it, and compare the output with that of a whole run.

Usage: python scripts/kill_runs.py [--count 80] [--seed 1]

Each try masks one kind of invented input (a folder of texts, JSON Lines, CSV), with one or two workers,
and kills the command with SIGKILL: at a random time, before a random step that changes files,
or while Python ends. One in three is killed twice. Then the run is resumed, and once more. A try fails if

- anything that was left shows a word that has to be masked,
- the resumed run does not end with status 0,
- its output is not, byte by byte, that of a run that nobody killed, or a file of the run is left over, or
- the second `--resume` does not say that nothing is left to do.

The model is the stand-in of the tests: what is tried is the work on files. Prints as JSON how many tries
there were by input, workers and kind of kill, and what failed. The exit status is 1 if anything did.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
COMMAND = ROOT / "tests" / "end_to_end" / "slow_command.py"
CANARY = "Zebulonova"
JOURNAL = ".inverse-deid.journal"
KINDS = ("texts", "jsonl", "csv")
MOST_STEPS = 90
SECONDS = 120


@dataclass(frozen=True, slots=True)
class Try:
    """One run that is killed.

    Args:
        kind: Of the input.
        n_workers: 1 or 2.
        points: Where it is killed: a step, `exit`, or seconds with an `s` behind.
    """

    kind: str
    n_workers: int
    points: tuple[str, ...]


def tries(count: int, seed: int) -> list[Try]:
    """What is tried; the same seed gives the same tries."""
    rng = random.Random(seed)
    found = []
    for number in range(count):
        n_kills = 2 if rng.random() < 1 / 3 else 1
        points = tuple(_point(rng, number % 2 + 1) for _ in range(n_kills))
        found.append(Try(KINDS[number // 2 % 3], number % 2 + 1, points))
    return found


def _point(rng: random.Random, n_workers: int) -> str:
    sort = rng.choices(("exit", "time", "step"), (2, 3, 5))[0]
    if sort == "exit":
        return "exit"
    if sort == "time":
        return f"{rng.uniform(0.5, 4.0 * n_workers):.2f}s"
    return str(int(MOST_STEPS ** rng.random()))


def write_inputs(folder: Path) -> dict[str, Path]:
    """Invented inputs by kind."""
    texts = [f"case {i}: Ms. {CANARY} had a rash; é after the dose. " * 8 for i in range(600)]
    notes = folder / "texts"
    for number in range(9):
        note = notes / f"sub{number % 3}" / f"note{number}.txt"
        note.parent.mkdir(parents=True, exist_ok=True)
        note.write_text("".join(texts[number * 60 : number * 60 + 60]), encoding="utf-8")
    jsonl, table = folder / "cases.jsonl", folder / "cases.csv"
    jsonl.write_text("\n".join(json.dumps({"id": i, "text": text}) for i, text in enumerate(texts)))
    table.write_text(
        "n,text\n" + "".join(f'{i},"{text}"\n' for i, text in enumerate(texts)), encoding="utf-8"
    )
    return {"texts": notes, "jsonl": jsonl, "csv": table}


def run(options: list[str], point: str = "") -> tuple[int, str]:
    """Status and messages of one run, killed at a point."""
    environment = {**os.environ, "SECONDS_A_BATCH": "0.02"}
    environment["PYTHONPATH"] = os.pathsep.join(
        [str(ROOT / "tests"), str(ROOT), os.environ.get("PYTHONPATH", "")]
    )
    if point and not point.endswith("s"):
        environment["KILL_AT"] = point
    process = subprocess.Popen(
        [sys.executable, str(COMMAND), "mask", *options], env=environment, stderr=subprocess.PIPE, text=True
    )
    if point.endswith("s"):
        with suppress(subprocess.TimeoutExpired):
            process.wait(float(point[:-1]))
        process.kill()
    said = process.communicate(timeout=SECONDS)[1]
    return process.returncode, said


def contents(folder: Path) -> dict[str, bytes]:
    """All files but the journal."""
    files = (path for path in folder.rglob("*") if path.is_file() and path.name != JOURNAL)
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


def faults(one: Try, given: Path, whole: dict[str, bytes], folder: Path) -> tuple[list[str], int]:
    """What went wrong in one try, and how many kills came before the end of the run."""
    out, report = folder / "out", folder / "out-report.json"
    options = [str(given), "--out", str(out), "--explain", "--run-report", str(report)]
    options += ["--workers", str(one.n_workers)]
    found, n_kills = [], 0
    for point in one.points:
        status, _ = run([*options, "--resume"], point)
        n_kills += status < 0
        if any(CANARY.encode() in data for data in contents(folder).values()):
            found.append("a word that has to be masked was left")
    status, said = run([*options, "--resume"])
    if status != 0:
        found.append(f"resumed: status {status}: {said.splitlines()[0] if said else ''}")
    if contents(out) != whole:
        found.append("the output is another, or files are left over")
    status, said = run([*options, "--resume"])
    if status != 0 or "Nothing is left to do" not in said:
        found.append(f"resumed again: status {status}")
    if not report.is_file():
        found.append("no run report")
    return found, n_kills


def main() -> int:
    """Do all tries and print what they showed."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--count", type=int, default=80)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    done: Counter[str] = Counter()
    failed: list[dict[str, object]] = []
    n_kills, started = 0, time.monotonic()
    with tempfile.TemporaryDirectory() as name:
        inputs = write_inputs(Path(name))
        wholes = {}
        for kind, path in inputs.items():
            run([str(path), "--out", str(Path(name) / f"whole-{kind}"), "--explain"])
            wholes[kind] = contents(Path(name) / f"whole-{kind}")
        for number, one in enumerate(tries(given.count, given.seed)):
            folder = Path(name) / f"try{number}"
            folder.mkdir()
            found, n = faults(one, inputs[one.kind], wholes[one.kind], folder)
            n_kills += n
            done[f"{one.kind}, {one.n_workers} workers"] += 1
            for point in one.points:
                done["exit" if point == "exit" else "time" if point.endswith("s") else "step"] += 1
            if found:
                failed.append({"try": number, "points": one.points, "kind": one.kind, "faults": found})
    figures = {"tries": given.count, "seed": given.seed, "kills": n_kills, "by": dict(sorted(done.items()))}
    print(json.dumps({**figures, "failed": failed, "seconds": round(time.monotonic() - started)}, indent=1))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
