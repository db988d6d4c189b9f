"""Cases are added to a store that is in use: whole files, in short transactions, with settings of their own."""

import dataclasses
import gzip
import json
import signal
import sqlite3
import subprocess
import sys
import threading
from datetime import date
from pathlib import Path

import pandas as pd
import pytest
from fake_maskers import BROKEN_STAGE, FakeMasker, mask_capitals
from pdf_files import of_nested_forms
from review_stores import FACTS, KEY, TEXT, change, change_rows, json_lines, place, review, user
from sqlalchemy import select

from inverse_deid.core.errors import ConfigurationError, OutputExistsError, StageError
from inverse_deid.core.phi import PhiType
from inverse_deid.formats.beside.known_values import KnownIdentifier
from inverse_deid.formats.records import ReadOptions
from inverse_deid.replacement.settings import CaseSettings, DateMode
from inverse_deid.review.files import intake
from inverse_deid.review.files.exporting import export_released
from inverse_deid.review.files.intake import LoadSettings, add_cases, never, plan_cases
from inverse_deid.review.files.loading import create_store
from inverse_deid.review.flow.approval import approve
from inverse_deid.review.flow.oversight import set_limits
from inverse_deid.review.flow.reading import open_case, view_masked
from inverse_deid.review.flow.work_list import count_cases, list_cases, next_case
from inverse_deid.review.store.opening import open_store
from inverse_deid.review.store.sources import list_sources
from inverse_deid.review.store.tables import CASES, CONTENTS, INTAKES, MASKINGS, SOURCES
from inverse_deid.review.store.trail import export_trail, verify_store
from inverse_deid.review.store.values import ActionKind, CaseState, ReviewLimits, WorkFilter

CANARY = "Zebulonova"


def settings_of(*, facts=FACTS, dates=DateMode.MASK, **more):
    cases = CaseSettings(today=date(2024, 1, 1), key=KEY.secret, dates=dates)
    return LoadSettings(facts=facts, cases=cases, **more)


def add(store, *paths, masker=None, settings=None, stop=never, by="eve"):
    jobs, planned = plan_cases(paths)
    assert not planned.failures
    return add_cases(store, jobs, masker or mask_capitals(), settings or settings_of(), by=by, stop=stop)


def rows_of(store, table):
    with store.reading() as transaction:
        return transaction.execute(table.select()).all()


def trail_of(store, folder):
    """Return the entries of an exported trail, with their opened names."""
    export_trail(store, folder / "trail.jsonl", force=True)
    lines = map(json.loads, (folder / "trail.jsonl").read_text().splitlines()[:-1])
    return [{**line["entry"], "name": line.get("name")} for line in lines]


def list_names(store):
    with store.reading() as transaction:
        rows = transaction.execute(select(CASES).order_by(CASES.c.id)).all()
        return [(row.id, transaction.names.open(row.name)) for row in rows]


STORE = {"texts": [TEXT, "by Bo"], "approvals": 1}


@pytest.fixture
def more(tmp_path):
    """A folder for files to add."""
    folder = tmp_path / "more"
    folder.mkdir()
    return folder


@pytest.fixture
def small_batches(monkeypatch):
    """Batches of few words."""
    monkeypatch.setattr(intake, "FIRST_BATCH_CHARS", 100)
    monkeypatch.setattr(intake, "BATCH_CHARS", 1000)


def test_numbers_of_cases_continue_and_work_goes_on(store, more):
    ann = user(store, "ann")
    at, _ = change(store, place(store, ann), ActionKind.MASK, 5)
    tally = add(store, json_lines(more / "new.jsonl", ["seen by Li", "well"]))
    assert (tally.n_documents, tally.n_failures, tally.n_tokens) == (2, 0, 4)
    assert list_names(store) == [
        (1, "c1"),
        (2, "c2"),
        (3, "c1"),
        (4, "c2"),
    ]
    change(store, at, ActionKind.MASK, 0)
    assert open_case(store, ann, 3).text == "seen by Li"
    assert verify_store(store).is_intact


def test_a_record_that_is_left_out_is_said_in_sentences(store, more):
    (more / "a.jsonl").write_text('{"text": "well"}\n{"text": 5}\n{"other": 1}\n')
    failures = add(store, more / "a.jsonl").failures
    assert len(failures) == 2
    assert all(one.reason.endswith(". It was left out") for one in failures)
    assert all(one.remedies[0].choice == "text_column" for one in failures)


def test_an_empty_store_is_filled_later(tmp_path, more):
    made, tally = create_store(tmp_path / "empty.db", KEY, (), None, settings_of())
    with made as store:
        assert tally.n_documents == 0 and sum(count_cases(store).values()) == 0
        assert next_case(store, user(store, "ann")) is None
        assert not export_released(store, tmp_path / "out").files
        add(store, json_lines(more / "new.jsonl", [TEXT]))
        assert next_case(store, user(store, "bob")) == 1
    with pytest.raises(OutputExistsError):
        create_store(tmp_path / "empty.db", KEY, (), None, settings_of())


def test_the_addition_is_in_the_trail_without_text(store, more, tmp_path):
    facts = dataclasses.replace(FACTS, model_sha256="cd" * 32)
    add(store, json_lines(more / "new.jsonl", [f"by {CANARY}"] * 3), settings=settings_of(facts=facts))
    entries = trail_of(store, tmp_path)
    assert [(one["user"], one["event"], one["name"]) for one in entries] == [
        ("command", "file 1 added: 2 cases", "cases.jsonl"),
        ("eve", "file 2 added: 3 cases", "new.jsonl"),
    ]
    assert [one["model"] for one in entries] == ["ab" * 32, "cd" * 32]
    fingerprints = [row.fingerprint for row in rows_of(store, MASKINGS)]
    assert [one["new"] for one in entries] == [f"settings {one}" for one in fingerprints]
    assert CANARY not in (tmp_path / "trail.jsonl").read_text()


class TestSettingsOfAFile:
    """Each addition has its own columns, dates, markers and thresholds."""

    @pytest.fixture
    def mixed(self, store, more):
        (more / "t.csv").write_text("id,text,note,country\n7,Seen by Li on 3 May 2020,by Wu,FI\n")
        options = ReadOptions(text_columns=("text", "note"), keep_columns=("country",))
        facts = dataclasses.replace(FACTS, marker="XXX", model_sha256="cd" * 32)
        settings = settings_of(facts=facts, dates=DateMode.YEAR, read_options=options)
        add(store, more / "t.csv", settings=settings)
        return store

    def test_pages_and_trail_use_those_of_the_file(self, mixed, tmp_path):
        ann = user(mixed, "ann")
        for case_id in (1, 3):
            place(mixed, ann, case_id)
        assert view_masked(mixed, ann, 1)[1].text == "seen by PHI today, then okonkwo left"
        view, masked = view_masked(mixed, ann, 3)
        assert masked.text == "XXX by XXX on XXX\n\nby XXX"
        assert view.facts.marker == "XXX"
        models = {one["case"]: one["model"] for one in trail_of(mixed, tmp_path) if one["case"]}
        assert models == {1: "ab" * 32, 3: "cd" * 32}

    def test_exports_use_those_of_the_file(self, mixed, tmp_path):
        ann = user(mixed, "ann")
        for case_id in (1, 2):
            review(mixed, ann, case_id)
        at, _ = change(mixed, place(mixed, ann, 3), ActionKind.CATEGORY, 4, 7, category=PhiType.DATE)
        approve(mixed, at)
        exported = export_released(mixed, tmp_path / "out")
        assert (exported.n_cases, exported.problems) == (3, ())
        table = (tmp_path / "out" / "t.csv").read_text()
        assert table == "id,text,note,country\n7,XXX by XXX on 2020,by XXX,FI\n"
        lines = (tmp_path / "out" / "cases.jsonl").read_text().splitlines()
        assert [json.loads(line)["text"] for line in lines] == [
            "seen by PHI today, then okonkwo left",
            "by PHI",
        ]

    def test_the_same_settings_are_stored_once(self, mixed, more):
        add(mixed, json_lines(more / "a.jsonl", ["a"]), json_lines(more / "b.jsonl", ["b"]))
        assert len(rows_of(mixed, MASKINGS)) == 2 and len(rows_of(mixed, INTAKES)) == 4


class TestKeptColumns:
    """They are checked before a file is added, and follow the text when it is released."""

    def table(self, folder, *, n=1, **last):
        rows = [*({"id": str(i), "text": "well", "arm": "a", "onset": "2019-10-12"} for i in range(n)), last]
        rows = [
            {"id": "x", "text": "Seen by Li on 12 October 2019", "arm": "b", "onset": "", **row}
            for row in rows
        ]
        names = list(rows[0])
        lines = [",".join(names), *(",".join(row[name] for name in names) for row in rows)]
        (folder / "t.csv").write_text("\n".join(lines) + "\n")
        return folder / "t.csv"

    @pytest.mark.parametrize("n", [1, 3000])
    def test_a_file_is_refused_as_a_whole(self, store, more, n):
        path = self.table(more, n=n, arm=CANARY)
        settings = settings_of(read_options=ReadOptions(keep_columns=("arm",)))
        tally = add(store, path, json_lines(more / "b.jsonl", ["by Bo"]), settings=settings)
        assert [one.name for one in list_sources(store)] == ["cases.jsonl"]
        (reason,) = {one.reason for one in tally.failures if one.where.endswith("t.csv")}
        assert f"row {n + 2}, column 'arm': a kept column must not contain a name" in reason
        settings = settings_of(read_options=ReadOptions(keep_unchecked=("arm",)))
        assert add(store, path, settings=settings).n_documents == n + 1

    def test_dates_that_the_release_masks_are_refused(self, store, more):
        options = ReadOptions(keep_columns=("onset",))
        tally = add(store, self.table(more), settings=settings_of(read_options=options))
        assert (tally.n_documents, tally.failures[0].remedies[0].choice) == (0, "dates")

    def test_dates_follow_the_text_in_the_release(self, store, more, tmp_path):
        options = ReadOptions(keep_columns=("onset",))
        path = self.table(more, onset="2019-10-12")
        add(store, path, settings=settings_of(read_options=options, dates=DateMode.SHIFT))
        ann = user(store, "ann")
        for case_id in (3, 4):
            review(store, ann, case_id)
        exported = export_released(store, tmp_path / "out")
        assert exported.problems == ()
        rows = (tmp_path / "out" / "t.csv").read_text().splitlines()[1:]
        onsets = [row.split(",")[2] for row in rows]
        assert len(onsets) == 2
        assert "2019-10-12" not in onsets
        assert all(date.fromisoformat(onset) for onset in onsets)

    def test_dates_beside_no_text_are_left_empty_and_counted(self, store, more, tmp_path):
        row = {"id": "1", "text": "well", "onset": "2019-10-12"}
        pd.DataFrame([row, {**row, "text": None}]).to_parquet(more / "t.parquet")
        options = ReadOptions(keep_columns=("onset",))
        settings = settings_of(read_options=options, dates=DateMode.SHIFT)
        assert add(store, more / "t.parquet", settings=settings).n_documents == 1
        review(store, user(store, "ann"), 3)
        (problem,) = export_released(store, tmp_path / "out").problems
        assert "t.parquet: 1 dates and ages in kept columns were left empty" in problem


class TestSameFile:
    def test_the_same_name_and_contents_are_refused(self, store, more):
        again = json_lines(more / "cases.jsonl", [TEXT, "by Bo"])
        tally = add(store, again, json_lines(more / "other.jsonl", ["by Cy"]))
        assert tally.n_documents == 1
        assert tally.failures[0].where.endswith("cases.jsonl")
        assert tally.failures[0].reason == (
            "is already in the store (file 1, the same name and contents), so it was not added again"
        )
        assert [one.name for one in list_sources(store)] == ["cases.jsonl", "other.jsonl"]

    def test_so_it_is_if_it_is_packed_or_given_twice_at_once(self, store, more):
        data = json_lines(more / "cases.jsonl", [TEXT, "by Bo"]).read_bytes()
        (more / "cases.jsonl").unlink()
        (more / "cases.jsonl.gz").write_bytes(gzip.compress(data))
        assert add(store, more / "cases.jsonl.gz").n_failures == 1
        new = json_lines(more / "new.jsonl", ["by Cy"])
        jobs, _ = plan_cases([new])
        tally = add_cases(store, [*jobs, *jobs], mask_capitals(), settings_of(), by="eve")
        assert (tally.n_documents, tally.n_failures) == (1, 1)

    def test_other_contents_get_a_name_of_their_own(self, store, more, tmp_path):
        ann = user(store, "ann")
        for folder, text in (("a", "by Cy"), ("b", "by Di"), ("c", "by Ed")):
            (more / folder).mkdir()
            name = "CASES.jsonl" if folder == "c" else "cases.jsonl"
            add(store, json_lines(more / folder / name, [text]))
        names = ["cases.jsonl", "cases (2).jsonl", "cases (3).jsonl", "CASES (4).jsonl"]
        assert [one.name for one in list_sources(store)] == names
        assert [row.source for row in list_cases(store, WorkFilter()).rows] == ["cases.jsonl", *names]
        for case_id in range(1, 6):
            review(store, ann, case_id)
        exported = export_released(store, tmp_path / "out")
        assert exported.n_cases == 5
        assert sorted(path.name for path in (tmp_path / "out").iterdir()) == sorted(names)

    def test_documents_named_after_their_file_follow_its_name(self, store, more):
        for folder, text in (("a", "by Cy"), ("b", "by Di")):
            (more / folder).mkdir()
            (more / folder / "letter.txt").write_text(text)
            add(store, more / folder / "letter.txt")
        assert [row.name for row in list_cases(store, WorkFilter()).rows][2:] == [
            "letter.txt",
            "letter (2).txt",
        ]


class TestWholeOrNotAtAll:
    def test_a_file_that_breaks_off_leaves_nothing(self, store, more):
        data = gzip.compress(json_lines(more / "x.jsonl", ["by Cy"] * 500).read_bytes())
        (more / "x.jsonl").unlink()
        (more / "broken.jsonl.gz").write_bytes(data[:-20])
        tally = add(store, more / "broken.jsonl.gz", json_lines(more / "good.jsonl", ["by Di"]))
        assert (tally.n_documents, tally.n_tokens) == (1, 2)
        assert [one.where.rpartition("/")[2] for one in tally.failures] == ["broken.jsonl.gz"]
        assert [one.name for one in list_sources(store)] == ["cases.jsonl", "good.jsonl"]

    def test_so_does_a_fault_behind_masked_cases(self, store, more, small_batches):
        rows = "".join(f"{i},by Cy{i}\n" for i in range(300))
        (more / "t.csv").write_bytes(b"id,text\n" + rows.encode() + b'9,"never closed')
        masker = mask_capitals()
        tally = add(store, more / "t.csv", masker=masker)
        assert sum(masker.batch_sizes) > 100
        assert (tally.n_documents, tally.n_tokens, len(tally.failures)) == (0, 0, 1)
        assert len(list_sources(store)) == 1 and len(rows_of(store, CASES)) == 2

    def test_a_file_without_cases_is_listed(self, store, more):
        (more / "empty.jsonl").write_text("")
        (more / "bad.jsonl").write_text("{}\n")
        tally = add(store, more / "empty.jsonl", more / "bad.jsonl")
        assert tally.n_documents == 0 and tally.n_failures == 2
        assert len(list_sources(store)) == 1 and len(rows_of(store, SOURCES)) == 1

    def test_a_masker_that_breaks_its_contract_leaves_nothing(self, store, more):
        class Losing(FakeMasker):
            def mask_many(self, docs):
                return super().mask_many(docs)[1:]

        with pytest.raises(StageError):
            add(store, json_lines(more / "new.jsonl", ["by Cy"] * 3), masker=Losing(str.islower))
        assert len(rows_of(store, SOURCES)) == 1 and len(rows_of(store, CASES)) == 2

    def test_a_failed_case_is_masked_completely_and_comes_first(self, store, more):
        tally = add(store, json_lines(more / "new.jsonl", [f"by {BROKEN_STAGE} here", "well"]))
        assert (tally.n_documents, tally.n_failed_documents) == (2, 1)
        assert next_case(store, user(store, "ann")) == 3

    def test_a_cancelled_file_leaves_nothing_and_complete_ones_stay(self, store, more, small_batches):
        first = json_lines(more / "a.jsonl", ["by Cy " * 20])
        second = json_lines(more / "b.jsonl", ["by Di " * 200] * 4)
        asked = []
        tally = add(store, first, second, stop=lambda: asked.append(1) or len(asked) > 3)
        assert [one.name for one in list_sources(store)] == ["cases.jsonl", "a.jsonl"]
        assert (tally.n_documents, tally.n_failures) == (1, 0)
        assert len(rows_of(store, CONTENTS)) == 3
        assert add(store, second).n_documents == 4

    def test_stopped_at_once_nothing_is_added(self, store, more):
        masker = mask_capitals()
        tally = add(store, json_lines(more / "a.jsonl", ["by Cy"]), masker=masker, stop=lambda: True)
        assert tally.n_documents == 0 and not masker.batch_sizes
        assert len(list_sources(store)) == 1


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="limits of Linux")
def test_a_pdf_that_takes_too_much_memory_is_listed(store, more):
    (more / "a.pdf").write_bytes(of_nested_forms())
    tally = add(store, more / "a.pdf")
    assert (tally.n_documents, tally.n_failures) == (0, 1)
    assert "could not be read within 512 MB" in str(tally.failures)


def test_progress_says_what_is_left(store, more, small_batches):
    texts = ["by Cy " * 500] * 20
    path = json_lines(more / "big.jsonl", texts)
    seen = []
    add(store, path, settings=settings_of(on_file=seen.append))
    assert len(seen) > 4
    assert {one.name for one in seen} == {str(path)} and {one.n_bytes for one in seen} == {
        path.stat().st_size
    }
    assert [one.n_cases for one in seen] == sorted(one.n_cases for one in seen)
    assert [one.n_bytes_read for one in seen] == sorted(one.n_bytes_read for one in seen)
    assert seen[0].n_bytes_read < path.stat().st_size / 2
    assert [one.is_stored for one in seen] == [False] * (len(seen) - 1) + [True]
    assert (seen[-1].n_cases, seen[-1].n_bytes_read) == (20, path.stat().st_size)


def test_many_small_files_are_masked_together(store, more):
    for i in range(60):
        (more / f"{i:02}.txt").write_text(f"by Cy {'again ' * 50}{i}")
    masker = mask_capitals()
    tally = add(store, more, masker=masker)
    assert tally.n_documents == 60 and len(masker.batch_sizes) < 5
    assert [row.id for row in rows_of(store, CASES)] == list(range(1, 63))
    assert len({one.name for one in list_sources(store)}) == 61


def test_known_identifiers_of_a_document_are_kept_with_it(store, more):
    known = {"c1": (KnownIdentifier("okonkwo"),)}
    add(store, json_lines(more / "new.jsonl", [TEXT]), settings=settings_of(known=known))
    view = open_case(store, user(store, "ann"), 3)
    assert view.model.known.tolist() == [i in (2, 5) for i in range(7)]


def test_waiting_cases_are_never_on_the_disk_in_the_clear(store, more, monkeypatch):
    written = []

    class Watched(intake.tempfile.SpooledTemporaryFile):
        def write(self, data):
            written.append(bytes(data))
            return super().write(data)

    monkeypatch.setattr(intake, "_IN_MEMORY_BYTES", 64)
    monkeypatch.setattr(intake.tempfile, "SpooledTemporaryFile", Watched)
    add(store, json_lines(more / "new.jsonl", [f"seen by {CANARY}"] * 5))
    assert len(written) == 10 and not any(CANARY.encode() in one or b"seen" in one for one in written)
    assert [open_case(store, user(store, f"u{i}"), i).text for i in range(3, 8)] == [f"seen by {CANARY}"] * 5


def test_reviewers_and_additions_at_once_lose_nothing(store, more):
    n_files, n_actions = 6, 12
    faults = []
    people = [user(store, "ann"), user(store, "bob")]

    def work(who, case_id):
        at = place(store, who, case_id)
        for i in range(n_actions):
            at, _ = change(store, at, ActionKind.MASK if i % 2 else ActionKind.UNMASK, 1)

    def bring(begin):
        for i in range(begin, begin + n_files):
            (more / f"{i}").mkdir()
            add(
                store, json_lines(more / f"{i}" / "new.jsonl", [f"by Cy {i} {j}" for j in range(5)]), by="eve"
            )

    def guarded(task, *given):
        try:
            task(*given)
        except BaseException as fault:  # noqa: BLE001 - told by the assertion below
            faults.append(fault)

    tasks = [(work, people[0], 1), (work, people[1], 2), (bring, 0), (bring, 100)]
    threads = [threading.Thread(target=guarded, args=task) for task in tasks]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    assert not faults
    cases = rows_of(store, CASES)
    assert [row.id for row in cases] == list(range(1, 3 + 2 * n_files * 5))
    assert len({one.name for one in list_sources(store)}) == 1 + 2 * n_files
    set_limits(store, ReviewLimits(max_locks=100), by="command")
    texts = {open_case(store, people[0], row.id).text for row in cases[2:]}
    assert len(texts) == 2 * n_files * 5
    assert verify_store(store).n_entries == 2 + 2 * (4 + n_actions) + 2 * n_files + 3 * len(texts)
    assert verify_store(store).is_intact


KILLED = """
import sys, time
sys.path[:0] = sys.argv[1:3]
from pathlib import Path
from datetime import date
from fake_maskers import mask_capitals
from review_stores import FACTS, KEY
from inverse_deid.replacement.settings import CaseSettings
from inverse_deid.review.files import intake
from inverse_deid.review.files.intake import LoadSettings, add_cases, plan_cases
from inverse_deid.review.store.opening import open_store
intake.FIRST_BATCH_CHARS = intake.BATCH_CHARS = 500
settings = LoadSettings(facts=FACTS, cases=CaseSettings(today=date(2024, 1, 1), key=KEY.secret),
    on_file=lambda one: print(one.is_stored, one.n_cases, flush=True))
jobs, _ = plan_cases([Path(sys.argv[4])])
add_cases(open_store(sys.argv[3], KEY), jobs, mask_capitals(0.05), settings, by="eve")
"""


@pytest.mark.parametrize("n_lines", [4, *(pytest.param(n, marks=pytest.mark.slow) for n in (1, 7))])
def test_a_killed_addition_leaves_whole_files(store, more, tmp_path, n_lines):
    for name in ("a", "b", "c"):
        json_lines(more / f"{name}.jsonl", [f"by Cy {name} " * 30] * 6)
    tests = Path(__file__).parents[2]
    arguments = [sys.executable, "-c", KILLED, tests.parent, tests, tmp_path / "review.db", more]
    told = []
    with subprocess.Popen(list(map(str, arguments)), stdout=subprocess.PIPE, text=True) as child:
        for line in child.stdout:
            told.append(line.split())
            if len(told) == n_lines:
                child.send_signal(signal.SIGKILL)
    assert told
    n_stored = sum(is_stored == "True" for is_stored, _ in told)
    sources = list_sources(store)
    assert len(sources) - 1 in (n_stored, n_stored + 1)
    assert {one.n_cases for one in sources[1:]} <= {6}
    raw = sqlite3.connect(tmp_path / "review.db")
    assert raw.execute("pragma integrity_check").fetchone() == ("ok",)
    raw.close()
    assert len(rows_of(store, CONTENTS)) == len(rows_of(store, CASES)) == 2 + 6 * (len(sources) - 1)
    assert verify_store(store).is_intact
    assert add(store, more).n_documents == 6 * (4 - len(sources))
    assert count_cases(store)[CaseState.NEW] == 20


def test_nothing_of_a_case_is_readable_in_the_store(store, more, tmp_path):
    add(store, json_lines(more / "new.jsonl", [f"seen by {CANARY}"]))
    found = list(tmp_path.glob("review.db*"))
    assert found
    for path in found:
        assert CANARY.encode() not in path.read_bytes() and b"seen by" not in path.read_bytes()


def test_another_process_sees_the_new_cases_at_once(store, more, tmp_path):
    with open_store(tmp_path / "review.db", KEY) as other:
        add(other, json_lines(more / "new.jsonl", ["by Cy"]))
        assert [row.case_id for row in list_cases(store, WorkFilter()).rows] == [1, 2, 3]


def test_a_file_that_cannot_be_decrypted_is_told_by_its_number(store, tmp_path):
    raw = sqlite3.connect(tmp_path / "review.db")
    raw.execute("update sources set sealed = x'00'")
    raw.commit()
    raw.close()
    change_rows(store, CASES, CASES.c.id == 1, state="released")
    exported = export_released(store, tmp_path / "out")
    assert (exported.n_cases, exported.files) == (0, ())
    assert exported.problems[0].startswith("cases.jsonl: file 1 of the store cannot be decrypted")


@pytest.mark.parametrize("column", ["facts", "output"])
def test_settings_of_a_newer_program_hold_a_file_back_alone(store, more, tmp_path, column):
    add(
        store,
        json_lines(more / "new.jsonl", ["by Cy"]),
        settings=settings_of(read_options=ReadOptions("utf-8-sig")),
    )
    ann = user(store, "ann")
    for case_id in (1, 2, 3):
        review(store, ann, case_id)
    with store.reading() as transaction:
        stored = json.loads(
            transaction.execute(select(MASKINGS.c[column]).where(MASKINGS.c.id == 2)).scalar_one()
        )
    (stored["read_options"] if column == "output" else stored)["hides_more"] = True
    change_rows(store, MASKINGS, MASKINGS.c.id == 2, **{column: json.dumps(stored)})
    exported = export_released(store, tmp_path / "out")
    assert exported.n_cases == 2 and [path.name for path in exported.files] == ["cases.jsonl"]
    assert exported.problems == (
        "new.jsonl: the settings of file 2 are of a newer program. Install a newer one",
    )


def test_a_format_whose_package_is_missing_holds_its_file_back_alone(store, more, monkeypatch):
    def fail(*_):
        raise ConfigurationError("this format needs the extra office")

    jobs, _ = plan_cases([json_lines(more / "a.jsonl", ["by Cy"]), json_lines(more / "b.jsonl", ["by Di"])])
    lacking = dataclasses.replace(jobs[0], format=dataclasses.replace(jobs[0].format, open=fail))
    tally = add_cases(store, [lacking, jobs[1]], mask_capitals(), settings_of(), by="eve")
    assert (tally.n_documents, tally.failures[0].reason) == (1, "this format needs the extra office")
    assert [one.name for one in list_sources(store)] == ["cases.jsonl", "b.jsonl"]
