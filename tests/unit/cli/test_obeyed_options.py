"""Every option of `mask`, in each of its modes, and of the commands that borrow from it changes something or is refused.

What a command passes on to the engine is recorded instead of done. Without an option and with it, the record
must differ. A new option without a sample fails `test_every_option_has_a_sample`.
"""

import io
import re
import sys
from contextlib import nullcontext
from dataclasses import fields, is_dataclass, replace
from types import SimpleNamespace

import click
import pytest
from fake_maskers import mask_capitals

from inverse_deid.choices.records import Excludes
from inverse_deid.choices.table import CONTRADICTIONS
from inverse_deid.cli.masking import run as mask_run
from inverse_deid.cli.masking import settings as mask_settings
from inverse_deid.cli.masking.mask import mask
from inverse_deid.cli.parts.messages import name_option
from inverse_deid.cli.reviewing import init as review_init
from inverse_deid.engine.tally import Tally

scale_run = pytest.importorskip(
    "inverse_deid.scale.run", reason="no fsspec; pip install '.[scale]'", exc_type=ImportError
)

KEY = ("--key", "key")
SAMPLES = {
    "out": [("--out", "other")],
    "format_name": [("--format", "text"), ("--format", "jsonl")],
    "rename": [("--rename", "list.csv")],
    "force": [("--force",)],
    "resume": [("--resume",)],
    "quiet": [("--quiet",)],
    "verbose": [("--verbose",)],
    "progress": [("--progress",)],
    "text_column": [("--text-column", "narrative")],
    "id_column": [("--id-column", "n")],
    "keep_column": [("--keep-column", "n")],
    "keep_unchecked": [("--keep-unchecked", "n")],
    "keep_all_columns": [("--keep-all-columns",)],
    "all_cells": [("--all-cells",)],
    "delimiter": [("--delimiter", ";")],
    "encoding": [("--encoding", "latin-1")],
    "categories": [("--categories", "hipaa")],
    "operating_point": [("--operating-point", "strict")],
    "reading": [("--careful",), ("--fast",)],
    "allow": [("--allow", "words")],
    "deny": [("--deny", "words")],
    "known": [("--known", "known.csv")],
    "low": [("--low", "0.9")],
    "high": [("--high", "0.9")],
    "certificate": [("--certificate", "certificate")],
    "allow_low_thresholds": [("--allow-low-thresholds",)],
    "policy": [("--policy", "literal")],
    "rules_only": [("--rules-only",)],
    "model": [("--model", "model")],
    "second_reader": [("--second-reader", "model"), ("--fast", "--second-reader", "model")],
    "lexicon": [("--lexicon", "lexicon")],
    "marker": [("--marker", "XXX")],
    "replace": [("--replace", "category"), (*KEY, "--replace", "surrogate")],
    "dates": [("--dates", "year")],
    "date_span_years": [("--date-span-years", "3"), ("--dates", "relative-day", "--date-span-years", "3")],
    "day_first": [("--day-first",), ("--dates", "relative-day", "--day-first")],
    "today": [("--today", "2020-02-03"), ("--dates", "year", "--today", "2020-02-03")],
    "ages": [("--ages", "keep-under-90")],
    "age_bands": [("--age-bands", "e2b"), ("--ages", "band", "--age-bands", "e2b")],
    "key": [KEY],
    "key_command": [("--key-command", "echo fedcba9876543210fedcba")],
    "profile": [("--profile", "public")],
    "explain": [("--explain",)],
    "with_text": [("--with-text",), ("--explain", "--with-text")],
    "html": [("--html", "page.html")],
    "offsets": [("--offsets",)],
    "annotations": [("--annotations", "annotations")],
    "maps": [(*KEY, "--map", "maps")],
    "run_report": [("--run-report", "report.json")],
    "workers": [("--workers", "2")],
    "n_threads": [("--threads", "3")],
    "device": [("--device", "auto")],
    "engine": [("--engine", "ray")],
    "address": [("--address", "auto"), ("--engine", "ray", "--address", "auto")],
    "partition_mib": [("--partition-mib", "2"), ("--engine", "ray", "--partition-mib", "2")],
    "approvals": [("--approvals", "1")],
    "blind_to_model": [("--blind-to-model",)],
    "release_by_hand": [("--release-by-hand",)],
    "lock_minutes": [("--lock-minutes", "3")],
    "second_factor": [("--second-factor",)],
}
"""By name of the option: what is given, with what the option needs."""
READ_BY_COLUMN = [name for name in SAMPLES if name.startswith("keep_")]

MODES = {
    "files": ("mask", "in", "--out", "out"),
    "pipe": ("mask", "-"),
    "ray": ("mask", "in", "--out", "out", "--engine", "ray"),
    "review init": ("review", "init", "in", "--store", "review.db", "--key", "key"),
    "review add": ("review", "add", "in", "--store", "review.db", "--key", "key"),
}
REFUSED_FOR_FILES = {"annotations"}  # this file is not i2b2 XML
STORE_OPTIONS = {"address", "store_file", "key", "anchors", "signing_key", "key_command"}
"""Of all commands of the review, which open the store with them (`test_review_anchors.py`)."""


def plain(value):
    """A value as text that is the same for equal ones, without what changes from run to run."""
    if is_dataclass(value) and not isinstance(value, type):
        return type(value).__name__, [(one.name, plain(getattr(value, one.name))) for one in fields(value)]
    if isinstance(value, (list, tuple)):
        return [plain(one) for one in value]
    if callable(value):
        return None
    return repr(value)


class Recorder:
    """Stands for the engine of each command, and notes what it is given."""

    def __init__(self):
        self.passed = []

    def note(self, *values):
        self.passed.extend(plain(value) for value in values)

    def load(self, masking):
        self.note(masking)
        return mask_capitals()

    def run_jobs(self, jobs, _journal, masker, run):
        drawn = replace(run, key=run.seal_key)  # without a key it is another in every run
        self.note(jobs, masker.settings, run.profile, drawn, run.watch is not None)
        return Tally(n_documents=1)

    def mask_pipe(self, _given, _target, kind, masker, run):
        self.note(kind, masker.settings, run)
        return Tally(n_documents=1)

    def mask_with_ray(self, run, make_masker):
        masker = mask_settings.make_case_masker(make_masker.options, self.load)
        self.note(run, masker.settings, run.describe(masker))
        return Tally(n_documents=1)

    def start_workers(self, build, n_workers, _marker_for):
        self.note(n_workers)
        return nullcontext(build())

    def show_progress(self, *_given, **options):
        self.note(sorted(options.items()))
        return nullcontext(SimpleNamespace(add=None, advance=None, expect=None))

    def create_store(self, address, secret, jobs, _masker, settings):
        self.note(address, secret.secret, [job.format for job in jobs], settings)
        return nullcontext(), Tally(n_documents=1)

    def add_cases(self, _store, jobs, _masker, settings, by):
        self.note([job.format for job in jobs], settings)
        return Tally(n_documents=1)


@pytest.fixture
def recorder(monkeypatch):
    """Takes the place of the engines."""
    recorder = Recorder()
    fakes = {
        mask_settings: {"load_masker": recorder.load, "WorkerPool": recorder.start_workers},
        mask_run: {"run_jobs": recorder.run_jobs, "mask_pipe": recorder.mask_pipe},
        scale_run: {"mask_with_ray": recorder.mask_with_ray},
        review_init: {
            "load_masker": recorder.load,
            "state_facts": lambda _masker, masking, *_key: plain(masking),
            "create_store": recorder.create_store,
            "add_cases": recorder.add_cases,
            "open_store": lambda *_given: nullcontext(SimpleNamespace(case_key=b"")),
            "follow_lists": lambda _store, masking: masking,
            "anchor_given": lambda *_given, **_options: nullcontext(),
        },
    }
    for module, by_name in fakes.items():
        for name, fake in by_name.items():
            monkeypatch.setattr(module, name, fake)
    for module in (mask_run, review_init):
        monkeypatch.setattr(module, "ProgressDisplay", recorder.show_progress)
    monkeypatch.setattr(mask_settings.make_case_masker, "__defaults__", (recorder.load, None))
    return recorder


@pytest.fixture
def record(command, recorder, monkeypatch, tmp_path):
    """Runs a command without masking anything, and returns its status and what it passed on, said and wrote."""
    monkeypatch.chdir(tmp_path)
    for folder in ("in", "model"):
        (tmp_path / folder).mkdir()
    (tmp_path / "in" / "a.jsonl").write_text('{"id": "a", "text": "well", "narrative": "well", "n": 1}\n')
    for name, content in {
        "key": "0123456789abcdef",
        "words": "well",
        "known.csv": "id,name\na,Ann\n",
    }.items():
        (tmp_path / name).write_text(content + "\n")
        (tmp_path / name).chmod(0o600)

    def run(*words):
        recorder.passed.clear()
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"well")))
        result = command(*words)
        assert "unforeseen" not in result.stderr
        said = [line for line in result.stderr.splitlines() if not line.startswith("time ")]
        files = sorted(path.name for path in tmp_path.rglob("*") if path.is_file())
        for name in ("list.csv", "report.json", "page.html"):
            (tmp_path / name).unlink(missing_ok=True)
        return result.status, (list(recorder.passed), said, files)

    return run


def options_of(name):
    words = MODES[name]
    found = mask if words[0] == "mask" else getattr(review_init, words[1])
    return [one for one in found.params if isinstance(one, click.Option)]


CASES = dict.fromkeys(
    (mode, str(option.name))
    for mode in MODES
    for option in options_of(mode)
    if not (mode.startswith("review") and option.name in STORE_OPTIONS)
    if (mode, option.name) != ("ray", "engine")  # is what makes it this mode
)
"""By mode and name of the option; values that are options of their own share one."""


def test_every_option_has_a_sample():
    assert {name for _, name in CASES} - SAMPLES.keys() == set()


@pytest.mark.parametrize(("mode", "name"), CASES)
def test_an_option_changes_something_or_is_refused(record, mode, name):
    options = [one for one in options_of(mode) if one.name == name]
    written = {word for one in options for word in (*one.opts, *one.secondary_opts)}
    n_words = 1 if options[0].is_flag else 2
    found = []
    for given in SAMPLES[name]:
        at = next(n for n, word in enumerate(given) if word in written)
        without = record(*MODES[mode], *given[:at], *given[at + n_words :])
        with_it = record(*MODES[mode], *given)
        found.append("refused" if with_it[0] == 2 else "obeyed" if with_it != without else "swallowed")
    assert found.count("obeyed") or found.count("swallowed") == 0, found
    if mode == "files":
        assert "obeyed" in found or name in REFUSED_FOR_FILES, found


@pytest.mark.parametrize("name", ["init", "add"])
@pytest.mark.parametrize("option", ["text_column", "id_column", *READ_BY_COLUMN])
def test_the_review_offers_all_that_is_said_of_columns(record, name, option):
    # The refusal of a kept column names these options as its remedy. Columns that may name people are copied
    # only by its pages.
    review = ("review", name, "in", "--store", "review.db", "--key", "key")
    status, (_, said, _) = record(*review, *SAMPLES[option][0])
    is_refused = "Another adjudicator must confirm it" in said[-1]
    assert (status, is_refused) == ((2, True) if option in READ_BY_COLUMN[1:] else (0, False))


def test_the_manifest_of_a_cluster_names_no_column(record):
    given = ("--text-column", "--id-column", "--keep-column", "--keep-unchecked")
    named = [word for option in given for word in (option, f"Quillfeather {option}")]
    status, (passed, _, _) = record(*MODES["ray"], *named)
    assert status == 0
    assert "Quillfeather" in repr(passed[:-1])
    assert "Quillfeather" not in repr(passed[-1])


@pytest.mark.parametrize("name", ["init", "add"])
@pytest.mark.parametrize("given", [("--rename", "list.csv"), ("--html", "page.html"), ("--offsets",)])
def test_the_review_refuses_what_it_would_not_obey(record, name, given):
    # Its cases have no masked file that could be numbered, shown beside its original or given offsets.
    status, (_, said, _) = record("review", name, "in", "--store", "review.db", "--key", "key", *given)
    assert status == 2
    assert re.search(f"No such option.*{given[0]}", said[-1])


def idle_options():
    """What is given for each contradiction of the table: a choice, with what excludes it or without what it needs."""
    for rule in CONTRADICTIONS:
        if isinstance(rule, Excludes):
            for one in rule.others:
                other = name_option(one, rule.value).split() if rule.value else SAMPLES[one][0]
                yield (*SAMPLES[rule.choice][0], *other)
        else:
            option = name_option(rule.choice, rule.value or "").split()
            yield tuple(option) if rule.value else SAMPLES[rule.choice][0]


@pytest.mark.parametrize(
    "given",
    [
        *idle_options(),
        ("--month-first",),
        ("--dates", "year", "--date-span-years", "3"),
        ("--dates", "mask", "--today", "2020-02-03"),
    ],
    ids=" ".join,
)
@pytest.mark.parametrize("mode", list(MODES))
def test_an_option_that_another_one_makes_idle_is_refused(record, mode, given):
    status, (passed, said, _) = record(*MODES[mode], *given)
    assert (status, passed) == (2, [])
    assert "eave" in said[-1]


@pytest.mark.parametrize("name", sorted(review_init._OF_CASES))
def test_an_empty_store_refuses_what_says_how_cases_are_read(record, name):
    given = SAMPLES[name][-1]
    status, (passed, said, _) = record("review", "init", "--store", "review.db", "--key", "key", *given)
    assert (status, passed) == (2, [])
    assert "for CASES alone" in said[-1]


def test_an_empty_store_is_made(record):
    assert record("review", "init", "--store", "review.db", "--key", "key", "--approvals", "1")[0] == 0
