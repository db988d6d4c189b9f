"""Accounts, exports, imports and figures."""

import io
import json
from datetime import date

import pandas as pd
import pytest
from review_stores import (
    FACTS,
    KEY,
    PASSWORD,
    TEXT,
    Clock,
    change,
    json_lines,
    place,
    review,
    store_of,
    user,
)

from inverse_deid.cli.reviewing.store import read_key
from inverse_deid.core.errors import (
    AnnotationError,
    LogInError,
    NotAllowedError,
    OutputExistsError,
    ReviewError,
)
from inverse_deid.core.phi import PhiType
from inverse_deid.core.values import Document, PhiSpan
from inverse_deid.formats.beside.brat import brat_annotations, brat_text, read_gold_brat
from inverse_deid.formats.records import ReadOptions
from inverse_deid.replacement.settings import CaseSettings
from inverse_deid.review.files.exporting import (
    AnnotationFormat,
    adopt_annotations,
    export_annotated,
    export_released,
    read_annotations,
)
from inverse_deid.review.files.loading import LoadSettings
from inverse_deid.review.flow.approval import approve
from inverse_deid.review.flow.causality import (
    CausalityForm,
    Preserved,
    Topic,
    TopicAnswer,
    read_form,
    save_form,
    summarise_forms,
)
from inverse_deid.review.flow.quality import (
    bound_leaks,
    draw_sample,
    read_sample,
    record_reading,
    summarise_reviewers,
)
from inverse_deid.review.flow.reading import open_case
from inverse_deid.review.flow.work_list import count_cases
from inverse_deid.review.people.accounts import (
    add_user,
    find_session,
    find_user,
    is_csrf_token,
    list_users,
    log_in,
    log_out,
    set_active,
    set_password,
    set_role,
)
from inverse_deid.review.store.keys import ReviewKey, make_key_file
from inverse_deid.review.store.opening import open_store
from inverse_deid.review.store.sources import list_sources
from inverse_deid.review.store.values import ActionKind, CaseState, LayerRevision, ReviewPolicy, UserRole
from inverse_deid.training.corpus import read_annotated

ODD = "Été à l'hôpital 😀 : Zoë\r\nLi a été vue.\rÄrger\n"
"""Accents, an emoji, all three line ends; the fake masker masks words with a capital."""


class TestSessions:
    @pytest.fixture
    def store(self, store):
        add_user(store, "Ann", PASSWORD, UserRole.REVIEWER)
        return store

    def test_a_session_has_a_new_id_and_ends(self, store, clock, tmp_path):
        first = log_in(store, "ann", PASSWORD)
        second = log_in(store, "ANN", PASSWORD, old_session_id=first.id)
        assert first.id != second.id and first.id not in repr(first)
        assert first.id.encode() not in (tmp_path / "review.db-wal").read_bytes()
        with pytest.raises(LogInError):
            find_session(store, first.id)
        found = find_session(store, second.id)
        assert found.user.name == "ann" and is_csrf_token(found, second.csrf_token)
        assert not is_csrf_token(found, first.csrf_token)
        clock.seconds += 59 * 60
        find_session(store, second.id)
        clock.seconds += 60 * 60
        with pytest.raises(LogInError):
            find_session(store, second.id)

    def test_log_out_closing_and_a_new_password_end_it(self, store):
        session = log_in(store, "ann", PASSWORD)
        log_out(store, session)
        other = log_in(store, "ann", PASSWORD)
        set_password(store, "ann", "another long sentence")
        third = log_in(store, "ann", "another long sentence")
        set_active(store, "ann", is_active=False)
        for one in (session, other, third):
            with pytest.raises(LogInError):
                find_session(store, one.id)
        with pytest.raises(LogInError, match="wrong, or the account is closed"):
            log_in(store, "ann", "another long sentence")

    def test_five_wrong_passwords_block_log_in_for_a_while(self, store, clock):
        for _ in range(5):
            with pytest.raises(LogInError, match="wrong"):
                log_in(store, "ann", "no")
        with pytest.raises(LogInError, match="too many"):
            log_in(store, "ann", PASSWORD)
        clock.seconds += 15 * 60 + 1
        assert log_in(store, "ann", PASSWORD).user.name == "ann"

    @pytest.mark.parametrize(
        ("name", "password"), [("ann", PASSWORD), ("a b", PASSWORD), ("", PASSWORD), ("bob", "short")]
    )
    def test_bad_accounts_are_refused(self, store, name, password):
        with pytest.raises(ReviewError):
            add_user(store, name, password, UserRole.REVIEWER)
        assert [one.name for one in list_users(store)] == ["ann"]


def released(folder, texts=(TEXT,), **more):
    store = store_of(folder, texts, approvals=1, **more)
    ann = user(store, "ann")
    for case_id in range(1, sum(count_cases(store).values()) + 1):
        assert review(store, ann, case_id) is CaseState.RELEASED
    return store


def files_of(folder):
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_released_text_keeps_its_format(tmp_path):
    source = tmp_path / "in"
    source.mkdir()
    (source / "a.txt").write_bytes(b"\xef\xbb\xbf" + ODD.encode())
    (source / "t.csv").write_bytes('id,text,note\r\n7,Seen by Li,"a, b"\r\n8,well,c\r\n'.encode("utf-16"))
    json_lines(source / "j.jsonl", [ODD])
    (source / "x.xml").write_text("<deIdi2b2><TEXT>Li &amp; co</TEXT></deIdi2b2>", encoding="utf-8")
    settings = LoadSettings(facts=FACTS, cases=CaseSettings(today=date(2024, 1, 1), key=KEY.secret))
    del settings
    (source / "t.csv").write_bytes(b'id,text,note\r\n7,Seen by Li,"a, b"\r\n8,well,c\r\n')
    with released(tmp_path, inputs=[source]) as store:
        out = tmp_path / "out"
        exported = export_released(store, out)
        assert (exported.n_cases, exported.n_left_out, exported.problems) == (5, 0, ())
        files = files_of(out)
        assert files["t.csv"] == b"id,text\r\n7,PHI by PHI\r\n8,well\r\n"
        assert exported.columns == {"id": "id", "text": "masked", "note": "dropped"}
        assert files["a.txt"] == ("\ufeffPHI à l'hôpital □ : PHI\r\nPHI a été vue.\rPHI\n").encode()
        line = json.loads(files["j.jsonl"])
        assert line["text"] == files["a.txt"].decode("utf-8-sig") and line["id"] == "c1"
        assert set(line) == {"id", "text"}
        assert b"PHI &amp; co" in files["x.xml"] or b"PHI & co" in files["x.xml"]
        with pytest.raises(OutputExistsError):
            export_released(store, out)


@pytest.mark.parametrize("kind", ["csv", "parquet", "jsonl"])
def test_columns_are_exported_as_mask_writes_them(tmp_path, kind):
    row = {"id": "7", "text": "Seen by Li", "dob": "1980", "comment": "Li again", "country": "+FI"}
    frame, path = pd.DataFrame([row]), tmp_path / f"t.{kind}"
    match kind:
        case "csv":
            frame.to_csv(path, index=False)
        case "parquet":
            frame.to_parquet(path)
        case _:
            path.write_text(json.dumps(row) + "\n", encoding="utf-8")
    settings = LoadSettings(
        policy=ReviewPolicy(approvals=1),
        facts=FACTS,
        cases=CaseSettings(today=date(2024, 1, 1), key=KEY.secret),
        read_options=ReadOptions(text_columns=("text", "comment"), keep_unchecked=("country",)),
    )
    with released(tmp_path, inputs=[path], settings=settings) as store:
        exported = export_released(store, tmp_path / "out")
        assert (exported.n_cases, exported.problems) == (1, ())
        expected = {"id": "7", "text": "PHI by PHI", "comment": "PHI again", "country": "+FI"}
        written = tmp_path / "out" / f"t.{kind}"
        match kind:
            case "csv":
                assert written.read_bytes() == b"id,text,comment,country\n7,PHI by PHI,PHI again,'+FI\n"
            case "parquet":
                assert pd.read_parquet(written).to_dict("records") == [expected]
                assert b"1980" not in written.read_bytes()
            case _:
                line = json.loads(written.read_text(encoding="utf-8"))
                assert {name: line[name] for name in line if name != "masks"} == expected
        fates = {
            "text": "masked",
            "comment": "masked",
            "id": "id",
            "country": "kept unchecked",
            "dob": "dropped",
        }
        assert exported.columns == fates


def test_only_released_cases_are_exported(tmp_path):
    with store_of(tmp_path, ["by Li", "by Wu"]) as store:
        for name in ("ann", "bob"):
            review(store, user(store, name), 2)
        place(store, user(store, "cem"), 1)
        exported = export_released(store, tmp_path / "out")
        assert (exported.n_cases, exported.n_left_out) == (1, 1)
        assert (tmp_path / "out" / "cases.jsonl").read_text(encoding="utf-8").count("\n") == 1
        export_annotated(store, tmp_path / "gold.jsonl", AnnotationFormat.JSON_LINES)
        assert "Li" not in (tmp_path / "gold.jsonl").read_text(encoding="utf-8")


def test_a_case_with_a_forged_state_is_not_exported(tmp_path):
    import sqlite3

    with store_of(tmp_path, ["by Li"]) as store:
        raw = sqlite3.connect(tmp_path / "review.db")
        raw.execute("update cases set state = 'released'")
        raw.commit()
        raw.close()
        exported = export_released(store, tmp_path / "out")
        assert exported.n_cases == 0 and "cases 1 was altered" in exported.problems[0]
        assert not files_of(tmp_path / "out")
        with pytest.raises(NotAllowedError, match="cases 1 was altered"):
            export_annotated(store, tmp_path / "gold.jsonl", AnnotationFormat.JSON_LINES)
        assert not (tmp_path / "gold.jsonl").exists()


@pytest.mark.parametrize("form", list(AnnotationFormat))
def test_export_import_export_is_identical(tmp_path, form):
    target = "gold.jsonl" if form is AnnotationFormat.JSON_LINES else "gold"
    with released(tmp_path, [ODD, "Li-Wu on 3/4/2020", "nothing here"]) as store:
        export_annotated(store, tmp_path / target, form)
    docs = read_annotations(tmp_path / target)
    assert [doc.text for doc in docs] == [ODD, "Li-Wu on 3/4/2020", "nothing here"]
    assert [ODD[span.start : span.end] for span in docs[0].spans] == ["Été", "Zoë", "Li", "Ärger"]
    assert [(span.start, span.end) for span in docs[1].spans] == [(0, 5), (9, 17)]
    again = tmp_path / "again"
    again.mkdir()
    with store_of(again, [doc.text for doc in docs], approvals=1) as store:
        ann = user(store, "ann")
        for case_id, doc in enumerate(docs, start=1):
            at = place(store, ann, case_id)
            at, _ = change(store, at, ActionKind.MASK, 0, category=PhiType.CITY)
            edited = adopt_annotations(store, at, doc)
            approve(store, LayerRevision(ann.id, case_id, edited.revision))
        export_annotated(store, again / target, form)
    first, second = tmp_path / target, again / target
    assert (first.read_bytes() if first.is_file() else files_of(first)) == (
        second.read_bytes() if second.is_file() else files_of(second)
    )


@pytest.mark.parametrize("form", [AnnotationFormat.JSON_LINES, AnnotationFormat.I2B2])
def test_fine_tune_reads_corrected_documents(tmp_path, form):
    with store_of(tmp_path, ["Seen by Okonkwo in Velmont"], approvals=1) as store:
        ann = user(store, "ann")
        at, _ = change(store, place(store, ann), ActionKind.UNMASK, 0)
        at, _ = change(store, at, ActionKind.CATEGORY, 2, category=PhiType.DOCTOR)
        at, _ = change(store, at, ActionKind.CATEGORY, 4, category=PhiType.CITY)
        approve(store, at)
        path = tmp_path / ("gold.jsonl" if form is AnnotationFormat.JSON_LINES else "gold")
        export_annotated(store, path, form)
    docs = read_annotated(path)
    assert docs[0].spans == (PhiSpan(8, 15, PhiType.DOCTOR), PhiSpan(19, 26, PhiType.CITY))


def test_annotations_of_another_text_are_refused(tmp_path):
    with store_of(tmp_path) as store:
        at = place(store, user(store, "ann"))
        with pytest.raises(ReviewError, match="another text"):
            adopt_annotations(store, at, Document("c1", TEXT + " "))


@pytest.mark.parametrize(
    "line", ["T1\tPATIENT 0 99\tx", "T1\tPATIENT 3 1\tx", "T1 PATIENT 0 3 x", "T1\tNO 0 3\tx"]
)
def test_mismatching_brat_is_refused(line):
    with pytest.raises(AnnotationError):
        read_gold_brat(b"Ann Li", line.encode(), "d")


def test_brat_spans_line_ends_and_ignores_other_lines():
    doc = Document("d", "Zoë\r\nLi 😀 Wu", (PhiSpan(0, 7, PhiType.PATIENT), PhiSpan(10, 12, PhiType.CITY)))
    annotations = brat_annotations(doc) + b"#1\tAnnotatorNotes T1\tsure\n"
    assert b"T1\tPATIENT 0 3;5 7\t" in annotations
    assert read_gold_brat(brat_text(doc), annotations, "d") == doc


class TestSample:
    def test_the_bound_is_exact_and_needs_the_whole_sample(self, tmp_path):
        with released(tmp_path, ["a b"] * 10) as store:
            eve = user(store, "eve", UserRole.ADJUDICATOR)
            sample = draw_sample(store, 4, seed=1)
            assert len(sample.case_ids) == 4 and sample.n_released == 10
            with pytest.raises(ReviewError, match="4 of the 4 cases"):
                bound_leaks(store)
            for case_id in sample.case_ids:
                record_reading(store, eve, case_id, leaks=False)
            found = bound_leaks(store)
            # (1 - p)^4 = 0.05
            assert found.n_leaking == 0 and found.leak_rate_bound == pytest.approx(1 - 0.05**0.25)
            assert read_sample(store).unread == ()

    def test_a_leak_counts_and_withdraws_the_case(self, tmp_path):
        with released(tmp_path, ["a b"] * 3) as store:
            eve = user(store, "eve", UserRole.ADJUDICATOR)
            first, second = draw_sample(store, 2).case_ids
            record_reading(store, eve, first, leaks=True)
            record_reading(store, eve, second, leaks=False)
            assert count_cases(store)[CaseState.RELEASED] == 2
            # P(at most 1 of 2) = 1 - p^2 = 0.05
            assert bound_leaks(store).leak_rate_bound == pytest.approx(0.95**0.5)
            with pytest.raises(ReviewError, match="already read"):
                record_reading(store, eve, first, leaks=False)

    def test_approvers_cannot_read_their_cases_and_samples_are_bounded(self, tmp_path):
        with released(tmp_path) as store:
            with pytest.raises(ReviewError, match="1 cases are released"):
                draw_sample(store, 2)
            draw_sample(store, 1)
            set_role(store, "ann", UserRole.ADJUDICATOR)
            ann = find_user(store, "ann")
            with pytest.raises(NotAllowedError, match="another user"):
                record_reading(store, ann, 1, leaks=False)


def test_agreement_and_time_by_hand(tmp_path):
    clock = Clock()
    with store_of(tmp_path, clock=clock) as store:
        ann, bob = user(store, "ann"), user(store, "bob")
        at = place(store, ann)
        clock.seconds += 30
        at, _ = change(store, at, ActionKind.MASK, 5)
        clock.seconds += 10_000
        approve(store, at)
        review(store, bob, mask=[0])
        found = summarise_reviewers(store)
    # 7 tokens: ann masks 2 and 5, bob masks 0 and 2. Alike: 2, and 1, 3, 4, 6.
    assert found.tokens.observed.part == 5 and found.tokens.observed.whole == 7
    by_chance = (2 * 2 + 5 * 5) / 49
    assert found.tokens.kappa.value == pytest.approx((5 / 7 - by_chance) / (1 - by_chance))
    assert found.f1 == 0.5 and found.n_double == 1
    assert [(one.user, one.n_approved, one.median_seconds) for one in found.times] == [
        ("ann", 1, 150.0),
        ("bob", 1, 0.0),
    ]


def test_the_causality_summary_by_hand(tmp_path):
    yes, gone = TopicAnswer(Preserved.YES), TopicAnswer(Preserved.NOT_IN_CASE)
    with released(tmp_path, ["a b"] * 2) as store:
        eve = user(store, "eve")
        assert summarise_forms(store).any_preserved.value is None
        save_form(store, eve, CausalityForm(1, dict.fromkeys(Topic, yes)))
        answers = {**dict.fromkeys(Topic, gone), Topic.DOSES: TopicAnswer(Preserved.NO, is_needed=False)}
        save_form(store, eve, CausalityForm(2, answers, "the dose"))
        save_form(store, eve, CausalityForm(2, answers, "no dose"))
        found = summarise_forms(store)
        assert read_form(store, eve, 2).remark == "no dose" and found.n_forms == 2
    shares = (found.any_preserved, found.none_missing, found.none_needed_missing)
    assert [share.part for share in shares] == [1, 1, 2]
    doses = next(one for one in found.topics if one.topic is Topic.DOSES)
    assert (doses.n_yes, doses.n_partly, doses.n_no, doses.n_needed) == (1, 0, 1, 0)


def test_a_form_answers_every_topic_and_says_what_was_needed():
    with pytest.raises(ReviewError, match="no answer on reaction"):
        CausalityForm(1, {})
    with pytest.raises(ReviewError):
        TopicAnswer(Preserved.NO)
    with pytest.raises(ReviewError):
        TopicAnswer(Preserved.YES, is_needed=True)


class TestCommand:
    def test_other_columns_are_dropped_and_named(self, command, tmp_path):
        (tmp_path / "t.csv").write_text("id,narrative,dob,country\n7,Seen by Li,1980,FI\n")
        options = ("--text-column", "narrative", "--keep-column", "country", "--approvals", "1")
        made = command("review", "init", tmp_path / "t.csv", "--store", tmp_path / "review.db", *options)
        assert made.status == 0, made.stderr
        assert "Columns masked: narrative" in made.stderr
        assert "Columns kept (unmasked): country, id (the id)" in made.stderr
        assert "dropped: dob" in made.stderr
        refused = ("--text-column", "narrative", "--keep-column", "contry")
        made = command("review", "init", tmp_path / "t.csv", "--store", tmp_path / "new.db", *refused)
        assert (made.status, (tmp_path / "new.db").exists()) == (2, False)
        assert "no column named 'contry'. It has: id, narrative, dob, country." in made.stderr

    @pytest.mark.parametrize(
        ("kept", "why"),
        [
            (("--keep-column", "nurse_name"), "Its name says that it may identify a person."),
            (("--keep-all-columns",), "Its name says that it may identify a person."),
            (("--keep-unchecked", "country"), "Nothing in it is checked, whatever it contains."),
            (("--keep-unchecked", "other"), "Nothing in it is checked, whatever it contains."),
        ],
    )
    def test_a_column_that_may_name_people_is_copied_only_by_the_pages(self, command, tmp_path, kept, why):
        (tmp_path / "t.csv").write_text("id,narrative,nurse_name,country\n7,Seen by Li,Li,FI\n")
        given = (tmp_path / "t.csv", "--text-column", "narrative", *kept)
        db = tmp_path / "review.db"
        refused = command("review", "init", *given, "--store", db)
        assert (refused.status, db.exists()) == (2, False)
        assert f"would be copied unmasked. {why} Another adjudicator must confirm it" in refused.stderr
        assert "Add the file on the pages of the review, or mask or drop the column." in refused.stderr
        assert command("review", "init", "--store", db).status == 0
        refused = command("review", "add", *given, "--store", db)
        assert refused.status == 2 and why in refused.stderr
        with open_store(db, read_key(str(db), None)) as store:
            assert sum(count_cases(store).values()) == 0

    def test_from_cases_to_an_export(self, command, tmp_path, monkeypatch):
        db = tmp_path / "review.db"
        cases = json_lines(tmp_path / "cases.jsonl", [TEXT])
        made = command("review", "init", cases, "--store", db, "--approvals", "1")
        assert made.status == 0 and "review.db.key" in made.stderr, made.stderr
        assert (tmp_path / "review.db.key").stat().st_mode & 0o777 == 0o600
        monkeypatch.setattr("sys.stdin", io.StringIO(PASSWORD + "\n"))
        assert command("review", "user", "add", "ann", "--store", db).status == 0
        gold = tmp_path / "gold.jsonl"
        gold.write_text(json.dumps({"id": "c1", "text": TEXT, "spans": []}) + "\n", encoding="utf-8")
        assert command("review", "import", gold, "--store", db, "--user", "ann").status == 0
        assert "ann" in command("review", "user", "list", "--store", db).stdout
        assert "in review" in command("review", "summary", "--store", db).stdout
        assert command("review", "verify", "--store", db).stdout == "7 entries, intact\n"
        out = command("review", "export", "--store", db, "--out", tmp_path / "out")
        assert out.status == 0 and "0 cases written, 1 not released" in out.stderr
        listed, numbered = tmp_path / "names.csv", ("--out", tmp_path / "numbered", "--rename")
        with_list = command("review", "export", "--store", db, *numbered, listed)
        assert with_list.status == 0 and "CONFIDENTIAL" in with_list.stderr
        assert "id,c1,case-0001" in listed.read_text()
        inside = command("review", "export", "--store", db, *numbered, tmp_path / "numbered" / "names.csv")
        assert inside.status == 2 and "outside of the folder of --out" in inside.stderr
        other = command("review", "export", "--store", db, *numbered, listed, "--as", "jsonl")
        assert other.status == 2 and "--rename is for released files" in other.stderr
        for form in ("jsonl", "i2b2", "brat", "trail"):
            again = command("review", "export", "--store", db, "--out", tmp_path / form, "--as", form)
            assert again.status == 0, again.stderr

    def test_cases_are_added_with_options_of_their_own(self, command, tmp_path):
        db = tmp_path / "review.db"
        made = command("review", "init", "--store", db, "--approvals", "1")
        assert made.status == 0 and "Masked 0 documents" in made.stderr, made.stderr
        cases = json_lines(tmp_path / "cases.jsonl", [TEXT])
        (tmp_path / "t.csv").write_text("id,narrative,dob\n7,Seen by Li,1980\n")
        assert command("review", "add", cases, "--store", db).status == 0
        options = ("--text-column", "narrative", "--dates", "year", "--marker", "XXX", "--replace", "marker")
        made = command("review", "add", tmp_path / "t.csv", "--store", db, *options)
        assert made.status == 0, made.stderr
        assert "masked: narrative" in made.stderr and "Added 1 document for review" in made.stderr
        again = command("review", "add", cases, tmp_path / "t.csv", "--store", db)
        assert again.status == 2 and again.stderr.count("is already in the store") == 2, again.stderr
        other = json_lines(tmp_path / "other.jsonl", ["well"])
        partly = command("review", "add", cases, other, "--store", db)
        assert partly.status == 1 and "Added 1 document for review" in partly.stderr
        with open_store(db, ReviewKey((tmp_path / "review.db.key").read_bytes().strip())) as store:
            names = [one.name for one in list_sources(store)]
            assert names == ["cases.jsonl", "t.csv", "other.jsonl"]
            ann = user(store, "ann")
            assert [open_case(store, ann, i).facts.marker for i in (1, 2, 3)] == ["PHI", "XXX", "PHI"]

    @pytest.mark.parametrize(
        "arguments",
        [
            ["init", "missing.txt", "--store", "new.db"],
            ["add", "missing.txt", "--store", "old.db"],
            ["add", "cases.jsonl", "--store", "missing.db"],
            ["add", "cases.jsonl", "--store", "old.db", "--key", "key"],
            ["init", "cases.jsonl", "--store", "old.db"],
            ["verify", "--store", "missing.db"],
            ["export", "--store", "old.db", "--out", "x"],
            ["sample", "--store", "old.db"],
            ["user", "list", "--store", "nonsense://x", "--key", "cases.jsonl"],
        ],
    )
    def test_bad_input_gives_one_line_and_status_2(self, command, tmp_path, monkeypatch, arguments):
        monkeypatch.chdir(tmp_path)
        json_lines(tmp_path / "cases.jsonl", [TEXT])
        (tmp_path / "old.db").write_bytes(b"something else")
        make_key_file(tmp_path / "key")
        found = command("review", *arguments)
        assert found.status == 2 and found.stderr.count("\n") == 1, found.stderr
        assert "Okonkwo" not in found.stderr
        assert (tmp_path / "old.db").read_bytes() == b"something else"
        assert not list(tmp_path.glob("new.db*"))
