"""Others try to keep everybody from logging in, at a real server: known browsers and addresses get in all the same."""

import re
import threading
import time

import httpx
import pytest
from review_servers import serving
from review_stores import KEY, PASSWORD, store_of
from review_visitors import account

pytestmark = pytest.mark.slow

HERE = "127.0.0.1"
AWAY = [f"127.0.0.{number}" for number in range(11, 16)]
NAMES = ("ann", "bea", "carl")


@pytest.fixture
def port(tmp_path):
    """The port of a server of a store with three accounts."""
    with store_of(tmp_path, clock=time.time) as store:
        for name in NAMES:
            account(store, name)
    key = tmp_path / "review.db.key"
    key.write_bytes(KEY.secret)
    key.chmod(0o600)
    with serving(tmp_path / "review.db") as port:
        yield port


class Browser:
    """A browser at an address of this machine. It keeps its cookies."""

    def __init__(self, port, address=HERE):
        self.client = httpx.Client(
            base_url=f"http://{HERE}:{port}",
            transport=httpx.HTTPTransport(
                local_address=address, limits=httpx.Limits(max_keepalive_connections=0)
            ),
            timeout=120,
        )

    def log_in(self, name, password=PASSWORD):
        """Send the form of the log-in page and return the answer."""
        page = self.client.get("/log-in").text
        token = re.search(r'name="csrf_token" value="([0-9a-f]+)"', page).group(1)
        form = {"name": name, "password": password, "csrf_token": token}
        return self.client.post("/log-in", data=form)

    def enter(self, name):
        """Log in and out; from then on, browser and address are known."""
        assert self.log_in(name).status_code == 303
        page = self.client.get("/").text
        token = re.search(r'name="csrf_token" value="([0-9a-f]+)"', page).group(1)
        assert self.client.post("/log-out", data={"csrf_token": token}).status_code == 303
        assert self.client.get("/").status_code == 303


@pytest.fixture
def flood(port):
    """Five addresses that try invented names, six at a time each, until the test ends."""
    is_over = threading.Event()

    def work(address, number):
        while not is_over.is_set():
            with_cookies = Browser(port, address)
            for attempt in range(20):
                if is_over.is_set():
                    return
                try:
                    with_cookies.log_in(f"nobody{number}-{attempt}", "a wrong long sentence")
                except httpx.HTTPError:
                    continue

    threads = [
        threading.Thread(target=work, args=(address, 6 * i + number))
        for i, address in enumerate(AWAY)
        for number in range(6)
    ]

    def begin():
        for thread in threads:
            thread.start()
        time.sleep(3)

    yield begin
    is_over.set()
    for thread in threads:
        thread.join(240)


def test_five_addresses_keep_nobody_out_whose_browser_or_address_is_known(port, flood):
    ann, bea = Browser(port), Browser(port, "127.0.0.3")
    ann.enter("ann")
    bea.enter("bea")
    flood()
    # bea has another browser at her address.
    for browser, name in ((ann, "ann"), (Browser(port, "127.0.0.3"), "bea")) * 3:
        began = time.monotonic()
        assert browser.log_in(name).status_code == 303, name
        assert time.monotonic() - began < 90


def test_thirty_failures_behind_one_address_keep_nobody_out_who_was_there(port):
    ann = Browser(port)
    ann.enter("ann")
    Browser(port).enter("bea")
    guesser = Browser(port)
    statuses = [guesser.log_in(f"nobody{i}", "a wrong long sentence").status_code for i in range(32)]
    assert statuses[:30] == [401] * 30 and 429 in statuses[30:]
    assert ann.log_in("ann").status_code == 303
    # Another browser at the address, of somebody who logged in from there before.
    assert Browser(port).log_in("bea").status_code == 303


def test_wrong_passwords_of_others_delay_strangers_and_not_the_browser_of_the_owner(port):
    ann = Browser(port)
    ann.enter("ann")
    guesser = Browser(port, AWAY[0])
    assert [guesser.log_in("ann", "a wrong long sentence").status_code for _ in range(5)] == [401] * 5
    refused = guesser.log_in("ann", "a wrong long sentence")
    assert refused.status_code == 429 and 0 < int(refused.headers["retry-after"]) <= 60
    assert ann.log_in("ann").status_code == 303
    # From a place where she never was she waits as long as any stranger, and not fifteen minutes.
    time.sleep(int(refused.headers["retry-after"]) + 0.5)
    assert Browser(port, AWAY[1]).log_in("ann").status_code == 303


def test_a_forged_or_copied_browser_is_a_stranger(port):
    ann = Browser(port)
    ann.enter("ann")
    (cookie,) = (one for one in ann.client.cookies.jar if one.name == "browser")
    assert cookie.expires - time.time() > 100 * 86400
    guesser = Browser(port, AWAY[0])
    number, _, mark = cookie.value.partition(".")
    guesser.client.cookies.set("browser", f"{number[::-1]}.{mark}", domain=HERE)
    assert [guesser.log_in("carl", "a wrong long sentence").status_code for _ in range(5)] == [401] * 5
    assert guesser.log_in("carl").status_code == 429
    # The browser of ann is not one of carl, whose name has failed too often.
    assert ann.log_in("carl").status_code == 429


def test_a_known_browser_is_delayed_for_its_own_failures(port):
    ann = Browser(port)
    ann.enter("ann")
    assert [ann.log_in("ann", "a wrong long sentence").status_code for _ in range(6)] == [401] * 5 + [429]
