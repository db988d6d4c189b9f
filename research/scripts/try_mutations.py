"""Make each change of `mutations.toml` in a copy and run the fast tests of its study on it.

    python research/scripts/try_mutations.py [WORDS]

With WORDS, only the changes are made whose description contains them.
Prints a line per change: the test that catches it, or *survived*. Exit status 1 if one survives, or if the
tests of its study fail without a change. Takes about a quarter of a minute per change and needs what the
tests need.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

RESEARCH = Path(__file__).resolve().parent.parent
LIKELY = {
    "thesis/study.py": "study_plan",
    "thesis/published.py": "published_rules",
    "thesis/judging.py": "study_rules",
    "thesis/runs.py": "training_as_published",
    "federated/study.py": "site_measures",
    "federated/tables.py": "site_measures",
    "comparison/comparison.py": "comparison_run",
    "extraction/study.py": "extraction_study",
    "extraction/spanish.py": "spanish_study",
    "extraction/tables.py": "spanish_study",
    "representations/tables.py": "sharing_study",
}
"""Tests that are likely to catch a change of a file. All of the study run if these do not."""


def run_tests(copy: Path, tests: str) -> str:
    """Return the first test that fails, "" if none does."""
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-n0", "-p", "no:cacheprovider", "--tb=no"]
    paths = os.pathsep.join([str(RESEARCH.parent), str(copy)])
    environment = os.environ | {"PYTHONPATH": paths, "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(
        [*command, str(copy / "tests" / tests)],
        check=False,
        cwd=copy,
        env=environment,
        capture_output=True,
        text=True,
    )
    found = re.search(r"^(?:FAILED|ERROR) (\S+)", done.stdout, re.MULTILINE)
    if done.returncode and not found:
        raise SystemExit(f"the tests did not run:\n{done.stdout}{done.stderr}")
    return found[1] if found else ""


def mutate(copy: Path, mutation: dict[str, str]) -> Path:
    """Change the copy of a file, and return its original."""
    folder = "configs" if mutation["file"].endswith(".toml") else "inverse_deid_research"
    original, path = (top / folder / mutation["file"] for top in (RESEARCH, copy))
    text = original.read_text(encoding="utf-8")
    if text.count(mutation["old"]) != 1:
        raise SystemExit(f"{mutation['what']}: occurs {text.count(mutation['old'])} times in {path.name}")
    path.write_text(text.replace(mutation["old"], mutation["new"]), encoding="utf-8")
    return original


def find_tests(file: str) -> str:
    """Return the folder of the tests of a study. Configurations at the top are those of the thesis."""
    study, _, rest = file.partition("/")
    return f"unit/{study if rest else 'thesis'}"


def main() -> int:
    mutations = tomllib.loads((Path(__file__).parent / "mutations.toml").read_text("utf-8"))["mutation"]
    mutations = [one for one in mutations if " ".join(sys.argv[1:]) in one["what"]]
    n_survived = 0
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "research"
        shutil.copytree(RESEARCH, copy, ignore=shutil.ignore_patterns("__pycache__", "*.egg-info"))
        (Path(folder) / "tests").symlink_to(RESEARCH.parent / "tests")  # the tests share its modules
        (Path(folder) / "narratives").symlink_to(RESEARCH.parent / "narratives")
        for tests in sorted({find_tests(one["file"]) for one in mutations}):
            if failed := run_tests(copy, tests):
                raise SystemExit(f"fails without a change: {failed}")
        for mutation in mutations:
            original = mutate(copy, mutation)
            tests, likely = find_tests(mutation["file"]), LIKELY.get(mutation["file"])
            caught = (likely and run_tests(copy, f"{tests}/test_{likely}.py")) or run_tests(copy, tests)
            shutil.copy2(original, copy / original.relative_to(RESEARCH))
            n_survived += not caught
            print(f"{mutation['what']}: {caught.rpartition('/')[2] or 'survived'}", flush=True)
    print(f"{len(mutations) - n_survived} of {len(mutations)} changes caught")
    return int(n_survived > 0)


if __name__ == "__main__":
    sys.exit(main())
