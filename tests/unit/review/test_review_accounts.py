"""Roles, first passwords, and the own password of a user."""

import pytest
from review_stores import KEY, PASSWORD, user

from inverse_deid.core.errors import LogInError, NotAllowedError, ReviewError
from inverse_deid.review.people import accounts
from inverse_deid.review.people.accounts import (
    Step,
    add_user,
    change_own_password,
    find_session,
    find_user,
    log_in,
    set_active,
    set_password,
    set_role,
)
from inverse_deid.review.people.attempts import MAX_FAILURES_ADDRESS, Client
from inverse_deid.review.store.trail import TrailFilter, list_entries
from inverse_deid.review.store.values import UserRole

NEW = "quite another sentence"


@pytest.fixture
def store(store):
    add_user(store, "ann", PASSWORD, UserRole.REVIEWER, by="dora", must_change=True)
    return store


def events(store):
    entries, _ = list_entries(store, TrailFilter())
    return [(one.event.user, one.event.event, one.event.old, one.event.new) for one in entries]


class TestOwnPassword:
    def test_other_sessions_end_and_this_one_goes_on(self, store):
        here, elsewhere = log_in(store, "ann", PASSWORD), log_in(store, "ann", PASSWORD)
        assert here.user.must_change_password
        change_own_password(store, here, PASSWORD, NEW)
        assert not find_session(store, here.id).user.must_change_password
        with pytest.raises(LogInError):
            find_session(store, elsewhere.id)
        with pytest.raises(LogInError):
            log_in(store, "ann", PASSWORD)
        assert log_in(store, "ann", NEW).user.name == "ann"
        assert ("ann", "password of ann changed", None, None) in events(store)

    @pytest.mark.parametrize(
        ("old", "new", "error", "said"),
        [
            ("wrong", NEW, NotAllowedError, "wrong"),
            (PASSWORD, "short", ReviewError, "12 to"),
            (PASSWORD, PASSWORD, ReviewError, "differ"),
            (PASSWORD, "x" * 1001, ReviewError, "12 to"),
        ],
    )
    def test_refused(self, store, old, new, error, said):
        here = log_in(store, "ann", PASSWORD)
        with pytest.raises(error, match=said):
            change_own_password(store, here, old, new)
        assert find_session(store, here.id).user.must_change_password
        assert log_in(store, "ann", PASSWORD)

    def test_guesses_run_out_and_do_not_lock_the_log_in(self, store, clock):
        here = log_in(store, "ann", PASSWORD)
        for _ in range(5):
            with pytest.raises(NotAllowedError, match="old password is wrong"):
                change_own_password(store, here, "a guess of many words", NEW)
        with pytest.raises(NotAllowedError, match="too often"):
            change_own_password(store, here, PASSWORD, NEW)
        assert log_in(store, "ann", PASSWORD)
        clock.seconds += 16 * 60
        change_own_password(store, here, PASSWORD, NEW)

    def test_a_password_set_meanwhile_by_an_admin_stays(self, store, monkeypatch):
        here = log_in(store, "ann", PASSWORD)

        from inverse_deid.review.people import accounts

        real = accounts.hash_password

        def hash_late(password):
            monkeypatch.setattr(accounts, "hash_password", real)
            set_password(store, "ann", "set by an admin meanwhile", by="dora", must_change=True)
            return real(password)

        monkeypatch.setattr(accounts, "hash_password", hash_late)
        with pytest.raises(NotAllowedError, match="meanwhile"):
            change_own_password(store, here, PASSWORD, NEW)
        assert log_in(store, "ann", "set by an admin meanwhile").user.must_change_password


class TestRoles:
    def test_a_new_role_ends_sessions_and_is_in_the_trail(self, store):
        here, elsewhere = log_in(store, "ann", PASSWORD), log_in(store, "ann", PASSWORD)
        set_role(store, "ANN", UserRole.ADJUDICATOR, by="dora", keep=here)
        assert find_session(store, here.id).user.role is UserRole.ADJUDICATOR
        with pytest.raises(LogInError):
            find_session(store, elsewhere.id)
        assert events(store)[:2] == [
            ("dora", "session of ann ended", None, None),
            ("dora", "role of ann changed", "reviewer", "adjudicator"),
        ]
        n_before = len(events(store))
        set_role(store, "ann", UserRole.ADJUDICATOR, by="dora")
        assert len(events(store)) == n_before

    @pytest.mark.parametrize("other", [None, "closed"])
    def test_one_open_admin_account_stays(self, store, other):
        user(store, "dora", UserRole.ADMIN)
        if other:
            user(store, "eva", UserRole.ADMIN)
            set_active(store, "eva", is_active=False)
        with pytest.raises(ReviewError, match="only open admin"):
            set_role(store, "dora", UserRole.REVIEWER, by="dora")
        with pytest.raises(ReviewError, match="only open admin"):
            set_active(store, "dora", is_active=False, by="dora")
        assert find_user(store, "dora").role is UserRole.ADMIN
        assert find_user(store, "dora").is_active
        if other:
            set_active(store, "eva", is_active=True)
            set_role(store, "dora", UserRole.REVIEWER, by="dora")
            assert find_user(store, "dora").role is UserRole.REVIEWER

    def test_an_unknown_account(self, store):
        with pytest.raises(ReviewError, match="no account"):
            set_role(store, "nobody", UserRole.ADMIN)


def test_the_commands_help_a_person_in_again(command, store, tmp_path):
    key = tmp_path / "key"
    key.write_bytes(KEY.secret)
    key.chmod(0o600)
    place = ("--store", tmp_path / "review.db", "--key", key)

    def run(*words):
        done = command("review", "user", *words, *place)
        assert done.status == 0, done.stderr
        return done.stdout

    user(store, "ben")
    for _ in range(6):
        with pytest.raises(LogInError):
            log_in(store, "ben", "a wrong long sentence")
    # The command has the real clock, for which these failures are long ago.
    assert run("unlock", "ben") == "ben can log in again\n"
    with pytest.raises(LogInError, match="name or password"):
        log_in(store, "ben", "a wrong long sentence")
    add_user(store, "ben2", PASSWORD, UserRole.REVIEWER)
    log_in(store, "ann", PASSWORD)
    assert run("log-out", "ann") == "sessions ended: 1\n"
    run("second-factor", "--require")
    assert find_session(store, log_in(store, "ben2", PASSWORD).id).step is Step.SECOND_FACTOR
    assert command("review", "user", "second-factor", "ann", *place).status == 2
    assert command("review", "user", "second-factor", *place).status == 2
    run("link", "ann", "https://login.example.org", "s-1")
    assert find_user(store, "ann").issuer == "https://login.example.org"
    with pytest.raises(LogInError):
        log_in(store, "ann", PASSWORD)


def test_a_password_costs_a_guesser_time_and_memory(full_cost):
    variant, _, costs = accounts.hash_password(PASSWORD).split("$")[1:4]
    memory, time, _ = (int(cost.partition("=")[2]) for cost in costs.split(","))
    assert variant == "argon2id"
    assert memory * time >= 3 * 2**16  # KiB and passes


def test_only_the_beginning_of_a_password_is_rated(store, monkeypatch):
    rated = []
    monkeypatch.setattr("zxcvbn.zxcvbn", lambda given, words: rated.append((given, words)) or {"score": 4})
    add_user(store, "eva.lind", "4@8({[<369&!1|70$5+7%2" * 40, UserRole.REVIEWER)
    ((given, words),) = rated
    assert len(given) == 32  # 72 can take five seconds
    assert {"eva.lind", "eva", "lind", "hospital"} <= set(words)


def test_an_ipv6_network_is_one_address_to_the_limit_of_failures(store, monkeypatch):
    monkeypatch.setattr(accounts, "_is_password", lambda *_: False)
    for n in range(MAX_FAILURES_ADDRESS):
        with pytest.raises(LogInError, match="wrong"):
            log_in(store, f"name{n}", "x", client=Client(f"2001:db8::{n:x}"))
    with pytest.raises(LogInError, match="too many"):
        log_in(store, "another", "x", client=Client("2001:db8::ffff"))
    with pytest.raises(LogInError, match="wrong"):
        log_in(store, "another", "x", client=Client("2001:db8:0:1::1"))
