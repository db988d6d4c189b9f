"""The store: nothing readable without the key, nothing lost, and a trail that reveals tampering."""

import dataclasses
import json
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from fake_maskers import FakeMasker, mask_all, near_the_threshold
from review_stores import FACTS, KEY, TEXT, change, json_lines, place, review, store_of, user

from inverse_deid.core.errors import (
    ConfigurationError,
    InverseDeidError,
    OutputExistsError,
    StaleRevisionError,
    UnreadableInputError,
)
from inverse_deid.core.files import check_private
from inverse_deid.core.thresholds import Thresholds
from inverse_deid.core.values import Document
from inverse_deid.masking.combine import limit_of_safe_words
from inverse_deid.review.flow.causality import CausalityForm, Preserved, Topic, TopicAnswer, save_form
from inverse_deid.review.flow.contents import Listed, join_texts, rank_case, read_model
from inverse_deid.review.flow.editing import act, add_note
from inverse_deid.review.flow.reading import view_case
from inverse_deid.review.flow.work_list import count_cases, list_cases, next_case
from inverse_deid.review.people.accounts import find_user
from inverse_deid.review.store.keys import ReviewKey, make_key_file
from inverse_deid.review.store.opening import open_store
from inverse_deid.review.store.trail import export_trail, verify_export, verify_store
from inverse_deid.review.store.values import (
    ActionKind,
    CaseState,
    LayerRevision,
    MaskingFacts,
    ReviewAction,
    TokenRange,
    WorkFilter,
)

CANARY = "Zebulonova"


def test_the_files_of_the_store_contain_no_word_of_a_case(tmp_path):
    with store_of(tmp_path, [f"seen by {CANARY} in {CANARY.lower()}"], approvals=1) as store:
        ann = user(store, "ann")
        at = place(store, ann)
        add_note(store, at, f"{CANARY} is a name")
        change(store, at, ActionKind.MASK, 4, all_mentions=True)
        review(store, ann)
        answers = {topic: TopicAnswer(Preserved.YES) for topic in Topic}
        save_form(store, ann, CausalityForm(1, answers, f"{CANARY} again"))
        export_trail(store, tmp_path / "trail.jsonl")
        files = [path for path in tmp_path.iterdir() if path.name != "cases.jsonl"]
        assert {"review.db", "review.db-wal", "review.db-shm", "trail.jsonl"} <= {path.name for path in files}
        for path in files:
            assert CANARY.lower().encode() not in path.read_bytes().lower(), path.name
            assert b"seen by" not in path.read_bytes(), path.name
    dump = "\n".join(sqlite3.connect(tmp_path / "review.db").iterdump())
    assert CANARY.lower() not in dump.lower() and "seen by" not in dump


def test_only_the_owner_can_read_the_store(tmp_path):
    store_of(tmp_path).close()
    assert (tmp_path / "review.db").stat().st_mode & 0o077 == 0


def test_another_key_opens_nothing(tmp_path):
    store_of(tmp_path).close()
    with pytest.raises(ConfigurationError, match="key does not belong to"):
        open_store(tmp_path / "review.db", ReviewKey(b"another key of more than 16 bytes"))


@pytest.mark.parametrize("content", [b"", b"no database at all", b"SQLite format 3\0" + b"x" * 200])
def test_other_files_than_stores_are_refused(tmp_path, content):
    (tmp_path / "x.db").write_bytes(content)
    with pytest.raises(UnreadableInputError, match="is not a review store"):
        open_store(tmp_path / "x.db", KEY)


def test_a_store_is_never_overwritten(tmp_path):
    store_of(tmp_path).close()
    before = (tmp_path / "review.db").read_bytes()
    with pytest.raises(OutputExistsError):
        store_of(tmp_path)
    assert (tmp_path / "review.db").read_bytes() == before


def test_a_text_that_was_moved_to_another_case_is_refused(tmp_path):
    store = store_of(tmp_path, ["a b", "c d"])
    with sqlite3.connect(tmp_path / "review.db") as raw:
        raw.execute("update contents set sealed_text = (select sealed_text from contents where case_id = 2)")
    with pytest.raises(UnreadableInputError, match="altered"):
        place(store, user(store, "ann"))
    raw.close()
    store.close()


def test_keys_are_hidden_and_short_or_public_ones_are_refused(tmp_path):
    assert "0123" not in repr(KEY) and len({KEY.derive("trail"), KEY.derive("encryption")}) == 2
    with pytest.raises(ConfigurationError, match="too short"):
        ReviewKey(b"short")
    path = tmp_path / "k"
    make_key_file(path)
    check_private(path)
    path.chmod(0o640)
    with pytest.raises(ConfigurationError, match="chmod 600"):
        check_private(path)
    with pytest.raises(ConfigurationError, match="never overwritten"):
        make_key_file(path)


class TestTrail:
    @pytest.fixture
    def trail(self, tmp_path):
        with store_of(tmp_path, approvals=1) as store:
            ann = user(store, "ann")
            at, _ = change(store, place(store, ann), ActionKind.MASK, 2, 4)
            change(store, at, ActionKind.UNMASK, 3)
            review(store, ann)
            assert verify_store(store).is_intact
            export_trail(store, tmp_path / "trail.jsonl")
        return tmp_path

    def lines(self, trail):
        return (trail / "trail.jsonl").read_text(encoding="utf-8").splitlines()

    def test_it_records_user_time_place_and_change_but_no_word(self, trail):
        entries = [json.loads(line)["entry"] for line in self.lines(trail)[:-1]]
        assert [entry["event"] for entry in entries] == [
            "file 1 added: 1 cases",
            "account of ann added",
            "begin",
            "state",
            "original shown",
            "change",
            "change",
            "approve",
            "state",
            "state",
        ]
        assert (entries[4]["user"], entries[4]["case"], entries[4]["new"]) == ("ann", 1, "reading page")
        one = entries[5]
        assert one["at"] == "2023-11-14T22:13:20.000000+00:00" and one["user"] == "ann"
        assert (one["start"], one["end"]) == (16, 21)
        names = [json.loads(line).get("name") for line in self.lines(trail)[:-1]]
        assert names[5] == "c1" and "c1" not in (one["name"], one["document"])
        assert (one["old"], one["new"], one["category"]) == ("keep", "mask PATIENT", "PATIENT")
        assert one["model"] == "ab" * 32 and one["thresholds"] == [0.9, 0.9]
        assert not any(word in "".join(self.lines(trail)) for word in TEXT.split() if len(word) > 3)

    @pytest.mark.parametrize(
        "tamper",
        [
            lambda lines: [*lines[:2], lines[2].replace('"ann"', '"eve"'), *lines[3:]],
            lambda lines: [*lines[:2], *lines[3:]],
            lambda lines: [lines[0], lines[2], lines[1], *lines[3:]],
            lambda lines: [*lines[:-2], lines[-1]],
            lambda lines: lines[:-1],
            lambda lines: [*lines, lines[0]],
            lambda lines: lines[1:],
            lambda lines: [],
            lambda lines: ["x", *lines],
        ],
        ids=["edit", "remove", "reorder", "truncate", "no head", "append", "first", "empty", "garbage"],
    )
    def test_a_tampered_export_is_found(self, trail, tamper):
        path = trail / "tampered.jsonl"
        path.write_text("".join(line + "\n" for line in tamper(self.lines(trail))), encoding="utf-8")
        assert not verify_export(path, KEY).is_intact
        assert verify_export(trail / "trail.jsonl", KEY).is_intact

    def test_a_recomputed_chain_has_a_broken_seal(self, trail):
        from inverse_deid.review.store import entries as code

        lines = [json.loads(line) for line in self.lines(trail)]
        previous = code.NO_HASH
        for line in lines[:-1]:
            line["entry"]["user"], line["entry"]["previous"] = "eve", previous
            previous = line["hash"] = code.hash_line(code.encode_entry(line["entry"]))
        lines[-1]["head"]["hash"] = previous
        path = trail / "forged.jsonl"
        path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
        assert verify_export(path, None).is_intact
        assert [*verify_export(path, KEY).problems] == [
            "the seal of the head is broken, or the key belongs to another store"
        ]

    @pytest.mark.parametrize(
        "sql",
        [
            "update trail set line = replace(line, 'ann', 'eve') where number = 3",
            "delete from trail where number = 2",
            "delete from trail where number = 10",
            "update trail set number = -number; update trail set number = 11 + number",
            "delete from trail; update trail_head set n_entries = 0",
            "delete from trail_head",
        ],
    )
    def test_a_tampered_table_is_found(self, trail, sql):
        raw = sqlite3.connect(trail / "review.db")
        raw.executescript(sql)
        raw.close()
        with open_store(trail / "review.db", KEY) as store:
            assert not verify_store(store).is_intact


KILLED = """
import sys
sys.path[:0] = sys.argv[1:3]
from review_stores import KEY
from inverse_deid.review.flow.editing import act
from inverse_deid.review.store.opening import open_store
from inverse_deid.review.store.values import ReviewAction, ActionKind, LayerRevision, TokenRange
store = open_store(sys.argv[3], KEY, clock=lambda: 1_700_000_001.0)
for revision in range(1000):
    act(store, LayerRevision(1, 1, revision), ReviewAction(ActionKind.MASK if revision % 2 else ActionKind.UNMASK, (TokenRange(2, 3),)))
    print(revision + 1, flush=True)
"""


def test_an_acknowledged_decision_survives_kill_9(tmp_path):
    store = store_of(tmp_path)
    place(store, user(store, "ann"))
    store.close()
    tests = Path(__file__).parents[2]
    arguments = [sys.executable, "-c", KILLED, str(tests.parent), str(tests), str(tmp_path / "review.db")]
    with subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True) as child:
        acknowledged = 0
        for line in child.stdout:
            acknowledged = int(line)
            if acknowledged == 5:
                child.send_signal(signal.SIGKILL)
    assert 5 <= acknowledged < 1000
    with open_store(tmp_path / "review.db", KEY) as store:
        view = view_case(store, find_user(store, "ann"), 1)
        assert view.revision in (acknowledged, acknowledged + 1)
        assert view.layer.keep[2] == (view.revision % 2 == 1)
        check = verify_store(store)
        assert check.is_intact and check.n_entries == 5 + view.revision


def test_concurrent_reviewers_lose_no_update_and_do_not_deadlock(tmp_path):
    n_people, n_actions = 4, 6
    store = store_of(tmp_path, [TEXT] * n_people)
    people = [user(store, f"u{i}") for i in range(n_people)]
    problems = []

    def work(who, case_id):
        try:
            at = place(store, who, case_id)
            for i in range(n_actions):
                kind = ActionKind.MASK if i % 2 else ActionKind.UNMASK
                at, _ = change(store, at, kind, 2)
        except InverseDeidError as error:
            problems.append(error)

    threads = [threading.Thread(target=work, args=(who, i)) for i, who in enumerate(people, 1)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not problems
    assert [view_case(store, who, i).revision for i, who in enumerate(people, 1)] == [n_actions] * n_people
    assert verify_store(store).n_entries == 1 + n_people * (4 + n_actions)
    store.close()


def test_one_of_two_concurrent_windows_is_refused(tmp_path):
    store = store_of(tmp_path)
    at = place(store, user(store, "ann"))
    results = []

    def click(token):
        try:
            results.append(
                act(store, at, ReviewAction(ActionKind.MASK, (TokenRange(token, token + 1),))).revision
            )
        except StaleRevisionError as error:
            results.append(error)

    threads = [threading.Thread(target=click, args=(token,)) for token in (0, 1, 3, 4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [one for one in results if isinstance(one, int)] == [1] and len(results) == 4
    store.close()


def test_the_case_that_most_likely_leaks_comes_first_and_failed_ones_before_it(tmp_path):
    class Doubting(FakeMasker):
        def mask_many(self, docs):
            masked = super().mask_many(docs)
            for doc, one in zip(docs, masked, strict=True):
                one.decisions.p_safe[:] = float(doc.text.split()[0]) / 100
                one.decisions.thresholds[:] = 0.9
            return masked

    texts = ["99 words", "90 words", "30 words", "90 BROKENSTAGE"]
    store = store_of(tmp_path, texts, masker=Doubting(str.islower))
    rows = list_cases(store, WorkFilter()).rows
    assert [row.name for row in rows] == ["c4", "c3", "c2", "c1"]
    assert [(row.is_failed, row.n_doubtful) for row in rows] == [
        (True, 2),
        (False, 0),
        (False, 2),
        (False, 0),
    ]
    # 0.7, 0.1 and 0.01 words that leak: 5, 2 and 0 doublings of 1/64, and the share of the doubtful words.
    assert [row.doubt for row in rows[1:]] == pytest.approx([5, 2 + 2 / 3, 0])
    assert [row.name for row in list_cases(store, WorkFilter(min_doubtful=1)).rows] == ["c4", "c2"]
    assert next_case(store, user(store, "ann")) == 4
    store.close()


def test_pages_contain_every_case_once_under_any_filter(tmp_path):
    store = store_of(tmp_path, ["a b"] * 23, approvals=1)
    ann = user(store, "ann")
    for case_id in (3, 5):
        review(store, ann, case_id)

    def pages(chosen):
        key, names = None, []
        while True:
            page = list_cases(store, chosen, after=key, n_rows=5)
            names += [row.case_id for row in page.rows]
            key = page.next_key
            if key is None:
                return names

    assert pages(WorkFilter()) == list(range(1, 24))
    assert pages(WorkFilter(states=frozenset({CaseState.RELEASED}))) == [3, 5]
    assert pages(WorkFilter(claimable_by=ann.id)) == [i for i in range(1, 24) if i not in (3, 5)]
    assert sum(count_cases(store).values()) == 23
    for key in ("x", "nan_x", "", "0x1p0_1; drop"):
        with pytest.raises(InverseDeidError, match="first page"):
            list_cases(store, WorkFilter(), after=key)
    store.close()


@pytest.mark.slow
def test_a_page_of_50_000_cases_takes_under_100_ms(tmp_path):
    store = store_of(tmp_path)
    ann = user(store, "ann")
    raw = sqlite3.connect(tmp_path / "review.db")
    raw.execute(
        "with recursive n(i) as (select 2 union all select i + 1 from n where i < 50000) insert into cases "
        "(id, source_id, number, name, state, doubt, n_tokens, n_doubtful, is_failed, n_approvals) "
        "select i, 1, i, (select name from cases), "
        "case i % 3 when 0 then 'new' when 1 then 'in review' else 'released' end, "
        "(i * 7919) % 1000 / 10.0, 100, 3, 0, 0 from n"
    )
    raw.commit()
    raw.close()
    chosen = [WorkFilter(), WorkFilter(claimable_by=ann.id), WorkFilter(states=frozenset({CaseState.NEW}))]
    for one in chosen:
        key, seconds = None, []
        for _ in range(20):
            started = time.perf_counter()
            page = list_cases(store, one, after=key)
            seconds.append(time.perf_counter() - started)
            key = page.next_key
        assert len(page.rows) == 50 and min(seconds) < 0.1
    store.close()


def test_no_value_shows_text_in_its_repr(tmp_path):
    with store_of(tmp_path, [f"seen by {CANARY}"]) as store:
        ann = user(store, "ann")
        at = place(store, ann)
        add_note(store, at, f"{CANARY}!")
        assert CANARY not in repr(view_case(store, ann, 1)) + repr(store) + repr(at)


def test_a_case_of_a_table_can_be_empty(tmp_path):
    cases = json_lines(tmp_path / "cases.jsonl", ["", "."])
    with store_of(tmp_path, inputs=[cases], approvals=1) as store:
        ann = user(store, "ann")
        assert [review(store, ann, i) for i in (1, 2)] == [CaseState.RELEASED] * 2
        assert LayerRevision(ann.id, 1, 0).case_id == 1


def test_the_masked_categories_are_stored():
    facts = dataclasses.replace(FACTS, categories=("name", "date"))
    assert MaskingFacts.from_json(json.loads(json.dumps(facts.as_json()))) == facts


def test_a_writer_does_not_wait_for_ever_for_its_turn(tmp_path, monkeypatch):
    monkeypatch.setattr("inverse_deid.review.store.opening.BUSY_SECONDS", 0.05)
    with store_of(tmp_path) as store, store.writing():
        problems = []

        def write():
            try:
                user(store, "ann")
            except InverseDeidError as error:
                problems.append(str(error))

        other = threading.Thread(target=write)
        other.start()
        other.join()
    assert problems == ["others are writing to the store. Nothing of this step was stored. Try again"]


def test_a_listed_word_is_in_no_doubt_where_it_is_as_the_list_says():
    docs = [Document("1", "Zelvoran 20 rash rash Rose rash")]
    masked = near_the_threshold().mask_many(docs)
    plain, listed = (join_texts(docs, masked, (), one) for one in (None, Listed(["Rose"], ["RASH", "20"])))
    assert listed.is_listed.tolist() == [False, False, True, True, True, True]
    doubts = [rank_case(one, is_failed=False) for one in (plain, listed)]
    assert [n_doubtful for _doubt, n_doubtful in doubts] == [3, 0]
    assert doubts[0][0] > doubts[1][0] == 0


def test_the_letter_after_the_apostrophe_of_a_masked_word_is_no_needless_mask():
    doc = Document("1", "seen by Okonkwo's ward with S of Li\u2019s team, but's")
    (masked,) = mask_all().mask_many([doc])
    masked.decisions.keep[-2] = True
    masked.decisions.p_safe[:] = 0.1
    thresholds = Thresholds(0.5, 0.9)
    masked.decisions.thresholds[:] = limit_of_safe_words(thresholds, masked.decisions.p_safe)
    model = read_model(join_texts([doc], [masked]), dataclasses.replace(FACTS, thresholds=thresholds))
    needless = [
        word for word, is_it in zip(masked.tokens.words, model.is_maybe_needless, strict=True) if is_it
    ]
    assert needless == ["seen", "by", "Okonkwo", "ward", "with", "S", "of", "Li", "team", "s"]
