"""Compare what two revisions write: every choice of `mask` alone, some together, all formats.

Usage: python scripts/compare_revisions.py OLD NEW INPUT... [--combinations 200] [--seed 20261128]

Each INPUT is a file or folder. JSON Lines files are masked with every choice; all others with the
defaults, in whatever formats they are. A run is the same if the status is the same and every file that it
writes is the same to the byte. Run reports and maps, which tell the revision and the time, are not compared.
Prints which runs differ, by their options, and never text. Ends with status 1 if one does.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import random
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
KEY = ("--key", "KEY")
_CATEGORIES = (
    "hipaa i2b2 everything name,contact,id all,-date all,-age "
    "all,-profession all,-place all,-name all,-contact all,-id"
)
CHOICES: tuple[tuple[tuple[str, ...], ...], ...] = (
    ((), ("--operating-point", "strict"), ("--operating-point", "lenient")),
    ((), ("--careful",), ("--fast",)),
    ((), *(("--categories", one) for one in _CATEGORIES.split())),
    ((), ("--replace", "category"), (*KEY, "--replace", "surrogate")),
    ((), ("--dates", "year"), ("--dates", "relative-day"), (*KEY, "--dates", "shift")),
    (
        (),
        ("--ages", "keep-under-90"),
        *(("--ages", "band", "--age-bands", one) for one in ("e2b", "10-years", "5-years")),
    ),
    ((), ("--low", "0.9"), ("--high", "0.99"), ("--rules-only",)),
    ((), ("--allow", "ALLOW"), ("--deny", "DENY")),
    ((), ("--marker", "XXX")),
    ((), ("--explain",), ("--offsets",), ("--explain", "--with-text")),
    ((), ("--workers", "2"), ("--threads", "2")),
    ((), ("--day-first",), ("--month-first",)),
    (
        (),
        ("--rename", "RENAMED"),
    ),
)
"""Groups of choices; a combination takes one of each of some groups."""


def list_runs(n_combinations: int, seed: int) -> list[tuple[str, ...]]:
    """Every choice alone, then random combinations; without double ones."""
    runs = [choice for group in CHOICES for choice in group]
    rng = random.Random(seed)
    for _ in range(n_combinations):
        groups = rng.sample(CHOICES, k=rng.choice((2, 3, 4)))
        runs.append(tuple(word for group in groups for word in rng.choice(group)))
    return list(dict.fromkeys(runs))


def digest_of(revision: Path, given: Path, options: tuple[str, ...], folder: Path) -> tuple[int, str]:
    """Mask with one revision.

    Returns:
        The status, and the hash of the names and bytes that were written.
    """
    files = {"KEY": "0123456789abcdef0123456789abcdef", "ALLOW": "well\nreporter", "DENY": "rash\nfever"}
    with tempfile.TemporaryDirectory(dir=folder) as scratch:
        place = Path(scratch)
        for name, content in files.items():
            (place / name).write_text(content + "\n")
            (place / name).chmod(0o600)
        words = [str(place / word) if word in (*files, "RENAMED") else word for word in options]
        command = [sys.executable, "-W", "ignore", "-m", "inverse_deid.cli.main", "mask", str(given)]
        dated = "--dates" in words or "band" in words
        words += ["--today", "2026-01-01"] * dated  # or it is the day of the run
        command += ["--out", str(place / "out"), "--quiet", *words]
        environment = {**os.environ, "PYTHONPATH": str(revision), "PYTHONDONTWRITEBYTECODE": "1"}
        done = subprocess.run(command, env=environment, cwd=place, capture_output=True, check=False)
        seen = hashlib.sha256()
        written = [*sorted((place / "out").rglob("*")), place / "RENAMED"]
        for path in written:
            if path.is_file() and not path.name.startswith("."):  # the journal is sealed anew each time
                seen.update(json.dumps([path.name, hashlib.sha256(path.read_bytes()).hexdigest()]).encode())
        return done.returncode, seen.hexdigest()


def main() -> int:
    """Compare two revisions."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("old")
    parser.add_argument("new")
    parser.add_argument("inputs", nargs="+", type=Path, metavar="INPUT")
    parser.add_argument("--combinations", type=int, default=200)
    parser.add_argument("--seed", type=int, default=20261128)
    parser.add_argument(
        "--defaults", action="store_true", help="mask with two operating points and --fast only"
    )
    options = parser.parse_args()
    n_same, differ = 0, []
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        for name in ("old", "new"):
            subprocess.run(
                ["git", "worktree", "add", "--quiet", "--detach", folder / name, getattr(options, name)],
                cwd=ROOT,
                check=True,
            )
        try:
            for given in options.inputs:
                runs = [()] if given.suffix != ".jsonl" else list_runs(options.combinations, options.seed)
                if options.defaults:
                    runs = [(), ("--operating-point", "strict"), ("--fast",)]
                for run in runs:
                    with ThreadPoolExecutor(2) as pool:
                        old, new = pool.map(
                            lambda name, run=run, given=given: digest_of(
                                folder / name, given.resolve(), run, folder
                            ),
                            ("old", "new"),
                        )
                    if old == new:
                        n_same += 1
                    else:
                        differ.append((given.name, run, old[0], new[0]))
                        print("differs:", *differ[-1][:2], f"status {old[0]}, {new[0]}", flush=True)
        finally:
            for name in ("old", "new"):
                subprocess.run(["git", "worktree", "remove", "--force", folder / name], cwd=ROOT, check=True)
    print(f"{n_same} runs are the same, {len(differ)} differ")
    return 1 if differ else 0


if __name__ == "__main__":
    sys.exit(main())
