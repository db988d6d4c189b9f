"""Compare what two revisions write: masks, markers and text, to the byte.

    python scripts/compare_revisions.py OLD NEW INPUT... [--runs points careful choices formats]

Each INPUT is a JSON Lines file (also .gz) with "id" and "text", or a folder of such files. `--documents`
narratives are drawn from them, one from each INPUT in turn. Runs:

- points: each of `--points`; balanced is the default of `mask`.
- careful: the same with a second reader, which takes several times as long.
- choices: every value of every choice of `mask` once, and `--combinations` random ones that are valid.
  Of these, 4 % read twice. All runs without a reading of their own read fast; a revision from before there
  was `--fast` does so by default.
- formats: the first 40 narratives in files of every format, and files with text in all hidden places.

A run is the same if both statuses are the same and all files that are written are the same to the byte.
JSON Lines contain the masked ranges. Journals, which are sealed again each time, are not compared. A
combination that both revisions refuse is replaced by another one. One that only OLD refuses is counted
apart. Prints which runs differ and the numbers of the lines that do, never text.

Exit status: 0 the same. 1 a run differs.
"""

from __future__ import annotations

import argparse
import gzip
import io
import itertools
import json
import os
import random
import subprocess
import sys
import tarfile
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import IO

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from every_format import write_formats

from inverse_deid.choices.categories import Category
from inverse_deid.choices.records import Choice, Needs, Surface, find_choice, list_choices
from inverse_deid.choices.table import CHOICES, CONTRADICTIONS

ROOT = Path(__file__).resolve().parent.parent
SEED = 20261128
REFUSED = 2
POINTS: Mapping[str, dict[str, str]] = {
    "balanced": {},
    "strict": {"operating_point": "strict"},
    "lenient": {"operating_point": "lenient"},
}
Setting = Mapping[str, str]
"""Values by name of the choice, as they are typed. Those of files name a file that every run has."""

FILES = {
    "key": "0123456789abcdef0123456789abcdef",
    "allow": "well\nreporter",
    "deny": "rash\nfever\nshortness of breath",
}
DATA = Path("inverse_deid") / "data"
PLACES = {
    "model": DATA / "model",
    "second_reader": DATA / "second_reader",
    "lexicon": DATA / "lexicon.zip",
}
"""Models that are given as others: the packaged ones of the new revision."""
SAMPLES: Mapping[str, tuple[str, ...]] = {
    "categories": (
        *("name,contact,id", "all,origin", "hipaa,origin", "i2b2,origin"),
        *(f"all,-{one}" for one in Category if one is not Category.ORIGIN),
        *(one for one in Category if one is not Category.ORIGIN),
    ),
    "marker": ("XXX", "[hidden]", "***"),
    "today": ("2026-01-01", "2005-06-30"),
    "date_span_years": ("1", "5", "17"),
    "n_threads": ("1", "2"),
    "low": ("0.3", "0.6", "0.9"),
    "high": ("0.9", "0.95", "0.99"),
}
"""Values of choices that have more than can be listed."""
FAST = "--fast"
READINGS = {FAST, "--careful", "--second-reader", "--rules-only"}
"""Options that say how often words in doubt are read."""
OUTPUTS = (
    (),
    ("--explain",),
    ("--explain", "--with-text"),
    ("--rename", "RENAMED"),
    ("--workers", "2"),
)
"""Options of `mask` that are not choices about masking. Each is tried once."""
FORMAT_RUNS: tuple[tuple[str, ...], ...] = (
    (),
    ("--operating-point", "strict"),
    ("--replace", "category", "--dates", "year", "--ages", "band", "--age-bands", "10-years"),
    ("--replace", "surrogate", "--dates", "shift"),
    ("--keep-all-columns", "--ages", "keep-under-90"),
    ("--all-cells",),
    ("--rename", "RENAMED"),
    ("--profile", "public"),
)


def list_values(choice: Choice) -> tuple[str, ...]:
    """Return the values of a choice that are tried; those of flags are "yes" and "no"."""
    if choice.kind == "flag":
        return ("yes",)
    if choice.kind == "order":
        return ("yes", "no")
    named = choice.names_on(Surface.MASK)
    return (*named, *SAMPLES.get(choice.name, () if named else (choice.name.upper(),)))


def options_of(setting: Setting) -> tuple[str, ...]:
    """Return the options of the command for a setting.

    Example:
        >>> options_of({"dates": "year", "day_first": "no", "reading": "careful"})
        ('--dates', 'year', '--month-first', '--careful')
    """
    words: list[str] = []
    for name, value in setting.items():
        choice = find_choice(CHOICES, name)
        options = [f"--{one.replace('_', '-')}" for one in (choice.option or name).split("/")]
        if choice.kind in ("flag", "order"):
            words.append(options[value == "no"])
        elif choice.are_options:
            words.append(f"--{value}")
        else:
            words += [options[0], value]
    return tuple(words)


def complete(setting: Setting, rng: random.Random) -> dict[str, str]:
    """Add what values have no effect or are refused without.

    Example:
        >>> complete({"ages": "keep-under-90", "dates": "shift"}, random.Random(1))
        {'ages': 'keep-under-90', 'dates': 'shift', 'key': 'KEY'}
    """
    made = dict(setting)
    for rule in CONTRADICTIONS:
        if (
            not isinstance(rule, Needs)
            or rule.choice not in made
            or rule.value not in (None, made[rule.choice])
        ):
            continue
        allowed = [one if isinstance(one, str) else "yes" for one in rule.values]
        allowed = allowed or list(list_values(find_choice(CHOICES, rule.other)))
        if made.get(rule.other) not in allowed:
            made[rule.other] = rng.choice(allowed)
    for name, value in list(made.items()):
        if value in [one.name for one in find_choice(CHOICES, name).values if one.needs_key]:
            made["key"] = "KEY"
    return made


def list_singles(seed: int = SEED) -> Iterator[dict[str, str]]:
    """Yield every value of every choice of `mask`, with what it needs."""
    rng = random.Random(seed)
    for choice in list_choices(CHOICES, Surface.MASK):
        for value in list_values(choice):
            yield complete({choice.name: value}, rng)


def draw_combinations(seed: int = SEED) -> Iterator[dict[str, str]]:
    """Yield random settings of two to six choices without end, none twice; some are refused."""
    rng = random.Random(seed)
    choices = [one for one in list_choices(CHOICES, Surface.MASK) if one.shapes_output]
    seen: set[tuple[str, ...]] = set()
    while True:
        drawn = rng.sample(choices, k=rng.randint(2, 6))
        values = {one.name: [value for value in list_values(one) if value != one.default] for one in drawn}
        setting = complete({name: rng.choice(some) for name, some in values.items()}, rng)
        if options_of(setting) not in seen:
            seen.add(options_of(setting))
            yield setting


def read_documents(given: Path) -> list[dict[str, str]]:
    """Return id and text of the documents of a JSON Lines file, or of all such files of a folder."""
    files = sorted(given.glob("*.jsonl*")) if given.is_dir() else [given]
    found = []
    for file in files:
        with gzip.open(file) if file.suffix == ".gz" else file.open("rb") as lines:
            found += [{"id": str(one["id"]), "text": one["text"]} for one in map(json.loads, lines)]
    return found


def draw_documents(inputs: Iterable[Path], n: int, seed: int = SEED) -> list[dict[str, str]]:
    """Return n documents, one from each input in turn; fewer if there are no more."""
    rng = random.Random(seed)
    shuffled = []
    for given in inputs:
        docs = read_documents(given)
        rng.shuffle(docs)
        shuffled.append(docs)
    turns = (doc for row in itertools.zip_longest(*shuffled) for doc in row if doc is not None)
    return list(itertools.islice(turns, n))


@dataclass(slots=True)
class Revision:
    """A process that runs commands of a revision, whose files are in `folder`/code."""

    folder: Path
    process: subprocess.Popen[str]
    messages: IO[str]

    @classmethod
    def start(cls, name: str, folder: Path) -> Revision:
        """Unpack a revision and start it."""
        code = folder / "code"
        archived = subprocess.run(["git", "archive", name], cwd=ROOT, check=True, capture_output=True).stdout
        with tarfile.open(fileobj=io.BytesIO(archived)) as archive:
            archive.extractall(code, filter="data")
        for file, content in FILES.items():
            (folder / file.upper()).write_text(content + "\n")
            (folder / file.upper()).chmod(0o600)
        messages = (folder / "messages").open("w+")
        environment = {name: value for name, value in os.environ.items() if name != "INVERSE_DEID_KEY"}
        environment |= {"PYTHONPATH": str(code), "PYTHONDONTWRITEBYTECODE": "1"}
        process = subprocess.Popen(
            [sys.executable, "-W", "ignore", str(ROOT / "scripts" / "command_server.py"), str(code)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=messages,
            text=True,
            env=environment,
            cwd=folder,
        )
        return cls(folder, process, messages)

    def run(self, words: Iterable[str]) -> int:
        """Run a command and return its status; `--fast` is left out where the revision does not know it.

        Raises:
            RuntimeError: The process has ended.
        """
        if self.process.stdin is None or self.process.stdout is None:
            raise RuntimeError("the process has no pipes")
        known = [word for word in words if word != FAST or self.can_read_twice]
        self.process.stdin.write(json.dumps(known) + "\n")
        self.process.stdin.flush()
        reply = self.process.stdout.readline()
        if not reply:
            raise RuntimeError(f"the process of {self.folder} has ended: {self.last_message()}")
        return int(json.loads(reply))

    def mask(self, given: Path, options: Iterable[str], out: str) -> tuple[int, dict[str, bytes]]:
        """Mask, and return the status and what was written, by name."""
        place = self.folder / out
        place.mkdir()
        words = [self._place(word, place) for word in options]
        status = self.run(["mask", str(given), "--out", str(place / "out"), "--quiet", *words])
        written = (one for one in sorted(place.rglob("*")) if one.is_file() and not one.name.startswith("."))
        found = {one.relative_to(place).as_posix(): one.read_bytes() for one in written}
        for one in sorted(place.rglob("*"), reverse=True):
            one.rmdir() if one.is_dir() else one.unlink()
        place.rmdir()
        return status, found

    @property
    def can_read_twice(self) -> bool:
        """Whether the revision reads twice by default, so that it has an option to read fast."""
        table = self.folder / "code" / "inverse_deid" / "choices" / "table.py"
        return "ReadingMode" in table.read_text(encoding="utf-8")

    def _place(self, word: str, place: Path) -> str:
        # Both revisions get the same words of the new one.
        if word.lower() in PLACES:
            return str(self.folder.parent / "new" / "code" / PLACES[word.lower()])
        if word == "CERTIFICATE":
            return str(self.folder.parent / "new" / word)
        if word == "RENAMED":
            return str(place / word)
        return str(self.folder / word) if word.lower() in FILES else word

    def last_message(self) -> str:
        """Return the last line that the commands printed for their user; it never has text of documents."""
        self.messages.seek(0)
        return (self.messages.read().splitlines() or [""])[-1]

    def stop(self) -> None:
        """End the process."""
        if self.process.stdin is not None:
            self.process.stdin.close()
        self.process.wait()
        self.messages.close()


def list_differences(old: Mapping[str, bytes], new: Mapping[str, bytes]) -> Iterator[str]:
    """Yield a line per file that differs, with the numbers of the first lines that do.

    Example:
        >>> list(list_differences({"a": b"1\\n2\\n3", "b": b"1"}, {"a": b"1\\n4\\n5"}))
        ['a: 2 lines differ: 2, 3', 'b: written by one revision']
    """
    for name in sorted({*old, *new}):
        if name not in old or name not in new:
            yield f"{name}: written by one revision"
        elif old[name] != new[name]:
            lines = itertools.zip_longest(old[name].splitlines(), new[name].splitlines())
            numbers = [number for number, (one, other) in enumerate(lines, start=1) if one != other]
            yield f"{name}: {len(numbers)} lines differ: {', '.join(map(str, numbers[:10]))}"


@dataclass(slots=True)
class Comparison:
    """Two revisions at work, and what was found."""

    old: Revision
    new: Revision
    found: Counter[str]

    def compare(self, given: Path, options: tuple[str, ...]) -> str:
        """Mask with both and count the outcome: same, differs, refused by both, or refused by the old one."""
        more = ("--offsets",) if given.suffix == ".jsonl" else ()
        if READINGS.isdisjoint(options):
            more += (FAST,)
        if "--threads" not in options:
            more += ("--threads", "1")
        moved = "--dates" in options and options[options.index("--dates") + 1] != "mask"
        if moved and "--today" not in options:
            more += ("--today", "2026-01-01")  # otherwise it is the day of the run
        with ThreadPoolExecutor(2) as pool:
            runs = [pool.submit(one.mask, given, (*options, *more), "run") for one in (self.old, self.new)]
            (old_status, old), (new_status, new) = (run.result() for run in runs)
        if old_status == new_status and old == new:
            outcome = "refused by both" if new_status == REFUSED else "same"
        elif old_status == REFUSED and new_status != REFUSED:
            outcome = "refused by the old one"
        else:
            outcome = "differs"
        self.found[outcome] += 1
        if outcome == "same" and not new:
            raise RuntimeError(f"nothing was written with {options}")
        if outcome != "same" or new_status:
            print(f"{outcome}, status {old_status} and {new_status}: {' '.join(options)}", flush=True)
        if outcome == "differs":
            for line in list_differences(old, new):
                print("   ", line, flush=True)
        return outcome


def compare_choices(comparison: Comparison, given: Path, n_combinations: int, seed: int) -> None:
    """Compare every value once, then as many valid combinations."""
    for options in (*map(options_of, list_singles(seed)), *OUTPUTS):
        comparison.compare(given, options)
    print("every value once:", dict(comparison.found), flush=True)
    n_careful = n_done = 0
    for setting in draw_combinations(seed):
        if n_done == n_combinations:
            break
        is_careful = setting.get("reading") == "careful" or "second_reader" in setting
        if is_careful and n_careful == n_combinations // 25:
            continue
        valid = comparison.compare(given, options_of(setting)) != "refused by both"
        n_done += valid
        n_careful += valid and is_careful
        if valid and n_done % 20 == 0:
            print(f"{n_done} combinations", flush=True)
    print(f"combinations: {n_done}, of which {n_careful} with a second reader", flush=True)


def make_certificate(new: Revision) -> None:
    """Let the new revision guarantee thresholds, so that there is a certificate to give."""
    gold = ROOT / "narratives" / "letters-dev.jsonl"
    aim = ("--target-leak-rate", "0.5", "--confidence", "0.9")
    status = new.run(["calibrate", str(gold), *aim, FAST, "--out", str(new.folder / "CERTIFICATE")])
    if status:
        raise RuntimeError(f"calibrate ended with {status}: {new.last_message()}")


def compare_all(comparison: Comparison, options: argparse.Namespace, folder: Path) -> int:
    """Compare the chosen runs, and return how many differ."""
    n_differ = 0
    docs = draw_documents(options.inputs, options.documents, options.seed)
    n_chars = sum(len(doc["text"]) for doc in docs)
    print(f"{len(docs)} documents of {n_chars} characters", flush=True)
    given = folder / "documents.jsonl"
    given.write_text("".join(json.dumps(doc) + "\n" for doc in docs), "utf-8")
    for runs in options.runs:
        started, comparison.found = time.monotonic(), Counter()
        if runs in ("points", "careful"):
            careful = {"reading": "careful"} if runs == "careful" else {}
            for point in options.points:
                comparison.compare(given, options_of({**POINTS[point], **careful}))
        elif runs == "choices":
            make_certificate(comparison.new)
            compare_choices(comparison, given, options.combinations, options.seed)
        else:
            write_formats(folder / "formats", [doc["text"] for doc in docs[:40]])
            for words in FORMAT_RUNS:
                # Without a key, pseudonyms are random.
                comparison.compare(folder / "formats", (*words, "--key", "KEY"))
        print(f"{runs}: {dict(comparison.found)} in {time.monotonic() - started:.0f} s", flush=True)
        n_differ += comparison.found["differs"]
    return n_differ


def main(arguments: list[str] | None = None) -> int:
    """Compare two revisions."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("old")
    parser.add_argument("new")
    parser.add_argument("inputs", nargs="+", type=Path, metavar="INPUT")
    kinds = ("points", "careful", "choices", "formats")
    parser.add_argument("--runs", nargs="+", choices=kinds, default=["points", "choices", "formats"])
    parser.add_argument("--points", nargs="+", choices=list(POINTS), default=list(POINTS))
    parser.add_argument("--documents", type=int, default=500)
    parser.add_argument("--combinations", type=int, default=200)
    parser.add_argument("--seed", type=int, default=SEED)
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        revisions = []
        try:
            for side in ("old", "new"):
                (folder / side).mkdir()
                revisions.append(Revision.start(getattr(options, side), folder / side))
            n_differ = compare_all(Comparison(*revisions, Counter()), options, folder)
        finally:
            for revision in revisions:
                revision.stop()
    return 1 if n_differ else 0


if __name__ == "__main__":
    sys.exit(main())
