"""Flower's SuperLink over TLS on loopback: who is let in, who is not, who dies and comes back."""

import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from msgspec.structs import replace

pytest.importorskip("flwr")

from flower_parties import LIMIT_S, SuperLink, quiet, write_node_key

from inverse_deid.core.errors import UnreadableInputError, UpdateError
from inverse_deid.research.federated.flower.superlink import open_flower_carrier
from inverse_deid.research.federated.messages import Reply, TrainingState, unpack

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]
SITES = ("east", "west")


@pytest.fixture(scope="module")
def link(tmp_path_factory):
    made = SuperLink(tmp_path_factory.mktemp("superlink"))
    for i, name in enumerate((*SITES, "stranger")):
        write_node_key(made.folder / "nodes", name)
        (made.folder / "keys" / f"{name}.key").write_bytes(bytes([i] * 32))
    yield made.start()
    made.process.terminate()
    made.process.wait(60)


@pytest.fixture
def start(link):
    started = []

    def run(name, number, patience_s=LIMIT_S, authority="ca.pem"):
        words = [link.address, str(link.folder), name, str(number), str(patience_s), authority]
        script = str(Path(__file__).with_name("flower_parties.py"))
        process = subprocess.Popen(
            [sys.executable, script, *words], stdout=subprocess.PIPE, text=True, env=quiet(link.folder)
        )
        started.append(process)
        return process

    yield run
    for process in started:
        if process.poll() is None:
            process.kill()
        process.communicate(timeout=30)


def keys_of(link, sites=SITES):
    return {name: (link.folder / "keys" / f"{name}.key").read_bytes() for name in sites}


def state(number, *, finished=False):
    return TrainingState(
        "run",
        number,
        "average",
        number,
        SITES,
        SITES,
        1,
        finished,
        np.full(3, number, np.float32),
        np.zeros(0, np.int64),
    )


def test_a_site_that_is_killed_comes_back_and_all_get_the_result(link, start, tmp_path):
    east, west = start("east", 1), start("west", 2)
    with open_flower_carrier(link.settings(), keys_of(link), tmp_path / "server.npz") as carrier:
        declared = carrier.gather_declarations(SITES, LIMIT_S)
        assert {site: said.header["site"] for site, said in declared.items()} == {
            "east": "east",
            "west": "west",
        }

        first = {
            site: unpack(said, Reply) for site, said in carrier.gather_answers(state(0), LIMIT_S).items()
        }
        assert {site: reply.weights.tolist() for site, reply in first.items()} == {
            "east": [1] * 3,
            "west": [2] * 3,
        }

        east.send_signal(signal.SIGKILL)
        east = start("east", 1)  # the SuperLink lets it in again when its signs of life have been missed
        second = carrier.gather_answers(state(1), LIMIT_S)
        assert {site: unpack(said, Reply).weights[0] for site, said in second.items()} == {
            "east": 2,
            "west": 3,
        }

        assert carrier.conclude(state(2, finished=True), LIMIT_S) == []
    for process in (east, west):
        printed, _ = process.communicate(timeout=60)
        assert process.returncode == 0, printed
        assert "result 2.0" in printed
    assert "/v1/fleet/get-fab" not in link.log()  # no site fetches an app


def test_a_site_without_a_known_key_is_refused(link, start, tmp_path):
    stranger = start("stranger", 7, patience_s=4)
    printed, _ = stranger.communicate(timeout=LIMIT_S)
    assert stranger.returncode == 2
    assert printed.splitlines() == ["the SuperLink refuses this site. Does the server have its public key?"]


def test_a_site_talks_to_no_other_superlink(link, start):
    site = start("east", 1, patience_s=LIMIT_S, authority="other-ca.pem")
    printed, _ = site.communicate(timeout=LIMIT_S)
    assert site.returncode == 2
    assert printed.splitlines() == ["the SuperLink cannot be reached over TLS (certificate not accepted)"]


def test_whoever_can_start_a_run_gets_no_answer_without_the_key_of_the_site(link, start, tmp_path):
    site = start("west", 2, patience_s=20)
    wrong = dict.fromkeys(SITES, b"another key of 32 bytes, in full")
    with open_flower_carrier(link.settings(), wrong, tmp_path / "server.npz") as carrier:
        end = time.monotonic() + LIMIT_S
        found = carrier.gather_answers(state(0), 15)
        assert found == {}
        assert time.monotonic() < end
    printed, _ = site.communicate(timeout=LIMIT_S)
    assert site.returncode == 2
    assert "left out a message that is not sealed with its key" in printed
    assert "works on" not in printed
    assert "the server was silent for 20 s" in printed


def test_without_the_secret_of_the_superlink_nobody_leads(link, tmp_path):
    (tmp_path / "secret").write_bytes(b"another secret")
    settings = replace(link.settings(), secret=tmp_path / "secret")
    with (
        pytest.raises(UpdateError, match=r"refused /v1/runtime/acquire-task \(401\)"),
        open_flower_carrier(settings, keys_of(link), tmp_path / "server.npz"),
    ):
        pass
    (tmp_path / "east.pub").write_text("no key")
    with (
        pytest.raises(UnreadableInputError, match="ssh-keygen"),
        open_flower_carrier(replace(settings, node_keys=tmp_path), keys_of(link), tmp_path / "server.npz"),
    ):
        pass
