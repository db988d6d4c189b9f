"""Time stamps of an authority (RFC 3161) on anchors, by a small authority that runs `openssl ts`."""

import hashlib
import json
import logging
import shutil
import subprocess
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from click.testing import CliRunner
from refusals import refuses
from review_stores import user, write_key

from inverse_deid.cli.main import main
from inverse_deid.core.errors import ConfigurationError
from inverse_deid.review.store.anchors import anchoring, write_anchor

pytestmark = pytest.mark.skipif(shutil.which("openssl") is None, reason="needs openssl")

SETTINGS = """
[tsa]
default_tsa = here
[here]
serial = serial
signer_cert = {name}.pem
signer_key = {name}.key
signer_digest = sha256
default_policy = 1.2.3.4
digests = sha256
ess_cert_id_alg = sha256
"""


def run(folder, *words):
    subprocess.run(["openssl", *words], cwd=folder, check=True, capture_output=True)


class Authority:
    """Folder with certificates, and a server that stamps, or behaves as `mode` says; keeps the requests."""

    def __init__(self, folder):
        self.folder, self.mode, self.requests, self.is_over = folder, "", [], threading.Event()
        for name in ("good", "other"):
            make = f"req -x509 -newkey rsa:2048 -nodes -keyout {name}.key -out {name}.pem -days 2 -subj /CN={name}"
            uses = ["extendedKeyUsage=critical,timeStamping", "basicConstraints=critical,CA:FALSE"]
            run(folder, *make.split(), "-addext", uses[0], "-addext", uses[1])
            (folder / f"{name}.cnf").write_text(SETTINGS.format(name=name))

    def answer(self, query):
        self.requests.append(query)
        if self.mode == "replay":
            return (self.folder / "answer").read_bytes()
        (self.folder / "query").write_bytes(query)
        run(self.folder, *["ts", "-reply", "-config", "good.cnf", "-queryfile", "query", "-out", "answer"])
        return (self.folder / "answer").read_bytes()


@pytest.fixture(scope="module")
def running(tmp_path_factory):
    authority = Authority(tmp_path_factory.mktemp("authority"))

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            query = self.rfile.read(int(self.headers["Content-Length"]))
            if authority.mode == "hang":
                authority.is_over.wait(20)
                return
            if authority.mode == "redirect":
                self.send_response(307)
                self.send_header("Location", "/elsewhere")
                self.end_headers()
                return
            # the answer is made first, or a request that was given up would write the files of the next
            answer = b"no stamp" if authority.mode == "garbage" else authority.answer(query)
            self.send_response(200)
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, *_):
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        authority.place = f"tsa:http://127.0.0.1:{server.server_port}/"
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield authority
        authority.is_over.set()
        server.shutdown()
        thread.join()


@pytest.fixture
def authority(running):
    running.mode = ""
    running.requests.clear()
    return running


STORE = {"clock": time.time}


@pytest.fixture
def store(store, tmp_path):
    user(store, "ann")
    write_key(tmp_path)
    return store


def verify(tmp_path, authority, certificate="good"):
    given = ["--against", tmp_path / "anchors"]
    if certificate:
        given += ["--tsa-certificate", authority.folder / f"{certificate}.pem"]
    words = ["review", "verify", "--store", tmp_path / "review.db", *given]
    return CliRunner().invoke(main, [*map(str, words)])


def read_lines(tmp_path):
    return [json.loads(line) for line in (tmp_path / "anchors").read_text().splitlines()]


def test_the_stamped_time_is_reported(store, tmp_path, authority):
    before = time.gmtime()
    write_anchor(store, [str(tmp_path / "anchors"), authority.place])
    days = {time.strftime("%Y-%m-%d", at) for at in (before, time.gmtime())}  # midnight may be between them
    said = verify(tmp_path, authority)
    assert said.exit_code == 0
    assert any(f"entry 2 and those before it existed at {day}" in said.output for day in days)
    assert said.output.count("note:") == 1


def test_a_request_has_the_hash_of_the_line_and_nothing_of_it(store, tmp_path, authority):
    write_anchor(store, [str(tmp_path / "anchors"), authority.place])
    line = (tmp_path / "anchors").read_bytes().splitlines()[0]
    assert hashlib.sha256(line).digest() in authority.requests[0] and len(authority.requests[0]) < 80


@pytest.mark.parametrize("part", ["at", "hash"])
def test_a_token_of_another_line_is_refused(store, tmp_path, authority, part):
    write_anchor(store, [str(tmp_path / "anchors"), authority.place])
    bare, stamped = read_lines(tmp_path)
    stamped["anchor"][part] = {"at": "2020-01-01T00:00:00+00:00", "hash": "0" * 64}[part]
    (tmp_path / "anchors").write_text(f"{json.dumps(bare)}\n{json.dumps(stamped)}\n")
    said = verify(tmp_path, authority)
    assert said.exit_code == 1
    assert "line 2 of the anchors: the time stamp does not fit the line or certificate" in said.output


def test_another_certificate_is_refused(store, tmp_path, authority):
    write_anchor(store, [str(tmp_path / "anchors"), authority.place])
    said = verify(tmp_path, authority, "other")
    assert said.exit_code == 1 and "does not fit the line or certificate" in said.output


@pytest.mark.parametrize("token", ["", "bm8=", "é", 5, None])
def test_a_malformed_token_is_a_problem(store, tmp_path, authority, token):
    write_anchor(store, [str(tmp_path / "anchors")])
    (line,) = read_lines(tmp_path)
    (tmp_path / "anchors").write_text(json.dumps({**line, "token": token}) + "\n")
    assert verify(tmp_path, authority).exit_code == 1


def test_without_certificate_nothing_is_said_to_be_checked(store, tmp_path, authority):
    write_anchor(store, [str(tmp_path / "anchors"), authority.place])
    assert "1 time stamps were not checked" in verify(tmp_path, authority, None).output


def test_anchors_without_any_time_stamp_do_not_pass_for_stamped(store, tmp_path, authority):
    write_anchor(store, [str(tmp_path / "anchors")])
    said = verify(tmp_path, authority)
    assert said.exit_code != 0 and "has no time stamps" in said.output


def test_an_anchor_that_was_dated_back_is_noted(store, tmp_path, authority):
    earlier = store.now
    store.now = lambda: earlier() - 86400
    write_anchor(store, [str(tmp_path / "anchors"), authority.place])
    assert "the anchor of entry 2 has another time than its stamp" in verify(tmp_path, authority).output


@pytest.mark.parametrize(
    ("mode", "fault"),
    [
        ("hang", "no answer within 0.5 seconds"),
        ("away", "it cannot be reached"),
        ("garbage", "its answer cannot be read"),
        ("replay", "its answer does not fit the request"),
        ("redirect", "status 307"),
    ],
)
def test_a_failure_is_logged_and_the_next_anchor_is_stamped(store, tmp_path, authority, mode, fault, caplog):
    places = [str(tmp_path / "anchors"), authority.place]
    if mode == "replay":
        write_anchor(store, [str(tmp_path / "earlier"), authority.place])
        user(store, "bea")
    authority.mode = mode
    failing = [places[0], "tsa:http://127.0.0.1:9/"] if mode == "away" else places
    with caplog.at_level(logging.ERROR):
        write_anchor(store, failing, stamp_seconds=0.5 if mode == "hang" else 60)
    assert f"no time stamp from 127.0.0.1: {fault}" in caplog.text
    assert [list(line) for line in read_lines(tmp_path)] == [["anchor"]]
    authority.mode = ""
    user(store, "cem")
    write_anchor(store, places)
    said = verify(tmp_path, authority)
    assert said.exit_code == 0 and "1 anchors have no time stamp" in said.output


@pytest.mark.parametrize(
    "place", ["tsa:", "tsa:ftp://host/", "tsa:https://", "tsa:https://h:x/", "tsa:/etc/a"]
)
def test_a_malformed_address_is_refused_before_anything_is_done(store, tmp_path, place):
    with (
        pytest.raises(ConfigurationError, match="needs an address"),
        anchoring(store, [str(tmp_path / "a"), place]),
    ):
        pytest.fail("the block must not run")


def test_time_stamps_need_a_file(store):
    with refuses(ConfigurationError, match="Add --anchor FILE"):
        write_anchor(store, ["tsa:https://stamps.invalid/"])


def test_a_command_succeeds_without_its_time_stamp_and_says_so(store, tmp_path, caplog):
    places = ["--anchor", tmp_path / "anchors", "--anchor", "tsa:http://127.0.0.1:9/?key=secret"]
    words = ["review", "user", "close", "ann", "--store", tmp_path / "review.db", *places]
    assert CliRunner().invoke(main, [*map(str, words)]).exit_code == 0
    assert len(read_lines(tmp_path)) == 1
    assert "no time stamp from 127.0.0.1" in caplog.text and "secret" not in caplog.text
