"""How people come into the review and leave it, at a real server whose clock the tests move."""

import json
import re

import httpx
import pyotp
import pytest
from review_stores import PASSWORD, Clock, store_of
from review_visitors import Visitor, account, visitor
from served_apps import served_app
from sqlalchemy import select

from inverse_deid.review.pages.application import make_application
from inverse_deid.review.people.accounts import find_user
from inverse_deid.review.people.second_factor import require
from inverse_deid.review.store.tables import TRAIL, USERS
from inverse_deid.review.store.values import UserRole

TYPED = "my secret sentence typed as a name"


@pytest.fixture(scope="module")
def house(tmp_path_factory):
    """Yield a store, its clock and the address of a server; every test has its own users."""
    clock = Clock()
    with (
        store_of(tmp_path_factory.mktemp("house"), clock=clock) as store,
        served_app(make_application(store)) as address,
    ):
        account(store, "dora", UserRole.ADMIN)
        yield store, clock, address


@pytest.fixture
def store(house):
    return house[0]


@pytest.fixture
def clock(house):
    # Failures by address and counts of the trail do not go from one test to the next.
    house[1].seconds += 3 * 3600
    return house[1]


@pytest.fixture
def dora(house, clock):
    made = Visitor(house[0], address=house[2])
    assert made.log_in("dora").status_code == 303
    return made


@pytest.fixture
def people(house, clock):
    """Return what adds an account and logs in."""

    def make(name, role=UserRole.REVIEWER):
        return visitor(house[0], name, role, address=house[2])

    return make


def entries(store, begin=0):
    with store.reading() as transaction:
        lines = transaction.execute(select(TRAIL.c.line).order_by(TRAIL.c.number)).scalars().all()
    return [(one["user"], one["event"], one["new"]) for one in map(json.loads, lines[begin:])]


def fail(house, name, times=1, password="a wrong long sentence"):
    """Try to log in; return the statuses."""
    made = Visitor(house[0], address=house[2])
    return [made.log_in(name, password).status_code for _ in range(times)]


class TestFailures:
    def test_they_are_recorded_without_names_that_nobody_has(self, house, store, clock):
        account(store, "ann")
        n = len(entries(store))
        fail(house, TYPED)
        fail(house, "ANN")
        new = entries(store, n)
        assert ("unknown", "log-in failed", "from 127.0.0.1") in new
        assert ("ann", "log-in failed", "from 127.0.0.1") in new
        assert TYPED not in json.dumps(new)

    def test_a_flood_does_not_fill_the_trail(self, house, store, clock):
        account(store, "ben")
        n = len(entries(store))
        assert fail(house, "ben", 20) == [401] * 5 + [429] * 15
        assert entries(store, n) == [
            ("ben", "log-in failed", "from 127.0.0.1"),
            ("ben", "log-in blocked", "from 127.0.0.1"),
        ]
        clock.seconds += 3601
        assert Visitor(store, address=house[2]).log_in("ben").status_code == 303
        assert ("ben", "log-in failed", "4 more times") in entries(store, n)
        assert ("ben", "log-in blocked", "14 more times") in entries(store, n)

    def test_an_admin_unlocks(self, house, store, clock, dora):
        account(store, "carl")
        fail(house, "carl", 6)
        assert "Unlock" in dora.get("/accounts").text
        assert dora.send("/accounts", what="unlock", name="carl").status_code == 303
        assert "Unlock" not in dora.get("/accounts").text
        assert Visitor(store, address=house[2]).log_in("carl").status_code == 303
        assert ("dora", "account of carl unlocked", None) in entries(store)


class TestSessions:
    @pytest.mark.parametrize("path", ["/cases/1/keep", "/add/list"])
    def test_an_open_page_prolongs_nothing(self, tmp_path, path):
        clock = Clock()
        with store_of(tmp_path, clock=clock) as store:
            from inverse_deid.review.files.service import IntakeService

            application = make_application(store, intake=IntakeService(store, lambda _: None))
            with served_app(application) as address:
                eva = visitor(store, "eva", UserRole.ADJUDICATOR, address=address)
                assert eva.ask("/cases/1/open").status_code == 200
                for _ in range(4):
                    clock.seconds += 14 * 60
                    answer = eva.ask(path) if path.endswith("keep") else eva.get(path)
                    assert answer.status_code == 200
                clock.seconds += 5 * 60
                assert eva.get("/").headers["location"] == "/log-in"
                assert entries(store)[-1][:2] == ("eva", "session of eva expired")

    def test_a_person_prolongs_it(self, clock, people):
        fay = people("fay")
        for _ in range(5):
            clock.seconds += 50 * 60
            assert fay.get("/").status_code == 200

    def test_a_log_out_is_recorded_and_clears_the_cookie(self, store, people):
        answer = people("gus").send("/log-out")
        assert 'session=""' in answer.headers["set-cookie"] and "Max-Age=0" in answer.headers["set-cookie"]
        assert entries(store)[-1][:2] == ("gus", "log out")

    def test_over_tls_the_cookie_is_cleared_as_it_was_set(self, tmp_path):
        with store_of(tmp_path) as store:
            account(store, "ann")
            ann = Visitor(store, secure=True)
            ann.log_in("ann")
            (cleared,) = ann.send("/log-out").headers.get_list("set-cookie")
        assert cleared.startswith('__Host-session=""') and "Secure" in cleared and "Path=/" in cleared

    def test_one_ends_own_sessions(self, house, store, people):
        hal = people("hal")
        other, third = (Visitor(store, address=house[2]) for _ in range(2))
        for one in (other, third):
            one.log_in("hal")
        page = hal.get("/account").text
        ids = re.findall(r'name="session" value="([0-9a-f]{64})"', page)
        assert len(ids) == 2 and "127.0.0.1" in page
        hal.send("/account", what="one", session=ids[0])
        assert sorted(one.get("/").status_code for one in (other, third)) == [200, 303]
        hal.send("/account", what="all")
        assert [one.get("/").status_code for one in (hal, other, third)] == [200, 303, 303]

    def test_nobody_ends_sessions_of_others(self, house, store, people):
        ian, joe = people("ian"), people("joe")
        Visitor(store, address=house[2]).log_in("joe")
        (theirs,) = re.findall(r'name="session" value="([0-9a-f]{64})"', joe.get("/account").text)
        ian.send("/account", what="one", session=theirs)
        assert theirs in joe.get("/account").text
        assert ian.send("/accounts", what="end", name="joe").status_code == 403

    def test_an_admin_ends_sessions(self, store, dora, people):
        kim = people("kim")
        assert dora.send("/accounts", what="end", name="kim").status_code == 303
        assert kim.get("/").headers["location"] == "/log-in"
        assert entries(store)[-1][:2] == ("dora", "session of kim ended")

    def test_an_admin_does_not_close_their_own_account_in_capitals(self, store, dora):
        account(store, "dirk", UserRole.ADMIN)
        answer = dora.send("/accounts", what="close", name="DORA")
        assert answer.status_code == 400 and "your own account" in answer.text


class TestPasswords:
    @pytest.mark.parametrize(
        "weak", ["password12345", "liamliam2026", "Krankenhaus 2026", "aaaaaaaaaaaaaaaaaaaa", "qwertyuiop123"]
    )
    def test_a_password_that_is_easy_to_guess_is_refused(self, people, store, weak):
        name = f"liam{sum(map(ord, weak))}"
        liam = people(name)
        answer = liam.send("/password", old=PASSWORD, new=weak, again=weak)
        assert answer.status_code == 400 and "easy to guess" in answer.text
        assert weak not in answer.text


class TestSecondFactor:
    def enrol(self, who, clock, password=PASSWORD):
        """Set up a second factor as a person does; return the secret and the recovery codes."""
        page = who.get("/second-factor").text
        secret = re.search(r"<code>([A-Z2-7]{32})</code>", page).group(1)
        assert "<svg" in page and 'src="' not in page.split("<svg")[1].split("</svg>")[0]
        sealed = re.search(r'name="sealed" value="([^"]+)"', page).group(1)
        code = pyotp.TOTP(secret).at(int(clock()))
        done = who.send("/second-factor", sealed=sealed, code=code, password=password)
        return secret, re.findall(r"<code>([a-z2-7]{16})</code>", done.text)

    def waiting(self, house, name):
        """Log in with the password alone."""
        made = Visitor(house[0], address=house[2])
        assert made.log_in(name).status_code == 303
        return made

    def test_the_password_alone_opens_nothing(self, house, clock, people):
        mia = people("mia")
        self.enrol(mia, clock)
        again = self.waiting(house, "mia")
        for path in ("/", "/cases/1", "/account", "/password", "/second-factor"):
            assert again.get(path).headers["location"] == "/code"
        assert again.ask("/cases/1/open").status_code == 403

    def test_each_code_logs_in_once(self, house, store, clock, people):
        secret, _ = self.enrol(people("nia"), clock)
        used = pyotp.TOTP(secret).at(int(clock()))
        assert self.waiting(house, "nia").send("/code", code=used).status_code == 403
        clock.seconds += 30
        code = pyotp.TOTP(secret).at(int(clock()))
        first, second = self.waiting(house, "nia"), self.waiting(house, "nia")
        before = first.client.cookies["session"]
        assert first.send("/code", code=f"{code[:3]} {code[3:]}").headers["location"] == "/"
        assert first.client.cookies["session"] != before
        assert first.get("/").status_code == 200
        assert second.send("/code", code=code).status_code in (303, 403)
        assert second.get("/").status_code == 303

    def test_guesses_run_out(self, house, store, clock, people):
        secret, _ = self.enrol(people("ole"), clock)
        clock.seconds += 60
        ole = self.waiting(house, "ole")
        assert [ole.send("/code", code="000000").status_code for _ in range(6)] == [403] * 5 + [429]
        right = pyotp.TOTP(secret).at(int(clock()))
        assert self.waiting(house, "ole").send("/code", code=right).status_code == 429
        assert ("ole", "code wrong", "from 127.0.0.1") in entries(store)

    def test_a_recovery_code_logs_in_once(self, house, store, clock, people):
        _, codes = self.enrol(people("pia"), clock)
        assert len(set(codes)) == 10
        assert self.waiting(house, "pia").send("/code", code=codes[3].upper()).headers["location"] == "/"
        assert self.waiting(house, "pia").send("/code", code=codes[3]).status_code == 403
        assert ("pia", "recovery code used", "9 left") in entries(store)

    def test_the_store_holds_neither_secret_nor_codes(self, store, clock, people):
        secret, codes = self.enrol(people("quin"), clock)
        with store.reading() as transaction:
            row = transaction.execute(select(USERS).where(USERS.c.name == "quin")).one()
        assert secret.encode() not in row.sealed_secret
        assert not [one for one in codes if one in row.recovery_codes]

    def test_a_wrong_password_or_code_turns_nothing_on(self, store, clock, people):
        rosa = people("rosa")
        assert self.enrol(rosa, clock, "a wrong long sentence")[1] == []
        page = rosa.get("/second-factor").text
        sealed = re.search(r'name="sealed" value="([^"]+)"', page).group(1)
        assert rosa.send("/second-factor", sealed=sealed, code="000000", password=PASSWORD).status_code == 400
        assert not find_user(store, "rosa").has_second_factor

    def test_it_is_removed_with_a_code_or_by_an_admin(self, house, store, clock, people, dora):
        sue = people("sue")
        _, codes = self.enrol(sue, clock)
        assert sue.send("/account", what="second factor", code="000000").status_code == 403
        assert sue.send("/account", what="second factor", code=codes[0]).status_code == 303
        assert not find_user(store, "sue").has_second_factor
        self.enrol(sue, clock)
        assert dora.send("/accounts", what="reset", name="sue").status_code == 303
        assert self.waiting(house, "sue").get("/").status_code == 200
        assert ("dora", "second factor of sue removed", None) in entries(store)

    def test_a_store_can_require_it(self, store, clock, people, dora):
        tom = people("tom")
        dora.send("/accounts/policy", second_factor="required")
        try:
            assert tom.get("/").headers["location"] == "/second-factor"
            self.enrol(tom, clock)
            assert tom.get("/").status_code == 200
        finally:
            require(store, is_required=False)
        assert ("dora", "second factor required", None) in entries(store)


def test_no_redirect_names_the_host_of_the_request(house):
    for path in ("/log-in/", "/accounts/", "/", "/static/"):
        answer = httpx.get(house[2] + path, headers={"Host": "evil.example.org"})
        assert "evil" not in answer.headers.get("location", "")
