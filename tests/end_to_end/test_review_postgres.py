"""A store on a real PostgreSQL server; if there is none, tests are skipped unless `CI` is set."""

import json
import subprocess
import sys
import threading
import time
from contextlib import closing
from datetime import date

import pyotp
import pytest
from fake_maskers import mask_capitals
from next_version import use_next_version
from postgres_cluster import postgres_address, postgres_over_tls
from review_servers import certificate, free_port
from review_stores import FACTS, KEY, PASSWORD, TEXT, change, json_lines, place, review, store_of, user
from review_visitors import account

from inverse_deid.core.errors import (
    LogInError,
    OutputExistsError,
    StaleRevisionError,
    UnreadableInputError,
)
from inverse_deid.formats.tables.columns import ColumnFate
from inverse_deid.replacement.settings import CaseSettings
from inverse_deid.review.files import service as files_service
from inverse_deid.review.files.choices import MaskingChoices
from inverse_deid.review.files.exporting import export_released
from inverse_deid.review.files.intake import LoadSettings, add_cases, plan_cases
from inverse_deid.review.files.service import IntakeService
from inverse_deid.review.files.waiting import UploadState, add_piece, begin_upload, list_uploads
from inverse_deid.review.flow.approval import approve
from inverse_deid.review.flow.editing import add_note
from inverse_deid.review.flow.reading import close_case, open_case, open_dispute, view_case
from inverse_deid.review.flow.work_list import list_cases
from inverse_deid.review.people.accounts import find_user, log_in
from inverse_deid.review.people.second_factor import complete_log_in, make_secret, turn_on
from inverse_deid.review.store.deletion import delete_everything, delete_source
from inverse_deid.review.store.migrations import migrate_store
from inverse_deid.review.store.opening import open_store
from inverse_deid.review.store.sources import list_sources
from inverse_deid.review.store.trail import verify_store
from inverse_deid.review.store.values import ActionKind, CaseState, LayerRevision, UserRole, WorkFilter

pytestmark = pytest.mark.slow

N_AT_ONCE = 8
N_DECISIONS = 10


@pytest.fixture
def address():
    with postgres_address() as address:
        yield address


def test_from_a_disagreement_to_released_text(address, tmp_path):
    with store_of(tmp_path, address=address) as store:
        ann, bea = user(store, "ann"), user(store, "bea")
        carl = user(store, "carl", UserRole.ADJUDICATOR)
        review(store, ann)
        assert review(store, bea, mask=[5]) is CaseState.DISAGREED
        dispute = open_dispute(store, carl, 1)
        at, _ = change(store, LayerRevision(carl.id, 1, dispute.case.revision), ActionKind.MASK, 5)
        assert approve(store, at) is CaseState.RELEASED
        export_released(store, tmp_path / "released")
    with pytest.raises(OutputExistsError):
        store_of(tmp_path, address=address)
    with open_store(address, KEY) as again:
        assert verify_store(again).is_intact
    released = json.loads((tmp_path / "released" / "cases.jsonl").read_text())
    assert released["text"] == "seen by PHI today, then PHI left"


def test_a_file_is_masked_again_and_keeps_decisions_and_notes(address, tmp_path):
    texts = b"text\n" + b"seen by Okonkwo today\n" * 5
    with store_of(tmp_path, address=address) as store, closing(IntakeService(store, build_masker)) as service:
        service.start()
        ann, _eve = user(store, "ann"), user(store, "eve", UserRole.ADJUDICATOR)
        upload = begin_upload(store, "more.csv", len(texts), by="eve")
        add_piece(store, upload.id, 0, texts)
        mask_waiting(service, upload.id)
        old = [one.case_id for one in list_cases(store, WorkFilter()).rows if one.source == "more.csv"]
        for case_id in old:
            at, _ = change(store, place(store, ann, case_id), ActionKind.UNMASK, 2)
            add_note(store, at, f"of {case_id - old[0]}")
            close_case(store, ann, case_id)
        (_first, source) = list_sources(store)
        mask_waiting(service, service.mask_again(source.id, by="eve").id)
        (done,) = list_uploads(store)
        assert (done.facts.carried.n_cases, done.facts.carried.left) == (5, ())
        new = [one.case_id for one in list_cases(store, WorkFilter()).rows if one.source == "more.csv"]
        assert (len(new), set(old) & set(new)) == (5, set())
        for case_id in new:
            view = open_case(store, ann, case_id)
            assert (view.layer.keep[2], [one.text for one in view.notes]) == (
                True,
                [f"of {case_id - new[0]}"],
            )
        assert verify_store(store).is_intact


def test_a_stop_that_comes_as_a_file_is_masked_again_loses_no_note_on_it(address, tmp_path, monkeypatch):
    texts = b"text\nseen by Okonkwo today\n"
    with store_of(tmp_path, address=address) as store, closing(IntakeService(store, build_masker)) as service:
        service.start()
        user(store, "eve", UserRole.ADJUDICATOR)
        upload = begin_upload(store, "more.csv", len(texts), by="eve")
        add_piece(store, upload.id, 0, texts)
        mask_waiting(service, upload.id)
        (_first, source) = list_sources(store)
        again = service.mask_again(source.id, by="eve")
        stop = threading.Thread(target=service.cancel, args=[again.id], kwargs={"by": "eve"})
        real, real_add = files_service.note_carried, IntakeService._add

        def note(*given):
            real(*given)
            stop.start()
            stop.join(1)  # it waits for this transaction

        def add(*given):
            done = real_add(*given)
            stop.join()
            return done

        monkeypatch.setattr(files_service, "note_carried", note)
        monkeypatch.setattr(IntakeService, "_add", add)
        mask_waiting(service, again.id)
        (done,) = list_uploads(store)
        assert done.facts.carried is not None


def build_masker(_settings):
    return mask_capitals()


def mask_waiting(service, upload_id):
    service.inspect(upload_id)
    (table,) = [one for one in list_uploads(service.store) if one.id == upload_id]
    fates = (ColumnFate.MASKED,) * len(table.facts.survey.columns)
    service.submit(MaskingChoices(), {upload_id: fates}, [upload_id], by="eve", needs_second=True)
    until = time.monotonic() + 180
    while (
        next(one.state for one in list_uploads(service.store) if one.id == upload_id) is not UploadState.DONE
    ):
        assert time.monotonic() < until
        time.sleep(0.02)


def test_concurrent_users_lose_no_decision(address, tmp_path):
    with store_of(tmp_path, [TEXT] * N_AT_ONCE, address=address) as store:
        people = [user(store, f"user{i}") for i in range(N_AT_ONCE)]
        faults = []

        def work(number):
            try:
                at = place(store, people[number], number + 1)
                for i in range(N_DECISIONS):
                    at, _ = change(store, at, ActionKind.UNMASK if i % 2 else ActionKind.MASK, i % 7)
                with pytest.raises(StaleRevisionError):
                    change(store, LayerRevision(at.user_id, at.case_id, at.revision - 1), ActionKind.MASK, 0)
            except BaseException as fault:  # noqa: BLE001 - told by the assertion below
                faults.append(fault)

        threads = [threading.Thread(target=work, args=(number,)) for number in range(N_AT_ONCE)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
        assert not faults
        for number, person in enumerate(people):
            view = view_case(store, person, number + 1)
            assert view.revision == N_DECISIONS
            assert view.layer.keep.tolist() == [True, False, True, True, False, True, False]
        assert verify_store(store).is_intact


def test_one_code_logs_in_once_of_many_at_a_time(address, tmp_path):
    with store_of(tmp_path, address=address) as store:
        for name in ("ann", "dora"):
            account(store, name)
        secret = make_secret()
        code = pyotp.TOTP(secret).at(int(store.now()))
        turn_on(store, log_in(store, "ann", PASSWORD), secret, code=code, password=PASSWORD)
        store.now.seconds += 30
        code, said = pyotp.TOTP(secret).at(int(store.now())), []
        waiting = [log_in(store, "ann", PASSWORD) for _ in range(4)]

        def work(number):
            for give in (
                lambda: complete_log_in(store, waiting[number], code) and "in",
                lambda: log_in(store, "dora", "a wrong long sentence") and "in",
            ):
                try:
                    said.append(give())
                except LogInError:
                    said.append("refused")

        threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
        assert sorted(said) == ["in"] + ["refused"] * 7
        assert verify_store(store).is_intact


def test_files_are_deleted_and_the_tables_are_rewritten(address, tmp_path):
    paths = [json_lines(tmp_path / name, [TEXT, "by Bo"]) for name in ("a.jsonl", "b.jsonl")]
    with store_of(tmp_path, inputs=paths, address=address, approvals=1) as store:
        ann = user(store, "ann")
        for case_id in (1, 3):
            review(store, ann, case_id, mask=[0])
        deleted = delete_source(store, 1, by="dora")
        assert (deleted.n_files, deleted.n_cases, deleted.n_decisions, deleted.is_erased) == (1, 2, 1, True)
        assert [one.name for one in list_sources(store)] == ["b.jsonl"]
        assert export_released(store, tmp_path / "released").n_cases == 1
        assert delete_everything(store, "dora").n_cases == 2
        settings = LoadSettings(facts=FACTS, cases=CaseSettings(today=date(2024, 1, 1), key=KEY.secret))
        added = add_cases(store, plan_cases(paths[:1])[0], mask_capitals(), settings, by="eve")
        assert added.n_documents == 2
        assert [row.case_id for row in list_cases(store, WorkFilter()).rows] == [5, 6]
        assert verify_store(store).is_intact


def test_a_store_without_readable_cases_leaves_nothing(address, tmp_path):
    bad = tmp_path / "bad.jsonl"
    bad.write_text("{}\n")
    with pytest.raises(UnreadableInputError, match="no case could be read"):
        store_of(tmp_path, inputs=[bad], address=address)
    with store_of(tmp_path, address=address) as store:
        assert len(list_sources(store)) == 1


def test_an_older_store_is_migrated(address, tmp_path, monkeypatch):
    with store_of(tmp_path, address=address, approvals=1) as store:
        review(store, user(store, "ann"), mask=[5])
    use_next_version(monkeypatch, tmp_path)
    assert migrate_store(address, KEY, by="dora")
    with open_store(address, KEY) as store:
        assert find_user(store, "ann").role is UserRole.ADJUDICATOR
        assert export_released(store, tmp_path / "released").n_cases == 1
        assert verify_store(store).is_intact


def test_verify_full_accepts_the_right_server_and_refuses_another_name_or_authority(tmp_path, monkeypatch):
    right, wrong = tmp_path / "right", tmp_path / "wrong"
    right.mkdir()
    wrong.mkdir()
    authority, key = certificate(right, "db.test")
    other_authority, _ = certificate(wrong, "db.test")
    passwords = tmp_path / "pgpass"
    port = free_port()
    passwords.write_text(f"*:{port}:*:review:a password of the database\n")
    passwords.chmod(0o600)
    monkeypatch.setenv("PGPASSFILE", str(passwords))

    def address(name, trusted):
        return (
            f"postgresql+psycopg://review@{name}:{port}/postgres?hostaddr=127.0.0.1"
            f"&sslmode=verify-full&sslrootcert={trusted}"
        )

    key_file, cases = tmp_path / "key", tmp_path / "cases.jsonl"
    key_file.write_bytes(KEY.secret)
    key_file.chmod(0o600)
    cases.write_text(json.dumps({"id": "7", "text": TEXT}) + "\n")

    def status(command, name, trusted):
        """Run a command in a process of its own, as the libraries of TLS are loaded once per process."""
        words = [*command.split(), "--store", address(name, trusted), "--key", str(key_file)]
        return subprocess.call([sys.executable, "-m", "inverse_deid.cli.main", "review", *words])

    with postgres_over_tls(authority, key, "a password of the database", port):
        assert status(f"init {cases} --rules-only", "db.test", authority) == 0
        assert status("verify", "another.test", authority) != 0
        assert status("verify", "db.test", other_authority) != 0
        assert status("verify", "db.test", authority) == 0
