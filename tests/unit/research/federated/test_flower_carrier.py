"""What a server does with a link that loses messages, and a site with a question that comes twice."""

from types import SimpleNamespace

import numpy as np
import pytest

from inverse_deid.core.errors import ConfigurationError, OutputExistsError, UpdateError
from inverse_deid.research.federated.flower.superlink import DECLARE, FlowerCarrier, LastReply
from inverse_deid.research.federated.messages import Envelope, TrainingState, open_sealed, pack, seal

KEYS = {"east": b"e" * 32, "west": b"w" * 32}
SAID = Envelope({"kind": "declaration"})


class Link:
    """Answers after so many questions; 0 = never."""

    def __init__(self, **after):
        self.after, self.now, self.asked, self.replies = after, 0.0, [], {}

    def forget(self):
        self.replies.clear()

    def send(self, site, data, limit_s):
        assert open_sealed(data, KEYS[site])
        self.asked.append((site, self.now))
        if len([one for one, _ in self.asked if one == site]) == self.after[site]:
            self.replies[site] = seal(SAID, KEYS[site])
        return True

    def collect(self):
        found, self.replies = self.replies, {}
        return found

    def wait(self, seconds):
        self.now += seconds

    def carrier(self, tmp_path):
        return FlowerCarrier(self, KEYS, tmp_path / "server.npz", wait=self.wait, clock=lambda: self.now)


def state(*, finished=False):
    zeros = np.zeros(2, np.float32), np.zeros(0, np.int64)
    return TrainingState("run", 3, "average", 3, tuple(KEYS), tuple(KEYS), 1, finished, *zeros)


def test_a_question_that_was_lost_is_asked_again(tmp_path):
    link = Link(east=1, west=3)
    found = link.carrier(tmp_path).gather_answers(state(), 100)
    assert set(found) == set(KEYS)
    assert [round(when) for site, when in link.asked if site == "west"] == [0, 25, 50]
    assert [when for site, when in link.asked if site == "east"] == [0]


def test_waiting_ends(tmp_path):
    link = Link(east=1, west=0)
    assert set(link.carrier(tmp_path).gather_declarations(tuple(KEYS), 100)) == {"east"}
    assert 100 <= link.now < 102
    assert link.carrier(tmp_path).conclude(state(finished=True), 10) == ["east", "west"]


def test_a_reply_of_another_key_is_an_answer_that_cannot_be_used(tmp_path):
    link = Link(east=0, west=1)
    link.replies = {}
    link.collect = lambda: {"east": seal(SAID, KEYS["west"])}
    found = link.carrier(tmp_path).gather_answers(state(), 5)
    assert isinstance(found["east"], UpdateError)


def test_a_checkpoint_is_an_earlier_run(tmp_path):
    carrier = Link().carrier(tmp_path)
    carrier.refuse_earlier_run()
    (tmp_path / "server.npz").write_bytes(b"")
    with pytest.raises(OutputExistsError, match="--resume"):
        carrier.refuse_earlier_run()


def test_a_site_works_once_on_a_question():
    worked = []
    site = SimpleNamespace(
        name="east",
        say=lambda line: None,
        declare=lambda: b"declared",
        answer=lambda given: worked.append(given.number) or b"answer",
    )
    last = LastReply()
    assert last.reply(site, DECLARE) == (b"declared", None)
    for _ in range(2):
        data, given = last.reply(site, pack(state()))
        assert (data, given.number) == (b"answer", 3)
    assert worked == [3]
    data, given = last.reply(site, pack(state(finished=True)))
    assert (data, given.finished) == (b"declared", True)


@pytest.mark.parametrize(
    ("tables", "words"),
    [
        ("[exchange]\nkeys = 'keys'", "either exchange.folder or a table"),
        (
            "[exchange]\nkeys = 'keys'\nfolder = 'x'\n[flower]\nsuperlink = 'a:1'",
            "lacks the setting 'root_certificates'",
        ),
        (
            "[exchange]\nkeys = 'keys'\n[flower]\nsuperlink = 'https://a:1'\nroot_certificates = 'c'\n"
            "secret = 's'\nnode_keys = 'n'",
            "superlink must be HOST:PORT",
        ),
        ("[exchange]\nkeys = 'keys'\n[flower]\ninsecure = true", "no setting 'insecure'"),
        (
            "[exchange]\nkeys = 'keys'\nfolder = 'x'\n[flower]\nsuperlink = 'a:1'\nroot_certificates = 'c'\n"
            "secret = 's'\nnode_keys = 'n'",
            "either exchange.folder or a table",
        ),
    ],
)
def test_bad_settings_are_refused_in_one_line(tmp_path, tables, words):
    pytest.importorskip("tensorflow")
    from inverse_deid.research.federated.settings import ServerSettings, read_party_settings

    path = tmp_path / "server.toml"
    path.write_text(f"[server]\nsites = ['east']\n{tables}\n")
    with pytest.raises(ConfigurationError, match=words) as refused:
        read_party_settings(path, ServerSettings)
    assert "\n" not in str(refused.value)
